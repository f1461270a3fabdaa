import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import strategies
from facts import refuses
from hypothesis import example, given
from hypothesis import strategies as st

import rosenblatt as rb
from rosenblatt import algorithms
from rosenblatt.algorithms.pocket import Judge, PocketPlan
from rosenblatt.blocks import InOrder
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis

LABELS = np.array([-1, 1])
CYCLE = algorithms.Rule("cycle")


def cut(X, y, size):
    """Cut rows into blocks, the same in every pass."""
    return InOrder(
        lambda: (
            Examples.from_arrays(X[i : i + size], y[i : i + size], labels=LABELS)
            for i in range(0, len(X), size)
        )
    )


@given(
    strategies.labelled(max_rows=20),
    st.integers(1, 20),
    st.integers(1, 30),
    st.none() | st.integers(1, 12),
    st.sampled_from([-1, 0, 1]),
)
def test_training_in_batches_matches_all_rows_at_once(examples, size, epochs, updates, zero):
    X, y = examples
    rule, budget = algorithms.Rule(zero=zero), algorithms.Budget(epochs, updates)
    whole = algorithms.pla(Examples.from_arrays(X, y), rule, budget)
    updated = []
    parts = algorithms.pla(
        cut(X, y, size), rule, budget, watch=lambda now: updated.extend(now.updated.tolist())
    )
    assert updated == whole.trace.examples.tolist()
    assert parts.hypothesis.w.tolist() == whole.hypothesis.w.tolist()
    assert (parts.updates, parts.epochs) == (whole.updates, whole.epochs)
    assert (parts.mistakes, parts.reason) == (whole.mistakes, whole.reason)
    assert parts.rows == len(X)


@given(
    strategies.labelled(max_rows=20),
    st.integers(1, 20),
    st.integers(0, 600),
    st.sampled_from([-1, 0]),
)
def test_the_pocket_in_batches_matches_all_rows_at_once(examples, size, updates, zero):
    X, y = examples
    rule, budget = algorithms.Rule("cycle", zero=zero), algorithms.Budget(2**62, updates)
    whole = algorithms.pocket(Examples.from_arrays(X, y), rule, budget)
    updated = []
    plan = PocketPlan(watch=lambda _, now, pocket: updated.extend(now.updated.tolist()))
    parts = algorithms.pocket(cut(X, y, size), rule, budget, plan=plan)
    assert updated == whole.trace.examples.tolist()
    assert parts.pocket.history == whole.pocket.history
    assert parts.hypothesis.w.tolist() == whole.hypothesis.w.tolist()
    assert parts.last.w.tolist() == whole.last.w.tolist()
    assert (parts.mistakes, parts.reason) == (whole.mistakes, whole.reason)
    assert parts.rows == len(X)


@given(strategies.labelled(max_rows=20), st.integers(1, 20), strategies.seeds)
def test_mistakes_counted_over_blocks_are_those_of_all_rows(examples, size, seed):
    X, y = examples
    W = np.random.default_rng(seed).integers(-3, 4, size=(7, X.shape[1] + 1)).astype(float)
    counts = [len(Hypothesis(w).mistakes(Examples.from_arrays(X, y))) for w in W]
    blocks = cut(X, y, size)
    assert [Judge(blocks).alone(w) for w in W] == counts
    assert Judge(blocks).counts(W).tolist() == counts


# Sums that one order of adding finds equal and another does not.
UNLIKE = np.zeros((14, 3))
UNLIKE[[0, 6], 1] = UNLIKE[[7, 9, 11, 13], 2] = -1


@given(strategies.labelled(max_rows=20), st.integers(1, 20), strategies.seeds, st.booleans())
@example((UNLIKE, np.array([1] * 7 + [-1, 1, -1, 1, -1, 1, 1])), 1, 113640320, True)
def test_weights_that_improve_over_blocks_are_those_of_all_rows(examples, size, seed, weighted):
    X, y = examples
    rng = np.random.default_rng(seed)
    W = rng.integers(-3, 4, size=(20, X.shape[1] + 1)).astype(float)
    whole, parts = Examples.from_arrays(X, y), list(cut(X, y, size).batches())
    if weighted:
        s = rng.choice([0.0, 0.1, 0.2, 0.3], size=len(X))
        whole = whole.weighted(s, stream=True)
        cuts = np.split(s, np.cumsum([part.n for part in parts])[:-1])
        parts = [part.weighted(a, stream=True) for part, a in zip(parts, cuts, strict=True)]
    judge, best = Judge(InOrder(lambda: parts)), Judge(whole).alone(W[0])
    assert judge.improvements(W, best) == Judge(whole).improvements(W, best)
    assert judge.alone(W[1]) == Judge(whole).alone(W[1])
    assert judge.wrong(W[1]).tolist() == Judge(whole).wrong(W[1]).tolist()


