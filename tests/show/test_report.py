"""The report is one file with text, plots and a player that needs no server or network."""

import json
import pickle
import re
import warnings
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest
from chromium import watched
from clouds import cloud
from scipy import sparse
from sklearn.linear_model import LogisticRegression

import rosenblatt as rb
from rosenblatt import algorithms
from rosenblatt.evidence.separability import separability_of
from rosenblatt.examples import Examples
from rosenblatt.show import browser
from rosenblatt.show.story import Capacity, Story, excerpt, hypothesis_of

HEADINGS = ["Training, update by update", "Decision boundary", "Margins", "Weights", "Mistakes"]


def headings(html):
    return re.findall(r"<h2>(.*?)</h2>", html)


def story_in(html):
    found = re.search(r'<script type="application/json" id="player-story">(.*?)</script>', html)
    return found and json.loads(found.group(1))


def mistakes_in(html):
    return [int(n) for n in re.findall(r'<tr><td class="n">([\d,]+)</td><td>', html)]


def test_the_report_has_every_part(separable, noisy):
    assert headings(rb.report(*separable).html) == [
        *HEADINGS[:2],
        "Bounds on ‖w(t)‖²",
        *HEADINGS[2:],
    ]
    assert headings(rb.report(*noisy).html) == HEADINGS


def test_the_verdict_comes_with_a_proof_that_can_be_checked(noisy):
    clf, X, y = noisy
    html = rb.report(clf, X, y).html
    assert "not separable: no line classifies rows " in html
    assert "sum to exactly zero" in html
    text = re.search(r"<pre>(.*?)</pre>", html, re.DOTALL).group(1)
    proof = rb.Proof.from_json(unescape(text))
    assert proof.check(X, y)


def test_the_mistakes_are_those_of_the_model(noisy):
    clf, X, y = noisy
    wrong = np.flatnonzero(clf.predict(X) != y)
    assert sorted(mistakes_in(rb.report(clf, X, y).html)) == wrong.tolist()


def test_without_mistakes_the_report_says_so(separable):
    assert "all 60 examples are classified correctly" in rb.report(*separable).html


@pytest.mark.slow_without_jit
def test_a_search_has_every_part_except_the_run():
    X, y = cloud(noise=4)
    html = rb.report(rb.FewestMistakes(time_limit=1).fit(X, y), X, y).html
    assert headings(html) == HEADINGS[1:]
    assert story_in(html) is None


@pytest.mark.parametrize("shape", [np.asarray, sparse.csr_array])
def test_any_number_of_features_and_any_model_is_reported(shape):
    for d in (1, 5):
        X, y = cloud(d=d, noise=2)
        for clf in (rb.PocketPerceptron(max_updates=20, random_state=0), LogisticRegression()):
            html = rb.report(clf.fit(shape(X), y), shape(X), y).html
            assert ("a projection of 5 features" in html) == (d == 5 and "n_updates_" in vars(clf))


def test_other_examples_are_reported_without_the_run(separable):
    clf, X, y = separable
    html = rb.report(clf, X[:30], y[:30]).html
    assert "not shown: these X and y are not" in html
    html = rb.report(pickle.loads(pickle.dumps(clf)), X, y).html
    assert "loaded without its examples" in html


def test_names_and_labels_cannot_become_html():
    pd = pytest.importorskip("pandas")
    nasty = "</script><script>alert(1)</script>"
    X, y = cloud()
    frame = pd.DataFrame(X, columns=[nasty, "b"])
    answers = np.where(y == "good", "<b>good", nasty)
    html = rb.report(rb.Perceptron().fit(frame, answers), frame, answers).html
    assert nasty not in html
    assert "<b>good" not in html
    assert story_in(html)["names"] == [nasty, "b"]

    class Scripts(HTMLParser):
        count = 0

        def handle_starttag(self, tag, attrs):
            self.count += tag == "script"

    parser = Scripts()
    parser.feed(html)
    assert parser.count == 2


