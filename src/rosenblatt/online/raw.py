"""Encoding of the rows of a stream, with numbers, categories and text, as features."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from rosenblatt.errors import BadCellError
from rosenblatt.model import rows_to_table
from rosenblatt.online.rows import BlockLabels, Labels, plain_row
from rosenblatt.read.columns import (
    STOP_WORDS,
    Category,
    Column,
    Entries,
    Flag,
    FormattedNumber,
    Number,
    Words,
)
from rosenblatt.read.encoding import Encoding
from rosenblatt.read.feed import (
    Batch,
    CsvFeed,
    JsonFeed,
    Kinds,
    LibsvmFeed,
    encode_value,
    encode_values,
)
from rosenblatt.read.lines import ENTRIES, LABEL
from rosenblatt.read.source import number_columns
from rosenblatt.read.streams import Feed
from rosenblatt.tables import LARGE, is_missing
from rosenblatt.text import quote_column


@dataclass(frozen=True, eq=False)
class RawColumns:
    """Columns of numbers, categories and text that are encoded as features.

    A number becomes a feature with the name of its column, a category "column=value", a word
    "column=word", and an entry a feature named by its index.
    """

    encoding: Encoding
    target: str = ""
    width: int | None = None  # number of columns of a file without a header

    @cached_property
    def columns(self) -> dict[str, Column]:
        """Columns as a dict by name."""
        return {column.name: column for column in self.encoding.columns}

    @cached_property
    def numbers(self) -> Encoding:
        """Encoding of only the numeric columns."""
        columns = tuple(c for c in self.encoding.columns if isinstance(c, Number))
        return Encoding(columns, self.encoding.missing)

    def encode(self, x: Mapping[Any, Any], known: Collection[Hashable]) -> dict[Hashable, float]:
        """Encode a row as a dict of features.

        `known` are the features that already have weights.
        """
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
        """Return an encoding with at least the features `names`, and a list of all its features."""
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
    """Return the names or indices of an encoding's features, in the order of the weights."""
    features: list[Hashable] = []
    for column in encoding.columns:
        if isinstance(column, Number):
            features.append(column.name)
        elif isinstance(column, Category | Words):
            features += [f"{column.name}={value}" for value in column.values]
        elif isinstance(column, Entries):
            features += column.indices
    return features


def columns_of_feed(feed: Feed, kinds: Kinds) -> RawColumns:
    """Return the columns of a stream for its model file."""
    if isinstance(feed, LibsvmFeed):
        return RawColumns(Encoding((), "zero"), LABEL)
    width, missing = None, "zero"
    if not isinstance(feed, JsonFeed):
        kinds = {name: feed.kinds.get(name, "number") for name in feed.features}
        missing = "drop"  # a line with a missing number is a bad line
    if isinstance(feed, CsvFeed) and list(feed.names) == number_columns(len(feed.names)):
        width = len(feed.names)
    columns: list[Column] = []
    for name, kind in kinds.items():
        if kind == "number" and isinstance(feed, CsvFeed) and feed.decimal != ".":
            columns.append(FormattedNumber(name, decimal=feed.decimal))
        elif kind in ("category", "text"):
            columns.append((Category if kind == "category" else Words)(name, ()))
        else:
            columns.append((Flag if kind == "flag" else Number)(name))
    stop_words = tuple(sorted(STOP_WORDS))
    return RawColumns(Encoding(tuple(columns), missing, stop_words), feed.target, width)


def reject_invalid(
    feed: Any, batch: Batch, known: tuple[Any, ...], kinds: Kinds
) -> tuple[Batch, Kinds]:
    """Encode the rows of a batch, and mark rows that cannot be learned as bad lines.

    `known` are the labels known so far. Returns the batch and the kinds of all columns seen so far.
    """
    labels, raw = Labels(known), isinstance(feed, JsonFeed)  # raw: kinds are found as rows come
    if batch.X is not None and raw:
        found = {str(name): kinds.get(str(name), "number") for name in batch.names}
        if set(found.values()) == {"number"}:
            kinds = kinds if found.keys() <= kinds.keys() else {**kinds, **found}
        else:  # a column of numbers here is a category in earlier lines
            batch = feed.read_rows(batch.chunk)
    if batch.X is not None:
        refused = BlockLabels.of(batch.y, len(batch.X), every=False).refused(labels)
        if refused:
            why = {int(batch.lines[row]): reason for row, reason in refused.items()}
            good = np.delete(np.arange(len(batch.X)), list(refused))
            changes = {name: getattr(batch, name)[good] for name in ("X", "y", "lines")}
            batch = batch.with_bad_lines(why, **changes)
        return batch, kinds

    rows, reasons = [], {}
    for at, x, y in batch.rows:
        try:
            features, kinds = encode_values(x, kinds) if raw else (x, kinds)
            row = plain_row(features)
            labels = labels if y is None else labels.learn(y)
            rows.append((at, row, y))
        except ValueError as error:
            reasons[at] = str(error).removeprefix("x, ")
    return batch.with_bad_lines(reasons, rows=rows), kinds
