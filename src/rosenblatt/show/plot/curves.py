"""Curves: the squeeze of the proof, the mistakes of a pocket and of a search, many runs counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from rosenblatt.algorithms.judge import Judge
from rosenblatt.errors import UsageError
from rosenblatt.evidence.guarantee import Guarantee, Squeeze, guarantee_of, squeeze, with_slot
from rosenblatt.evidence.separability import separability_of
from rosenblatt.files import replacing
from rosenblatt.pipelines import final
from rosenblatt.show.fitted import hypothesis_of, trace_of
from rosenblatt.show.plot.paper import INK, NO, PALE, YES, YES_SIDE, legend_of, sheet, tidy
from rosenblatt.trace import Trace
from rosenblatt.words import counted, whole

if TYPE_CHECKING:
    from rosenblatt.evidence.optimum import FewestMistakesResult
    from rosenblatt.experiments import Experiment

MOST = 2000  # moments of a long run that are drawn
BINS = 30
ROOM = 2  # times the fewest mistakes are in sight: the first lines make many more


class GuaranteeDisplay:
    """T²ρ² ≤ ‖w(T)‖² ≤ T·R² with the run between, and the cosine of w(t) and w_f rising.

    On logarithmic axes both bounds are straight lines; they meet at R²/ρ², beyond which no run
    can go. The trace is the dark line between them.

    Parameters
    ----------
    squeezed : Squeeze
        Both inequalities along a run, for a w_f of length 1.
    promise : Guarantee
        R, ρ and R²/ρ² of the same w_f.

    Attributes
    ----------
    axes_ : list of two Axes
        The squeeze and the cosine.
    figure_ : Figure
        The figure of these axes.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "no", "no", "yes"]
    >>> display = rb.GuaranteeDisplay.from_estimator(rb.Perceptron().fit(X, y), X, y)
    >>> display.axes_[0].get_title(loc="left")
    '18 corrections; at most R²/ρ² = 51'
    """

    axes_: list[Any]
    figure_: Any

    def __init__(self, squeezed: Squeeze, promise: Guarantee) -> None:
        self.squeezed = squeezed
        self.promise = promise

    @classmethod
    def from_estimator(cls, clf: Any, X: Any, y: Any, *, axes: Any = None) -> Self:
        """Draw the run of a fitted estimator on examples that a line can answer.

        Parameters
        ----------
        clf : Perceptron, PocketPerceptron, or a Pipeline that ends in one
            Fitted, and not loaded from a file: its trace must know its examples.
        X, y : arrays, sparse matrix or frame, and answers
            What it was fitted on; they must be separable.
        axes : two Axes, optional
            Where to draw; a new figure if not given.
        """
        trace = trace_of(clf, X, y)
        examples = trace.known_origin().examples
        found = separability_of(examples)
        if not found or found.weights is None:
            raise ValueError(
                f"these examples are {found.verdict}: without a line that answers them all there "
                "is no ρ and no guarantee to draw; PocketDisplay shows such a run."
            )
        w = np.asarray(found.weights)
        promise = guarantee_of(examples, with_slot(examples, w))
        return cls(squeeze(trace, w), promise).plot(axes=axes)

    def plot(self, *, axes: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        axes : two Axes, optional
            Where to; a new figure if not given.
        """
        self.figure_, self.axes_ = sheet(axes, 2, (8.4, 3.6))
        self._draw_squeeze(self.axes_[0])
        self._draw_cosine(self.axes_[1])
        return self

    def _draw_squeeze(self, ax: Any) -> None:
        s, last = self.squeezed, len(self.squeezed.squared) - 1
        bound = self.promise.bound
        shown = _moments(last)
        title = counted(last, "correction")
        if bound is not None and not s.squared[0]:
            title += f"; at most R²/ρ² = {whole(bound):,}" if np.isfinite(bound) else ""
            # Both bounds from the first correction to where they meet, and a little beyond.
            end = max(last, 1.25 * bound if np.isfinite(bound) else last, 2.0)
            t: NDArray[Any] = np.geomspace(1.0, end, 200)
            first = min(last, 1)
            least, most = (t * s.inner_least[first]) ** 2, t * s.squared_most[first]
            ax.axvline(bound, color=PALE, linewidth=0.9, linestyle=(0, (1, 2)))
        else:
            t, least, most = shown, np.maximum(s.inner_least[shown], 0) ** 2, s.squared_most[shown]
        tidy(ax, ("corrections t", "‖w(t)‖²"), title)
        ax.set(xscale="log", yscale="log")
        ax.fill_between(t, np.minimum(least, most), most, color="#f1f1f1", linewidth=0)
        ax.plot(t, most, color=NO, linewidth=1.4)
        ax.plot(t, least, color=YES, linewidth=1.4, linestyle="--")
        dots = "o" if last <= 40 else None
        ax.plot(shown, s.squared[shown], color=INK, linewidth=1.8, marker=dots, markersize=3)
        _name(ax, "t·R²", (t, most), NO, (-4, 6))
        _name(ax, "t²·ρ²", (t, least), YES, (4, -10))
        _name(ax, "‖w(t)‖²", (shown[-1:], s.squared[shown[-1:]]), INK, (-5, 5))

    def _draw_cosine(self, ax: Any) -> None:
        s, last = self.squeezed, len(self.squeezed.cosine) - 1
        shown = _moments(last)
        tidy(ax, ("corrections t", "cosine of w(t) and w_f"), "w(t) turns towards w_f")
        ax.axhline(1.0, color=PALE, linewidth=0.9, linestyle=(0, (1, 2)))
        dots = "o" if last <= 40 else None
        ax.plot(shown, s.cosine[shown], color=INK, linewidth=1.8, marker=dots, markersize=3)
        with np.errstate(invalid="ignore", divide="ignore"):
            floor = s.inner_least[shown] / np.sqrt(s.squared_most[shown])
        ax.plot(shown, floor, color=YES, linewidth=1.4, linestyle="--")
        _name(ax, "√t·ρ/R", (shown, floor), YES, (-6, -12), "right")
        low = float(np.nanmin(np.append(s.cosine[shown], floor), initial=0.0))
        ax.set_ylim(min(-0.02, 1.1 * low), 1.06)
        ax.xaxis.get_major_locator().set_params(integer=True)


