"""Scene: examples and lines as they look in a plane, whatever the number of features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis, JointHypothesis
from rosenblatt.show.regions import Boundary, Polygon, Regions
from rosenblatt.words import counted

Floats = NDArray[np.float64]

MOST_DRAWN = 5  # that are told apart by their marks, and by colours that all can see
MOST_POINTS = 2000  # more are drawn from a sample: no picture can hold them
MOST_ROWS = 10_000  # that the principal direction looks at
FEW_FEATURES = 400  # up to here all directions are found at once, above only the first
DRAWABLE = (1e-150, 1e150)
REMAINING = "first remaining principal direction"
DIRECTIONS = (  # of the plane of several labels, by how many their weights differ in
    ("first principal direction", REMAINING),
    ("the direction that weights differ in", REMAINING),
    ("first direction that weights differ in", "second direction"),
)
AIR = 0.08  # between the outermost points and the edge of the picture
LIKE = 4.0  # axes whose spans differ by less than this factor get one scale


@dataclass(frozen=True, eq=False)
class View:
    """A plane to look at examples in: two directions among the features, and where 0 is."""

    axes: Floats  # (d, 2): what each feature adds to the two coordinates
    shift: Floats  # (2,): taken off the coordinates
    foot: Floats  # (d,): where the plane is nearest to the origin
    names: tuple[str, str]  # of the coordinates

    @property
    def flat(self) -> bool:
        """Whether there is one feature only, and the second coordinate means nothing."""
        return len(self.axes) == 1

    def points(self, X: Any, rows: NDArray[np.intp]) -> Floats:
        """The coordinates of rows and their numbers; with one feature they are spread out."""
        found = np.asarray(X.astype(np.float64) @ self.axes) - self.shift
        if self.flat:
            found[:, 1] = 0.15 + 0.7 * ((rows * 0.6180339887498949) % 1.0)  # the golden ratio
        return found

    def lines(self, W: Floats, x0: float) -> Floats:
        """Where hyperplanes cut the plane: c, a, b of each line c + a·x1 + b·x2 = 0."""
        ab = W[:, 1:] @ self.axes
        return np.column_stack((W[:, 0] * x0 + W[:, 1:] @ self.foot + ab @ self.shift, ab))

    def line(self, h: Hypothesis) -> Boundary | Regions:
        """The line of a hypothesis, or the regions of its labels."""
        planes = tuple(
            Boundary(a, b, c) for c, a, b in self.lines(np.atleast_2d(h.w), h.x0).tolist()
        )
        return planes[0] if len(planes) == 1 else Regions(planes, h.zero > 0)


def view_of(examples: Examples, h: Hypothesis, beside: Floats | None = None) -> View:
    """The plane in which a hypothesis is seen as a line, or as regions with lines between them.

    Two features are the plane. More are projected on w against the first remaining principal
    direction, or against what is left of `beside`: then every row is on its true side, and its
    distance from the line is the true one. Of more labels the plane is that of the differences of
    their weights, with three labels always; where they are in no plane, they cannot be drawn.
    """
    _check_labels(examples)
    names, d = examples.feature_names, examples.d
    if d <= 2:
        second = names[1] if d == 2 else ""
        return View(np.eye(d, 2), np.zeros(2), np.zeros(d), (names[0], second))
    _check_drawable(examples)
    if isinstance(h, JointHypothesis):
        return _view_of_labels(examples, h)
    along, size = _unit(h.w[1:])
    offset = -float(h.w[0]) * h.x0 / size if size else 0.0
    across, length = _unit(np.zeros(d) if beside is None else _rest(beside, along))
    name, other, foot = "distance from the line, along w", "along the example", np.zeros(d)
    if not size or not length:
        X = examples.X[sample(examples.n, MOST_ROWS)].astype(np.float64)
        middle = np.asarray(X.mean(axis=0)).ravel()
        if not size:
            along, name = _principal(X, middle, along), "first principal direction"
            across, length = _unit(np.zeros(d) if beside is None else _rest(beside, along))
        if not length:
            across, other = _principal(X, middle, along), REMAINING
            foot = middle - along * (along @ middle) - across * (across @ middle)
    axes = np.column_stack((along, across))
    return View(axes, np.array([offset, 0.0]), foot, (name, other))


def _view_of_labels(examples: Examples, h: JointHypothesis) -> View:
    """The plane that the differences of all labels' weights are in, filled up where they do not."""
    W = h.w[:, 1:] / (float(np.abs(h.w).max()) or 1.0)
    _, sizes, found = np.linalg.svd(W[1:] - W[0], full_matrices=False)
    rank = int((sizes > 1e-9 * sizes[0]).sum()) if sizes[0] else 0
    if rank > 2:
        raise ValueError(
            f"the regions of {len(h.w)} labels by {counted(examples.d, 'feature')} are seen in no "
            "plane; give two features, or three labels at the most."
        )
    ways = list(found[:rank])
    X = examples.X[sample(examples.n, MOST_ROWS)].astype(np.float64)
    middle = np.asarray(X.mean(axis=0)).ravel()
    while len(ways) < 2:
        ways.append(_principal(X, middle, ways[0] if ways else np.zeros(examples.d)))
    axes = np.column_stack([way * np.sign(way[np.abs(way).argmax()] or 1.0) for way in ways])
    return View(axes, np.zeros(2), middle - axes @ (middle @ axes), DIRECTIONS[rank])


