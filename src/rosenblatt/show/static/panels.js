// Panels: the state of training at t, the verdict with its proof, and the captions, in words.

import { make } from "./controls.js";
import { MARKS } from "./drawing.js";
import { format, formatBound, formatCount, formatShort, formatSigned, plural } from "./numbers.js";
import { multiplier } from "./plane.js";

const WEIGHTS_SHOWN = 4;

export function factsPanel() {
  const panel = make("section", { class: "rb-facts", "aria-label": "State at t" });
  const lead = make("p", { class: "rb-lead" });
  const numbers = make("dl", { class: "rb-numbers" });
  const sum = make("table", { class: "rb-sum" });
  panel.append(lead, numbers, sum);
  return { panel, lead, numbers, sum };
}

export function showFacts(facts, story, t) {
  facts.lead.textContent = sentenceAt(story, t);
  const entries = [
    ["update", t, `of ${formatCount(story.T)}`, "t"],
    ["mistakes left", story.count(t), `of ${formatCount(story.total)}`, "mistakes"],
  ];
  const pocket = story.pocketAt(t);
  if (pocket)
    entries.push(["in the pocket", pocket.mistakes, `from t = ${formatCount(pocket.t)}`, "pocket"]);
  else entries.push(["epoch", story.epoch(Math.max(t, 1)), "", "epoch"]);
  facts.numbers.replaceChildren(
    ...entries.map(([name, value, more, key]) =>
      make(
        "div",
        { class: `rb-tile rb-${key}` },
        make("dt", {}, name),
        make("dd", {}, make("b", { "data-fact": key }, formatCount(value)), ` ${more}`),
      ),
    ),
  );
  showSum(facts.sum, story, t);
}

// Show the weights before and after the update, and the vector that is added.
function showSum(table, story, t) {
  const after = story.weights(t);
  if (!after) return table.replaceChildren();
  const size = after.length / (story.many ? story.K : 1);
  const first = story.json.intercept ? 0 : 1;
  const head = Array.from({ length: Math.min(size, WEIGHTS_SHOWN) }, (_, i) => `w${i + first}`);
  if (size > WEIGHTS_SHOWN) head[WEIGHTS_SHOWN - 1] += " …";
  const [caption, rows] = story.many
    ? ["The weights of every label", labelRows(story, t, after, size)]
    : ["The weights and the update", addition(story, t, after)];
  const hidden = make("caption", { class: "rb-hidden" }, caption);
  table.dataset.exact = JSON.stringify(after);
  return table.replaceChildren(hidden, row("th", "", head), ...rows);
}

// Return three rows of the table: w(t − 1), the vector that is added, and w(t).
function addition(story, t, after) {
  const numbers = (w) => w.slice(0, WEIGHTS_SHOWN).map(formatShort);
  const now = row("td", t < 1000 ? `w(${t})` : "w(t)", numbers(after), "rb-now");
  if (t === 0) return [now];
  const sign = story.targets[story.updatedRow(t)] > 0 ? "+" : "−";
  const before = row("td", t < 1000 ? `w(${t - 1})` : "w(t−1)", numbers(story.weights(t - 1)));
  return [before, additionRow(story, t, `${sign} `), now];
}

// Return rows of the table: the vector that is added or subtracted, and w(t) of every label.
function labelRows(story, t, after, size) {
  const n = story.updatedRow(t);
  const rows = story.labels.map((_, k) => {
    const moved = n === null ? "" : { [story.targets[n]]: "+", [story.rival(t)]: "−" }[k] || "";
    const name = `${MARKS[story.markOf(k)].sign}${moved && ` ${moved} ${stepOf(story)}x`}`;
    const values = after.slice(k * size, (k + 1) * size).slice(0, WEIGHTS_SHOWN);
    return row("td", name, values.map(formatShort), moved ? "rb-now" : "");
  });
  return n === null ? rows : [additionRow(story, t, ""), ...rows];
}

const stepOf = (story) => (story.json.eta === 1 ? "" : "η ");

function additionRow(story, t, sign) {
  const n = story.updatedRow(t);
  const { intercept, eta } = story.json;
  const x = [...(intercept ? [intercept] : []), ...story.row(n)].slice(0, WEIGHTS_SHOWN);
  const step = eta * (story.many ? 1 : story.targets[n]);
  const values = x.map((value) => formatSigned(step * value));
  return row("td", `${sign}${stepOf(story)}x`, values, "rb-added");
}

function row(cell, name, values, kind = "") {
  const first = make("th", { scope: "row" }, name);
  const rest = values.map((value) => make(cell, cell === "th" ? { scope: "col" } : {}, value));
  return make("tr", { class: kind }, cell === "th" ? make("td") : first, ...rest);
}

