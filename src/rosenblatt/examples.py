"""Examples: rows and labels in memory, checked once and copied only if necessary; their costs.

The constant feature x0, whose weight is the intercept, is implied and never stored in X.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

import rosenblatt.checks as checks
import rosenblatt.engine as engine
from rosenblatt.blocks import Blocks, Work, return_block
from rosenblatt.errors import with_index_labels
from rosenblatt.rowformats import (
    NO_STEPS,
    Dense,
    Joint,
    Sparse,
    joint_rows,
    joint_weights,
    kernel_rows,
)
from rosenblatt.tables import (
    column_names,
    default_names,
    numbers_in,
    refuse_non_finite,
    sum_duplicates,
    to_dense,
    to_floats,
)
from rosenblatt.text import plural

T = TypeVar("T")

# Limits between which the square of a typical entry neither overflows nor underflows.
_PLAIN_SQUARES = (1e-200, 1e200)
SAMPLE = 64  # entries of X whose sizes are checked first
BATCH = 2**16  # numbers in a batch of rows, which fit into the cache
RUN = 2**12  # squares that are summed at a time
# Limits between which single precision is enough for the square of a typical entry.
SINGLE_SQUARES = (1e-30, 1e30)
ENTRIES = 2**20  # entries of Kesler's rows that are written at a time
FEW_ENTRIES = 2**23  # at most this many are kept for the next pass
FITS = 2**60  # sums of costs below this, and their differences, are exact in 64 bits
NO_POWER = 2**11  # larger than the exponent of any float
NO_LABELS = np.empty(0, dtype=np.int32)


@dataclass(frozen=True, eq=False)
class Examples(Blocks):
    """Rows in memory with their labels, checked and ready for training.

    With K > 2 labels, y holds positions in `labels`, w has a block of weights per label, and an
    update by row n against label r is encoded as n·K + r; rows of K·(d + 1) numbers are never
    written out.

    Examples
    --------
    >>> examples = Examples.from_arrays([[0.0, 1.0], [2.0, 0.0]], ["no", "yes"])
    >>> examples.y, examples.labels.tolist()
    (array([-1,  1], dtype=int8), ['no', 'yes'])
    >>> three = Examples.from_arrays([[0.0], [2.0], [1.0]], ["a", "c", "b"])
    >>> three.y, three.size, three.shaped(np.arange(6.0))
    (array([0, 2, 1], dtype=int32), 6, array([[0., 1.],
           [2., 3.],
           [4., 5.]]))
    """

    X: Any  # an array or CSR matrix of shape (n, d), float32 or float64, as given
    y: NDArray[np.signedinteger[Any]]  # -1 and +1, or positions of more than two labels
    labels: NDArray[Any]  # the classes, in sort order
    names: tuple[str, ...] | None = None  # of the features, if the data have them
    x0: float = 1.0  # the constant feature; 0.0 without an intercept
    # Sample weights: an update by a row of weight s adds eta·s·y·x; weight 0 leaves the row out.
    weights: NDArray[np.float64] | None = None
    # Whether the unit is assumed to be 1 because a sample of entries has usual sizes: see `look`.
    assumed_plain: bool = False
    picked: NDArray[np.intp] | None = None  # numbers in the data of rows that were picked
    n: int = field(default=0, init=False)  # number of rows (the default hides a property)
    d: int = field(init=False)  # number of features, without x0
    k: int = field(init=False)  # number of labels
    multiclass: bool = field(init=False)  # whether there are more than two labels
    vectors: int = field(init=False)  # weight vectors: one, or one for each of K labels
    size: int = field(init=False)  # weights, including w0 even without an intercept
    dimension: int = field(init=False)  # number of features, including x0 if it is not 0
    is_sparse: bool = field(init=False)  # whether X is a CSR matrix
    entries_per_row: int = field(init=False)  # multiplications to score a row, on average
    # Integer type of row numbers and encoded updates: uint32 if they fit, else uint64.
    row_type: type[np.unsignedinteger[Any]] = field(init=False)
    in_memory = True

    def __post_init__(self) -> None:
        (n, d), k = self.X.shape, len(self.labels)
        vectors = k if k > 2 else 1
        derived = {
            "n": n,
            "d": d,
            "k": k,
            "multiclass": k > 2,
            "vectors": vectors,
            "size": vectors * (d + 1),
            "dimension": d + bool(self.x0),
            "is_sparse": not isinstance(self.X, np.ndarray),
            "entries_per_row": vectors * (1 + self.X.size // max(1, n)),
            "row_type": np.uint32 if n * vectors < 2**32 else np.uint64,
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

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
        """Check arrays, frames or sparse matrices and return them as examples.

        A C-contiguous float array or a CSR matrix is used as it is, not copied. Of two labels
        the larger in sort order is +1, unless `labels` gives their order. With `one_class` all
        labels may be equal: 0, -1 and False are then negative, anything else is positive. Unless
        the rows are `looked_at`, training has to find NaN and infinity.
        """
        if not math.isfinite(x0):
            raise ValueError(f"x0, the intercept_scaling, is {x0}; give a finite number.")
        table, names = to_floats(X), column_names(X)
        with with_index_labels(X):
            if one_class and labels is None:
                labels = checks.one_class_labels(y)
            codes, labels = checks.encode_labels(y, labels)
            checks.check_lengths(table.shape[0], len(codes))
            examples = cls(table, codes, labels, names, float(x0))
            if not looked_at:
                numbers = examples.numbers
                some = numbers[:: max(1, len(numbers) // SAMPLE)].astype(np.float64)
                with np.errstate(all="ignore"):
                    if examples._plain(float(some @ some) / max(1, len(some))):
                        return replace(examples, assumed_plain=True)
            return examples.look()

    def with_two_labels(self) -> Examples:
        """Return the examples; raise ValueError if they have more than two labels."""
        if self.multiclass:
            raise checks.make_too_many_error(self.labels, self.labels)
        return self

    def look(self) -> Examples:
        """Check all entries and return the examples; raise RowError on NaN or infinity.

        If `assumed_plain` was wrong, the result computes its `unit` from all entries.
        """
        if not math.isfinite(self.squares):
            refuse_non_finite(self.X, self.names)
        if self.assumed_plain and not self._plain(self.squares / max(1, self.numbers.size)):
            return replace(self, assumed_plain=False)
        return self

    def _plain(self, square: float) -> bool:
        """Return whether squared row lengths neither overflow nor underflow if X is used unscaled.

        `square` is the mean of the squared entries of X.
        """
        low, high = _PLAIN_SQUARES
        return low < square + self.x0 * self.x0 < high

    def weighted(
        self, weights: Any, each: NDArray[np.float64] | None = None, *, stream: bool = False
    ) -> Examples:
        """Return the examples with sample weights and class weights.

        `weights` is a number per row or one for all rows, `each` a number per class. Only a block
        of a stream may lack a class or a positive weight.
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
                "the rows with a positive sample_weight are all of one class; "
                "two classes are needed."
            )
        return replace(self, weights=s)

    def each(self, work: Work[T]) -> Iterator[T]:
        """Apply work(block, first row number) to the examples, which are a single block."""
        yield work(self, 0)

    @property
    def loaded(self) -> Examples:
        """The examples themselves, because their rows are in memory."""
        return self

    def transform(self, function: Callable[[Examples], Examples]) -> Examples:
        """Apply a function to the examples and return its result."""
        return function(self)

    def has_rows_of(self, other: Examples, tolerance: float = 0.0) -> bool:
        """Return whether other examples have the same rows, up to a relative tolerance.

        The tolerance is relative to the largest absolute entry; 0 means equal numbers.
        """
        one, two = self.X, other.X
        if one.shape != two.shape or self.is_sparse != other.is_sparse:
            return False
        if self.is_sparse:
            return float(abs(one - two).max()) <= tolerance * float(abs(one).max())
        if not tolerance:
            return one is two or bool(np.array_equal(one, two))
        return bool(np.allclose(one, two, tolerance, tolerance * np.abs(one).max()))

    def some(self, rows: Any, first: int | None = None) -> Examples:
        """Select rows by their positions or by a mask.

        If `first`, the row number of the block's first row, is given, `rows` are positions, and the
        result knows their row numbers.
        """
        weights = None if self.weights is None else self.weights[rows]
        if first is None:
            picked = None if self.picked is None else self.picked[rows]
        else:
            picked = rows + first
        X, y = self.X[rows], self.y[rows]
        return replace(self, X=X, y=y, weights=weights, picked=picked, assumed_plain=False)

    @functools.cached_property
    def row_numbers(self) -> NDArray[np.intp]:
        """Row number of each example in the original data."""
        return np.arange(self.n) if self.picked is None else self.picked

    def batches(self) -> Iterator[tuple[int, Any, NDArray[Any]]]:
        """Yield batches of rows: the first row number, the features as float64, the labels."""
        for rows in self.split(range(self.n)):
            some = slice(rows[0], rows[-1] + 1)
            yield rows[0], self.X[some].astype(np.float64, copy=False), self.y[some]

    def split(self, rows: Any) -> Iterator[Any]:
        """Split row numbers into batches whose rows fit into the processor's cache."""
        step = max(1, BATCH // max(1, self.entries_per_row))
        for start in range(0, len(rows), step):
            yield rows[start : start + step]

    def merged(self) -> Examples:
        """Return the examples after adding up duplicate entries of a CSR matrix."""
        X = sum_duplicates(self.X)
        if X is self.X:
            return self
        refuse_non_finite(X, self.names)
        return replace(self, X=X)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features: x1, x2, … if the data have none."""
        return self.names or default_names(self.d)

    @property
    def label_names(self) -> list[str]:
        """Labels as text."""
        return [str(label) for label in self.labels.tolist()]

    @property
    def kept(self) -> NDArray[np.unsignedinteger[Any]]:
        """Row numbers of the rows whose sample weight is not 0."""
        if self.weights is None:
            return np.arange(self.n, dtype=self.row_type)
        return np.flatnonzero(self.weights > 0).astype(self.row_type)

    @property
    def numbers(self) -> NDArray[Any]:
        """Entries of X in a 1-d array; only those stored if X is sparse."""
        return numbers_in(self.X)

    @functools.cached_property
    def squares(self) -> float:
        """Sum of the squares of all entries of X."""
        return sum_of_squares(self.numbers)

    @functools.cached_property
    def length(self) -> float:
        """Upper bound on the Euclidean length of every row, x0 included."""
        low, high = _PLAIN_SQUARES
        size = max(self.numbers.size, 1)
        if low < self.squares / size < high:
            return math.sqrt(1.01 * self.squares) + abs(self.x0)
        return self.largest * math.sqrt(1.01 * size) + abs(self.x0)

    @property
    def largest(self) -> float:
        """Largest absolute entry of X."""
        numbers = self.numbers
        return max(float(numbers.max()), -float(numbers.min())) if numbers.size else 0.0

    @functools.cached_property
    def longest(self) -> int:
        """Maximum number of multiplications in the score of a row, for one label."""
        if not self.is_sparse:
            return self.d + 1
        return 1 + int(np.diff(self.X.indptr).max(initial=0))

    @functools.cached_property
    def unit(self) -> float:
        """Power of two by which training divides very large or very small entries, else 1.

        Dividing all rows by it does not change the updates, and scores of features around 1e200
        or 1e-200 neither overflow nor underflow.
        """
        numbers = self.numbers
        if self.assumed_plain or numbers.size == 0:
            return 1.0
        if self._plain(self.squares / numbers.size):
            return 1.0
        exponent = math.frexp(max(self.largest, abs(self.x0)))[1]
        # For huge entries, the unit leaves 20 bits for sums. For tiny entries it leaves none,
        # because precision is scarce there.
        return math.ldexp(1.0, min(exponent + 20, 1020) if exponent > 0 else max(exponent, -1000))

    def rows(self, eta: float = 1.0) -> Dense | Sparse | Joint:
        """Return the rows for compiled kernels, with the factor of each row in an update.

        The factor is `eta` times the sample weight and, for two labels, times y, divided by `unit`.
        """
        length = eta / self.unit
        if length == 1 and self.weights is None and not self.multiclass:
            return kernel_rows(self.X, self.x0, self.y)
        signs = np.ones(self.n) if self.multiclass else self.y
        step = np.multiply(signs, length, dtype=np.float64)
        if self.weights is not None:
            with np.errstate(over="ignore"):  # PLA raises an error if its weights overflow
                step *= self.weights
        rows = kernel_rows(self.X, self.x0, step)
        return joint_rows(rows, self.y, self.k) if self.multiclass else rows

    def to_augmented(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Convert the w of a compiled loop to augmented weights, without w0 if there is no x0."""
        return self.shaped(weights)[..., 0 if self.x0 else 1 :]

    def add_slot(self, augmented: NDArray[np.float64]) -> NDArray[np.float64]:
        """Insert w0 = 0 into augmented weights if there is no intercept."""
        if self.x0:
            return augmented
        return np.concatenate((np.zeros((*augmented.shape[:-1], 1)), augmented), axis=-1)

    def shaped(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        """Convert w from a compiled kernel to the shape that a `Hypothesis` takes.

        With more than two labels this is an array with one row per label.
        """
        if not self.multiclass:
            return w
        blocks = w.reshape(-1, self.k).T if self.is_sparse else w.reshape(self.k, -1)
        return np.ascontiguousarray(blocks)

    def flat(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Flatten the weights of a `Hypothesis` to the 1-d array that compiled kernels take."""
        return joint_weights(self.X, weights) if self.multiclass else weights

    @property
    def places(self) -> NDArray[Any]:
        """Position of each row's label in `labels`."""
        return self.y if self.multiclass else (self.y > 0).astype(np.intp)

    def count_labels(self) -> NDArray[np.intp]:
        """Return the number of rows of each label."""
        return np.bincount(self.places, minlength=self.k)

    def encode_updates(self, rows: NDArray[Any], competitors: NDArray[Any] | None) -> NDArray[Any]:
        """Return one integer per update: n·K + r for row n and competing class r.

        For two labels, the integer is the row number.
        """
        if not self.multiclass:
            return rows
        assert competitors is not None
        made: NDArray[Any] = rows.astype(self.row_type) * self.row_type(self.k)
        return made + competitors.astype(self.row_type)

    def decode_updates(self, made: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32] | None]:
        """Convert the integers of updates to row numbers and, for K > 2, competing classes."""
        if not self.multiclass:
            return made, None
        rows, competitors = np.divmod(made, made.dtype.type(self.k))
        return rows, competitors.astype(np.int32)

    def signed_scores(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return y·(w·x) for each row, given augmented weights w (no w0 without intercept)."""
        return products(self.X, self.add_slot(w), self.x0, self.y)

    def augmented(self, rows: Any = slice(None)) -> Any:
        """Return rows with x0 as first column if there is an intercept, dense or CSR as X."""
        X = self.X[rows]
        x0 = np.full((X.shape[0], int(bool(self.x0))), self.x0)
        if not self.is_sparse:
            return np.concatenate((x0, X), axis=1, dtype=np.float64)
        from scipy import sparse

        X = sparse.csr_array(X, dtype=np.float64)
        return sparse.hstack((sparse.csr_array(x0), X), format="csr") if self.x0 else X

    def augmented_rows(self, rows: Any = slice(None)) -> NDArray[np.float64]:
        """Return rows as a dense array, with x0 as first column if there is an intercept."""
        return to_dense(self.augmented(rows))


@dataclass(frozen=True, eq=False)
class KeslerRows(Blocks):
    """Examples of K labels as rows of a problem with two labels (Kesler's construction).

    There is a row z for each example and each competing class, with x in the block of the right
    label and -x in that of the competing one: w·z > 0 if the right label has the higher score. Row
    m is example m // (K - 1) against one of the other labels, in their order. Many rows are
    constructed a few at a time.

    Examples
    --------
    >>> three = Examples.from_arrays([[2.0], [3.0], [5.0]], ["a", "b", "c"])
    >>> rows = KeslerRows(three)
    >>> rows.pairs([2, 3])
    {2: (1, 0), 3: (1, 2)}
    >>> print(rows.take([2, 3]).X.toarray())
    [[-1. -3.  1.  3.  0.  0.]
     [ 0.  0.  1.  3. -1. -3.]]
    """

    blocks: Blocks
    # Whether to leave out the block of the first label, as if its weights were 0: adding the same
    # vector to the weights of all labels changes no product.
    reduced: bool = False

    def each(self, work: Work[T]) -> Iterator[T]:
        """Apply work(block, first row number) to a few rows at a time; yield the results."""
        first, whole = 0, self.blocks.loaded
        few = whole is not None and 2 * whole.n * whole.entries_per_row <= FEW_ENTRIES
        for rows in self._kept if few else self._parts():
            yield work(rows, first)
            first += rows.n

    @functools.cached_property
    def _kept(self) -> list[Examples]:
        return list(self._parts())

    def _parts(self) -> Iterator[Examples]:
        for block in self.blocks.each(return_block):
            step = max(1, ENTRIES // (2 * block.entries_per_row))
            for begin in range(0, block.n, step):
                yield kesler_rows(block, self.reduced, slice(begin, begin + step))

    def pairs(self, rows: Iterable[int]) -> dict[int, tuple[int, int]]:
        """Return the pair (example, competing class) of each given row number."""
        others = self.blocks.first().k - 1
        places = {m: divmod(m, others) for m in rows}
        found = self.blocks.take([n for n, _ in places.values()])
        y = dict(zip(found.row_numbers.tolist(), found.y.tolist(), strict=True))
        return {m: (n, r + (r >= y[n])) for m, (n, r) in places.items()}


def kesler_rows(examples: Examples, reduced: bool, part: slice = slice(None)) -> Examples:
    """Return examples of K labels as sparse rows with two labels (see `KeslerRows`)."""
    from scipy import sparse

    others, X = examples.k - 1, sparse.csr_array(examples.augmented(part))
    X.sort_indices()
    size, y = X.shape[1], examples.y[part].astype(np.intp)
    competitors = np.arange(others) + (np.arange(others) >= y[:, None])
    own = np.repeat(y, others).reshape(-1, others)
    # Each row twice, in the blocks of two labels, the smaller first.
    place = np.stack((np.minimum(own, competitors), np.maximum(own, competitors)), axis=2).ravel()
    row, kept = np.repeat(np.arange(len(y)), 2 * others), place >= reduced
    counts = np.where(kept, np.diff(X.indptr)[row], 0)
    row, place = row[kept], place[kept]
    twice, count = X[row], counts[kept]
    sign = np.where(place == y[row], 1, -1).astype(twice.data.dtype)
    shape = (len(y) * others, (examples.k - reduced) * size)
    index = np.int32 if max(shape[1], counts.sum()) < 2**31 else np.int64
    places = twice.indices + np.repeat(((place - reduced) * size).astype(index), count)
    begins = np.append(0, counts.reshape(-1, 2).sum(axis=1).cumsum())
    entries = twice.data * np.repeat(sign, count), places.astype(index), begins.astype(index)
    Z = sparse.csr_array(entries, shape=shape)
    s = None if examples.weights is None else np.repeat(examples.weights[part], others)
    return Examples(Z, np.ones(Z.shape[0], dtype=np.int8), np.array([False, True]), None, 0.0, s)


def as_table(X: Any) -> Any:
    """Check X and return it as a C-contiguous float array or a CSR matrix."""
    table = to_floats(X)
    if not math.isfinite(sum_of_squares(numbers_in(table))):
        with with_index_labels(X):
            refuse_non_finite(table, column_names(X))
    return table


def sum_of_squares(numbers: NDArray[Any]) -> float:
    """Sum the squares of numbers in one fast pass, with a relative error below 0.001.

    The sum is NaN or infinite if one of the numbers is, or if a square overflows. Squares are
    summed in short runs to keep float32 accurate; if the range of float32 is too narrow, they are
    summed again in float64.
    """
    flat, sums = numbers.reshape(-1), [0.0]

    def add(part: slice) -> None:
        piece = flat[part]
        runs = piece[: len(piece) // RUN * RUN].reshape(-1, RUN)
        rest = piece[runs.size :]
        # Not np.dot: its threads keep spinning for a while and slow down what follows.
        with np.errstate(all="ignore"):
            sums.append(float(np.einsum("ij,ij->i", runs, runs).sum(dtype=np.float64)))
            sums.append(float(np.einsum("i,i->", rest, rest)))

    engine.in_threads(add, len(flat), len(flat))
    total = sum(sorted(sums))  # sorted because threads end in any order
    narrow, (low, high) = flat.dtype == np.float32 and len(flat) > 0, SINGLE_SQUARES
    if narrow and not low < total / len(flat) < high:
        runs = range(0, len(flat), 2**20)
        total = sum(sum_of_squares(flat[i : i + 2**20].astype(np.float64)) for i in runs)
    return total


def entries(X: Any, n: int, x0: float) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return two arrays for row n, positions in w and values; x0 comes last in both.

    A position repeats if a CSR matrix stores an entry twice.
    """
    if isinstance(X, np.ndarray):
        places, values = np.arange(X.shape[1]), X[n]
    else:
        part = slice(X.indptr[n], X.indptr[n + 1])
        places, values = X.indices[part].astype(np.intp), X.data[part]
    return np.append(places + 1, 0), np.append(values.astype(np.float64), x0)


def products(
    X: Any, w: NDArray[np.float64], x0: float, signs: NDArray[Any] | None = None
) -> NDArray[np.float64]:
    """Return w·x for each row of a checked table, multiplied by `signs` if they are given.

    If w has a row of weights per label, the result has a column per label.
    """
    check_width(X, w)
    joint = w.ndim > 1
    result = np.empty((X.shape[0], len(w)) if joint else X.shape[0])
    flat = joint_weights(X, w) if joint else w

    def part(rows: slice) -> None:
        D = kernel_rows(X, x0, NO_STEPS, rows)
        if joint:
            engine.scores_joint(joint_rows(D, NO_LABELS, len(w)), flat, result[rows])
        else:
            engine.scores(D, w, result[rows])
        if signs is not None:
            result[rows] *= signs[rows]

    engine.in_threads(part, X.shape[0], X.size * (len(w) if joint else 1))
    return result


def check_width(X: Any, w: NDArray[np.float64]) -> None:
    """Raise ValueError unless w, or each row of w, has w0 and one weight per column of X.

    Compiled kernels do not check that an index is within an array.
    """
    if X.shape[1] + 1 != w.shape[-1]:
        weights, features = plural(w.shape[-1] - 1, "weight"), plural(X.shape[1], "feature")
        raise ValueError(f"{weights} cannot score {features}; give one weight per feature.")


@dataclass(frozen=True, eq=False)
class Costs:
    """Cost of a mistake on each row, as integers with a common unit.

    Examples
    --------
    >>> examples = Examples.from_arrays([[1.0], [2.0], [3.0]], [0, 1, 1])
    >>> costs = Costs.of(examples.weighted([0.5, 0.25, 2.0]))
    >>> costs.each.tolist(), costs.exponent, costs.number(costs.total([0, 1]))
    ([2, 1, 8], -2, 0.75)
    """

    each: NDArray[Any]  # cost per row: int64 if every sum of costs fits, else Python integers
    exponent: int | None = None  # the unit is 2**exponent; None if rows cost 1

    @classmethod
    def of(cls, examples: Examples, exponent: int | None = None) -> Costs:
        """Return the costs of examples: 1 each, or their sample weights.

        Weights are multiples of 2**exponent, by default of the largest that divides them all.
        """
        if examples.weights is None:
            return cls(np.ones(examples.n, dtype=np.int64))
        odd, powers = _factor(examples.weights)
        unit = power_of(examples.weights) if exponent is None else exponent
        whole = np.zeros(examples.n, dtype=object)
        pairs = zip(odd.tolist(), (powers - unit).tolist(), strict=True)
        whole[examples.weights > 0] = [m << k for m, k in pairs]
        return cls(whole.astype(np.int64) if whole.sum() < FITS else whole, unit)

    def total(self, rows: Any) -> int:
        """Return the total cost of mistakes on the given rows."""
        return int(self.each[rows].sum()) if len(rows) else 0

    def number(self, cost: int) -> float:
        """Return a cost as a number to display, rounded if necessary."""
        if self.exponent is None:
            return cost
        try:
            return float(self.plain(cost))
        except OverflowError:
            return math.inf

    def number_below(self, cost: int) -> float:
        """Return a cost as a number, rounded down if necessary."""
        if self.exponent is None:
            return cost
        near = min(self.number(cost), sys.float_info.max)
        return math.nextafter(near, -math.inf) if Fraction(near) > self.plain(cost) else near

    def plain(self, cost: int) -> Fraction:
        """Return a cost as an exact fraction, in the units of the sample weights."""
        return cost * Fraction(2) ** (self.exponent or 0)


def power_of(weights: NDArray[np.float64]) -> int:
    """Return the exponent of the largest power of two that divides all weights."""
    return int(_factor(weights)[1].min(initial=NO_POWER))


def _factor(weights: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Factor the nonzero weights into odd integers and exponents of powers of two."""
    fractions, exponents = np.frexp(weights[weights > 0])
    odd = np.ldexp(fractions, 53).astype(np.int64)
    zeros = np.frexp((odd & -odd).astype(np.float64))[1] - 1  # trailing zeros in binary
    return odd >> zeros, exponents - 53 + zeros
