"""Options that several verbs share, packed into the values that the rooms take."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import click

import rosenblatt.interrupts as interrupts
from rosenblatt.cli import VERBS
from rosenblatt.cli.console import Voice
from rosenblatt.cli.spelling import as_argument
from rosenblatt.errors import OpenError, UsageError
from rosenblatt.files import write_text
from rosenblatt.messages import Message
from rosenblatt.read.columns import ENGLISH, Vocabulary
from rosenblatt.read.convert import SUFFIX
from rosenblatt.read.data import Footprint
from rosenblatt.read.encoding import POLICIES
from rosenblatt.read.plan import Plan, Wishes
from rosenblatt.read.source import FORMATS, Layout, Source
from rosenblatt.words import column_called

F = TypeVar("F", bound=Callable[..., Any])

SEPARATORS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "blank": " ", "space": " "}
STOP_WORDS = {"none": "", "english": ENGLISH}


@dataclass(frozen=True)
class Reading:
    """How a person wants a file to be read."""

    layout: Layout
    wishes: Wishes
    stop_words: str | None = None  # the file they are in, if it is one

    def files(self, data: str | None) -> dict[str, str | None]:
        """What is read besides, and what it is called where something would be written over it."""
        return {
            "the data": data,
            "the converted data": None if data in (None, "-") else f"{data}{SUFFIX}",
            "the file of stop words": self.stop_words,
        }


class NumberRange(click.FloatRange):
    """Finite numbers from one to another; nan is below none and above none, and not among them."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The number that a person wrote."""
        found = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return found


LAYOUT = (
    click.option(
        "--format",
        "format_",
        metavar="NAME",
        help=f"The format of DATA: {', '.join(s.lstrip('.') for s in FORMATS)}; else found out.",
    ),
    click.option("--separator", metavar="CHAR", help="Between cells: , ; | tab blank."),
    click.option("--header/--no-header", default=None, help="Whether the first line has names."),
    click.option("--decimal", metavar="CHAR", help="The decimal point, . or , ; else found out."),
    click.option("--encoding", metavar="NAME", help="Of the text; UTF-8 if not said."),
)
KINDS = (
    click.option(
        "--number",
        multiple=True,
        metavar="COLUMN",
        help="Take a column as numbers, also written as 1,234 or 3% (which is 3) or $12.50.",
    ),
    click.option("--category", multiple=True, metavar="COLUMN", help="Take it as categories."),
)
text_option = click.option("--text", multiple=True, metavar="COLUMN", help="Take it as words.")
target_option = click.option(
    "--target", metavar="COLUMN", help="The answers; a name, or a number from 1."
)
ignore_option = click.option(
    "--ignore", multiple=True, metavar="COLUMN", help="Leave a column out."
)
COLUMNS = (
    target_option,
    click.option(
        "--positive",
        metavar="VALUE",
        help="The answer that counts as yes; one of three or more is learnt against the rest.",
    ),
    ignore_option,
    *KINDS,
    text_option,
    click.option(
        "--missing",
        type=click.Choice(POLICIES),
        default="error",
        show_default=True,
        help="Where a number is missing: stop, drop the row, or take the mean.",
    ),
    click.option(
        "--stop-words",
        metavar="none|english|FILE",
        default="english",
        show_default=True,
        help="Words of text that are not counted.",
    ),
    click.option(
        "--min-count",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="A word counts if so many rows have it.",
    ),
)
REGRESSORS = (
    target_option,
    ignore_option,
    *KINDS,
    click.option(
        "--missing",
        type=click.Choice([policy for policy in POLICIES if policy != "mean"]),
        default="error",
        show_default=True,
        help="Where a value is missing: stop, or drop the row.",
    ),
)


def too_large(voice: Voice, source: Source, layout: Layout, doing: str) -> bool:
    """Whether a file is to be gone through in passes, which is then said."""
    needs = Footprint.of(source, layout)
    if needs.too_large:
        voice.note(f"{source.name} needs {needs}: {doing} in passes over the file.")
    return needs.too_large


