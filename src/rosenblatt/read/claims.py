"""Comparison of the columns that a proof records with those of the data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from rosenblatt.errors import DataError
from rosenblatt.read.columns import Category, Column, Entries, Number, Vocabulary, Words
from rosenblatt.read.encoding import TargetColumn, check_columns_present, spell_label
from rosenblatt.read.plan import ColumnOptions, Plan, options_from_plan
from rosenblatt.read.source import Source
from rosenblatt.text import join_words, plural, quote_column, shorten

CLOSE = 1e-9  # relative tolerance of a mean, which depends on the order of summation


class PlanMismatchError(DataError):
    """Error about data whose columns differ from those that a proof records."""


def options_to_verify(claimed: Plan, names: Sequence[str], source: Source) -> ColumnOptions:
    """Return options to read a file so that its columns can be compared with those of a proof."""
    needed = [claimed.target.column, *(column.name for column in claimed.encoding.columns)]
    check_columns_present(names, needed, source.name)
    every_word = ColumnOptions(
        missing=claimed.encoding.missing, vocabulary=Vocabulary(1, frozenset())
    )
    return options_from_plan(every_word, claimed)


def check_plan(claimed: Plan, found: Plan) -> Plan:
    """Return the plan of the data, ordered as in the proof; raise PlanMismatchError if they differ.

    The columns must have been read with the options of `options_to_verify`, which keep all words.
    """
    by_name = {column.name: column for column in found.encoding.columns}
    columns, notes = [], list(found.notes)
    filled = claimed.encoding.missing == "mean"
    for column in claimed.encoding.columns:
        if column.name not in by_name:
            raise PlanMismatchError(f"{quote_column(column.name)} has no values.")
        columns.append(_check_column(column, by_name[column.name], filled))
        if isinstance(column, Words):
            every = len(by_name[column.name].features)
            words = (
                ""
                if len(column.values) == every
                else f": {join_words([shorten(one) for one in column.values], most=12)}"
            )
            of_all = f"{len(column.values):,} of its {plural(every, 'word')}"
            notes.append(f"{quote_column(column.name)}: {of_all} counted{words}")
    encoding = replace(found.encoding, columns=tuple(columns))
    return Plan(encoding, _check_target(claimed.target, found.target), notes=tuple(notes))


def _check_column(claimed: Column, found: Column, filled: bool) -> Column:
    where = quote_column(found.name)
    if isinstance(found, Number) and isinstance(claimed, Number):
        if not filled:
            return found
        near = CLOSE * max(abs(found.mean), found.spread)
        if not math.isclose(claimed.mean, found.mean, rel_tol=0.0, abs_tol=near):
            raise PlanMismatchError(
                f"{where}: the proof replaces missing numbers by {claimed.mean:g}, but the mean of "
                f"the column is {found.mean:g}."
            )
        return replace(found, mean=claimed.mean)
    if isinstance(found, Words) and isinstance(claimed, Words):
        _check_known(claimed.values, found.values, f"{where}: the proof counts", "occurs in no row")
        return claimed
    if isinstance(found, Category) and isinstance(claimed, Category):
        _check_known(claimed.values, found.values, f"{where}: the proof has", "occurs in no row")
        _check_known(found.values, claimed.values, f"{where}: the rows have", "is not in the proof")
        return claimed
    if isinstance(found, Entries) and found == claimed:
        return found
    if type(found) is type(claimed):
        raise PlanMismatchError(f"{where}: the indices are not those that the proof has.")
    raise PlanMismatchError(f"{where} holds {found.kind}, not {claimed.kind} as the proof says.")


def _check_known(values: Sequence[str], known: Sequence[str], who: str, otherwise: str) -> None:
    unknown = sorted(set(values) - set(known))
    if unknown:
        shown = join_words([f'"{shorten(value)}"' for value in unknown], most=3)
        raise PlanMismatchError(f"{who} {shown}, which {otherwise}.")


def _check_target(claimed: TargetColumn, found: TargetColumn) -> TargetColumn:
    """Return the target of the data, with its labels in the order of the proof."""
    if claimed.others:
        return found  # one label against the rest: read with that label
    there = {spell_label(label): label for label in found.names}
    if set(claimed.spellings) != set(there):
        ours, others = (
            join_words([shorten(one) for one in some]) for some in (there, claimed.spellings)
        )
        raise PlanMismatchError(
            f"{quote_column(found.column)} has the labels {ours}, not {others} as the proof says."
        )
    return TargetColumn(found.column, tuple(there[spelling] for spelling in claimed.spellings))
