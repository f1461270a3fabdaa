"""Wording of verdicts, bounds and counts, and quoting of text.

Every sentence that several interfaces print is written here once.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

# Control characters, invisible format characters, line and paragraph separators, and surrogates:
# the Unicode classes Cc, Cf, Zl, Zp and Cs.
UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f\ud800-\udfff]"
)
NUMBERED = re.compile(r"column \d+")  # the name of a column in a file without a header
QUOTED = 60  # maximum length of a cell or a name in a message
LONGEST_LABEL = 24  # maximum length of a label in a table
PROVED = "proved in exact arithmetic"
CLAIMS = {
    "separable": "a line classifies every {} correctly",
    "quasi-separable": "a line has no {0} on its wrong side, but some {0}s lie on it",
    "inseparable": "no line classifies every {} correctly",
    "not separable": "no line classifies every {} correctly",
}
# Claims about more than two labels, with weights for each.
CLAIMS_OF_LABELS = {
    "separable": "one weight vector per label classifies every {} correctly",
    "quasi-separable": "under some weights no competing class scores higher, but some {}s tie",
    "inseparable": "no weights classify every {} correctly",
    "not separable": "no weights classify every {} correctly",
}
SUM_TO_ZERO = (
    "The proof is positive multiples of some signed examples that sum to exactly zero. If a w "
    "classified all of them correctly, the sum of its products with them would be positive, but it "
    "is zero. So no line classifies every example correctly"
)
NOT_CHECKED = ". Whether the examples are quasi-separable was not checked."
PROVES = {
    "separable": "The proof is a weight vector w whose product with every signed example is "
    "positive, computed with integers and without rounding. So a line classifies every example "
    "correctly, and PLA halts.",
    "quasi-separable": "The proof is a weight vector w whose product with no signed example is "
    "negative, and positive multiples of some signed examples that sum to exactly zero. So a line "
    "can have no example on its wrong side, but it cannot classify every example correctly.",
    "inseparable": f"{SUM_TO_ZERO}, and PLA alone would never halt.",
    "not separable": f"{SUM_TO_ZERO}{NOT_CHECKED}",
    "undecided": "Nothing is proved.",
}
PAIRS_SUM_TO_ZERO = (
    "positive multiples of some pairs of an example and a competing class (x for the label of the "
    "example, −x for the competing class) that sum to exactly zero"
)
NO_WEIGHTS = (
    f"The proof is {PAIRS_SUM_TO_ZERO}. If weights classified all of these examples correctly, the "
    "sum of the leads of their own labels would be positive, but it is zero. So no weights "
    "classify every example correctly"
)
PROVES_OF_LABELS = {
    "separable": "The proof is one weight vector per label: for every example, the score of its "
    "own label is higher than every other score, computed with integers and without rounding. So "
    "PLA halts.",
    "quasi-separable": "The proof is one weight vector per label under which no example has a "
    f"higher score for a competing class than for its own label, and {PAIRS_SUM_TO_ZERO}. So no "
    "competing class needs to score higher, but ties cannot be avoided.",
    "inseparable": f"{NO_WEIGHTS}, and PLA alone would never halt.",
    "not separable": f"{NO_WEIGHTS}{NOT_CHECKED}",
    "undecided": "Nothing is proved.",
}
MOST_IN_TABLE = 12  # labels in a table on a terminal
MOST_PAIRS = 6  # confusions of two labels that a sentence names
# Colors that suit light and dark notebooks.
BOX = (
    "display:inline-block;max-width:44em;padding:.5em .9em;border-radius:6px;"
    "border:1px solid rgba(128,128,128,.45);font-family:system-ui,sans-serif;line-height:1.45"
)
CELL = "padding:.05em 1em .05em 0;text-align:left;vertical-align:top;background:none"
MOST_BARS = 60


def plural(count: float | str, thing: str, many: str = "") -> str:
    """Return a count with its noun, such as "2 mistakes".

    `many` is an irregular plural. A count given as text is not formatted.

    Examples
    --------
    >>> plural(1, "mistake"), plural(1200, "mistake"), plural(2, "class", "classes")
    ('1 mistake', '1,200 mistakes', '2 classes')
    """
    if not isinstance(count, str):
        count = f"{int(count):,}" if count == count // 1 else f"{count:,g}"
    return f"{count} {thing if count == '1' else many or thing + 's'}"


def percent(share: float) -> str:
    """Format a share as a percentage.

    Examples
    --------
    >>> percent(0.9731), percent(1.0)
    ('97.3 %', '100 %')
    """
    return "100 %" if share == 1 else f"{100 * share:.1f} %"


def shorten(text: str, most: int = QUOTED) -> str:
    r"""Shorten a text from a file to quote it in a message, on one line.

    Examples
    --------
    >>> print(shorten("two" + chr(10) + "lines"), shorten("a" * 100, most=5))
    two\nlines aaaaa …
    """
    return sanitize(text if len(text) <= most else f"{text[:most]} …")


def join_words(words: list[str], joint: str = "and", most: int = 6) -> str:
    """Join words by commas and a conjunction.

    Only the first `most` words are listed; the rest are counted.

    Examples
    --------
    >>> join_words(["a", "b", "c"]), join_words(["a"] * 2000, most=2)
    ('a, b and c', 'a, a and 1,998 more')
    """
    if len(words) > most:
        words = [*words[:most], f"{len(words) - most:,} more"]
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {joint} {words[-1]}"


def sanitize(text: str, kept: str = "") -> str:
    r"""Escape control and invisible characters, which a terminal might treat as commands.

    Characters in `kept` are not escaped, for example the ends of lines in a table.

    Examples
    --------
    >>> print(sanitize("\x1b[31mred\x1b[0m"), sanitize("\u202egnp.exe"))
    \x1b[31mred\x1b[0m \u202egnp.exe
    """
    return UNSEEN.sub(
        lambda met: met[0] if met[0] in kept else met[0].encode("unicode_escape").decode(), text
    )


def sanitize_lines(rows: bytes) -> bytes:
    """Escape control characters in lines of a file, except tabs and line ends."""
    return sanitize(rows.decode(errors="surrogateescape"), "\n\t").encode()


def dump_json_line(value: Any) -> str:
    r"""Return a value as one line of JSON, with control characters escaped.

    Examples
    --------
    >>> print(dump_json_line({"é": "\u202e"}))
    {"é": "\u202e"}
    """
    return UNSEEN.sub(lambda met: json.dumps(met[0])[1:-1], dump_json(value))


def dump_json(value: Any) -> str:
    """Return a value as JSON text, with null for NaN and infinity.

    Values that JSON does not have, such as dates, become text.

    Examples
    --------
    >>> from datetime import date
    >>> print(dump_json({"a": [1.5, float("nan")], "b": date(2020, 2, 29), "c": b"yes"}))
    {"a": [1.5, null], "b": "2020-02-29", "c": "yes"}
    """
    dumps = functools.partial(json.dumps, ensure_ascii=False, allow_nan=False, default=cell_to_text)
    try:
        return dumps(value)
    except ValueError:
        return dumps(_without_infinities(value))


def cell_to_text(value: Any) -> str:
    """Return a cell as text; bytes are decoded as UTF-8."""
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _without_infinities(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_infinities(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_infinities(one) for one in value]
    return finite_or_none(value) if isinstance(value, float) else value


def describe_claim(claim: str, thing: str = "row", many: bool = False) -> str:
    """Describe the claim of a proof; `many` means more than two labels.

    Examples
    --------
    >>> describe_claim("inseparable"), describe_claim("at least 2 mistakes")
    ('no line classifies every row correctly', 'every line makes at least 2 mistakes')
    >>> describe_claim("inseparable", many=True)
    'no weights classify every row correctly'
    """
    claims = CLAIMS_OF_LABELS if many else CLAIMS
    if claim in claims:
        return claims[claim].format(thing)
    return f"{'all weights make' if many else 'every line makes'} {claim}"


def describe_proof_size(numbers: int, sets: int, branches: int) -> str:
    """Describe the size of a proof by its numbers of integers, conflicts and branches.

    Examples
    --------
    >>> describe_proof_size(0, 193, 41), describe_proof_size(3, 1, 0)
    ('193 conflicts, 41 branches', 'weights of 3 integers, 1 conflict')
    """
    parts = [f"weights of {plural(numbers, 'integer')}"] if numbers else []
    parts += [plural(sets, "conflict")] if sets else []
    parts += [plural(branches, "branch", "branches")] if branches else []
    return ", ".join(parts) or "enumeration of all cells"


def is_close(bound: float, mistakes: float) -> bool:
    """Return whether a lower bound is at least half the number of mistakes.

    Examples
    --------
    >>> is_close(36, 38), is_close(4, 150)
    (True, False)
    """
    return 2 * bound >= mistakes


def describe_lower_bound(than: str = "", proved: str = "", *, many: bool = False) -> str:
    """Describe a lower bound on mistakes, and the size of its proof.

    Examples
    --------
    >>> describe_lower_bound(proved="193 conflicts, 41 branches")
    'no line makes fewer (proof: 193 conflicts, 41 branches)'
    >>> describe_lower_bound("49")
    'no line makes fewer than 49'
    """
    none = "no weights make" if many else "no line makes"
    return f"{none} fewer{than and f' than {than}'}{proved and f' (proof: {proved})'}"


def describe_rule(yes: str, threshold: float) -> str:
    """Describe when a linear classifier predicts the positive label."""
    return f"Predicts {yes} if the sum of weight × value is above {threshold:.6g}."


def describe_unconverged(reason: str, made: str, mistakes: float, examples: int, ask: str) -> str:
    """Return the warning that PLA stopped before it converged.

    `made` says how many updates and epochs it made; `ask` is the function for separability.
    """
    return (
        f"Perceptron stopped at {reason} after {made} and still makes "
        f"{plural(mistakes, 'mistake')} on {plural(examples, 'example')}. {ask}(X, y) decides "
        "whether a line can classify them all correctly. If none can, use PocketPerceptron; if one "
        "can, raise the budget or scale the features."
    )


def describe_update_bound(bound: float) -> str:
    """Describe a bound on the number of updates, which may overflow float64.

    Examples
    --------
    >>> describe_update_bound(64.99999999999999), describe_update_bound(math.inf)
    ('at most 65 updates', 'a finite number of updates, but R²/rho² overflows float64')
    """
    if math.isinf(bound):
        return "a finite number of updates, but R²/rho² overflows float64"
    return f"at most {plural(floor_bound(bound), 'update')}"


def finite_or_none(bound: float | None) -> float | None:
    """Return a number, or None for None, NaN and infinity."""
    return bound if bound is not None and math.isfinite(bound) else None


def floor_bound(bound: float) -> int:
    """Round a bound down to an integer, allowing for its rounding error."""
    return math.floor(bound * (1 + 1e-12))


def format_confusion(confusion: Sequence[Sequence[int]], labels: Sequence[str]) -> list[str]:
    """Format a confusion matrix as lines of text.

    More than 12 labels do not fit, so their most frequent confusions are named instead.

    Examples
    --------
    >>> for line in format_confusion(((12, 3), (2, 33)), ["no", "yes"]):
    ...     print(line)
         predicted no  predicted yes
    no             12              3
    yes             2             33
    >>> for line in format_confusion(((9, 0, 0), (0, 8, 1), (0, 2, 7)), ["a", "b", "c"]):
    ...     print(line)
    predicted  a  b  c
    a          9  0  0
    b          0  8  1
    c          0  2  7
    """
    if len(labels) > MOST_IN_TABLE:
        return [describe_confusion(confusion, labels)]
    from rich.cells import cell_len

    labels = [_shorten_label(label) for label in labels]
    heading = ["", *(f"predicted {label}" for label in labels)]
    lines = [heading if len(labels) == 2 else ["predicted", *labels]]
    for label, counts in zip(labels, confusion, strict=True):
        lines.append([label, *(f"{count:,}" for count in counts)])
    wide = [max(map(cell_len, cells)) for cells in zip(*lines, strict=True)]
    padded = []
    for line in lines:
        blanks = [" " * (width - cell_len(cell)) for cell, width in zip(line, wide, strict=True)]
        others = [blank + cell for blank, cell in zip(blanks[1:], line[1:], strict=True)]
        padded.append("  ".join([line[0] + blanks[0], *others]))
    return padded


def describe_confusion(confusion: Sequence[Sequence[int]], labels: Sequence[str]) -> str:
    """Describe which labels are most often confused, in a sentence.

    Examples
    --------
    >>> describe_confusion(((9, 0, 0), (0, 8, 1), (0, 2, 7)), ["a", "b", "c"])
    'most frequent confusions: c predicted as b (2) and b predicted as c (1)'
    """
    pairs = [
        (count, i, j)
        for i, line in enumerate(confusion)
        for j, count in enumerate(line)
        if count and i != j
    ]
    if not pairs:
        return "every row is predicted correctly"
    pairs.sort(key=lambda pair: (-pair[0], *pair[1:]))
    names = [_shorten_label(label) for label in labels]
    shown_pairs = [f"{names[i]} predicted as {names[j]} ({count:,})" for count, i, j in pairs]
    return f"most frequent confusions: {join_words(shown_pairs, most=MOST_PAIRS)}"


def _shorten_label(label: str) -> str:
    label = sanitize(label)
    return label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1] + "…"


def render_card(title: str, facts: Iterable[tuple[str, str]], below: str = "") -> str:
    """Return an HTML card for notebooks: a title and a table.

    Text is escaped. A fact without a name takes the whole line. `below` is further HTML.

    Examples
    --------
    >>> "&lt;b&gt;" in render_card("Trace", [("corrections", "<b>")])
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


def render_bars(counts: Sequence[int], name: str) -> str:
    """Return an SVG chart of counts, with at most 60 bars."""
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


def quote_column(name: str) -> str:
    """Return the name of a column as messages quote it.

    Examples
    --------
    >>> quote_column("salary"), quote_column("column 3"), quote_column("column of marks")
    ('column "salary"', 'column 3', 'column "column of marks"')
    """
    return name if NUMBERED.fullmatch(name) else f'column "{shorten(name)}"'
