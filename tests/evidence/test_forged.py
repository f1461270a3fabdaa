"""Forged proofs are accepted only if they hold in fractions, whatever they contain."""

import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from case_counts import count_cases
from facts import refuses

import rosenblatt as rb
from rosenblatt.blocks import InOrder
from rosenblatt.evidence.certificate import ABOUT, Conflict
from rosenblatt.evidence.checker import Evidence, fingerprint
from rosenblatt.evidence.integers import as_integers
from rosenblatt.evidence.proof import Proof
from rosenblatt.evidence.separability import separability_of
from rosenblatt.examples import Examples

TINY, HUGE = 5e-324, 1.7976931348623157e308
SETS = {
    "XOR": ([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [0, 0, 1, 1]),
    "three in a row": ([[0.0], [1.0], [2.0]], [0, 1, 0]),
    "a line": ([[0.0], [1.0], [3.0]], [0, 0, 1]),
    "two on it": ([[0.0], [0.0], [1.0]], [0, 1, 1]),
    "tiny": ([[TINY], [2 * TINY], [-TINY]], [1, 1, 0]),
}
FLOATS = (math.inf, -math.inf, math.nan, 0.0, -0.0, 1.0, -1.0, TINY, HUGE, 1e155, 2.0**-1074 * 3)
STRANGE = (math.inf, -math.inf, math.nan, 1.0, 0.5, True, np.int64(1), np.float64(1), "1", None)
WEIGHTS = (-(2**1100), -2, -1, 0, 1, 2, 2**1100)
PARTS = {
    "XOR": Conflict((0, 1, 2, 3), (1, 1, 1, 1)),
    "three in a row": Conflict((0, 1, 2), (1, 2, 1)),
    "a line": Conflict((0, 1, 2), (1, 1, 1)),
    "two on it": Conflict((0, 1), (1, 1)),
    "tiny": Conflict((0, 2), (1, 1)),
}
CLAIMS = ("separable", "quasi-separable", "inseparable", "at least 1 mistake")


def examples_of(name, x0):
    """Create examples with any x0, even one that the public functions refuse."""
    return replace(Examples.from_arrays(*SETS[name]), x0=x0)


def forged(name):
    """Yield proofs with the true fingerprint of the data and all kinds of evidence."""
    width = len(SETS[name][0][0])
    for x0 in FLOATS:
        data = fingerprint(examples_of(name, x0))
        tall = width + bool(x0)
        unit = [tuple(v if j == k else 0 for j in range(tall)) for v in WEIGHTS for k in range(2)]
        weights = [(), *unit, *itertools.islice(itertools.product((-1, 1), repeat=tall), 8)]
        for w, claim in itertools.product(weights, CLAIMS):
            for parts in ((), (PARTS[name],)):
                yield Proof(claim, data, x0, w, parts)
    yield from strangely_written(name)


def strangely_written(name):
    """Yield proofs with values that are not Python integers, in every place."""
    data, part = fingerprint(examples_of(name, 1.0)), PARTS[name]
    width = len(SETS[name][0][0]) + 1
    for v in STRANGE:
        yield Proof("separable", data, 1.0, (v,) * width)
        yield Proof("separable", data, v, (1,) * width)
        yield Proof("inseparable", data, 1.0, (), (replace(part, rows=(v, *part.rows[1:])),))
        yield Proof("inseparable", data, 1.0, (), (replace(part, rest=v),))
        multipliers = (v, *part.multipliers[1:])
        yield Proof("inseparable", data, 1.0, (), (replace(part, multipliers=multipliers),))
    for change in (
        {"rows": part.rows[::-1]},
        {"rows": part.rows[:-1]},
        {"rows": part.rows[:1] * len(part.rows)},
        {"multipliers": tuple(3 * m for m in part.multipliers)},
        {"multipliers": tuple(-m for m in part.multipliers)},
        {"multipliers": (0,) * len(part.rows)},
        {"rest": 1},
        {"rest": -1},
    ):
        yield Proof("inseparable", data, 1.0, (), (replace(part, **change),))


def holds(proof, name):
    """Return whether a proof holds: an obvious checker in fractions."""
    numbers = [*proof.weights]
    for part in proof.conflicts:
        numbers += [*part.rows, *part.multipliers, part.rest]
    if any(type(v) is not int for v in numbers) or not isinstance(proof.x0, float):
        return False
    if not math.isfinite(proof.x0) or proof.data != fingerprint(examples_of(name, proof.x0)):
        return False
    X, y = SETS[name]
    x0 = [Fraction(proof.x0)] if proof.x0 else []
    Z = [
        [(1 if a else -1) * v for v in [*x0, *map(Fraction, x)]] for x, a in zip(X, y, strict=True)
    ]
    blocked = [blocks(part, Z) for part in proof.conflicts]
    if proof.claim.startswith("at least"):
        return not proof.weights and blocked == [True]
    if proof.claim == "inseparable":
        spans = blocked == [True] and spanned(proof.conflicts[0], Z)
        return not proof.weights and spans
    if len(proof.weights) != len(Z[0]):
        return False
    scores = [sum(w * a for w, a in zip(proof.weights, z, strict=True)) for z in Z]
    if proof.claim == "separable":
        return not blocked and min(scores) > 0
    return blocked == [True] and min(scores) >= 0 and max(scores) > 0


def blocks(part, Z):
    rows, multipliers = list(part.rows), list(part.multipliers)
    if len(rows) != len(multipliers) or len(set(rows)) < len(rows) or not rows or part.rest < 0:
        return False
    if not set(rows) <= set(range(len(Z))) or min(multipliers) <= 0:
        return False
    given = dict(zip(rows, multipliers, strict=True))
    return not any(
        sum(given.get(n, part.rest) * z[j] for n, z in enumerate(Z)) for j in range(len(Z[0]))
    )


def spanned(part, Z):
    if part.rest or len(part.rows) == len(Z):
        return True
    return rank([Z[n] for n in part.rows]) == len(Z[0])


def rank(rows):
    rows, found = [list(row) for row in rows], 0
    for j in range(len(rows[0])):
        pivot = next((row for row in rows if row[j]), None)
        if pivot is not None:
            found += 1
            rows = [
                [a - row[j] / pivot[j] * b for a, b in zip(row, pivot, strict=True)]
                for row in rows
                if row is not pivot
            ]
    return found


def accepted(check, *given):
    try:
        return check(*given)
    except rb.ProofError:
        return False


@pytest.mark.parametrize("name", SETS)
def test_forged_proofs_are_accepted_if_and_only_if_they_hold(name):
    made = list(forged(name))
    assert len(made) > 800
    true = [proof for proof in made if accepted(proof.check, *SETS[name])]
    assert true == [proof for proof in made if holds(proof, name)]
    assert len(true) < len(made) / 4
    count_cases("forged proofs, accepted if and only if they hold", len(made))


@pytest.mark.parametrize("name", ["XOR", "two on it"])
def test_checks_in_blocks_accept_what_checks_in_memory_accept(name):
    for proof in list(forged(name))[::5]:
        rows = [examples_of(name, proof.x0)] if isinstance(proof.x0, float) else []
        halves = InOrder(lambda rows=rows: rows)
        assert accepted(proof.check_examples, halves) == holds(proof, name)


@pytest.mark.parametrize("x0", [math.inf, -math.inf])
@pytest.mark.parametrize("weights", [(1, 0, 0), (-1, 0, 0), (1, 1, 1)])
def test_xor_is_not_separable_with_an_infinite_x0(x0, weights):
    examples = examples_of("XOR", x0)
    proof = Proof("separable", fingerprint(examples), x0, weights)
    for check in (
        lambda: proof.check(*SETS["XOR"]),
        lambda: proof.check_examples(examples),
        lambda: Evidence.of(proof, examples),
        lambda: proof.check_examples(InOrder(lambda: [examples])),
        lambda: Proof.from_json(proof.to_json()),
    ):
        with refuses(rb.ProofError, "x0"):
            check()


def test_a_file_with_numbers_of_another_type_is_refused():
    X, y = SETS["three in a row"]
    content = json.loads(rb.separability(X, y).proof.to_json())
    for change in ({"x0": "inf"}, {"x0": "nan"}, {"x0": 1.0}, {"weights": [1.5]}, {"weights": 7}):
        with pytest.raises(rb.ProofError):
            Proof.from_json(json.dumps({**content, **change}))
    for change in ({"rows": [0, 1.0, 2]}, {"rows": [0, True, 2]}, {"rest": 0}, {"rest": "inf"}):
        parts = [{**content["conflicts"][0], **change}]
        with pytest.raises(rb.ProofError):
            Proof.from_json(json.dumps({**content, "conflicts": parts}))


HUGE_VALUES = ("0x" + "f" * 2_000_000, 1 << 100_000, [1.5] * 500_000)


@pytest.mark.parametrize("strange", HUGE_VALUES, ids=["text", "whole number", "list"])
def test_an_endless_value_is_refused_in_a_short_sentence(strange):
    proof = rb.separability(*SETS["XOR"]).proof
    part = proof.conflicts[0]
    for forged in (
        replace(proof, x0=strange),
        replace(proof, claim="x" * 2_000_000),
        replace(proof, weights=(strange,)),
        replace(proof, conflicts=(replace(part, rows=(strange, *part.rows[1:])),)),
    ):
        with pytest.raises(rb.ProofError) as refused:
            forged.check(*SETS["XOR"])
        assert len(str(refused.value)) < 1600
    of_separation = rb.separation([[1.0], [2.0], [3.0]], [0, 1, 0]).proof
    listed = replace(of_separation.part, rows=(strange,), multipliers=(1,))
    with pytest.raises(rb.ProofError) as refused:
        replace(of_separation, part=listed).check([[1.0], [2.0], [3.0]], [0, 1, 0])
    assert len(str(refused.value)) < 1600


def test_nan_and_infinity_are_never_converted_to_integers():
    for bad in (math.inf, -math.inf, math.nan):
        with refuses(ValueError):
            as_integers(np.array([1.0, bad]), 1)


@pytest.mark.parametrize("x0", [math.inf, -math.inf, math.nan])
def test_an_x0_that_is_nan_or_infinite_is_refused(x0):
    with refuses(ValueError, "intercept_scaling", x0):
        rb.separability([[0.0], [1.0]], [0, 1], intercept_scaling=x0)


def test_numbers_changed_in_place_are_other_data():
    X, y = np.array(SETS["a line"][0]), SETS["a line"][1]
    examples = Examples.from_arrays(X, y)
    proof = separability_of(examples).proof
    assert proof.check_examples(examples)
    examples.X.flags.writeable = True
    examples.X[2] = 4.0
    with refuses(rb.ProofError, ABOUT):
        proof.check_examples(examples)
