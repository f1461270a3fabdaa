// Separable: can any line, or weights for each label, answer every example? Decided in whole
// numbers, with its proof.
//
// Rows z are the examples with their signs, y·(1, x1, x2); of more than two labels there is one for
// each rival, with (1, x1, x2) in the place of the right label and the same taken away in that of
// the rival. So w·z > 0 says that an answer is right. The point x of the rows' hull that is nearest
// to 0 decides: where it is not 0 it is the widest w, and its length is ρ; where it is 0 its weights
// λ have Σ λ z = 0, and no w can be right on all of those. Then their span is divided away, and the
// same is asked of what is left.
import { digitsOf, inner, isZero, lowestTerms, onGrid, ratioOf, rootOf, summed } from "./exact.js";

const LONGEST = 400; // binary digits of a whole number of several labels: more would take too long
const ON_THE_MARGIN = 1e-7; // rows this near to it, relative to its width, are said to be on it
const TOO_FINE = "Not decided here: some numbers are too far apart in size. The Python lines do.";

// What is proved of points [x1, x2] and answers: {name, margin, radius, bound, line, support,
// blocking, proof}; `bound` is R²/ρ², the most corrections that PLA can need from w = 0.
export function separable(points, answers) {
  const { tall, power } = tallRows(points);
  const Z = tall.map((x, n) => (answers[n] > 0 ? x : opposite(x)));
  const { on, first, weights, ...found } = decided(Z, Z, power);
  const pair = first?.rows.length > 2 ? contradiction(Z) : null;
  const blocking = [pair, first].filter(Boolean);
  return { ...found, line: weights, support: on, blocking };
}

// The same of more than two labels, answers being their places: {name, margin, radius, bound,
// weights, pairs, shares, proof}; pairs are [example, rival], on the margin, or blocking with shares
// that sum to 1.
export function separableLabels(points, answers, K) {
  const { tall, power } = tallRows(points);
  const pairs = answers.flatMap((y, n) =>
    Array.from({ length: K }, (_, r) => [n, r]).filter(([, r]) => r !== y),
  );
  const Z = pairs.map(([n, r]) => against(tall[n], answers[n], r, K));
  const none = { told: [], support: [], blocking: [], pairs: [], shares: [] };
  if (digitsOf(squaredRadius(Z)) > 2 * LONGEST) {
    return { ...none, ...nothing(Z, power), name: "undecided", told: [TOO_FINE] };
  }
  // Without the first label's place, as if its weights were 0: to add the same to all labels'
  // weights changes no product, and there is nothing that no row tells apart.
  const few = Z.map((z) => z.slice(3));
  const { on, first, ...found } = decided(Z, few, power);
  const shares = first ? first.multipliers.map((m) => ratioOf(m, summed(first.multipliers))) : [];
  const named = (first ? first.rows : on).map((m) => pairs[m]);
  return { ...none, ...found, pairs: named, shares, proof: { ...found.proof, labels: K } };
}

// (1, x1, x2) of points, in whole numbers of 2^power.
function tallRows(points) {
  const { wholes, power } = onGrid([1, ...points.flat()]);
  const tall = points.map((_, n) => [wholes[0], wholes[2 * n + 1], wholes[2 * n + 2]]);
  return { tall, power };
}

const opposite = (x) => x.map((v) => -v);

// x in the place of label y, −x in that of r.
function against(x, y, r, K) {
  const z = Array(K * x.length).fill(0n);
  x.forEach((v, j) => ([z[y * x.length + j], z[r * x.length + j]] = [v, -v]));
  return z;
}

function squaredRadius(Z) {
  return Z.map((z) => inner(z, z)).reduce((most, square) => (square > most ? square : most), 0n);
}

// What is known of rows before anything is decided.
function nothing(Z, power) {
  const radius = rootOf(squaredRadius(Z), 1n, power);
  return { margin: null, radius, bound: null, weights: null, on: [] };
}

// {name, margin, radius, bound, weights, on, first, proof}: `on` are the rows on the margin, `first`
// those that block every w. `few` are the rows without columns that decide nothing.
function decided(Z, few, power) {
  const { x, multipliers } = nearestOf(Z);
  if (isZero(x)) return { ...nothing(Z, power), ...blocked(few) };
  const [square, total] = [inner(x, x), summed(multipliers)];
  const shares = Z.map((z) => ratioOf(inner(x, z) * total, square)); // of ρ
  return {
    ...nothing(Z, power),
    name: "separable",
    margin: rootOf(square, total * total, power),
    bound: ratioOf(squaredRadius(Z) * total * total, square),
    weights: x.map((v) => (v < 0n ? -1 : 1) * rootOf(v * v, square)),
    on: shares.flatMap((share, m) => (share <= 1 + ON_THE_MARGIN ? [m] : [])),
    proof: { claim: "separable", weights: lowestTerms(x), parts: [] },
  };
}

