"""Train with PLA on separable rows, else with the pocket, then search for fewer mistakes.

With more than two labels, the averaged perceptron is trained instead of searching.

The same code trains on rows in memory and on rows read in passes. Passes visit rows in file order,
without the maximum margin and the search for the fewest mistakes, which need all rows at once.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

import rosenblatt.algorithms as algorithms
import rosenblatt.clock as clock
import rosenblatt.engine as engine
from rosenblatt.algorithms.pla import Progress, Run
from rosenblatt.algorithms.pocket import Pocket, PocketPlan, PocketRun
from rosenblatt.blocks import Blocks
from rosenblatt.clock import Deadline, Reporter
from rosenblatt.evidence.guarantee import guarantee_of
from rosenblatt.evidence.proof import Proof
from rosenblatt.evidence.separability import separability_of
from rosenblatt.evidence.verdicts import Separability
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis, count_misclassified
from rosenblatt.interrupts import delay_interrupts
from rosenblatt.scaling import Scaling
from rosenblatt.text import finite_or_none, floor_bound, plural

if TYPE_CHECKING:
    from rosenblatt.evidence.optimum import FewestMistakesResult

C = TypeVar("C")
T = TypeVar("T")

ALGORITHMS = ("auto", "pla", "pocket", "fewest", "average")
FOREVER = 2**62
MANY_WEIGHTS = 1000  # over all labels; above this, the margin is not maximized
# Budgets that do not depend on the clock, so that results repeat on every machine.
EPOCHS = 1000
AVERAGED_EPOCHS = 100  # more epochs hardly change an average
POCKET_UPDATES = 1000
# Shares of the time for a first step; the rest is for the step after it.
PLA_SHARE = 0.7  # of PLA, before the maximum margin
POCKET_SHARE_BEFORE_SEARCH = 0.3
POCKET_SHARE_BEFORE_AVERAGE = 0.5
STOPPED_BY_TIME = ", stopped by the time limit"
STOPPED_BY_EPOCHS = ", the maximum"


@dataclass(frozen=True)
class TrainingOptions:
    """Options of training: algorithm, order of visits, budgets, scaling and seed."""

    algorithm: str = "auto"
    order: str = "cycle"
    scale: bool = True
    time_limit: float | None = None  # seconds; None: 5 for rows in memory, no limit in passes
    seed: int = 0
    epochs: int | None = None  # None: 1000, 100 for the average, no limit for the pocket in memory
    bounded: bool = True  # whether to compute the Novikoff bound R²/rho²

    @property
    def rng(self) -> np.random.Generator:
        """New random number generator with the seed."""
        return np.random.default_rng(self.seed)


@dataclass(frozen=True)
class Baseline:
    """Most frequent label, and the mistakes of always predicting it."""

    place: int  # position among the labels
    mistakes: int


@dataclass(frozen=True, eq=False)
class Outcome:
    """Result of training: the weights, and how they were found."""

    hypothesis: Hypothesis
    algorithm: str  # that found the weights
    mistakes: int | None  # on the training rows; None if Ctrl-C ended the run before counting
    reason: str  # why training ended, such as "time_limit"
    steps: tuple[str, ...]  # one sentence for each step of the training
    run: Run  # run of PLA or the pocket
    played: tuple[str, str]  # algorithm of that run, "pla" or "pocket", and its order
    trained_on: Examples | None  # examples of that run, scaled if requested; None in passes
    baseline: Baseline | None  # on the training rows; None if `mistakes` is None
    widest: Separability | None = None  # of `trained_on`, with the maximum margin
    bound: float | None = None  # Novikoff bound on the updates of PLA on `trained_on`
    lower_bound: int = 0  # on the mistakes of any linear classifier
    proof: Proof | None = None  # of the lower bound

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the training."""
        return self.reason == "interrupted"

    @property
    def cut_short(self) -> bool:
        """Whether the time limit ended the training."""
        return self.reason == "time_limit"


