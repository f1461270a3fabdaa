"""On Dask, columns are taken by their names, whatever their order and types in each part."""

import numpy as np
import pytest
from facts import refuses

pytest.importorskip("distributed")

import dask.dataframe as dd
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from case_counts import count_cases, n_cases
from dask.distributed import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rosenblatt as rb
from rosenblatt.dask import Perceptron, check_proof, separability

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.EfficiencyWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


@pytest.fixture(scope="module")
def client():
    with Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0") as one:
        yield one


AGE = np.array([20.0, 30.0, 40.0, 50.0, 60.0, 70.0])
SALARY = np.array([9.0, 1.0, 8.0, 2.0, 7.0, 3.0])
ANSWER = np.array([1, 0, 1, 0, 1, 0])
WHOLE = pd.DataFrame({"age": AGE, "salary": SALARY, "answer": ANSWER})


def files(folder, *parts):
    """Each part of the rows in a file of its own."""
    for i, part in enumerate(parts):
        table = part if isinstance(part, pa.Table) else pa.Table.from_pandas(part)
        pq.write_table(table, folder / f"{i}.parquet")
    return sorted(map(str, folder.iterdir()))


def frames(*parts):
    """A Dask dataframe whose partitions need not be as it says."""
    return dd.from_map(parts.__getitem__, range(len(parts)), meta=parts[0].iloc[:0])


SWAPPED = (WHOLE.iloc[:3], WHOLE.iloc[3:][["salary", "answer", "age"]])


def test_files_with_columns_in_another_order_give_the_verdict_of_all_rows(client, tmp_path):
    paths = files(tmp_path, *SWAPPED)
    whole = rb.separability(WHOLE[["age", "salary"]], ANSWER)
    s = separability(paths, "answer", client=client)
    assert s.verdict == whole.verdict == "separable"
    assert s.proof.check(WHOLE[["age", "salary"]], ANSWER)
    assert check_proof(whole.proof, paths, "answer", client=client)
    one, two = (separability(p, "answer", client=client) for p in (paths, frames(*SWAPPED)))
    assert one.proof == two.proof


def test_files_and_frames_give_the_model_of_all_rows(client, tmp_path):
    paths = files(tmp_path, *SWAPPED)
    models = [
        Perceptron(max_iter=50, client=client).fit(data, "answer")
        for data in (paths, frames(*SWAPPED), dd.from_pandas(WHOLE, npartitions=2))
    ]
    for model in models:
        assert model.feature_names_in_.tolist() == ["age", "salary"]
        assert model.coef_.tolist() == models[0].coef_.tolist()
    right = models[0].to_local().predict(WHOLE[["age", "salary"]]).tolist()
    assert models[0].predict(paths).compute().tolist() == right
    features = [part[[c for c in part if c != "answer"]] for part in SWAPPED]
    assert models[0].predict(frames(*features)).compute().tolist() == right


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (WHOLE.iloc[3:].drop(columns="salary"), "salary"),
        (WHOLE.iloc[3:].drop(columns="answer"), "answer"),
        (WHOLE.iloc[3:].rename(columns={"age": "Age"}), "age"),
    ],
)
def test_a_missing_column_is_refused_by_its_name(client, tmp_path, other, named):
    paths = files(tmp_path, WHOLE.iloc[:3], other)
    for ask in (separability, lambda *a, client: Perceptron(client=client).fit(*a)):
        with refuses(ValueError, f"'{named}'"):
            ask(paths, "answer", client=client)
        with refuses(ValueError, "partition 1", f"'{named}'"):
            ask(frames(WHOLE.iloc[:3], other), "answer", client=client)


def test_a_new_column_is_refused_in_a_frame_and_ignored_in_a_file(client, tmp_path):
    more = WHOLE.iloc[3:].assign(town=1)
    with refuses(ValueError, "partition 1", "'town'"):
        separability(frames(WHOLE.iloc[:3], more), "answer", client=client)
    s = separability(files(tmp_path, WHOLE.iloc[:3], more), "answer", client=client)
    assert s.proof.check(WHOLE[["age", "salary"]], ANSWER)


def test_predicting_needs_only_the_features(client, tmp_path):
    paths = files(tmp_path, WHOLE.assign(town=1))
    model = Perceptron(max_iter=50, client=client).fit(frames(WHOLE), "answer")
    assert len(model.predict(paths).compute()) == 6
    files(tmp_path, WHOLE.drop(columns="age"))
    with refuses(ValueError, "'age'"):
        model.predict(paths)


