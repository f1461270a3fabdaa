"""What the program says while it works: steps on stdout, notes and progress on stderr."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

PATIENCE = 2.0  # seconds before progress is shown


class Voice:
    """Speaks to a person, or with --json prints one object at the end and nothing else.

    Parameters
    ----------
    as_json : bool
        Whether stdout is kept for the JSON object.
    """

    def __init__(self, as_json: bool) -> None:
        from rich.console import Console

        self.as_json = as_json
        self.out = Console(highlight=False, markup=False, emoji=False, stderr=as_json)
        self.notes = Console(highlight=False, markup=False, emoji=False, stderr=True)
        self.quiet = as_json and not sys.stderr.isatty()

    def step(self, what: str, text: str) -> None:
        """One line about a step that is done."""
        if self.quiet:
            return
        from rich.text import Text

        self.out.print(Text.assemble((f"{what:<9} ", "bold cyan"), text), soft_wrap=True)

    def note(self, text: str) -> None:
        """Something a person should know; not a result."""
        click.echo(f"rosenblatt: {text}", err=True)

    def show(self, thing: Any = "") -> None:
        """A table or a line of the result."""
        if not self.as_json:
            self.out.print(thing)

    def result(self, value: dict[str, Any]) -> None:
        """The JSON object, if that was asked for."""
        if self.as_json:
            text = json.dumps(value, ensure_ascii=False, allow_nan=False)
            sys.stdout.write(text + "\n")

    @contextmanager
    def patience(self, doing: str, seconds: float | None = None) -> Iterator[Any]:
        """Show progress on a terminal once something takes longer than two seconds.

        Yields a function that takes the number of rows done so far.
        """
        if not sys.stderr.isatty():
            yield lambda done: None
            return
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[count]}"),
            TimeElapsedColumn(),
            console=self.notes,
            transient=True,
        )
        task = bar.add_task(doing, total=None, count="")
        timer = threading.Timer(PATIENCE, bar.start)
        timer.daemon = True
        timer.start()
        try:
            yield lambda done: bar.update(task, count=f"{done:,} rows")
        finally:
            timer.cancel()
            bar.stop()


def counted(count: int, thing: str, many: str = "") -> str:
    """A number and a noun that agree.

    Examples
    --------
    >>> counted(1, "mistake"), counted(1200, "mistake")
    ('1 mistake', '1,200 mistakes')
    """
    return f"{count:,} {thing if count == 1 else many or thing + 's'}"


def percent(share: float) -> str:
    """A share as a person says it.

    Examples
    --------
    >>> percent(0.9731), percent(1.0)
    ('97.3 %', '100 %')
    """
    return "100 %" if share == 1 else f"{100 * share:.1f} %"
