// Separable: can any line answer every example? Decided in whole numbers, with its proof.
//
// z = y·(1, x1, x2) are the signed examples. The point x of their hull that is nearest to 0
// decides: where it is not 0 it is the widest w, and its length is ρ; where it is 0 its weights λ
// have Σ λ z = 0, and no w can be right on all of those. Then their span is divided away, and the
// same is asked of what is left.
import {
  cross,
  dot,
  isZero,
  lowestTerms,
  minus3,
  onGrid,
  plus,
  ratioOf,
  rootOf,
  times,
} from "./exact.js";

const ON_THE_MARGIN = 1e-7; // examples this near to it, relative to its width, are said to be on it
const ORIGIN = [0n, 0n, 0n];

// What is proved of points [x1, x2] and answers: {name, margin, radius, bound, line, support,
// blocking, proof}; `bound` is R²/ρ², the most corrections that PLA can need from w = 0.
export function separable(points, answers) {
  const { Z, power } = signedRows(points, answers);
  const found = reduced(Z);
  const radius = Z.reduce((most, z) => (dot(z, z) > most ? dot(z, z) : most), 0n);
  const R = rootOf(radius, 1n, power);
  if (found.w && found.parts.length === 0) return widest(Z, found, radius, power);
  const [first] = found.parts;
  const pair = contradiction(Z);
  const blocking = pair && first.rows.length > 2 ? [pair, first] : [first];
  const common = { margin: null, radius: R, bound: null, support: [], blocking };
  if (found.w) {
    const proof = { claim: "quasi-separable", weights: lowestTerms(found.w), parts: [first] };
    return { name: "quasi-separable", ...common, line: unit(proof.weights), proof };
  }
  const proof = { claim: "inseparable", weights: [], parts: [allOf(Z, found.parts)] };
  return { name: "inseparable", ...common, line: null, proof };
}

// The signed examples on one grid: whole numbers of 2^power.
export function signedRows(points, answers) {
  const { wholes, power } = onGrid([1, ...points.flat()]);
  const Z = points.map((_, n) => {
    const [x1, x2] = [wholes[2 * n + 1], wholes[2 * n + 2]];
    return answers[n] > 0 ? [wholes[0], x1, x2] : [-wholes[0], -x1, -x2];
  });
  return { Z, power };
}

function widest(Z, { x, rows, multipliers }, radius, power) {
  const [square, total] = [dot(x, x), multipliers.reduce((sum, m) => sum + m, 0n)];
  const weights = lowestTerms(x);
  const margin = rootOf(square, total * total, power);
  const line = unit(weights);
  const scores = Z.map((z) => ratioOf(dot(x, z) * total, square)); // as shares of ρ
  const support = scores.flatMap((s, n) => (s <= 1 + ON_THE_MARGIN ? [n] : []));
  return {
    name: "separable",
    margin,
    radius: rootOf(radius, 1n, power),
    bound: ratioOf(radius * total * total, square),
    support: [...new Set([...rows, ...support])].sort((a, b) => a - b),
    blocking: [],
    line,
    proof: { claim: "separable", weights, parts: [] },
  };
}

function unit(weights) {
  const square = dot(weights, weights);
  return weights.map((v) => (v < 0n ? -rootOf(v * v, square) : rootOf(v * v, square)));
}

// Ask, divide away the rows that carry multipliers, and ask again of those that are left.
function reduced(Z) {
  const parts = [];
  const carrying = [];
  let rows = Z;
  for (;;) {
    const alive = rows.flatMap((z, n) => (isZero(z) ? [] : [n]));
    if (alive.length === 0) return { w: null, parts };
    const found = nearest(rows, alive);
    if (!isZero(found.x)) return { w: found.x, ...found, parts };
    parts.push({ rows: found.rows, multipliers: found.multipliers });
    carrying.push(...found.rows.map((n) => Z[n]));
    rows = dividedBy(Z, basisOf(carrying));
  }
}

// The point of the hull of some rows that is nearest to 0: x = Σ m z / Σ m, given as Σ m z.
function nearest(Z, alive) {
  const floats = approximate(Z);
  let face = closest(Z, [alive[0]]);
  for (;;) {
    const square = dot(face.x, face.x);
    if (square === 0n) return face;
    const total = face.multipliers.reduce((sum, m) => sum + m, 0n);
    const below = (n) => dot(face.x, Z[n]) * total < square;
    const guess = lowest(floats, alive, approximate([face.x])[0]);
    const next = below(guess) ? guess : alive.find(below);
    if (next === undefined) return face;
    face = closest(Z, [...face.rows, next]);
  }
}

// Vectors as doubles of about length 1, each to its own scale: only to guess by.
function approximate(Z) {
  let most = 1n;
  for (const z of Z) for (const v of z) most = v > most ? v : -v > most ? -v : most;
  return Z.map((z) => z.map((v) => ratioOf(v, most)));
}

function lowest(floats, alive, x) {
  let [best, least] = [alive[0], Infinity];
  for (const n of alive) {
    const s = x[0] * floats[n][0] + x[1] * floats[n][1] + x[2] * floats[n][2];
    if (s < least) [best, least] = [n, s];
  }
  return best;
}

// The nearest point of the hull of at most four rows: of all their faces the one that no row is below.
function closest(Z, rows) {
  for (const face of facesOf(rows)) {
    const multipliers = affine(face.map((n) => Z[n]));
    if (!multipliers || multipliers.some((m) => m <= 0n)) continue;
    const x = face.reduce((sum, n, i) => plus(sum, times(multipliers[i], Z[n])), ORIGIN);
    const [square, total] = [dot(x, x), multipliers.reduce((sum, m) => sum + m, 0n)];
    if (rows.every((n) => dot(x, Z[n]) * total >= square)) {
      return { rows: face, multipliers: lowestTerms(multipliers), x: shrunk(x, multipliers) };
    }
  }
  throw new Error("a hull has a nearest point");
}

