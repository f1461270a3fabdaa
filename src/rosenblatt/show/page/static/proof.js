// Proof: reads, writes and checks the proofs of src/rosenblatt/evidence/proof.py, and believes
// nothing but whole numbers. It shares no line with what finds proofs, here or in Python: a second
// pair of eyes.
import { onGrid } from "./exact.js";
import { sha256 } from "./sha256.js";

const FORMAT = "rosenblatt proof 1";
const KEYS = "claim,data,format,parts,seal,weights,x0";
const SHAPES = { separable: [true, 0], "quasi-separable": [true, 1], inseparable: [false, 1] };
const CONSTANT = "0x1.0000000000000p+0"; // x0 = 1, as Python writes it

export class ProofError extends Error {}

// Checks the text of a proof against examples, points of any number of features with x0 = 1 and
// answers, -1 or 1; returns its claim, or throws a ProofError that says what does not hold.
export function checkProof(text, X, y) {
  const proof = readProof(text);
  if (proof.data !== fingerprint(X, y)) {
    refuse("this is a proof about other data: a number, an answer or the order of the rows.");
  }
  return checkClaim(proof, X, y);
}

// Checks a proof {claim, weights, parts} by itself, its numbers being BigInt.
export function checkClaim(proof, X, y) {
  const Z = signed(X, y);
  checkShape(proof);
  checkNumbers(proof.parts, Z.length);
  for (const part of proof.parts) checkSum(part, Z);
  if (proof.claim === "inseparable") checkSpan(proof.parts[0], Z);
  if (proof.weights.length) checkProducts(proof, Z);
  return proof.claim;
}

function refuse(told) {
  throw new ProofError(told);
}

function checkShape({ claim, weights, parts }) {
  const sets = parts.length;
  const mistakes = sets > 0 && claim === `at least ${sets} mistake${sets > 1 ? "s" : ""}`;
  const [needsWeights, wanted] = Object.hasOwn(SHAPES, claim) ? SHAPES[claim] : [false, sets];
  if (!Object.hasOwn(SHAPES, claim) && !mistakes) refuse(`${claim} is not a claim that it proves.`);
  if (weights.length > 0 !== needsWeights || sets !== wanted) {
    refuse(`a proof of ${claim} has weights: ${needsWeights}, and ${wanted} sets of multipliers.`);
  }
}

// Rows are there, in one part once, each with a positive multiplier.
function checkNumbers(parts, count) {
  const seen = new Set();
  for (const { rows, multipliers, rest = 0n } of parts) {
    for (const n of rows) {
      if (!Number.isSafeInteger(n) || n < 0 || n >= count) refuse(`row ${n}: there is none.`);
      if (seen.has(n)) refuse(`row ${n} is used twice.`);
      seen.add(n);
    }
    if (rows.length !== multipliers.length || rows.length === 0) refuse("a row has no multiplier.");
    if (multipliers.some((m) => m <= 0n)) refuse("a multiplier is not positive.");
    if (rest < 0n || (rest && parts.length > 1)) refuse("the multiplier of the rest is not fit.");
  }
}

// Σ λ z = 0, column by column.
function checkSum({ rows, multipliers, rest = 0n }, Z) {
  const each = new Map(rows.map((n, i) => [n, multipliers[i]]));
  for (let j = 0; j < Z[0].length; j++) {
    let total = 0n;
    Z.forEach((z, n) => (total += (each.get(n) ?? rest) * z[j]));
    if (total !== 0n) refuse(`the sum of multipliers times rows is not zero in column ${j}.`);
  }
}

// No w is 0 on the rows of the part and positive elsewhere: they are all rows, or span everything.
function checkSpan({ rows, rest = 0n }, Z) {
  if (rest || rows.length === Z.length) return;
  if (rankOf(rows.map((n) => Z[n])) < Z[0].length) refuse("the rows do not span everything.");
}

function checkProducts({ claim, weights }, Z) {
  if (weights.length !== Z[0].length) refuse(`${weights.length} weights for ${Z[0].length}.`);
  let positive = false;
  Z.forEach((z, n) => {
    const product = z.reduce((sum, v, j) => sum + v * weights[j], 0n);
    if (product < 0n || (product === 0n && claim === "separable")) {
      refuse(`row ${n}: w·z is not positive.`);
    }
    positive ||= product > 0n;
  });
  if (!positive) refuse("no row has w·z > 0: the weights prove nothing.");
}

// The rank, by elimination without fractions.
function rankOf(rows) {
  let [left, rank] = [rows, 0];
  for (let j = 0; j < rows[0].length; j++) {
    const pivot = left.find((row) => row[j] !== 0n);
    if (!pivot) continue;
    rank += 1;
    left = left
      .filter((row) => row !== pivot)
      .map((row) => row.map((v, k) => v * pivot[j] - pivot[k] * row[j]));
  }
  return rank;
}

