"""Ctrl-C at any moment: exit code 130, and all of a result or none of it."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from case_counts import TIMES, count_cases, n_cases

from rosenblatt import load
from rosenblatt.files import HALF_WRITTEN

pytestmark = pytest.mark.skipif(os.name == "nt", reason="SIGINT cannot be sent to one process")

STREAM = "stream ../d.csv --target y -o out.txt --checkpoint state --every 1000 --resume"
COMMANDS = {
    "learn": "learn",
    "learn --noise": "learn --noise 0.2 --time-limit 0.3",
    "separable": "separable ../d.csv --target y --proof model.json",
    "stream": f"{STREAM} --save model.json",
}


# Before its handler is installed, Ctrl-C ends any Python program in Python's own way. So the signal
# is blocked when the process starts, and delivered from here on.
PROGRAM_WITH_HANDLER = """
import signal
from rosenblatt.clock import install_handler
install_handler()
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
from rosenblatt.__main__ import main
main()
"""


def run(command, folder, after=None, **environment):
    """Run the program; send Ctrl-C after so many seconds if it still runs then."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM_WITH_HANDLER, *command.split()],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    try:
        out, err = process.communicate(timeout=after)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
    return process.returncode, out, err


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """A folder with a file of so many rows that kernels are compiled for it."""
    folder = tmp_path_factory.mktemp("interrupts")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8000, 20))
    y = X @ rng.normal(size=20) > 0
    names = ",".join([*(f"x{j}" for j in range(20)), "y"])
    table = np.column_stack([X.round(3), y])
    np.savetxt(folder / "d.csv", table, "%g", delimiter=",", header=names, comments="")
    return folder


def whole_run(name, folder, **environment):
    """Run a command to its end in a new folder; the folder and the seconds it took."""
    folder.mkdir()
    begun = time.monotonic()
    code, _, err = run(COMMANDS[name], folder, **environment)
    assert code == 0, err
    return folder, time.monotonic() - begun


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("cache", ["warm", "cold"])
@pytest.mark.parametrize("name", COMMANDS)
def test_ctrl_c_at_any_moment_exits_with_130_and_a_complete_result_or_none(
    rows, tmp_path, name, cache
):
    if cache == "cold" and TIMES == 1:
        pytest.skip("compiling everything for each try takes minutes; set ROSENBLATT_TRY")

    def environment(number):
        return {} if cache == "warm" else {"NUMBA_CACHE_DIR": str(tmp_path / f"cache {number}")}

    if cache == "warm":
        whole_run(name, rows / f"compile {name}")
    whole, seconds = whole_run(name, rows / f"{cache} {name}", **environment("whole"))
    chance = random.Random(name if TIMES == 1 else None)
    many = n_cases(2)
    for number in range(many):
        folder = rows / f"{cache} {name} {number}"
        folder.mkdir()
        after = seconds * (number + chance.random()) / many
        code, out, err = run(COMMANDS[name], folder, after, **environment(number))
        what = check(name, folder, whole, code, out, err)
        count_cases(f"Ctrl-C in {name}, {cache} cache: {what}")


def check(name, folder, whole, code, out, err):
    """Check what an interrupted run left behind; a word for how it ended."""
    where = (name, code, out, err)
    left = {path.name for path in folder.iterdir()}
    assert code in (0, 130), where
    assert "Traceback" not in err, where
    assert "Exception ignored" not in err, where
    assert "internal error" not in err, where
    assert not any(file.endswith(HALF_WRITTEN) for file in left), where
    if name == "stream":
        return check_stream(folder, whole, code, err, where)
    if "nothing was written" in err:
        assert (code, left) == (130, set()), where
        return "nothing was written"
    if code == 0:
        assert "model.json" in left, where
        return "it was done"
    if name == "separable":
        undecided = "interrupted" in out
        assert undecided != ("model.json" in left), where
        return "undecided" if undecided else "it was done, 130"
    load(folder / "model.json")
    training = json.loads((folder / "model.json").read_text())["training"]
    assert ("best line so far is kept" in err) == training["interrupted"], where
    if training["interrupted"]:
        return "the best so far"
    return "not tested" if "was not measured" in err else "it was done, 130"


def check_stream(folder, whole, code, err, where):
    nothing = "nothing was written" in err
    assert not (nothing and (folder / "out.txt").exists()), where
    if code == 130:
        again, _, message = run(COMMANDS["stream"], folder)
        assert again == 0, (where, message)
    for file in ("out.txt", "model.json"):
        assert (folder / file).read_bytes() == (whole / file).read_bytes(), (file, where)
    return "nothing was written" if nothing else "it was done" if code == 0 else "it was resumed"


