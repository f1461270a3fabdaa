"""Search for weights with few mistakes, and record the gap to the proved lower bound.

First weights come from the pocket algorithm and a logistic regression. Then random walks improve
them by exact line searches (simulated annealing): along a line w + a·v the mistakes change only
where the score of a row changes sign, at a = -s/g for a score s of slope g. Sorting these crossings
gives the exact mistakes on every piece of the line. A step moves into a piece at random, the more
likely the fewer mistakes it has; at low temperature, always to the fewest.

Threads search on a dense table (`Board`): the examples scaled, times their labels (a score s > 0
is correct, s ≤ 0 a mistake), each different row once. Larger data are searched without one.
"""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

import rosenblatt.engine as engine
from rosenblatt.algorithms.pla import Budget, Rule, WeightsOverflowError
from rosenblatt.algorithms.pocket import FOREVER, Judge, pocket
from rosenblatt.clock import Deadline, now
from rosenblatt.engine import REORDER, UNCOUNTED, Kernel, helpers
from rosenblatt.examples import Costs, Examples
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.scaling import Scaling, Spread
from rosenblatt.tables import to_dense

Floats = NDArray[np.float64]

POCKET_UPDATES = 400
POCKET_SHARE = 0.15  # share of the time for the pocket algorithm
EXTREME = 300  # exponent of two beyond which sample weights are rescaled

REFRESH = 200  # steps after which scores are recomputed, so that rounding errors do not add up
FARTHEST = 1e100  # longest line search: the squares of such weights do not overflow
TINY = 1e-12  # pieces shorter than this share of the search distance are skipped
TINIEST = 2.0**-1000  # smallest width that a column is divided by
GAPS = (701, 301, 132, 57, 23, 10, 4, 1)  # Ciura's gaps for Shell sort of some hundred crossings

BOARD_ENTRIES = 2**21  # most entries of a board, which is stored by rows and by columns
FEWEST_ROWS = 256  # if fewer rows fit on a board, none is made
# First and last temperature of a random walk, in mistakes: low ones search near the best weights,
# high ones far away.
SCHEDULES = ((0.3, 0.2), (0.7, 0.3), (0.3, 0.2), (1.2, 0.2))
RIDGE = 1e-3  # penalty of the logistic regression
STEPS = 20_000  # steps of a random walk
FRESH = 4  # every fourth walk begins at the start, not at the best weights so far
WORK_PER_CALL = 5e7  # multiplications between two checks of the time
PLAIN_WORK_PER_CALL = 2e5  # the same limit where kernels are not compiled
SPRINTERS = 2
SPRINT_SHARE = 0.25  # share of the time left that the sprint may take
BOARD_SHARE = 0.6  # share of the time spent on a board that is only a sample of the rows

COLD = 1e-3  # a temperature at which the fewest mistakes are always chosen
SAMPLE = 10_000  # rows among which those near the hyperplane are searched
NEAR = 64  # of them, those nearest to the hyperplane
LARGEST = 1e100  # numbers on the board are clipped to this; larger ones are rounding errors
WIDE = 1000  # with more columns, changing one weight has too little effect


@dataclass(frozen=True)
class Search:
    """Options of a search for the fewest mistakes.

    `watch` reports progress: it is called with the mistakes, the steps and the lower bound.
    """

    seconds: float = 5.0
    threads: int = 1
    rng: np.random.Generator | None = None
    watch: Callable[[float, int, float], None] | None = None


