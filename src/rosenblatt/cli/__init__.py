"""The command line: one verb a job, each in a file of its own, loaded when it is asked for."""

from __future__ import annotations

import functools
import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

import rosenblatt.interrupts as interrupts
from rosenblatt import __version__
from rosenblatt.cli.spelling import option
from rosenblatt.errors import UserError
from rosenblatt.interrupts import INTERRUPTED as INTERRUPTED
from rosenblatt.words import json_line, shown

# Verb -> what it does, as `rosenblatt --help` lists it. Nothing is imported to say so.
VERBS = {
    "learn": "Learn from a file: whether a line answers everything, and that line.",
    "predict": "Answer the rows of a file with a model.",
    "separable": "Say whether a line can answer all rows, with a proof.",
    "separation": "Say which estimates of a regression are infinite, and why.",
    "verify": "Check a proof against a file, in exact arithmetic.",
    "stream": "Predict each line of a stream as it comes, then learn it.",
    "experiment": "Learn many random targets, as exercise 1.4 does.",
    "watch": "Write a page that shows every update of the line, and open it.",
}
READER_GONE = 141  # as a shell says that SIGPIPE ended a program
# Exit code of an error -> what --json calls it.
KINDS = {
    64: "usage",
    65: "data",
    66: "no input",
    70: "internal",
    74: "input or output",
    INTERRUPTED: "interrupted",
}
COMPLETION = """Completion: put one of these in your shell's start-up file.

\b
  eval "$(_ROSENBLATT_COMPLETE=bash_source rosenblatt)"
  eval "$(_ROSENBLATT_COMPLETE=zsh_source rosenblatt)"
  _ROSENBLATT_COMPLETE=fish_source rosenblatt | source
"""


class ReaderGoneError(Exception):
    """Who read what is printed has gone: nothing more can be said, and nothing is wrong."""


@contextmanager
def _while_read() -> Iterator[None]:
    """Click would end with 1 where a pipe is broken, which here means that no line can."""
    try:
        yield
    except BrokenPipeError:
        raise ReaderGoneError from None


class Verbs(click.Group):
    """A group that knows its verbs' names and imports a verb when it is used."""

    def make_context(self, *given: Any, **more: Any) -> click.Context:
        """Help and version are printed here already."""
        with _while_read():
            return super().make_context(*given, **more)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb."""
        with _while_read():
            return super().invoke(ctx)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """The verb; it is this process's one job."""
        found = super().resolve_command(ctx, args)
        from rosenblatt.engine import plain_at_first

        ctx.with_resource(plain_at_first())
        return found

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in VERBS:
            return None
        command: click.Command = getattr(importlib.import_module(f"rosenblatt.cli.{name}"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


@click.group(cls=Verbs, epilog=COMPLETION, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="rosenblatt %(version)s")
def rosenblatt() -> None:
    """Learn to answer yes or no, and know what the answer is worth.

    Give it examples with yes/no answers: it says whether a straight line can answer them all,
    with a proof, and hands you that line, or the one with the fewest mistakes that it finds.

    Begin with `rosenblatt learn`, which uses built-in examples, or `rosenblatt learn FILE`.
    """


def _open_streams() -> None:
    """Give the standard streams that were closed (`>&-`) to nowhere.

    What is opened next would take their place: a model file would get what is printed.
    """
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != descriptor:
                os.dup2(nowhere, descriptor)
                os.close(nowhere)
            setattr(sys, name, os.fdopen(descriptor, "w" if descriptor else "r", closefd=False))


def main() -> None:
    """Run the program and end the process with its exit code."""
    interrupts.listen()
    _open_streams()
    code = run(sys.argv[1:])
    if code == READER_GONE:
        os._exit(code)  # a thread about to write would make an orderly end an abort
    interrupts.exit_with(code)


def run(arguments: list[str]) -> int:
    """Run the program; whatever happens is one sentence on stderr and an exit code."""
    try:
        with _while_read():
            code = _run(arguments)
            sys.stdout.flush()
        return code
    except ReaderGoneError:
        _say_no_more()
        return READER_GONE


def _run(arguments: list[str]) -> int:
    given = arguments[: arguments.index("--")] if "--" in arguments else arguments
    told = functools.partial(_tell, "--json" in given)
    try:
        with interrupts.stoppable():
            code = int(rosenblatt.main(arguments, "rosenblatt", standalone_mode=False) or 0)
        return INTERRUPTED if interrupts.asked() else code
    except click.UsageError as trouble:
        verb = trouble.ctx.command_path if trouble.ctx else "rosenblatt"
        return told(f"{_sentence(trouble.format_message())} See {verb} --help.", 64)
    except (click.Abort, KeyboardInterrupt):
        return told("interrupted; nothing was written.", INTERRUPTED)
    except UserError as trouble:
        return told(trouble.spelled(option), trouble.exit_code)
    except (ReaderGoneError, BrokenPipeError):
        raise
    except OSError as trouble:
        return told(_sentence(f"cannot read or write: {trouble.strerror or trouble}"), 74)
    except MemoryError:
        return told("there is not enough memory for this.", 70)
    except Exception as trouble:
        if os.environ.get("ROSENBLATT_DEBUG"):
            raise
        what = f"{type(trouble).__name__}: {' '.join(str(trouble).split())[:200]}"
        return told(_sentence(f"this should not happen ({what})"), 70)


def _tell(as_json: bool, sentence: str, code: int) -> int:
    """An error in a sentence on stderr, with --json as an object on stdout too; its code."""
    if as_json:
        error = {"message": sentence, "code": code, "kind": KINDS.get(code, "internal")}
        click.echo(json_line({"error": error}))
    click.echo(f"rosenblatt: {shown(sentence)}", err=True)
    return code


def _say_no_more() -> None:
    """Turn what nobody reads to nowhere, so that Python does not complain when it closes it."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _sentence(text: str) -> str:
    return " ".join(text.split()).rstrip(".") + "."
