"""Mixing on a Dask cluster: it halts where a line exists, and one partition is the local run."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from facts import refuses, warns

import rosenblatt as rb

pytest.importorskip("distributed")

import dask.array as da
import dask.dataframe as dd
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from clusters import local_cluster
from dask.distributed import get_client
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, EfficiencyWarning
from strategies import with_margin

from rosenblatt.dask import Perceptron, PocketPerceptron
from rosenblatt.errors import UsageError

pytestmark = [
    pytest.mark.slow_without_jit,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.EfficiencyWarning"),
]


@pytest.fixture(scope="module")
def client():
    with local_cluster() as client:
        yield client


@pytest.fixture(scope="module")
def planted():
    return with_margin(np.random.default_rng(0), 480, 4, 0.06)


def in_partitions(X, y, partitions):
    rows = -(-len(X) // partitions)
    return da.from_array(X, chunks=(rows, X.shape[1])), da.from_array(y, chunks=rows)


@pytest.mark.parametrize(
    ("partitions", "mixing"),
    [(1, "uniform"), (2, "mistakes"), (3, "uniform"), (8, "mistakes"), (16, "uniform")],
)
def test_mixing_halts_without_mistakes_on_separable_examples(client, planted, partitions, mixing):
    X, y = planted
    clf = Perceptron(client=client, mixing=mixing).fit(*in_partitions(X, y, partitions))
    assert clf.separated_
    assert clf.n_mistakes_ == 0
    assert (clf.to_local().predict(X) == y).all()
    assert clf.history_[-1].mistakes == clf.history_[-1].updates == 0
    assert clf.n_iter_ == len(clf.history_)
    assert clf.n_updates_ == sum(step.updates for step in clf.history_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "options",
    [{}, {"max_updates": 25}, {"max_iter": 2}, {"eta0": 0.3}],
)
def test_one_partition_gives_the_local_run_bit_for_bit(client, planted, options):
    X, y = planted
    local = rb.Perceptron(**options).fit(X, y)
    clf = Perceptron(client=client, **options).fit(*in_partitions(X, y, 1))
    assert clf.weights_.tobytes() == local.weights_.tobytes()
    assert (clf.n_iter_, clf.n_updates_) == (local.n_iter_, local.n_updates_)
    assert (clf.n_mistakes_, clf.separated_) == (local.n_mistakes_, local.separated_)


@pytest.mark.parametrize("order", ["random-cycle", "shuffle", "random"])
def test_random_orders_halt_and_are_reproducible(client, planted, order):
    X, y = in_partitions(*planted, 3)
    first, again = (Perceptron(order, random_state=7, client=client).fit(X, y) for _ in range(2))
    assert first.separated_
    assert first.weights_.tobytes() == again.weights_.tobytes()


def test_the_first_mistake_of_one_partition_is_that_of_the_local_run(client):
    X, y = with_margin(np.random.default_rng(1), 40, 2, 0.1)
    local = rb.Perceptron("first").fit(X, y)
    clf = Perceptron("first", client=client).fit(*in_partitions(X, y, 1))
    assert clf.weights_.tobytes() == local.weights_.tobytes()
    assert clf.n_iter_ == local.n_iter_


def test_frames_and_parquet_give_the_weights_of_arrays(client, planted, tmp_path):
    X, y = planted
    columns = ["a", "b", "c", "d"]
    frame = pd.DataFrame(X, columns=columns).assign(label=np.where(y > 0, "yes", "no"))
    for i in range(3):
        part = pa.Table.from_pandas(frame[160 * i : 160 * (i + 1)], preserve_index=False)
        pq.write_table(part, tmp_path / f"part-{i}.parquet")
    lazy = dd.from_pandas(frame, npartitions=3)
    assert lazy.npartitions == 3
    of_array = Perceptron(client=client).fit(*in_partitions(X, y, 3))
    of_frame = Perceptron(client=client).fit(lazy[columns], lazy["label"])
    of_column = Perceptron(client=client).fit(lazy, "label")
    of_files = Perceptron(client=client).fit(tmp_path, "label")
    for clf in (of_frame, of_column, of_files):
        assert clf.weights_.tobytes() == of_array.weights_.tobytes()
        assert clf.classes_.tolist() == ["no", "yes"]
        assert clf.feature_names_in_.tolist() == columns
    local = of_files.to_local()
    assert type(local) is rb.Perceptron
    expected = local.predict(frame[columns])
    assert isinstance(of_files.predict(lazy[columns]), da.Array)
    assert (of_files.predict(lazy[columns]).compute() == expected).all()
    assert (of_files.predict(tmp_path).compute() == expected).all()
    assert (of_files.predict(frame[columns]) == expected).all()
    assert of_files.score(lazy[columns], lazy["label"]) == 1.0


def test_predictions_are_lazy_for_dask_arrays_and_plain_for_numpy(client, planted):
    X, y = in_partitions(*planted, 4)
    clf = Perceptron(client=client).fit(X, y)
    answers = clf.predict(X.rechunk((100, 2)))
    assert isinstance(answers, da.Array)
    assert answers.dtype == y.dtype
    assert (answers.compute() == clf.predict(planted[0])).all()
    assert np.allclose(clf.decision_function(X), clf.decision_function(planted[0]))
    assert clf.score(X, y) == clf.score(*planted) == 1.0


def test_the_pocket_keeps_the_best_weights_it_scored(client):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(600, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=600) > 0, "b", "a")
    clf = PocketPerceptron(2000, random_state=0, client=client).fit(*in_partitions(X, y, 4))
    assert clf.n_mistakes_ == np.sum(clf.to_local().predict(X) != y)
    assert clf.n_mistakes_ <= min(step.mistakes for step in clf.history_)
    assert clf.n_mistakes_ < 150
    assert clf.n_updates_ <= 2000
    assert clf.stop_reason_ == "max_updates"
    assert clf.last_weights_.shape == clf.weights_.shape
    assert type(clf.to_local()) is rb.PocketPerceptron


@pytest.fixture(scope="module")
def three_labels():
    """Points around three centers, which three weight vectors classify correctly."""
    rng = np.random.default_rng(8)
    centers = np.array([[4.0, 0.0], [-2.0, 3.5], [-2.0, -3.5]])
    places = rng.integers(3, size=240)
    return centers[places] + rng.uniform(-1, 1, (240, 2)), np.array(["a", "b", "c"])[places]


def test_three_labels_in_one_partition_give_the_local_run_bit_for_bit(client, three_labels):
    X, y = three_labels
    s = 1.0 + np.arange(len(y)) % 3
    for options in ({}, {"class_weight": {"a": 3.0}, "fit_intercept": False}):
        local = rb.Perceptron(**options).fit(X, y, sample_weight=s)
        clf = Perceptron(client=client, **options).fit(*in_partitions(X, y, 1), sample_weight=s)
        assert clf.weights_.tobytes() == local.weights_.tobytes()
        assert (clf.n_iter_, clf.n_updates_) == (local.n_iter_, local.n_updates_)
        assert clf.to_local().coef_.shape == (3, 2)


@pytest.mark.parametrize("sparse", [False, True])
def test_three_labels_in_many_partitions_are_separated(client, three_labels, tmp_path, sparse):
    X, y = three_labels
    dX, dy = in_partitions(X, y, 4)
    file = tmp_path / "rounds.json"
    clf = Perceptron(client=client, checkpoint=file, checkpoint_every=1)
    rows = dX.map_blocks(csr_array) if sparse else dX
    clf.fit(rows, dy)
    assert clf.separated_
    assert clf.classes_.tolist() == ["a", "b", "c"]
    assert clf.predict(dX).compute().tolist() == y.tolist()
    assert clf.decision_function(dX).shape == (240, 3)
    scores = clf.decision_function(dX).compute()
    assert np.allclose(scores, clf.to_local().decision_function(X))
    assert clone(clf).resume(rows, dy).weights_.tobytes() == clf.weights_.tobytes()


def test_the_pocket_supports_three_labels_and_scaled_columns(client, three_labels):
    X, y = three_labels
    y = y.copy()
    y[:12] = "b"
    dX, dy = in_partitions(X * [1.0, 1e6], y, 3)
    dX = (dX - dX.mean(axis=0)) / dX.std(axis=0)
    clf = PocketPerceptron(300, random_state=0, client=client).fit(dX, dy)
    assert clf.n_mistakes_ == np.sum(clf.predict(dX).compute() != y) < 60
    assert clf.last_weights_.shape == clf.weights_.shape == (3, 3)
    assert clf.n_updates_ == 300


def test_the_last_updates_of_a_budget_go_to_partitions_with_mistakes(client):
    X = np.array([[1.0], [-1.0], [2.0], [-2.0], [3.0], [3.0]])
    y = np.array([1, -1, 1, -1, 1, -1])  # only the last partition has a mistake for ever
    clf = PocketPerceptron(10, client=client, random_state=0).fit(*in_partitions(X, y, 3))
    assert (clf.n_updates_, clf.n_mistakes_) == (10, 1)


def test_weights_of_rows_and_classes_count_as_in_the_local_run(client, planted):
    X, y = planted
    s = np.where(np.arange(len(y)) % 5 == 0, 0.0, 1 + np.arange(len(y)) % 3)
    dX, dy = in_partitions(X, y, 1)
    for given in ({}, {"class_weight": {-1: 3.0}}):
        local = rb.Perceptron(**given).fit(X, y, sample_weight=s)
        clf = Perceptron(client=client, **given).fit(dX, dy, sample_weight=s)
        assert clf.weights_.tobytes() == local.weights_.tobytes()
    balanced = Perceptron(client=client, class_weight="balanced").fit(dX, dy)
    assert np.array_equal(
        balanced.weights_, rb.Perceptron(class_weight="balanced").fit(X, y).weights_
    )


def test_parameters_are_those_of_the_plain_estimators_and_a_few_more(client):
    own = {"client", "mixing", "checkpoint", "checkpoint_every", "timeout"}
    for ours, plain in ((Perceptron, rb.Perceptron), (PocketPerceptron, rb.PocketPerceptron)):
        mine = ours(client=client).get_params()
        here = {k: v for k, v in plain().get_params().items() if k != "average"}
        assert {k: v for k, v in mine.items() if k not in own} == here
        assert clone(ours(client=client, eta0=2.0)).client is client
        assert ours(eta0=2.0).to_local().eta0 == 2.0
        assert pickle.loads(pickle.dumps(ours(client=client))).client is None


def test_the_default_client_is_used_if_none_is_given(client, planted):
    assert get_client() is client
    assert Perceptron().fit(*in_partitions(*planted, 2)).separated_


def test_an_exhausted_budget_warns_with_the_mistakes_left(client, planted):
    X, y = in_partitions(*planted, 2)
    with warns(ConvergenceWarning, "max_iter") as warned:
        clf = Perceptron(max_iter=1, client=client).fit(X, y)
    wrong = np.sum(clf.to_local().predict(planted[0]) != planted[1])
    assert clf.n_mistakes_ == wrong > 0
    assert any(f"{wrong} mistakes" in str(one.message) for one in warned)
    assert not clf.separated_


def test_short_epochs_warn_that_overhead_exceeds_the_work(client, planted):
    with warns(EfficiencyWarning, "50 ms"):
        Perceptron(client=client).fit(*in_partitions(*planted, 2))


def test_a_warm_start_continues_from_the_last_weights(client, planted):
    X, y = in_partitions(*planted, 2)
    clf = Perceptron(client=client, warm_start=True).fit(X, y)
    assert clf.fit(X, y).n_updates_ == 0


def test_progress_is_shown_on_request(client, planted, capsys, monkeypatch):
    monkeypatch.setattr("rosenblatt.clock.PRINTED_SECONDS", 0.0)
    Perceptron(client=client, verbose=1).fit(*in_partitions(*planted, 2))
    assert "rosenblatt: round 1: 480 mistakes, " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("X", "y", "facts"),
    [
        (da.ones((4, 2), chunks=(2, 2)), [0, 1, 0], ("X", 4, 3)),
        (da.ones((4, 2), chunks=(2, 2)), [0, 1, 0.5, 0.25], ("continuous",)),
        (da.ones((4, 2), chunks=(2, 2)), [1, 1, 1, 1], (1,)),
        (np.ones((4, 2)), [0, 1, 0, 1], ("X", "ndarray")),
        (
            da.from_array(np.array([[1.0], [2.0], [3.0], [np.nan]]), chunks=(2, 1)),
            [0, 1, 0, 1],
            ("partition 1", "(rows 2 to 3)", "row 1", "column 0", "NaN"),
        ),
    ],
)
def test_bad_data_get_one_sentence(client, X, y, facts):
    with refuses(ValueError, *facts):
        Perceptron(client=client).fit(X, y)


def test_a_checkpoint_is_resumed_only_with_the_same_data_and_rule(client, planted, tmp_path):
    X, y = in_partitions(*planted, 2)
    file = tmp_path / "rounds.json"
    whole = Perceptron(client=client, checkpoint=file, checkpoint_every=2).fit(X, y)
    again = clone(whole).resume(X, y)
    assert again.weights_.tobytes() == whole.weights_.tobytes()
    assert (again.n_iter_, again.n_updates_) == (whole.n_iter_, whole.n_updates_)
    with refuses(UsageError, "rounds.json", "rows"):
        clone(whole).resume(*in_partitions(*planted, 3))
    with refuses(UsageError, "rounds.json", "eta"):
        clone(whole).set_params(eta0=2.0).resume(X, y)
    with refuses(ValueError, "checkpoint"):
        Perceptron(client=client).resume(X, y)


def test_without_dask_the_extra_to_install_is_named():
    code = "import sys; sys.modules['dask'] = None; import rosenblatt.dask"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'rosenblatt[dask]'" in done.stderr


def test_a_bad_partition_is_named(client, planted):
    X, y = planted
    X = X.copy()
    X[250, 1] = np.nan
    place = "partition 4", "(rows 240 to 299)"
    with refuses(ValueError, *place, "X", "NaN", row=10, column=1):
        Perceptron(client=client).fit(*in_partitions(X, y, 8))


def test_wide_weights_travel_without_a_warning(client):
    X, y = with_margin(np.random.default_rng(5), 8, 60_000, 0.1)
    assert (
        Perceptron(client=client, max_iter=50).fit(*in_partitions(X, y, 4)).coef_.shape[1] == 60_000
    )
