"""Measurement of accuracy on rows that a model was not trained on.

Scikit-learn and scipy.stats are imported only when accuracy is computed, because importing them
takes a third of the time of `learn` on a small file.
"""

from __future__ import annotations

import functools
import operator
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rosenblatt.clock as clock
from rosenblatt.blocks import Blocks
from rosenblatt.clock import Deadline
from rosenblatt.errors import Message, Parameter, UsageError
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.read import Layout, Source
from rosenblatt.read.data import Data, read_with_plan, split
from rosenblatt.read.encoding import UnseenCategories, check_columns_present
from rosenblatt.read.plan import ColumnOptions
from rosenblatt.text import format_confusion, percent, plural

TEST_SIZE = 0.2
MIN_ROWS = 10  # with fewer rows, none are held out
MOST_LABELS = 100  # with more labels, ROC AUC is not computed

NOT_REQUESTED = "the held-out test is turned off"
NO_TIME = "the time limit left no time for a held-out test"
IN_PASSES = Message(
    "rows read in passes cannot be held out; give ", Parameter("test", example="FILE")
)

Rows = NDArray[np.intp]
# Trains a linear classifier; returns it and whether the deadline ended its training.
Trainer = Callable[[Examples, Deadline], tuple[Hypothesis, bool]]


@dataclass(frozen=True)
class Accuracy:
    """Confusion matrix of predictions, and the measures computed from it.

    Precision, recall and F1 are scikit-learn's: those of the positive label, the larger of two, or
    with more labels the mean over the labels. They are 0 where scikit-learn warns that they are
    undefined.

    Parameters
    ----------
    confusion : tuple of tuples of int
        Confusion matrix: a row for each true label, a column for each predicted one, both in
        the order of the labels.
    roc_auc : float, optional
        Area under the ROC curve. With more than two labels, the mean over the labels of each
        against the others, whose rows are ranked by how far the score of the label is above the
        best other score. None for rows read in passes, rows with one label, or over 100 labels.

    Examples
    --------
    >>> found = Accuracy(((12, 3), (2, 33)))
    >>> found.correct, found.rows, found.share, found.baseline
    (45, 50, 0.9, 0.7)
    >>> round(found.balanced, 3), [round(end, 3) for end in found.interval]
    (0.871, [0.786, 0.957])
    >>> round(found.precision, 3), round(found.recall, 3), round(found.f1, 3)
    (0.917, 0.943, 0.93)
    """

    confusion: tuple[tuple[int, ...], ...]
    roc_auc: float | None = None

    @classmethod
    def of(cls, hypothesis: Hypothesis, blocks: Blocks) -> Accuracy:
        """Compute the accuracy of a hypothesis on labeled rows."""

        def count(block: Examples, first: int) -> Accuracy:
            return cls.of_predictions(block.y, hypothesis.predict_codes(block.X), block.k)

        total, examples = functools.reduce(operator.add, blocks.each(count)), blocks.loaded
        if examples is None:
            return total
        known = examples.y != (-1 if examples.multiclass else 0)
        y, s = examples.y[known], hypothesis.scores(examples.X)[known]
        positive = y > 0
        if s.ndim == 2:
            tested = np.unique(y)
            if len(tested) > MOST_LABELS:
                return total
            second, best = np.partition(s, -2, axis=1)[:, -2:, None].swapaxes(0, 1)
            with np.errstate(all="ignore"):
                s = (s - np.where(s == best, second, best))[:, tested]
            positive = y[:, None] == tested
        if positive.all() or not positive.any() or not np.isfinite(s).all():
            return total
        with clock.loading():
            from sklearn.metrics import roc_auc_score
        return replace(total, roc_auc=float(roc_auc_score(positive, s)))

    @classmethod
    def of_predictions(cls, y: NDArray[Any], predicted: NDArray[Any], k: int) -> Accuracy:
        """Compute the accuracy of predictions, given the true labels y.

        Of k labels, two are coded -1 and +1, and more by their positions. Rows without a label
        (0 for two labels, -1 for more) are not counted.
        """
        no_label = 0 if k == 2 else -1
        known = (y != no_label) & (predicted != no_label)
        pairs = np.maximum(y[known], 0).astype(np.intp) * k + np.maximum(predicted[known], 0)
        counts = np.bincount(pairs, minlength=k * k).reshape(k, k)
        return cls(tuple(map(tuple, counts.tolist())))

    @classmethod
    def empty(cls, k: int) -> Accuracy:
        """Create an Accuracy for k labels in which all counts are 0."""
        return cls(((0,) * k,) * k)

    def __add__(self, other: Accuracy) -> Accuracy:
        pairs = zip(self.confusion, other.confusion, strict=True)
        return Accuracy(tuple(tuple(map(sum, zip(*pair, strict=True))) for pair in pairs))

    @property
    def correct(self) -> int:
        """Number of rows classified correctly."""
        return sum(row[k] for k, row in enumerate(self.confusion))

    @property
    def rows(self) -> int:
        """Number of rows, classified correctly or not."""
        return sum(self.sizes)

    @property
    def sizes(self) -> list[int]:
        """Number of rows of each label."""
        return [sum(row) for row in self.confusion]

    @property
    def share(self) -> float:
        """Share of rows classified correctly."""
        return self.correct / self.rows

    @property
    def baseline(self) -> float:
        """Accuracy of always predicting the most frequent label."""
        return max(self.sizes) / self.rows

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % confidence interval for the accuracy."""
        with clock.loading():
            from scipy.stats import binomtest
        low, high = binomtest(self.correct, self.rows).proportion_ci(0.95, "wilson")
        return float(low), float(high)

    @property
    def balanced(self) -> float | None:
        """Balanced accuracy: the mean recall of the labels that have rows.

        None, like precision, recall and F1, if there are two labels and one of them has no rows.
        """
        if len(self.sizes) == 2 and not all(self.sizes):
            return None
        pairs = zip(self.confusion, self.sizes, strict=True)
        recalls = [row[k] / size for k, (row, size) in enumerate(pairs) if size]
        return sum(recalls) / len(recalls)

    @property
    def precision(self) -> float | None:
        """Share of the rows predicted positive that are positive."""
        return self._averages[0]

    @property
    def recall(self) -> float | None:
        """Share of the positive rows that are predicted positive."""
        return self._averages[1]

    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and recall."""
        return self._averages[2]

    @functools.cached_property
    def _averages(self) -> tuple[float | None, float | None, float | None]:
        if self.balanced is None:
            return None, None, None
        with clock.loading():
            from sklearn.metrics import precision_recall_fscore_support
        counts = np.array(self.confusion)
        true, predicted = np.nonzero(counts)
        average = "binary" if len(counts) == 2 else "macro"
        averages = precision_recall_fscore_support(
            true, predicted, sample_weight=counts[true, predicted], average=average, zero_division=0
        )
        precision, recall, f1 = map(float, averages[:3])
        return precision, recall, f1

    def sentence(self, where: str) -> str:
        """Describe the accuracy on some rows, with its confidence interval."""
        low, high = (100 * end for end in self.interval)
        share = percent(self.share)
        return f"accuracy {share} on {where} (95 % interval {low:.1f} to {high:.1f} %)"

    def lines(
        self, sentence: str, labels: Sequence[str], table: bool = True
    ) -> list[tuple[str, str]]:
        """Return a report of the accuracy, as pairs of heading and text.

        With `table`, the confusion matrix comes last.
        """
        frequent, untested = labels[self.sizes.index(max(self.sizes))], self.sizes.count(0)
        first = f"baseline {percent(self.baseline)} (always predicting {frequent}); "
        if self.balanced is None:
            more = [first + "no balanced accuracy, because one class has no test rows"]
        else:
            first += f"balanced accuracy {percent(self.balanced)}"
            first += f" ({plural(untested, 'label')} not tested)" if untested else ""
            precision, recall, f1 = (percent(one) for one in self._averages if one is not None)
            area = "" if self.roc_auc is None else f", ROC AUC {self.roc_auc:.3f}"
            which = f"positive label: {labels[1]}" if len(labels) == 2 else "means over the labels"
            more = [first, f"precision {precision}, recall {recall}, F1 {f1}{area} ({which})"]
        more += format_confusion(self.confusion, labels) if table else []
        return [("tested", sentence), *(("", line) for line in more)]

    def to_json(self) -> dict[str, Any]:
        """Return the measures and the confusion matrix as JSON values."""
        area = {} if self.roc_auc is None else {"roc_auc": self.roc_auc}
        return {
            "rows": self.rows,
            "right": self.correct,
            "accuracy": self.share,
            "interval": list(self.interval),
            "baseline": self.baseline,
            "balanced": self.balanced,
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            **area,
            "confusion": [list(row) for row in self.confusion],
        }


