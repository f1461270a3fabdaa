"""Claims, conflicts, errors and the JSON format that all proofs have in common."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import rosenblatt.files as files
from rosenblatt.errors import (
    FROM_ZERO,
    RowError,
    RowNames,
    UserError,
    cut_middle,
    quote,
)

VERDICTS = ("separable", "quasi-separable", "inseparable")
CLAIMED = re.compile(
    "at least ([1-9][0-9]{0,999}) mistakes?"
    "|mistakes that weigh at least ([1-9][0-9]{0,999}(?:/[1-9][0-9]{0,999})?)"
)
ABOUT = "this is a proof about other data"
OTHER_DATA = f"{ABOUT}: a number, a label or the order of the rows has changed."


Vector = tuple[int, ...]


class ProofError(RowError):
    """Error raised if a proof does not hold, naming the row that fails."""

    def describe(self, names: RowNames = FROM_ZERO) -> str:
        """Return the message, with its rows named by `names`; shorten it if it is very long."""
        return cut_middle(super().describe(names))


def no_such_row(n: Any) -> ProofError:
    """Create the error for a proof that names a missing row."""
    return ProofError(f"the proof names row {quote(n)}, counted from 0, which does not exist.")


@contextmanager
def refuse_other_data() -> Iterator[None]:
    """Turn a ValueError about the data, raised in the `with` block, into a ProofError.

    No proof is ever made about data with invalid numbers, labels, weights or shapes, so the proof
    is about other data. Arguments of a wrong type stay TypeErrors.
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
class Conflict:
    """Rows that no linear classifier classifies all correctly, with multipliers as proof.

    The multipliers λ are positive, and the sum Σ λ·y·x is zero.
    """

    rows: Vector  # the rows listed, counted from 0
    multipliers: Vector  # one per listed row
    rest: int = 0  # multiplier of every row that is not listed, or 0

    def to_dict(self) -> dict[str, Any]:
        """Return the conflict as a dict for JSON."""
        return {
            "rows": list(self.rows),
            "multipliers": to_hex(self.multipliers),
            "rest": hex(self.rest),
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Conflict:
        """Create a conflict from a dict made by `to_dict`."""
        rows, multipliers = tuple(content["rows"]), from_hex(content["multipliers"])
        return cls(rows, multipliers, int(content["rest"], 16))


class SavedProof(ABC):
    """Base class of proofs that are saved as JSON with a checksum."""

    CALLED = "a proof"
    FORMAT = "rosenblatt proof 3"

    @abstractmethod
    def _to_dict(self) -> dict[str, Any]:
        """Return the proof as a dict for JSON, without the checksum."""

    @classmethod
    @abstractmethod
    def _from_dict(cls, content: dict[str, Any]) -> Self: ...

    def to_json(self) -> str:
        """Return the proof as JSON text, with integers in hexadecimal."""
        content = self._to_dict()
        return files.dump_with_checksum(content, indent=None if "tree" in content else 1)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a proof from JSON text, checking that it was not changed.

        Parameters
        ----------
        text : str
            The JSON text.
        """
        try:
            return cls.from_dict(files.parse_json(text))
        except files.NotJsonError as wrong:
            raise ProofError(f"this text {wrong}.") from None

    @classmethod
    def from_dict(cls, content: Any) -> Self:
        """Create a proof from parsed JSON, checking that it was not changed."""
        try:
            if content["format"] != cls.FORMAT:
                raise ProofError(
                    f"the proof has the format {quote(content['format'])}, but this version of "
                    f"rosenblatt reads only '{cls.FORMAT}'; create the proof again."
                )
            content = dict(content)
            checksum = content.pop("checksum")
            proof = cls._from_dict(content)
        except ProofError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            raise ProofError(f"this is not the JSON of {cls.CALLED}: {quote(error)}.") from None
        if content != proof._to_dict() or checksum != files.compute_checksum(content):
            raise ProofError("the text of this proof was changed: its checksum does not match.")
        return proof


def to_hex(numbers: Sequence[int]) -> list[str]:
    """Convert integers to hexadecimal strings, so that no JSON reader rounds them."""
    return [hex(v) for v in numbers]


def from_hex(texts: Sequence[str]) -> Vector:
    """Convert hexadecimal strings to integers."""
    return tuple(int(text, 16) for text in texts)


def claim_mistakes(count: int) -> str:
    """Return the claim that every w makes at least `count` mistakes."""
    return f"at least {count} mistake{'s' if count > 1 else ''}"


def claim_weight(weight: Fraction) -> str:
    """Return the claim that every w makes mistakes of total sample weight at least `weight`."""
    return f"mistakes that weigh at least {weight}"


def parse_claim(claim: Any, weighs: bool) -> Fraction | None:
    """Read the number of mistakes from a claim; return None for any other claim.

    With `weighs`, read the total sample weight of the mistakes instead.
    """
    found = CLAIMED.fullmatch(claim) if isinstance(claim, str) else None
    if found is None or (found[2] is not None) != weighs:
        return None
    cost = Fraction(found[found.lastindex or 0])
    usual = claim_weight(cost) if weighs else claim_mistakes(int(cost))
    return cost if usual == claim else None
