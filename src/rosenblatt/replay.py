"""The corrections of a trace made again: any w(t), their mean, and what is measured on the way."""

from __future__ import annotations

from typing import Any

from rosenblatt.engine import ROW, Kernel
from rosenblatt.kernels import add, step


def replay(D, trace, w):
    """Make the corrections of a trace again."""
    for n in trace:
        add(D, n, w, step(D, n))


def keep(D, trace, w, W):
    """W[t] = w(t + 1): make the corrections of a trace again, keeping every w on the way."""
    for t in range(len(trace)):
        add(D, trace[t], w, step(D, trace[t]))
        for i in range(len(w)):
            W[t, i] = w[i]


def lag(D, rows, missed, u):
    """u ← u + Σ m·(the correction by a row), where m is how many visits missed it.

    If V visits were made in all, w - u/V is the mean of w over them.
    """
    for i in range(len(rows)):
        add(D, rows[i], u, step(D, rows[i]) * missed[i])


def along(D, trace, w, w_f, inner, squared):
    """Make the corrections again, noting w_f·w(t) and ‖w(t)‖² for t = 0 … T."""
    for t in range(len(trace) + 1):
        for i in range(len(w)):
            inner[t] += w_f[i] * w[i]
            squared[t] += w[i] * w[i]
        if t < len(trace):
            add(D, trace[t], w, step(D, trace[t]))


def _work(D: Any, trace: Any, w: Any, *others: Any) -> int:
    return len(trace) * (len(w) + ROW)


run_replay = Kernel(replay, work=_work)
run_keep = Kernel(keep, work=_work)
run_lag = Kernel(lag)
run_along = Kernel(along)
