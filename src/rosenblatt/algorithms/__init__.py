"""The training algorithms, one per file; each takes Blocks and returns a Run."""

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