def stratified_split(y: NDArray[Any], share: float, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Split row numbers at random into training and test rows, separately for each label.

    About `share` of the rows of each label are test rows. With two labels, at least one row of
    each is a test row. With more than two, at least one row of each stays a training row, so a
    label with a single row is not tested.
    """
    test, labels = [], np.unique(y)
    for label in labels:
        rows = rng.permutation(np.flatnonzero(y == label))
        most = len(rows) if len(labels) == 2 else len(rows) - 1
        test.append(rows[: min(most, max(1, round(share * len(rows))))])
    tested = np.sort(np.concatenate(test))
    return np.setdiff1d(np.arange(len(y)), tested), tested


@dataclass(frozen=True)
class EvaluationOptions:
    """Options that choose the rows to measure accuracy on."""

    test_size: float | None = None  # share of the rows to hold out; None: the default
    test: str | None = None  # path of a file with test rows
    cv: int | None = None  # number of folds
    data: Data | None = None  # rows of the test file, once it is read
    seed: int = 0

    def __post_init__(self) -> None:
        if bool(self.test_size) + (self.test is not None) + (self.cv is not None) > 1:
            raise UsageError(
                *("give only one of ", Parameter("test_size"), ", ", Parameter("test"), " and "),
                *(Parameter("cv"), ": each is a different way to measure accuracy."),
            )

    @property
    def trains(self) -> bool:
        """Whether measuring the accuracy requires training further models."""
        return self.test is None and (self.cv is not None or self.test_size != 0)

    def prepare(self, data: Data, layout: Layout, seed: int) -> EvaluationOptions:
        """Read the test file, if any, and check that there are enough rows for the folds."""
        second = np.sort(data.examples.count_labels())[-2] if data.blocks.in_memory else 0
        if self.cv is not None and data.blocks.in_memory and self.cv > second:
            rarer = "second most frequent" if data.blocks.multiclass else "rarer"
            raise UsageError(
                f"{self.cv:,} folds need {self.cv:,} rows of the {rarer} label, which has "
                f"{second:,}; {'give a smaller' if second > 1 else 'leave out'} ",
                *(Parameter("cv"), "."),
            )
        if self.test is None:
            return replace(self, seed=seed)
        rows = read_with_plan(Source.find(self.test), layout, data.plan, data.blocks.in_memory)
        needed = [column.name for column in data.plan.encoding.columns]
        check_columns_present(rows.names, [*needed, data.plan.target.column], rows.name)
        return replace(self, data=rows)


@dataclass(frozen=True)
class Evaluation:
    """Test accuracy of one model, or of one model per fold, and where the test rows came from."""

    kind: str  # source of the test rows: "held out", "file" or "folds"
    accuracies: tuple[Accuracy, ...]  # one for each model
    training_rows: int
    unseen: UnseenCategories | None = None  # categories in a test file that no training row has
    cut_short: int = 0  # number of models whose training the time limit ended

    @property
    def accuracy(self) -> Accuracy:
        """Accuracy on all test rows together, with the mean ROC AUC of the folds."""
        total = functools.reduce(operator.add, self.accuracies)
        areas = [one.roc_auc for one in self.accuracies if one.roc_auc is not None]
        whole = len(areas) == len(self.accuracies)
        return replace(total, roc_auc=float(np.mean(areas)) if whole else None)

    def sentence(self) -> str:
        """Describe the accuracy and the rows it was measured on."""
        accuracy = self.accuracy
        if self.kind == "folds":
            shares = np.array([one.share for one in self.accuracies])
            text = (
                f"mean accuracy {percent(float(shares.mean()))} in {len(shares)} folds "
                f"(standard deviation {100 * shares.std(ddof=1):.1f})"
            )
            which = f"{self.cut_short} of them" if self.cut_short < len(shares) else "each"
            return f"{text}; the time limit ended training in {which}" if self.cut_short else text
        rows = plural(accuracy.rows, "row")
        if self.kind == "file":
            return accuracy.sentence(f"{rows} of the test file")
        rows = f"{accuracy.rows:,} held-out row{'' if accuracy.rows == 1 else 's'}"
        text = f"{accuracy.sentence(rows)}, trained on the other {self.training_rows:,}"
        return text + (" until the time limit" if self.cut_short else "")

    def to_json(self) -> dict[str, Any]:
        """Return the evaluation as JSON values."""
        value = {
            "measured on": self.kind,
            **self.accuracy.to_json(),
            "training_rows": self.training_rows,
        }
        if self.unseen is not None:
            value["unseen"] = self.unseen.to_json()
        if self.kind == "folds":
            value["folds"] = [one.share for one in self.accuracies]
        return value


def evaluate(
    options: EvaluationOptions,
    data: Data,
    column_options: ColumnOptions,
    model: tuple[Hypothesis, int],
    train: Trainer,
    deadline: Deadline,
) -> Evaluation | str | Message:
    """Measure accuracy on a test file, by cross-validation or on held-out rows.

    A test file is classified by `model`, a hypothesis with its number of training rows. Otherwise
    `train` fits new models on the other rows, each in an equal share of the remaining time.
    If accuracy cannot be measured, the reason is returned.
    """
    if options.data is not None:
        hypothesis, rows = model
        accuracy = Accuracy.of(hypothesis, options.data.blocks)
        unseen = UnseenCategories(data.plan.encoding)
        for batch, _ in options.data.row_batches() if unseen.columns else ():
            unseen.add(batch)
        return Evaluation("file", (accuracy,), rows, unseen)
    if not options.trains:
        return NOT_REQUESTED
    if not data.blocks.in_memory:
        return IN_PASSES
    size, y = data.examples.numbers.size, data.examples.y
    if deadline.over_for(size):
        return NO_TIME
    if options.cv is not None:
        with clock.loading():
            from sklearn.model_selection import StratifiedKFold
        folds = StratifiedKFold(options.cv, shuffle=True, random_state=options.seed)
        with warnings.catch_warnings():  # on labels with fewer rows than folds
            warnings.simplefilter("ignore", UserWarning)
            kind, splits = "folds", list(folds.split(y, y))
    elif len(y) < MIN_ROWS:
        return f"{plural(len(y), 'row')} are too few for a held-out test (at least {MIN_ROWS})"
    else:
        rng = np.random.default_rng(options.seed)
        held_out = TEST_SIZE if options.test_size is None else options.test_size
        kind, splits = "held out", [stratified_split(y, held_out, rng)]
        second = np.sort(data.examples.count_labels())[-2]
        if second < 2 or len(np.unique(y[splits[0][0]])) < 2:
            return "a held-out test would leave only one label to train on"
    accuracies, cut_short = [], 0
    for k, (trained, tested) in enumerate(splits):
        if deadline.over_for(size):
            return NO_TIME
        share = deadline.share(1 / (len(splits) - k))
        if data.table is not None:
            training, test = split(data, column_options, trained, tested)
        else:  # arrays of numbers need no encoding fitted on the training rows
            training, test = data.examples.some(trained), data.examples.some(tested)
        hypothesis, stopped_early = train(training, share)
        accuracies.append(Accuracy.of(hypothesis, test))
        cut_short += stopped_early
    training_rows = max(len(trained) for trained, _ in splits)
    return Evaluation(kind, tuple(accuracies), training_rows, cut_short=cut_short)