function blocked(Z) {
  const { w, parts } = reduced(Z);
  const [first] = parts;
  const name = w ? "quasi-separable" : "inseparable";
  const shown = w ? { weights: w, parts: [first] } : { weights: [], parts: [allOf(Z, parts)] };
  return { name, first, proof: { claim: name, ...shown } };
}

// Ask, divide away the rows that carry multipliers, and ask again of those that are left.
function reduced(Z) {
  const parts = [];
  let [basis, seen] = [null, Z];
  for (;;) {
    const left = seen.flatMap((z, n) => (isZero(z) ? [] : [n]));
    if (!left.length) return { w: null, parts };
    const { x, rows, multipliers } = nearestOf(left.map((n) => seen[n]));
    if (!isZero(x)) {
      const w = basis[0].map((_, j) => summed(basis.map((u, i) => x[i] * u[j])));
      return { w: lowestTerms(w), parts };
    }
    parts.push({ rows: rows.map((k) => left[k]), multipliers });
    basis = acrossTo(parts.flatMap((part) => part.rows.map((n) => Z[n])));
    if (!basis.length) return { w: null, parts };
    seen = Z.map((z) => basis.map((u) => inner(u, z)));
  }
}

// The multipliers of all rounds in one; where their rows do not span everything, the rest of the
// rows, which then lie in their span, have one too.
function allOf(Z, parts) {
  let carried = parts.reduce((all, part) => joined(Z, all, part));
  const others = Z.map((_, n) => n).filter((n) => !carried.rows.includes(n));
  if (others.length && freeOf(carried.rows.map((n) => Z[n])).length < Z[0].length)
    carried = joined(Z, carried, { rows: others, multipliers: others.map(() => 1n) });
  const order = carried.rows.map((_, i) => i).sort((i, j) => carried.rows[i] - carried.rows[j]);
  const multipliers = lowestTerms(carried.multipliers);
  return { rows: order.map((i) => carried.rows[i]), multipliers: order.map((i) => multipliers[i]) };
}

// Multipliers whose sum is 0, and others whose sum lies in the span of these rows, as one:
// Σ whole·m z − Σ parts z + k Σ λ z = 0 for any k, and enough of them make all positive.
function joined(Z, carried, part) {
  const total = Z[0].map((_, j) => summed(part.rows.map((n, i) => part.multipliers[i] * Z[n][j])));
  const basis = freeOf(carried.rows.map((n) => Z[n]));
  const { parts, whole } = combination(
    basis.map((i) => Z[carried.rows[i]]),
    total,
  );
  const needed = (i) => parts[basis.indexOf(i)] ?? 0n;
  const enough = carried.multipliers.reduce((most, m, i) => {
    const least = needed(i) > 0n ? needed(i) / m + 1n : 1n;
    return least > most ? least : most;
  }, 1n);
  return {
    rows: [...carried.rows, ...part.rows],
    multipliers: [
      ...carried.multipliers.map((m, i) => enough * m - needed(i)),
      ...part.multipliers.map((m) => whole * m),
    ],
  };
}

// Two examples in one place with different answers, if there are any.
function contradiction(Z) {
  const seen = new Map();
  for (const [n, z] of Z.entries()) {
    const other = seen.get(String(opposite(z)));
    if (other !== undefined) return { rows: [other, n], multipliers: [1n, 1n] };
    if (!seen.has(String(z))) seen.set(String(z), n);
  }
  return null;
}

// Hull: the point of the hull of whole vectors that is nearest to 0, without rounding, by Wolfe's
// way: a face and its nearest point, a vector below it, the face with that vector.

// {x, rows, multipliers}: x = Σ m z over these rows, the nearest point times Σ m.
export function nearestOf(Z) {
  const floats = approximate(Z);
  let face = faceOf(Z, [0], [1n]);
  for (;;) {
    const square = inner(face.x, face.x);
    if (square === 0n) return face;
    const total = summed(face.multipliers);
    const below = (z) => inner(face.x, z) * total < square;
    const guess = lowest(floats, approximate([face.x])[0]);
    const next = below(Z[guess]) ? guess : Z.findIndex(below);
    if (next < 0) return face;
    face = enlarged(Z, face, next);
  }
}

function faceOf(Z, rows, multipliers) {
  const m = lowestTerms(multipliers);
  const x = Z[0].map((_, j) => rows.reduce((sum, n, i) => sum + m[i] * Z[n][j], 0n));
  return { rows, multipliers: m, x };
}

