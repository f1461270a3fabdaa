"""Options, output and proof files that several commands have in common."""

from __future__ import annotations

import functools
import math
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click
import rich.console
from rich.segment import Segment, Segments
from rich.table import Table
from rich.text import Text

import rosenblatt.clock as clock
from rosenblatt.algorithms import ORDERS
from rosenblatt.cli import COMMANDS, SETTINGS, as_argument, option
from rosenblatt.clock import SILENT_SECONDS, MistakeProgress, Reporter
from rosenblatt.errors import Message, OpenError, Part, UsageError
from rosenblatt.files import write_text
from rosenblatt.read.columnar import SUFFIX
from rosenblatt.read.columns import ENGLISH
from rosenblatt.read.data import describe_excess
from rosenblatt.read.encoding import POLICIES, Plan
from rosenblatt.read.plan import ColumnOptions
from rosenblatt.read.source import FORMATS, Layout, Source
from rosenblatt.text import dump_json_line, plural, quote_column, sanitize

F = TypeVar("F", bound=Callable[..., Any])

SEPARATORS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "blank": " ", "space": " "}
STOP_WORDS = {"none": "", "english": ENGLISH}
EIGHTHS = " ▏▎▍▌▋▊▉█"


def pop_layout(given: dict[str, Any]) -> Layout:
    """Remove the `layout_options` from the options given, and return them as a layout."""
    separator = given.pop("separator")
    separator = SEPARATORS.get(separator, separator)
    decimal = given.pop("decimal")
    for name, value in (("--separator", separator), ("--decimal", decimal)):
        if value is not None and (len(value) != 1 or not value.isascii() or value in '"\r\n'):
            raise UsageError(f"{name} {value!r} must be one ASCII character.")
    if decimal not in (None, ".", ","):
        raise UsageError(f"--decimal {decimal!r} is not a decimal mark; give '.' or ','.")
    header, encoding = given.pop("header"), given.pop("encoding")
    return Layout(given.pop("format_"), separator, header, decimal, encoding)


@dataclass(frozen=True)
class Reading:
    """Options for reading a file: its layout and the types of its columns."""

    layout: Layout
    columns: ColumnOptions
    stop_words: str | None = None  # the file of stop words, if one is given

    @classmethod
    def pop(cls, given: dict[str, Any]) -> Reading:
        """Remove the `reading_options` from the options given, and return them."""
        layout, words = pop_layout(given), given.pop("stop_words", "english")
        text, file = STOP_WORDS.get(words), None
        if text is None:
            file = words
            try:
                text = Path(file).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):
                raise OpenError(
                    f"--stop-words {file}: cannot read this file; give 'none', 'english' or a "
                    "UTF-8 text file."
                ) from None
        columns = ColumnOptions(
            target=given.pop("target"),
            positive=given.pop("positive", None),
            ignore=given.pop("ignore"),
            numbers=given.pop("number"),
            categories=given.pop("category"),
            texts=given.pop("text", ()),
            missing=given.pop("missing"),
            min_count=given.pop("min_count", 1),
            stop_words=frozenset(text.lower().split()),
            decimal=layout.decimal,
        )
        return cls(layout, columns, file)

    def files(self, data: str | None) -> dict[str, str | None]:
        """Return the path of each input file, keyed by its name in messages (e.g. "the data")."""
        return {
            "the data": data,
            "the converted data": None if data in (None, "-") else f"{data}{SUFFIX}",
            "the file of stop words": self.stop_words,
        }