def tell_plan(voice: Voice, plan: Plan) -> None:
    """Say what was guessed of the columns, and what else a person should know of them."""
    if plan.guessed:
        where = column_called(plan.answers.column)
        voice.note(f"{where} taken as the answers: only it has {plan.guessed}.")
    for note in plan.notes:
        voice.note(Message(note, "."))


def layout_options(function: F) -> F:
    """Add the options on the layout of a file; the command gets one `layout`."""

    @functools.wraps(function)
    def packed(**given: Any) -> Any:
        return function(layout=_layout(given), **given)

    return cast(F, _with(packed, LAYOUT))


def reading_options(function: F, columns: tuple[Any, ...] = COLUMNS) -> F:
    """Add all options on reading; the command gets one `reading`."""

    @functools.wraps(function)
    def packed(**given: Any) -> Any:
        words, layout = given.pop("stop_words", "english"), _layout(given)
        file = None if words in STOP_WORDS else words
        return function(reading=Reading(layout, _wishes(given, words, layout), file), **given)

    return cast(F, _with(packed, (*columns, *LAYOUT)))


def regression_options(function: F) -> F:
    """The same for a regression, which has no words."""
    return reading_options(function, REGRESSORS)


def kind_options(function: F) -> F:
    """Add the options on what columns are; the command gets `number`, `category` and `text`."""
    return _with(function, (*KINDS, text_option))


convert_option = click.option(
    "--convert/--no-convert",
    default=True,
    help="Whether text larger than memory is converted once, to a Parquet file beside it.",
)
proof_option = click.option(
    "--proof", type=click.Path(), metavar="FILE", help="Write the proof as JSON."
)


def write_proof(voice: Voice, path: str | None, data: str, plan: Any, proof: Any) -> str | None:
    """Write a proof to the file that was named for it, if any; the file, if it was written."""
    from rosenblatt.model import proof_to_json

    if path is None or proof is None:
        if path is not None:
            voice.note("nothing is proved: there is no proof to write.")
        return None
    text = proof_to_json(plan, proof)
    interrupts.finish()
    write_text(path, text)
    again = " --again" if getattr(proof, "walk", "") else ""
    voice.step(
        "wrote",
        f"{path}: check it with rosenblatt verify {as_argument(path)} {as_argument(data)}{again}",
    )
    return path


def verb(*lines: str) -> Callable[[Callable[..., int]], click.Command]:
    """A verb of the program, by the name of the function; its help ends with lines to run."""
    examples = "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)

    def made(function: Callable[..., int]) -> click.Command:
        return click.command(short_help=VERBS[function.__name__], epilog=examples)(function)

    return made


json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object and nothing else."
)


def _with(function: F, options: tuple[Any, ...]) -> F:
    for option in reversed(options):
        function = option(function)
    return function


def _layout(given: dict[str, Any]) -> Layout:
    separator = given.pop("separator")
    separator = SEPARATORS.get(separator, separator)
    decimal = given.pop("decimal")
    for name, value in (("--separator", separator), ("--decimal", decimal)):
        if value is not None and (len(value) != 1 or not value.isascii() or value in '"\r\n'):
            raise UsageError(f"{name}: give one character.")
    if decimal not in (None, ".", ","):
        raise UsageError("--decimal: give . or ,")
    header, encoding = given.pop("header"), given.pop("encoding")
    return Layout(given.pop("format_"), separator, header, decimal, encoding)


def _wishes(given: dict[str, Any], stop_words: str, layout: Layout) -> Wishes:
    return Wishes(
        target=given.pop("target"),
        positive=given.pop("positive", None),
        ignore=given.pop("ignore"),
        numbers=given.pop("number"),
        categories=given.pop("category"),
        texts=given.pop("text", ()),
        missing=given.pop("missing"),
        vocabulary=Vocabulary.without(_stop_words(stop_words), given.pop("min_count", 1)),
        decimal=layout.decimal,
    )


def _stop_words(given: str) -> str:
    if given in STOP_WORDS:
        return STOP_WORDS[given]
    try:
        with open(given, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError):
        raise OpenError(f"cannot read the stop words in {given}; give none or english.") from None
