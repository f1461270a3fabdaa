"""One file an algorithm, each from Blocks to a Run."""

from rosenblatt.algorithms.pla import (
    FIXED,
    ORDERS,
    Budget,
    Interrupted,
    Mean,
    Progress,
    Rule,
    Run,
    WeightsOverflowError,
    online,
    pla,
)
from rosenblatt.algorithms.pocket import PocketRun, pocket

__all__ = [
    "FIXED",
    "ORDERS",
    "Budget",
    "Interrupted",
    "Mean",
    "PocketRun",
    "Progress",
    "Rule",
    "Run",
    "WeightsOverflowError",
    "online",
    "pla",
    "pocket",
]
