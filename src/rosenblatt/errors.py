"""What can go wrong for a person with a file: one sentence each, and an exit code."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import Any, Self

from rosenblatt.messages import Message, Parameter, Part
from rosenblatt.rownames import FROM_ZERO, RowNames
from rosenblatt.words import QUOTED, shortened, shown

BEGINNING, END = 1200, 300  # of what is said; the end has the advice


def readable(text: str) -> str:
    """A sentence as it is, or without its middle where what it quotes is longer than anyone reads.

    Examples
    --------
    >>> readable("x is no number."), len(readable("x" * 2_000_000))
    ('x is no number.', 1503)
    """
    if len(text) <= BEGINNING + END:
        return text
    return f"{text[:BEGINNING]} … {text[-END:]}"


class UserError(Exception):
    """An error for a person to read: its message, and the exit code of the program.

    The message is given in parts, text and parameters. `str` spells the parameters as Python
    keywords; an interface with other names for them calls `spelled`. Control characters that come
    from a file are escaped.

    Examples
    --------
    >>> print(UsageError("give ", Parameter("test_size"), " or ", Parameter("cv", "5"), "."))
    give test_size= or cv="5".
    """

    exit_code = 70

    def __init__(self, *parts: Part) -> None:
        self.message = Message(*parts)
        super().__init__(self.message)

    def spelled(self, spell: Callable[[Parameter], str]) -> str:
        """Return the message with each parameter as `spell` writes it."""
        return shown(readable(self.message.spelled(spell)))

    def __str__(self) -> str:
        return self.spelled(str)


class UsageError(UserError, ValueError):
    """What was asked for does not fit together."""

    exit_code = 64


class DataError(UserError, ValueError):
    """What a file holds cannot be used."""

    exit_code = 65


class OpenError(UserError, OSError):
    """A file cannot be opened."""

    exit_code = 66


class WriteError(UserError, OSError):
    """A file cannot be written; what was there before is still whole."""

    exit_code = 74


def cannot_open(name: str, trouble: BaseException) -> UserError:
    """Say why a file cannot be opened."""
    if isinstance(trouble, UserError):
        return trouble
    if isinstance(trouble, IsADirectoryError):
        return OpenError(f"{name} is a directory; give a file.")
    why = getattr(trouble, "strerror", None) or one_line(trouble).rstrip(".")
    if isinstance(trouble, FileNotFoundError):
        why = "there is no such file"
    elif isinstance(trouble, PermissionError):
        why = "there is no permission to read it"
    return OpenError(f"cannot open {name}: {why}.")


def cannot_write(path: str | PathLike[str], trouble: OSError) -> WriteError:
    """Say why a file cannot be written."""
    why = {
        FileNotFoundError: "there is no such folder",
        PermissionError: "there is no permission to write there",
        NotADirectoryError: "its folder is a file",
    }.get(type(trouble), trouble.strerror or str(trouble))
    return WriteError(f"cannot write {path}: {why}.")


class FileRowError(DataError):
    """A row of a file that cannot be used, by its position in the file, counted from 1.

    That is how a person finds it there. Python counts from 0, so it says "row 17 of the file".
    """

    def __init__(self, name: str, row: int, rest: str | Message) -> None:
        super().__init__(f"{name}, row {row}", rest)
        self.args = name, row, rest
        self.of_file = Message(f"{name}, row {row} of the file", rest)


class RowError(ValueError):
    """What is wrong with rows, which it knows by their positions; an interface names them.

    As it is, it counts from 0, as Python does.

    Examples
    --------
    >>> bad = RowError("y, ", 3, ": there is no answer.")
    >>> print(bad, bad.worded(RowNames(first=1)))
    y, row 3: there is no answer. y, row 4: there is no answer.
    """

    def __init__(self, before: str, rows: int | Sequence[int] = (), after: str = "") -> None:
        super().__init__(before, rows, after)
        self.before, self.after = before, after
        self.rows = tuple(map(int, rows)) if isinstance(rows, Sequence) else (int(rows),)

    def worded(self, names: RowNames = FROM_ZERO) -> str:
        """Return the sentence with the rows named."""
        return f"{self.before}{names.listed(self.rows) if self.rows else ''}{self.after}"

    def moved(self, positions: Any) -> Self:
        """Return the error about the rows at these positions of the data."""
        return type(self)(self.before, [int(positions[n]) for n in self.rows], self.after)

    def after_words(self, before: str) -> Self:
        """Return the error with words before its own."""
        return type(self)(f"{before}{self.before}", self.rows, self.after)

    def __str__(self) -> str:
        return self.worded()


@contextmanager
def with_index_labels(X: Any) -> Iterator[None]:
    """Name the rows in an error by the labels of X's own index too, where it has one."""
    try:
        yield
    except RowError as bad:
        names = RowNames.of(X)
        if names.index is None or not bad.rows:
            raise
        raise type(bad)(bad.worded(names)) from None


FINITE = "a finite number"
UTF8 = "UTF-8 text"


class BadCellError(Exception):
    """A cell that does not hold what was promised; rows are counted from 0 here."""

    def __init__(self, row: int, column: str, text: str | None, promised: str = "a number") -> None:
        super().__init__(f"row {row}, column {column}: {quoted(text)} is not {promised}")
        self.row, self.column, self.text, self.promised = row, column, text, promised

    @property
    def what(self) -> str:
        """What is wrong with the cell, in words."""
        if not self.text:
            return "there is nothing"
        return f'"{shortened(self.text)}" is not {self.promised}'


def quoted(value: object) -> str:
    """A value of any kind and length, fit to stand in a sentence.

    Examples
    --------
    >>> quoted("no number"), quoted(1 << 40_000)[:9]
    ("'no number'", '0x1000000')
    """
    # Python refuses to write whole numbers of thousands of digits in decimals.
    if isinstance(value, int) and value.bit_length() > 1000:
        return shortened(hex(value))
    if isinstance(value, str) and len(value) > QUOTED:
        return f"{value[:QUOTED]!r} …"
    return shortened(repr(value), QUOTED + 2)


def one_line(trouble: BaseException) -> str:
    """A library's complaint as one line without its own location, cells in quotes shortened."""
    text = " ".join(str(trouble).split())
    text = re.sub(rf"'([^']{{{QUOTED}}})[^']+'", r"'\1 …'", text)
    return (text[:200] + " …" if len(text) > 200 else text).rstrip(".") + "."
