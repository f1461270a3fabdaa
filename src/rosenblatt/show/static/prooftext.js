// Prooftext: reads and writes proofs as JSON text with checksums, as
// src/rosenblatt/evidence/proof.py does.

const FORMAT = "rosenblatt proof 3";
const KEYS = ["checksum", "claim", "conflicts", "data", "format", "weights", "x0"];
const MORE = ["duplicates", "enumeration", "labels", "sample_weight_digest", "tree"]; // optional
const STRANGE = "this is not the JSON of a proof.";

class ProofError extends Error {}

export function refuse(message) {
  throw new ProofError(message);
}

// Read a proof from its text, with integers as BigInt. Any text that Python would not write is
// refused.
export function readProof(text) {
  const { checksum, ...content } = parse(text);
  if (content.format !== FORMAT) refuse(STRANGE);
  if (checksum !== checksumOf(content))
    refuse("the text of this proof was changed: its checksum does not match.");
  const { claim, data, labels = 0n, enumeration = "" } = content;
  const { sample_weight_digest: digest = "" } = content;
  if ([claim, data, digest, enumeration].some((value) => typeof value !== "string"))
    refuse(STRANGE);
  if ("labels" in content && !(typeof labels === "bigint" && labels > 2n)) refuse(STRANGE);
  if (["sample_weight_digest", "enumeration"].some((key) => content[key] === "")) refuse(STRANGE);
  return {
    ...{ claim, data, digest, enumeration, labels: Number(labels) },
    x0: readFloat(content.x0),
    weights: readList(content.weights).map(readInteger),
    parts: readList(content.conflicts).map(readPart),
    tree: "tree" in content ? readTree(content.tree) : null,
    duplicates: "duplicates" in content ? nonEmpty(content.duplicates).map(readNumbers) : [],
  };
}

// Parse a JSON text whose numbers are integers and in which no object has a key twice.
function parse(text) {
  let count = 0; // of keys
  const toBigInt = (_, value, context) => {
    if (typeof value !== "number") {
      if (value && !Array.isArray(value) && typeof value === "object") {
        count += Object.keys(value).length;
      }
      return value;
    }
    const written = context?.source ?? (Number.isSafeInteger(value) ? `${value}` : "");
    return /^-?\d{1,1000}$/.test(written) ? BigInt(written) : refuse(STRANGE);
  };
  try {
    const content = JSON.parse(text, toBigInt);
    const tokens = text.match(/"(?:[^"\\]|\\.)*"\s*:?/g) ?? [];
    const keys = Object.keys(content).filter((key) => !MORE.includes(key));
    const once = tokens.filter((token) => token.endsWith(":")).length === count;
    if (once && keys.sort().join() === KEYS.join()) return content;
  } catch (error) {
    if (error instanceof ProofError) throw error;
  }
  return refuse(STRANGE);
}

function readPart(part) {
  if (keysOf(part) !== "multipliers,rest,rows") refuse(STRANGE);
  const multipliers = readList(part.multipliers).map(readInteger);
  return { rows: readNumbers(part.rows), multipliers, rest: readInteger(part.rest) };
}

function readTree(tree) {
  if (keysOf(tree) !== "nodes,weightings") refuse(STRANGE);
  const weightings = readList(tree.weightings).map((weighting) => {
    if (keysOf(weighting) !== "over,sets,shares") refuse(STRANGE);
    const { over, sets, shares } = weighting;
    if ([over, ...readList(shares)].some((v) => typeof v !== "bigint")) refuse(STRANGE);
    return { over, sets: readNumbers(sets), shares };
  });
  return { nodes: readNumbers(tree.nodes), weightings };
}

function keysOf(value) {
  return value && typeof value === "object" ? Object.keys(value).sort().join() : "";
}

function readList(value) {
  return Array.isArray(value) ? value : refuse(STRANGE);
}

function nonEmpty(value) {
  return readList(value).length ? value : refuse(STRANGE);
}

// Read numbers of rows or sets as doubles; a number that a double cannot hold is not valid anyway.
function readNumbers(list) {
  return readList(list).map((v) => (typeof v === "bigint" ? Number(v) : refuse(STRANGE)));
}

function readInteger(text) {
  const written = typeof text === "string" && /^(0x0|-?0x[1-9a-f][0-9a-f]*)$/.test(text);
  if (!written) refuse(STRANGE);
  return text[0] === "-" ? -BigInt(text.slice(1)) : BigInt(text);
}

// Read a double from Python's float.hex; only that one spelling is accepted.
function readFloat(text) {
  const found = /^(-?)0x([01])\.([0-9a-f]{13}|0)p([+-]\d+)$/.exec(text);
  if (!found) return refuse(STRANGE);
  const [, sign, lead, digits, power] = found;
  const number = (Number(`0x${lead}${digits}`) / 16 ** digits.length) * 2 ** Number(power);
  if (!Number.isFinite(number) || hexOf(sign ? -number : number) !== text) refuse(STRANGE);
  return sign ? -number : number;
}

