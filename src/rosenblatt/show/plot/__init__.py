"""Displays, drawn with Matplotlib (extra `plot`): one file each, on one paper."""

from rosenblatt.show.plot.boundary import BoundaryDisplay
from rosenblatt.show.plot.experiment import ExperimentDisplay
from rosenblatt.show.plot.guarantee import GuaranteeDisplay
from rosenblatt.show.plot.pocket import PocketDisplay
from rosenblatt.show.plot.trace import TraceDisplay

__all__ = [
    "BoundaryDisplay",
    "ExperimentDisplay",
    "GuaranteeDisplay",
    "PocketDisplay",
    "TraceDisplay",
]
