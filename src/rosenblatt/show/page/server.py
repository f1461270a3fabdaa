"""Server: one page, its static files, and four calls that compute."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from rosenblatt import __version__
from rosenblatt.show.page.ask import ALGORITHMS, columns_asked, parsed, preset_asked, run_asked
from rosenblatt.show.page.assets import static_files, text_of
from rosenblatt.show.page.guard import Door, Guard, sentence
from rosenblatt.show.page.limits import AskError, Limits
from rosenblatt.show.page.own import Own
from rosenblatt.show.page.presets import preset
from rosenblatt.show.page.work import Deadline, story_bytes, too_long

WORKERS = 2
CALLER = "Open the address that `rosenblatt watch` printed: it has the token that lets a page in.\n"
Call = Callable[[dict[str, Any]], bytes]


@dataclass(frozen=True, eq=False)
class House:
    """What the server serves, to whom, and how much of it.

    Parameters
    ----------
    door : Door
        Where it listens and the token.
    own : Own, optional
        A person's own data.
    limits : Limits
        The most a call may ask for.
    """

    door: Door = field(default_factory=Door)
    own: Own | None = None
    limits: Limits = field(default_factory=Limits)


class Office:
    """Does the computing calls, a few at a time, each in the time it is given."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="rosenblatt")
        self.busy = 0

    async def answer(self, request: Request, call: Call) -> Response:
        """Read what is asked, work on it beside the server, and answer."""
        limits = self.house.limits
        try:
            body = await asyncio.wait_for(self._body(request), limits.seconds)
        except TimeoutError:
            raise AskError("the request came too slowly.", 408) from None
        if self.busy >= limits.waiting:
            raise AskError("the server is busy with other calls; try again in a moment.", 503)
        loop = asyncio.get_running_loop()
        self.busy += 1
        work = loop.run_in_executor(self.pool, lambda: call(parsed(body)))
        work.add_done_callback(self._done)
        try:
            found = await asyncio.wait_for(asyncio.shield(work), 2 * limits.seconds)
        except TimeoutError:
            work.cancel()
            raise too_long(limits.seconds) from None
        return Response(found, media_type="application/json")

    def _done(self, work: asyncio.Future[bytes]) -> None:
        self.busy -= 1
        if not work.cancelled():
            work.exception()  # an answer that nobody waits for any more is no trouble

    async def _body(self, request: Request) -> bytes:
        most = self.house.limits.body
        declared = request.headers.get("content-length", "")
        if declared.isdigit() and int(declared) > most:
            raise _too_large(most)
        parts, size = [], 0
        async for part in request.stream():
            size += len(part)
            if size > most:
                raise _too_large(most)
            parts.append(part)
        return b"".join(parts)


def make_app(house: House) -> Guard:
    """The server as an ASGI application.

    Parameters
    ----------
    house : House
        What it serves.
    """
    office = Office(house)
    own, limits = house.own, house.limits

    def story(given: dict[str, Any]) -> bytes:
        return story_bytes(run_asked(given, limits, own), Deadline(limits.seconds))

    def call(work: Call) -> Callable[[Request], Awaitable[Response]]:
        async def answered(request: Request) -> Response:
            return await office.answer(request, work)

        return answered

    calls: dict[str, Call] = {
        "about": lambda given: _json(_about(house)),
        "preset": lambda given: _json(preset(*preset_asked(given)).to_json()),
        "columns": lambda given: _json(columns_asked(given, own).to_json()),
        "story": story,
    }
    app = Starlette(
        routes=[
            Route("/", _index(house.door), methods=["GET"]),
            Route("/static/{name}", _static, methods=["GET"]),
            *(Route(f"/api/{name}", call(work), methods=["POST"]) for name, work in calls.items()),
        ],
        exception_handlers={
            AskError: _told,
            HTTPException: _http,
            ClientDisconnect: _gone,
            Exception: _unexpected,
        },
        lifespan=_warm(office),
    )
    # Outside of everything: an answer to what should not happen is guarded too.
    return Guard(app, house.door)


def _warm(office: Office) -> Any:
    """Compile what a first step needs while the browser is still opening."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> Any:
        for algorithm in ALGORITHMS:
            office.pool.submit(_practise, algorithm)
        yield
        office.pool.shutdown(wait=False, cancel_futures=True)

    return lifespan


def _practise(algorithm: str) -> None:
    plane = preset("separable", 0).to_json()
    settings = {"algorithm": algorithm, "order": "cycle", "zero": "mistake", "eta": 1.0}
    given = {**plane, **settings, "seed": 0, "corrections": 50}
    story_bytes(run_asked(given, Limits(), None), Deadline(600.0))


def _about(house: House) -> dict[str, Any]:
    return {
        "version": __version__,
        "limits": asdict(house.limits),
        "file": None if house.own is None else house.own.to_json(),
    }


def _index(door: Door) -> Callable[[Request], Awaitable[Response]]:
    """The page, for who has the token in the address or from an earlier visit."""
    page = text_of("index.html").replace('content="TOKEN"', f'content="{door.token}"')

    async def index(request: Request) -> Response:
        if door.opens_to(request.query_params.get("token")):
            # Away from the address at once: what is copied from there is a link without it.
            response: Response = RedirectResponse("/", 303)
            response.set_cookie(door.cookie, door.token, httponly=True, samesite="lax")
            return response
        if door.opens_to(request.cookies.get(door.cookie)):
            return Response(page, media_type="text/html")
        return PlainTextResponse(CALLER, 403)

    return index


async def _static(request: Request) -> Response:
    found = static_files().get(request.path_params["name"])
    if found is None or found[1].startswith("text/html"):
        raise HTTPException(404)
    return Response(found[0], headers={"content-type": found[1]})


async def _told(request: Request, trouble: Exception) -> Response:
    return sentence(str(trouble), getattr(trouble, "status", 422))


async def _http(request: Request, trouble: Exception) -> Response:
    status = getattr(trouble, "status_code", 500)
    told = {404: "there is nothing at this address.", 405: "this address takes another method."}
    return sentence(told.get(status, "that cannot be answered."), status)


async def _gone(request: Request, trouble: Exception) -> Response:
    return sentence("the request was broken off.", 400)


async def _unexpected(request: Request, trouble: Exception) -> Response:
    return sentence(f"this should not happen ({type(trouble).__name__}).", 500)


def _too_large(most: int) -> AskError:
    return AskError(f"the request is larger than the {most:,} bytes that this server takes.", 413)


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
