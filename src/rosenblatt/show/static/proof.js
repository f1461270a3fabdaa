// Proof: checks the proofs of src/rosenblatt/evidence/proof.py in integers only. It shares no code
// with the functions that find proofs, except `onGrid`, which writes doubles as integers.
import { onGrid } from "./numbers.js";
import { fingerprint, readProof, refuse, weightsChecksum } from "./prooftext.js";

const SHAPES = { separable: [true, 0], "quasi-separable": [true, 1], inseparable: [false, 1] };
const COUNTED = /^at least ([1-9]\d{0,999}) mistakes?$/;
const WEIGHED = /^mistakes that weigh at least ([1-9]\d{0,999})(?:\/([1-9]\d{0,999}))?$/;

// Check the text of a proof against examples: points of any number of features, and labels: -1 and
// 1 or, if there are more than two, any numbers. Return the claim, or throw a ProofError that says
// what does not hold. Sample weights are needed if the proof has them.
export function checkProof(text, X, y, weights = null) {
  const proof = readProof(text);
  // Conflicts may share an example, against different labels, so their costs cannot be added.
  if (proof.labels && !Object.hasOwn(SHAPES, proof.claim) && proof.claim !== "at least 1 mistake") {
    refuse(`conflicts cannot prove "${proof.claim}" for ${proof.labels} labels.`);
  }
  const rows = proof.labels ? againstRivals(proof, X, y) : { X, y, x0: proof.x0 };
  if (proof.data !== fingerprint(rows.X, rows.y, rows.x0)) {
    refuse("this proof is for other data: a number, a label or the order of the rows differs.");
  }
  const { digest } = proof; // of the sample weights
  if (digest ? !weights || digest !== weightsChecksum(weights) : weights) {
    refuse("this proof is for other sample weights.");
  }
  return checkClaim(proof, rows.X, rows.y, rows.x0, weights);
}

// Check a proof {claim, weights, parts, …} whose numbers are BigInt.
export function checkClaim(proof, X, y, x0 = 1, sampleWeights = null) {
  const { claim, weights, parts, duplicates = [] } = proof;
  const Z = signed(X, y, x0);
  const cost = costClaimed(claim, sampleWeights);
  checkShape(proof, cost);
  checkDuplicates(duplicates, X, y);
  checkNumbers(proof, Z.length);
  for (const part of parts) checkSum(part, Z);
  if (claim === "inseparable") checkSpan(parts[0], Z);
  if (cost) checkMistakes(proof, cost, { sampleWeights, count: Z.length });
  if (weights.length) checkProducts(proof, Z);
  return claim;
}

// Return the rows of examples with several labels, one row per competing class: (x0, x) in the
// block of the right label, −(x0, x) in the block of the competing class, and label 1. Only proofs
// of "separable" have a block for the first label.
export function againstRivals({ claim, labels, x0 }, X, y) {
  const known = [...new Set(y)].sort((a, b) => a - b);
  if (known.length !== labels)
    refuse(`this proof is for ${labels} labels; the data have ${known.length}.`);
  const first = claim === "separable" ? 0 : 1;
  const rows = X.flatMap((x, n) => {
    const augmented = x0 ? [x0, ...x] : x;
    return known.flatMap((rival, r) => {
      const sign = (k) => Number(known[k] === y[n]) - Number(k === r);
      const row = known.flatMap((_, k) => (k < first ? [] : augmented.map((v) => sign(k) * v)));
      return rival === y[n] ? [] : [row];
    });
  });
  return { X: rows, y: rows.map(() => 1), x0: 0 };
}

// Return the claimed cost of mistakes, [p, q] for p/q, or null if the claim is about something
// else.
function costClaimed(claim, sampleWeights) {
  const found = (sampleWeights ? WEIGHED : COUNTED).exec(claim);
  if (!found) return null;
  const [p, q] = [BigInt(found[1]), BigInt(found[2] ?? 1)];
  if (sampleWeights) return (found[2] && q === 1n) || common(p, q) !== 1n ? null : [p, q];
  return claim.endsWith("s") === p > 1n ? [p, q] : null;
}

function common(a, b) {
  while (b) [a, b] = [b, a % b];
  return a;
}

function checkShape({ claim, weights, parts, tree, duplicates = [], digest, enumeration }, cost) {
  const extra = tree || duplicates.length || digest;
  if (enumeration) refuse("this proof is an enumeration of all cells; the page cannot repeat it.");
  if (cost) {
    if (weights.length || !parts.length) refuse(`${claim}: only conflicts can prove that.`);
    if (extra && parts.some(({ rest }) => rest))
      refuse("a multiplier for the remaining rows is allowed only with a single conflict.");
    return;
  }
  if (!Object.hasOwn(SHAPES, claim)) refuse(`${claim}: unknown claim.`);
  const [needsWeights, wanted] = SHAPES[claim];
  if (weights.length > 0 !== needsWeights || parts.length !== wanted || extra) {
    const weighs = needsWeights ? "weights" : "no weights";
    refuse(`a proof of ${claim} has ${weighs}, ${wanted} conflicts and nothing else.`);
  }
}

