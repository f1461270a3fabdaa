"""Log-likelihoods with their derivatives, and Newton's method to maximize them.

The function of each family returns `evaluate`, which maps coefficients to the log-likelihood, its
gradient and the observed information. All log-likelihoods are concave. If one has no maximum
because it grows without end, Newton's method still comes close to its supremum: the distance falls
by a factor e with each step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, cg
from scipy.special import expit, log_ndtr

from rosenblatt.tables import to_dense

Array = NDArray[np.float64]
Evaluate = Callable[[Array], tuple[float, Array, Array]]
PerRow = tuple[Array, Array, Array]  # log-likelihood, its slope and curvature, per row
Terms = Callable[[Array, Array], PerRow]  # takes scores and targets

BLOCK = 1 << 16  # rows that are multiplied by weights at a time
MOST_STEPS = 200
CG_STEPS = 2000  # maximum steps of conjugate gradients in one step of Newton's method
FAR = 50.0  # a log-probability this large means that there is no maximum
AT_ONCE = 1 << 17  # numbers in one table of matched sets that are computed together
LARGEST_SET = 20_000_000  # limit for size² × cases of one matched set


def maximize(
    evaluate: Evaluate,
    start: Array,
    free: Array | None = None,
    gain: float = 1e-20,
    find_step: Callable[[Array, Array, int], Array] | None = None,
) -> tuple[Array, float, Array]:
    """Maximize a log-likelihood by Newton's method with step halving.

    Parameters
    ----------
    evaluate : callable
        Returns log-likelihood, gradient and information, given coefficients.
    start : array
        Coefficients to start from.
    free : array, optional
        Columns that span the directions in which the coefficients may move (default: all).
    gain : float
        Smallest predicted gain of a step that is still made.
    find_step : callable, optional
        Returns Newton's step, given information, gradient and the number of steps so far.

    Returns
    -------
    tuple
        The coefficients, the log-likelihood and its gradient there.
    """
    b = start
    value, slope, information = evaluate(b)
    for k in range(MOST_STEPS):
        if find_step is not None:
            step = find_step(information, slope, k)
        elif free is None:
            step = solve(information, slope)
        else:
            step = free @ solve(free.T @ information @ free, free.T @ slope)
        predicted = float(step @ slope)
        if not predicted > gain:
            break
        rounding, size = 1e-13 * (1 + abs(value)), 1.0
        while True:
            new = evaluate(b + size * step)
            if new[0] >= value + 1e-4 * size * predicted - rounding:
                break
            size /= 2
            if size < 1e-12:
                return b, value, slope
        b, (value, slope, information) = b + size * step, new
        if predicted < rounding / 100:  # only rounding errors are left
            break
    return b, value, slope


def solve(J: Array, g: Array) -> Array:
    """Solve J·x = g for x; the symmetric matrix J may be numerically singular."""
    scale = 1 / np.sqrt(np.maximum(np.diag(J), 1e-300))
    scaled = J * scale * scale[:, None]
    for ridge in (0.0, 1e-13, 1e-11, 1e-9, 1e-6, 1e-3):
        try:
            factor = linalg.cho_factor(scaled + ridge * np.eye(len(g)))
        except linalg.LinAlgError:
            continue
        step = np.asarray(linalg.cho_solve(factor, scale * g))
        if np.isfinite(step).all():
            return np.asarray(scale * step)
    return g * scale**2


def gram(Z: Any, weights: Array, other: Any = None) -> Array:
    """Compute the weighted Gram matrix Z'·diag(weights)·Z, or Z'·diag(weights)·other if given."""
    other = Z if other is None else other
    if not isinstance(Z, np.ndarray):
        return np.asarray((Z.T @ (sparse.diags_array(weights) @ other)).toarray())
    total = np.zeros((Z.shape[1], other.shape[1]))
    for first in range(0, len(Z), BLOCK):
        part = slice(first, first + BLOCK)
        total += Z[part].T @ (weights[part, None] * other[part])
    return total


def glm(
    Z: Any, y: Array, weights: Array, offset: Array, terms: Terms, *, diagonal: bool = False
) -> Evaluate:
    """Return the log-likelihood function, with derivatives, of a generalized linear model.

    If `diagonal`, it returns only the diagonal D of the information Z'·D·Z.
    """

    def evaluate(b: Array) -> tuple[float, Array, Array]:
        with np.errstate(all="ignore"):
            value, slope, curve = terms(Z @ b + offset, y)
        total = float(weights @ value)
        if not np.isfinite(total):
            return -np.inf, b, np.eye(0 if diagonal else len(b))
        curve = weights * curve
        return total, Z.T @ (weights * slope), curve if diagonal else gram(Z, curve)

    return evaluate


class Gram:
    """Solver of Z'·diag(weights)·Z·x = g by conjugate gradients, for a Z of many sparse columns."""

    def __init__(self, Z: Any) -> None:
        self.Z, self.T, self.squares = Z, Z.T.tocsr(), (Z * Z).T.tocsr()

    def solve(self, weights: Array, g: Array, accuracy: float, steps: int = CG_STEPS) -> Array:
        """Solve Z'·diag(weights)·Z·x = g for x to `accuracy`, in at most `steps` iterations."""
        diagonal, shape = np.maximum(self.squares @ weights, 1e-300), (len(g), len(g))
        matrix = LinearOperator(shape, lambda v: self.T @ (weights * (self.Z @ v)))
        inverse = LinearOperator(shape, lambda v: v / diagonal)
        return np.asarray(cg(matrix, g, rtol=accuracy, maxiter=steps, M=inverse)[0])


