// Pocket: PLA on examples that no line may answer, keeping the best weights met.
import { countMistakes } from "./mistakes.js";
import { Run, WALKS } from "./pla.js";

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
