// Exports: the picture as PNG or SVG, the examples as CSV, the run as Python lines, the proof, and
// the page itself.
import { againstRivals } from "./proof.js";
import { proofText } from "./prooftext.js";

const SIZE = 900;

function save(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

export function savePng(player) {
  player.picture(SIZE, SIZE).toBlob((blob) => save("rosenblatt.png", blob), "image/png");
}

export function saveSvg(player) {
  save("rosenblatt.svg", new Blob([player.svg(SIZE, SIZE)], { type: "image/svg+xml" }));
}

export function saveCsv(story) {
  save("rosenblatt.csv", new Blob([csvOf(story)], { type: "text/csv" }));
}

export function savePython(lines) {
  save("rosenblatt_run.py", new Blob([lines], { type: "text/x-python" }));
}

// A proof is Python's text, or what was proved here, to be checked by `rosenblatt verify`. Returns
// what to say of it.
export function saveProof({ verdict, points, answers }) {
  if (!verdict?.proof) return "Nothing is proved yet.";
  const { proof } = verdict;
  const { X, y } = proof.labels
    ? againstRivals({ ...proof, x0: 1 }, points, answers)
    : { X: points, y: answers };
  const text = typeof proof === "string" ? proof : proofText(proof, X, y);
  save("rosenblatt_proof.json", new Blob([text], { type: "application/json" }));
  return "The proof is saved; `rosenblatt verify` checks it.";
}

// The text of the page with other data and another state in it.
export function savePage(page, content) {
  const data = JSON.stringify(content).replaceAll("<", "\\u003c");
  const filled = page.replace(/(id="own">).*?(<\/script>)/s, (_, a, b) => a + data + b);
  save("rosenblatt.html", new Blob(["<!doctype html>\n", filled], { type: "text/html" }));
}

// Numbers are written so that they read back to the same bits.
function csvOf(story) {
  const d = story.flat ? 2 : story.table ? story.table.length / story.answers.length : 0;
  const names = story.flat ? story.names : story.json.features;
  const head = [...names, "answer"].map(quoted).join(",");
  const rows = story.answers.map((answer, n) => {
    const x = story.flat ? story.points[n] : Array.from(story.table.subarray(n * d, (n + 1) * d));
    return [...x, story.many ? quoted(story.labels[answer]) : answer].join(",");
  });
  return [head, ...rows, ""].join("\r\n");
}

function quoted(text) {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
