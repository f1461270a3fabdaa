"""A server of the page in a process of its own, as a person starts it, and a browser for it."""

import contextlib
import json
import os
import signal
import subprocess
import sys

from browsers import browsing

__all__ = ["browsing", "serving"]


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
