"""Encoding of the columns of a table as X and y, which every model stores."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
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
    UsageError,
    with_label,
)
from rosenblatt.examples import sum_of_squares
from rosenblatt.read.columns import (
    MISSING,
    Category,
    Column,
    Entries,
    Number,
    Words,
    as_numbers,
    as_text,
    cell_as_text,
    decode_text,
    flatten,
    is_date_or_time,
    is_text,
    null_where,
    unusable_content,
)
from rosenblatt.tables import to_dense
from rosenblatt.text import join_words, plural, quote_column, shorten

WIDE = 256  # number of features from which words and entries stay sparse
POLICIES = ("error", "drop", "mean")
HANDFUL = 5  # up to this number of labels, all may be rare
FEW = 50  # maximum number of labels that are numbers, and of texts that are categories
CLOSE = 1e-9  # relative tolerance of a mean, which depends on the order of summation

Label = str | int | float | bool


@dataclass(frozen=True)
class Encoding:
    """Encoding of columns as features, with a policy for missing values."""

    columns: tuple[Column, ...]  # in the order of their features in X
    missing: str = "error"  # "drop": drop the row; "mean" or "zero": impute that
    stop_words: tuple[str, ...] = field(default=(), compare=False)  # that text columns leave out

    @functools.cached_property
    def features(self) -> tuple[str, ...]:
        """Names of all features, in order and without duplicates.

        The name of a word is the word itself if there is only one column of text and no other
        column has a feature of that name. Otherwise it includes the column: "title: great".

        Examples
        --------
        >>> Encoding((Words("title", ("great",)), Words("text", ("bad", "great")))).features
        ('title: great', 'text: bad', 'text: great')
        >>> Encoding((Words("title", ("age", "great")),)).features
        ('age', 'great')
        """
        texts = [column for column in self.columns if isinstance(column, Words)]
        names = [name for column in self.columns for name in column.features]
        if len(texts) > 1 or (texts and len(set(names)) < len(names)):
            names = [
                f"{column.name}: {name}" if isinstance(column, Words) else name
                for column in self.columns
                for name in column.features
            ]
        met: Counter[str] = Counter()
        for i, name in enumerate(names):  # a number "color=red" and a category "color"
            met[name] += 1
            names[i] = name if met[name] == 1 else f"{name} ({met[name]})"
        return tuple(names)

    def types(self, strict: bool) -> dict[str, Any]:
        """Return a dict from column names to the Arrow types to read them as.

        All types are text if invalid numbers count as missing.
        """
        loose = not strict and self.missing in ("drop", "mean")
        return {c.name: pa.string() if loose else c.type for c in self.columns}

    def encode(self, table: Any, name: str) -> tuple[Any, NDArray[np.intp]]:
        """Encode a table; return X and, for each row of X, its row in the table.

        Messages call the table `name`.
        """
        names = {column.name: None for column in self.columns}
        if self.missing != "zero" or names.keys().isdisjoint(table.schema.names):
            first = self.columns[0]
            if isinstance(first, Entries) and first.name not in table.schema.names:
                raise DataError(
                    f"{name} has no LIBSVM entries (index:value), which this model was trained on; "
                    "give a LIBSVM file, or in Python an array."
                )
            check_columns_present(table.schema.names, names, name)
        floats = self._encode_floats(table, name)
        if floats is not None:
            return floats
        blocks, bad = [], []
        keep = np.ones(table.num_rows, dtype=bool)
        for column in self.columns:
            try:
                blocks.append(self._encode_column(column, table, name, keep))
            except BadCellError as error:
                bad.append(error)
        if bad:
            # A column reports one kind of error; earlier rows and the same row may have others. The
            # error must not depend on the size of the batch.
            earliest = min(bad, key=lambda cell: cell.row)
            if table.num_rows > 1:
                self.encode(table.slice(0, earliest.row), name)
                try:
                    self.encode(table.slice(earliest.row, 1), name)
                except BadCellError as alone:
                    alone.row = earliest.row
                    raise alone from None
            raise earliest
        rows = np.flatnonzero(keep)
        mostly_zeros = any(isinstance(column, Words | Entries) for column in self.columns)
        if mostly_zeros and len(self.features) >= WIDE:
            from scipy.sparse import csr_array, hstack

            X = hstack([csr_array(block) for block in blocks], format="csr")
            X.indices = X.indices.astype(np.int32, copy=False)
            X.indptr = X.indptr.astype(np.int32, copy=False)
        else:
            dense = [to_dense(block) for block in blocks]
            X = np.empty((len(keep), sum(block.shape[1] for block in dense)))  # in row order
            np.concatenate(dense, axis=1, out=X)
        return (X if len(rows) == len(keep) else X[rows]), rows

    def _encode_floats(self, table: Any, name: str) -> tuple[Any, NDArray[np.intp]] | None:
        """Encode a table of floats without missing values, or return None.

        If all columns have single precision, X has too, which needs half the memory.
        """
        names = set(table.schema.names)
        if not all(type(column) is Number and column.name in names for column in self.columns):
            return None
        cells = [table.column(column.name) for column in self.columns]
        kinds = {c.type for c in cells}
        if not kinds <= {pa.float32(), pa.float64()} or any(c.null_count for c in cells):
            return None
        dtype = np.float32 if kinds == {pa.float32()} else np.float64
        X, squares = interleave_columns([flatten(c).to_numpy() for c in cells], dtype)
        return (X, np.arange(len(X))) if math.isfinite(squares) else None

    def _encode_column(self, column: Column, table: Any, name: str, keep: NDArray[np.bool_]) -> Any:
        """Encode a column; impute missing numbers, or mark their rows as dropped in `keep`."""
        if table.schema.get_field_index(column.name) >= 0:
            cells = decode_text(table.column(column.name), column.name)
        else:  # as the policy "zero" allows
            cells = pa.nulls(table.num_rows, pa.string())
        if isinstance(column, Category) and is_date_or_time(cells.type):
            cells = as_text(cells)
        unknown = unusable_content(cells.type)
        if unknown and not (isinstance(column, Entries) and pa.types.is_map(cells.type)):
            raise DataError(
                f"{name}, {quote_column(column.name)} holds {unknown}; expected: {column.kind}."
            )
        block = column.encode(cells)
        if not isinstance(column, Number) or not (missing := np.isnan(block[:, 0])).any():
            return block
        refused = missing & (self.missing == "error")
        if self.missing == "zero" and is_text(flatten(cells).type):  # other text is no number
            gaps = pc.is_in(as_text(cells), pa.array(MISSING)).to_numpy(zero_copy_only=False)
            refused = missing & ~gaps
        if refused.any():
            row = int(refused.argmax())
            raise BadCellError(row, column.name, cell_as_text(cells, row), column.promised)
        if self.missing == "drop":
            keep &= ~missing
            return block
        return np.where(np.isnan(block), column.mean if self.missing == "mean" else 0.0, block)


@dataclass(frozen=True)
class TargetColumn:
    """Target column and its labels; the second of two labels is the positive class.

    With `others`, the negative class is every label but the positive one, named "not setosa".

    Examples
    --------
    >>> TargetColumn("kind", (1, 2, 10)).encode(pa.array(["10", " 1", None, "2.0"]))
    array([ 2,  0, -1,  1], dtype=int32)
    >>> TargetColumn("kind", ("no", "yes")).encode(pa.array(["yes", "no", ""]))
    array([ 1, -1,  0], dtype=int8)
    """

    column: str
    names: tuple[Label, ...]  # sorted
    others: bool = False

    @property
    def many(self) -> bool:
        """Whether there are more than two labels; if so, y holds positions in `labels`."""
        return len(self.names) > 2

    @property
    def none(self) -> int:
        """Value of y that stands for a missing label."""
        return -1 if self.many else 0

    @property
    def labels(self) -> NDArray[Any]:
        """Labels as an array, like scikit-learn's `classes_`."""
        return np.array(self.spellings if self.others else self.names)

    @property
    def spellings(self) -> list[str]:
        """Labels as text, spelled as in files."""
        return [spell_label(label) for label in self.names]

    @property
    def promised(self) -> str:
        """Description of a valid cell, for messages."""
        if self.many:
            return f"one of the labels {join_words([shorten(one) for one in self.spellings])}"
        return '"{}" or "{}"'.format(*map(shorten, self.spellings))

    def to_json(self) -> dict[str, Any]:
        """Return the column and its labels as a model file stores them."""
        value = {"column": self.column, "labels": list(self.names)}
        return {**value, "others": True} if self.others else value

    def read(self, cells: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Encode labels as y; also return a mask of unknown labels."""
        cells = flatten(cells)
        integers = pa.types.is_integer(cells.type) and cells.null_count == 0
        if integers and not self.many and all(type(name) is int for name in self.names):
            values, (negative, positive) = cells.to_numpy(), self.names
            yes = values == positive
            if np.count_nonzero(yes) + np.count_nonzero(values == negative) == len(values):
                return yes.astype(np.int8) * np.int8(2) - np.int8(1), np.zeros_like(yes)
        coded = plain_labels(decode_text(cells, self.column)).dictionary_encode()
        places = np.full(len(coded.dictionary) + 1, -1, dtype=np.int32)
        for place, label in enumerate(self.names):
            same = pc.fill_null(_equal_to_label(coded.dictionary, label), False)
            places[:-1][same.to_numpy(zero_copy_only=False)] = place
        codes = pc.fill_null(coded.indices, len(places) - 1).to_numpy(zero_copy_only=False)
        y = places[codes]
        unknown = (y == -1) & (codes < len(places) - 1)
        if self.others:
            y[unknown], unknown = 0, np.zeros_like(unknown)
        return y if self.many else np.where(y < 0, 0, 2 * y - 1).astype(np.int8), unknown

    def encode(self, cells: Any, required: bool = False) -> NDArray[Any]:
        """Encode labels as y; raise BadCellError on the first unknown (or missing) label.

        A missing label is an error if labels are `required`.
        """
        try:
            y, wrong = self.read(cells)
        except BadCellError as bad:
            self.encode(cells.slice(0, bad.row), required)  # there may be an earlier error
            raise
        if required:
            wrong = wrong | (y == self.none)
        if wrong.any():
            row = int(wrong.argmax())
            label = plain_labels(cells.slice(row, 1))[0].as_py()
            if label is None:
                raise BadCellError(row, self.column, "", "a label")
            raise BadCellError(row, self.column, str(label), self.promised)
        return y


def plain_labels(cells: Any) -> Any:
    """Convert labels to trimmed text, integers, floats or booleans.

    Decimals become text, because only all labels together show whether float64 distinguishes them.
    """
    cells = flatten(cells)
    kind = cells.type
    if pa.types.is_integer(kind) and not pa.types.is_uint64(kind):
        return cells.cast(pa.int64())
    if pa.types.is_floating(kind):
        cells = pc.add(cells.cast(pa.float64()), 0.0)  # -0.0 and 0.0 are the same label
        return pc.if_else(pc.is_nan(cells), pa.scalar(None, pa.float64()), cells)
    if pa.types.is_boolean(kind):
        return cells
    return null_where(as_text(cells))


def _equal_to_label(values: Any, label: Label) -> Any:
    """Return a mask of the values equal to a label; the text "2.0" equals the label 2."""
    if not pa.types.is_string(values.type):
        if isinstance(label, str) or isinstance(label, bool) != pa.types.is_boolean(values.type):
            return pa.array(np.zeros(len(values), dtype=bool))
        return pc.equal(values, pa.scalar(label))
    same = pc.equal(values, spell_label(label))
    if isinstance(label, bool):
        also = pc.is_in(pc.utf8_lower(values), pa.array([spell_label(label), str(int(label))]))
    elif isinstance(label, str) or abs(label) >= 2**53:  # float64 does not tell neighbors apart
        return same
    else:
        also = pc.fill_null(pc.equal(as_numbers(values), float(label)), False)
    return pc.or_kleene(same, also)


def spell_label(label: Label) -> str:
    """Return a label as text, as files spell it."""
    return str(label).lower() if isinstance(label, bool) else str(label)


def check_labels(labels: list[Any], rows: int, where: str, otherwise: str | Parameter) -> None:
    """Raise DataError if values look like measurements or names, not class labels."""
    shown = join_words([shorten(spell_label(label)) for label in labels], most=4)
    text = f"{where}: {plural(len(labels), 'different label')} ({shown})"
    spelled: dict[str, list[Any]] = {}
    for label in labels:
        spelled.setdefault(" ".join(spell_label(label).casefold().split()), []).append(label)
    alike = next((same for same in spelled.values() if len(same) > 1), [])
    if alike:
        pair = join_words([f'"{shorten(label)}"' for label in alike])
        raise DataError(
            f"{text}. {pair} differ only in case or blanks: write them alike, or give ",
            otherwise,
            " to keep them as different labels.",
        )
    number = int | float | np.integer | np.floating
    numbers = isinstance(labels[0], number) and not isinstance(labels[0], bool)
    parts = numbers and any(math.isinf(label) or label != round(label) for label in labels)
    rare = len(labels) > HANDFUL and 2 * len(labels) > rows  # most of them occur once
    if parts or rare or (numbers and len(labels) > FEW):
        what = "measurements" if numbers else "names"
        raise DataError(
            f"{text} in {plural(rows, 'row')}, which look like {what}, not labels. Give ",
            *(Parameter("target"), " for another column, "),
            *(
                with_label("positive", spell_label(labels[-1])),
                ", for example, to learn it against ",
            ),
            *("the rest, or ", otherwise, f" to learn all {len(labels):,} labels."),
        )


def find_label(given: str, labels: list[Any], column: str) -> Any:
    """Return the label that the user means, ignoring case if necessary."""
    text, number = given.strip(), math.nan
    with suppress(ValueError):
        number = float(given)
    matching = [label for label in labels if spell_label(label) == text] or [
        label
        for label in labels
        if str(label).lower() == text.lower()
        or (not isinstance(label, str | bool) and label == number)
    ]
    if len(matching) != 1:
        raise UsageError(
            with_label("positive", given),
            f" is not a label in {quote_column(column)}; the labels are "
            f"{join_words([shorten(spell_label(label)) for label in labels])}.",
        )
    return matching[0]


def check_columns_present(names: Sequence[str], needed: Iterable[str], name: str) -> None:
    """Raise DataError if a table lacks a column that is needed."""
    there = set(names)
    for one in needed:
        if one not in there:
            raise DataError(f"{name} has no {quote_column(one)}, which is needed.")


@dataclass(frozen=True)
class Plan:
    """How the features and the target are encoded, with notes for the user."""

    encoding: Encoding
    target: TargetColumn
    guessed: str = ""  # why the target was chosen, if it was guessed
    notes: tuple[str | Message, ...] = ()


MAX_VALUES = 1000  # distinct unknown values that are counted per column


class UnseenCategories:
    """Counter of rows with a category that no training row has.

    Examples
    --------
    >>> unseen = UnseenCategories(Encoding((Category("color", ("blue", "red")),)))
    >>> unseen.add(pa.table({"color": ["teal", "red", "mauve", "teal"]}))
    >>> print(*unseen.sentences())
    3 rows have a value of column "color" that no training row has: "teal" (2) and "mauve" (1).
    """

    def __init__(self, encoding: Encoding) -> None:
        self.columns = [column for column in encoding.columns if isinstance(column, Category)]
        self.rows = dict.fromkeys((column.name for column in self.columns), 0)
        self.values: dict[str, Counter[str]] = {name: Counter() for name in self.rows}

    def add(self, table: Any) -> None:
        """Count the rows of a table or record batch that have an unknown category."""
        for column in self.columns:
            if column.name not in table.schema.names:
                continue
            cells = table.column(column.name)
            unknown = column.codes(cells) < 0
            if not unknown.any():
                continue
            self.rows[column.name] += int(np.count_nonzero(unknown))
            known = self.values[column.name]
            for pair in as_text(cells).filter(pa.array(unknown)).value_counts().to_pylist():
                if pair["values"] in known or len(known) < MAX_VALUES:
                    known[pair["values"]] += pair["counts"]

    def sentences(self) -> Iterator[str]:
        """Yield a sentence for each column with unknown categories."""
        for name, rows in self.rows.items():
            if rows:
                values = self.values[name].most_common()
                named = [
                    (f'"{shorten(value)}"' if value else "(missing)", n) for value, n in values
                ]
                text = join_words([f"{value} ({count:,})" for value, count in named])
                have = "has" if rows == 1 else "have"
                yield (
                    f"{plural(rows, 'row')} {have} a value of {quote_column(name)} that "
                    f"no training row has: {text}."
                )

    def to_json(self) -> dict[str, Any]:
        """Return each column's unknown values, with counts, and how many rows have one."""
        return {
            name: {"rows": rows, "values": dict(self.values[name].most_common())}
            for name, rows in self.rows.items()
            if rows
        }


ENTRIES = 1 << 18  # numbers transposed at a time: they stay in the cache
FEWEST = 1 << 10  # minimum number of rows transposed at a time
APART = 8  # padding of columns, against cache conflicts at round distances


def interleave_columns(
    columns: Sequence[NDArray[Any]], dtype: Any = np.float64
) -> tuple[NDArray[Any], float]:
    """Combine columns into a 2-d array; also return the sum of all squared entries.

    The sum is NaN or infinite if any entry is.

    Examples
    --------
    >>> interleave_columns([np.array([1.0, 2.0]), np.array([3.0, 4.0])])
    (array([[1., 3.],
           [2., 4.]]), 30.0)
    """
    n, d = len(columns[0]), len(columns)
    X, size = np.empty((n, d), dtype), min(n, max(FEWEST, ENTRIES // d))
    together = np.empty((d, size + APART), dtype)
    for begin in range(0, n, size or 1):
        rows = X[begin : begin + size]
        for j, column in enumerate(columns):
            together[j, : len(rows)] = column[begin : begin + size]
        rows[:] = together[:, : len(rows)].T
    return X, sum_of_squares(X)


class PlanMismatchError(DataError):
    """Error about columns of the data that differ from those in a proof."""


def check_plan(claimed: Plan, found: Plan) -> Plan:
    """Check that data have the columns of a proof; return the plan of the data in that order.

    Raises PlanMismatchError if the columns or labels differ. The data must have been read with the
    options of `options_to_verify`, which keep all words.
    """
    by_name = {column.name: column for column in found.encoding.columns}
    columns, notes = [], list(found.notes)
    for column in claimed.encoding.columns:
        where = quote_column(column.name)
        if column.name not in by_name:
            raise PlanMismatchError(f"{where} has no values.")
        ours = by_name[column.name]
        columns.append(_check_column(column, ours, claimed.encoding.missing == "mean"))
        if isinstance(column, Words):
            every = len(ours.features)
            shown = join_words([shorten(one) for one in column.values], most=12)
            some = "" if len(column.values) == every else f": {shown}"
            of_all = f"{len(column.values):,} of its {plural(every, 'word')}"
            notes.append(f"{where}: {of_all} counted{some}")
    encoding, target = replace(found.encoding, columns=tuple(columns)), found.target
    if not claimed.target.others:  # else one label against the rest: it was read with that label
        labels = {spell_label(label): label for label in target.names}
        if set(claimed.target.spellings) != set(labels):
            there, said = (
                join_words([shorten(one) for one in some])
                for some in (labels, claimed.target.spellings)
            )
            raise PlanMismatchError(
                f"{quote_column(target.column)} has the labels {there}, not {said} as the proof "
                "says."
            )
        target = replace(target, names=tuple(labels[one] for one in claimed.target.spellings))
    return Plan(encoding, target, notes=tuple(notes))


def _check_column(claimed: Column, found: Column, filled: bool) -> Column:
    where = quote_column(found.name)
    if isinstance(found, Number) and isinstance(claimed, Number):
        if not filled:
            return found
        near = CLOSE * max(abs(found.mean), found.spread)
        if not math.isclose(claimed.mean, found.mean, rel_tol=0.0, abs_tol=near):
            raise PlanMismatchError(
                f"{where}: the proof replaces missing numbers by {claimed.mean:g}, but the mean of "
                f"the column is {found.mean:g}."
            )
        return replace(found, mean=claimed.mean)
    if isinstance(found, Words) and isinstance(claimed, Words):
        _check_known(claimed.values, found.values, f"{where}: the proof counts", "occurs in no row")
        return claimed
    if isinstance(found, Category) and isinstance(claimed, Category):
        _check_known(claimed.values, found.values, f"{where}: the proof has", "occurs in no row")
        _check_known(found.values, claimed.values, f"{where}: the rows have", "is not in the proof")
        return claimed
    if isinstance(found, Entries) and found == claimed:
        return found
    if type(found) is type(claimed):
        raise PlanMismatchError(f"{where}: the feature indices differ from those in the proof.")
    raise PlanMismatchError(f"{where} holds {found.kind}, not {claimed.kind} as the proof says.")


def _check_known(values: Sequence[str], known: Sequence[str], who: str, otherwise: str) -> None:
    unknown = sorted(set(values) - set(known))
    if unknown:
        shown = join_words([f'"{shorten(value)}"' for value in unknown], most=3)
        raise PlanMismatchError(f"{who} {shown}, which {otherwise}.")
