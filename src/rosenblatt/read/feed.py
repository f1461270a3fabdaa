"""From lines of a stream to rows and answers: one way of reading a format, bad lines set aside."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

from rosenblatt.errors import UsageError
from rosenblatt.kernels import LONGEST_SQUARED
from rosenblatt.read.dialect import BLANKS, MISSING, squeezed
from rosenblatt.read.lines import Chunk, Rows
from rosenblatt.read.source import one_line
from rosenblatt.read.turn import in_rows
from rosenblatt.wholes import FIRST, PROMISED, is_changed, is_changed_text

TOO_LARGE = "its numbers are too large; scale them first"
NUMBERS = pa.float64()
USUAL_TARGETS = ("label", "y", "target", "class")


@dataclass(frozen=True)
class BadLine:
    """A line that cannot be used, and why."""

    number: int
    text: bytes
    why: str


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of numbers with the lines they were, and their answers (None where there is none)."""

    X: NDArray[np.float64]
    y: Any
    lines: NDArray[np.intp]

    def kept(self, fine: NDArray[np.bool_]) -> Table:
        """Some of its rows."""
        return Table(self.X[fine], self.y[fine], self.lines[fine])


@dataclass(frozen=True, eq=False)
class Batch:
    """What a chunk of lines holds: a table, or rows of named features; and bad lines."""

    chunk: Chunk | Rows
    table: Table | None = None
    rows: list[tuple[int, dict[Hashable, Any], Any]] = field(default_factory=list)
    bad: list[BadLine] = field(default_factory=list)

    names: tuple[Hashable, ...] = ()

    def without(self, why: Mapping[int, str], **kept: Any) -> Batch:
        """The batch with some lines of its chunk set aside, and what is kept of the others."""
        begin = self.chunk.begin.lines
        bad = [
            BadLine(begin + at + 1, self.chunk.line(at), text.rstrip("."))
            for at, text in why.items()
        ]
        bad = sorted([*self.bad, *bad], key=lambda line: line.number)
        return replace(self, bad=bad, **kept)


@dataclass(frozen=True)
class JsonFeed:
    """JSON lines: an object of numbers a line; a feature that is null is not there.

    Parameters
    ----------
    target : str
        The key of the answer.
    ignore : tuple of str
        Keys that are no features.
    """

    target: str
    ignore: tuple[str, ...] = ()

    def read(self, chunk: Chunk) -> Batch:
        """The rows of a chunk."""
        return _read_rows(chunk, self._row)

    def _row(self, line: bytes) -> tuple[dict[Hashable, Any], Any]:
        try:
            x = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"it is not JSON ({one_line(error)[:-1]})") from None
        if not isinstance(x, dict):
            raise ValueError("it is not a JSON object")
        y = x.pop(self.target, None)
        if isinstance(y, list | dict):
            raise ValueError(f"{y!r} is not a label")
        left = {name: value for name, value in x.items() if value is not None}
        for name in self.ignore:
            left.pop(name, None)
        return left, y


@dataclass(frozen=True)
class LibsvmFeed:
    """LIBSVM lines: a label, then index:value; a line without label, or with ?, is unlabelled."""

    def read(self, chunk: Chunk) -> Batch:
        """The rows of a chunk, features named by their index."""
        return _read_rows(chunk, self._row)

    def _row(self, line: bytes) -> tuple[dict[Hashable, Any], Any]:
        words = line.partition(b"#")[0].decode().split()
        y = None
        if words and ":" not in words[0]:
            first = words.pop(0)
            y = None if first == "?" else label_of(first.removeprefix("+"))
        x: dict[Hashable, Any] = {}
        for word in words:
            index, _, value = word.partition(":")
            if index == "qid":
                continue
            if not index.isdigit() or int(index) in x:
                raise ValueError(f"{word!r} is not an index of its own with a value")
            x[int(index)] = float(value)
            if is_changed_text(value):
                raise ValueError(f"{value} is not {PROMISED}")
        return x, y


