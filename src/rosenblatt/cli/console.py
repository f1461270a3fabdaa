"""Output of the commands: results on stdout, notes and progress on stderr."""

from __future__ import annotations

import shlex
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from rosenblatt.clock import MistakeProgress, Reporter
from rosenblatt.errors import Message, Parameter, Part
from rosenblatt.text import dump_json_line, plural, sanitize

if TYPE_CHECKING:
    from rich.table import Table

    from rosenblatt.online import OnlinePerceptron
    from rosenblatt.read.feed import BadLine

# Parameters whose option has another name; all other options are named like the parameter.
OPTIONS = {
    "random_state": "--seed",
    "sample_weight": "--weights",
    "fit_intercept": "--no-intercept",  # the only value that messages suggest is False
}
REPORTED = 100  # maximum number of different reasons for bad lines that are printed
PATIENCE = 2.0  # seconds before progress is shown
EIGHTHS = " ▏▎▍▌▋▊▉█"


def option(parameter: Parameter) -> str:
    """Spell a parameter as an option with its value, quoted for the shell.

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
    """Join text and parameters to one message, with parameters spelled as --options."""
    return Message(*parts).render(option)


def as_argument(text: str) -> str:
    """Quote a file name, a label or any other text for the shell.

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
    """Printer of a command's steps; with --json, it prints one object at the end instead.

    With `rows_on_stdout`, the command writes rows to stdout, and everything else goes to stderr.
    """

    def __init__(self, as_json: bool, rows_on_stdout: bool = False) -> None:
        self.as_json = as_json
        self.out = _console(stderr=as_json or rows_on_stdout)
        self.notes = _console(stderr=True)
        self.quiet = as_json and not sys.stderr.isatty()

    def step(self, name: str, text: str | Message) -> None:
        """Print one line about a finished step."""
        if self.quiet:
            return
        from rich.text import Text

        line = Text.assemble((f"{name:<9} ", "bold cyan"), sanitize(with_options(text)))
        self.out.print(line, soft_wrap=True)

    def note(self, text: str | Message) -> None:
        """Print a remark that is not a result to stderr."""
        print_note(text)

    def show(self, renderable: Any = "") -> None:
        """Print a table or a line of the result."""
        if not self.as_json:
            self.out.print(_Sanitized(renderable))

    def result(self, value: dict[str, Any]) -> None:
        """Print a JSON object if --json was given."""
        if self.as_json:
            sys.stdout.write(dump_json_line(value) + "\n")

    @contextmanager
    def progress(self, activity: str) -> Iterator[Any]:
        """Show progress on a terminal after two seconds.

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
        """Show the mistakes so far and the speed on a terminal, after two seconds."""
        with MistakeProgress(0, seconds, unit) as progress:
            yield progress.report


def _console(stderr: bool) -> Any:
    """Create a Rich console that raises BrokenPipeError when its output is closed."""
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Plain(highlight=False, markup=False, emoji=False, stderr=stderr)


@dataclass
class _Sanitized:
    """A table or a text whose control characters are escaped when it is printed."""

    renderable: Any

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        from rich.segment import Segment

        for part in console.render(self.renderable, options):
            yield part if part.control else Segment(sanitize(part.text, "\n"), part.style)


def print_note(text: str | Message) -> None:
    """Print a sentence to stderr, with parameters spelled as options."""
    click.echo(f"rosenblatt: {sanitize(with_options(text))}", err=True)


class BadLines:
    """Reporter of bad lines: it prints each reason once, and at the end how often it recurred."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.later: Counter[str] = Counter()  # reason -> number of later lines
        self.first: dict[str, int] = {}  # reason -> number of its first line
        self.others = 0

    def add(self, bad: list[BadLine]) -> None:
        """Print bad lines whose reason is new; only count lines whose reason was printed before."""
        new: dict[str, list[int]] = {}
        for line in bad:
            if line.why in self.first:
                self.later[line.why] += 1
            elif line.why in new or len(self.first) + len(new) < REPORTED:
                new.setdefault(line.why, []).append(line.number)
            else:
                self.others += 1
        for why, numbers in new.items():
            self.first[why] = numbers[0]
            more = len(numbers) - 1
            like = f" (and {plural(more, 'more line', 'more lines')} like it)" if more else ""
            print_note(f"{self.name}, line {numbers[0]}: {why}{like}; skipped.")

    def include(self, words: str) -> bool:
        """Return whether any reason printed so far contains `words`."""
        return any(words in why for why in self.first)

    def end(self) -> None:
        """Print how many later lines were skipped for each reason."""
        for why, count in self.later.items():
            more = plural(count, "later line")
            print_note(f"{self.name}: skipped {more} like line {self.first[why]}: {why}.")
        if self.others:
            more = plural(self.others, "more bad line")
            print_note(f"{self.name}: skipped {more} for other reasons.")


class StreamStatus:
    """The status line of a stream, printed twice a second on a terminal, else once at the end."""

    def __init__(
        self, model: OnlinePerceptron, before: int, margin: float | None, quiet: bool
    ) -> None:
        self.model, self.margin, self.quiet = model, margin, quiet
        self.begun = self.last = time.monotonic()
        self.before = before
        self.terminal = sys.stderr.isatty()

    def __call__(self, predicted: int, bad: int) -> None:
        """Print the current status line on a terminal, at most twice a second."""
        if self.terminal and not self.quiet and time.monotonic() - self.last > 0.5:
            self.last = time.monotonic()
            print(f"\r\033[K{self.line(predicted, bad)}", end="", file=sys.stderr, flush=True)

    def end(self, predicted: int, bad: int) -> None:
        """Print the status line for the last time."""
        if not self.quiet:
            clear = "\r\033[K" if self.terminal else ""
            print(clear + self.line(predicted, bad), file=sys.stderr)

    def rate(self, predicted: int) -> float:
        """Return the number of rows processed per second."""
        elapsed = time.monotonic() - self.begun
        return (predicted - self.before) / max(elapsed, 1e-9)

    def line(self, predicted: int, bad: int) -> str:
        """Summarize rows, mistakes, bound and speed in one line."""
        model = self.model
        parts = [f"{plural(predicted, 'row')} predicted", f"{model.n_seen:,} trained on"]
        if model.n_seen:
            share = model.n_mistakes / model.n_seen
            parts.append(f"{plural(model.n_mistakes, 'mistake')} ({100 * share:.2f} %)")
            recent = min(model.n_seen, model.window)
            parts.append(f"{100 * model.mistake_rate:.2f} % of the last {recent:,}")
            parts.append(self._describe_bound())
        if bad:
            parts.append(plural(bad, "bad line"))
        rate = plural(round(self.rate(predicted)), "row")
        return "rosenblatt: " + ", ".join([*parts, f"{rate} per second"])

    def _describe_bound(self) -> str:
        model = self.model
        if self.margin is not None:
            return f"mistake bound {model.bound(self.margin):,.0f} for margin {self.margin:g}"
        if model.n_mistakes == 0:
            return f"R {model.radius:.4g}"
        # Solve mistakes ≤ R²/γ² for the margin γ of a classifier that makes no mistake. With more
        # than two labels, R is the norm of the vector with x for the own label and −x for the
        # competing label.
        radius = (2 if len(model.labels) > 2 else 1) ** 0.5 * model.radius
        return f"margin of any separator at most {radius / model.n_mistakes**0.5:.3g}"


def make_table(*headings: str, widest: int | None = None) -> Table:
    """Create a table without borders; no column but the last is wider than `widest`."""
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
    """Draw a bar that fills a share of the width, in eighths of a character if possible.

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
