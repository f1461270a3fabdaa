"""A run on disk between two rounds, because a lost scheduler ends the job."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from rosenblatt.dask.mixing import Judged, Plan, Round, State
from rosenblatt.errors import DataError, UsageError, shortened
from rosenblatt.files import read_sealed, write_sealed

KIND = "rounds of mixing"


@dataclass(frozen=True)
class Checkpoint:
    """A file that holds the state of a run every few rounds.

    Parameters
    ----------
    path : path
        The file.
    every : int
        After how many rounds it is written again.
    data : dict
        What the data are: a run goes on with the same data only.
    """

    path: str | PathLike[str]
    every: int
    data: dict[str, Any]

    def write(self, plan: Plan, state: State) -> None:
        """Put a state in place of the last."""
        content = {"data": self.data, "rule": _rule(plan), "seed": plan.seed}
        write_sealed(self.path, KIND, {**content, "state": _content(state)})

    def after_round(self, plan: Plan, state: State) -> None:
        """Write the state if it is time to, and the run is not over."""
        over = state.history[-1].mistakes == 0 and state.history[-1].corrections == 0
        if state.rounds % self.every == 0 and not over:
            self.write(plan, state)

    def read(self, plan: Plan) -> tuple[int, State]:
        """The seed and the state to go on from; refuses those of other data or another rule."""
        content = read_sealed(self.path, KIND)
        try:
            self._check_same(content, plan)
            seed, state = int(content["seed"]), _state(content["state"])
            if state.w.shape != (self.data["columns"] + 1,) or not np.isfinite(state.w).all():
                raise ValueError("w is not a finite number for each column")
            return seed, state
        except UsageError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            why = shortened(repr(error))
            raise DataError(f"{self.path} does not hold a whole state: {why}.") from None

    def _check_same(self, content: Any, plan: Plan) -> None:
        for name, now in (("data", self.data), ("rule", _rule(plan))):
            for what, value in now.items():
                if content[name].get(what) != value:
                    raise UsageError(
                        f"{self.path} is of a run with {what} {_shown(content[name].get(what))}, "
                        f"this one has {_shown(value)}; resume with the same, or fit anew."
                    )


def _rule(plan: Plan) -> dict[str, Any]:
    rule = plan.rule
    mixing = "mistakes" if plan.by_mistakes else "uniform"
    return {"order": rule.order, "zero": rule.zero, "eta": rule.eta, "mixing": mixing}


def _content(state: State) -> dict[str, Any]:
    return {
        "w": state.w.tolist(),
        "rounds": state.rounds,
        "corrections": state.corrections,
        "clean": state.clean,
        "history": [list(step) for step in state.history],
        "last": _judged_content(state.last),
        "pocket": _judged_content(state.pocket),
        "seconds": state.seconds,
    }


def _state(content: dict[str, Any]) -> State:
    return State(
        np.array(content["w"], dtype=np.float64),
        int(content["rounds"]),
        int(content["corrections"]),
        int(content["clean"]),
        tuple(Round(*step) for step in content["history"]),
        _judged(content["last"]),
        _judged(content["pocket"]),
        float(content["seconds"]),
    )


def _judged_content(judged: Judged | None) -> dict[str, Any] | None:
    return None if judged is None else {"w": judged.w.tolist(), "mistakes": judged.mistakes}


def _judged(content: dict[str, Any] | None) -> Judged | None:
    if content is None:
        return None
    return Judged(np.array(content["w"], dtype=np.float64), content["mistakes"])


def _shown(value: Any) -> str:
    return shortened(repr(value))
