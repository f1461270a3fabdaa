"""Families of regressions: conditions on the directions along which a likelihood never falls.

The likelihood never falls along a direction γ of the coefficients if γ·z ≥ 0 for each *signed row*
z, and γ·z = 0 for each signed row that is *pinned*. The signed rows of each family:

* binomial: z is x if the label is yes, and -x if it is no; if it is a proportion between 0 and 1,
  z is x and pinned;
* Poisson, and every count with a log link: z is -x if the count is 0, else x and pinned;
* multinomial: one row per competing class, with x in the block of the row's own label and -x in
  that of the competing class. The first label is the reference, whose coefficients are all 0: it
  has no block;
* ordinal (proportional odds): x·γ lies between the thresholds below and above the row's label,
  with one signed row for each of the two;
* Cox: x·γ of an event is at least that of every row in its risk set. Each row is compared with
  the last event before it, and each event time with the next one; all other comparisons are sums
  of these. Differences of tied events are pinned, for Breslow's and for Efron's method;
* conditional: x·γ of every case is at least that of every control in its matched set;
* log-binomial (relative risks): x·β is a log probability, which is at most 0. So z is -x if the
  label is no, else x and pinned, as for Poisson.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.checks import encode_labels, index_labels, one_class_labels, one_of, row_weights
from rosenblatt.errors import FROM_ZERO, Message, Parameter, RowError, RowNames, quote
from rosenblatt.examples import Examples, as_table, kesler_rows
from rosenblatt.tables import as_column, numbers_in
from rosenblatt.text import join_words, plural

FAMILIES = (
    "binomial", "poisson", "multinomial", "ordinal", "cox", "conditional", "log-binomial"
)  # fmt: skip
NO_INTERCEPT = ("ordinal", "cox", "conditional")  # families that cannot identify an intercept
SIGNS = np.array([-1, 1])
INTERCEPT = "(intercept)"
MANY_DUMMIES = 64  # more dummy columns than this are kept sparse
MOST_PAIRS = 50_000_000  # maximum number of pairs of a case and a control

Name = str | tuple[Any, str]
Mask = NDArray[np.bool_]
Ints = NDArray[np.intp]
NO_ROWS: Ints = np.empty(0, dtype=np.intp)


class RiskSets(NamedTuple):
    """Event times of a Cox regression as indices, which are sorted by stratum and time."""

    times: Ints  # event time of each signed row; -1 for a row that only makes columns equal
    last: Ints  # for each event time, the last event time of its stratum
    events: Ints  # rows of the data with an event
    event_times: Ints  # event time of each of these rows


class Observations(NamedTuple):
    """Data from which the likelihood of a regression is computed."""

    X: Any
    y: NDArray[np.float64]  # shares, counts, indices of labels, or two columns: time and event
    rows: Ints  # row of the data, from 0, of each row of X
    weights: NDArray[np.float64] | None = None
    groups: Ints | None = None  # matched sets or strata
    pairs: tuple[Ints, Ints] | None = None  # the rows of X that each signed row compares
    offset: NDArray[np.float64] | None = None
    efron: bool = True  # whether a Cox regression treats ties as Efron, not as Breslow
    link: str = "logit"  # link of a binomial regression
    unfitted: str = ""  # why the estimates cannot be fitted; empty if they can


@dataclass(frozen=True, eq=False)
class SignedRegression:
    """Regression whose estimates may be infinite: signed rows ±x, coefficient names, and data."""

    family: str
    fit_intercept: bool
    examples: Examples  # the signed rows; there may be further columns after the named ones
    pinned: Mask  # whether each signed row is pinned
    owners: Ints  # row of the data, from 0, that each signed row belongs to; -1 for none
    names: tuple[Name, ...]  # one per coefficient
    n_rows: int  # number of rows of the data that are part of the regression
    data: Observations
    partners: Ints | None = None  # other row of each pair, if the family compares pairs
    risk: RiskSets | None = None
    notes: tuple[Message, ...] = ()  # hints without a period at the end
    left_out: Ints = field(default_factory=lambda: NO_ROWS)  # rows with a missing value
    row_names: RowNames = FROM_ZERO

    def rows_of(self, chosen: Mask, *, later: bool = False) -> Ints:
        """Return the numbers of the data rows that the signed rows in the mask `chosen` come from.

        For a Cox regression, these are the events whose risk set a chosen row compares. With
        `later`, earlier events of the stratum are included: their risk sets have the same rows.
        """
        chosen = chosen & (self.owners >= 0)
        if self.risk is None:
            rows = [self.owners[chosen]]
            rows += [] if self.partners is None else [self.partners[chosen]]
            return np.unique(np.concatenate(rows))
        times, last, events, event_times = self.risk
        hit = np.zeros(len(last), dtype=bool)
        hit[times[chosen]] = True
        if later:
            following = np.where(hit, np.arange(len(last)), len(last))
            hit = np.minimum.accumulate(following[::-1])[::-1] <= last
        return np.sort(events[hit[event_times]])


class Rows(NamedTuple):
    """Signed rows ±x of a regression, with the row of the design that each one comes from."""

    X: Any
    sign: NDArray[np.int8]
    owners: Ints
    names: tuple[Name, ...]
    y: NDArray[np.float64]
    pinned: Mask | None = None  # None if no row is pinned
    pairs: tuple[Ints, Ints] | None = None
    risk: RiskSets | None = None
    note: str = ""


def sign_regression(
    X: Any,
    names: tuple[str, ...],
    y: Any,
    family: str,
    fit_intercept: bool,
    sample_weight: Any = None,
    groups: Any = None,
    positions: Ints | None = None,
) -> SignedRegression:
    """Create the signed rows ±x of a regression from its design, column names and target.

    Rows of weight 0 are left out. `positions` has the row number in the data of each row of the
    design, if the design has not all rows.
    """
    one_of("family", family, FAMILIES)
    n = X.shape[0]
    if family in ("binomial", "log-binomial") and as_column(y).shape == (n, 2):
        y, trials = _to_shares(y)
        sample_weight = trials * (1 if sample_weight is None else row_weights(sample_weight, n))
    kept, weights = np.arange(n), None
    if sample_weight is not None:
        weights = row_weights(sample_weight, n)
        kept = np.flatnonzero(weights > 0)
        weights = weights[kept]
        if len(kept) == 0:
            raise ValueError("every sample_weight is zero; give a positive weight to some rows.")
        X = X[kept]
    codes = _number_groups(groups, n, family)
    codes = None if codes is None else codes[kept]
    positions = kept if positions is None else positions[kept]
    try:
        if family == "cox":
            time, event = _read_survival(y, n)
            rows = _sign_cox(X, names, time[kept], event[kept], codes)
        else:
            target = _read_column(y, n, "y", "one label or number")
            if target.dtype == object and all(isinstance(cell, Real) for cell in target):
                target = np.array(target.tolist())  # numbers, or booleans
            target = target[kept]
            if family == "ordinal":
                rows = _sign_ordinal(X, names, getattr(y, "dtype", None), target)
            elif family == "conditional":
                rows = _sign_conditional(X, names, target, codes)
            elif family == "multinomial":
                rows = _sign_multinomial(X, names, target)
            else:
                rows = _sign_each(X, names, target, family)
    except RowError as bad:
        raise bad.map_rows(positions) from None
    if len(set(rows.names)) < len(rows.names):
        twice = next(name for i, name in enumerate(rows.names) if name in rows.names[:i])
        raise ValueError(
            f"two columns of the regression are called {quote(twice)}; rename one of them."
        )
    count, partners = len(kept), None
    if family == "conditional" and rows.pairs is not None:
        count = len(np.unique(rows.pairs))
        partners = np.full(len(rows.owners), -1)
        partners[: len(rows.pairs[1])] = positions[rows.pairs[1]]
    return SignedRegression(
        family,
        fit_intercept and family not in NO_INTERCEPT,
        Examples(rows.X, rows.sign, SIGNS, None, 0.0),
        np.zeros(len(rows.sign), dtype=bool) if rows.pinned is None else rows.pinned,
        np.where(rows.owners < 0, -1, positions[rows.owners]),
        rows.names,
        count,
        Observations(
            *(X, rows.y, positions, weights, codes, rows.pairs),
            link="log" if family == "log-binomial" else "logit",
        ),
        partners,
        rows.risk and rows.risk._replace(events=positions[rows.risk.events]),
        (Message(rows.note),) if rows.note else (),
    )


def _number_groups(groups: Any, n: int, family: str) -> Ints | None:
    """Return the group of each row as an integer from 0, or None if no groups are given."""
    given = Parameter("groups")
    if groups is None:
        if family == "conditional":
            raise ValueError(
                Message("the family 'conditional' needs ", given, ", the matched set of each row.")
            )
        return None
    if family not in ("conditional", "cox"):
        raise ValueError(
            Message(
                given,
                f" is not used by the family {family!r}; leave it out, or choose the family "
                "'conditional' (groups are matched sets) or 'cox' (groups are strata).",
            )
        )
    column = _read_column(groups, n, "groups", "one group")
    try:
        return index_labels(column)[1]
    except RowError as bad:
        raise RowError("groups: the group is missing in ", bad.rows, ".") from None


def _read_column(values: Any, n: int, name: str, what: str) -> NDArray[Any]:
    """Convert values to a column; raise ValueError unless there is one value per row of X."""
    column = as_column(values)
    if column.ndim == 2 and 1 in column.shape:
        column = column.ravel()
    if column.shape != (n,):
        raise ValueError(
            f"X has {n} rows and {name} has shape {column.shape}; give {what} per row."
        )
    return column


def _to_shares(y: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Convert successes and failures to the share of successes and the number of trials per row."""
    counts = _to_floats(as_column(y), "binomial")
    problem = "a number of successes or failures is negative; give numbers from 0 up."
    _refuse_rows((counts < 0).any(axis=1), lambda row: problem)
    trials = counts.sum(axis=1)
    if not trials.any():
        raise ValueError(
            "every row has 0 successes and 0 failures; give rows with at least one trial."
        )
    shares = np.divide(counts[:, 0], trials, out=np.zeros(len(trials)), where=trials > 0)
    between = (counts > 0).all(axis=1)  # even if the share is rounded to 0 or 1
    return np.where(between, np.clip(shares, 1e-300, 1 - 2.0**-53), shares), trials


