// Learn: examples and a rule in, the story of the run and what is proved of the examples out, as
// the player takes it. See show/story.py for what a story holds: Python's have the same numbers.
import { online, pla, pocket, ratchet, slideOf } from "./algorithms.js";
import { Chance } from "./chance.js";
import { ratioOf } from "./exact.js";
import { viewOf } from "./geometry.js";
import { countMistakes, reachOf } from "./mistakes.js";
import { counted, grouped } from "./numbers.js";
import { againstRivals, checkClaim, checkProof } from "./proof.js";
import { separable, separableLabels } from "./separable.js";

const ALGORITHMS = { pla, pocket, ratchet, online };
export const ZEROS = { mistake: 0, negative: -1, positive: 1 };
const MOST_PAIRS = 2 ** 20; // of a w(t) and an example; above, the player counts what it shows
const MOST_NUMBERS = 2 ** 16; // that a proof is checked against while somebody waits
const ONE_KIND = "Learning needs two kinds of example; add one of the other kind";
const ENDED = {
  "no mistakes": "a whole look at the examples found no mistake",
  max_updates: "the corrections that were allowed are used up",
  "end of stream": "every example has come once",
};

// `plane` is {points, answers, names, labels}, and for more or fewer than two features has also
// {X, features, verdict}, what Python has proved; `settings` are those of the address. Answers are
// -1 and 1, or of more than two labels places among them; `marks` says how each is drawn.
export function learn(plane, settings) {
  const X = plane.X || plane.points;
  const D = { X, y: plane.answers, K: plane.labels.length, reach: reachOf(X) };
  const rule = ruleOf(settings, D);
  const enough = new Set(D.y).size > 1;
  const run = enough ? ALGORITHMS[settings.algorithm](D, rule) : nothing(D, rule);
  const weights = weightsAlong(D, rule, run.made);
  const T = run.made.length;
  const every = Math.max(1, Math.floor(((T + 1) * D.X.length) / MOST_PAIRS));
  const kept = run.pocket ? run.pocket.at(-1)[0] : T; // the w that the run leaves
  const last = weights.subarray(kept * rule.start.length, (kept + 1) * rule.start.length);
  const shown = plane.X ? viewOf(plane, last).shown(weights) : { points: plane.points };
  const proved = plane.X ? seenIn(plane.verdict, shown) : planeVerdict(plane, D.K);
  return {
    algorithm: settings.algorithm,
    order: rule.order,
    eta: rule.eta,
    zero: rule.zero,
    start: rule.start,
    intercept: 1,
    answers: plane.answers,
    names: plane.names,
    labels: plane.labels,
    marks: plane.marks,
    about: plane.about,
    features: null,
    lines: null,
    table: null,
    ...shown,
    corrections: T,
    rows: D.K > 2 ? run.made.map((m) => Math.floor(m / D.K)) : run.made,
    rivals: D.K > 2 ? run.made.map((m) => m % D.K) : null,
    ends: run.ends,
    weights,
    mistakes: countsAlong(D, rule, weights, every),
    every,
    pocket: run.pocket || null,
    reason: run.reason,
    told: enough ? toldOf(run, D.X.length, settings.algorithm) : ONE_KIND,
    verdict: proved,
    squeeze: squeezeOf(proved, rule, weights),
  };
}

function ruleOf({ algorithm, order, zero, eta, start, chance, corrections }, { X, K }) {
  const size = (X[0].length + 1) * (K > 2 ? K : 1);
  return {
    order: algorithm === "online" ? "cycle" : order,
    zero: ZEROS[zero],
    eta,
    start: start.length === size ? start : Array(size).fill(0),
    chance: new Chance(chance),
    corrections,
  };
}

function nothing(D, rule) {
  const mistakes = countMistakes(D, rule.start, rule.zero);
  return { made: [], ends: [], w: Float64Array.from(rule.start), mistakes, reason: "max_updates" };
}

// w(0) … w(T), one after the other: the corrections made again.
function weightsAlong(D, { eta, start }, made) {
  const size = start.length;
  const weights = new Float64Array((made.length + 1) * size);
  weights.set(start);
  made.forEach((m, t) => {
    const now = (t + 1) * size;
    weights.copyWithin(now, now - size, now);
    slideOf(D).add(D, m, weights.subarray(now, now + size), eta);
  });
  return weights;
}

function countsAlong(D, { zero, start }, weights, every) {
  const size = start.length;
  const steps = Math.ceil(weights.length / size / every);
  return Uint32Array.from({ length: steps }, (_, k) => {
    const at = k * every * size;
    return countMistakes(D, weights.subarray(at, at + size), zero);
  });
}

function toldOf(run, N, algorithm) {
  const ended = `Ended after ${counted(run.made.length, "correction")}: ${ENDED[run.reason]}`;
  const left = `${grouped(run.mistakes)} of ${grouped(N)}`;
  if (algorithm === "online") return `${ended}; ${left} were mistaken as they came`;
  const whose = run.pocket ? "the pocket has" : "there are";
  return run.mistakes ? `${ended}; ${whose} mistakes on ${left} examples` : ended;
}

