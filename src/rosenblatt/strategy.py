"""Which algorithm learns: PLA where a line is right everywhere, else the pocket and a search.

Of more than two labels, the better of the pocket and the average takes the place of the search.

Rows in memory and rows read in passes are learnt from alike. Those in passes are visited in file
order; there the widest margin and the search for the fewest mistakes are left out, for they would
need all rows at once.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import rosenblatt.algorithms as algorithms
import rosenblatt.clock as clock
import rosenblatt.engine as engine
from rosenblatt.algorithms.pla import Progress, Run
from rosenblatt.algorithms.pocket import Pocket, PocketPlan
from rosenblatt.blocks import Blocks, InOrder, first_of
from rosenblatt.clock import Deadline, Watcher
from rosenblatt.evidence.guarantee import guarantee_of
from rosenblatt.evidence.proof import Proof
from rosenblatt.evidence.separability import separability_of
from rosenblatt.evidence.verdicts import Separability
from rosenblatt.examples import Examples, JointExamples, of_labels
from rosenblatt.hypothesis import Floats, Hypothesis, mistakes_of
from rosenblatt.scaling import Scaling
from rosenblatt.words import counted, finite, whole

if TYPE_CHECKING:
    from rosenblatt.evidence.optimum import FewestMistakesResult

ALGORITHMS = ("auto", "pla", "pocket", "fewest", "average")
FOREVER = 2**62
MANY_FEATURES = 1000  # weights of all labels together
# Budgets that do not depend on the clock, so that results repeat on every machine.
EPOCHS = 1000
AVERAGED_EPOCHS = 100  # more hardly change a mean
POCKET_CORRECTIONS = 1000
# Of the time: for the pocket before a search, for PLA before the widest margin, for the pocket
# before the average.
POCKET_SHARE, PLA_SHARE, HALF = 0.3, 0.7, 0.5
ENDED = " when the time limit ended it"
LIMIT = ", the limit"


@dataclass(frozen=True)
class How:
    """What a person asked for: the algorithm, its order and budgets, scaling, the seed."""

    algorithm: str = "auto"
    order: str = "cycle"
    scale: bool = True
    time_limit: float | None = None  # seconds; None: five, and in passes no limit
    seed: int = 0
    epochs: int | None = None  # None: 1000, of an average 100; the pocket has its own budget
    bounded: bool = True  # whether R²/rho² is asked for, too

    @property
    def rng(self) -> np.random.Generator:
        """A new source of chance, the same every time."""
        return np.random.default_rng(self.seed)


@dataclass(frozen=True)
class Baseline:
    """The most frequent label, and how many mistakes always predicting it makes."""

    place: int  # among the labels
    mistakes: int


@dataclass(frozen=True, eq=False)
class Outcome:
    """What was learnt, in the values of the data, and what is known of it."""

    hypothesis: Hypothesis
    algorithm: str  # what found it
    mistakes: int | None  # on the rows learnt from; None where a person did not wait
    reason: str  # why learning ended
    steps: tuple[str, ...]  # what happened, a line each
    run: Run  # of PLA or the pocket …
    played: tuple[str, str]  # … and which of them it was, in what order …
    learnt_from: Examples | None  # … on these values; None where they were read in passes
    baseline: Baseline | None  # on the training rows; None where their mistakes are not known
    widest: Separability | None = None  # what is known of these values
    bound: float | None = None  # the most corrections PLA could need on them
    lower_bound: int = 0  # no line makes fewer mistakes than this …
    proof: Proof | None = None  # … which this shows

    @property
    def interrupted(self) -> bool:
        """Whether a person ended it."""
        return self.reason == "interrupted"

    @property
    def cut_short(self) -> bool:
        """Whether the time limit did."""
        return self.reason == "time_limit"


def learn_line(
    blocks: Blocks,
    how: How,
    separator: Hypothesis | None,
    watcher: Watcher,
    deadline: Deadline,
    share: float = 1.0,
) -> Outcome:
    """Learn by the algorithm asked for, or by the one that suits.

    A separator is a line without mistakes, where one is known. Learning gets a share of the time
    that scaling leaves. Where it leaves none, many rows are not scaled, and nothing is learnt
    from them: the most frequent label is predicted, or the separator is used.
    """
    scaled, scaling = blocks, None
    if how.scale and not _too_late(blocks, deadline):
        found = Scaling.of(blocks)
        if not _too_late(blocks, deadline):
            scaled, scaling = _scaled(blocks, found), found
    task = Task(blocks, scaled, scaling, how, watcher, deadline.share(share))
    algorithm = how.algorithm
    if algorithm == "auto" and separator is not None:
        algorithm = "pla"
    elif algorithm == "auto":
        in_memory = "better" if isinstance(blocks, JointExamples) else "fewest"
        algorithm = in_memory if isinstance(blocks, Examples) else "pocket"
    return LEARNERS[algorithm](task, separator)


def _too_late(blocks: Blocks, deadline: Deadline) -> bool:
    """Return whether there is no time for another pass over rows in memory; few take none."""
    return isinstance(blocks, Examples) and deadline.over_for(blocks.numbers.size)


def _scaled(blocks: Blocks, scaling: Scaling) -> Blocks:
    if isinstance(blocks, Examples):
        return scaling.apply(blocks)
    joint = of_labels(blocks)
    return InOrder(lambda: blocks.each(lambda block, first: scaling.apply(block)), joint)


@dataclass(frozen=True, eq=False)
class Task:
    """Rows as they are and as they are learnt from."""

    blocks: Blocks
    scaled: Blocks
    scaling: Scaling | None
    how: How
    watcher: Watcher
    deadline: Deadline

    def folded(self, hypothesis: Hypothesis) -> Hypothesis:
        """A hypothesis in the values of the data."""
        folded = hypothesis if self.scaling is None else self.scaling.fold(hypothesis)
        if not np.isfinite(folded.w).all():
            raise ValueError("the weights are larger than any float; scale the columns first")
        return folded

    def forth(self, hypothesis: Hypothesis) -> Hypothesis:
        """A hypothesis on the values learnt from: the inverse of folding."""
        return hypothesis if self.scaling is None else self.scaling.unfold(hypothesis)

    def count(self, hypothesis: Hypothesis) -> int:
        """The mistakes of a hypothesis in the values of the data, in exact arithmetic."""
        return mistakes_of(self.blocks, hypothesis)

    def compare(self, hypothesis: Hypothesis) -> tuple[int, Baseline]:
        """Count the mistakes of a hypothesis, and in the same pass those of the baseline."""

        def work(block: Examples, first: int) -> tuple[int, NDArray[np.intp]]:
            labels = np.bincount(block.places, minlength=len(block.labels))
            return len(hypothesis.mistakes(block)), labels

        parts = list(self.blocks.each(work))
        labels = np.sum([labels for _, labels in parts], axis=0)
        place = int(labels.argmax())
        return sum(part[0] for part in parts), Baseline(place, int(labels.sum() - labels[place]))


def _by_pla(task: Task, separator: Hypothesis | None) -> Outcome:
    held = task.scaled if isinstance(task.scaled, Examples) else None
    share = task.deadline.share(1.0 if separator is None or held is None else PLA_SHARE)
    with task.watcher.patience("running PLA"):
        done = _pla(task, share)
    told = f"PLA made {counted(done.corrections, 'correction')} in {_cycles(done, held)}"
    hypothesis, algorithm, bound, answer = task.folded(done.hypothesis), "PLA", None, None
    mistakes, baseline = None, None
    if done.mistakes is not None:
        mistakes, baseline = task.compare(hypothesis)
        if mistakes and held is not None and done.mistakes == 0:
            hypothesis, mistakes = _mended(task, hypothesis, mistakes)
    if held is not None:
        answer = _widest(task, held, separator, done)
        separator, bound = _folded_line(task, separator, answer)
        if bound is None and task.how.bounded:
            bound = _bound(task, held, (separator, None if mistakes else hypothesis))
    steps: tuple[str, ...] = (told + (f"; the bound allows {whole(bound):,}" if bound else ""),)
    if mistakes and separator is not None and done.reason != "interrupted":
        steps += (f"PLA had {counted(mistakes, 'mistake')} left; took the proof's line instead",)
        hypothesis, mistakes, algorithm = separator, task.count(separator), "widest margin"
    played = ("pla", task.how.order)
    known = baseline, answer, bound
    return Outcome(hypothesis, algorithm, mistakes, done.reason, steps, done, played, held, *known)


def _cycles(done: Run, held: Examples | None) -> str:
    if held is not None:
        told = counted(done.cycles, "cycle")
    else:
        told = f"{counted(done.cycles, 'pass', 'passes')} over {counted(done.rows, 'row')}"
    return told + {"time_limit": ENDED, "max_iter": LIMIT}.get(done.reason, "")


def _pla(task: Task, deadline: Deadline, epochs: int = EPOCHS, average: bool = False) -> Run:
    """Run PLA for its epochs, or until time is over or a person ends it."""
    rule = algorithms.Rule(task.how.order, rng=task.how.rng, average=average)
    budget = algorithms.Budget(task.how.epochs or epochs, seconds=deadline.left)
    try:
        return algorithms.pla(task.scaled, rule, budget)
    except algorithms.Interrupted as stop:
        return stop.run


def _mended(task: Task, hypothesis: Hypothesis, mistakes: int) -> tuple[Hypothesis, int]:
    """The hypothesis, corrected further: folding the scale back rounded some rows over."""
    examples = task.blocks
    assert isinstance(examples, Examples)
    budget = algorithms.Budget(FOREVER, 1000, task.deadline.left)
    size = float(np.abs(hypothesis.w).max()) / examples.n
    start = examples.flat(hypothesis.w).copy()
    try:
        run = algorithms.pla(examples, algorithms.Rule(eta=size), budget, start)
    except algorithms.Interrupted as stop:
        run = stop.run
    return (run.hypothesis, 0) if run.separated else (hypothesis, mistakes)


def _widest(
    task: Task, scaled: Examples, separator: Hypothesis | None, done: Run
) -> Separability | None:
    """The widest line on the values learnt from, where one is right there; not of many features.

    It is decided already that there is one: that of PLA, or of the proof once it is scaled.
    """
    if separator is None or scaled.size > MANY_FEATURES + 1:
        return None
    known = done.hypothesis if done.mistakes == 0 else task.forth(separator)
    if len(known.mistakes(scaled)):
        return None
    answer = separability_of(scaled, deadline=task.deadline, known=known)
    return answer if answer and answer.weights is not None else None


def _folded_line(
    task: Task, separator: Hypothesis | None, answer: Separability | None
) -> tuple[Hypothesis | None, float | None]:
    """The widest line in the values of the data, and R²/rho² where it was found."""
    if answer is None:
        return separator, None
    line = task.folded(Hypothesis.of(np.asarray(answer.weights)))
    return (line if task.count(line) == 0 else separator), finite(answer.bound)


def _bound(task: Task, scaled: Examples, known: Iterable[Hypothesis | None]) -> float | None:
    """R²/rho² on the values learnt from, by the widest of some lines without mistakes."""
    bounds = [guarantee_of(scaled, task.forth(h).w).bound for h in known if h is not None]
    return finite(min((b for b in bounds if b is not None), default=None))


def _by_pocket(task: Task, separator: Hypothesis | None) -> Outcome:
    held = task.scaled if isinstance(task.scaled, Examples) else None
    done, order = _pocket(task)
    line = task.folded(done.hypothesis)
    mistakes, baseline = task.compare(line)
    told = f"the pocket kept {counted(mistakes, 'mistake')} after "
    told += counted(done.corrections, "correction")
    if held is None:
        told += f" in {_cycles(done, held)}"
    elif done.reason == "time_limit":
        told += ENDED
    steps: tuple[str, ...] = (told,)
    if mistakes > baseline.mistakes:
        label = first_of(task.blocks).label_names[baseline.place]
        least = counted(baseline.mistakes, "mistake")
        steps += (f"always predicting {label} makes {least}; took that instead",)
        line, mistakes = replace(line, w=_constant(line.w, baseline.place)), baseline.mistakes
    played = ("pocket", order)
    return Outcome(line, "pocket", mistakes, done.reason, steps, done, played, held, baseline)


def _constant(like: Floats, place: int) -> Floats:
    """Return weights that predict the label at this place for every row."""
    w = np.zeros_like(like)
    if like.ndim == 1:
        w[0] = 1.0 if place else -1.0
    else:
        w[place, 0] = 1.0
    return w


def _by_average(task: Task, separator: Hypothesis | None) -> Outcome:
    """The mean of PLA's w over all visits: of few cycles, for it settles soon."""
    held = task.scaled
    assert isinstance(held, Examples)
    with task.watcher.patience("running PLA"):
        done = _pla(task, task.deadline, AVERAGED_EPOCHS, average=True)
    assert done.mean is not None
    hypothesis = task.folded(done.mean.hypothesis)
    mistakes, baseline = task.compare(hypothesis)
    made = f"{counted(done.corrections, 'correction')} in {_cycles(done, held)}"
    told = f"PLA made {made}; the mean of its weights makes {counted(mistakes, 'mistake')}"
    played = ("pla", task.how.order)
    known = (told,), done, played, held, baseline
    return Outcome(hypothesis, "average", mistakes, done.reason, *known)


