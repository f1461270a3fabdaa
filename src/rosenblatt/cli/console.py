"""Printing of results on stdout, and of notes and progress on stderr."""

from __future__ import annotations

import shlex
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from rosenblatt.clock import MistakeProgress, Reporter
from rosenblatt.errors import Message, Parameter, Part
from rosenblatt.text import dump_json_line, plural, sanitize

if TYPE_CHECKING:
    from rich.table import Table


# Parameters whose option has another name; all other options are named like the parameter.
OPTIONS = {
    "random_state": "--seed",
    "sample_weight": "--weights",
    "fit_intercept": "--no-intercept",  # the only value that messages suggest is False
}
PATIENCE = 2.0  # seconds before progress is shown
EIGHTHS = " ▏▎▍▌▋▊▉█"


def option(parameter: Parameter) -> str:
    """Return a parameter as a command-line option, with its value quoted for the shell.

    Examples
    --------
    >>> print(option(Parameter("test_size")), option(Parameter("category", "years in job")))
    --test-size --category 'years in job'
    >>> print(option(Parameter("test", example="FILE")), option(Parameter("resume", True)))
    --test FILE --resume
    """
    name = OPTIONS.get(parameter.name, f"--{parameter.name.replace('_', '-')}")
    if isinstance(parameter.value, str):
        return f"{name} {as_argument(parameter.value)}"
    return f"{name} {parameter.example}".rstrip()


def with_options(*parts: Part) -> str:
    """Join the parts of a message, with its parameters written as command-line options."""
    return Message(*parts).render(option)


def as_argument(text: str) -> str:
    """Quote a text, such as a file name, for the shell.

    Text that ends with a punctuation mark is quoted, too, so that the mark is not read as part
    of the sentence around it.

    Examples
    --------
    >>> print(as_argument("a.csv"), as_argument("a b.csv"), as_argument("Dr."))
    a.csv 'a b.csv' 'Dr.'
    """
    quoted = shlex.quote(text)
    return f"'{text}'" if quoted == text and text.endswith((".", ",", ":")) else quoted


class Console(Reporter):
    """Output of a command, printed as text or with --json as one object.

    With `rows_on_stdout`, the command writes rows to stdout, and everything else goes to stderr.
    """

    def __init__(self, as_json: bool, rows_on_stdout: bool = False) -> None:
        import rich.console

        class Plain(rich.console.Console):
            def on_broken_pipe(self) -> None:
                raise BrokenPipeError  # Rich would exit with code 1

        self.as_json = as_json
        self.out, self.notes = (
            Plain(highlight=False, markup=False, emoji=False, stderr=stderr)
            for stderr in (as_json or rows_on_stdout, True)
        )
        self.quiet = as_json and not sys.stderr.isatty()

    def step(self, name: str, text: str | Message) -> None:
        """Print one line about a finished step of the command."""
        if self.quiet:
            return
        from rich.text import Text

        line = Text.assemble((f"{name:<9} ", "bold cyan"), sanitize(with_options(text)))
        self.out.print(line, soft_wrap=True)

    def note(self, text: str | Message) -> None:
        """Print a remark to stderr, because it is not a result."""
        print_note(text)

    def show(self, renderable: Any = "") -> None:
        """Print a table or a line, with control characters escaped."""
        if not self.as_json:
            from rich.segment import Segment, Segments

            parts = [
                part if part.control else Segment(sanitize(part.text, "\n"), part.style)
                for part in self.out.render(renderable)
            ]
            self.out.print(Segments(parts))

    def result(self, value: dict[str, Any]) -> None:
        """Print a JSON object if --json was given."""
        if self.as_json:
            sys.stdout.write(dump_json_line(value) + "\n")

    @contextmanager
    def progress(self, activity: str) -> Iterator[Any]:
        """Show a progress bar on a terminal after two seconds.

        Yields a function that takes the number of rows processed so far.
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
        task = bar.add_task(sanitize(activity), total=None, count="")
        timer = threading.Timer(PATIENCE, bar.start)
        timer.daemon = True
        timer.start()
        try:
            yield lambda done: bar.update(task, count=plural(done, "row"))
        finally:
            timer.cancel()
            bar.stop()

    @contextmanager
    def mistake_progress(self, seconds: float | None, unit: str = "updates") -> Iterator[Any]:
        """Show the number of mistakes and the speed while training."""
        with MistakeProgress(0, seconds, unit) as progress:
            yield progress.report


def print_note(text: str | Message) -> None:
    """Print a note to stderr, with its parameters written as command-line options."""
    click.echo(f"rosenblatt: {sanitize(with_options(text))}", err=True)


def make_table(*headings: str, widest: int | None = None) -> Table:
    """Create a table without borders.

    No column but the last is wider than `widest` characters.
    """
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in headings:
        right = heading == "weight"
        table.add_column(
            heading,
            no_wrap=True,
            justify="right" if right else "left",
            min_width=len(heading) if heading == "label" else None,
            max_width=None if right or heading == headings[-1] else widest,
        )
    return table


def bar(share: float, width: int) -> str:
    """Return a bar of text characters whose length is `share` times `width`.

    Examples
    --------
    >>> len(bar(0.5, width=4))
    2
    """
    share = min(max(share, 0.0), 1.0)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"  # None: a string buffer
    try:
        EIGHTHS.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return "#" * round(share * width)
    eighths = round(share * width * 8)
    return ("█" * (eighths // 8) + EIGHTHS[eighths % 8]).rstrip()
