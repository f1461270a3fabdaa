// Address: the state of the page, written after the # of its address, so that a link reproduces it.
import { labelAddedBy, MARKS, markOf } from "./drawing.js";

export const LONGEST = 16000; // characters of a link that mail, chats and servers accept
const SHORT = 300; // characters; longer states are compressed, shorter ones can be read by people

export const DEFAULTS = {
  data: "separable",
  seed: 1,
  points: null, // [[x1, x2, label], …] once the user has edited them
  x: "",
  y: "",
  algorithm: "pla",
  order: "cycle",
  eta: 1,
  zero: "mistake",
  start: [0, 0, 0],
  random_state: 0,
  max_updates: 1000,
  t: 0,
  proof: false,
  speed: 2,
  tool: "o",
  theme: "auto",
  type: "normal",
  tour: 0,
};

const NONE = "none"; // stands for an empty list of examples
const STARTS = [3, 9, 12, 15]; // possible lengths of w(0), for two to five labels
// Allowed ranges of numbers.
const RANGES = {
  eta: [1e-6, 1e6],
  start: [-1e9, 1e9],
  points: [-1e9, 1e9],
  random_state: [0, 2 ** 31 - 1],
  seed: [0, 2 ** 31 - 1],
  max_updates: [1, 100000],
  t: [0, Infinity],
  speed: [0.1, 10000],
  tour: [0, 9],
};
const INTEGERS = ["random_state", "seed", "max_updates", "t", "tour"];
export const MOST_POINTS = 5000;

// Options and how the page names them.
export const ALGORITHMS = {
  pla: "PLA",
  pocket: "Pocket",
  ratchet: "Pocket with ratchet",
  online: "Online, one pass",
};
export const ORDERS = {
  cycle: "Cycle",
  "random-cycle": "One random permutation",
  shuffle: "New permutation each epoch",
  first: "First mistake",
  random: "Random mistake",
};
export const SIGN_OF_ZERO = { mistake: "always a mistake", negative: "−1", positive: "+1" };
const CHOICES = {
  algorithm: Object.keys(ALGORITHMS),
  order: Object.keys(ORDERS),
  zero: Object.keys(SIGN_OF_ZERO),
  tool: [...MARKS.map(({ letter }) => letter), "move", "erase"],
  theme: ["auto", "light", "dark"],
  type: ["normal", "large"],
};

// Write a state as the part of an address that begins with #.
export async function toAddress(state) {
  const plain = plainAddress(state);
  if (plain.length <= SHORT || !globalThis.CompressionStream) return plain;
  const bytes = new TextEncoder().encode(plain.slice(1));
  const compressed = await through(bytes, new CompressionStream("deflate-raw"));
  const letters = btoa(Array.from(compressed, (byte) => String.fromCharCode(byte)).join(""));
  return `#z=${letters.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

// Read a state from the part of an address that begins with #.
export async function fromAddress(hash) {
  if (!hash.startsWith("#z=")) return fromPlainAddress(hash);
  try {
    const letters = atob(hash.slice(3).replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    const plain = await through(bytes, new DecompressionStream("deflate-raw"));
    return fromPlainAddress(new TextDecoder().decode(plain));
  } catch {
    return fromPlainAddress(""); // a truncated link
  }
}

async function through(bytes, stream) {
  const piped = new Blob([bytes]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(piped).arrayBuffer());
}

function plainAddress(state) {
  const parts = [];
  for (const [name, fallback] of Object.entries(DEFAULTS)) {
    const text = textOf(name, state[name]);
    if (text !== textOf(name, fallback))
      parts.push(`${name}=${encodeURIComponent(text).replace(/%2C/g, ",")}`);
  }
  return "#" + parts.join("&");
}

function fromPlainAddress(hash) {
  const state = structuredClone(DEFAULTS);
  for (const part of hash.replace(/^#/, "").split("&")) {
    const [name, text] = [part.slice(0, part.indexOf("=")), part.slice(part.indexOf("=") + 1)];
    if (!(name in DEFAULTS)) continue;
    try {
      const value = parsed(name, decodeURIComponent(text));
      if (value !== undefined) state[name] = value;
    } catch {
      // A value that cannot be read keeps its default.
    }
  }
  return state;
}

function textOf(name, value) {
  if (value === null) return "";
  if (name === "points" && value.length === 0) return NONE;
  if (name === "points")
    return value.map(([x, y, target]) => `${MARKS[markOf(target)].letter}${x},${y}`).join("");
  if (name === "start") return value.join(",");
  if (typeof value === "boolean") return value ? "1" : "";
  return String(value);
}

function parsed(name, text) {
  if (name in CHOICES) return CHOICES[name].includes(text) ? text : undefined;
  if (name === "points") return pointsIn(text);
  if (name === "start") return numbersIn(name, text, STARTS);
  if (typeof DEFAULTS[name] === "boolean") return text === "1";
  if (typeof DEFAULTS[name] === "number") return numbersIn(name, text, [1])?.[0];
  return text;
}

// Return the allowed range of a number as attributes of its field.
export function limitsOf(name) {
  const [min, max] = RANGES[name];
  return { type: "number", min, max, step: INTEGERS.includes(name) ? 1 : "any" };
}

function numbersIn(name, text, counts) {
  const numbers = text.split(",").map(Number);
  const fine = text !== "" && counts.includes(numbers.length);
  return fine && numbers.every((value) => isAllowed(name, value)) ? numbers : undefined;
}

function isAllowed(name, value) {
  const [low, high] = RANGES[name];
  const integer = !INTEGERS.includes(name) || Number.isInteger(value);
  return Number.isFinite(value) && integer && value >= low && value <= high;
}

function pointsIn(text) {
  if (text === NONE) return [];
  const points = [...text.matchAll(/([oxtsd])([^oxtsd,]+),([^oxtsd,]+)/g)].map(
    ([, letter, x, y]) => [Number(x), Number(y), labelAddedBy(letter)],
  );
  const few = points.length > 0 && points.length <= MOST_POINTS;
  const fine = points.every(([x, y]) => isAllowed("points", x) && isAllowed("points", y));
  return few && fine ? points : undefined;
}
