"""Separation: which estimates of a regression are infinite, why, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.checks import positive_number
from rosenblatt.clock import Deadline, OutOfTimeError
from rosenblatt.errors import FROM_ZERO, Message, Parameter, RowNames
from rosenblatt.evidence.certificate import ProofError
from rosenblatt.evidence.cone import Watch, explain_end, partition
from rosenblatt.evidence.estimates import GLM, LimitingModel, ReducedModel
from rosenblatt.evidence.families import (
    INTERCEPT,
    Name,
    SignedRegression,
    add_intercept,
    sign_regression,
)
from rosenblatt.evidence.integers import EXACT
from rosenblatt.evidence.minnorm import SolverProgress
from rosenblatt.evidence.reasons import (
    DOWN,
    ESTIMATES,
    FINITE,
    INFINITE,
    SHORT,
    UNDECIDED,
    UNKNOWN,
    UP,
    find_reasons,
)
from rosenblatt.evidence.regressioninput import find_regression
from rosenblatt.evidence.separationproof import (
    SeparationProof,
    find_separated,
    fingerprint_of,
    kind_of,
)
from rosenblatt.examples import Examples
from rosenblatt.read.inputs import Target, explain_parameters
from rosenblatt.text import join_words, plural, render_card, sanitize

SHOWN = 60  # most coefficients in a table; if there are more, infinite ones come first


@dataclass(frozen=True, eq=False)
class Separation:
    """Infinite estimates of a regression, the rows that cause them, and a proof.

    Parameters
    ----------
    kind : str
        "none", "quasi-complete", "complete" or "undecided". The object itself is true if some row
        is known to be separated.
    family : str
        Family of the regression.
    names : tuple
        Names of the coefficients, the intercept first as "(intercept)"; for a multinomial, pairs
        (label, column), where the first label is the reference and has none.
    reasons : mapping
        Explanation of each estimate, by name: finite, infinite or not identified.
    rows : array of int
        The rows, from 0, that are separated: their fitted mean lies on the boundary of the
        possible means, such as a probability of 0 or 1. For ordinal models, a fitted cumulative
        probability next to their label does. For Cox models, these are the events whose risk set
        has a row with a fitted hazard of 0 relative to theirs. For conditional models, these are
        the cases and controls of pairs in which the fitted odds of the control are 0 relative to
        those of the case. If undecided, these are the rows that were known to be separated when
        the time was over.
    direction : array
        Direction γ of the coefficients: positive on `rows` as the family signs them, exactly 0 on
        the others. Its numbers are integers, as floats if float64 represents all of them exactly.
    n_rows : int
        Number of rows that are part of the regression. Rows of weight 0, and rows of matched sets
        without both a case and a control, are not.
    n_overlapping : int
        Number of rows that the finite estimates are based on. In a multinomial a row may be
        separated from one competing class and overlap with another: it is then in `rows` and
        counted here too.
    drop : tuple of str
        Columns without which every estimate that is identified is finite. Empty if there is no
        separation, or if very many columns would have to be dropped.
    proof : SeparationProof, optional
        The proof, which `proof.check(X, y)` checks; None if undecided.
    reason : str
        Why the result, or a part of it, is undecided.
    notes : tuple of Message
        Notes on the regression, such as a column that is constant.
    left_out : array of int
        The rows, from 0, that a formula leaves out because a value is missing.
    row_names : RowNames
        Names of the rows in messages.
    limit : LimitingModel, optional
        Model of the rows that overlap, which is fitted when an estimate is first read; None if
        undecided.
    """

    kind: str
    family: str
    names: tuple[Name, ...]
    n_rows: int
    reasons: Mapping[Name, str] = field(default_factory=dict)
    rows: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    direction: NDArray[Any] = field(default_factory=lambda: np.empty(0))
    n_overlapping: int = 0
    drop: tuple[str, ...] = ()
    proof: SeparationProof | None = None
    reason: str = ""
    row_names: RowNames = FROM_ZERO
    notes: tuple[Message, ...] = ()
    left_out: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    limit: LimitingModel | None = field(default=None, repr=False)

    def __bool__(self) -> bool:
        return len(self.rows) > 0

    @property
    def coefficients(self) -> dict[Name, float]:
        """Kind of each estimate as a number: inf or -inf if infinite, 0.0 if finite, else nan."""
        return {name: ESTIMATES[self.reasons[name]] for name in self.names if self.reasons}

    @property
    def estimates(self) -> dict[Name, float]:
        """Estimate of each coefficient by name: a number if it is finite, else inf, -inf or nan."""
        return self._limit.estimates

    @property
    def standard_errors(self) -> dict[Name, float]:
        """Standard error of each estimate; nan if the estimate is not finite."""
        return self._limit.standard_errors

    @property
    def bounds(self) -> dict[Name, float]:
        """One-sided 95 % profile-likelihood bound of each estimate that is inf or -inf.

        It is a lower bound if the estimate is inf and an upper bound if it is -inf: the value at
        which twice the profile log-likelihood is 2.706 below its supremum.
        """
        return self._limit.bounds

    def firth(self, **options: Any) -> Any:
        """Fit Firth's penalized likelihood, whose estimates are all finite, with firthmodels.

        Parameters
        ----------
        **options
            Options of `FirthLogisticRegression` or `FirthCoxPH`, such as `max_iter` and `gtol`.

        Returns
        -------
        FirthLogisticRegression or FirthCoxPH
            The estimator, fitted on the whole design. Its `coef_` has the order of the names; the
            intercept is `intercept_`.

        Raises
        ------
        ImportError
            If firthmodels is not installed (extra `firth`).
        ValueError
            If firthmodels does not support the family, or a coefficient is not identified.
        """
        return self._limit.firth(**options)

    def reduced(self) -> ReducedModel:
        """Return the overlapping rows as a design to fit in another package.

        Its columns are linearly independent on these rows. There is no separation in it, and its
        fit has the finite estimates of the whole regression.
        """
        return self._limit.reduced()

    @property
    def _limit(self) -> LimitingModel:
        if self.limit is None:
            raise ValueError(f"there are no estimates: {self.reason or summary(self)}.")
        return self.limit

    def __str__(self) -> str:
        rows = ["", *list_rows(self)] if self else []
        if self.kind == "undecided":
            return "\n".join([summary(self), *rows])
        table = coefficient_table(self)
        wide = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [summary(self) + ".", ""]
        for name, *cells, why in table:
            middle = [cell.rjust(w) for cell, w in zip(cells, wide[1:-1], strict=True)]
            lines.append("  ".join((name.ljust(wide[0]), *middle, why)).rstrip())
        lines += _count_unlisted(self) + rows + advice(self)
        if steps := next_steps(self):
            code = max(len(some) for some, _ in steps)
            lines += ["", *(f"{some:<{code}}  # {what}" for some, what in steps)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Separation: {summary(self)}>"

    def _repr_html_(self) -> str:
        rows = [
            (line[0], "  ".join(filter(None, line[1:]))) for line in coefficient_table(self)[1:]
        ]
        lines = [*_count_unlisted(self), *advice(self), *(f"{a}: {b}" for a, b in next_steps(self))]
        return render_card(summary(self), rows + [("", line) for line in lines])


def separation(
    X: Any,
    y: Any = None,
    *,
    family: str | None = None,
    fit_intercept: bool = True,
    sample_weight: Any = None,
    groups: Any = None,
    target: Target = None,
    data: Any = None,
    time_limit: float | None = None,
) -> Separation:
    """Decide which estimates of a regression are infinite and which rows cause it, with a proof.

    Parameters
    ----------
    X : array, CSR matrix, frame, path, formula, or model
        Regressors. Text and categories of a frame or a file become dummies with a reference
        level. A formula such as "y ~ x1 * x2 + C(g) | f + h" needs the extra `formula`; columns
        after the bar are fixed effects, `f^h` crosses two, and the target may be two columns, as
        in "yes + no ~ x", "cbind(yes, no) ~ x" or "Surv(time, event) ~ x". A formula leaves rows
        with missing values out, as in R: `left_out` has them. Models are those of statsmodels
        (Logit, Probit, MNLogit, Poisson, GLM, OrderedModel, PHReg, ConditionalLogit) and fits of
        pyfixest (fepois, feglm), which contain their regressors, target, names and family.
    y : sequence of n labels or numbers, two columns, or str
        Target: two labels, proportions from 0 to 1 or two columns of successes and failures
        (binomial), labels 0 and 1 (conditional), counts (Poisson), labels (multinomial), ordered
        labels (ordinal: in the order of an ordered category, else sorted), time and event (cox:
        two columns, or a structured array). A str names a column of the frame. After a formula,
        y is its data: a frame of pandas, polars or Arrow, or a path.
    family : {"binomial", "poisson", "multinomial", "ordinal", "cox", "conditional", \
"log-binomial"}
        Family of the regression, "binomial" by default. Poisson stands for every count model with
        a log link, ordinal for the cumulative models (proportional odds, ordered probit),
        conditional for conditional logistic regression of matched sets, log-binomial for relative
        risks (binomial with log link).
    fit_intercept : bool, default=True
        Whether the model has an intercept. Ordinal, Cox and conditional models never have one.
    sample_weight : sequence of n numbers, optional
        Weights of the rows in the likelihood. Rows of weight 0 are not part of the regression. A
        str names a column.
    groups : sequence of n labels, optional
        The matched set of each row (conditional, required) or its stratum (cox). A str names a
        column.
    target : str or pair of str, optional
        Name of the column of the target in a frame or a file, or of two columns.
    data : frame or path, optional
        Data of a formula; they may also be given as y.
    time_limit : float, optional
        Time budget in seconds, excluding reading and compilation. Results that are proved by then
        are kept: usually the rows, which are found before the signs of the coefficients.

    Returns
    -------
    Separation
        Separated rows, kinds of the estimates, next steps, and the proof.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> s = rb.separation([[1.0], [2.0], [3.0], [3.0], [4.0]], [0, 0, 0, 1, 1])
    >>> s.kind, s.rows.tolist(), s.coefficients
    ('quasi-complete', [0, 1, 4], {'(intercept)': -inf, 'x1': inf})
    """
    if data is not None and y is not None:
        raise ValueError("the data of the formula are given both as y and as data=; give one.")
    if time_limit is not None:
        positive_number("time_limit", time_limit)
    with explain_parameters(separation):
        regression = find_regression(
            X, y if data is None else data, family, fit_intercept, sample_weight, groups, target
        )
    with SolverProgress() as progress:
        return separation_of(regression, Watch(progress, Deadline.after(time_limit)))


def separation_of(regression: SignedRegression, watch: Watch) -> Separation:
    """Decide which estimates of a regression are infinite, with a proof and advice."""
    undecided = Separation(
        *("undecided", regression.family, regression.names, regression.n_rows),
        row_names=regression.row_names,
        notes=regression.notes,
        left_out=regression.left_out,
    )
    examples, count = regression.examples, len(regression.names)
    try:
        found = partition(examples, regression.pinned, watch)
        direction: NDArray[Any] = np.array(found.direction[:count], dtype=object)
        if all(abs(v) < EXACT for v in found.direction[:count]):
            direction = direction.astype(np.float64)
        if found.reason:
            known = replace(undecided, reason=found.reason, direction=direction)
            if not any(found.direction):
                return known
            separated = find_separated(found.direction, examples.merged())
            return replace(known, rows=regression.rows_of(separated, later=True))
        kind = kind_of(regression, found.separated)
        proof = SeparationProof(
            kind,
            regression.family,
            regression.fit_intercept,
            fingerprint_of(regression),
            found.direction,
            found.part,
            found.space,
        )
        proof.check_evidence(regression)
        why, drop, reason = find_reasons(regression, found, watch)
        reasons, limit = dict(zip(regression.names, why, strict=True)), None
        if UNDECIDED not in why:
            limit = LimitingModel.of(regression, found.separated, reasons, watch.deadline)
    except (KeyboardInterrupt, OutOfTimeError) as end:
        return replace(undecided, reason=explain_end(end))
    except ProofError as error:
        return replace(undecided, reason=f"the proof did not hold: {error}")
    return replace(
        undecided,
        kind=kind,
        reasons=reasons,
        rows=regression.rows_of(found.separated, later=True),
        direction=direction,
        n_overlapping=len(regression.rows_of(~found.separated)),
        drop=tuple(drop),
        proof=proof,
        reason=reason,
        limit=limit,
    )


def infinite_columns(examples: Examples) -> list[str]:
    """Return the features whose estimates in a logistic regression would be infinite."""
    names = examples.names or tuple(f"x{j}" for j in range(1, examples.d + 1))
    design = add_intercept(examples.X, names) if examples.x0 else (examples.X, names)
    s = separation_of(sign_regression(*design, examples.y, "binomial", True), Watch())
    if s.reason.startswith("interrupted"):
        raise KeyboardInterrupt
    infinite = [str(n) for n, why in s.reasons.items() if why in INFINITE]
    return [name for name in infinite if name != INTERCEPT]


def spelled(name: Name) -> str:
    """Return the name of a coefficient as text; a pair becomes "label: column"."""
    return sanitize(name if isinstance(name, str) else f"{name[0]}: {name[1]}")


def summary(s: Separation) -> str:
    """Return a summary of the separation in one line."""
    if s.kind == "undecided":
        known = plural(len(s.rows), "row is separated", "rows are separated")
        return f"undecided: {s.reason}" + (f"; at least {known}" if s else "")
    if not s:
        rows = plural(s.n_rows, "row")
        return f"no separation: every estimate that is identified is finite ({rows})"
    infinite = [spelled(n) for n, why in s.reasons.items() if why in INFINITE]
    if UNDECIDED in s.reasons.values():
        rows = plural(len(s.rows), "row is", "rows are")
        return f"{s.kind} separation: {rows} separated, the coefficients are undecided"
    if not infinite:
        return f"{s.kind} separation: sums of coefficients that no row identifies are infinite"
    if len(infinite) == 1:
        return f"{s.kind} separation: the estimate of {infinite[0]} is infinite"
    return f"{s.kind} separation: the estimates of {join_words(infinite)} are infinite"


def advice(s: Separation, spell: Callable[[Parameter], str] = str) -> list[str]:
    """Describe the finite estimates, the columns to drop, and notes on the data, as sentences.

    `spell` returns the text for a parameter: a keyword, or an option of the command line.
    """
    texts = [s.reason] * bool(s.reason) + [note.render(spell) for note in s.notes]
    if len(s.left_out):
        have = plural(len(s.left_out), "row has a missing value", "rows have missing values")
        verb = "is" if len(s.left_out) == 1 else "are"
        texts.append(f"{have} and {verb} left out: {s.row_names.join(s.left_out.tolist())}")
    notes = [f"{text[0].upper()}{text[1:]}." for text in texts]
    if not s:
        return notes[bool(s.reason) :]
    lines = []
    # A Cox regression is based on pairs of rows, so a number of rows would mislead.
    if s.family != "cox" and UNDECIDED not in s.reasons.values():
        finite, others = list(s.reasons.values()).count(FINITE), s.n_rows - s.n_overlapping
        line = "No estimate is finite"
        if finite:
            line = f"{plural(finite, 'estimate is', 'estimates are')} finite; "
            line += f"{'it is' if finite == 1 else 'they are'} based on the "
            line += plural(s.n_overlapping, "row that overlaps", "rows that overlap")
        if finite and others:
            line += f" and {'does' if finite == 1 else 'do'} not change if "
            line += "the other row is" if others == 1 else f"the other {others:,} rows are"
            line += " removed"
        lines.append(f"{line}.")
    columns = {name if isinstance(name, str) else name[1] for name in s.names} - {INTERCEPT}
    if s.drop and set(s.drop) < columns:
        # Dropping the dummy column of a level merges this level with the reference level.
        factors = {name: name.partition("[")[0] for name in columns if name.endswith("]")}
        left = {factors[name] for name in factors if name not in s.drop}
        merged = sorted({factors[name] for name in s.drop if name in factors} & left)
        names = [
            name if factors.get(name, name) in left else factors.get(name, name) for name in s.drop
        ]
        without = join_words([sanitize(n) for n in dict.fromkeys(names)])
        identified = " that is identified" if UNKNOWN in s.reasons.values() else ""
        line = f"Without {without} every estimate left{identified} is finite"
        if merged:
            levels = f"levels of {join_words(merged)}"
            line += f"; this sets the effect of {levels} to 0, like that of a reference level"
        lines.append(f"{line}.")
    return lines + notes


def next_steps(s: Separation) -> list[tuple[str, str]]:
    """Suggest Python expressions to evaluate next, each with a description of its value."""
    if not s or s.limit is None:
        return []
    steps, table = [], s.limit.table
    can_be_fitted = not s.limit.explain_no_fit()
    if table is None and can_be_fitted:
        steps.append(("s.estimates", "the finite estimates, which take longer to compute"))
    bounded = {UP, DOWN} & set(s.reasons.values())
    if bounded and can_be_fitted and not s.limit.is_wide and not (table and table.bounds):
        steps.append(("s.bounds", "one-sided 95 % bounds, which take longer to compute"))
    if not s.limit.explain_no_firth():
        steps.append(("s.firth()", "Firth's estimates, which are all finite"))
    # Not suggested if few rows overlap: a model of them would describe another population.
    if s.family in GLM and 0 < len(s.rows) <= s.n_overlapping:
        rows = plural(s.n_overlapping, "row that overlaps", "rows that overlap")
        steps.append(("s.reduced()", f"the {rows}, as a design for any other package"))
    return steps


def coefficient_table(s: Separation, names: Sequence[Name] | None = None) -> list[tuple[str, ...]]:
    """Return a table of the coefficients as tuples of text, with a heading.

    The columns are name, estimate, standard error, bound and reason, without errors and bounds
    that take long to compute. If `names` is not given, the table is cut after 60 coefficients, and
    the infinite ones come first.
    """
    found = s.limit.table if s.limit is not None else None
    names = names or (list(s.reasons) if len(s.reasons) <= SHOWN else infinite_first(s)[:SHOWN])
    if not found:
        short = [(spelled(name), SHORT[s.reasons[name]], s.reasons[name]) for name in names]
        return [("coefficient", "estimate", "why"), *short]
    heading = ("coefficient", "estimate", "std. error", "95 % bound", "why")
    lines = []
    for name in names:
        why, bound, error = s.reasons[name], "", ""
        estimate = SHORT[why]
        if why == FINITE:
            estimate, error = f"{found.estimates[name]:.4g}", f"{found.errors[name]:.3g}"
        elif name in found.bounds:
            side = "above" if found.estimates[name] > 0 else "below"
            bound = f"{side} {found.bounds[name]:.4g}"
        lines.append((spelled(name), estimate, error, bound, why))
    bounded = any(line[3] for line in lines)
    return [line if bounded else (*line[:3], line[4]) for line in [heading, *lines]]


def infinite_first(s: Separation) -> list[Name]:
    """Sort the coefficients: infinite ones, then finite ones, then those not identified."""
    order = dict.fromkeys(INFINITE, 0) | {FINITE: 1}
    return sorted(s.reasons, key=lambda name: order.get(s.reasons[name], 2))


def _count_unlisted(s: Separation) -> list[str]:
    left = len(s.reasons) - SHOWN
    return [f"… and {plural(left, 'coefficient')} more, all in .reasons"] if left > 0 else []


def list_rows(s: Separation, counted: str = "") -> list[str]:
    """Return a list with one sentence that names the separated rows, or an empty list.

    `counted` is a remark on how rows are counted.
    """
    if not s:
        return []
    noun, _, numbers = s.row_names.join(s.rows.tolist(), 12).partition(" ")
    return [f"Separated {noun}{counted}: {numbers}."]
