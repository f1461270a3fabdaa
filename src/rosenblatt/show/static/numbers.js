// Numbers: exact arithmetic, numbers as text, and arrays of numbers in stories.
//
// A double is an integer times a power of two. So sums and products of doubles are computed
// exactly, as BigInt, and fractions of BigInt are rounded to doubles once.

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

// Write doubles as integers times a common power of two: {integers, power}.
export function onGrid(numbers) {
  const parts = numbers.map(integerAndPower);
  let power = parts.reduce((least, [integer, own]) => (integer && own < least ? own : least), 0);
  let integers = parts.map(([integer, own]) => (integer ? integer << BigInt(own - power) : 0n));
  // Move zeros at the end of all integers into the power.
  const bits = integers.reduce((all, integer) => all | integer, 0n);
  const zeros = bits ? Math.min(-power, digitsOf(bits & -bits) - 1) : 0;
  integers = integers.map((integer) => integer >> BigInt(zeros));
  power += zeros;
  return { integers, power };
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

// Return √(p/q) · 2^power as a double, rounded once or nearly so.
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

// Return an array of numbers that a story holds as base64 text or as a plain array.
export function unpack(packed) {
  if (ArrayBuffer.isView(packed)) return packed;
  if (Array.isArray(packed)) return Float64Array.from(packed);
  const kind = Object.keys(packed)[0];
  const text = atob(packed[kind]);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return kind === "f8" ? new Float64Array(bytes.buffer) : new Uint32Array(bytes.buffer);
}

// Created once, because that takes longer than drawing a picture.
const GROUPED = new Intl.NumberFormat("en-US");

export function formatCount(count) {
  return GROUPED.format(count);
}

// Write a number with about four digits, as a reader would.
export function format(number, digits = 4) {
  if (number === null || number === undefined || Number.isNaN(number)) return "–";
  const size = Math.abs(number);
  if (size >= 1e6 || (size > 0 && size < 1e-3)) return minus(short(number.toExponential(2)));
  if (size >= 1000) return minus(formatCount(Math.round(number)));
  return minus(String(Number(number.toPrecision(digits))));
}

// Write a number for a narrow column.
export function formatShort(number) {
  return Math.abs(number) >= 1e5 ? minus(short(number.toExponential(2))) : format(number);
}

export function formatSigned(number) {
  return number < 0 ? formatShort(number) : `+${formatShort(number)}`;
}

// Write a bound on the number of updates as an integer. The factor undoes rounding errors, as in
// Python.
export function formatBound(bound) {
  return bound < 1e9 ? formatCount(Math.floor(bound * (1 + 1e-12))) : format(bound, 3);
}

export function plural(count, thing) {
  return `${formatCount(count)} ${thing}${count === 1 ? "" : "s"}`;
}

function short(text) {
  return text.replace(/\.?0*e/, "e").replace("e+", "e");
}

function minus(text) {
  return text.replace("-", "−");
}