// The verdict in the plane, its proof checked by other lines than those that found it.
function planeVerdict({ points, answers }, K) {
  if (K > 2) return labelsVerdict(points, answers, K);
  const found = separable(points, answers);
  checkClaim(found.proof, points, answers);
  const told = found.name === "separable" ? scalingAdvice(found, points) : [];
  const blocking = found.blocking.map((part) => blockingIn(part, points, answers));
  return { ...found, told, blocking };
}

// The same of several labels.
function labelsVerdict(points, answers, K) {
  const found = separableLabels(points, answers, K);
  if (found.proof) {
    const { X, y, x0 } = againstRivals({ ...found.proof, x0: 1 }, points, answers);
    checkClaim(found.proof, X, y, x0);
  }
  return found;
}

// What dividing each column by its largest entry would do to the bound.
function scalingAdvice({ line, margin }, points) {
  const scales = [0, 1].map((j) => Math.max(...points.map((x) => Math.abs(x[j]))) || 1);
  const all = [1, ...scales];
  const grown = Math.hypot(...line.map((v, j) => v * all[j])) / Math.hypot(...line);
  const radius = Math.max(...points.map((x) => Math.hypot(1, x[0] / scales[0], x[1] / scales[1])));
  const bound = ((radius * grown) / margin) ** 2;
  return [
    `Dividing each column by its largest entry would lower the bound of this line to ${grouped(Math.floor(bound))}.`,
  ].filter(() => Number.isFinite(bound));
}

// The shares of each side, which sum to 1, and the point of both hulls.
function blockingIn({ rows, multipliers }, points, answers) {
  const side = (sign) =>
    multipliers.reduce((sum, m, i) => (answers[rows[i]] === sign ? sum + m : sum), 0n);
  const sums = { 1: side(1), [-1]: side(-1) };
  const shares = multipliers.map((m, i) => ratioOf(m, sums[answers[rows[i]]]));
  return {
    rows,
    shares,
    ...middle(rows, shares, points, answers),
  };
}

function middle(rows, shares, points, answers) {
  const common = [0, 0];
  rows.forEach((n, i) => {
    if (answers[n] > 0) points[n].forEach((v, j) => (common[j] += shares[i] * v));
  });
  return { common };
}

// What Python has proved of all features, as it is seen in the plane of the picture.
function seenIn(found, { X, points, lineOf, answers }) {
  const verdict = checkedAgain(found, X, answers);
  const blocking = verdict.blocking.map((part) => ({
    ...part,
    ...middle(part.rows, part.shares, points, answers),
  }));
  return { ...verdict, blocking, line: verdict.weights && lineOf(verdict.weights) };
}

// A verdict of Python whose proof was checked here, once; nothing is said of one that fails.
function checkedAgain(verdict, X, answers) {
  if (!verdict) return undecided(BEYOND);
  if (verdict.name === "undecided") return verdict;
  if (!CHECKED.has(verdict)) CHECKED.set(verdict, withCheck(verdict, X, answers));
  return CHECKED.get(verdict);
}

const BEYOND =
  "This page decides in the plane; rosenblatt watch, given the file, decides about all features.";
const CHECKED = new WeakMap();

function withCheck(verdict, X, answers) {
  if (X.length * X[0].length > MOST_NUMBERS) {
    return { ...verdict, by: "Python found the proof, and has checked it." };
  }
  try {
    const claim = checkProof(verdict.proof, X, answers);
    if (claim !== verdict.name) return undecided("The proof that came with the data is another's.");
    return { ...verdict, by: "Python found the proof; this page has checked it again." };
  } catch (error) {
    return undecided(`The proof that came with the data does not hold: ${error.message}`);
  }
}

function undecided(told) {
  const nothing = { margin: null, bound: null, weights: null, proof: null };
  return { name: "undecided", told: [told], support: [], blocking: [], ...nothing };
}

// The two inequalities of the proof: at t the bounds of ‖w‖² are max(0, first + t·least)² and
// squared0 + t·most, and `bound` is the last t at which they leave room.
function squeezeOf(verdict, { eta, start }, weights) {
  if (verdict?.name !== "separable" || !verdict.margin) return null;
  const best = verdict.weights || verdict.line;
  const size = start.length;
  const length = Math.hypot(...best);
  const [squared, cosine, inner] = [[], [], []];
  for (let at = 0; at < weights.length; at += size) {
    let [along, square] = [0, 0];
    for (let i = 0; i < size; i++) {
      along += best[i] * weights[at + i];
      square += weights[at + i] * weights[at + i];
    }
    inner.push(along);
    squared.push(square);
    cosine.push(square > 0 ? along / (length * Math.sqrt(square)) : 0);
  }
  const [first, squared0] = [inner[0] / length, squared[0]];
  const [least, most] = [eta * verdict.margin, (eta * verdict.radius) ** 2];
  const half = (most - 2 * first * least) / 2;
  const root = Math.sqrt(Math.max(0, half * half + least * least * (squared0 - first * first)));
  const bound = (half + root) / least ** 2;
  const told = { first, squared0, least, most, bound: Number.isFinite(bound) ? bound : null };
  return { squared, cosine, ...told };
}