def _sign_each(X: Any, names: tuple[str, ...], y: NDArray[Any], family: str) -> Rows:
    """Create the signed row ±x of each row, for a binomial, log-binomial or Poisson model."""
    if family == "poisson":
        counts = _to_floats(y, "poisson")
        from_zero = "is not a count; give numbers from 0 up."
        _refuse_rows(counts < 0, lambda row: f"{counts[row]:g} {from_zero}")
        sign, pinned = np.where(counts > 0, 1, -1).astype(np.int8), counts > 0
    else:
        sign, pinned = _sign_binomial(y)
    is_label = family != "poisson" and not pinned.any()
    pinned = sign > 0 if family == "log-binomial" else pinned
    numbers = (sign > 0 if is_label else y).astype(np.float64)
    return Rows(X, sign, np.arange(len(y)), names, numbers, pinned)


def _sign_binomial(y: NDArray[Any]) -> tuple[NDArray[np.int8], Mask]:
    """Return the sign of each target (no: -1, yes: 1), and a mask of proportions between 0 and 1.

    y has two labels, or proportions of yes from 0 to 1. Each proportion above 0 has the sign 1. The
    mask excludes the proportions 0 and 1.
    """
    if y.dtype.kind in "fiu":
        shares = _to_floats(y, "binomial")
        if ((shares >= 0) & (shares <= 1)).all():
            sign = np.where(shares > 0, 1, -1).astype(np.int8)
            return sign, (shares > 0) & (shares < 1)
    labels, _ = index_labels(y)
    if len(labels) > 2:
        some = join_words([quote(label) for label in labels.tolist()], most=3)
        raise ValueError(
            Message(
                f"y has {len(labels)} different labels ({some}); the family 'binomial' takes two "
                "labels, or shares from 0 to 1. ",
                _suggest_family(y, len(labels)),
            )
        )
    sign, _ = encode_labels(y, one_class_labels(y))
    return sign, np.zeros(len(sign), dtype=bool)


