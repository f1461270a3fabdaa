// Separable: decides in integers whether a line, or a w for each label, classifies every example
// correctly, and finds a proof.
//
// Rows z are the examples times their signs, y·(1, x1, x2). With more than two labels, there is a
// row for each competing class, with (1, x1, x2) in the block of the right label and its negative
// in the block of the competing class. So a row is classified correctly if w·z > 0. Let x be the
// point of the convex hull of all rows that is nearest to 0. If x is not 0, it is the w with the
// maximum margin, and its length is ρ. If x is 0, it has multipliers λ with Σ λ z = 0, and no w
// classifies all of these rows correctly; then their span is projected away, and the rest is
// decided in the same way.
import {
  digitsOf,
  inner,
  isZero,
  lowestTerms,
  onGrid,
  ratioOf,
  rootOf,
  summed,
} from "./numbers.js";

const LONGEST = 400; // binary digits with more than two labels; larger integers would take too long
const ON_THE_MARGIN = 1e-7; // rows so near to the margin, relative to ρ, are support vectors
const TOO_FINE =
  "Not decided here, because some numbers differ too much in size. The exported Python code decides it.";

// Decide for points [x1, x2] with labels -1 and 1. Return {name, margin, radius, bound, line,
// support, conflicts, proof}; `bound` is R²/ρ², the maximum number of updates of PLA from w = 0.
export function separable(points, targets) {
  const { augmented, power } = augmentedRows(points);
  const Z = augmented.map((x, n) => (targets[n] > 0 ? x : negative(x)));
  const { on, first, parts, weights, ...found } = decide(Z, Z, power);
  const pair = first?.rows.length > 2 ? contradiction(Z) : null;
  const conflicts = [pair, first].filter(Boolean);
  return { ...found, line: weights, support: on, conflicts };
}

// Decide for points with labels 0 to K - 1. Return {name, margin, radius, bound, weights, pairs,
// shares, ties, proof}. Pairs are [example, competing class]: those on the margin, or those in
// conflict, with shares that sum to 1. Ties are the [label, competing class] of all conflicts.
export function separableLabels(points, targets, K) {
  const { augmented, power } = augmentedRows(points);
  const pairs = targets.flatMap((y, n) =>
    Array.from({ length: K }, (_, r) => [n, r]).filter(([, r]) => r !== y),
  );
  const Z = pairs.map(([n, r]) => against(augmented[n], targets[n], r, K));
  const none = { explanation: [], support: [], conflicts: [], pairs: [], shares: [] };
  if (digitsOf(squaredRadius(Z)) > 2 * LONGEST) {
    return { ...none, ...undecided(Z, power), name: "undecided", explanation: [TOO_FINE] };
  }
  // The block of the first label is left out, as if its weights were 0: adding the same vector to
  // the weights of all labels changes no product, so those columns are redundant.
  const few = Z.map((z) => z.slice(3));
  const { on, first, parts = [], ...found } = decide(Z, few, power);
  const ties = parts.flatMap((part) => part.rows.map((m) => [targets[pairs[m][0]], pairs[m][1]]));
  const shares = first ? first.multipliers.map((m) => ratioOf(m, summed(first.multipliers))) : [];
  const named = (first ? first.rows : on).map((m) => pairs[m]);
  return { ...none, ...found, pairs: named, ties, shares, proof: { ...found.proof, labels: K } };
}

// Return (1, x1, x2) of points, as integers times 2^power.
function augmentedRows(points) {
  const { integers, power } = onGrid([1, ...points.flat()]);
  const augmented = points.map((_, n) => [integers[0], integers[2 * n + 1], integers[2 * n + 2]]);
  return { augmented, power };
}

const negative = (x) => x.map((v) => -v);

// Return the row with x in the block of label y and −x in the block of label r.
function against(x, y, r, K) {
  const z = Array(K * x.length).fill(0n);
  x.forEach((v, j) => ([z[y * x.length + j], z[r * x.length + j]] = [v, -v]));
  return z;
}

function squaredRadius(Z) {
  return Z.map((z) => inner(z, z)).reduce((most, square) => (square > most ? square : most), 0n);
}

// Return the verdict as far as it is known before anything is decided.
function undecided(Z, power) {
  const radius = rootOf(squaredRadius(Z), 1n, power);
  return { margin: null, radius, bound: null, weights: null, on: [] };
}

