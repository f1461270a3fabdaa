// Mistakes: which examples w answers wrongly, in exact arithmetic wherever rounding could decide.
// An example counts when its computed score is on the wrong side, or when its exact score is.
import { exactSign } from "./exact.js";
import { isJointMistake } from "./joint.js";

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