class NumberRange(click.FloatRange):
    """Option type for finite numbers in a range; Click's own accepts NaN."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


LAYOUT = (
    click.option(
        "--format",
        "format_",
        metavar="NAME",
        help=f"Format of DATA: {', '.join(s.lstrip('.') for s in FORMATS)} (default: detected).",
    ),
    click.option(
        "--separator",
        metavar="CHAR",
        help="Column separator of a CSV file: a character, tab or blank (default: detected).",
    ),
    click.option(
        "--header/--no-header",
        default=None,
        help="Whether the first line holds the column names (default: detected).",
    ),
    click.option("--decimal", metavar="CHAR", help="Decimal mark, . or , (default: detected)."),
    click.option("--encoding", metavar="NAME", help="Text encoding (default: UTF-8)."),
)
KINDS = (
    click.option(
        "--number",
        multiple=True,
        metavar="COLUMN",
        help="Read this column as numbers, which may be written as 1,234 or 3% or $12.50. "
        "Repeatable.",
    ),
    click.option(
        "--category",
        multiple=True,
        metavar="COLUMN",
        help="Read this column as categories. Repeatable.",
    ),
)
text_option = click.option(
    "--text",
    multiple=True,
    metavar="COLUMN",
    help="Read this column as text and count its words. Repeatable.",
)
target_option = click.option(
    "--target", metavar="COLUMN", help="Column of the labels: its name, or its number from 1."
)
ignore_option = click.option(
    "--ignore", multiple=True, metavar="COLUMN", help="Leave this column out. Repeatable."
)
COLUMNS = (
    target_option,
    click.option(
        "--positive",
        metavar="VALUE",
        help="Positive label. With three or more labels, it is trained against all others.",
    ),
    ignore_option,
    *KINDS,
    text_option,
    click.option(
        "--missing",
        type=click.Choice(POLICIES),
        default="error",
        help="What to do if a number is missing: stop, drop the row, or use the column's mean.",
    ),
    click.option(
        "--stop-words",
        metavar="none|english|FILE",
        default="english",
        help="Words that --text does not count: none, common English words, or those in a file.",
    ),
    click.option(
        "--min-count",
        type=click.IntRange(1),
        default=1,
        metavar="N",
        help="Ignore words that appear in fewer than N rows.",
    ),
)
REGRESSORS = (
    click.option(
        "--target",
        metavar="COLUMN",
        help="Target column: a name, or a number from 1. Two with a comma: successes and "
        "failures, or time and event.",
    ),
    ignore_option,
    *KINDS,
    click.option(
        "--missing",
        type=click.Choice([policy for policy in POLICIES if policy != "mean"]),
        default="error",
        help="What to do if a value is missing: stop, or drop the row.",
    ),
)


def order_option(default: str) -> Callable[[F], F]:
    """Return the option for the order in which PLA visits the rows."""
    return click.option(
        "--order",
        type=click.Choice(ORDERS),
        default=default,
        help="Order in which PLA visits the rows. cycle: as given; random-cycle: one random "
        "permutation; shuffle: a new permutation for each epoch; first: always the first "
        "misclassified row; random: a random misclassified row.",
    )


def _add_options(function: F, options: tuple[Any, ...]) -> F:
    for add in reversed(options):
        function = add(function)
    return function


layout_options = functools.partial(_add_options, options=LAYOUT)
kind_options = functools.partial(_add_options, options=(*KINDS, text_option))
reading_options = functools.partial(_add_options, options=(*COLUMNS, *LAYOUT))
regression_options = functools.partial(_add_options, options=(*REGRESSORS, *LAYOUT))
convert_option = click.option(
    "--convert/--no-convert",
    default=True,
    show_default=False,
    help="Whether to convert a text file larger than memory to a Parquet file beside it, once.",
)
proof_option = click.option(
    "--proof", type=click.Path(), metavar="FILE", help="Write the proof to a JSON file."
)


json_option = click.Option(
    ["--json", "as_json"], is_flag=True, help="Print one JSON object and nothing else."
)


def command(*lines: str) -> Callable[[Callable[..., int]], click.Command]:
    """Return a decorator that makes a command with examples in its help and the option --json."""
    examples = "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)

    def decorate(function: Callable[..., int]) -> click.Command:
        about = COMMANDS[function.__name__]
        make = click.command(short_help=about, epilog=examples, context_settings=SETTINGS)
        made = make(function)
        made.params.append(json_option)
        return made

    return decorate


def with_options(*parts: Part) -> str:
    """Join the parts of a message, with its parameters written as command-line options."""
    return Message(*parts).render(option)


class _Terminal(rich.console.Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # Rich would exit with code 1


class Console(Reporter):
    """Output of a command, printed as text or with --json as one object.

    With `rows_on_stdout`, the command writes rows to stdout, and everything else goes to stderr.
    """

    def __init__(self, as_json: bool, rows_on_stdout: bool = False) -> None:
        self.as_json = as_json
        self.out, self.notes = (
            _Terminal(highlight=False, markup=False, emoji=False, stderr=stderr)
            for stderr in (as_json or rows_on_stdout, True)
        )
        self.quiet = as_json and not sys.stderr.isatty()

    def step(self, name: str, text: str | Message) -> None:
        """Print one line about a finished step of the command."""
        if not self.quiet:
            line = Text.assemble((f"{name:<9} ", "bold cyan"), sanitize(with_options(text)))
            self.out.print(line, soft_wrap=True)

    def note(self, text: str | Message) -> None:
        """Print a remark to stderr, because it is not a result."""
        print_note(text)

    def show(self, renderable: Any = "") -> None:
        """Print a table or a line, with control characters escaped."""
        if not self.as_json:
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
        timer = threading.Timer(SILENT_SECONDS, bar.start)
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


def needs_passes(console: Console, source: Source, layout: Layout, activity: str) -> bool:
    """Return whether a file is too large for memory, and print a note if so."""
    excess = describe_excess(source, layout)
    if excess:
        console.note(f"{source.name} needs {excess}: {activity} in passes over the file.")
    return bool(excess)


def report_plan(console: Console, plan: Plan) -> None:
    """Print which column was guessed as the target, and notes on other columns."""
    if plan.guessed:
        where = quote_column(plan.target.column)
        console.note(f"using {where} as the target, the only column with {plan.guessed}.")
    for note in plan.notes:
        console.note(Message(note, "."))


def write_proof(console: Console, path: str | None, data: str, plan: Any, proof: Any) -> str | None:
    """Write a proof to a file and return its path, or None if nothing was proved."""
    from rosenblatt.model import proof_to_json

    if path is None or proof is None:
        if path is not None:
            console.note(f"nothing was proved, so {path} was not written.")
        return None
    text = proof_to_json(plan, proof)
    clock.ignore_interrupts()
    write_text(path, text)
    again = " --again" if getattr(proof, "enumeration", "") else ""
    console.step(
        "wrote",
        f"{path}: check it with rosenblatt verify {as_argument(path)} {as_argument(data)}{again}",
    )
    return path
