"""The `rosenblatt` command line: its commands, error reports and exit codes."""

from __future__ import annotations

import importlib
import os
import shlex
import sys
from contextlib import suppress
from pathlib import Path

import click

import rosenblatt.clock as clock
from rosenblatt import __version__
from rosenblatt.clock import INTERRUPTED as INTERRUPTED
from rosenblatt.errors import Parameter, UserError
from rosenblatt.text import dump_json_line, sanitize

# Each command with its line in `rosenblatt --help`, which imports no command.
COMMANDS = {
    "learn": "Train a linear classifier on a file and write a model.",
    "predict": "Predict the labels of a file with a model.",
    "separable": "Decide whether a file is linearly separable, with a proof.",
    "separation": "Find the infinite estimates of a regression, with a proof.",
    "verify": "Check a proof against a file in exact arithmetic.",
    "stream": "Predict each line of a stream, then learn from it.",
    "experiment": "Count the perceptron algorithm's updates on random data.",
    "watch": "Write a web page that animates the perceptron algorithm.",
}
SETTINGS = {"help_option_names": ["-h", "--help"], "show_default": True}  # of every command
BROKEN_PIPE = 141  # exit code that a shell reports for a command ended by SIGPIPE
# Each exit code of an error with the kind that --json prints.
KINDS = {
    64: "usage",
    65: "data",
    66: "no input",
    70: "internal",
    74: "input or output",
    INTERRUPTED: "interrupted",
}
# Parameters whose option has another name; all other options are named like the parameter.
OPTIONS = {
    "random_state": "--seed",
    "sample_weight": "--weights",
    "fit_intercept": "--no-intercept",  # the only value that messages suggest is False
}
COMPLETE = "_ROSENBLATT_COMPLETE"
COMPLETION = """Shell completion: add one of these lines to your shell's startup file.

\b
  eval "$(_ROSENBLATT_COMPLETE=bash_source rosenblatt)"
  eval "$(_ROSENBLATT_COMPLETE=zsh_source rosenblatt)"
  _ROSENBLATT_COMPLETE=fish_source rosenblatt | source
"""


class Commands(click.Group):
    """Click group that imports the module of a command only when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(f"rosenblatt.cli.{name}"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _print_schema(ctx: click.Context, option: click.Parameter, given: bool) -> None:
    if given:
        click.echo((Path(__file__).parent / "schema.json").read_text(encoding="utf-8"), nl=False)
        ctx.exit()


@click.group(cls=Commands, epilog=COMPLETION, context_settings=SETTINGS)
@click.version_option(__version__, message="rosenblatt %(version)s")
@click.option(
    "--json-schema",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_schema,
    help="Print the JSON schema of what --json prints, and exit.",
)
def rosenblatt() -> None:
    """Train linear classifiers, with proofs.

    Given labeled examples, rosenblatt decides whether a linear classifier can classify all of
    them correctly, with a proof that can be checked again. It returns that classifier, or the
    one with the fewest mistakes that it finds and a lower bound on the number of mistakes.

    Start with `rosenblatt learn`, which uses a built-in data set, or `rosenblatt learn FILE`.
    """
    from rosenblatt.engine import plain_at_first

    click.get_current_context().with_resource(plain_at_first())  # small jobs need no compilation


def main() -> None:
    """Run the command line, and end the process with its exit code."""
    clock.install_handler()
    # Standard streams that were closed (`>&-`) are connected to the null device. Otherwise the next
    # opened file would get the number of standard output, and a model file would get the output.
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            if null != descriptor:
                os.dup2(null, descriptor)
                os.close(null)
            setattr(sys, name, os.fdopen(descriptor, "w" if descriptor else "r", closefd=False))
    try:
        code = run(sys.argv[1:])
    except BrokenPipeError:  # the program that reads the output has closed it, which is no error
        with suppress(BrokenPipeError):
            sys.stdout.flush()
        os._exit(BROKEN_PIPE)  # an orderly exit would abort if another thread is about to write
    clock.exit_with(code)


def run(arguments: list[str]) -> int:
    """Run the command line, report any error in one sentence, and return the exit code.

    After a broken pipe, BrokenPipeError is raised; Click's `main` would exit with code 1, which
    `separable` uses for "not separable".
    """
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments

    def report(sentence: str, code: int) -> int:
        message = f"rosenblatt: {sanitize(sentence)}"
        if "--json" in options:
            error = {"message": sentence, "code": code, "kind": KINDS.get(code, "internal")}
            try:
                click.echo(dump_json_line({"error": error}))
            except BrokenPipeError:
                raise
            except OSError:  # for example, the disk is full, which may be what the error is about
                click.echo(message, err=True)
                os._exit(code)
        click.echo(message, err=True)
        return code

    try:
        with clock.interruptible():
            if os.environ.get(COMPLETE):  # set by a shell that completes a command line
                rosenblatt.main(arguments, "rosenblatt", COMPLETE, standalone_mode=False)
            # In newer versions of Click, a command line without arguments is an error.
            with rosenblatt.make_context("rosenblatt", list(arguments) or ["--help"]) as context:
                code = int(rosenblatt.invoke(context) or 0)
            sys.stdout.flush()
        return INTERRUPTED if clock.interrupt_requested() else code
    except click.exceptions.Exit as end:  # after --help, for example
        return end.exit_code
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "rosenblatt"
        return report(f"{_end_sentence(error.format_message())} See {command} --help.", 64)
    except (EOFError, KeyboardInterrupt):
        click.echo(err=True)  # ends the line on which the terminal shows ^C
        return report("interrupted; nothing was written.", INTERRUPTED)
    except UserError as error:
        return report(error.render(option), error.exit_code)
    except BrokenPipeError:
        raise
    except OSError as error:
        return report(_end_sentence(f"cannot read or write: {error.strerror or error}"), 74)
    except MemoryError:
        return report("not enough memory.", 70)
    except Exception as error:
        if os.environ.get("ROSENBLATT_DEBUG"):
            raise
        what = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        return report(
            f"internal error ({what}). Set ROSENBLATT_DEBUG=1 for the traceback and report it.", 70
        )


def _end_sentence(text: str) -> str:
    return " ".join(text.split()).rstrip(".") + "."


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
