// Fewest: the minimum number of mistakes of any line in the plane, exactly.
//
// A line with the fewest mistakes can be moved until it touches an example, the pivot, and makes no
// more mistakes slightly beside it. So a line is turned by half a circle about each pivot, past the
// other examples sorted by angle, and the mistakes of the line and of its opposite are updated at
// each of them: O(N² log N) in all. Angles are sorted as doubles; where rounding could change an
// order that matters, integers decide.
import { onGrid } from "./numbers.js";

const PLACES = 8192; // the last bits of an angle hold the number of its point
const SLICE = 12; // milliseconds of searching between two frames of the page
const [MANY, SOON] = [300, 500]; // for more points, the search begins after so many milliseconds
const SURE = 2 ** -34; // bound on the error of an angle without those bits

// Return {mistakes, line}, where the line [c, a, b] makes that number of mistakes. The generator
// yields after each pivot, so that the page can do other things in between.
export function* fewest(points, targets) {
  const sweep = new Sweep(points, targets);
  for (let p = 0; p < sweep.count; p++) {
    sweep.turnAbout(p);
    yield p + 1;
  }
  return { mistakes: sweep.best.mistakes, line: sweep.line() };
}

// Search between frames of the page; return null as soon as isWanted() is false.
export async function fewestBetweenFrames(points, targets, isWanted) {
  const wait = (time) => new Promise((next) => setTimeout(next, time));
  if (points.length > MANY) await wait(SOON); // the picture comes first
  if (!isWanted()) return null;
  const search = fewest(points, targets);
  for (;;) {
    const until = performance.now() + SLICE;
    do {
      const { done, value } = search.next();
      if (done) return isWanted() ? value : null;
    } while (performance.now() < until);
    await wait(0);
    if (!isWanted()) return null;
  }
}

class Sweep {
  // Examples at the same place become one point, with the number of its yes and no labels.
  constructor(points, targets) {
    const { integers } = onGrid(points.flat());
    const numbers = new Map();
    const place = points.map((point) => {
      const key = point.map((v) => v + 0).join(); // -0 is 0
      if (!numbers.has(key)) numbers.set(key, numbers.size);
      return numbers.get(key);
    });
    this.count = numbers.size;
    this.exact = Array(this.count);
    [this.x, this.y] = [new Float64Array(this.count), new Float64Array(this.count)];
    [this.yes, this.no] = [new Int32Array(this.count), new Int32Array(this.count)];
    place.forEach((q, n) => {
      [this.x[q], this.y[q]] = points[n];
      this.exact[q] = [integers[2 * n], integers[2 * n + 1]];
      (targets[n] > 0 ? this.yes : this.no)[q] += 1;
    });
    this.total = points.length;
    this.best = { mistakes: Infinity };
  }

  // Turn the line about a pivot, and remember the best line so far.
  turnAbout(p) {
    const keys = this.anglesAbout(p);
    const [words, half] = [new Uint32Array(keys.buffer), keys.length];
    const beside = Math.min(this.yes[p], this.no[p]);
    const others = this.total - this.yes[p] - this.no[p];
    let cost = 0;
    for (let i = 0; i < half; i++) {
      const q = words[2 * i] % PLACES;
      cost += this.isAhead(p, q) ? this.no[q] : this.yes[q];
    }
    const look = (from, to) => {
      const mistakes = Math.min(cost, others - cost) + beside;
      const side = cost <= others - cost ? 1 : -1;
      if (mistakes < this.best.mistakes) this.best = { mistakes, p, from, to, side };
    };
    if (half === 0) look(null, null);
    for (let i = 0; i < half; ) {
      const q = words[2 * i] % PLACES;
      let end = i + 1;
      while (end < half && keys[end] - keys[end - 1] < SURE) end += 1;
      if (end === i + 1) {
        cost += this.change(p, q);
        look(q, words[2 * (end % half)] % PLACES);
      } else {
        const near = Array.from({ length: end - i }, (_, k) => words[2 * (i + k)] % PLACES);
        const groups = this.mayImprove(p, near, cost, others, beside)
          ? this.inOrder(p, near)
          : [near];
        groups.forEach((group, g) => {
          for (const r of group) cost += this.change(p, r);
          look(group[0], groups[g + 1]?.[0] ?? words[2 * (end % half)] % PLACES);
        });
      }
      i = end;
    }
  }