def _moments(last: int) -> NDArray[np.intp]:
    """t = 1 … T, or many of them evenly on a logarithmic axis."""
    if last <= MOST:
        return np.arange(1, last + 1)
    return np.unique(np.rint(np.geomspace(1, last, MOST)).astype(np.intp))


def _name(
    ax: Any, name: str, curve: Any, colour: str, offset: tuple[float, float], side: str = ""
) -> None:
    """The name of a curve beside it, in its colour: no legend to look up."""
    t, value = curve
    good = np.flatnonzero(np.isfinite(value) & (value > 0))
    if len(good) == 0:
        return
    at = good[-1] if side else good[len(good) // 2]
    ax.annotate(
        name,
        (t[at], value[at]),
        offset,
        textcoords="offset points",
        color=colour,
        fontsize=9,
        ha=side or ("left" if offset[0] > 0 else "right"),
    )


@dataclass(frozen=True, eq=False)
class PocketCurve:
    """Mistakes along a run; with weights, what they weigh."""

    t: NDArray[np.intp]  # the moments looked at: all, or many where there are more than 2,000
    mistakes: NDArray[np.float64]  # of w(t) on all examples
    pocket: NDArray[np.float64]  # of the best weights kept so far

    @classmethod
    def of(cls, trace: Trace, history: Sequence[tuple[int, float]], zero: int = 0) -> Self:
        """Judge the weights of a run; the history tells when the pocket was replaced.

        Examples
        --------
        >>> import rosenblatt as rb
        >>> clf = rb.PocketPerceptron(max_updates=3, order="cycle")
        >>> clf = clf.fit([[0.0], [1.0], [2.0]], [0, 1, 0])
        >>> curve = PocketCurve.of(clf.trace_, clf.history_)
        >>> curve.mistakes.tolist(), curve.pocket.tolist()
        ([3.0, 1.0, 2.0, 1.0], [3.0, 1.0, 1.0, 1.0])
        """
        changes = np.array([t for t, _ in history], dtype=np.intp)
        costs = np.array([cost for _, cost in history], dtype=np.float64)
        t = np.arange(len(trace) + 1)
        if len(trace) >= MOST:  # each is a look at all examples
            t = np.union1d(np.linspace(0, len(trace), MOST).astype(np.intp), changes)
        judge = Judge(trace.known_origin().examples, zero)
        mistakes = np.array([judge.alone(w) for w in trace.walk(t.tolist())], dtype=np.float64)
        return cls(t, mistakes, costs[np.searchsorted(changes, t, side="right") - 1])


def _fitted(clf: Any, attribute: str, otherwise: str) -> Any:
    """The estimator itself, or that at the end of a pipeline, where it has what is to be drawn."""
    hypothesis_of(clf)  # says what is wrong with what is not fitted, or has no line
    last = final(clf)
    if not hasattr(last, attribute):
        raise ValueError(f"{type(last).__name__} {otherwise}")
    return last


class PocketDisplay:
    """How w(t) jumps about while the pocket only gets better.

    Parameters
    ----------
    curve : PocketCurve
        What there is to draw; `from_estimator` makes it.

    Attributes
    ----------
    ax_ : Axes
        Where it was drawn.
    figure_ : Figure
        The figure of these axes.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "yes", "yes", "no"]
    >>> clf = rb.PocketPerceptron(max_updates=50, random_state=0).fit(X, y)
    >>> rb.PocketDisplay.from_estimator(clf, X, y).ax_.get_title(loc="left")
    '2 mistakes in the pocket after 50 corrections'
    """

    ax_: Any
    figure_: Any

    def __init__(self, curve: PocketCurve) -> None:
        self.curve = curve

    @classmethod
    def from_estimator(cls, clf: Any, X: Any, y: Any, *, ax: Any = None) -> Self:
        """Draw the run of a fitted pocket.

        Parameters
        ----------
        clf : PocketPerceptron, or a Pipeline that ends in one
            Fitted, and not loaded from a file: its trace must know its examples.
        X, y : arrays, sparse matrix or frame, and answers
            What it was fitted on.
        ax : Axes, optional
            Where to draw; a new figure if not given.
        """
        last = _fitted(clf, "history_", "keeps no pocket; fit a PocketPerceptron to see one.")
        trace = trace_of(clf, X, y)
        return cls(PocketCurve.of(trace, last.history_, last._zero)).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            Where to; a new figure if not given.
        """
        curve = self.curve
        self.figure_, (self.ax_,) = sheet(ax, 1, (6.4, 3.6))
        kept = counted(float(curve.pocket[-1]), "mistake")
        title = f"{kept} in the pocket after {counted(int(curve.t[-1]), 'correction')}"
        tidy(self.ax_, ("corrections t", "mistakes"), title)
        self.ax_.plot(curve.t, curve.mistakes, color=PALE, linewidth=0.8, label="w(t)")
        pocket = {"color": INK, "linewidth": 2.2, "label": "pocket"}
        self.ax_.step(curve.t, curve.pocket, where="post", **pocket)
        # w(0) = 0 is wrong everywhere: it would press all the rest together.
        self.ax_.set_ylim(0, 1.05 * max(curve.mistakes[1:].max(initial=1), 1))
        self.ax_.set_xlim(0, max(int(curve.t[-1]), 1))
        legend_of(self.ax_, given=ax is not None)
        return self


class OptimumDisplay:
    """The mistakes of the best line so far, and the proved bound that no line is below.

    Two steps that close in on each other. The blue region is proved: no line is there. Where the
    steps meet, the optimum is known; what is left white between them is open.

    Parameters
    ----------
    result : FewestMistakesResult
        What `fewest_mistakes` returned.

    Attributes
    ----------
    ax_ : Axes
        Where it was drawn.
    figure_ : Figure
        The figure of these axes.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "yes", "yes", "no"]
    >>> rb.OptimumDisplay.from_result(rb.fewest_mistakes(X, y)).ax_.get_title(loc="left")
    '1 mistake; no line makes fewer (proved: 1 blocking set)'
    """

    ax_: Any
    figure_: Any

    def __init__(self, result: FewestMistakesResult) -> None:
        self.result = result

    @classmethod
    def from_estimator(cls, clf: Any, *, ax: Any = None) -> Self:
        """Draw the search of a fitted estimator.

        Parameters
        ----------
        clf : FewestMistakes, or a Pipeline that ends in one
            Fitted.
        ax : Axes, optional
            Where to draw; a new figure if not given.
        """
        last = _fitted(clf, "result_", "bounds no mistakes; fit a FewestMistakes to see that.")
        return cls.from_result(last.result_, ax=ax)

    @classmethod
    def from_result(cls, result: FewestMistakesResult, *, ax: Any = None) -> Self:
        """Draw what `fewest_mistakes` returned.

        Parameters
        ----------
        result : FewestMistakesResult
            The search, with its history.
        ax : Axes, optional
            Where to draw; a new figure if not given.
        """
        return cls(result).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            Where to; a new figure if not given.
        """
        self.figure_, (self.ax_,) = sheet(ax, 1, (6.4, 3.6))
        seconds, best, bound = np.array(self.result.history, dtype=np.float64).T
        tidy(self.ax_, ("seconds", "mistakes"), str(self.result))
        look: dict[str, Any] = {"where": "post", "linewidth": 2.2}
        self.ax_.step(seconds, best, color=INK, label="best line so far", **look)
        self.ax_.step(seconds, bound, color=YES, label="no line makes fewer", **look)
        self.ax_.fill_between(seconds, bound, step="post", color=YES_SIDE, linewidth=0)
        self.ax_.set_xlim(0, seconds[-1])
        self.ax_.set_ylim(0, ROOM * max(best[-1], 1))
        at = {"xycoords": self.ax_.get_yaxis_transform(), "textcoords": "offset points"}
        for height, colour in {bound[-1]: YES, best[-1]: INK}.items():
            text: dict[str, Any] = {"color": colour, "fontsize": 9, "va": "center"}
            self.ax_.annotate(f"{height:,g}", (1.0, height), (4, 0), **at, **text)
        legend_of(self.ax_, given=ax is not None)
        return self


