// Kesler: can weights for each of K labels answer every example? Decided in whole numbers, on rows
// with x in the place of its label and −x in that of a rival: w·z > 0 says that the right score is
// above the rival's. See separable.js, which does the same of two labels in the plane.
import { digitsOf, lowestTerms, onGrid, ratioOf, rootOf } from "./exact.js";
import { acrossTo, combination, freeOf, nearestOf } from "./hull.js";

const LONGEST = 400; // binary digits of a whole number: more would take too long
const ON_THE_MARGIN = 1e-7; // rows this near to it, relative to its width, are said to be on it
const TOO_FINE = "Not decided here: some numbers are too far apart in size. The Python lines do.";
const inner = (a, b) => a.reduce((sum, v, j) => sum + v * b[j], 0n);
const isZero = (a) => a.every((v) => v === 0n);
const summed = (numbers) => numbers.reduce((sum, m) => sum + m, 0n);

// What is proved of points and their labels' places: {name, margin, radius, bound, weights, pairs,
// shares, proof}; pairs are [example, rival], on the margin, or blocking with shares that sum to 1.
export function separableLabels(points, answers, K) {
  const { wholes, power } = onGrid([1, ...points.flat()]);
  const tall = points.map((_, n) => [wholes[0], wholes[2 * n + 1], wholes[2 * n + 2]]);
  const pairs = answers.flatMap((y, n) =>
    Array.from({ length: K }, (_, r) => [n, r]).filter(([, r]) => r !== y),
  );
  const Z = pairs.map(([n, r]) => against(tall[n], answers[n], r, K));
  const radius = Z.reduce((most, z) => (inner(z, z) > most ? inner(z, z) : most), 0n);
  const none = { margin: null, bound: null, weights: null, pairs: [], shares: [], told: [] };
  const common = { ...none, radius: rootOf(radius, 1n, power), support: [], blocking: [] };
  if (digitsOf(radius) > 2 * LONGEST) return { ...common, name: "undecided", told: [TOO_FINE] };
  const found = nearestOf(Z);
  const told = isZero(found.x) ? blocked(Z, pairs, 3) : widest(Z, pairs, found, radius, power);
  return { ...common, ...told, proof: { claim: told.name, labels: K, ...told.proof } };
}

// x in the place of label y, −x in that of r.
function against(x, y, r, K) {
  const z = Array(K * x.length).fill(0n);
  x.forEach((v, j) => ([z[y * x.length + j], z[r * x.length + j]] = [v, -v]));
  return z;
}

function widest(Z, pairs, { x, multipliers }, radius, power) {
  const [square, total] = [inner(x, x), summed(multipliers)];
  const scores = Z.map((z) => ratioOf(inner(x, z) * total, square)); // as shares of ρ
  const sign = (v) => (v < 0n ? -1 : 1);
  return {
    name: "separable",
    margin: rootOf(square, total * total, power),
    bound: ratioOf(radius * total * total, square),
    weights: x.map((v) => sign(v) * rootOf(v * v, square)),
    pairs: pairs.filter((_, m) => scores[m] <= 1 + ON_THE_MARGIN),
    proof: { weights: lowestTerms(x), parts: [] },
  };
}

// Without the first label's place, of this size, as if its weights were 0: to add the same to all
// labels' weights changes no product, and there is nothing that no row tells apart.
function blocked(full, pairs, size) {
  const Z = full.map((z) => z.slice(size));
  const { w, parts } = reduced(Z);
  const [first] = parts;
  return {
    name: w ? "quasi-separable" : "inseparable",
    pairs: first.rows.map((m) => pairs[m]),
    shares: first.multipliers.map((m) => ratioOf(m, summed(first.multipliers))),
    proof: w ? { weights: w, parts: [first] } : { weights: [], parts: [allOf(Z, parts)] },
  };
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
