"""JSON lines of a stream: parsed in one go or one by one, the same is predicted and learnt."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt.cli.streaming import answer, sift
from rosenblatt.online import OnlinePerceptron
from rosenblatt.read import feed as feeds
from rosenblatt.read.chunks import Chunk, Place
from rosenblatt.read.feed import JsonFeed

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


def told(feed, chunk, read, kinds):
    model = OnlinePerceptron()
    batch, kinds = sift(feed, read(chunk), model, kinds)
    said = answer(model, batch)
    bad = [(line.number, line.text, line.why) for line in batch.bad]
    return said, bad, dict(kinds), model.state()


def same(rows, target="y", ignore=(), kinds=None):
    feed, chunk = JsonFeed(target, ignore), chunk_of(rows)
    one_by_one = told(feed, chunk, feed.read_rows, kinds or {})
    assert told(feed, chunk, feed.read, kinds or {}) == one_by_one
    return feed.read(chunk)


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(feeds, "FEW_LINES", 2)


@given(st.data())
def test_lines_give_the_same_however_they_are_parsed(data):
    labels = st.sampled_from(data.draw(st.sampled_from(LABELS)))
    plain = st.fixed_dictionaries({"a": NUMBERS, "b c": NUMBERS, "y": labels})
    rows = data.draw(st.lists(plain, min_size=2, max_size=6))
    if data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(rows) - 1))
        change = data.draw(st.sampled_from(["odd", "order", "fewer", "more", "text"]))
        if change == "odd":
            rows[at]["a"] = data.draw(ODD)
        elif change == "order":
            rows[at] = dict(reversed(rows[at].items()))
        elif change == "fewer":
            rows[at].pop(data.draw(st.sampled_from(sorted(rows[at]))))
        elif change == "more":
            rows[at]["d"] = data.draw(st.one_of(NUMBERS, ODD))
        else:
            rows[at] = data.draw(st.sampled_from(["", "{", "[1]", '{"a": 1, "a": 2, "y": 1}', "é"]))
    same(rows)


@pytest.mark.parametrize("labels", LABELS[:4])
def test_lines_that_are_alike_are_parsed_in_one_go(labels):
    rng = np.random.default_rng(0)
    rows = [{"a": x, "n": i, "y": labels[int(x > 0)]} for i, x in enumerate(rng.normal(size=50))]
    batch = same(rows)
    assert batch.table is not None
    assert batch.names == ("a", "n")
    assert same(rows, ignore=("n",)).names == ("a",)


def test_numbers_that_are_said_to_be_categories_are_so():
    rows = [{"a": i % 3, "b": 1.5 * i, "y": "yes" if i % 3 else "no"} for i in range(20)]
    assert same(rows, kinds={"a": "category"}).table is not None


def test_lines_that_are_not_alike_are_parsed_one_by_one():
    plain = {"a": 1.5, "b": 2, "y": "yes"}
    for other in ({"b": 2, "a": 1.5, "y": "no"}, {**plain, "b": 2**53 + 1}, {**plain, "y": 1}):
        assert same([plain, plain, other]).table is None
