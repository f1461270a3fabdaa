"""Whether a file is what a plan says of it: a plan from elsewhere may say anything.

The columns are found out from the data, asked only for what the plan asks for, and compared.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from rosenblatt.errors import DataError
from rosenblatt.read.columns import Category, Column, Entries, Number, Vocabulary, Words
from rosenblatt.read.encoding import Answers, check_there, spelled
from rosenblatt.read.plan import Plan, Wishes, as_planned
from rosenblatt.read.source import Source
from rosenblatt.words import column_called, counted, listed, shortened

CLOSE = 1e-9  # of a mean or a spread: other machines add up in another order


class DisagreeError(DataError):
    """The data are not what a plan says of them."""


def wishes_of(claimed: Plan, names: Sequence[str], source: Source) -> Wishes:
    """What to ask of a file that has these columns, to find out whether it is as was claimed."""
    needed = [claimed.answers.column, *(column.name for column in claimed.encoding.columns)]
    check_there(names, needed, source.name)
    every_word = Wishes(missing=claimed.encoding.missing, vocabulary=Vocabulary(1, frozenset()))
    return as_planned(every_word, claimed)


def agreed(claimed: Plan, found: Plan) -> Plan:
    """What was found, in the order that was claimed; refuses a claim that is not so.

    The columns were found when asked for as was claimed, with all words.
    """
    by_name = {column.name: column for column in found.encoding.columns}
    columns, notes = [], list(found.notes)
    filled = claimed.encoding.missing == "mean"
    for said in claimed.encoding.columns:
        if said.name not in by_name:
            raise DisagreeError(f"{column_called(said.name)} has nothing in it.")
        columns.append(_column(said, by_name[said.name], filled))
        if isinstance(said, Words):
            every = len(by_name[said.name].features)
            words = (
                ""
                if len(said.values) == every
                else f": {listed([shortened(one) for one in said.values], most=12)}"
            )
            of_all = f"{len(said.values):,} of its {counted(every, 'word')}"
            notes.append(f"{column_called(said.name)}: {of_all} counted{words}")
    encoding = replace(found.encoding, columns=tuple(columns))
    return Plan(encoding, _answers(claimed.answers, found.answers), notes=tuple(notes))


def _column(said: Column, found: Column, filled: bool) -> Column:
    where = column_called(found.name)
    if isinstance(found, Number) and isinstance(said, Number):
        return _number(said, found) if filled else found
    if isinstance(found, Words) and isinstance(said, Words):
        _check_known(said.values, found.values, f"{where}: the proof counts", "comes in no row")
        return said
    if isinstance(found, Category) and isinstance(said, Category):
        _check_known(said.values, found.values, f"{where}: the proof has", "comes in no row")
        _check_known(found.values, said.values, f"{where}: the rows have", "is not in the proof")
        return said
    if isinstance(found, Entries) and found == said:
        return found
    if type(found) is type(said):
        raise DisagreeError(f"{where}: the indices are not those that the proof has.")
    raise DisagreeError(f"{where} holds {found.kind}, not {said.kind} as the proof says.")


def _number(said: Number, found: Number) -> Number:
    near = CLOSE * max(abs(found.mean), found.spread)
    if not math.isclose(said.mean, found.mean, rel_tol=0.0, abs_tol=near):
        raise DisagreeError(
            f"{column_called(found.name)}: the proof takes {said.mean:g} where a number is "
            f"missing, the mean of the column is {found.mean:g}."
        )
    return replace(found, mean=said.mean)


def _check_known(values: Sequence[str], known: Sequence[str], who: str, otherwise: str) -> None:
    strange = sorted(set(values) - set(known))
    if strange:
        shown = listed([f'"{shortened(value)}"' for value in strange], most=3)
        raise DisagreeError(f"{who} {shown}, which {otherwise}.")


def _answers(said: Answers, found: Answers) -> Answers:
    """What was found, its labels in the order that was claimed."""
    if said.others:
        return found  # yes and all the rest: asked for by what yes is called
    there = {spelled(label): label for label in found.names}
    if set(said.spellings) != set(there):
        ours, others = (
            listed([shortened(one) for one in some]) for some in (there, said.spellings)
        )
        raise DisagreeError(
            f"{column_called(found.column)} has the answers {ours}, not {others} as the proof says."
        )
    return Answers(found.column, tuple(there[spelling] for spelling in said.spellings))
