"""The server of the page, by raw sockets: who dawdles, who crowds, who listens, who reads along."""

import contextlib
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from serving import answering

from rosenblatt.cli import run
from rosenblatt.show.page.server import Limits, Server, Session, kept_token, leading_to

PATIENT = Limits(head=600.0, look=0.02)  # so long that no test waits for it
HASTY = Limits(head=0.05, look=0.02)


@pytest.fixture
def patient():
    with answering(limits=PATIENT) as server:
        yield server


@pytest.fixture
def hasty():
    with answering(limits=HASTY) as server:
        yield server


def connect(session):
    return socket.create_connection((session.host, session.port), timeout=60)


def head(session, path="/", *more):
    """The first lines of a request by the owner."""
    cookie = f"Cookie: {session.cookie}={session.token}"
    lines = [f"GET {path} HTTP/1.1", f"Host: {session.host}:{session.port}", cookie, *more, "", ""]
    return "\r\n".join(lines).encode()


def answered(connection):
    """All that comes until the other side closes; what is cut off is nothing."""
    with contextlib.suppress(ConnectionResetError):
        return b"".join(iter(lambda: connection.recv(65536), b""))
    return b""


def page_for_the_owner(session):
    with connect(session) as owner:
        owner.sendall(head(session, "/", "Connection: close"))
        return answered(owner)


HALVES = {
    "nothing": lambda session: b"",
    "half a line": lambda session: b"GET / HT",
    "half a head": lambda session: head(session)[:-2],
    "half a body": lambda session: (
        head(session, "/", "Content-Length: 99").replace(b"GET", b"POST") + b"{"
    ),
    "a request and half of another": lambda session: head(session) + head(session)[:-2],
}  # fmt: skip


@pytest.mark.parametrize("half", HALVES)
def test_a_half_sent_request_is_given_up(hasty, half):
    session = hasty.session
    with connect(session) as slow:
        slow.sendall(HALVES[half](session))
        answered(slow)  # ends: the server has closed
    assert not hasty.strangers
    assert b"200 OK" in page_for_the_owner(session)


def test_a_byte_now_and_then_does_not_prolong_it(hasty):
    with connect(hasty.session) as slow, contextlib.suppress(BrokenPipeError, ConnectionResetError):
        slow.settimeout(0.001)
        while True:  # until it is closed
            slow.sendall(b"G")
            with contextlib.suppress(TimeoutError):
                assert slow.recv(1) == b""
                break


def test_four_hundred_idle_sockets_do_not_lock_the_owner_out(patient):
    session = patient.session
    with contextlib.ExitStack() as crowd:
        owner = crowd.enter_context(connect(session))
        owner.sendall(head(session))
        begun = owner.recv(1)  # and reads no further for now
        for _ in range(400):
            crowd.enter_context(connect(session))
        assert b"200 OK" in page_for_the_owner(session)
        assert len(patient.strangers) <= PATIENT.strangers
        # The connection that had shown the token was not among those sent away.
        assert (begun + answered(owner)).endswith(b"</html>\n")


def test_the_oldest_stranger_goes_first():
    with answering(limits=replace(PATIENT, strangers=2)) as server:
        oldest, second, third = (connect(server.session) for _ in range(3))
        assert answered(oldest) == b""
        for connection in (second, third):
            with connection:
                connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                assert answered(connection).startswith(b"HTTP/1.1 421")
        oldest.close()


@pytest.mark.skipif(sys.platform == "win32", reason="files have other permissions there")
def test_the_file_that_leads_to_the_page_is_for_its_owner_alone(tmp_path, monkeypatch):
    for home in (tmp_path, tmp_path / "no such folder"):
        monkeypatch.setenv("HOME", str(home))
        with leading_to("http://127.0.0.1:1/?token=a&b") as file:
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
            assert "url=http://127.0.0.1:1/?token=a&amp;b" in file.read_text()
        assert not file.exists()
    assert file.parent != home


BROWSER = """\
import re, sys, urllib.request
from pathlib import Path
Path("started with").write_text(sys.argv[1])
page = Path(urllib.request.url2pathname(sys.argv[1].removeprefix("file://")))
address = re.search("url=([^\\"]*)", page.read_text())[1]
Path("arguments").write_bytes(b"".join(p.read_bytes() for p in Path("/proc").glob("*/cmdline")))
Path("address").write_text(address)
opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
Path("title").write_text(re.search("<title>(.*)</title>", opener.open(address).read().decode())[1])
"""