def _suggest_family(y: NDArray[Any], labels: int) -> Message:
    """Suggest a remedy if y of a binomial regression has more than two labels."""
    classes = Parameter("family", "multinomial")
    if y.dtype.kind not in "fiu":
        return Message("Give ", classes, ".")
    whole, several = bool((y == np.round(y)).all()), 2 * labels <= len(y)
    if (y < 0).any():
        if whole and several:
            return Message("Give ", classes, " if the numbers stand for classes.")
        return Message("No other family takes continuous numbers below 0.")
    also = ("; for classes give ", classes) if whole and several else ()
    return Message(
        "For successes and failures give both as two columns, or the share of successes in each "
        "row; for counts of events give ",
        *(Parameter("family", "poisson"), *also, "."),
    )


def _to_floats(y: NDArray[Any], family: str) -> NDArray[np.float64]:
    try:
        numbers = y.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"y has values that are not numbers, which the family {family!r} needs."
        ) from None
    table = numbers if numbers.ndim == 2 else numbers[:, None]
    bad = ~np.isfinite(table)
    what = "is not a finite number; drop the row."
    _refuse_rows(bad.any(axis=1), lambda row: f"{table[row][bad[row]][0]} {what}")
    return numbers


def _refuse_rows(wrong: Any, describe: Callable[[int], str]) -> None:
    """Raise RowError for the first row of y that the mask `wrong` marks, if any."""
    if wrong.any():
        row = int(wrong.argmax())
        raise RowError("y, ", row, f": {describe(row)}")


