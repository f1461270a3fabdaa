"""The lecture's algorithms, slow and obvious: the oracle that the package is tested against.

Written from the slides alone. X is tall (x0 first), y is in {-1, +1}, s are sample weights,
and on whole numbers every sum is exact. Each run is a Run; the package must give the same.
"""

from fractions import Fraction
from itertools import count, repeat
from typing import NamedTuple

import numpy as np

SIGN_OF_ZERO = {"mistake": None, "negative": -1, "positive": +1}


class Run(NamedTuple):
    """n(0), n(1), …; the cycle each fell in; w(0), w(1), …; clean cycle?; cycles begun."""

    rows: list
    cycles: list
    weights: list
    halted: bool
    begun: int


def tall(X, x0=1.0):
    """Put x0 before every row; x0=None means that there is no w0."""
    X = np.asarray(X, dtype=float)
    return X if x0 is None else np.column_stack([np.full(len(X), float(x0)), X])


def cycles_of(order, n, seed):
    """The visits of each cycle, as random_state=seed draws them."""
    rng = np.random.default_rng(seed)
    if order == "cycle":
        return repeat(range(n))
    if order == "random-cycle":
        return repeat(rng.permutation(n))
    return (rng.permutation(n) for _ in count())


def mistaken(w, x, y, zero="mistake"):
    """sign(w·x) ≠ y, where sign(0) is no label, -1 or +1."""
    score = w @ x
    answer = np.sign(score) if score != 0 else SIGN_OF_ZERO[zero]
    return answer != y


def mistakes(w, X, y, zero="mistake"):
    """All rows on which w is mistaken."""
    return [n for n in range(len(X)) if mistaken(w, X[n], y[n], zero)]


def exact_mistakes(w, X, y):
    """All rows with y (w·x) ≤ 0, in fractions, for numbers that floats would round."""
    w = [Fraction(float(v)) for v in w]
    score = [sum(a * Fraction(float(b)) for a, b in zip(w, x, strict=True)) for x in X]
    return [n for n in range(len(X)) if int(y[n]) * score[n] <= 0]


def cyclic(  # noqa: PLR0913 - the letters of the slide
    X, y, cycles=None, *, zero="mistake", eta=1.0, w=None, s=None, max_cycles=10**6
):
    """Find the next mistake of w(t) and correct it, until a full cycle of no mistakes.

    `cycles` gives the order of rows in each cycle; without it, the naive cycle.
    """
    s = np.ones(len(X)) if s is None else np.asarray(s, dtype=float)
    w = np.zeros(X.shape[1]) if w is None else np.asarray(w, dtype=float)
    kept = {n for n in range(len(X)) if s[n] > 0}  # weight 0 removes the row
    rows, when, weights, clean, begun = [], [], [w], set(), 0
    for cycle, visits in zip(range(max_cycles), cycles or repeat(range(len(X))), strict=False):
        begun = cycle + 1
        for n in visits:
            if n not in kept:
                continue
            if mistaken(w, X[n], y[n], zero):
                w = w + eta * s[n] * y[n] * X[n]
                rows.append(n)
                when.append(cycle)
                weights.append(w)
                clean = set()
            else:
                clean.add(n)
            if clean == kept:
                return Run(rows, when, weights, True, begun)
    return Run(rows, when, weights, False, begun)


def starting_over(X, y, *, zero="mistake", eta=1.0, w=None, s=None):
    """The Octave program: correct the first mistake in the file, then look from the top again."""
    s = np.ones(len(X)) if s is None else np.asarray(s, dtype=float)
    w = np.zeros(X.shape[1]) if w is None else np.asarray(w, dtype=float)
    rows, weights = [], [w]
    while True:
        looks = (n for n in range(len(X)) if s[n] > 0 and mistaken(w, X[n], y[n], zero))
        n = next(looks, None)
        if n is None:
            return Run(rows, list(range(len(rows))), weights, True, len(rows) + 1)
        w = w + eta * s[n] * y[n] * X[n]
        rows.append(n)
        weights.append(w)


