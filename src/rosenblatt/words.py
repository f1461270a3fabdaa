"""Words: what a person reads of a verdict, a bound, a count, an accuracy, each sentence once.

Counts, shares and foreign text are written here as every sentence has them. A card is a few facts
as a small piece of HTML.
"""

from __future__ import annotations

import functools
import json
import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

# Control characters, the invisible ones that format or turn text around, line and paragraph
# separators, and halves of characters that no file can hold: the classes Cc, Cf, Zl, Zp and Cs.
UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f\ud800-\udfff]"
)
NUMBERED = re.compile(r"column \d+")  # the name of a column in a file without a header
QUOTED = 60  # letters of a cell or a name that a sentence quotes
LONGEST_LABEL = 24  # letters, in a table
PROVED = ", proved in exact arithmetic"
CLAIMS = {
    "separable": "a line answers every {}",
    "quasi-separable": "a line is wrong nowhere, but some {}s lie on it",
    "inseparable": "no line answers every {}",
    "not separable": "no line answers every {}",
}
# The same of more than two labels, with weights for each.
CLAIMS_OF_LABELS = {
    "separable": "weights for each label answer every {}",
    "quasi-separable": "some weights put no rival ahead, but leave a tie on some {}s",
    "inseparable": "no weights answer every {}",
    "not separable": "no weights answer every {}",
}
PROVES = {
    "separable": "The proof is a w whose product with every signed example is above zero, in "
    "whole numbers without rounding: a line that is right everywhere exists, and PLA halts.",
    "quasi-separable": "The proof is a w whose product with no signed example is below zero, and "
    "positive multiples of some signed examples that sum to exactly zero: a line can be wrong "
    "nowhere, but never right everywhere.",
    "inseparable": "The proof is positive multiples of some signed examples that sum to exactly "
    "zero: were a w right on all of them, the sum of its products would be above zero, and it is "
    "zero. So no line is right everywhere, and PLA alone would never halt.",
    "not separable": "The proof is positive multiples of some signed examples that sum to exactly "
    "zero: were a w right on all of them, the sum of its products would be above zero, and it is "
    "zero. So no line is right everywhere; whether one is wrong nowhere was not looked for.",
    "undecided": "Nothing is proved.",
}
AGAINST = (
    "positive multiples of some examples against rivals (x for the label of the example, −x for "
    "the rival's) that sum to exactly zero"
)
PROVES_OF_LABELS = {
    "separable": "The proof is a w for each label: on every example the product with its own "
    "label's w is above that with every other, in whole numbers without rounding. So PLA halts.",
    "quasi-separable": "The proof is a w for each label under which no example has a higher score "
    f"for a rival than for its own label, and {AGAINST}: so scores can be wrong nowhere, but never "
    "right everywhere.",
    "inseparable": f"The proof is {AGAINST}: were all of these examples right, the sum of what "
    "their own labels are ahead by would be above zero, and it is zero. So no weights are right "
    "everywhere, and PLA alone would never halt.",
    "not separable": f"The proof is {AGAINST}: were all of these examples right, the sum of what "
    "their own labels are ahead by would be above zero, and it is zero. So no weights are right "
    "everywhere; whether some are wrong nowhere was not looked for.",
    "undecided": "Nothing is proved.",
}
MOST_IN_TABLE = 12  # labels, on a terminal
MOST_PAIRS = 6  # of labels taken for one another, named in a sentence
SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
# A card suits light and dark notebooks.
BOX = (
    "display:inline-block;max-width:44em;padding:.5em .9em;border-radius:6px;"
    "border:1px solid rgba(128,128,128,.45);font-family:system-ui,sans-serif;line-height:1.45"
)
CELL = "padding:.05em 1em .05em 0;text-align:left;vertical-align:top;background:none"
MOST_BARS = 60


def counted(count: float | str, thing: str, many: str = "") -> str:
    """A number and a noun that agree; a number that is text already is left as it is.

    Examples
    --------
    >>> counted(1, "mistake"), counted(1200, "mistake"), counted(2, "class", "classes")
    ('1 mistake', '1,200 mistakes', '2 classes')
    """
    if not isinstance(count, str):
        count = f"{int(count):,}" if count == count // 1 else f"{count:,g}"
    return f"{count} {thing if count == '1' else many or thing + 's'}"


