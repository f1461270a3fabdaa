"""Every script in examples/ runs, at a small size, and says what it should."""

import importlib.util
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from pages import ROOT, blocks

EXAMPLES = ROOT / "examples"
# What is given to each script, and something it must say.
SCRIPTS = {
    "credit": ((), "The first five rows"),
    "drift": ((), ""),
    "gate": ((), "::error file=trial.csv::the estimate of drug[old] is inf"),
    "lecture": (("slides",), "2-updates.gif"),
    "logistic": ((), "the first ten: inseparable"),
    "memory": ((4000,), "the same weights: True"),
    "separation": ((), "The proof holds in exact arithmetic: True"),
    "spam": ((), "strongest words for spam"),
    "stream": ((4000,), "model.json: the same bytes"),
}
pytestmark = pytest.mark.slow_without_jit


def load(name):
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_script_is_tested_here():
    assert set(SCRIPTS) == {path.stem for path in EXAMPLES.glob("*.py")}


@pytest.mark.parametrize("name", sorted(set(SCRIPTS) - {"drift"}))
def test_a_script_runs(name, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ROSENBLATT_DATA", raising=False)
    given, says = SCRIPTS[name]
    load(name).main(*given)
    assert says in capfd.readouterr().out


def test_the_drift_picture_is_drawn(tmp_path):
    load("drift").draw(tmp_path / "drift.png")
    assert (tmp_path / "drift.png").stat().st_size > 10_000


def gate(folder, *arguments):
    """Run the gate in a folder: its exit code and what it prints."""
    command = [sys.executable, str(EXAMPLES / "gate.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    return done.returncode, done.stdout


def test_the_gate_script_exits_as_the_command_does(tmp_path):
    (tmp_path / "fine.csv").write_text("dose,died\n1,no\n2,yes\n3,no\n4,yes\n")
    assert gate(tmp_path)[0] == 1
    assert gate(tmp_path, "fine.csv", "died") == (0, "fine.csv: all 2 estimates are finite\n")
    code, printed = gate(tmp_path, "nothing.csv", "died")
    assert code == 66
    assert printed.startswith("::error file=nothing.csv::")


def test_the_hook_of_this_repository_fails_on_the_manuals_trial(tmp_path):
    """pre-commit runs `entry` and `args`; the manual's settings name only what the hook has."""
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    page = {block.title: block.text for block in blocks(ROOT / "docs" / "howto" / "gate.md")}
    (use,) = yaml.safe_load(page[".pre-commit-config.yaml"])["repos"][0]["hooks"]
    assert use["id"] == hook["id"]
    assert re.search(use["files"], "trial.csv")
    (tmp_path / "trial.csv").write_text(page["trial.csv"])
    steps = yaml.safe_load(page["separation.yml"])["jobs"]["separation"]["steps"]
    for command in ([*shlex.split(hook["entry"]), *use["args"]], shlex.split(steps[-1]["run"])):
        program = [sys.executable, "-m", *command]
        assert subprocess.run(program, cwd=tmp_path, check=False).returncode == 1


def course(*arguments):
    command = [sys.executable, str(EXAMPLES / "course"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_learning_from_data_matches_the_published_results():
    done = course(7, 8, 9, 10, "--runs", 100)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("yes") == 8


def test_the_homework_matches_the_published_results(data):
    done = course(15, 16, 17, 18, 19, 20, "--runs", 25, "--data", data)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("yes") == 10


def test_the_homework_names_its_missing_files(tmp_path):
    done = course(15, "--data", tmp_path)
    assert done.returncode == 2
    assert done.stderr.strip().endswith("name their folder with --data or ROSENBLATT_DATA.")


def test_a_value_that_differs_is_reported():
    sys.path.insert(0, str(EXAMPLES / "course"))
    try:
        from line import Line
    finally:
        sys.path.pop(0)
    assert not Line.exact("corrections", 45, 46).agrees
    assert not Line.mean("mean", 40.1, 0.26, [50, 51, 52]).agrees
    assert not Line.median("median", 5, [7] * 50).agrees
    assert Line.median("median", 5, range(11)).agrees
    assert not Line.choice("choice", 15, (1, 15, 300), 290).agrees
    assert Line.choice("choice", 15, (1, 15, 300), 9).agrees


def test_a_page_shows_each_script():
    shown = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md"))
    for path in (*EXAMPLES.glob("*.py"), EXAMPLES / "course"):
        assert str(Path("examples") / path.name) in shown, path
