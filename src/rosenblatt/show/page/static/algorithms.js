// PLA: the slides again, run on the page. Beside it lies src/rosenblatt/kernels.py, whose loops
// these are: the same sums in the same order, so that a seed is the same run, bit for bit.
//
// D is {X, y, K}: rows of numbers without x0 = 1, which is implied, and answers, -1 or 1, or of K > 2
// labels their places. A rule is {order, zero, eta, start, chance, corrections}; `chance` is a Chance,
// `corrections` the most.
import { countMistakes, joint, mistakesOf, NONE } from "./mistakes.js";

const CHANCES = 2048; // random numbers are drawn at least so many at a time

export function pla(D, rule) {
  const run = new Run(D, rule);
  WALKS[rule.order](run);
  return run.ended();
}

// One pass over the examples as they come: the `mistakes` are those made as it went.
export function online(D, rule) {
  const run = new Run(D, { ...rule, corrections: Infinity });
  run.visit(run.numbers);
  return { ...run.ended(), reason: "end of stream", mistakes: run.made.length };
}

// Of two labels, row n if w answers it wrongly, else NONE: is y·(w·x) ≤ 0? At exactly 0 the course
// decides: 0 (always a mistake), -1 or 1.
function mistake({ X, y }, n, w, zero) {
  const x = X[n];
  let s = w[0];
  for (let i = 0; i < x.length; i++) s += w[i + 1] * x[i];
  return y[n] * s > 0 || (s === 0 && y[n] * zero > 0) ? NONE : n;
}

// w ← w + η y x
function add({ X, y }, n, w, eta) {
  const [x, a] = [X[n], y[n] * eta];
  w[0] += a;
  for (let i = 0; i < x.length; i++) w[i + 1] += a * x[i];
}

const two = { mistake, add, correctionOf: (_, n) => n };

// What a mistake is and how it is corrected, by the number of labels.
export const slideOf = ({ K }) => (K > 2 ? joint : two);

export class Run {
  constructor(D, rule) {
    this.D = D;
    this.rule = rule;
    this.slide = slideOf(D);
    this.w = Float64Array.from(rule.start);
    this.made = []; // each correction: an example, or an example against a rival
    this.ends = []; // how many corrections had been made when each cycle ended
    this.numbers = D.X.map((_, n) => n);
    this.clean = false; // whether an exact look found no mistake
  }

  get goesOn() {
    return !this.clean && this.made.length < this.rule.corrections;
  }

  // Correct by example n if it is a mistake; says whether it was.
  met(n) {
    const made = this.slide.mistake(this.D, n, this.w, this.rule.zero);
    if (made !== NONE) this.correct(made);
    return made !== NONE;
  }

  correct(made) {
    this.slide.add(this.D, made, this.w, this.rule.eta);
    this.made.push(made);
  }

  // Visit examples in an order, correcting each mistake met; true if there was none.
  visit(order) {
    const begun = this.made.length;
    for (const n of order) {
      if (this.met(n) && !this.goesOn) return false;
    }
    this.ends.push(this.made.length);
    return this.made.length === begun;
  }

  // Look at all examples, exactly: end the run, or correct a mistake that floats do not see.
  confirm() {
    const wrong = mistakesOf(this.D, this.w, this.rule.zero);
    this.clean = wrong.length === 0;
    if (this.clean || !this.goesOn) return;
    const n = wrong[this.rule.order === "random" ? this.rule.chance.below(wrong.length) : 0];
    this.correct(this.slide.correctionOf(this.D, n, this.w, this.rule.zero));
  }

  ended() {
    const { D, rule, made, w } = this;
    const full = made.length >= rule.corrections;
    const mistakes = this.clean ? 0 : mistakesOf(D, w, rule.zero).length;
    const ends = full ? this.ends.filter((t) => t < made.length) : this.ends;
    return { made, ends, w, mistakes, reason: mistakes ? "max_updates" : "no mistakes" };
  }
}