// Check groups of equal rows: two or more rows each, in order, and no row in two groups.
function checkDuplicates(groups, X, y) {
  const seen = new Set();
  for (const group of groups) {
    if (group.length < 2) refuse("a group of duplicate rows has fewer than two rows.");
    group.forEach((n, i) => {
      if (!(n >= 0 && n < X.length) || seen.has(n) || (i && n <= group[i - 1])) {
        refuse(`row ${n} does not exist, is repeated or is out of order.`);
      }
      seen.add(n);
      if (y[n] !== y[group[0]] || X[n].some((v, j) => v !== X[group[0]][j])) {
        refuse(`rows ${group[0]} and ${n} are not duplicates.`);
      }
    });
  }
}

// Check that rows exist and have positive multipliers, and that no row is used twice; with a tree,
// a row may be in several conflicts.
function checkNumbers({ parts, tree, duplicates = [] }, count) {
  const others = new Set(duplicates.flatMap((group) => group.slice(1)));
  let seen = new Set();
  for (const { rows, multipliers, rest = 0n } of parts) {
    seen = tree ? new Set() : seen;
    for (const n of rows) {
      if (!Number.isSafeInteger(n) || n < 0 || n >= count) refuse(`row ${n} does not exist.`);
      if (seen.has(n)) refuse(`row ${n} is used twice.`);
      if (others.has(n)) refuse(`row ${n} is a duplicate of an earlier row, which represents it.`);
      seen.add(n);
    }
    if (rows.length !== multipliers.length || rows.length === 0)
      refuse("the numbers of rows and multipliers differ, or are 0.");
    if (multipliers.some((m) => m <= 0n)) refuse("a multiplier is not positive.");
    if (rest < 0n || (rest && parts.length > 1))
      refuse("the multiplier of the remaining rows is not valid.");
  }
}

// Check that Σ λ z = 0, column by column.
function checkSum({ rows, multipliers, rest = 0n }, Z) {
  const each = new Map(rows.map((n, i) => [n, multipliers[i]]));
  const summed = rest ? Z.keys() : rows;
  const totals = Z[0].map(() => 0n);
  for (const n of summed) {
    const multiplier = each.get(n) ?? rest;
    Z[n].forEach((v, j) => (totals[j] += multiplier * v));
  }
  const j = totals.findIndex((total) => total !== 0n);
  if (j >= 0) refuse(`the sum of multipliers times rows is not zero in column ${j}.`);
}

// Check that the conflicts prove the cost of mistakes, by themselves or with a tree.
function checkMistakes({ claim, parts, tree, duplicates = [] }, [p, q], { sampleWeights, count }) {
  const { each, units } = integerCosts(sampleWeights, count);
  const need = units(p, q);
  const costs = new Map();
  for (const [first, ...others] of duplicates) {
    costs.set(
      first,
      [first, ...others].reduce((sum, n) => sum + each(n), 0n),
    );
    for (const n of others) costs.set(n, null);
  }
  const costOf = (n) => (costs.has(n) ? costs.get(n) : each(n));
  const sets = parts.map(({ rows }) => rows);
  if (tree) {
    const fault = treeFault(tree, sets, costOf, need);
    if (fault) refuse(`the tree is not valid: ${fault}.`);
    return;
  }
  const least = (rows) => rows.map(costOf).reduce((a, b) => (b < a ? b : a));
  const sure = sets.reduce((sum, rows) => sum + least(rows), 0n);
  if (sure !== need) refuse(`these conflicts do not prove ${claim}.`);
}

// Return two functions: `each`, the cost of a mistake on a row, as an integer number of units, or
// null if there is no such row; and `units`, the number of units in p/q, rounded up.
function integerCosts(sampleWeights, count) {
  const isRow = (n) => n >= 0 && n < count;
  const rounded = (p, q) => (p + q - 1n) / q;
  if (!sampleWeights) return { each: (n) => (isRow(n) ? 1n : null), units: rounded };
  const { integers, power } = onGrid(sampleWeights);
  const all = integers.reduce((a, b) => a | b, 0n);
  const unit = all & -all;
  if (!unit) refuse("all sample weights are 0.");
  const units = (p, q) => rounded(p << BigInt(-power), q * unit);
  return { each: (n) => (isRow(n) ? integers[n] / unit : null), units };
}

// Check that the rows in conflict are all rows, or span their space: then no w that is 0 on them is
// positive elsewhere.
function checkSpan({ rows, rest = 0n }, Z) {
  if (rest || rows.length === Z.length) return;
  if (rankOf(rows.map((n) => Z[n])) < Z[0].length)
    refuse("the rows in conflict do not span the space of all rows.");
}

