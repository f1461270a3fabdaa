"""Files larger than memory: opened for passes, and told about."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.algorithms.judge import Judge
from rosenblatt.cli.console import Voice
from rosenblatt.cli.options import Reading
from rosenblatt.clock import NEVER, Deadline
from rosenblatt.errors import DataError, UserError, WriteError
from rosenblatt.evidence.separability import separability_of
from rosenblatt.read import Source
from rosenblatt.read.convert import beside, converted, is_text, kept
from rosenblatt.read.data import Data, FileTable, Footprint, planned, with_types
from rosenblatt.verdict import Verdict, line_of

HOW = {"learn": "learning", "separable": "deciding", "verify": "checking"}


def too_large(voice: Voice, source: Source, reading: Reading, verb: str) -> bool:
    """Whether a file is to be gone through in passes, which is then said."""
    needs = Footprint.of(source, reading.layout)
    if needs.too_large:
        voice.note(f"{source.name} needs {needs}: {HOW[verb]} in passes over the file.")
    return needs.too_large


def opened(voice: Voice, source: Source, reading: Reading, convert: bool) -> Data:
    """A file to be gone through in passes; text is converted once, which is said.

    Parameters
    ----------
    voice : Voice
        What tells a person about it.
    source : Source
        The file.
    reading : Reading
        How to read it.
    convert : bool
        Whether a Parquet file may be written beside a text file.
    """
    layout, wishes = with_types(source, reading.layout, reading.wishes), reading.wishes
    if not (convert and is_text(source, layout)) or source.kept is not None:
        with voice.patience(f"reading {source.name}"):
            return planned(FileTable.of(source, layout), wishes)
    name = beside(source)
    with voice.patience(f"reading {source.name}"):
        table = kept(source, layout)
    if table is not None:
        voice.note(f"{name} holds the rows of {source.name}, which is unchanged: it is read.")
    else:
        with voice.patience(f"reading {source.name}"):
            table = FileTable.of(source, layout)
        try:
            with voice.patience(f"converting {source.name}"):
                table = converted(table)
            voice.note(f"{source.name} was converted to {name}, which every pass reads.")
        except WriteError as trouble:
            voice.note(f"{str(trouble).rstrip('.')}; the text is parsed anew in every pass.")
    with voice.patience(f"reading {source.name}"):
        return planned(table, wishes)


def verdict_in_passes(data: Data, *, widest: bool, deadline: Deadline = NEVER) -> Verdict:
    """Ask whether a line can answer every row of a file."""
    answer = separability_of(data.blocks, widest=widest, deadline=deadline)
    line = line_of(answer, 1.0)
    if line is not None and not widest and Judge(data.blocks, line.zero).alone(line.w):
        line = None
    return Verdict(answer, data.places(_named(answer)), line)


def _named(answer: Any) -> NDArray[np.intp]:
    """The examples that may be named to a person."""
    blocking = answer.blocking[0].rows if answer.blocking else ()
    return np.union1d(np.asarray(answer.support, np.intp), np.asarray(blocking, np.intp))


class AboutFile:
    """Turns what cannot be learnt from into a sentence with the name of the file."""

    def __init__(self, source: Source) -> None:
        self.name = source.name

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, trouble: BaseException | None, traceback: Any) -> None:
        if isinstance(trouble, ValueError) and not isinstance(trouble, UserError):
            raise DataError(f"{self.name}: {trouble}") from None
