"""`rosenblatt watch`: the page on which the line turns, served to this machine or as a file."""

from __future__ import annotations

import sys
from typing import Any

import click

from rosenblatt.cli.console import Voice
from rosenblatt.cli.options import (
    Reading,
    json_option,
    reading_options,
    tell_plan,
    verb,
)
from rosenblatt.files import keep_apart, keep_others, write_text
from rosenblatt.read import Source
from rosenblatt.read.data import read_data

PAGE_MARK = b"<title>rosenblatt: watch the line turn</title>"  # by which it is known as ours
OPEN_TO_OTHERS = (
    "--host {}: other machines can reach this page; whoever has the address can use it, and it "
    "goes over the network for anyone on the way to read."
)


@verb(
    "rosenblatt watch",
    "rosenblatt watch credit.csv --no-browser",
    "rosenblatt watch --save page.html",
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
@click.option(
    "--save",
    type=click.Path(dir_okay=False),
    help="Write the page as one file, which needs no server and no network, and end.",
)
@reading_options
@json_option
def watch(data: str | None, save: str | None, reading: Reading, as_json: bool, **at: Any) -> int:
    """Show the line turning, correction by correction, on a page of your own.

    The page is served by this program to this machine alone, until Ctrl-C; with a --port of your
    own its address, and links to it, live on. Click to add examples, or give DATA to see your own.
    With --save it is written as a file instead, for anyone to open. With --json the address, or
    the file, is printed as an object.
    """
    voice = Voice(as_json)
    keep_apart(reading.files(data), {"the page": save})
    if save is not None:
        keep_others(save, PAGE_MARK, "a page", "give another name")
        own = None if data is None else _own(data, reading, voice, saved=True)
        return _saved(save, own, voice)
    from rosenblatt.show.page import server

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

    session = server.Session(at["host"], at["port"])
    if at["port"]:
        session = server.Session(at["host"], at["port"], server.kept_token(at["port"]))
    server.serve(server.Service(session, own), browser=at["browser"], told=told)
    voice.note("stopped.")
    return 0


def _saved(path: str, own: dict[str, Any] | None, voice: Voice) -> int:
    from rosenblatt.show.page.assets import page_html

    page = page_html(own)
    write_text(path, page)
    size = len(page.encode())
    voice.step("page", f"{path}, {size / 1000:,.0f} kB: opens in any browser")
    voice.result({"page": path, "bytes": size, "data": None if own is None else own["name"]})
    return 0


def _own(data: str, reading: Reading, voice: Voice, saved: bool = False) -> dict[str, Any]:
    from rosenblatt.show.page.own import SAVED, SERVED, OwnData

    found = read_data(Source.find(data), reading.layout, reading.wishes)
    tell_plan(voice, found.plan)
    own = OwnData.of(found, SAVED if saved else SERVED)
    if own.examples.n < own.rows:
        voice.note(f"the page carries {own.examples.n:,} of {own.rows:,} rows, drawn at random.")
    return own.to_json()
