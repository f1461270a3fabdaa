"""Ctrl-C in a long fit is answered, and what was learnt is kept."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="SIGINT cannot be sent to one process"),
    pytest.mark.slow_without_jit,  # a block of cycles takes plain Python too long to finish
]

LONG_FIT = """
import json, sys, warnings
import numpy as np
import rosenblatt as rb
warnings.simplefilter("ignore")
order = sys.argv[1]
rng = np.random.default_rng(0)
X = rng.normal(size=(500, 5))
y = np.where(rng.random(500) < 0.5, 1, -1)                   # no line answers these
clf = rb.Perceptron(order=order, max_iter=2, random_state=0).fit(X, y)   # compile
before = clf.weights_.copy()
clf.set_params(max_iter=10**9, warm_start=True)
print("fitting", flush=True)
try:
    clf.fit(X, y)
    told = {"interrupted": False}
except KeyboardInterrupt:
    kept = clf.weights_.copy()
    replayed = clf.trace_.weights(clf.n_updates_) if clf.n_updates_ < 10**7 else kept
    clf.set_params(max_iter=1)
    updates, cycles, separated = clf.n_updates_, clf.n_iter_, bool(clf.separated_)
    clf.fit(X, y)
    told = {
        "interrupted": True,
        "moved": not np.array_equal(before, kept),
        "updates": int(updates),
        "cycles": int(cycles),
        "separated": separated,
        "replays": bool(np.array_equal(replayed, kept)),
        "goes on": bool(np.array_equal(clf.trace_.weights(0), kept)),
    }
print(json.dumps(told))
"""


@pytest.mark.parametrize("order", ["cycle", "shuffle", "first", "random"])
def test_an_interrupted_fit_keeps_what_it_learnt(order):
    process = subprocess.Popen(
        [sys.executable, "-c", LONG_FIT, order],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout.readline() == "fitting\n", process.stderr.read()
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)  # a guard against hanging, not a speed test
    finally:
        process.kill()
    assert process.returncode == 0, err
    told = json.loads(out)
    assert told.pop("updates") > 0
    assert told.pop("cycles") > 0
    assert told == {
        "interrupted": True,
        "moved": True,
        "separated": False,
        "replays": True,
        "goes on": True,
    }
