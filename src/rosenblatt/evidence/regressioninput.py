"""Read a regression from arrays, a frame, a formula or a model, and create its signed rows.

A regression may be given as X and y, as a frame or a file and the names of columns, as a formula
and its data, or as a model of another package.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.adapters import ForeignModel, read_foreign_model
from rosenblatt.checks import one_of
from rosenblatt.errors import (
    FROM_ZERO,
    Message,
    Parameter,
    RowError,
    RowNames,
    UsageError,
    with_index_labels,
)
from rosenblatt.evidence.families import (
    FAMILIES,
    INTERCEPT,
    MANY_DUMMIES,
    NO_INTERCEPT,
    NO_ROWS,
    Design,
    Ints,
    Question,
    as_design,
    encode_dummies,
    join_columns,
    question_of,
)
from rosenblatt.examples import as_table
from rosenblatt.read.inputs import Target, column_of, find_input, is_frame, names_of, select
from rosenblatt.tables import as_column, column_names
from rosenblatt.text import join_words, quote_column

if TYPE_CHECKING:
    from rosenblatt.read.formula import Formula


def question(
    X: Any,
    y: Any,
    family: str | None,
    fit_intercept: bool = True,
    sample_weight: Any = None,
    groups: Any = None,
    target: Target = None,
) -> Question:
    """Read a regression from arrays, a frame, a formula or a model; create its signed rows.

    The forms are X and y, a frame or a file and the column of its target, a formula and its data,
    and a model.
    """
    if y is None and target is None and not isinstance(X, str | os.PathLike) and not is_frame(X):
        model = read_foreign_model(X, family)
        sample_weight = model.weights if sample_weight is None else sample_weight
        groups = model.groups if groups is None else groups
        if model.formula is None:
            design = Design(model.X, model.names)
            regression = question_of(design, model.y, model.family, False, sample_weight, groups)
            return replace(_add_likelihood(regression, model), row_names=model.row_names)
        given = _find_columns(model.formula, model.X, None, sample_weight, groups)
        regression = _create_rows(given._replace(rows=model.rows), model.family, fit_intercept)
        note = (Message(model.note),) if model.note else ()
        return replace(_add_likelihood(regression, model), notes=(*note, *regression.notes))
    family = one_of("family", family or "binomial", FAMILIES)
    given = _find_columns(X, y, target, sample_weight, groups)
    return _create_rows(given, family, fit_intercept)


def _create_rows(given: Given, family: str, fit_intercept: bool) -> Question:
    """Create the signed rows of a table with its target, or of a formula with its data."""
    notes, left_out = list[Message](), NO_ROWS
    with with_index_labels(given.row_names):
        rows, y, weights, groups = given.rows, given.y, given.weights, given.groups
        if given.formula is None:
            design = design_of(given.X, fit_intercept or family in NO_INTERCEPT)
            if family in NO_INTERCEPT:
                design = Design(design.X[:, 1:], design.names[1:])
            elif fit_intercept:
                remedy = Message("give ", Parameter("fit_intercept", False))
                notes += _note_constant_columns(design, remedy)
        else:
            has_intercept = given.formula.has_intercept and family not in NO_INTERCEPT
            if has_intercept and not fit_intercept:
                raise UsageError("write 0 + in the formula in place of fit_intercept=False.")
            built = given.formula.build(given.X, None if family in NO_INTERCEPT else INTERCEPT)
            few = built.X.shape[1] <= MANY_DUMMIES
            design = Design(built.X.toarray() if few else built.X, built.names)
            y, fit_intercept = built.y, has_intercept
            if has_intercept:
                notes += _note_constant_columns(design, Message("write 0 + in the formula"))
            everything = np.arange(given.X.num_rows) if rows is None else rows
            rows = everything[built.rows]
            left_out = np.setdiff1d(everything, rows)
            weights, groups = (
                None if column is None else as_column(column)[built.rows]
                for column in (weights, groups)
            )
        regression = question_of(design, y, family, fit_intercept, weights, groups, rows)
    notes += regression.notes
    return replace(regression, notes=tuple(notes), left_out=left_out, row_names=given.row_names)


def _add_likelihood(regression: Question, model: ForeignModel) -> Question:
    """Add a model's offset, link and treatment of ties to the data of the likelihood."""
    assert regression.data is not None
    offset = model.offset
    if offset is not None:  # rows of the model, from 0, unless it has original numbers for them
        used = regression.data.rows
        offset = offset[used if model.rows is None else np.searchsorted(model.rows, used)]
    own = {"offset": offset, "efron": model.efron, "unfitted": model.unfitted}
    own |= {"link": model.link} if model.link else {}
    return replace(regression, data=regression.data._replace(**own))


class Given(NamedTuple):
    """Input from the user: a table and a target, or a formula and its data."""

    X: Any
    y: Any
    weights: Any
    groups: Any
    row_names: RowNames
    rows: Ints | None = None  # row of the file, from 0, that each row was read from
    formula: Formula | None = None