def percent(share: float) -> str:
    """A share as a person says it.

    Examples
    --------
    >>> percent(0.9731), percent(1.0)
    ('97.3 %', '100 %')
    """
    return "100 %" if share == 1 else f"{100 * share:.1f} %"


def shortened(text: str, most: int = QUOTED) -> str:
    r"""Return text fit for quotation in a sentence: on one line, and cut where it is long.

    Every message that quotes a cell, a line, a label or a name does it by this function.

    Examples
    --------
    >>> print(shortened("two" + chr(10) + "lines"), shortened("a" * 100, most=5))
    two\nlines aaaaa …
    """
    return shown(text if len(text) <= most else f"{text[:most]} …")


def listed(words: list[str], joint: str = "and", most: int = 6) -> str:
    """Words in a sentence, the end left out where there are many.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a"] * 2000, most=2)
    ('a, b and c', 'a, a and 1,998 more')
    """
    if len(words) > most:
        words = [*words[:most], f"{len(words) - most:,} more"]
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {joint} {words[-1]}"


def shown(text: str, kept: str = "") -> str:
    r"""Text from anywhere as a terminal may have it: what would be obeyed is shown instead.

    Characters that are kept are left as they are, the ends of lines of a table say.

    Examples
    --------
    >>> print(shown("\x1b[31mred\x1b[0m"), shown("\u202egnp.exe"))
    \x1b[31mred\x1b[0m \u202egnp.exe
    """
    return UNSEEN.sub(lambda met: met[0] if met[0] in kept else _escape(met[0]), text)


def shown_bytes(rows: bytes) -> bytes:
    """Whole lines of a file as a terminal may have them."""
    return shown(rows.decode(errors="surrogateescape"), "\n\t").encode()