@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_entries_that_cannot_be_drawn_are_mentioned(size):
    X, y = np.array([[1.0, 2], [2, 1], [-1, -1], [-2, 0.5]]) * size, [1, 1, 0, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = rb.Perceptron(max_iter=50, intercept_scaling=1.0).fit(X, y)
    html = rb.report(clf, X, y).html
    assert "cannot be drawn; scale the columns first" in html
    assert HEADINGS[0] not in html


@pytest.mark.slow_without_jit
def test_an_excerpt_states_nothing_false():
    X, y = cloud(n=300, noise=20)
    examples = Examples.from_arrays(X, y)
    run = algorithms.pocket(examples, algorithms.Rule("random", rng=np.random.default_rng(0)))
    story = Story(examples, run, separability_of(examples), "pocket", "random")
    whole, none = excerpt(story, Capacity(examples=300))
    part, cuts = excerpt(story, Capacity(examples=60, updates=25))
    assert none == []
    assert cuts == [
        "The first 25 of 1,000 updates can be played.",
        "60 of 300 examples are drawn, including all that caused an update.",
    ]
    assert (part["updates"], part["total"], len(part["points"])) == (25, 300, 60)
    numbers, rows = unpacked(part["numbers"]), unpacked(part["rows"])
    assert numbers[rows].tolist() == run.trace.examples[:25].tolist()
    assert part["points"] == X[numbers].tolist()
    # Weights and mistakes are those of the whole run, number by number.
    for key in ("weights", "mistakes"):
        got, all_ = unpacked(part[key]), unpacked(whole[key])
        assert got.tolist() == all_[: len(got)].tolist()
    assert "975 more updates" in part["summary"]
    for kept, full in zip(
        part["verdict"]["conflicts"], whole["verdict"]["conflicts"], strict=False
    ):
        assert numbers[kept["rows"]].tolist() == full["rows"]
        assert kept["common"] == pytest.approx(full["common"])


def unpacked(packed):
    import base64

    ((kind, text),) = packed.items()
    return np.frombuffer(base64.b64decode(text), dtype=f"<{kind}")


@pytest.mark.slow_without_jit
def test_a_very_large_report_is_small_and_says_so():
    X, y = cloud(n=6_000, noise=100)
    clf = rb.PocketPerceptron(max_updates=6000, random_state=0).fit(X, y)
    html = rb.report(clf, X, y).html
    assert len(html) < 1_000_000
    assert "of 6,000 updates can be played" in html
    assert "of 6,000 examples are drawn" in html
    assert "the 50 farthest" in html


def test_the_report_is_saved_whole_and_shown_in_a_frame(separable, tmp_path):
    made = rb.report(*separable)
    made.save(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == made.html
    shown = made._repr_html_()
    assert shown.startswith("<iframe")
    assert "<script" not in shown
    assert repr(made).startswith("<Report: ")


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("kind", ["separable", "noisy", "many"])
def test_a_saved_report_plays_in_a_browser(kind, request, page, tmp_path):
    clf, X, y = request.getfixturevalue(kind)
    path = tmp_path / "report.html"
    rb.report(clf, X, y).save(path)
    messages, requests = watched(page)
    page.goto(path.as_uri())
    shown = page.locator(".rb-sum")
    for t in (0, 1, 2, clf.n_updates_):
        page.evaluate("t => window.player.go(t)", t)
        assert json.loads(shown.get_attribute("data-exact")) == clf.trace_.weights(t).tolist()
    page.get_by_label("Back to the start").click()
    page.get_by_label("Step: make one update").click()
    assert page.locator(".rb-where").text_content() == "t = 1"
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert messages == []
    assert requests == [path.as_uri()]


COLOURS = """() => [...document.querySelectorAll("canvas[data-picture]")].map((canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const colors = new Set(new Uint32Array(data.buffer));
  return [canvas.dataset.picture, colors.size > 20];
})"""


@pytest.mark.slow_without_jit
def test_every_still_picture_is_drawn_with_or_without_a_run(separable, page, tmp_path):
    one, two = cloud(d=1, noise=2), cloud(noise=4)
    X, _ = cloud()
    y = np.where(X[:, 0] > 0.2, "east", np.where(X[:, 1] > 0, "north", "south"))
    made = {
        ("line", "squeeze", "margins"): rb.report(*separable),
        ("line", "squeeze", "margins", "of regions"): rb.report(
            rb.Perceptron(max_iter=10_000).fit(X, y), X, y
        ),
        ("line", "margins"): rb.report(rb.FewestMistakes(time_limit=1).fit(*two), *two),
    }
    made[("line", "margins", "of one feature")] = rb.report(LogisticRegression().fit(*one), *one)
    for pictures, report in made.items():
        report.save(tmp_path / "report.html")
        messages, _ = watched(page)
        page.goto((tmp_path / "report.html").as_uri())
        drawn = page.evaluate(COLOURS)
        assert drawn == [[name, True] for name in pictures if not name.startswith("of ")]
        assert messages == []


WRITTEN = """
window.written = [];
const { fillText } = CanvasRenderingContext2D.prototype;
CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
  window.written.push(text);
  return fillText.call(this, text, ...place);
};
"""


@pytest.mark.slow_without_jit
def test_the_bound_is_the_same_number_everywhere(page, tmp_path):
    X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.9, 0.35]], [0, 0, 0, 1, 0]
    clf = rb.Perceptron(max_iter=10_000).fit(X, y)
    bound = rb.separability(X, y).bound
    assert round(bound) != int(bound)  # so that rounding would be seen
    rb.report(clf, X, y).save(tmp_path / "report.html")
    page.add_init_script(WRITTEN)
    page.goto((tmp_path / "report.html").as_uri())
    written = "\n".join([page.inner_text("body"), *page.evaluate("window.written")])
    assert set(re.findall(r"R²/ρ² = ([\d,]*\d)", written)) == {f"{int(bound):,}"}


