"""Examples: X and y as the lecture means them, checked once, never copied without need.

This is the only room that knows labels and the intercept. x0 is implied, never stored in X.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

import rosenblatt.checks as checks
import rosenblatt.engine as engine
import rosenblatt.kernels as kernels
from rosenblatt.errors import RowError, quoted, with_index_labels
from rosenblatt.scoring import run_scores
from rosenblatt.tables import (
    as_column,
    column_names,
    floats,
    large,
    missing,
    numbers_in,
    places_named,
    refuse_masked,
    refuse_non_finite,
)
from rosenblatt.words import counted, listed

T = TypeVar("T")

# Between these the square of a typical entry neither overflows nor vanishes.
_PLAIN_SQUARES = (1e-200, 1e200)
SAMPLE = 64  # numbers, or answers, that are looked at first
RUN = 2**12  # squares are added up so many at a time
# Between these the square of a typical entry is one that single precision can do with.
SINGLE_SQUARES = (1e-30, 1e30)
NO_STEPS = np.empty(0)
NO_LABELS = np.empty(0, dtype=np.int32)


@dataclass(frozen=True, eq=False)
class Examples:
    """Rows with their yes/no answers: blocks of one.

    Examples
    --------
    >>> examples = Examples.from_arrays([[0.0, 1.0], [2.0, 0.0]], ["no", "yes"])
    >>> examples.y, examples.labels.tolist()
    (array([-1,  1], dtype=int8), ['no', 'yes'])
    """

    X: Any  # an array or CSR matrix of shape (n, d), float32 or float64, as given
    y: NDArray[np.signedinteger[Any]]  # -1 and +1
    labels: NDArray[Any]  # what these are called in the data
    names: tuple[str, ...] | None = None  # of the features, where the data had them
    x0: float = 1.0  # the constant feature; 0.0 where there is no intercept
    # A weight s makes a row count as s·x when it is corrected; weight 0 leaves it out.
    weights: NDArray[np.float64] | None = None
    # Whether a sample of X was of usual size, so that the unit is taken to be 1: see `look`.
    assumed_plain: bool = False

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        y: Any,
        *,
        x0: float = 1.0,
        labels: NDArray[Any] | None = None,
        one_class: bool = False,
        looked_at: bool = True,
    ) -> Examples:
        """Check arrays, frames or sparse matrices and take them as examples.

        A C-contiguous float array or a CSR matrix is taken as it is, not copied. Of two answers
        the larger in sort order is +1, unless the labels are known already. With `one_class` all
        answers may be alike: they are yes, except 0, -1 and False, which are no. Where the rows
        are not `looked_at`, whoever learns will come upon NaN and infinity.
        """
        if not math.isfinite(x0):
            raise ValueError(f"x0, the intercept_scaling, is {x0}; give a finite number.")
        table, names = floats(X), column_names(X)
        with with_index_labels(X):
            if one_class and labels is None:
                labels = one_or_two_labels(y)
            kind, answers, labels = cls._read(y, labels)
            check_lengths(table.shape[0], len(answers))
            examples = kind(table, answers, labels, names, float(x0))
            if not looked_at and examples._seem_plain():
                return replace(examples, assumed_plain=True)
            return examples.look()

    @classmethod
    def _read(
        cls, y: Any, known: NDArray[Any] | None
    ) -> tuple[type[Examples], NDArray[Any], NDArray[Any]]:
        """What examples of these answers are, the answers, and their labels."""
        return Examples, *signs(y, known)

    def look(self) -> Examples:
        """Return the examples with the unit of all numbers; refuse NaN and infinity anywhere."""
        if not math.isfinite(self.squares):
            refuse_non_finite(self.X, self.names)
        if self.assumed_plain and not self._plain(self.squares / max(1, self.numbers.size)):
            return replace(self, assumed_plain=False)
        return self

    def _seem_plain(self) -> bool:
        """Return whether a sample of the numbers is of usual size."""
        numbers = self.numbers.reshape(-1)
        some = numbers[:: max(1, len(numbers) // SAMPLE)].astype(np.float64)
        with np.errstate(all="ignore"):
            return self._plain(float(some @ some) / max(1, len(some)))

    def _plain(self, square: float) -> bool:
        low, high = _PLAIN_SQUARES
        return low < square + self.x0 * self.x0 < high

    def weighted(
        self, weights: Any, each: NDArray[np.float64] | None = None, *, stream: bool = False
    ) -> Examples:
        """Take the same examples with a weight for each row, or one for all, times its class's.

        A block of a stream may lack a class or have no weight.
        """
        s = checks.row_weights(1.0 if weights is None else weights, self.n)
        if each is not None:
            s = checks.row_weights(s * each[self.places], self.n)
        if stream:
            return replace(self, weights=s)
        if not s.any():
            raise ValueError("every sample_weight is zero; give a positive weight to some rows.")
        left = np.unique(self.y[s > 0])
        if len(left) < 2:
            raise ValueError(
                "the rows with a positive sample_weight have answers of only "
                "one class; two classes are needed."
            )
        return replace(self, weights=s)

    def each(self, work: Callable[[Examples, int], T]) -> Iterator[T]:
        """One pass, as over any blocks: in memory all rows are one block."""
        yield work(self, 0)

    def some(self, rows: Any) -> Examples:
        """Some of the rows, by their numbers or by a mask."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, X=self.X[rows], y=self.y[rows], weights=weights, assumed_plain=False)

    @property
    def size(self) -> int:
        """How many numbers w has, with the slot of w0."""
        return self.d + 1

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.X.shape[0])

    @property
    def d(self) -> int:
        """The number of features, x0 not counted."""
        return int(self.X.shape[1])

    @property
    def feature_names(self) -> tuple[str, ...]:
        """What the features are called: x1, x2, … where the data had no names."""
        return self.names or places_named(self.d)

    @property
    def label_names(self) -> list[str]:
        """The labels as text."""
        return [str(label) for label in self.labels.tolist()]

    @property
    def is_sparse(self) -> bool:
        """Whether X is a CSR matrix."""
        return not isinstance(self.X, np.ndarray)

    @property
    def entries_per_row(self) -> int:
        """How many numbers a score multiplies, on average."""
        stored = self.X.nnz if self.is_sparse else self.X.size
        return 1 + int(stored) // max(1, self.n)

    @property
    def kept(self) -> NDArray[np.unsignedinteger[Any]]:
        """The numbers of the rows that count: all but those of weight 0."""
        if self.weights is None:
            return np.arange(self.n, dtype=self.row_type)
        return np.flatnonzero(self.weights > 0).astype(self.row_type)

    @property
    def in_order(self) -> range | NDArray[np.unsignedinteger[Any]]:
        """The same in the order of the file, as kernels visit them fastest."""
        return range(self.n) if self.weights is None else self.kept

    @property
    def row_type(self) -> type[np.unsignedinteger[Any]]:
        """The smallest type that holds a row number."""
        return np.uint32 if self.n < 2**32 else np.uint64

    @property
    def numbers(self) -> NDArray[Any]:
        """The entries of X, those stored where it is sparse."""
        entries: NDArray[Any] = self.X.data if self.is_sparse else self.X
        return entries

    @functools.cached_property
    def squares(self) -> float:
        """The sum of the squares of all entries."""
        return sum_of_squares(self.numbers)

    @functools.cached_property
    def length(self) -> float:
        """No tall row is longer than this."""
        low, high = _PLAIN_SQUARES
        size = max(self.numbers.size, 1)
        if low < self.squares / size < high:
            return math.sqrt(1.01 * self.squares) + abs(self.x0)
        return self.largest * math.sqrt(1.01 * size) + abs(self.x0)

    @property
    def largest(self) -> float:
        """The largest absolute entry of X."""
        numbers = self.numbers
        return max(float(numbers.max()), -float(numbers.min())) if numbers.size else 0.0

    @functools.cached_property
    def longest(self) -> int:
        """How many products a score adds up at the most."""
        if not self.is_sparse:
            return self.d + 1
        return 1 + int(np.diff(self.X.indptr).max(initial=0))

    @functools.cached_property
    def unit(self) -> float:
        """A power of two near the largest entry where entries are extreme, else 1.

        Learning in this unit gives the same corrections, and scores that neither overflow
        nor vanish when the features are around 1e200 or 1e-200.
        """
        numbers = self.numbers
        if self.assumed_plain or numbers.size == 0:
            return 1.0
        if self._plain(self.squares / numbers.size):
            return 1.0
        exponent = math.frexp(max(self.largest, abs(self.x0)))[1]
        # Twenty bits of room above for sums; none below, where precision is what is short.
        return math.ldexp(1.0, min(exponent + 20, 1020) if exponent > 0 else max(exponent, -1000))

    def rows(self, eta: float = 1.0) -> kernels.Dense | kernels.Sparse:
        """The examples as the kernels take them, corrections of length eta in `unit`."""
        length = eta / self.unit
        if length == 1 and self.weights is None:
            return kernel_rows(self.X, self.x0, self.y)
        step = np.multiply(self.y, length, dtype=np.float64)
        if self.weights is not None:
            with np.errstate(over="ignore"):  # whoever learns refuses weights past all floats
                step *= self.weights
        return kernel_rows(self.X, self.x0, step)

    def tall(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """The weights that a person sees: w0 first, or no w0 where there is no intercept."""
        return weights if self.x0 else weights[1:]

    def slotted(self, tall: NDArray[np.float64]) -> NDArray[np.float64]:
        """The weights that a person sees with the slot of w0, which is 0 without an intercept."""
        if self.x0:
            return tall
        return np.concatenate((np.zeros((*tall.shape[:-1], 1)), tall), axis=-1)

    def shaped(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        """The weights of kernels as a hypothesis has them, with the slot of w0."""
        return w

    def flat(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """The weights of a hypothesis as kernels have them."""
        return weights

    @property
    def places(self) -> NDArray[Any]:
        """The place of each answer among the labels."""
        return (self.y > 0).astype(np.intp)

    def corrections(self, rows: NDArray[Any], rivals: NDArray[Any] | None) -> NDArray[Any]:
        """Corrections as kernels write them: of two labels, rows."""
        return rows

    def corrected(self, made: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32] | None]:
        """The rows, and where there are more than two labels the rivals, of corrections."""
        return made, None

    def signed_scores(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        """y·(w·x) for each row; w is tall, as a person sees it."""
        return products(self.X, self.slotted(w), self.x0, self.y)

    def tall_rows(self, rows: Any = slice(None)) -> NDArray[np.float64]:
        """Some rows as a new array: x0 first, or no x0 where there is no intercept."""
        X = self.X[rows].toarray() if self.is_sparse else self.X[rows]
        x0 = np.full((len(X), int(bool(self.x0))), self.x0)
        return np.concatenate((x0, X), axis=1, dtype=np.float64)

    def tall_row(self, n: int) -> NDArray[np.float64]:
        """Row n as a tall vector, with the w0 slot that kernels use."""
        row = self.X[[n]].toarray()[0] if self.is_sparse else self.X[n]
        return np.concatenate(([self.x0], row.astype(np.float64)))


class JointExamples(Examples):
    """Rows with one of K labels: y is its place among them, w has a block for each of them.

    `from_arrays` gives plain `Examples` where there are two. Row n corrected against the label r
    is called n·K + r; rows of K·(d + 1) numbers are never written out.

    Examples
    --------
    >>> examples = JointExamples.from_arrays([[0.0], [2.0], [1.0]], ["a", "c", "b"])
    >>> examples.y, examples.size, examples.shaped(np.arange(6.0))
    (array([0, 2, 1], dtype=int32), 6, array([[0., 1.],
           [2., 3.],
           [4., 5.]]))
    """

    @classmethod
    def _read(
        cls, y: Any, known: NDArray[Any] | None
    ) -> tuple[type[Examples], NDArray[Any], NDArray[Any]]:
        """Answers of two labels as signs, of more as places among them."""
        answers = _one_dimension(y)
        labels = _two_labels(answers) if known is None else known
        if len(labels) == 2:
            found, third = _signs_of(answers, labels)
            if third is None:
                return Examples, found, labels
        if known is None:
            known = _distinct(answers)
            if _continuous(answers, known):
                raise _too_many_labels(answers)
        places = np.minimum(np.searchsorted(known, answers), len(known) - 1)
        strange = np.flatnonzero(known[places] != answers)
        if len(strange):
            raise _not_a_class(answers, int(strange[0]), known)
        return JointExamples, places.astype(np.int32), known

    @property
    def k(self) -> int:
        """The number of labels."""
        return len(self.labels)

    @property
    def size(self) -> int:
        """How many numbers w has, with the slots of w0."""
        return self.k * (self.d + 1)

    @property
    def places(self) -> NDArray[Any]:
        """The place of each answer among the labels."""
        return self.y

    @property
    def entries_per_row(self) -> int:
        """How many numbers the scores of a row multiply, on average."""
        return self.k * super().entries_per_row

    @property
    def row_type(self) -> type[np.unsignedinteger[Any]]:
        """The smallest type that holds a row number, also against a rival."""
        return np.uint32 if self.n * self.k < 2**32 else np.uint64

    def rows(self, eta: float = 1.0) -> Any:
        """The examples as the kernels take them, corrections of length eta in `unit`."""
        step = np.full(self.n, eta / self.unit)
        if self.weights is not None:
            step *= self.weights
        return joint_rows(kernel_rows(self.X, self.x0, step), self.y, self.k)

    def tall(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """A row of weights for each label: w0 first, or no w0 where there is no intercept."""
        return self.shaped(weights)[:, 0 if self.x0 else 1 :]

    def shaped(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        """A row for each label, from the blocks that kernels have."""
        blocks = w.reshape(-1, self.k).T if self.is_sparse else w.reshape(self.k, -1)
        return np.ascontiguousarray(blocks)

    def flat(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """The blocks of kernels, from a row for each label."""
        return (weights.T if self.is_sparse else weights).flatten()

    def corrections(self, rows: NDArray[Any], rivals: NDArray[Any] | None) -> NDArray[Any]:
        """Corrections as kernels write them: n·K + r."""
        assert rivals is not None
        made: NDArray[Any] = rows.astype(self.row_type) * self.row_type(self.k)
        return made + rivals.astype(self.row_type)

    def corrected(self, made: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32] | None]:
        """The rows and the rivals of corrections."""
        rows, rivals = np.divmod(made, made.dtype.type(self.k))
        return rows, rivals.astype(np.int32)


def of_labels(blocks: Any) -> bool:
    """Whether blocks are of more than two labels: as examples are, or as they say of themselves."""
    return isinstance(blocks, JointExamples) or getattr(blocks, "joint", False)


@dataclass(frozen=True, eq=False)
class Picked:
    """Some rows as examples, and their numbers among all rows."""

    numbers: NDArray[np.intp]
    examples: Examples

    def joined(self, others: Sequence[Picked]) -> Picked:
        """These rows and others, in the order of their numbers, each once."""
        if not others:
            return self
        parts = [self, *others]
        numbers, at = np.unique(np.concatenate([p.numbers for p in parts]), return_index=True)
        blocks = [p.examples for p in parts]
        X, y = stack_tables([b.X for b in blocks]), np.concatenate([b.y for b in blocks])
        weights = [b.weights for b in blocks if b.weights is not None]
        costs = np.concatenate(weights) if weights else None
        return Picked(numbers, replace(blocks[0], X=X, y=y, weights=costs).some(at))

    def some(self, at: Any) -> Picked:
        """Some of them, by their places here or by a mask."""
        return Picked(self.numbers[at], self.examples.some(at))


def stack_tables(tables: Sequence[Any]) -> Any:
    """Put tables of one kind, all dense or all sparse, below one another."""
    if isinstance(tables[0], np.ndarray):
        return np.concatenate(tables)
    from scipy import sparse

    return sparse.vstack(tables, format="csr")


def picked(block: Examples, first: int, at: NDArray[np.intp]) -> Picked:
    """Some rows of a block, by their places in it."""
    return Picked(at + first, block.some(at))


@dataclass(frozen=True, eq=False)
class Pick:
    """The work of taking rows by their numbers."""

    numbers: NDArray[np.intp]

    def __call__(self, block: Examples, first: int) -> Picked:
        """Those of them that are in a block."""
        here = (self.numbers >= first) & (self.numbers < first + block.n)
        return picked(block, first, self.numbers[here] - first)


def as_table(X: Any) -> Any:
    """Check X and return it as a C-contiguous float array or a CSR matrix."""
    table = floats(X)
    if not math.isfinite(sum_of_squares(numbers_in(table))):
        with with_index_labels(X):
            refuse_non_finite(table, column_names(X))
    return table


def sum_of_squares(numbers: NDArray[Any]) -> float:
    """One fast pass, right to a thousandth; not finite if any number is not, or squares overflow.

    Squares are added up in short runs, so that float32 stays right; where its range is too
    narrow they are added up again in float64.
    """
    flat = numbers.reshape(-1)
    total = _sum_of_squares(flat)
    narrow, (low, high) = flat.dtype == np.float32 and len(flat) > 0, SINGLE_SQUARES
    if narrow and not low < total / len(flat) < high:
        runs = range(0, len(flat), 2**20)
        total = sum(_sum_of_squares(flat[i : i + 2**20].astype(np.float64)) for i in runs)
    return total


def _sum_of_squares(flat: NDArray[Any]) -> float:
    sums = [0.0]

    def add(part: slice) -> None:
        piece = flat[part]
        runs = piece[: len(piece) // RUN * RUN].reshape(-1, RUN)
        rest = piece[runs.size :]
        # Not np.dot: its threads go on spinning for a while and slow down what comes next.
        with np.errstate(all="ignore"):
            sums.append(float(np.einsum("ij,ij->i", runs, runs).sum(dtype=np.float64)))
            sums.append(float(np.einsum("i,i->", rest, rest)))

    engine.in_threads(add, len(flat), len(flat))
    return sum(sorted(sums))  # threads end in any order


def entries(X: Any, n: int, x0: float) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Row n as it is stored: places in a w with its slot, and values; places may repeat."""
    if isinstance(X, np.ndarray):
        places, values = np.arange(X.shape[1]), X[n]
    else:
        part = slice(X.indptr[n], X.indptr[n + 1])
        places, values = X.indices[part].astype(np.intp), X.data[part]
    return np.append(places + 1, 0), np.append(values.astype(np.float64), x0)


def kernel_rows(
    X: Any, x0: float, step: NDArray[Any], part: slice = slice(None)
) -> kernels.Dense | kernels.Sparse:
    """Wrap rows of a checked table for the kernels, read-only: one compilation serves all."""
    if isinstance(X, np.ndarray):
        rows = X[part]
        rows.flags.writeable = False
        kind = kernels.Plane if rows.shape[1] <= 2 else kernels.Dense
        return kind(rows, x0, _read_only(step))
    unsigned = np.uint32 if X.indices.dtype.itemsize == 4 else np.uint64
    indptr = X.indptr.astype(X.indices.dtype, copy=False)
    begin, end, _ = part.indices(X.shape[0])
    return kernels.Sparse(
        _read_only(X.data),
        _read_only(X.indices.view(unsigned)),
        _read_only(indptr[begin : end + 1].view(unsigned)),
        x0,
        _read_only(step),
    )


def joint_rows(
    rows: kernels.Dense | kernels.Sparse, label: NDArray[np.int32], K: int
) -> kernels.Joint:
    """Rows for the kernels with a label each; not for two threads at once."""
    return kernels.Joint(rows, _read_only(label), K, np.empty(K))


def products(
    X: Any, w: NDArray[np.float64], x0: float, signs: NDArray[Any] | None = None
) -> NDArray[np.float64]:
    """w·x for each row of a checked table, times its sign if there are some; w has its slot."""
    check_width(X, w)
    result = np.empty(X.shape[0])

    def part(rows: slice) -> None:
        run_scores(kernel_rows(X, x0, NO_STEPS, rows), w, result[rows])
        if signs is not None:
            result[rows] *= signs[rows]

    engine.in_threads(part, X.shape[0], X.size)
    return result


def check_width(X: Any, w: NDArray[np.float64]) -> None:
    """Refuse weights for other columns: kernels do not look where an array ends."""
    if X.shape[1] + 1 != len(w):
        weights, features = counted(len(w) - 1, "weight"), counted(X.shape[1], "feature")
        raise ValueError(f"{weights} cannot score {features}.")


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view


def signs(y: Any, known: NDArray[Any] | None) -> tuple[NDArray[np.int8], NDArray[Any]]:
    """The answers as -1 and +1, and the two labels they stand for."""
    answers = _one_dimension(y)
    labels = _two_labels(answers) if known is None else known
    found, strange = _signs_of(answers, labels)
    if strange is not None:
        raise _too_many_labels(answers) if known is None else _not_a_class(answers, strange, known)
    return found, labels


def _signs_of(answers: NDArray[Any], labels: NDArray[Any]) -> tuple[NDArray[np.int8], int | None]:
    """The answers as -1 and +1, and the first row with neither of two labels, if there is one."""
    is_yes = np.asarray(answers == labels[1], dtype=bool)
    is_either = np.asarray(answers == labels[0], dtype=bool)
    is_either |= is_yes
    result = is_yes.view(np.int8) * np.int8(2)
    result -= np.int8(1)
    return result, None if is_either.all() else int(is_either.argmin())


def _not_a_class(answers: NDArray[Any], row: int, labels: NDArray[Any]) -> RowError:
    shown = listed([quoted(label) for label in labels.tolist()])
    (answer,) = answers[[row]].tolist()
    return RowError("y, ", row, f": {quoted(answer)} is not one of the classes {shown}.")


def _one_dimension(y: Any) -> NDArray[Any]:
    if y is None:
        raise ValueError(
            "learning requires y to be passed, but the target y is None: "
            "give an answer for each row."
        )
    refuse_masked(y, "y")
    answers = as_column(y)
    if isinstance(y, list | tuple) and answers.dtype.kind == "f" and len(large(answers.ravel())):
        answers = np.array(y, dtype=object)  # as doubles, long whole numbers could become one
    if answers.ndim != 1:
        raise ValueError(
            f"y should be a 1d array, got an array of shape {answers.shape} instead: "
            "give one answer for each row."
        )
    if answers.dtype.kind == "f":
        bad = np.flatnonzero(~np.isfinite(answers))
    elif answers.dtype.kind == "O":
        bad = np.flatnonzero([missing(cell) for cell in answers])
    else:
        bad = np.array([], dtype=np.intp)
    if len(bad):
        what = "NaN" if missing(answers[bad[0]]) else "infinity"
        raise RowError(f"Input y contains {what} in ", int(bad[0]), "; each row needs an answer.")
    return answers


def _two_labels(answers: NDArray[Any]) -> NDArray[Any]:
    if len(answers) == 0:
        raise ValueError("y is empty; give one answer for each row of X.")
    for some in (answers[:SAMPLE], answers):  # both labels come soon, as a rule
        other = int(np.asarray(some != some[0], dtype=bool).argmax())
        if other:
            pair = some[[0, other]]
            return _distinct(pair) if pair.dtype.kind == "O" else np.sort(pair)
    raise ValueError(
        f"y has only one class, {quoted(answers[:1].tolist()[0])}; "
        "learning needs examples of two classes."
    )


def check_lengths(rows: int, answers: int) -> None:
    """Refuse rows that have not one answer each."""
    if rows != answers:
        raise ValueError(
            f"X has {counted(rows, 'row')} but y has {counted(answers, 'answer')}; "
            "inconsistent numbers of samples: give one answer for each row."
        )


def one_or_two_labels(y: Any) -> NDArray[Any] | None:
    """The one label twice, or in its place beside a label that y does not have; None for two."""
    answers = _one_dimension(y)
    if len(answers) == 0 or (answers != answers[0]).any():
        return None
    only = answers[0]
    if answers.dtype.kind in "biuf" and only in (0, -1):
        return np.array([only, 1])
    return np.array([only, only], dtype=answers.dtype)


def labels_of(y: Any) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The different answers in order, however many, and the place of each row's among them."""
    answers = _one_dimension(y)
    labels = _distinct(answers)
    return labels, np.searchsorted(labels, answers)


def _distinct(answers: NDArray[Any]) -> NDArray[Any]:
    try:
        return np.unique(answers)
    except TypeError:
        kinds = sorted({type(answer).__name__ for answer in answers})
        raise ValueError(
            f"y mixes answers of kinds {' and '.join(kinds)}; make them all of one kind "
            "(classes must be uniformly strings or numbers)."
        ) from None


def _too_many_labels(answers: NDArray[Any]) -> ValueError:
    labels = _distinct(answers)
    first = [repr(label) for label in labels[:4].tolist()]
    shown = ", ".join(first + ["…"] * (len(labels) > 4))
    if _continuous(answers, labels):
        return ValueError(
            f"Unknown label type: y has {len(labels)} different numbers ({shown}), continuous "
            "values; give two kinds of answer."
        )
    return ValueError(
        "Only binary classification is supported. "
        f"y has {len(labels)} classes ({shown}); give two kinds of answer."
    )


def _continuous(answers: NDArray[Any], labels: NDArray[Any]) -> bool:
    """Whether answers are measured rather than named."""
    return answers.dtype.kind == "f" and bool((labels != np.round(labels)).any())
