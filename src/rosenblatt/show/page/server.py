"""Server: one page, for who has the token. All that is computed, the page computes itself."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import os
import secrets
import signal
import socket
import sys
import tempfile
import threading
import time
import webbrowser
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import h11
import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from rosenblatt.errors import UsageError
from rosenblatt.show.page.assets import page_html, page_parts

LOOPBACK = ("127.0.0.1", "localhost", "::1")
WILDCARD = ("0.0.0.0", "::", "")
MONTH = 30 * 24 * 3600  # seconds that a browser is known for
FORBIDDEN = (
    "Open the address that `rosenblatt watch` printed: it has the token that lets a page in.\n"
)
HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}


@dataclass(frozen=True)
class Limits:
    """How long and how many strangers are listened to."""

    head: float = 5.0  # seconds for a request
    strangers: int = 64  # connections that have not shown the token


@dataclass(frozen=True)
class Session:
    """Where the server listens, and the token that lets a person in."""

    host: str = "127.0.0.1"
    port: int = 0
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))

    @property
    def cookie(self) -> str:
        """Cookies do not know ports: two servers must not overwrite each other's."""
        return f"rosenblatt-{self.port}"

    @property
    def address(self) -> str:
        """What a person opens on this machine."""
        return self._at("127.0.0.1" if self.host in WILDCARD else self.host)

    @property
    def others(self) -> list[str]:
        """What people on other machines would open, if they can reach this one."""
        if self.host in WILDCARD:
            return [self._at(host) for host in outward(self.host) or [socket.gethostname()]]
        return [] if _is_local(self.host) else [self.address]

    def _at(self, host: str) -> str:
        host = f"[{host}]" if ":" in host else host
        return f"http://{host}:{self.port}/?token={self.token}"

    def admits(self, token: str | None) -> bool:
        """Whether the token is right, in a time that does not tell how much of it is."""
        return token is not None and secrets.compare_digest(token.encode(), self.token.encode())

    def authorizes(self, scope: Scope) -> bool:
        """Whether a request shows the token: in its address or as a cookie."""
        asked = HTTPConnection(scope)
        shown = asked.query_params.get("token"), asked.cookies.get(self.cookie)
        return any(map(self.admits, shown))

    def has_name(self, host: str) -> bool:
        """Whether a Host header names this server, so that no foreign name leads to it.

        Examples
        --------
        >>> own = Session("127.0.0.1", 8000)
        >>> own.has_name("127.0.0.1:8000"), own.has_name("localhost:8000"), own.has_name("evil.com")
        (True, True, False)
        """
        try:
            split = urlsplit(f"//{host}")
            name, port = split.hostname or "", split.port or 80
        except ValueError:
            return False
        if port != self.port or "@" in host or "/" in host:
            return False
        if name in LOOPBACK or name == self.host:
            return True
        # On all addresses: a number cannot be made to lead elsewhere, a foreign name can.
        return self.host in WILDCARD and (_is_number(name) or name == socket.gethostname().lower())


def kept_token(port: int) -> str:
    """The token of a port that a person has chosen, the same at every start: links live on.

    It stands in a file that only they can read; where there can be none, it is new each time.
    """
    folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    file = folder / "rosenblatt" / f"watch-{port}.token"
    new = secrets.token_urlsafe(24)
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            made = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            os.write(made, new.encode())
            os.close(made)
        return file.read_text("ascii").strip() or new
    except (OSError, ValueError, RuntimeError):
        return new


def outward(host: str) -> list[str]:
    """The addresses of this machine by which others reach it; nothing is sent to find out."""
    found = []
    for family, elsewhere in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        if host == "0.0.0.0" and family is socket.AF_INET6:
            continue
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as asking:
            asking.connect((elsewhere, 9))
            found.append(asking.getsockname()[0])
    return [address for address in found if not _is_local(address)]


def _is_local(host: str) -> bool:
    """Whether only this machine reaches an address."""
    with contextlib.suppress(OSError):
        host = str(socket.getaddrinfo(host, None)[0][4][0])
    return _is_number(host) and ipaddress.ip_address(host.partition("%")[0]).is_loopback


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


@dataclass(frozen=True, eq=False)
class Service:
    """What the server serves, to whom, and how long it waits."""

    session: Session = field(default_factory=Session)
    own: dict[str, Any] | None = None  # a person's data, as the page takes them
    limits: Limits = field(default_factory=Limits)


class Guard:
    """Turns away strangers before anything is read, and adds the headers that keep a page safe."""

    def __init__(self, app: ASGIApp, session: Session) -> None:
        self.app, self.session = app, session

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no WebSockets here
            await send({"type": "websocket.close", "code": 1008})
            return

        async def safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                policy = f"{page_parts()[3]}; frame-ancestors 'none'"
                headers = {**HEADERS, "content-security-policy": policy}
                MutableHeaders(scope=message).update(headers)
            await send(message)

        refused = self._refusal(scope)
        await (refused or self.app)(scope, receive, safely)

    def _refusal(self, scope: Scope) -> JSONResponse | None:
        headers = Headers(scope=scope)
        host = headers.getlist("host")
        if len(host) != 1 or not self.session.has_name(host[0]):
            return sentence("this server is not known by that name.", 421)
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{host[0]}":
            return sentence("another site may not ask this server.", 403)
        return None


def sentence(text: str, status: int) -> JSONResponse:
    """An answer that says what is wrong."""
    return JSONResponse({"error": text}, status)