class Gap:
    """State of a search for the fewest mistakes: the best weights so far, and a lower bound.

    The cost of the mistakes of these weights and the lower bound on it are integer multiples of a
    unit (`Costs`), so they are exact. Threads share this state.

    Examples
    --------
    >>> xor = Examples.from_arrays([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1, 0])
    >>> gap = Gap(xor, Search())
    >>> gap.offer(np.array([-0.5, 1.0, 1.0])), gap.mistakes
    (True, 1)
    >>> gap.raise_bound(1, lambda: None)
    >>> gap.closed
    True
    """

    def __init__(self, examples: Examples, search: Search) -> None:
        self.examples, self.search = examples, search
        self.rng = search.rng or np.random.default_rng()
        self.deadline = Deadline.after(search.seconds)
        self.begun = now()
        self.history: list[tuple[float, float, float]] = []  # seconds, mistakes, lower bound
        self.judge, self.costs = Judge(examples), Costs.of(examples)
        self.w = np.zeros(examples.d + 1)
        self.cost = self.cost_of(self.w)
        self.bound = 0
        self.proof: Callable[[], Any] = lambda: None  # returns the proof of the bound
        self.exhausted = False  # no search can raise the bound further
        self.done = self.interrupted = False  # nothing is left to try; Ctrl-C
        self.steps = 0
        self.kept: dict[str, Any] = {}  # state of an engine between its turns
        self.lock = threading.RLock()  # Ctrl-C may come while it is held

    @property
    def closed(self) -> bool:
        """Whether the best weights are proved optimal."""
        return self.cost <= self.bound

    @property
    def hopeful(self) -> bool:
        """Whether more searching may improve the best weights or the lower bound on mistakes."""
        return not (self.closed or self.done or self.interrupted)

    @property
    def goes_on(self) -> bool:
        """Whether time is left, and more searching may improve the weights or the lower bound."""
        return self.hopeful and not self.deadline.over

    @property
    def mistakes(self) -> float:
        """Number of mistakes of the best weights so far, or total sample weight of these rows."""
        return self.costs.number(self.cost)

    def cost_of(self, w: Floats) -> int:
        """Return the exact total cost of the mistakes of w."""
        return self.costs.total(self.judge.wrong(w))

    def offer(self, w: Floats) -> bool:
        """Keep w if its mistakes cost less than those of the best weights so far.

        Return whether w is kept. Both costs are exact.
        """
        if not np.isfinite(w).all():
            return False
        cost = self.cost_of(w)
        with self.lock:
            better = cost < self.cost
            if better:
                self.w, self.cost = w.copy(), cost
                self._record()
        return better

    def raise_bound(self, bound: int, proof: Callable[[], Any], exhausted: bool = False) -> None:
        """Raise the lower bound on mistakes to `bound`, unless it is already higher.

        The function `proof` returns the proof of `bound`. If `exhausted`, no search can raise the
        bound further.
        """
        with self.lock:
            if (bound, exhausted) >= (self.bound, self.exhausted):
                self.bound, self.proof, self.exhausted = bound, proof, exhausted
                self._record()

    def _record(self) -> None:
        """Append time, mistakes and lower bound to the history if mistakes or bound changed."""
        state = self.mistakes, self.costs.number_below(self.bound)
        if not self.history or self.history[-1][1:] != state:
            self.history.append((now() - self.begun, *state))

    def report(self, steps: int) -> None:
        """Add `steps` to the number of steps of the search, and report progress to `watch`."""
        with self.lock:
            self.steps += steps
        if self.search.watch is not None:
            self.search.watch(self.mistakes, self.steps, self.costs.number_below(self.bound))


def try_starts(gap: Gap) -> None:
    """Find first weights for a search: try both constant predictions and a short pocket run."""
    examples = gap.examples
    try:
        if examples.x0:
            for sign in (1.0, -1.0):
                gap.offer(np.concatenate(([sign], np.zeros(examples.d))))
        budget = Budget(FOREVER, POCKET_UPDATES, POCKET_SHARE * gap.deadline.left)
        if examples.weights is not None:
            # Updates are multiplied by sample weights: scale extreme ones, or w would overflow.
            exponent = int(np.frexp(examples.weights.max())[1])
            if abs(exponent) >= EXTREME:
                examples = replace(examples, weights=np.ldexp(examples.weights, -exponent))
        run = pocket(examples, Rule("random", rng=gap.rng), budget)
        gap.offer(run.hypothesis.w)
        gap.interrupted = run.reason == "interrupted"
    except WeightsOverflowError:
        pass  # the other searches do not add up rows


