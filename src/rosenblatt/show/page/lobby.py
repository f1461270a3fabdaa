"""Lobby: open connections, how long they may dawdle, and who goes when there are too many."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from rosenblatt.show.page.guard import Door
from rosenblatt.show.page.limits import Limits


class Lobby:
    """The connections on which nobody has shown the token yet, the oldest first.

    There is room for a few of them; one more sends the oldest away. So whoever opens hundreds
    and says nothing shuts out nobody, and who has shown the token is never sent away.

    Parameters
    ----------
    door : Door
        Knows the token.
    limits : Limits
        How many strangers there is room for, and how long a request may take to arrive.
    """

    def __init__(self, door: Door, limits: Limits) -> None:
        self.door, self.limits = door, limits
        self.strangers: dict[Connection, None] = {}
        self.visited = threading.Event()  # once someone has shown the token

    def enter(self, connection: Connection) -> None:
        """A connection opens."""
        self.strangers[connection] = None
        if len(self.strangers) > self.limits.strangers:
            oldest = next(iter(self.strangers))
            self.leave(oldest)
            oldest.transport.abort()

    def know(self, connection: Connection) -> None:
        """Let a connection stay if its request shows the token."""
        if connection in self.strangers and self.door.knows_caller(dict(connection.scope)):
            self.leave(connection)
            self.visited.set()

    def leave(self, connection: Connection) -> None:
        """It is a stranger no more, or gone."""
        self.strangers.pop(connection, None)

    def protocol(self) -> type[Connection]:
        """What uvicorn makes of each connection to this lobby."""
        return type("Connection", (Connection,), {"lobby": self})


class Connection(H11Protocol):
    """A connection that is closed when a request has not arrived whole in its time.

    Time runs from the opening, and again from the first byte of a further request, however
    often a byte comes in between.
    """

    lobby: Lobby
    stage: Any = None
    timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self.lobby.enter(self)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._stop()
        self.lobby.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take some bytes, and see what is still to come."""
        super().data_received(data)
        if self.conn.their_state not in (h11.IDLE, h11.ERROR):
            self.lobby.know(self)
        self._wait()

    def on_response_complete(self) -> None:
        """See whether the next request has begun to come already."""
        super().on_response_complete()
        if self.conn.trailing_data[0]:
            self._wait()

    def _wait(self) -> None:
        """Give the head of a request its time, and its body its own."""
        stage = self.conn.their_state
        if stage not in (h11.IDLE, h11.SEND_BODY):
            self._stop()
        elif stage is not self.stage:
            self._stop()
            self.stage = stage
            limits = self.lobby.limits
            seconds = limits.head if stage is h11.IDLE else limits.seconds + limits.head
            self.timer = self.loop.call_later(seconds, self.transport.abort)

    def _stop(self) -> None:
        self.stage = None
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
