"""Plot the bounds of the convergence proof, mistakes over time, many runs, and coefficients."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from rosenblatt.algorithms.pocket import Judge
from rosenblatt.errors import UsageError
from rosenblatt.evidence.separability import separability_of
from rosenblatt.evidence.separation import Separation, spelled
from rosenblatt.evidence.verdicts import Guarantee, Squeeze, add_bias_slot, guarantee_of, squeeze
from rosenblatt.files import replacing
from rosenblatt.pipelines import final
from rosenblatt.show.drawing import (
    INK,
    NO,
    PALE,
    YES,
    YES_SIDE,
    draw_own_legend,
    escape_text,
    make_axes,
    style_axes,
)
from rosenblatt.show.story import hypothesis_of, trace_of
from rosenblatt.text import floor_bound, plural, shorten

if TYPE_CHECKING:
    from rosenblatt.evidence.optimum import FewestMistakesResult
    from rosenblatt.experiments import Experiment

MOST = 2000  # number of values of t that are plotted of a long run
BINS = 30
HEIGHT = 2  # height of the plot, in multiples of the fewest mistakes
MOST_COEFFICIENTS = 40  # that a figure has room for
NORMAL = 1.959963984540054  # half the width of a 95 % interval, in standard errors
DOTTED: dict[str, Any] = {"color": PALE, "linestyle": (0, (1, 2))}


@dataclass(eq=False, repr=False)
class GuaranteeDisplay:
    """Plot of ‖w(t)‖² between the two bounds of the convergence proof, t²ρ² and t·R².

    On logarithmic axes both bounds are straight lines. They meet at the Novikoff bound R²/ρ²,
    which no run can exceed. The dark line between them is the run. The second plot shows the
    cosine of w(t) and w_f.

    Parameters
    ----------
    squeezed : Squeeze
        Both inequalities along a run, for a w_f of length 1.
    promise : Guarantee
        R, ρ and R²/ρ² for the same w_f.

    Attributes
    ----------
    axes_ : list of two Axes
        Axes of the bounds and of the cosine.
    figure_ : Figure
        Figure of these axes.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "no", "no", "yes"]
    >>> display = rb.GuaranteeDisplay.from_estimator(rb.Perceptron().fit(X, y), X, y)
    >>> display.axes_[0].get_title(loc="left")
    '18 updates (Novikoff bound: 51)'
    """

    squeezed: Squeeze
    promise: Guarantee

    @classmethod
    def from_estimator(cls, clf: Any, X: Any, y: Any, *, axes: Any = None) -> Self:
        """Plot ‖w(t)‖² and its bounds for an estimator fitted on separable examples.

        Parameters
        ----------
        clf : Perceptron, PocketPerceptron, or a Pipeline that ends in one
            Fitted estimator. A model loaded from a file has no trace.
        X, y : arrays, sparse matrix or frame, and labels
            The training examples, which must be separable.
        axes : two Axes, optional
            Axes to plot on (default: a new figure).
        """
        trace = trace_of(clf, X, y)
        examples = trace.known_origin().examples
        found = separability_of(examples)
        if not found or found.weights is None:
            raise ValueError(
                f"the examples are {found.verdict}, so there is no ρ and no bound to plot; use "
                "PocketDisplay for such a run."
            )
        w = np.asarray(found.weights)
        promise = guarantee_of(examples, add_bias_slot(examples, w))
        return cls(squeeze(trace, w), promise).plot(axes=axes)

    def plot(self, *, axes: Any = None) -> Self:
        """Plot ‖w(t)‖² between its bounds, and the cosine of w(t) and the separating weights w_f.

        Parameters
        ----------
        axes : two Axes, optional
            Axes to plot on (default: a new figure).
        """
        self.figure_, self.axes_ = make_axes(axes, 2, (8.4, 3.6))
        s, bound, last = self.squeezed, self.promise.bound, len(self.squeezed.squared) - 1
        shown, title = np.arange(1, last + 1), plural(last, "update")
        if last > MOST:  # with growing gaps
            shown = np.unique(np.rint(np.geomspace(1, last, MOST)).astype(np.intp))
        run: dict[str, Any] = {"color": INK, "linewidth": 1.8, "markersize": 3}
        run["marker"] = "o" if last <= 40 else None

        ax = self.axes_[0]
        if bound is not None and not s.squared[0]:
            title += f" (Novikoff bound: {floor_bound(bound):,})" if np.isfinite(bound) else ""
            # Both bounds from the first update to a little beyond the point where they meet.
            end = max(last, 1.25 * bound if np.isfinite(bound) else last, 2.0)
            t: NDArray[Any] = np.geomspace(1.0, end, 200)
            first = min(last, 1)
            least, most = (t * s.inner_least[first]) ** 2, t * s.squared_most[first]
            ax.axvline(bound, color=PALE, linewidth=0.9, linestyle=(0, (1, 2)))
        else:
            t, least, most = shown, np.maximum(s.inner_least[shown], 0) ** 2, s.squared_most[shown]
        style_axes(ax, ("updates t", "‖w(t)‖²"), title)
        ax.set(xscale="log", yscale="log")
        ax.fill_between(t, np.minimum(least, most), most, color="#f1f1f1", linewidth=0)
        ax.plot(t, most, color=NO, linewidth=1.4)
        ax.plot(t, least, color=YES, linewidth=1.4, linestyle="--")
        ax.plot(shown, s.squared[shown], **run)
        _label_curve(ax, "t·R²", (t, most), NO, (-4, 6))
        _label_curve(ax, "t²·ρ²", (t, least), YES, (4, -10))
        _label_curve(ax, "‖w(t)‖²", (shown[-1:], s.squared[shown[-1:]]), INK, (-5, 5))

        ax = self.axes_[1]
        style_axes(ax, ("updates t", "cosine of w(t) and w_f"), "w(t) turns toward w_f")
        ax.axhline(1.0, color=PALE, linewidth=0.9, linestyle=(0, (1, 2)))
        ax.plot(shown, s.cosine[shown], **run)
        with np.errstate(invalid="ignore", divide="ignore"):
            floor = s.inner_least[shown] / np.sqrt(s.squared_most[shown])
        ax.plot(shown, floor, color=YES, linewidth=1.4, linestyle="--")
        _label_curve(ax, "√t·ρ/R", (shown, floor), YES, (-6, -12), "right")
        low = float(np.nanmin(np.append(s.cosine[shown], floor), initial=0.0))
        ax.set_ylim(min(-0.02, 1.1 * low), 1.06)
        ax.xaxis.get_major_locator().set_params(integer=True)
        return self


def _label_curve(
    ax: Any, name: str, curve: Any, color: str, offset: tuple[float, float], side: str = ""
) -> None:
    """Write the name of a curve beside it, in the same color."""
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
        color=color,
        fontsize=9,
        ha=side or ("left" if offset[0] > 0 else "right"),
    )


def _classifier_with(attribute: str, clf: Any, otherwise: str) -> Any:
    """Return the classifier that ends a pipeline; raise ValueError if it lacks `attribute`."""
    hypothesis_of(clf)  # raises an error for estimators that are not fitted or not linear
    last = final(clf)
    if not hasattr(last, attribute):
        raise ValueError(f"{type(last).__name__} {otherwise}")
    return last


@dataclass(eq=False, repr=False)
class PocketDisplay:
    """Mistakes of w(t), and of the best weights so far (the pocket), after each update.

    With sample weights, the total weight of the mistakes is plotted.

    Parameters
    ----------
    t : array of int
        Numbers of updates: all, or about 2,000 of them.
    mistakes, pocket : arrays, one entry per t
        Mistakes of w(t) and of the pocket on all examples.

    Attributes
    ----------
    ax_ : Axes
        Axes of the plot.
    figure_ : Figure
        Figure of these axes.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "yes", "yes", "no"]
    >>> clf = rb.PocketPerceptron(max_updates=50, random_state=0).fit(X, y)
    >>> rb.PocketDisplay.from_estimator(clf, X, y).ax_.get_title(loc="left")
    '2 mistakes in the pocket after 50 updates'
    >>> clf = rb.PocketPerceptron(max_updates=3, order="cycle").fit([[0], [1], [2]], [0, 1, 0])
    >>> display = rb.PocketDisplay.from_estimator(clf, [[0], [1], [2]], [0, 1, 0])
    >>> display.mistakes.tolist(), display.pocket.tolist()
    ([3.0, 1.0, 2.0, 1.0], [3.0, 1.0, 1.0, 1.0])
    """

    t: NDArray[np.intp]
    mistakes: NDArray[np.float64]
    pocket: NDArray[np.float64]

    @classmethod
    def from_estimator(cls, clf: Any, X: Any, y: Any, *, ax: Any = None) -> Self:
        """Plot the mistakes of a fitted PocketPerceptron after each update.

        Parameters
        ----------
        clf : PocketPerceptron, or a Pipeline that ends in one
            Fitted estimator. A model loaded from a file has no trace.
        X, y : arrays, sparse matrix or frame, and labels
            The training examples.
        ax : Axes, optional
            Axes to plot on (default: a new figure).
        """
        last = _classifier_with("history_", clf, "has no pocket; fit a PocketPerceptron.")
        trace = trace_of(clf, X, y)
        changes = np.array([t for t, _ in last.history_], dtype=np.intp)
        costs = np.array([cost for _, cost in last.history_], dtype=np.float64)
        t = np.arange(len(trace) + 1)
        if len(trace) >= MOST:  # each moment needs a pass over all examples
            t = np.union1d(np.linspace(0, len(trace), MOST).astype(np.intp), changes)
        judge = Judge(trace.known_origin().examples, last._zero)
        mistakes = np.array([judge.alone(w) for w in trace.walk(t.tolist())], dtype=np.float64)
        pocket = costs[np.searchsorted(changes, t, side="right") - 1]
        return cls(t, mistakes, pocket).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Plot the mistakes of w(t) and of the pocket after each update.

        Parameters
        ----------
        ax : Axes, optional
            Axes to plot on (default: a new figure).
        """
        last = int(self.t[-1])
        self.figure_, (self.ax_,) = make_axes(ax, 1, (6.4, 3.6))
        kept = plural(float(self.pocket[-1]), "mistake")
        title = f"{kept} in the pocket after {plural(last, 'update')}"
        style_axes(self.ax_, ("updates t", "mistakes"), title)
        self.ax_.plot(self.t, self.mistakes, color=PALE, linewidth=0.8, label="w(t)")
        pocket = {"color": INK, "linewidth": 2.2, "label": "pocket"}
        self.ax_.step(self.t, self.pocket, where="post", **pocket)
        # w(0) = 0 misclassifies every example and would dominate the scale.
        self.ax_.set_ylim(0, 1.05 * max(self.mistakes[1:].max(initial=1), 1))
        self.ax_.set_xlim(0, max(last, 1))
        draw_own_legend(self.ax_, given=ax is not None)
        return self


