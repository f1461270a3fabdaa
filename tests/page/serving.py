"""A server of the page, in a thread or as a person starts it, and a browser for it."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading

from browsers import browsing

from rosenblatt.show.page.server import Server, Service, Session, listen

__all__ = ["answering", "browsing", "serving"]


@contextlib.contextmanager
def answering(**given):
    """A server in a thread."""
    with listen(Session()) as listening:
        session = Session(port=listening.getsockname()[1])
        with Server(Service(session, **given), listening) as server:
            thread = threading.Thread(target=server.run)
            thread.start()
            try:
                yield server
            finally:
                server.shutdown()
                thread.join()


@contextlib.contextmanager
def serving(*arguments):
    """Run `rosenblatt watch`; gives its address, and ends it as Ctrl-C does."""
    command = [sys.executable, "-m", "rosenblatt", "watch", "--no-browser", "--json"]
    process = subprocess.Popen(
        [*command, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "NUMBA_DISABLE_JIT": "0"},
    )
    try:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        yield json.loads(line)["address"]
    finally:
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert err.splitlines()[-1] == "rosenblatt: stopped."
    assert "Traceback" not in err
