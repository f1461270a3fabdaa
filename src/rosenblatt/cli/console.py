"""What the program says while it works: steps on stdout, notes and progress on stderr."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from rosenblatt.words import counted, json_line, shown

PATIENCE = 2.0  # seconds before progress is shown


class Voice:
    """Speaks to a person, or with --json prints one object at the end and nothing else.

    Parameters
    ----------
    as_json : bool
        Whether stdout is kept for the JSON object.
    taken : bool
        Whether stdout is kept for rows.
    """

    def __init__(self, as_json: bool, taken: bool = False) -> None:
        self.as_json = as_json
        self.out = _console(stderr=as_json or taken)
        self.notes = _console(stderr=True)
        self.quiet = as_json and not sys.stderr.isatty()

    def step(self, what: str, text: str) -> None:
        """One line about a step that is done."""
        if self.quiet:
            return
        from rich.text import Text

        line = Text.assemble((f"{what:<9} ", "bold cyan"), shown(text))
        self.out.print(line, soft_wrap=True)

    def note(self, text: str) -> None:
        """Something a person should know; not a result."""
        tell(text)

    def show(self, thing: Any = "") -> None:
        """A table or a line of the result."""
        if not self.as_json:
            self.out.print(_Shown(thing))

    def result(self, value: dict[str, Any]) -> None:
        """The JSON object, if that was asked for."""
        if self.as_json:
            sys.stdout.write(json_line(value) + "\n")

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
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[count]}"),
            TimeElapsedColumn(),
            console=self.notes,
            transient=True,
        )
        task = bar.add_task(shown(doing), total=None, count="")
        timer = threading.Timer(PATIENCE, bar.start)
        timer.daemon = True
        timer.start()
        try:
            yield lambda done: bar.update(task, count=counted(done, "row"))
        finally:
            timer.cancel()
            bar.stop()

    @contextmanager
    def counting(self, seconds: float | None, unit: str = "corrections") -> Iterator[Any]:
        """Show mistakes so far and the speed on a terminal, once it takes long."""
        from rosenblatt.clock import Teller

        with Teller(0, seconds, unit) as teller:
            yield teller.tell


def _console(stderr: bool) -> Any:
    """Rich's console, which says that a pipe is broken as any other file does."""
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Plain(highlight=False, markup=False, emoji=False, stderr=stderr)


class _Shown:
    """A table or a text as it is drawn, foreign control characters shown instead of obeyed."""

    def __init__(self, thing: Any) -> None:
        self.thing = thing

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        from rich.segment import Segment

        for part in console.render(self.thing, options):
            yield part if part.control else Segment(shown(part.text, "\n"), part.style)


def tell(text: str) -> None:
    """One sentence on stderr."""
    click.echo(f"rosenblatt: {shown(text)}", err=True)
