"""A fingerprint of the data: what ties a proof to the numbers it was made on."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engine import Kernel, in_threads
from rosenblatt.evidence.integers import BLOCK, blocks
from rosenblatt.examples import Examples

Codes = NDArray[np.uint64]
Rows = NDArray[np.intp]

MANY_ROWS = 2**18
KIND = 0.05  # of the rows that are left: so many equal ones are taken out at once
AT_ONCE = 2**18  # rows whose kinds are looked for: arrays of so many are not made anew each time
MOST_PAIRS = 2**15  # of alike rows with different answers in a proof: to check more takes long
ZERO, HALF, MINUS_ZERO = np.uint64(0), np.uint64(32), np.uint64(1 << 63)


def fingerprint(examples: Examples, codes: NDArray[np.uint64] | None = None) -> str:
    """A digest of the numbers and answers, the same for dense, CSR, float32 and float64."""
    codes = row_codes(examples) if codes is None else codes
    digest = begun(examples.n, examples.d, examples.x0)
    digest.update(examples.y.tobytes())
    digest.update(codes.tobytes())
    return str(digest.hexdigest())


def begun(n: int, d: int, x0: float) -> Any:
    """The digest of the shape and x0, to which answers and then codes of rows are added."""
    return hashlib.sha256(f"{n} {d} {(x0 + 0.0).hex()}".encode())  # -0.0 is 0.0 here, too


def row_codes(examples: Examples) -> NDArray[np.uint64]:
    """A 64-bit code of each row: the bits of its numbers times odd constants, summed.

    Zeros add nothing, so dense and CSR agree; a change of one number always changes the code.
    """
    codes = np.zeros(examples.n, dtype=np.uint64)
    odd = _odd_constants(examples.d)
    if examples.is_sparse:
        _sparse_codes(examples, odd, codes)
        return codes

    def part(rows: slice) -> None:
        for start in range(rows.start, rows.stop, step):
            some = slice(start, min(start + step, rows.stop))
            bits = np.ascontiguousarray(examples.X[some], dtype=np.float64).view(np.uint64)
            with np.errstate(over="ignore"):  # codes are taken modulo 2^64
                add_up_bits(bits, odd, codes[some])

    step = max(1, BLOCK // examples.d)
    in_threads(part, examples.n, examples.X.size)
    return codes


def _sparse_codes(examples: Examples, odd: NDArray[np.uint64], codes: NDArray[np.uint64]) -> None:
    for start, X, _ in blocks(examples):
        if X.nnz:
            stored = np.flatnonzero(np.diff(X.indptr))
            terms = _bits(X.data) * odd[X.indices]
            codes[start + stored] = np.add.reduceat(terms, X.indptr[stored])


def codes_of_bits(bits, odd, codes):  # type: ignore[no-untyped-def]
    """codes[n] = the bits of row n, folded, times odd constants; -0.0 has the bits of 0."""
    for n in range(len(codes)):
        for j in range(len(odd)):
            b = bits[n, j]
            b = b if b != MINUS_ZERO else ZERO
            codes[n] += (b ^ (b >> HALF)) * odd[j]


add_up_bits = Kernel(codes_of_bits)


def contradictions_of(examples: Examples, codes: Codes, most: int = 8) -> list[tuple[int, int]]:
    """A few pairs of rows that are alike in every number and have different answers.

    Not looked for among very many rows, where sorting codes takes longer than deciding.
    """
    if examples.n > MANY_ROWS:
        return []
    ordered = np.sort(codes)
    if not (ordered[1:] == ordered[:-1]).any():
        return []
    firsts = ((int(yes[0]), int(no[0])) for yes, no in contradictions(examples, codes))
    return sorted((min(pair), max(pair)) for pair in firsts)[:most]


def contradictions(
    examples: Examples, codes: Codes, rows: Rows | None = None
) -> Iterator[tuple[Rows, Rows]]:
    """Rows that are alike in every number and have both answers: those of yes, those of no.

    All rows are looked at, or those that are given. Codes may be the same by chance: the rows
    themselves are compared.
    """
    rows = np.arange(examples.n) if rows is None else rows
    rows = rows[np.argsort(codes[rows], kind="stable")]
    starts = np.flatnonzero(np.diff(codes[rows], prepend=~codes[rows[:1]]))
    yes = np.add.reduceat(examples.y[rows] > 0, starts, dtype=np.intp)
    sizes = np.diff(starts, append=len(rows))
    for k in np.flatnonzero((yes > 0) & (yes < sizes)).tolist():
        group = rows[starts[k] : starts[k] + sizes[k]]
        alike = group[_alike(examples, group, int(group[0]))]
        positive = examples.y[alike] > 0
        yeses, noes = alike[positive], alike[~positive]
        if len(yeses) and len(noes):
            yield yeses, noes


def paired(yes: Rows, no: Rows, most: int) -> Iterator[tuple[int, int]]:
    """Pairs of a row of either side, in turn, the lower number first; no more than so many."""
    for a, b in zip(yes[:most].tolist(), no[:most].tolist(), strict=False):
        yield min(a, b), max(a, b)


def _alike(examples: Examples, rows: Rows, first: int) -> NDArray[np.bool_]:
    """Which of some rows have every number of another."""
    alike = np.empty(len(rows), dtype=bool)
    step = max(1, BLOCK // examples.d)
    for start in range(0, len(rows), step):
        some = rows[start : start + step]
        X = examples.X[some]
        model = examples.X[[first] * len(some)] if examples.is_sparse else examples.X[first]
        alike[start : start + step] = np.asarray((model != X).sum(axis=1)).ravel() == 0
    return alike


def distinct(examples: Examples, rows: Rows) -> Rows:
    """Some rows without those that others are equal to, in every number and in the answer."""
    if len(rows) > AT_ONCE:
        parts = [rows[i : i + AT_ONCE] for i in range(0, len(rows), AT_ONCE)]
        rows = np.concatenate([kinds(examples, part)[0] for part in parts])
        rows.sort()
    firsts, places = kinds(examples, rows)
    lone = np.bincount(places, minlength=len(firsts)) == 1
    return np.sort(np.concatenate((firsts[~lone], _sorted_out(examples, firsts[lone]))))


def kinds(examples: Examples, rows: Rows) -> tuple[Rows, Rows]:
    """One row of each kind that very many of some rows are of, and which of these each row is.

    Rows of a kind are equal in every number and in the answer. Rows that few are equal to are
    kinds of their own: nothing is sorted.
    """
    codes = _signed_codes(examples, rows)
    places, left = np.zeros(len(rows), dtype=np.intp), np.arange(len(rows))
    firsts: list[int] = []
    while len(left):
        first = int(rows[left[0]])
        same = codes[left] == codes[left[0]]
        group = rows[left[same]]
        same[same] = _alike(examples, group, first) & (examples.y[group] == examples.y[first])
        if np.count_nonzero(same) < KIND * len(left):
            break
        places[left[same]] = len(firsts)
        firsts.append(first)
        left = left[~same]
    places[left] = len(firsts) + np.arange(len(left))
    return np.concatenate((np.array(firsts, dtype=np.intp), rows[left])), places


def _signed_codes(examples: Examples, rows: Rows) -> Codes:
    """Codes of some rows that tell answers apart, too."""
    X, y = examples.X[rows], examples.y[rows]
    codes = row_codes(replace(examples, X=X, y=y, weights=None))
    return codes ^ (y > 0).astype(np.uint64)


def _sorted_out(examples: Examples, rows: Rows) -> Rows:
    """Some rows without those that others are equal to, by sorting their codes."""
    if len(rows) == 0:
        return rows
    X, y = examples.X[rows], examples.y[rows]
    codes = _signed_codes(examples, rows)
    _, firsts, places = np.unique(codes, return_index=True, return_inverse=True)
    other = np.asarray((X[firsts[places]] != X).sum(axis=1)).ravel() > 0
    other |= y != y[firsts[places]]  # codes are the same by chance
    return np.concatenate((rows[firsts], rows[other]))


def _bits(numbers: NDArray[np.float64]) -> NDArray[np.uint64]:
    bits = (numbers + 0.0).view(np.uint64)  # adding 0.0 turns -0.0 into 0.0
    bits ^= bits >> np.uint64(32)
    return bits


@functools.lru_cache(maxsize=8)
def _odd_constants(count: int) -> NDArray[np.uint64]:
    """The steps of splitmix64, made odd so that multiplication loses nothing."""
    z = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))) | np.uint64(1)
