// Examples: presets, the user's own data, and files that the user opens.
import { DEFAULTS, fromAddress } from "./address.js";
import { labelled, labelOf, MARKS } from "./drawing.js";
import { formatCount, plural } from "./numbers.js";
import { RandomGenerator } from "./random.js";

export const PROJECTION = "*"; // instead of a column name: all features, projected to the plane

// Return whether all features are shown, projected to the plane.
export function isProjected({ data, points, x, y }) {
  return data === "file" && !points && [x, y].includes(PROJECTION);
}

// Return the examples of a state before any editing, with the names of axes and labels.
export function planeOf(own, { data, seed, x, y }) {
  if (data !== "file" || !own) return preset(data in PRESETS ? data : DEFAULTS.data, seed);
  const { labels, columns } = own;
  const targets = labels.length > 2 ? own.targets.map(labelOf) : own.targets;
  const [i, j] = [x, y].map((name) => columns.indexOf(name));
  if (i < 0 || j < 0) return { points: [], targets: [], names: ["", ""], labels };
  const points = own.X.map((row) => [row[i], row[j]]);
  return { points, targets, names: [x, y], labels, about: `About ${x} and ${y}${rowsOf(own)}` };
}

// Return the current examples of the page as `train` expects them.
export function examplesOf({ own, state, points, plane }) {
  if (!isProjected(state) || !own) {
    const about = state.points ? null : plane.about;
    const places = points.map(([x, y]) => [x, y]);
    return { points: places, names: plane.names, about, ...labelled(points, plane.labels) };
  }
  const { X, columns, verdict } = own;
  const about = `About ${plural(columns.length, "feature")}${rowsOf(own)}`;
  return { X, targets: own.targets, features: columns, verdict, labels: own.labels, about };
}

export function fileState(file) {
  return { data: "file", x: file.columns[0], y: file.columns[1] || PROJECTION };
}

// Return the initial state: that of the address, else the one saved in the page, else the default.
export async function firstState(own, saved) {
  if (location.hash) return fromAddress(location.hash);
  const usual = { ...(await fromAddress("")), ...(own ? fileState(own) : {}) };
  if (!saved) return usual;
  const known = Object.entries(saved).filter(([name]) => name in DEFAULTS);
  return { ...usual, ...Object.fromEntries(known) };
}

// Name the rows that a verdict is about.
function rowsOf({ name, X, rows }) {
  const some = X.length < rows ? `${formatCount(X.length)} of ${plural(rows, "row")}` : "";
  return `, ${some || plural(rows, "row")} of ${name}`;
}

const TARGET = [0.5, 1.2, -1]; // the line of the presets
const SIZE = Math.hypot(TARGET[1], TARGET[2]);
const round = (value, places) => Number(value.toFixed(places));
const scoreOf = ([x, y]) => TARGET[0] + TARGET[1] * x + TARGET[2] * y;
const sign = (x) => (scoreOf(x) > 0 ? 1 : -1);

const PRESETS = { separable: wide, narrow, noisy, xor, ring, credit, three };

// Return the preset {points, targets, names, labels} of a seed, with labels as in drawing.js.
function preset(name, seed) {
  return { names: ["x1", "x2"], labels: ["×", "○"], ...PRESETS[name](new RandomGenerator(seed)) };
}

function withLabels(points) {
  return { points, targets: points.map(sign) };
}

// Draw random examples whose distance from the line is at least `least`.
function withMargin(rng, count, least) {
  const points = [];
  while (points.length < count) {
    const point = [0, 1].map(() => round(rng.uniform(-0.95, 0.95), 2));
    if (Math.abs(scoreOf(point)) / SIZE >= least) points.push(point);
  }
  return points;
}

// A few examples with a wide margin.
function wide(rng) {
  return withLabels(withMargin(rng, 24, 0.08));
}

// Examples with a narrow margin: three near the line decide how many updates PLA needs.
function narrow(rng) {
  const wide = withMargin(rng, 30, 0.08);
  const across = [TARGET[1] / SIZE, TARGET[2] / SIZE];
  const near = [
    [-0.6, 0.02],
    [0.1, -0.02],
    [0.7, 0.02],
  ].map(([along, out]) => [
    round((out - TARGET[0] / SIZE) * across[0] - along * across[1], 3),
    round((out - TARGET[0] / SIZE) * across[1] + along * across[0], 3),
  ]);
  return withLabels([...wide, ...near]);
}

// Separable examples with four labels flipped.
function noisy(rng) {
  const { points, targets } = withLabels(withMargin(rng, 40, 0.05));
  for (const n of rng.permutation(40).slice(0, 4)) targets[n] *= -1;
  return { points, targets };
}

// The four examples that no line classifies all correctly.
function xor() {
  const points = [
    [-0.5, -0.5],
    [0.5, 0.5],
    [-0.5, 0.5],
    [0.5, -0.5],
  ];
  return { points, targets: [-1, -1, 1, 1] };
}

