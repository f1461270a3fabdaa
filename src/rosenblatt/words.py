"""Words: counts, shares and foreign text, as every sentence that a person reads has them."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rosenblatt.evidence.accuracy import Accuracy

# Control characters, the invisible ones that format or turn text around, line and paragraph
# separators, and halves of characters that no file can hold: the classes Cc, Cf, Zl, Zp and Cs.
UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f\ud800-\udfff]"
)
LONGEST_LABEL = 24  # letters, in a table
SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


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


def shown(text: str, kept: str = "") -> str:
    r"""Text from anywhere as a terminal may have it: what would be obeyed is shown instead.

    Parameters
    ----------
    text : str
        A name, a label or a whole sentence.
    kept : str
        Characters that are left as they are, the ends of lines of a table say.

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
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return UNSEEN.sub(lambda met: json.dumps(met[0])[1:-1], text)


def accuracy_sentence(accuracy: Accuracy, where: str) -> str:
    """An accuracy and how sure it is.

    Examples
    --------
    >>> from rosenblatt.evidence.accuracy import Accuracy
    >>> accuracy_sentence(Accuracy(((12, 3), (2, 33))), "50 rows held out")
    '90.0 % right on 50 rows held out (95 % interval 78.6 to 95.7 %)'
    """
    low, high = accuracy.interval
    return (
        f"{percent(accuracy.share)} right on {where} (95 % interval {100 * low:.1f} to "
        f"{100 * high:.1f} %)"
    )


def beside_accuracy(accuracy: Accuracy, labels: Sequence[str]) -> list[str]:
    """What an accuracy is worth: the baseline, the balanced accuracy, the table by class.

    Examples
    --------
    >>> from rosenblatt.evidence.accuracy import Accuracy
    >>> for line in beside_accuracy(Accuracy(((12, 3), (2, 33))), ["no", "yes"]):
    ...     print(line)
    always answering yes would be right on 70.0 % (the baseline); balanced accuracy 87.1 %
         answered no  answered yes
    no            12             3
    yes            2            33
    """
    larger = labels[max(range(len(labels)), key=accuracy.sizes.__getitem__)]
    first = (
        f"always answering {larger} would be right on {percent(accuracy.baseline)} (the baseline)"
    )
    if accuracy.balanced is None:
        first += "; without rows of every class there is no balanced accuracy"
    else:
        first += f"; balanced accuracy {percent(accuracy.balanced)}"
    return [first, *_in_columns(accuracy, [_shortened(label) for label in labels])]


def _in_columns(accuracy: Accuracy, labels: list[str]) -> list[str]:
    """A line for each class, a column for each answer."""
    lines = [["", *(f"answered {label}" for label in labels)]]
    for label, counts in zip(labels, accuracy.confusion, strict=True):
        lines.append([label, *(f"{count:,}" for count in counts)])
    wide = [max(map(_width, cells)) for cells in zip(*lines, strict=True)]
    return [
        "  ".join(
            cell + _blank(cell, room) if k == 0 else _blank(cell, room) + cell
            for k, (cell, room) in enumerate(zip(line, wide, strict=True))
        )
        for line in lines
    ]


def _shortened(label: str) -> str:
    label = shown(label)
    return label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1] + "…"


def _blank(cell: str, room: int) -> str:
    return " " * (room - _width(cell))


def _width(text: str) -> int:
    """The columns that a text takes on a terminal."""
    return sum(1 + (unicodedata.east_asian_width(letter) in "WF") for letter in text)
