"""The running server survives what networks do to it, and ends politely at Ctrl-C."""

import socket
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import parse_qs, urlsplit

import pytest
from screen import Screen
from serving import serving

pytestmark = pytest.mark.slow_without_jit


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


def request(server, path="/", method="GET", **more):
    token = parse_qs(server.query)["token"][0]
    headers = {
        "Host": server.netloc,
        "Cookie": f"rosenblatt-{server.port}={token}",
        "Connection": "close",
        **more,
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items() if value is not None)
    return f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode()


def is_well(server):
    """Whether its owner still gets the page, with the data in it."""
    head, _, body = spoken(server, request(server)).partition(b"\r\n\r\n")
    assert b" 200 " in head.splitlines()[0]
    return b'"name":"flowers.csv"' in body


@pytest.mark.parametrize(
    "raw",
    [
        b"\x00\xff\x00\xff\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",
    ],
)
def test_malformed_requests_hurt_nobody(server, raw):
    spoken(server, raw, close=True)
    assert is_well(server)


def test_requests_that_break_off_hurt_nobody(server):
    whole = request(server)
    for end in (10, len(whole) - 60, len(whole) - 1, len(whole)):
        spoken(server, whole[:end], close=True)
    assert is_well(server)


def test_a_body_is_refused_before_it_is_read(server):
    heard = spoken(server, request(server, method="POST", **{"Content-Length": "99999999999"}))
    assert b" 405 " in heard.splitlines()[0]
    assert is_well(server)


def test_a_stranger_without_the_token_or_by_another_name_learns_nothing(server):
    for answer, more in ((b" 403 ", {"Cookie": None}), (b" 421 ", {"Host": "evil.example"})):
        heard = spoken(server, request(server, **more))
        assert answer in heard
        assert b"flowers" not in heard


def test_a_link_lives_on_when_watch_is_started_again(flowers, browser, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    context = browser.new_context()
    with serving(flowers, "--port", port) as address:
        first = Screen(context, address, "#x=wide&y=high&data=file&order=first&t=2")
        with first.learning():
            first.page.locator(".rb-plane").click(position={"x": 60, "y": 60})
        link = first.ask("() => window.rosenblatt.writeAddress()")
        state = first.ask("() => JSON.stringify(window.rosenblatt.state)")
    assert "token" not in link
    with serving(flowers, "--port", port):
        second = Screen(context, link, "")
        assert second.ask("() => JSON.stringify(window.rosenblatt.state)") == state
        assert (first.troubles, second.troubles) == ([], [])
    context.close()


def test_it_listens_to_this_machine_alone(server):
    assert server.hostname == "127.0.0.1"
    with pytest.raises(OSError, match=r"refused|unreachable|timed out|assign"):
        socket.create_connection(("127.0.0.2", server.port), timeout=2)


def test_many_at_once_are_all_answered(server):
    with ThreadPoolExecutor(12) as pool:
        assert all(pool.map(lambda _: is_well(server), range(36)))
