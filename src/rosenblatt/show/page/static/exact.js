// Exact: doubles are whole numbers times powers of two, so sums and products of them need not be
// rounded. Vectors of BigInt, and fractions of BigInt as doubles.

// The parts of a double: its whole number and its power of two.
function wholeAndPower(number) {
  VIEW.setFloat64(0, number);
  const bits = VIEW.getBigUint64(0);
  const exponent = Number((bits >> 52n) & 0x7ffn);
  const fraction = bits & 0xfffffffffffffn;
  const whole = exponent ? fraction | 0x10000000000000n : fraction;
  return [bits >> 63n ? -whole : whole, Math.max(exponent, 1) - 1075];
}

const VIEW = new DataView(new ArrayBuffer(8));

// The sign of Σ a[i]·b[i] in whole numbers.
export function exactSign(a, b) {
  const terms = a.map((value, i) => {
    const [u, i2] = wholeAndPower(value);
    const [v, j2] = wholeAndPower(b[i]);
    return [u * v, i2 + j2];
  });
  const lowest = Math.min(...terms.map(([, power]) => power));
  const total = summed(terms.map(([product, power]) => product << BigInt(power - lowest)));
  return total > 0n ? 1 : total < 0n ? -1 : 0;
}

// Doubles as whole numbers of one unit, 2 to the power: {wholes, power}.
export function onGrid(numbers) {
  const parts = numbers.map((number) => shortened(wholeAndPower(number)));
  const power = parts.reduce((least, [whole, own]) => (whole && own < least ? own : least), 0);
  const wholes = parts.map(([whole, own]) => (whole ? whole << BigInt(own - power) : 0n));
  return { wholes, power };
}

// The fewest digits: zeros at the end go into the power.
function shortened([whole, power]) {
  if (whole === 0n) return [0n, 0];
  const low = Number(whole & 0xffffffffn);
  const zeros = low ? trailing(low) : 32 + trailing(Number((whole >> 32n) & 0xffffffffn));
  return [whole >> BigInt(zeros), power + zeros];
}

// How many zeros 32 binary digits end with.
function trailing(word) {
  return 31 - Math.clz32(word & -word);
}

export const summed = (numbers) => numbers.reduce((sum, v) => sum + v, 0n);
export const isZero = (vector) => vector.every((v) => v === 0n);

export function inner(a, b) {
  let sum = 0n;
  for (let j = 0; j < a.length; j++) sum += a[j] * b[j];
  return sum;
}

// How many binary digits a number has.
export function digitsOf(number) {
  const text = (number < 0n ? -number : number).toString(16);
  return 4 * text.length - (Math.clz32(Number(`0x${text[0]}`)) - 28);
}

// p/q · 2^power as a double, rounded once or nearly so.
export function ratioOf(p, q, power = 0) {
  if (p === 0n) return 0;
  const shift = 64 - digitsOf(p) + digitsOf(q);
  const quotient = shift >= 0 ? (p << BigInt(shift)) / q : p / (q << BigInt(-shift));
  return scaled(Number(quotient), power - shift);
}

// √(p/q) · 2^power as a double.
export function rootOf(p, q, power = 0) {
  const shift = 2 * Math.ceil((110 - digitsOf(p) + digitsOf(q)) / 2);
  const quotient = shift >= 0 ? (p << BigInt(shift)) / q : p / (q << BigInt(-shift));
  return scaled(Math.sqrt(Number(quotient)), power - shift / 2);
}

// number · 2^power, in steps that neither overflow nor vanish on the way.
function scaled(number, power) {
  while (power > 1000) [number, power] = [number * 2 ** 1000, power - 1000];
  while (power < -1000) [number, power] = [number * 2 ** -1000, power + 1000];
  return number * 2 ** power;
}

// Whole numbers divided by what divides them all.
export function lowestTerms(numbers) {
  let divisor = 0n;
  for (const number of numbers) {
    let [a, b] = [number < 0n ? -number : number, divisor];
    while (b) [a, b] = [b, a % b];
    divisor = a;
  }
  return divisor > 1n ? numbers.map((number) => number / divisor) : [...numbers];
}