def train_model(
    blocks: Blocks,
    options: TrainingOptions,
    separator: Hypothesis | None,
    reporter: Reporter,
    deadline: Deadline,
    share: float = 1.0,
) -> Outcome:
    """Train with the requested algorithm, or with one that suits the data.

    `separator` is a w without mistakes, if one is known. Training gets a share of the time that
    is left after scaling. If there are many rows and no time is left, nothing is trained: the model
    is the separator, or always predicts the most frequent label.
    """
    scaled, scaling = blocks, None
    if options.scale and not _too_late(blocks, deadline):
        found = Scaling.of(blocks)
        if not _too_late(blocks, deadline):
            scaling, scaled = found, blocks.transform(found.apply)
    task = Task(blocks, scaled, scaling, options, reporter, deadline.share(share), separator)
    algorithm = options.algorithm
    if algorithm == "auto" and separator is not None:
        algorithm = "pla"
    elif algorithm == "auto":
        in_memory = "better" if blocks.multiclass else "fewest"
        algorithm = in_memory if blocks.in_memory else "pocket"
    return TRAINERS[algorithm](task)


def _too_late(blocks: Blocks, deadline: Deadline) -> bool:
    """Return whether no time is left to train on large data in memory.

    Small data and rows read in passes are always trained on.
    """
    examples = blocks.loaded
    return examples is not None and deadline.over_for(examples.numbers.size)


@dataclass(frozen=True, eq=False)
class Task:
    """Input of training: original and scaled rows, options and deadline."""

    blocks: Blocks
    scaled: Blocks
    scaling: Scaling | None
    options: TrainingOptions
    reporter: Reporter
    deadline: Deadline
    separator: Hypothesis | None  # a w without mistakes on the original rows, if one is known

    def fold(self, hypothesis: Hypothesis) -> Hypothesis:
        """Convert a hypothesis on scaled values to the original values."""
        folded = hypothesis if self.scaling is None else self.scaling.fold(hypothesis)
        if not np.isfinite(folded.w).all():
            raise ValueError("a weight overflows float64; scale the columns first")
        return folded

    def unfold(self, hypothesis: Hypothesis) -> Hypothesis:
        """Convert a hypothesis on the original values to scaled values."""
        return hypothesis if self.scaling is None else self.scaling.unfold(hypothesis)

    def evaluate(self, scaled: Hypothesis) -> tuple[Hypothesis, int, Baseline]:
        """Convert a hypothesis to the original values, and count its mistakes.

        Also counts the mistakes of the baseline, in the same pass.
        """
        hypothesis = self.fold(scaled)

        def count(block: Examples, first: int) -> tuple[int, NDArray[np.intp]]:
            return len(hypothesis.mistakes(block)), block.count_labels()

        counts = list(self.blocks.each(count))
        mistakes = sum(number for number, _ in counts)
        labels = np.sum([labels for _, labels in counts], axis=0)
        place = int(labels.argmax())
        return hypothesis, mistakes, Baseline(place, int(labels.sum() - labels[place]))


def _train_pla(task: Task) -> Outcome:
    examples, separator = task.scaled.loaded, task.separator
    share = task.deadline.share(1.0 if separator is None or examples is None else PLA_SHARE)
    run = _run_pla(task, share)
    step = f"PLA made {plural(run.updates, 'update')} in {_describe_epochs(run, examples)}"
    mistakes, baseline, separability, bound, algorithm = None, None, None, None, "PLA"
    if run.mistakes is None:  # Ctrl-C came before they were counted
        hypothesis = task.fold(run.hypothesis)
    else:
        hypothesis, mistakes, baseline = task.evaluate(run.hypothesis)
        if mistakes and examples is not None and run.mistakes == 0:
            hypothesis, mistakes = _repair(task, hypothesis, mistakes)
    if examples is not None:
        separability = _maximize_margin(task, examples, run)
        if separability is not None:
            bound = finite_or_none(separability.bound)
            widest = task.fold(Hypothesis.of(np.asarray(separability.weights)))
            separator = separator if count_misclassified(task.blocks, widest) else widest
        if bound is None and task.options.bounded:  # use the known w with the widest margin
            known = [h for h in (separator, None if mistakes else hypothesis) if h is not None]
            bounds = [guarantee_of(examples, task.unfold(h).w).bound for h in known]
            bound = finite_or_none(min((b for b in bounds if b is not None), default=None))
    steps: tuple[str, ...] = (
        step + (f" (Novikoff bound: {floor_bound(bound):,})" if bound else ""),
    )
    if mistakes and separator is not None and run.reason != "interrupted":
        steps += (f"PLA still makes {plural(mistakes, 'mistake')}; using the line of the proof",)
        hypothesis, algorithm = separator, "widest margin"
        mistakes = count_misclassified(task.blocks, separator)
    return Outcome(
        hypothesis,
        algorithm,
        mistakes,
        run.reason,
        steps,
        run,
        played=("pla", task.options.order),
        trained_on=examples,
        baseline=baseline,
        widest=separability,
        bound=bound,
    )


