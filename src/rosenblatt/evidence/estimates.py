"""Estimates of regressions with separation: the finite ones, and bounds of the infinite ones.

Along the direction of separation, the likelihood approaches that of a *limiting model*, in which
the separated rows no longer matter. They have probability 1; or, in a multinomial or ordinal model,
some labels have probability 0; or, in a Cox or conditional model, rows leave their risk set or
matched set. The finite estimates are those of the limiting model. An infinite estimate has a
one-sided bound instead: the value at which the profile likelihood is significantly below its
supremum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse import csgraph

from rosenblatt.clock import NEVER, Deadline
from rosenblatt.engine import one_blas_thread
from rosenblatt.evidence.families import INTERCEPT, Mask, Name, Observations, SignedRegression
from rosenblatt.evidence.likelihood import (
    LINKS,
    Array,
    Evaluate,
    Gram,
    conditional,
    cox,
    glm,
    gram,
    maximize,
    multinomial,
    ordinal,
    poisson,
    solve,
)
from rosenblatt.evidence.modular import independent
from rosenblatt.evidence.reasons import DOWN, ESTIMATES, FINITE, UNKNOWN, UP
from rosenblatt.tables import to_dense

DROP = 2.705543454095404 / 2  # in log-likelihood: half the 90 % quantile of chi-squared(1)
MOST_COEFFICIENTS = 4000  # with more, the dense information matrix would be too large
FIRTH = (("binomial", "logit"), ("cox", "logit"))  # families and links that firthmodels fits
GLM = ("binomial", "poisson", "log-binomial")
WIDE = 1000  # more columns than this are not made orthogonal first
MOST_ENTRIES = 20_000_000  # maximum entries of a design that is made dense or given to firthmodels
QUICK, LEAST = 3e9, 3e7  # maximum multiplications for a printed table: without and with a deadline
SPEED = 1e9  # assumed multiplications per second


class Table(NamedTuple):
    """Estimates, standard errors and bounds to print; no bounds if they take long to compute."""

    estimates: dict[Name, float]
    errors: dict[Name, float]
    bounds: dict[Name, float]


class Fitted(NamedTuple):
    """Fitted coefficients, their standard errors, and the log-likelihood."""

    estimates: Array  # 0 if not identified
    errors: Array
    log_likelihood: float


@dataclass(frozen=True, eq=False)
class ReducedModel:
    """The overlapping rows of a regression, as data for another package.

    The columns are linearly independent on these rows.

    Parameters
    ----------
    X : array of shape (n, d)
        The design; an intercept is one of its columns.
    y : array
        Labels 0 and 1 or shares, counts, or time and event.
    names : tuple
        Names of the columns.
    rows : array of int
        The row number in the data, from 0, of each row.
    weights, groups : arrays or None
        Weights of the rows; their matched sets or strata in the limiting model.
    """

    X: Any
    y: Array
    names: tuple[Name, ...]
    rows: NDArray[np.intp]
    weights: Array | None = None
    groups: NDArray[np.intp] | None = None


@dataclass(frozen=True, eq=False)
class LimitingModel:
    """Model without the separated rows of a regression; its fit gives the finite estimates."""

    family: str
    names: tuple[Name, ...]
    reasons: Mapping[Name, str]
    data: Observations
    overlapping: Mask  # whether each signed row overlaps; empty if there are components
    components: NDArray[np.intp] | None = None  # strata or matched sets of the limiting model
    work: float = QUICK  # maximum multiplications for a printed table

    @classmethod
    def of(
        cls,
        regression: SignedRegression,
        separated: Mask,
        reasons: Mapping[Name, str],
        deadline: Deadline = NEVER,
    ) -> LimitingModel:
        """Create the limiting model of a regression; it is fitted when first needed."""
        work = min(max(SPEED * deadline.left, LEAST), QUICK)
        data, overlapping, components = regression.data, ~separated, None
        if data.pairs is not None:
            winners, losers = (side[overlapping[: len(side)]] for side in data.pairs)
            ones, n = np.ones(len(winners), dtype=bool), data.X.shape[0]
            graph = sparse.coo_array((ones, (winners, losers)), shape=(n, n))
            components = csgraph.connected_components(graph, directed=False)[1].astype(np.intp)
            data, overlapping = data._replace(pairs=None), np.empty(0, dtype=bool)
        return cls(
            *(regression.family, regression.names, reasons, data, overlapping, components, work)
        )

    def explain_no_fit(self) -> str:
        """Explain why the limiting model cannot be fitted; return an empty text if it can."""
        if self.data.unfitted:
            return self.data.unfitted
        weights = self.data.weights
        if self.family == "conditional" and weights is not None and (weights != 1).any():
            return (
                "rows of a matched set have weights, and the likelihood of such a set is not "
                "defined here; give a sample_weight of 0 or 1."
            )
        return "" if self.is_wide else _too_many("estimates", len(self.names))

    @property
    def is_wide(self) -> bool:
        """Whether the design is sparse and too wide for a dense information matrix."""
        dense = isinstance(self.data.X, np.ndarray) or len(self.names) <= WIDE
        return not dense and self.family in GLM and self.data.link != "log"

    @cached_property
    @one_blas_thread()
    def fitted(self) -> Fitted:
        """Fit of the limiting model, computed when first read."""
        if why := self.explain_no_fit():
            raise ValueError(why)
        size, rows = len(self.names), self._rows(limit=True)
        if len(rows) == 0:
            return Fitted(np.zeros(size), np.full(size, np.nan), 0.0)
        evaluate, start, T, Z = self._likelihood(rows, limit=True)
        if self.is_wide:
            return self._fit_by_conjugate_gradients(evaluate, start, T, Z)
        free = _identified(evaluate(start)[2])
        b, value, _ = maximize(evaluate, start, free)
        if not self._is_inside(rows, Z, b):
            raise ValueError(
                "the likelihood is largest on the boundary of the model, with a fitted probability "
                "of 1, so estimates have no standard errors; use the family binomial."
            )
        information = evaluate(b)[2]
        reach = T if free is None else T @ free
        information = information if free is None else free.T @ information @ free
        errors = np.sqrt(np.maximum(((reach @ linalg.pinvh(information)) * reach).sum(axis=1), 0))
        return Fitted(T @ b, errors, value)

    def _fit_by_conjugate_gradients(
        self, evaluate: Evaluate, start: Array, T: Any, Z: Any
    ) -> Fitted:
        """Fit a model of many sparse columns without its information matrix."""
        system, small = Gram(Z), 1e-8 * np.linalg.norm(evaluate(start)[1])

        def find_step(curve: Array, slope: Array, k: int) -> Array:
            return system.solve(curve, slope, max(1e-8, 0.1 ** (k + 1)))

        b, value, slope = maximize(evaluate, start, find_step=find_step)
        if np.linalg.norm(slope) > small:
            raise ValueError(
                "the estimates did not converge; fit your model without the separated rows "
                "(s.rows)."
            )
        curve, errors, scale = evaluate(b)[2], np.full(len(b), np.nan), T.diagonal()
        for j in self._finite[:MOST_COEFFICIENTS]:
            unit = np.zeros(len(b))
            unit[j] = 1.0
            errors[j] = scale[j] * np.sqrt(system.solve(curve, unit, 1e-10)[j])
        return Fitted(T @ b, errors, value)

    @cached_property
    @one_blas_thread()
    def bounds(self) -> dict[Name, float]:
        """One-sided 95 % bound of each estimate that is inf or -inf, computed when first read."""
        signs = {name: {UP: 1.0, DOWN: -1.0}.get(self.reasons[name]) for name in self.names}
        if not any(signs.values()):
            return {}
        if why := _too_many("bounds", len(self.names)):
            raise ValueError(why)
        least = self.fitted.log_likelihood - DROP
        rows = self._rows(limit=False)
        evaluate, start, T, Z = self._likelihood(rows, limit=False)
        free = _identified(evaluate(start)[2])
        free = np.eye(len(start)) if free is None else free
        found = {}
        for j, (name, sign) in enumerate(signs.items()):
            if sign and T[j].any():  # all zeros where floats cannot tell the column from 0
                bound, b = _compute_bound(evaluate, start, sign * T[j], free, least)
                if self._is_inside(rows, Z, b):
                    found[name] = sign * bound
        return found

    def _is_inside(self, rows: NDArray[np.intp], Z: Any, b: Array) -> bool:
        """Return whether all fitted probabilities are at most 1; a log link does not ensure it."""
        if self.data.link != "log":
            return True
        return bool((Z @ b + self._weights_and_offset(rows)[1]).max() <= 1e-9)

    def _weights_and_offset(self, rows: NDArray[np.intp]) -> tuple[Array, Array]:
        weights, offset = self.data.weights, self.data.offset
        return (
            np.ones(len(rows)) if weights is None else weights[rows],
            np.zeros(len(rows)) if offset is None else offset[rows],
        )

    @one_blas_thread()
    def reduced(self) -> ReducedModel:
        """Return the overlapping rows as a design with linearly independent columns."""
        if self.family in ("multinomial", "ordinal"):
            raise ValueError(
                f"with family={self.family!r} there is no reduced design, because a row can be "
                "separated from one label and overlap with another; read s.estimates instead."
            )
        rows, groups = self._rows(limit=True), self._groups(limit=True)
        X = self.data.X[rows]
        small = X.shape[0] * X.shape[1] <= MOST_ENTRIES
        if self.components is None and not isinstance(X, np.ndarray):
            kept = independent(sparse.csr_array(X)).tolist()
            X = to_dense(X) if small else X
        elif small or isinstance(X, np.ndarray):
            X = to_dense(X)
            kept = _independent_columns(X if groups is None else _center(X, groups[rows]))
        else:
            raise ValueError(
                "the reduced design is too large for a dense table; fit your own design without "
                "the rows in s.rows."
            )
        data = self.data
        return ReducedModel(
            X[:, kept],
            data.y[rows],
            tuple(self.names[j] for j in kept),
            data.rows[rows],
            None if data.weights is None else data.weights[rows],
            None if groups is None else groups[rows],
        )

    def firth(self, **options: Any) -> Any:
        """Fit Firth's penalized likelihood on the whole design with firthmodels."""
        try:
            import firthmodels
        except ImportError as error:
            raise ImportError(
                "Firth's estimates need firthmodels; install it with: "
                "pip install 'rosenblatt[firth]'"
            ) from error
        data, names = self.data, self.names
        if why := self.explain_no_firth():
            raise ValueError(why)
        X = to_dense(data.X)
        if self.family == "cox":
            kinds = [("event", bool), ("time", np.float64)]
            y = np.array([(e == 1, t) for t, e in data.y.tolist()], dtype=kinds)
            return firthmodels.FirthCoxPH(**options).fit(X, y)
        weights = np.ones(len(X)) if data.weights is None else data.weights
        shared = (data.y > 0) & (data.y < 1)  # given to firthmodels as two rows, one per label
        y = np.concatenate((data.y > 0, np.zeros(int(shared.sum())))).astype(np.intp)
        weights = np.concatenate(
            (weights * np.where(shared, data.y, 1), (weights * (1 - data.y))[shared])
        )
        offset = None if data.offset is None else np.append(data.offset, data.offset[shared])
        X = np.vstack((X, X[shared])) if shared.any() else X
        intercept = names[0] == INTERCEPT
        model = firthmodels.FirthLogisticRegression(fit_intercept=intercept, **options)
        plain = data.weights is None and not shared.any()
        return model.fit(X[:, 1:] if intercept else X, y, None if plain else weights, offset=offset)

    def explain_no_firth(self) -> str:
        """Explain why firthmodels cannot fit this regression; return an empty text if it can."""
        if self.data.unfitted or (self.family, self.data.link) not in FIRTH:
            return "firthmodels fits only logistic and Cox regressions."
        if UNKNOWN in self.reasons.values():
            return "no row identifies some of the coefficients; leave out their columns first."
        if self.data.X.size > MOST_ENTRIES or len(self.names) > WIDE:
            return "the design is too large for firthmodels."
        if self.family == "cox" and (self.data.groups is not None or self.data.weights is not None):
            return "firthmodels takes neither strata nor weights in a Cox regression."
        return ""

    @cached_property
    def table(self) -> Table | None:
        """Estimates, standard errors and bounds to print; None if slow or impossible to compute."""
        infinite = sum(self.reasons[name] in (UP, DOWN) for name in self.names)
        try:
            width, entries = float(len(self.names)), int(self.data.X.size)
            cost = 20 * width * (entries + width**2)  # of one fit, in multiplications
            wide = 50.0 * entries * (10 + len(self._finite))
            if (wide if self.is_wide else 3 * cost) > self.work or self.explain_no_fit():
                return None
            # Numbers that overflow, or lose all digits, are not shown.
            with np.errstate(divide="raise", over="raise", invalid="raise"):
                return Table(
                    self.estimates,
                    self.standard_errors,
                    self.bounds if 4 * infinite * cost <= self.work else {},
                )
        except (ValueError, ArithmeticError, linalg.LinAlgError, KeyboardInterrupt):
            return None

    @cached_property
    def estimates(self) -> dict[Name, float]:
        """Estimate of each coefficient: inf, -inf or nan if it is not finite."""
        found = {name: ESTIMATES[self.reasons[name]] for name in self.names}
        values = self.fitted.estimates.tolist()
        return found | {self.names[j]: values[j] for j in self._finite}

    @cached_property
    def standard_errors(self) -> dict[Name, float]:
        """Standard error of each estimate: nan if the estimate is not finite."""
        if self.is_wide and (why := _too_many("standard errors", len(self._finite))):
            raise ValueError(why)
        errors = self.fitted.errors.tolist()
        return dict.fromkeys(self.names, np.nan) | {self.names[j]: errors[j] for j in self._finite}

    @cached_property
    def _finite(self) -> list[int]:
        return [j for j, name in enumerate(self.names) if self.reasons[name] == FINITE]

    def _rows(self, *, limit: bool) -> NDArray[np.intp]:
        """Return the numbers of all rows or, if `limit` is true, of those in the limiting model."""
        if not limit:
            return np.arange(self.data.X.shape[0])
        if self.components is not None:
            return np.flatnonzero(np.bincount(self.components)[self.components] > 1)
        if self.family in GLM:
            return np.flatnonzero(self.overlapping)
        possible = self._possible(limit=True).sum(axis=1)
        return np.flatnonzero(possible > (self.family == "multinomial"))

    def _groups(self, *, limit: bool) -> NDArray[np.intp] | None:
        """Return the matched set or stratum of each row, or None if the family has neither.

        If `limit` is true, these are the smaller sets or strata of the limiting model.
        """
        if self.components is None or limit:
            return self.components
        whole = np.zeros(len(self.components), dtype=np.intp)
        return whole if self.data.groups is None else self.data.groups

    def _basis(self, rows: NDArray[np.intp], *, limit: bool) -> tuple[Any, Array]:
        """Compute a well-scaled basis of the design's column space, restricted to the given rows.

        It is orthogonal if the columns are few and dense, else the columns themselves, scaled. Also
        returns the matrix that maps coefficients of these columns to those of the design.
        """
        X, groups = self.data.X, self._groups(limit=limit)
        part = X if len(rows) == X.shape[0] else X[rows]
        if groups is not None:
            part = _center(to_dense(part), groups[rows])
        if not isinstance(part, np.ndarray) or part.shape[1] > WIDE or 0 in part.shape:
            if isinstance(part, np.ndarray):
                length = np.abs(part).max(axis=0, initial=0.0)
            else:
                length = np.abs(part).max(axis=0).toarray().ravel()
            scale = 1 / np.where(length > 0, length, 1.0)
            Z = part * scale if isinstance(part, np.ndarray) else part @ sparse.diags_array(scale)
            return Z, sparse.diags_array(scale) if self.is_wide and limit else np.diag(scale)
        length = np.linalg.norm(part, axis=0)
        scale = 1 / np.where(length > 0, length, 1.0)
        Z, R, order = linalg.qr(part * scale, mode="economic", pivoting=True)
        rank = int(np.sum(np.abs(np.diag(R)) > 1e-12 * max(abs(R[0, 0]), 1e-300)))
        T = np.zeros((part.shape[1], rank))
        T[order[:rank]] = linalg.solve_triangular(R[:rank, :rank], np.eye(rank))
        size = np.sqrt(len(rows))  # makes entries of about 1, whatever the number of rows
        return Z[:, :rank] * size, scale[:, None] * T * size

    def _possible(self, *, limit: bool) -> Mask:
        """Return, for each row, a mask of the labels or thresholds that affect its likelihood.

        It has a column per label (multinomial), or two for the thresholds above and below the
        row's label (ordinal).
        """
        codes, overlapping = self.data.y.astype(np.intp), self.overlapping if limit else True
        highest = int(codes.max())
        if self.family == "multinomial":
            possible = np.ones((len(codes), highest + 1), dtype=bool)
            own = np.arange(highest + 1) == codes[:, None]
            possible[~own] = overlapping
            return possible
        sides = np.column_stack((codes < highest, codes > 0))
        sides[sides] = overlapping
        return sides

    def _likelihood(
        self, rows: NDArray[np.intp], *, limit: bool
    ) -> tuple[Evaluate, Array, Array, Any]:
        """Return the log-likelihood of some rows as a function, and its argument to start from.

        The argument is a vector of coefficients of a basis of the design's columns. Also returns
        the matrix that maps it to the coefficients of the design, and the basis.
        """
        (Z, T), data, family = self._basis(rows, limit=limit), self.data, self.family
        start = np.zeros(T.shape[1])
        y = data.y[rows]
        weights, offset = self._weights_and_offset(rows)
        if family in GLM:
            diagonal = self.is_wide and limit
            if family == "poisson" and not diagonal:
                near = y + 0.5
                wanted = weights * near * (np.log(near) - offset)
                start = solve(gram(Z, weights * near), Z.T @ wanted)
            elif data.link == "log":
                wanted = np.log(np.clip(weights @ y / weights.sum(), 0.01, 0.9)) - offset
                start = solve(gram(Z, np.ones(len(rows))), Z.T @ wanted)
            terms = poisson if family == "poisson" else LINKS[data.link]
            return glm(Z, y, weights, offset, terms, diagonal=diagonal), start, T, Z
        groups = self._groups(limit=limit)
        if groups is not None:
            if family == "conditional":
                return conditional(Z, y > 0, groups[rows]), start, T, Z
            return cox(Z, y, groups[rows], weights, data.efron), start, T, Z
        codes = y.astype(np.intp)
        highest, possible = int(data.y.max()), self._possible(limit=limit)[rows]
        if family == "multinomial":
            start, T = np.zeros(highest * T.shape[1]), linalg.block_diag(*[T] * highest)
            return multinomial(Z, codes, possible, weights), start, T, Z
        share = np.cumsum(np.bincount(data.y.astype(np.intp)))[:-1] / len(data.y)
        start = np.concatenate((np.log(share / (1 - share)), start))
        T = linalg.block_diag(np.eye(highest), T)
        return ordinal(Z, codes, possible, weights, highest), start, T, Z


