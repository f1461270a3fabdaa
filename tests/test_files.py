import os
import subprocess
import sys

import pytest
from facts import refuses

import rosenblatt as rb
from rosenblatt.errors import UsageError, WriteError
from rosenblatt.files import (
    check_overwrite,
    keep_apart,
    read_checksummed,
    write_checksummed,
    write_text,
)
from rosenblatt.model import proof_to_json, read_proof


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text("x,y\n1,0\n")
    (tmp_path / "soft").symlink_to("data.csv")
    os.link("data.csv", "hard")
    (tmp_path / "sub").mkdir()
    return tmp_path


SAME = ["data.csv", "./data.csv", "sub/../data.csv", "soft", "hard"]


@pytest.mark.parametrize("output", SAME)
@pytest.mark.parametrize("data", SAME)
def test_an_input_is_not_overwritten_under_any_of_its_names(here, data, output):
    with refuses(UsageError, f"-o {output}", "the data"):
        keep_apart({"the data": data}, {"-o": output})
    keep_apart({"the data": data}, {"-o": "other.csv"})


@pytest.mark.parametrize(
    ("one", "other"),
    [("new", "./new"), ("new", "sub/../NEW"), ("no/such/new", "no/such/./new"), ("é", "é")],
)
def test_two_outputs_to_one_new_file_are_refused(here, one, other):
    (here / "no" / "such").mkdir(parents=True)
    with refuses(UsageError, f"--rejects {other}", f"-o {one}"):
        keep_apart({}, {"-o": one, "--rejects": other})
    (here / "dangling").symlink_to(one)
    with refuses(UsageError, "--rejects dangling", f"-o {one}"):
        keep_apart({}, {"-o": one, "--rejects": "dangling"})


def test_devices_and_pipes_may_be_named_twice(here):
    os.mkfifo("pipe")
    keep_apart({"the data": "pipe"}, {"-o": "/dev/null", "--rejects": "/dev/null"})


@pytest.mark.parametrize("redirection", ["<data.csv >>data.csv", "<data.csv >>hard"])
def test_redirected_files_are_recognized(here, redirection):
    code = "from rosenblatt.files import keep_apart; keep_apart({'the data': '-'}, {})"
    command = f'"{sys.executable}" -c "{code}" {redirection}'
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert "UsageError: standard output is the data" in done.stderr
    assert (here / "data.csv").read_text() == "x,y\n1,0\n"


def test_a_link_is_followed_and_kept(here):
    write_text("soft", "new")
    assert (here / "soft").is_symlink()
    assert (here / "data.csv").read_text() == "new"
    (here / "dangling").symlink_to("sub/far")
    write_text("dangling", "far")
    assert (here / "dangling").is_symlink()
    assert (here / "sub" / "far").read_text() == "far"


def test_circular_links_are_refused_and_kept(here):
    (here / "a").symlink_to("b")
    (here / "b").symlink_to("a")
    for trial in (lambda: write_text("a", "new"), lambda: keep_apart({}, {"-o": "a"})):
        with refuses(WriteError, "a"):
            trial()
    assert (here / "a").is_symlink()


def test_an_unwritable_output_is_reported_before_the_work(here):
    for path in ("no/model.json", "sub", "data.csv/model.json"):
        with refuses(WriteError, path):
            keep_apart({}, {"-o": path})


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_full_device_is_named():
    with refuses(WriteError, "/dev/full", "No space left on device"):
        write_text("/dev/full", "some text")


def test_the_longest_name_can_be_written(here):
    name = "m" * 255
    write_text(name, "whole")
    assert (here / name).read_text() == "whole"


def test_under_a_default_name_only_our_own_files_are_replaced(here):
    (here / "ours").write_text("<mark>" + "x" * 9000)
    check_overwrite("ours", b"<mark>", "a report", "move it")
    check_overwrite("nothing", b"<mark>", "a report", "move it")
    with refuses(UsageError, "hard", "move it"):
        check_overwrite("hard", b"<mark>", "a report", "move it")


def test_a_file_of_another_kind_is_identified(tmp_path):
    model, checkpoint, proof = (tmp_path / name for name in ("m.json", "c.json", "p.json"))
    result = rb.learn([[0.0], [1.0]], [0, 1])
    result.save(model)
    write_checksummed(checkpoint, "stream checkpoint", {})
    proof.write_text(proof_to_json(result.data.plan, result.proof))
    reads = {
        model: "rosenblatt predict",
        checkpoint: "rosenblatt stream",
        proof: "rosenblatt verify",
    }
    for read, others in (
        (rb.load, (checkpoint, proof)),
        (rb.OnlinePerceptron.load, (checkpoint, proof)),
        (read_proof, (model, checkpoint)),
        (lambda path: read_checksummed(path, "stream checkpoint"), (model, proof)),
    ):
        for file in others:
            with refuses(ValueError, file, reads[file]):
                read(str(file))
