// Random: the random numbers of NumPy's `default_rng(seed)`, bit for bit, so that a seed gives the
// same run here and in Python. The generator is PCG64 by M. E. O'Neill, seeded by NumPy's
// SeedSequence.

const MULTIPLIER = 0x2360ed051fc65da44385df649fccf645n;
const WORD = 2 ** 32;

export class RandomGenerator {
  constructor(seed) {
    const [state, step] = seedWords(seed);
    this.step = BigInt.asUintN(128, (step << 1n) | 1n);
    this.state = state + this.step;
    this.go();
    this.kept = null; // the upper half of the last 64 bits, if it is still to be returned
  }

  go() {
    this.state = BigInt.asUintN(128, this.state * MULTIPLIER + this.step);
  }

  // Return 64 random bits.
  bits() {
    this.go();
    const [upper, turn] = [this.state >> 64n, this.state >> 122n];
    const folded = BigInt.asUintN(64, upper ^ this.state);
    return BigInt.asUintN(64, (folded >> turn) | (folded << (64n - turn)));
  }

  // Return a float of 53 random bits, 0 ≤ x < 1.
  random() {
    return Number(this.bits() >> 11n) / 2 ** 53;
  }

  uniform(low, high) {
    return low + (high - low) * this.random();
  }

  // Return 32 random bits: half of 64, the other half of which is returned next.
  word() {
    if (this.kept !== null) {
      const upper = this.kept;
      this.kept = null;
      return upper;
    }
    const bits = this.bits();
    this.kept = Number(bits >> 32n);
    return Number(bits & 0xffffffffn);
  }

  // Return a uniform integer from 0 to most, by rejection.
  upTo(most) {
    const mask = -1 >>> Math.clz32(most);
    for (;;) {
      const value = (this.word() & mask) >>> 0;
      if (value <= most) return value;
    }
  }

  // Return a uniform integer from 0 to most - 1, by Lemire's method.
  below(most) {
    if (most === 1) return 0;
    const rejected = (WORD - most) % most;
    for (;;) {
      const drawn = this.word();
      const low = Math.imul(drawn, most) >>> 0;
      // As a double, the product is wrong by at most 2^11; without its lower word it is exact.
      if (low >= rejected) return Math.round((drawn * most - low) / WORD);
    }
  }

  // Return 0 … count - 1 in random order.
  permutation(count) {
    const order = Array.from({ length: count }, (_, n) => n);
    for (let i = count - 1; i >= 1; i--) {
      const j = this.upTo(i);
      [order[i], order[j]] = [order[j], order[i]];
    }
    return order;
  }
}

// SeedSequence: the seed is hashed into four words, and these into the state and the step.
function seedWords(seed) {
  const hashed = hasher(0x43b0d7e5, 0x931e8875);
  const mix = (x, y) => {
    const found = (Math.imul(0xca01f9dd, x) - Math.imul(0x4973f715, y)) >>> 0;
    return (found ^ (found >>> 16)) >>> 0;
  };
  const pool = [seed >>> 0, 0, 0, 0].map(hashed);
  for (let from = 0; from < 4; from++) {
    for (let to = 0; to < 4; to++) {
      if (from !== to) pool[to] = mix(pool[to], hashed(pool[from]));
    }
  }
  const words = [...pool, ...pool].map(hasher(0x8b51f9dd, 0x58f38ded)).map(BigInt);
  const joined = ([a, b, c, d]) => (b << 96n) | (a << 64n) | (d << 32n) | c;
  return [joined(words.slice(0, 4)), joined(words.slice(4))];
}

// Return a function that mixes a word with a constant that changes from call to call.
function hasher(constant, factor) {
  return (word) => {
    const value = word ^ constant;
    constant = Math.imul(constant, factor) >>> 0;
    const product = Math.imul(value, constant);
    return (product ^ (product >>> 16)) >>> 0;
  };
}
