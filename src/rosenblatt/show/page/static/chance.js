// Chance: the numbers that NumPy's `default_rng(seed)` draws, bit for bit, so that a seed is the
// same run here and in Python. It is PCG64, by M. E. O'Neill, seeded as NumPy's SeedSequence does.

const MULTIPLIER = 0x2360ed051fc65da44385df649fccf645n;
const [WORD, HALF] = [2 ** 32, 0xffffffffn];
const long = (value) => BigInt.asUintN(128, value);

export class Chance {
  constructor(seed) {
    const [a, b, c, d] = seedWords(seed);
    this.step = long((((c << 64n) | d) << 1n) | 1n);
    this.state = long((this.step + ((a << 64n) | b)) * MULTIPLIER + this.step);
    this.kept = null; // the half of a number that was not asked for yet
  }

  // 64 random bits.
  bits() {
    this.state = long(this.state * MULTIPLIER + this.step);
    const folded = BigInt.asUintN(64, (this.state >> 64n) ^ this.state);
    const turn = this.state >> 122n;
    return BigInt.asUintN(64, (folded >> turn) | (folded << (64n - turn)));
  }

  // A number from 0 to 1, without 1: 53 bits.
  random() {
    return Number(this.bits() >> 11n) / 2 ** 53;
  }

  uniform(low, high) {
    return low + (high - low) * this.random();
  }

  word() {
    if (this.kept !== null) {
      const word = this.kept;
      this.kept = null;
      return word;
    }
    const bits = this.bits();
    this.kept = Number(bits >> 32n);
    return Number(bits & HALF);
  }

  // A whole number from 0 to most, all alike: so many bits, again where they say more.
  upTo(most) {
    const mask = 2 ** (32 - Math.clz32(most)) - 1;
    for (;;) {
      const value = (this.word() & mask) >>> 0;
      if (value <= most) return value;
    }
  }

  // A whole number from 0 to most - 1, all alike; Lemire's way.
  below(most) {
    if (most === 1) return 0;
    const rejected = (WORD - most) % most;
    for (;;) {
      const product = BigInt(this.word()) * BigInt(most);
      if (Number(product & HALF) >= rejected) return Number(product >> 32n);
    }
  }

  // 0 … count - 1 in a random order, or of these the last few places only.
  permutation(count, few = count) {
    const order = Array.from({ length: count }, (_, n) => n);
    for (let i = count - 1; i >= Math.max(1, count - few); i--) {
      const j = this.upTo(i);
      [order[i], order[j]] = [order[j], order[i]];
    }
    return order;
  }

  choice(count, few) {
    return this.permutation(count, few).slice(count - few);
  }
}

// SeedSequence: the seed is stirred into four words, and these are stirred into eight.
function seedWords(seed) {
  const stirred = stirrer(0x43b0d7e5, 0x931e8875);
  const mix = (x, y) => {
    const found = (Math.imul(0xca01f9dd, x) - Math.imul(0x4973f715, y)) >>> 0;
    return (found ^ (found >>> 16)) >>> 0;
  };
  const pool = [seed >>> 0, 0, 0, 0].map(stirred);
  for (let from = 0; from < 4; from++) {
    for (let to = 0; to < 4; to++) {
      if (from !== to) pool[to] = mix(pool[to], stirred(pool[from]));
    }
  }
  const told = stirrer(0x8b51f9dd, 0x58f38ded);
  const words = [...pool, ...pool].map((word) => BigInt(told(word)));
  return [0, 2, 4, 6].map((i) => words[i] | (words[i + 1] << 32n));
}

// Each call mixes a word with a constant that changes from call to call.
function stirrer(constant, factor) {
  return (word) => {
    const value = word ^ constant;
    constant = Math.imul(constant, factor) >>> 0;
    const product = Math.imul(value, constant);
    return (product ^ (product >>> 16)) >>> 0;
  };
}
