"""Messages that name parameters, spelled as keywords in Python and as options in the shell."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from rosenblatt.text import NUMBERED, QUOTED


@dataclass(frozen=True)
class Parameter:
    """A parameter named in a message, with a value if the message suggests one.

    Parameters
    ----------
    name : str
        Name of the parameter in Python.
    value : str or True, optional
        Suggested value; True for a flag.
    example : str
        Placeholder for a value, such as "FILE"; it is not quoted.

    Examples
    --------
    >>> print(Parameter("target"), Parameter("missing", "drop"), Parameter("test", example="FILE"))
    target= missing="drop" test=FILE
    """

    name: str
    value: str | bool | None = None
    example: str = ""

    def __str__(self) -> str:
        if isinstance(self.value, str):
            return f"{self.name}={json.dumps(self.value, ensure_ascii=False)}"
        return f"{self.name}={self.example if self.value is None else self.value}"

    def __format__(self, spec: str) -> NoReturn:
        raise TypeError(NOT_FORMATTED)


@dataclass(frozen=True, init=False, repr=False)
class Message:
    """A text with parameters, spelled as keywords in Python and as options in the shell.

    Parts are text, parameters and other messages. `str` spells parameters as Python keywords.

    Examples
    --------
    >>> advice = Message("Give ", Parameter("missing", "drop"), ".")
    >>> print(Message("Row 3 has no label. ", advice))
    Row 3 has no label. Give missing="drop".
    >>> print(advice.render(lambda parameter: f"{parameter.value} for {parameter.name}"))
    Give drop for missing.
    """

    parts: tuple[str | Parameter, ...]

    def __init__(self, *parts: Part) -> None:
        flat: list[str | Parameter] = []
        for part in parts:
            flat.extend(part.parts if isinstance(part, Message) else [part])
        object.__setattr__(self, "parts", tuple(flat))

    @property
    def parameters(self) -> list[str]:
        """Names of the parameters, in the order of the message."""
        return [part.name for part in self.parts if isinstance(part, Parameter)]

    def render(self, spell: Callable[[Parameter], str]) -> str:
        """Return the text, with each parameter spelled by the function `spell`."""
        return "".join(part if isinstance(part, str) else spell(part) for part in self.parts)

    def __str__(self) -> str:
        return self.render(str)

    def __repr__(self) -> str:
        return repr(str(self))

    def __format__(self, spec: str) -> NoReturn:
        raise TypeError(NOT_FORMATTED)


Part = str | Parameter | Message
NOT_FORMATTED = "an f-string would spell the parameters for Python; use Message or str."


def with_column(name: str, column: str) -> Parameter:
    """Return a parameter with a column name as its value.

    A column without a name is replaced by its number, and a very long name by a placeholder.

    Examples
    --------
    >>> print(with_column("ignore", "salary"), with_column("ignore", "column 3"))
    ignore="salary" ignore="3"
    >>> print(with_column("ignore", "x" * 1000))
    ignore=COLUMN
    """
    if NUMBERED.fullmatch(column):
        return Parameter(name, column.removeprefix("column "))
    return Parameter(name, column) if len(column) <= QUOTED else Parameter(name, example="COLUMN")


def with_label(name: str, label: str) -> Parameter:
    """Return a parameter with a label as its value, or a placeholder if the label is long."""
    return Parameter(name, label) if len(label) <= QUOTED else Parameter(name, example="LABEL")