  // Return the sorted angles, from 0 to π, of the lines through the pivot and each other point,
  // with the number of the point in the last bits. Differences are rounded once, so errors are
  // small.
  anglesAbout(p) {
    const keys = new Float64Array(this.count - 1);
    const words = new Uint32Array(keys.buffer);
    for (let q = 0, k = 0; q < this.count; q++) {
      if (q === p) continue;
      const [dx, dy] = [this.x[q] - this.x[p], this.y[q] - this.y[p]];
      keys[k] = 1 + this.angle(dx, dy);
      words[2 * k] += q - (words[2 * k] % PLACES);
      k += 1;
    }
    return keys.sort();
  }

  angle(dx, dy) {
    return dy === 0 ? 0 : Math.atan2(dy, dx) + (dy < 0 ? Math.PI : 0);
  }

  // Return whether a point is ahead of w while w points straight up, just before it turns.
  isAhead(p, q) {
    return this.y[q] === this.y[p] ? this.x[q] > this.x[p] : this.y[q] > this.y[p];
  }

  // Return the change in the number of mistakes when the line turns past a point.
  change(p, q) {
    return this.isAhead(p, q) ? this.yes[q] - this.no[q] : this.no[q] - this.yes[q];
  }

  // Return whether some order of points at nearly one angle could lead to a better line.
  mayImprove(p, near, cost, others, beside) {
    let [low, high] = [cost, cost];
    for (const q of near) {
      low += Math.min(0, this.change(p, q));
      high += Math.max(0, this.change(p, q));
    }
    return Math.min(low, others - high) + beside < this.best.mistakes;
  }

  // Sort points by their exact angles, in groups of points on one line with the pivot.
  inOrder(p, near) {
    const directions = new Map(near.map((q) => [q, this.upward(p, q)]));
    const compare = (q, r) => {
      const [[a, b], [c, d]] = [directions.get(q), directions.get(r)];
      const turn = b * c - a * d;
      return turn > 0n ? 1 : turn < 0n ? -1 : 0;
    };
    const groups = [];
    for (const q of [...near].sort(compare)) {
      if (groups.length && compare(groups.at(-1)[0], q) === 0) groups.at(-1).push(q);
      else groups.push([q]);
    }
    return groups;
  }

  // Return the upward direction of the line from the pivot to a point, in integers.
  upward(p, q) {
    const [X, Y] = [this.exact[q][0] - this.exact[p][0], this.exact[q][1] - this.exact[p][1]];
    return Y < 0n || (Y === 0n && X < 0n) ? [-X, -Y] : [X, Y];
  }

  // Return the best line: slightly beside the pivot, half way between two points passed.
  line() {
    const { p, from, to, side } = this.best;
    const wanted = this.yes[p] >= this.no[p] ? 1 : -1;
    if (from === null) return [wanted, 0, 0];
    const [low, high] = [from, to].map((q) =>
      this.angle(this.x[q] - this.x[p], this.y[q] - this.y[p]),
    );
    const middle = (low + (high > low ? high : high + Math.PI)) / 2;
    const [a, b] = [-side * Math.sin(middle), side * Math.cos(middle)];
    let room = Infinity;
    for (let q = 0; q < this.count; q++) {
      const away = Math.abs(a * (this.x[q] - this.x[p]) + b * (this.y[q] - this.y[p]));
      if (q !== p) room = Math.min(room, away);
    }
    return [(wanted * room) / 2 - a * this.x[p] - b * this.y[p], a, b];
  }
}
