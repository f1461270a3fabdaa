// Numbers: unpack them with all their bits, and write them as text.

export function unpack(packed) {
  if (ArrayBuffer.isView(packed)) return packed;
  if (Array.isArray(packed)) return Float64Array.from(packed);
  const kind = Object.keys(packed)[0];
  const text = atob(packed[kind]);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return kind === "f8" ? new Float64Array(bytes.buffer) : new Uint32Array(bytes.buffer);
}

const GROUPED = new Intl.NumberFormat("en-US"); // created once: that takes longer than drawing a picture

export function grouped(count) {
  return GROUPED.format(count);
}

export function say(number, digits = 4) {
  if (number === null || number === undefined || Number.isNaN(number)) return "–";
  const size = Math.abs(number);
  if (size >= 1e6 || (size > 0 && size < 1e-3)) return minus(short(number.toExponential(2)));
  if (size >= 1000) return minus(grouped(Math.round(number)));
  return minus(String(Number(number.toPrecision(digits))));
}

// Write a number for a narrow column.
export function sayShort(number) {
  return Math.abs(number) >= 1e5 ? minus(short(number.toExponential(2))) : say(number);
}

export function saySigned(number) {
  return number < 0 ? sayShort(number) : `+${sayShort(number)}`;
}

// Write a bound on the updates as an integer, as Python does: rounding may have cost the last digit.
export function sayBound(bound) {
  return bound < 1e9 ? grouped(Math.floor(bound * (1 + 1e-12))) : say(bound, 3);
}

export function counted(count, thing) {
  return `${grouped(count)} ${thing}${count === 1 ? "" : "s"}`;
}

function short(text) {
  return text.replace(/\.?0*e/, "e").replace("e+", "e");
}

function minus(text) {
  return text.replace("-", "−");
}
