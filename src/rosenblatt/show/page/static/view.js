// View: examples of more or fewer than two features, seen in a plane. More are projected on w
// against the first remaining principal direction: then every example is on its true side, and its
// distance from the line is the true one. One is spread upwards to be seen.

const GOLDEN = 0.6180339887498949;
const [ROUNDS, MOST_ROWS] = [60, 1000]; // to find a principal direction by

// `plane` is {X, answers, features}; w is the one that was kept, tall.
export function viewOf(plane, w) {
  const view = plane.X[0].length === 1 ? onALine(plane) : projected(plane.X, w);
  return {
    shown(weights) {
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
    },
  };
}

function onALine({ features }) {
  return {
    names: [features[0], ""],
    point: (x, n) => [x[0], 0.15 + 0.7 * ((n * GOLDEN) % 1)],
    line: (w) => [w[0], w[1], 0],
  };
}

function projected(X, w) {
  const rows = X.filter((_, n) => n % Math.ceil(X.length / MOST_ROWS) === 0);
  const centre = rows[0].map((_, j) => rows.reduce((sum, x) => sum + x[j], 0) / rows.length);
  const size = norm(w.subarray(1));
  const along = size ? Array.from(w.subarray(1), (v) => v / size) : principal(rows, centre, []);
  const across = principal(rows, centre, [along]);
  const offset = size ? -w[0] / size : 0;
  const foot = centre.map(
    (v, j) => v - along[j] * inner(along, centre) - across[j] * inner(across, centre),
  );
  const name = size ? "distance from the line, along w" : "first principal direction";
  return {
    names: [name, "first remaining principal direction"],
    point: (x) => [inner(along, x) - offset, inner(across, x)],
    line(tall) {
      const features = Array.from(tall).slice(1);
      const [a, b] = [inner(features, along), inner(features, across)];
      return [tall[0] + inner(features, foot) + a * offset, a, b];
    },
  };
}

const inner = (a, b) => a.reduce((sum, v, j) => sum + v * b[j], 0);
const norm = (v) => Math.hypot(...v);

// The direction in which rows differ most, once others are taken out: by repeated products.
function principal(rows, centre, without) {
  const rest = (v) => without.reduce((left, u) => minusPart(left, u), v);
  let v = rest(centre.map((_, j) => 1 + ((j * GOLDEN) % 1)));
  for (let k = 0; k < ROUNDS; k++) {
    const next = new Array(v.length).fill(0);
    const level = inner(centre, v);
    for (const x of rows) {
      const s = inner(x, v) - level;
      for (let j = 0; j < next.length; j++) next[j] += s * (x[j] - centre[j]);
    }
    const left = rest(next);
    const length = norm(left);
    if (!length) break;
    v = left.map((value) => value / length);
  }
  const length = norm(v) || 1;
  return v.map((value) => value / length);
}

function minusPart(v, unit) {
  const share = inner(unit, v);
  return v.map((value, j) => value - share * unit[j]);
}
