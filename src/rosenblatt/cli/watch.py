"""`rosenblatt watch`: the page on which the line turns, served to this machine alone."""

from __future__ import annotations

from typing import Any

import click

from rosenblatt.cli import VERBS
from rosenblatt.cli.options import Reading, reading_options
from rosenblatt.errors import DataError, UsageError
from rosenblatt.read import Source
from rosenblatt.read.data import read_data


@click.command(short_help=VERBS["watch"])
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
def watch(data: str | None, host: str, port: int, browser: bool, reading: Reading) -> int:
    """Show the line turning, correction by correction, on a page of your own.

    The page is served by this program to this machine alone, until Ctrl-C. Click to add
    examples, or give DATA to see your own.
    """
    house, serve = _rooms()
    own = None if data is None else _own(data, reading)
    serve(house(own, host, port), browser=browser, told=_tell)
    click.echo("rosenblatt: stopped.", err=True)
    return 0


def _rooms() -> tuple[Any, Any]:
    """The server, if what it needs is installed."""
    try:
        from rosenblatt.show.page.guard import Door
        from rosenblatt.show.page.serve import serve
        from rosenblatt.show.page.server import House
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0] not in ("starlette", "uvicorn"):
            raise
        raise UsageError(
            f"watch needs {missing.name}; install it with: pip install 'rosenblatt[web]'."
        ) from None
    return (lambda own, host, port: House(Door(host, port), own)), serve


def _own(data: str, reading: Reading) -> Any:
    from rosenblatt.show.page.limits import AskError
    from rosenblatt.show.page.own import Own

    try:
        return Own.of(read_data(Source.find(data), reading.layout, reading.wishes))
    except AskError as trouble:
        raise DataError(str(trouble)) from None


def _tell(address: str) -> None:
    click.echo(f"rosenblatt: the page is at {address}", err=True)
    click.echo("rosenblatt: Ctrl-C ends it.", err=True)
