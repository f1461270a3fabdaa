"""Log-likelihoods with their derivatives, and Newton's method to maximize them.

The function of each family returns `evaluate`, which maps coefficients to the log-likelihood, its
gradient and the observed information. All log-likelihoods are concave. If one has no maximum
because it grows without end, Newton's method still comes close to its supremum: the distance falls
by a factor e with each step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
LARGEST_SET = 20_000_000  # limit for size² × cases of one matched set


def maximize(
    evaluate: Evaluate, start: Array, free: Array | None = None, gain: float = 1e-20
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

    Returns
    -------
    tuple
        The coefficients, the log-likelihood and its gradient there.
    """
    b = start
    value, slope, information = evaluate(b)
    for _ in range(MOST_STEPS):
        g, J = (slope, information) if free is None else (free.T @ slope, free.T @ information)
        step = solve(J if free is None else J @ free, g)
        predicted = float(step @ g)
        if not predicted > gain:
            break
        step = step if free is None else free @ step
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


def glm(Z: Any, y: Array, weights: Array, offset: Array, terms: Terms) -> Evaluate:
    """Return the log-likelihood function, with derivatives, of a generalized linear model."""

    def evaluate(b: Array) -> tuple[float, Array, Array]:
        with np.errstate(all="ignore"):
            value, slope, curve = terms(Z @ b + offset, y)
        total = float(weights @ value)
        if not np.isfinite(total):
            return -np.inf, b, np.eye(len(b))
        return total, Z.T @ (weights * slope), gram(Z, weights * curve)

    return evaluate


class Gram:
    """Solver of Z'·diag(weights)·Z·x = g by conjugate gradients, for a Z of many sparse columns."""

    def __init__(self, Z: Any) -> None:
        self.Z, self.T, self.squares = Z, Z.T.tocsr(), (Z * Z).T.tocsr()

    def solve(self, weights: Array, g: Array, accuracy: float, steps: int) -> Array:
        """Solve Z'·diag(weights)·Z·x = g for x to `accuracy`, in at most `steps` iterations."""
        diagonal, shape = np.maximum(self.squares @ weights, 1e-300), (len(g), len(g))
        matrix = LinearOperator(shape, lambda v: self.T @ (weights * (self.Z @ v)))
        inverse = LinearOperator(shape, lambda v: v / diagonal)
        return np.asarray(cg(matrix, g, rtol=accuracy, maxiter=steps, M=inverse)[0])


def maximize_by_cg(
    X: Any, y: Array, weights: Array, offset: Array, terms: Terms, wanted: Sequence[int]
) -> tuple[Array, Array, float]:
    """Maximize the likelihood of a generalized linear model with many sparse columns.

    The steps of Newton's method are found by conjugate gradients, without an information matrix.
    Returns the coefficients, standard errors of those in `wanted`, and the log-likelihood.
    """
    scale = 1 / np.maximum(abs(X).max(axis=0).toarray().ravel(), 1e-300)
    Z = (X @ sparse.diags_array(scale)).tocsr()
    b, system = np.zeros(Z.shape[1]), Gram(Z)

    def evaluate(b: Array) -> tuple[float, Array, Array]:
        with np.errstate(all="ignore"):
            value, slope, curve = terms(Z @ b + offset, y)
        return float(weights @ value), system.T @ (weights * slope), weights * curve

    value, slope, curve = evaluate(b)
    small = 1e-11 * np.linalg.norm(slope)  # not far above the rounding error of the slope
    for k in range(MOST_STEPS):
        if np.linalg.norm(slope) <= small:
            break
        step, size = system.solve(curve, slope, max(1e-8, 0.1 ** (k + 1)), CG_STEPS), 1.0
        while not (new := evaluate(b + size * step))[0] >= value - 1e-13 * (1 + abs(value)):
            size /= 2
            if size < 1e-12:
                break
        b, (value, slope, curve) = b + size * step, new
    else:
        raise ValueError(
            "the estimates did not converge; fit your model without the separated rows (s.rows)."
        )
    errors = np.full(len(b), np.nan)
    for j in wanted:
        unit = np.zeros(len(b))
        unit[j] = 1.0
        errors[j] = scale[j] * np.sqrt(system.solve(curve, unit, 1e-10, CG_STEPS)[j])
    return scale * b, errors, value


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