// The nearest point of the face with one more vector: that of the space through its corners, or
// as far that way as the face goes, without the corners that are left behind.
function enlarged(Z, { rows, multipliers }, next) {
  let [corners, now] = [
    [...rows, next],
    [...multipliers, 0n],
  ];
  for (;;) {
    const wanted = affine(corners.map((n) => Z[n]));
    if (wanted.every((m) => m > 0n)) return faceOf(Z, corners, wanted);
    now = towards(now, wanted);
    const kept = now.map((m) => m > 0n);
    corners = corners.filter((_, i) => kept[i]);
    now = now.filter((_, i) => kept[i]);
  }
}

// From weights towards others, both as shares of their sums, until the first of them is 0.
function towards(now, wanted) {
  const [a, b] = [summed(now), summed(wanted)];
  const from = now.map((m) => m * b);
  const to = wanted.map((m) => m * a);
  let [p, q] = [1n, 0n]; // the share p/q of the way; q = 0 is none yet
  from.forEach((m, i) => {
    const way = m - to[i];
    if (to[i] <= 0n && way > 0n && (q === 0n || m * q < p * way)) [p, q] = [m, way];
  });
  return lowestTerms(from.map((m, i) => m * (q - p) + to[i] * p));
}

// Weights of the point nearest to 0 in the space through some vectors: (G + 1)·m = 1, where G holds
// their products.
function affine(vectors) {
  const table = vectors.map((u) => [...vectors.map((v) => inner(u, v) + 1n), 1n]);
  return lowestTerms(solved(table).parts);
}

// A vector as a sum of free ones that span it: whole·v = Σ parts[i]·basis[i], whole > 0.
export function combination(basis, v) {
  return solved(basis.map((u) => [...basis.map((other) => inner(u, other)), inner(u, v)]));
}

// Equations of a positive definite table, each with its right side, solved without fractions.
function solved(table) {
  const size = table.length;
  let whole = 1n;
  for (let k = 0; k < size; k++) {
    for (let i = 0; i < size; i++) {
      if (i === k) continue;
      for (let j = size; j > k; j--)
        table[i][j] = (table[i][j] * table[k][k] - table[i][k] * table[k][j]) / whole;
      table[i][k] = 0n;
      if (i < k) table[i][i] = table[k][k];
    }
    whole = table[k][k];
  }
  return { parts: table.map((row) => row[size]), whole };
}

// Vectors as doubles of about length 1: only to guess by.
function approximate(Z) {
  let most = 1n;
  for (const z of Z) for (const v of z) most = v > most ? v : -v > most ? -v : most;
  return Z.map((z) => z.map((v) => ratioOf(v, most)));
}

function lowest(floats, x) {
  let [best, least] = [0, Infinity];
  floats.forEach((z, n) => {
    let s = 0;
    for (let j = 0; j < x.length; j++) s += x[j] * z[j];
    if (s < least) [best, least] = [n, s];
  });
  return best;
}

// Which of some vectors are free: as many as span what all span.
export function freeOf(vectors) {
  const free = [];
  let left = vectors;
  vectors.forEach((_, n) => {
    const pivot = left[n];
    const j = pivot.findIndex((v) => v !== 0n);
    if (j < 0) return;
    free.push(n);
    left = left.map((row, i) => (i > n ? without(row, pivot, j) : row));
  });
  return free;
}

const without = (row, pivot, j) =>
  row[j] === 0n ? row : lowestTerms(row.map((v, k) => v * pivot[j] - pivot[k] * row[j]));

// Whole vectors at right angles to some, as many as span all that are.
export function acrossTo(vectors) {
  const size = vectors[0].length;
  let left = vectors;
  const pivots = []; // a row for each column that is not free
  for (let j = 0; j < size; j++) {
    const pivot = left.find((row) => row[j] !== 0n);
    if (!pivot) continue;
    left = left.filter((row) => row !== pivot).map((row) => without(row, pivot, j));
    for (const entry of pivots) entry.row = without(entry.row, pivot, j);
    pivots.push({ row: pivot, column: j });
  }
  const bound = new Set(pivots.map(({ column }) => column));
  const free = Array.from({ length: size }, (_, j) => j).filter((j) => !bound.has(j));
  return free.map((j) => {
    const scale = pivots.reduce((product, { row, column }) => product * row[column], 1n);
    const found = Array(size).fill(0n);
    found[j] = scale;
    for (const { row, column } of pivots) found[column] = (-row[j] * scale) / row[column];
    return lowestTerms(found);
  });
}
