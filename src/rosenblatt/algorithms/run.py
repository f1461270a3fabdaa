"""What every learner takes and gives: a rule, a budget, a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rosenblatt.hypothesis import Hypothesis
from rosenblatt.trace import Trace
from rosenblatt.words import counted

Reason = Literal[
    "no mistakes", "max_iter", "max_updates", "time_limit", "interrupted", "end of stream"
]


@dataclass(frozen=True)
class Rule:
    """How examples are visited, what sign(0) means, how long a correction is; chance."""

    order: str = "cycle"
    zero: int = 0
    eta: float = 1.0
    rng: np.random.Generator | None = None


@dataclass(frozen=True)
class Budget:
    """When to give up: after so many cycles begun, so many corrections or so many seconds.

    Seconds end what takes long: work that a machine does in no time is done in any case.
    """

    cycles: int = 1000
    corrections: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, eq=False)
class Run:
    """What happened: the last hypothesis, every correction, and why it stopped."""

    hypothesis: Hypothesis
    trace: Trace
    mistakes: NDArray[np.intp]
    cycles: int
    reason: Reason

    @property
    def separated(self) -> bool:
        """Whether a whole look at the examples found no mistake."""
        return len(self.mistakes) == 0


class WeightsOverflowError(ValueError):
    """The weights grew past the largest float, or met something that is no number."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run; `run` is what it had reached."""

    def __init__(self, run: Run) -> None:
        super().__init__(
            f"interrupted after {counted(len(run.trace), 'correction')}; "
            f"{counted(len(run.mistakes), 'mistake')} left"
        )
        self.run = run
