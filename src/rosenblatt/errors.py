"""Errors for users: a message of one sentence, and an exit code."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import Any, Self

from rosenblatt.messages import Message, Parameter, Part
from rosenblatt.rownames import FROM_ZERO, RowNames
from rosenblatt.text import QUOTED, sanitize, shorten

BEGINNING, END = 1200, 300  # characters kept of a long message; its end has the advice


def cut_middle(text: str) -> str:
    """Cut out the middle of a message that is too long to read.

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
        """Return the message, with each parameter spelled by the function `spell`."""
        return sanitize(cut_middle(self.message.render(spell)))

    def __str__(self) -> str:
        return self.render(str)


class UsageError(UserError, ValueError):
    """Error about options that contradict each other or the data."""

    exit_code = 64


class DataError(UserError, ValueError):
    """Error about a file whose content cannot be used."""

    exit_code = 65


class OpenError(UserError, OSError):
    """Error about a file that cannot be opened."""

    exit_code = 66


class WriteError(UserError, OSError):
    """Error about a file that cannot be written; its previous content is intact."""

    exit_code = 74


def make_open_error(name: str, trouble: BaseException) -> UserError:
    """Return the error that explains why a file cannot be opened."""
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
    """Return the error that explains why a file cannot be written."""
    why = {
        FileNotFoundError: "there is no such folder",
        PermissionError: "there is no permission to write there",
        NotADirectoryError: "its folder is a file",
    }.get(type(trouble), trouble.strerror or str(trouble))
    return WriteError(f"cannot write {path}: {why}.")


class FileRowError(DataError):
    """Error about a row of a file; rows are counted from 1.

    Python counts rows from 0, so `learn` calls it "row 17 of the file".
    """

    def __init__(self, name: str, row: int, rest: str | Message) -> None:
        super().__init__(f"{name}, row {row}", rest)
        self.args = name, row, rest
        self.of_file = Message(f"{name}, row {row} of the file", rest)


class RowError(ValueError):
    """Error about rows given by position; messages may count them from 0 or from 1.

    By default, rows are counted from 0.

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
        """Return the message, with the rows named by `names`."""
        return f"{self.before}{names.join(self.rows) if self.rows else ''}{self.after}"

    def map_rows(self, positions: Any) -> Self:
        """Return the error with each row number n replaced by `positions[n]`."""
        return type(self)(self.before, [int(positions[n]) for n in self.rows], self.after)

    def prefix(self, before: str) -> Self:
        """Return the error with the text `before` in front of its message."""
        return type(self)(f"{before}{self.before}", self.rows, self.after)

    def __str__(self) -> str:
        return self.describe()


@contextmanager
def with_index_labels(X: Any) -> Iterator[None]:
    """Add a frame's index labels to the row numbers in errors raised in a `with` block.

    X may also be the `RowNames` themselves.
    """
    try:
        yield
    except RowError as bad:
        names = X if isinstance(X, RowNames) else RowNames.of(X)
        if names.index is None or not bad.rows:
            raise
        raise type(bad)(bad.describe(names)) from None


FINITE = "a finite number"
UTF8 = "UTF-8 text"


class BadCellError(Exception):
    """Error about a cell that is not of the expected type; rows are counted from 0."""

    def __init__(self, row: int, column: str, text: str | None, promised: str = "a number") -> None:
        super().__init__(f"row {row}, column {column}: {quote(text)} is not {promised}")
        self.row, self.column, self.text, self.promised = row, column, text, promised

    @property
    def what(self) -> str:
        """Description of what is wrong with the cell."""
        if not self.text:
            return "the value is missing"
        return f'"{shorten(self.text)}" is not {self.promised}'


def quote(value: object) -> str:
    """Format a value of any type and length for quoting in a message.

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
    """Return the message of another library's error as one line, with quoted text shortened."""
    text = " ".join(str(trouble).split())
    text = re.sub(rf"'([^']{{{QUOTED}}})[^']+'", r"'\1 …'", text)
    return (text[:200] + " …" if len(text) > 200 else text).rstrip(".") + "."
