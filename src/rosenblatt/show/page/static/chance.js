// Chance: the numbers that NumPy's `default_rng(seed)` draws, bit for bit, so that a seed is the
// same run here and in Python. It is PCG64, by M. E. O'Neill, seeded as NumPy's SeedSequence does.
// Whole numbers of 128 bits are four words of 32, the lowest first.

const [K, L, M, N] = [0x9fccf645, 0x4385df64, 0x1fc65da4, 0x2360ed05]; // the multiplier
const WORD = 2 ** 32;

export class Chance {
  constructor(seed) {
    const [a, b, c, d] = seedWords(seed); // the state, then the step, the upper halves first
    this.step = doubledAndOne([...d, ...c]);
    this.state = summed([...b, ...a], this.step);
    this.go();
    this.drawn = new Uint32Array(2);
    this.kept = new Uint32Array(1);
    this.half = false; // whether the upper half of a number was not asked for yet
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

  // 64 random bits, into `drawn`.
  bits() {
    this.go();
    const { state } = this;
    const [x, y] = [state[0] ^ state[2], state[1] ^ state[3]];
    const [turn, by] = [state[3] >>> 26, (state[3] >>> 26) & 31];
    const [low, high] = turn < 32 ? [x, y] : [y, x];
    this.drawn[0] = by ? (low >>> by) | (high << (32 - by)) : low;
    this.drawn[1] = by ? (high >>> by) | (low << (32 - by)) : high;
  }

  // A number from 0 to 1, without 1: 53 bits.
  random() {
    this.bits();
    return (this.drawn[1] * 2 ** 21 + (this.drawn[0] >>> 11)) / 2 ** 53;
  }

  uniform(low, high) {
    return low + (high - low) * this.random();
  }

  word() {
    this.half = !this.half;
    if (!this.half) return this.kept[0];
    this.bits();
    this.kept[0] = this.drawn[1];
    return this.drawn[0];
  }

  // A whole number from 0 to most, all alike: so many bits, again where they say more.
  upTo(most) {
    const mask = -1 >>> Math.clz32(most);
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
      const drawn = this.word();
      if (lower(drawn, most) >= rejected) return upper(drawn, most);
    }
  }

  // 0 … count - 1 in a random order, or of these the last few places only.
  permutation(count, few = count) {
    const order = [];
    for (let n = 0; n < count; n++) order.push(n);
    const end = Math.max(1, count - few);
    for (let i = count - 1; i >= end; i--) {
      const j = this.upTo(i);
      const other = order[j];
      order[j] = order[i];
      order[i] = other;
    }
    return order;
  }

  choice(count, few) {
    return this.permutation(count, few).slice(count - few);
  }
}

const word = (value) => value >>> 0;

// The words of the product of two. The product as a double is wrong by 2^11 at the most, so what
// is left without the lower word is nearest to the right multiple of 2^32.
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
  const words = [...pool, ...pool].map(told);
  return [0, 2, 4, 6].map((i) => [words[i], words[i + 1]]);
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
