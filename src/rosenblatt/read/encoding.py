"""Encoding: how the columns of a table become X, and one of them y; stored in every model."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rosenblatt.errors import BadCellError, DataError, column_called
from rosenblatt.read.columns import (
    Column,
    Entries,
    Number,
    Words,
    as_numbers,
    as_text,
    first_rounded,
    plain,
)
from rosenblatt.read.turn import in_rows

WIDE = 256  # from this many features on, columns that are mostly zeros stay sparse
POLICIES = ("error", "drop", "mean")

Label = str | int | float | bool


@dataclass(frozen=True, eq=False)
class Encoded:
    """The numbers of a table, and which of its rows they are."""

    X: Any
    rows: NDArray[np.intp]
    squares: float | None = None  # of all numbers, where they were added up on the way


@dataclass(frozen=True)
class Encoding:
    """Which columns are used, as what, and what happens where a number is missing.

    Parameters
    ----------
    columns : tuple of Column
        In the order of their numbers in X.
    missing : {"error", "drop", "mean"}
        Refuse the file, leave the row out, or take the mean of the rows learnt from.
    """

    columns: tuple[Column, ...]
    missing: str = "error"

    @functools.cached_property
    def features(self) -> tuple[str, ...]:
        """The names of all numbers, in order."""
        return tuple(name for column in self.columns for name in column.features)

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
        """The numbers of a table or record batch.

        Parameters
        ----------
        table : Arrow table or record batch
            With all columns of this encoding, in any order.
        name : str
            What messages call the data.
        """
        plain = self._plain(table, name)
        if plain is not None:
            return plain
        blocks, bad = [], []
        keep = np.ones(table.num_rows, dtype=bool)
        for column in self.columns:
            try:
                block = column.encode(_cells(table, column, name))
                if isinstance(column, Number):
                    block = self._settled(block, column, keep)
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
        return Encoded(X, np.arange(len(X)), squares) if math.isfinite(squares) else None

    def _settled(
        self, numbers: NDArray[np.float64], column: Number, keep: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        missing = np.isnan(numbers[:, 0])
        if not missing.any():
            return numbers
        if self.missing == "error":
            raise BadCellError(int(np.flatnonzero(missing)[0]), column.name, None, column.promised)
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
    """The column with the answers, and what no and yes are called in it.

    With `others`, no is every answer but yes, and called so: "not setosa".
    """

    column: str
    negative: Label
    positive: Label
    others: bool = False

    @property
    def labels(self) -> NDArray[Any]:
        """No and yes as an array, as scikit-learn's `classes_`."""
        positive = spelled(self.positive) if self.others else self.positive
        return np.array([self.negative, positive])

    def encode(self, cells: Any) -> NDArray[np.int8]:
        """-1 or +1 for each cell, 0 where there is no answer; others are refused."""
        signs, strange = self.read(cells)
        if strange.any():
            row = int(np.flatnonzero(strange)[0])
            promised = f'"{self.negative}" or "{self.positive}"'
            raise BadCellError(row, self.column, str(plain_labels(cells)[row].as_py()), promised)
        return signs

    def read(self, cells: Any) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
        """-1 or +1 for each cell, 0 where there is neither, and where another value stands."""
        signs = self._whole_numbers(cells)
        if signs is not None:
            return signs, np.zeros(len(signs), dtype=bool)
        values = plain_labels(cells)
        yes, no = (_equal(values, label) for label in (self.positive, self.negative))
        no = pc.invert(yes) if self.others else no
        strange = pc.and_(pc.is_valid(values), pc.invert(pc.or_kleene(yes, no)))
        signs = pc.fill_null(pc.if_else(yes, 1, pc.if_else(no, -1, 0)), 0)
        return (
            signs.to_numpy().astype(np.int8),
            pc.fill_null(strange, False).to_numpy(zero_copy_only=False),
        )

    def _whole_numbers(self, cells: Any) -> NDArray[np.int8] | None:
        """The signs of whole numbers that are all there and all answers, else None."""
        cells = plain(cells)
        if not (pa.types.is_integer(cells.type) and cells.null_count == 0):
            return None
        if type(self.positive) is not int or type(self.negative) is not int:
            return None
        values = cells.to_numpy()
        yes = values == self.positive
        if np.count_nonzero(yes) + np.count_nonzero(values == self.negative) < len(values):
            return None
        signs: NDArray[np.int8] = yes.astype(np.int8) * np.int8(2) - np.int8(1)
        return signs


def plain_labels(cells: Any) -> Any:
    """Labels as text without blanks around it, whole numbers, numbers or booleans."""
    if isinstance(cells, pa.ChunkedArray):
        cells = cells.combine_chunks()
    if pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    kind = cells.type
    if pa.types.is_integer(kind) and not pa.types.is_uint64(kind):
        return cells.cast(pa.int64())
    if pa.types.is_floating(kind) or (pa.types.is_decimal(kind) and not _has_rounded(cells)):
        cells = pc.add(cells.cast(pa.float64()), 0.0)  # -0.0 and 0.0 are one answer
        return pc.if_else(pc.is_nan(cells), pa.scalar(None, pa.float64()), cells)
    if pa.types.is_boolean(kind):
        return cells
    text = as_text(cells)
    return pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)


def _has_rounded(cells: Any) -> bool:
    """Whether, as doubles, different whole numbers could become one."""
    numbers = cells.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return first_rounded(cells, numbers) is not None


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


def _cells(table: Any, column: Column, name: str) -> Any:
    if table.schema.get_field_index(column.name) < 0:
        raise DataError(f"{name} has no {column_called(column.name)}, which is needed.")
    cells = table.column(column.name)
    strange = refused(cells.type)
    if strange and not (isinstance(column, Entries) and pa.types.is_map(cells.type)):
        raise DataError(
            f"{name}, {column_called(column.name)} holds {strange}, not {column.kind}s."
        )
    return cells


def refused(kind: Any) -> str:
    """What a column of this type holds, if that is nothing to learn from."""
    if pa.types.is_nested(kind):
        return "lists or objects"
    if pa.types.is_temporal(kind):
        return "dates or times"
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return "bytes that are not UTF-8 text"
    return ""
