// Sha256: the digest that seals a proof; browsers have one of their own only on safe connections.

const primes = (count) => {
  const found = [];
  for (let n = 2; found.length < count; n++) if (found.every((p) => n % p)) found.push(n);
  return found;
};
const firstBits = (value) => Math.floor((value - Math.floor(value)) * 2 ** 32);
const ROUNDS = Uint32Array.from(primes(64), (p) => firstBits(Math.cbrt(p)));
const BEGIN = Uint32Array.from(primes(8), (p) => firstBits(Math.sqrt(p)));
const rotated = (v, k) => (v >>> k) | (v << (32 - k));

// The digest of bytes, in hexadecimal.
export function sha256(bytes) {
  const size = Math.ceil((bytes.length + 9) / 64) * 64;
  const padded = new Uint8Array(size);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(size - 8, BigInt(8 * bytes.length));
  const hash = Uint32Array.from(BEGIN);
  for (let at = 0; at < size; at += 64) stir(hash, view, at);
  return Array.from(hash, (word) => word.toString(16).padStart(8, "0")).join("");
}

function stir(hash, view, at) {
  const words = new Uint32Array(64);
  for (let i = 0; i < 16; i++) words[i] = view.getUint32(at + 4 * i);
  for (let i = 16; i < 64; i++) {
    const [u, v] = [words[i - 15], words[i - 2]];
    const s = rotated(u, 7) ^ rotated(u, 18) ^ (u >>> 3);
    words[i] = words[i - 16] + s + words[i - 7] + (rotated(v, 17) ^ rotated(v, 19) ^ (v >>> 10));
  }
  let [a, b, c, d, e, f, g, h] = hash;
  for (let i = 0; i < 64; i++) {
    const s = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25);
    const one = (h + s + ((e & f) ^ (~e & g)) + ROUNDS[i] + words[i]) | 0;
    const r = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22);
    const two = (r + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, i) => (hash[i] += word));
}
