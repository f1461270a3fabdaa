"""No command overwrites its inputs, nor, under a default name, a file of another kind."""

import inspect
import os
import subprocess
from importlib import import_module
from pathlib import Path

import pytest
from installed import PROGRAM

import rosenblatt as rb
from rosenblatt.cli import COMMANDS

ROWS = "a,b,y\n" + "".join(f"{i},{i % 3},{int(i > 5)}\n" for i in range(12))


@pytest.fixture
def here(run_command, tmp_path):
    """A folder with data under several names, a model, a proof and stop words."""
    for name in ("data.csv", "test.csv"):
        (tmp_path / name).write_text(ROWS)
    (tmp_path / "words.txt").write_text("the a an\n")
    (tmp_path / "soft.csv").symlink_to("data.csv")
    os.link(tmp_path / "data.csv", tmp_path / "hard.csv")
    code, _, err = run_command(
        "learn", "data.csv", "--target", "y", "--test-size", 0, "-o", "m.json"
    )
    assert code == 0, err
    return tmp_path


def test_every_command_checks_its_outputs_before_writing():
    for command in COMMANDS:
        assert "keep_apart(" in inspect.getsource(import_module(f"rosenblatt.cli.{command}")), (
            command
        )


def everything(folder):
    """Each file with what is in it, and each link with where it leads."""
    return {
        str(path.relative_to(folder)): os.readlink(path) if path.is_symlink() else path.read_bytes()
        for path in folder.rglob("*")
        if not path.is_dir()
    }


NAMES = ["data.csv", "./data.csv", "soft.csv", "hard.csv"]
TAKEN = [
    *[(["stream", "data.csv", "-o", name], "--output") for name in NAMES],
    (["stream", "soft.csv", "--rejects", "hard.csv"], "--rejects"),
    (["stream", "data.csv", "--save", "soft.csv"], "--save"),
    (["stream", "data.csv", "-o", "new", "--rejects", "./new"], "--rejects"),
    (["stream", "data.csv", "-o", "new", "--save", "new"], "--save"),
    (["stream", "data.csv", "--checkpoint", "kept", "-o", "kept/checkpoint.json"], "--output"),
    (["stream", "data.csv", "--checkpoint", "kept", "--save", "kept/lock"], "--save"),
    *[(["separable", "data.csv", "--target", "y", "--proof", name], "--proof") for name in NAMES],
    (["separable", "data.csv", "--stop-words", "words.txt", "--proof", "words.txt"], "--proof"),
    (["separable", "data.csv", "--proof", "data.csv.rosenblatt.parquet"], "--proof"),
    *[(["predict", "m.json", "data.csv", "-o", name], "--output") for name in NAMES],
    (["predict", "m.json", "data.csv", "-o", "m.json", "--to", "csv"], "--output"),
    *[(["learn", "data.csv", "--target", "y", "-o", name], "--output") for name in NAMES],
    (["learn", "data.csv", "--test", "test.csv", "-o", "test.csv"], "--output"),
    (["learn", "data.csv", "--stop-words", "words.txt", "-o", "./words.txt"], "--output"),
    (["learn", "data.csv", "--report", "-o", "report.html"], "--report"),
    *[(["learn", "data.csv", "--target", "y", "--proof", name], "--proof") for name in NAMES],
    (["learn", "data.csv", "-o", "new", "--proof", "./new"], "--proof"),
]


@pytest.mark.parametrize(("arguments", "option"), TAKEN)
def test_inputs_are_never_overwritten(run_command, here, arguments, option):
    before = everything(here)
    code, _, err = run_command(*arguments)
    assert (code, err.count("\n")) == (64, 1), err
    assert err.startswith(f"rosenblatt: {option} ")
    assert everything(here) == before
    assert not (here / "kept").exists()


@pytest.mark.parametrize(
    "shell",
    [
        "stream - -o data.csv <data.csv",
        "stream data.csv >>data.csv",
        "predict m.json data.csv >>m.json",
        "learn - --target y -o data.csv <data.csv",
        "learn data.csv --target y >>soft.csv",
    ],
)
def test_redirected_files_are_recognized(here, shell):
    before = everything(here)
    done = subprocess.run(
        f"{PROGRAM} {shell}", shell=True, cwd=here, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.count("\n")) == (64, 1), done.stderr
    assert everything(here) == before


def test_learn_replaces_only_a_model(run_command, here):
    learn = ("learn", "data.csv", "--target", "y", "--test-size", 0)
    assert run_command(*learn)[0] == 0
    assert run_command(*learn)[0] == 0  # its own model.json of before
    for foreign in ('{"name": "my app"}', "", '{"program": "rosenblatt", "kind": "x"}'):
        (here / "model.json").write_text(foreign)
        code, _, err = run_command(*learn)
        assert (code, "model.json" in err, "-o FILE" in err) == (64, True, True)
        assert (here / "model.json").read_text() == foreign
    assert run_command(*learn, "-o", "model.json")[0] == 0  # the user named it
    assert rb.load("model.json").target.column == "y"


def test_a_report_replaces_only_a_report(run_command, here):
    learn = ("learn", "data.csv", "--target", "y", "--test-size", 0, "-o", "m.json", "--report")
    (here / "report.html").write_text("<html>the yearly report</html>")
    before = everything(here)
    code, _, err = run_command(*learn)
    assert (code, "report.html" in err, "-o FOLDER" in err) == (64, True, True)
    assert everything(here) == before
    (here / "report.html").unlink()
    assert run_command(*learn)[0] == 0
    assert run_command(*learn)[0] == 0
    assert "<h1>" in (here / "report.html").read_text(encoding="utf-8")


def test_a_saved_page_replaces_only_a_page(run_command, here):
    (here / "page.html").write_text("a text of mine")
    code, _, err = run_command("watch", "--no-browser", "--save", "page.html")
    assert (code, "page.html" in err, "another name" in err) == (64, True, True)
    assert (here / "page.html").read_text() == "a text of mine"
    assert run_command("watch", "--no-browser", "--save", "new.html")[0] == 0
    assert run_command("watch", "--no-browser", "--save", "new.html")[0] == 0


def test_links_as_outputs_are_followed_and_kept(run_command, here):
    (here / "store").mkdir()
    for link, target in [("model.json", "store/m"), ("out.csv", "store/o"), ("p.json", "store/p")]:
        (here / link).symlink_to(target)
    assert run_command("learn", "data.csv", "--target", "y", "--test-size", 0)[0] == 0
    assert run_command("predict", "model.json", "data.csv", "-o", "out.csv")[0] == 0
    assert run_command("separable", "data.csv", "--target", "y", "--proof", "p.json")[0] == 0
    for link, target in [("model.json", "m"), ("out.csv", "o"), ("p.json", "p")]:
        assert Path(link).is_symlink()
        assert (here / "store" / target).stat().st_size > 0