def test_a_browser_is_opened_and_the_token_is_in_no_list_of_processes(tmp_path, monkeypatch):
    import webbrowser

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    Path("browser.py").write_text(BROWSER)
    # As a person's browser: a program that is started with one argument.
    command = [sys.executable, "browser.py", "%s"]
    monkeypatch.setattr(webbrowser, "open", webbrowser.GenericBrowser(command).open)
    opened = threading.Event()
    unlink = Path.unlink

    def removed(self, missing_ok=False):
        unlink(self, missing_ok)
        opened.set()

    monkeypatch.setattr(Path, "unlink", removed)
    serve = Server.run

    def until_opened(self):
        thread = threading.Thread(target=serve, args=(self,))
        thread.start()
        assert opened.wait(120)
        self.shutdown()
        thread.join()

    monkeypatch.setattr(Server, "run", until_opened)
    assert run(["watch"]) == 0
    token = re.search("token=(.*)", Path("address").read_text())[1]
    assert Path("title").read_text().startswith("rosenblatt")
    assert Path("started with").read_text().startswith("file://")
    assert token not in Path("started with").read_text()
    assert token.encode() not in Path("arguments").read_bytes()
    assert not list(tmp_path.glob("*.html"))


@pytest.mark.skipif(sys.platform == "win32", reason="SIGTERM cannot be caught there")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 0)])
def test_no_file_is_left_when_it_is_told_to_end(tmp_path, number, code):
    process = subprocess.Popen(
        [sys.executable, "-m", "rosenblatt", "watch", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A browser that opens nothing, and says when it was asked to.
        env={**os.environ, "HOME": str(tmp_path), "BROWSER": "echo"},
    )
    lines = [process.stdout.readline() for _ in range(2)]
    assert lines[1].startswith(b"file://")
    assert len(list(tmp_path.glob("*.html"))) == 1
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, b"Traceback" in err) == (code, False)
    assert not list(tmp_path.glob("*.html"))


def addresses(monkeypatch, capfd, *arguments):
    """What `watch` prints before it serves."""
    monkeypatch.setattr(Server, "run", lambda self: None)
    assert run(["watch", "--no-browser", *arguments]) == 0
    return capfd.readouterr()


def test_on_all_addresses_others_are_warned_of_and_told_theirs(monkeypatch, capfd):
    monkeypatch.setattr("rosenblatt.show.page.server.outward", lambda host: ["192.168.7.9"])
    out, err = addresses(monkeypatch, capfd, "--host", "0.0.0.0")
    assert "rosenblatt: --host 0.0.0.0: other machines can reach this page;" in err
    mine = re.search(r"page +(http://127.0.0.1:(\d+)/\?token=.*)", out)
    assert re.search(r"others +http://192\.168\.7\.9:" + mine[2] + r"/\?token=", out)
    assert "http://0.0.0.0" not in out + err


def test_on_this_machine_alone_there_is_nothing_to_warn_of(monkeypatch, capfd):
    for host in ("127.0.0.1", "localhost"):
        out, err = addresses(monkeypatch, capfd, "--host", host)
        assert err == "rosenblatt: stopped.\n"
        assert "others" not in out


def test_addresses_of_others_are_never_wild_or_local():
    for host in ("0.0.0.0", "::"):
        for address in Session(host, 8000).others:
            assert re.match(r"http://(?!127\.|0\.0\.0\.0|\[::1?\])\S+:8000/\?token=", address)
    assert Session("127.0.0.1", 8000).others == []
    assert os.environ.get("HOME") is None or Session("::1", 8000).others == []


@pytest.mark.skipif(sys.platform == "win32", reason="files have other permissions there")
def test_a_port_of_ones_own_keeps_its_address(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    first, second = (addresses(monkeypatch, capfd, "--port", port).out for _ in range(2))
    assert first == second
    assert f"127.0.0.1:{port}/?token=" in first
    (kept,) = tmp_path.rglob("*.token")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert kept_token(1) != kept_token(2)


def test_where_no_token_can_be_kept_it_is_new_each_time(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert len({kept_token(1), kept_token(1)}) == 2
