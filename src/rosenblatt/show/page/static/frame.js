// Frame: from the numbers of the examples to places in a picture, and back.

const EDGE = { left: 0, right: 0, top: 0, bottom: 0 };
// Axes that differ by less than this are drawn to one scale, so that angles are true.
const ALIKE = 4;

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

// A box that holds all points with air around them, as wide and high as the picture wants.
export function boxAround(points, width, height) {
  let [left, right, bottom, top] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const [x, y] of points) {
    left = Math.min(left, x);
    right = Math.max(right, x);
    bottom = Math.min(bottom, y);
    top = Math.max(top, y);
  }
  if (points.length === 0 || (Math.max(-left, right) <= 1.05 && Math.max(-bottom, top) <= 1.05)) {
    [left, right, bottom, top] = [-1, 1, -1, 1];
  }
  const [w, h] = [right - left || 1, top - bottom || 1];
  const air = 0.1;
  const box = {
    left: left - air * w - (right === left ? 0.5 : 0),
    right: right + air * w + (right === left ? 0.5 : 0),
    bottom: bottom - air * h - (top === bottom ? 0.5 : 0),
    top: top + air * h + (top === bottom ? 0.5 : 0),
  };
  return Math.max(w / h, h / w) < ALIKE ? toScale(box, width, height) : box;
}

// The frame of a story: an axis without a name is there to spread examples on, from 0 to 1.
export function frameOf(story, width, height, boxOf = boxAround) {
  if (story.names[1]) return new Frame(boxOf(story.points, width, height), width, height);
  const { left, right } = boxAround(
    story.points.map(([x]) => [x, x]),
    1,
    1,
  );
  return new Frame({ left, right, bottom: 0, top: 1 }, width, height);
}

function toScale(box, width, height) {
  const [w, h] = [box.right - box.left, box.top - box.bottom];
  const unit = Math.max(w / width, h / height);
  const [x, y] = [(unit * width - w) / 2, (unit * height - h) / 2];
  return { left: box.left - x, right: box.right + x, bottom: box.bottom - y, top: box.top + y };
}

// Round numbers to mark an axis with, about `wanted` of them.
export function ticks(low, high, wanted) {
  const rough = (high - low) / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= rough * 0.999) || rough;
  const result = [];
  for (let k = Math.ceil(low / step); k * step <= high; k++) result.push(k * step);
  return result;
}

// The part of a polygon where c + a·x + b·y ≥ 0.
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

// How large examples are drawn, by their number.
export function radiusFor(count, frame) {
  const room = Math.min(frame.width, frame.height) / 560;
  const size = count <= 80 ? 8 : count <= 300 ? 6 : count <= 1000 ? 4 : 3;
  return size * Math.min(1.6, Math.max(0.75, room));
}
