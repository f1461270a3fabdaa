"""Kernels run without a folder for the cache, with a damaged cache, and without a compiler.

Small jobs run in plain Python, with the same results as compiled kernels.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rosenblatt as rb
from rosenblatt import engine, trace
from rosenblatt.online import rule

HERE = Path(rb.__file__).parent
in_new_processes = pytest.mark.slow_without_jit  # each compiles there

LEARN = """
import numpy as np, rosenblatt as rb
rng = np.random.default_rng(0)
X = np.round(8 * rng.normal(size=(40, 3)))
y = np.where(X @ [1, -2, 3] > 0.5, "yes", "no")
clf = rb.Perceptron().fit(X, y)
print(rb.__file__, *clf.trace_.examples)
"""


def learn_in_new_process(cwd, **environment):
    """Fit in a new process and return the trace; None in `environment` removes a variable."""
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
    """Return the trace of a fit in plain Python, which uses no cache."""
    _, trace = learn_in_new_process(tmp_path_factory.mktemp("plain"), NUMBA_DISABLE_JIT="1")
    assert trace
    return trace


@pytest.fixture
def not_a_folder(tmp_path):
    """Return a path below a plain file, where not even root can create a folder."""
    (tmp_path / "file").write_text("")
    return tmp_path / "file" / "below"


@in_new_processes
def test_compiled_kernels_and_plain_python_make_the_same_updates(tmp_path, expected):
    _, trace = learn_in_new_process(tmp_path)
    assert trace == expected


@in_new_processes
def test_an_unwritable_cache_directory_does_not_matter(tmp_path, expected, not_a_folder):
    _, trace = learn_in_new_process(tmp_path, NUMBA_CACHE_DIR=not_a_folder)
    assert trace == expected


@in_new_processes
def test_a_read_only_install_without_a_home_works(tmp_path, expected, not_a_folder):
    package = tmp_path / "site" / "rosenblatt"
    shutil.copytree(HERE, package, ignore=shutil.ignore_patterns("__pycache__"))
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


@in_new_processes
def test_a_missing_home_does_not_matter(tmp_path, expected):
    _, trace = learn_in_new_process(tmp_path, HOME=None, XDG_CACHE_HOME=None)
    assert trace == expected


MINE = """
import sys
import numpy as np
from rosenblatt import engine, rowformats

def largest(w, times):
    return times * rowformats.largest(w)

