"""What the program says while it works: steps on stdout, notes and progress on stderr."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from rosenblatt.cli.spelling import with_options
from rosenblatt.messages import Message
from rosenblatt.words import counted, json_line, shown

if TYPE_CHECKING:
    from rich.table import Table

    from rosenblatt.online import OnlinePerceptron
    from rosenblatt.read.feed import BadLine

REPORTED = 100  # complaints that are told apart
PATIENCE = 2.0  # seconds before progress is shown
EIGHTHS = " ▏▎▍▌▋▊▉█"


class Voice:
    """Speaks to a person, or with --json prints one object at the end and nothing else."""

    def __init__(self, as_json: bool, taken: bool = False) -> None:
        # stdout is kept for the object, or where it is taken, for rows
        self.as_json = as_json
        self.out = _console(stderr=as_json or taken)
        self.notes = _console(stderr=True)
        self.quiet = as_json and not sys.stderr.isatty()

    def step(self, what: str, text: str | Message) -> None:
        """One line about a step that is done."""
        if self.quiet:
            return
        from rich.text import Text

        line = Text.assemble((f"{what:<9} ", "bold cyan"), shown(with_options(text)))
        self.out.print(line, soft_wrap=True)

    def note(self, text: str | Message) -> None:
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
    def patience(self, doing: str) -> Iterator[Any]:
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


def tell(text: str | Message) -> None:
    """Write one sentence to stderr."""
    click.echo(f"rosenblatt: {shown(with_options(text))}", err=True)


class Complaints:
    """Says what is wrong with bad lines: equal complaints once, with their count."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.later: Counter[str] = Counter()  # how often a complaint came again
        self.first: dict[str, int] = {}  # the line it was first made of
        self.others = 0

    def take(self, bad: list[BadLine]) -> None:
        """Say what is new; the rest is counted."""
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
            like = f" (and {counted(more, 'more line', 'more lines')} like it)" if more else ""
            left = "they are" if more else "it is"
            tell(f"{self.name}, line {numbers[0]}: {why}{like}; {left} left out.")

    def met(self, words: str) -> bool:
        """Whether some complaint was made in such words."""
        return any(words in why for why in self.first)

    def end(self) -> None:
        """Say the counts of what came again after it was said."""
        for why, count in self.later.items():
            more = counted(count, "more line", "more lines")
            tell(f"{self.name}: later {more} like line {self.first[why]}: {why}.")
        if self.others:
            tell(f"{self.name}: {counted(self.others, 'more bad line')} of other kinds.")


class Status:
    """The line about a stream: on a terminal twice a second, elsewhere at its end."""

    def __init__(
        self, model: OnlinePerceptron, before: int, margin: float | None, quiet: bool
    ) -> None:
        self.model, self.margin, self.quiet = model, margin, quiet
        self.begun = self.last = time.monotonic()
        self.before = before
        self.terminal = sys.stderr.isatty()

    def __call__(self, predicted: int, bad: int) -> None:
        """Take the counts; say them on a terminal if it is time to."""
        if self.terminal and not self.quiet and time.monotonic() - self.last > 0.5:
            self.last = time.monotonic()
            print(f"\r\033[K{self.line(predicted, bad)}", end="", file=sys.stderr, flush=True)

    def end(self, predicted: int, bad: int) -> None:
        """The last line."""
        if not self.quiet:
            clear = "\r\033[K" if self.terminal else ""
            print(clear + self.line(predicted, bad), file=sys.stderr)

    def rate(self, predicted: int) -> float:
        """Rows a second."""
        elapsed = time.monotonic() - self.begun
        return (predicted - self.before) / max(elapsed, 1e-9)

    def line(self, predicted: int, bad: int) -> str:
        """Seen, mistakes, rate, bound and speed in one line."""
        model = self.model
        parts = [f"{predicted:,} seen", f"{model.n_seen:,} learnt"]
        if model.n_seen:
            share = model.n_mistakes / model.n_seen
            parts.append(f"{counted(model.n_mistakes, 'mistake')} ({100 * share:.2f} %)")
            recent = min(model.n_seen, model.window)
            parts.append(f"{100 * model.mistake_rate:.2f} % of the last {recent:,}")
            parts.append(self._bound())
        if bad:
            parts.append(counted(bad, "bad line"))
        rate = counted(round(self.rate(predicted)), "row")
        return "rosenblatt: " + ", ".join([*parts, f"{rate} a second"])

    def _bound(self) -> str:
        model = self.model
        if self.margin is not None:
            return f"bound {model.bound(self.margin):,.0f} for margin {self.margin:g}"
        if model.n_mistakes == 0:
            return f"R {model.radius:.4g}"
        # R²/γ² ≥ mistakes, turned around: what they say about any line that is right everywhere.
        longest = (2 if len(model.labels) > 2 else 1) ** 0.5 * model.radius  # against a rival
        return f"bound: no margin above {longest / model.n_mistakes**0.5:.3g}"


def bare_table(*headings: str, widest: int | None = None) -> Table:
    """A table without lines, its columns so wide at the most, but for the last."""
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
    """A bar of a share of the width, to an eighth of a character where the terminal can.

    Examples
    --------
    >>> len(bar(0.5, width=4))
    2
    """
    share = min(max(share, 0.0), 1.0)
    if not _draws_blocks():
        return "#" * round(share * width)
    eighths = round(share * width * 8)
    return ("█" * (eighths // 8) + EIGHTHS[eighths % 8]).rstrip()


def _draws_blocks() -> bool:
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"  # none: text kept in memory
    try:
        EIGHTHS.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True
