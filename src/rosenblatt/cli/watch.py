"""`rosenblatt watch`: the page on which the line turns, served to this machine alone."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import click

from rosenblatt.cli import VERBS
from rosenblatt.cli.console import Voice
from rosenblatt.cli.options import (
    Reading,
    examples,
    json_option,
    reading_options,
    tell_plan,
)
from rosenblatt.errors import DataError, UsageError
from rosenblatt.files import keep_apart
from rosenblatt.read import Source
from rosenblatt.read.data import read_data

OPEN_TO_OTHERS = (
    "--host {}: other machines can reach this page; whoever has the address can use it, and it "
    "goes over the network for anyone on the way to read."
)


@click.command(
    short_help=VERBS["watch"],
    epilog=examples(
        "rosenblatt watch",
        "rosenblatt watch credit.csv --no-browser",
    ),
)
@click.argument("data", type=click.Path(), required=False)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default="one that is free",
    help="The port to listen on.",
)
@click.option("--browser/--no-browser", default=True, help="Whether to open the page at once.")
@reading_options
@json_option
def watch(data: str | None, browser: bool, reading: Reading, as_json: bool, **at: Any) -> int:
    """Show the line turning, correction by correction, on a page of your own.

    The page is served by this program to this machine alone, until Ctrl-C. Click to add
    examples, or give DATA to see your own. With --json the address is printed as an object.
    """
    server = _server()
    voice = Voice(as_json)
    keep_apart({"the data": data, "the file of stop words": reading.stop_words}, {})
    own = None if data is None else _own(data, reading, voice)

    def told(session: Any) -> None:
        voice.step("page", session.address)
        if session.others:
            voice.note(OPEN_TO_OTHERS.format(at["host"]))
        for address in session.others:
            voice.step("others", address)
        voice.step("", "Ctrl-C ends it")
        voice.result({"address": session.address, "others": session.others, "data": data})
        sys.stdout.flush()

    service = server.Service(server.Session(at["host"], at["port"]), own)
    server.serve(service, browser=browser, told=told)
    voice.note("stopped.")
    return 0


def _server() -> Any:
    """The server, if what it needs is installed."""
    try:
        return importlib.import_module("rosenblatt.show.page.server")
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0] not in ("starlette", "uvicorn"):
            raise
        raise UsageError(
            f"watch needs {missing.name}; install it with: pip install 'rosenblatt[web]'."
        ) from None


def _own(data: str, reading: Reading, voice: Voice) -> Any:
    from rosenblatt.show.page.requests import OwnData, RequestError

    found = read_data(Source.find(data), reading.layout, reading.wishes)
    tell_plan(voice, found.plan)
    try:
        return OwnData.of(found)
    except RequestError as trouble:
        raise DataError(str(trouble)) from None
