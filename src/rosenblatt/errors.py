"""Errors and messages for users, with names of rows and parameters."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from typing import Any, NoReturn, Self

from rosenblatt.text import NUMBERED, QUOTED, join_words, sanitize, shorten

BEGINNING, END = 1200, 300  # characters kept of a long message; its end has the advice
LONGEST = 40  # maximum length of an index label
FINITE = "a finite number"
UTF8 = "UTF-8 text"
NOT_FORMATTED = "an f-string would spell the parameters for Python; use Message or str."


@dataclass(frozen=True)
class Parameter:
    """Parameter named in a message, with a suggested value if there is one.

    Examples
    --------
    >>> print(Parameter("target"), Parameter("missing", "drop"), Parameter("test", example="FILE"))
    target= missing="drop" test=FILE
    """

    name: str  # in Python
    value: str | bool | None = None  # suggested; True for a flag
    example: str = ""  # placeholder for a value, such as "FILE"; it is not quoted

    def __str__(self) -> str:
        if isinstance(self.value, str):
            return f"{self.name}={json.dumps(self.value, ensure_ascii=False)}"
        return f"{self.name}={self.example if self.value is None else self.value}"

    def __format__(self, spec: str) -> NoReturn:
        raise TypeError(NOT_FORMATTED)


@dataclass(frozen=True, init=False, repr=False)
class Message:
    """Text with parameters, written as Python keywords or as command-line options.

    Parts are text, parameters and other messages. `str` spells parameters as Python keywords.

    Examples
    --------
    >>> advice = Message("Give ", Parameter("missing", "drop"), ".")
    >>> print(Message("Row 3 has no label. ", advice))
    Row 3 has no label. Give missing="drop".
    >>> print(advice.render(lambda parameter: f"{parameter.value} for {parameter.name}"))
    Give drop for missing.
    """

    parts: tuple[str | Parameter, ...]

    def __init__(self, *parts: Part) -> None:
        flat: list[str | Parameter] = []
        for part in parts:
            flat.extend(part.parts if isinstance(part, Message) else [part])
        object.__setattr__(self, "parts", tuple(flat))

    @property
    def parameters(self) -> list[str]:
        """Names of the parameters, in the order of the message."""
        return [part.name for part in self.parts if isinstance(part, Parameter)]

    def render(self, spell: Callable[[Parameter], str]) -> str:
        """Return the message as text; `spell` formats each parameter."""
        return "".join(part if isinstance(part, str) else spell(part) for part in self.parts)

    def __str__(self) -> str:
        return self.render(str)

    def __repr__(self) -> str:
        return repr(str(self))

    def __format__(self, spec: str) -> NoReturn:
        raise TypeError(NOT_FORMATTED)


Part = str | Parameter | Message


def with_column(name: str, column: str) -> Parameter:
    """Return a `Parameter` that suggests a column as the value.

    A column without a name is given by its number, and a very long name by a placeholder.

    Examples
    --------
    >>> print(with_column("ignore", "salary"), with_column("ignore", "column 3"))
    ignore="salary" ignore="3"
    >>> print(with_column("ignore", "x" * 1000))
    ignore=COLUMN
    """
    if NUMBERED.fullmatch(column):
        return Parameter(name, column.removeprefix("column "))
    return Parameter(name, column) if len(column) <= QUOTED else Parameter(name, example="COLUMN")


def with_label(name: str, label: str) -> Parameter:
    """Return a `Parameter` that suggests a label as the value."""
    return Parameter(name, label) if len(label) <= QUOTED else Parameter(name, example="LABEL")


@dataclass(frozen=True, eq=False)
class RowNames:
    """Names of rows in messages: numbers and, in frames, index labels.

    Each interface creates one for all of its messages: positions are counted from 0 in Python
    and from 1 on the command line. Rows that were dropped are counted in both.

    Examples
    --------
    >>> RowNames().join([0, 3]), RowNames(first=1).join([0])
    ('rows 0 and 3', 'row 1')
    >>> RowNames(index=["a17", "a18", "b01", "b02"]).join([0, 3])
    'rows 0 ("a17") and 3 ("b02")'
    """

    first: int = 0  # number of the first row
    index: Any = None  # pandas index with labels of the rows, if a frame has one of its own
    positions: Any = None  # row of the data, from 0, of each example; None if none was dropped

    @classmethod
    def of(cls, X: Any) -> RowNames:
        """Return the row names of X, with index labels if it is a frame."""
        return cls.of_index(getattr(X, "index", None) if hasattr(X, "iloc") else None)

    @classmethod
    def of_index(cls, index: Any) -> RowNames:
        """Return row names with the labels of a pandas index.

        None and a default index have no labels.
        """
        if index is None or (getattr(index, "start", None), getattr(index, "step", None)) == (0, 1):
            return cls()
        is_default = index.dtype.kind in "iu" and index.tolist() == list(range(len(index)))
        return cls(index=None if is_default else index)

    def number(self, n: int) -> int:
        """Return the row number of example n in messages, counted from 0 or 1."""
        return self.first + (int(n) if self.positions is None else int(self.positions[n]))

    def name(self, n: int) -> str:
        """Return the row number of example n, with its index label, if any, in parentheses."""
        number = self.number(n)
        if self.index is None:
            return str(number)
        label = self.index[number - self.first]
        levels = []  # one, unless the index has several
        for one in label if isinstance(label, tuple) else [label]:
            text = shorten(str(one), LONGEST)
            levels.append(f'"{text}"' if isinstance(one, str) else text)
        return f"{number} ({', '.join(levels)})"

    def join(self, rows: Iterable[int], most: int = 6) -> str:
        """Name rows in a phrase, such as "rows 0 and 3".

        Only the first `most` are named; the rest are counted.
        """
        names = list(rows)
        shown = [self.name(n) for n in names[:most]] + [""] * (len(names) - most)
        return f"row{'' if len(names) == 1 else 's'} {join_words(shown, most=most)}"


FROM_ZERO = RowNames()  # in Python
FROM_ONE = RowNames(first=1)  # on the command line


def cut_middle(text: str) -> str:
    """Replace the middle of a very long message by an ellipsis.

    Examples
    --------
    >>> cut_middle("x is not a number."), len(cut_middle("x" * 2_000_000))
    ('x is not a number.', 1503)
    """
    if len(text) <= BEGINNING + END:
        return text
    return f"{text[:BEGINNING]} … {text[-END:]}"


class UserError(Exception):
    """Error with a message for users and an exit code.

    The message consists of text and parameters. `str` spells the parameters as Python keywords; an
    interface with other names for them calls `render`. Control characters are escaped.

    Examples
    --------
    >>> print(UsageError("give ", Parameter("test_size"), " or ", Parameter("cv", "5"), "."))
    give test_size= or cv="5".
    """

    exit_code = 70

    def __init__(self, *parts: Part) -> None:
        self.message = Message(*parts)
        super().__init__(self.message)

    def render(self, spell: Callable[[Parameter], str]) -> str:
        """Return the message as text; `spell` formats each parameter."""
        return sanitize(cut_middle(self.message.render(spell)))

    def __str__(self) -> str:
        return self.render(str)


class UsageError(UserError, ValueError):
    """Error about options that contradict the data or other options."""

    exit_code = 64


class DataError(UserError, ValueError):
    """Error about a file whose content cannot be used."""

    exit_code = 65


class OpenError(UserError, OSError):
    """Error about a file that cannot be opened."""

    exit_code = 66


class WriteError(UserError, OSError):
    """Error about a file that cannot be written."""

    exit_code = 74


def make_open_error(name: str, trouble: BaseException) -> UserError:
    """Return an error for users that says why a file cannot be opened."""
    if isinstance(trouble, UserError):
        return trouble
    if isinstance(trouble, IsADirectoryError):
        return OpenError(f"{name} is a directory; give a file.")
    why = getattr(trouble, "strerror", None) or error_line(trouble).rstrip(".")
    if isinstance(trouble, FileNotFoundError):
        why = "there is no such file"
    elif isinstance(trouble, PermissionError):
        why = "there is no permission to read it"
    return OpenError(f"cannot open {name}: {why}.")


def make_write_error(path: str | PathLike[str], trouble: OSError) -> WriteError:
    """Return an error for users that says why a file cannot be written."""
    why = {
        FileNotFoundError: "there is no such folder",
        PermissionError: "there is no permission to write there",
        NotADirectoryError: "its folder is a file",
    }.get(type(trouble), trouble.strerror or str(trouble))
    return WriteError(f"cannot write {path}: {why}.")


class FileRowError(DataError):
    """Error about a row of a file, counted from 1.

    In Python other rows are counted from 0, so there the message says "row 17 of the file".
    """

    def __init__(self, name: str, row: int, rest: str | Message) -> None:
        super().__init__(f"{name}, row {row}", rest)
        self.args = name, row, rest
        self.of_file = Message(f"{name}, row {row} of the file", rest)


class RowError(ValueError):
    """Error about rows of the data, counted from 0 or 1.

    Examples
    --------
    >>> bad = RowError("y, ", 3, ": the label is missing.")
    >>> print(bad, bad.describe(RowNames(first=1)))
    y, row 3: the label is missing. y, row 4: the label is missing.
    """

    def __init__(self, before: str, rows: int | Sequence[int] = (), after: str = "") -> None:
        super().__init__(before, rows, after)
        self.before, self.after = before, after
        self.rows = tuple(map(int, rows)) if isinstance(rows, Sequence) else (int(rows),)

    def describe(self, names: RowNames = FROM_ZERO) -> str:
        """Return the message, with its rows named by `names`."""
        return f"{self.before}{names.join(self.rows) if self.rows else ''}{self.after}"

    def map_rows(self, positions: Any) -> Self:
        """Return the error with each row number n replaced by `positions[n]`."""
        return type(self)(self.before, [int(positions[n]) for n in self.rows], self.after)

    def prefix(self, before: str) -> Self:
        """Return the error with a text in front of its message."""
        return type(self)(f"{before}{self.before}", self.rows, self.after)

    def __str__(self) -> str:
        return self.describe()


@contextmanager
def with_index_labels(X: Any) -> Iterator[None]:
    """Add index labels to the row numbers of errors raised in a `with` block.

    X is the frame with the index, or its `RowNames`.
    """
    try:
        yield
    except RowError as bad:
        names = X if isinstance(X, RowNames) else RowNames.of(X)
        if names.index is None or not bad.rows:
            raise
        raise type(bad)(bad.describe(names)) from None


class BadCellError(Exception):
    """Error about a missing or invalid cell of a table."""

    # Rows are counted from 0.
    def __init__(self, row: int, column: str, text: str | None, promised: str = "a number") -> None:
        super().__init__(f"row {row}, column {column}: {quote(text)} is not {promised}")
        self.row, self.column, self.text, self.promised = row, column, text, promised

    @property
    def what(self) -> str:
        """What is wrong with the cell, as a clause."""
        if not self.text:
            return "the value is missing"
        return f'"{shorten(self.text)}" is not {self.promised}'


def quote(value: object) -> str:
    """Format any value for a message, shortened if it is long.

    Examples
    --------
    >>> quote("n/a"), quote(1 << 40_000)[:9]
    ("'n/a'", '0x1000000')
    """
    # Python does not convert integers of thousands of digits to decimals.
    if isinstance(value, int) and value.bit_length() > 1000:
        return shorten(hex(value))
    if isinstance(value, str) and len(value) > QUOTED:
        return f"{value[:QUOTED]!r} …"
    return shorten(repr(value), QUOTED + 2)


def error_line(trouble: BaseException) -> str:
    """Return an error message of another library as one short line."""
    text = " ".join(str(trouble).split())
    text = re.sub(rf"'([^']{{{QUOTED}}})[^']+'", r"'\1 …'", text)
    return (text[:200] + " …" if len(text) > 200 else text).rstrip(".") + "."