def logit(eta: Array, y: Array) -> PerRow:
    """Return log-likelihood, slope and curvature of each row for the logit link."""
    p = expit(eta)
    return y * eta - np.logaddexp(0, eta), y - p, p * (1 - p)


def poisson(eta: Array, y: Array) -> PerRow:
    """Return log-likelihood, slope and curvature of each count, without the factorials."""
    mean = np.exp(eta)
    return y * eta - mean, y - mean, mean


def probit(eta: Array, y: Array) -> PerRow:
    """Return log-likelihood, slope and curvature of each row for the probit link."""

    def log_cdf(x: Array) -> PerRow:
        value = log_ndtr(x)
        ratio = np.exp(-x * x / 2 - value) / np.sqrt(2 * np.pi)
        return value, ratio, ratio * (ratio + x)

    value, slope, curve = log_cdf(-eta)
    return _mix(y, log_cdf(eta), (value, -slope, curve))


def cloglog(eta: Array, y: Array) -> PerRow:
    """Return log-likelihood, slope and curvature of each row for the mean 1 - exp(-exp(eta))."""
    u = np.exp(eta)
    ratio = np.where(u < 1e-300, 1.0, u / np.expm1(u))
    return _mix(y, (np.log(-np.expm1(-u)), ratio, ratio * (u + ratio - 1)), (-u, -u, u))


def loglog(eta: Array, y: Array) -> PerRow:
    """Return log-likelihood, slope and curvature of each row for the mean exp(-exp(-eta))."""
    value, slope, curve = cloglog(-eta, 1 - y)
    return value, -slope, curve


def relative_risk(eta: Array, y: Array) -> PerRow:
    """Return log-likelihood, slope and curvature of each row for the log link.

    The mean exp(eta) may be above 1 in rows whose share is 1.
    """
    r = 1 / np.expm1(-eta)
    own = np.where(eta < FAR, eta, -np.inf), np.ones(len(eta)), np.zeros(len(eta))
    value = np.where(eta < 0, np.log(-np.expm1(eta)), -np.inf)
    return _mix(y, own, (value, -r, r * (1 + r)))


def _mix(y: Array, own: PerRow, other: PerRow) -> PerRow:
    """Average the log-likelihoods of success and failure with the weights y and 1 - y."""
    pairs = zip(own, other, strict=True)
    a, b, c = (np.where(y > 0, y * u, 0) + np.where(y < 1, (1 - y) * v, 0) for u, v in pairs)
    return a, b, c


LINKS: dict[str, Terms] = {
    "logit": logit,
    "probit": probit,
    "cloglog": cloglog,
    "loglog": loglog,
    "log": relative_risk,
}


def multinomial(Z: Any, codes: NDArray[np.intp], possible: Any, weights: Array) -> Evaluate:
    """Return the log-likelihood function of a multinomial logistic regression.

    `possible` has a column per label: False if the label has probability 0 in the limiting model.
    The first label is the reference.
    """
    n, labels = possible.shape
    own = np.zeros((n, labels))
    own[np.arange(n), codes] = 1.0

    def evaluate(b: Array) -> tuple[float, Array, Array]:
        eta = np.zeros((n, labels))
        eta[:, 1:] = Z @ b.reshape(labels - 1, -1).T
        eta[~possible] = -np.inf
        eta -= eta.max(axis=1, keepdims=True)
        total = np.log(np.exp(eta).sum(axis=1))
        p = np.exp(eta - total[:, None])
        value = float(weights @ (eta[np.arange(n), codes] - total))
        slope = (Z.T @ (weights[:, None] * (own - p)[:, 1:])).T.ravel()
        blocks = [
            [gram(Z, weights * p[:, k] * ((k == m) - p[:, m])) for m in range(1, labels)]
            for k in range(1, labels)
        ]
        return value, slope, np.block(blocks)

    return evaluate


