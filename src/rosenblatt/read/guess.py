"""Which column has the answers and what the others are, from wishes and the values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rosenblatt.errors import DataError, UsageError, as_option, column_called, listed
from rosenblatt.read import libsvm
from rosenblatt.read.columns import (
    Category,
    Column,
    Entries,
    Flag,
    Number,
    Words,
    as_numbers,
    as_text,
    split_entries,
    split_words,
)
from rosenblatt.read.csv import not_utf8
from rosenblatt.read.encoding import Answers, Encoding, plain_labels
from rosenblatt.read.vocabulary import Vocabulary

FEW = 50  # text with at most this many different values is a category
MOSTLY = 0.9  # text of which this share are numbers is a column of numbers with mistakes in it


@dataclass(frozen=True)
class Wishes:
    """What a person said of the columns; empty means: find out."""

    target: str | None = None
    positive: str | None = None
    ignore: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    missing: str = "error"
    vocabulary: Vocabulary = field(default_factory=Vocabulary)


@dataclass(frozen=True)
class Plan:
    """What was decided, whether the answers were guessed, and what else to tell a person."""

    encoding: Encoding
    answers: Answers
    guessed: bool = False
    notes: tuple[str, ...] = ()


def plan(table: Any, wishes: Wishes, name: str) -> Plan:
    """Decide what each column of a table is.

    Parameters
    ----------
    table : Arrow table
        All rows to learn from.
    wishes : Wishes
        What was asked for.
    name : str
        What messages call the table.
    """
    for n in table.column_names:
        if n not in _ignored(table, wishes) and _is_bytes(table.column(n).type):
            raise not_utf8(name, _first_undecodable(table.column(n)), column_called(n))
    column, guessed = _target(table, wishes, name)
    notes: tuple[str, ...] = ()
    answers = _answers(table, column, wishes, name)
    ignored = {find_column(table.column_names, given, "--ignore") for given in wishes.ignore} | {
        column
    }
    empty = [n for n in table.column_names if n not in ignored and _is_empty(table.column(n))]
    if empty:
        notes += (f"{listed([column_called(n) for n in empty])} left out: nothing in it",)
    used = [n for n in table.column_names if n not in ignored and n not in empty]
    forced = _forced(table, wishes)
    columns = tuple(_column(table.column(n), n, forced.get(n), wishes, name) for n in used)
    if not any(c.features for c in columns):
        raise DataError(f"{name}: nothing is left to learn from besides the answers.")
    return Plan(Encoding(columns, wishes.missing), answers, guessed, notes)


def find_column(names: Sequence[str], given: str, option: str) -> str:
    """A column by its name, or by its number counted from 1, or -1 for the last."""
    if given in names:
        return given
    try:
        number = int(given)
    except ValueError:
        raise UsageError(
            f'{option}: there is no column "{given}"; there are {listed(list(names), most=8)}.'
        ) from None
    if not 1 <= abs(number) <= len(names):
        raise UsageError(f"{option} {number}: there are {len(names)} columns, counted from 1.")
    return names[number - 1 if number > 0 else number]


def _target(table: Any, wishes: Wishes, name: str) -> tuple[str, bool]:
    if wishes.target is not None:
        return find_column(table.column_names, wishes.target, "--target"), False
    if table.column_names == [libsvm.LABEL, libsvm.ENTRIES]:
        return libsvm.LABEL, False
    ignored = _ignored(table, wishes)
    two = [n for n in table.column_names if n not in ignored and _has_two_values(table.column(n))]
    if len(two) == 1:
        return two[0], True
    if not two:
        raise DataError(
            f"{name}: no column has exactly two values. Say which holds the answers with --target."
        )
    raise DataError(
        f"{name}: {listed([column_called(n) for n in two])} have two values each. "
        f"Say which holds the answers, for example --target {as_option(two[-1])}."
    )


def _ignored(table: Any, wishes: Wishes) -> set[str]:
    return {find_column(table.column_names, given, "--ignore") for given in wishes.ignore}


def _answers(table: Any, column: str, wishes: Wishes, name: str) -> Answers:
    where = f"{name}, {column_called(column)}"
    _check_readable(table.column(column), name, column)
    labels = pc.unique(plain_labels(table.column(column))).drop_null().to_pylist()
    if len(labels) != 2:
        shown = listed([str(label) for label in sorted(labels)], most=4)
        raise DataError(
            f"{where}: {len(labels) or 'no'} different answers{f' ({shown})' if shown else ''}; "
            "there must be two. Give --target for another column."
        )
    negative, positive = sorted(labels)
    if wishes.positive is not None:
        matching = [label for label in labels if _means(wishes.positive, label)]
        if len(matching) != 1:
            raise UsageError(
                f"--positive {wishes.positive} is not an answer in {column_called(column)}; "
                f"the answers are {negative} and {positive}."
            )
        positive = matching[0]
        negative = next(label for label in labels if label != positive)
    return Answers(column, negative, positive)


def _means(given: str, label: Any) -> bool:
    if str(label).lower() == given.strip().lower():
        return True
    try:
        return not isinstance(label, str | bool) and float(given) == label
    except ValueError:
        return False


def _forced(table: Any, wishes: Wishes) -> dict[str, str]:
    forced: dict[str, str] = {}
    for kind, given in (
        ("number", wishes.numbers),
        ("category", wishes.categories),
        ("text", wishes.texts),
    ):
        for one in given:
            column = find_column(table.column_names, one, f"--{kind}")
            if forced.setdefault(column, kind) != kind:
                raise UsageError(f"--{forced[column]} and --{kind} both name {one}.")
    return forced


def _column(cells: Any, column: str, forced: str | None, wishes: Wishes, name: str) -> Column:
    _check_readable(cells, name, column)
    if column == libsvm.ENTRIES and forced is None:
        return _entries(cells, column)
    kind = forced or _kind(cells, column)
    if kind == "number":
        return _number(cells, column)
    if kind == "category":
        return Category(column, tuple(sorted(pc.unique(as_text(cells)).to_pylist())))
    return Words(column, wishes.vocabulary.of(*split_words(cells)))


def _kind(cells: Any, column: str) -> str:
    if not (pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type)):
        if not pa.types.is_dictionary(cells.type):
            return "number"
        return "category" if pa.types.is_string(cells.type.value_type) else "number"
    text = as_text(cells)
    there = text.filter(pc.not_equal(text, ""))
    numeric = len(there) - as_numbers(there).null_count
    if numeric >= MOSTLY * len(there):
        return "number"
    different = len(pc.unique(text))
    words = pc.mean(pc.count_substring_regex(there, r"\s+")).as_py() + 1
    if different > FEW or (2 * different > len(text) and words >= 2):
        return "text"
    return "category"


def _number(cells: Any, column: str) -> Number:
    kind = Flag if pa.types.is_boolean(cells.type) else Number
    numbers = kind(column).encode(cells)
    there = numbers[~np.isnan(numbers)]
    if len(there) == 0:
        return kind(column)
    # In units of the largest value, so that squares neither overflow nor vanish.
    unit = float(np.abs(there).max()) or 1.0
    mean, spread = float(np.mean(there / unit)) * unit, float(np.std(there / unit)) * unit
    return kind(column, mean, spread if spread > 0 else 1.0)


def _entries(cells: Any, column: str) -> Entries:
    index, _, _, _ = split_entries(cells, column)
    first = 0 if len(index) and index.min() == 0 else 1
    return Entries(column, first, int(index.max()) - first + 1 if len(index) else 0)


def _has_two_values(cells: Any) -> bool:
    if pa.types.is_nested(cells.type) or pa.types.is_temporal(cells.type):
        return False
    return len(pc.unique(plain_labels(cells)).drop_null()) == 2


def _is_empty(cells: Any) -> bool:
    return bool(cells.null_count == len(cells))


def _check_readable(cells: Any, name: str, column: str) -> None:
    kind, where = cells.type, column_called(column)
    if pa.types.is_nested(kind):
        raise DataError(f"{name}, {where}: lists or objects. Give --ignore {as_option(column)}.")
    if pa.types.is_temporal(kind):
        raise DataError(
            f"{name}, {where}: dates or times, which are neither numbers nor words. "
            f"Give --ignore {as_option(column)}, or --category {as_option(column)}."
        )


def _is_bytes(kind: Any) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _first_undecodable(cells: Any) -> int | None:
    for row, cell in enumerate(cells):
        try:
            (cell.as_py() or b"").decode()
        except UnicodeDecodeError:
            return row
    return None