def _by_better(task: Task, separator: Hypothesis | None) -> Outcome:
    """Return the pocket or the average, whichever makes fewer mistakes on the training rows.

    Neither is better everywhere: of ten labels the pocket's updates are too few, and where rows
    are noisy an average may be worse than the most frequent label.
    """
    first = _by_pocket(replace(task, deadline=task.deadline.share(HALF)), separator)
    if first.interrupted or not first.mistakes:
        return first
    if _too_late(task.blocks, task.deadline):
        return replace(first, reason="time_limit")
    try:
        second = _by_average(task, separator)
    except KeyboardInterrupt:
        return replace(first, reason="interrupted")
    assert second.mistakes is not None
    best = second if second.mistakes < first.mistakes else first
    reasons = (second.reason, first.reason)
    ended = [reason for reason in ("interrupted", "time_limit") if reason in reasons]
    return replace(best, reason=(*ended, best.reason)[0], steps=(*first.steps, *second.steps))


def _pocket(task: Task) -> tuple[Run, str]:
    """A run of the pocket and the order of its visits: by chance, or that of the file."""
    held = isinstance(task.scaled, Examples)
    order, epochs = ("random", FOREVER) if held else ("cycle", EPOCHS)
    seconds = None if math.isinf(task.deadline.left) else task.deadline.left
    rule = algorithms.Rule(order, rng=task.how.rng)
    budget = algorithms.Budget(task.how.epochs or epochs, POCKET_CORRECTIONS, seconds)
    with task.watcher.counting(seconds) as tell:

        def watch(number: int, so_far: Progress, pocket: Pocket) -> None:
            tell(pocket.mistakes, so_far.corrections)

        plan = PocketPlan(threads=engine.cores(), watch=watch)
        return algorithms.pocket(task.scaled, rule, budget, plan=plan), order