REGION = """colour => {
  const canvas = document.querySelector("canvas[data-picture=line]");
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const hex = [0, 2, 4].map((i) => parseInt(colour.slice(1 + i, 3 + i), 16));
  let count = 0;
  for (let i = 0; i < data.length; i += 4) count += hex.every((v, j) => data[i + j] === v);
  return count / (data.length / 4);
}"""


@pytest.mark.slow_without_jit
def test_every_region_of_labels_is_filled_with_its_colour(page, tmp_path):
    X = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    rb.report(rb.Perceptron().fit(X, list("abcd")), X, list("abcd")).save(tmp_path / "report.html")
    page.emulate_media(color_scheme="light")
    page.goto((tmp_path / "report.html").as_uri())
    colors = browser.light_colors()
    for name in ("no", "yes", "third", "fourth"):
        assert page.evaluate(REGION, colors[f"{name}-area"]) > 0.02, name


@pytest.mark.parametrize("threshold", [0.0, 2.5e-9, -1234.5])
def test_a_threshold_of_any_size_is_shown(threshold):
    X, y = cloud(d=1)
    clf = LogisticRegression().fit(X, y)
    clf.coef_, clf.intercept_ = 1e-9 * clf.coef_, np.array([-threshold])
    assert f"is above {threshold:g}.</p>" in rb.report(clf, X, y).html
    assert f"{hypothesis_of(clf).threshold:g}" == f"{threshold:g}"


def test_a_name_cannot_reverse_the_direction_of_the_text():
    import pandas as pd

    X = pd.DataFrame({"\u202egnp\x1b": [0.0, 1.0, 2.0, 3.0]})
    page = rb.report(
        rb.Perceptron().fit(X, ["a", "a", "\u2028", "\u2028"]), X, list("aa\u2028\u2028")
    ).html
    assert "\\u202egnp\\x1b" in page
    assert not set(page) & set("\u202e\x1b\u2028")
