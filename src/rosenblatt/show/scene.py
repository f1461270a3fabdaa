"""Project examples onto a plane, with the region that a linear classifier gives to each label.

A picture shows the plane of two features, or a plane onto which more features are projected.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis, JointHypothesis
from rosenblatt.tables import to_dense
from rosenblatt.text import plural

Floats = NDArray[np.float64]
Polygon = list[tuple[float, float]]  # corners, in order around the polygon

MOST_DRAWN = 5  # labels with distinct marks and colors that color-blind people can tell apart
MOST_POINTS = 2000  # if there are more examples, only a sample is drawn
MOST_ROWS = 10_000  # rows from which principal directions are computed
FEW_FEATURES = 400  # up to here a full eigendecomposition is used, above it an iterative one
DRAWABLE = (1e-150, 1e150)  # magnitudes of entries that can be drawn
REMAINING = "first remaining principal direction"
DIRECTIONS = (  # names of the axes for several labels, by the rank of the weight differences
    ("first principal direction", REMAINING),
    ("direction of the weight difference", REMAINING),
    ("first direction of weight differences", "second direction"),
)
PADDING = 0.08  # between the outermost points and the edge of the picture
ONE_SCALE = 4.0  # axes whose spans differ by a smaller factor get the same scale


def clip(polygon: Polygon, w: Iterable[float]) -> Polygon:
    """Return the part of a convex polygon where w·x ≥ 0, for augmented weights w.

    Examples
    --------
    >>> clip([(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)], (-0.5, 1.0, 0.0))
    [(0.5, 0.0), (1.0, 0.0), (1.0, 1.0), (0.5, 1.0)]
    """
    kept: Polygon = []
    c, a, b = w
    scores = [float(c + a * x + b * y) for x, y in polygon]
    for i, (x, y) in enumerate(polygon):
        (before_x, before_y), score, before = polygon[i - 1], scores[i], scores[i - 1]
        if (score >= 0) != (before >= 0):
            share = before / (before - score)
            kept.append((before_x + share * (x - before_x), before_y + share * (y - before_y)))
        if score >= 0:
            kept.append((x, y))
    return kept


def area(polygon: Polygon) -> float:
    """Return the area of a polygon by the shoelace formula.

    Examples
    --------
    >>> area([(0.0, 0.0), (2.0, 0.0), (2.0, 1.0), (0.0, 1.0)])
    2.0
    """
    corners = zip(polygon[-1:] + polygon[:-1], polygon, strict=True)
    return abs(sum(a * d - c * b for (a, b), (c, d) in corners)) / 2


class Boundary(NamedTuple):
    """Score c + a·x1 + b·x2 in the plane, and the line on which it is zero."""

    c: float
    a: float
    b: float

    @property
    def size(self) -> float:
        """Length of (a, b), which is 0 if the score is the same everywhere."""
        return float(np.hypot(self.a, self.b))

    def moved(self, distance: float) -> Boundary:
        """Return the line moved by a distance toward higher scores."""
        return self._replace(c=self.c - distance * self.size)

    def ends(self, box: Polygon) -> Polygon:
        """Return the two points where the line crosses the edge of a box, or an empty list."""
        if not self.size or not box:
            return []
        tolerance = 1e-9 * (self.size * max(abs(x) + abs(y) for x, y in box) + abs(self.c))
        corners = clip(box, self)
        on = [(x, y) for x, y in corners if abs(self.a * x + self.b * y + self.c) <= tolerance]
        return [min(on), max(on)] if len(on) > 1 else []


@dataclass(frozen=True)
class Regions:
    """Regions of the plane in which each label has the highest score.

    Regions are convex. With two labels, the score of the first is 0.

    Examples
    --------
    >>> box = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]
    >>> three = Regions((Boundary(0, 1, 0), Boundary(0, -1, 0), Boundary(-5, 0, 0)))
    >>> [len(part) for part in three.parts(box)]
    [4, 4, 0]
    >>> three.edges(box)
    [[(0.0, -1.0), (0.0, 1.0)]]
    """

    scores: tuple[Boundary, ...]  # the score of each label, up to a common term
    last: bool = False  # whether the last label wins a tie, not the first

    @property
    def differ(self) -> bool:
        """Whether the scores of two labels differ anywhere in the plane."""
        return any(score != self.scores[0] for score in self.scores)

    def between(self, k: int, r: int) -> Boundary:
        """Return the boundary between labels k and r, with a positive score where k wins."""
        return Boundary(*(p - q for p, q in zip(self.scores[k], self.scores[r], strict=True)))

    def parts(self, box: Polygon, distance: float = 0.0) -> list[Polygon]:
        """Return each label's region in a box, minus points within `distance` of another region."""
        if not self.differ:
            return []
        labels, parts = range(len(self.scores)), []
        for k in labels:
            part = box
            for r in labels:
                if r == k:
                    continue
                line = self.between(k, r)
                loses_ties = not any(line) and (r > k) == self.last
                part = [] if loses_ties else clip(part, line.moved(distance))
            parts.append(part)
        return parts

    def edges(self, box: Polygon, distance: float = 0.0) -> list[Polygon]:
        """Return the line segments that bound the regions in a box."""
        parts = self.parts(box, distance)
        pairs = itertools.permutations if distance else itertools.combinations
        lines = ((parts[k], self.between(k, r)) for k, r in pairs(range(len(parts)), 2))
        return [ends for part, line in lines if (ends := line.moved(distance).ends(part))]


