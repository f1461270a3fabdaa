"""Pictures of an experiment, for the extra `plot`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from numpy.typing import NDArray

from rosenblatt.errors import UsageError
from rosenblatt.files import replacing
from rosenblatt.show.plot.experiment import ExperimentDisplay
from rosenblatt.words import counted


def draw_experiment(
    updates: NDArray[Any], disagreement: NDArray[Any], n_examples: int, path: str
) -> None:
    """Draw corrections and P[f≠g] of many runs as histograms into a file.

    Parameters
    ----------
    updates, disagreement : arrays, one entry a run
        What was counted.
    n_examples : int
        Examples in each run.
    path : str
        An image file; its end tells the format.
    """
    figure = Figure(figsize=(8, 3.2), layout="constrained")
    title = f"{counted(len(updates), 'run')}, N = {n_examples}"
    ExperimentDisplay(updates, disagreement).plot(axes=figure.subplots(1, 2), title=title)
    kind = Path(path).suffix.lstrip(".").lower() or "png"
    if kind not in figure.canvas.get_supported_filetypes():
        raise UsageError(f"--plot {path}: cannot draw .{kind} files; give .png, .svg or .pdf.")
    with replacing(path) as beside:
        figure.savefig(beside, format=kind)
