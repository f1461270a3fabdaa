"""Kernels run wherever Python runs: with no place for a cache, a broken one, or no compiler."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rosenblatt as rb

pytestmark = pytest.mark.slow_without_jit  # each compiles in a process of its own

LEARN = """
import numpy as np, rosenblatt as rb
rng = np.random.default_rng(0)
X = np.round(8 * rng.normal(size=(40, 3)))
y = np.where(X @ [1, -2, 3] > 0.5, "yes", "no")
clf = rb.Perceptron().fit(X, y)
print(rb.__file__, *clf.trace_.examples)
"""


def learn_in_new_process(cwd, **environment):
    """Fit in a new process; its trace. None in `environment` removes a variable."""
    hidden = ("NUMBA_DISABLE_JIT", "NUMBA_CACHE_DIR")
    env = {k: v for k, v in os.environ.items() if k not in hidden} | environment
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", LEARN],
        env={k: str(v) for k, v in env.items() if v is not None},
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    file, *trace = done.stdout.split()
    return Path(file), trace


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The trace by plain Python, which no cache can touch."""
    _, trace = learn_in_new_process(tmp_path_factory.mktemp("plain"), NUMBA_DISABLE_JIT="1")
    assert trace
    return trace


@pytest.fixture
def not_a_folder(tmp_path):
    """A path below a plain file: nobody, not even root, can make a folder of it."""
    (tmp_path / "file").write_text("")
    return tmp_path / "file" / "below"


def test_compiled_and_plain_python_make_the_same_corrections(tmp_path, expected):
    _, trace = learn_in_new_process(tmp_path)
    assert trace == expected


def test_an_unwritable_cache_directory_is_no_obstacle(tmp_path, expected, not_a_folder):
    _, trace = learn_in_new_process(tmp_path, NUMBA_CACHE_DIR=not_a_folder)
    assert trace == expected


def test_a_read_only_install_without_a_home_is_no_obstacle(tmp_path, expected, not_a_folder):
    package = tmp_path / "site" / "rosenblatt"
    shutil.copytree(Path(rb.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [package, *(p for p in package.rglob("*") if p.is_dir())]:
        (folder / "__pycache__").write_text("")  # a file here stops root too
        folder.chmod(0o555)
    file, trace = learn_in_new_process(
        tmp_path,
        PYTHONPATH=package.parent,
        HOME=None if os.getuid() else not_a_folder,
        XDG_CACHE_HOME=not_a_folder,
        PYTHONDONTWRITEBYTECODE="1",
    )
    for folder in package.parent.rglob("*"):
        if folder.is_dir():
            folder.chmod(0o755)
    assert file.parent == package
    assert trace == expected


def test_no_home_is_no_obstacle(tmp_path, expected):
    _, trace = learn_in_new_process(tmp_path, HOME=None, XDG_CACHE_HOME=None)
    assert trace == expected


@pytest.mark.parametrize(
    ("part", "spoil"), [("nbi", "garbage"), ("nbi", "empty"), ("nbc", "garbage"), ("nbc", "cut")]
)
def test_a_damaged_cache_is_no_obstacle(tmp_path, filled_cache, expected, part, spoil):
    cache = tmp_path / "cache"
    shutil.copytree(filled_cache, cache)
    for file in cache.rglob(f"*.{part}"):
        half = file.read_bytes()[: file.stat().st_size // 2]
        file.write_bytes({"garbage": b"not a kernel", "empty": b"", "cut": half}[spoil])
    _, trace = learn_in_new_process(cache, NUMBA_CACHE_DIR=cache)
    assert trace == expected


@pytest.fixture(scope="module")
def filled_cache(tmp_path_factory):
    cache = tmp_path_factory.mktemp("filled")
    learn_in_new_process(cache, NUMBA_CACHE_DIR=cache)
    assert list(cache.rglob("*.nbi"))
    assert list(cache.rglob("*.nbc"))
    return cache


def test_ranges_in_kernels_of_others_keep_their_meaning():
    numba = pytest.importorskip("numba")
    rb.Perceptron().fit([[1.0], [-1.0]], [1, 0])

    @numba.njit
    def measured(r):
        return len(r), r[2]

    assert measured(range(-4, 10, 3)) == (5, 2)
