"""Serve: open a port, tell the address, and run until Ctrl-C."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
import webbrowser
from collections.abc import Callable
from dataclasses import replace

import uvicorn

from rosenblatt.errors import UsageError
from rosenblatt.show.page.server import House, make_app


def serve(house: House, *, browser: bool, told: Callable[[str], None]) -> None:
    """Serve the page until Ctrl-C.

    Parameters
    ----------
    house : House
        What to serve; port 0 takes one that is free.
    browser : bool
        Whether to open the page in a browser.
    told : callable
        Called with the address once the port is open.
    """
    listening = _socket(house.door.host, house.door.port)
    door = replace(house.door, port=listening.getsockname()[1])
    server = uvicorn.Server(
        uvicorn.Config(
            make_app(replace(house, door=door)),
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_keep_alive=5,
            timeout_graceful_shutdown=1,
            ws="none",
        )
    )
    # uvicorn ends cleanly at Ctrl-C and then hands the signal on; that is the end, not a fault.
    with contextlib.suppress(KeyboardInterrupt), listening:
        told(door.address)
        if browser:
            threading.Thread(target=_open, args=(server, door.address), daemon=True).start()
        server.run(sockets=[listening])


def _socket(host: str, port: int) -> socket.socket:
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


def _open(server: uvicorn.Server, address: str) -> None:
    while not server.started and not server.should_exit:
        time.sleep(0.02)
    if server.started:
        webbrowser.open(address)
