// Joint: more than two labels, a block of w for each. What a mistake is and what corrects it, as in
// mistake_joint and add_joint of src/rosenblatt/kernels.py; the loops are those of pla.js.
//
// The answer of a row is the place of its label. A correction is called n·K + r: row n against r.
import { exactSign } from "./exact.js";

export const NONE = -1; // no correction
const ROUNDING = 2 ** -49;
const SMALLEST = 2 ** -1000; // far above what underflow can take away

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
  if (Math.abs(ahead) > ROUNDING * sizeOf(w, x, K, x0) + SMALLEST && Number.isFinite(ahead))
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