def test_a_name_that_occurs_twice_is_refused(client):
    twice = pd.concat([WHOLE, WHOLE[["age"]]], axis=1)
    with refuses(ValueError, "'age'"):
        separability(
            dd.from_map(lambda _: twice, [0], meta=twice.iloc[:0]), "answer", client=client
        )


def test_the_index_of_a_frame_is_not_a_column(client, tmp_path):
    sorted_rows = WHOLE.sort_values("salary")
    paths = files(tmp_path, WHOLE, sorted_rows)
    assert "__index_level_0__" in pq.read_schema(paths[1]).names
    model = Perceptron(max_iter=50, client=client).fit(paths, "answer")
    assert model.feature_names_in_.tolist() == ["age", "salary"]
    assert dd.read_parquet(paths[1]).columns.tolist() == ["age", "salary", "answer"]


@st.composite
def numbers_in_files(draw):
    """Rows of numbers in a few parts, each with its own order of columns and its own types."""
    n, d = draw(st.integers(3, 12)), draw(st.integers(1, 3))
    cells = st.sampled_from((0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -2.25, 0.1, 1e6))
    X = np.array(draw(st.lists(st.lists(cells, min_size=d, max_size=d), min_size=n, max_size=n)))
    y = np.array(draw(st.lists(st.sampled_from((0, 1)), min_size=n, max_size=n)))
    names = draw(st.permutations(("a b", 'q"', "é", "Z")))[:d]
    ends = sorted(draw(st.lists(st.integers(1, n - 1), max_size=2, unique=True)))
    parts = []
    for rows in np.split(np.arange(n), ends):
        frame = pd.DataFrame(X[rows], columns=names).assign(answer=y[rows])
        whole = [c for c in frame if (frame[c] % 1 == 0).all() and draw(st.booleans())]
        frame = frame.astype(dict.fromkeys(whole, "int32"))
        parts.append(frame[draw(st.permutations(list(frame)))])
    return X, y, [name for name in parts[0] if name != "answer"], names, parts


@settings(
    max_examples=n_cases(25),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(numbers_in_files())
def test_random_files_get_the_verdict_of_all_rows(client, tmp_path_factory, drawn):
    X, y, order, names, parts = drawn
    X = X[:, [names.index(name) for name in order]]
    paths = files(tmp_path_factory.mktemp("parts"), *parts)
    whole = rb.separability(X, y)
    s = separability(paths, "answer", client=client)
    assert s.verdict == whole.verdict
    assert s.proof.data == whole.proof.data
    assert s.proof.check(X, y)
    assert check_proof(whole.proof, paths, "answer", client=client)
    assert check_proof(whole.proof, frames(*parts), "answer", client=client)
    count_cases(f"tables of numbers in files on Dask: {s.verdict}")


def test_types_may_differ_from_file_to_file(client, tmp_path):
    whole_numbers = WHOLE.iloc[:2].astype({"age": "int64", "salary": "int8"})
    coded = pa.table(
        {
            "salary": pa.array(SALARY[2:4]).dictionary_encode(),
            "answer": pa.array(ANSWER[2:4].astype(float)),
            "age": pa.array(AGE[2:4].astype(np.float32)),
        }
    )
    paths = files(tmp_path, whole_numbers, coded, WHOLE.iloc[4:])
    s = separability(paths, "answer", client=client)
    assert s.proof.check(WHOLE[["age", "salary"]], ANSWER)
    assert s.proof == separability(frames(WHOLE), "answer", client=client).proof


@pytest.mark.parametrize("coded", [False, True])
def test_each_file_may_have_its_own_labels(client, tmp_path, coded):
    words = WHOLE.assign(answer=np.where(ANSWER > 0, "yes", "no")).sort_values("answer")
    words = words.astype({"answer": "category"}) if coded else words
    paths = files(tmp_path, words.iloc[:3], words.iloc[3:])
    s = separability(paths, "answer", client=client)
    assert s.proof.check(words[["age", "salary"]], words["answer"])
    model = Perceptron(max_iter=50, client=client).fit(paths, "answer")
    assert model.classes_.tolist() == ["no", "yes"]


def test_a_missing_or_truncated_parquet_file_is_named_with_the_reason(client, tmp_path):
    with refuses(OSError, "nothing"):
        Perceptron().fit(str(tmp_path / "nothing"), "answer")
    (tmp_path / "cut.parquet").write_bytes(b"PAR1cut")
    with refuses(ValueError, "cut.parquet"):
        Perceptron().fit([str(tmp_path / "cut.parquet")], "answer")