def _escape(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return SHORT.get(character, f"\\x{code:02x}")
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def json_line(value: Any) -> str:
    r"""A value as one line of JSON that a terminal can be given: the same value, other letters.

    Examples
    --------
    >>> print(json_line({"é": "\u202e"}))
    {"é": "\u202e"}
    """
    return UNSEEN.sub(lambda met: json.dumps(met[0])[1:-1], json_text(value))


def json_text(value: Any) -> str:
    """Any value that a table holds as JSON: dates are text, and numbers past all floats null.

    Examples
    --------
    >>> from datetime import date
    >>> print(json_text({"a": [1.5, float("nan")], "b": date(2020, 2, 29), "c": b"yes"}))
    {"a": [1.5, null], "b": "2020-02-29", "c": "yes"}
    """
    dumps = functools.partial(json.dumps, ensure_ascii=False, allow_nan=False, default=as_written)
    try:
        return dumps(value)
    except ValueError:
        return dumps(_without_infinities(value))


def as_written(value: Any) -> str:
    """A cell as text, bytes as the letters that they are in UTF-8."""
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _without_infinities(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_infinities(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_infinities(one) for one in value]
    return finite(value) if isinstance(value, float) else value


def verdict_sentence(
    verdict: str, thing: str = "row", reason: str = "", *, many: bool = False
) -> str:
    """What a verdict says of rows or examples, of two labels or of many.

    Examples
    --------
    >>> verdict_sentence("inseparable")
    'inseparable: no line answers every row, proved in exact arithmetic'
    """
    if verdict == "undecided":
        return f"undecided: {reason}"
    return f"{verdict}: {claim_words(verdict, thing, many)}{PROVED}"


def claim_words(claim: str, thing: str = "row", many: bool = False) -> str:
    """What a proof claims, in words, of two labels or of many.

    Examples
    --------
    >>> claim_words("inseparable"), claim_words("at least 2 mistakes")
    ('no line answers every row', 'every line makes at least 2 mistakes')
    >>> claim_words("inseparable", many=True)
    'no weights answer every row'
    """
    claims = CLAIMS_OF_LABELS if many else CLAIMS
    if claim in claims:
        return claims[claim].format(thing)
    return f"{'all weights make' if many else 'every line makes'} {claim}"


def line_called(many: bool) -> str:
    """What is learnt, as a sentence names it: a line, or of many labels weights."""
    return "weights" if many else "a line"


def proof_size(numbers: int, sets: int, branches: int) -> str:
    """How much evidence a proof holds: the numbers of its weights, its sets, its branches.

    Examples
    --------
    >>> proof_size(0, 193, 41), proof_size(3, 1, 0)
    ('193 blocking sets, 41 branches', 'weights of 3 whole numbers, 1 blocking set')
    """
    told = [f"weights of {counted(numbers, 'whole number')}"] if numbers else []
    told += [counted(sets, "blocking set")] if sets else []
    told += [counted(branches, "branch", "branches")] if branches else []
    return ", ".join(told) or "a walk through all cells"


def is_near(bound: float, mistakes: float) -> bool:
    """Check whether a lower bound is near enough to the mistakes made to be worth a sentence.

    Examples
    --------
    >>> is_near(36, 38), is_near(4, 150)
    (True, False)
    """
    return 2 * bound >= mistakes


def no_fewer(than: str = "", proved: str = "", *, many: bool = False) -> str:
    """That no line makes fewer mistakes, or fewer than a bound, and what proves it.

    Examples
    --------
    >>> no_fewer(proved="193 blocking sets, 41 branches")
    'no line makes fewer (proved: 193 blocking sets, 41 branches)'
    >>> no_fewer("49")
    'no line makes fewer than 49'
    """
    none = "no weights make" if many else "no line makes"
    return f"{none} fewer{than and f' than {than}'}{proved and f' (proved: {proved})'}"


def rule_sentence(yes: str, threshold: float) -> str:
    """When a line answers yes.

    Examples
    --------
    >>> rule_sentence("approved", 60)
    'The answer is approved if the sum of weight × value is above 60.'
    """
    return f"The answer is {yes} if the sum of weight × value is above {threshold:.6g}."


def out_of_budget(reason: str, made: str, mistakes: float, examples: int, ask: str) -> str:
    """Why PLA stopped short, and what to do: `made` is what it did, `ask` whom to ask."""
    return (
        f"Perceptron stopped at {reason} after {made} with {counted(mistakes, 'mistake')} left on "
        f"{counted(examples, 'example')}. Ask {ask}(X, y) whether any line can answer them all; "
        "if none can, use PocketPerceptron; if one can, raise the budget or scale the features."
    )


def corrections(bound: float) -> str:
    """A bound on corrections in words: whole, or past what floats can say.

    Examples
    --------
    >>> corrections(64.99999999999999), corrections(math.inf)
    ('at most 65 corrections', 'a finite number of corrections, but R²/rho² is past all floats')
    """
    if math.isinf(bound):
        return "a finite number of corrections, but R²/rho² is past all floats"
    return f"at most {counted(whole(bound), 'correction')}"


def finite(bound: float | None) -> float | None:
    """A bound that floats can say, else None."""
    return bound if bound is not None and math.isfinite(bound) else None


def whole(bound: float) -> int:
    """The most corrections that a bound allows; rounding may have cost its last digit."""
    return math.floor(bound * (1 + 1e-12))


def accuracy_sentence(share: float, interval: tuple[float, float], where: str) -> str:
    """An accuracy and how sure it is.

    Examples
    --------
    >>> accuracy_sentence(0.9, (0.7864, 0.9565), "50 rows held out")
    '90.0 % right on 50 rows held out (95 % interval 78.6 to 95.7 %)'
    """
    low, high = (100 * end for end in interval)
    return f"{percent(share)} right on {where} (95 % interval {low:.1f} to {high:.1f} %)"


def worth_sentence(baseline: float, larger: str, balanced: float | None, untested: int = 0) -> str:
    """What an accuracy is to be compared with; so many of more than two labels have no rows.

    Examples
    --------
    >>> worth_sentence(0.7, "yes", 0.871)
    'always answering yes would be right on 70.0 % (the baseline); balanced accuracy 87.1 %'
    """
    told = f"always answering {larger} would be right on {percent(baseline)} (the baseline); "
    if balanced is None:
        return told + "without rows of every class there is no balanced accuracy"
    told += f"balanced accuracy {percent(balanced)}"
    return told + (f", without {counted(untested, 'label')} of no rows" if untested else "")


def confusion_table(confusion: Sequence[Sequence[int]], labels: Sequence[str]) -> list[str]:
    """A line for each class, a column for each answer; of very many, a sentence.

    Examples
    --------
    >>> for line in confusion_table(((12, 3), (2, 33)), ["no", "yes"]):
    ...     print(line)
         answered no  answered yes
    no            12             3
    yes            2            33
    >>> for line in confusion_table(((9, 0, 0), (0, 8, 1), (0, 2, 7)), ["a", "b", "c"]):
    ...     print(line)
    answered  a  b  c
    a         9  0  0
    b         0  8  1
    c         0  2  7
    """
    if len(labels) > MOST_IN_TABLE:
        return [confused(confusion, labels)]
    labels = [_shortened(label) for label in labels]
    heading = ["", *(f"answered {label}" for label in labels)]
    lines = [heading if len(labels) == 2 else ["answered", *labels]]
    for label, counts in zip(labels, confusion, strict=True):
        lines.append([label, *(f"{count:,}" for count in counts)])
    wide = [max(map(_width, cells)) for cells in zip(*lines, strict=True)]
    return [
        "  ".join(
            cell + _blank(cell, room) if k == 0 else _blank(cell, room) + cell
            for k, (cell, room) in enumerate(zip(line, wide, strict=True))
        )
        for line in lines
    ]


def confused(confusion: Sequence[Sequence[int]], labels: Sequence[str]) -> str:
    """Which labels were taken for one another most often.

    Examples
    --------
    >>> confused(((9, 0, 0), (0, 8, 1), (0, 2, 7)), ["a", "b", "c"])
    'most often taken for one another: c answered b (2) and b answered c (1)'
    """
    pairs = [
        (count, i, j)
        for i, line in enumerate(confusion)
        for j, count in enumerate(line)
        if count and i != j
    ]
    if not pairs:
        return "no label was taken for another"
    pairs.sort(key=lambda pair: (-pair[0], *pair[1:]))
    names = [_shortened(label) for label in labels]
    told = [f"{names[i]} answered {names[j]} ({count:,})" for count, i, j in pairs]
    return f"most often taken for one another: {listed(told, most=MOST_PAIRS)}"


def _shortened(label: str) -> str:
    label = shown(label)
    return label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1] + "…"


def _blank(cell: str, room: int) -> str:
    return " " * (room - _width(cell))


def _width(text: str) -> int:
    """The columns that a text takes on a terminal."""
    return sum(1 + (unicodedata.east_asian_width(letter) in "WF") for letter in text)


def card(title: str, facts: Iterable[tuple[str, str]], below: str = "") -> str:
    """A title and facts in two columns, all text escaped, above a piece of HTML.

    A fact without a name takes the whole line.

    Examples
    --------
    >>> "&lt;b&gt;" in card("Trace", [("corrections", "<b>")])
    True
    """
    from html import escape

    rows = ""
    for name, text in facts:
        cells = f'<td colspan="2" style="{CELL}">{escape(text)}</td>'
        if name:
            cells = f'<th style="{CELL};font-weight:500;opacity:.75">{escape(name)}</th>'
            cells += f'<td style="{CELL};overflow-wrap:anywhere">{escape(text)}</td>'
        rows += f'<tr style="background:none">{cells}</tr>'
    table = f'<table style="border-collapse:collapse;border:0;margin:.2em 0 0">{rows}</table>'
    return f'<div style="{BOX}"><strong>{escape(title)}</strong>{table}{below}</div>'


def bars(counts: Sequence[int], name: str) -> str:
    """A small bar for each number; neighbours are added up where there are more than sixty."""
    from html import escape

    step = -(-len(counts) // MOST_BARS) or 1
    sums = [sum(counts[i : i + step]) for i in range(0, len(counts), step)]
    highest = max([*sums, 1])
    drawn = "".join(
        f'<rect x="{4 * k}" y="{24 - 24 * s / highest:.1f}" width="3" '
        f'height="{24 * s / highest:.1f}"/>'
        for k, s in enumerate(sums)
    )
    width = 4 * len(sums)
    return (
        f'<svg viewBox="0 0 {width} 24" width="{width}" height="24" role="img" '
        f'aria-label="{escape(name)}" fill="currentColor" style="opacity:.75;display:block">'
        f"<title>{escape(name)}</title>{drawn}</svg>"
    )


def column_called(name: str) -> str:
    """A column as a sentence names it.

    Examples
    --------
    >>> column_called("salary"), column_called("column 3"), column_called("column of marks")
    ('column "salary"', 'column 3', 'column "column of marks"')
    """
    return name if NUMBERED.fullmatch(name) else f'column "{shortened(name)}"'