def sprint(gap: Gap, threads: int | None = None) -> None:
    """Fit a logistic regression, and begin two random walks from its weights."""
    too_wide = (gap.examples.d + 1) * FEWEST_ROWS > BOARD_ENTRIES
    if not gap.goes_on or too_wide or "walkers" in gap.kept:
        return
    until = gap.deadline.share(SPRINT_SHARE)
    landscape = Landscape(gap, until)
    gap.offer(landscape.weights_of(landscape.start))
    gap.kept["walkers"] = walkers = [Walker(landscape, rng) for rng in gap.rng.spawn(SPRINTERS)]
    _run_all(gap, walkers, lambda walker: walker.walk(gap, until), threads or gap.search.threads)
    for walker in walkers:
        gap.offer(landscape.weights_of(walker.w))


def descend(gap: Gap, threads: int | None = None, until: Deadline | None = None) -> None:
    """Search for fewer mistakes by random walks in threads until the deadline."""
    threads, end = threads or gap.search.threads, until or gap.deadline
    walkers = gap.kept.get("walkers", [])
    if walkers and gap.goes_on:
        landscape = walkers[0].landscape
        stop = end.share(1.0 if landscape.whole else BOARD_SHARE)
        more = max(0, threads - len(walkers))
        walkers = walkers[:threads] + [Walker(landscape, rng) for rng in gap.rng.spawn(more)]
        _run_all(gap, walkers, lambda walker: walker.go(gap, stop), threads)
    if gap.goes_on and not end.over:
        along_lines(gap)


def _run_all(
    gap: Gap, walkers: list[Walker], work: Callable[[Walker], object], threads: int
) -> None:
    with ThreadPoolExecutor(threads) as pool:
        try:
            engine.wait_for([pool.submit(work, walker) for walker in walkers])
        except KeyboardInterrupt:
            gap.interrupted = True


class Board(NamedTuple):
    """Signed rows y·x as a dense array and its transpose, with the cost of each row."""

    rows: np.ndarray
    columns: np.ndarray
    costs: np.ndarray


class Landscape:
    """Scaled rows on which random walks count mistakes, and the weights to start from."""

    def __init__(self, gap: Gap, until: Deadline) -> None:
        examples = self.examples = gap.examples
        kept = examples.kept.astype(np.intp)
        most = BOARD_ENTRIES // (examples.d + 1)
        self.whole = len(kept) <= most
        rows = kept if self.whole else np.sort(gap.rng.choice(kept, most, replace=False))
        self.scaling = scaling_of(examples)
        costs = np.ones(len(rows)) if examples.weights is None else examples.weights[rows]
        costs = costs / costs.max()  # so that their sums cannot overflow
        A = np.nan_to_num(signed_rows(examples, self.scaling, rows)).clip(-LARGEST, LARGEST)
        A, where = np.unique(A, axis=0, return_inverse=True)  # merge equal rows
        A = np.ascontiguousarray(A)
        costs = np.asarray(np.bincount(where.ravel(), weights=costs))
        self.board = Board(A, np.ascontiguousarray(A.T), costs / costs.mean())
        self.start = logistic(self.board, until)

    def weights_of(self, v: Floats) -> Floats:
        """Convert weights for the scaled rows to augmented weights for the examples."""
        return augmented_weights(self.examples, self.scaling, v)


def scaling_of(examples: Examples) -> Scaling:
    """Create a scaling of each column by its exact standard deviation."""
    spread = Spread.of(examples)
    scaling = Scaling.of(examples, spread)
    width = np.where(spread.flat, scaling.width, spread.deviation)
    return replace(scaling, width=np.clip(width, TINIEST, 1 / TINIEST))


def augmented_weights(examples: Examples, scaling: Scaling, v: Floats) -> Floats:
    """Convert weights for scaled columns to augmented weights for the examples.

    Those for the scaled columns have x0 = 1.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        v0 = v[:1] / examples.x0 if examples.x0 else np.zeros(1)
        return scaling.fold(Hypothesis(np.concatenate((v0, v[1:])), examples.x0)).w


def signed_rows(examples: Examples, scaling: Scaling, rows: Any) -> Floats:
    """Return rows scaled and multiplied by their labels ±1, as a dense array.

    The first column is x0: 1, or 0 without an intercept.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        X = to_dense(scaling.apply(examples.some(rows)).X)
    ones = np.full((len(X), 1), 1.0 if examples.x0 else 0.0)
    return np.asarray(np.hstack((ones, X)) * examples.y[rows, None])


