// Mistakes: which examples w answers wrongly, in exact arithmetic wherever rounding could decide.
// An example counts when its computed score is on the wrong side, or when its exact score is.
import { exactSign } from "./exact.js";

const ROUNDING = 2 ** -50;
const SMALLEST = 2 ** -1000; // far above what underflow can take away

// w is tall; of x the constant x0 is implied.
function isMistake(w, x, y, zero, x0 = 1) {
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
  return isDoubtfulMistake(w, x, y, zero, x0, size > SMALLEST && size < Infinity ? score : null);
}

// Of a score that vanished or overflowed only the exact one counts.
function isDoubtfulMistake(w, x, y, zero, x0, score) {
  if (score !== null && score * y <= 0) return true;
  const exact = exactSign(Array.from(w), x0 ? [x0, ...x] : Array.from(x));
  return (exact || zero) * y <= 0;
}

// The same of more than two labels, whose answers are places and whose w has a block for each.
export function isWrong(w, x, y, zero, K, x0 = 1) {
  return K > 2 ? isJointMistake(w, x, y, zero, K, x0) : isMistake(w, x, y, zero, x0);
}

// Of examples {X, y, K}, those that w answers wrongly.
export function mistakesOf({ X, y, K }, w, zero) {
  const wrong = [];
  for (let n = 0; n < X.length; n++) if (isWrong(w, X[n], y[n], zero, K)) wrong.push(n);
  return wrong;
}

// How many they are; where that is not below `enough`, no more than it takes to know so. In the
// plane, where most are counted, `reach` has the largest of each column: then one bound is for all.
export function countMistakes({ X, y, K, reach }, w, zero, enough = Infinity) {
  const [a, b, c] = w;
  const inPlane = w.length === 3 && reach;
  const sizes = inPlane ? Math.abs(a) + Math.abs(b) * reach[0] + Math.abs(c) * reach[1] : Infinity;
  const doubt = ROUNDING * sizes + SMALLEST;
  let count = 0;
  for (let n = 0; n < X.length && count < enough; n++) {
    const x = X[n];
    const score = a + b * x[0] + c * x[1];
    const wrong = Math.abs(score) > doubt ? score * y[n] < 0 : isWrong(w, x, y[n], zero, K);
    if (wrong) count += 1;
  }
  return count;
}

// The largest size of each column.
export function reachOf(X) {
  return X[0].map((_, j) => X.reduce((most, x) => Math.max(most, Math.abs(x[j])), 0));
}

// Joint: more than two labels, a block of w for each. What a mistake is and what corrects it, as in
// mistake_joint and add_joint of src/rosenblatt/kernels.py; the loops are those of pla.js.
//
// The answer of a row is the place of its label. A correction is called n·K + r: row n against r.

export const NONE = -1; // no correction
const JOINT_ROUNDING = 2 ** -49;

// Row n against its best rival if its own label's score is not above that, else NONE.
function mistake({ X, y, K }, n, w, zero) {
  const s = scoresOf(w, X[n], K);
  const r = rivalOf(s, y[n], zero);
  return isRight(s[y[n]] - s[r], y[n], r, zero) ? NONE : n * K + r;
}

// w ← w + a·x for the label of a row, and w − a·x for its rival.
function add({ X, y, K }, m, w, a) {
  const n = Math.floor(m / K);
  addTo(w, y[n], X[n], a);
  addTo(w, m % K, X[n], -a);
}

function addTo(w, k, x, a) {
  const first = k * (x.length + 1);
  w[first] += a;
  for (let i = 0; i < x.length; i++) w[first + 1 + i] += a * x[i];
}

function isRight(ahead, y, r, zero) {
  return ahead > 0 || (ahead === 0 && (y - r) * zero > 0);
}

// w·x for one label after another.
function scoresOf(w, x, K, x0 = 1) {
  const size = w.length / K;
  const first = x0 ? 1 : 0;
  return Array.from({ length: K }, (_, k) => {
    let s = x0 ? w[k * size] * x0 : 0;
    for (let i = 0; i < x.length; i++) s += w[k * size + first + i] * x[i];
    return s;
  });
}

// The label with the highest score but y: the first, or for zero > 0 the last, of equals.
function rivalOf(s, y, zero, above = (k, r) => s[k] - s[r]) {
  let r = y === 0 ? 1 : 0;
  for (let k = r + 1; k < s.length; k++) {
    if (k === y) continue;
    const more = above(k, r);
    if (more > 0 || (more === 0 && zero > 0)) r = k;
  }
  return r;
}

// The sign of how far the exact score of one label is above another's.
function exactly(w, x, K, x0) {
  const size = w.length / K;
  const tall = x0 ? [x0, ...x] : Array.from(x);
  const block = (k, sign) => Array.from(w.subarray(k * size, (k + 1) * size), (v) => sign * v);
  return (k, r) => exactSign([...block(k, 1), ...block(r, -1)], [...tall, ...tall]);
}

// The correction of a row that is a mistake, though floats may not see it: its exact best rival.
function correctionOf({ X, y, K }, n, w, zero) {
  return n * K + rivalOf(Array(K), y[n], zero, exactly(w, X[n], K, 1));
}

export const joint = { mistake, add, correctionOf };

// Whether w answers a row wrongly: as computed, or exactly where rounding could decide.
export function isJointMistake(w, x, y, zero, K, x0 = 1) {
  const s = scoresOf(w, x, K, x0);
  const r = rivalOf(s, y, zero);
  const ahead = s[y] - s[r];
  if (Math.abs(ahead) > JOINT_ROUNDING * sizeOf(w, x, K, x0) + SMALLEST && Number.isFinite(ahead))
    return ahead < 0;
  if (Number.isFinite(ahead) && ahead < 0) return true;
  const above = exactly(w, x, K, x0);
  const best = rivalOf(s, y, zero, above);
  return !isRight(above(y, best), y, best, zero);
}

// The most that the products of a score add up to.
function sizeOf(w, x, K, x0) {
  const sizes = Float64Array.from(x, Math.abs);
  return Math.max(...scoresOf(Float64Array.from(w, Math.abs), sizes, K, Math.abs(x0)));
}