// Return {name, margin, radius, bound, weights, on, first, proof}: `on` are the rows on the margin,
// `first` those in conflict. `few` are the rows without redundant columns.
function decide(Z, few, power) {
  const { x, multipliers } = nearestPoint(Z);
  if (isZero(x)) return { ...undecided(Z, power), ...findConflict(few) };
  const [square, total] = [inner(x, x), summed(multipliers)];
  const shares = Z.map((z) => ratioOf(inner(x, z) * total, square)); // of ρ
  return {
    ...undecided(Z, power),
    name: "separable",
    margin: rootOf(square, total * total, power),
    bound: ratioOf(squaredRadius(Z) * total * total, square),
    weights: x.map((v) => (v < 0n ? -1 : 1) * rootOf(v * v, square)),
    on: shares.flatMap((share, m) => (share <= 1 + ON_THE_MARGIN ? [m] : [])),
    proof: { claim: "separable", weights: lowestTerms(x), parts: [] },
  };
}

function findConflict(Z) {
  const { w, parts } = reduceFaces(Z);
  const [first] = parts;
  const name = w ? "quasi-separable" : "inseparable";
  const shown = w ? { weights: w, parts: [first] } : { weights: [], parts: [joinAll(Z, parts)] };
  return { name, first, parts, proof: { claim: name, ...shown } };
}

// Facial reduction: find rows in conflict, project their span away, and continue with the rest.
function reduceFaces(Z) {
  const parts = [];
  let [basis, seen] = [null, Z];
  for (;;) {
    const left = seen.flatMap((z, n) => (isZero(z) ? [] : [n]));
    if (!left.length) return { w: null, parts };
    const { x, rows, multipliers } = nearestPoint(left.map((n) => seen[n]));
    if (!isZero(x)) {
      const w = basis[0].map((_, j) => summed(basis.map((u, i) => x[i] * u[j])));
      return { w: lowestTerms(w), parts };
    }
    parts.push({ rows: rows.map((k) => left[k]), multipliers });
    basis = orthogonalTo(parts.flatMap((part) => part.rows.map((n) => Z[n])));
    if (!basis.length) return { w: null, parts };
    seen = Z.map((z) => basis.map((u) => inner(u, z)));
  }
}

// Join the multipliers of all conflicts. If their rows do not span the whole space, the other rows,
// which then lie in their span, get multipliers too.
function joinAll(Z, parts) {
  let carried = parts.reduce((all, part) => join(Z, all, part));
  const others = Z.map((_, n) => n).filter((n) => !carried.rows.includes(n));
  if (others.length && independentOf(carried.rows.map((n) => Z[n])).length < Z[0].length)
    carried = join(Z, carried, { rows: others, multipliers: others.map(() => 1n) });
  const order = carried.rows.map((_, i) => i).sort((i, j) => carried.rows[i] - carried.rows[j]);
  const multipliers = lowestTerms(carried.multipliers);
  return { rows: order.map((i) => carried.rows[i]), multipliers: order.map((i) => multipliers[i]) };
}

// Join multipliers whose sum is 0 with others whose sum lies in the span of those rows:
// Σ scale·m z − Σ parts z + k Σ λ z = 0 for any k, and a large k makes all multipliers positive.
function join(Z, carried, part) {
  const total = Z[0].map((_, j) => summed(part.rows.map((n, i) => part.multipliers[i] * Z[n][j])));
  const basis = independentOf(carried.rows.map((n) => Z[n]));
  const { parts, scale } = combination(
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
      ...part.multipliers.map((m) => scale * m),
    ],
  };
}

// Return two equal examples with different labels, if there are any.
function contradiction(Z) {
  const seen = new Map();
  for (const [n, z] of Z.entries()) {
    const other = seen.get(String(negative(z)));
    if (other !== undefined) return { rows: [other, n], multipliers: [1n, 1n] };
    if (!seen.has(String(z))) seen.set(String(z), n);
  }
  return null;
}

// Find the point nearest to 0 in the convex hull of integer vectors, by Wolfe's method: take a face
// and its nearest point, find a vector nearer to 0 than that, and continue with the face and this
// vector. Return {x, rows, multipliers}: x = Σ m z over these rows is the nearest point times Σ m.
function nearestPoint(Z) {
  const floats = toFloats(Z);
  let face = faceOf(Z, [0], [1n]);
  for (;;) {
    const square = inner(face.x, face.x);
    if (square === 0n) return face;
    const total = summed(face.multipliers);
    const below = (z) => inner(face.x, z) * total < square;
    const guess = indexOfLowest(floats, toFloats([face.x])[0]);
    const next = below(Z[guess]) ? guess : Z.findIndex(below);
    if (next < 0) return face;
    face = withCorner(Z, face, next);
  }
}

