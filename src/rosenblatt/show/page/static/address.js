// Address: everything about the state, behind the # of the address, so that a link reproduces it.

export const USUAL = {
  data: "separable",
  seed: 1,
  points: null, // [[x1, x2, answer], …] once a person has changed them
  x: "",
  y: "",
  algorithm: "pla",
  order: "cycle",
  eta: 1,
  zero: "mistake",
  start: [0, 0, 0],
  chance: 0,
  corrections: 1000,
  t: 0,
  proof: false,
  speed: 2,
  tool: "o",
  theme: "auto",
  type: "normal",
  tour: 0,
};

const NONE = "none"; // all examples taken away

const CHOICES = {
  algorithm: ["pla", "pocket", "ratchet", "online"],
  order: ["cycle", "random-cycle", "shuffle", "first", "random"],
  zero: ["mistake", "negative", "positive"],
  tool: ["o", "x", "move", "erase"],
  theme: ["auto", "light", "dark"],
  type: ["normal", "large"],
};

export function toAddress(state) {
  const parts = [];
  for (const [name, usual] of Object.entries(USUAL)) {
    const text = written(name, state[name]);
    if (text !== written(name, usual))
      parts.push(`${name}=${encodeURIComponent(text).replace(/%2C/g, ",")}`);
  }
  return "#" + parts.join("&");
}

export function fromAddress(hash) {
  const state = structuredClone(USUAL);
  for (const part of hash.replace(/^#/, "").split("&")) {
    const [name, text] = [part.slice(0, part.indexOf("=")), part.slice(part.indexOf("=") + 1)];
    if (!(name in USUAL)) continue;
    try {
      const value = taken(name, decodeURIComponent(text));
      if (value !== undefined) state[name] = value;
    } catch {
      // What cannot be read is left as usual.
    }
  }
  return state;
}

function written(name, value) {
  if (value === null) return "";
  if (name === "points" && value.length === 0) return NONE;
  if (name === "points")
    return value.map(([x, y, answer]) => `${answer > 0 ? "o" : "x"}${x},${y}`).join("");
  if (name === "start") return value.join(",");
  if (typeof value === "boolean") return value ? "1" : "";
  return String(value);
}

function taken(name, text) {
  if (name in CHOICES) return CHOICES[name].includes(text) ? text : undefined;
  if (name === "points") return pointsIn(text);
  if (name === "start") return numbersIn(text, 3);
  if (typeof USUAL[name] === "boolean") return text === "1";
  if (typeof USUAL[name] === "number") return numbersIn(text, 1)?.[0];
  return text;
}

function numbersIn(text, count) {
  const numbers = text.split(",").map(Number);
  const fine = text !== "" && numbers.length === count && numbers.every(Number.isFinite);
  return fine ? numbers : undefined;
}

function pointsIn(text) {
  if (text === NONE) return [];
  const points = [...text.matchAll(/([ox])([^ox,]+),([^ox,]+)/g)].map(([, sign, x, y]) => [
    Number(x),
    Number(y),
    sign === "o" ? 1 : -1,
  ]);
  return points.length && points.every((point) => point.every(Number.isFinite))
    ? points
    : undefined;
}
