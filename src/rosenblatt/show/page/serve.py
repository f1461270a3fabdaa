"""Serve: open a port, tell the address, and run until Ctrl-C."""

from __future__ import annotations

import contextlib
import signal
import socket
import sys
import tempfile
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from dataclasses import replace
from html import escape
from pathlib import Path

import uvicorn

from rosenblatt.errors import UsageError
from rosenblatt.show.page.guard import Door
from rosenblatt.show.page.lobby import Lobby
from rosenblatt.show.page.server import House, make_app


def serve(house: House, *, browser: bool, told: Callable[[Door], None]) -> None:
    """Serve the page until Ctrl-C.

    Parameters
    ----------
    house : House
        What to serve; port 0 takes one that is free.
    browser : bool
        Whether to open the page in a browser.
    told : callable
        Called with the door once the port is open.
    """
    listening = listen(house.door)
    door = replace(house.door, port=listening.getsockname()[1])
    server, lobby = server_of(replace(house, door=door))
    # uvicorn ends cleanly at Ctrl-C and then hands the signal on; that is the end, not a fault.
    with contextlib.suppress(KeyboardInterrupt), listening, contextlib.ExitStack() as stack:
        stack.enter_context(_ending_in_order())
        told(door)
        if browser:
            file = stack.enter_context(leading_to(door.address))
            threading.Thread(target=_open, args=(server, lobby, file), daemon=True).start()
        server.run(sockets=[listening])


@contextlib.contextmanager
def _ending_in_order() -> Iterator[None]:
    """Let SIGTERM, too, end what is under way, so that no file is left behind."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are for the main thread alone
        return
    before = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def server_of(house: House) -> tuple[uvicorn.Server, Lobby]:
    """The server of a house whose port is known, and who is in its lobby."""
    lobby = Lobby(house.door, house.limits)
    config = uvicorn.Config(
        make_app(house),
        http=lobby.protocol(),
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=1,
        ws="none",
    )
    return uvicorn.Server(config), lobby


def listen(door: Door) -> socket.socket:
    """The port of a door, open."""
    host, port = door.host, door.port
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(128)  # a browser that is faster than the server waits
    except (OSError, OverflowError) as trouble:
        why = getattr(trouble, "strerror", None) or trouble
        raise UsageError(
            f"cannot listen on {host}, port {port}: {why}. Give another --port or --host."
        ) from None
    return listening


def _open(server: uvicorn.Server, lobby: Lobby, file: Path) -> None:
    """Open a file in a browser, and remove it as soon as it has led to the page."""
    while not server.started and not server.should_exit:
        time.sleep(0.02)
    if server.started:
        webbrowser.open(file.as_uri())
        lobby.visited.wait()
        file.unlink(missing_ok=True)


@contextlib.contextmanager
def leading_to(address: str) -> Iterator[Path]:
    """A file that leads a browser to an address, and that only its owner can read.

    Everyone on a machine sees with what arguments a program was started: a browser gets the name
    of this file there and not the token. It is in the home folder, for there are browsers that
    are shut out of every other.
    """
    text = f'<!doctype html><meta http-equiv="refresh" content="0;url={escape(address)}">\n'
    try:
        handle, name = tempfile.mkstemp(".html", "rosenblatt-", Path.home())
    except (OSError, RuntimeError):
        handle, name = tempfile.mkstemp(".html", "rosenblatt-")
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)