// One label in the middle, and the other around it.
function ring(rng) {
  const at = (radius, angle) => [radius * Math.cos(angle), radius * Math.sin(angle)];
  const middle = Array.from({ length: 16 }, () =>
    at(0.42 * Math.sqrt(rng.random()), rng.uniform(0, 2 * Math.PI)),
  );
  const around = Array.from({ length: 24 }, (_, k) =>
    at(rng.uniform(0.72, 0.95), (2 * Math.PI * k) / 24),
  );
  const points = [...middle, ...around].map((point) => point.map((v) => round(v, 2)));
  return { points, targets: points.map((_, n) => (n < 16 ? 1 : -1)) };
}

// Applicants for credit by salary and debt, both in thousands. The bank also considers age and
// years in the job, which are not shown. Rule and applicants are those of `rosenblatt.experiments.credit`.
function credit(rng) {
  const [points, targets] = [[], []];
  while (points.length < 60) {
    const age = 18 + rng.below(53);
    const salary = round(Math.exp(3.6 + 0.45 * normal(rng)), 1);
    const years = Math.min(round(-6 * Math.log(1 - rng.random()), 1), age - 17);
    const debt = round(-18 * Math.log(1 - rng.random()), 1);
    const score = age + 2 * salary + 3 * years - 4 * debt - 60;
    if (Math.abs(score) < 2) continue;
    points.push([salary, debt]);
    targets.push(score > 0 ? 1 : -1);
  }
  const names = ["salary, thousands", "debt, thousands"];
  return { points, targets, names, labels: ["refused", "approved"] };
}

// Three labels in three clusters with a margin between them.
function three(rng) {
  const middles = [
    [-0.5, -0.5],
    [0.5, -0.4],
    [0.3, 0.5],
  ];
  const points = Array.from({ length: 36 }, (_, n) =>
    middles[n % 3].map((v) => round(v + rng.uniform(-0.42, 0.42), 2)),
  );
  return { points, targets: points.map((_, n) => [-1, 1, 2][n % 3]), labels: ["×", "○", "△"] };
}

// Draw a number from the standard normal distribution, by the method of Box and Muller.
function normal(rng) {
  const radius = Math.sqrt(-2 * Math.log(1 - rng.random()));
  return radius * Math.cos(2 * Math.PI * rng.random());
}

export class NotReadError extends Error {}

// Read a table from the text of a file, as {name, columns, labels, rows, X, targets, verdict}. Its
// label column is the last with two different values, or else the last with up to five.
export function readTable(name, text, most) {
  const lines = text.split(/\r?\n/).filter((line) => line.trim());
  if (lines.length < 3) throw new NotReadError(`${name} has no rows.`);
  const separator = [",", ";", "\t"].find((mark) => lines[0].includes(mark)) || " ";
  const cells = lines.map((line) => line.split(separator).map(unquoted));
  const isNumber = (cell) => cell !== "" && Number.isFinite(Number(cell));
  const hasHead = !cells[0].some(isNumber);
  const names = hasHead ? cells[0] : cells[0].map((_, j) => `column ${j + 1}`);
  const rows = cells.slice(hasHead ? 1 : 0);
  const wrong = rows.findIndex((row) => row.length !== names.length);
  if (wrong >= 0) {
    const line = wrong + (hasHead ? 2 : 1);
    throw new NotReadError(`${name}, line ${line}, has ${rows[wrong].length} values.`);
  }
  const different = names.map((_, j) => [...new Set(rows.map((row) => row[j]))]);
  const two = different.findLastIndex(({ length }) => length === 2);
  const again = Math.min(MARKS.length, rows.length / 2); // labels that repeat
  const few = different.findLastIndex(({ length }) => length > 2 && length <= again);
  const target = two < 0 ? few : two;
  if (target < 0) throw new NotReadError(`${name} has no column with two to five labels.`);
  const features = names
    .map((_, j) => j)
    .filter((j) => j !== target && rows.every((row) => isNumber(row[j])));
  const labels = different[target].sort(compareLabels);
  if (!features.length) throw new NotReadError(`${name} has no numeric column.`);
  if (two < 0 && features.length < 2)
    throw new NotReadError(`${name} has ${labels.length} labels, which need two numeric columns.`);
  const kept = rows.filter((_, n) => n % Math.ceil(rows.length / most) === 0);
  return {
    name,
    columns: features.map((j) => names[j]),
    labels,
    rows: rows.length,
    X: kept.map((row) => features.map((j) => Number(row[j]))),
    targets: kept.map((row) => labels.indexOf(row[target])).map((k) => (two < 0 ? k : 2 * k - 1)),
    verdict: null,
  };
}

function unquoted(cell) {
  return cell
    .trim()
    .replace(/^"(.*)"$/, "$1")
    .replaceAll('""', '"');
}

// Sort numbers by size and other labels by letter, as Python does.
function compareLabels(a, b) {
  const numbers = Number.isFinite(Number(a)) && Number.isFinite(Number(b));
  return numbers ? Number(a) - Number(b) : a < b ? -1 : 1;
}
