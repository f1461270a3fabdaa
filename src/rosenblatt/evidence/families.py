"""Families of regressions: which signed rows say that an estimate runs away.

Along a direction γ in which the likelihood never falls, z·γ ≥ 0 for every row z:

* binomial: z is x where the answer is yes and -x where it is no; a share between 0 and 1 is both,
  and pins x·γ to 0;
* Poisson, and every count with a log link: z is -x where the count is 0, and x is pinned where
  it is more;
* multinomial: a row for each rival, x in the place of the answer and -x in that of the rival.
  The first label is the reference: it has no place, its coefficients are 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.checks import row_weights
from rosenblatt.design import Design
from rosenblatt.evidence.cone import Constraints
from rosenblatt.examples import Examples, labels_of, one_or_two_labels, signs
from rosenblatt.words import listed

FAMILIES = ("binomial", "poisson", "multinomial")
SIGNS = np.array([-1, 1])

Name = str | tuple[Any, str]


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked of a regression: its rows, whose they are, the names of its coefficients.

    Parameters
    ----------
    constraints : Constraints
        The signed rows.
    owners : array of int
        The row of the data, from 0, that each of them came from.
    names : tuple
        One for each coefficient.
    """

    constraints: Constraints
    owners: NDArray[np.intp]
    names: tuple[Name, ...]

    @property
    def columns(self) -> dict[str, list[int]]:
        """The columns of the regression, each with its coefficients: one, or one for a label."""
        places: dict[str, list[int]] = {}
        for j, name in enumerate(self.names):
            places.setdefault(name if isinstance(name, str) else name[1], []).append(j)
        return places


def question(design: Design, y: Any, family: str, sample_weight: Any = None) -> Question:
    """Ask about a regression; rows of weight 0 are not part of it.

    Parameters
    ----------
    design : Design
        Its columns.
    y : sequence
        Its answers, as the family has them.
    family : {"binomial", "poisson", "multinomial"}
        How they depend on the columns.
    sample_weight : sequence of numbers, optional
        From 0 up.
    """
    if family not in FAMILIES:
        raise ValueError(f"family is {family!r}; give one of {', '.join(map(repr, FAMILIES))}.")
    _refuse_namesakes(design.names)
    n = design.X.shape[0]
    kept = np.arange(n)
    if sample_weight is not None:
        kept = np.flatnonzero(row_weights(sample_weight, n) > 0)
        if len(kept) == 0:
            raise ValueError("every sample_weight is zero; give a positive weight to some rows.")
    answers = _answers(y, n)[kept]
    X = design.X if len(kept) == n else design.X[kept]
    if family == "multinomial":
        return _multinomial(X, answers, kept, design.names)
    sign, pinned = (_binomial if family == "binomial" else _poisson)(answers)
    examples = Examples(X, sign, SIGNS, None, 0.0)
    return Question(Constraints(examples, pinned), kept, design.names)


def _refuse_namesakes(names: tuple[str, ...]) -> None:
    """Coefficients are told apart by their names."""
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise ValueError(f"two columns of the regression are called {twice!r}; rename one of them.")


def _answers(y: Any, n: int) -> NDArray[Any]:
    # Arrow's own `to_numpy` refuses text and gaps; np.asarray takes both.
    own = hasattr(y, "to_numpy") and not type(y).__module__.startswith("pyarrow")
    answers = np.asarray(y.to_numpy() if own else y)
    if answers.ndim == 2 and 1 in answers.shape:
        answers = answers.ravel()
    if answers.shape != (n,):
        raise ValueError(f"X has {n} rows and y has shape {answers.shape}; give one answer a row.")
    if answers.dtype == object and all(isinstance(a, Real) for a in answers):
        return np.array(answers.tolist())  # numbers, or booleans
    return answers


def _binomial(answers: NDArray[Any]) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    if answers.dtype.kind in "fiu":
        shares = _numbers(answers, "binomial")
        if ((shares >= 0) & (shares <= 1)).all():
            sign = np.where(shares > 0, 1, -1).astype(np.int8)
            return sign, (shares > 0) & (shares < 1)
    labels, _ = labels_of(answers)
    if len(labels) > 2:
        some = listed([repr(label) for label in labels.tolist()], most=3)
        raise ValueError(
            f"y has {len(labels)} different answers ({some}); the family 'binomial' takes two "
            "labels, or shares from 0 to 1. Give family 'multinomial' or 'poisson'."
        )
    sign, _ = signs(answers, one_or_two_labels(answers))
    return sign, np.zeros(len(sign), dtype=bool)


def _poisson(answers: NDArray[Any]) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    counts = _numbers(answers, "poisson")
    bad = np.flatnonzero(counts < 0)
    if len(bad):
        raise ValueError(
            f"y, row {bad[0]}: {counts[bad[0]]:g} is not a count; give numbers from 0 up."
        )
    return np.where(counts > 0, 1, -1).astype(np.int8), counts > 0


def _numbers(answers: NDArray[Any], family: str) -> NDArray[np.float64]:
    try:
        numbers = answers.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"y is not numbers, which family {family!r} needs.") from None
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        raise ValueError(f"y, row {bad[0]}: {numbers[bad[0]]} is not a number; drop the row.")
    return numbers


def _multinomial(
    X: Any, answers: NDArray[Any], kept: NDArray[np.intp], names: tuple[str, ...]
) -> Question:
    from scipy import sparse

    labels, codes = labels_of(answers)
    K = len(labels)
    if K < 2:
        raise ValueError(f"y has only one label, {labels[0]!r}; a multinomial needs two or more.")
    rivals = np.array([[r for r in range(K) if r != k] for k in range(K)])[codes]
    owners = np.repeat(np.arange(len(codes)), K - 1)
    mine = sparse.csr_array(sparse.eye_array(K, format="csr")[:, 1:])
    place = mine[np.repeat(codes, K - 1)] - mine[rivals.ravel()]
    table = _blockwise(place, sparse.csr_array(X)[owners])
    examples = Examples(table, np.ones(len(owners), dtype=np.int8), SIGNS, None, 0.0)
    pairs = tuple((label, name) for label in labels[1:].tolist() for name in names)
    return Question(Constraints(examples, np.zeros(len(owners), dtype=bool)), kept[owners], pairs)


def _blockwise(place: Any, X: Any) -> Any:
    """Each row of X in every block, times the row's place there."""
    from scipy import sparse

    blocks = [sparse.diags_array(column) @ X for column in place.toarray().T]
    table = sparse.hstack(blocks, format="csr")
    table.eliminate_zeros()
    table.sort_indices()
    table.indices = table.indices.astype(np.int32, copy=False)
    table.indptr = table.indptr.astype(np.int32, copy=False)
    return table
