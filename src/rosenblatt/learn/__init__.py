"""One file an algorithm, each from Examples to a Run."""

from rosenblatt.learn.online import online
from rosenblatt.learn.pla import pla
from rosenblatt.learn.pocket import PocketRun, pocket
from rosenblatt.learn.run import Budget, Interrupted, Rule, Run, WeightsOverflowError

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
