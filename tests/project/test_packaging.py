"""The wheel works without the source tree, and carries what it should."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from pages import ROOT

pytestmark = pytest.mark.slow_without_jit


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    build = ("-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT))
    run(sys.executable, *build)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A folder that holds the wheel's contents and nothing of the source tree."""
    folder = tmp_path_factory.mktemp("site")
    run(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", folder, wheel)
    return folder


def test_the_wheel_holds_only_the_package_and_its_types(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert "rosenblatt/py.typed" in names
    static = {path.name for path in (ROOT / "src/rosenblatt/show/static").iterdir()}
    assert {f"rosenblatt/show/static/{name}" for name in static} <= set(names)
    assert {name.split("/")[0].split("-")[0] for name in names} == {"rosenblatt"}


def test_the_command_needs_no_compiler_and_no_other_program(installed, tmp_path):
    (tmp_path / "empty").mkdir()
    alone = {"PYTHONPATH": str(installed), "PATH": str(tmp_path / "empty"), "HOME": str(tmp_path)}
    lines = [*("age,note,y", "1,a b c free,no", "2,a b c money,yes", "0,a b c d,no")]
    (tmp_path / "d.csv").write_text("\n".join(lines) + "\n")
    program = (sys.executable, "-m", "rosenblatt")
    for arguments in (
        ("learn", "-o", "credit.json"),  # a thousand rows, by compiled kernels
        ("stream", "d.csv", "--save", "m.json", "-o", "out"),
        ("predict", "m.json", "d.csv", "-o", "p.csv"),
    ):
        run(*program, *arguments, cwd=tmp_path, env=alone)
    assert len((tmp_path / "p.csv").read_text().splitlines()) == 4


def test_the_wheel_learns_without_the_source_tree(installed, tmp_path):
    code = (
        "import json, rosenblatt as rb\n"
        "clf = rb.Perceptron().fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])\n"
        "print(json.dumps([rb.__file__, clf.separated_, clf.predict([[1, 1]]).tolist()]))"
    )
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    where, separated, answers = json.loads(
        run(sys.executable, "-c", code, cwd=tmp_path, env=environment)
    )
    assert Path(where).is_relative_to(installed)
    assert (separated, answers) == (True, [1])
