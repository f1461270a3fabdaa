"""The running server survives what networks do to it, and ends politely at Ctrl-C."""

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import parse_qs, urlsplit

import pytest

pytest.importorskip("uvicorn", reason="the extra `web` is not installed")
pytestmark = pytest.mark.slow_without_jit

ASKED = {
    "points": [[0.5, 0.5], [-0.5, -0.25]],
    "answers": [1, -1],
    "algorithm": "pocket",
    "order": "random",
    "zero": "mistake",
    "eta": 1.0,
    "start": [0, 0, 0],
    "seed": 0,
    "corrections": 100,
}


@pytest.fixture
def server(address):
    return urlsplit(address)


def spoken(server, raw, *, close=False):
    """Send bytes and hear what comes back, or go away without listening."""
    with socket.create_connection((server.hostname, server.port), timeout=20) as line:
        line.sendall(raw)
        if close:
            return b""
        heard = b""
        while part := line.recv(65536):
            heard += part
        return heard


def request(server, path="/api/story", body=b"", **more):
    headers = {
        "Host": server.netloc,
        "X-Rosenblatt-Token": parse_qs(server.query)["token"][0],
        "Content-Length": str(len(body)),
        "Connection": "close",
        **more,
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items() if value is not None)
    return f"POST {path} HTTP/1.1\r\n{lines}\r\n".encode() + body


def is_well(server):
    """Whether a right question still gets its answer."""
    heard = spoken(server, request(server, body=json.dumps(ASKED).encode()))
    head, _, body = heard.partition(b"\r\n\r\n")
    assert b" 200 " in head.splitlines()[0]
    return json.loads(body)["story"]["reason"] == "no mistakes"


@pytest.mark.parametrize(
    "raw",
    [
        b"\x00\xff\x00\xff\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\r\n\r\n",
        b"POST /api/story HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"POST /api/story HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
        b"POST /api/story HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",
    ],
)
def test_malformed_requests_hurt_nobody(server, raw):
    spoken(server, raw, close=True)
    assert is_well(server)


def test_requests_that_break_off_hurt_nobody(server):
    whole = request(server, body=json.dumps(ASKED).encode())
    for end in (10, len(whole) - 60, len(whole) - 1, len(whole)):
        spoken(server, whole[:end], close=True)
    assert is_well(server)


def test_oversized_bodies_are_refused_before_they_are_read(server):
    large = request(server, body=b"", **{"Content-Length": "99999999999"})
    heard = spoken(server, large)
    assert b" 413 " in heard.splitlines()[0]
    assert b"larger than the 2,000,000 bytes" in heard
    assert is_well(server)


def test_a_stranger_without_the_token_or_by_another_name_learns_nothing(server):
    body = json.dumps(ASKED).encode()
    assert b" 403 " in spoken(server, request(server, body=body, **{"X-Rosenblatt-Token": None}))
    assert b" 421 " in spoken(server, request(server, body=body, Host="evil.example"))


def test_it_listens_to_this_machine_alone(server):
    assert server.hostname == "127.0.0.1"
    with pytest.raises(OSError, match=r"refused|unreachable|timed out|assign"):
        socket.create_connection(("127.0.0.2", server.port), timeout=2)


def test_many_at_once_are_all_answered(server):
    with ThreadPoolExecutor(12) as pool:
        assert all(pool.map(lambda _: is_well(server), range(36)))