def test_small_data_ignore_the_deadline():
    X, y = np.array([[1.0], [-2.0], [-1.0], [2.0]]), np.array([1, -1, 1, -1])
    hurried, calm = (
        algorithms.pocket(cut(X, y, 2), CYCLE, algorithms.Budget(2**62, 1000, seconds))
        for seconds in (0.0, None)
    )
    assert (hurried.reason, hurried.mistakes) == (calm.reason, calm.mistakes)
    assert hurried.pocket.history == calm.pocket.history


def test_a_pocket_that_runs_out_of_time_is_still_scored(monkeypatch):
    monkeypatch.setattr("rosenblatt.clock.CHEAP", 0)
    X, y = np.array([[1.0], [-2.0], [-1.0], [2.0]]), np.array([1, -1, 1, -1])
    done = algorithms.pocket(cut(X, y, 2), CYCLE, algorithms.Budget(2**62, 1000, seconds=0.0))
    assert (done.reason, done.mistakes, done.rows) == ("time_limit", 4, 4)


def test_non_integer_features_give_the_same_run():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 8))
    y = np.sign(X @ rng.normal(size=8)).astype(int)
    whole = algorithms.pla(Examples.from_arrays(X, y), budget=algorithms.Budget(200))
    parts = algorithms.pla(cut(X, y, 64), budget=algorithms.Budget(200))
    assert parts.updates == whole.updates
    assert parts.hypothesis.w.tolist() == whole.hypothesis.w.tolist()


def test_no_block_is_read_twice_in_a_pass():
    X, y = np.array([[1.0], [-2.0], [3.0], [-4.0]]), np.array([1, -1, 1, -1])
    parts, read = list(cut(X, y, 1).batches()), []

    def batches():
        for number, part in enumerate(parts):
            read.append(number)
            yield part

    done = algorithms.pla(InOrder(batches), budget=algorithms.Budget(3))
    assert done.separated
    assert read == [0, 1, 2, 3] * (len(read) // 4)
    blocks = InOrder(batches)
    read.clear()
    assert blocks.first() is blocks.first() is parts[0]
    assert list(blocks.each(lambda block, first: first)) == [0, 1, 2, 3]
    assert read == [0, 1, 2, 3]


def test_algorithms_that_need_all_rows_are_refused_in_batches():
    with refuses(ValueError):
        algorithms.pla(InOrder(lambda: []))
    with refuses(ValueError):
        algorithms.pla(cut(np.array([[1e250], [-1e250]]), np.array([1, -1]), 1))
    narrow = Examples.from_arrays([[1.0]], [1], labels=LABELS)
    wide = Examples.from_arrays([[1.0, 2.0]], [1], labels=LABELS)
    with refuses(ValueError, 1, 2):
        algorithms.pla(InOrder(lambda: [narrow, wide]))
    with refuses(ValueError, "shuffle"):
        algorithms.pla(InOrder(lambda: [narrow]), algorithms.Rule("shuffle"))
    with refuses(ValueError):
        algorithms.pla(cut(np.array([[1.0], [-1.0]]), np.array([1, -1]), 1)).trace  # noqa: B018


def test_ctrl_c_keeps_the_weights_so_far():
    X, y = np.array([[1.0], [-2.0], [-1.0], [2.0]]), np.array([1, -1, 1, -1])
    calls = 0

    def batches():
        nonlocal calls
        calls += 1
        yield from cut(X, y, 2).batches()
        if calls == 3:
            raise KeyboardInterrupt

    with pytest.raises(algorithms.Interrupted) as stopped:
        algorithms.pla(InOrder(batches))
    done = stopped.value.run
    assert (done.reason, done.mistakes, done.epochs) == ("interrupted", None, 3)
    assert done.updates > 0


@pytest.mark.parametrize("form", ["batch", "table", "frame"])
def test_partial_fit_over_arrow_batches_makes_the_updates_of_the_first_epoch(form):
    rng = np.random.default_rng(1)
    X, names = rng.normal(size=(300, 4)), list("abcd")
    y = np.where(X @ rng.normal(size=4) > 0.2, "yes", "no")
    table = pa.table(dict(zip(names, X.T, strict=True)))
    clf = rb.Perceptron()
    updated = []
    for start in range(0, 300, 64):
        part = table.slice(start, 64)
        rows = {
            "batch": part.combine_chunks().to_batches()[0],
            "table": part,
            "frame": pd.DataFrame(X[start : start + 64], columns=names),
        }[form]
        clf.partial_fit(rows, pa.array(y[start : start + 64]), classes=["no", "yes"])
        updated += (clf.trace_.examples.astype(int) + start).tolist()
    whole = algorithms.pla(Examples.from_arrays(X, y), budget=algorithms.Budget(1))
    assert updated == whole.trace.examples.tolist()
    assert clf.weights_.tolist() == whole.hypothesis.w.tolist()
    assert clf.n_updates_ == len(updated)