@dataclass(frozen=True, eq=False)
class View:
    """Plane onto which examples are projected: two directions and an offset."""

    axes: Floats  # (d, 2): contribution of each feature to the two coordinates
    shift: Floats  # (2,): subtracted from the coordinates
    foot: Floats  # (d,): the point of the plane nearest to the origin
    names: tuple[str, str]  # of the coordinates

    @property
    def flat(self) -> bool:
        """Whether there is only one feature, so that the second coordinate has no meaning."""
        return len(self.axes) == 1

    def points(self, X: Any, rows: NDArray[np.intp]) -> Floats:
        """Return the coordinates of examples in the plane.

        Examples with one feature are spread over the height of the picture, by their row
        numbers `rows`.
        """
        found = np.asarray(X.astype(np.float64) @ self.axes) - self.shift
        if self.flat:
            found[:, 1] = 0.15 + 0.7 * ((rows * 0.6180339887498949) % 1.0)  # the golden ratio
        return found

    def lines(self, W: Floats, x0: float) -> Floats:
        """Return c, a, b for each hyperplane, which cuts the plane where c + a·x1 + b·x2 = 0."""
        ab = W[:, 1:] @ self.axes
        return np.column_stack((W[:, 0] * x0 + W[:, 1:] @ self.foot + ab @ self.shift, ab))

    def regions(self, h: Hypothesis) -> Regions:
        """Return the region of each label in the plane."""
        scores = [Boundary(*line) for line in self.lines(np.atleast_2d(h.w), h.x0).tolist()]
        scores = [Boundary(0.0, 0.0, 0.0), *scores] if len(scores) == 1 else scores
        return Regions(tuple(scores), h.zero > 0)


def view_of(examples: Examples, h: Hypothesis, beside: Floats | None = None) -> View:
    """Choose the plane in which examples and decision boundary are drawn.

    In this plane the decision boundary consists of lines.
    Two features are drawn as they are. More features are projected onto w and a direction
    orthogonal to it: the first remaining principal direction, or that of the vector `beside`.
    Every row is then on its true side of the line and at its true distance. For more than two
    labels the plane is spanned by the differences of their weights. Three labels always have such
    a plane; for more labels without one, ValueError is raised.
    """
    if len(examples.labels) > MOST_DRAWN:
        raise ValueError(
            f"{len(examples.labels)} labels cannot be distinguished in one picture; give "
            f"examples of at most {MOST_DRAWN} labels."
        )
    low, high = DRAWABLE
    if examples.largest and not low < examples.largest < high:
        raise ValueError(
            f"entries as large as {examples.largest:.3g} cannot be drawn; scale the columns first."
        )
    names, d = examples.feature_names, examples.d
    if d <= 2:
        second = names[1] if d == 2 else ""
        return View(np.eye(d, 2), np.zeros(2), np.zeros(d), (names[0], second))
    if isinstance(h, JointHypothesis):
        return _view_of_labels(examples, h)
    beside = np.zeros(d) if beside is None else beside
    along, size = _unit(h.w[1:])
    offset = -float(h.w[0]) * h.x0 / size if size else 0.0
    across, length = _unit(beside, along)
    name, other, foot = "distance from the line, along w", "along the example", np.zeros(d)
    if not size or not length:
        X = examples.X[sample(examples.n, MOST_ROWS)].astype(np.float64)
        middle = np.asarray(X.mean(axis=0)).ravel()
        if not size:
            along, name = _principal(X, middle, along), "first principal direction"
            across, length = _unit(beside, along)
        if not length:
            across, other = _principal(X, middle, along), REMAINING
            foot = middle - along * (along @ middle) - across * (across @ middle)
    axes = np.column_stack((along, across))
    return View(axes, np.array([offset, 0.0]), foot, (name, other))