@dataclass(frozen=True)
class Facts:
    """What is true of all rows, drawn or not, and what things are called."""

    n: int
    mistakes: int
    margin: float | None  # how far the nearest row is from a line without mistakes, x0 left out
    names: tuple[str, str]  # of the coordinates
    labels: tuple[str, ...]  # no and yes, or all of more
    flat: bool = False  # there is one feature only

    def sentence(self) -> str:
        """How many mistakes, or how wide the margin is."""
        if self.mistakes:
            return f"{counted(self.mistakes, 'mistake')} on {counted(self.n, 'example')}"
        told = f"no mistakes on {counted(self.n, 'example')}"
        return told if self.margin is None else f"{told}; the nearest is {self.margin:.3g} away"


@dataclass(frozen=True, eq=False)
class Scene:
    """What a picture of examples shows."""

    points: Floats  # (k, 2)
    rows: NDArray[np.intp]  # which they are
    places: NDArray[np.intp]  # of their answers among the labels
    wrong: NDArray[np.bool_]  # whether the line answers them wrongly
    line: Boundary | Regions
    facts: Facts

    @property
    def box(self) -> Polygon:
        """The corners of the picture: a little more than the points; one scale where it fits."""
        low, high = self.points.min(axis=0), self.points.max(axis=0)
        if self.facts.flat:
            low[1], high[1] = 0.0, 1.0
        span = np.where(high > low, high - low, np.maximum(np.abs(high), 1.0))
        if not self.facts.flat and span.max() < LIKE * span.min():
            span[:] = span.max()
        air = np.array([AIR, 0.0 if self.facts.flat else AIR])
        middle, half = (low + high) / 2, span * (0.5 + air)
        (left, bottom), (right, top) = (middle - half).tolist(), (middle + half).tolist()
        return [(left, bottom), (right, bottom), (right, top), (left, top)]

    def to_json(self) -> dict[str, Any]:
        """The scene as ``page/static/report.js`` draws it."""
        line, many = self.line, isinstance(self.line, Regions)
        planes = line.planes if isinstance(line, Regions) else [line]
        return {
            "points": self.points.tolist(),
            "answers": (self.places if many else 2 * self.places - 1).tolist(),
            "last": isinstance(line, Regions) and line.last,
            "wrong": np.flatnonzero(self.wrong).tolist(),
            "lines": [[plane.c, plane.a, plane.b] for plane in planes],
            "names": self.facts.names,
            "labels": self.facts.labels,
        }


def scene_of(
    examples: Examples, h: Hypothesis, view: View | None = None, must: tuple[int, ...] = ()
) -> Scene:
    """The scene of examples and a hypothesis; of very many a sample that has the rows `must`."""
    _check_drawable(examples)
    view = view_of(examples, h) if view is None else view
    mistakes = h.mistakes(examples)
    wrong = np.zeros(examples.n, dtype=np.bool_)
    wrong[mistakes] = True
    margin, nearest = None, must
    if not len(mistakes) and h.w[..., 1:].any():
        far = clearances(h, examples)
        if np.isfinite(far.min()):
            margin, nearest = float(far.min()), (*must, int(far.argmin()))
    rows = sample(examples.n, MOST_POINTS, nearest)
    points = view.points(examples.X[rows], rows)
    labels = tuple(examples.label_names)
    facts = Facts(examples.n, len(mistakes), margin, view.names, labels, view.flat)
    return Scene(points, rows, examples.places[rows], wrong[rows], view.line(h), facts)


