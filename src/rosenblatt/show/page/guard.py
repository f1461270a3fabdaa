"""Guard: who may speak to the server, and what it says to everyone."""

from __future__ import annotations

import contextlib
import ipaddress
import secrets
import socket
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = ("127.0.0.1", "localhost", "::1")
TOKEN_HEADER = "x-rosenblatt-token"
WILD = ("0.0.0.0", "::", "")
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}


@dataclass(frozen=True)
class Door:
    """Where the server listens, and the word that lets a page in.

    Parameters
    ----------
    host : str
        The address it listens on.
    port : int
        The port.
    token : str
        New at every start.
    """

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
        return self._at("127.0.0.1" if self.host in WILD else self.host)

    @property
    def others(self) -> list[str]:
        """What people on other machines would open, if they can reach this one."""
        if self.host in WILD:
            return [self._at(host) for host in outward(self.host) or [socket.gethostname()]]
        return [] if _is_local(self.host) else [self.address]

    def _at(self, host: str) -> str:
        host = f"[{host}]" if ":" in host else host
        return f"http://{host}:{self.port}/?token={self.token}"

    def opens_to(self, given: str | None) -> bool:
        """Whether the word is right, in a time that does not tell how much of it is."""
        return given is not None and secrets.compare_digest(given.encode(), self.token.encode())

    def knows_caller(self, scope: Scope) -> bool:
        """Whether a request shows the word: in its address, as a cookie or in a header."""
        asked = HTTPConnection(scope)
        shown = (
            asked.query_params.get("token"),
            asked.cookies.get(self.cookie),
            asked.headers.get(TOKEN_HEADER),
        )
        return any(self.opens_to(word) for word in shown)

    def knows(self, host: str) -> bool:
        """Whether a Host header names this server, so that no foreign name leads to it.

        Examples
        --------
        >>> door = Door("127.0.0.1", 8000)
        >>> door.knows("127.0.0.1:8000"), door.knows("localhost:8000"), door.knows("evil.example")
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
        return self.host in WILD and (_is_number(name) or name == socket.gethostname().lower())


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


class Guard:
    """Turns away strangers before anything is read, and adds the headers that keep a page safe.

    Parameters
    ----------
    app : ASGI application
        What is guarded.
    door : Door
        Where it is and who may come in.
    """

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self.app, self.door = app, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no WebSockets here
            await send({"type": "websocket.close", "code": 1008})
            return

        async def safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        refused = self._refusal(scope)
        await (refused or self.app)(scope, receive, safely)

    def _refusal(self, scope: Scope) -> JSONResponse | None:
        headers = Headers(scope=scope)
        host = headers.getlist("host")
        if len(host) != 1 or not self.door.knows(host[0]):
            return sentence("this server is not known by that name.", 421)
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{host[0]}":
            return sentence("another site may not ask this server.", 403)
        computes = scope["path"].startswith("/api/")
        if computes and not self.door.opens_to(headers.get(TOKEN_HEADER)):
            return sentence(
                "the token is missing or old; open the address again that "
                "`rosenblatt watch` printed.",
                403,
            )
        return None


def sentence(text: str, status: int) -> JSONResponse:
    """An answer that says what is wrong."""
    return JSONResponse({"error": text}, status)
