"""Which algorithm learns: PLA where a line is right everywhere, else pocket and search."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rosenblatt import algorithms, clock, engine
from rosenblatt.algorithms.pocket import Plan, Pocket
from rosenblatt.algorithms.scaling import Scaling
from rosenblatt.algorithms.walk import Progress
from rosenblatt.clock import Deadline, Teller
from rosenblatt.evidence.guarantee import guarantee_of
from rosenblatt.evidence.separability import Separability, separability_of
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.show.story import Story
from rosenblatt.words import counted

if TYPE_CHECKING:
    from rosenblatt.fewest import FewestMistakesResult

ALGORITHMS = ("auto", "pla", "pocket", "fewest")
FOREVER = 2**62
MANY_FEATURES = 1000
POCKET_CORRECTIONS = 1000
# Of the time that is left: for the pocket before a search, for PLA before the widest margin.
POCKET_SHARE, PLA_SHARE = 0.3, 0.7
ENDED = " when the time limit ended it"


@dataclass(frozen=True)
class How:
    """What a person asked for: the algorithm, its order and budgets, scaling, the seed."""

    algorithm: str = "auto"
    order: str = "cycle"
    scale: bool = True
    time_limit: float = 5.0
    seed: int = 0

    @property
    def rng(self) -> np.random.Generator:
        """A new source of chance, the same every time."""
        return np.random.default_rng(self.seed)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What was learnt, in the values of the file, and what is known of it.

    Parameters
    ----------
    hypothesis : Hypothesis
        The line.
    algorithm : str
        What found it.
    mistakes : int
        On the rows learnt from, in exact arithmetic.
    corrections : int
        Made by PLA or the pocket.
    lower_bound : int
        No line makes fewer mistakes than this.
    bound : float, optional
        The most corrections PLA could have needed, on the values it learnt from.
    interrupted : bool
        Whether Ctrl-C ended it early.
    cut_short : bool
        Whether the time limit did.
    steps : tuple of str
        What happened, a line each.
    story : Story, optional
        The run to be played, on the values it learnt from.
    """

    hypothesis: Hypothesis
    algorithm: str
    mistakes: int
    corrections: int
    lower_bound: int = 0
    bound: float | None = None
    interrupted: bool = False
    cut_short: bool = False
    steps: tuple[str, ...] = ()
    story: Story | None = None


Patience = Callable[[str], AbstractContextManager[Any]]


def learn_line(
    examples: Examples,
    how: How,
    separator: Hypothesis | None,
    patience: Patience,
    deadline: Deadline,
) -> Outcome:
    """Learn by the algorithm asked for, or by the one that suits.

    Parameters
    ----------
    examples : Examples
        In the values of the file.
    how : How
        What was asked for.
    separator : Hypothesis, optional
        A line without mistakes, where one is known.
    patience : callable
        Shows what is being done while it takes long.
    deadline : Deadline
        When to be content with what there is.
    """
    scaling = Scaling.of(examples) if how.scale else _no_scaling(examples)
    scaled = scaling.apply(examples) if how.scale else examples
    task = Task(examples, scaled, scaling, how, patience, deadline)
    algorithm = how.algorithm
    if algorithm == "auto":
        algorithm = "fewest" if separator is None else "pla"
    return LEARNERS[algorithm](task, separator)


@dataclass(frozen=True, eq=False)
class Task:
    """Examples as they are and as they are learnt from."""

    examples: Examples
    scaled: Examples
    scaling: Scaling
    how: How
    patience: Patience
    deadline: Deadline

    def folded(self, hypothesis: Hypothesis) -> Hypothesis:
        """A hypothesis in the values of the file."""
        folded = self.scaling.fold(hypothesis)
        if not np.isfinite(folded.w).all():
            raise ValueError("the weights are larger than any float; scale the columns first")
        return folded

    def count(self, hypothesis: Hypothesis) -> int:
        """The mistakes of a hypothesis in the values of the file."""
        return len(hypothesis.mistakes(self.examples))


def _by_pla(task: Task, separator: Hypothesis | None) -> Outcome:
    with task.patience("running PLA"):
        run, stopped = _pla(task, task.deadline.share(1.0 if separator is None else PLA_SHARE))
    cut_short = run.reason == "time_limit"
    hypothesis = task.folded(run.hypothesis)
    if run.separated:
        hypothesis = _mended(task, hypothesis)
    corrections, mistakes = len(run.trace), task.count(hypothesis)
    told = f"PLA made {counted(corrections, 'correction')} in {counted(run.cycles, 'cycle')}"
    told += ENDED if cut_short else ""
    answer = _widest(task, separator)
    separator, bound = _folded_line(task, separator, answer)
    if bound is None:
        bound = _bound(task, (separator, None if mistakes else hypothesis))
    steps: tuple[str, ...] = (told + (f"; the bound allows {bound:,.0f}" if bound else ""),)
    algorithm = "PLA"
    if mistakes and separator is not None and not stopped:
        steps += (f"PLA had {counted(mistakes, 'mistake')} left; took the proof's line instead",)
        hypothesis, mistakes, algorithm = separator, task.count(separator), "widest margin"
    return Outcome(
        hypothesis,
        algorithm,
        mistakes,
        corrections,
        bound=bound,
        interrupted=stopped,
        cut_short=cut_short,
        steps=steps,
        story=Story(task.scaled, run, answer, "pla", task.how.order),
    )


def _pla(task: Task, deadline: Deadline) -> tuple[algorithms.Run, bool]:
    """A run of PLA that ends in time, and whether a person ended it."""
    rule = algorithms.Rule(task.how.order, rng=task.how.rng)
    try:
        return algorithms.pla(
            task.scaled, rule, algorithms.Budget(FOREVER, seconds=deadline.left)
        ), False
    except algorithms.Interrupted as stop:
        return stop.run, True


