// Mistakes: what a mistake is and which update corrects it, for two labels and for more. Training
// computes scores in floats, as src/rosenblatt/kernels.py does; mistakes are counted in exact
// arithmetic wherever rounding could change the result.
//
// Examples are {X, y, K}: rows of numbers without x0 = 1, which is implied, and their labels. With
// two labels, y is -1 or 1, and an update is the number n of its row. With K > 2 labels, y is the
// position of the label, w has a block for each, and an update is n·K + r: row n against competing
// label r.
import { exactSign } from "./numbers.js";

export const NONE = -1; // no update
const ROUNDING = 2 ** -50;
const JOINT_ROUNDING = 2 ** -49;
const SMALLEST = 2 ** -1000; // far above any error of underflow

// The update rule for a number of labels: `mistake` returns the update that row n causes, or NONE;
// `add` makes an update; `updateOf` is the update of a row that is known to be misclassified.
export const updateRule = ({ K }) => (K > 2 ? joint : binary);

const binary = {
  // Is y·(w·x) ≤ 0? If w·x is exactly 0, its sign is `zero`: -1, 1, or 0, which is always a
  // mistake.
  mistake({ X, y }, n, w, zero) {
    const x = X[n];
    let s = w[0];
    for (let i = 0; i < x.length; i++) s += w[i + 1] * x[i];
    return y[n] * s > 0 || (s === 0 && y[n] * zero > 0) ? NONE : n;
  },

  // w ← w + η y x
  add({ X, y }, n, w, eta) {
    const [x, a] = [X[n], y[n] * eta];
    w[0] += a;
    for (let i = 0; i < x.length; i++) w[i + 1] += a * x[i];
  },

  updateOf: (_, n) => n,
};

const joint = {
  // Is the score of the right label not above that of its best competing class?
  mistake({ X, y, K }, n, w, zero) {
    const s = scoresOf(w, X[n], K);
    const r = rivalOf(s, y[n], zero);
    return isRight(s[y[n]] - s[r], y[n], r, zero) ? NONE : n * K + r;
  },

  // w ← w + a·x for the label of the row, and w − a·x for the competing class
  add({ X, y, K }, update, w, a) {
    const n = Math.floor(update / K);
    addTo(w, y[n], X[n], a);
    addTo(w, update % K, X[n], -a);
  },

  // The competing class is found in exact arithmetic, because rounding may hide the mistake.
  updateOf: ({ X, y, K }, n, w, zero) =>
    n * K + rivalOf(Array(K), y[n], zero, exactComparison(w, X[n], K, 1)),
};

function addTo(w, k, x, a) {
  const first = k * (x.length + 1);
  w[first] += a;
  for (let i = 0; i < x.length; i++) w[first + 1 + i] += a * x[i];
}

function isRight(ahead, y, r, zero) {
  return ahead > 0 || (ahead === 0 && (y - r) * zero > 0);
}

// Return w·x of every label.
function scoresOf(w, x, K, x0 = 1) {
  const size = w.length / K;
  const first = x0 ? 1 : 0;
  return Array.from({ length: K }, (_, k) => {
    let s = x0 ? w[k * size] * x0 : 0;
    for (let i = 0; i < x.length; i++) s += w[k * size + first + i] * x[i];
    return s;
  });
}

// Return the label with the highest score except y: of equal ones the first, or if zero > 0 the
// last.
function rivalOf(s, y, zero, difference = (k, r) => s[k] - s[r]) {
  let r = y === 0 ? 1 : 0;
  for (let k = r + 1; k < s.length; k++) {
    if (k === y) continue;
    const more = difference(k, r);
    if (more > 0 || (more === 0 && zero > 0)) r = k;
  }
  return r;
}

// Return a function that compares the exact scores of two labels.
function exactComparison(w, x, K, x0) {
  const size = w.length / K;
  const augmented = x0 ? [x0, ...x] : Array.from(x);
  const block = (k, sign) => Array.from(w.subarray(k * size, (k + 1) * size), (v) => sign * v);
  return (k, r) => exactSign([...block(k, 1), ...block(r, -1)], [...augmented, ...augmented]);
}

// Return whether w misclassifies a row: by its computed score or, where rounding could change the
// result, by its exact score as well. A row is a mistake if either of the two is on the wrong side.
export function isWrong(w, x, y, zero, K, x0 = 1) {
  return K > 2 ? isJointMistake(w, x, y, zero, K, x0) : isMistake(w, x, y, zero, x0);
}

function isMistake(w, x, y, zero, x0) {
  const first = x0 ? 1 : 0;
  let score = x0 ? w[0] * x0 : 0;
  let sizes = Math.abs(score);
  for (let i = 0; i < x.length; i++) {
    const product = w[i + first] * x[i];
    score += product;
    sizes += Math.abs(product);
  }
  const size = Math.abs(score);
  if (size > ROUNDING * sizes + SMALLEST && size < Infinity) return score * y < 0;
  // If the computed score underflowed or overflowed, only the exact one counts.
  if (size > SMALLEST && size < Infinity && score * y <= 0) return true;
  const exact = exactSign(Array.from(w), x0 ? [x0, ...x] : Array.from(x));
  return (exact || zero) * y <= 0;
}

function isJointMistake(w, x, y, zero, K, x0) {
  const s = scoresOf(w, x, K, x0);
  const r = rivalOf(s, y, zero);
  const ahead = s[y] - s[r];
  const [sizesOfW, sizesOfX] = [Float64Array.from(w, Math.abs), Float64Array.from(x, Math.abs)];
  const size = Math.max(...scoresOf(sizesOfW, sizesOfX, K, Math.abs(x0)));
  if (Math.abs(ahead) > JOINT_ROUNDING * size + SMALLEST && Number.isFinite(ahead))
    return ahead < 0;
  if (Number.isFinite(ahead) && ahead < 0) return true;
  const difference = exactComparison(w, x, K, x0);
  const best = rivalOf(s, y, zero, difference);
  return !isRight(difference(y, best), y, best, zero);
}

// Return the rows that w misclassifies.
export function mistakesOf({ X, y, K }, w, zero) {
  const wrong = [];
  for (let n = 0; n < X.length; n++) if (isWrong(w, X[n], y[n], zero, K)) wrong.push(n);
  return wrong;
}

// Return the number of rows that w misclassifies; counting stops at `enough`. In the plane, where
// most counting is done, `reach` has the largest absolute value of each column, so that one
// rounding error bound holds for all rows.
export function countMistakes({ X, y, K, reach }, w, zero, enough = Infinity) {
  const [a, b, c] = w;
  const inPlane = w.length === 3 && reach;
  const sizes = inPlane ? Math.abs(a) + Math.abs(b) * reach[0] + Math.abs(c) * reach[1] : Infinity;
  const tolerance = ROUNDING * sizes + SMALLEST;
  let count = 0;
  for (let n = 0; n < X.length && count < enough; n++) {
    const x = X[n];
    const score = a + b * x[0] + c * x[1];
    const wrong = Math.abs(score) > tolerance ? score * y[n] < 0 : isWrong(w, x, y[n], zero, K);
    if (wrong) count += 1;
  }
  return count;
}

// Return the largest absolute value of each column.
export function reachOf(X) {
  return X[0].map((_, j) => X.reduce((most, x) => Math.max(most, Math.abs(x[j])), 0));
}
