// Source: where examples come from: a preset, two columns of a person's own data, or all of them.
import { fromAddress, USUAL } from "./address.js";
import { answerOf, labelled } from "./marks.js";
import { counted, grouped } from "./numbers.js";
import { PRESETS, preset } from "./presets.js";

export const PROJECTION = "*"; // in place of a column

// Whether all features are seen at once.
export function isProjected({ data, points, x, y }) {
  return data === "file" && !points && [x, y].includes(PROJECTION);
}

// What a state begins with; examples that a person has changed keep its names.
export function planeOf(own, { data, seed, x, y }) {
  if (data !== "file" || !own) return preset(data in PRESETS ? data : USUAL.data, seed);
  const { labels, columns } = own;
  const answers = labels.length > 2 ? own.answers.map(answerOf) : own.answers;
  const [i, j] = [x, y].map((name) => columns.indexOf(name));
  if (i < 0 || j < 0) return { points: [], answers: [], names: ["", ""], labels };
  const points = own.X.map((row) => [row[i], row[j]]);
  return { points, answers, names: [x, y], labels, about: `About ${x} and ${y}${rowsOf(own)}` };
}

// The examples of the page as they are learnt from.
export function examplesOf({ own, state, points, plane }) {
  if (!isProjected(state) || !own) {
    const about = state.points ? null : plane.about;
    const places = points.map(([x, y]) => [x, y]);
    return { points: places, names: plane.names, about, ...labelled(points, plane.labels) };
  }
  const { X, columns, verdict } = own;
  const about = `About ${counted(columns.length, "feature")}${rowsOf(own)}`;
  return { X, answers: own.answers, features: columns, verdict, labels: own.labels, about };
}

export function fileState(file) {
  return { data: "file", x: file.columns[0], y: file.columns[1] || PROJECTION };
}

// What an address says; else what was saved with the page; else its data, if it has any.
export async function firstState(own, saved) {
  if (location.hash) return fromAddress(location.hash);
  const usual = { ...(await fromAddress("")), ...(own ? fileState(own) : {}) };
  if (!saved) return usual;
  const known = Object.entries(saved).filter(([name]) => name in USUAL);
  return { ...usual, ...Object.fromEntries(known) };
}

// Of which rows something is true, where it is not of all.
function rowsOf({ name, X, rows }) {
  const some = X.length < rows ? `${grouped(X.length)} of ${counted(rows, "row")}` : "";
  return `, ${some || counted(rows, "row")} of ${name}`;
}
