"""What a regression asks: its columns and answers, as signed rows that a family makes of them.

Along a direction γ in which the likelihood never falls, z·γ ≥ 0 for every row z:

* binomial: z is x where the answer is yes and -x where it is no; a share between 0 and 1 is both,
  and pins x·γ to 0;
* Poisson, and every count with a log link: z is -x where the count is 0, and x is pinned where
  it is more;
* multinomial: a row for each rival, x in the place of the answer and -x in that of the rival.
  The first label is the reference: it has no place, its coefficients are 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.adapters import read_statsmodels
from rosenblatt.blocks import AgainstRivals
from rosenblatt.checks import one_of, row_weights
from rosenblatt.errors import RowError, quoted, with_index_labels
from rosenblatt.examples import (
    Examples,
    JointExamples,
    as_table,
    labels_of,
    one_or_two_labels,
    signs,
)
from rosenblatt.messages import Message, Parameter
from rosenblatt.tables import as_column, column_names
from rosenblatt.words import column_called, listed

FAMILIES = ("binomial", "poisson", "multinomial")
SIGNS = np.array([-1, 1])
SHARES = (
    "For successes and failures give the share of successes in each row, successes / (successes + "
    "failures)"
)
INTERCEPT = "(intercept)"
MANY_DUMMIES = 64  # from so many on they are kept sparse

Name = str | tuple[Any, str]
Mask = NDArray[np.bool_]


class Constraints(NamedTuple):
    """Rows z = y·x that ask for γ·z ≥ 0, and which of them are pinned to γ·z = 0."""

    examples: Examples  # without an x0 of their own: an intercept is a column
    pinned: Mask


class Design(NamedTuple):
    """The columns of a regression with their names, the intercept first where there is one."""

    X: Any
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Question:
    """The signed rows of a regression, and the names of its coefficients."""

    family: str
    fit_intercept: bool
    constraints: Constraints
    owners: NDArray[np.intp]  # the row of the data, from 0, that each signed row came from
    names: tuple[Name, ...]  # one for each coefficient

    @property
    def columns(self) -> dict[str, list[int]]:
        """The columns of the regression, each with its coefficients: one, or one for a label."""
        places: dict[str, list[int]] = {}
        for j, name in enumerate(self.names):
            places.setdefault(name if isinstance(name, str) else name[1], []).append(j)
        return places


def question(
    X: Any, y: Any, family: str | None, fit_intercept: bool, sample_weight: Any
) -> Question:
    """Ask about X and y, or where there is no y about a model of statsmodels."""
    if y is not None:
        with with_index_labels(X):
            design = design_of(X, fit_intercept)
            return question_of(design, y, family or "binomial", fit_intercept, sample_weight)
    model = read_statsmodels(X, family)
    if sample_weight is None:
        sample_weight = model.weights
    return question_of(Design(model.X, model.names), model.y, model.family, False, sample_weight)


def question_of(
    design: Design, y: Any, family: str, fit_intercept: bool, sample_weight: Any = None
) -> Question:
    """Ask about a regression; rows of weight 0 are not part of it."""
    one_of("family", family, FAMILIES)
    X, names = design
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise ValueError(
            f"two columns of the regression are called {quoted(twice)}; rename one of them."
        )
    n = X.shape[0]
    kept = np.arange(n)
    if sample_weight is not None:
        kept = np.flatnonzero(row_weights(sample_weight, n) > 0)
        if len(kept) == 0:
            raise ValueError("every sample_weight is zero; give a positive weight to some rows.")
    answers = _answers(y, n)[kept]
    X = X if len(kept) == n else X[kept]
    try:
        if family == "multinomial":
            rows, owners, labels = _against_rivals(X, answers)
        else:
            sign, pinned = (_binomial if family == "binomial" else _poisson)(answers)
    except RowError as bad:
        raise bad.moved(kept) from None
    if family == "multinomial":
        pairs = tuple((label, name) for label in labels[1:] for name in names)
        constraints = Constraints(rows, np.zeros(rows.n, dtype=bool))
        return Question(family, fit_intercept, constraints, kept[owners], pairs)
    constraints = Constraints(Examples(X, sign, SIGNS, None, 0.0), pinned)
    return Question(family, fit_intercept, constraints, kept, names)


def _answers(y: Any, n: int) -> NDArray[Any]:
    answers = as_column(y)
    if answers.ndim == 2 and 1 in answers.shape:
        answers = answers.ravel()
    if answers.shape != (n,):
        advice = SHARES if answers.shape == (n, 2) else "Give one answer per row"
        raise ValueError(f"X has {n} rows and y has shape {answers.shape}. {advice}.")
    if answers.dtype == object and all(isinstance(a, Real) for a in answers):
        return np.array(answers.tolist())  # numbers, or booleans
    return answers


def _binomial(answers: NDArray[Any]) -> tuple[NDArray[np.int8], Mask]:
    if answers.dtype.kind in "fiu":
        shares = _numbers(answers, "binomial")
        if ((shares >= 0) & (shares <= 1)).all():
            sign = np.where(shares > 0, 1, -1).astype(np.int8)
            return sign, (shares > 0) & (shares < 1)
    labels, _ = labels_of(answers)
    if len(labels) > 2:
        some = listed([quoted(label) for label in labels.tolist()], most=3)
        raise ValueError(
            Message(
                f"y has {len(labels)} different labels ({some}); the family 'binomial' takes two "
                "labels, or shares from 0 to 1. ",
                _other_family(answers, len(labels)),
            )
        )
    sign, _ = signs(answers, one_or_two_labels(answers))
    return sign, np.zeros(len(sign), dtype=bool)


def _other_family(answers: NDArray[Any], labels: int) -> Message:
    """Say what to give in place of two labels: shares, or the family that suits the answers."""
    classes = Parameter("family", "multinomial")
    if answers.dtype.kind not in "fiu":
        return Message("Give ", classes, ".")
    whole, several = bool((answers == np.round(answers)).all()), 2 * labels <= len(answers)
    if (answers < 0).any():
        if whole and several:
            return Message("Give ", classes, " if the numbers stand for classes.")
        return Message("No other family takes numbers below 0 that are measured.")
    also = ("; for classes give ", classes) if whole and several else ()
    poisson = Parameter("family", "poisson")
    return Message(f"{SHARES}; for counts of events give ", poisson, *also, ".")


def _poisson(answers: NDArray[Any]) -> tuple[NDArray[np.int8], Mask]:
    counts = _numbers(answers, "poisson")
    bad = np.flatnonzero(counts < 0)
    if len(bad):
        told = f": {counts[bad[0]]:g} is not a count; give numbers from 0 up."
        raise RowError("y, ", int(bad[0]), told)
    return np.where(counts > 0, 1, -1).astype(np.int8), counts > 0


def _numbers(answers: NDArray[Any], family: str) -> NDArray[np.float64]:
    try:
        numbers = answers.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"y is not numbers, which family {family!r} needs.") from None
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        told = f": {numbers[bad[0]]} is not a number; drop the row."
        raise RowError("y, ", int(bad[0]), told)
    return numbers


def _against_rivals(X: Any, answers: NDArray[Any]) -> tuple[Examples, NDArray[np.intp], list[Any]]:
    """A row for each row and rival label, the row that each is of, and the labels."""
    labels, codes = labels_of(answers)
    if len(labels) < 2:
        raise ValueError(
            f"y has only one label, {quoted(labels[0])}; a multinomial needs two or more."
        )
    joint = JointExamples(X, codes.astype(np.int32), labels, None, 0.0)
    owners = np.repeat(np.arange(len(codes)), len(labels) - 1)
    return AgainstRivals(joint, reduced=True).written(), owners, labels.tolist()


def design_of(X: Any, fit_intercept: bool = True) -> Design:
    """Take an array, a CSR matrix or a frame as a design.

    Columns of text or categories become a dummy for each level but the first, which is the
    reference; without intercept the first such column keeps all its levels. Columns without
    names are called x1, x2, …

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [31.0, 45.0, 52.0], "town": ["Bonn", "Kiel", "Bonn"]})
    >>> design_of(frame).names
    ('(intercept)', 'age', 'town[Kiel]')
    """
    if column_names(X) is not None and not hasattr(X, "tocsr"):
        tables = list(_of_frame(X, keep_all=not fit_intercept))
    else:
        table = as_table(X)
        tables = [(table, [f"x{j}" for j in range(1, table.shape[1] + 1)])]
    names = tuple(name for _, some in tables for name in some)
    return as_design(_joined([table for table, _ in tables]), names, fit_intercept)


def as_design(X: Any, names: tuple[str, ...], fit_intercept: bool) -> Design:
    """Numbers with their names as a design, with a column of ones if asked for."""
    if not fit_intercept:
        return Design(X, names)
    return Design(_joined([np.ones((X.shape[0], 1)), X]), (INTERCEPT, *names))


def _joined(tables: list[Any]) -> Any:
    if all(isinstance(table, np.ndarray) for table in tables):
        return np.ascontiguousarray(np.hstack(tables), dtype=np.float64)
    from scipy import sparse

    joined = sparse.hstack([sparse.csr_array(table) for table in tables], format="csr")
    return as_table(joined.astype(np.float64))


def _of_frame(X: Any, *, keep_all: bool) -> Iterator[tuple[Any, list[str]]]:
    """The columns of a frame of any kind as numbers, each with the names of these."""
    import pyarrow as pa

    from rosenblatt.read.columns import arrow_table

    try:
        X = arrow_table(X)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as trouble:
        raise ValueError(
            f"X: {trouble.args[-1]}; make every cell of it a number, or every cell text."
        ) from None
    kinds = pa.types
    categories = (kinds.is_dictionary, kinds.is_string, kinds.is_large_string, kinds.is_string_view)
    for i, name in enumerate(X.column_names):
        column = X.column(i)
        if any(test(column.type) for test in categories):
            codes, levels = _levels(name, column)
            dummies = _dummies(codes, len(levels), 0 if keep_all else 1)
            yield dummies, [f"{name}[{level}]" for level in levels[0 if keep_all else 1 :]]
            keep_all = False
        else:
            yield as_table(pa.table({name: column})), [name]


def _levels(name: str, column: Any) -> tuple[NDArray[np.intp], list[str]]:
    """The level of each cell, and the levels that occur: as declared, or in sort order."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.null_count:
        row = int(np.flatnonzero(pc.is_null(column).to_numpy(zero_copy_only=False))[0])
        told = f", {column_called(name)}: there is nothing; drop the row or fill it in."
        raise RowError("X, ", row, told)
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    declared = pa.types.is_dictionary(column.type)
    coded = column if declared else column.dictionary_encode()
    codes = coded.indices.to_numpy(zero_copy_only=False).astype(np.intp)
    levels = [str(level) for level in coded.dictionary.to_pylist()]
    order = np.unique(codes).tolist()
    if not declared:
        order.sort(key=levels.__getitem__)
    places = np.zeros(len(levels), dtype=np.intp)
    places[order] = np.arange(len(order))
    return places[codes], [levels[k] for k in order]


def _dummies(codes: NDArray[np.intp], count: int, first: int) -> Any:
    from scipy import sparse

    n = len(codes)
    entries = np.ones(n), codes.astype(np.int32), np.arange(n + 1, dtype=np.int32)
    table = sparse.csr_array(entries, shape=(n, count))[:, first:]
    return table if count > MANY_DUMMIES else table.toarray()
