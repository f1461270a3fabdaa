"""Server: one page, for who has the token. All that is computed, the page computes itself."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import secrets
import signal
import socket
import sys
import tempfile
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from rosenblatt.errors import UsageError
from rosenblatt.show.page.assets import page_html, page_parts

LOOPBACK = ("127.0.0.1", "localhost", "::1")
WILDCARD = ("0.0.0.0", "::", "")
MONTH = 30 * 24 * 3600  # seconds that a browser is known for
FORBIDDEN = (
    "Open the address that `rosenblatt watch` printed: it has the token that lets a page in.\n"
)
HEADERS = {
    "connection": "close",
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
    look: float = 0.5  # seconds between looks at the clock


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
        if name in LOOPBACK or name == self.host.lower():
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


class Server(ThreadingHTTPServer):
    """The server of a service whose port is known, and the connections of strangers.

    A connection is for one request, which has to arrive whole in its time. There is room for a
    few that have not shown the token; one more sends the oldest away. So whoever opens hundreds
    and says nothing shuts out nobody, and who has shown the token is never sent away.
    """

    daemon_threads = True  # whoever is still reading keeps nobody from ending

    def __init__(self, service: Service, listening: socket.socket) -> None:
        super().__init__(("", 0), Answer, bind_and_activate=False)
        self.socket.close()
        self.socket, self.session, self.limits = listening, service.session, service.limits
        self.page = page_html(service.own).encode()
        self.strangers: dict[socket.socket, float] = {}  # since when, the oldest first
        self.authorized = threading.Event()  # once someone has shown the token

    def run(self) -> None:
        """Answer until Ctrl-C."""
        self.serve_forever(self.limits.look)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Take one more connection; the oldest may have to go."""
        self.strangers[request] = time.monotonic()
        self._send_away(len(self.strangers) - self.limits.strangers)
        super().process_request(request, client_address)

    def service_actions(self) -> None:
        """Send away who has taken too long; it is asked for now and then."""
        late = time.monotonic() - self.limits.head
        self._send_away(sum(since < late for since in list(self.strangers.values())))

    def _send_away(self, many: int) -> None:
        for connection in list(self.strangers)[: max(0, many)]:
            self.strangers.pop(connection, None)
            with contextlib.suppress(OSError):  # its thread then reads to the end
                connection.shutdown(socket.SHUT_RDWR)

    def shutdown_request(self, request: Any) -> None:
        """Forget a connection that was answered."""
        self.strangers.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of connections that break."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class Answer(BaseHTTPRequestHandler):
    """The answer to one request: the page, for who has the token, or a sentence."""

    server: Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Give the page to who has the token in the address or from an earlier visit."""
        session, (path, _, query) = self.server.session, self.path.partition("?")
        shown = parse_qs(query).get("token", [None])[0]
        known = any(map(session.admits, (shown, self._cookie())))
        if known:
            self.server.strangers.pop(self.connection, None)
            self.server.authorized.set()
        if (refusal := self._refusal(path)) is not None:
            self._refuse(*refusal)
        elif session.admits(shown):
            # Away from the address at once: what is copied from there is a link without it.
            kept = f"{session.cookie}={session.token}; HttpOnly; Max-Age={MONTH}; Path=/"
            self._send(
                303, "text/plain", headers={"location": "/", "set-cookie": f"{kept}; SameSite=lax"}
            )
        elif known:
            self._send(200, "text/html", self.server.page)
        else:
            self._send(403, "text/plain", FORBIDDEN.encode())

    def do_HEAD(self) -> None:
        """The same, without the page."""
        self.do_GET()

    def _refusal(self, path: str) -> tuple[int, str] | None:
        """Why a request gets no page, whoever asks."""
        host, origin = self.headers.get_all("host", []), self.headers.get("origin")
        if len(host) != 1 or not self.server.session.has_name(host[0]):
            return 421, "this server is not known by that name."
        if origin is not None and origin != f"http://{host[0]}":
            return 403, "another site may not ask this server."
        return None if path == "/" else (404, "there is nothing at this address.")

    def _cookie(self) -> str | None:
        """The token that a browser was told at an earlier visit."""
        kept = (part.strip().partition("=") for part in self.headers.get("cookie", "").split(";"))
        return next((value for name, _, value in kept if name == self.server.session.cookie), None)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse other methods, and what is no request."""
        if code == HTTPStatus.NOT_IMPLEMENTED:
            self._refuse(HTTPStatus.METHOD_NOT_ALLOWED, "this server is asked with GET alone.")
        else:
            self._refuse(code, "that cannot be answered.")

    def _refuse(self, status: int, told: str) -> None:
        self._send(status, "application/json", json.dumps({"error": told}).encode())

    def _send(
        self, status: int, kind: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> None:
        """An answer, with the headers that keep a page safe."""
        self.send_response_only(status)
        self.send_header("content-type", f"{kind}; charset=utf-8")
        self.send_header("content-length", str(len(body)))
        self.send_header("content-security-policy", f"{page_parts()[3]}; frame-ancestors 'none'")
        for name, value in {**HEADERS, **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the terminal is for the person."""


def serve(service: Service, *, browser: bool, told: Callable[[Session], None]) -> None:
    """Serve the page until Ctrl-C; port 0 takes one that is free, and `told` hears which."""
    listening = listen(service.session)
    session = replace(service.session, port=listening.getsockname()[1])
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.suppress(KeyboardInterrupt))  # the end, not a fault
        server = stack.enter_context(Server(replace(service, session=session), listening))
        stack.enter_context(_ending_in_order())
        told(session)
        if browser:
            file = stack.enter_context(leading_to(session.address))
            threading.Thread(target=_open, args=(server, file), daemon=True).start()
        server.run()


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


def _open(server: Server, file: Path) -> None:
    """Open a file in a browser, and remove it as soon as it has led to the page."""
    webbrowser.open(file.as_uri())
    server.authorized.wait()
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
