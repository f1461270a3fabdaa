"""Check the facts that an error or a warning states; only tests/golden compares wording."""

import re
from contextlib import contextmanager

import pytest

from rosenblatt.errors import Parameter, UserError


@contextmanager
def refuses(error, *named, row=None, column=None, advice=()):
    """Check that an error of this type, in one line, names these values and this place.

    `advice` lists the parameters that the message names, such as 'missing="drop"' or "missing".
    """
    with pytest.raises(error) as raised:
        yield raised
    check_facts(raised.value, *named, row=row, column=column, advice=advice)


@contextmanager
def warns(warning, *named):
    """Check that a warning of this type, in one line, names these values."""
    with pytest.warns(warning) as caught:
        yield caught
    messages = [one.message for one in caught if issubclass(one.category, warning)]
    assert any(all(names(str(message), value) for value in named) for message in messages), named


def check_facts(error, *named, row=None, column=None, advice=()):
    """Check that an error names values, a place and parameters, all in one line."""
    text = str(error)
    assert "\n" not in text
    for value in named:
        assert names(text, value), f"{value} is not in: {text}"
    if row is not None:
        assert re.search(rf"\brows? {row}\b", text), f"row {row} is not in: {text}"
    if column is not None:
        assert re.search(rf'\bcolumn ("|\b){re.escape(str(column))}("|\b)', text), text
    if isinstance(error, UserError):
        parts = [part for part in error.message.parts if isinstance(part, Parameter)]
        text = " ".join(found for part in parts for found in (f"{part.name}=", str(part)))
    for parameter in advice:
        spelled = parameter if "=" in parameter else f"{parameter}="
        assert names(text, spelled), f"{spelled} is not in: {text}"


def names(text, value):
    """Return whether a text contains a value, not as a part of a longer word or number."""
    begin, end = (r"\b" if edge.isalnum() else "" for edge in (str(value)[0], str(value)[-1]))
    return re.search(f"{begin}{re.escape(str(value))}{end}", text) is not None