print(engine.__file__, engine.Kernel(largest)(np.ones(3), 3))
"""


def run_mine(folder, cache, package=HERE):
    """Run mine.py in a new process with the given cache; return the result of its kernel."""
    hidden = {k: v for k, v in os.environ.items() if k != "NUMBA_DISABLE_JIT"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "mine.py"],
        env=hidden | {"PYTHONPATH": str(package.parent), "NUMBA_CACHE_DIR": str(cache)},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, "")
    file, largest = done.stdout.split()
    assert Path(file).parent == package
    return float(largest)


@pytest.fixture(scope="module")
def filled_cache(tmp_path_factory):
    folder = tmp_path_factory.mktemp("filled")
    (folder / "mine.py").write_text(MINE)
    assert run_mine(folder, folder / "cache") == 3.0
    assert list(folder.rglob("*.nbi"))
    assert list(folder.rglob("*.nbc"))
    return folder


@in_new_processes
@pytest.mark.parametrize(
    ("part", "spoil"), [("nbi", "garbage"), ("nbi", "empty"), ("nbc", "garbage"), ("nbc", "cut")]
)
def test_a_damaged_cache_does_not_matter(tmp_path, filled_cache, part, spoil):
    shutil.copytree(filled_cache / "cache", tmp_path / "cache")
    (file,) = tmp_path.rglob(f"*.{part}")
    half = file.read_bytes()[: file.stat().st_size // 2]
    file.write_bytes({"garbage": b"not a kernel", "empty": b"", "cut": half}[spoil])
    damaged = file.read_bytes()
    assert run_mine(filled_cache, tmp_path / "cache") == 3.0
    # What was needed is compiled into the cache again, not in memory for each process.
    assert not file.exists() or file.read_bytes() != damaged


@in_new_processes
def test_an_edited_kernel_recompiles_the_kernels_of_other_files(tmp_path):
    package = tmp_path / "site" / "rosenblatt"
    shutil.copytree(HERE, package)
    (tmp_path / "mine.py").write_text(MINE)
    cache = tmp_path / "cache"

    def kept():
        return {p: p.stat().st_mtime_ns for p in cache.rglob("*.nbc")}

    assert run_mine(tmp_path, cache, package) == 3.0
    before = kept()
    assert before
    assert run_mine(tmp_path, cache, package) == 3.0
    assert kept() == before
    source = (package / "rowformats.py").read_text()
    (package / "rowformats.py").write_text(
        source.replace("max(v, abs(w[i]))", "max(v, 2 * abs(w[i]))")
    )
    assert run_mine(tmp_path, cache, package) == 6.0


@in_new_processes
def test_ranges_in_kernels_of_other_packages_keep_their_meaning():
    numba = pytest.importorskip("numba")
    rb.Perceptron().fit([[1.0], [-1.0]], [1, 0])

    @numba.njit
    def measured(r):
        return len(r), r[2]

    assert measured(range(-4, 10, 3)) == (5, 2)


def test_a_job_starts_in_python_and_then_compiles():
    kernel = engine.Kernel(lambda a, b: a + b, work=lambda a, b: engine.WORTH_COMPILING)
    for _ in range(2):  # each job
        kernel.ready.clear()
        with engine.plain_at_first():
            for _ in range(engine.CALLS):
                assert kernel(1, 2) == 3
                assert not kernel.ready
            assert kernel(1, 2) == 3
            assert kernel.ready


def test_a_long_call_is_compiled_at_once():
    kernel = engine.Kernel(lambda a, b: a + b, work=lambda a, b: engine.WORTH_COMPILING + 1)
    with engine.plain_at_first():
        assert kernel(1, 2) == 3
        assert kernel.ready


def test_kernels_outside_a_job_are_compiled_at_once():
    kernel = engine.Kernel(lambda a, b: a + b, work=lambda a, b: 1)
    assert kernel(1, 2) == 3
    assert kernel.ready


@pytest.fixture
def in_python(monkeypatch):
    """Return a function that runs work in plain Python, as if nothing were compiled yet."""

    def do(work, *kernels):
        with monkeypatch.context() as patch, engine.plain_at_first():
            for kernel in kernels:
                patch.setattr(kernel, "ready", set())
            result = work()
            assert not any(kernel.ready for kernel in kernels)
        return result

    return do


def test_plain_python_makes_the_same_updates(in_python):
    rng = np.random.default_rng(1)
    X = np.round(8 * rng.normal(size=(60, 3)))
    fit = lambda: rb.Perceptron().fit(X, X @ [1, -2, 3] > 0.5)  # noqa: E731
    plain, compiled = in_python(fit, engine.pla, engine.look), fit()
    assert plain.trace_.examples.tolist() == compiled.trace_.examples.tolist()
    assert plain.weights_.tolist() == compiled.weights_.tolist()


@pytest.mark.parametrize("rows", [100, 500])
@pytest.mark.parametrize("labels", [2, 3])
def test_the_pocket_is_the_same_in_plain_python(in_python, labels, rows):
    rng = np.random.default_rng(3)
    X, y = np.round(8 * rng.normal(size=(rows, 9))), rng.integers(labels, size=rows)
    fit = lambda: rb.PocketPerceptron(60, random_state=0).fit(X, y)  # noqa: E731
    plain, compiled = in_python(fit, engine.pla_random, trace.run_keep, engine.pocket), fit()
    assert plain.trace_.examples.tolist() == compiled.trace_.examples.tolist()
    assert plain.history_ == compiled.history_
    assert plain.weights_.tolist() == compiled.weights_.tolist()


@pytest.mark.parametrize("labels", [2, 3])
def test_a_stream_is_the_same_to_the_last_bit_in_plain_python(in_python, labels):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(200, 7)), rng.integers(labels, size=200)

    def learn():
        model = rb.OnlinePerceptron(labels=range(labels))
        predictions = model.predict_then_learn(X, y)
        return predictions.tolist(), model.state()

    kernel = rule.run_online if labels == 2 else rule.run_online_joint
    assert in_python(learn, kernel) == learn()


def test_overflow_is_silent_in_plain_python_too(in_python):
    X, w = np.full((3, 2), 1e200), np.full(3, 1e200)
    D, s = engine.rowformats.Dense(X, 1.0, np.empty(0)), np.empty(3)
    in_python(lambda: engine.scores(D, w, s), engine.scores)
    assert np.isinf(s).all()
