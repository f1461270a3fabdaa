"""`rosenblatt experiment`: count the updates of PLA on many random data sets."""

from __future__ import annotations

from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from rich.table import Table
from rich.text import Text

import rosenblatt.clock as clock
from rosenblatt.cli.shared import Console, NumberRange, bar, command, order_option
from rosenblatt.errors import UsageError
from rosenblatt.experiments import experiment as run_experiment
from rosenblatt.files import keep_apart
from rosenblatt.text import plural


@command(
    "rosenblatt experiment -n 20 --runs 100",
    "rosenblatt experiment --dim 5 --runs 100 --seed 1 --json",
)
@click.option(
    "-n",
    "--examples",
    type=click.IntRange(1),
    default=100,
    help="Number of examples per run.",
)
@click.option("--runs", type=click.IntRange(1), default=1000, help="Number of runs.")
@click.option("--dim", type=click.IntRange(1), default=2, help="Number of features.")
@order_option("random")
@click.option(
    "--noise",
    type=NumberRange(0, 1),
    default=0.0,
    help="Probability that a label is flipped.",
)
@click.option("--seed", type=click.IntRange(0), help="Random seed, for repeatable runs.")
@click.option(
    "--plot",
    type=click.Path(),
    metavar="FILE",
    help="Draw histograms to a .png, .svg or .pdf file.",
)
def experiment(plot: str | None, as_json: bool, **given: Any) -> int:
    """Count the updates of the perceptron learning algorithm (PLA) on random data sets.

    Each run draws a random linear target f and examples in [-1, 1]^DIM, trains g on them, and
    estimates P[f≠g], the probability that g disagrees with f (exercise 1.4 of Learning From Data).
    """
    console = Console(as_json)
    keep_apart({}, {"--plot": plot})
    save = None
    if plot is not None:  # fail before the runs if the plot cannot be drawn
        try:
            from rosenblatt.show.curves import experiment_saver

            save = experiment_saver(plot)
        except ImportError:
            raise UsageError("--plot needs matplotlib: pip install 'rosenblatt[plot]'.") from None
    with console.progress("running PLA"):
        done = run_experiment(
            given["examples"],
            given["runs"],
            dim=given["dim"],
            order=given["order"],
            noise=given["noise"],
            random_state=given["seed"],
        )
    console.step("ran", str(done))
    console.show()
    console.show(f"updates in {plural(len(done.updates), 'run')}")
    console.show(histogram(done.updates))
    if save is not None:
        clock.ignore_interrupts()
        save(done, given["examples"])
        console.step("wrote", str(plot))
    u, p = done.updates, done.disagreement
    summary = {"mean": float(u.mean()), "median": float(np.median(u))}
    console.result(
        {
            **given,
            "summary": {**summary, "min": int(u.min()), "max": int(u.max())},
            "disagreement": {"mean": float(p.mean()), "median": float(np.median(p))},
            "halted": int(done.separated.sum()),
            "updates": u.tolist(),
            "plot": plot,
        }
    )
    return 0


def histogram(values: NDArray[Any], bins: int = 12) -> Table:
    """Draw a histogram of integers as a table, with one bar per row.

    The bins have equal widths up to the 90th percentile, and the last has all larger values.
    """
    low, end = int(values.min()), int(values.max()) + 1
    top = int(np.percentile(values, 90)) + 1
    step = -(-(top - low) // bins)
    edges = np.arange(low, top + step, step)
    counts, edges = np.histogram(values, bins=np.append(edges, end) if edges[-1] < end else edges)
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    for count, low, high in zip(counts, edges[:-1], edges[1:], strict=True):
        last = int(high) - 1
        name = f"{int(low):,}" if last <= low else f"{int(low):,}–{last:,}"
        drawn = Text(bar(count / max(counts.max(), 1), 40), style="cyan")
        drawn.append(f" {count}", style="dim")
        table.add_row(name, drawn)
    return table