function checkProducts({ claim, weights }, Z) {
  if (weights.length !== Z[0].length)
    refuse(`the proof has ${weights.length} weights, but the data need ${Z[0].length}.`);
  let positive = false;
  Z.forEach((z, n) => {
    const product = z.reduce((sum, v, j) => sum + v * weights[j], 0n);
    if (product < 0n || (product === 0n && claim === "separable")) {
      refuse(`row ${n}: w·z is not positive.`);
    }
    positive ||= product > 0n;
  });
  if (!positive) refuse("no row has w·z > 0, so the weights prove nothing.");
}

// Return the rank, by elimination without fractions (Bareiss): every division is exact.
function rankOf(rows) {
  let [left, rank, before] = [rows, 0, 1n];
  for (let j = 0; j < rows[0].length; j++) {
    const pivot = left.find((row) => row[j] !== 0n);
    if (!pivot) continue;
    const divisor = before;
    left = left
      .filter((row) => row !== pivot)
      .map((row) => row.map((v, k) => (v * pivot[j] - pivot[k] * row[j]) / divisor));
    [rank, before] = [rank + 1, pivot[j]];
  }
  return rank;
}

// Return y·(x0, x) as integers times one unit.
function signed(X, y, x0) {
  const { integers } = onGrid(X.flatMap((x) => (x0 ? [x0, ...x] : x)));
  const width = integers.length / X.length;
  return X.map((_, n) => {
    const row = integers.slice(n * width, (n + 1) * width);
    return y[n] > 0 ? row : row.map((v) => -v);
  });
}

// Return why a tree over conflicts does not prove that mistakes cost at least `need`, or "" if it
// does; src/rosenblatt/evidence/tree.py defines trees. `sets` are lists of rows, and costOf(row) is
// the cost of a mistake on a row, or null if the tree must not branch on it. Costs are BigInt.
function treeFault({ nodes, weightings }, sets, costOf, need) {
  const bad = weightings.findIndex((weighting) => !isWeighting(weighting, sets.length));
  if (bad >= 0) return `weighting ${bad} does not fit these conflicts`;
  const branch = new Branch(sets, costOf);
  const open = []; // rows whose second subtree is still to come
  for (const [at, node] of nodes.entries()) {
    if (node >= 0) {
      if (!branch.giveUp(node)) return `node ${at}: the tree cannot branch on row ${node} here`;
      open.push(node);
      continue;
    }
    const weighting = weightings[-1 - node];
    const fault = weighting ? branch.fault(weighting, need) : "it has no weighting";
    if (fault) return `node ${at}, a leaf: ${fault}`;
    while (open.length && branch.turn(open.at(-1))) open.pop();
    if (!open.length) return at + 1 === nodes.length ? "" : "nodes come after its end";
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

// A branch of a tree, from the root to a node: the rows that are assumed to be misclassified (true)
// or classified correctly (false), the cost of these mistakes, and their number in each set.
class Branch {
  constructor(sets, costOf) {
    Object.assign(this, { sets, costOf, branched: new Map(), spent: 0n });
    this.hits = sets.map(() => 0);
    this.setsOf = new Map();
    sets.forEach((rows, j) => {
      for (const n of rows) this.setsOf.set(n, [...(this.setsOf.get(n) ?? []), j]);
    });
  }

  // Assume that a row is a mistake, if the tree may branch on it; return whether it may.
  giveUp(row) {
    if (this.branched.has(row) || this.costOf(row) === null) return false;
    this.count(row, 1);
    this.branched.set(row, true);
    return true;
  }

  // Assume that a row is classified correctly instead; if it already was, remove it and return
  // true.
  turn(row) {
    if (!this.branched.get(row)) return this.branched.delete(row);
    this.count(row, -1);
    this.branched.set(row, false);
    return false;
  }

  count(row, step) {
    this.spent += BigInt(step) * this.costOf(row);
    for (const j of this.setsOf.get(row) ?? []) this.hits[j] += step;
  }

  // Return why weights on the sets without a mistake do not prove `need` here, or "".
  fault({ over, sets, shares }, need) {
    const loads = new Map();
    let total = 0n;
    sets.forEach((j, i) => {
      if (this.hits[j]) return;
      total += shares[i];
      for (const n of this.sets[j]) loads.set(n, (loads.get(n) ?? 0n) + shares[i]);
    });
    for (const [n, load] of loads) {
      if (!this.branched.has(n) && load > this.costOf(n) * over) {
        return `the conflicts of row ${n} weigh more than its cost`;
      }
    }
    const least = (total + over - 1n) / over;
    return this.spent + least < need ? `rows and conflicts cost less than ${need}` : "";
  }
}
