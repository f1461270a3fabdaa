// Random: the random numbers of NumPy's `default_rng(seed)`, bit for bit, so that a seed gives the
// same run here and in Python. The generator is PCG64 by M. E. O'Neill, seeded by NumPy's
// SeedSequence. Integers of 128 bits are four words of 32 bits, the lowest first.

const [K, L, M, N] = [0x9fccf645, 0x4385df64, 0x1fc65da4, 0x2360ed05]; // the multiplier
const WORD = 2 ** 32;

export class RandomGenerator {
  constructor(seed) {
    const [a, b, c, d] = seedWords(seed); // the state, then the step, the upper halves first
    this.step = doubledAndOne([...d, ...c]);
    this.state = summed([...b, ...a], this.step);
    this.go();
    this.drawn = new Uint32Array(2);
    this.kept = new Uint32Array(1);
    this.half = false; // whether the upper half of the last 64 bits is still to be returned
  }

  // state ← state · multiplier + step
  go() {
    const { state, step } = this;
    const [a, b, c, d] = [state[0], state[1], state[2], state[3]];
    const [ak, al, am] = [lower(a, K), lower(a, L), lower(a, M)];
    const [bk, bl, ck] = [lower(b, K), lower(b, L), lower(c, K)];
    const first = ak + step[0];
    const second = carry(first) + step[1] + upper(a, K, ak) + al + bk;
    const uppers = upper(a, L, al) + upper(b, K, bk);
    const third = carry(second) + step[2] + uppers + am + bl + ck;
    const last = upper(a, M, am) + upper(b, L, bl) + upper(c, K, ck);
    state[0] = first;
    state[1] = second;
    state[2] = third;
    state[3] =
      carry(third) + step[3] + last + lower(a, N) + lower(b, M) + lower(c, L) + lower(d, K);
  }

  // Draw 64 random bits into `drawn`.
  bits() {
    this.go();
    const { state } = this;
    const [x, y] = [state[0] ^ state[2], state[1] ^ state[3]];
    const [turn, by] = [state[3] >>> 26, (state[3] >>> 26) & 31];
    const [low, high] = turn < 32 ? [x, y] : [y, x];
    this.drawn[0] = by ? (low >>> by) | (high << (32 - by)) : low;
    this.drawn[1] = by ? (high >>> by) | (low << (32 - by)) : high;
  }

  // Return a float of 53 random bits, 0 ≤ x < 1.
  random() {
    this.bits();
    return (this.drawn[1] * 2 ** 21 + (this.drawn[0] >>> 11)) / 2 ** 53;
  }

  uniform(low, high) {
    return low + (high - low) * this.random();
  }

  // Return 32 random bits: half of 64, the other half of which is returned next.
  word() {
    this.half = !this.half;
    if (!this.half) return this.kept[0];
    this.bits();
    this.kept[0] = this.drawn[1];
    return this.drawn[0];
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
      if (lower(drawn, most) >= rejected) return upper(drawn, most);
    }
  }

  // Return 0 … count - 1 in random order.
  permutation(count) {
    const order = [];
    for (let n = 0; n < count; n++) order.push(n);
    for (let i = count - 1; i >= 1; i--) {
      const j = this.upTo(i);
      const other = order[j];
      order[j] = order[i];
      order[i] = other;
    }
    return order;
  }
}

const word = (value) => value >>> 0;

// The two words of a product. As a double, the product is wrong by at most 2^11, so without its
// lower word it is nearest to the right multiple of 2^32.
const lower = (x, y) => word(Math.imul(x, y));
const upper = (x, y, low = lower(x, y)) => Math.round((x * y - low) / WORD);
const carry = (sum) => Math.floor(sum / WORD);

function summed(x, y) {
  let sum = 0;
  return Uint32Array.from(x, (v, i) => {
    sum = carry(sum) + v + y[i];
    return sum;
  });
}

function doubledAndOne(words) {
  return Uint32Array.from(words, (v, i) => (v << 1) | (i ? words[i - 1] >>> 31 : 1));
}

// SeedSequence: the seed is hashed into four words, and these into eight.
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
  const words = [...pool, ...pool].map(hasher(0x8b51f9dd, 0x58f38ded));
  return [0, 2, 4, 6].map((i) => [words[i], words[i + 1]]);
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
