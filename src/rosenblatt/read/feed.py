"""From lines of a stream to rows and answers; the first value of a column says what it is."""

from __future__ import annotations

import csv as python_csv
import json
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import csv

from rosenblatt.errors import UsageError, column_called, one_line, shortened
from rosenblatt.kernels import LONGEST_SQUARED
from rosenblatt.read.columns import ENGLISH, as_numbers
from rosenblatt.read.csv import BLANKS, MISSING, NUMBER, squeezed
from rosenblatt.read.encoding import in_rows
from rosenblatt.read.jsonlines import DEEPEST, too_deep
from rosenblatt.read.lines import Chunk, Rows
from rosenblatt.tables import LARGE, PROMISED, is_changed, is_changed_text, missing
from rosenblatt.words import counted

TOO_LARGE = "its numbers are too large; scale them first"
LETTERS = 200  # of a complaint
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
    raw: bool = False  # whether the rows hold values that are not features yet

    def without(self, why: Mapping[int, str], **kept: Any) -> Batch:
        """The batch with some lines of its chunk set aside, and what is kept of the others."""
        begin = self.chunk.begin.lines
        bad = [
            BadLine(begin + at + 1, self.chunk.line(at), shortened(text.rstrip("."), LETTERS))
            for at, text in why.items()
        ]
        bad = sorted([*self.bad, *bad], key=lambda line: line.number)
        return replace(self, bad=bad, **kept)


@dataclass(frozen=True)
class JsonFeed:
    """JSON lines: an object a line; a feature that is null is not there.

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
        return replace(_read_rows(chunk, self._row), raw=True)

    def _row(self, line: bytes) -> tuple[dict[Hashable, Any], Any]:
        if too_deep(line):
            raise ValueError(f"it is nested more than {DEEPEST} deep")
        try:
            x = json.loads(line)
        except ValueError as error:
            why = error.msg if isinstance(error, json.JSONDecodeError) else one_line(error)[:-1]
            raise ValueError(f"it is not JSON ({why})") from None
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
    """Delimited lines and a label in each, parsed by PyArrow a chunk at a time.

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
    kinds : mapping of str to str
        What those features are that are no numbers.
    """

    names: tuple[str, ...]
    target: str
    features: tuple[str, ...]
    separator: str = ","
    quote: str | None = '"'
    decimal: str = "."
    kinds: Kinds = field(default_factory=dict)

    def read(self, chunk: Chunk) -> Batch:
        """The rows of a chunk; where PyArrow refuses it, the bad lines are found by halving."""
        bad: list[BadLine] = []
        tables = list(self._tables(chunk, 0, bad))
        if not tables:
            return Batch(chunk, bad=bad)
        lines = np.concatenate([at + np.arange(table.num_rows) for at, table in tables])
        table = pa.concat_tables([table for _, table in tables])
        if self.kinds:
            answers = table.column(self.target)
            missing = pc.is_in(pc.utf8_trim_whitespace(answers), pa.array(MISSING))
            answers = pc.if_else(missing, pa.scalar(None, pa.string()), answers)
            table = table.set_column(table.num_columns - 1, self.target, answers)
        return _batch(self, Batch(chunk, bad=bad), table, lines)

    def cells(self, lines: list[bytes]) -> Iterator[dict[str, str]]:
        """The cells of some lines by their columns; lines that are not as long are left out."""
        blanks = self.separator == BLANKS
        for line in lines:
            text = (squeezed(line) if blanks else line).decode(errors="replace")
            rows = python_csv.reader(
                [text.rstrip("\r\n")],
                delimiter="\t" if blanks else self.separator,
                quotechar=self.quote,
                quoting=python_csv.QUOTE_NONE if self.quote is None else python_csv.QUOTE_MINIMAL,
            )
            with suppress(python_csv.Error):
                row = next(rows, [])
                if len(row) == len(self.names):
                    yield dict(zip(self.names, row, strict=True))

    def written(self, chunk: Any, lines: NDArray[np.intp]) -> Any:
        """Some lines of a chunk as a table of text."""
        data = b"".join(chunk.line(at) for at in lines.tolist())
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

    @property
    def numbers(self) -> tuple[str, ...]:
        """The features that are numbers."""
        return tuple(name for name in self.features if name not in self.kinds)

    def _why(self, said: str) -> str:
        """PyArrow's complaint about one line, with the name of the column."""
        said = re.sub(r"Row #\d+: |CSV (conversion|parse) error[^:]*: ", "", said)
        length = re.match(r"Expected (\d+) columns, got (\d+)", said)
        if length is not None:
            return f"it has {counted(int(length[2]), 'cell')}, not {length[1]}"
        column = re.match(r"In CSV column #(\d+): ", said)
        if column is None:
            return said
        said = re.sub(r"^invalid value '(.*)'\.?$", r'"\1" is not a number', said[column.end() :])
        return f'column "{self.names[int(column[1])]}": {said}'

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
                    **dict.fromkeys(self.numbers, kind),
                },
                include_columns=[*self.features, self.target],
                null_values=list(MISSING),
                strings_can_be_null=kind is NUMBERS and not self.kinds,  # NA may be a category
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
    kinds : mapping of str to str
        What those features are that are no numbers.
    """

    target: str
    features: tuple[str, ...]
    kinds: Kinds = field(default_factory=dict)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The features that are numbers."""
        return tuple(name for name in self.features if name not in self.kinds)

    def read(self, chunk: Rows) -> Batch:
        """The rows of a batch."""
        return _batch(self, Batch(chunk), chunk.batch, np.arange(chunk.count))

    def written(self, chunk: Any, rows: NDArray[np.intp]) -> Any:
        """Some rows of a batch as they are stored."""
        return chunk.batch.take(pa.array(rows))