function faceOf(Z, rows, multipliers) {
  const m = lowestTerms(multipliers);
  const x = Z[0].map((_, j) => rows.reduce((sum, n, i) => sum + m[i] * Z[n][j], 0n));
  return { rows, multipliers: m, x };
}

// Find the nearest point of a face with one more corner: the nearest point of the affine space
// through its corners or, if that is outside, the last point of the face on the way there. Corners
// without a weight are removed.
function withCorner(Z, { rows, multipliers }, next) {
  let [corners, now] = [
    [...rows, next],
    [...multipliers, 0n],
  ];
  for (;;) {
    const wanted = affineWeights(corners.map((n) => Z[n]));
    if (wanted.every((m) => m > 0n)) return faceOf(Z, corners, wanted);
    now = moveTowards(now, wanted);
    const kept = now.map((m) => m > 0n);
    corners = corners.filter((_, i) => kept[i]);
    now = now.filter((_, i) => kept[i]);
  }
}

// Move from weights toward others, both as shares of their sums, until the first weight becomes 0.
function moveTowards(now, wanted) {
  const [a, b] = [summed(now), summed(wanted)];
  const from = now.map((m) => m * b);
  const to = wanted.map((m) => m * a);
  let [p, q] = [1n, 0n]; // the share p/q of the way; q = 0 until one is found
  from.forEach((m, i) => {
    const way = m - to[i];
    if (to[i] <= 0n && way > 0n && (q === 0n || m * q < p * way)) [p, q] = [m, way];
  });
  return lowestTerms(from.map((m, i) => m * (q - p) + to[i] * p));
}

// Return the weights of the point nearest to 0 in the affine space through vectors: (G + 1)·m = 1,
// where G is their Gram matrix.
function affineWeights(vectors) {
  const table = vectors.map((u) => [...vectors.map((v) => inner(u, v) + 1n), 1n]);
  return lowestTerms(solve(table).parts);
}

// Write a vector in a basis that spans it: scale·v = Σ parts[i]·basis[i], scale > 0.
function combination(basis, v) {
  return solve(basis.map((u) => [...basis.map((other) => inner(u, other)), inner(u, v)]));
}

// Solve equations with a positive definite matrix without fractions. The last column is the right
// side.
function solve(table) {
  const size = table.length;
  let scale = 1n;
  for (let k = 0; k < size; k++) {
    for (let i = 0; i < size; i++) {
      if (i === k) continue;
      for (let j = size; j > k; j--)
        table[i][j] = (table[i][j] * table[k][k] - table[i][k] * table[k][j]) / scale;
      table[i][k] = 0n;
      if (i < k) table[i][i] = table[k][k];
    }
    scale = table[k][k];
  }
  return { parts: table.map((row) => row[size]), scale };
}

// Return vectors as doubles of length about 1, which are used for guesses only.
function toFloats(Z) {
  let most = 1n;
  for (const z of Z) for (const v of z) most = v > most ? v : -v > most ? -v : most;
  return Z.map((z) => z.map((v) => ratioOf(v, most)));
}

function indexOfLowest(floats, x) {
  let [best, least] = [0, Infinity];
  floats.forEach((z, n) => {
    let s = 0;
    for (let j = 0; j < x.length; j++) s += x[j] * z[j];
    if (s < least) [best, least] = [n, s];
  });
  return best;
}

// Return the positions of linearly independent vectors that span the same space as all of them.
function independentOf(vectors) {
  const free = [];
  let left = vectors;
  vectors.forEach((_, n) => {
    const pivot = left[n];
    const j = pivot.findIndex((v) => v !== 0n);
    if (j < 0) return;
    free.push(n);
    left = left.map((row, i) => (i > n ? eliminate(row, pivot, j) : row));
  });
  return free;
}

const eliminate = (row, pivot, j) =>
  row[j] === 0n ? row : lowestTerms(row.map((v, k) => v * pivot[j] - pivot[k] * row[j]));

// Return a basis, in integers, of all vectors orthogonal to the given ones.
function orthogonalTo(vectors) {
  const size = vectors[0].length;
  let left = vectors;
  const pivots = []; // a row for each column that is a pivot
  for (let j = 0; j < size; j++) {
    const pivot = left.find((row) => row[j] !== 0n);
    if (!pivot) continue;
    left = left.filter((row) => row !== pivot).map((row) => eliminate(row, pivot, j));
    for (const entry of pivots) entry.row = eliminate(entry.row, pivot, j);
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