# Sends Ctrl-C in the middle of the import of a module.
WITHIN_AN_IMPORT = """
import signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r} and self in sys.meta_path:
            sys.meta_path.remove(self)
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Finder())
"""
THE_PROGRAM = """
sys.argv = {arguments!r}
from rosenblatt.__main__ import main
main()
"""
IMPORTED = [
    "click",
    "rosenblatt.cli.learn",
    "numpy.linalg",
    "pyarrow.compute",
    "rosenblatt.solve",
    "numba.extending",
    "scipy.linalg",
]
if TIMES > 1:
    IMPORTED += [
        "rosenblatt.evidence.minnorm",
        "numba.core.types",
        "numba.core.typing.templates",
        "llvmlite.ir",
    ]


def in_python(code, folder, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **environment},
        check=False,
    )


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("module", IMPORTED)
def test_ctrl_c_within_an_import_is_an_interrupt_like_any_other(tmp_path, module):
    arguments = ["rosenblatt", "learn", "--noise", "0.2", "--time-limit", "60"]
    code = WITHIN_AN_IMPORT.format(module=module) + THE_PROGRAM.format(arguments=arguments)
    done = in_python(code, tmp_path)
    assert done.returncode == 130, done.stderr
    assert "Traceback" not in done.stderr
    if (tmp_path / "model.json").exists():
        training = json.loads((tmp_path / "model.json").read_text())["training"]
        assert training["interrupted"]
        assert "best line so far is kept" in done.stderr
    else:
        assert "nothing was written" in done.stderr


IN_A_NOTEBOOK = """
import numpy as np
import rosenblatt as rb
X = np.random.default_rng(0).normal(size=(100, 2))
y = X[:, 0] > 0
for _ in range(2):
    try:
        rb.Perceptron().fit(X, y)
        print("fitted")
    except KeyboardInterrupt:
        print("interrupted")
"""


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("module", ["numba.core.types", "numba.extending", "sklearn.base"])
def test_a_cell_interrupted_within_an_import_can_be_run_again(tmp_path, module):
    done = in_python(WITHIN_AN_IMPORT.format(module=module) + IN_A_NOTEBOOK, tmp_path)
    assert done.stdout.split() == ["interrupted", "fitted"], done.stderr


PROGRAM = """
import signal, time
from rosenblatt import clock
def ctrl_c():
    signal.raise_signal(signal.SIGINT)
clock.install_handler()
"""


def test_ctrl_c_that_a_finalizer_swallows_is_raised_again(tmp_path):
    code = """
class Swallowing:
    def __del__(self):
        ctrl_c()
try:
    with clock.interruptible():
        Swallowing()
        time.sleep(60)
except KeyboardInterrupt:
    print("stopped")
"""
    done = in_python(PROGRAM + code, tmp_path)
    assert (done.stdout, done.stderr) == ("stopped\n", "")


def test_ctrl_c_held_in_the_program_is_raised_at_the_end_of_the_block(tmp_path):
    code = """
with clock.interruptible():
    with clock.delay_interrupts():
        ctrl_c()
        print("held", flush=True)
    print("never")
"""
    done = in_python(PROGRAM + code, tmp_path)
    assert done.stdout == "held\n"
    assert "KeyboardInterrupt" in done.stderr


def test_a_second_ctrl_c_ends_the_program_at_once(tmp_path):
    code = """
with clock.interruptible(), clock.delay_interrupts():
    ctrl_c()
    ctrl_c()  # so soon that it is the same
    time.sleep(clock.SAME_SECONDS)
    print("held", flush=True)
    ctrl_c()
    print("never")
"""
    done = in_python(PROGRAM + code, tmp_path)
    assert (done.returncode, done.stdout) == (130, "held\n")


@pytest.mark.parametrize("early", [True, False])
def test_ctrl_c_while_python_shuts_down_is_silent(tmp_path, early):
    code = """
import atexit, os, signal
class Late:
    def __del__(self, kill=os.kill, process=os.getpid(), number=signal.SIGINT):
        kill(process, number)
late = Late()
atexit.register(ctrl_c) if {early} else None
clock.exit_with(1)
""".replace("{early}", str(early))
    done = in_python(PROGRAM + code, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


def test_an_error_after_ctrl_c_is_an_interrupt_until_results_are_written(tmp_path):
    code = """
for finish in (lambda: None, clock.ignore_interrupts):
    try:
        with clock.interruptible():
            finish()
            try:
                ctrl_c()
            except KeyboardInterrupt:
                pass
            raise OSError("disk full")
    except (KeyboardInterrupt, OSError) as trouble:
        print(type(trouble).__name__)
    clock._program.requested_at = None
"""
    done = in_python(PROGRAM + code, tmp_path)
    assert done.stdout.split() == ["KeyboardInterrupt", "OSError"], done.stderr


def test_held_ctrl_c_comes_at_the_end_of_the_outermost_block():
    from rosenblatt.clock import delay_interrupts

    reached = []

    def press():
        with delay_interrupts():
            with delay_interrupts():
                signal.raise_signal(signal.SIGINT)
                reached.append("inner")
            reached.append("outer")
        reached.append("after")

    with pytest.raises(KeyboardInterrupt):
        press()
    assert reached == ["inner", "outer"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
