"""Proofs that hold are accepted, and changed ones are refused."""

import json
import random
from dataclasses import replace

import flint
import numpy as np
import pytest
import strategies as make
from case_counts import count_cases, n_cases
from facts import refuses
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import rosenblatt as rb
from rosenblatt.evidence.certificate import ABOUT, Conflict, claim_mistakes
from rosenblatt.evidence.checker import fingerprint
from rosenblatt.evidence.integers import rank_at_least
from rosenblatt.examples import Examples

SEPARABLE = ([[0.0, 1.0], [1.0, 1.5], [3.0, 0.25], [4.0, 2.0]], [0, 0, 1, 1])
QUASI = ([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [5.0, 1.0], [4.0, -1.0]], [1, 0, 1, 1, 0])
XOR = ([[0.0, 0.1], [1.0, 1.3], [0.2, 1.0], [1.0, 0.0], [7.0, 7.0]], [0, 0, 1, 1, 1])
FLAT = ([[0.0, 0.0], [1.0, 2.0], [2.0, 4.0], [3.0, 6.0]], [0, 1, 0, 1])
DATA = {"separable": SEPARABLE, "quasi-separable": QUASI, "inseparable": XOR, "flat": FLAT}


def proofs():
    found = {name: rb.separability(*data).proof for name, data in DATA.items()}
    found["mistakes"] = two_mistakes()
    return found


def two_mistakes():
    X, y = [[0.0], [1.0], [2.0], [5.0], [5.0]], [0, 1, 0, 1, 0]
    examples = Examples.from_arrays(X, y)
    parts = (Conflict((0, 1, 2), (1, 2, 1)), Conflict((3, 4), (1, 1)))
    return rb.Proof("at least 2 mistakes", fingerprint(examples), 1.0, (), parts)


DATA["mistakes"] = ([[0.0], [1.0], [2.0], [5.0], [5.0]], [0, 1, 0, 1, 0])


@pytest.mark.parametrize("name", DATA)
def test_valid_proofs_are_accepted_and_survive_json(name):
    proof = proofs()[name]
    assert proof.check(*DATA[name])
    again = rb.Proof.from_json(proof.to_json())
    assert again == proof
    assert again.check(*DATA[name])


def test_integers_of_any_size_survive_json():
    big = rb.Proof("separable", "0", 0.5, (3**20000, -(7**9000), 0))
    assert rb.Proof.from_json(big.to_json()) == big


@pytest.mark.parametrize("name", DATA)
def test_a_proof_of_one_data_set_fails_on_another(name):
    proof = proofs()[name]
    X, y = np.array(DATA[name][0]), np.array(DATA[name][1])
    for i, j in np.ndindex(*X.shape):
        other = X.copy()
        other[i, j] = np.nextafter(other[i, j], 9.0)
        with refuses(rb.ProofError, ABOUT):
            proof.check(other, y)
    for i in range(len(y)):
        other = y.copy()
        other[i] = 1 - other[i]
        with refuses(rb.ProofError, ABOUT):
            proof.check(X, other)
    for other in (X[::-1], X[:-1], np.vstack((X, X[:1])), np.column_stack((X, X[:, 0]))):
        with pytest.raises((rb.ProofError, ValueError)):
            proof.check(other, y[: len(other)] if len(other) <= len(y) else np.append(y, y[0]))


def test_minus_zero_counts_as_zero():
    assert proofs()["quasi-separable"].check(
        np.array(QUASI[0]) * [1.0, -1.0] * [1.0, -1.0], QUASI[1]
    )
    X = np.array(QUASI[0])
    X[X == 0] = -0.0
    assert proofs()["quasi-separable"].check(X, QUASI[1])


def test_a_changed_text_is_not_accepted():
    """Change, drop or add one character in the JSON of each proof, 400 times."""
    rng = random.Random(0)
    refused = 0
    for name, proof in proofs().items():
        text = proof.to_json()
        for _ in range(n_cases(80)):
            at = rng.randrange(len(text))
            new = rng.choice(["", rng.choice("0123456789abcdef-"), text[at] + "1"])
            changed = text[:at] + new + text[at + 1 :]
            if json_or_none(changed) == json.loads(text):
                continue  # white space
            with pytest.raises(rb.ProofError):
                rb.Proof.from_json(changed).check(*DATA[name])
            refused += 1
            count_cases("changed texts of proofs")
    assert refused >= 200


def json_or_none(text):
    try:
        return json.loads(text)
    except ValueError:
        return None


