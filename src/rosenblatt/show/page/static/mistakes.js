// Mistakes: which examples w answers wrongly, in exact arithmetic wherever rounding could decide.
// An example counts when its computed score is on the wrong side, or when its exact score is.
import { exactSign } from "./exact.js";

const ROUNDING = 2 ** -50;
const SMALLEST = 2 ** -1000; // far above what underflow can take away

// w is tall; of x the constant x0 is implied.
export function isMistake(w, x, y, zero, x0 = 1) {
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

// Of examples {X, y}, those that w answers wrongly.
export function mistakesOf({ X, y }, w, zero) {
  const wrong = [];
  for (let n = 0; n < X.length; n++) if (isMistake(w, X[n], y[n], zero)) wrong.push(n);
  return wrong;
}

// How many they are; where that is not below `enough`, no more than it takes to know so.
export function countMistakes({ X, y }, w, zero, enough = Infinity) {
  let count = 0;
  const inPlane = w.length === 3; // where most are counted, and fast
  for (let n = 0; n < X.length && count < enough; n++) {
    const x = X[n];
    if (inPlane) {
      const [u, v] = [w[1] * x[0], w[2] * x[1]];
      const sum = w[0] + u + v;
      if (Math.abs(sum) > ROUNDING * (Math.abs(w[0]) + Math.abs(u) + Math.abs(v)) + SMALLEST) {
        if (sum * y[n] < 0) count += 1;
        continue;
      }
    }
    if (isMistake(w, x, y[n], zero)) count += 1;
  }
  return count;
}
