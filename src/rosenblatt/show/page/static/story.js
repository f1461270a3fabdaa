// Story: what `learn` here or Python found out about a run, asked for t by t. See show/story.py for
// the contract.
import { markOf } from "./drawing.js";
import { isWrong } from "./mistakes.js";
import { unpack } from "./numbers.js";

export class Story {
  constructor(json) {
    this.json = json;
    this.points = json.points;
    this.answers = json.answers;
    this.total = json.total || json.answers.length;
    this.numbers = json.numbers ? unpack(json.numbers) : null;
    this.names = json.names;
    this.labels = json.labels;
    this.K = Math.max(2, json.labels.length);
    this.marks = json.marks || json.labels.map((_, place) => place);
    this.T = json.corrections;
    this.rows = unpack(json.rows);
    this.rivals = json.rivals && unpack(json.rivals);
    this.ends = unpack(json.ends);
    this.all = json.weights && unpack(json.weights);
    this.cuts = json.lines ? unpack(json.lines) : this.all;
    this.table = json.table && unpack(json.table);
    this.counts = unpack(json.mistakes);
    this.every = json.every || 1;
    this.pocket = json.pocket;
    this.verdict = json.verdict;
    this.squeeze = json.squeeze && {
      ...json.squeeze,
      squared: unpack(json.squeeze.squared),
      cosine: unpack(json.squeeze.cosine),
    };
    this.size = this.all ? this.all.length / (this.T + 1) : 0;
  }

  // The tall w(t), or null where there are too many weights to send.
  weights(t) {
    return this.all && Array.from(this.all.subarray(t * this.size, (t + 1) * this.size));
  }

  // c, a, b of the line c + a·x1 + b·x2 = 0 that w(t) draws; of more labels, of the score of each.
  planes(t) {
    const count = this.many ? this.K : 1;
    return Array.from({ length: count }, (_, k) => {
      const first = 3 * (t * count + k);
      return this.cuts.subarray(first, first + 3);
    });
  }

  get many() {
    return this.K > 2;
  }

  // The mark of example n, or that of a label by its place.
  mark(n) {
    return this.markOf(this.many ? this.answers[n] : markOf(this.answers[n]));
  }

  markOf(place) {
    return this.marks[place];
  }

  // The rival that the correction to t was made against, of more than two labels.
  rival(t) {
    return this.rivals ? this.rivals[t - 1] : null;
  }

  // What example n is called: its number in the data, counted from 1.
  name(n) {
    return (this.numbers ? this.numbers[n] : n) + 1;
  }

  // The example that was corrected to reach t; null at the start.
  corrected(t) {
    return t > 0 ? this.rows[t - 1] : null;
  }

  // The cycle, counted from 1, that correction t fell in.
  cycle(t) {
    let low = 0;
    let high = this.ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.ends[middle] <= t - 1) low = middle + 1;
      else high = middle;
    }
    return low + 1;
  }

  // When the weights that are in the pocket at t went into it, and their mistakes.
  pocketAt(t) {
    if (!this.pocket) return null;
    let best = this.pocket[0];
    for (const entry of this.pocket) {
      if (entry[0] > t) break;
      best = entry;
    }
    return { t: best[0], mistakes: best[1] };
  }

  // How many mistakes w(t) makes; of very many only some were counted before.
  count(t) {
    if (t % this.every === 0) return this.counts[t / this.every];
    if (this.countedAt !== t) [this.countedAt, this.counted] = [t, this.mistaken(t).length];
    return this.counted;
  }

  get flat() {
    return !this.json.features;
  }

  // The examples that w(t) answers wrongly, exact where rounding could decide.
  mistaken(t) {
    const w = this.all && this.all.subarray(t * this.size, (t + 1) * this.size);
    if (!w || (!this.flat && !this.table)) return [];
    const wrong = [];
    for (let n = 0; n < this.answers.length; n++) {
      if (this.isMistaken(w, n)) wrong.push(n);
    }
    return wrong;
  }

  isMistaken(w, n) {
    const { intercept, zero } = this.json;
    return isWrong(w, this.row(n), this.answers[n], zero, this.K, intercept);
  }

  // The features of example n; none where they were too many to send.
  row(n) {
    if (this.flat) return this.points[n];
    const d = this.size / (this.many ? this.K : 1) - (this.json.intercept ? 1 : 0);
    return this.table ? this.table.subarray(n * d, (n + 1) * d) : [];
  }
}

// A story without examples, for a page that begins empty.
export function emptyStory(start) {
  return {
    algorithm: "pla",
    order: "cycle",
    eta: 1,
    zero: 0,
    start,
    intercept: 1,
    points: [],
    answers: [],
    names: ["x1", "x2"],
    labels: ["×", "○"],
    features: null,
    corrections: 0,
    rows: [],
    ends: [],
    weights: [...start],
    lines: null,
    table: null,
    mistakes: [0],
    every: 1,
    pocket: null,
    reason: "no examples",
    verdict: null,
    squeeze: null,
    told: "There are no examples yet: click in the picture to add some",
  };
}
