// Facts: what is true at t, in words and numbers.
import { clear, make } from "./elements.js";
import { MARKS } from "./marks.js";
import { counted, grouped, say, sayShort, saySigned } from "./numbers.js";

const SHOWN = 4; // weights that are written out

export function factsPanel() {
  const panel = make("section", { class: "rb-facts", "aria-label": "What is true at t" });
  const lead = make("p", { class: "rb-lead" });
  const numbers = make("dl", { class: "rb-numbers" });
  const sum = make("table", { class: "rb-sum" });
  panel.append(lead, numbers, sum);
  return { panel, lead, numbers, sum };
}

export function showFacts(facts, story, t) {
  facts.lead.textContent = sentenceAt(story, t);
  const entries = [
    ["correction", t, `of ${grouped(story.T)}`, "t"],
    ["mistakes left", story.count(t), `of ${grouped(story.total)}`, "mistakes"],
  ];
  const pocket = story.pocketAt(t);
  if (pocket)
    entries.push(["in the pocket", pocket.mistakes, `from t = ${grouped(pocket.t)}`, "pocket"]);
  else entries.push(["cycle", story.cycle(Math.max(t, 1)), "", "cycle"]);
  clear(
    facts.numbers,
    ...entries.map(([name, value, more, key]) =>
      make(
        "div",
        { class: `rb-tile rb-${key}` },
        make("dt", {}, name),
        make("dd", {}, make("b", { "data-fact": key }, grouped(value)), ` ${more}`),
      ),
    ),
  );
  showSum(facts.sum, story, t);
}

// The weights before and after, and what is added.
function showSum(table, story, t) {
  const after = story.weights(t);
  if (!after) return clear(table);
  const size = after.length / (story.many ? story.K : 1);
  const head = after.slice(0, Math.min(size, SHOWN)).map((_, i) => nameOf(story, i));
  if (size > SHOWN) head[SHOWN - 1] += " …";
  const [caption, rows] = story.many
    ? ["The weights of every label", blocks(story, t, after, size)]
    : ["The weights and the correction", addition(story, t, after)];
  const hidden = make("caption", { class: "rb-hidden" }, caption);
  clear(table, hidden, row("th", "", head), ...rows);
  table.dataset.exact = JSON.stringify(after);
  return table;
}

// w(t − 1), what is added, and w(t), one under the other.
function addition(story, t, after) {
  const numbers = (w) => w.slice(0, SHOWN).map(sayShort);
  const now = row("td", t < 1000 ? `w(${t})` : "w(t)", numbers(after), "rb-now");
  if (t === 0) return [now];
  const sign = story.answers[story.corrected(t)] > 0 ? "+" : "−";
  const before = row("td", t < 1000 ? `w(${t - 1})` : "w(t−1)", numbers(story.weights(t - 1)));
  return [before, addedRow(story, t, `${sign} `), now];
}

// What is added and taken off, and the w(t) of every label.
function blocks(story, t, after, size) {
  const n = story.corrected(t);
  const rows = story.labels.map((_, k) => {
    const moved = n === null ? "" : { [story.answers[n]]: "+", [story.rival(t)]: "−" }[k] || "";
    const name = `${MARKS[story.markOf(k)].sign}${moved && ` ${moved} ${stepOf(story)}x`}`;
    const values = after.slice(k * size, (k + 1) * size).slice(0, SHOWN);
    return row("td", name, values.map(sayShort), moved ? "rb-now" : "");
  });
  return n === null ? rows : [addedRow(story, t, ""), ...rows];
}

const stepOf = (story) => (story.json.eta === 1 ? "" : "η ");

function addedRow(story, t, sign) {
  const values = added(story, t).slice(0, SHOWN).map(saySigned);
  return row("td", `${sign}${stepOf(story)}x`, values, "rb-added");
}

function row(cell, name, values, kind = "") {
  const first = make("th", { scope: "row" }, name);
  const rest = values.map((value) => make(cell, cell === "th" ? { scope: "col" } : {}, value));
  return make("tr", { class: kind }, cell === "th" ? make("td") : first, ...rest);
}

const nameOf = (story, i) => `w${story.json.intercept ? i : i + 1}`;

function added(story, t) {
  const n = story.corrected(t);
  const x0 = story.json.intercept;
  const x = story.row(n);
  const step = story.json.eta * (story.many ? 1 : story.answers[n]);
  return (x0 ? [x0, ...x] : [...x]).map((value) => step * value);
}

export function sentenceAt(story, t) {
  if (t === 0 && story.T === 0) return `${story.json.told}.`;
  if (t === 0) {
    const start = story.json.start.every((value) => value === 0)
      ? "All weights are zero"
      : "The start";
    return `${start}: ${counted(story.count(0), "mistake")}. Step to correct the first.`;
  }
  const n = story.corrected(t);
  const { sign } = MARKS[story.mark(n)];
  const step = story.json.eta === 1 ? "" : `${say(story.json.eta)}·`;
  const rule = story.answers[n] > 0 ? `w + ${step}x` : `w − ${step}x`;
  const rival = story.many && MARKS[story.markOf(story.rival(t))].sign;
  const why = rival
    ? `did not score above ${rival}, so the w of ${sign} becomes w + ${step}x, that of ${rival} w − ${step}x`
    : `was a mistake, so w becomes ${rule}`;
  const told = `Correction ${grouped(t)}: ${sign} example ${story.name(n)} ${why}.`;
  return t === story.T ? `${told} ${story.json.told}.` : told;
}
