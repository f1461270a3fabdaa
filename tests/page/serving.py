"""A server of the page in a process of its own, as a person starts it, and a browser for it."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-sync",
         "--disable-background-networking", "--disable-component-update"]  # fmt: skip


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


@contextlib.contextmanager
def browsing():
    """A Chromium of the system, driven by Playwright; in CI it must be there."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        told = f"no browser: none of {', '.join(BROWSERS)} is installed"
        if os.environ.get("CI"):
            pytest.fail(told)
        pytest.skip(told)
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        browser.close()
