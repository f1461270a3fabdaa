"""More than two labels: verdict, margin, bound and proof from pairs of classes."""

import json
from fractions import Fraction

import lecture
import numpy as np
import pytest
from case_counts import count_cases
from facts import refuses, warns
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import rosenblatt as rb
from rosenblatt.clock import NEVER
from rosenblatt.evidence.certificate import ABOUT
from rosenblatt.evidence.separability import separability_of, try_pla
from rosenblatt.examples import Examples, KeslerRows


@st.composite
def labelled(draw):
    """Draw rows of integers with three or four labels, all of them used."""
    K, d = draw(st.integers(3, 4)), draw(st.integers(1, 3))
    n = draw(st.integers(K, 10))
    numbers = st.lists(st.integers(-4, 4), min_size=n * d, max_size=n * d)
    X = np.array(draw(numbers), dtype=float).reshape(n, d)
    more = st.lists(st.integers(0, K - 1), min_size=n - K, max_size=n - K)
    return X, np.array(draw(st.permutations([*range(K), *draw(more)])))


def written(X, y, x0=1.0):
    """Write out each row against each competing class, x0 included."""
    tall, K = lecture.tall(X, x0), max(y) + 1
    rows = np.zeros((len(y), K - 1, K, tall.shape[1]))
    for n, k in enumerate(y):
        for i, r in enumerate(r for r in range(K) if r != k):
            rows[n, i, k], rows[n, i, r] = tall[n], -tall[n]
    return rows.reshape(len(y) * (K - 1), -1)


def distances(W, X, y, x0=1.0):
    """Compute (w_y - w_r)·x in fractions, by row and competing class."""
    exact = [[Fraction(float(v)) for v in w] for w in np.ravel(W).reshape(max(y) + 1, -1)]
    flat = [v for w in exact for v in w]
    return [
        sum(a * Fraction(float(b)) for a, b in zip(flat, z, strict=True) if b)
        for z in written(X, y, x0)
    ]


@given(labelled(), st.sampled_from([None, 1.0, 0.5]))
def test_the_verdict_matches_that_of_the_expanded_rows(examples, x0):
    X, y = examples
    how = {"fit_intercept": x0 is not None, "intercept_scaling": x0 or 1.0}
    found = rb.separability(X, y, **how)
    Z = written(X, y, x0)
    plain = rb.separability(Z, np.ones(len(Z)), fit_intercept=False)
    assert found.verdict == plain.verdict
    assert np.isclose(found.radius, plain.radius)
    assert found.proof.check(X, y)
    if found:
        assert found.weights.shape == (max(y) + 1, X.shape[1] + (x0 is not None))
        assert min(distances(found.weights, X, y, x0)) > 0
        assert np.isclose(found.margin, plain.margin)
        assert np.isclose(found.bound, plain.bound)
    count_cases("verdicts of more than two labels, beside the rows written out")