def _batch(feed: CsvFeed | ArrowFeed, batch: Batch, table: Any, lines: NDArray[np.intp]) -> Batch:
    """The rows of an Arrow table: as an array where all are numbers, else one by one."""
    names = feed.numbers
    columns = [numbers(table.column(name)) for name in names]
    X, squares = in_rows(columns) if names else (np.empty((table.num_rows, 0)), 0.0)
    y = labels_of(table.column(feed.target))
    batch = replace(batch, table=Table(X, y, lines), names=names)
    batch = usable(feed, batch, squares)
    return _named(feed, batch, table, lines) if feed.kinds else batch


def _named(feed: CsvFeed | ArrowFeed, batch: Batch, table: Any, lines: NDArray[np.intp]) -> Batch:
    """The usable rows by the names of their features, in the order of the columns."""
    kept = batch.table
    assert kept is not None
    where = np.searchsorted(lines, kept.lines)
    others = {name: table.column(name).to_pylist() for name in feed.kinds}
    X, rows, why = kept.X.tolist(), [], {}
    for row, at, y in zip(range(len(X)), where.tolist(), kept.y.tolist(), strict=True):
        numbered = dict(zip(feed.numbers, X[row], strict=True))
        try:
            x: dict[Hashable, Any] = {}
            for name in feed.features:
                kind = feed.kinds.get(name)
                if kind is None:
                    x[name] = numbered[name]
                else:
                    x.update(features(name, kind, others[name][at]))
            rows.append((int(kept.lines[row]), x, None if missing(y) else y))
        except ValueError as trouble:
            why[int(kept.lines[row])] = str(trouble)
    return batch.without(why, table=None, rows=rows)


def usable(feed: CsvFeed | ArrowFeed, batch: Batch, squares: float) -> Batch:
    """Set aside the rows in which a number is missing, infinite, too large or rounded."""
    table = batch.table
    if table is None or squares < LARGE**2:
        return batch
    with np.errstate(over="ignore", invalid="ignore"):
        fine = np.einsum("ij,ij->i", table.X, table.X) < LONGEST_SQUARED
    why = _rounded(feed, batch, table.kept(fine))
    fine[np.isin(table.lines, list(why))] = False
    for row in np.flatnonzero(~fine):
        odd, at = np.flatnonzero(~np.isfinite(table.X[row])), int(table.lines[row])
        if len(odd):
            why[at] = _odd(feed, batch.chunk, at, str(batch.names[int(odd[0])]))
        else:
            why.setdefault(at, TOO_LARGE)
    return batch.without(why, table=table.kept(fine))


def _odd(feed: CsvFeed | ArrowFeed, chunk: Any, at: int, name: str) -> str:
    """What is wrong with a cell that is no finite number."""
    cell = feed.written(chunk, np.array([at])).column(name)[0].as_py()
    text = "" if cell is None else str(cell).strip()
    what = f'"{text}" is not a finite number' if text else "there is nothing"
    return f"{column_called(name)}: {what}"


