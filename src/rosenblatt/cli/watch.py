"""`rosenblatt watch`: write the web page that animates PLA to a file, and open it."""

from __future__ import annotations

import os
import shlex
import socket
import tempfile
import webbrowser
from pathlib import Path
from typing import Any

import click

import rosenblatt.clock as clock
from rosenblatt.cli.shared import Console, Reading, command, reading_options, report_plan
from rosenblatt.files import check_overwrite, keep_apart, write_text
from rosenblatt.read import Source
from rosenblatt.read.data import read_data

PAGE_MARK = b"<title>rosenblatt: watch the line turn</title>"  # identifies a page of this program


@command(
    "rosenblatt watch",
    "rosenblatt watch credit.csv --no-browser",
    "rosenblatt watch --save page.html",
)
@click.argument("data", type=click.Path(), required=False)
@click.option(
    "--save",
    type=click.Path(dir_okay=False),
    help="File to write the page to (default: a temporary file).",
)
@click.option(
    "--browser/--no-browser",
    default=True,
    show_default=False,
    help="Whether to open the page in a browser.",
)
@reading_options
def watch(data: str | None, save: str | None, browser: bool, as_json: bool, **given: Any) -> int:
    """Write a web page that animates the perceptron and pocket algorithms, and open it.

    The page shows every update on DATA, or on examples that you add by clicking. It is one HTML
    file that needs no network and no server. Without --save it is written to a temporary file,
    which is not deleted. With --json, no browser is opened.
    """
    from rosenblatt.show.browser import own_data, page_html

    console, reading = Console(as_json), Reading.pop(given)
    keep_apart(reading.files(data), {"the page": save})
    if save is not None:
        check_overwrite(save, PAGE_MARK, "a page", "give another name")
    own = None
    if data is not None:
        found = read_data(Source.find(data), reading.layout, reading.columns)
        report_plan(console, found.plan)
        own = own_data(found)
        drawn, rows = len(own["X"]), own["rows"]
        if drawn < rows:
            console.note(f"the page contains {drawn:,} of {rows:,} rows, chosen at random.")
    page = page_html(own)
    path = save
    if path is None:
        # Browsers that are installed as snaps cannot read /tmp, but they can read the home folder.
        folder = Path.home() if Path("/snap/bin").is_dir() else None
        handle, path = tempfile.mkstemp(".html", "rosenblatt-", folder)  # only its owner can read
        os.close(handle)
    clock.ignore_interrupts()
    write_text(path, page)
    size = len(page.encode())
    console.step("page", f"{path}, {size / 1000:,.0f} kB: opens in any browser")
    if browser and not as_json and not _open(path):
        there = shlex.quote(f"{socket.gethostname()}:{os.path.abspath(path)}")
        console.step("", f"no browser found; on another machine: scp {there} . and open the copy")
    console.result({"page": path, "bytes": size, "data": None if own is None else own["name"]})
    return 0


def _open(path: str) -> bool:
    """Open a file in the browser; return False if no browser can show it."""
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    # A text browser cannot show the page, unless BROWSER asks for it.
    if type(browser) is webbrowser.GenericBrowser and "BROWSER" not in os.environ:
        return False
    return browser.open(Path(path).resolve().as_uri())
