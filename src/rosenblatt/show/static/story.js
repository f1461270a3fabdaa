// Story: a training run and its verdict, with the state at any t. It is created by train.js or by
// Python; show/story.py describes its JSON.
import { markOf } from "./drawing.js";
import { isWrong } from "./mistakes.js";
import { unpack } from "./numbers.js";

export class Story {
  constructor(json) {
    this.json = json;
    const { points, targets, names, labels, pocket, verdict } = json;
    Object.assign(this, { points, targets, names, labels, pocket, verdict });
    this.total = json.total || targets.length;
    this.numbers = json.numbers ? unpack(json.numbers) : null;
    this.K = Math.max(2, labels.length);
    this.marks = json.marks || labels.map((_, place) => place);
    this.T = json.updates;
    this.rows = unpack(json.rows);
    this.rivals = json.rivals && unpack(json.rivals);
    this.ends = unpack(json.ends);
    this.all = json.weights && unpack(json.weights);
    this.cuts = json.lines ? unpack(json.lines) : this.all;
    this.table = json.table && unpack(json.table);
    this.counts = unpack(json.mistakes);
    this.every = json.every || 1;
    this.squeeze = json.squeeze && {
      ...json.squeeze,
      squared: unpack(json.squeeze.squared),
      cosine: unpack(json.squeeze.cosine),
    };
    this.size = this.all ? this.all.length / (this.T + 1) : 0;
  }

  // Return the augmented w(t), or null if there were too many weights to send.
  weights(t) {
    return this.all && Array.from(this.all.subarray(t * this.size, (t + 1) * this.size));
  }

  // Return the planes of w(t), as described in geometry.js: one, or one per label if there are more
  // than two.
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

  // Return the mark of example n.
  mark(n) {
    return this.markOf(this.many ? this.targets[n] : markOf(this.targets[n]));
  }

  markOf(place) {
    return this.marks[place];
  }

  // Return the competing class of update t; null if there are only two labels.
  rival(t) {
    return this.rivals ? this.rivals[t - 1] : null;
  }

  // Return the name of example n: its name in the data, or its number, by default from 1.
  name(n) {
    const { row_names, first = 1 } = this.json;
    return row_names ? row_names[n] : (this.numbers ? this.numbers[n] : n) + first;
  }

  // Return the example of update t; null at the start.
  updatedRow(t) {
    return t > 0 ? this.rows[t - 1] : null;
  }

  // Return the epoch of update t, counted from 1.
  epoch(t) {
    const place = this.ends.findIndex((end) => end >= t);
    return (place < 0 ? this.ends.length : place) + 1;
  }

  // Return the mistakes of the weights in the pocket at t, and the t at which they went into it.
  pocketAt(t) {
    if (!this.pocket) return null;
    const [kept, mistakes] = this.pocket.findLast(([at]) => at <= t);
    return { t: kept, mistakes };
  }

  // Return the number of mistakes of w(t), which is counted now if it was not counted before.
  count(t) {
    if (t % this.every === 0) return this.counts[t / this.every];
    if (this.countedAt !== t) [this.countedAt, this.counted] = [t, this.mistakesAt(t).length];
    return this.counted;
  }

  get flat() {
    return !this.json.features;
  }

  // Return the examples that w(t) misclassifies, in exact arithmetic where rounding could matter.
  mistakesAt(t) {
    const w = this.all && this.all.subarray(t * this.size, (t + 1) * this.size);
    if (!w || (!this.flat && !this.table)) return [];
    const { intercept, zero } = this.json;
    const wrong = [];
    for (let n = 0; n < this.targets.length; n++) {
      if (isWrong(w, this.row(n), this.targets[n], zero, this.K, intercept)) wrong.push(n);
    }
    return wrong;
  }

  // Return the features of example n, or an empty list if there were too many to send.
  row(n) {
    if (this.flat) return this.points[n];
    const d = this.size / (this.many ? this.K : 1) - (this.json.intercept ? 1 : 0);
    return this.table ? this.table.subarray(n * d, (n + 1) * d) : [];
  }
}

// Return a story without examples.
export function emptyStory(start) {
  return {
    zero: 0,
    start,
    intercept: 1,
    points: [],
    targets: [],
    names: ["x1", "x2"],
    labels: ["×", "○"],
    updates: 0,
    rows: [],
    ends: [],
    weights: start,
    mistakes: [0],
    summary: "There are no examples yet: click in the picture to add some",
  };
}
