import itertools
import os
import signal
from pathlib import Path

import case_counts
import pytest
from hypothesis import HealthCheck, settings

# These hold fixtures, not doctests, and share a name.
collect_ignore_glob = ["conftest.py", "*/conftest.py"]
WITHOUT_JIT = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")

# Compiling takes seconds in the first example and pure Python is slow: no deadline. Every
# run has the same examples, unless ROSENBLATT_TRY asks for more (see `case_counts`).
settings.register_profile(
    "here",
    deadline=None,
    derandomize=case_counts.TIMES == 1,
    max_examples=case_counts.n_cases(20 if WITHOUT_JIT else 25),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("here")


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "slow_without_jit: left out when kernels run as plain Python"
    )
    config.pluginmanager.register(CaseCounts())
    # Processes that go through files one by one compile less of the same at the same time, and
    # start fewer browsers and clusters, than those that take every other test.
    if config.getoption("dist", "no") == "load":
        config.option.dist = "worksteal"
    # A shell starts background jobs deaf to Ctrl-C; the tests of Ctrl-C must hear it there too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if WITHOUT_JIT:  # NumPy's scalars say aloud what compiled code does silently
        silence = "ignore:(overflow|invalid value) encountered in scalar:RuntimeWarning"
        config.addinivalue_line("filterwarnings", silence)


class CaseCounts:
    """Adds up the cases of all processes of a run and prints them at its end."""

    def pytest_sessionfinish(self, session):
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["cases"] = dict(case_counts.counts)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node):
        case_counts.counts.update(getattr(node, "workeroutput", {}).get("cases", {}))

    def pytest_terminal_summary(self, terminalreporter):
        if case_counts.counts:
            terminalreporter.section("cases")
            for line in case_counts.count_lines(case_counts.counts):
                terminalreporter.write_line(line)


@pytest.fixture
def hurried(monkeypatch):
    """A clock that advances by a second whenever it is read."""
    monkeypatch.setattr("time.monotonic", itertools.count(0.0, 1.0).__next__)


@pytest.fixture
def ticking(monkeypatch):
    """A clock that advances by 0.01 s whenever it is read: only work takes time, on any machine."""
    monkeypatch.setattr("time.monotonic", itertools.count(0.0, 0.01).__next__)


@pytest.fixture
def free_memory(monkeypatch):
    """Set how many bytes of memory are free on the machine."""

    def call(size):
        monkeypatch.setattr("rosenblatt.read.data.free_memory", lambda: size)

    return call


@pytest.fixture
def no_memory(free_memory):
    """A machine on which no file fits in memory."""
    free_memory(1000)


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of a line or two and batches of a few rows, so that a small file has many of them."""
    monkeypatch.setattr("rosenblatt.read.csv.BLOCK", 64)
    monkeypatch.setattr("rosenblatt.read.csv.LINES", 1)
    monkeypatch.setattr("rosenblatt.read.lines.BLOCK", 64)
    monkeypatch.setattr("rosenblatt.read.columnar.ROWS", 4)
    monkeypatch.setattr("rosenblatt.read.plan.RUN", 4)


@pytest.fixture(scope="session")
def data():
    """The folder of published data sets."""
    folder = os.environ.get("ROSENBLATT_DATA")
    if not folder:
        pytest.skip("ROSENBLATT_DATA is not set to the folder of published data sets")
    return Path(folder)


@pytest.fixture
def golden():
    """Compare a text with its file in tests/golden; ROSENBLATT_GOLDEN=update rewrites the file."""

    def compare(name, text):
        path = Path(__file__).parent / "golden" / name
        if os.environ.get("ROSENBLATT_GOLDEN") == "update":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8"), f"tests/golden/{name} differs"

    return compare