@given(labelled())
def test_the_verdict_does_not_depend_on_pla_halting_early(examples):
    X, y = examples
    found = rb.separability(X, y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rosenblatt.evidence.separability.try_pla", lambda *_: ((), 0))
        searched = rb.separability(X, y)
    assert (found.verdict, found.proof.data) == (searched.verdict, searched.proof.data)
    assert searched.proof.check(X, y)
    if found:
        assert np.isclose(found.margin, searched.margin)


def test_pla_is_abandoned_if_updates_do_not_decrease(monkeypatch):
    X, y = [[0.0], [1.0], [2.0], [3.0]], ["a", "b", "a", "c"]
    halted, cycles = try_pla(Examples.from_arrays(X, y), NEVER)
    assert halted == ()
    assert cycles < 1000
    monkeypatch.setattr("rosenblatt.engine.pla", interrupted)
    found = rb.separability(X, y)
    assert (found.verdict, found.proof) == ("undecided", None)
    assert found.reason == "interrupted after 0 passes over the data"


def test_labels_that_no_floats_separate_are_proved_with_integers():
    X, y = [[2e33, 2e33], [2e-108, 0.0], [0.0, 2e141]], ["b", "a", "c"]
    found = rb.separability(X, y)
    assert (found.verdict, found.weights) == ("separable", None)
    assert found.proof.check(X, y)
    assert "the integers of proof.weights do" in found.explain()


def interrupted(*_):
    raise KeyboardInterrupt


def test_rows_of_weight_zero_are_included_in_the_verdict():
    X, y = np.array([[0.0], [5.0], [-5.0], [-6.0]]), ["a", "b", "c", "b"]
    examples = Examples.from_arrays(X, y)
    found = separability_of(examples.weighted(np.array([1.0, 1.0, 1.0, 0.0])))
    assert found.verdict == separability_of(examples).verdict != "separable"
    assert found.proof.check(X, y)
    two = Examples.from_arrays(csr_array(X), [0, 1, 0, 1])
    weights = np.array([1.0, 1.0, 1.0, 0.0])
    assert separability_of(two.weighted(weights)).verdict == separability_of(two).verdict


@given(labelled())
def test_pla_needs_no_more_updates_than_the_bound(examples):
    X, y = examples
    found = rb.separability(X, y)
    if not found or found.bound > 1e5:
        return
    clf = rb.Perceptron(max_iter=10**7).fit(X, y)
    assert clf.separated_
    assert clf.n_updates_ <= found.bound * (1 + 1e-9)
    promise = rb.guarantee(X, y, found.weights)
    assert np.isclose(promise.bound, found.bound)
    squeezed = rb.squeeze(clf.trace_, found.weights)
    assert squeezed.holds
    last = clf.trace_.weights(clf.n_updates_)
    assert np.isclose(squeezed.squared[-1], (last**2).sum())
    assert np.isclose(squeezed.inner[-1], (last * found.weights).sum())


@example((np.array([[-1.0], [2.0], [4.0]]), np.array([0, 1, 2])), False, np.float32)
@given(labelled(), st.booleans(), st.sampled_from([np.float32, np.float64]))
def test_dense_and_sparse_rows_have_the_same_verdict_and_each_others_proof(examples, reduced, kind):
    X, y = examples
    one, two = (
        KeslerRows(Examples.from_arrays(Z, y), reduced) for Z in (X, csr_array(X.astype(kind)))
    )
    every = range(len(y) * max(y))
    Z = one.take(every).X.toarray()
    assert Z.tolist() == two.take(every).X.toarray().tolist()
    assert Z.tolist() == written(X, y)[:, (X.shape[1] + 1) * reduced :].tolist()
    sparse = csr_array(X.astype(kind))
    dense_says, sparse_says = rb.separability(X, y), rb.separability(sparse, y)
    assert dense_says.verdict == sparse_says.verdict
    assert dense_says.proof.check(sparse, y)  # to the last digit they need not be the same
    assert sparse_says.proof.check(X, y)


def test_rows_are_expanded_a_few_at_a_time(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.integers(-3, 4, (200, 2)).astype(float), rng.integers(0, 3, 200)
    whole = rb.separability(X, y)
    monkeypatch.setattr("rosenblatt.examples.ENTRIES", 64)
    parts = rb.separability(X, y)
    assert (parts.verdict, parts.proof.data) == (whole.verdict, whole.proof.data)
    assert whole.proof.check(X, y)
    sizes = list(KeslerRows(Examples.from_arrays(X, y)).each(lambda rows, _: rows.n))
    assert max(sizes) <= 16
    assert sum(sizes) == 400


def test_a_conflict_names_its_competing_classes():
    X, y = [[0.0], [1.0], [2.0], [9.0]], ["a", "b", "a", "c"]
    found = rb.separability(X, y)
    assert found.verdict == "quasi-separable"  # c is apart from the others
    assert 'rb.separation(X, y, family="multinomial")' in found.explain()
    assert "0.5 of row 1 against a" in found.explain()
    assert "rows 0, 1 and 2 all correctly" in repr(found)
    with warns(UserWarning, "rosenblatt.separability(X, y)"):
        rb.Perceptron(max_iter=50).fit(X, y)


@pytest.fixture
def proved():
    X, y = np.array([[0.0], [5.0], [-5.0], [6.0]]), np.array(["a", "b", "c", "b"])
    found = rb.separability(X, y)
    assert found.verdict == "separable"
    return X, y, found.proof


def test_a_proof_survives_serialization(proved):
    X, y, proof = proved
    again = rb.Proof.from_json(proof.to_json())
    assert (again, again.labels) == (proof, 3)
    assert again.check(csr_array(X), y)


def test_a_proof_does_not_hold_for_other_data(proved):
    X, y, proof = proved
    for other in (["a", "b", "c", "a"], ["a", "b", "a", "b"]):
        with pytest.raises(rb.ProofError):
            proof.check(X, other)
    with refuses(rb.ProofError, ABOUT):
        proof.check(X + 1.0, y)


def test_a_forged_proof_names_the_row_and_its_competing_class(proved):
    X, y, proof = proved
    weights = list(proof.weights)
    weights[0], weights[2] = weights[2], weights[0]
    with pytest.raises(rb.ProofError) as error:
        type(proof)(**{**vars(proof), "weights": tuple(weights)}).check(X, y)
    assert len(error.value.rows) == 1
    assert any(error.value.after.startswith(f" against {label}") for label in "abc")
    content = json.loads(proof.to_json())
    content["labels"] = 2
    with pytest.raises(rb.ProofError):
        rb.Proof.from_json(json.dumps(content))


def test_weights_of_the_wrong_shape_are_refused():
    X, y = [[0.0], [5.0], [-5.0]], [0, 1, 2]
    with refuses(ValueError, "weights", "3 × 2"):
        rb.guarantee(X, y, [1.0, 2.0])
