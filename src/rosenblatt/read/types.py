"""The types of columns of text, decided from their cells: in a whole file as batch by batch."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rosenblatt.errors import BadCellError
from rosenblatt.read.columns import decoded, nulled, plain
from rosenblatt.tables import is_changed_text, large

# What PyArrow takes as missing, and the question mark of the UCI collection.
MISSING = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND"),
    *("1.#QNAN", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null", "?"),
)
# The first of these that fits all cells of a column is its type; bytes are no UTF-8 text.
MOMENTS = (
    *(pa.date32(), pa.time32("s"), pa.timestamp("s"), pa.timestamp("ns")),
    *(pa.timestamp("s", "UTC"), pa.timestamp("ns", "UTC")),
)
TYPES = (pa.null(), pa.int64(), pa.bool_(), *MOMENTS, pa.float64(), pa.string(), pa.binary())
FIRST = 100  # cells of a column, one of which is mostly not missing
# By its first cell a column can be of these types, and of no others but text.
SHAPES = {
    r"[01]": (pa.int64(), pa.bool_(), pa.float64()),
    r"true|false": (pa.bool_(),),
    r"-?\d+": (pa.int64(), pa.float64()),
    r"\d+[-:].+": MOMENTS,
    r"-?([\d.,]|inf|nan).*": (pa.float64(),),
}
SHAPES_OF_CELLS = [(re.compile(shape, re.IGNORECASE), kinds) for shape, kinds in SHAPES.items()]
LONG = r"\d{16}"  # integers that may be rounded have at least as many digits


class Types:
    """The types that fit all cells so far of each column."""

    def __init__(
        self, names: Sequence[str], decimal: str = ".", kinds: Sequence[Any] = TYPES
    ) -> None:
        self.decimal = decimal
        self.fitting = {name: tuple(kinds) for name in names}

    def add(self, batch: Any) -> None:
        """Look at a batch of text, or of bytes that may be text."""
        for name, kinds in self.fitting.items():
            cells = batch.column(name)
            if (first := _first_written(cells)) is not None:
                self.fitting[name] = tuple(
                    kind
                    for kind in possible_types(first)
                    if kind in kinds and _converted(cells, kind, self.decimal) is not None
                )

    def found(self) -> dict[str, Any]:
        """Return the type of each column."""
        return {name: kinds[0] for name, kinds in self.fitting.items()}


def typed(cells: Any, decimal: str) -> Any:
    """Convert all cells of a column to the first type that fits them."""
    first = _first_written(cells)
    if first is None:
        return pa.nulls(len(cells))
    found = (_converted(cells, kind, decimal) for kind in possible_types(first))
    return next(column for column in found if column is not None)


def possible_types(text: str) -> tuple[Any, ...]:
    """Return the types that a column can have in which a cell is written so.

    Examples
    --------
    >>> [str(kind) for kind in possible_types("12")]
    ['int64', 'double', 'string', 'binary']
    >>> [str(kind) for kind in possible_types("red")]
    ['string', 'binary']
    """
    found = (kinds for shape, kinds in SHAPES_OF_CELLS if shape.fullmatch(text))
    return (*next(found, ()), pa.string(), pa.binary())


def convert(cells: Any, kind: Any, decimal: str = ".") -> Any:
    """Convert text to a type, missing cells to null; raise ArrowInvalid if a cell does not fit.

    Where doubles would stand for other integers than are written, the cells stay text: whoever
    takes them as numbers can say which one it is.
    """
    if pa.types.is_binary(kind) or pa.types.is_string(kind):
        return cells.cast(kind)
    if pa.types.is_null(kind):
        if _first_written(cells) is not None:
            raise pa.ArrowInvalid("not all cells are missing")
        return pa.nulls(len(cells))
    try:  # as most columns are: nothing is missing, no blanks around cells
        found = _cast(cells, kind, decimal)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        found = None
    is_number = pa.types.is_float64(kind)
    if found is None or (is_number and pc.any(pc.is_nan(found)).as_py()):
        texts = pc.utf8_trim(cells.cast(pa.string()), " \t")
        found = _cast(nulled(texts, MISSING), kind, decimal)
    if is_number and any(len(large(part)) for part in _arrays(found)):
        texts = cells.cast(pa.string())
        long = texts.filter(pc.match_substring_regex(texts, LONG))
        if any(map(is_changed_text, pc.unique(long).to_pylist())):
            return texts
    return found


def convert_promised(cells: Any, kind: Any, decimal: str, name: str) -> Any:
    """Convert the cells of a column; raise BadCellError on the first that is not of its type."""
    try:
        return convert(cells, kind, decimal)
    except pa.ArrowInvalid:
        cells = plain(decoded(cells, name))
        fine, end = 0, len(cells)  # the rows before `fine` fit, and one before `end` does not
        while end - fine > 1:
            half = (fine + end) // 2
            try:
                convert(cells.slice(fine, half - fine), kind, decimal)
                fine = half
            except pa.ArrowInvalid:
                end = half
        raise BadCellError(fine, name, cells[fine].as_py().strip(" \t")) from None


def _converted(cells: Any, kind: Any, decimal: str) -> Any:
    """Return the cells in a type, None if they do not all fit it exactly."""
    try:
        found = convert(cells, kind, decimal)
    except pa.ArrowInvalid:
        return None
    return found if found.type == kind else None


def _cast(cells: Any, kind: Any, decimal: str) -> Any:
    if pa.types.is_time(kind):  # text cannot be cast to a time of day alone
        if not pc.all(pc.match_substring(cells, ":"), min_count=0).as_py():
            raise pa.ArrowInvalid("not a time")
        day = pa.scalar("1970-01-01T", cells.type)
        cells = pc.binary_join_element_wise(day, cells, pa.scalar("", cells.type))
        return cells.cast(pa.timestamp("s")).cast(kind)
    if pa.types.is_float64(kind) and decimal != ".":
        cells = pc.replace_substring(cells.cast(pa.string()), ".", " ")  # no decimal mark here
        cells = pc.replace_substring(cells, decimal, ".")
    return cells.cast(kind)


def _first_written(cells: Any) -> str | None:
    """Return the first cell that is not missing, without blanks around it."""
    for part in (cells.slice(0, FIRST), cells.slice(FIRST)):
        if len(part) > FIRST:
            part = part.filter(pc.invert(pc.is_in(part, pa.array(MISSING).cast(part.type))))
        for cell in part:
            value = cell.as_py()
            text = value.decode(errors="replace") if isinstance(value, bytes) else value or ""
            if (text := text.strip(" \t")) not in MISSING:
                return text
    return None


def _arrays(cells: Any) -> list[Any]:
    parts = cells.chunks if isinstance(cells, pa.ChunkedArray) else [cells]
    return [part.to_numpy(zero_copy_only=False) for part in parts]