class Walker:
    """Random walks of one thread, and the best weights that they found."""

    def __init__(self, landscape: Landscape, rng: np.random.Generator) -> None:
        self.landscape, self.rng = landscape, rng
        N, D = landscape.board.rows.shape
        self.few = 40 + N // 64
        self.line = new_line(N, D, 512 + 8 * (N // 64))
        self.reaches = np.full(D + 2, 0.05)
        self.w, self.cost = landscape.start.copy(), math.inf
        self.walks = 0
        work = WORK_PER_CALL if engine.compiles() else PLAIN_WORK_PER_CALL
        self.portion = int(min(STEPS, max(50, work // (N * (D + 4)))))

    def go(self, gap: Gap, until: Deadline) -> None:
        """Repeat random walks until the deadline, and report better weights to the search `gap`."""
        while gap.goes_on and not until.over:
            if self.walk(gap, until):
                gap.offer(self.landscape.weights_of(self.w))

    def walk(self, gap: Gap, until: Deadline) -> bool:
        """Run simulated annealing once, and return whether it found better weights."""
        fresh = self.walks % FRESH == FRESH - 1
        w, before = (self.landscape.start if fresh else self.w).copy(), self.cost
        hot, cold = SCHEDULES[self.walks % len(SCHEDULES)]
        self.walks += 1
        portions = max(1, STEPS // self.portion)
        ratio = (cold / hot) ** (1 / portions)
        for i in range(portions):
            if not gap.goes_on or until.over:
                break
            improved = np.zeros_like(w)
            temperatures = hot * ratio**i, hot * ratio ** (i + 1)
            schedule = (self.cost, *temperatures, self.portion, self.few)
            cost = run_anneal(
                self.landscape.board, self.line, w, improved, schedule, self.reaches, self.rng
            )
            if cost < self.cost:
                self.cost, self.w = cost, improved
            gap.report(self.portion)
        return self.cost < before


def logistic(board: Board, until: Deadline) -> Floats:
    """Fit a logistic regression to the scaled rows until the deadline."""

    def loss(w: Floats) -> tuple[float, Floats]:
        s = board.rows @ w
        value = float(board.costs @ np.logaddexp(0.0, -s)) + 0.5 * RIDGE * float(w @ w)
        return value, RIDGE * w - board.rows.T @ (board.costs * expit(-s))

    def stop(w: Floats) -> None:
        if until.over:
            raise StopIteration

    zero, most = np.zeros(board.rows.shape[1]), {"maxiter": 200}
    result = minimize(loss, zero, jac=True, method="L-BFGS-B", options=most, callback=stop)
    w: Floats = result.x
    return w if w.any() else np.ones_like(w)


def along_lines(gap: Gap) -> None:
    """Improve the best weights by line searches over all rows until the deadline."""
    examples, scaling = gap.examples, scaling_of(gap.examples)
    v = scaling.unfold(Hypothesis(gap.w, examples.x0)).w
    v[0] *= examples.x0
    v /= np.linalg.norm(v) or 1.0
    costs = np.ones(examples.n) if examples.weights is None else examples.weights
    line = new_line(examples.n, 0, 512 + examples.n // 8)
    cost, reach = gap.mistakes, 0.05

    def scores(v: Floats) -> Floats:
        w = augmented_weights(examples, scaling, v)
        return np.asarray(examples.y * Hypothesis(w, examples.x0).scores(examples.X))

    line.s[:] = scores(v)
    while gap.goes_on:
        direction = _direction(examples, scaling, line.s, gap.rng)
        line.g[:] = scores(direction)
        a, cost, met = run_step(line, costs, reach, cost, COLD, gap.rng)
        reach *= 0.5 if met < 0 else (1.1 if met < examples.n // 16 + 64 else 0.9)
        v += a * direction
        if cost < gap.mistakes:
            gap.offer(augmented_weights(examples, scaling, v))
        gap.report(1)


def _direction(examples: Examples, scaling: Scaling, s: Floats, rng: np.random.Generator) -> Floats:
    """Draw a direction for a line search: an axis, or a sum of rows near the hyperplane."""
    D = examples.d + 1
    chance = rng.random()
    v = np.zeros(D)
    if chance < 0.4 and D <= WIDE:
        v[rng.integers(D)] = 1.0
        return v
    step = max(1, len(s) // SAMPLE)
    near = np.argsort(np.abs(s[::step]))[:NEAR] * step
    chosen = rng.choice(near, 1 if chance < 0.6 else (len(near) + 1) // 2, replace=False)
    v = signed_rows(examples, scaling, chosen).sum(axis=0)
    if chance > 0.8:
        v += 0.1 * rng.standard_normal(D)
    return np.asarray(v / (float(np.linalg.norm(v)) or 1.0))


class Line(NamedTuple):
    """Line through w in direction v, with the places where scores change sign."""

    s: np.ndarray  # scores of the rows at w
    g: np.ndarray  # slopes of the scores along the line
    v: np.ndarray
    ahead: np.ndarray  # positions of sign changes, and changes of cost there
    behind: np.ndarray


def new_line(n: int, dimension: int, size: int) -> Line:
    """Allocate a `Line` for n rows and up to `size` sign changes on each side of w."""
    ahead, behind = np.empty((2, size)), np.empty((2, size))
    return Line(np.zeros(n), np.zeros(n), np.zeros(dimension), ahead, behind)


def products(A, v, g):
    """Compute the matrix product g = A v."""
    for n in range(A.shape[0]):
        x = 0.0
        for i in range(A.shape[1]):
            x += A[n, i] * v[i]
        g[n] = x


def normalize(w):
    """Scale w to length 1."""
    squares = 0.0
    for i in range(len(w)):
        squares += w[i] * w[i]
    length = np.sqrt(squares)
    if length > 0:
        for i in range(len(w)):
            w[i] /= length


def cost_of(s, costs):
    """Return the total cost of the misclassified rows, whose entries of s are not positive."""
    f = 0.0
    for n in range(len(s)):
        if s[n] <= 0:
            f += costs[n]
    return f


def sort(crossings, k):
    """Sort the points of a line where scores change sign by their position.

    Only the first k entries are sorted. Each is a position and a change of cost.
    """
    for gap in GAPS:
        for i in range(gap, k):
            a, change, j = crossings[0, i], crossings[1, i], i
            while j >= gap and crossings[0, j - gap] > a:
                crossings[0, j] = crossings[0, j - gap]
                crossings[1, j] = crossings[1, j - gap]
                j -= gap
            crossings[0, j] = a
            crossings[1, j] = change


def cross(line, costs, reach):
    """Find the points of a line where scores change sign; count them on each side of w.

    Sign changes farther than `reach` are left out. Both counts are -1 if there are too many.
    """
    s, g, ahead, behind = line.s, line.g, line.ahead, line.behind
    k = m = 0
    for n in range(len(s)):
        if abs(s[n]) <= reach * abs(g[n]) and g[n] != 0:
            if k == ahead.shape[1] or m == behind.shape[1]:
                return -1, -1
            a = -s[n] / g[n]
            change = costs[n] if s[n] > 0 else -costs[n]
            if a > 0 or (a == 0 and g[n] > 0):
                ahead[0, k], ahead[1, k] = a, change
                k += 1
            else:
                behind[0, m], behind[1, m] = -a, change
                m += 1
    sort(ahead, k)
    sort(behind, m)
    return k, m


def least(crossings, k, reach, f):
    """Return the lowest cost of mistakes on a half-line from w, where their cost is f."""
    low, lowest = 0.0, f
    for i in range(k):
        if crossings[0, i] - low > TINY * reach:
            lowest = min(lowest, f)
        f += crossings[1, i]
        low = crossings[0, i]
    return min(lowest, f) if reach - low > TINY * reach else lowest


def choose(crossings, k, reach, f, temperature, rng):
    """Draw a random point on a half-line, more likely one where mistakes cost less.

    The sign changes cut the half-line into pieces. Return the total weight of all pieces, a point
    of the chosen piece, and the cost there. `temperature` is a pair: the lowest cost on the line,
    and how much more is still likely.
    """
    lowest, heat = temperature
    total = a = low = 0.0
    chosen = f
    for i in range(k + 1):
        high = crossings[0, i] if i < k else reach
        length = high - low
        if length > TINY * reach:
            # The square root favors small cells: the best one is seldom large.
            weight = np.sqrt(length) * np.exp((lowest - f) / heat)
            total += weight
            if rng.random() * total < weight:
                a, chosen = low + length * rng.random(), f
        if i < k:
            f += crossings[1, i]
            low = high
    return total, a, chosen


def step(line, costs, reach, f, temperature, rng):
    """Draw a random point on a line, preferably of few mistakes, and update the scores.

    Return the distance, the cost of mistakes there, and the number of sign changes on the line. If
    these are too many, nothing moves, and the number is -1.
    """
    k, m = cross(line, costs, reach)
    if k < 0:
        return 0.0, f, -1
    lowest = min(least(line.ahead, k, reach, f), least(line.behind, m, reach, f))
    forth, a, f_a = choose(line.ahead, k, reach, f, (lowest, temperature), rng)
    back, b, f_b = choose(line.behind, m, reach, f, (lowest, temperature), rng)
    if rng.random() * (forth + back) >= forth:
        a, f_a = -b, f_b
    for n in range(len(line.s)):
        line.s[n] += a * line.g[n]
    return a, f_a, k + m


def aim(board, line, rng):
    """Draw a direction for a line search: a coordinate axis, a Gaussian vector or a row.

    Return a number for the kind of direction.
    """
    N, D = board.rows.shape
    chance = rng.random()
    if chance < 0.5:
        i = min(int(rng.random() * D), D - 1)
        for j in range(D):
            line.v[j] = 1.0 if j == i else 0.0
        for n in range(N):
            line.g[n] = board.columns[i, n]
        return i
    if chance < 0.8:
        for i in range(D):
            line.v[i] = rng.standard_normal()
    else:
        n = min(int(rng.random() * N), N - 1)
        for i in range(D):
            line.v[i] = board.rows[n, i]
    products(board.rows, line.v, line.g)
    return D if chance < 0.8 else D + 1


def anneal(board, line, w, best, schedule, reaches, rng):
    """Search for few mistakes by simulated annealing from w; return the lowest cost.

    The best weights are written to `best`. `reaches` holds the search distance for each kind of
    direction; it is adapted so that a few dozen sign changes are within reach.
    """
    lowest, hot, cold, steps, few = schedule
    f = 0.0
    for t in range(steps):
        if t % REFRESH == 0:
            normalize(w)
            products(board.rows, w, line.s)
            f = cost_of(line.s, board.costs)
        kind = aim(board, line, rng)
        reach = reaches[kind] * 2.0 ** (3 * rng.random() - 2)
        temperature = hot * (cold / hot) ** (t / steps)
        a, f, met = step(line, board.costs, reach, f, temperature, rng)
        reach = reaches[kind] * (0.7 if met < 0 else (1.02 if met < few else 0.98))
        reaches[kind] = min(reach, FARTHEST)
        for i in range(len(w)):
            w[i] += a * line.v[i]
        if f < lowest:
            f = cost_of(line.s, board.costs)
            if f < lowest:
                lowest = f
                for i in range(len(w)):
                    best[i] = w[i]
    return lowest


@functools.cache
def bind() -> None:
    """Register the helper functions of the compiled loops with Numba."""
    helpers(normalize, cost_of, sort, cross, least, choose, step, aim, **UNCOUNTED)
    helpers(products, fastmath=REORDER, **UNCOUNTED)


run_anneal = Kernel(anneal, bind)
run_step = Kernel(step, bind)