def _too_many(what: str, count: int) -> str:
    """Return an error message if there are too many coefficients, or else an empty text."""
    if count <= MOST_COEFFICIENTS:
        return ""
    return (
        f"{what} of {count:,} coefficients are not computed here (at most "
        f"{MOST_COEFFICIENTS:,}); leave out the rows in s.rows and fit the model in a "
        "package that absorbs fixed effects, such as pyfixest."
    )


def _center(X: Array, groups: NDArray[np.intp]) -> Array:
    """Subtract from each row the mean of its group.

    The first row of each group is subtracted before the mean. So small differences between large
    numbers are kept, and columns that are constant in each group become exactly zero.
    """
    first, groups = np.unique(groups, return_index=True, return_inverse=True)[1:]
    X = X - X[first[groups]]
    sums = np.zeros((len(first), X.shape[1]))
    np.add.at(sums, groups, X)
    centered: Array = X - (sums / np.bincount(groups)[:, None])[groups]
    return centered


def _independent_columns(X: Array) -> list[int]:
    """Return the indices of the columns that do not depend linearly on earlier columns."""
    kept: list[int] = []
    Q = np.empty(X.shape, order="F")
    for j, column in enumerate(X.T):
        some, left = Q[:, : len(kept)], column
        for _ in range(2):  # the second time removes rounding errors
            left = left - some @ (some.T @ left)
        length = np.linalg.norm(left)
        if length > 1e-10 * np.linalg.norm(column):
            Q[:, len(kept)] = left / length
            kept.append(j)
    return kept


