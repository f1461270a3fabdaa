"""What every proof is made of: a claim, parts with multipliers, and a sealed file."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import rosenblatt.strictjson as strictjson
from rosenblatt.errors import RowError, UserError, quoted, readable
from rosenblatt.rownames import FROM_ZERO, RowNames

VERDICTS = ("separable", "quasi-separable", "inseparable")
CLAIMED = re.compile(
    "at least ([1-9][0-9]{0,999}) mistakes?"
    "|mistakes that weigh at least ([1-9][0-9]{0,999}(?:/[1-9][0-9]{0,999})?)"
)
OTHER_DATA = (
    "this is a proof about other data: a number, an answer or the order of the rows is not what "
    "it was."
)

Vector = tuple[int, ...]


class ProofError(RowError):
    """A proof does not hold for the data; the message names the row or sum that fails."""

    def worded(self, names: RowNames = FROM_ZERO) -> str:
        """Return the sentence with the rows named."""
        return readable(super().worded(names))


def no_such_row(n: Any) -> ProofError:
    """Refuse a row that a proof names and the data do not have."""
    return ProofError(f"the proof names row {quoted(n)}, counted from 0: there is no such row.")


ABOUT = "this is a proof about other data"


@contextmanager
def refuse_other_data() -> Iterator[None]:
    """Turn a ValueError about data into a ProofError: the proof is about other data.

    Whatever is wrong with the numbers, the answers, the weights or their shapes, a proof that was
    made cannot be about them. Arguments of a wrong type stay TypeErrors.
    """
    try:
        yield
    except (ProofError, UserError):
        raise
    except RowError as wrong:
        raise ProofError(f"{ABOUT}: {wrong.before}", wrong.rows, wrong.after) from None
    except ValueError as wrong:
        raise ProofError(f"{ABOUT}: {wrong}") from None


@dataclass(frozen=True)
class Part:
    """Rows that no w can all answer rightly: positive multipliers with Σ λ z = 0."""

    rows: Vector  # those that are listed, from 0
    multipliers: Vector  # one for each of them
    rest: int = 0  # that of every row that is not listed; 0 leaves these rows out

    def content(self) -> dict[str, Any]:
        """What a file says of it."""
        return {
            "rows": list(self.rows),
            "multipliers": hexadecimal(self.multipliers),
            "rest": hex(self.rest),
        }

    @classmethod
    def of_content(cls, content: dict[str, Any]) -> Part:
        """The part that a file says."""
        rows, multipliers = tuple(content["rows"]), integers_of(content["multipliers"])
        return cls(rows, multipliers, int(content["rest"], 16))


class SealedProof(ABC):
    """A proof that is written as JSON, under a seal."""

    CALLED = "a proof"

    @abstractmethod
    def _content(self) -> dict[str, Any]:
        """What its file says."""

    @classmethod
    @abstractmethod
    def _built(cls, content: dict[str, Any]) -> Self:
        """The proof that a file says."""

    def to_json(self) -> str:
        """The proof as JSON text; integers are hexadecimal, so nothing is rounded."""
        content = self._content()
        return strictjson.sealed(content, indent=None if "tree" in content else 1)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a proof that `to_json` wrote; raise ProofError if it was changed since.

        Parameters
        ----------
        text : str
            The JSON text.
        """
        try:
            return cls.of_content(strictjson.parse(text))
        except strictjson.NotJsonError as wrong:
            raise ProofError(f"this text {wrong}.") from None

    @classmethod
    def of_content(cls, content: Any) -> Self:
        """The proof in the value of its JSON; raise ProofError if that was changed."""
        try:
            seal = content["seal"]
            content = {key: value for key, value in content.items() if key != "seal"}
            proof = cls._built(content)
        except ProofError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            raise ProofError(f"this is not the JSON of {cls.CALLED}: {quoted(error)}.") from None
        if content != proof._content() or seal != strictjson.seal_of(content):
            raise ProofError("the text of this proof was changed: its seal does not fit.")
        return proof


def hexadecimal(numbers: Sequence[int]) -> list[str]:
    """Integers as texts that nothing rounds."""
    return [hex(v) for v in numbers]


def integers_of(texts: Sequence[str]) -> Vector:
    """Integers from their hexadecimal texts."""
    return tuple(int(text, 16) for text in texts)


def claim_of_mistakes(count: int) -> str:
    """What so many disjoint sets of rows prove: each costs every w at least one mistake."""
    return f"at least {count} mistake{'s' if count > 1 else ''}"


def claim_of_weight(weight: Fraction) -> str:
    """What is said where rows have weights, without rounding."""
    return f"mistakes that weigh at least {weight}"


def claimed(claim: Any, weighs: bool) -> Fraction | None:
    """What mistakes cost, as a claim says it of rows with or without weights; else None."""
    found = CLAIMED.fullmatch(claim) if isinstance(claim, str) else None
    if found is None or (found[2] is not None) != weighs:
        return None
    cost = Fraction(found[found.lastindex or 0])
    said = claim_of_weight(cost) if weighs else claim_of_mistakes(int(cost))
    return cost if said == claim else None