def _index_classes(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the sorted labels of y, and for each row the index of its label among them.

    Labels such as 2.0 become integers.
    """
    labels, codes = index_labels(y)
    if labels.dtype.kind == "f" and (labels == np.rint(labels)).all():
        labels = np.array([int(label) for label in labels.tolist()])
    return labels, codes


def _sign_multinomial(X: Any, names: tuple[str, ...], y: NDArray[Any]) -> Rows:
    """Create the signed rows ±x of a multinomial regression: one per row and competing class."""
    labels, codes = _index_classes(y)
    if len(labels) < 2:
        raise ValueError(
            f"y has only one label, {quote(labels.tolist()[0])}; the family 'multinomial' needs "
            "two or more."
        )
    joint = Examples(X, codes.astype(np.int32), labels, None, 0.0)
    signed = kesler_rows(joint, reduced=True)
    owners = np.repeat(np.arange(len(codes)), len(labels) - 1)
    pairs = tuple((label, name) for label in labels.tolist()[1:] for name in names)
    return Rows(signed.X, signed.y, owners, pairs, codes.astype(np.float64))


def _sign_ordinal(X: Any, names: tuple[str, ...], kind: Any, y: NDArray[Any]) -> Rows:
    """Create the signed rows of an ordinal regression, which compare rows with thresholds.

    A row has one for the threshold below its label and one for that above, if any. The labels
    have the order of their type `kind` if it is an ordered category, else they are sorted.
    """
    labels, codes = _index_classes(y)
    if getattr(kind, "ordered", False) or type(kind).__name__ == "Enum":
        place = {label: k for k, label in enumerate(as_column(kind.categories).tolist())}
        order = sorted(range(len(labels)), key=lambda k: place[labels[k]])
        labels, codes = labels[order], np.argsort(order)[codes]
    if len(labels) < 2:
        raise ValueError(
            f"y has only one level, {quote(labels.tolist()[0])}; the family 'ordinal' needs two or "
            "more."
        )
    above, below = np.flatnonzero(codes < len(labels) - 1), np.flatnonzero(codes > 0)
    owners = np.concatenate((above, below))
    at = np.concatenate((codes[above], codes[below] - 1))
    thresholds = encode_dummies(at, len(labels) - 1, 0)
    sign = np.repeat(np.array([1, -1], dtype=np.int8), [len(above), len(below)])
    by_row = np.argsort(owners, kind="stable")
    table = join_columns([thresholds, -X[owners]])[by_row]
    levels_named = [str(label) for label in labels.tolist()]
    named = tuple(f"{a}|{b}" for a, b in pairwise(levels_named))
    return Rows(table, sign[by_row], owners[by_row], named + names, codes.astype(np.float64))


def _read_survival(y: Any, n: int) -> tuple[NDArray[np.float64], Mask]:
    """Read times and events from two columns, or from the fields of a structured array."""
    column = as_column(y)
    if column.dtype.names is not None and len(column.dtype.names) == 2:
        fields = sorted(column.dtype.names, key=lambda name: column.dtype[name].kind == "b")
        column = np.column_stack([column[name].astype(object) for name in fields])
    if column.shape != (n, 2):
        raise ValueError(
            f"X has {n} rows and y has shape {column.shape}; the family 'cox' needs two columns in "
            "y, the time and whether there was an event (1) or not (0)."
        )
    time, event = _to_floats(column[:, 0], "cox"), _to_floats(column[:, 1], "cox")
    from_zero = "is negative; give times from 0 up."
    _refuse_rows(time < 0, lambda row: f"the time {time[row]:g} {from_zero}")
    remedy = "give 1 for an event and 0 where there was none."
    wrong = np.isin(event, (0, 1), invert=True)
    _refuse_rows(wrong, lambda row: f"the event is {event[row]:g}; {remedy}")
    return time, event == 1


def _sign_cox(
    X: Any, names: tuple[str, ...], time: NDArray[np.float64], event: Mask, strata: Ints | None
) -> Rows:
    """Create signed rows that compare events with rows at risk, for a Cox regression.

    Each row is compared with the last event before it in its stratum, and each event time with the
    next one.
    """
    if not event.any():
        raise ValueError("no row has an event; a Cox regression needs at least one.")
    strata = np.zeros(len(time), dtype=np.intp) if strata is None else strata
    # Sort by stratum and time, with events before other rows of the same time.
    order = np.lexsort((~event, time, strata))
    numbers = np.column_stack((time, event)).astype(np.float64)
    time, event, strata = time[order], event[order], strata[order]
    new = np.ones(len(time), dtype=bool)
    new[1:] = (time[1:] != time[:-1]) | (strata[1:] != strata[:-1])
    firsts = np.flatnonzero(event & new)  # one event per event time
    current = np.cumsum(event & new) - 1  # the last event time up to each row
    known = (current >= 0) & (strata == strata[firsts[current]])
    follows = known.copy()
    follows[firsts] = False
    chained = np.flatnonzero(strata[firsts[1:]] == strata[firsts[:-1]])
    winners = np.concatenate((firsts[current[follows]], firsts[chained]))
    losers = np.concatenate((np.flatnonzero(follows), firsts[chained + 1]))
    tied = event[losers]
    tied[np.count_nonzero(follows) :] = False
    table, ties = _subtract_rows(X, order[winners], order[losers])
    extra = np.full(ties, -1)
    ends = np.append(np.flatnonzero(np.diff(strata[firsts])), len(firsts) - 1)
    risk = RiskSets(
        np.concatenate((current[winners], extra)),
        ends[np.searchsorted(ends, np.arange(len(firsts)))],
        order[event],
        current[event],
    )
    owners = np.concatenate((order[winners], extra))
    pinned = np.concatenate((tied, np.ones(ties, dtype=bool)))
    pairs = order[winners], order[losers]
    positive = np.ones(len(owners), np.int8)
    return Rows(table, positive, owners, names, numbers, pinned, pairs, risk)


def _sign_conditional(X: Any, names: tuple[str, ...], y: NDArray[Any], codes: Ints | None) -> Rows:
    """Create a signed row for each pair of a case and a control that are in one matched set."""
    assert codes is not None
    sign, pinned = _sign_binomial(y)
    _refuse_rows(pinned, lambda row: "the family 'conditional' needs 0 or 1, not a proportion.")
    order = np.lexsort((-sign, codes))
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    cases = np.add.reduceat(sign[order] > 0, starts, dtype=np.intp)
    controls = np.diff(starts, append=len(order)) - cases
    alone = (cases == 0) | (controls == 0)
    if alone.all():
        raise ValueError("no group has both a case and a control; nothing can be estimated.")
    if int(cases @ controls) > MOST_PAIRS:
        k = int((cases * controls).argmax())
        raise ValueError(
            f"a group has {cases[k]:,} cases and {controls[k]:,} controls, more pairs than can be "
            "compared; split it into smaller groups."
        )
    pairs = [
        (np.repeat(order[start : start + a], b), np.tile(order[start + a : start + a + b], a))
        for start, a, b in zip(starts.tolist(), cases.tolist(), controls.tolist(), strict=True)
        if a and b
    ]
    winners, losers = (np.concatenate(side) for side in zip(*pairs, strict=True))
    table, ties = _subtract_rows(X, winners, losers)
    note = ""
    if alone.any():
        rows = plural(int((cases + controls)[alone].sum()), "row")
        have = plural(int(alone.sum()), "group has", "groups have")
        note = f"{have} only cases or only controls and {rows}, which no estimate depends on"
    owners = np.concatenate((winners, np.full(ties, -1)))
    numbers, positive = (sign > 0).astype(np.float64), np.ones(len(owners), np.int8)
    return Rows(
        *(table, positive, owners, names, numbers, owners < 0, (winners, losers)), note=note
    )


def _subtract_rows(X: Any, a: Ints, b: Ints) -> tuple[Any, int]:
    """Compute X[a] - X[b] exactly; extra columns hold the rounding errors of the differences.

    For each extra column, an extra row at the end makes its coefficient equal to that of the
    column whose rounding errors it holds. Returns the table and the number of extra columns.
    """
    X = X.astype(np.float64)
    left, right = X[a], -X[b]
    with np.errstate(over="ignore", invalid="ignore"):
        total = left + right
        part = total - left
        lost = (left - (total - part)) + (right - part)
    if not np.isfinite(numbers_in(total)).all():
        raise ValueError(
            "differences of rows overflow float64; divide the column with the largest numbers by 2."
        )
    places = np.unique(lost.nonzero()[1])
    if len(places) == 0:
        return total, 0
    width, count = X.shape[1], len(places)
    ties = np.zeros((count, width + count))
    ties[np.arange(count), places] = 1.0
    ties[np.arange(count), width + np.arange(count)] = -1.0
    table = join_columns([total, lost[:, places]])
    if isinstance(table, np.ndarray):
        return np.vstack((table, ties)), count
    from scipy import sparse

    return sparse.vstack((table, sparse.csr_array(ties)), format="csr"), count


def add_intercept(X: Any, names: tuple[str, ...]) -> tuple[Any, tuple[str, ...]]:
    """Return columns and their names, with a column of ones in front."""
    return join_columns([np.ones((X.shape[0], 1)), X]), (INTERCEPT, *names)


def join_columns(tables: list[Any]) -> Any:
    """Join tables side by side; the result is sparse unless all of them are dense."""
    if all(isinstance(table, np.ndarray) for table in tables):
        return np.ascontiguousarray(np.hstack(tables), dtype=np.float64)
    from scipy import sparse

    joined = sparse.hstack([sparse.csr_array(table) for table in tables], format="csr")
    return as_table(joined.astype(np.float64))


def encode_dummies(codes: NDArray[np.intp], count: int, first: int) -> Any:
    """Encode levels as columns of zeros and ones; the levels below `first` have no column."""
    from scipy import sparse

    n = len(codes)
    entries = np.ones(n), codes.astype(np.int32), np.arange(n + 1, dtype=np.int32)
    table = sparse.csr_array(entries, shape=(n, count))[:, first:]
    return table if count > MANY_DUMMIES else table.toarray()