def _view_of_labels(examples: Examples, h: JointHypothesis) -> View:
    """Return the plane spanned by the differences of the labels' weights."""
    W = h.w[:, 1:] / (float(np.abs(h.w).max()) or 1.0)
    _, sizes, found = np.linalg.svd(W[1:] - W[0], full_matrices=False)
    rank = int((sizes > 1e-9 * sizes[0]).sum()) if sizes[0] else 0
    if rank > 2:
        raise ValueError(
            f"no plane shows the regions of {len(h.w)} labels with "
            f"{plural(examples.d, 'feature')}; give two features, or at most three labels."
        )
    ways = list(found[:rank])
    X = examples.X[sample(examples.n, MOST_ROWS)].astype(np.float64)
    middle = np.asarray(X.mean(axis=0)).ravel()
    while len(ways) < 2:
        ways.append(_principal(X, middle, ways[0] if ways else np.zeros(examples.d)))
    axes = np.column_stack([way * np.sign(way[np.abs(way).argmax()] or 1.0) for way in ways])
    return View(axes, np.zeros(2), middle - axes @ (middle @ axes), DIRECTIONS[rank])


@dataclass(frozen=True, eq=False)
class Scene:
    """Content of a picture of examples and a linear classifier."""

    points: Floats  # (k, 2): coordinates of the examples that are drawn
    rows: NDArray[np.intp]  # their row numbers
    places: NDArray[np.intp]  # positions of their labels in `labels`
    wrong: NDArray[np.bool_]  # whether they are misclassified
    regions: Regions
    n: int  # number of all examples, drawn or not
    mistakes: int  # number of mistakes on all examples
    margin: float | None  # distance of the nearest example, without x0; None if there are mistakes
    names: tuple[str, str]  # of the coordinates
    labels: tuple[str, ...]
    flat: bool = False  # whether there is only one feature

    def summary(self) -> str:
        """Describe the number of mistakes or, if there are none, the margin."""
        if self.mistakes:
            return f"{plural(self.mistakes, 'mistake')} on {plural(self.n, 'example')}"
        first = f"no mistakes on {plural(self.n, 'example')}"
        return first if self.margin is None else f"{first}; nearest at distance {self.margin:.3g}"

    @property
    def box(self) -> Polygon:
        """Corners of the picture: the range of the points, with padding around it."""
        low, high = self.points.min(axis=0), self.points.max(axis=0)
        if self.flat:
            low[1], high[1] = 0.0, 1.0
        span = np.where(high > low, high - low, np.maximum(np.abs(high), 1.0))
        if not self.flat and span.max() < ONE_SCALE * span.min():
            span[:] = span.max()
        padding = np.array([PADDING, 0.0 if self.flat else PADDING])
        middle, half = (low + high) / 2, span * (0.5 + padding)
        (left, bottom), (right, top) = (middle - half).tolist(), (middle + half).tolist()
        return [(left, bottom), (right, bottom), (right, top), (left, top)]

    def to_json(self) -> dict[str, Any]:
        """Return the picture's content as JSON, to be drawn in the browser."""
        many = len(self.labels) > 2
        scores = self.regions.scores if many else self.regions.scores[1:]
        return {
            "points": self.points.tolist(),
            "targets": (self.places if many else 2 * self.places - 1).tolist(),
            "last": many and self.regions.last,
            "wrong": np.flatnonzero(self.wrong).tolist(),
            "lines": [list(score) for score in scores],
            "names": self.names,
            "labels": self.labels,
        }


def scene_of(
    examples: Examples, h: Hypothesis, view: View | None = None, must: tuple[int, ...] = ()
) -> Scene:
    """Project examples and a classifier onto a plane for drawing.

    If there are very many examples, only a sample is drawn, which includes the rows `must`.
    """
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
    return Scene(
        points,
        rows,
        examples.places[rows],
        wrong[rows],
        view.regions(h),
        n=examples.n,
        mistakes=len(mistakes),
        margin=margin,
        names=view.names,
        labels=tuple(examples.label_names),
        flat=view.flat,
    )