def clearances(h: Hypothesis, examples: Examples) -> Floats:
    """How far each row is from where its answer would be wrong; negative where it is.

    Of more labels that is the nearest of the lines between its own and another; infinite where
    all others' scores are everywhere lower.

    Examples
    --------
    >>> h = Hypothesis.of(np.array([[0.0, 1.0], [0.0, -1.0], [-6.0, 3.0]]))
    >>> from rosenblatt.examples import JointExamples
    >>> clearances(h, JointExamples.from_arrays([[1.0], [-2.0], [5.0]], ["a", "b", "c"]))
    array([1., 2., 2.])
    """
    if not isinstance(h, JointHypothesis):
        return np.asarray(examples.y * distances(h, examples.X))
    near_one = JointHypothesis(h.w / (float(np.abs(h.w).max()) or 1.0), h.x0)
    s, rows, y = near_one.scores(examples.X), np.arange(examples.n), examples.places
    sizes = np.linalg.norm(near_one.w[:, None, 1:] - near_one.w[None, :, 1:], axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        far = (s[rows, y][:, None] - s) / sizes[y]
    far[rows, y] = np.inf
    return np.asarray(np.where(np.isnan(far), 0.0, far).min(axis=1))


def distances(h: Hypothesis, X: Any) -> Floats:
    """How far rows are from the line, negative where it says no; mere sides where it has none.

    Examples
    --------
    >>> distances(Hypothesis(np.array([0.0, 3e300, 4e300])), np.array([[5.0, 0.0], [0.0, -5.0]]))
    array([ 3., -4.])
    """
    largest = float(np.abs(h.w).max()) or 1.0
    near_one = Hypothesis(h.w / largest, h.x0)
    size = _unit(near_one.w[1:])[1]
    with np.errstate(over="ignore"):
        return near_one.scores(X) / (size or 1.0)


def sample(n: int, most: int, must: tuple[int, ...] = ()) -> NDArray[np.intp]:
    """All rows, or an even choice among them with those that must be there, always the same.

    Examples
    --------
    >>> sample(4, 10).tolist(), len(sample(1000, 10, (7,)))
    ([0, 1, 2, 3], 10)
    """
    if n <= most:
        return np.arange(n)
    must = tuple(sorted(set(must)))
    chosen = np.random.default_rng(0).permutation(n)
    kept = chosen[~np.isin(chosen, must)][: most - len(must)]
    return np.sort(np.concatenate((kept, np.array(must, dtype=np.intp))))


def _check_labels(examples: Examples) -> None:
    if len(examples.labels) > MOST_DRAWN:
        raise ValueError(
            f"the regions of {len(examples.labels)} labels cannot be told apart in one picture; "
            f"up to {MOST_DRAWN} are drawn."
        )


def _check_drawable(examples: Examples) -> None:
    low, high = DRAWABLE
    if examples.largest and not low < examples.largest < high:
        raise ValueError(
            f"entries as large as {examples.largest:.3g} cannot be drawn; scale the columns first."
        )


def _unit(v: Floats) -> tuple[Floats, float]:
    """A vector of length 1 and the length it had; 0 for one that is not there."""
    largest = float(np.abs(v).max(initial=0.0))
    if not largest:
        return v, 0.0
    size = float(np.linalg.norm(v / largest))
    return v / largest / size, largest * size


def _rest(v: Floats, along: Floats) -> Floats:
    """What is left of v beside a direction; nothing where that is rounding."""
    rest = v - along * (along @ v)
    return rest if np.linalg.norm(rest) > 1e-9 * np.linalg.norm(v) else np.zeros(len(v))


def _principal(X: Any, middle: Floats, without: Floats) -> Floats:
    """The first principal direction of rows once another is taken out; zeros if none is left.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0, 1.0], [2.0, 0.0, 1.0], [0.0, 3.0, 1.0], [2.0, 3.0, 1.0]])
    >>> _principal(X, X.mean(axis=0), np.array([0.0, 1.0, 0.0])).tolist()
    [1.0, 0.0, 0.0]
    """
    d = len(middle)
    if d <= FEW_FEATURES:
        rest = (X if isinstance(X, np.ndarray) else X.toarray()) - middle
        rest = rest - np.outer(rest @ without, without)
        found = np.linalg.eigh(rest.T @ rest)[1][:, -1]
    else:  # without a table of all pairs of features
        from scipy.sparse.linalg import LinearOperator, eigsh

        def times(v: Floats) -> Floats:
            v = v.ravel() - (without @ v.ravel()) * without
            scores = np.asarray(X @ v).ravel() - middle @ v
            back = np.asarray(X.T @ scores).ravel() - middle * scores.sum()
            return np.asarray(back - (without @ back) * without)

        start = np.random.default_rng(0).standard_normal(d)
        operator = LinearOperator((d, d), matvec=times, dtype=np.float64)
        found = np.asarray(eigsh(operator, k=1, v0=start, tol=1e-6)[1][:, 0])
    found = found - (found @ without) * without
    length = float(np.linalg.norm(found))
    if length < 1e-9:
        return np.zeros(d)
    found = found / length
    return found * (1.0 if found[int(np.abs(found).argmax())] > 0 else -1.0)
