// Prooftext: a proof as JSON under a seal, as src/rosenblatt/evidence/proof.py writes and reads it,
// and the digests by which it knows its data.
import { sha256 } from "./sha256.js";

const FORMATS = ["rosenblatt proof 1", "rosenblatt proof 2"];
const KEYS = ["claim", "data", "format", "parts", "seal", "weights", "x0"];
const MORE = ["alike", "labels", "prices", "tree", "walk"]; // in the second format alone
const STRANGE = "this is not the JSON of a proof.";

export class ProofError extends Error {}

export function refuse(told) {
  throw new ProofError(told);
}

// A proof from its text, in whole numbers; nothing is taken but what Python writes.
export function readProof(text) {
  const { seal, ...told } = parsed(text);
  const more = MORE.filter((key) => key in told);
  if (told.format !== FORMATS[Number(more.length > 0)]) refuse(STRANGE);
  if (seal !== sealOf(told)) refuse("the text of this proof was changed: its seal does not fit.");
  const { claim, data, labels = 0n, prices = "", walk = "" } = told;
  if ([claim, data, prices, walk].some((value) => typeof value !== "string")) refuse(STRANGE);
  if ("labels" in told && !(typeof labels === "bigint" && labels > 2n)) refuse(STRANGE);
  if (["prices", "walk"].some((key) => told[key] === "")) refuse(STRANGE);
  return {
    ...{ claim, data, prices, walk, labels: Number(labels) },
    x0: floatIn(told.x0),
    weights: listOf(told.weights).map(wholeIn),
    parts: listOf(told.parts).map(partIn),
    tree: "tree" in told ? treeIn(told.tree) : null,
    alike: "alike" in told ? filled(told.alike).map(numbersIn) : [],
  };
}

// The value of a JSON text, its numbers being whole; no object has a name twice.
function parsed(text) {
  let names = 0;
  const whole = (_, value, context) => {
    if (typeof value !== "number") {
      if (value && !Array.isArray(value) && typeof value === "object") {
        names += Object.keys(value).length;
      }
      return value;
    }
    const written = context?.source ?? (Number.isSafeInteger(value) ? `${value}` : "");
    return /^-?\d{1,1000}$/.test(written) ? BigInt(written) : refuse(STRANGE);
  };
  try {
    const content = JSON.parse(text, whole);
    const told = text.match(/"(?:[^"\\]|\\.)*"\s*:?/g) ?? [];
    const keys = Object.keys(content).filter((key) => !MORE.includes(key));
    const once = told.filter((token) => token.endsWith(":")).length === names;
    if (once && keys.sort().join() === KEYS.join()) return content;
  } catch (error) {
    if (error instanceof ProofError) throw error;
  }
  return refuse(STRANGE);
}

function partIn(part) {
  if (keysOf(part) !== "multipliers,rest,rows") refuse(STRANGE);
  const multipliers = listOf(part.multipliers).map(wholeIn);
  return { rows: numbersIn(part.rows), multipliers, rest: wholeIn(part.rest) };
}

function treeIn(tree) {
  if (keysOf(tree) !== "nodes,weightings") refuse(STRANGE);
  const weightings = listOf(tree.weightings).map((weighting) => {
    if (keysOf(weighting) !== "over,sets,shares") refuse(STRANGE);
    const { over, sets, shares } = weighting;
    if ([over, ...listOf(shares)].some((v) => typeof v !== "bigint")) refuse(STRANGE);
    return { over, sets: numbersIn(sets), shares };
  });
  return { nodes: numbersIn(tree.nodes), weightings };
}

function keysOf(value) {
  return value && typeof value === "object" ? Object.keys(value).sort().join() : "";
}

function listOf(value) {
  return Array.isArray(value) ? value : refuse(STRANGE);
}

function filled(value) {
  return listOf(value).length ? value : refuse(STRANGE);
}

// Numbers of rows or sets; what is too large for a double is no row, and stays too large.
function numbersIn(list) {
  return listOf(list).map((v) => (typeof v === "bigint" ? Number(v) : refuse(STRANGE)));
}

function wholeIn(text) {
  const written = typeof text === "string" && /^(0x0|-?0x[1-9a-f][0-9a-f]*)$/.test(text);
  if (!written) refuse(STRANGE);
  return text[0] === "-" ? -BigInt(text.slice(1)) : BigInt(text);
}

// A double from how Python writes it in hexadecimal, which is in one way.
function floatIn(text) {
  const found = /^(-?)0x([01])\.([0-9a-f]{13}|0)p([+-]\d+)$/.exec(text);
  if (!found) return refuse(STRANGE);
  const [, sign, lead, digits, power] = found;
  const number = (Number(`0x${lead}${digits}`) / 16 ** digits.length) * 2 ** Number(power);
  if (!Number.isFinite(number) || hexOf(sign ? -number : number) !== text) refuse(STRANGE);
  return sign ? -number : number;
}

// A double as Python's float.hex writes it.
function hexOf(number) {
  const bits = bitsOf(number);
  const [exponent, digits] = [Number((bits >> 52n) & 0x7ffn), bits & 0xfffffffffffffn];
  const sign = bits >> 63n ? "-" : "";
  if (!exponent && !digits) return `${sign}0x0.0p+0`;
  const power = Math.max(exponent, 1) - 1023;
  const lead = exponent ? 1 : 0;
  return `${sign}0x${lead}.${digits.toString(16).padStart(13, "0")}p${power < 0 ? "" : "+"}${power}`;
}

// The text of a proof {claim, weights, parts} about points with x0 = 1, as Python reads it; of several
// `labels`, about those points against rivals, which have x0 in them.
export function proofText({ claim, weights, parts, labels }, X, y) {
  const hex = (v) => (v < 0n ? `-0x${(-v).toString(16)}` : `0x${v.toString(16)}`);
  const told = {
    format: FORMATS[labels ? 1 : 0],
    claim,
    ...(labels ? { labels } : {}),
    data: fingerprint(X, y, labels ? 0 : 1),
    x0: hexOf(1),
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
  if (typeof value === "bigint") return `${value}`;
  if (Array.isArray(value)) return `[${value.map(pythonJson).join(", ")}]`;
  if (value === null || typeof value !== "object") {
    const code = (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`;
    return JSON.stringify(value).replace(/[\u007f-\uffff]/g, code);
  }
  const entries = Object.keys(value).sort();
  return `{${entries.map((key) => `${pythonJson(key)}: ${pythonJson(value[key])}`).join(", ")}}`;
}

// The digest of numbers and answers by which a proof knows its data.
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

// The digest of sample weights.
export function pricesOf(weights) {
  const view = new DataView(new ArrayBuffer(8 * weights.length));
  weights.forEach((weight, n) => view.setFloat64(8 * n, weight + 0, true));
  return sha256(new Uint8Array(view.buffer));
}

function bitsOf(value) {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
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