def chosen(  # noqa: PLR0913 - the letters of the slide
    X, y, rows, *, zero="mistake", eta=1.0, w=None, s=None
):
    """Correct these rows in turn, each of which must be a mistake of w(t): any legal PLA."""
    s = np.ones(len(X)) if s is None else np.asarray(s, dtype=float)
    w = np.zeros(X.shape[1]) if w is None else np.asarray(w, dtype=float)
    weights = [w]
    for t, n in enumerate(rows):
        assert s[n] > 0, f"t={t}: row {n} has weight 0"
        assert mistaken(w, X[n], y[n], zero), f"t={t}: row {n} was not a mistake of w({t})"
        w = w + eta * s[n] * y[n] * X[n]
        weights.append(w)
    halted = not [n for n in mistakes(w, X, y, zero) if s[n] > 0]
    return Run(list(rows), None, weights, halted, None)


def check_shuffled(X, y, rows, cycles, *, zero="mistake"):
    """Check that in each cycle some order of all rows meets just these mistakes in this order.

    A row is corrected once a cycle at most; one that was not must have been right at some
    moment of the cycle, which is when it was visited.
    """
    run = chosen(X, y, rows, zero=zero)
    for cycle in range(max(cycles, default=-1) + 1):
        at = [t for t, c in enumerate(cycles) if c == cycle]
        met = [rows[t] for t in at]
        assert len(met) == len(set(met)), f"cycle {cycle} met a row twice: {met}"
        moments = [run.weights[t] for t in range(at[0], at[-1] + 2)] if at else []
        for n in set(range(len(X))) - set(met):
            assert any(not mistaken(w, X[n], y[n], zero) for w in moments), (
                f"cycle {cycle} never found row {n} right, and never corrected it"
            )
    return run


def visited(X, y, visits, *, eta=1.0, w=None, most=None):
    """w after each visit, where mistakes are corrected as they are met, `most` of them."""
    w = np.zeros(X.shape[1]) if w is None else np.asarray(w, dtype=float)
    after, t = [], 0
    for n in visits:
        if t == most:
            break
        if mistaken(w, X[n], y[n]):
            w, t = w + eta * y[n] * X[n], t + 1
        after.append(w)
    return after


# More than two labels: W has a row for each, y is the row of the right one.


def beaten_by(W, x, y, zero="mistake"):
    """The rival to correct against, or None: the answer is the label with the highest score.

    At equal scores it is no label, the earlier or the later one.
    """
    scores = [w @ x for w in W]
    others = [k for k in range(len(W)) if k != y]
    best = max(scores[k] for k in others)
    tied = [k for k in others if scores[k] == best]
    r = tied[-1] if zero == "positive" else tied[0]
    ahead = {"mistake": False, "negative": y < r, "positive": y > r}[zero]
    return None if scores[y] > best or (scores[y] == best and ahead) else r


class JointRun(NamedTuple):
    """n(0), n(1), …; the rival of each; W(0), W(1), …; W after each visit; clean cycle?"""

    rows: list
    rivals: list
    weights: list
    after: list
    halted: bool


def joint(  # noqa: PLR0913 - the letters of the slide
    X, y, visits, *, zero="mistake", eta=1.0, W=None, s=None, K=None, most=None
):
    """Correct the right label and its best rival at each mistake met, until no row is one.

    `visits` is the order of rows; "first" is the Octave program's.
    """
    s = np.ones(len(X)) if s is None else np.asarray(s, dtype=float)
    K = max(y) + 1 if K is None else K
    W = np.zeros((K, X.shape[1])) if W is None else np.array(W, dtype=float)
    rows, rivals, weights, after, clean = [], [], [W], [], set()
    kept = [n for n in range(len(X)) if s[n] > 0]
    again = visits == "first"
    visits = iter(kept if again else visits)
    while len(clean) < len(kept) and len(rows) != most:
        n = next(visits, None)
        if n is None:
            break
        if n not in kept:
            continue
        r = beaten_by(W, X[n], y[n], zero)
        if r is None:
            clean.add(n)
        else:
            W = W.copy()
            W[y[n]] += eta * s[n] * X[n]
            W[r] -= eta * s[n] * X[n]
            rows.append(n)
            rivals.append(r)
            weights.append(W)
            clean = set()
            visits = iter(kept) if again else visits
        after.append(W)
    return JointRun(rows, rivals, weights, after, len(clean) == len(kept))
