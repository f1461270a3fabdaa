"""Encoding of raw rows (numbers, categories and text) as features of a stream."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from rosenblatt.errors import BadCellError
from rosenblatt.model import rows_to_table
from rosenblatt.read.columns import Category, Column, Entries, Number, Words
from rosenblatt.read.encoding import Encoding
from rosenblatt.read.feed import encode_value
from rosenblatt.read.lines import ENTRIES
from rosenblatt.tables import LARGE, is_missing
from rosenblatt.text import quote_column


@dataclass(frozen=True, eq=False)
class RawColumns:
    """Columns of raw rows (numbers, categories and text) that are encoded as features.

    A number becomes a feature with the name of its column, a category "column=value", a word
    "column=word", and an entry a feature named by its index.
    """

    encoding: Encoding
    target: str = ""
    width: int | None = None  # number of columns of a file without a header

    @cached_property
    def columns(self) -> dict[str, Column]:
        """The columns by name."""
        return {column.name: column for column in self.encoding.columns}

    @cached_property
    def numbers(self) -> Encoding:
        """Encoding of the numeric columns."""
        columns = tuple(c for c in self.encoding.columns if isinstance(c, Number))
        return Encoding(columns, self.encoding.missing)

    def encode(self, x: Mapping[Any, Any], known: Collection[Hashable]) -> dict[Hashable, float]:
        """Return the features of a row; encode a missing category only if in `known`."""
        numbers, row = self._read_numbers(x), dict[Hashable, float]()
        for name in dict.fromkeys((*x, *self.columns)):
            column = self.columns.get(name)
            if isinstance(column, Number):
                if name in numbers:
                    row[name] = numbers[name]
            elif column is not None:
                value = None if is_missing(x.get(name)) else x[name]
                found = dict(encode_value(name, column.kind, value, self.encoding.stop_words))
                if not found and isinstance(column, Category) and f"{name}=" in known:
                    found = {f"{name}=": 1.0}
                row.update(found)
        return row

    def _read_numbers(self, x: Mapping[Any, Any]) -> dict[str, float]:
        columns = self.numbers.columns
        row = {column.name: x[column.name] for column in columns if column.name in x}
        complete = len(row) == len(columns) or self.encoding.missing == "zero"
        plain = complete and {*map(type, row.values())} <= {float, int}
        if plain and all(-LARGE < value < LARGE for value in row.values()):
            return row
        names = [column.name for column in columns]
        try:
            X, kept = self.numbers.encode(rows_to_table([x], names), "x")
        except BadCellError as bad:
            raise ValueError(f"x, {quote_column(bad.column)}: {bad.what}.") from None
        if not len(kept):
            raise ValueError("x: a number is missing; give one for each numeric column.")
        return dict(zip(names, X[0].tolist(), strict=True))

    def of_features(self, names: Iterable[Any]) -> tuple[Encoding, list[Hashable]]:
        """Return an encoding with the categories and words in `names`, and its features."""
        values: dict[str, list[str]] = {column.name: [] for column in self.encoding.columns}
        indices, others = [], []
        for name in names:
            if isinstance(name, int):
                indices.append(name)
                continue
            ends = [at for at, letter in enumerate(name) if letter == "="]
            mine = [at for at in ends if isinstance(self.columns.get(name[:at]), Category | Words)]
            for at in mine:
                values[name[:at]].append(name[at + 1 :])
            if not mine and name not in self.columns:
                others.append(Number(name))
        columns: list[Column] = []
        for column in self.encoding.columns:
            if isinstance(column, Category | Words):
                column = replace(column, values=tuple(sorted(values[column.name])))
            columns.append(column)
        columns += others
        columns += [Entries.of(ENTRIES, sorted(indices))] if indices else []
        encoding = replace(self.encoding, columns=tuple(columns))
        return encoding, features_of(encoding)


def features_of(encoding: Encoding) -> list[Hashable]:
    """Return the features of a stream in the order of the weights of a model."""
    features: list[Hashable] = []
    for column in encoding.columns:
        if isinstance(column, Number):
            features.append(column.name)
        elif isinstance(column, Category | Words):
            features += [f"{column.name}={value}" for value in column.values]
        elif isinstance(column, Entries):
            features += column.indices
    return features