def ordinal(Z: Any, codes: NDArray[np.intp], sides: Any, weights: Array, highest: int) -> Evaluate:
    """Return the log-likelihood function of an ordinal regression with proportional odds.

    Its arguments are the thresholds, followed by the slopes.

    The probability of a label is F(u) - F(l) = F(u)·(1 - F(l))·(1 - exp(l - u)), where u and l are
    the thresholds above and below the label, minus the row's score. `sides` has two columns:
    whether the threshold above matters, and whether the one below does.
    """
    stack = np.hstack if isinstance(Z, np.ndarray) else lambda t: sparse.hstack(t, format="csr")
    places = np.clip(np.column_stack((codes, codes - 1)), 0, highest - 1)
    identity = np.eye(highest)
    U, L = (stack([identity[places[:, k]], -Z]) for k in (0, 1))
    above, below = sides[:, 0], sides[:, 1]
    both = above & below

    def evaluate(b: Array) -> tuple[float, Array, Array]:
        u, low = U @ b, L @ b
        gap = np.where(both, u - low, 1.0)
        if not (gap > 0).all():
            return -np.inf, b, np.eye(len(b))
        value = np.where(above, -np.logaddexp(0, -u), 0) - np.where(below, np.logaddexp(0, low), 0)
        value += np.where(both, np.log(-np.expm1(-gap)), 0)
        r = np.where(both, 1 / np.expm1(np.minimum(gap, 700)), 0)
        curve = weights * r * (1 + r)
        du = weights * (np.where(above, expit(-u), 0) + r)
        dl = -weights * (np.where(below, expit(low), 0) + r)
        uu = curve + weights * np.where(above, expit(u) * expit(-u), 0)
        ll = curve + weights * np.where(below, expit(low) * expit(-low), 0)
        cross = gram(U, curve, L)
        information = gram(U, uu) + gram(L, ll) - cross - cross.T
        return float(weights @ value), U.T @ du + L.T @ dl, information

    return evaluate


def cox(Z: Any, y: Array, strata: NDArray[np.intp], weights: Array, efron: bool) -> Evaluate:
    """Return the log partial likelihood function of a Cox model, with Efron or Breslow ties.

    y has two columns: time and event.
    """
    Z, time, event = to_dense(Z), y[:, 0], y[:, 1] == 1
    order = np.lexsort((-time, strata))
    blocks = []
    for rows in np.split(order, np.flatnonzero(np.diff(strata[order])) + 1):
        events = np.flatnonzero(event[rows])  # rows are sorted from the last time to the first
        last = np.searchsorted(-time[rows], -time[rows[events]], side="right") - 1
        _, tie, size = np.unique(last, return_inverse=True, return_counts=True)
        share = (np.arange(len(events)) - (np.cumsum(size) - size)[tie]) / size[tie]
        mean = np.bincount(tie, weights[rows[events]], len(size)) / size
        if len(events):
            blocks.append((rows, events, last, tie, share * efron, mean[tie]))

    def evaluate(b: Array) -> tuple[float, Array, Array]:
        eta, value, psi = Z @ b, 0.0, np.zeros(len(Z))
        minus = np.zeros((len(b), len(b)))
        for rows, events, last, tie, share, v in blocks:
            top = eta[rows].max()
            w = weights[rows]
            with np.errstate(under="ignore"):
                risk = w * np.exp(eta[rows] - top)
            moments = risk[:, None] * Z[rows]
            denominator = np.cumsum(risk)[last] - share * np.bincount(tie, risk[events])[tie]
            if not (denominator > 0).all():
                return -np.inf, b, np.eye(len(b))
            tied = np.zeros((tie.max() + 1, Z.shape[1]))
            np.add.at(tied, tie, moments[events])
            mean = np.cumsum(moments, axis=0)[last] - share[:, None] * tied[tie]
            mean = mean / denominator[:, None]
            value += float(w[events] @ (eta[rows[events]] - top) - v @ np.log(denominator))
            hazard = np.bincount(last, v / denominator, minlength=len(rows))
            shares = np.cumsum(hazard[::-1])[::-1].copy()
            shares[events] -= np.bincount(tie, share * v / denominator)[tie]
            psi[rows] = risk * shares
            minus += mean.T @ (v[:, None] * mean)
        return value, Z.T @ (weights * event - psi), gram(Z, psi) - minus

    return evaluate


