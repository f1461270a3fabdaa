import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.scaling import Scaling

numbers = st.floats(-1e6, 1e6).filter(lambda x: x == 0 or abs(x) > 1e-6)


def examples_of(X):
    return Examples(X, np.where(np.arange(X.shape[0]) % 2, 1, -1).astype(np.int8), np.array([0, 1]))


@given(arrays(float, (6, 3), elements=numbers), arrays(float, 4, elements=st.floats(-9, 9)))
def test_folded_weights_score_as_the_scaled_ones(X, w):
    examples = examples_of(X)
    scaling = Scaling.of(examples)
    scaled = Hypothesis(w).scores(scaling.apply(examples).X)
    folded = scaling.fold(Hypothesis(w))
    sizes = np.abs(X) @ np.abs(folded.w[1:]) + np.abs(w).sum() + np.abs(folded.w[0])
    assert (np.abs(folded.scores(X) - scaled) <= 1e-12 * sizes + 1e-12).all()


def test_sparse_words_keep_their_scale_and_their_zeros():
    X = csr_array(np.array([[1.0, 0.0, 40000.0], [2.0, 1.0, 0.0], [0.0, 1.0, 30000.0]]))
    scaling = Scaling.of(examples_of(X))
    assert scaling.width.tolist() == [2.0, 1.0, 32768.0]
    assert scaling.apply(examples_of(X)).X.nnz == X.nnz


def test_constant_and_extreme_columns_are_harmless():
    X = np.array([[1e200, 5.0, 1e-200], [-1e200, 5.0, 2e-200]])
    scaled = Scaling.of(examples_of(X)).apply(examples_of(X)).X
    assert np.isfinite(scaled).all()
    assert np.abs(scaled).max() <= 4
