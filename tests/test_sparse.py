"""Sparse matrices with indices outside their shape raise an error in every function."""

import copy

import numpy as np
import pytest
from facts import refuses
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import rosenblatt as rb
from rosenblatt.tables import to_floats

rng = np.random.default_rng(5)
DENSE = np.round(rng.normal(size=(12, 6)) * (rng.random((12, 6)) < 0.5), 2)
DENSE[:, 0] = 1.0
ANSWERS = np.where(DENSE @ [0, 1, -2, 1, 1, 3] > 0.1, "yes", "no")


def broken(kind, **parts):
    """Return a sparse matrix whose arrays were changed after SciPy checked them."""
    matrix = getattr(sparse, kind)(DENSE)
    for name, change in parts.items():
        setattr(matrix, name, change(copy.copy(getattr(matrix, name))))
    return matrix


def put(at, value):
    def change(array):
        array[at] = value
        return array

    return change


def stretched(coords):
    return coords[0], put(2, 6)(coords[1].copy())


def with_bad_list():
    matrix = sparse.lil_array(DENSE)
    matrix.rows[3] = [0, 77]
    matrix.data[3] = [1.0, 1.0]
    return matrix


BROKEN = {
    "CSR column too large": broken("csr_array", indices=put(4, 6)),
    "CSR column far too large": broken("csr_matrix", indices=put(4, 2**31 - 1)),
    "CSR column below 0": broken("csr_array", indices=put(0, -1)),
    "CSR falling pointers": broken("csr_array", indptr=put(3, 0)),
    "CSR pointer past the values": broken("csr_array", indptr=put(-1, 10_000)),
    "CSR pointers that begin late": broken("csr_array", indptr=put(0, 1)),
    "CSR pointers too few": broken("csr_array", indptr=lambda p: p[:-1]),
    "CSR values too few": broken("csr_array", data=lambda v: v[:-2]),
    "CSR indices that are floats": broken("csr_array", indices=lambda i: i + 0.5),
    "CSR values in two dimensions": broken("csr_array", data=lambda v: v.reshape(-1, 1)),
    "CSC row too large": broken("csc_array", indices=put(4, 12)),
    "CSC row below 0": broken("csc_matrix", indices=put(4, -3)),
    "BSR block outside": sparse.bsr_array(
        (np.ones((2, 2, 2)), np.array([0, 3]), np.array([0, 1, 2, 2, 2, 2, 2])), shape=(12, 6)
    ),
    "COO column too large": broken("coo_array", coords=stretched),
    "COO of unequal lengths": broken("coo_array", data=lambda v: v[:-1]),
    "LIL index outside": with_bad_list(),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_sparse_matrix_with_indices_outside_its_shape_is_refused_in_one_sentence(name):
    with refuses(ValueError, "X"):
        rb.Perceptron().fit(BROKEN[name], ANSWERS)


def test_the_row_and_the_invalid_index_are_named():
    X = sparse.csr_array(DENSE)
    X.indices[X.indptr[7]] = 9
    with refuses(ValueError, "X", 9, 6, row=7):
        to_floats(X)


FITTED = rb.Perceptron().fit(DENSE, ANSWERS)
PROOF = rb.separability(DENSE, ANSWERS).proof
STREAMED = rb.OnlinePerceptron()
STREAMED.learn_many(DENSE, ANSWERS)
WAYS_IN = {
    "separability": lambda X: rb.separability(X, ANSWERS),
    "proof.check": lambda X: PROOF.check(X, ANSWERS),
    "fewest_mistakes": lambda X: rb.fewest_mistakes(X, ANSWERS, time_limit=1),
    "pocket": lambda X: rb.PocketPerceptron(max_updates=9).fit(X, ANSWERS),
    "partial_fit": lambda X: rb.Perceptron().partial_fit(X, ANSWERS, classes=["no", "yes"]),
    "predict": lambda X: FITTED.predict(X),
    "decision_function": lambda X: FITTED.decision_function(X),
    "learn_many": lambda X: rb.OnlinePerceptron().learn_many(X, ANSWERS),
    "predict_many": lambda X: STREAMED.predict_many(X),
}


@pytest.mark.parametrize("way", WAYS_IN)
def test_every_function_refuses_invalid_sparse_indices(way):
    with refuses(ValueError, 6):
        WAYS_IN[way](BROKEN["CSR column far too large"])


def test_dask_partitions_with_invalid_indices_are_refused_too():
    partitions = pytest.importorskip("rosenblatt.dask.partitions")
    with refuses(ValueError, "partition 1", "X", 6, row=2):
        partitions.load_partition("partition 1", BROKEN["CSR column too large"], ANSWERS, None)


def with_room(X):
    """Return a CSR matrix whose arrays are longer than needed, with invalid entries at the end."""
    S = sparse.csr_array(X)
    S.data, S.indices = np.append(S.data, [np.nan] * 3), np.append(S.indices, [-1, 99, 5])
    return S


def with_indices(kind):
    def make(X):
        S = sparse.csr_array(X)
        S.indices, S.indptr = S.indices.astype(kind), S.indptr.astype(np.int64)
        return S

    return make


UNUSUAL = {
    "spare room": with_room,
    **{f"indices of {kind}": with_indices(kind) for kind in ("i2", "u1", "u4", ">i4", "i8")},
    "DOK": sparse.dok_array,
    "LIL": sparse.lil_matrix,
    "BSR": lambda X: sparse.bsr_array(X, blocksize=(2, 3)),
    "DIA": sparse.dia_array,
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_unusual_valid_matrices_give_the_results_of_the_array(name):
    X = UNUSUAL[name](DENSE)
    clf = rb.Perceptron().fit(X, ANSWERS)
    assert np.array_equal(clf.weights_, FITTED.weights_)
    assert clf.predict(X).tolist() == FITTED.predict(DENSE).tolist()


@given(st.data())
def test_random_indices_are_either_valid_or_refused(data):
    n, d = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 5))
    counts = data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    places = st.lists(st.integers(-2, 6), min_size=sum(counts), max_size=sum(counts))
    indices = np.array(data.draw(places), dtype=np.int32)
    X = sparse.csr_array((n, d))
    X.data, X.indices = np.ones(len(indices)), indices  # unsorted, and some of them twice
    X.indptr = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    inside = bool(((indices >= 0) & (indices < d)).all())
    try:
        assert (to_floats(X).toarray().sum(axis=1) == counts).all()
        assert inside
    except ValueError:
        assert not inside


MASKED = np.ma.masked_array(np.where(ANSWERS == "yes", 1, 0), mask=np.arange(12) == 4)


@pytest.mark.parametrize(
    "learn",
    [
        lambda y: rb.Perceptron().fit(DENSE, y),
        lambda y: rb.Perceptron().fit(DENSE, y.reshape(-1, 1)),
        lambda y: rb.Perceptron().partial_fit(DENSE, y, classes=[0, 1]),
        lambda y: rb.separability(DENSE, y),
        lambda y: PROOF.check(DENSE, y),
        lambda y: rb.fewest_mistakes(DENSE, y),
        lambda y: rb.OnlinePerceptron().learn_many(DENSE, y),
        lambda y: rb.Perceptron().fit(DENSE, ANSWERS, sample_weight=y),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_masked_labels_and_weights_are_refused_as_masked_rows_are(learn):
    with refuses(ValueError):
        learn(MASKED)


def test_an_empty_mask_is_harmless():
    whole = np.ma.masked_array(ANSWERS, mask=False)
    assert np.array_equal(rb.Perceptron().fit(DENSE, whole).weights_, FITTED.weights_)
