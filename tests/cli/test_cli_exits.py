"""How the program ends and what it says then: broken pipes, errors as JSON, examples in help."""

import json
import os
import shlex
import subprocess
import tempfile
import webbrowser
from pathlib import Path

import pytest
from installed import PROGRAM

from rosenblatt.cli import COMMANDS, KINDS, rosenblatt, run
from rosenblatt.experiments import credit


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """What the examples in the help name: data, new rows, a stream."""
    import pyarrow.csv

    monkeypatch.chdir(tmp_path)
    rows = credit(n=60)
    pyarrow.csv.write_csv(rows, "credit.csv")
    pyarrow.csv.write_csv(rows.drop_columns("approved"), "new.csv")
    lines = [{"seen": i % 3, "clicked": i % 3 > 1} for i in range(9)]
    Path("clicks.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    Path("clicks.csv").write_text("seen,clicked\n1,no\n3,yes\n0,no\n")
    Path("lizards.csv").write_text("height,grahami,opalinus\n1,20,2\n2,13,0\n3,8,3\n")
    trade = "flow,tariff,exporter,year\n0,1.5,A,1\n3,2,A,2\n1,0.5,B,1\n0,1,B,2\n4,3,A,1\n"
    Path("trade.csv").write_text(trade)
    trial = "months,died,center,dose\n3,1,a,1\n5,0,a,2\n2,1,a,2\n4,1,b,1\n6,0,b,3\n1,1,b,2\n"
    Path("trial.csv").write_text(trial)
    return tmp_path


def examples_of(name):
    """The last lines of a command's help, as a shell takes them."""
    command = rosenblatt.get_command(None, name)
    text = command.get_help(command.make_context(f"rosenblatt {name}", [], resilient_parsing=True))
    lines = text.rpartition("Examples:\n")[2].splitlines()
    return [shlex.split(line) for line in lines]


def test_every_help_ends_with_examples_that_run(folder, monkeypatch, capfd):
    monkeypatch.setattr(webbrowser, "get", lambda: webbrowser.GenericBrowser("true"))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("HOME", str(folder))
    for name in COMMANDS:
        examples = examples_of(name)
        assert len(examples) >= 2, name
        for program, *arguments in examples:
            assert (program, arguments[0]) == ("rosenblatt", name)
            codes = (0, 1) if name == "separation" else (0,)
            assert run(arguments) in codes, (arguments, capfd.readouterr().err)


def with_closed(arguments, folder, *closed):
    """Return exit code and stderr of the program when stdout, stderr or both are closed pipes."""
    reading, writing = os.pipe()
    os.close(reading)
    streams = {name: writing if name in closed else subprocess.PIPE for name in STREAMS}
    process = subprocess.Popen([PROGRAM, *arguments], cwd=folder, **streams)
    os.close(writing)
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


STREAMS = ("stdout", "stderr")
SPEAKING = [
    ["--help"],
    ["learn", "credit.csv", "--time-limit", "0.1"],
    ["predict", "model.json", "new.csv"],
    ["predict", "model.json", "new.csv", "--to", "parquet"],
    ["separable", "clicks.jsonl", "--target", "clicked"],
    ["separation", "clicks.csv", "--target", "clicked"],
    ["verify", "proof.json", "credit.csv"],
    ["stream", "clicks.csv", "--target", "clicked"],
    ["experiment", "-n", "5", "--runs", "3"],
    ["watch", "--no-browser"],
    ["separable", "no such file", "--json"],
]


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("arguments", SPEAKING, ids=" ".join)
def test_a_broken_pipe_exits_silently_with_141(folder, arguments):
    if "model.json" in arguments:
        assert run(["learn", "credit.csv", "--test-size", "0", "--top", "0"]) == 0
    if "proof.json" in arguments:
        assert run(["separable", "credit.csv", "--proof", "proof.json"]) == 0
    code, _, err = with_closed(arguments, folder, "stdout")
    messages = [line for line in err.splitlines() if not line.startswith(b"rosenblatt: compiling")]
    assert (code, messages) == (141, [])


@pytest.mark.parametrize("arguments", [["learn", "--no-such"], ["stream", "clicks.csv"]])
def test_a_broken_pipe_of_messages_exits_with_141_too(folder, arguments):
    assert with_closed(arguments, folder, "stderr")[0] == 141
    assert with_closed(arguments, folder, *STREAMS)[0] == 141


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is full")
@pytest.mark.parametrize("options", ["", " --json"])
@pytest.mark.parametrize(("data", "code"), [("clicks.csv", 74), ("nothing.csv", 66)])
def test_output_that_cannot_be_written_is_an_error_in_one_sentence(folder, data, code, options):
    command = f"{PROGRAM} separable {data} --target clicked{options} > /dev/full"
    done = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, check=False)
    assert (done.returncode, done.stderr.count(b"\n")) == (code, 1)


@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_closed_streams_are_harmless_and_no_file_receives_the_output(folder, closed):
    command = f"{PROGRAM} separable clicks.csv --target clicked --proof proof.json {closed}"
    done = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, check=False)
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False)
    assert json.loads((folder / "proof.json").read_text())["rosenblatt"] == "proof"


ERRORS = [
    (["learn", "nothing.csv"], 66),
    (["learn", "credit.csv", "--target", "current debt"], 65),
    (["learn", "credit.csv", "--no-such-option"], 64),
    (["learn", "credit.csv", "--cv", "one"], 64),
    (["learn", "credit.csv", "-o", "no/such/folder.json"], 74),
    (["predict", "credit.csv", "credit.csv"], 65),
    (["predict", "model.json"], 64),
    (["separable", "nothing.csv"], 66),
    (["separation", "nothing.csv", "--target", "y"], 66),
    (["separation", "clicks.csv", "--target", "clicked", "--weights", "no"], 64),
    (["verify", "nothing.json", "credit.csv"], 66),
    (["stream", "--resume"], 64),
    (["experiment", "--runs", "0"], 64),
    (["watch", "nothing.csv"], 66),
    (["no-such-command"], 64),
]


@pytest.mark.parametrize(("arguments", "code"), ERRORS, ids=lambda given: str(given))
def test_an_error_with_json_is_json(folder, capfd, arguments, code):
    exit_code = run([*arguments, "--json"])
    out, err = capfd.readouterr()
    error = json.loads(out)["error"]
    assert out.count("\n") == 1
    assert err.endswith(f"rosenblatt: {error['message']}\n")
    assert (exit_code, error["code"], error["kind"]) == (code, code, KINDS[code])


def test_interrupts_and_internal_errors_are_json_too(folder, capfd, monkeypatch):
    for trouble, code in ((KeyboardInterrupt, 130), (ZeroDivisionError, 70), (MemoryError, 70)):

        def broken(*given, trouble=trouble):
            raise trouble

        monkeypatch.setattr("rosenblatt.cli.separable.read_data", broken)
        assert run(["separable", "credit.csv", "--json"]) == code
        assert json.loads(capfd.readouterr().out)["error"]["code"] == code


def test_json_after_two_dashes_is_a_file_name(folder, capfd):
    assert run(["separable", "--", "--json"]) == 66
    assert capfd.readouterr().out == ""


def test_a_message_about_an_endless_name_is_short(run_command, tmp_path):
    name = "x" * 2_000_000
    (tmp_path / "d.csv").write_text(f"{name},y\n" + "1,no\n2,yes\n2,?\n" * 3)
    code, _, err = run_command("learn", "d.csv", "--target", name[:-1])
    assert code == 64
    assert len(err) < 250
    assert err.endswith("x … and y.\n")