def corrupted(proof):
    """Yield proofs with one change in their multipliers."""
    for p, part in enumerate(proof.conflicts):
        for i, (n, m) in enumerate(zip(part.rows, part.multipliers, strict=True)):
            rows, multipliers = list(part.rows), list(part.multipliers)
            for value in (m + 1, m - 1, -m, 0, 2 * m, 10 * m, m ^ 2):
                yield with_part(proof, p, rows, [*multipliers[:i], value, *multipliers[i + 1 :]])
            for row in (n + 1, n - 1, 0, 10**6, -1, -n - 1):
                if row != n:
                    yield with_part(proof, p, [*rows[:i], row, *rows[i + 1 :]], multipliers)
            yield with_part(
                proof, p, rows[:i] + rows[i + 1 :], multipliers[:i] + multipliers[i + 1 :]
            )
            yield with_part(proof, p, rows[:i] + rows[i + 1 :], multipliers)
            yield with_part(proof, p, [*rows, n], [*multipliers, m])
        for rest in (part.rest + 1, -1, part.rest - 1):
            yield with_part(proof, p, part.rows, part.multipliers, rest)
        yield replace(proof, conflicts=proof.conflicts[:p] + proof.conflicts[p + 1 :])
        yield replace(proof, conflicts=(*proof.conflicts, part))


def with_part(proof, p, rows, multipliers, rest=None):
    old = proof.conflicts[p]
    new = Conflict(tuple(rows), tuple(multipliers), old.rest if rest is None else rest)
    return replace(proof, conflicts=(*proof.conflicts[:p], new, *proof.conflicts[p + 1 :]))


def test_changed_multipliers_are_not_accepted():
    refused = 0
    for name, proof in proofs().items():
        for changed in corrupted(proof):
            if scaled_alike(changed, proof):
                continue
            with pytest.raises(rb.ProofError):
                changed.check(*DATA[name])
            refused += 1
            count_cases("changed texts of proofs")
    assert refused >= 200


def scaled_alike(changed, proof):
    """Return whether both proofs have the same multipliers up to a factor."""
    return len(changed.conflicts) == len(proof.conflicts) and all(
        new.rows == old.rows
        and len(new.multipliers) == len(old.multipliers)
        and new.multipliers[0] > 0
        and [m * old.multipliers[0] for m in (*new.multipliers, new.rest)]
        == [m * new.multipliers[0] for m in (*old.multipliers, old.rest)]
        for new, old in zip(changed.conflicts, proof.conflicts, strict=True)
    )


@pytest.mark.parametrize("name", DATA)
def test_another_claim_is_not_accepted(name):
    proof = proofs()[name]
    claims = ["separable", "quasi-separable", "inseparable", "at least 1 mistake", "true", ""]
    for claim in [*claims, "at least 3 mistakes", "at least 1 mistakes"]:
        if claim != proof.claim and not (claim == "at least 1 mistake" and name in WEAKER):
            with pytest.raises(rb.ProofError):
                replace(proof, claim=claim).check(*DATA[name])


WEAKER = ("inseparable", "flat")  # what proves these also proves that one mistake is made


def test_weights_that_fail_name_the_row():
    examples = Examples.from_arrays(*SEPARABLE)
    for weights, row in (((0, 1, 0), 0), ((-5, 1, 0), 2), ((2, -1, 0), 0)):
        proof = rb.Proof("separable", fingerprint(examples), 1.0, weights)
        with pytest.raises(rb.ProofError) as error:
            proof.check(*SEPARABLE)
        assert error.value.rows == (row,)
    for weights in ((), (1, 2), (0, 0, 0), (1.0, 2.0, 3.0)):
        with pytest.raises(rb.ProofError):
            rb.Proof("separable", fingerprint(examples), 1.0, weights).check(*SEPARABLE)


def test_a_sum_that_fails_names_the_column():
    examples = Examples.from_arrays(*XOR)
    part = Conflict((0, 1, 2, 3), (1, 1, 1, 1))
    with refuses(rb.ProofError, column=0):
        rb.Proof("inseparable", fingerprint(examples), 1.0, (), (part,)).check(*XOR)


def test_multipliers_on_too_few_dimensions_prove_no_inseparability():
    part = Conflict((0, 1, 2), (1, 2, 1))
    proof = rb.Proof(
        "at least 1 mistake", fingerprint(Examples.from_arrays(*QUASI)), 1.0, (), (part,)
    )
    assert proof.check(*QUASI)
    with pytest.raises(rb.ProofError):
        replace(proof, claim="inseparable").check(*QUASI)


def test_products_too_close_to_zero_for_floats_are_resolved_exactly():
    X, y = np.array([[1.0, 1.0 + 2.0**-52], [1.0, 1.0]]), [1, 0]
    data = fingerprint(Examples.from_arrays(X, y, x0=0.0))
    half = 2**52  # 2^52·x2 - 2^52·x1 is 1 for the first row and 0 for the second
    rb.Proof("separable", data, 0.0, (-2 * half - 1, 2 * half)).check(X, y)
    for weights, row in (((-half, half), 1), ((-half - 1, half), 0)):
        with pytest.raises(rb.ProofError) as error:
            rb.Proof("separable", data, 0.0, weights).check(X, y)
        assert error.value.rows == (row,)


