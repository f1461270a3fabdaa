"""Pictures of three to five labels: each label is predicted in its region."""

import base64
from xml.etree import ElementTree

import numpy as np
import pytest
from chromium import watched
from facts import refuses
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

import rosenblatt as rb
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.show.browser import bundle, text_of
from rosenblatt.show.scene import Boundary, Regions, area, clearances, scene_of
from rosenblatt.show.story import examples_of, hypothesis_of

BOX = [(-2.0, -1.0), (2.0, -1.0), (2.0, 1.0), (-2.0, 1.0)]


def clouds(k=3, n=20, d=2, spread=0.4):
    """Return clusters of examples on a ring, one per label."""
    rng, turn = np.random.default_rng(3), 2 * np.pi * np.arange(k) / k
    middle = np.zeros((k, d))
    middle[:, :2] = 2.2 * np.column_stack((np.cos(turn), np.sin(turn)))
    X = np.repeat(middle, n, axis=0) + spread * rng.normal(size=(k * n, d))
    return X, np.repeat(list("abcdefgh")[:k], n)


def inside(part, points, by=1e-6):
    """Return whether points are inside a convex polygon, not just on its edge."""
    if len(part) < 3:
        return np.zeros(len(points), dtype=bool)
    corners = np.array(part)
    ways = np.roll(corners, -1, axis=0) - corners
    turned = [
        way[0] * (points - p)[:, 1] - way[1] * (points - p)[:, 0]
        for p, way in zip(corners, ways, strict=True)
    ]
    return (np.array(turned) > by).all(axis=0)


small = st.integers(-3, 3).map(float)
weights = st.integers(3, 5).flatmap(
    lambda k: st.lists(st.lists(small, min_size=3, max_size=3), min_size=k, max_size=k)
)


@given(weights, st.sampled_from([0, 1]))
def test_a_region_is_where_its_label_is_predicted(w, zero):
    h = Hypothesis.of(np.array(w), 1.0, zero)
    regions = Regions(tuple(Boundary(*score) for score in w), zero > 0)
    parts = regions.parts(BOX)
    if not regions.differ:
        assert parts == regions.edges(BOX) == []
        return
    assert sum(map(area, parts)) == pytest.approx(area(BOX))
    points = np.random.default_rng(0).uniform((-2, -1), (2, 1), (50, 2))
    for place, part in enumerate(parts):
        assert (h.predict_codes(points[inside(part, points)]) == place).all()


@given(weights)
def test_between_regions_the_two_highest_scores_are_equal(w):
    regions = Regions(tuple(Boundary(*score) for score in w))
    for ends in regions.edges(BOX):
        scores = np.array([[1.0, *ends[0]], [1.0, *ends[1]]]) @ np.array(w).T
        first, second = np.sort(scores, axis=1)[:, :-3:-1].T
        np.testing.assert_allclose(first, second, atol=1e-9)


def drawn(ax, label):
    return sum(len(c.get_offsets()) for c in ax.collections if c.get_label() == label)


@pytest.mark.parametrize("k", [3, 5])
def test_every_label_has_its_mark_its_name_and_its_region(k):
    pytest.importorskip("matplotlib")
    X, y = clouds(k, spread=0.9)
    clf = rb.PocketPerceptron(random_state=0, max_updates=200).fit(X, y)
    display = rb.BoundaryDisplay.from_estimator(clf, X, y)
    for label in clf.classes_:
        assert drawn(display.ax_, label) == 20
    assert drawn(display.ax_, "mistake") == clf.n_mistakes_
    named = [text.get_text() for text in display.figure_.legends[0].get_texts()]
    assert named[:k] == clf.classes_.tolist()
    marks = {tuple(c.get_paths()[0].vertices.ravel()) for c in display.ax_.collections[:k]}
    assert len(marks) == k
    assert len(display.ax_.patches) == k