// Write a double as Python's float.hex does.
function hexOf(number) {
  const bits = bitsOf(number);
  const [exponent, digits] = [Number((bits >> 52n) & 0x7ffn), bits & 0xfffffffffffffn];
  const sign = bits >> 63n ? "-" : "";
  if (!exponent && !digits) return `${sign}0x0.0p+0`;
  const power = Math.max(exponent, 1) - 1023;
  const lead = exponent ? 1 : 0;
  return `${sign}0x${lead}.${digits.toString(16).padStart(13, "0")}p${power < 0 ? "" : "+"}${power}`;
}

// Write a proof {claim, weights, parts} about points with x0 = 1. With more than two labels, X and
// y are the rows of `againstRivals`, which contain x0.
export function proofText({ claim, weights, parts, labels }, X, y) {
  const hex = (v) => (v < 0n ? `-0x${(-v).toString(16)}` : `0x${v.toString(16)}`);
  const content = {
    format: FORMAT,
    claim,
    ...(labels ? { labels } : {}),
    data: fingerprint(X, y, labels ? 0 : 1),
    x0: hexOf(1),
    weights: weights.map(hex),
    conflicts: parts.map(({ rows, multipliers, rest = 0n }) => ({
      rows,
      multipliers: multipliers.map(hex),
      rest: hex(rest),
    })),
  };
  return JSON.stringify({ ...content, checksum: checksumOf(content) }, null, 1);
}

function checksumOf(content) {
  return sha256(new TextEncoder().encode(pythonJson(content)));
}

// Write JSON as Python's json.dumps(value, sort_keys=True) does.
function pythonJson(value) {
  if (typeof value === "bigint") return `${value}`;
  if (Array.isArray(value)) return `[${value.map(pythonJson).join(", ")}]`;
  if (value === null || typeof value !== "object") {
    const code = (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`;
    return JSON.stringify(value).replace(/[\u007f-\uffff]/g, code);
  }
  const entries = Object.keys(value).sort();
  return `{${entries.map((key) => `${pythonJson(key)}: ${pythonJson(value[key])}`).join(", ")}}`;
}

// Return the checksum of examples, by which a proof recognizes its data.
export function fingerprint(X, y, x0) {
  const head = new TextEncoder().encode(`${X.length} ${X[0].length} ${hexOf(x0 + 0)}`);
  const bytes = new Uint8Array(head.length + 9 * X.length);
  bytes.set(head);
  const view = new DataView(bytes.buffer);
  const odd = X[0].map((_, j) => oddConstant(j + 1));
  X.forEach((x, n) => {
    view.setInt8(head.length + n, y[n] > 0 ? 1 : -1);
    let code = 0n;
    x.forEach((value, j) => {
      const bits = bitsOf(value + 0); // -0 has the bits of 0
      code += (bits ^ (bits >> 32n)) * odd[j];
    });
    view.setBigUint64(head.length + X.length + 8 * n, BigInt.asUintN(64, code), true);
  });
  return sha256(bytes);
}

// Return the checksum of sample weights.
export function weightsChecksum(weights) {
  const view = new DataView(new ArrayBuffer(8 * weights.length));
  weights.forEach((weight, n) => view.setFloat64(8 * n, weight + 0, true));
  return sha256(new Uint8Array(view.buffer));
}

function bitsOf(value) {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  return view.getBigUint64(0);
}

// Return an odd constant for column k, by splitmix64.
function oddConstant(k) {
  const word = (v) => BigInt.asUintN(64, v);
  let z = word(BigInt(k) * 0x9e3779b97f4a7c15n);
  z = word((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
  z = word((z ^ (z >> 27n)) * 0x94d049bb133111ebn);
  return (z ^ (z >> 31n)) | 1n;
}

// SHA-256; browsers offer their own only on secure connections, and asynchronously.

const primes = (count) => {
  const found = [];
  for (let n = 2; found.length < count; n++) if (found.every((p) => n % p)) found.push(n);
  return found;
};
const firstBits = (value) => Math.floor((value - Math.floor(value)) * 2 ** 32);
const ROUNDS = Uint32Array.from(primes(64), (p) => firstBits(Math.cbrt(p)));
const BEGIN = Uint32Array.from(primes(8), (p) => firstBits(Math.sqrt(p)));
const rotated = (v, k) => (v >>> k) | (v << (32 - k));

// Return the SHA-256 of bytes, in hexadecimal.
function sha256(bytes) {
  const size = Math.ceil((bytes.length + 9) / 64) * 64;
  const padded = new Uint8Array(size);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(size - 8, BigInt(8 * bytes.length));
  const hash = Uint32Array.from(BEGIN);
  for (let at = 0; at < size; at += 64) compress(hash, view, at);
  return Array.from(hash, (word) => word.toString(16).padStart(8, "0")).join("");
}

function compress(hash, view, at) {
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