export function sentenceAt(story, t) {
  if (t === 0 && story.T === 0) return `${story.json.summary}.`;
  if (t === 0) {
    const start = story.json.start.every((value) => value === 0)
      ? "All weights are zero"
      : "Initial weights";
    return `${start}: ${plural(story.count(0), "mistake")}. Press Step for the first update.`;
  }
  const n = story.updatedRow(t);
  const { sign } = MARKS[story.mark(n)];
  const step = story.json.eta === 1 ? "" : `${format(story.json.eta)}·`;
  const rule = story.targets[n] > 0 ? `w + ${step}x` : `w − ${step}x`;
  const rival = story.many && MARKS[story.markOf(story.rival(t))].sign;
  const why = rival
    ? `did not score above ${rival}, so w of ${sign} becomes w + ${step}x and w of ${rival} becomes w − ${step}x`
    : `was misclassified, so w becomes ${rule}`;
  const sentence = `Update ${formatCount(t)}: ${sign} example ${story.name(n)} ${why}.`;
  return t === story.T ? `${sentence} ${story.json.summary}.` : sentence;
}

const TITLES = {
  separable: "Separable",
  "quasi-separable": "Quasi-separable",
  inseparable: "Inseparable",
  "not separable": "Not separable",
  undecided: "Undecided",
};

const NEVER = "No weights classify every example correctly, so PLA never halts.";

const ROWS_SHOWN = 8; // of a proof
const LARGE = 10000; // updates; with a larger bound, scaling is suggested

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
  parts.bound.replaceChildren(...boundSentence(story));
  parts.box.checked = proof;
  parts.choice.hidden = verdict.name === "undecided";
  parts.details.replaceChildren(...(proof ? proofLines(story) : []));
}

// Name the columns and rows that a verdict is about.
function aboutOf({ json, names, total, flat }) {
  if (json.about) return json.about;
  const some = plural(total, "example");
  if (flat) return `About ${names[0]} and ${names[1]} of ${some}`;
  return `About ${plural(json.features.length, "feature")} of ${some}`;
}

// Write the guarantee of the convergence theorem: at most R²/ρ² updates.
function boundSentence(story) {
  const verdict = story.verdict;
  if (verdict.name === "separable") {
    if (verdict.bound === null) return ["PLA halts, but the bound R²/ρ² overflows float64."];
    const parts = [
      "PLA makes at most R²/ρ² = ",
      make("strong", { "data-fact": "bound" }, formatBound(verdict.bound)),
      " updates from w = 0.",
    ];
    const s = story.squeeze;
    if (s && story.json.start.some((value) => value !== 0) && s.bound !== null) {
      parts.push(` From these initial weights: at most ${formatBound(s.bound)}.`);
    }
    const advice = verdict.explanation.find((line) => line.includes("would lower the bound"));
    if (advice && verdict.bound > LARGE) parts.push(` ${advice}`);
    return parts;
  }
  if (verdict.name === "undecided") return [verdict.explanation[0]];
  if (story.many) return [verdict.name === "quasi-separable" ? tieSentence(story) : NEVER];
  const sentence =
    verdict.name === "quasi-separable"
      ? "Some line has no example on the wrong side, but some examples lie on it."
      : "No line classifies every example correctly, so PLA never halts.";
  if (!story.fewest) return [sentence];
  const fewest = plural(story.fewest.mistakes, "mistake");
  const count = make("strong", { "data-fact": "fewest" }, fewest);
  return [sentence, " The best line makes ", count, " (proved by enumerating all lines)."];
}

// Describe quasi-separable examples of more than two labels: which labels tie under some weights.
function tieSentence(story) {
  const { pairs, ties = pairs.map(([n, r]) => [story.targets[n], r]) } = story.verdict;
  const nameOf = (place) => {
    const { sign } = MARKS[story.markOf(place)];
    return story.labels[place] === sign ? sign : `${sign} ${story.labels[place]}`;
  };
  const sorted = ties.map((tie) =>
    [...tie]
      .sort((a, b) => a - b)
      .map(nameOf)
      .join(" and "),
  );
  const labels = [...new Set(sorted)].sort();
  const first = labels.length === 1 ? `Examples of ${labels[0]} overlap. ` : "";
  const tie = `examples of ${labels.join(", and of ")} tie.`;
  return `${first}Under some weights no competing class scores higher, but ${tie}`;
}