def _find_columns(X: Any, y: Any, target: Target, weights: Any, groups: Any) -> Given:
    """Find and read the columns of target, weights and groups in a frame or a file."""
    from rosenblatt.read.columns import to_arrow
    from rosenblatt.read.formula import Formula
    from rosenblatt.read.plan import ColumnOptions, find_column
    from rosenblatt.read.regression import find_targets, read_regression
    from rosenblatt.read.source import Layout, Source

    text = None
    if isinstance(X, str) and "~" in X and not (y is None and os.path.exists(X)):
        text, X, y = X, y, None
        if X is None or not (is_frame(X) or isinstance(X, str | os.PathLike)):
            raise UsageError("give the formula and its data: a frame, or a file.")
        if target is not None:
            raise UsageError("give ", Parameter("target"), " or a formula, not both.")
        columns: tuple[str, ...] = ()
        source: Any = Source.find(os.fspath(X)) if isinstance(X, str | os.PathLike) else None
    else:
        if isinstance(X, str) and is_frame(y):
            raise UsageError(
                Parameter("formula", X), ": it has no ~; write the target, ~ and the terms."
            )
        X, y, columns = find_input(X, y, target)
        source = X if isinstance(X, Source) else None
    if source is not None:
        for name, value in (("sample_weight", weights), ("groups", groups)):
            if value is not None and not isinstance(value, str):
                raise UsageError("the data are a file: name the column of ", Parameter(name), ".")
        options = ColumnOptions(target=",".join(columns) or None)
        read = read_regression(source, Layout(), options, weights, groups, text)
        formula = None if text is None else Formula.parse(text, read.frame.column_names)
        return Given(
            *(read.frame, read.answers, read.weights, read.groups, FROM_ZERO, read.rows, formula)
        )
    names, row_names = names_of(X) if is_frame(X) else [], RowNames.of(X)
    if len(columns) == 1:
        columns = find_targets(names, columns[0])
    targets = columns = tuple(find_column(names, one, "target") for one in columns)
    if isinstance(weights, str):
        columns += (find_column(names, weights, "sample_weight"),)
        weights = column_of(X, columns[-1])
    if isinstance(groups, str):
        columns += (find_column(names, groups, "groups"),)
        groups = column_of(X, columns[-1])
    if text is not None:
        formula = Formula.parse(text, names)
        table = to_arrow(select(X, formula.columns))
        return Given(table, None, weights, groups, row_names, None, formula)
    if y is None:
        if not columns:
            raise UsageError("give ", Parameter("target"), ", the column of the target.")
        y = (
            column_of(X, targets[0])
            if len(targets) == 1
            else np.column_stack([as_column(column_of(X, one)) for one in targets])
        )
    left = X if not columns else select(X, [n for n in names if n not in columns])
    return Given(left, y, weights, groups, row_names)


def _note_constant_columns(design: Design, remedy: Message) -> list[Message]:
    """Return a note on constant columns besides the intercept, or an empty list."""
    X, n = design.X[:, 1:], design.X.shape[0]
    if isinstance(X, np.ndarray):
        constant = np.flatnonzero((X[:1] == X).all(axis=0) & (X[0] != 0))
    else:
        full = np.flatnonzero(np.bincount(X.indices, minlength=X.shape[1]) == n)
        parts = X[:, full].toarray()
        constant = full[(parts[:1] == parts).all(axis=0)] if n > 1 else full
    if len(constant) == 0 or n == 1:
        return []
    names = join_words([quote_column(design.names[1 + j]) for j in constant.tolist()])
    verb = "is" if len(constant) == 1 else "are"
    return [Message(f"{names} {verb} constant, as the intercept is: ", remedy)]


def design_of(X: Any, fit_intercept: bool = True) -> Design:
    """Convert an array, a CSR matrix or a frame to a design.

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
        tables = list(_encode_frame(X, keep_all=not fit_intercept))
    else:
        table = as_table(X)
        tables = [(table, [f"x{j}" for j in range(1, table.shape[1] + 1)])]
    names = tuple(name for _, some in tables for name in some)
    return as_design(join_columns([table for table, _ in tables]), names, fit_intercept)


def _encode_frame(X: Any, *, keep_all: bool) -> Iterator[tuple[Any, list[str]]]:
    """Encode each column of a frame as numbers; yield tables and column names.

    A column of text or categories becomes one dummy column per level, without the first level
    unless `keep_all`; then only the first such column keeps all levels.
    """
    import pyarrow as pa

    from rosenblatt.read.columns import to_arrow

    try:
        X = to_arrow(X)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as trouble:
        raise ValueError(
            f"X: {trouble.args[-1]}; make every cell of the column a number, or every cell text."
        ) from None
    kinds = pa.types
    categories = (kinds.is_dictionary, kinds.is_string, kinds.is_large_string, kinds.is_string_view)
    for i, name in enumerate(X.column_names):
        column = X.column(i)
        if any(test(column.type) for test in categories):
            codes, levels = _encode_levels(name, column)
            dummies = encode_dummies(codes, len(levels), 0 if keep_all else 1)
            yield dummies, [f"{name}[{level}]" for level in levels[0 if keep_all else 1 :]]
            keep_all = False
        else:
            yield as_table(pa.table({name: column})), [name]


def _encode_levels(name: str, column: Any) -> tuple[NDArray[np.intp], list[str]]:
    """Return the level of each cell as an index, and the levels, sorted unless declared."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.null_count:
        row = int(np.flatnonzero(pc.is_null(column).to_numpy(zero_copy_only=False))[0])
        problem = f", {quote_column(name)}: the value is missing; drop the row or fill it in."
        raise RowError("X, ", row, problem)
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
