// Verdict: can any line answer every example, and the proof of it, in words and on the picture.

import { multiplier } from "./drawnproof.js";
import { clear, make } from "./elements.js";
import { MARKS } from "./marks.js";
import { counted, say, sayBound } from "./numbers.js";

const TITLES = {
  separable: "Separable",
  "quasi-separable": "Quasi-separable",
  inseparable: "Inseparable",
  "not separable": "Not separable",
  undecided: "Undecided",
};

const NEVER = "No weights answer every example, so PLA never halts.";
const OF_LABELS = {
  "quasi-separable":
    "Some weights are wrong nowhere, but leave the best scores of some examples equal.",
  inseparable: NEVER,
  "not separable": NEVER,
};

const SHOWN = 8; // rows of a proof that are named
const LARGE = 10000; // corrections; above, advice on scaling is worth a line

export function verdictPanel(toggled) {
  const panel = make("section", { class: "rb-verdict", "aria-label": "Verdict" });
  const title = make("h2", {});
  const about = make("p", { class: "rb-about" });
  const bound = make("p", { class: "rb-bound" });
  const box = make("input", { type: "checkbox", onchange: () => toggled(box.checked) });
  const choice = make("label", { class: "rb-choice" }, box, "Show the proof in the picture");
  const details = make("div", { class: "rb-proof" });
  panel.append(title, about, bound, choice, details);
  return { panel, title, about, bound, box, choice, details };
}

export function showVerdict(parts, story, proof) {
  const verdict = story.verdict;
  parts.panel.hidden = !verdict;
  if (!verdict) return;
  parts.panel.dataset.verdict = verdict.name;
  parts.title.textContent = TITLES[verdict.name];
  parts.about.textContent = [`${aboutOf(story)}.`, verdict.by].filter(Boolean).join(" ");
  clear(parts.bound, ...boundSentence(story));
  parts.box.checked = proof;
  parts.choice.hidden = verdict.name === "undecided";
  clear(parts.details);
  if (proof) parts.details.append(...proofLines(story));
}

// Which columns and rows a verdict is about.
function aboutOf({ json, names, total, flat }) {
  if (json.about) return json.about;
  const some = counted(total, "example");
  if (flat) return `About ${names[0]} and ${names[1]} of ${some}`;
  return `About ${counted(json.features.length, "feature")} of ${some}`;
}

// The guarantee, before the first step: R²/ρ² corrections at the most.
function boundSentence(story) {
  const verdict = story.verdict;
  if (verdict.name === "separable") {
    if (verdict.bound === null) return ["PLA halts, but its bound R²/ρ² is past all numbers."];
    const parts = [
      "PLA needs at most R²/ρ² = ",
      make("strong", { "data-fact": "bound" }, sayBound(verdict.bound)),
      " corrections from w = 0.",
    ];
    const s = story.squeeze;
    if (s && story.json.start.some((value) => value !== 0) && s.bound !== null) {
      parts.push(` From this start: at most ${sayBound(s.bound)}.`);
    }
    const advice = verdict.told.find((line) => line.includes("would lower the bound"));
    if (advice && verdict.bound > LARGE) parts.push(` ${advice}`);
    return parts;
  }
  if (verdict.name === "undecided") return [verdict.told[0]];
  if (story.many) return [OF_LABELS[verdict.name]];
  const ring =
    verdict.name === "quasi-separable"
      ? "A line is wrong nowhere, but some examples lie on it."
      : "No line answers every example, so PLA never halts.";
  return [ring, ...fewestSentence(story)];
}

function fewestSentence({ fewest }) {
  if (!fewest) return [];
  const count = make("strong", { "data-fact": "fewest" }, counted(fewest.mistakes, "mistake"));
  return [" The best line makes ", count, ": every line was looked at, and none makes fewer."];
}

function proofLines(story) {
  const verdict = story.verdict;
  if (story.many) return labelLines(story);
  if (verdict.name === "separable") {
    return [
      `The widest band has ρ = ${say(verdict.margin)} on either side (x0 included), ` +
        `the longest example R = ${say(verdict.radius)}.`,
      `It is held by ${counted(verdict.support.length, "example")}, marked □: ` +
        `${numbered(story, verdict.support)}. Checked in exact arithmetic.` +
        (story.flat ? "" : " The band itself does not lie in a projection."),
    ].map(paragraph);
  }
  const part = verdict.blocking[0];
  if (!part) return verdict.told.slice(1).map(paragraph);
  const told =
    `These ${part.rows.length} examples block every line: weighted by λ, the ○ and ` +
    "the × have one common middle, the point ◇ in both hulls. Checked in exact arithmetic.";
  const rows = part.rows
    .slice(0, SHOWN)
    .map((n, i) => [
      make("td", {}, story.answers[n] > 0 ? "○" : "×"),
      make("td", {}, `example ${story.name(n)}`),
      make("td", { "data-multiplier": n }, `λ = ${multiplier(part, i)}`),
    ]);
  const more = part.rows.length - rows.length;
  return blockingLines(told, rows, more > 0 && `… and ${more} more.`);
}

const paragraph = (text) => make("p", {}, text);

// What blocks every line: a sentence, a table, and that there is more.
function blockingLines(told, rows, more) {
  const caption = "Blocking examples and their multipliers";
  const table = make(
    "table",
    { class: "rb-blocking" },
    make("caption", { class: "rb-hidden" }, caption),
    ...rows.map((cells) => make("tr", {}, ...cells)),
  );
  return [paragraph(told), table, ...(more ? [paragraph(more)] : [])];
}

// Of more than two labels: which examples are nearest to which rivals, or cannot all be right.
function labelLines(story) {
  const { name, margin, radius, pairs, shares, told: lines } = story.verdict;
  if (!pairs.length) return lines.slice(1).map(paragraph);
  const paired = pairs.map(([n, r]) => {
    const rival = MARKS[story.markOf(r)].sign;
    return `${MARKS[story.mark(n)].sign} example ${story.name(n)} against ${rival}`;
  });
  if (name === "separable") {
    const held = paired.slice(0, SHOWN).join(", ") + (paired.length > SHOWN ? ", …" : "");
    return [
      `The widest margin of all weights together is ρ = ${say(margin)}, the longest row R = ${say(radius)}.`,
      `On it, framed in the picture: ${held}. Checked in exact arithmetic.`,
    ].map(paragraph);
  }
  const told =
    "These cannot all be right: weighted by λ, x for its label and −x for the rival sum to nothing. Checked in exact arithmetic.";
  const rows = paired
    .slice(0, SHOWN)
    .map((text, i) => [make("td", {}, text), make("td", {}, `λ = ${say(shares[i], 3)}`)]);
  return blockingLines(told, rows, paired.length > SHOWN && "… and more.");
}

function numbered(story, rows) {
  const names = rows
    .slice(0, 6)
    .map((n) => story.name(n))
    .join(", ");
  return rows.length > 6 ? `${names} and ${rows.length - 6} more` : names;
}