def conditional(Z: Any, cases: NDArray[np.bool_], groups: NDArray[np.intp]) -> Evaluate:
    """Return the conditional log-likelihood function of matched sets, with any number of cases.

    In a set of m cases, a set of m rows is as probable as the product of exp(z·b) over its rows,
    divided by the sum of these products over all sets of m rows.
    """
    Z = to_dense(Z)
    order = np.argsort(groups, kind="stable")
    sets = np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
    numbers = [int(cases[rows].sum()) for rows in sets]
    alike: dict[tuple[int, int], list[Any]] = {}  # sets of several cases, by size and cases
    for rows, m in zip(sets, numbers, strict=True):
        if len(rows) ** 2 * m > LARGEST_SET and 1 < m < len(rows):
            raise ValueError(
                f"a matched set has {m:,} cases among {len(rows):,} rows, too many to compute "
                "its likelihood; split it into smaller sets."
            )
        if 1 < m < len(rows):
            alike.setdefault((len(rows), m), []).append(rows)
    several = []
    for (_, m), same in alike.items():
        at_once = 1 + AT_ONCE // (m * min(Z.shape[1], len(same[0])) ** 2 + 1)
        several += [(same[k : k + at_once], m) for k in range(0, len(same), at_once)]
    singles = [rows for rows, m in zip(sets, numbers, strict=True) if m == 1]
    alone = np.concatenate([*singles, order[:0]])  # rows of all sets with one case
    sizes = np.array([len(rows) for rows in singles], dtype=np.intp)
    starts, owner = np.cumsum(sizes) - sizes, np.repeat(np.arange(len(sizes)), sizes)
    X, is_case = Z[alone], cases[alone]

    def evaluate(b: Array) -> tuple[float, Array, Array]:
        eta = X @ b
        eta = eta - np.maximum.reduceat(eta, starts)[owner]
        with np.errstate(under="ignore"):
            p = np.exp(eta)
            total = np.add.reduceat(p, starts)
            p = p / total[owner]
        mean = np.add.reduceat(p[:, None] * X, starts)
        value = float(eta[is_case].sum() - np.log(total).sum())
        slope = X[is_case].sum(axis=0) - mean.sum(axis=0)
        information = gram(X, p) - mean.T @ mean
        for some, m in several:
            z, chosen = Z[some], cases[some]
            eta = z @ b
            eta = eta - eta.max(axis=1, keepdims=True)
            # Sums of the products of k weights, for k up to m, and their derivatives, per set: by b
            # or, if columns outnumber rows, by the scores of the rows.
            by_row = len(b) > z.shape[1]
            along = np.broadcast_to(np.eye(z.shape[1]), z.shape[:2] + z.shape[1:2]) if by_row else z
            sums, first = np.zeros((m + 1, len(z))), np.zeros((m + 1, len(z), along.shape[2]))
            second = np.zeros((*first.shape, along.shape[2]))
            sums[0] = 1.0
            for w, x in zip(np.exp(eta).T[:, :, None], along.transpose(1, 0, 2), strict=True):
                cross = first[:-1, :, None] * x[:, :, None]
                both = sums[:-1, :, None, None] * (x[:, None] * x[:, :, None])
                change = second[:-1] + cross + cross.swapaxes(2, 3) + both
                second[1:] += w[:, :, None] * change
                first[1:] += w * (first[:-1] + sums[:-1, :, None] * x)
                sums[1:] += w[:, 0] * sums[:-1]
            mean = first[m] / sums[m][:, None]
            value += float(eta[chosen].sum() - np.log(sums[m]).sum())
            spread = second[m] / sums[m][:, None, None] - mean[:, :, None] * mean[:, None, :]
            if by_row:
                slope = slope + z[chosen].sum(axis=0) - np.einsum("sr,srj->j", mean, z)
                flat = z.reshape(-1, len(b))
                information += flat.T @ (spread @ z).reshape(flat.shape)
            else:
                slope = slope + z[chosen].sum(axis=0) - mean.sum(axis=0)
                information += spread.sum(axis=0)
        return value, slope, information

    return evaluate