@dataclass(eq=False, repr=False)
class OptimumDisplay:
    """Mistakes of the best classifier so far, and the proved lower bound, over time.

    No line makes fewer mistakes than the lower bound: the blue region is excluded by proof. Where
    the two curves meet, the optimum is known; the white region between them is undecided.

    Parameters
    ----------
    result : FewestMistakesResult
        Result of `fewest_mistakes`.

    Attributes
    ----------
    ax_ : Axes
        Axes of the plot.
    figure_ : Figure
        Figure of these axes.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "yes", "yes", "no"]
    >>> rb.OptimumDisplay.from_result(rb.fewest_mistakes(X, y)).ax_.get_title(loc="left")
    '1 mistake; no line makes fewer (proof: 1 conflict)'
    """

    result: FewestMistakesResult

    @classmethod
    def from_estimator(cls, clf: Any, *, ax: Any = None) -> Self:
        """Plot how the search of a fitted FewestMistakes progressed.

        Parameters
        ----------
        clf : FewestMistakes, or a Pipeline that ends in one
            Fitted estimator.
        ax : Axes, optional
            Axes to plot on (default: a new figure).
        """
        last = _classifier_with("result_", clf, "has no lower bound; fit a FewestMistakes.")
        return cls.from_result(last.result_, ax=ax)

    @classmethod
    def from_result(cls, result: FewestMistakesResult, *, ax: Any = None) -> Self:
        """Plot mistakes and lower bound over time, from a result of `fewest_mistakes`.

        Parameters
        ----------
        result : FewestMistakesResult
            Result with the history of the search.
        ax : Axes, optional
            Axes to plot on (default: a new figure).
        """
        return cls(result).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Plot the fewest mistakes so far and the lower bound over time.

        Parameters
        ----------
        ax : Axes, optional
            Axes to plot on (default: a new figure).
        """
        self.figure_, (self.ax_,) = make_axes(ax, 1, (6.4, 3.6))
        seconds, best, bound = np.array(self.result.history, dtype=np.float64).T
        style_axes(self.ax_, ("seconds", "mistakes"), str(self.result))
        look: dict[str, Any] = {"where": "post", "linewidth": 2.2}
        self.ax_.step(seconds, best, color=INK, label="best line so far", **look)
        self.ax_.step(seconds, bound, color=YES, label="lower bound (proved)", **look)
        self.ax_.fill_between(seconds, bound, step="post", color=YES_SIDE, linewidth=0)
        self.ax_.set_xlim(0, seconds[-1])
        self.ax_.set_ylim(0, HEIGHT * max(best[-1], 1))
        at = {"xycoords": self.ax_.get_yaxis_transform(), "textcoords": "offset points"}
        for height, color in {bound[-1]: YES, best[-1]: INK}.items():
            text: dict[str, Any] = {"color": color, "fontsize": 9, "va": "center"}
            self.ax_.annotate(f"{height:,g}", (1.0, height), (4, 0), **at, **text)
        draw_own_legend(self.ax_, given=ax is not None)
        return self


@dataclass(eq=False, repr=False)
class ExperimentDisplay:
    """Histograms over many runs of PLA: updates, and disagreement of target f and learned g.

    f is the random target that labels the examples of a run; g is the classifier that PLA finds.

    Parameters
    ----------
    updates : array, one entry per run
        Number of updates of each run.
    disagreement : array, one entry per run
        Probability that g differs from f.

    Attributes
    ----------
    axes_ : list of two Axes
        Axes of the updates and of P[f≠g].
    figure_ : Figure
        Figure of these axes.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> done = rb.experiment(10, 200, random_state=0)
    >>> len(rb.ExperimentDisplay.from_experiment(done).axes_)
    2
    """

    updates: NDArray[Any]
    disagreement: NDArray[Any]

    @classmethod
    def from_experiment(cls, result: Experiment, *, axes: Any = None) -> Self:
        """Plot the histograms of the runs in a result of `rb.experiment`.

        Parameters
        ----------
        result : Experiment
            The runs.
        axes : two Axes, optional
            Axes to plot on (default: a new figure).
        """
        return cls(result.updates, result.disagreement).plot(axes=axes)

    def plot(self, *, axes: Any = None, title: str | None = None) -> Self:
        """Plot the histograms of updates and of the disagreement of target f and learned g.

        Parameters
        ----------
        axes : two Axes, optional
            Axes to plot on (default: a new figure).
        title : str, optional
            Title (default: the number of runs).
        """
        self.figure_, self.axes_ = make_axes(axes, 2, (8.4, 3.4))
        left, right = self.axes_
        updates, disagreement = np.asarray(self.updates), np.asarray(self.disagreement)
        title = plural(len(updates), "run") if title is None else title
        style_axes(left, ("updates", "runs"), title)
        style_axes(right, ("P[f ≠ g]", ""))
        _draw_histogram(left, updates, YES, f"median {np.median(updates):,g}")
        _draw_histogram(right, disagreement, NO, f"mean {disagreement.mean():.3g}")
        left.axvline(np.median(updates), color=INK, linewidth=1.2)
        right.axvline(disagreement.mean(), color=INK, linewidth=1.2)
        return self


def _draw_histogram(ax: Any, values: NDArray[Any], color: str, note: str) -> None:
    """Draw a histogram up to the 99th percentile, with a note about larger values."""
    low, high = float(values.min()), float(np.percentile(values, 99, method="higher"))
    if np.issubdtype(values.dtype, np.integer):  # bins with the same number of integers each
        step = max(1, -(-int(high + 1 - low) // BINS))
        edges = np.arange(low, high + 1 + step, step) - 0.5
    else:
        edges = np.histogram_bin_edges(values, BINS, (low, high))
    ax.hist(values, bins=edges, color=color, edgecolor="white", linewidth=0.5)
    beyond = int((values > edges[-1]).sum())
    if beyond:
        note += f"\n{beyond:,} more, up to {values.max():,.3g}"
    ax.annotate(note, (0.98, 0.95), xycoords="axes fraction", ha="right", va="top", fontsize=9)


def experiment_saver(path: str) -> Callable[[Experiment, int], None]:
    """Return a function that saves the histograms of an experiment to an image file.

    Raise UsageError at once if the format of the file is not known.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.2), layout="constrained")
    kind = Path(path).suffix.lstrip(".").lower() or "png"
    if kind not in figure.canvas.get_supported_filetypes():
        raise UsageError(
            f"{path}: Matplotlib cannot write .{kind} files; give a .png, .svg or .pdf file."
        )

    def save(result: Experiment, n: int) -> None:
        title = f"{plural(len(result.updates), 'run')}, N = {n}"
        display = ExperimentDisplay(result.updates, result.disagreement)
        display.plot(axes=figure.subplots(1, 2), title=title)
        with replacing(path) as beside:
            figure.savefig(beside, format=kind)

    return save


