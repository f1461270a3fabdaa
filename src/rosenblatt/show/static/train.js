// Train: runs an algorithm on examples, decides separability, and returns the story that the player
// shows. show/story.py describes stories, and writes the same numbers for the same run.
import { online, pla, pocket, ratchet } from "./algorithms.js";
import { projected } from "./geometry.js";
import { countMistakes, reachOf, updateRule } from "./mistakes.js";
import { formatCount, plural, ratioOf } from "./numbers.js";
import { againstRivals, checkClaim, checkProof } from "./proof.js";
import { RandomGenerator } from "./random.js";
import { separable, separableLabels } from "./separable.js";

const ALGORITHMS = { pla, pocket, ratchet, online };
export const ZEROS = { mistake: 0, negative: -1, positive: 1 };
const MOST_PAIRS = 2 ** 20; // of a w(t) and an example; beyond, mistakes are not counted at every t
const MOST_NUMBERS = 2 ** 16; // the proof of a larger table is not checked, which would take too long
const ONE_KIND = "Training needs two labels; add an example of another label";
const ENDED = {
  "no mistakes": "a full epoch made no mistake",
  max_updates: "the maximum number of updates was reached",
  "end of stream": "every example was visited once",
};

// Train on `plane`, which is {points, targets, names, labels, marks}, or for more or fewer than two
// features has {X, features, verdict} as well, with a verdict from Python. Targets are -1 and 1 or,
// for more than two labels, positions in `labels`; `marks` says how each label is drawn.
export function train(plane, settings) {
  const X = plane.X || plane.points;
  const D = { X, y: plane.targets, K: plane.labels.length, reach: reachOf(X) };
  const rule = ruleOf(settings, D);
  const enough = new Set(D.y).size > 1;
  const untrained = { updates: [], ends: [], mistakes: 0, reason: "max_updates" };
  const run = enough ? ALGORITHMS[settings.algorithm](D, rule) : untrained;
  const weights = weightsAlong(D, rule, run.updates);
  const T = run.updates.length;
  const every = Math.max(1, Math.floor(((T + 1) * D.X.length) / MOST_PAIRS));
  const kept = run.pocket ? run.pocket.at(-1)[0] : T; // the t of the w that the run returns
  const last = weights.subarray(kept * rule.start.length, (kept + 1) * rule.start.length);
  const shown = plane.X ? projected(plane, last, weights) : { points: plane.points };
  const proved = plane.X ? projectVerdict(plane.verdict, shown) : planeVerdict(plane, D.K);
  return {
    algorithm: settings.algorithm,
    order: rule.order,
    eta: rule.eta,
    zero: rule.zero,
    start: rule.start,
    intercept: 1,
    targets: plane.targets,
    names: plane.names,
    labels: plane.labels,
    marks: plane.marks,
    about: plane.about,
    ...shown,
    updates: T,
    rows: D.K > 2 ? run.updates.map((m) => Math.floor(m / D.K)) : run.updates,
    rivals: D.K > 2 ? run.updates.map((m) => m % D.K) : null,
    ends: run.ends,
    weights,
    mistakes: countsAlong(D, rule, weights, every),
    every,
    pocket: run.pocket || null,
    reason: run.reason,
    summary: enough ? summaryOf(run, D.X.length, settings.algorithm) : ONE_KIND,
    verdict: proved,
    squeeze: squeezeOf(proved, rule, weights),
  };
}

// Return w(0), or zeros if it is for another number of features or labels.
export function startFor(X, K, start) {
  const size = (X[0].length + 1) * (K > 2 ? K : 1);
  return start.length === size ? start : Array(size).fill(0);
}

function ruleOf({ algorithm, order, zero, eta, start, random_state, max_updates }, { X, K }) {
  return {
    order: algorithm === "online" ? "cycle" : order,
    zero: ZEROS[zero],
    eta,
    start: startFor(X, K, start),
    rng: new RandomGenerator(random_state),
    maxUpdates: max_updates,
  };
}

