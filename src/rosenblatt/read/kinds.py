"""What the columns of a stream are, which their first values say, and the features they become."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from rosenblatt.errors import quoted
from rosenblatt.messages import Message, Parameter
from rosenblatt.read.columns import NUMBER, Vocabulary
from rosenblatt.read.types import MISSING
from rosenblatt.tables import PROMISED, is_changed_text
from rosenblatt.words import column_called, listed, shortened

Kinds = Mapping[str, str]  # column -> "number", "flag", "category" or "text"
LONG = 4  # words: a first value of as many is text, of fewer a category
FLAGS = {"true": 1.0, "false": 0.0}
IS_NUMBER = re.compile(NUMBER)
VOCABULARY = Vocabulary()
SAID = {"category": "a category", "text": "words", "flag": "true or false"}


def kind_of(value: Any) -> str | None:
    """What a column is whose first value this is; None where there is no value.

    Examples
    --------
    >>> kind_of(3), kind_of("3"), kind_of("red"), kind_of("see you at the station"), kind_of("")
    ('number', 'number', 'category', 'text', None)
    """
    if not isinstance(value, str):
        return None if value is None else "number"
    if value.strip() in MISSING:
        return None
    if IS_NUMBER.match(value):
        return "number"
    return "text" if len(value.split()) >= LONG else "category"


def encoded(x: Mapping[str, Any], kinds: Kinds) -> tuple[dict[str, Any], Kinds]:
    """A row of values as features, and the kinds with those of columns seen for the first time.

    Examples
    --------
    >>> encoded({"age": 30, "color": "red", "note": None}, {})
    ({'age': 30, 'color=red': 1.0}, {'age': 'number', 'color': 'category'})
    """
    if not x.keys() <= kinds.keys():
        new = {name: kind for name, v in x.items() if (kind := kind_of(v)) and name not in kinds}
        kinds = {**kinds, **new} if new else kinds
    row: dict[str, Any] = {}
    for name, value in x.items():
        kind = kinds.get(name)
        if kind == "number":
            row[name] = _number(name, value) if isinstance(value, str) else value
        elif kind is not None:  # else it is missing, and always was
            row.update(features(name, kind, value))
    return row, kinds


def _number(name: str, text: str) -> Any:
    """A number that is written as text; other text is left to be refused."""
    if is_changed_text(text):
        raise ValueError(f"feature {quoted(name)}: {shortened(text)} is not {PROMISED}")
    return float(text) if IS_NUMBER.match(text) else text


def features(name: str, kind: str, value: Any) -> Iterator[tuple[str, float]]:
    """The features that a value becomes in a column that is no number, none where it is missing.

    Examples
    --------
    >>> dict(features("color", "category", "red")), dict(features("flag", "flag", "True"))
    ({'color=red': 1.0}, {'flag': 1.0})
    >>> dict(features("note", "text", "Tea, and more tea"))
    {'note=tea': 2.0}
    """
    text = _spelled(value)
    if not text:
        return
    if kind == "flag":
        if text.lower() not in FLAGS:
            raise ValueError(
                f'{column_called(name)}: "{shortened(text)}" is neither true nor false'
            )
        yield name, FLAGS[text.lower()]
    elif kind == "category":
        yield f"{name}={text}", 1.0
    else:
        for word, count in Counter(re.findall(r"\w+", text.lower())).items():
            if len(word) > 1 and word not in VOCABULARY.stop_words:
                yield f"{name}={word}", float(count)


def _spelled(value: Any) -> str:
    """A value as a file spells it; "" where there is none."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, list | dict):
        raise ValueError(f"{quoted(value)} is neither text nor a number")
    return "" if value is None else str(value).strip()


def kinds_told(kinds: Kinds) -> list[str | Message]:
    """Return a sentence on the columns that are not taken as numbers, if there are any."""
    parts = []
    for kind, said in SAID.items():
        names = [column_called(name) for name, k in kinds.items() if k == kind]
        if names:
            parts.append(f"{listed(names)} as {said}")
    if not parts:
        return []
    kinds_of_columns = Parameter("number"), ", ", Parameter("category"), " and ", Parameter("text")
    taken = f"judged by the first value: {'; '.join(parts)}; "
    return [Message(taken, *kinds_of_columns, " choose otherwise.")]
