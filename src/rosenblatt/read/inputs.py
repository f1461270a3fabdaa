"""Forms in which Python functions accept rows and labels.

`(X, y)`, `(frame, "column")`, `(frame, target="column")` and `("file.csv", target="column")` mean
the same to every public function. Frames are those of pandas, polars and Arrow.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import rosenblatt.checks as checks
from rosenblatt.errors import (
    FROM_ZERO,
    BadCellError,
    DataError,
    FileRowError,
    Parameter,
    RowNames,
    UsageError,
    UserError,
)
from rosenblatt.examples import Examples
from rosenblatt.read.columns import Number, to_arrow
from rosenblatt.read.data import Data, data_from_table, describe_excess, open_data, read_data
from rosenblatt.read.encoding import Encoding, Plan, TargetColumn, check_labels, spell_label
from rosenblatt.read.plan import ColumnOptions
from rosenblatt.read.source import Layout, Source
from rosenblatt.text import join_words, quote_column, shorten

TARGET = Parameter("target")
Target = str | Sequence[str] | None


class Input(NamedTuple):
    """Rows, with their labels or the names of the target columns."""

    rows: Any  # an array, a CSR matrix, a frame or a file
    y: Any
    target: tuple[str, ...]  # empty where y has the labels, or nobody named a column


def is_frame(X: Any) -> bool:
    """Return whether X is a frame of pandas, polars or Arrow; raise UsageError if it is lazy."""
    if hasattr(X, "__dask_graph__") and hasattr(X, "columns"):
        raise UsageError(
            "X is a Dask dataframe, whose rows are not in memory; give X.compute(), or a sample of "
            "its rows, or use rosenblatt.dask."
        )
    if type(X).__name__ == "LazyFrame":
        raise UsageError("X is a lazy frame, whose rows are not in memory; give X.collect().")
    return hasattr(X, "column_names") or hasattr(X, "columns")


def find_input(X: Any, y: Any, target: Target) -> Input:
    """Find rows and labels among the arguments; raise UsageError if they conflict."""
    named = (target,) if isinstance(target, str) else tuple(target or ())
    if isinstance(y, str):
        if named and named != (y,):
            raise UsageError("y and ", TARGET, " name different columns; give only one of them.")
        y, named = None, (y,)
    if y is not None and named:
        raise UsageError("give y or ", TARGET, ", not both.")
    if isinstance(X, str | os.PathLike):
        if isinstance(X, str) and "~" in X and not os.path.exists(X):
            raise UsageError(
                "only rosenblatt.separation takes a formula; give the frame and ", TARGET, "."
            )
        if y is not None:
            raise UsageError("X is a file: name the column of its labels with ", TARGET, ".")
        return Input(Source.find(os.fspath(X)), None, named)
    if is_frame(X):
        return Input(X, y, named)
    if named:
        raise UsageError(TARGET, " names a column, and X has no column names; give y.")
    return Input(X, y, ())


def names_of(frame: Any) -> list[str]:
    """Return the column names of a frame, except names that are not strings."""
    names = getattr(frame, "column_names", None)
    return [n for n in (frame.columns if names is None else names) if isinstance(n, str)]


def select(frame: Any, names: Sequence[str]) -> Any:
    """Return the columns in `names`, as a frame of the same library (such as pandas)."""
    return frame[list(names)] if hasattr(frame, "iloc") else frame.select(list(names))


def column_of(frame: Any, name: str) -> Any:
    """Return one column of a frame as the type of its library, such as a pandas Series."""
    return frame.column(name) if hasattr(frame, "column_names") else frame[name]


def is_textual(frame: Any) -> bool:
    """Return whether a frame has a column of text or categories."""
    types = frame.schema.types if hasattr(frame, "column_names") else list(frame.dtypes)
    names = [str(kind).lower() for kind in types]
    if any(name.startswith(("str", "cat", "large_str", "dict", "enum")) for name in names):
        return True
    # Before version 3, pandas holds text as objects: the first value that is there decides.
    objects = [j for j, name in enumerate(names) if name == "object" and hasattr(frame, "iloc")]
    firsts = (frame.iloc[:, j].dropna().head(1).tolist() for j in objects)
    return any(isinstance(value, str) for first in firsts for value in first)


def read_input(
    X: Any,
    y: Any,
    options: ColumnOptions,
    check_passes: Callable[[], None] = lambda: None,
) -> Data:
    """Read rows and labels, given in any accepted form, as training data.

    `check_passes` is called for a file that is larger than memory, and may raise an error.
    """
    given = find_input(X, y, options.target)
    options = replace(options, target=given.target[0] if given.target else None)
    if isinstance(given.rows, Source):
        if not describe_excess(given.rows, Layout()):
            return replace(read_data(given.rows, Layout(), options), numbering=FROM_ZERO)
        check_passes()
        data = open_data(given.rows, Layout(), options, convert=False)
        return replace(data, numbering=FROM_ZERO)
    if not is_frame(X):
        return _read_arrays(X, given.y, options)
    table = to_arrow(X)
    if given.y is not None:
        name = str(getattr(y, "name", None) or "y")
        while name in table.column_names:
            name += "_"
        labels = pa.array(y if isinstance(y, list | tuple) else np.asarray(y))
        checks.check_lengths(table.num_rows, len(labels))
        table, options = table.append_column(name, labels), replace(options, target=name)
    try:
        return replace(data_from_table(table, options, "X"), numbering=RowNames.of(X))
    except BadCellError as bad:
        where = f"X, {RowNames.of(X).join([bad.row])}, {quote_column(bad.column)}"
        raise DataError(
            *(f"{where}: {bad.what}. Give ", Parameter("missing", "drop"), ", "),
            *(Parameter("missing", "mean"), ", or ", Parameter("ignore"), " or "),
            *(Parameter("category"), " with that column."),
        ) from None


def _read_arrays(X: Any, y: Any, options: ColumnOptions) -> Data:
    """Return arrays of numbers as training data."""
    examples = Examples.from_arrays(X, y)
    positive = options.positive
    if positive is not None:
        names = [spell_label(label) for label in examples.labels.tolist()]
        if positive not in names:
            there = join_words([shorten(name) for name in names])
            raise UsageError(f"positive is {shorten(positive)}; the labels are {there}.")
        if examples.multiclass:
            y = np.where(examples.y == names.index(positive), 1, -1).astype(np.int8)
            pair = np.array([f"not {positive}", positive])
            examples = Examples(examples.X, y, pair, examples.names)
        elif positive == names[0]:
            examples = replace(examples, y=-examples.y, labels=examples.labels[::-1])
    labels = examples.labels.tolist()
    if examples.multiclass:
        check_labels(labels, examples.n, "y", "the labels as text")
    plan = Plan(
        Encoding(tuple(map(Number, examples.feature_names))), TargetColumn("", tuple(labels))
    )
    return Data("X", examples, np.arange(examples.n), plan, None, numbering=RowNames.of(X))


def read_examples(
    X: Any, y: Any, target: str | None, from_arrays: Callable[[Any, Any], Examples], x0: float
) -> tuple[Examples, RowNames]:
    """Read rows and labels into memory; return examples and row names.

    Arrays and frames of numbers with their labels are read by `from_arrays`. Text in a frame or a
    file becomes categories or words, as `learn` reads it.
    """
    given = find_input(X, y, target)
    arrays = given.y is not None and not (is_frame(X) and is_textual(X))
    if arrays or not (is_frame(X) or isinstance(given.rows, Source)):
        return from_arrays(X, y), RowNames.of(X)

    def refuse() -> None:
        raise UsageError(
            "the file does not fit in memory; use the command line, or rosenblatt.learn."
        )

    data = read_input(X, y, ColumnOptions(target=target), refuse)
    return replace(data.examples, x0=x0), data.row_names()


@contextmanager
def explain_parameters(function: Callable[..., Any]) -> Iterator[None]:
    """Rewrite errors that suggest parameters which `function` does not have."""
    known = signature(function).parameters
    try:
        yield
    except UserError as error:
        message = error.of_file if isinstance(error, FileRowError) else error.message
        lacking = [n for n in error.message.parameters if n not in known and n != "formula"]
        if not lacking and message is error.message:
            raise
        kind = DataError if isinstance(error, FileRowError) else type(error)
        if not lacking:
            raise kind(message) from None
        raise kind(
            *(message, f" rosenblatt.{function.__name__} does not take ", Parameter(lacking[0])),
            ": read the file as a data frame, make that change, and give the frame.",
        ) from None
