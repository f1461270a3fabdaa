// Exact: arithmetic without rounding. A double is an integer times a power of two, so sums and
// products of doubles are computed as BigInt, and fractions of BigInt are rounded to doubles once.

// Return the integer and the power of two whose product is a double.
function integerAndPower(number) {
  VIEW.setFloat64(0, number);
  const bits = VIEW.getBigUint64(0);
  const exponent = Number((bits >> 52n) & 0x7ffn);
  const fraction = bits & 0xfffffffffffffn;
  const integer = exponent ? fraction | 0x10000000000000n : fraction;
  return [bits >> 63n ? -integer : integer, Math.max(exponent, 1) - 1075];
}

const VIEW = new DataView(new ArrayBuffer(8));

// Return the sign of Σ a[i]·b[i], computed exactly.
export function exactSign(a, b) {
  const terms = a.map((value, i) => {
    const [u, i2] = integerAndPower(value);
    const [v, j2] = integerAndPower(b[i]);
    return [u * v, i2 + j2];
  });
  const lowest = Math.min(...terms.map(([, power]) => power));
  const total = summed(terms.map(([product, power]) => product << BigInt(power - lowest)));
  return total > 0n ? 1 : total < 0n ? -1 : 0;
}

// Return doubles as integers times one power of two: {integers, power}.
export function onGrid(numbers) {
  const parts = numbers.map((number) => withoutTrailingZeros(integerAndPower(number)));
  const power = parts.reduce((least, [integer, own]) => (integer && own < least ? own : least), 0);
  const integers = parts.map(([integer, own]) => (integer ? integer << BigInt(own - power) : 0n));
  return { integers, power };
}

// Move trailing zeros of the integer into the power.
function withoutTrailingZeros([integer, power]) {
  if (integer === 0n) return [0n, 0];
  const low = Number(integer & 0xffffffffn);
  const trailing = (word) => 31 - Math.clz32(word & -word); // zeros at the end of 32 bits
  const zeros = low ? trailing(low) : 32 + trailing(Number((integer >> 32n) & 0xffffffffn));
  return [integer >> BigInt(zeros), power + zeros];
}

export const summed = (numbers) => numbers.reduce((sum, v) => sum + v, 0n);
export const isZero = (vector) => vector.every((v) => v === 0n);

export function inner(a, b) {
  let sum = 0n;
  for (let j = 0; j < a.length; j++) sum += a[j] * b[j];
  return sum;
}

// Return the number of binary digits.
export function digitsOf(number) {
  const text = (number < 0n ? -number : number).toString(16);
  return 4 * text.length - (Math.clz32(Number(`0x${text[0]}`)) - 28);
}

// Return p/q · 2^power as a double, rounded once or nearly so.
export function ratioOf(p, q, power = 0) {
  if (p === 0n) return 0;
  const shift = 64 - digitsOf(p) + digitsOf(q);
  const quotient = shift >= 0 ? (p << BigInt(shift)) / q : p / (q << BigInt(-shift));
  return scaled(Number(quotient), power - shift);
}

// Return √(p/q) · 2^power as a double.
export function rootOf(p, q, power = 0) {
  const shift = 2 * Math.ceil((110 - digitsOf(p) + digitsOf(q)) / 2);
  const quotient = shift >= 0 ? (p << BigInt(shift)) / q : p / (q << BigInt(-shift));
  return scaled(Math.sqrt(Number(quotient)), power - shift / 2);
}

// Return number · 2^power, in steps that neither overflow nor underflow on the way.
function scaled(number, power) {
  while (power > 1000) [number, power] = [number * 2 ** 1000, power - 1000];
  while (power < -1000) [number, power] = [number * 2 ** -1000, power + 1000];
  return number * 2 ** power;
}

// Divide integers by their greatest common divisor.
export function lowestTerms(numbers) {
  let divisor = 0n;
  for (const number of numbers) {
    let [a, b] = [number < 0n ? -number : number, divisor];
    while (b) [a, b] = [b, a % b];
    divisor = a;
  }
  return divisor > 1n ? numbers.map((number) => number / divisor) : [...numbers];
}