def _describe_epochs(run: Run, examples: Examples | None) -> str:
    if examples is not None:
        text = plural(run.epochs, "epoch")
    else:
        text = f"{plural(run.epochs, 'pass', 'passes')} over {plural(run.rows, 'row')}"
    return text + {"time_limit": STOPPED_BY_TIME, "max_iter": STOPPED_BY_EPOCHS}.get(run.reason, "")


def _run_pla(task: Task, deadline: Deadline, epochs: int = EPOCHS, average: bool = False) -> Run:
    """Run PLA until the maximum number of epochs, the deadline or Ctrl-C."""
    rule = algorithms.Rule(task.options.order, rng=task.options.rng, average=average)
    budget = algorithms.Budget(task.options.epochs or epochs, seconds=deadline.left)

    def train(progress: Any) -> Run:
        try:
            return algorithms.pla(task.scaled, rule, budget)
        except algorithms.Interrupted as stop:
            return stop.run

    run, interrupted = _run_within(task.reporter.progress("running PLA"), train)
    return replace(run, reason="interrupted") if interrupted else run


def _run_within(context: AbstractContextManager[C], work: Callable[[C], T]) -> tuple[T, bool]:
    """Call `work` in a `with context` block; keep its result if Ctrl-C comes after its end.

    Leaving the block takes a moment. Also returns whether Ctrl-C came during that moment.
    """
    results: list[T] = []
    try:
        with context as value:
            results.append(work(value))
    except KeyboardInterrupt:
        if not results:
            raise
        return results[0], True
    return results[0], False


def _repair(task: Task, hypothesis: Hypothesis, mistakes: int) -> tuple[Hypothesis, int]:
    """Fix mistakes that exist only because unscaling rounded the weights."""
    examples = task.blocks.first()
    budget = algorithms.Budget(FOREVER, 1000, task.deadline.left)
    eta = float(np.abs(hypothesis.w).max()) / examples.n  # small beside the weights
    start = examples.flat(hypothesis.w).copy()
    try:
        run = algorithms.pla(examples, algorithms.Rule(eta=eta), budget, start)
    except algorithms.Interrupted as stop:
        run = stop.run
    return (run.hypothesis, 0) if run.separated else (hypothesis, mistakes)


def _maximize_margin(task: Task, scaled: Examples, run: Run) -> Separability | None:
    """Maximize the margin on the scaled values; return None if this is not tried or fails.

    The margin is not maximized without a separating w or with many weights. The solver starts from
    the w of PLA if it separates, else from the w of the verdict.
    """
    if task.separator is None or scaled.size > MANY_WEIGHTS + 1:
        return None
    known = run.hypothesis if run.mistakes == 0 else task.unfold(task.separator)
    if len(known.mistakes(scaled)):
        return None
    separability = separability_of(scaled, deadline=task.deadline, known=known)
    return separability if separability and separability.weights is not None else None


def _train_pocket(task: Task) -> Outcome:
    examples = task.scaled.loaded
    # Rows in memory are visited at random, rows read in passes in file order.
    order, epochs = ("cycle", EPOCHS) if examples is None else ("random", FOREVER)
    seconds = None if math.isinf(task.deadline.left) else task.deadline.left
    rule = algorithms.Rule(order, rng=task.options.rng)
    budget = algorithms.Budget(task.options.epochs or epochs, POCKET_UPDATES, seconds)

    def train(report: Callable[..., None]) -> PocketRun:
        def watch(number: int, so_far: Progress, pocket: Pocket) -> None:
            report(pocket.mistakes, so_far.updates)

        plan = PocketPlan(threads=engine.cores(), watch=watch)
        return algorithms.pocket(task.scaled, rule, budget, plan=plan)

    run, early = _run_within(task.reporter.mistake_progress(seconds), train)
    counted, late = _run_within(delay_interrupts(), lambda _: task.evaluate(run.hypothesis))
    hypothesis, mistakes, baseline = counted
    reason = "interrupted" if early or late else run.reason
    updates = plural(run.updates, "update")
    made = plural(mistakes, "mistake")
    step = f"the pocket algorithm found weights with {made} after {updates}"
    if examples is None:
        step += f" in {_describe_epochs(run, examples)}"
    elif run.reason == "time_limit":
        step += STOPPED_BY_TIME
    steps: tuple[str, ...] = (step,)
    if mistakes > baseline.mistakes:
        label = task.blocks.first().label_names[baseline.place]
        mistakes, hypothesis = baseline.mistakes, hypothesis.predicting(baseline.place)
        made = plural(mistakes, "mistake")
        steps += (f"always predicting {label} makes {made} and is used instead",)
    played = ("pocket", order)
    return Outcome(hypothesis, "pocket", mistakes, reason, steps, run, played, examples, baseline)


