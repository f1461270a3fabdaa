// Hull: the point of the hull of whole vectors that is nearest to 0, without rounding, by Wolfe's
// way: a face and its nearest point, a vector below it, the face with that vector.
import { inner, lowestTerms, ratioOf, summed } from "./exact.js";

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
    face = joined(Z, face, next);
  }
}

function faceOf(Z, rows, multipliers) {
  const m = lowestTerms(multipliers);
  const x = Z[0].map((_, j) => rows.reduce((sum, n, i) => sum + m[i] * Z[n][j], 0n));
  return { rows, multipliers: m, x };
}

// The nearest point of the face with one more vector: that of the space through its corners, or
// as far that way as the face goes, without the corners that are left behind.
function joined(Z, { rows, multipliers }, next) {
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