def _identified(information: Array) -> Array | None:
    """Return a matrix that selects the identified coefficients, or None if all are identified.

    Its columns are unit vectors.
    """
    scale = 1 / np.sqrt(np.maximum(np.diag(information), 1e-300))
    scaled = information * scale * scale[:, None]
    _, order, rank, _ = linalg.lapack.dpstrf(scaled, 1e-11)
    if rank == len(scale):
        return None
    return np.asarray(np.eye(len(scale))[:, np.sort(order[:rank] - 1)])


def _compute_bound(
    evaluate: Evaluate, start: Array, row: Array, free: Array, least: float
) -> tuple[float, Array]:
    """Compute the lower profile-likelihood bound of a linear function row·b of coefficients b.

    Returns the bound, at which the profile log-likelihood is `least`, and b. The profile is concave
    and rises, so Newton's method never passes the root from below.
    """
    row = free.T @ row
    length = float(row @ row)
    along = free @ (row / length)  # moves row·b by 1
    others = free @ np.linalg.qr(row[:, None], mode="complete")[0][:, 1:]
    scale = length**0.5
    b, low, high = start, -np.inf, np.inf
    at = max(float(row @ (free.T @ b)), 0.0)
    for _ in range(100):
        b = b + along * (at - float(row @ (free.T @ b)))
        b, value, slope = maximize(evaluate, b, others, gain=1e-11)
        above, rise = value - least, float(along @ slope)
        low, high = (at, high) if above < 0 else (low, at)
        if abs(above) < 1e-10:
            break
        new = at - above / rise if rise > 0 else -np.inf
        if above > 0:
            new = max(new, at - 8 * scale)
        if not low < new < high:
            new = (low + high) / 2 if np.isfinite(low + high) else at - np.sign(above) * 8 * scale
        if abs(new - at) <= 1e-12 * abs(at):
            break
        at = new
    return at, b