def test_the_band_touches_the_nearest_example():
    pytest.importorskip("matplotlib")
    X, y = clouds()
    clf = rb.Perceptron().fit(X, y)
    display = rb.BoundaryDisplay.from_estimator(clf, X, y)
    examples, h = examples_of(clf, X, y), hypothesis_of(clf)
    margin = display.scene.margin
    assert margin == clearances(h, examples).min() > 0
    edges = [line.get_xydata() for line in display.ax_.lines if line.get_linestyle() != "-"]
    assert edges
    for edge in edges:
        places = clf.predict(edge.mean(axis=0)[None])
        there = Examples.from_arrays(edge, np.repeat(places, 2), labels=clf.classes_)
        np.testing.assert_allclose(clearances(h, there), margin, rtol=1e-6)


@pytest.mark.parametrize("shape", [np.asarray, sparse.csr_array])
def test_many_features_that_vary_in_one_direction_are_drawn(shape):
    X = np.outer(np.arange(20), np.eye(450)[3])
    for y in (np.arange(20) // 10, np.arange(20) // 7):
        examples = Examples.from_arrays(shape(X), y)
        w = np.zeros(451) if len(examples.labels) == 2 else np.zeros((3, 451))
        assert len(scene_of(examples, Hypothesis.of(w)).points) == 20


def test_three_labels_with_many_features_lie_in_their_true_regions():
    X, y = clouds(d=6, spread=0.8)
    clf = rb.PocketPerceptron(random_state=0, max_updates=100).fit(X, y)
    examples, h = examples_of(clf, X, y), hypothesis_of(clf)
    scene = scene_of(examples, h)
    planes = np.array(scene.regions.scores)
    seen = np.column_stack((np.ones(len(X)), scene.points)) @ planes.T
    true = clf.decision_function(X)
    np.testing.assert_allclose(seen - seen[:, :1], true - true[:, :1], atol=1e-9)
    flat = Examples.from_arrays(scene.points, y)
    np.testing.assert_allclose(
        clearances(Hypothesis.of(planes), flat), clearances(h, examples), atol=1e-9
    )


@pytest.mark.parametrize(
    ("make", "facts"),
    [
        (lambda: (rb.Perceptron(), *clouds(6)), (6,)),
        (lambda: (rb.Perceptron(), *clouds(4, d=5)), (4, 5)),
        (lambda: (SVC(kernel="linear"), *clouds(3)), ("SVC", 3)),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_one_sentence(make, facts):
    pytest.importorskip("matplotlib")
    clf, X, y = make()
    with refuses(ValueError, *facts):
        rb.BoundaryDisplay.from_estimator(clf.fit(X, y), X, y)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_other_classifiers_of_several_labels_can_be_drawn(d):
    pytest.importorskip("matplotlib")
    X, y = clouds()
    X = np.column_stack((X, X[:, :1]))[:, :d]
    clf = LogisticRegression().fit(X, y)
    ax = rb.BoundaryDisplay.from_estimator(clf, X, y).ax_
    assert drawn(ax, "mistake") == (clf.predict(X) != y).sum()


def test_a_frame_shows_what_an_update_against_a_competing_class_moved():
    X, y = clouds(4)
    clf = rb.Perceptron(order="random", random_state=1).fit(X, y)
    frames = list(rb.TraceDisplay(clf.trace_).frames(range(clf.n_updates_ + 1)))
    for t, frame in enumerate(frames):
        now = np.array(frame.scene.regions.scores)
        np.testing.assert_array_equal(now, clf.trace_.weights(t))
        if t:
            row, rival = clf.trace_.examples[t - 1], clf.trace_.rivals[t - 1]
            before = np.array(frame.before.scores)
            moved = np.flatnonzero((now != before).any(axis=1))
            assert set(clf.classes_[moved]) == {y[row], clf.classes_[rival]}
            assert f"update on row {row}\nagainst {clf.classes_[rival]}; " in frame.title


def test_a_run_of_several_labels_has_all_its_pictures(tmp_path):
    pytest.importorskip("matplotlib")
    X, y = clouds(3)
    clf = rb.PocketPerceptron(random_state=0, max_updates=30).fit(X, y)
    display = rb.TraceDisplay.from_estimator(clf, X, y)
    assert [text.get_text() for text in display.figure_.legends[0].get_texts()][:3] == list("abc")
    display.animate(tmp_path / "run.gif", t=[0, 1, 2], dpi=30)
    assert (tmp_path / "run.gif").stat().st_size
    curve = rb.PocketDisplay.from_estimator(clf, X, y)
    assert curve.pocket[-1] == clf.n_mistakes_
    title = rb.GuaranteeDisplay.from_estimator(clf, X, y).axes_[0].get_title(loc="left")
    assert f"{int(rb.separability(X, y).bound):,}" in title


def test_the_player_gets_the_run_of_several_labels():
    pytest.importorskip("anywidget")
    X, y = clouds(4, spread=1.2)
    clf = rb.PocketPerceptron(random_state=0, max_updates=50).fit(X, y)
    player = rb.widget(X, y, clf=clf)
    story = player.story
    rivals = np.frombuffer(base64.b64decode(story["rivals"]["u4"]), "<u4")
    weights = np.frombuffer(base64.b64decode(story["weights"]["f8"])).reshape(-1, 4, 3)
    assert rivals.tolist() == clf.trace_.rivals.tolist()
    for t in (0, 1, 50):
        assert weights[t].tolist() == clf.trace_.weights(t).tolist()
    assert story["verdict"]["name"] == rb.separability(X, y).verdict
    assert sum(story["verdict"]["shares"]) == pytest.approx(1)
    drawn = [path.get("d").count("M") for path in ElementTree.fromstring(player.still)[5:]]
    assert drawn[1:] == [20] * 4


def test_in_large_data_the_conflicts_are_drawn():
    pytest.importorskip("anywidget")
    X, y = clouds(3, n=1000)
    X[0] = X[1500]  # an a among the b
    player = rb.widget(X, y, clf=rb.PocketPerceptron(max_updates=20).fit(X, y))
    story = player.story
    numbers = np.frombuffer(base64.b64decode(story["numbers"]["u4"]), "<u4")
    found = rb.separability(X, y)
    named = [(int(numbers[n]), r) for n, r in story["verdict"]["pairs"]]
    part = next(part for part in found.conflicts if not part.rest)
    assert named == [(n, r) for n, r, _ in part.pairs]


@pytest.mark.parametrize("d", [1, 2, 4])
def test_the_player_rings_the_counted_mistakes(page, d):
    pytest.importorskip("anywidget")
    X, y = clouds(3, spread=1.2, d=max(d, 2))
    story = rb.widget(X[:, :d], y).story
    page.set_content("<div id=here></div>")
    page.add_script_tag(content=bundle(text_of("player.js")) + "\nwindow.mount = mountPlayer;")
    counted = """(story) => {
      const player = window.mount(document.getElementById("here"), story, { t: 3 });
      const all = Array.from({ length: player.story.T + 1 }, (_, t) => t);
      return all.every((t) => player.story.mistakesAt(t).length === player.story.count(t));
    }"""
    assert page.evaluate(counted, story)


@pytest.mark.parametrize(
    ("k", "d", "played"), [(3, 2, True), (3, 5, True), (5, 4, False), (7, 2, False)]
)
def test_a_report_plays_the_run_of_labels_if_it_can_be_drawn(k, d, played, tmp_path):
    X, y = clouds(k, n=8, d=d, spread=1.0)
    clf = rb.PocketPerceptron(max_updates=20, random_state=0).fit(X, y)
    assert ('id="player-story"' in rb.report(clf, X, y).html) == played
    rb.learn(X, y, test_size=0).report(tmp_path / "report.html")
    assert ('id="player-story"' in (tmp_path / "report.html").read_text("utf-8")) == played


@pytest.mark.parametrize("spread", [0.4, 1.2])
def test_the_report_of_learn_with_several_labels_plays_in_a_browser(page, spread, tmp_path):
    X, y = clouds(3, spread=spread)
    result = rb.learn(X * [1.0, 1000.0], y, test_size=0)
    result.report(tmp_path / "report.html")
    messages, _ = watched(page)
    page.goto((tmp_path / "report.html").as_uri())
    assert "shown scaled" in page.inner_text("body")
    left = f"{0 if spread < 1 else result.mistakes} of 60"
    page.wait_for_function(
        "(left) => document.getElementById('player').innerText.includes(left)", arg=left
    )
    assert page.inner_text(".rb-verdict h2").lower() == result.verdict
    assert messages == []
