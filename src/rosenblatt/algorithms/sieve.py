"""The sieve: candidates that cannot win are dropped after a look at some rows, not at all.

A w cannot enter the pocket once it is sure to make as many mistakes as the pocket, so most
candidates need not be judged on every row. What makes the look short and cheap:

*Whole numbers.* Rows are taken as y·x/‖x‖ and candidates as w/‖w‖, stretched to a length of up to
46,000, less where a number would not fit 16 bits, and rounded. Two such numbers lie in each entry
of an array of 32 bits. Rows are packed in tiles of 64, the first pair of each next to that of the
others, then the second: a processor multiplies most of them at once, and exactly. Rounding moves a
direction of m numbers by at most √m/2, so the product is off from that of the directions by no more
than `slack`. Below -slack the row is surely a mistake, above slack surely none. The few in between
are settled in doubles for the candidates that come through; where those cannot tell either, the
candidate is judged alone.

*Hardest first.* Candidates of one walk make much the same mistakes. They see the rows that their
mean gets most wrong first.

*Leaders.* What counts is the fewest mistakes of any candidate before. Those that look best on a
sample of the rows are judged first, so that all others meet a limit that is nearly as low as it
will be.

Nothing is dropped but by sure mistakes, and what is left is counted on every row: the answers are
those of judging each candidate alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import rosenblatt.engine as engine
import rosenblatt.kernels as kernels
import rosenblatt.scoring as scoring
from rosenblatt.engine import Kernel, in_threads
from rosenblatt.examples import Examples, kernel_rows
from rosenblatt.hypothesis import UNIT_ROUNDOFF
from rosenblatt.kernels import SMALLEST

Floats = NDArray[np.float64]
Pairs = NDArray[np.int32]
Rows = NDArray[np.unsignedinteger[Any]]
Places = NDArray[np.intp]

BATCH = 128  # candidates: few enough that threads end together
MANY_ROWS = 2**14  # fewer are judged faster by plain products
MOST_FEATURES = 2**11  # with more, rounding leaves too many rows in doubt
SAMPLE = 512  # rows
NEARLY = 1.02
LASTS = 2048  # candidates for which rows stay in one order

TILE = 64  # rows that are multiplied at once: with two candidates, what 32 registers hold
WIDTH = 16  # of them in one instruction, where it is the widest there is
SCALE = 46_000.0  # what two vectors of this length make is just held by a sum of 32 bits
MOST = np.int32(32_767)  # that 16 bits hold
AHEAD = 8  # rows that are asked for before they are needed
LINE = 8  # doubles that memory brings at once
TILES = 8  # looked at between two counts
SPAN = 64  # tiles whose doubtful rows are settled together
RANKS = 12  # few, so that the places rows are put in, one for each rank, stay in the cache
RANK_SAMPLE = 1024
PLAIN = (2.0**-900, 2.0**900)  # squares of lengths that do not overflow, nor vanish


class Survivor(NamedTuple):
    """A candidate that may win: which, what mistakes it surely makes, whether these are all."""

    b: int
    wrong: float
    complete: bool


class Packed(NamedTuple):
    """Rows in tiles of 64: which they are, and what they cost if that is not 1."""

    tiles: np.ndarray
    costs: np.ndarray
    rows: np.ndarray


class Candidates(NamedTuple):
    """Candidates on their way through the rows, and what is known of them."""

    W: np.ndarray
    units: np.ndarray  # their directions
    near: np.ndarray  # scores by W that are no farther than this from 0 tell nothing
    slack: np.int32  # nor do products of directions
    limits: np.ndarray  # with so much wrong a candidate is dropped
    wrong: np.ndarray  # what the mistakes weigh that have been found
    slip: float  # a sum of weights that is so much larger than another is so not by rounding

    def some(self, which: Places, limits: Floats, kind: Any) -> Candidates:
        """Some of them before their first row."""
        own = self.W[which], self.units[which], self.near[which]
        return Candidates(*own, self.slack, limits, np.zeros(len(which), dtype=kind), self.slip)


class Sieve:
    """Drops the candidates that make no fewer mistakes than one before them.

    Examples
    --------
    >>> examples = Examples.from_arrays([[1.0], [2.0], [3.0]], [0, 1, 1])
    >>> Sieve(examples).survivors(np.array([[0.5, 0.0], [-1.5, 1.0]]), best=1)
    [Survivor(b=1, wrong=0, complete=True)]
    """

    def __init__(self, examples: Examples, threads: int = 1) -> None:
        self.examples, self.threads = examples, threads
        self.rows = kernel_rows(examples.X, examples.x0, examples.y)
        self.packed: tuple[Packed, Packed] | None = None
        self.seen = 0

    def survivors(self, W: Floats, best: float) -> list[Survivor]:
        """The candidates that may make fewer mistakes than `best`."""
        if len(W) == 0:
            return []
        batch = self.batch(W, np.full(len(W), best, dtype=np.float64))
        if self.seen >= LASTS:
            self.packed, self.seen = None, 0  # not two of them at a time
        if self.packed is None:
            self.packed = self.pack(batch)
        self.seen += len(W)
        sample, rows = self.packed
        leaders = self._leaders(sample, batch)
        found = self._counted(rows, batch, leaders, sifted=False)
        for one in found:
            if one.complete:
                later = batch.limits[one.b + 1 :]
                np.minimum(later, one.wrong * batch.slip, out=later)
        others = np.delete(np.arange(len(W)), leaders)
        return sorted(found + self._counted(rows, batch, others, sifted=True))

    def batch(self, W: Floats, limits: Floats) -> Candidates:
        """The candidates, as the loops take them."""
        units = _units(W)
        off = np.sqrt(2 * units.shape[1]) / 2
        # A thousandth more: directions are themselves found in doubles.
        slack = np.int32(1.001 * (2 * SCALE * off + off * off) + 1)
        near = double_slack(self.examples, W)
        return Candidates(W, units, near, slack, limits, np.zeros(len(W)), slip(self.examples))

    def pack(self, batch: Candidates) -> tuple[Packed, Packed]:
        """A sample of the rows, and all of them in the order that suits these candidates."""
        n, kind = self.examples.n, self.examples.row_type
        rows, order, places = np.arange(n, dtype=kind), np.empty(n, kind), np.empty(n, kind)
        stretch, cosines = np.empty(n), np.empty(n, dtype=np.float32)
        mean = batch.units.view(np.int16).mean(axis=0)

        def survey(part: slice) -> None:
            run_survey(self.rows, mean, rows[part], stretch, cosines)

        in_threads(survey, n, self.examples.X.size)
        some = rows[:: 1 + n // SAMPLE].copy()
        places[some] = np.arange(len(some))
        sample = self._packed((some, some, places), stretch)
        run_hardest_first(cosines, order, places)
        return sample, self._packed((rows, order, places), stretch)

    def _packed(self, which: tuple[Rows, Rows, Rows], stretch: Floats) -> Packed:
        """Rows in tiles, given in file order, in theirs, and by the place of each."""
        rows, order, places = which
        shape = (-(-len(rows) // TILE), self.examples.d // 2 + 1, TILE)
        size = int(np.prod(shape))
        space = np.empty(size + TILE, dtype=np.int32)
        first = -(space.ctypes.data // space.itemsize) % TILE  # where a processor reads fastest
        tiles = space[first : first + size].reshape(shape)
        tiles[-1] = 0  # where not all 64 are rows

        def fill(part: slice) -> None:
            run_pack(self.rows, stretch, rows[part], places, tiles)

        in_threads(fill, len(rows), len(rows) * self.examples.d)
        weights = self.examples.weights
        costs = np.empty(0, dtype=np.int64) if weights is None else weights[order]
        return Packed(tiles, costs, order)

    def _leaders(self, sample: Packed, batch: Candidates) -> Places:
        """The candidates that do better than all before them on a sample of rows, or nearly."""
        wrong = np.empty(len(batch.W))

        def look(which: Places) -> None:
            some = batch.some(which, np.full(len(which), np.inf), sample.costs.dtype)
            run_sift(sample, some)
            wrong[which] = some.wrong

        self._in_batches(look, np.arange(len(batch.W)), len(sample.rows))
        fewest = np.minimum.accumulate(np.concatenate([[np.inf], wrong[:-1]]))
        return np.flatnonzero(wrong < NEARLY * fewest)

    def _counted(
        self, rows: Packed, batch: Candidates, which: Places, sifted: bool
    ) -> list[Survivor]:
        """Those of some candidates that stay below their limits on every row, sifted if asked."""
        found: list[Survivor] = []

        def count(part: Places) -> None:
            some = batch.some(part, batch.limits[part], rows.costs.dtype)
            sure = np.full(len(part), not sifted)
            if sifted:
                sure[run_sift(rows, some)] = True
            left = np.flatnonzero(sure)
            run_settle(self.rows, rows, some, sure, sifted)
            found.extend(
                Survivor(int(part[b]), some.wrong[b].item(), bool(sure[b]))
                for b in left
                if some.wrong[b] < some.limits[b]
            )

        self._in_batches(count, which, len(rows.rows))
        return found

    def _in_batches(self, work: Callable[[Places], None], which: Places, rows: int) -> None:
        """The work on some candidates; a thread that is done takes the next."""
        count = max(min(self.threads, len(which)), -(-len(which) // BATCH))
        batches = iter(np.array_split(which, count) if count else [])

        def take(_: slice) -> None:
            for some in batches:
                work(some)

        in_threads(take, min(self.threads, count), len(which) * rows * self.examples.d)


def worth_sifting(examples: Examples) -> bool:
    """Whether these are many dense rows, not too wide, of a length that can be told."""
    if examples.is_sparse or examples.n < MANY_ROWS or not 0 < examples.d <= MOST_FEATURES:
        return False
    typical = examples.squares / examples.n + examples.x0 * examples.x0
    return PLAIN[0] < typical < PLAIN[1]


def slip(examples: Examples) -> float:
    """By what factor one sum must exceed another for that not to be rounding; counts are exact."""
    return 1.0 if examples.weights is None else 1 + 4 * examples.n * UNIT_ROUNDOFF


def double_slack(examples: Examples, W: Floats) -> Floats:
    """How far from 0 a score must be for all ways of summing it in doubles to agree on its sign."""
    share = 4 * (examples.longest + 1) * UNIT_ROUNDOFF
    largest = np.abs(W).max(axis=1, initial=0)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        # Squares of tiny or huge numbers would vanish or overflow.
        lengths = largest * np.sqrt(((W / largest[:, None]) ** 2).sum(axis=1))
        slack: Floats = share * examples.length * np.where(largest > 0, lengths, 0.0) + SMALLEST
    return slack


def _units(W: Floats) -> Pairs:
    """Each candidate as a direction, in whole numbers; zeros where its length is extreme."""
    units = np.zeros((len(W), W.shape[1] + W.shape[1] % 2), dtype=np.int16)
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.einsum("ij,ij->i", W, W)
        plain = (squares > PLAIN[0]) & (squares < PLAIN[1])
    if not plain.all():
        W = np.where(plain[:, None], W, 0.0)
    stretch = SCALE / np.sqrt(np.where(plain, squares, 1.0))
    np.minimum(stretch, MOST / np.maximum(np.abs(W).max(axis=1), SMALLEST), out=stretch)
    stretched = W * stretch[:, None]
    units[:, : W.shape[1]] = np.rint(stretched, out=stretched)
    return units.view(np.int32)


def survey(D, w, rows, stretch, cosines):
    """stretch[n] = y·SCALE/‖x‖, and how row n stands to w; both 0 where ‖x‖ is extreme."""
    for n in rows:
        s, q = scoring.measure(D, n, w)
        plain = PLAIN[0] < q < PLAIN[1]
        stretch[n] = D.step[n] * SCALE / np.sqrt(q) if plain else 0.0
        cosines[n] = s * stretch[n] if plain else 0.0


def hardest_first(cosines, order, places):
    """Order the rows by cosine, coarsely, by counting how many there are of each rank."""
    step, reach = 1 + len(cosines) // RANK_SAMPLE, 1e-30
    for n in range(0, len(cosines), step):
        reach += abs(cosines[n])
    scale = RANKS / 3 * (1 + len(cosines) // step) / reach
    rank = np.empty(len(cosines), dtype=np.uint8)
    for n in range(len(cosines)):
        place = cosines[n] * scale + RANKS / 2
        rank[n] = max(place, 0.0) if place < RANKS else RANKS - 1
    ends = np.zeros(RANKS + 1, dtype=np.int64)
    for n in range(len(rank)):
        ends[rank[n] + 1] += 1
    for r in range(RANKS):
        ends[r + 1] += ends[r]
    for n in range(len(rank)):
        order[ends[rank[n]]], places[n] = n, ends[rank[n]]
        ends[rank[n]] += 1


def rounded(D, n, a, numbers):
    """numbers = row n times a, in whole numbers, cut where they do not fit; return the largest."""
    v = np.int32(np.rint(a * D.x0))
    numbers[0], most = min(max(v, -MOST), MOST), abs(v)
    for i in range(D.X.shape[1]):
        v = np.int32(np.rint(a * D.X[n, i]))
        numbers[i + 1] = min(max(v, -MOST), MOST)
        most = max(most, abs(v))
    return most


def pack(D, stretch, rows, places, tiles):
    """Put some rows, in whole numbers, into their places in the tiles."""
    numbers = np.zeros(2 * tiles.shape[1], dtype=np.int16)
    pairs = numbers.view(np.int32)
    for n in rows:
        most = rounded(D, n, stretch[n], numbers)
        if most > MOST:
            rounded(D, n, stretch[n] * (MOST - 1) / most, numbers)
        j, k = places[n] // TILE, places[n] % TILE
        for i in range(len(pairs)):
            tiles[j, i, k] = pairs[i]


def sides(tile, v, u, slack):
    """Bits of 64 rows: which v surely gets wrong, and on which it is in doubt; the same for u."""
    rows, bits = tile.view(np.int16).astype(np.int64), [0, 0, 0, 0]
    for i, w in ((0, v.view(np.int16)), (2, u.view(np.int16))):
        s = rows[:, ::2].T @ w[::2] + rows[:, 1::2].T @ w[1::2]
        for k in range(TILE):
            bits[i] |= int(s[k] < -slack) << k
            bits[i + 1] |= int(abs(s[k]) <= slack) << k
    return bits


def ones(bits):
    """How many bits are set; LLVM knows this loop, and has one instruction for it."""
    count = 0
    while bits != 0:
        bits &= bits - 1
        count += 1
    return count


def weigh(bits, s):
    """What the rows of some bits weigh."""
    total = 0.0
    for k in range(len(s)):
        total += s[k] * ((bits >> k) & 1)
    return total


def cost(bits, s):
    """What the rows of some bits cost: their weights, or 1 each where costs are whole numbers."""
    return ones(bits) if s.dtype == np.int64 else weigh(bits, s)


def tile_of(packed, j):
    """The j-th 64 rows, what they cost, and a bit for each that there is."""
    count = min(TILE, len(packed.rows) - j * TILE)
    there = -1 if count == TILE else (1 << count) - 1
    return packed.tiles[j], packed.costs[j * TILE : (j + 1) * TILE], there


def sift(packed, batch):
    """Drop candidates as soon as they reach their limits; return those that have seen all rows."""
    W, limits, wrong = batch.units.copy(), batch.limits.copy(), batch.wrong.copy()
    left = np.arange(len(W))
    for j in range(len(packed.tiles)):
        tile, costs, there = tile_of(packed, j)
        for b in range(0, len(left), 2):
            c = min(b + 1, len(left) - 1)
            bad, _, bad_too, _ = sides(tile, W[b], W[c], batch.slack)
            wrong[b] += cost(bad & there, costs)
            if c > b:
                wrong[c] += cost(bad_too & there, costs)
        if (j + 1) % TILES == 0 or j + 1 == len(packed.tiles):
            kept = 0
            for b in range(len(left)):
                if wrong[b] < limits[b]:
                    if kept < b:
                        left[kept], limits[kept], wrong[kept] = left[b], limits[b], wrong[b]
                        W[kept] = W[b]
                    kept += 1
            left = left[:kept]
    for b in range(len(left)):
        batch.wrong[left[b]] = wrong[b]
    return left


def judged(packed, start, v, u, slack, places):
    """What the sure mistakes of v and of u weigh in some tiles, and on how many they are in doubt.

    These are listed in places[0] and places[1].
    """
    wrong_v = wrong_u = 0.0
    count_v = count_u = 0
    for j in range(start, min(start + SPAN, len(packed.tiles))):
        tile, costs, there = tile_of(packed, j)
        bad, doubts, bad_too, doubts_too = sides(tile, v, u, slack)
        wrong_v += cost(bad & there, costs)
        wrong_u += cost(bad_too & there, costs)
        count_v = put(doubts & there, j * TILE, places[0], count_v)
        count_u = put(doubts_too & there, j * TILE, places[1], count_u)
    return (wrong_v, wrong_u), (count_v, count_u)


def put(bits, start, places, count):
    """Add the places of some bits to a list."""
    while bits != 0:
        places[count] = start + ones((bits & -bits) - 1)
        bits &= bits - 1
        count += 1
    return count


def fetch(D, n):
    """`bind` has memory bring row n."""


def tell(D, packed, places, w, near):
    """What the rows in some places weigh that w gets wrong, and whether all could be told."""
    wrong, sure = 0.0, True
    for i in range(len(places)):
        fetch(D, packed.rows[places[min(i + AHEAD, len(places) - 1)]])
        n = packed.rows[places[i]]
        s = D.step[n] * kernels.score(D, n, w)
        if s < -near:
            wrong += cost(1, packed.costs[places[i] : places[i] + 1])
        elif not s > near:
            sure = False
    return wrong, sure


def settle(D, packed, batch, sure, sifted):
    """Count the mistakes of candidates, doubtful rows too, while they are below their limits.

    Of those that were sifted the sure mistakes have been counted. What one candidate makes in all
    is a limit for those after it.
    """
    left, wrong, limits, best = np.flatnonzero(sure), batch.wrong, batch.limits, np.inf
    places = np.empty((2, SPAN * TILE), dtype=np.int64)
    for i in range(0, len(left), 2):
        pair = left[i], left[min(i + 1, len(left) - 1)]
        v, u = batch.units[pair[0]], batch.units[pair[1]]
        for b in pair:
            limits[b] = min(limits[b], best)
        for start in range(0, len(packed.tiles), SPAN):
            if wrong[pair[0]] >= limits[pair[0]] and wrong[pair[1]] >= limits[pair[1]]:
                break
            surely, counts = judged(packed, start, v, u, batch.slack, places)
            for k in range(len(left[i : i + 2])):
                b = pair[k]
                if wrong[b] >= limits[b]:
                    continue
                more, told = tell(D, packed, places[k, : counts[k]], batch.W[b], batch.near[b])
                wrong[b] += more if sifted else surely[k] + more
                sure[b] = sure[b] and told
        for b in pair:
            if sure[b] and wrong[b] < limits[b]:
                best = min(best, wrong[b] * batch.slip)


@functools.cache
def sixteen_bits() -> Any:
    """`sides` as an instruction that Numba has no word for: LLVM finds what the processor has."""
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    bits, long = ir.IntType(WIDTH), ir.IntType(64)

    @intrinsic
    def sides(context: Any, rows: Any, v: Any, u: Any, slack: Any) -> Any:
        def emit(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            high, low = (
                _spread(builder, side) for side in (arguments[3], builder.neg(arguments[3]))
            )
            answers = []
            for sums in _sums(target, builder, signature, arguments):
                below, above = ir.Constant(long, 0), ir.Constant(long, 0)
                for part, each in enumerate(sums):
                    at = ir.Constant(long, part * WIDTH)
                    where = builder.bitcast(builder.icmp_signed("<", each, low), bits)
                    below = builder.or_(below, builder.shl(builder.zext(where, long), at))
                    where = builder.bitcast(builder.icmp_signed(">", each, high), bits)
                    above = builder.or_(above, builder.shl(builder.zext(where, long), at))
                answers += [below, builder.not_(builder.or_(below, above))]
            return cgutils.pack_array(builder, answers)

        return types.UniTuple(types.int64, 4)(rows, v, u, slack), emit

    return sides


def _sums(target: Any, builder: Any, signature: Any, arguments: Any) -> list[list[Any]]:
    """The products of 64 rows, in parts, with v and with u; rows lie down the columns, in pairs.

    As many at once as registers hold: 32 of them take all rows and both vectors, so that each row
    is read once; of 16, half are kept for half of the rows and one vector.
    """
    arrays = [target.make_array(signature.args[i])(target, builder, arguments[i]) for i in range(3)]
    parts = range(TILE // WIDTH)
    if "+avx512bw" in target.codegen().magic_tuple()[2]:
        return _products(builder, arrays, parts)
    rows, *vectors = arrays
    halves = parts[: len(parts) // 2], parts[len(parts) // 2 :]
    return [
        [total for half in halves for total in _products(builder, [rows, one], half)[0]]
        for one in vectors
    ]


def _products(builder: Any, arrays: list[Any], parts: range) -> list[list[Any]]:
    """The products of some parts of the rows with each vector.

    Written so that LLVM knows it for what processors have for sound: multiply sixteen-bit numbers
    and add the products by twos, in one instruction.
    """
    from llvmlite import ir
    from numba.core import cgutils

    number = ir.IntType(32)
    part, pairs = ir.VectorType(number, WIDTH), ir.VectorType(ir.IntType(16), 2 * WIDTH)
    longer = ir.VectorType(number, 2 * WIDTH)
    even, odd = (ir.Constant(part, [2 * k + i for k in range(WIDTH)]) for i in (0, 1))
    nothing, zeros = ir.Constant(longer, ir.Undefined), ir.Constant(part, None)
    rows, *vectors = arrays
    data = builder.bitcast(rows.data, pairs.as_pointer())
    totals = [[cgutils.alloca_once_value(builder, zeros) for _ in parts] for _ in vectors]
    with cgutils.for_range(builder, builder.extract_value(rows.shape, 0)) as loop:
        factors = [
            builder.sext(builder.bitcast(_spread(builder, one), pairs), longer)
            for one in (builder.load(builder.gep(v.data, [loop.index])) for v in vectors)
        ]
        start = builder.mul(loop.index, ir.Constant(loop.index.type, TILE // WIDTH))
        for i, k in enumerate(parts):
            place = builder.add(start, ir.Constant(loop.index.type, k))
            some = builder.sext(builder.load(builder.gep(data, [place]), align=4), longer)
            for factor, total in zip(factors, totals, strict=True):
                each = builder.mul(some, factor, flags=["nsw"])
                twos = [builder.shuffle_vector(each, nothing, which) for which in (even, odd)]
                both = builder.add(*twos, flags=["nsw"])
                builder.store(builder.add(builder.load(total[i]), both), total[i])
    return [[builder.load(total) for total in some] for some in totals]


def _spread(builder: Any, number: Any) -> Any:
    """The same number in every place of a part."""
    from llvmlite import ir

    kind = ir.VectorType(number.type, WIDTH)
    nothing, first = ir.Constant(kind, ir.Undefined), ir.Constant(ir.IntType(32), 0)
    one = builder.insert_element(nothing, number, first)
    return builder.shuffle_vector(one, nothing, ir.Constant(kind, None))


@functools.cache
def bind() -> None:
    """Tell Numba to compile the helpers of this file."""
    at_once = sixteen_bits()
    engine.overload(rounded)(lambda D, n, a, numbers: rounded)
    engine.overload(sides)(
        lambda tile, v, u, slack: lambda tile, v, u, slack: at_once(tile, v, u, slack)
    )
    engine.overload(ones)(lambda bits: ones)
    engine.overload(weigh)(lambda bits, s: weigh)

    @engine.overload(cost)
    def cost_by_kind(bits, s):
        return (lambda bits, s: ones(bits)) if str(s.dtype) == "int64" else weigh

    engine.overload(tile_of)(lambda packed, j: tile_of)
    bring = engine.bring()

    def fetched(D, n):
        for i in range(0, D.X.shape[1], LINE):
            bring(D.X, n * D.X.shape[1] + i)

    engine.overload(fetch)(lambda D, n: fetched)
    engine.overload(put)(lambda bits, start, places, count: put)
    engine.overload(judged)(lambda packed, start, v, u, slack, places: judged)
    engine.overload(tell)(lambda D, packed, places, w, near: tell)


run_survey = Kernel(survey, scoring.bind)
run_hardest_first = Kernel(hardest_first)
run_pack = Kernel(pack, bind)
run_sift = Kernel(sift, bind)
run_settle = Kernel(settle, bind)
