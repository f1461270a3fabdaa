"""The installed program, run as a person runs it."""

import json
import os
import pty
import random
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from installed import PROGRAM


def on_a_terminal(*arguments, cwd, interrupt_after=None, **environment):
    """What a person sees: the program on a pseudo-terminal, and its exit code."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [PROGRAM, *map(str, arguments)],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        cwd=cwd,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", **environment},
    )
    os.close(follower)
    seen = b""
    while True:
        try:
            block = os.read(leader, 65536)
        except OSError:
            break
        if not block:
            break
        seen += block
        if interrupt_after and re.search(interrupt_after, seen, re.DOTALL):
            process.send_signal(signal.SIGINT)
            interrupt_after = None
    os.close(leader)
    return process.wait(), seen.decode()


def test_help_comes_without_numpy(program):
    code = (
        "import sys, rosenblatt.cli as c; c.run(['--help']);"
        "sys.exit(any(m in sys.modules for m in ('numpy', 'pyarrow', 'rich', 'numba')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0
    assert b"separable" in done.stdout


def test_the_help_of_a_command_begins_as_in_the_list():
    from click.testing import CliRunner

    from rosenblatt.cli import COMMANDS, rosenblatt

    for command, what in COMMANDS.items():
        shown = CliRunner().invoke(rosenblatt, [command, "--help"])
        assert shown.exit_code == 0, command
        assert "--json" in shown.output, command
        assert rosenblatt.get_command(None, command).get_short_help_str(200) == what


def test_the_program_without_arguments_prints_its_help(program):
    done = program()
    assert (done.returncode, done.stdout) == (0, program("--help").stdout)


def test_version_prints_the_version(program):
    import rosenblatt

    assert program("--version").stdout.decode() == f"rosenblatt {rosenblatt.__version__}\n"


def test_completion_suggests_commands_and_options(program):
    words = program(
        _ROSENBLATT_COMPLETE="bash_complete", COMP_WORDS="rosenblatt se", COMP_CWORD="1"
    )
    assert b"separable" in words.stdout
    options = program(
        _ROSENBLATT_COMPLETE="bash_complete", COMP_WORDS="rosenblatt learn --tar", COMP_CWORD="2"
    )
    assert b"--target" in options.stdout
    assert b"_rosenblatt_completion" in program(_ROSENBLATT_COMPLETE="bash_source").stdout


COMPILERS = ("numba", "llvmlite")
HEAVY = (*COMPILERS, "scipy.linalg", "sklearn")


@pytest.mark.parametrize(
    ("command", "unwanted"),
    [
        ("learn", COMPILERS),  # rows are held out, and scikit-learn measures the accuracy on them
        ("learn d.csv --target y", HEAVY),
        ("stream d.csv --target y", HEAVY),
        ("separable d.csv", HEAVY),
    ],
)
def test_a_small_job_loads_no_compiler_and_no_library_it_does_not_need(tmp_path, command, unwanted):
    rows = "".join(f"{x},{x * x % 7},{int(x > 3)}\n" for x in range(8))
    (tmp_path / "d.csv").write_text("x,z,y\n" + rows)
    code = (
        f"import sys; sys.argv = ['rosenblatt', *{command.split()!r}, '--json']\n"
        "from rosenblatt.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: assert end.code == 0\n"
        f"print([m for m in {unwanted!r} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stderr.splitlines()[-1] == "[]"


def test_the_command_line_does_not_change_pythons_import_system():
    code = (
        "import sys; before = sys.meta_path[:]; sys.argv = ['rosenblatt', '--version']\n"
        "from rosenblatt.cli import main\n"
        "try: main()\n"
        "except SystemExit: assert sys.meta_path == before"
    )
    subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=True)


@pytest.mark.slow_without_jit
def test_a_file_is_trained_on_and_predicted_through_pipes(program, credit_files, tmp_path):
    text = (credit_files / "credit.csv.gz").read_bytes()
    learnt = program("learn", "-", "--json", "--time-limit", "1e6", stdin=text)
    assert learnt.returncode == 0
    assert learnt.stderr == b""
    assert json.loads(learnt.stdout)["data"] == "standard input"
    answered = program("predict", "model.json", "-", stdin=text)
    lines = answered.stdout.decode().splitlines()
    assert len(lines) == 301
    header = lines[0].split(",")
    for line in lines[1:]:
        row = dict(zip(header, line.split(","), strict=True))
        assert row["approved"] == row["prediction"]


@pytest.mark.slow_without_jit
def test_a_terminal_gets_color_and_a_pipe_does_not(program, tmp_path):
    code, seen = on_a_terminal("learn", cwd=tmp_path)
    assert code == 0
    assert "\x1b[" in seen
    assert "current debt" in seen
    _, plain = on_a_terminal("learn", cwd=tmp_path, NO_COLOR="1")
    assert "\x1b[3" not in plain
    piped = program("learn")
    assert b"\x1b" not in piped.stdout + piped.stderr


@pytest.mark.slow_without_jit
def test_ctrl_c_keeps_the_best_so_far_and_reports_it(program, tmp_path):
    # Compiled first: within a compiler Ctrl-C may come to nothing.
    program("learn", "--noise", "0.2", "--time-limit", "0.2", "--test-size", "0")
    code, seen = on_a_terminal(
        "learn",
        "--noise",
        "0.2",
        "--time-limit",
        "60",
        cwd=tmp_path,
        interrupt_after=rb"verdict.*mistakes so far",
    )
    assert code == 130
    assert "interrupted; the best line so far is kept" in seen
    training = json.loads((tmp_path / "model.json").read_text())["training"]
    assert training["interrupted"] is True
    assert training["mistakes"] < 500


@pytest.mark.slow_without_jit
def test_long_work_shows_progress_on_stderr(tmp_path):
    # Random labels in ten dimensions: no machine proves the fewest mistakes in two seconds.
    rng = random.Random(0)
    rows = [[*(f"{rng.gauss(0, 1):.3f}" for _ in range(10)), rng.choice("ab")] for _ in range(500)]
    names = [*(f"x{j}" for j in range(10)), "y"]
    (tmp_path / "d.csv").write_text("\n".join(map(",".join, [names, *rows])) + "\n")
    options = ("--target", "y", "--time-limit", "2", "--test-size", "0")
    code, seen = on_a_terminal("learn", "d.csv", *options, cwd=tmp_path)
    assert code == 0
    assert "mistakes so far" in seen


def test_a_reader_that_stops_early_is_harmless(tmp_path):
    import numpy as np

    from rosenblatt.hypothesis import Hypothesis
    from rosenblatt.model import Model, save
    from rosenblatt.read.columns import Number
    from rosenblatt.read.encoding import Encoding, TargetColumn

    model = Model(
        Encoding((Number("x"),)), Hypothesis(np.array([0.0, 1.0])), TargetColumn("y", ("no", "yes"))
    )
    save(model, tmp_path / "model.json")
    (tmp_path / "x.csv").write_text("x\n" + "1\n" * 200_000)
    shell = f"{PROGRAM} predict model.json x.csv | head -n 1"
    done = subprocess.run(["sh", "-c", shell], cwd=tmp_path, capture_output=True, check=True)
    assert done.stdout == b"x,prediction,score\n"
    assert done.stderr == b""


def full_disk(program, tmp_path, *arguments):
    """The program where no file can grow beyond a few bytes, as on a full disk."""
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "from rosenblatt.cli import run\n"
        "import rosenblatt.cli.learn, rosenblatt.cli.predict\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))\n"
        f"sys.exit(run({list(arguments)!r}))"
    )
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
    )


def test_a_full_disk_leaves_the_old_model_intact(program, tmp_path):
    (tmp_path / "model.json").write_text("the old model")
    rows = "".join(f"{x},{int(x > 3)}\n" for x in range(8))
    (tmp_path / "d.csv").write_text("x,y\n" + rows)
    patient = ("learn", "d.csv", "--target", "y", "-o", "model.json", "--time-limit", "1e6")
    done = full_disk(program, tmp_path, *patient)
    assert done.returncode == 74, done.stderr
    assert done.stderr.startswith("rosenblatt: cannot write model.json: ")
    assert done.stderr.count("\n") == 1
    assert (tmp_path / "model.json").read_text() == "the old model"
    assert sorted(path.name for path in Path(tmp_path).iterdir()) == ["d.csv", "model.json"]