class Strata:
    """Rows of each stratum of a Cox model, sorted from last to first time, and its tied events."""

    def __init__(
        self, time: Array, event: NDArray[np.bool_], strata: NDArray[np.intp], weights: Array
    ) -> None:
        order = np.lexsort((-time, strata))
        split = np.flatnonzero(np.diff(strata[order])) + 1
        self.rows = [rows for rows in np.split(order, split) if event[rows].any()]
        self.ties = []
        for rows in self.rows:
            times, events = time[rows], np.flatnonzero(event[rows])
            last = np.searchsorted(-times, -times[events], side="right") - 1
            tie = np.unique(last, return_inverse=True)[1]
            size = np.bincount(tie)
            first = np.cumsum(size) - size
            order_in_tie = np.arange(len(events)) - np.repeat(first, size)
            mean = np.bincount(tie, weights[rows[events]]) / size
            self.ties.append((events, last, tie, order_in_tie / size[tie], mean[tie]))


def cox(
    Z: Any, strata: Strata, event: NDArray[np.bool_], weights: Array, efron: bool = True
) -> Evaluate:
    """Return the log partial likelihood function of a Cox model, with Efron or Breslow ties."""
    Z = to_dense(Z)

    def evaluate(b: Array) -> tuple[float, Array, Array]:
        eta, value, psi = Z @ b, 0.0, np.zeros(len(Z))
        minus = np.zeros((len(b), len(b)))
        for rows, (events, last, tie, share, v) in zip(strata.rows, strata.ties, strict=True):
            top = eta[rows].max()
            w = weights[rows]
            with np.errstate(under="ignore"):
                risk = w * np.exp(eta[rows] - top)
            moments = risk[:, None] * Z[rows]
            denominator, mean = np.cumsum(risk)[last], np.cumsum(moments, axis=0)[last]
            if efron:
                denominator = denominator - share * np.bincount(tie, risk[events])[tie]
                tied = np.zeros((tie.max() + 1, Z.shape[1]))
                np.add.at(tied, tie, moments[events])
                mean = mean - share[:, None] * tied[tie]
            if not (denominator > 0).all():
                return -np.inf, b, np.eye(len(b))
            mean = mean / denominator[:, None]
            value += float(w[events] @ (eta[rows[events]] - top) - v @ np.log(denominator))
            hazard = np.bincount(last, v / denominator, minlength=len(rows))
            shares = np.cumsum(hazard[::-1])[::-1].copy()
            if efron:
                shares[events] -= np.bincount(tie, share * v / denominator)[tie]
            psi[rows] = risk * shares
            minus += mean.T @ (v[:, None] * mean)
        return value, Z.T @ (weights * event - psi), gram(Z, psi) - minus

    return evaluate


def conditional(Z: Any, cases: NDArray[np.bool_], groups: NDArray[np.intp]) -> Evaluate:
    """Return the conditional log-likelihood function of matched sets, with any number of cases."""
    Z = to_dense(Z)
    order = np.argsort(groups, kind="stable")
    sets = np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
    single = np.zeros(len(cases), dtype=bool)
    several = []
    for rows in sets:
        m = int(cases[rows].sum())
        if m == 1:
            single[rows] = True
        elif 1 < m < len(rows):
            if len(rows) ** 2 * m > LARGEST_SET:
                raise ValueError(
                    f"a matched set has {m:,} cases among {len(rows):,} rows, too many to compute "
                    "its likelihood; split it into smaller sets."
                )
            several.append((rows, m))
    alone, ones = np.flatnonzero(single), np.ones(int(single.sum()))
    part = cox(
        Z[alone], Strata(ones, cases[alone], groups[alone], ones), cases[alone], ones, efron=False
    )

    def evaluate(b: Array) -> tuple[float, Array, Array]:
        value, slope, information = part(b)
        for rows, m in several:
            z = Z[rows]
            eta = z @ b
            eta = eta - eta.max()
            total, one, two = inclusion(np.exp(eta), m)
            value += float(eta[cases[rows]].sum() - np.log(total))
            slope = slope + z[cases[rows]].sum(axis=0) - z.T @ one
            information = information + z.T @ (two - np.outer(one, one)) @ z
        return value, slope, information

    return evaluate


def inclusion(w: Array, m: int) -> tuple[float, Array, Array]:
    """Compute the probability that a random set of m rows includes each row, and each pair.

    The probability of a subset is proportional to the product of its numbers in w. Returns the sum
    of these products, the probability of each row, and a matrix of the probabilities of pairs.
    """
    n = len(w)
    # sums[i, j, k]: sum of all products of k numbers, those of rows i and j left out
    sums = np.zeros((n, n, m + 1))
    sums[:, :, 0] = 1.0
    for k in range(n):
        factor = np.full((n, n), w[k])
        factor[k, :] = factor[:, k] = 0.0
        sums[:, :, 1:] += factor[:, :, None] * sums[:, :, :-1]
    without = np.diagonal(sums).T  # only row i left out
    total = float(without[0, m] + w[0] * without[0, m - 1])
    one = w * without[:, m - 1] / total
    two = np.outer(w, w) * sums[:, :, m - 2] / total
    np.fill_diagonal(two, one)
    return total, one, two
