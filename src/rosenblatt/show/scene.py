"""Scene: examples and a line as they look in a plane, whatever the number of features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.polygon import Polygon, clip
from rosenblatt.show.projection import Projection
from rosenblatt.words import counted

Floats = NDArray[np.float64]

MOST_POINTS = 2000  # more are drawn from a sample: a picture has no room for them
MOST_ROWS = 10_000  # that the principal direction looks at
DRAWABLE = (1e-150, 1e150)
ROOM = 0.08  # between the outermost points and the edge of the picture
LIKE = 4.0  # axes whose spans differ by less than this factor get one scale


@dataclass(frozen=True)
class Line:
    """Where a score a·x1 + b·x2 + c is zero; its positive side answers yes."""

    a: float
    b: float
    c: float

    @property
    def size(self) -> float:
        """The length of (a, b); 0 where the score is the same everywhere."""
        return float(np.hypot(self.a, self.b))

    def side(self, box: Polygon, above: float, sign: int = 1) -> Polygon:
        """The part of a box at least `above` from the line, on its positive or negative side."""
        return clip(box, (sign * self.c - above * self.size, sign * self.a, sign * self.b))

    def ends(self, box: Polygon) -> Polygon:
        """Where the line enters and leaves a box; nothing where it passes by."""
        if not self.size:
            return []
        corners = self.side(box, 0.0)
        nearest = 1e-9 * (self.size * max(abs(x) + abs(y) for x, y in box) + abs(self.c))
        on = [(x, y) for x, y in corners if abs(self.a * x + self.b * y + self.c) <= nearest]
        return [min(on), max(on)] if len(on) > 1 else []


@dataclass(frozen=True, eq=False)
class View:
    """A plane to look at examples in: two directions among the features, and where 0 is.

    Parameters
    ----------
    axes : array of shape (d, 2)
        What each feature adds to the two coordinates.
    shift : array of shape (2,)
        Taken off the coordinates.
    names : two str
        What the coordinates are called.
    """

    axes: Floats
    shift: Floats
    names: tuple[str, str]

    @property
    def flat(self) -> bool:
        """Whether there is one feature only, and the second coordinate means nothing."""
        return not self.axes[:, 1].any()

    def points(self, examples: Examples, rows: NDArray[np.intp]) -> Floats:
        """The coordinates of some rows; with one feature they are spread to be seen."""
        found = np.asarray(examples.X[rows].astype(np.float64) @ self.axes) - self.shift
        if self.flat:
            golden = (rows * 0.6180339887498949) % 1.0
            found[:, 1] = 0.15 + 0.7 * golden
        return found

    def line(self, h: Hypothesis) -> Line:
        """The line of a hypothesis, exact where its weights lie in this plane."""
        a, b = (h.w[1:] @ self.axes).tolist()
        c = float(h.w[0]) * h.x0
        return Line(a, b, c + a * float(self.shift[0]) + b * float(self.shift[1]))


def view_of(examples: Examples, h: Hypothesis, beside: Floats | None = None) -> View:
    """The plane in which a hypothesis is seen as a line.

    Two features are the plane. More are projected on w against the first remaining principal
    direction, or against what is left of `beside`: then every row is on its true side, and its
    distance from the line is the true one.

    Parameters
    ----------
    examples : Examples
        The rows.
    h : Hypothesis
        What answers them.
    beside : array of shape (d,), optional
        A second vector that the plane must contain.
    """
    if not _drawable(examples):
        raise ValueError(
            f"entries as large as {examples.largest:.3g} cannot be drawn; scale the columns first."
        )
    names = examples.names or tuple(f"x{i}" for i in range(1, examples.d + 1))
    if examples.d == 1:
        return View(np.array([[1.0, 0.0]]), np.zeros(2), (names[0], ""))
    if examples.d == 2:
        return View(np.eye(2), np.zeros(2), (names[0], names[1]))
    along, size = _unit(h.w[1:])
    name = "distance from the line, along w"
    if not size:
        along, name = _principal(examples, along).along, "first principal direction"
    second, length = _unit(np.zeros(examples.d) if beside is None else _rest(beside, along))
    other = "along the example"
    if not length:
        second, other = _principal(examples, along).across, "first remaining principal direction"
    offset = -float(h.w[0]) * h.x0 / size if size else 0.0
    return View(np.column_stack((along, second)), np.array([offset, 0.0]), (name, other))


@dataclass(frozen=True, eq=False)
class Scene:
    """What a picture of examples shows.

    Parameters
    ----------
    points : array of shape (k, 2)
        Where the rows are drawn.
    rows : int array of shape (k,)
        Which rows they are.
    answers : int8 array of shape (k,)
        Their answers as -1 and +1.
    wrong : bool array of shape (k,)
        Whether the line answers them wrongly.
    line : Line
        Where the score is zero.
    facts : Facts
        What is true of all rows, drawn or not.
    """

    points: Floats
    rows: NDArray[np.intp]
    answers: NDArray[np.int8]
    wrong: NDArray[np.bool_]
    line: Line
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
        room = np.array([ROOM, 0.0 if self.facts.flat else ROOM])
        middle, half = (low + high) / 2, span * (0.5 + room)
        (left, bottom), (right, top) = (middle - half).tolist(), (middle + half).tolist()
        return [(left, bottom), (right, bottom), (right, top), (left, top)]


@dataclass(frozen=True)
class Facts:
    """What is true of all rows, drawn or not, and what things are called.

    Parameters
    ----------
    n : int
        How many rows there are.
    mistakes : int
        How many of them the line answers wrongly.
    margin : float, optional
        How far the nearest row is from a line without mistakes, x0 left out; else None.
    names : two str
        What the coordinates are called.
    labels : two str
        What no and yes are called.
    flat : bool
        Whether there is one feature only.
    """

    n: int
    mistakes: int
    margin: float | None
    names: tuple[str, str]
    labels: tuple[str, str]
    flat: bool = False

    def sentence(self) -> str:
        """How many mistakes, or how wide the margin is."""
        if self.mistakes:
            return f"{counted(self.mistakes, 'mistake')} on {counted(self.n, 'example')}"
        told = f"no mistakes on {counted(self.n, 'example')}"
        return told if self.margin is None else f"{told}; the nearest is {self.margin:.3g} away"


def scene_of(
    examples: Examples, h: Hypothesis, view: View | None = None, must: tuple[int, ...] = ()
) -> Scene:
    """The scene of examples and a hypothesis that answers them.

    Parameters
    ----------
    examples : Examples
        The rows.
    h : Hypothesis
        The line.
    view : View, optional
        The plane; by default the one in which the line is exact.
    must : rows
        What a sample must contain.
    """
    view = view_of(examples, h) if view is None else view
    mistakes = h.mistakes(examples)
    wrong = np.zeros(examples.n, dtype=np.bool_)
    wrong[mistakes] = True
    margin, nearest = None, must
    if not len(mistakes) and h.w[1:].any():
        far = np.abs(distances(h, examples.X))
        margin, nearest = float(far.min()), (*must, int(far.argmin()))
    rows = sample(examples.n, MOST_POINTS, nearest)
    labels = (str(examples.labels[0]), str(examples.labels[1]))
    return Scene(
        view.points(examples, rows),
        rows,
        examples.y[rows],
        wrong[rows],
        view.line(h),
        Facts(examples.n, len(mistakes), margin, view.names, labels, view.flat),
    )


def distances(h: Hypothesis, X: Any) -> Floats:
    """How far rows are from the line, negative where it says no; mere sides where it has none.

    Parameters
    ----------
    h : Hypothesis
        The line.
    X : array or CSR matrix of shape (n, d)
        The rows.

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


def _drawable(examples: Examples) -> bool:
    low, high = DRAWABLE
    return examples.largest == 0 or low < examples.largest < high


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


def _principal(examples: Examples, along: Floats) -> Projection:
    """The plane of a direction (where it is all zeros, that of most difference) and the next."""
    return Projection.of(examples.X[sample(examples.n, MOST_ROWS)].astype(np.float64), along)
