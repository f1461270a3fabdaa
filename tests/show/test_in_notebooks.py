"""The player in a real JupyterLab and a real marimo, in a browser, where they are installed."""

import contextlib
import importlib.util
import json
import os
import socket
import subprocess
import sys
import urllib.request

import pytest
from browsers import watched

pytestmark = pytest.mark.slow_without_jit

LINES = """\
import numpy as np
import rosenblatt as rb
X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
rb.widget(X, ["no", "no", "no", "yes"])
"""
MARIMO = """\
import marimo
app = marimo.App()

@app.cell
def _():
{}    return
"""


@contextlib.contextmanager
def running(module, *arguments, folder):
    """A server in a process of its own, once it answers; gives its address."""
    for wanted in (module, "anywidget"):
        if importlib.util.find_spec(wanted) is None:
            pytest.skip(f"{wanted} is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folders = {name: str(folder / "home") for name in ("HOME", "JUPYTER_CONFIG_DIR")}
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments, f"--port={port}"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **folders, "JUPYTER_RUNTIME_DIR": str(folder / "run")},
    )
    try:
        address = f"http://127.0.0.1:{port}"
        while process.poll() is None:
            with contextlib.suppress(OSError):
                urllib.request.urlopen(address, timeout=5).close()
                break
        assert process.poll() is None, f"{module} ended by itself"
        yield address
    finally:
        process.terminate()
        process.wait(timeout=60)


def looks_right(page):
    """Labels over their numbers, buttons in one row, and the arrow keys are the player's."""
    page.locator(".rb-player .rb-step").wait_for(timeout=60_000)
    assert page.locator("dt").first.evaluate("e => getComputedStyle(e).float") == "none"
    tops = {round(b.bounding_box()["y"]) for b in page.locator(".rb-buttons button").all()}
    assert len(tops) == 1
    for key, t in (("ArrowRight", "1"), ("ArrowRight", "2"), ("ArrowLeft", "1")):
        page.locator(".rb-player").press(key)
        page.locator(f"[data-fact=t]:text-is('{t}')").wait_for()


def test_in_jupyterlab(page, tmp_path):
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "source": LINES, "outputs": []}
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = {"cells": [{**cell, "execution_count": None}], "metadata": {"kernelspec": kernel}}
    text = json.dumps({**notebook, "nbformat": 4, "nbformat_minor": 5})
    (tmp_path / "shown.ipynb").write_text(text)
    open_to_all = ("--no-browser", "--allow-root", "--IdentityProvider.token=")
    with running("jupyterlab", *open_to_all, folder=tmp_path) as address:
        page.goto(f"{address}/lab/tree/shown.ipynb")
        page.locator(".jp-Cell .cm-content").first.click(timeout=60_000)
        page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=60_000)
        page.keyboard.press("Shift+Enter")
        looks_right(page)


def test_in_marimo(page, tmp_path):
    lines = "".join(f"    {line}\n" for line in LINES.splitlines())
    (tmp_path / "shown.py").write_text(MARIMO.format(lines))
    quiet = ("run", "shown.py", "--headless", "--no-token")
    with running("marimo", *quiet, folder=tmp_path) as address:
        said, _ = watched(page)
        page.goto(address)
        looks_right(page)
        assert [line for line in said if "rosenblatt" in line.lower()] == []