// x as the sum with multipliers in lowest terms.
function shrunk(x, multipliers) {
  const short = lowestTerms(multipliers);
  const divisor = multipliers[0] / short[0];
  return x.map((v) => v / divisor);
}

function facesOf(rows) {
  const faces = [[]];
  for (const n of rows) faces.push(...faces.map((face) => [...face, n]));
  return faces.filter((face) => face.length >= 1 && face.length <= 4);
}

// Weights, all of one sign if it lies between them, of the point nearest to 0 on the line, plane
// or space through some points; null where these lie in less.
function affine(points) {
  const [a, b, c, d] = points;
  if (points.length === 1) return [1n];
  if (points.length === 2) {
    const way = minus3(b, a);
    return isZero(way) ? null : [dot(b, way), -dot(a, way)];
  }
  if (points.length === 3) {
    const normal = cross(minus3(b, a), minus3(c, a));
    if (isZero(normal)) return null;
    return [dot(normal, cross(b, c)), dot(normal, cross(c, a)), dot(normal, cross(a, b))];
  }
  const volume = dot(minus3(b, a), cross(minus3(c, a), minus3(d, a)));
  if (volume === 0n) return null;
  const sign = volume > 0n ? 1n : -1n;
  return [
    sign * dot(b, cross(c, d)),
    -sign * dot(a, cross(c, d)),
    sign * dot(a, cross(b, d)),
    -sign * dot(a, cross(b, c)),
  ];
}

// Some of the vectors, as few as span what all span.
function basisOf(vectors) {
  const basis = [];
  for (const v of vectors) if (basis.length < 3 && isFree(basis, v)) basis.push(v);
  return basis;
}

function isFree([a, b], v) {
  if (!a) return !isZero(v);
  return b ? dot(cross(a, b), v) !== 0n : !isZero(cross(a, v));
}

// What is left of rows at right angles to a span.
function dividedBy(Z, [a, b, c]) {
  if (c) return Z.map(() => ORIGIN);
  if (b) {
    const normal = lowestTerms(cross(a, b));
    return Z.map((z) => times(dot(normal, z), normal));
  }
  const square = dot(a, a);
  return Z.map((z) => minus3(times(square, z), times(dot(a, z), a)));
}

// Two examples in one place with different answers, if there are any.
function contradiction(Z) {
  const seen = new Map();
  for (let n = 0; n < Z.length; n++) {
    const other = seen.get(String(times(-1n, Z[n])));
    if (other !== undefined) return { rows: [other, n], multipliers: [1n, 1n] };
    if (!seen.has(String(Z[n]))) seen.set(String(Z[n]), n);
  }
  return null;
}

// The multipliers of all rounds in one; where their rows do not span everything, the rest of the
// rows, which then lie in their span, have one too.
function allOf(Z, parts) {
  let carried = parts[0];
  for (const part of parts.slice(1)) carried = joined(Z, carried, part);
  const spans = basisOf(carried.rows.map((n) => Z[n])).length === 3;
  const others = Z.map((_, n) => n).filter((n) => !carried.rows.includes(n));
  if (!spans && others.length) {
    carried = joined(Z, carried, { rows: others, multipliers: others.map(() => 1n) });
  }
  const order = carried.rows.map((_, i) => i).sort((i, j) => carried.rows[i] - carried.rows[j]);
  const multipliers = lowestTerms(carried.multipliers);
  return { rows: order.map((i) => carried.rows[i]), multipliers: order.map((i) => multipliers[i]) };
}

// Multipliers whose sum is 0, and others whose sum lies in the span of these rows, as one.
function joined(Z, carried, part) {
  const total = part.rows.reduce(
    (sum, n, i) => plus(sum, times(part.multipliers[i], Z[n])),
    ORIGIN,
  );
  const basis = [];
  for (const n of carried.rows)
    if (
      isFree(
        basis.map((k) => Z[k]),
        Z[n],
      )
    )
      basis.push(n);
  const { parts, whole } = combination(
    basis.map((n) => Z[n]),
    total,
  );
  // Σ whole·m z + Σ parts z·(-1) + K Σ λ z = 0 for any K: enough of them make all positive.
  const needed = (n) => parts[basis.indexOf(n)] ?? 0n;
  const enough = carried.rows.reduce((most, n, i) => {
    const least = needed(n) > 0n ? needed(n) / carried.multipliers[i] + 1n : 1n;
    return least > most ? least : most;
  }, 1n);
  return {
    rows: [...carried.rows, ...part.rows],
    multipliers: [
      ...carried.rows.map((n, i) => enough * carried.multipliers[i] - needed(n)),
      ...part.multipliers.map((m) => whole * m),
    ],
  };
}

// A vector in the span of at most three free ones: whole·v = Σ parts[i]·basis[i], whole > 0.
function combination(basis, v) {
  const [a, b, c] = basis;
  if (c) {
    const whole = dot(a, cross(b, c));
    const parts = [dot(v, cross(b, c)), dot(a, cross(v, c)), dot(a, cross(b, v))];
    return positive(parts, whole);
  }
  if (b) {
    const normal = cross(a, b);
    return positive([dot(normal, cross(v, b)), dot(normal, cross(a, v))], dot(normal, normal));
  }
  return positive([dot(a, v)], dot(a, a));
}

function positive(parts, whole) {
  return whole > 0n ? { parts, whole } : { parts: parts.map((p) => -p), whole: -whole };
}