export const WALKS = {
  cycle: (run) => cycles(run, () => run.numbers),
  "random-cycle": (run) => {
    const order = run.rule.chance.permutation(run.numbers.length);
    cycles(run, () => order);
  },
  shuffle: (run) => cycles(run, () => run.rule.chance.permutation(run.numbers.length)),
  first: firstMistakes,
  random: randomMistakes,
};

// Cycle after cycle, until one has no mistake.
function cycles(run, order) {
  while (run.goesOn) if (run.visit(order())) run.confirm();
}

// Start over from the first example after each correction, as the Octave program does.
function firstMistakes(run) {
  while (run.goesOn) {
    if (!run.numbers.some((n) => run.met(n))) run.confirm();
    if (!run.clean) run.ends.push(run.made.length);
  }
}

// Correct a random mistake: the first met in an order that is shuffled as it is visited. Visits
// are counted in cycles of N.
function randomMistakes(run) {
  const order = [...run.numbers];
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
      for (let k = 0; k < Math.max(N, CHANCES); k++) drawn.push(run.rule.chance.random());
      drawn.reverse();
    }
    const j = i + Math.floor(drawn.pop() * (N - i));
    [order[i], order[j]] = [order[j], order[i]];
    i = run.met(order[i]) ? 0 : i + 1;
    visits += 1;
    if (visits % N === 0) run.ends.push(run.made.length);
  }
}

// Pocket: PLA on examples that no line may answer, keeping the best weights met.

const LONG_RUN = 64; // cycles: nobody is right by chance for so long

// Every w(t) is judged on all examples, and kept if it makes fewer mistakes than the pocket.
export function pocket(D, rule) {
  const run = new PocketRun(D, rule);
  if (run.goesOn) WALKS[rule.order](run);
  return run.ended();
}

// Gallant's rule: w is judged only when it was right for longer in a row than the pocket was.
export function ratchet(D, rule) {
  const run = new PocketRun(D, rule, true);
  const [N, { order }] = [D.X.length, rule];
  let visits = visitsOf(run);
  let [k, right, longest, judged] = [0, 0, 0, false];
  while (run.goesOn) {
    const n = visits[k];
    k += 1;
    if (run.met(n)) {
      [right, judged] = [0, false];
      if (order === "first") k = k === N ? N : 0;
    } else right += 1;
    const news = right > longest && !judged;
    if (k === N) run.ends.push(run.made.length);
    if (news) {
      if (run.consider()) longest = right;
      judged = true;
    }
    if ((news || k === N) && right > LONG_RUN * N && !run.clean) {
      run.confirm();
      [right, judged] = [0, false];
    }
    if (k === N && (order === "shuffle" || order === "random")) visits = visitsOf(run);
    if (k === N) k = 0;
  }
  return run.ended();
}

// The order of the next cycle; "random" draws with replacement, as Gallant does.
function visitsOf({ numbers, rule }) {
  const { chance, order } = rule;
  if (order === "random") return numbers.map(() => chance.below(numbers.length));
  return order === "cycle" || order === "first" ? numbers : chance.permutation(numbers.length);
}

class PocketRun extends Run {
  constructor(D, rule, seldom = false) {
    super(D, rule);
    this.seldom = seldom; // whether w is judged only when asked
    this.history = []; // [t, mistakes] each time that w(t) went into the pocket
    this.consider();
  }

  correct(made) {
    super.correct(made);
    if (!this.seldom) this.consider();
  }

  // Judge w(t); true if it went into the pocket.
  consider() {
    const best = this.history.length ? this.history.at(-1)[1] : Infinity;
    const count = countMistakes(this.D, this.w, this.rule.zero, best);
    if (count < best) this.history.push([this.made.length, count]);
    // Weights without mistakes are the last, whatever floats would correct.
    this.clean ||= count === 0;
    return count < best;
  }

  ended() {
    const [, mistakes] = this.history.at(-1);
    const reason = mistakes ? "max_updates" : "no mistakes";
    return { ...super.ended(), mistakes, reason, pocket: this.history };
  }
}