def _by_search(task: Task, separator: Hypothesis | None) -> Outcome:
    """The pocket first, then the search for the rest of the time; Ctrl-C keeps the better."""
    first = _by_pocket(replace(task, deadline=task.deadline.share(POCKET_SHARE)), separator)
    if first.interrupted or not first.mistakes:
        return first
    if _too_late(task.blocks, task.deadline):
        return replace(first, reason="time_limit")
    try:
        found = _searched(task)
    except KeyboardInterrupt:
        return replace(first, reason="interrupted")
    told = f"the search found {counted(int(found.mistakes), 'mistake')}"
    told += ENDED if found.stop_reason == "time_limit" else ""
    better = found.mistakes < first.mistakes
    return replace(
        first,
        hypothesis=Hypothesis(found.weights) if better else first.hypothesis,
        algorithm="search for the fewest mistakes" if better else first.algorithm,
        mistakes=int(found.mistakes) if better else first.mistakes,
        lower_bound=int(found.lower_bound),
        proof=found.proof,
        reason=found.stop_reason,
        steps=(*first.steps, told),
    )


def _searched(task: Task) -> FewestMistakesResult:
    # Here, for it brings SciPy's optimisers with it, which PLA has no use for.
    with clock.loading():
        from rosenblatt.algorithms.fewest import Search
        from rosenblatt.evidence.optimum import fewest_of

    assert isinstance(task.blocks, Examples)
    seconds = task.deadline.left
    with task.watcher.counting(seconds, "steps") as tell:
        search = Search(seconds, os.cpu_count() or 1, task.how.rng, tell)
        return fewest_of(task.blocks, search)


LEARNERS: dict[str, Callable[[Task, Hypothesis | None], Outcome]] = {
    "pla": _by_pla,
    "pocket": _by_pocket,
    "fewest": _by_search,
    "average": _by_average,
    "better": _by_better,
}