@dataclass(frozen=True)
class CsvFeed:
    """Delimited lines of numbers and a label, parsed by PyArrow a chunk at a time.

    Parameters
    ----------
    names : tuple of str
        The columns.
    target : str
        The column of answers.
    features : tuple of str
        The columns that are features.
    separator : str
        Between cells.
    quote : str, optional
        Around cells.
    decimal : str
        The decimal point.
    """

    names: tuple[str, ...]
    target: str
    features: tuple[str, ...]
    separator: str = ","
    quote: str | None = '"'
    decimal: str = "."

    def read(self, chunk: Chunk) -> Batch:
        """The rows of a chunk; where PyArrow refuses it, the bad lines are found by halving."""
        bad: list[BadLine] = []
        tables = list(self._tables(chunk, 0, bad))
        if not tables:
            return Batch(chunk, bad=bad)
        lines = np.concatenate([at + np.arange(table.num_rows) for at, table in tables])
        table = pa.concat_tables([table for _, table in tables])
        X, squares = in_rows([numbers(table.column(name)) for name in self.features])
        y = labels_of(table.column(self.target))
        batch = Batch(chunk, Table(X, y, lines), bad=bad, names=self.features)
        return usable(batch, squares, lambda some: self._written(chunk, some))

    def _written(self, chunk: Chunk, lines: NDArray[np.intp]) -> Any:
        every = chunk.data.split(b"\n")
        data = b"".join(every[at] + b"\n" for at in lines.tolist())
        return self._parse(data, pa.string())

    def _tables(self, chunk: Chunk, at: int, bad: list[BadLine]) -> Iterator[tuple[int, Any]]:
        count = chunk.count
        try:
            table = self._parse(chunk.data)
            if table.num_rows == count:
                yield at, table
                return
            why = "it is not one row"
        except (pa.ArrowException, UnicodeDecodeError) as trouble:
            why = self._why(one_line(trouble))
        if count > 1:
            first, second = chunk.split(count // 2)
            yield from self._tables(first, at, bad)
            yield from self._tables(second, at + count // 2, bad)
        elif chunk.data.strip():
            bad.append(BadLine(chunk.begin.lines + 1, chunk.data, why.rstrip(".")))

    def _why(self, said: str) -> str:
        """PyArrow's complaint about one line, with the name of the column."""
        said = re.sub(r"Row #\d+: |CSV (conversion|parse) error[^:]*: ", "", said)
        column = re.match(r"In CSV column #(\d+): ", said)
        if column is None:
            return said
        return f'column "{self.names[int(column[1])]}": {said[column.end() :]}'

    def _parse(self, data: bytes, kind: Any = NUMBERS) -> Any:
        blanks = self.separator == BLANKS
        return csv.read_csv(
            pa.BufferReader(squeezed(data) if blanks else data),
            # One thread: other chunks are parsed beside this one.
            csv.ReadOptions(
                use_threads=False, block_size=len(data) + 1, column_names=list(self.names)
            ),
            csv.ParseOptions(delimiter="\t" if blanks else self.separator, quote_char=self.quote),
            csv.ConvertOptions(
                column_types={
                    **dict.fromkeys(self.names, pa.string()),
                    **dict.fromkeys(self.features, kind),
                },
                include_columns=[*self.features, self.target],
                null_values=list(MISSING),
                strings_can_be_null=True,
                decimal_point=self.decimal,
            ),
        )


@dataclass(frozen=True)
class ArrowFeed:
    """Rows of a Parquet file.

    Parameters
    ----------
    target : str
        The column of answers.
    features : tuple of str
        The columns that are features.
    """

    target: str
    features: tuple[str, ...]

    def read(self, chunk: Rows) -> Batch:
        """The rows of a batch."""
        X, squares = in_rows([numbers(chunk.batch.column(name)) for name in self.features])
        y = labels_of(chunk.batch.column(self.target))
        batch = Batch(chunk, Table(X, y, np.arange(len(X))), names=self.features)
        return usable(batch, squares, lambda some: chunk.batch.take(pa.array(some)))


def usable(batch: Batch, squares: float, cells: Callable[[NDArray[np.intp]], Any]) -> Batch:
    """Set aside the rows of a table in which a number is missing, infinite, too large or rounded.

    Parameters
    ----------
    batch : Batch
        With a table.
    squares : float
        The sum of the squares of its numbers.
    cells : callable
        Gives the cells of some lines as they are in the stream, as a table.
    """
    table = batch.table
    if table is None or squares < FIRST**2:
        return batch
    with np.errstate(over="ignore", invalid="ignore"):
        fine = np.einsum("ij,ij->i", table.X, table.X) < LONGEST_SQUARED
    why = _rounded(batch, table.kept(fine), cells)
    fine[np.isin(table.lines, list(why))] = False
    for row in np.flatnonzero(~fine):
        if int(table.lines[row]) in why:
            continue
        odd = np.flatnonzero(~np.isfinite(table.X[row]))
        column = f'column "{batch.names[int(odd[0])]}" is ' if len(odd) else ""
        text = f"{column}missing or not a finite number" if column else TOO_LARGE
        why[int(table.lines[row])] = text
    return batch.without(why, table=table.kept(fine))


def _rounded(
    batch: Batch, table: Table, cells: Callable[[NDArray[np.intp]], Any]
) -> dict[int, str]:
    """The lines with a whole number that became another as a double, and which it is."""
    rows, columns = np.nonzero(np.abs(table.X) >= FIRST)
    if len(rows) == 0:
        return {}
    some = np.unique(rows)
    given, why = cells(table.lines[some]), {}
    for row, j in zip(rows.tolist(), columns.tolist(), strict=True):
        name = str(batch.names[j])
        cell = given.column(name)[int(np.searchsorted(some, row))].as_py()
        if is_changed(cell, float(table.X[row, j])):
            why[int(table.lines[row])] = f'column "{name}": {cell} is not {PROMISED}'
    return why


def numbers(column: Any) -> NDArray[np.float64]:
    """A column of Arrow as an array, NaN where a number is missing."""
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return np.asarray(column.to_numpy(zero_copy_only=False), np.float64)


def labels_of(column: Any) -> NDArray[Any]:
    """A column of answers as labels; None (or NaN among numbers) where there is none."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_signed_integer(column.type) and column.null_count == 0:
        return np.asarray(column.to_numpy(), dtype=np.int64)
    encoded = column.dictionary_encode()
    values = encoded.dictionary.to_pylist()
    kinds = [label_of(value) if isinstance(value, str) else value for value in values]
    codes = encoded.indices
    if codes.null_count == 0 and kinds:
        return np.asarray(np.array(_alike(kinds))[codes.to_numpy(zero_copy_only=False)])
    every = np.array([*kinds, None], dtype=object)
    return np.asarray(every[codes.fill_null(len(kinds)).to_numpy()])


def _alike(kinds: list[Any]) -> Any:
    # NumPy would make text of numbers that come together with text, and round large ones.
    same = len({isinstance(kind, str) for kind in kinds}) == 1
    large = any(isinstance(kind, int) and abs(kind) >= FIRST for kind in kinds)
    return kinds if same and not large else np.array(kinds, dtype=object)


def label_of(text: str) -> Any:
    """A label as it is meant: a whole number, a number, or text.

    Examples
    --------
    >>> label_of("-1"), label_of("0.5"), label_of("spam")
    (-1, 0.5, 'spam')
    """
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def target_among(names: list[str], wished: str | None, where: str) -> str:
    """The column of answers: as wished, or one with a usual name."""
    if wished is not None:
        if wished in names:
            return wished
        if wished.isdigit() and 1 <= int(wished) <= len(names):
            return names[int(wished) - 1]
        raise UsageError(f"{where} has no column {wished!r}; give one of {', '.join(names[:9])}.")
    for name in USUAL_TARGETS:
        if name in names:
            return name
    raise UsageError(f"say which column of {where} has the answers: --target NAME.")


def first_keys(head: bytes) -> list[str]:
    """The keys of the first line that is a JSON object."""
    for line in head.splitlines():
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            return list(found)
    return []


def _read_rows(chunk: Chunk, parse: Callable[[bytes], Any]) -> Batch:
    rows, why = [], {}
    for at, line in enumerate(chunk.data.split(b"\n")):
        if line.strip():
            try:
                rows.append((at, *parse(line)))
            except (ValueError, OverflowError) as trouble:
                why[at] = str(trouble)
    return Batch(chunk).without(why, rows=rows)