function proofLines(story) {
  const verdict = story.verdict;
  if (story.many) return labelLines(story);
  if (verdict.name === "separable") {
    return [
      `Maximum margin ρ = ${format(verdict.margin)}, largest norm R = ${format(verdict.radius)} ` +
        "(both with x0).",
      `${plural(verdict.support.length, "support vector")}, marked □: ` +
        `${numbered(story, verdict.support)}. Checked in exact arithmetic.` +
        (story.flat ? "" : " A projection cannot show the margin itself."),
    ].map(paragraph);
  }
  const conflict = verdict.conflicts[0];
  if (!conflict) return verdict.explanation.slice(1).map(paragraph);
  const sentence =
    `No line classifies these ${conflict.rows.length} examples all correctly: the averages of the ○ and ` +
    "of the × with weights λ are the same point ◇. Checked in exact arithmetic.";
  const rows = conflict.rows
    .slice(0, ROWS_SHOWN)
    .map((n, i) => [
      make("td", {}, story.targets[n] > 0 ? "○" : "×"),
      make("td", {}, `example ${story.name(n)}`),
      make("td", { "data-multiplier": n }, `λ = ${multiplier(conflict, i)}`),
    ]);
  const more = conflict.rows.length - rows.length;
  return conflictLines(sentence, rows, more > 0 && `… and ${more} more.`);
}

const paragraph = (text) => make("p", {}, text);

// Show a conflict: a sentence, a table, and a note if there are more rows.
function conflictLines(sentence, rows, more) {
  const caption = "Examples in conflict and their multipliers";
  const table = make(
    "table",
    { class: "rb-conflict" },
    make("caption", { class: "rb-hidden" }, caption),
    ...rows.map((cells) => make("tr", {}, ...cells)),
  );
  return [paragraph(sentence), table, ...(more ? [paragraph(more)] : [])];
}

// Name the examples on the margin or in conflict, with their competing classes.
function labelLines(story) {
  const { name, margin, radius, pairs, shares, explanation } = story.verdict;
  if (!pairs.length) return explanation.slice(1).map(paragraph);
  const paired = pairs.map(([n, r]) => {
    const rival = MARKS[story.markOf(r)].sign;
    return `${MARKS[story.mark(n)].sign} example ${story.name(n)} against ${rival}`;
  });
  if (name === "separable") {
    const held = paired.slice(0, ROWS_SHOWN).join(", ") + (paired.length > ROWS_SHOWN ? ", …" : "");
    return [
      `Maximum margin ρ = ${format(margin)}, largest norm of a row R = ${format(radius)}.`,
      `Support vectors, marked □: ${held}. Checked in exact arithmetic.`,
    ].map(paragraph);
  }
  const sentence =
    "No weights classify these examples all correctly: with weights λ, x for the own label and −x for the competing class sum to 0. Checked in exact arithmetic.";
  const rows = paired
    .slice(0, ROWS_SHOWN)
    .map((text, i) => [make("td", {}, text), make("td", {}, `λ = ${format(shares[i], 3)}`)]);
  return conflictLines(sentence, rows, paired.length > ROWS_SHOWN && "… and more.");
}

function numbered(story, rows) {
  const names = rows
    .slice(0, 6)
    .map((n) => story.name(n))
    .join(", ");
  return rows.length > 6 ? `${names} and ${rows.length - 6} more` : names;
}

// Describe the picture of the plane for a screen reader.
export function planeLabel(story, t) {
  const marks = story.many ? story.marks : [...story.marks].reverse();
  const counts = marks.map((mark) => {
    const count = story.targets.filter((_, n) => story.mark(n) === mark).length;
    const { name, names } = MARKS[mark];
    return `${formatCount(count)} ${count === 1 ? name.toLowerCase() : names}`;
  });
  const all = `${counts.slice(0, -1).join(", ")} and ${counts.at(-1)}`;
  return `${all}; t = ${t}, ${plural(story.count(t), "mistake")}`;
}

export function squeezeCaption(story, t) {
  const s = story.squeeze;
  if (!s) return "";
  const angle = (Math.acos(Math.max(-1, Math.min(1, s.cosine[t]))) * 180) / Math.PI;
  const turned =
    t === 0 || s.squared[t] === 0
      ? ""
      : ` Angle between w and the maximum-margin w: ${format(angle, 3)}°.`;
  return `Bounds on ‖w(t)‖²: t²ρ² ≤ ‖w(t)‖² ≤ tR². At this t, ‖w‖² = ${format(s.squared[t])}.${turned}`;
}

export function mistakesCaption(story, t) {
  const pocket = story.pocketAt(t);
  const kept = pocket ? `; of the pocket: ${pocket.mistakes}` : "";
  return `Mistakes of w(t): ${story.count(t)}${kept}.`;
}
