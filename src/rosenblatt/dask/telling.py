"""Telling a person how rounds get on, and when a cluster is not worth its cost."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Sequence

import numpy as np
from sklearn.exceptions import EfficiencyWarning

from rosenblatt.dask.mixing import State
from rosenblatt.dask.tasks import Learnt
from rosenblatt.progress import Line
from rosenblatt.words import counted

SECONDS = 1.0  # between two printed lines
SHORT_CYCLE = 0.05  # seconds: below this Dask costs more than the work


class Teller(Line):
    """Shows the mistakes and the seconds of rounds: on a terminal, and with `verbose`."""

    def __init__(self, verbose: int) -> None:
        super().__init__()
        self.verbose, self.last = bool(verbose), self.begun

    def tell(self, state: State) -> None:
        """Say how the last round went, if it is time to."""
        step = state.history[-1]
        line = f"round {state.rounds}: {counted(step.mistakes, 'mistake')}, {step.seconds:.2f} s"
        if self.due:
            self.show(line)
        elif self.verbose and not self.terminal and time.monotonic() - self.last >= SECONDS:
            self.last = time.monotonic()
            print(f"rosenblatt: {line}", file=sys.stderr)


class Pace:
    """Warns once where a shard's cycle is too short to be worth a cluster."""

    def __init__(self, shards: int) -> None:
        self.rounds = 0
        self.fastest = np.full(shards, np.inf)

    def take(self, learnt: Sequence[Learnt]) -> None:
        """Take the seconds of a round; the first includes loading compiled kernels."""
        self.rounds += 1
        self.fastest = np.minimum(self.fastest, [part.seconds for part in learnt])
        if self.rounds == 2 and self.fastest.max() < SHORT_CYCLE:
            warnings.warn(
                f"a shard's cycle takes {1000 * self.fastest.max():.1f} ms, less than "
                f"{1000 * SHORT_CYCLE:.0f} ms: Dask costs more than the work. Use fewer and larger "
                "shards, or the plain estimator.",
                EfficiencyWarning,
                stacklevel=2,
            )
