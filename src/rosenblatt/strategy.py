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
from typing import TYPE_CHECKING, Any

import numpy as np

import rosenblatt.algorithms as algorithms
import rosenblatt.clock as clock
import rosenblatt.engine as engine
from rosenblatt.algorithms.pla import Progress, Run
from rosenblatt.algorithms.pocket import FOREVER, Pocket, PocketPlan, PocketRun
from rosenblatt.blocks import Blocks, return_block
from rosenblatt.clock import Deadline, Reporter, delay_interrupts
from rosenblatt.evidence.proof import Proof
from rosenblatt.evidence.separability import separability_of
from rosenblatt.evidence.verdicts import Separability, guarantee_of
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis, count_misclassified
from rosenblatt.scaling import Scaling
from rosenblatt.text import finite_or_none, floor_bound, plural

if TYPE_CHECKING:
    from rosenblatt.evidence.optimum import FewestMistakesResult

ALGORITHMS = ("auto", "pla", "pocket", "fewest", "average")
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
        counts = [
            (len(hypothesis.mistakes(block)), block.count_labels())
            for block in self.blocks.each(return_block)
        ]
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
    rng = np.random.default_rng(task.options.seed)
    rule = algorithms.Rule(task.options.order, rng=rng, average=average)
    budget = algorithms.Budget(task.options.epochs or epochs, seconds=deadline.left)
    context = task.reporter.progress("running PLA")
    run: Run
    run, interrupted = _run_within(context, lambda _: algorithms.pla(task.scaled, rule, budget))
    return replace(run, reason="interrupted") if interrupted else run


def _run_within(
    context: AbstractContextManager[Any], work: Callable[[Any], Any]
) -> tuple[Any, bool]:
    """Call `work` in a `with context` block; keep its result if Ctrl-C comes.

    Leaving the block takes a moment, in which Ctrl-C may come, too. Returns the result and
    whether Ctrl-C came.
    """
    results = []
    try:
        with context as value:
            try:
                results.append(work(value))
            except algorithms.Interrupted as stop:
                results.append(stop.run)
                raise
    except KeyboardInterrupt:
        if not results:
            raise
        return results[0], True
    return results[0], False


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
    rule = algorithms.Rule(order, rng=np.random.default_rng(task.options.seed))
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
    updates, made = plural(run.updates, "update"), plural(mistakes, "mistake")
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
    steps = (f"PLA made {made}; the average of its weights has {plural(mistakes, 'mistake')}",)
    played = ("pla", task.options.order)
    return Outcome(hypothesis, "average", mistakes, reason, steps, run, played, examples, baseline)


def _train_pocket_first(
    task: Task, share: float, train_next: Callable[[Task, Outcome], Outcome]
) -> Outcome:
    """Train the pocket in a share of the time; if it makes mistakes, call `train_next`."""
    first = _train_pocket(replace(task, deadline=task.deadline.share(share)))
    if first.reason == "interrupted" or not first.mistakes:
        return first
    if _too_late(task.blocks, task.deadline):
        return replace(first, reason="time_limit")
    try:
        return train_next(task, first)
    except KeyboardInterrupt:
        return replace(first, reason="interrupted")


def _compare_with_average(task: Task, first: Outcome) -> Outcome:
    """Train the averaged perceptron, and return it or the pocket, whichever is better.

    Neither is always better: with ten labels the pocket makes too few updates, and on noisy rows
    the average may be worse than always predicting the most frequent label.
    """
    second = _train_average(task)
    assert first.mistakes is not None
    assert second.mistakes is not None
    best = second if second.mistakes < first.mistakes else first
    reasons = (first.reason, second.reason)
    early = [reason for reason in ("interrupted", "time_limit") if reason in reasons]
    reason = early[0] if early else best.reason
    return replace(best, reason=reason, steps=(*first.steps, *second.steps))


def _search_fewer(task: Task, first: Outcome) -> Outcome:
    """Search for fewer mistakes than those of the pocket in the remaining time."""
    # Imported here because these modules load SciPy's optimizers, which PLA does not need.
    with clock.loading():
        from rosenblatt.algorithms.fewest import Search
        from rosenblatt.evidence.optimum import fewest_of
    seconds, rng = task.deadline.left, np.random.default_rng(task.options.seed)

    def search(report: Callable[..., None]) -> FewestMistakesResult:
        return fewest_of(task.blocks.first(), Search(seconds, os.cpu_count() or 1, rng, report))

    found, late = _run_within(task.reporter.mistake_progress(seconds, "steps"), search)
    made = plural(int(found.mistakes), "mistake")
    step = f"the search for fewer mistakes found a line with {made}"
    step += STOPPED_BY_TIME if found.stop_reason == "time_limit" else ""
    if found.mistakes < first.mistakes:
        first = replace(
            first,
            hypothesis=Hypothesis(found.weights),
            algorithm="search for the fewest mistakes",
            mistakes=int(found.mistakes),
        )
    return replace(
        first,
        lower_bound=int(found.lower_bound),
        proof=found.proof,
        reason="interrupted" if late else found.stop_reason,
        steps=(*first.steps, step),
    )


TRAINERS: dict[str, Callable[[Task], Outcome]] = {
    "pla": _train_pla,
    "pocket": _train_pocket,
    "average": _train_average,
    "fewest": lambda task: _train_pocket_first(task, POCKET_SHARE_BEFORE_SEARCH, _search_fewer),
    "better": lambda task: _train_pocket_first(
        task, POCKET_SHARE_BEFORE_AVERAGE, _compare_with_average
    ),
}
