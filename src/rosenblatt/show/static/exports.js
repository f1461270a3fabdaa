// Exports: the picture as PNG or SVG, the examples as CSV, the run as Python code, the proof, and
// the page itself.

import { againstRivals } from "./proof.js";
import { proofText } from "./prooftext.js";
import { startFor, ZEROS } from "./train.js";

const SIZE = 900;

function save(name, type, ...parts) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(parts, { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

export function savePng(player) {
  player.picture(SIZE, SIZE).toBlob((blob) => save("rosenblatt.png", "image/png", blob));
}

export function saveSvg(player) {
  save("rosenblatt.svg", "image/svg+xml", player.svg(SIZE, SIZE));
}

export function saveCsv(story) {
  save("rosenblatt.csv", "text/csv", csvOf(story));
}

export function savePython(lines) {
  save("rosenblatt_run.py", "text/x-python", lines);
}

// Save a proof, Python's or the page's own, for `rosenblatt verify`; return a message about it.
export function saveProof({ verdict, points, targets }) {
  if (!verdict?.proof) return "There is no proof yet.";
  const { proof } = verdict;
  const { X, y } = proof.labels
    ? againstRivals({ ...proof, x0: 1 }, points, targets)
    : { X: points, y: targets };
  const text = typeof proof === "string" ? proof : proofText(proof, X, y);
  save("rosenblatt_proof.json", "application/json", text);
  return "The proof is saved; `rosenblatt verify` checks it.";
}

// Save the page with the current data and state in it.
export function savePage(page, content) {
  const data = JSON.stringify(content).replaceAll("<", "\\u003c");
  const filled = page.replace(/(id="own">).*?(<\/script>)/s, (_, a, b) => a + data + b);
  save("rosenblatt.html", "text/html", "<!doctype html>\n", filled);
}

// Numbers are written so that they read back to the same bits.
function csvOf(story) {
  const names = story.flat ? story.names : story.json.features;
  const head = [...names, "label"].map(quoted).join(",");
  const rows = story.targets.map((target, n) =>
    [...story.row(n), story.many ? quoted(story.labels[target]) : target].join(","),
  );
  return [head, ...rows, ""].join("\r\n");
}

function quoted(text) {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const EPOCHS = "1_000_000_000"; // never reached, because max_updates is smaller
const FIXED = ["cycle", "first"];

// Return a Python program that makes the same run and decides separability.
export function pythonLines({ X, targets, labels }, settings) {
  const { algorithm } = settings;
  const K = labels.length;
  const w = startFor(X, K, settings.start);
  const given = { ...settings, start: w, K };
  const fromStart = algorithm === "online" && w.some(Boolean);
  const imports = fromStart
    ? ["import numpy as np", "", "import rosenblatt as rb", "from rosenblatt import algorithms"]
    : ["import rosenblatt as rb"];
  if (fromStart) imports.push(`from rosenblatt.examples import Examples`);
  const fitted = algorithm === "online" ? onlineLines(given) : fitLines(given);
  const plain = labels[0] === "×" && labels[1] === "○";
  return [
    '"""Repeat the run that the page shows."""',
    "",
    ...imports,
    "",
    "X = [",
    ...X.map((x) => `    ${list(x)},`),
    "]",
    ...(plain ? [] : [`# ${labelNames(labels)}`]),
    `y = ${list(targets)}`,
    "",
    ...fitted,
    "for t in range(len(trace) + 1):",
    "    print(t, trace.weights(t))",
    "",
    "verdict = rb.separability(X, y)",
    "print(verdict.explain())",
    "",
  ].join("\n");
}

function labelNames(labels) {
  if (labels.length === 2) return `1 is ${quote(labels[1])}, -1 is ${quote(labels[0])}`;
  return labels.map((label, place) => `${place} is ${quote(label)}`).join(", ");
}

// Return w0 and the other initial weights as Python code: for more than two labels, lists of them.
function startParts({ start, K }) {
  if (K === 2) return [number(start[0]), list(start.slice(1))];
  const size = start.length / K;
  const blocks = Array.from({ length: K }, (_, k) => start.slice(k * size, (k + 1) * size));
  return [list(blocks.map(([w0]) => w0)), `[${blocks.map((w) => list(w.slice(1))).join(", ")}]`];
}

// Return the parameters that differ from the defaults.
function changedParameters({ eta, zero }) {
  return [
    ...(eta === 1 ? [] : [`eta0=${number(eta)}`]),
    ...(zero === "mistake" ? [] : [`zero=${quote(zero)}`]),
  ];
}

function fitLines(given) {
  const { algorithm, order, max_updates, random_state, start } = given;
  const parameters = [`order=${quote(order)}`];
  if (algorithm === "pla") parameters.push(`max_iter=${EPOCHS}`);
  if (algorithm === "ratchet") parameters.push("ratchet=True");
  parameters.push(`max_updates=${max_updates}`, ...changedParameters(given));
  if (!FIXED.includes(order)) parameters.push(`random_state=${random_state}`);
  const [w0, rest] = startParts(given);
  const begun = start.some(Boolean) ? `, coef_init=${rest}, intercept_init=${w0}` : "";
  const kind = algorithm === "pla" ? "Perceptron" : "PocketPerceptron";
  return [
    `clf = rb.${kind}(${parameters.join(", ")})`,
    `clf.fit(X, y${begun})`,
    "trace = clf.trace_",
  ];
}

function onlineLines(given) {
  const { start, zero, eta, K } = given;
  const classes = K > 2 ? list(Array(K).keys()) : "[-1, 1]";
  if (!start.some(Boolean)) {
    return [
      `clf = rb.Perceptron(${changedParameters(given).join(", ")})`,
      `clf.partial_fit(X, y, classes=${classes})`,
      "trace = clf.trace_",
    ];
  }
  return [
    `rule = algorithms.Rule(zero=${ZEROS[zero]}, eta=${number(eta)})`,
    `start = np.array(${list(start)}, dtype=float)`,
    `trace = algorithms.online(Examples.from_arrays(X, y), rule, start).trace`,
  ];
}

// Numbers are written so that they read back to the same bits.
function number(value) {
  return Object.is(value, -0) ? "-0.0" : String(value);
}

function list(numbers) {
  return `[${Array.from(numbers, number).join(", ")}]`;
}

function quote(text) {
  return JSON.stringify(text);
}
