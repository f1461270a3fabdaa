"""One file an algorithm, each from Examples to a Run."""

from rosenblatt.algorithms.online import online
from rosenblatt.algorithms.pla import pla
from rosenblatt.algorithms.pocket import PocketRun, pocket
from rosenblatt.algorithms.run import Budget, Interrupted, Rule, Run, WeightsOverflowError

__all__ = [
    "Budget",
    "Interrupted",
    "PocketRun",
    "Rule",
    "Run",
    "WeightsOverflowError",
    "online",
    "pla",
    "pocket",
]
