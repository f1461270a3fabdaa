"""Numbers as people write them: with decimal commas, thousands, percent and currency marks."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

GROUP = "[\u00a0\u2009\u202f '’]"  # between thousands, besides the one that is no decimal mark
MARK = r"%|‰|\p{Sc}|USD|EUR|GBP|CHF|JPY"
DECIMALS = (".", ",")


def _pattern(decimal: str, thousands: str) -> str:
    whole = rf"[1-9]\d{{0,2}}(?:(?:{thousands}|{GROUP})\d{{3}})+|\d+"
    number = rf"(?:{whole})(?:{decimal}\d*)?(?:[eE][+-]?\d+)?|{decimal}\d+"
    return (
        rf"^(?P<sign>[+-]?)\s*(?P<before>{MARK})?\s*(?P<inner>[+-]?)"
        rf"(?P<number>{number})\s*(?P<after>{MARK})?$"
    )


PATTERNS = {".": _pattern(r"\.", ","), ",": _pattern(",", r"\.")}


class Parsed:
    """Texts taken apart, as numbers with one of the decimal marks.

    Parameters
    ----------
    texts : Arrow array of text
        Without blanks around it.
    decimal : {".", ","}
        The decimal mark; the other one stands between thousands.

    Examples
    --------
    >>> parsed = Parsed(pa.array(["-1,234.5", "$12", "3%", "1,5"]), ".")
    >>> parsed.fits.tolist(), parsed.marks.to_pylist()
    ([True, True, True, False], ['', '$', '%', None])
    >>> parsed.plain("").to_pylist()
    ['-1234.5', None, None, None]
    """

    def __init__(self, texts: Any, decimal: str) -> None:
        found = pc.extract_regex(texts, PATTERNS[decimal])
        sign, inner = found.field("sign"), found.field("inner")
        before, after = found.field("before"), found.field("after")
        once = pc.or_(pc.equal(before, ""), pc.equal(after, ""))
        once = pc.and_(once, pc.or_(pc.equal(sign, ""), pc.equal(inner, "")))
        good = pc.fill_null(pc.and_(found.is_valid(), once), False)
        nothing = pa.scalar(None, pa.string())
        self.fits: NDArray[np.bool_] = good.to_numpy(zero_copy_only=False)
        self.marks = pc.if_else(good, pc.binary_join_element_wise(before, after, ""), nothing)
        digits = pc.replace_substring_regex(
            found.field("number"), rf"{GROUP}|{',' if decimal == '.' else '[.]'}", ""
        )
        digits = digits if decimal == "." else pc.replace_substring(digits, ",", ".")
        minus = pc.replace_substring(pc.binary_join_element_wise(sign, inner, ""), "+", "")
        self.numbers = pc.if_else(good, pc.binary_join_element_wise(minus, digits, ""), nothing)

    def plain(self, mark: str) -> Any:
        """The numbers with this mark as programs write them, null elsewhere."""
        return pc.if_else(pc.equal(self.marks, mark), self.numbers, pa.scalar(None, pa.string()))


class Styles:
    """How the numbers of a column of text are written, added up over its cells."""

    def __init__(self) -> None:
        self.looks = self.certain = self.commas = 0  # without marks but for `looks`
        self.fits = dict.fromkeys(DECIMALS, 0)
        self.marks: Counter[str] = Counter()
        self.example: str | None = None

    def add(self, texts: Any, counts: NDArray[Any], numeric: NDArray[np.bool_]) -> bool:
        """Look at different texts, how often they come, and which are numbers as they are.

        Says whether any of them is a number in some way.
        """
        parsed = {decimal: Parsed(texts, decimal) for decimal in DECIMALS}
        dot, comma = parsed["."].fits, parsed[","].fits
        looks = dot | comma
        marks = pc.coalesce(parsed["."].marks, parsed[","].marks)
        bare = pc.fill_null(pc.equal(marks, ""), False).to_numpy(zero_copy_only=False)
        self.looks += int(counts[looks].sum())
        self.commas += int(counts[comma & bare].sum())
        self.certain += int(counts[comma & ~dot & bare].sum())
        for decimal, one in parsed.items():
            self.fits[decimal] += int(counts[one.fits].sum())
        odd = np.flatnonzero(looks & ~numeric)
        for at in odd:
            self.marks[marks[int(at)].as_py()] += int(counts[at])
        if len(odd) and self.example is None:
            self.example = texts[int(odd[0])].as_py()
        return bool(looks.any())

    @property
    def mark(self) -> str:
        """The mark that most of the numbers have, which are not numbers as they are."""
        return self.marks.most_common(1)[0][0] if self.marks else ""