// Repeat the updates, and return w(0) … w(T), one after the other.
function weightsAlong(D, { eta, start }, updates) {
  const size = start.length;
  const weights = new Float64Array((updates.length + 1) * size);
  weights.set(start);
  updates.forEach((update, t) => {
    const now = (t + 1) * size;
    weights.copyWithin(now, now - size, now);
    updateRule(D).add(D, update, weights.subarray(now, now + size), eta);
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

function summaryOf(run, N, algorithm) {
  const ended = `Ended after ${plural(run.updates.length, "update")}: ${ENDED[run.reason]}`;
  const left = `${formatCount(run.mistakes)} of ${formatCount(N)}`;
  if (algorithm === "online") return `${ended}; ${left} were misclassified when they were visited`;
  const whose = run.pocket ? "the pocket misclassifies" : "w misclassifies";
  return run.mistakes ? `${ended}; ${whose} ${left} examples` : ended;
}

// Decide separability in the plane, and check the proof independently.
function planeVerdict({ points, targets }, K) {
  if (K > 2) return labelsVerdict(points, targets, K);
  const found = separable(points, targets);
  checkClaim(found.proof, points, targets);
  const explanation = found.name === "separable" ? scalingAdvice(found, points) : [];
  const conflicts = found.conflicts.map((conflict) => withShares(conflict, points, targets));
  return { ...found, explanation, conflicts };
}

// Decide separability of more than two labels in the plane, and check the proof.
function labelsVerdict(points, targets, K) {
  const found = separableLabels(points, targets, K);
  if (found.proof) {
    const { X, y, x0 } = againstRivals({ ...found.proof, x0: 1 }, points, targets);
    checkClaim(found.proof, X, y, x0);
  }
  return found;
}

// Return the advice to divide each column by its largest entry, with the bound that results.
function scalingAdvice({ line, margin }, points) {
  const scales = [0, 1].map((j) => Math.max(...points.map((x) => Math.abs(x[j]))) || 1);
  const all = [1, ...scales];
  const grown = Math.hypot(...line.map((v, j) => v * all[j])) / Math.hypot(...line);
  const radius = Math.max(...points.map((x) => Math.hypot(1, x[0] / scales[0], x[1] / scales[1])));
  const bound = ((radius * grown) / margin) ** 2;
  return [
    `Dividing each column by its largest entry would lower the bound of this line to ${formatCount(Math.floor(bound))}.`,
  ].filter(() => Number.isFinite(bound));
}

// Return a conflict with the shares of each side, which sum to 1, and the point that both convex
// hulls contain.
function withShares({ rows, multipliers }, points, targets) {
  const side = (sign) =>
    multipliers.reduce((sum, m, i) => (targets[rows[i]] === sign ? sum + m : sum), 0n);
  const sums = { 1: side(1), [-1]: side(-1) };
  const shares = multipliers.map((m, i) => ratioOf(m, sums[targets[rows[i]]]));
  return { rows, shares, common: commonPoint(rows, shares, points, targets) };
}

function commonPoint(rows, shares, points, targets) {
  const common = [0, 0];
  rows.forEach((n, i) => {
    if (targets[n] > 0) points[n].forEach((v, j) => (common[j] += shares[i] * v));
  });
  return common;
}

// Project Python's verdict on all features to the plane of the picture.
function projectVerdict(found, { X, points, lineOf, targets }) {
  const verdict = checkedVerdict(found, X, targets);
  const conflicts = verdict.conflicts.map((conflict) => ({
    ...conflict,
    common: commonPoint(conflict.rows, conflict.shares, points, targets),
  }));
  return { ...verdict, conflicts, line: verdict.weights && lineOf(verdict.weights) };
}

// Check the proof of Python's verdict once; if the proof is wrong, the verdict is "undecided".
function checkedVerdict(verdict, X, targets) {
  if (!verdict) return undecided(BEYOND);
  if (verdict.name === "undecided") return verdict;
  if (!CHECKED.has(verdict)) CHECKED.set(verdict, withCheckedProof(verdict, X, targets));
  return CHECKED.get(verdict);
}

const BEYOND =
  "This page decides separability for two features only. To decide it for all features, open the file " +
  "with `rosenblatt watch`.";
const CHECKED = new WeakMap();

function withCheckedProof(verdict, X, targets) {
  if (X.length * X[0].length > MOST_NUMBERS) {
    return { ...verdict, by: "Python found the proof, and has checked it." };
  }
  try {
    const claim = checkProof(verdict.proof, X, targets);
    if (claim !== verdict.name)
      return undecided("The proof that came with the data proves another verdict.");
    return { ...verdict, by: "Python found the proof; this page has checked it again." };
  } catch (error) {
    return undecided(`The proof that came with the data does not hold: ${error.message}`);
  }
}

function undecided(why) {
  const unknown = { margin: null, bound: null, weights: null, proof: null };
  return { name: "undecided", explanation: [why], support: [], conflicts: [], ...unknown };
}

// Return the two inequalities of the convergence proof: at t the bounds of ‖w‖² are
// max(0, first + t·least)² and squared0 + t·most, and `bound` is the last t at which the first is
// not above the second.
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
  const ends = Number.isFinite(bound) ? bound : null;
  return { squared, cosine, first, squared0, least, most, bound: ends };
}
