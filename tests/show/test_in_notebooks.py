"""The notebook widget in JupyterLab and marimo, in a browser."""

import contextlib
import importlib.util
import json
import os
import socket
import subprocess
import sys
import urllib.request

import pytest
from chromium import missing, watched

pytestmark = pytest.mark.slow_without_jit

NO_KERNEL = "--KernelSpecManager.allowed_kernelspecs=none"
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


def start(module, *arguments, folder):
    """Start a server and wait until it answers or has ended; return its process and address."""
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
    address = f"http://127.0.0.1:{port}"
    while process.poll() is None:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(address, timeout=5).close()
            break
    return process, address


@contextlib.contextmanager
def running(module, *arguments, folder):
    """Run a server in another process; yield its address once it answers."""
    for wanted in (module, "anywidget"):
        if importlib.util.find_spec(wanted) is None:
            missing(f"{wanted} is not installed")
    for _ in range(3):  # another program may take a free port before the server does
        process, address = start(module, *arguments, folder=folder)
        if process.poll() is None:
            break
    try:
        assert process.poll() is None, f"{module} ended by itself"
        yield address
    finally:
        process.kill()  # JupyterLab without kernels does not end when asked to
        process.wait()


def looks_right(page):
    """Check layout and arrow keys of the player."""
    page.locator(".rb-player .rb-step").wait_for()
    assert page.locator("dt").first.evaluate("e => getComputedStyle(e).float") == "none"
    tops = {round(b.bounding_box()["y"]) for b in page.locator(".rb-buttons button").all()}
    assert len(tops) == 1
    for key, t in (("ArrowRight", "1"), ("ArrowRight", "2"), ("ArrowLeft", "1")):
        page.locator(".rb-player").press(key)
        page.locator(f"[data-fact=t]:text-is('{t}')").wait_for()


LAB = (
    "--no-browser",
    "--allow-root",
    "--IdentityProvider.token=",
    "--LabApp.news_url=",
    "--ServerApp.port_retries=0",
)


def notebook(*outputs):
    """Return a notebook with the code in one cell, as JupyterLab writes it."""
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "source": LINES, "outputs": outputs}
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    whole = {"cells": [{**cell, "execution_count": None}], "metadata": {"kernelspec": kernel}}
    return json.dumps({**whole, "nbformat": 4, "nbformat_minor": 5})


def test_the_widget_runs_in_jupyterlab(page, tmp_path):
    file = tmp_path / "shown.ipynb"
    file.write_text(notebook())
    with running("jupyterlab", *LAB, folder=tmp_path) as address:
        page.goto(f"{address}/lab/tree/shown.ipynb")
        page.locator(".jp-Cell .cm-content").first.click()
        page.get_by_text("Python 3 (ipykernel) | Idle").wait_for()
        page.keyboard.press("Shift+Enter")
        looks_right(page)
        assert page.locator(".jp-OutputArea img").count() == 0  # the player is in its place
        page.keyboard.press("Escape")
        with page.expect_response(lambda answer: answer.request.method == "PUT"):
            page.keyboard.press("Control+s")
    outputs = json.loads(file.read_text())["cells"][0]["outputs"]
    file.with_name("foreign.ipynb").write_text(notebook(*outputs))
    with running("jupyterlab", *LAB, NO_KERNEL, folder=tmp_path) as address:
        for name in ("shown", "foreign"):  # trusted, for it was run here, and not
            page.goto(f"{address}/lab/tree/{name}.ipynb?reset")
            shows_a_picture(page)


def shows_a_picture(page):
    """And nothing of a player that it cannot find."""
    page.locator(".jp-Dialog").get_by_role("button", name="No Kernel").click()
    page.get_by_text("No Kernel | ").wait_for()
    picture = page.locator(".jp-OutputArea img")
    picture.wait_for()
    assert picture.evaluate("e => e.naturalWidth") == 480
    shown = page.locator(".jp-OutputArea").first.inner_text().lower()
    assert [word for word in ("widget", "loading", "error") if word in shown] == []


def test_the_widget_runs_in_marimo(page, tmp_path):
    lines = "".join(f"    {line}\n" for line in LINES.splitlines())
    (tmp_path / "shown.py").write_text(MARIMO.format(lines))
    quiet = ("run", "shown.py", "--headless", "--no-token")
    with running("marimo", *quiet, folder=tmp_path) as address:
        messages, _ = watched(page)
        page.goto(address)
        looks_right(page)
        assert [line for line in messages if "rosenblatt" in line.lower()] == []
