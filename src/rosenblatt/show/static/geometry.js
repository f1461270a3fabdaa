// Geometry: coordinates and pixels, the regions in which each label is predicted, and the
// projection of more or fewer than two features onto a plane.

const EDGE = { left: 0, right: 0, top: 0, bottom: 0 };
const ONE_SCALE = 4; // axes whose lengths differ by a smaller factor get the same scale

// A picture that shows a box of coordinates within `width` by `height` pixels, with empty edges.
export class Frame {
  constructor(box, width, height, edge = EDGE) {
    this.box = box;
    this.width = width;
    this.height = height;
    this.edge = edge;
    this.kx = (width - edge.left - edge.right) / (box.right - box.left);
    this.ky = (height - edge.top - edge.bottom) / (box.top - box.bottom);
  }

  x(value) {
    return this.edge.left + (value - this.box.left) * this.kx;
  }

  y(value) {
    return this.height - this.edge.bottom - (value - this.box.bottom) * this.ky;
  }

  at([x, y]) {
    return [this.x(x), this.y(y)];
  }

  back(px, py) {
    return [
      this.box.left + (px - this.edge.left) / this.kx,
      this.box.bottom + (this.height - this.edge.bottom - py) / this.ky,
    ];
  }

  corners() {
    const { left, right, bottom, top } = this.box;
    return [
      [left, bottom],
      [right, bottom],
      [right, top],
      [left, top],
    ];
  }
}

// Return a box around all points with a margin.
export function boxAround(points) {
  const [left, right] = rangeOf(points.map(([x]) => x));
  const [bottom, top] = rangeOf(points.map(([, y]) => y));
  return { left, right, bottom, top };
}

function rangeOf(values) {
  if (!values.length) return [-1.2, 1.2];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const margin = 0.1 * (high - low) || Math.max(0.6, 0.1 * Math.abs(low));
  return [low - margin, high + margin];
}

// Return a box to draw examples in by hand: at least from -1 to 1, in the proportions of the
// picture.
export function drawingBox(points, width, height) {
  const inSquare = points.every(([x, y]) => Math.max(Math.abs(x), Math.abs(y)) <= 1.05);
  const box = inSquare ? { left: -1.2, right: 1.2, bottom: -1.2, top: 1.2 } : boxAround(points);
  const [w, h] = [box.right - box.left, box.top - box.bottom];
  if (Math.max(w / h, h / w) >= ONE_SCALE) return box;
  const unit = Math.max(w / width, h / height);
  const [x, y] = [(unit * width - w) / 2, (unit * height - h) / 2];
  return { left: box.left - x, right: box.right + x, bottom: box.bottom - y, top: box.top + y };
}

// Return the frame of a story. An axis without a name has no meaning: it goes from 0 to 1.
export function frameOf(story, width, height, boxOf = boxAround) {
  const box = boxOf(story.points, width, height);
  return new Frame(story.names[1] ? box : { ...box, bottom: 0, top: 1 }, width, height);
}

// Return about `wanted` round numbers for the labels of an axis.
export function ticks(low, high, wanted) {
  const rough = (high - low) / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= rough * 0.999) || rough;
  const result = [];
  for (let k = Math.ceil(low / step); k * step <= high; k++) result.push(k * step);
  return result;
}

// Return the part of a polygon where c + a·x + b·y ≥ 0.
export function clipped(polygon, [c, a, b]) {
  const side = ([x, y]) => c + a * x + b * y;
  const result = [];
  polygon.forEach((p, i) => {
    const q = polygon[(i + 1) % polygon.length];
    const [s, u] = [side(p), side(q)];
    if (s >= 0) result.push(p);
    if ((s > 0 && u < 0) || (s < 0 && u > 0)) {
      const k = s / (s - u);
      result.push([p[0] + k * (q[0] - p[0]), p[1] + k * (q[1] - p[1])]);
    }
  });
  return result;
}

// Return the radius of the marks, which is smaller for many examples.
export function radiusFor(count, frame) {
  const room = Math.min(frame.width, frame.height) / 560;
  const size = count <= 80 ? 8 : count <= 300 ? 6 : count <= 1000 ? 4 : 3;
  return size * Math.min(1.6, Math.max(0.75, room));
}

// A plane [c, a, b] is the score c + a·x + b·y of a label. Two labels have a single plane, which is
// positive where the label is yes.

// Return the planes of a story, a part of the way from w(t − 1) to w(t); null if no two scores
// differ.
export function planesAt({ story, t, part = 1 }) {
  const now = story.planes(t);
  const before = part < 1 && t > 0 ? story.planes(t - 1) : now;
  const planes = now.map((plane, k) =>
    Array.from(plane, (value, i) => before[k][i] + part * (value - before[k][i])),
  );
  const [first, ...others] = planes;
  const areEqual = others.length
    ? others.every((plane) => same(plane, first))
    : first.every((v) => v === 0);
  return areEqual ? null : planes;
}

