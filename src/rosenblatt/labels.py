"""The two labels of a stream, learnt as they come."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Labels:
    """The labels met so far: none, one, or both, the smaller in sort order first.

    While there is only one, its sign is not known; it is taken as +1.

    Examples
    --------
    >>> labels = Labels().learn("spam").learn("ham")
    >>> labels.met, labels.sign("spam")
    (('ham', 'spam'), 1)
    """

    met: tuple[Any, ...] = ()

    @classmethod
    def of(cls, given: Any) -> Labels:
        """The labels as a person gives them: none, or two."""
        if given is None:
            return cls()
        try:
            first, second = given
        except (TypeError, ValueError):
            raise ValueError(f"labels is {given!r}; give two labels, or None.") from None
        labels = cls().learn(first).learn(second)
        if len(labels.met) != 2:
            raise ValueError(f"labels is {given!r}; give two different labels.")
        return labels

    @property
    def both(self) -> bool:
        """Whether both labels are known."""
        return len(self.met) == 2

    def sign(self, label: Any) -> int | None:
        """+1 or -1, or None for a label not met."""
        if label not in self.met:
            return None
        return 1 if label == self.met[-1] else -1

    def learn(self, label: Any) -> Labels:
        """The labels with this one among them; refuses a third, and what is no label."""
        label = plain(label)
        if label in self.met:
            return self
        if self.both:
            raise ValueError(
                f"{label!r} is not one of the labels {self.met[0]!r} and {self.met[1]!r}."
            )
        if not self.met:
            return Labels((label,))
        try:
            return Labels(tuple(sorted((*self.met, label))))
        except TypeError:
            raise ValueError(
                f"the labels {self.met[0]!r} and {label!r} are of different kinds and have no "
                "order; make them both text or both numbers."
            ) from None

    def named(self, answers: NDArray[np.int8]) -> NDArray[Any]:
        """Answers -1, 0 and +1 as labels; None where no label is known."""
        if not self.met:
            return np.full(len(answers), None)
        names = np.array((self.met[0], self.met[-1]))
        return names[(answers > 0).astype(np.intp)]


def plain(label: Any) -> Any:
    """A label as Python's own type; refuses what is no label."""
    if isinstance(label, np.generic):
        label = label.item()
    try:
        hash(label)
    except TypeError:
        raise ValueError(f"{label!r} is not a label; give text, a number or a bool.") from None
    if is_missing(label) or (isinstance(label, float) and math.isinf(label)):
        raise ValueError(f"{label!r} is not a label; an example to learn needs its answer.")
    return label


def is_missing(label: Any) -> bool:
    """Whether there is no label: None or NaN."""
    return label is None or bool(label != label)
