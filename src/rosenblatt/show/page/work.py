"""Work: what the server computes, through the same functions as everything else."""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np

from rosenblatt import algorithms, orders
from rosenblatt.algorithms.pocket import Plan
from rosenblatt.algorithms.run import Run
from rosenblatt.evidence.separability import separability_of
from rosenblatt.hypothesis import ZEROS
from rosenblatt.show.page.ask import Ask
from rosenblatt.show.page.limits import AskError
from rosenblatt.show.page.script import CYCLES, python_lines
from rosenblatt.show.story import Story

ONE_KIND = "Learning needs both ○ and ×; add one of the other kind"


class Deadline:
    """Ends a run that takes too long, when it is next heard of.

    Parameters
    ----------
    seconds : float
        How long it may take.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.end = time.monotonic() + seconds

    def __call__(self, *heard: Any) -> None:
        if time.monotonic() > self.end:
            raise too_long(self.seconds)


def too_long(seconds: float) -> AskError:
    """The sentence for work that was given up."""
    return AskError(
        f"this takes longer than {seconds:g} seconds and was given up; "
        "ask for fewer points or corrections.",
        503,
    )


def story_bytes(ask: Ask, deadline: Deadline) -> bytes:
    """The answer to the page: the story of a run, and the Python lines that make it."""
    both = len(np.unique(ask.examples.y)) == 2
    try:
        run = (
            learnt(ask, deadline)
            if both
            else algorithms.pla(ask.examples, budget=algorithms.Budget(1, 0))
        )
        deadline()
        verdict = separability_of(ask.examples)
        deadline()
        story = Story(ask.examples, run, verdict, ask.algorithm, ask.order).to_json()
        if not both:
            story["told"] = ONE_KIND
        answer = {"story": story, "python": python_lines(ask) if both else None}
        return json.dumps(answer, allow_nan=False, separators=(",", ":")).encode()
    except (ValueError, OverflowError) as trouble:
        raise AskError(f"these numbers cannot be learnt from: {trouble}") from None


def learnt(ask: Ask, deadline: Deadline) -> Run:
    """The run that was asked for."""
    chance = None if ask.order in orders.FIXED else np.random.default_rng(ask.seed)
    rule = algorithms.Rule(ask.order, ZEROS[ask.zero], ask.eta, chance)
    if ask.algorithm == "online":
        return algorithms.online(ask.examples, rule, ask.start)
    budget = algorithms.Budget(CYCLES, ask.corrections)
    if ask.algorithm == "pla":
        return algorithms.pla(ask.examples, rule, budget, ask.start, deadline)
    plan = Plan(ratchet=ask.algorithm == "ratchet", watch=deadline)
    return algorithms.pocket(ask.examples, rule, budget, ask.start, plan)
