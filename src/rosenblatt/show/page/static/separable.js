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
import { acrossTo, combination, freeOf, nearestOf } from "./hull.js";

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