@dataclass(eq=False, repr=False)
class SeparationDisplay:
    """Forest plot of coefficients: intervals of the finite ones, arrows for the infinite ones.

    A finite estimate is a dot with its 95 % Wald interval. An infinite estimate is an arrow that
    begins at its one-sided 95 % profile-likelihood bound. A dotted line stands for a coefficient
    that no row identifies, or whose estimate is infinite with either sign.

    Parameters
    ----------
    estimates : mapping
        Estimate of each coefficient by name: a number, inf, -inf or nan.
    standard_errors : mapping
        Standard error of each finite estimate.
    bounds : mapping
        One-sided bound of each estimate that is inf or -inf.

    Attributes
    ----------
    ax_ : Axes
        Axes of the plot.
    figure_ : Figure
        Figure of these axes.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> s = rb.separation([[1.0], [2.0], [3.0], [3.0], [4.0]], [0, 0, 0, 1, 1])
    >>> rb.SeparationDisplay.from_separation(s).ax_.get_title(loc="left")
    '2 of 2 estimates are infinite'
    """

    estimates: Mapping[Any, float]
    standard_errors: Mapping[Any, float]
    bounds: Mapping[Any, float]

    @classmethod
    def from_separation(cls, s: Separation, *, ax: Any = None, intercept: bool = True) -> Self:
        """Plot the coefficients of a result of `rb.separation`.

        Parameters
        ----------
        s : Separation
            Result of `rb.separation`.
        ax : Axes, optional
            Axes to plot on (default: a new figure).
        intercept : bool, default=True
            Whether to plot intercepts; they are often far from the other coefficients.
        """
        return cls(s.estimates, s.standard_errors, s.bounds).plot(ax=ax, intercept=intercept)

    def plot(self, *, ax: Any = None, intercept: bool = True) -> Self:
        """Plot the coefficients, the first one on top.

        If there are more than 40, those that are not finite are plotted first, up to 40.

        Parameters
        ----------
        ax : Axes, optional
            Axes to plot on (default: a new figure).
        intercept : bool, default=True
            Whether to plot intercepts.
        """
        names = list(self.estimates)  # with several labels, pairs of a label and a column
        if not intercept:
            columns = [name[1] if isinstance(name, tuple) else name for name in names]
            names = [n for n, c in zip(names, columns, strict=True) if c != "(intercept)"]
        shown = names
        if len(names) > MOST_COEFFICIENTS:
            first = sorted(names, key=lambda name: np.isfinite(self.estimates[name]))[
                :MOST_COEFFICIENTS
            ]
            shown = [name for name in names if name in set(first)]
        size = (6.4, 1.3 + 0.26 * max(len(shown), 3))
        self.figure_, (self.ax_,) = make_axes(None if ax is None else [ax], 1, size)
        infinite = sum(bool(np.isinf(self.estimates[name])) for name in names)
        title = f"{infinite} of {plural(len(names), 'estimate')} "
        title += "is infinite" if infinite == 1 else "are infinite"
        if len(shown) < len(names):
            title += f" ({len(shown)} shown)"
        style_axes(self.ax_, ("coefficient, with 95 % interval or one-sided 95 % bound", ""), title)
        self._draw(shown)
        draw_own_legend(self.ax_, ax is not None)
        return self

    def _draw(self, names: list[Any]) -> None:
        value_of = {name: self.estimates[name] for name in names}
        intervals = {}
        for name, value in value_of.items():
            if np.isfinite(value):
                reach = NORMAL * self.standard_errors[name]
                intervals[name] = value - reach, value + reach
        # A twentieth of the width is left free at each end, and a quarter at an end with arrows.
        ends = [0.0, *(end for interval in intervals.values() for end in interval)]
        ends += [self.bounds[name] for name in names if name in self.bounds]
        left, right = min(ends), max(ends)
        width = (right - left) or 1.0
        left -= width * (0.25 if -np.inf in value_of.values() else 0.05)
        right += width * (0.25 if np.inf in value_of.values() else 0.05)
        ax = self.ax_
        ax.axvline(0.0, **DOTTED, linewidth=0.9, zorder=1)
        labeled: set[str] = set()

        def label(text: str) -> str:
            """Return `text` the first time, then a hidden label; the legend lists a text once."""
            new = text not in labeled
            labeled.add(text)
            return text if new else "_hidden"

        for y, (name, value) in enumerate(value_of.items()):
            if np.isfinite(value):
                ax.plot(intervals[name], [y, y], color=INK, linewidth=1.3, solid_capstyle="butt")
                text = label("finite estimate")
                ax.plot([value], [y], "o", color=INK, markersize=4.5, label=text, linestyle="none")
            elif np.isinf(value):
                color, end = (YES, right) if value > 0 else (NO, left)
                begin, bound = self.bounds.get(name, 0.0), "lower" if value > 0 else "upper"
                arrow = {"arrowstyle": "-|>", "color": color, "linewidth": 1.6, "shrinkA": 0}
                arrow |= {"shrinkB": 0, "mutation_scale": 11}
                ax.annotate("", (end, y), (begin, y), arrowprops=arrow)
                text = label(f"{'+' if value > 0 else '−'}∞, from its {bound} bound")
                mark = {"color": color, "markersize": 9, "markeredgewidth": 1.6}
                ax.plot([begin], [y], "|", label=text, **mark)
            else:
                text = label("either sign, or not identified")
                ax.plot([left, right], [y, y], label=text, **DOTTED, linewidth=1.1)
        texts = [escape_text(shorten(spelled(name), 28)) for name in names]
        ax.set_yticks(range(len(names)), texts)
        ax.tick_params(axis="y", length=0, labelcolor=INK)
        ax.set(xlim=(left, right), ylim=(len(names) - 0.4, -0.6))