def clearances(h: Hypothesis, examples: Examples) -> Floats:
    """Return the distance of each row from the boundary, negative if it is misclassified.

    With more than two labels, the boundary is the nearest line between the row's own label and
    another; the distance is infinite if all other scores are lower everywhere.

    Examples
    --------
    >>> far_off = Hypothesis(np.array([0.0, 3e300, 4e300]))
    >>> clearances(far_off, Examples.from_arrays([[5.0, 0.0], [0.0, -5.0]], [1, -1]))
    array([3., 4.])
    >>> h = Hypothesis.of(np.array([[0.0, 1.0], [0.0, -1.0], [-6.0, 3.0]]))
    >>> clearances(h, Examples.from_arrays([[1.0], [-2.0], [5.0]], ["a", "b", "c"]))
    array([1., 2., 2.])
    """
    largest = float(np.abs(h.w).max()) or 1.0
    if not isinstance(h, JointHypothesis):
        near_one = Hypothesis(h.w / largest, h.x0)
        size = _unit(near_one.w[1:])[1] or 1.0  # if all weights but w0 are 0, there is no line
        with np.errstate(over="ignore"):
            return np.asarray(examples.y * (near_one.scores(examples.X) / size))
    joint = JointHypothesis(h.w / largest, h.x0)
    s, rows, y = joint.scores(examples.X), np.arange(examples.n), examples.places
    sizes = np.linalg.norm(joint.w[:, None, 1:] - joint.w[None, :, 1:], axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        far = (s[rows, y][:, None] - s) / sizes[y]
    far[rows, y] = np.inf
    return np.asarray(np.where(np.isnan(far), 0.0, far).min(axis=1))


def sample(n: int, most: int, must: tuple[int, ...] = ()) -> NDArray[np.intp]:
    """Return the row numbers 0 to n - 1 or, if n > `most`, a random sample that includes `must`.

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


def _unit(v: Floats, without: Floats | None = None) -> tuple[Floats, float]:
    """Scale v to length 1, and return it with its original length; a zero vector stays zero.

    If a direction `without` is given, only the part of v orthogonal to it is used.
    """
    if without is not None:
        rest = v - without * (without @ v)
        is_rounding_error = np.linalg.norm(rest) <= 1e-9 * np.linalg.norm(v)
        v = np.zeros(len(v)) if is_rounding_error else rest
    largest = float(np.abs(v).max(initial=0.0))
    if not largest:
        return v, 0.0
    size = float(np.linalg.norm(v / largest))
    return v / largest / size, largest * size


def _principal(X: Any, middle: Floats, without: Floats) -> Floats:
    """Return the first of X's principal directions that are orthogonal to `without`.

    The result is zeros if X does not vary in any direction orthogonal to `without`.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0, 1.0], [2.0, 0.0, 1.0], [0.0, 3.0, 1.0], [2.0, 3.0, 1.0]])
    >>> _principal(X, X.mean(axis=0), np.array([0.0, 1.0, 0.0])).tolist()
    [1.0, 0.0, 0.0]
    """
    d = len(middle)
    if d <= FEW_FEATURES:
        rest = to_dense(X) - middle
        rest = rest - np.outer(rest @ without, without)
        found = np.linalg.eigh(rest.T @ rest)[1][:, -1]
    else:  # an iterative method that avoids the d × d covariance matrix
        from scipy.sparse.linalg import LinearOperator, eigsh

        def times(v: Floats) -> Floats:
            v = v.ravel() - (without @ v.ravel()) * without
            scores = np.asarray(X @ v).ravel() - middle @ v
            back = np.asarray(X.T @ scores).ravel() - middle * scores.sum()
            return np.asarray(back - (without @ back) * without)

        start = np.random.default_rng(0).standard_normal(d)
        # ARPACK fails if only rounding errors are left beside `without`.
        largest = max(float(np.abs(X).max()), float(np.abs(middle).max()))
        if np.linalg.norm(times(start)) <= 1e-12 * X.shape[0] * d * largest**2:
            return np.zeros(d)
        operator = LinearOperator((d, d), matvec=times, dtype=np.float64)
        found = np.asarray(eigsh(operator, k=1, v0=start, tol=1e-6)[1][:, 0])
    found = found - (found @ without) * without
    length = float(np.linalg.norm(found))
    if length < 1e-9:
        return np.zeros(d)
    found = found / length
    return found * (1.0 if found[int(np.abs(found).argmax())] > 0 else -1.0)
