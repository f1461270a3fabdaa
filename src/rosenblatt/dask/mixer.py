"""What both estimators on Dask share: loading, mixing, telling, keeping."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike, fspath
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rosenblatt import algorithms, checks, estimators
from rosenblatt.clock import StatusLine
from rosenblatt.dask.crew import ClusterError, Crew
from rosenblatt.dask.gathering import Given, Sheet, gather
from rosenblatt.dask.lazily import Lazily
from rosenblatt.dask.mixing import Mixed, Pace, Plan, Round, State, mix
from rosenblatt.dask.saved import Checkpoint
from rosenblatt.dask.tasks import Learnt
from rosenblatt.estimators.base import Corrector
from rosenblatt.hypothesis import ZEROS, Hypothesis
from rosenblatt.words import counted

MIXINGS = ("uniform", "mistakes")
# What the plain estimators do not have.
OWN = ("client", "mixing", "checkpoint", "checkpoint_every", "timeout")


class Mixer(Lazily, Corrector):
    """What both estimators share: loading, mixing, telling, keeping."""

    client: Any
    mixing: str
    checkpoint: str | PathLike[str] | None
    checkpoint_every: int
    timeout: float
    history_: list[Round]

    def resume(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Go on from the checkpoint of a run that was lost; the same final bits come out.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
            The same data in the same parts.
        """
        if self.checkpoint is None:
            raise ValueError("there is no checkpoint to resume from: checkpoint is None.")
        return self._learn(Given(X, y, sample_weight, self.class_weight), None)

    def to_local(self) -> Any:
        """The plain estimator with the same parameters, and what was fitted if anything was."""
        plain = getattr(estimators, type(self).__name__)
        mine = {k: v for k, v in self.get_params(deep=False).items() if k not in OWN}
        local = plain(**mine)
        for name, value in vars(self).items():
            if name.endswith("_") or name == "_zero":
                setattr(local, name, value)
        return local

    def _learn(self, given: Given, start: tuple[Any, Any] | None) -> Self:
        """Fit from a start, or where none is given go on from the checkpoint."""
        plan = self._plan()
        crew = Crew(self.client, checks.positive_number("timeout", self.timeout))
        sheet = gather(crew, given, self._x0())
        saved = self._checkpoint(sheet)
        if start is None:
            assert saved is not None
            seed, state = saved.read(plan)
            plan = Plan(plan.rule, plan.budget, plan.by_mistakes, seed, plan.pocket)
        else:
            w = self._start(sheet.stand_in(), *start)
            state = State(np.zeros(sheet.columns + 1) if w is None else w)
            if saved is not None:
                saved.write(plan, state)
        mixed = self._mixed(crew, plan, state, saved)
        self._remember(sheet, mixed)
        if mixed.reason == "interrupted":
            raise KeyboardInterrupt
        return self

    def _mixed(self, crew: Crew, plan: Plan, state: State, saved: Checkpoint | None) -> Mixed:
        with StatusLine(self.verbose) as line:
            pace = Pace(len(crew.shards))

            def watch(state: State, learnt: Sequence[Learnt]) -> None:
                if saved is not None:
                    saved.after_round(plan, state)
                pace.take(learnt)
                last = state.history[-1]
                line.say(
                    lambda: (
                        f"round {state.rounds}: {counted(last.mistakes, 'mistake')}, "
                        f"{last.seconds:.2f} s"
                    )
                )

            try:
                return mix(crew, plan, state, watch)
            except ClusterError as error:
                raise ClusterError(f"{error}{_way_on(saved)}") from error.__cause__

    def _checkpoint(self, sheet: Sheet) -> Checkpoint | None:
        checks.whole_number("checkpoint_every", self.checkpoint_every, least=1)
        if self.checkpoint is None:
            return None
        data = {
            "labels": [repr(label) for label in sheet.labels.tolist()],
            "columns": sheet.columns,
            "x0": sheet.x0,
            "rows": list(sheet.rows),
        }
        return Checkpoint(fspath(self.checkpoint), int(self.checkpoint_every), data)

    def _plan(self) -> Plan:
        rule = self._rule()
        checks.one_of("mixing", self.mixing, MIXINGS)
        seed = 0 if rule.rng is None else int(rule.rng.integers(2**62))
        bare = algorithms.Rule(rule.order, rule.zero, rule.eta)
        return Plan(bare, self._budget(), self.mixing == "mistakes", seed)

    def _keep(self, sheet: Sheet, mixed: Mixed, w: NDArray[np.float64]) -> None:
        self.n_features_in_ = sheet.columns
        if sheet.names is not None:
            self.feature_names_in_ = np.array(sheet.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.classes_ = sheet.labels
        self.n_iter_ = max(mixed.state.rounds, 1)
        self.n_updates_ = mixed.state.corrections
        self.history_ = list(mixed.state.history)
        self.stop_reason_ = mixed.reason
        self._take(Hypothesis(w, sheet.x0, ZEROS[self.zero]))

    def _remember(self, sheet: Sheet, mixed: Mixed) -> None:
        raise NotImplementedError

    def __sklearn_clone__(self) -> Any:
        mine = self.get_params(deep=False)
        client = mine.pop("client")  # a connection is shared, never copied
        return type(self)(client=client, **{k: clone(v, safe=False) for k, v in mine.items()})

    def __getstate__(self) -> Any:
        return {**super().__getstate__(), "client": None}


def _way_on(saved: Checkpoint | None) -> str:
    if saved is None:
        return " Give checkpoint=path next time, to resume from there."
    return f" Start a cluster and call resume(X, y): {saved.path} holds the run so far."
