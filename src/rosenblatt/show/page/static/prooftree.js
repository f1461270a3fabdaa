// Prooftree: whether a tree over blocking sets proves what mistakes cost, as
// src/rosenblatt/evidence/tree.py says it. Numbers are BigInt, but for those of rows and sets.

// Why a tree does not prove that mistakes cost `need`, or nothing. `sets` are lists of rows, and
// costOf(row) is what a mistake on it costs, or null where it may not be asked about.
export function treeFault({ nodes, weightings }, sets, costOf, need) {
  const bad = weightings.findIndex((weighting) => !isWeighting(weighting, sets.length));
  if (bad >= 0) return `weighting ${bad} is none on these sets`;
  const way = new Way(sets, costOf);
  const asked = [];
  for (const [at, node] of nodes.entries()) {
    if (node >= 0) {
      if (!way.giveUp(node)) return `node ${at}: row ${node} cannot be asked about here`;
      asked.push(node);
      continue;
    }
    const weighting = weightings[-1 - node];
    const fault = weighting ? way.fault(weighting, need) : "it has no weighting";
    if (fault) return `node ${at}, a leaf: ${fault}`;
    while (asked.length && way.turn(asked.at(-1))) asked.pop();
    if (!asked.length) return at + 1 === nodes.length ? "" : "nodes come after its end";
  }
  return "it ends where a subtree is missing";
}

function isWeighting({ over, sets, shares }, count) {
  return (
    over > 0n &&
    sets.length === shares.length &&
    shares.every((share) => share > 0n) &&
    sets.every((j) => j >= 0 && j < count)
  );
}

// The way from the root to a node: rows that are given up (true) or right (false), what the first
// cost, and how many of them each set has.
class Way {
  constructor(sets, costOf) {
    Object.assign(this, { sets, costOf, asked: new Map(), spent: 0n });
    this.hits = sets.map(() => 0);
    this.setsOf = new Map();
    sets.forEach((rows, j) => {
      for (const n of rows) this.setsOf.set(n, [...(this.setsOf.get(n) ?? []), j]);
    });
  }

  // Takes a row for a mistake, if that can be asked.
  giveUp(row) {
    if (this.asked.has(row) || this.costOf(row) === null) return false;
    this.count(row, 1);
    this.asked.set(row, true);
    return true;
  }

  // Takes a mistake for right, or a row that was so for open again: then it is done with.
  turn(row) {
    if (!this.asked.get(row)) return this.asked.delete(row);
    this.count(row, -1);
    this.asked.set(row, false);
    return false;
  }

  count(row, step) {
    this.spent += BigInt(step) * this.costOf(row);
    for (const j of this.setsOf.get(row) ?? []) this.hits[j] += step;
  }

  // Why weights on the sets that nothing given up hits do not prove `need` here, or nothing.
  fault({ over, sets, shares }, need) {
    const loads = new Map();
    let total = 0n;
    sets.forEach((j, i) => {
      if (this.hits[j]) return;
      total += shares[i];
      for (const n of this.sets[j]) loads.set(n, (loads.get(n) ?? 0n) + shares[i]);
    });
    for (const [n, load] of loads) {
      if (!this.asked.has(n) && load > this.costOf(n) * over) {
        return `the sets of row ${n} weigh more than it costs`;
      }
    }
    const least = (total + over - 1n) / over;
    return this.spent + least < need ? `rows and sets cost less than ${need}` : "";
  }
}
