"""JSON lines of a stream give the same results parsed together and one by one."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt.cli.stream import predict_and_learn
from rosenblatt.cli.streamoutput import format_predictions
from rosenblatt.online import OnlinePerceptron
from rosenblatt.online.raw import reject_invalid
from rosenblatt.read import feed as feeds
from rosenblatt.read.feed import Chunk, JsonFeed, Place

NUMBERS = st.one_of(
    st.integers(-100, 100),
    st.floats(-1e6, 1e6),
    st.sampled_from([0, -0.0, 1e-300, 1e99, 2**53 + 1, 10**25]),
)
ODD = st.sampled_from([None, True, "red", "3", [], {}, "NaN", float("nan"), "a b c d e"])
LABELS = (("yes", "no"), (1, -1), (True, False), (0.5, 1.5), ("1", "0"), ("é", "\n"))


def chunk_of(rows):
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    return Chunk("\n".join(lines).encode() + b"\n", Place())


def streamed(feed, batches, kinds):
    """All that comes of a chunk: predictions, bad lines, kinds of columns, state."""
    model, predictions, bad = OnlinePerceptron(), b"", []
    for batch in batches:
        batch, kinds = reject_invalid(feed, batch, model.labels, kinds)
        predictions += format_predictions(predict_and_learn(model, batch), model.labels)
        bad += [(line.number, line.text, line.why) for line in batch.bad]
    return predictions, bad, dict(kinds), model.state()


def same(rows, target="y", ignore=(), kinds=None):
    feed, chunk = JsonFeed(target, ignore), chunk_of(rows)
    batches = feed.read(chunk)
    one_by_one = streamed(feed, [feed.read_rows(chunk)], kinds or {})
    assert streamed(feed, batches, kinds or {}) == one_by_one
    assert b"".join(batch.chunk.data for batch in batches) == chunk.data
    return batches


def in_one_go(batches):
    """How many lines each batch has, and whether they were parsed together."""
    return [(batch.chunk.count, batch.X is not None) for batch in batches]


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(feeds, "FEW_LINES", 2)


PLAIN = {"a": 1.5, "b": 2, "y": "yes"}
OTHERS = {
    "keys in another order": {"b": 2, "a": 1.5, "y": "no"},
    "a whole number that no double is": {**PLAIN, "b": 2**53 + 1},
    "a whole number of very many digits": {**PLAIN, "b": 10**400},
    "a number too large": {**PLAIN, "b": 1e200},
    "not a number": {**PLAIN, "b": float("nan")},
    "text": {**PLAIN, "b": "red"},
    "a number as text": {**PLAIN, "b": "3"},
    "an array": {**PLAIN, "b": [1]},
    "an object": {**PLAIN, "b": {"a": 1}},
    "an answer of another kind": {**PLAIN, "y": 1},
    "one key more": {**PLAIN, "c": 2},
    "one key twice": '{"a": 1, "a": 2, "y": "no"}',
    "one key twice, once spelled otherwise": '{"a": 1, "\\u0061": 2, "y": "no"}',
    "nothing is in it": {},
    "a comma too many": '{"a": 1, "y": "no",}',
    "a brace too early": '{"a": 1} "y": "no"}',
    "two objects": '{"a": 1, "y": "no"} {"a": 2, "y": "no"}',
    "half a line": '{"a": 1, "b": ',
    "an object over two lines": '{"a": 1,\n"y": "no"}',
    "an object that ends where another begins": '{"a": 1\n} {"a": 2, "y": "no"}',
    "no object": "[1]",
    "a number written as no JSON has it": '{"a": 01, "y": "no"}',
    "nothing": "",
    "blanks": " \r",
}
FITTING = {
    "a key is missing": {"a": 3, "y": "no"},
    "all keys are missing": {"y": "no"},
    "null for a number": {**PLAIN, "a": None},
    "null for the answer": {**PLAIN, "y": None},
    "no answer": {"a": 3},
    "blanks and another end": ' { "a" :3 , "b":\t4, "y" : "no" } \r',
    "keys with escapes": {"a": 3, "y": "no", "é": 4},
}


def change(data, row):
    how = data.draw(st.sampled_from(["odd", "order", "fewer", "more", "text"]))
    if how == "odd":
        return {**row, "a": data.draw(ODD)}
    if how == "order":
        return dict(reversed(row.items()))
    if how == "fewer":
        left_out = data.draw(st.sampled_from(sorted(row)))
        return {name: value for name, value in row.items() if name != left_out}
    if how == "more":
        return {**row, "d": data.draw(st.one_of(NUMBERS, ODD))}
    return data.draw(st.sampled_from([v for v in OTHERS.values() if isinstance(v, str)]))


@given(st.data())
def test_every_parser_gives_the_same_rows(data):
    labels = st.sampled_from(data.draw(st.sampled_from(LABELS)))
    plain = st.fixed_dictionaries({"a": NUMBERS, "b c": NUMBERS, "y": labels})
    rows = data.draw(st.lists(plain, min_size=2, max_size=9))
    for at in data.draw(st.sets(st.integers(0, len(rows) - 1), max_size=3)):
        rows[at] = change(data, rows[at])
    same(rows)


@pytest.mark.parametrize("labels", LABELS[:4])
def test_similar_lines_are_parsed_together(labels):
    rng = np.random.default_rng(0)
    rows = [{"a": x, "n": i, "y": labels[int(x > 0)]} for i, x in enumerate(rng.normal(size=50))]
    (batch,) = same(rows)
    assert batch.X is not None
    assert batch.names == ("a", "n")
    assert same(rows, ignore=("n",))[0].names == ("a",)


def test_an_integer_among_other_labels_keeps_its_spelling():
    rows = [{"a": i % 3, "y": [0.5, 2.0][i % 2]} for i in range(20)]
    assert in_one_go(same(rows)) == [(20, True)]
    same([*rows, {"a": 1, "y": 2}, *rows])
    same([{"a": 1, "y": 2}, *rows])


def test_lines_with_ignored_text_are_parsed_together():
    rows = [{"id": f"u{i}", "a": i % 3, "y": i % 2} for i in range(20)]
    assert in_one_go(same(rows, ignore=("id",))) == [(20, True)]


def test_many_lines_of_text_are_not_parsed_twice(monkeypatch):
    monkeypatch.setattr(feeds, "MANY_LINES", 8)
    rows = [{"a": i, "t": "red", "y": i % 2} for i in range(20)]
    assert in_one_go(same(rows)) == [(20, False)]


def test_numbers_declared_as_categories_are_categories():
    rows = [{"a": i % 3, "b": 1.5 * i, "y": "yes" if i % 3 else "no"} for i in range(20)]
    assert in_one_go(same(rows, kinds={"a": "category"})) == [(20, True)]


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_an_odd_line_does_not_separate_most_others(other):
    batches = in_one_go(same([PLAIN] * 40 + [other] + [PLAIN] * 60))
    assert sum(lines for lines, together in batches if together) >= 96


@pytest.mark.parametrize("other", FITTING.values(), ids=FITTING)
def test_lines_with_fewer_keys_are_parsed_with_the_others(other):
    plain = {**PLAIN, "é": 1}
    assert in_one_go(same([plain] * 20 + [other] + [plain] * 30)) == [(51, True)]


def test_a_key_that_appears_late_is_known_from_its_first_row():
    rows = [{**PLAIN, "b": i, **({"late": 2.5 * i} if i >= 40 else {})} for i in range(50)]
    assert in_one_go(same(rows)) == [(50, True)]
    text = [{**row, "late": "red"} if "late" in row else row for row in rows]
    assert sum(lines for lines, together in in_one_go(same(text)) if together) == 40


def test_a_key_that_starts_with_null_has_the_type_of_its_first_value():
    rows = [{**PLAIN, "late": None} for _ in range(20)]
    rows += [{**PLAIN, "late": "red" if i % 2 else "blue"} for i in range(20)]
    same(rows)


def test_very_many_keys_give_the_same_rows_singly_and_together():
    row = {f"feature {j}": j / 7 for j in range(3000)}
    same([{**row, "y": i % 2} for i in range(4)])


def test_runs_of_lines_of_every_length_give_the_same_rows(monkeypatch):
    monkeypatch.setattr(feeds, "FEW_LINES", 8)
    rng, others = np.random.default_rng(1), [*OTHERS.values(), *FITTING.values()]
    rows = [
        {"a": x, "b": i % 5, "y": "no" if x > 0 else "yes"}
        for i, x in enumerate(rng.normal(size=600))
    ]
    for at in rng.integers(0, len(rows), 25):
        rows[at] = others[rng.integers(len(others))]
    batches = in_one_go(same(rows))
    assert sum(lines for lines, together in batches if together) > 300
    assert all(lines >= 8 for lines, together in batches if together)