def _mended(task: Task, hypothesis: Hypothesis) -> Hypothesis:
    """The hypothesis, corrected further where folding the scale back rounded a row over."""
    if task.count(hypothesis) == 0:
        return hypothesis
    budget = algorithms.Budget(FOREVER, 1000, task.deadline.left)
    size = float(np.abs(hypothesis.w).max()) / task.scaled.n
    run = algorithms.pla(task.examples, algorithms.Rule(eta=size), budget, hypothesis.w.copy())
    return run.hypothesis if run.separated else hypothesis


def _widest(task: Task, separator: Hypothesis | None) -> Separability | None:
    """The widest line on the values learnt from; for many features, none."""
    if separator is None or task.scaled.d > MANY_FEATURES:
        return None
    answer = separability_of(task.scaled, deadline=task.deadline)
    return answer if answer and answer.weights is not None else None


def _folded_line(
    task: Task, separator: Hypothesis | None, answer: Separability | None
) -> tuple[Hypothesis | None, float | None]:
    """The widest line in the values of the file, and R²/rho² where it was found."""
    if answer is None:
        return separator, None
    line = task.folded(Hypothesis(np.asarray(answer.weights), task.scaled.x0))
    return (line if task.count(line) == 0 else separator), _finite(answer.bound)


def _bound(task: Task, known: Sequence[Hypothesis | None]) -> float | None:
    """R²/rho² on the values learnt from, by the widest of some lines without mistakes."""
    bounds = [guarantee_of(task.scaled, _forth(task, h)).bound for h in known if h is not None]
    return _finite(min((b for b in bounds if b is not None), default=None))


def _finite(bound: float | None) -> float | None:
    return bound if bound is not None and np.isfinite(bound) else None


def _forth(task: Task, hypothesis: Hypothesis) -> Any:
    """The weights on scaled values: the inverse of folding."""
    w = hypothesis.w.copy()
    if hypothesis.x0:
        w[0] += float(w[1:] @ task.scaling.centre) / hypothesis.x0
    w[1:] *= task.scaling.width
    return w


def _no_scaling(examples: Examples) -> Scaling:
    return Scaling(np.zeros(examples.d), np.ones(examples.d))


def _by_pocket(task: Task, separator: Hypothesis | None) -> Outcome:
    rule, seconds = algorithms.Rule("random", rng=task.how.rng), task.deadline.left
    budget = algorithms.Budget(FOREVER, POCKET_CORRECTIONS, seconds)
    with Teller(0, seconds) as teller:

        def watch(number: int, so_far: Progress, pocket: Pocket) -> None:
            teller.tell(pocket.mistakes, so_far.corrections)

        run = algorithms.pocket(
            task.scaled, rule, budget, plan=Plan(threads=engine.cores(), watch=watch)
        )
    hypothesis = min(task.folded(run.hypothesis), _constant(task.examples), key=task.count)
    mistakes, corrections = task.count(hypothesis), len(run.trace)
    cut_short = run.reason == "time_limit"
    told = (
        f"the pocket kept {counted(mistakes, 'mistake')} after {counted(corrections, 'correction')}"
        + (ENDED if cut_short else "")
    )
    return Outcome(
        hypothesis,
        "pocket",
        mistakes,
        corrections,
        interrupted=run.reason == "interrupted",
        cut_short=cut_short,
        steps=(told,),
        story=Story(task.scaled, run, None, "pocket", rule.order),
    )


def _constant(examples: Examples) -> Hypothesis:
    """The line that gives every row the more frequent answer: what a pocket must beat."""
    w = np.zeros(examples.d + 1)
    w[0] = 1.0 if 2 * np.count_nonzero(examples.y > 0) > examples.n else -1.0
    return Hypothesis(w, examples.x0)


def _by_search(task: Task, separator: Hypothesis | None) -> Outcome:
    """The pocket first, then the search for the rest of the time; Ctrl-C keeps the better."""
    first = _by_pocket(replace(task, deadline=task.deadline.share(POCKET_SHARE)), separator)
    if first.interrupted or first.mistakes == 0:
        return first
    try:
        found = _searched(task)
    except KeyboardInterrupt:
        return replace(first, interrupted=True)
    cut_short = found.stop_reason == "time_limit"
    told = f"the search found {counted(int(found.mistakes), 'mistake')}"
    told += ENDED if cut_short else ""
    better = found.mistakes < first.mistakes
    return replace(
        first,
        hypothesis=_slotted(task, found.weights) if better else first.hypothesis,
        algorithm="search for the fewest mistakes" if better else first.algorithm,
        mistakes=int(found.mistakes) if better else first.mistakes,
        lower_bound=int(found.lower_bound),
        interrupted=found.stop_reason == "interrupted",
        cut_short=cut_short,
        steps=(*first.steps, told),
    )


def _searched(task: Task) -> FewestMistakesResult:
    # Here, for it brings SciPy's optimisers with it, which PLA has no use for.
    with clock.standing_still():
        from rosenblatt.algorithms.best import Search
        from rosenblatt.fewest import fewest_of

    seconds = task.deadline.left
    with Teller(0, seconds, "steps") as teller:
        search = Search(seconds, os.cpu_count() or 1, task.how.rng, teller.tell)
        return fewest_of(task.examples, search)


def _slotted(task: Task, weights: Any) -> Hypothesis:
    """Tall weights as a hypothesis, with its w0 slot."""
    x0 = task.examples.x0
    return Hypothesis(weights if x0 else np.concatenate(([0.0], weights)), x0)


LEARNERS: dict[str, Callable[[Task, Hypothesis | None], Outcome]] = {
    "pla": _by_pla,
    "pocket": _by_pocket,
    "fewest": _by_search,
}
