"""The sieve: drop weight vectors as soon as a few rows show that they are not the best.

The pocket algorithm compares many weight vectors, the candidates. One cannot win once it certainly
makes as many mistakes as the best so far, so most candidates need not be judged on every row. Three
ideas make this fast:

*Integers.* Rows are taken as y·x/‖x‖ and candidates as w/‖w‖, scaled to a length of up to 46,000,
less if a number would not fit into 16 bits, and rounded. Each 32-bit entry of an array holds two
such numbers. Rows are packed in tiles of 64, the first pairs of all 64 rows side by side, then the
second pairs: a processor multiplies many of them at once, exactly. Rounding moves a vector of m
numbers by at most √m/2, so the product of the rounded vectors has an error of at most `error`.
Below -error the row is certainly a mistake, above error certainly correct. The few scores in
between are recomputed in float64 for the surviving candidates; where rounding could decide those,
too, the candidate is judged alone.

*Hardest rows first.* Candidates of one run make similar mistakes. They are compared first with the
rows that their mean misclassifies by the largest margin.

*Leaders.* The limit of a candidate is the fewest mistakes of any candidate before it. The
candidates that are best on a sample of the rows are judged first, so that all others have a limit
that is nearly as low as possible.

Candidates are dropped only for certain mistakes, and the others are counted on every row: the
results are those of judging each candidate alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import rosenblatt.engine as engine
import rosenblatt.rowformats as rowformats
from rosenblatt.engine import Kernel, in_threads
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import UNIT_ROUNDOFF
from rosenblatt.rowformats import SMALLEST, kernel_rows

Floats = NDArray[np.float64]
Pairs = NDArray[np.int32]
Rows = NDArray[np.unsignedinteger[Any]]
Places = NDArray[np.intp]

BATCH = 128  # candidates in a batch: few enough that threads finish together
MANY_ROWS = 2**14  # with fewer rows, matrix products are faster
MOST_FEATURES = 2**11  # with more features, rounding leaves too many rows undecided
SAMPLE = 512  # rows in the sample that leaders are chosen on
NEARLY = 1.02
LASTS = 2048  # candidates after which the rows are ordered again

TILE = 64  # rows multiplied at once: with two candidates, they fill 32 registers
WIDTH = 16  # rows in one instruction of the widest kind
SCALE = 46_000.0  # the product of two vectors of this length just fits into 32 bits
MOST = np.int32(32_767)  # the largest 16-bit integer
AHEAD = 8  # rows between the one in use and the one to prefetch
LINE = 8  # doubles in a cache line
TILES = 8  # tiles between two comparisons with the limits
SPAN = 64  # tiles whose undecided rows are scored again together
RANKS = 12  # groups to sort rows into; few, so that their write positions stay in the cache
RANK_SAMPLE = 1024
PLAIN = (2.0**-900, 2.0**900)  # squared lengths that neither overflow nor underflow


class Survivor(NamedTuple):
    """Weight vector that may be the best, with its mistakes that rounding cannot change."""

    b: int  # index of the candidate
    wrong: float  # total weight of its certain mistakes
    complete: bool  # whether there can be no others


class Packed(NamedTuple):
    """Rows rounded to 16-bit integers, in tiles of 64 rows."""

    tiles: np.ndarray
    costs: np.ndarray
    rows: np.ndarray


class Candidates(NamedTuple):
    """Weight vectors to compare, and for each the cost of mistakes at which it is rejected."""

    W: np.ndarray
    units: np.ndarray  # their directions as integers
    tolerance: np.ndarray  # bound on the rounding errors of scores by W
    error: np.int32  # bound on the errors of products of directions
    limits: np.ndarray  # total weight of mistakes at which a candidate is dropped
    wrong: np.ndarray  # total weight of the mistakes found so far
    sum_error: float  # factor by which rounding may change a sum of weights

    def some(self, which: Places, limits: Floats, kind: Any) -> Candidates:
        """Select some weight vectors, with new limits on their mistakes and counts reset to 0."""
        own = self.W[which], self.units[which], self.tolerance[which]
        return Candidates(
            *own, self.error, limits, np.zeros(len(which), dtype=kind), self.sum_error
        )


class Sieve:
    """Filter that keeps the weight vectors that may make fewer mistakes than all before them.

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
        """Return the weight vectors (rows of W) that may make fewer mistakes than `best`."""
        if len(W) == 0:
            return []
        batch = self.batch(W, np.full(len(W), best, dtype=np.float64))
        if self.seen >= LASTS:
            self.packed, self.seen = None, 0  # free the old arrays before new ones are made
        if self.packed is None:
            self.packed = self.pack(batch)
        self.seen += len(W)
        sample, rows = self.packed
        leaders = self._leaders(sample, batch)
        found = self._count(rows, batch, leaders, sifted=False)
        for one in found:
            if one.complete:
                later = batch.limits[one.b + 1 :]
                np.minimum(later, one.wrong * batch.sum_error, out=later)
        others = np.delete(np.arange(len(W)), leaders)
        return sorted(found + self._count(rows, batch, others, sifted=True))

    def batch(self, W: Floats, limits: Floats) -> Candidates:
        """Round weight vectors to integers for the compiled loops, with error bounds."""
        units = _units(W)
        off = np.sqrt(2 * units.shape[1]) / 2
        # The factor 1.001 covers rounding of the directions, computed in float64.
        error = np.int32(1.001 * (2 * SCALE * off + off * off) + 1)
        tolerance = score_error(self.examples, W)
        return Candidates(
            W, units, tolerance, error, limits, np.zeros(len(W)), sum_error(self.examples)
        )

    def pack(self, batch: Candidates) -> tuple[Packed, Packed]:
        """Round the rows to integers: a sample of them, and all with likely mistakes first."""
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
        """Round some of the rows to integers, and pack them into tiles of 64 rows.

        `which` has the rows in file order, the rows in tile order, and the position of each row.
        """
        rows, order, places = which
        shape = (-(-len(rows) // TILE), self.examples.d // 2 + 1, TILE)
        size = int(np.prod(shape))
        space = np.empty(size + TILE, dtype=np.int32)
        first = -(space.ctypes.data // space.itemsize) % TILE  # aligned for fast reads
        tiles = space[first : first + size].reshape(shape)
        tiles[-1] = 0  # the last tile may have fewer than 64 rows

        def fill(part: slice) -> None:
            run_pack(self.rows, stretch, rows[part], places, tiles)

        in_threads(fill, len(rows), len(rows) * self.examples.d)
        weights = self.examples.weights
        costs = np.empty(0, dtype=np.int64) if weights is None else weights[order]
        return Packed(tiles, costs, order)

    def _leaders(self, sample: Packed, batch: Candidates) -> Places:
        """Return the indices of weight vectors that look best so far on a sample of rows.

        Each makes at most slightly more mistakes there than the best vector before it.
        """
        wrong = np.empty(len(batch.W))

        def look(which: Places) -> None:
            some = batch.some(which, np.full(len(which), np.inf), sample.costs.dtype)
            run_sift(sample, some)
            wrong[which] = some.wrong

        self._in_batches(look, np.arange(len(batch.W)), len(sample.rows))
        fewest = np.minimum.accumulate(np.concatenate([[np.inf], wrong[:-1]]))
        return np.flatnonzero(wrong < NEARLY * fewest)

    def _count(
        self, rows: Packed, batch: Candidates, which: Places, sifted: bool
    ) -> list[Survivor]:
        """Count mistakes on all rows; return the weight vectors that stay below their limits."""
        found: list[Survivor] = []

        def count(part: Places) -> None:
            some = batch.some(part, batch.limits[part], rows.costs.dtype)
            sure = np.full(len(part), not sifted)
            if sifted:
                sure[run_sift(rows, some)] = True
            left = np.flatnonzero(sure)
            run_recount(self.rows, rows, some, sure, sifted)
            found.extend(
                Survivor(int(part[b]), some.wrong[b].item(), bool(sure[b]))
                for b in left
                if some.wrong[b] < some.limits[b]
            )

        self._in_batches(count, which, len(rows.rows))
        return found

    def _in_batches(self, work: Callable[[Places], None], which: Places, rows: int) -> None:
        """Split the candidates `which` into batches, and call `work` on each in several threads."""
        count = max(min(self.threads, len(which)), -(-len(which) // BATCH))
        batches = iter(np.array_split(which, count) if count else [])

        def do_batches(_: slice) -> None:
            for some in batches:
                work(some)

        in_threads(do_batches, min(self.threads, count), len(which) * rows * self.examples.d)


def worth_sifting(examples: Examples) -> bool:
    """Return whether rejecting weight vectors after a few rows (`Sieve`) saves time.

    It does for many dense rows whose norms are neither tiny nor huge.
    """
    if examples.is_sparse or examples.n < MANY_ROWS or not 0 < examples.d <= MOST_FEATURES:
        return False
    typical = examples.squares / examples.n + examples.x0 * examples.x0
    return PLAIN[0] < typical < PLAIN[1]


def sum_error(examples: Examples) -> float:
    """Return an upper bound on the factor by which rounding changes a sum of sample weights."""
    return 1.0 if examples.weights is None else 1 + 4 * examples.n * UNIT_ROUNDOFF


def score_error(examples: Examples, W: Floats) -> Floats:
    """Return upper bounds on the rounding errors of scores, one for each row w of W.

    They hold for any order of summation.
    """
    share = 4 * (examples.longest + 1) * UNIT_ROUNDOFF
    largest = np.abs(W).max(axis=1, initial=0)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        # Squares of tiny or huge numbers would underflow or overflow.
        lengths = largest * np.sqrt(((W / largest[:, None]) ** 2).sum(axis=1))
        error: Floats = share * examples.length * np.where(largest > 0, lengths, 0.0) + SMALLEST
    return error


def _units(W: Floats) -> Pairs:
    """Scale each w, round it to 16-bit integers, and pack each two of them into 32 bits.

    They are 0 if ‖w‖ is tiny or huge.
    """
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
    """Compute each row's scale factor and cosine with w; both 0 if its norm is tiny or huge."""
    for n in rows:
        s, q = rowformats.measure(D, n, w)
        plain = PLAIN[0] < q < PLAIN[1]
        stretch[n] = D.step[n] * SCALE / np.sqrt(q) if plain else 0.0
        cosines[n] = s * stretch[n] if plain else 0.0


def hardest_first(cosines, order, places):
    """Sort rows roughly by cosine with w, likely mistakes first, by a counting sort."""
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
    """Multiply row n by a, and round it to 16-bit integers, written to `numbers`.

    Integers that do not fit are clipped. Return the largest absolute value before that.
    """
    v = np.int32(np.rint(a * D.x0))
    numbers[0], most = min(max(v, -MOST), MOST), abs(v)
    for i in range(D.X.shape[1]):
        v = np.int32(np.rint(a * D.X[n, i]))
        numbers[i + 1] = min(max(v, -MOST), MOST)
        most = max(most, abs(v))
    return most


def pack(D, stretch, rows, places, tiles):
    """Scale rows, round them to 16-bit integers, and write each to its place in `tiles`."""
    numbers = np.zeros(2 * tiles.shape[1], dtype=np.int16)
    pairs = numbers.view(np.int32)
    for n in rows:
        most = rounded(D, n, stretch[n], numbers)
        if most > MOST:
            rounded(D, n, stretch[n] * (MOST - 1) / most, numbers)
        j, k = places[n] // TILE, places[n] % TILE
        for i in range(len(pairs)):
            tiles[j, i, k] = pairs[i]


def sides(tile, v, u, error):
    """Mark in bit masks which of 64 rows weight vectors v and u misclassify or leave undecided.

    Return two masks for v, then two for u. The first of two marks the rows that are certainly
    misclassified, the second the rows whose class rounding leaves undecided.
    """
    rows, bits = tile.view(np.int16).astype(np.int64), [0, 0, 0, 0]
    for i, w in ((0, v.view(np.int16)), (2, u.view(np.int16))):
        s = rows[:, ::2].T @ w[::2] + rows[:, 1::2].T @ w[1::2]
        for k in range(TILE):
            bits[i] |= int(s[k] < -error) << k
            bits[i + 1] |= int(abs(s[k]) <= error) << k
    return bits


def ones(bits):
    """Count the bits that are set; LLVM compiles this loop to one instruction."""
    count = 0
    while bits != 0:
        bits &= bits - 1
        count += 1
    return count


def weigh(bits, s):
    """Return the total sample weight of the rows whose bits are set."""
    total = 0.0
    for k in range(len(s)):
        total += s[k] * ((bits >> k) & 1)
    return total


def cost(bits, s):
    """Return the total sample weight of the rows whose bits are set, or else their number."""
    return ones(bits) if s.dtype == np.int64 else weigh(bits, s)


def tile_of(packed, j):
    """Return the j-th tile (64 packed rows), its sample weights, and a bit mask of its rows.

    The last tile may have fewer than 64 rows.
    """
    count = min(TILE, len(packed.rows) - j * TILE)
    there = -1 if count == TILE else (1 << count) - 1
    return packed.tiles[j], packed.costs[j * TILE : (j + 1) * TILE], there


def sift(packed, batch):
    """Return the indices of the weight vectors whose certain mistakes stay below their limits."""
    W, limits, wrong = batch.units.copy(), batch.limits.copy(), batch.wrong.copy()
    left = np.arange(len(W))
    for j in range(len(packed.tiles)):
        tile, costs, there = tile_of(packed, j)
        for b in range(0, len(left), 2):
            c = min(b + 1, len(left) - 1)
            bad, _, bad_too, _ = sides(tile, W[b], W[c], batch.error)
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


def judge_pair(packed, start, v, u, error, places):
    """Count certain mistakes of weight vectors v and u on some rows, and list undecided rows.

    The rows are those of the next `SPAN` tiles from the tile `start` on. A row is undecided if
    rounding to integers could change its class; a mistake counts as its sample weight. Return the
    totals for v and u, and their numbers of undecided rows. The positions of undecided rows are
    written to places[0] for v and to places[1] for u.
    """
    wrong_v = wrong_u = 0.0
    count_v = count_u = 0
    for j in range(start, min(start + SPAN, len(packed.tiles))):
        tile, costs, there = tile_of(packed, j)
        bad, undecided, bad_too, undecided_too = sides(tile, v, u, error)
        wrong_v += cost(bad & there, costs)
        wrong_u += cost(bad_too & there, costs)
        count_v = put(undecided & there, j * TILE, places[0], count_v)
        count_u = put(undecided_too & there, j * TILE, places[1], count_u)
    return (wrong_v, wrong_u), (count_v, count_u)


def put(bits, start, places, count):
    """Append the position of each set bit, plus `start`, to the array `places`.

    `count` of its entries are in use already. Return the new number.
    """
    while bits != 0:
        places[count] = start + ones((bits & -bits) - 1)
        bits &= bits - 1
        count += 1
    return count


def fetch(D, n):
    """Prefetch row n into the processor's cache; do nothing in plain Python."""


def recount_rows(D, packed, places, w, tolerance):
    """Add up the costs of those of the listed rows that w certainly misclassifies.

    Rows are scored in float64. Return the total, and whether the scores decide all listed rows.
    """
    wrong, sure = 0.0, True
    for i in range(len(places)):
        fetch(D, packed.rows[places[min(i + AHEAD, len(places) - 1)]])
        n = packed.rows[places[i]]
        s = D.step[n] * rowformats.score(D, n, w)
        if s < -tolerance:
            wrong += cost(1, packed.costs[places[i] : places[i] + 1])
        elif not s > tolerance:
            sure = False
    return wrong, sure


def recount(D, packed, batch, sure, sifted):
    """Count the mistakes of weight vectors, scoring rows near the hyperplane in float64.

    Counting stops at the limit of each vector. If `sifted`, mistakes far from the hyperplane are
    counted already. The total of one vector is a limit for those after it. An entry of `sure`
    becomes False if float64 leaves a row undecided, too.
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
            surely, counts = judge_pair(packed, start, v, u, batch.error, places)
            for k in range(len(left[i : i + 2])):
                b = pair[k]
                if wrong[b] >= limits[b]:
                    continue
                more, certain = recount_rows(
                    D, packed, places[k, : counts[k]], batch.W[b], batch.tolerance[b]
                )
                wrong[b] += more if sifted else surely[k] + more
                sure[b] = sure[b] and certain
        for b in pair:
            if sure[b] and wrong[b] < limits[b]:
                best = min(best, wrong[b] * batch.sum_error)


@functools.cache
def sixteen_bits() -> Any:
    """Create a version of `sides` in LLVM code, with vector instructions for 16-bit integers."""
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    bits, long = ir.IntType(WIDTH), ir.IntType(64)

    @intrinsic
    def sides(context: Any, rows: Any, v: Any, u: Any, error: Any) -> Any:
        def emit(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            high, low = (
                _spread(builder, side) for side in (arguments[3], builder.neg(arguments[3]))
            )
            results = []
            for sums in _sums(target, builder, signature, arguments):
                below, above = ir.Constant(long, 0), ir.Constant(long, 0)
                for part, each in enumerate(sums):
                    at = ir.Constant(long, part * WIDTH)
                    where = builder.bitcast(builder.icmp_signed("<", each, low), bits)
                    below = builder.or_(below, builder.shl(builder.zext(where, long), at))
                    where = builder.bitcast(builder.icmp_signed(">", each, high), bits)
                    above = builder.or_(above, builder.shl(builder.zext(where, long), at))
                results += [below, builder.not_(builder.or_(below, above))]
            return cgutils.pack_array(builder, results)

        return types.UniTuple(types.int64, 4)(rows, v, u, error), emit

    return sides


def _sums(target: Any, builder: Any, signature: Any, arguments: Any) -> list[list[Any]]:
    """Emit LLVM code for the dot products of 64 rows (a tile) with two vectors, v and u.

    Rows are stored as columns of pairs. As many products are computed at once as registers hold:
    32 registers hold all rows and both vectors, so that each row is read once; with 16, half of
    the rows and one vector are done at a time.
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
    """Emit LLVM code for the dot products of each vector with some rows, in groups of 16.

    `parts` are the groups of rows in the tile. LLVM recognizes this pattern as one instruction,
    made for audio: multiply 16-bit numbers and add the products in pairs.
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
    """Emit LLVM code that copies a number to every entry of a vector."""
    from llvmlite import ir

    kind = ir.VectorType(number.type, WIDTH)
    nothing, first = ir.Constant(kind, ir.Undefined), ir.Constant(ir.IntType(32), 0)
    one = builder.insert_element(nothing, number, first)
    return builder.shuffle_vector(one, nothing, ir.Constant(kind, None))


@functools.cache
def bind() -> None:
    """Register the helper functions of the compiled loops with Numba."""
    at_once = sixteen_bits()
    engine.helpers(rounded, ones, weigh, tile_of, put, judge_pair, recount_rows)
    engine.overload(sides)(
        lambda tile, v, u, error: lambda tile, v, u, error: at_once(tile, v, u, error)
    )

    @engine.overload(cost)
    def cost_by_kind(bits, s):
        return (lambda bits, s: ones(bits)) if str(s.dtype) == "int64" else weigh

    fetch_entry = engine.prefetch()

    def fetched(D, n):
        for i in range(0, D.X.shape[1], LINE):
            fetch_entry(D.X, n * D.X.shape[1] + i)

    engine.overload(fetch)(lambda D, n: fetched)


run_survey = Kernel(survey)
run_hardest_first = Kernel(hardest_first)
run_pack = Kernel(pack, bind)
run_sift = Kernel(sift, bind)
run_recount = Kernel(recount, bind)
