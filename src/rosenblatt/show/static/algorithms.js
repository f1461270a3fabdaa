// Algorithms: PLA, one online pass, and the pocket algorithm. They compute the same sums in the
// same order as src/rosenblatt/kernels.py, so that a seed gives the same run as in Python, bit for
// bit.
//
// `D` are examples {X, y, K, reach}, described in mistakes.js; `rule` is {order, zero, eta, start,
// rng, maxUpdates}, where `rng` is a RandomGenerator.
import { countMistakes, mistakesOf, NONE, updateRule } from "./mistakes.js";

const DRAWN = 2048; // minimum number of random numbers that are drawn at a time
const LONG_RUN = 64; // epochs without a mistake, after which w is checked in exact arithmetic

// The perceptron learning algorithm: update on each mistake, until an epoch has none.
export function pla(D, rule) {
  const run = new Run(D, rule);
  LOOPS[rule.order](run);
  return run.result();
}

// One pass over the examples in their order. `mistakes` counts those made during the pass.
export function online(D, rule) {
  const run = new Run(D, { ...rule, maxUpdates: Infinity });
  run.visit(run.rows);
  return { ...run.result(), reason: "end of stream", mistakes: run.updates.length };
}

// The pocket algorithm: count the mistakes of each w(t) on all examples, and keep the best w.
export function pocket(D, rule) {
  const run = new PocketRun(D, rule);
  if (run.goesOn) LOOPS[rule.order](run);
  return run.result();
}

// The pocket algorithm with Gallant's ratchet: the mistakes of w are counted only if w has
// classified more examples in a row correctly than the weights in the pocket had.
export function ratchet(D, rule) {
  const run = new PocketRun(D, rule, true);
  const [N, { order }] = [D.X.length, rule];
  let visits = ratchetOrder(run);
  let [k, right, longest, judged] = [0, 0, 0, false];
  while (run.goesOn) {
    const n = visits[k];
    k += 1;
    if (run.updateIfMistake(n)) {
      [right, judged] = [0, false];
      if (order === "first") k = k === N ? N : 0;
    } else right += 1;
    const isNew = right > longest && !judged;
    if (k === N) run.ends.push(run.updates.length);
    if (isNew) {
      if (run.judge()) longest = right;
      judged = true;
    }
    if ((isNew || k === N) && right > LONG_RUN * N && !run.separated) {
      run.confirm();
      [right, judged] = [0, false];
    }
    if (k === N && (order === "shuffle" || order === "random")) visits = ratchetOrder(run);
    if (k === N) k = 0;
  }
  return run.result();
}

// Return the order of the next epoch; "random" draws with replacement, as Gallant does.
function ratchetOrder({ rows, rule }) {
  const { rng, order } = rule;
  if (order === "random") return rows.map(() => rng.below(rows.length));
  return order === "cycle" || order === "first" ? rows : rng.permutation(rows.length);
}

class Run {
  constructor(D, rule) {
    this.D = D;
    this.rule = rule;
    this.updateRule = updateRule(D);
    this.w = Float64Array.from(rule.start);
    this.updates = []; // see mistakes.js
    this.ends = []; // the number of updates at the end of each epoch
    this.rows = D.X.map((_, n) => n);
    this.separated = false; // whether exact arithmetic found no mistake
  }

  get goesOn() {
    return !this.separated && this.updates.length < this.rule.maxUpdates;
  }

  // Update on row n if w misclassifies it; return whether it did.
  updateIfMistake(n) {
    const update = this.updateRule.mistake(this.D, n, this.w, this.rule.zero);
    if (update !== NONE) this.make(update);
    return update !== NONE;
  }

  make(update) {
    this.updateRule.add(this.D, update, this.w, this.rule.eta);
    this.updates.push(update);
  }

  // Visit rows in an order, and update on each mistake; return whether there was none.
  visit(order) {
    const before = this.updates.length;
    for (const n of order) {
      if (this.updateIfMistake(n) && !this.goesOn) return false;
    }
    this.ends.push(this.updates.length);
    return this.updates.length === before;
  }

  // Check all examples in exact arithmetic: end the run, or update on a mistake that rounding hid.
  confirm() {
    const wrong = mistakesOf(this.D, this.w, this.rule.zero);
    this.separated = wrong.length === 0;
    if (this.separated || !this.goesOn) return;
    const n = wrong[this.rule.order === "random" ? this.rule.rng.below(wrong.length) : 0];
    this.make(this.updateRule.updateOf(this.D, n, this.w, this.rule.zero));
  }

  result() {
    const { D, rule, updates, w } = this;
    const full = updates.length >= rule.maxUpdates;
    const mistakes = this.separated ? 0 : mistakesOf(D, w, rule.zero).length;
    const ends = full ? this.ends.filter((t) => t < updates.length) : this.ends;
    return { updates, ends, w, mistakes, reason: mistakes ? "max_updates" : "no mistakes" };
  }
}

class PocketRun extends Run {
  constructor(D, rule, seldom = false) {
    super(D, rule);
    this.seldom = seldom; // whether mistakes are counted on request only
    this.history = []; // [t, mistakes] of each w(t) that went into the pocket
    this.judge();
  }

  make(update) {
    super.make(update);
    if (!this.seldom) this.judge();
  }

  // Count the mistakes of w(t); return whether w(t) goes into the pocket.
  judge() {
    const best = this.history.length ? this.history.at(-1)[1] : Infinity;
    const count = countMistakes(this.D, this.w, this.rule.zero, best);
    if (count < best) this.history.push([this.updates.length, count]);
    // Weights without mistakes end the run, even if rounding still shows one.
    this.separated ||= count === 0;
    return count < best;
  }

  result() {
    const [, mistakes] = this.history.at(-1);
    const reason = mistakes ? "max_updates" : "no mistakes";
    return { ...super.result(), mistakes, reason, pocket: this.history };
  }
}

// The training loop of each order of visits.
const LOOPS = {
  cycle: (run) => epochs(run, () => run.rows),
  "random-cycle": (run) => {
    const order = run.rule.rng.permutation(run.rows.length);
    epochs(run, () => order);
  },
  shuffle: (run) => epochs(run, () => run.rule.rng.permutation(run.rows.length)),
  first: firstMistakes,
  random: randomMistakes,
};

// Train in epochs, until one has no mistake.
function epochs(run, order) {
  while (run.goesOn) if (run.visit(order())) run.confirm();
}

// Start over from the first example after each update, as the Octave program of the lecture does.
function firstMistakes(run) {
  while (run.goesOn) {
    if (!run.rows.some((n) => run.updateIfMistake(n))) run.confirm();
    if (!run.separated) run.ends.push(run.updates.length);
  }
}

// Update on a random mistake: the first one in an order that is shuffled during the visits. An
// epoch is N visits.
function randomMistakes(run) {
  const order = [...run.rows];
  const N = order.length;
  const drawn = [];
  let [i, visits] = [0, 0];
  while (run.goesOn) {
    if (i === N) {
      run.confirm();
      i = 0;
      continue;
    }
    if (drawn.length === 0) {
      for (let k = 0; k < Math.max(N, DRAWN); k++) drawn.push(run.rule.rng.random());
      drawn.reverse();
    }
    const j = i + Math.floor(drawn.pop() * (N - i));
    [order[i], order[j]] = [order[j], order[i]];
    i = run.updateIfMistake(order[i]) ? 0 : i + 1;
    visits += 1;
    if (visits % N === 0) run.ends.push(run.updates.length);
  }
}