class ExperimentDisplay:
    """Corrections and P[f≠g] of many runs.

    Parameters
    ----------
    updates : array, one entry a run
        How many corrections each made.
    disagreement : array, one entry a run
        How often g differs from f.

    Attributes
    ----------
    axes_ : list of two Axes
        Corrections and P[f≠g].
    figure_ : Figure
        The figure of these axes.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> done = rb.experiment(10, 200, random_state=0)
    >>> len(rb.ExperimentDisplay.from_experiment(done).axes_)
    2
    """

    axes_: list[Any]
    figure_: Any

    def __init__(self, updates: NDArray[Any], disagreement: NDArray[Any]) -> None:
        self.updates = np.asarray(updates)
        self.disagreement = np.asarray(disagreement)

    @classmethod
    def from_experiment(cls, result: Experiment, *, axes: Any = None) -> Self:
        """Draw what `experiment` returned.

        Parameters
        ----------
        result : Experiment
            Many runs.
        axes : two Axes, optional
            Where to draw; a new figure if not given.
        """
        return cls(result.updates, result.disagreement).plot(axes=axes)

    def plot(self, *, axes: Any = None, title: str | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        axes : two Axes, optional
            Where to; a new figure if not given.
        title : str, optional
            Above the left one, in place of the number of runs.
        """
        self.figure_, self.axes_ = sheet(axes, 2, (8.4, 3.4))
        left, right = self.axes_
        told = counted(len(self.updates), "run") if title is None else title
        tidy(left, ("corrections", "runs"), told)
        tidy(right, ("P[f ≠ g]", ""))
        _bars(left, self.updates, YES, f"median {np.median(self.updates):,g}")
        _bars(right, self.disagreement, NO, f"mean {self.disagreement.mean():.3g}")
        left.axvline(np.median(self.updates), color=INK, linewidth=1.2)
        right.axvline(self.disagreement.mean(), color=INK, linewidth=1.2)
        return self


def _bars(ax: Any, values: NDArray[Any], colour: str, told: str) -> None:
    """Bars up to the 99th percentile; what lies beyond is told, not drawn."""
    low, high = float(values.min()), float(np.percentile(values, 99, method="higher"))
    if np.issubdtype(values.dtype, np.integer):  # ranges of as many whole numbers each
        step = max(1, -(-int(high + 1 - low) // BINS))
        edges = np.arange(low, high + 1 + step, step) - 0.5
    else:
        edges = np.histogram_bin_edges(values, BINS, (low, high))
    ax.hist(values, bins=edges, color=colour, edgecolor="white", linewidth=0.5)
    beyond = int((values > edges[-1]).sum())
    if beyond:
        told += f"\n{beyond:,} more, up to {values.max():,.3g}"
    ax.annotate(told, (0.98, 0.95), xycoords="axes fraction", ha="right", va="top", fontsize=9)


def experiment_saver(path: str) -> Callable[[Experiment, int], None]:
    """What draws many runs on n examples each into an image file, whose end tells the format."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.2), layout="constrained")
    kind = Path(path).suffix.lstrip(".").lower() or "png"
    if kind not in figure.canvas.get_supported_filetypes():
        raise UsageError(f"{path}: cannot draw .{kind} files; give .png, .svg or .pdf.")

    def save(result: Experiment, n: int) -> None:
        title = f"{counted(len(result.updates), 'run')}, N = {n}"
        display = ExperimentDisplay(result.updates, result.disagreement)
        display.plot(axes=figure.subplots(1, 2), title=title)
        with replacing(path) as beside:
            figure.savefig(beside, format=kind)

    return save
