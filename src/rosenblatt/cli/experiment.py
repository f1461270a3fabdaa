"""`rosenblatt experiment`: learn many random targets, as exercise 1.4 and the homework do."""

from __future__ import annotations

from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from rich.table import Table
from rich.text import Text

import rosenblatt.interrupts as interrupts
from rosenblatt.algorithms import ORDERS
from rosenblatt.cli.console import Voice, bar
from rosenblatt.cli.options import NumberRange, json_option, verb
from rosenblatt.errors import UsageError
from rosenblatt.experiments import Experiment
from rosenblatt.experiments import experiment as many_runs
from rosenblatt.files import keep_apart
from rosenblatt.words import counted


@verb(
    "rosenblatt experiment -n 20 --runs 100",
    "rosenblatt experiment --dim 5 --runs 100 --seed 1 --json",
)
@click.option("-n", "--examples", type=click.IntRange(min=1), default=100, show_default=True)
@click.option("--runs", type=click.IntRange(min=1), default=1000, show_default=True)
@click.option(
    "--dim",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    help="The number of features.",
)
@click.option("--order", type=click.Choice(ORDERS), default="random", show_default=True)
@click.option(
    "--noise",
    type=NumberRange(0, 1),
    default=0.0,
    show_default=True,
    help="The chance that an answer is turned around.",
)
@click.option("--seed", type=click.IntRange(min=0), default=None, help="Makes runs repeatable.")
@click.option("--plot", type=click.Path(), metavar="FILE", help="Draw it: .png, .svg or .pdf.")
@json_option
def experiment(plot: str | None, as_json: bool, **given: Any) -> int:
    """Run PLA on many random targets and count its corrections.

    Each run draws a random line f and examples in [-1, 1]^DIM, learns g from them, and measures
    how often g differs from f.
    """
    voice = Voice(as_json)
    keep_apart({}, {"--plot": plot})
    save = None if plot is None else _saver(plot)
    with voice.patience("running PLA"):
        done = many_runs(
            given["examples"],
            given["runs"],
            dim=given["dim"],
            order=given["order"],
            noise=given["noise"],
            random_state=given["seed"],
        )
    summary = _summary(done)
    voice.step("ran", str(done))
    voice.show()
    voice.show(f"corrections in {counted(len(done.updates), 'run')}")
    voice.show(histogram(done.updates))
    if save is not None:
        interrupts.finish()
        save(done, given["examples"])
        voice.step("wrote", str(plot))
    voice.result({**given, **summary, "plot": plot})
    return 0


def _summary(done: Experiment) -> dict[str, Any]:
    u, p = done.updates, done.disagreement
    return {
        "corrections": {
            "mean": float(u.mean()),
            "median": float(np.median(u)),
            "least": int(u.min()),
            "most": int(u.max()),
        },
        "disagreement": {"mean": float(p.mean()), "median": float(np.median(p))},
        "halted": int(done.separated.sum()),
        "updates": u.tolist(),
    }


def _saver(path: str) -> Any:
    """Asked before the work, so that nothing is done in vain."""
    try:
        from rosenblatt.show.plot.curves import experiment_saver

        return experiment_saver(path)
    except ImportError:
        raise UsageError("--plot needs matplotlib: pip install 'rosenblatt[plot]'.") from None


def histogram(values: NDArray[Any], bins: int = 12) -> Table:
    """How often values fall in about so many ranges, as bars."""
    counts, edges = np.histogram(values, bins=whole_edges(values, bins))
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


def whole_edges(values: NDArray[Any], bins: int) -> NDArray[np.float64]:
    """Edges of ranges of whole numbers, from the least to the 90th percentile, and the rest.

    Examples
    --------
    >>> whole_edges(np.array([1, 2, 3, 4]), 2)
    array([1., 3., 5.])
    """
    low, high = int(np.min(values)), int(np.max(values)) + 1
    top = int(np.percentile(values, 90)) + 1
    step = max(1, -(-(top - low) // bins))
    edges = np.arange(low, top + step, step, dtype=np.float64)
    edges[-1] = max(edges[-1], low + 1)
    if edges[-1] < high:
        edges = np.append(edges, high)
    return edges
