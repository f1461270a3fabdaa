"""`rosenblatt watch` writes one file, opens it where there is a browser, and ends."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from installed import PROGRAM

from rosenblatt.cli import run
from rosenblatt.cli.watch import PAGE_MARK

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a browser is a script here")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder that is home and the place of temporary files, without a screen."""
    monkeypatch.chdir(tmp_path)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))  # where no browser is found
    return tmp_path


def watch(*arguments, browser=None):
    """Run `rosenblatt watch` as a program, with a browser that notes what it is given."""
    environment = dict(os.environ)
    if browser is not None:
        Path("browser").write_text(f'#!/bin/sh\necho "$1" >>opened\nexit {browser}\n')
        Path("browser").chmod(0o755)
        environment["BROWSER"] = "./browser"
    done = subprocess.run(
        [PROGRAM, "watch", *arguments], capture_output=True, text=True, env=environment, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_page_is_opened_from_a_temporary_file_that_is_kept(folder):
    watch(browser=0)
    (page,) = folder.glob("rosenblatt-*.html")
    assert PAGE_MARK in page.read_bytes()
    assert stat.S_IMODE(page.stat().st_mode) == 0o600  # its data are private
    assert Path("opened").read_text() == f"{page.as_uri()}\n"


def test_save_sets_the_path_and_the_page_is_opened_there(folder):
    Path("rows.csv").write_text("a,b,kind\n1,2,yes\n3,4,no\n5,1,yes\n")
    out = watch("rows.csv", "--save", "page.html", browser=0)
    assert "page.html" in out
    assert '"name":"rows.csv"' in Path("page.html").read_text()
    assert Path("opened").read_text() == f"{(folder / 'page.html').as_uri()}\n"
    assert not list(folder.glob("rosenblatt-*"))


@pytest.mark.parametrize("browser", [None, 1])
def test_without_a_browser_the_path_is_printed_and_how_to_view_it_elsewhere(folder, browser):
    lines = watch("--save", "page.html", browser=browser).splitlines()
    assert "page.html" in lines[0]
    assert f":{folder / 'page.html'}" in lines[1]
    assert "scp" in lines[1]
    assert len(lines) == 2


def test_a_text_browser_is_not_a_browser_for_the_page(folder, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    for name in ("www-browser", "links", "elinks", "lynx", "w3m"):
        Path(name).write_text('#!/bin/sh\necho "$1" >>opened\n')
        Path(name).chmod(0o755)
    assert "scp" in watch("--save", "page.html")
    assert not Path("opened").exists()


def test_with_no_browser_only_the_path_is_printed(folder):
    (line,) = watch("--no-browser", "--save", "page.html", browser=0).splitlines()
    assert "page.html" in line
    assert not Path("opened").exists()


def test_with_json_the_path_is_printed_as_an_object_and_nothing_is_opened(folder):
    output = json.loads(watch("--json", browser=0))
    page = Path(output["page"])
    assert (page.parent, output["data"]) == (folder, None)
    assert output["bytes"] == page.stat().st_size
    assert not Path("opened").exists()


@pytest.mark.parametrize("gone", [["--host", "0.0.0.0"], ["--port", "8000"]])
def test_there_is_no_server_option(gone, capfd):
    assert run(["watch", *gone]) == 64
    assert gone[0] in capfd.readouterr().err