def _train_average(task: Task) -> Outcome:
    examples = task.scaled.loaded
    run = _run_pla(task, task.deadline, AVERAGED_EPOCHS, average=True)
    assert run.mean is not None
    mean = run.mean.hypothesis
    counted, late = _run_within(delay_interrupts(), lambda _: task.evaluate(mean))
    hypothesis, mistakes, baseline = counted
    reason = "interrupted" if late else run.reason
    made = f"{plural(run.updates, 'update')} in {_describe_epochs(run, examples)}"
    step = f"PLA made {made}; the average of its weights has {plural(mistakes, 'mistake')}"
    played = ("pla", task.options.order)
    return Outcome(
        hypothesis, "average", mistakes, reason, (step,), run, played, examples, baseline
    )


def _train_better(task: Task) -> Outcome:
    """Train the pocket and the averaged perceptron, and keep the better model.

    Neither is always better: with ten labels the pocket makes too few updates, and on noisy rows
    the average may be worse than always predicting the most frequent label.
    """
    share = task.deadline.share(POCKET_SHARE_BEFORE_AVERAGE)
    first = _train_pocket(replace(task, deadline=share))
    if first.interrupted or not first.mistakes:
        return first
    if _too_late(task.blocks, task.deadline):
        return replace(first, reason="time_limit")
    try:
        second = _train_average(task)
    except KeyboardInterrupt:
        return replace(first, reason="interrupted")
    assert second.mistakes is not None
    best = second if second.mistakes < first.mistakes else first
    reasons = (first.reason, second.reason)
    early = [reason for reason in ("interrupted", "time_limit") if reason in reasons]
    reason = early[0] if early else best.reason
    return replace(best, reason=reason, steps=(*first.steps, *second.steps))


def _train_fewest(task: Task) -> Outcome:
    """Run the pocket, then search for fewer mistakes in the remaining time."""
    share = task.deadline.share(POCKET_SHARE_BEFORE_SEARCH)
    first = _train_pocket(replace(task, deadline=share))
    if first.interrupted or not first.mistakes:
        return first
    if _too_late(task.blocks, task.deadline):
        return replace(first, reason="time_limit")
    try:
        # Imported here because these modules load SciPy's optimizers, which PLA does not need.
        with clock.loading():
            from rosenblatt.algorithms.fewest import Search
            from rosenblatt.evidence.optimum import fewest_of
        seconds = task.deadline.left

        def search(report: Callable[..., None]) -> FewestMistakesResult:
            options = Search(seconds, os.cpu_count() or 1, task.options.rng, report)
            return fewest_of(task.blocks.first(), options)

        found, late = _run_within(task.reporter.mistake_progress(seconds, "steps"), search)
    except KeyboardInterrupt:
        return replace(first, reason="interrupted")
    made = plural(int(found.mistakes), "mistake")
    step = f"the search for fewer mistakes found a line with {made}"
    step += STOPPED_BY_TIME if found.stop_reason == "time_limit" else ""
    better = found.mistakes < first.mistakes
    return replace(
        first,
        hypothesis=Hypothesis(found.weights) if better else first.hypothesis,
        algorithm="search for the fewest mistakes" if better else first.algorithm,
        mistakes=int(found.mistakes) if better else first.mistakes,
        lower_bound=int(found.lower_bound),
        proof=found.proof,
        reason="interrupted" if late else found.stop_reason,
        steps=(*first.steps, step),
    )


TRAINERS: dict[str, Callable[[Task], Outcome]] = {
    "pla": _train_pla,
    "pocket": _train_pocket,
    "fewest": _train_fewest,
    "average": _train_average,
    "better": _train_better,
}
