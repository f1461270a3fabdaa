"""Encoding: how the columns of a table become X, and one of them y; stored in every model."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

import rosenblatt.scoring as scoring
from rosenblatt.engine import Kernel
from rosenblatt.errors import BadCellError, DataError
from rosenblatt.examples import SINGLE_SQUARES, sum_of_squares
from rosenblatt.read.columns import (
    Category,
    Column,
    Entries,
    Number,
    Words,
    as_numbers,
    as_text,
    decoded,
    is_moment,
    nulled,
    plain,
    refused,
    text_in,
)
from rosenblatt.words import column_called, counted, listed, shortened

WIDE = 256  # from this many features on, columns that are mostly zeros stay sparse
POLICIES = ("error", "drop", "mean")

Label = str | int | float | bool


@dataclass(frozen=True, eq=False)
class Encoded:
    """The numbers of a table, and which of its rows they are."""

    X: Any
    rows: NDArray[np.intp]


@dataclass(frozen=True)
class Encoding:
    """Which columns are used, as what, and what happens where a number is missing."""

    columns: tuple[Column, ...]  # in the order of their numbers in X
    missing: str = "error"  # refuse; "drop": leave the row out; "mean": of the rows learnt from

    @functools.cached_property
    def features(self) -> tuple[str, ...]:
        """Return the names of all numbers, in order; no name comes twice.

        A word is named by itself where that is clear: where there is one column of text and no
        other column has a feature of that name. Else it is named with its column, "title: great".

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
        for i, name in enumerate(names):  # a number "color=red" beside a category "color", say
            met[name] += 1
            names[i] = name if met[name] == 1 else f"{name} ({met[name]})"
        return tuple(names)

    @property
    def is_sparse(self) -> bool:
        """Whether X is a CSR matrix: many features, of which words or entries are part."""
        mostly_zeros = any(isinstance(column, Words | Entries) for column in self.columns)
        return mostly_zeros and len(self.features) >= WIDE

    def types(self, strict: bool) -> dict[str, Any]:
        """The types to read columns as; text where a cell that is no number counts as missing."""
        loose = not strict and self.missing != "error"
        return {c.name: pa.string() if loose else c.type for c in self.columns}

    def encode(self, table: Any, name: str) -> Encoded:
        """The numbers of an Arrow table or record batch; messages call it by its name."""
        check_there(table.schema.names, (column.name for column in self.columns), name)
        plain = self._plain(table, name)
        if plain is not None:
            return plain
        blocks, bad = [], []
        keep = np.ones(table.num_rows, dtype=bool)
        for column in self.columns:
            try:
                cells = _cells(table, column, name)
                block = column.encode(cells)
                if isinstance(column, Number):
                    block = self._settled(block, column, cells, keep)
                blocks.append(block)
            except BadCellError as trouble:
                bad.append(trouble)
        if bad:
            self._refuse(table, min(bad, key=lambda cell: cell.row), name)
        rows = np.flatnonzero(keep)
        X = self._joined(blocks)
        return Encoded(X if len(rows) == len(keep) else X[rows], rows)

    def _refuse(self, table: Any, bad: BadCellError, name: str) -> NoReturn:
        """Tell the first bad cell of the first bad row, however many rows are encoded together.

        Of a column only one kind of trouble is known: others may come in the rows before, and
        in the same row.
        """
        if table.num_rows > 1:
            self.encode(table.slice(0, bad.row), name)
            try:
                self.encode(table.slice(bad.row, 1), name)
            except BadCellError as alone:
                alone.row = bad.row
                raise alone from None
        raise bad

    def _plain(self, table: Any, name: str) -> Encoded | None:
        """The numbers where all columns are floats and all are there: nothing to settle.

        Columns that are all of single precision stay so: it is half the memory.
        """
        if not all(type(column) is Number for column in self.columns):
            return None
        cells = [plain(_cells(table, column, name)) for column in self.columns]
        kinds = {c.type for c in cells}
        if not kinds <= {pa.float32(), pa.float64()} or any(c.null_count for c in cells):
            return None
        X, squares = in_rows(
            [c.to_numpy() for c in cells], np.float32 if kinds == {pa.float32()} else np.float64
        )
        return Encoded(X, np.arange(len(X))) if math.isfinite(squares) else None

    def _settled(
        self, numbers: NDArray[np.float64], column: Number, cells: Any, keep: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        missing = np.isnan(numbers[:, 0])
        if not missing.any():
            return numbers
        if self.missing == "error":
            row = int(missing.argmax())
            raise BadCellError(row, column.name, text_in(cells, row), column.promised)
        if self.missing == "drop":
            keep &= ~missing
            return numbers
        return np.where(np.isnan(numbers), column.mean, numbers)

    def _joined(self, blocks: list[Any]) -> Any:
        if self.is_sparse:
            from scipy.sparse import csr_array, hstack

            joined = hstack([csr_array(block) for block in blocks], format="csr")
            joined.indices = joined.indices.astype(np.int32, copy=False)
            joined.indptr = joined.indptr.astype(np.int32, copy=False)
            return joined
        dense = [b if isinstance(b, np.ndarray) else b.toarray() for b in blocks]
        X = np.empty((len(dense[0]), sum(block.shape[1] for block in dense)))
        at = 0
        for block in dense:
            X[:, at : at + block.shape[1]] = block
            at += block.shape[1]
        return X


@dataclass(frozen=True)
class Answers:
    """The column with the answers and its labels, of two no and yes, and how its cells become y.

    With `others`, no is every answer but yes, and called so: "not setosa".

    Examples
    --------
    >>> Answers("kind", (1, 2, 10)).encode(pa.array(["10", " 1", None, "2.0"]))
    array([ 2,  0, -1,  1], dtype=int32)
    >>> Answers("kind", ("no", "yes")).encode(pa.array(["yes", "no", ""]))
    array([ 1, -1,  0], dtype=int8)
    """

    column: str
    names: tuple[Label, ...]  # in their order
    others: bool = False

    @property
    def many(self) -> bool:
        """Whether there are more than two labels, so that y is a place among them."""
        return len(self.names) > 2

    @property
    def none(self) -> int:
        """What stands in y where there is no answer."""
        return -1 if self.many else 0

    @property
    def labels(self) -> NDArray[Any]:
        """The labels as an array, as scikit-learn's `classes_`."""
        return np.array(self.spellings if self.others else self.names)

    @property
    def spellings(self) -> list[str]:
        """The labels as files spell them."""
        return [spelled(label) for label in self.names]

    @property
    def promised(self) -> str:
        """What each cell is."""
        if self.many:
            return f"one of the labels {listed([shortened(one) for one in self.spellings])}"
        return '"{}" or "{}"'.format(*map(shortened, self.spellings))

    def to_json(self) -> dict[str, Any]:
        """The column and its labels, as a model tells them; "others" where no is all the rest."""
        if self.many:
            return {"column": self.column, "labels": list(self.names)}
        value = {"column": self.column, "negative": self.names[0], "positive": self.names[1]}
        return {**value, "others": True} if self.others else value

    def read(self, cells: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """y of each cell, `none` where there is no answer, and where another value stands."""
        signs = self._whole_numbers(cells)
        if signs is not None:
            return signs, np.zeros(len(signs), dtype=bool)
        coded = plain_labels(decoded(cells, self.column)).dictionary_encode()
        places = np.full(len(coded.dictionary) + 1, -1, dtype=np.int32)
        for place, label in enumerate(self.names):
            same = pc.fill_null(_equal(coded.dictionary, label), False)
            places[:-1][same.to_numpy(zero_copy_only=False)] = place
        codes = pc.fill_null(coded.indices, len(places) - 1).to_numpy(zero_copy_only=False)
        y = places[codes]
        strange = (y == -1) & (codes < len(places) - 1)
        if self.others:
            y[strange], strange = 0, np.zeros_like(strange)
        return y if self.many else np.where(y < 0, 0, 2 * y - 1).astype(np.int8), strange

    def _whole_numbers(self, cells: Any) -> NDArray[np.int8] | None:
        """The signs of whole numbers that are all there and all one of two, else None."""
        cells = plain(cells)
        if self.many or not (pa.types.is_integer(cells.type) and cells.null_count == 0):
            return None
        if any(type(name) is not int for name in self.names):
            return None
        values, (negative, positive) = cells.to_numpy(), self.names
        yes = values == positive
        if np.count_nonzero(yes) + np.count_nonzero(values == negative) < len(values):
            return None
        signs: NDArray[np.int8] = yes.astype(np.int8) * np.int8(2) - np.int8(1)
        return signs

    def encode(self, cells: Any) -> NDArray[Any]:
        """y of each cell, `none` where there is no answer; other values are refused."""
        y, strange = self.read(cells)
        if strange.any():
            row = int(np.flatnonzero(strange)[0])
            text = str(plain_labels(cells)[row].as_py())
            raise BadCellError(row, self.column, text, self.promised)
        return y


def plain_labels(cells: Any) -> Any:
    """Labels as text without blanks around it, whole numbers, numbers or booleans.

    Decimals are text: which of them no double holds, only all of them tell.
    """
    cells = plain(cells)
    kind = cells.type
    if pa.types.is_integer(kind) and not pa.types.is_uint64(kind):
        return cells.cast(pa.int64())
    if pa.types.is_floating(kind):
        cells = pc.add(cells.cast(pa.float64()), 0.0)  # -0.0 and 0.0 are one answer
        return pc.if_else(pc.is_nan(cells), pa.scalar(None, pa.float64()), cells)
    if pa.types.is_boolean(kind):
        return cells
    return nulled(as_text(cells))


def _equal(values: Any, label: Label) -> Any:
    if pa.types.is_string(values.type):
        return _means(values, label)
    if isinstance(label, str) or isinstance(label, bool) != pa.types.is_boolean(values.type):
        return pa.array(np.zeros(len(values), dtype=bool))
    return pc.equal(values, pa.scalar(label))


def _means(texts: Any, label: Label) -> Any:
    """Whether texts are a label, as reading them all in its own type would have it."""
    same = pc.equal(texts, spelled(label))
    if isinstance(label, str):
        return same
    if isinstance(label, bool):
        also = pc.is_in(pc.utf8_lower(texts), pa.array([spelled(label), str(int(label))]))
    elif abs(label) < 2**53:
        also = pc.fill_null(pc.equal(as_numbers(texts), float(label)), False)
    else:  # of which doubles cannot tell one from the next
        return same
    return pc.or_kleene(same, also)


def spelled(label: Label) -> str:
    """A label as files spell it."""
    return str(label).lower() if isinstance(label, bool) else str(label)


def check_there(names: Sequence[str], needed: Iterable[str], name: str) -> None:
    """Refuse a table that lacks a column."""
    there = set(names)
    for one in needed:
        if one not in there:
            raise DataError(f"{name} has no {column_called(one)}, which is needed.")


def _cells(table: Any, column: Column, name: str) -> Any:
    cells = decoded(table.column(column.name), column.name)
    if isinstance(column, Category) and is_moment(cells.type):
        return as_text(cells)
    strange = refused(cells.type)
    if strange and not (isinstance(column, Entries) and pa.types.is_map(cells.type)):
        raise DataError(
            f"{name}, {column_called(column.name)} holds {strange}, not {column.kind}s."
        )
    return cells


MOST = 1000  # values of a column that are told apart; more are no categories


class Unseen:
    """Counts the rows whose value of a category has no weight.

    Examples
    --------
    >>> unseen = Unseen(Encoding((Category("colour", ("blue", "red")),)))
    >>> unseen.take(pa.table({"colour": ["teal", "red", "mauve", "teal"]}))
    >>> print(*unseen.sentences())
    3 rows have a value of column "colour" that was never learnt from: "teal" (2) and "mauve" (1).
    """

    def __init__(self, encoding: Encoding) -> None:
        self.columns = [column for column in encoding.columns if isinstance(column, Category)]
        self.rows = dict.fromkeys((column.name for column in self.columns), 0)
        self.values: dict[str, Counter[str]] = {name: Counter() for name in self.rows}

    def take(self, table: Any) -> None:
        """Count the rows of a table or record batch that was encoded without fault."""
        for column in self.columns:
            cells = table.column(column.name)
            strange = column.codes(cells) < 0
            if not strange.any():
                continue
            self.rows[column.name] += int(np.count_nonzero(strange))
            known = self.values[column.name]
            for pair in as_text(cells).filter(pa.array(strange)).value_counts().to_pylist():
                if pair["values"] in known or len(known) < MOST:
                    known[pair["values"]] += pair["counts"]

    def sentences(self) -> Iterator[str]:
        """What a person should know, a sentence for each column."""
        for name, rows in self.rows.items():
            if rows:
                values = self.values[name].most_common()
                named = [
                    (f'"{shortened(value)}"' if value else "(missing)", n) for value, n in values
                ]
                told = listed([f"{value} ({count:,})" for value, count in named])
                have = "has" if rows == 1 else "have"
                yield (
                    f"{counted(rows, 'row')} {have} a value of {column_called(name)} that was "
                    f"never learnt from: {told}."
                )

    def to_json(self) -> dict[str, Any]:
        """Column -> rows, and how often each value came."""
        return {
            name: {"rows": rows, "values": dict(self.values[name].most_common())}
            for name, rows in self.rows.items()
            if rows
        }


ENTRIES = 1 << 18  # transposed at a time: few enough to stay in a cache
FEWEST = 1 << 10  # rows
APART = 8  # columns begin so many numbers off a round distance, at which caches hold only a few
FEW = 1 << 16  # numbers that are not worth compiling for


class InRows(NamedTuple):
    """Numbers as rows, and the sum of their squares, which is not finite if one of them is not."""

    X: NDArray[Any]
    squares: float


def in_rows(columns: Sequence[NDArray[Any]], dtype: Any = np.float64) -> InRows:
    """Columns of equal length as the rows of an array.

    Examples
    --------
    >>> in_rows([np.array([1.0, 2.0]), np.array([3.0, 4.0])])
    InRows(X=array([[1., 3.],
           [2., 4.]]), squares=30.0)
    """
    n, d = len(columns[0]), len(columns)
    if n * d < FEW:
        X = np.stack(columns, axis=1, dtype=dtype, casting="unsafe")
        return InRows(X, sum_of_squares(X))
    X, squares = np.empty((n, d), dtype), 0.0
    rows = min(n, max(FEWEST, ENTRIES // d // FEWEST * FEWEST))
    together = np.empty((d, rows + APART), dtype)
    for begin in range(0, n, rows):
        part = together[:, : min(rows, n - begin)]
        for j, column in enumerate(columns):
            part[j] = column[begin : begin + rows]
        x = X[begin : begin + rows].reshape(-1)
        with np.errstate(all="ignore"):  # which compiled code does anyway
            squares += transposed(together.reshape(-1), x, d, part.shape[1])
    low, high = SINGLE_SQUARES
    plain = dtype == np.float64 or low < squares / X.size < high
    return InRows(X, squares if plain else sum_of_squares(X))


def transpose(c, x, d, N):  # type: ignore[no-untyped-def]
    """x[n·d + j] = c[j·S + n], where columns begin S apart; returns the sum of all squares.

    Unsigned places need no wrap-around.
    """
    one, S = np.uint64(1), np.uint64(len(c) // d)
    i, q = np.uint64(0), 0.0
    for n in range(N):
        k = np.uint64(n)
        for _ in range(d):
            x[i] = c[k]
            i += one
            k += S
    for j in range(d):
        q += scoring.squared_length(c[j * S : j * S + np.uint64(N)])  # type: ignore[no-untyped-call]
    return q


transposed = Kernel(transpose, scoring.bind, work=lambda c, x, d, N: 2 * len(x))