// y·(1, x) in whole numbers of one unit.
function signed(X, y) {
  const width = X[0].length + 1;
  const { wholes } = onGrid(X.flatMap((x) => [1, ...x]));
  return X.map((_, n) => {
    const row = wholes.slice(n * width, (n + 1) * width);
    return y[n] > 0 ? row : row.map((v) => -v);
  });
}

// A proof from its text; nothing but what Python writes is taken, but for spaces between.
function readProof(text) {
  let content;
  try {
    content = JSON.parse(text);
  } catch {
    refuse("this text is not JSON.");
  }
  if (
    Object.keys(content ?? {})
      .sort()
      .join() !== KEYS
  )
    refuse("this is not the JSON of a proof.");
  const { seal, ...told } = content;
  const plain = text.replace(/"(?:[^"\\]|\\.)*"|\s+/g, (part) =>
    part[0] === '"' ? JSON.stringify(JSON.parse(part)) : "",
  );
  if (plain !== JSON.stringify(content)) refuse("a number or a name is written in a strange way.");
  if (told.format !== FORMAT || told.x0 !== CONSTANT) refuse("this is not the JSON of a proof.");
  if (seal !== sealOf(told)) refuse("the text of this proof was changed: its seal does not fit.");
  const parts = listOf(told.parts).map((part) => ({
    rows: listOf(part.rows),
    multipliers: listOf(part.multipliers).map(wholeIn),
    rest: wholeIn(part.rest),
  }));
  return { ...told, weights: listOf(told.weights).map(wholeIn), parts };
}

function listOf(value) {
  return Array.isArray(value) ? value : refuse("this is not the JSON of a proof.");
}

function wholeIn(text) {
  if (!/^-?0x(0|[1-9a-f][0-9a-f]*)$/.test(text)) refuse("this is not the JSON of a proof.");
  return text[0] === "-" ? -BigInt(text.slice(1)) : BigInt(text);
}

// The text of a proof {claim, weights, parts}, as Python reads and checks it.
export function proofText({ claim, weights, parts }, X, y) {
  const hex = (v) => (v < 0n ? `-0x${(-v).toString(16)}` : `0x${v.toString(16)}`);
  const told = {
    format: FORMAT,
    claim,
    data: fingerprint(X, y),
    x0: CONSTANT,
    weights: weights.map(hex),
    parts: parts.map(({ rows, multipliers, rest = 0n }) => ({
      rows,
      multipliers: multipliers.map(hex),
      rest: hex(rest),
    })),
  };
  return JSON.stringify({ ...told, seal: sealOf(told) }, null, 1);
}

function sealOf(content) {
  return sha256(new TextEncoder().encode(pythonJson(content)));
}

// As Python's json.dumps(value, sort_keys=True) writes it.
function pythonJson(value) {
  if (Array.isArray(value)) return `[${value.map(pythonJson).join(", ")}]`;
  if (value === null || typeof value !== "object") {
    const code = (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`;
    return JSON.stringify(value).replace(/[\u007f-\uffff]/g, code);
  }
  const entries = Object.keys(value).sort();
  return `{${entries.map((key) => `${pythonJson(key)}: ${pythonJson(value[key])}`).join(", ")}}`;
}

// The digest of numbers and answers by which a proof knows its data.
export function fingerprint(X, y) {
  const d = X[0].length;
  const head = new TextEncoder().encode(`${X.length} ${d} ${CONSTANT}`);
  const bytes = new Uint8Array(head.length + 9 * X.length);
  bytes.set(head);
  const view = new DataView(bytes.buffer);
  const odd = X[0].map((_, j) => oddConstant(j + 1));
  X.forEach((x, n) => {
    view.setInt8(head.length + n, y[n] > 0 ? 1 : -1);
    let code = 0n;
    x.forEach((value, j) => {
      const bits = bitsOf(value);
      code += (bits ^ (bits >> 32n)) * odd[j];
    });
    view.setBigUint64(head.length + X.length + 8 * n, BigInt.asUintN(64, code), true);
  });
  return sha256(bytes);
}

function bitsOf(value) {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value + 0); // -0 has the bits of 0
  return view.getBigUint64(0);
}

// The steps of splitmix64, made odd.
function oddConstant(k) {
  const word = (v) => BigInt.asUintN(64, v);
  let z = word(BigInt(k) * 0x9e3779b97f4a7c15n);
  z = word((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
  z = word((z ^ (z >> 27n)) * 0x94d049bb133111ebn);
  return (z ^ (z >> 31n)) | 1n;
}