@given(make.real_numbers(), st.data())
def test_the_checker_agrees_with_fractions(labelled, draw):
    """Weights are accepted if and only if every product is positive as a fraction."""
    X, y = labelled
    width = X.shape[1] + 1
    weights = draw.draw(st.lists(st.integers(-(2**70), 2**70), min_size=width, max_size=width))
    examples = Examples.from_arrays(X, y)
    proof = rb.Proof("separable", fingerprint(examples), 1.0, tuple(weights))
    Z = [[flint.fmpq(*float(a).as_integer_ratio()) for a in (1.0, *x)] for x in X]
    scores = [sum(w * a for w, a in zip(weights, z, strict=True)) for z in Z]
    if all(s * score > 0 for s, score in zip(y.tolist(), scores, strict=True)):
        assert proof.check(X, y)
    else:
        with pytest.raises(rb.ProofError):
            proof.check(X, y)


@given(
    arrays(np.int64, st.tuples(st.integers(1, 6), st.integers(1, 6)), elements=st.integers(-3, 3))
)
def test_ranks_modulo_primes_match_exact_ranks(M):
    assert rank_at_least(M.tolist()) == flint.fmpz_mat(M.tolist()).rank()


def test_a_rank_is_never_overestimated():
    assert rank_at_least([[2**31 - 1, 0], [0, 1]]) == 2  # zero modulo the first prime


def test_the_claim_about_mistakes_is_in_words():
    assert claim_mistakes(1) == "at least 1 mistake"
    assert claim_mistakes(3) == "at least 3 mistakes"


def test_missing_and_extra_weights_are_refused():
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 0]
    proof = rb.separability(X, y).proof
    assert proof.check(X, y)
    with pytest.raises(rb.ProofError):
        replace(proof, claim="separable").check(X, y)
    with pytest.raises(rb.ProofError):
        replace(proof, weights=(1, 1)).check(X, y)


X_OF_PROOFS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [3.0, 2.5], [2.0, 4.0]])
COUNTS = np.array([0, 2, 0, 1, 3, 0])


def every_kind_of_proof():
    """Yield a name, the proof, its y and its sample weights."""
    X, weights = X_OF_PROOFS, np.array([1.0, 2.0, 1.0, 3.0, 1.0, 1.0])
    answers = {
        "separable": [0, 0, 0, 0, 1, 1],
        "quasi-separable": [0, 0, 0, 1, 1, 1],
        "inseparable": [0, 1, 1, 0, 1, 0],
        "separable labels": ["a", "a", "b", "b", "b", "c"],
        "inseparable labels": ["a", "b", "b", "a", "c", "c"],
    }
    for name, y in answers.items():
        yield name, rb.separability(X, y).proof, np.array(y), None
    xor = np.array(answers["inseparable"])
    yield "mistakes", rb.fewest_mistakes(X, xor).proof, xor, None
    yield "weighed", rb.fewest_mistakes(X, xor, sample_weight=weights).proof, xor, weights
    yield "binomial", rb.separation(X, xor).proof, xor, None
    yield "poisson", rb.separation(X, COUNTS, family="poisson").proof, COUNTS, None
    labels = np.array(answers["inseparable labels"])
    yield "multinomial", rb.separation(X, labels, family="multinomial").proof, labels, None


PROOFS = {name: rest for name, *rest in every_kind_of_proof()}


def other_data(y, weights):
    """Yield invalid data: what is wrong with it, X, y and sample weights."""
    X, n = X_OF_PROOFS, len(X_OF_PROOFS)
    yield "a number", np.where(X == 4.0, 5.0, X), y, weights
    yield "NaN", np.where(X == 4.0, np.nan, X), y, weights
    yield "infinity", np.where(X == 4.0, np.inf, X), y, weights
    yield "a row less", X[:-1], y[:-1], None if weights is None else weights[:-1]
    yield "a row more", np.vstack([X, X[:1]]), np.append(y, y[0]), weights
    yield "no rows", X[:0], y[:0], None
    yield "a column less", X[:, :1], y, weights
    yield "a column more", np.hstack([X, X[:, :1]]), y, weights
    yield "one dimension", X[:, 0], y, weights
    yield "y too short", X, y[:-1], weights
    yield "y of two columns", X, np.stack([y, y], axis=1), weights
    yield "two labels", X, np.arange(n) % 2, weights
    yield "three labels", X, np.array(["a", "b", "c"] * 2), weights
    yield "four labels", X, np.array(["a", "b", "c", "d", "a", "b"]), weights
    yield "one label", X, np.zeros(n, dtype=int), weights
    yield "measured", X, np.linspace(-1.5, 1.7, n), weights
    yield "a missing answer", X, np.array([0, 1, None, 1, 0, 1], dtype=object), weights
    yield "mixed kinds", X, np.array([0, "a", 1, "b", 0, 1], dtype=object), weights
    yield "weights too few", X, y, np.ones(n - 1)
    yield "weights below 0", X, y, -np.ones(n)
    yield "weights NaN", X, y, np.full(n, np.nan)


@pytest.mark.parametrize("name", PROOFS)
def test_other_data_raise_proof_error(name):
    proof, y, weights = PROOFS[name]
    assert proof.check(X_OF_PROOFS, y, weights)
    for what, X, other, some in other_data(y, weights):
        with pytest.raises(rb.ProofError):
            print(what, proof.check(X, other, some))


def test_missing_labels_are_a_type_error():
    with pytest.raises(TypeError):
        PROOFS["binomial"][0].check(X_OF_PROOFS)
