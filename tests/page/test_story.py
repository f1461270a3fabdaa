"""The story has the numbers of the recorded run and of the verdict."""

import base64
import re
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt import algorithms
from rosenblatt.evidence.separability import separability_of
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.show.browser import bundle, page_html, player_style, text_of
from rosenblatt.show.scene import view_of
from rosenblatt.show.story import Story, weights_along

POINT = st.tuples(st.integers(-8, 8), st.integers(-8, 8)).map(lambda p: [p[0] / 8, p[1] / 10])


def unpacked(packed):
    ((kind, text),) = packed.items()
    return np.frombuffer(base64.b64decode(text), dtype={"f8": "<f8", "u4": "<u4"}[kind])


@st.composite
def planes(draw):
    points = draw(st.lists(POINT, min_size=2, max_size=12))
    targets = draw(st.lists(st.sampled_from([-1, 1]), min_size=len(points), max_size=len(points)))
    targets[:2] = [-1, 1]
    return Examples.from_arrays(points, targets)


@given(planes(), st.sampled_from([0.1, 1.0, 3.0]), st.sampled_from([0, -1, 1]))
def test_every_t_has_the_weights_and_mistakes_of_the_trace(examples, eta, zero):
    rule = algorithms.Rule(eta=eta, zero=zero)
    run = algorithms.pla(examples, rule, algorithms.Budget(10**9, 40), np.array([0.1, 0.0, -0.3]))
    story = Story(examples, run).to_json()
    weights = unpacked(story["weights"]).reshape(-1, 3)
    counts = unpacked(story["mistakes"])
    assert len(weights) == len(counts) == len(run.trace) + 1
    for t in range(len(run.trace) + 1):
        assert weights[t].tolist() == run.trace.weights(t).tolist()
        assert counts[t] == len(Hypothesis(run.trace.weights(t), 1.0, zero).mistakes(examples))
    assert unpacked(story["rows"]).tolist() == run.trace.examples.tolist()


@given(planes())
def test_the_proof_drawn_is_the_proof_found(examples):
    verdict = separability_of(examples)
    drawn = Story(
        examples, algorithms.pla(examples, budget=algorithms.Budget(5)), verdict
    ).to_json()
    shown = drawn["verdict"]
    assert shown["name"] == verdict.verdict
    assert (shown["line"] is None) == (verdict.weights is None)
    if verdict and verdict.weights is not None:
        c, a, b = shown["line"]
        scores = examples.y * (c + examples.X @ [a, b])
        assert scores.min() == pytest.approx(shown["margin"], rel=1e-6)
        assert scores[shown["support"]] == pytest.approx(shown["margin"], rel=1e-6)
        assert drawn["squeeze"]["bound"] == pytest.approx(shown["bound"], rel=1e-6)
    for part in shown["conflicts"]:
        rows, shares = np.array(part["rows"]), np.array(part["shares"])
        for sign in (1, -1):
            side = examples.y[rows] == sign
            assert shares[side].sum() == pytest.approx(1.0)
            middle = shares[side] @ examples.X[rows[side]]
            assert middle == pytest.approx(np.array(part["common"]), abs=1e-9)


def test_the_pocket_on_the_page_is_in_the_trace():
    examples = Examples.from_arrays([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1, 0])
    rule = algorithms.Rule("random", rng=np.random.default_rng(1))
    run = algorithms.pocket(examples, rule, algorithms.Budget(10**9, 50))
    story = Story(examples, run, separability_of(examples), "pocket", "random").to_json()
    t, mistakes = story["pocket"][-1]
    assert unpacked(story["mistakes"])[t] == mistakes == run.mistakes
    assert weights_along(run.trace)[t].tolist() == run.hypothesis.w.tolist()
    assert story["squeeze"] is None
    assert story["verdict"]["name"] == "inseparable"
    assert story["verdict"]["conflicts"][0]["common"] == [0.5, 0.5]


def test_many_features_are_drawn_where_the_hyperplane_cuts_the_plane():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5)) * [1, 2, 3, 4, 5] + 10
    examples = Examples.from_arrays(X, np.where(X @ [1, -1, 1, -1, 1] > 10, "yes", "no"))
    run = algorithms.pla(examples)
    story = Story(examples, run, separability_of(examples)).to_json()
    assert story["features"] == ["x1", "x2", "x3", "x4", "x5"]
    assert story["labels"] == ["no", "yes"]
    assert len(unpacked(story["weights"])) == 6 * (len(run.trace) + 1)
    c, a, b = unpacked(story["lines"]).reshape(-1, 3)[-1]
    # The last w is the first axis: its scores are those of the points in the plane.
    drawn = c + np.array(story["points"]) @ [a, b]
    assert drawn == pytest.approx(run.hypothesis.scores(X), abs=1e-9)
    assert unpacked(story["table"]).reshape(60, 5).tolist() == X.tolist()


def test_the_second_axis_is_the_first_remaining_direction_for_few_and_for_many_features():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 6)) * [1, 9, 3, 1, 1, 1]
    y = np.arange(50) % 2
    w = np.array([0.5, 0, 0, 1, 0, 0, 0])
    along, across = view_of(Examples.from_arrays(X, y), Hypothesis(w)).axes.T
    assert along.tolist() == [0, 0, 1, 0, 0, 0]
    assert abs(across[1]) > 0.95
    assert along @ across == pytest.approx(0)
    wide = Examples.from_arrays(np.hstack((X, np.zeros((50, 500)))), y)
    many = view_of(wide, Hypothesis(np.concatenate((w, np.zeros(500))))).axes[:, 1]
    assert np.abs(many[:6]) == pytest.approx(np.abs(across), abs=1e-4)


def test_modules_can_be_put_into_one_file():
    for entry, mount in (("player.js", "mountPlayer"), ("embedded.js", "mountReport")):
        script = bundle(text_of(entry))
        assert not re.search(r"^(import|export) ", script, re.MULTILINE)
        assert f"function {mount}(" in script
    assert ".rb-player" in player_style()


def test_static_files_are_our_own_and_small():
    folder = files("rosenblatt.show").joinpath("static")
    for file in folder.iterdir():
        text = text_of(file.name)
        assert len(text.splitlines()) <= 350, file.name
        for module in re.findall(r'from "([^"]+)"', text):
            assert folder.joinpath(module.removeprefix("./")).is_file(), (file.name, module)
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text), file.name
        assert "innerHTML" not in text


def test_the_page_is_one_small_file():
    page = page_html()
    assert len(page.encode()) < 250_000
    assert not re.search(r"@[A-Z]+@", page)
    assert not re.search(r"<(?:script|link|img)[^>]+(?:src|href)=\"(?!data:)", page)
