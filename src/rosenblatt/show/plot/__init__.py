"""Displays, drawn with Matplotlib (extra `plot`)."""

from rosenblatt.show.plot.curves import (
    ExperimentDisplay,
    GuaranteeDisplay,
    OptimumDisplay,
    PocketDisplay,
)
from rosenblatt.show.plot.pictures import BoundaryDisplay, TraceDisplay

__all__ = [
    "BoundaryDisplay",
    "ExperimentDisplay",
    "GuaranteeDisplay",
    "OptimumDisplay",
    "PocketDisplay",
    "TraceDisplay",
]