const same = (p, q) => p.every((value, i) => value === q[i]);
const minus = (p, q) => p.map((value, i) => value - q[i]);

// Return the region of each label within a polygon: of no and yes, or of all labels. Of equal
// scores the first label wins or, with `last`, the last one.
export function regionsOf(planes, corners, last = false) {
  if (planes.length === 1) {
    const [yes] = planes;
    return [clipped(corners, minus([0, 0, 0], yes)), clipped(corners, yes)];
  }
  return planes.map((plane, k) => {
    const equal = planes.some((other, r) => r !== k && r > k === last && same(plane, other));
    return equal ? [] : planes.reduce((left, other) => clipped(left, minus(plane, other)), corners);
  });
}

// Return the side of a polygon that lies on a line, if there is one.
function sideOn(polygon, [c, a, b]) {
  if (!(a || b)) return [];
  const reach = Math.max(...polygon.map(([x, y]) => Math.abs(a * x) + Math.abs(b * y)));
  const near = 1e-9 * (reach + Math.abs(c));
  const on = polygon.filter(([x, y]) => Math.abs(c + a * x + b * y) <= near);
  if (on.length < 2) return [];
  const along = ([x, y]) => b * x - a * y;
  on.sort((p, q) => along(p) - along(q));
  return [[on[0], on.at(-1)]];
}

// Return the two ends of each line between the regions of a picture, in pixels.
export function pixelEdges(frame, planes) {
  const regions = regionsOf(planes, frame.corners());
  const edges =
    planes.length === 1
      ? sideOn(regions[1], planes[0])
      : planes.flatMap((plane, k) =>
          planes.slice(k + 1).flatMap((other) => sideOn(regions[k], minus(plane, other))),
        );
  return edges.map((ends) => ends.map((end) => frame.at(end)));
}

const GOLDEN = 0.6180339887498949;
const [ROUNDS, MOST_ROWS] = [60, 1000]; // to find a principal direction

// Project examples {X, targets, features} of more or fewer than two features, and all weights of a
// run. More than two features are projected onto w, the weights that the run returns, and the first
// remaining principal direction: then every example is on its true side of the line, at its true
// distance. Examples with one feature are spread upwards.
export function projected(plane, w, weights) {
  const view = plane.X[0].length === 1 ? onALine(plane) : alongWeights(plane.X, w);
  const lines = new Float64Array((weights.length / w.length) * 3);
  for (let t = 0; t < lines.length / 3; t++) {
    const at = t * w.length;
    lines.set(view.line(weights.subarray(at, at + w.length)), 3 * t);
  }
  return {
    ...plane,
    points: plane.X.map(view.point),
    names: view.names,
    lines,
    lineOf: view.line,
    table: Float64Array.from(plane.X.flat()),
  };
}

function onALine({ features }) {
  return {
    names: [features[0], ""],
    point: (x, n) => [x[0], 0.15 + 0.7 * ((n * GOLDEN) % 1)],
    line: (w) => [w[0], w[1], 0],
  };
}

function alongWeights(X, w) {
  const rows = X.filter((_, n) => n % Math.ceil(X.length / MOST_ROWS) === 0);
  const center = rows[0].map((_, j) => rows.reduce((sum, x) => sum + x[j], 0) / rows.length);
  const size = norm(w.subarray(1));
  const none = center.map(() => 0);
  const along = size ? Array.from(w.subarray(1), (v) => v / size) : principal(rows, center, none);
  const across = principal(rows, center, along);
  const offset = size ? -w[0] / size : 0;
  const foot = center.map(
    (v, j) => v - along[j] * inner(along, center) - across[j] * inner(across, center),
  );
  const name = size ? "distance from the line, along w" : "first principal direction";
  return {
    names: [name, "first remaining principal direction"],
    point: (x) => [inner(along, x) - offset, inner(across, x)],
    line(weights) {
      const features = Array.from(weights).slice(1);
      const [a, b] = [inner(features, along), inner(features, across)];
      return [weights[0] + inner(features, foot) + a * offset, a, b];
    },
  };
}

const inner = (a, b) => a.reduce((sum, v, j) => sum + v * b[j], 0);
const norm = (v) => Math.hypot(...v);

// Return the direction of the largest variance orthogonal to a unit vector `without`, by power
// iteration.
function principal(rows, center, without) {
  const rest = (v) => {
    const share = inner(without, v);
    return v.map((value, j) => value - share * without[j]);
  };
  let v = rest(center.map((_, j) => 1 + ((j * GOLDEN) % 1)));
  for (let k = 0; k < ROUNDS; k++) {
    const next = new Array(v.length).fill(0);
    const level = inner(center, v);
    for (const x of rows) {
      const s = inner(x, v) - level;
      for (let j = 0; j < next.length; j++) next[j] += s * (x[j] - center[j]);
    }
    const left = rest(next);
    const length = norm(left);
    if (!length) break;
    v = left.map((value) => value / length);
  }
  const length = norm(v) || 1;
  return v.map((value) => value / length);
}