def make_app(service: Service) -> Guard:
    """The server as an ASGI application."""
    app = Starlette(
        routes=[Route("/", _index(service.session, page_html(service.own)), methods=["GET"])],
        exception_handlers=dict.fromkeys((HTTPException, ClientDisconnect, Exception), _trouble),
    )
    # Outside of everything: an answer to what should not happen is guarded too.
    return Guard(app, service.session)


def _index(session: Session, page: str) -> Callable[[Request], Awaitable[Response]]:
    """The page, for who has the token in the address or from an earlier visit."""
    body = page.encode()

    async def index(request: Request) -> Response:
        if session.admits(request.query_params.get("token")):
            # Away from the address at once: what is copied from there is a link without it.
            response: Response = RedirectResponse("/", 303)
            known: dict[str, Any] = {"httponly": True, "samesite": "lax", "max_age": MONTH}
            response.set_cookie(session.cookie, session.token, **known)
            return response
        if session.admits(request.cookies.get(session.cookie)):
            return Response(body, media_type="text/html")
        return PlainTextResponse(FORBIDDEN, 403)

    return index


async def _trouble(request: Request, trouble: Exception) -> Response:
    """One sentence, whatever went wrong."""
    if isinstance(trouble, ClientDisconnect):
        return sentence("the request was broken off.", 400)
    if not isinstance(trouble, HTTPException):
        return sentence(f"this should not happen ({type(trouble).__name__}).", 500)
    told = {404: "there is nothing at this address.", 405: "this address takes another method."}
    status = trouble.status_code
    return sentence(told.get(status, "that cannot be answered."), status)


class Strangers:
    """The connections on which nobody has shown the token yet, the oldest first.

    There is room for a few of them; one more sends the oldest away. So whoever opens hundreds
    and says nothing shuts out nobody, and who has shown the token is never sent away.
    """

    def __init__(self, session: Session, limits: Limits) -> None:
        self.session, self.limits = session, limits
        self.connections: dict[Connection, None] = {}
        self.authorized = threading.Event()  # once someone has shown the token

    def opened(self, connection: Connection) -> None:
        """One more; the oldest may have to go."""
        self.connections[connection] = None
        if len(self.connections) > self.limits.strangers:
            oldest = next(iter(self.connections))
            self.forget(oldest)
            oldest.transport.abort()

    def asked(self, connection: Connection) -> None:
        """A request has come: it is a stranger no more if it shows the token."""
        if connection in self.connections and self.session.authorizes(dict(connection.scope)):
            self.forget(connection)
            self.authorized.set()

    def forget(self, connection: Connection) -> None:
        """It is known, or closed."""
        self.connections.pop(connection, None)


class Connection(H11Protocol):
    """A connection that is closed when a request has not arrived whole in its time.

    Time runs from the opening, and again from the first byte of a further request, however
    often a byte comes in between.
    """

    strangers: Strangers
    stage: Any = None
    timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self.strangers.opened(self)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._stop()
        self.strangers.forget(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take some bytes, and see what is still to come."""
        super().data_received(data)
        if self.conn.their_state not in (h11.IDLE, h11.ERROR):
            self.strangers.asked(self)
        self._wait()

    def on_response_complete(self) -> None:
        """See whether the next request has begun to come already."""
        super().on_response_complete()
        if self.conn.trailing_data[0]:
            self._wait()

    def _wait(self) -> None:
        """Give a request its time."""
        stage = self.conn.their_state
        if stage not in (h11.IDLE, h11.SEND_BODY):
            self._stop()
        elif stage is not self.stage:
            self._stop()
            self.stage = stage
            seconds = self.strangers.limits.head
            self.timer = self.loop.call_later(seconds, self.transport.abort)

    def _stop(self) -> None:
        self.stage = None
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


def serve(service: Service, *, browser: bool, told: Callable[[Session], None]) -> None:
    """Serve the page until Ctrl-C; port 0 takes one that is free, and `told` hears which."""
    listening = listen(service.session)
    session = replace(service.session, port=listening.getsockname()[1])
    server, strangers = server_of(replace(service, session=session))
    # uvicorn ends cleanly at Ctrl-C and then hands the signal on; that is the end, not a fault.
    with contextlib.suppress(KeyboardInterrupt), listening, contextlib.ExitStack() as stack:
        stack.enter_context(_ending_in_order())
        told(session)
        if browser:
            file = stack.enter_context(leading_to(session.address))
            threading.Thread(target=_open, args=(server, strangers, file), daemon=True).start()
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


def server_of(service: Service) -> tuple[uvicorn.Server, Strangers]:
    """The server of a service whose port is known, and who is connected without the token."""
    strangers = Strangers(service.session, service.limits)
    config = uvicorn.Config(
        make_app(service),
        http=type("Connection", (Connection,), {"strangers": strangers}),
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=1,
        ws="none",
    )
    return uvicorn.Server(config), strangers


def listen(session: Session) -> socket.socket:
    """The port of a session, open."""
    host, port = session.host, session.port
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


def _open(server: uvicorn.Server, strangers: Strangers, file: Path) -> None:
    """Open a file in a browser, and remove it as soon as it has led to the page."""
    while not server.started and not server.should_exit:
        time.sleep(0.02)
    if server.started:
        webbrowser.open(file.as_uri())
        strangers.authorized.wait()
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
