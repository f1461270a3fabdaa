"""Ctrl-C ends a long fit and keeps its weights."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="SIGINT cannot be sent to one process"),
    pytest.mark.slow_without_jit,  # a call of many epochs takes plain Python too long to finish
]

# A thread sends Ctrl-C once the process has worked for so long: a busy machine changes nothing.
LONG_FITS = """
import json, os, signal, sys, threading, time, warnings
import numpy as np
import rosenblatt as rb
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=(500, 5))
y = np.where(rng.random(500) < 0.5, 1, -1)                   # no line separates these

def interrupt():
    end = time.process_time() + 0.3
    while time.process_time() < end:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)

for order in sys.argv[1:]:
    clf = rb.Perceptron(order=order, max_iter=2, random_state=0).fit(X, y)   # compile
    before = clf.weights_.copy()
    clf.set_params(max_iter=10**9, warm_start=True)
    threading.Thread(target=interrupt).start()
    try:
        clf.fit(X, y)
        outcome = {"interrupted": False}
    except KeyboardInterrupt:
        kept = clf.weights_.copy()
        replayed = clf.trace_.weights(clf.n_updates_) if clf.n_updates_ < 10**7 else kept
        clf.set_params(max_iter=1)
        updates, epochs, separated = clf.n_updates_, clf.n_iter_, bool(clf.separated_)
        clf.fit(X, y)
        outcome = {
            "interrupted": True,
            "moved": not np.array_equal(before, kept),
            "updates": updates > 0,
            "epochs": epochs > 0,
            "separated": separated,
            "replays": bool(np.array_equal(replayed, kept)),
            "goes on": bool(np.array_equal(clf.trace_.weights(0), kept)),
        }
    print(json.dumps(outcome))
"""
ORDERS = ("cycle", "shuffle", "first", "random")


def test_an_interrupted_fit_keeps_its_weights():
    done = subprocess.run(
        [sys.executable, "-c", LONG_FITS, *ORDERS],
        capture_output=True,
        text=True,
        timeout=300,  # a guard against hanging, not a speed test
        check=False,
    )
    assert done.returncode == 0, done.stderr
    expected = {
        "interrupted": True,
        "moved": True,
        "updates": True,
        "epochs": True,
        "separated": False,
        "replays": True,
        "goes on": True,
    }
    outcomes = map(json.loads, done.stdout.splitlines())
    assert dict(zip(ORDERS, outcomes, strict=True)) == dict.fromkeys(ORDERS, expected)
