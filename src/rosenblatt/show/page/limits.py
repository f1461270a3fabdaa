"""Limits: how much one call may ask for, and the sentence for what is too much."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """The most that a call may bring, make and take.

    Parameters
    ----------
    body : int
        Bytes of a request.
    points : int
        Examples.
    corrections : int
        Of one run.
    seconds : float
        For reading a request, and again for working on it.
    waiting : int
        Calls that are worked on or wait for it at one time.
    head : float
        Seconds for the lines before the body of a request.
    strangers : int
        Connections that have not shown the token.
    """

    body: int = 2_000_000
    points: int = 5_000
    corrections: int = 100_000
    seconds: float = 10.0
    waiting: int = 16
    head: float = 5.0
    strangers: int = 64


class AskError(Exception):
    """What was asked cannot be done: one sentence, and an HTTP status."""

    def __init__(self, sentence: str, status: int = 422) -> None:
        super().__init__(sentence)
        self.status = status