def _rounded(feed: CsvFeed | ArrowFeed, batch: Batch, table: Table) -> dict[int, str]:
    """The lines with a whole number that became another as a double, and which it is."""
    rows, columns = np.nonzero(np.abs(table.X) >= LARGE)
    if len(rows) == 0:
        return {}
    some = np.unique(rows)
    given, why = feed.written(batch.chunk, table.lines[some]), {}
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
    if not pa.types.is_primitive(column.type):  # text that is numbers, mostly
        column = as_numbers(column)
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
    large = any(isinstance(kind, int) and abs(kind) >= LARGE for kind in kinds)
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
            found = None if too_deep(line) else json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict):
            return list(found)
    return []


def _read_rows(chunk: Chunk, parse: Callable[[bytes], Any]) -> Batch:
    rows, why = [], {}
    for at, line in enumerate(chunk.lines):
        if line.strip():
            try:
                rows.append((at, *parse(line)))
            except (ValueError, OverflowError) as trouble:
                why[at] = str(trouble)
    return Batch(chunk).without(why, rows=rows)


LONG = 4  # words: a first value of as many is text, of fewer a category
FLAGS = {"true": 1.0, "false": 0.0}
STOP_WORDS = frozenset(ENGLISH.split())
IS_NUMBER = re.compile(NUMBER)

Kinds = Mapping[str, str]  # column -> "number", "flag", "category" or "text"


def kind_of(value: Any) -> str | None:
    """What a column is whose first value this is; None where there is no value.

    Examples
    --------
    >>> kind_of(3), kind_of("3"), kind_of("red"), kind_of("see you at the station"), kind_of("")
    ('number', 'number', 'category', 'text', None)
    """
    if not isinstance(value, str):
        return None if value is None else "number"
    if value.strip() in MISSING:
        return None
    if IS_NUMBER.match(value):
        return "number"
    return "text" if len(value.split()) >= LONG else "category"


def kind_of_cell(cell: str, decimal: str = ".") -> str | None:
    """The same for a cell of delimited text, in which true and false are numbers, as 1 and 0."""
    if cell.strip().lower() in FLAGS:
        return "flag"
    return kind_of(cell.replace(decimal, ".") if decimal != "." else cell)


def encoded(x: Mapping[str, Any], kinds: Kinds) -> tuple[dict[str, Any], Kinds]:
    """A row of values as features, and the kinds with those of columns seen for the first time.

    Examples
    --------
    >>> encoded({"age": 30, "color": "red", "note": None}, {})
    ({'age': 30, 'color=red': 1.0}, {'age': 'number', 'color': 'category'})
    """
    if not x.keys() <= kinds.keys():
        new = {name: kind for name, v in x.items() if (kind := kind_of(v)) and name not in kinds}
        kinds = {**kinds, **new} if new else kinds
    row: dict[str, Any] = {}
    for name, value in x.items():
        kind = kinds.get(name)
        if kind == "number":
            row[name] = _number(name, value) if isinstance(value, str) else value
        elif kind is not None:  # else it is missing, and always was
            row.update(features(name, kind, value))
    return row, kinds


def features(name: str, kind: str, value: Any) -> Iterator[tuple[str, float]]:
    """The features that a value becomes in a column that is no number, none where it is missing.

    Examples
    --------
    >>> dict(features("color", "category", "red")), dict(features("flag", "flag", "True"))
    ({'color=red': 1.0}, {'flag': 1.0})
    >>> dict(features("note", "text", "Tea, and more tea"))
    {'note=tea': 2.0}
    """
    text = written(value)
    if not text:
        return
    if kind == "flag":
        if text.lower() not in FLAGS:
            raise ValueError(f'column "{name}": "{text}" is neither true nor false')
        yield name, FLAGS[text.lower()]
    elif kind == "category":
        yield f"{name}={text}", 1.0
    else:
        for word, count in Counter(re.findall(r"\w+", text.lower())).items():
            if len(word) > 1 and word not in STOP_WORDS:
                yield f"{name}={word}", float(count)


def written(value: Any) -> str:
    """A value as a file spells it; "" where there is none."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, list | dict):
        raise ValueError(f"{value!r} is neither text nor a number")
    return "" if value is None else str(value).strip()


def _number(name: str, text: str) -> Any:
    """A number that is written as text; other text is left to be refused."""
    if is_changed_text(text):
        raise ValueError(f"feature {name!r}: {text} is not {PROMISED}")
    return float(text) if IS_NUMBER.match(text) else text
