"""Reading of a file as a regression: its target, regressors, weights and groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rosenblatt.errors import (
    BadCellError,
    DataError,
    Message,
    Parameter,
    RowNames,
    UsageError,
    with_column,
)
from rosenblatt.read.columns import (
    Category,
    Column,
    Entries,
    Number,
    Words,
    as_text,
    cell_as_text,
    decode_text,
    flatten,
    is_text,
    null_where,
    split_entries,
)
from rosenblatt.read.data import NO_ROW_LEFT, fit_format, locate_errors, read_whole
from rosenblatt.read.encoding import check_columns_present
from rosenblatt.read.formula import Formula
from rosenblatt.read.lines import ENTRIES, LABEL
from rosenblatt.read.plan import ColumnOptions, collect_statistics, decide_columns, find_column
from rosenblatt.read.source import Layout, Source
from rosenblatt.text import join_words, plural, quote_column, sanitize

NO_COLUMNS: tuple[str, ...] = ()
WIDEST = 4096  # maximum number of columns to which a LIBSVM file is expanded


@dataclass(frozen=True)
class RegressionPlan:
    """Columns of a file that a regression uses, with the role of each."""

    target: tuple[str, ...]  # one column or two; empty if a formula names it
    columns: tuple[Column, ...]  # the regressors, or all columns of a formula
    weights: str | None = None  # column of weights
    rows: int = 0  # number of rows that are used
    groups: str | None = None  # column of matched sets or strata
    formula: str | None = None

    def __str__(self) -> str:
        categories = sum(isinstance(column, Category) for column in self.columns)
        numbers = len(self.columns) - categories
        parts = [plural(self.rows, "row")]
        parts += [plural(numbers, "numeric column")] if numbers else []
        parts += [plural(categories, "categorical column")] if categories else []
        about = [f"formula {sanitize(self.formula)}"] if self.formula else []
        if not about:
            one, *others = [quote_column(name) for name in self.target]
            both = [one, *(name.removeprefix("column ") for name in others)]
            about = [f"target {join_words(both)}".replace("column", "columns", bool(others))]
        about += [f"weights {quote_column(self.weights)}"] if self.weights is not None else []
        about += [f"groups {quote_column(self.groups)}"] if self.groups is not None else []
        return f"{', '.join(parts)}; {', '.join(about)}"


@dataclass(frozen=True, eq=False)
class Regression:
    """Data of a regression, read from a file: regressors, target, weights and groups."""

    plan: RegressionPlan
    frame: Any  # regressors as an Arrow table: doubles, and text for categories
    y: NDArray[Any] | None  # the target, one column or two; None if a formula names it
    weights: NDArray[Any] | None
    groups: NDArray[Any] | None
    rows: NDArray[np.intp]  # row of the file, from 0, that each row was read from
    others: tuple[str, ...]  # columns that are not used
    gaps: int  # number of rows that are left out because a value is missing
    notes: tuple[str | Message, ...] = ()

    @property
    def row_names(self) -> RowNames:
        """Names of the rows: their positions in the file, counted from 1."""
        return RowNames(1, positions=self.rows)

    @property
    def given(self) -> tuple[Any, Any]:
        """First two arguments of `separation`: X and y, or a formula and its table."""
        formula = self.plan.formula
        return (self.frame, self.y) if formula is None else (formula, self.frame)


def read_regression(
    source: Source,
    layout: Layout,
    options: ColumnOptions,
    weights: str | None = None,
    groups: str | None = None,
    formula: str | None = None,
) -> Regression:
    """Read a file as a regression, choosing the type of each column as `learn` does.

    The target may be two columns with a comma between them. If there is a formula, only its columns
    are read, and it drops rows with missing values later.
    """
    name, drop = source.name, options.missing == "drop"
    advice = Message("Give ", Parameter("missing", "drop"), ".")
    request = replace(options, target=None)
    with locate_errors(source, layout, advice=advice):
        table = read_whole(source, fit_format(source, layout, request)[0])
        if options.target is None and table.column_names == [LABEL, ENTRIES]:
            options = replace(options, target=LABEL)
        table = _expand_entries(table, name)
        names = table.column_names
        others = [
            None if one is None else find_column(names, one, parameter)
            for one, parameter in ((weights, "sample_weight"), (groups, "groups"))
        ]
        if formula is None:
            if options.target is None:
                raise UsageError("give ", Parameter("target"), ", the column of labels.")
            target, features, terms = find_targets(names, options.target), names, NO_COLUMNS
            request = replace(request, target=target[0])
        else:
            if options.target is not None:
                raise UsageError("give ", Parameter("target"), " or a formula, not both.")
            target, terms = NO_COLUMNS, Formula.parse(formula, names).columns
            features = [*terms, *(n for n in others[:1] if n is not None and n not in terms)]
            request = replace(
                request,
                ignore=tuple(n for n in names if n not in features),
                numbers=tuple(n for n in request.numbers if n in features),
                categories=tuple(n for n in request.categories if n in features),
            )
        columns, notes = _decide_columns(table, request, target, name)
        if formula is not None:  # text in a formula is a category, not words
            decided = {c.name for c in columns if not isinstance(c, Words)}
            if text := tuple(n for n in features if n not in decided):
                request = replace(request, categories=(*request.categories, *text))
                columns, notes = _decide_columns(table, request, target, name)
        weight_name, group_name = others
        used = tuple(
            c for c in columns if (c.name not in others if formula is None else c.name in terms)
        )
        for column in used:
            if isinstance(column, Words):
                raise DataError(
                    f"{name}, {quote_column(column.name)} is neither numbers nor categories. ",
                    *("Give ", with_column("ignore", column.name), ", or "),
                    *(with_column("category", column.name), "."),
                )
        number = next((c for c in columns if isinstance(c, Number) and c.name == weight_name), None)
        if weight_name is not None and number is None:
            raise DataError(
                *(f"{name}: ", with_column("sample_weight", weight_name)),
                " is not a column of numbers.",
            )
        plan = RegressionPlan(target, used, weight_name, 0, group_name, formula)
        return replace(_encode_rows(table, plan, number, drop, name), notes=notes)


def read_regression_as(source: Source, layout: Layout, plan: RegressionPlan) -> Regression:
    """Read a file as a regression with the columns that a proof file records.

    Rows with missing values are left out.
    """
    text = tuple(column.name for column in plan.columns if isinstance(column, Category))
    with locate_errors(source, layout, advice=""):
        typed, _ = fit_format(source, layout, ColumnOptions(categories=text))
        table = read_whole(source, typed)
        weight_column = None if plan.weights is None else Number(plan.weights)
        return _encode_rows(
            _expand_entries(table, source.name), plan, weight_column, True, source.name
        )


def find_targets(names: Sequence[str], given: str) -> tuple[str, ...]:
    """Return the target column, or both columns of a target such as "time,event"."""
    if given in names or "," not in given:
        return (find_column(names, given, "target"),)
    found = tuple(find_column(names, one.strip(), "target") for one in given.split(","))
    if len(set(found)) != 2:
        raise UsageError(
            Parameter("target", given),
            ": give one column, or two different ones: successes and failures, or time and event.",
        )
    return found


def _decide_columns(
    table: Any, options: ColumnOptions, target: tuple[str, ...], name: str
) -> tuple[tuple[Column, ...], tuple[str | Message, ...]]:
    seen = collect_statistics(table, options, name)
    features = {n: stats for n, stats in seen.items() if n not in target}
    return decide_columns(table, features, options, name)


def _expand_entries(table: Any, name: str) -> Any:
    """Expand LIBSVM entries to one column per feature; return other tables unchanged."""
    if table.column_names != [LABEL, ENTRIES]:
        return table
    cells = flatten(table.column(ENTRIES))
    index = split_entries(cells, ENTRIES)[0]
    first, last = int(min(1, index.min(initial=1))), int(index.max(initial=1))
    entries = Entries(ENTRIES, first, last + 1 - first)
    if entries.size > WIDEST:
        raise DataError(
            f"{name} has {entries.size:,} features, too many for a dense table; "
            "pass them as a CSR matrix to rosenblatt.separation in Python."
        )
    numbers = entries.encode(cells).toarray()
    columns = dict(zip(entries.features, numbers.T, strict=True))
    return pa.table({LABEL: table.column(LABEL), **columns})


def _encode_rows(
    table: Any, plan: RegressionPlan, weight_column: Column | None, drop: bool, name: str
) -> Regression:
    """Encode the columns that a regression uses as numbers and categories.

    Rows with missing values are dropped if `drop`; otherwise the first one raises an error.
    """
    columns = [*plan.columns, *([] if weight_column is None else [weight_column])]
    plain_columns = [*plan.target, *([] if plan.groups is None else [plan.groups])]
    used = [*(column.name for column in columns), *plain_columns]
    check_columns_present(table.column_names, used, name)
    cells, gaps = {}, np.zeros(table.num_rows, dtype=bool)
    for column in columns:
        texts = decode_text(table.column(column.name), column.name)
        if isinstance(column, Number):
            found = pa.array(column.encode(texts)[:, 0], from_pandas=True)
            if column is weight_column or plan.formula is None:
                gaps |= _find_gaps(found, drop, column.name, texts)
        else:
            found = null_where(as_text(texts))
            if plan.formula is None:
                gaps |= _find_gaps(found, drop, column.name, None, "a category")
        cells[column.name] = found
    others = {}
    for one in plain_columns:
        found = flatten(decode_text(table.column(one), one))
        others[one] = null_where(as_text(found)) if is_text(found.type) else found
        gaps |= _find_gaps(others[one], drop, one, None, "a label")
    kept = np.flatnonzero(~gaps)
    if len(kept) == 0:
        raise DataError(f"{name}: {NO_ROW_LEFT}.")
    rows = pa.array(kept)
    weights = None if plan.weights is None else cells[plan.weights].take(rows)
    features = {n: found for n, found in cells.items() if n in {c.name for c in plan.columns}}
    arrays = {n: found.take(rows).to_numpy(zero_copy_only=False) for n, found in others.items()}
    targets = [arrays[n] for n in plan.target]
    return Regression(
        replace(plan, rows=len(kept)),
        pa.table(features).take(kept),
        targets[0] if len(targets) == 1 else np.column_stack(targets) if targets else None,
        None if weights is None else weights.to_numpy(zero_copy_only=False),
        None if plan.groups is None else arrays[plan.groups],
        kept,
        tuple(n for n in table.column_names if n not in used),
        int(gaps.sum()),
    )


def _find_gaps(
    cells: Any, drop: bool, name: str, texts: Any, expected: str = "a number"
) -> NDArray[np.bool_]:
    """Return a mask of missing values; raise BadCellError if there is one and `drop` is false.

    `texts` are the cells as written, which the error quotes.
    """
    missing: NDArray[np.bool_] = pc.is_null(cells).to_numpy(zero_copy_only=False)
    if missing.any() and not drop:
        row = int(missing.argmax())
        raise BadCellError(row, name, "" if texts is None else cell_as_text(texts, row), expected)
    return missing
