"""In notebooks: results as cards, the widget, and scikit-learn's diagram."""

import json
import sys
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import numpy as np
import pytest
from chromium import watched
from clouds import cloud
from facts import refuses

import rosenblatt as rb
from rosenblatt.show import browser
from rosenblatt.text import render_bars, render_card

VOID = {"rect", "br", "path"}


class Balanced(HTMLParser):
    """HTML parser that checks whether every element is closed."""

    def __init__(self):
        super().__init__()
        self.open = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data + " "


def text_of(value):
    html = value._repr_html_()
    parser = Balanced()
    parser.feed(html)
    assert parser.open == []
    assert len(html) < 10_000
    # Neither a colour of its own nor a style that would leak out.
    assert "#" not in html
    assert "<style" not in html
    return parser.text


def test_values_have_cards(separable, noisy):
    clf, X, y = separable
    decided = rb.separability(X, y)
    promise = rb.guarantee(X, y, decided.weights)
    assert f"{clf.n_updates_}" in text_of(clf.trace_)
    assert text_of(decided).startswith("Separable: a line ")
    assert f"at most {int(promise.bound)} updates" in text_of(promise)
    assert "hold at every t" in text_of(rb.squeeze(clf.trace_, decided.weights))
    assert "separable" in text_of(decided.proof)
    assert text_of(rb.experiment(10, 50, random_state=0)).startswith("50 runs")
    _, X, y = noisy
    assert "no line classifies rows " in text_of(rb.separability(X, y))
    assert "No guarantee" in text_of(rb.guarantee(X, y, decided.weights))
    assert "1 conflict" in text_of(rb.separability(X, y).proof)
    assert "no line makes fewer" in text_of(rb.fewest_mistakes(X, y))


def test_a_model_has_a_card(separable, tmp_path):
    clf, _, _ = separable
    rb.save(clf, tmp_path / "model.json")
    text = text_of(rb.load(tmp_path / "model.json"))
    assert "x1 and x2" in text
    assert f"updates {clf.n_updates_}" in text


def test_an_empty_trace_has_a_card():
    clf = rb.PocketPerceptron(max_updates=0).fit([[0.0], [1.0]], [0, 1])
    assert "updates" in text_of(clf.trace_)


def test_a_card_escapes_html():
    html = render_card("<script>", [("<b>", "a & b")], render_bars([1, 2], '"><script>'))
    assert "<script>" not in html
    assert "<b>" not in html
    assert "a &amp; b" in html


def test_at_most_sixty_bars_are_drawn():
    assert 30 <= render_bars(list(range(1000)), "many").count("<rect") <= 60


@pytest.mark.slow_without_jit
@pytest.mark.parametrize(
    "make", [rb.Perceptron, rb.PocketPerceptron, lambda: rb.FewestMistakes(time_limit=1)]
)
def test_estimators_keep_scikit_learns_diagram(make):
    X, y = cloud()
    for clf in (make(), make().fit(X, y)):
        html = clf._repr_html_()
        assert "sk-estimator" in html
        assert type(clf).__name__ in html


def test_a_widget_plays_pla_if_separable_and_the_pocket_otherwise(separable, noisy):
    pytest.importorskip("anywidget")
    _, X, y = separable
    player = rb.widget(X, y)
    assert player.story["algorithm"] == "pla"
    assert player.story["verdict"]["name"] == "separable"
    assert player.story["updates"] == rb.Perceptron().fit(X, y).n_updates_
    _, X, y = noisy
    player = rb.widget(X, y)
    assert (player.story["algorithm"], player.story["updates"]) == ("pocket", 1000)
    assert player.cuts == ()


def test_a_widget_does_not_wait_for_a_run_of_billions_of_updates():
    pytest.importorskip("anywidget")
    X = np.c_[np.linspace(0, 1e-4, 20), np.full(20, 5000.0)]
    player = rb.widget(X, np.arange(20) > 9)
    assert player.story["verdict"]["bound"] > 1e9
    assert "of 100,000 updates" in player.cuts[0]


def test_a_widget_plays_the_run_of_an_estimator(noisy):
    pytest.importorskip("anywidget")
    clf, X, y = noisy
    player = rb.widget(X, y, clf=clf)
    assert player.story["updates"] == clf.n_updates_
    assert [tuple(entry) for entry in player.story["pocket"]] == clf.history_
    player.t = 3
    with refuses(ValueError, 0, 60):
        player.t = 61
    assert player.t == 3
    with refuses(ValueError):
        rb.widget(X[:9], y[:9], clf=clf)


def test_a_saved_notebook_shows_a_picture_and_a_sentence(noisy, monkeypatch):
    pytest.importorskip("anywidget")
    clf, X, y = noisy
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda data, **how: shown.append(data))
    player = rb.widget(X, y, clf=clf)
    player._ipython_display_()
    still, live = shown
    assert "application/vnd.jupyter.widget-view+json" in live
    sentence = f"{clf.n_mistakes_} mistakes on {len(y)} examples"
    assert live["text/plain"] == sentence
    assert f'class="{player.mark}"' in still["text/html"]
    assert f'alt="{sentence}"' in still["text/html"]
    picture = ElementTree.fromstring(still["image/svg+xml"])
    paths = picture.findall("{*}path")
    colors = browser.light_colors()
    assert [path.get("fill") for path in paths[:2]] == [colors["no-area"], colors["yes-area"]]
    drawn = [path.get("d").count("M") for path in paths[2:]]
    assert drawn == [1, *(sum(y == label) for label in clf.classes_)]


def test_without_anywidget_the_extra_is_named(separable, monkeypatch):
    browser._widget_class.cache_clear()
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with refuses(ImportError, "rosenblatt[widget]"):
        rb.widget(*separable[1:])


def test_the_style_of_a_widget_affects_nothing_else():
    assert ":root" not in browser.widget_style()
    assert "body" not in browser.widget_style()


# As JupyterLab does it: styles for elements that the player has too.
HOST = """<!doctype html><meta charset="utf-8">
<style>dt { float: left; width: 20%%; } button { width: 100%%; } * { line-height: 4; }</style>
<div id="cell"></div>
<script type="module">
const module = await import("data:text/javascript;base64," + "%s");
const heard = {};
window.model = {
  state: { _style: %s, story: %s, t: 0, mark: "still" },
  get(name) { return this.state[name]; },
  set(name, value) { this.state[name] = value; },
  save_changes() { window.saved = this.state.t; },
  on(name, call) { (heard[name] ||= []).push(call); },
  off(name, call) { heard[name] = heard[name].filter((other) => other !== call); },
  change(name, value) { this.state[name] = value; heard["change:" + name].forEach((c) => c()); },
};
window.left = module.default.render({ model: window.model, el: document.getElementById("cell") });
</script>"""


@pytest.mark.slow_without_jit
def test_a_widget_shows_t_and_reports_changes_in_a_browser(noisy, page, tmp_path):
    """The widget works with the model that notebooks pass to `render`."""
    pytest.importorskip("anywidget")
    import base64

    clf, X, y = noisy
    player = rb.widget(X, y, clf=clf)
    module = base64.b64encode(player._esm.encode()).decode()
    host = HOST % (module, json.dumps(player._style), json.dumps(player.story))
    (tmp_path / "host.html").write_text(host, encoding="utf-8")
    messages, _ = watched(page)
    page.goto((tmp_path / "host.html").as_uri())
    page.get_by_label("Step: make one update").click()
    page.wait_for_function("window.saved === 1")
    page.evaluate("window.model.change('t', 7)")
    shown = json.loads(page.locator(".rb-sum").get_attribute("data-exact"))
    assert shown == clf.trace_.weights(7).tolist()
    page.keyboard.press("Tab")
    for key, t in (("ArrowRight", 8), ("ArrowLeft", 7), ("End", 60), ("Home", 0)):
        page.locator("#cell .rb-player").press(key)
        page.wait_for_function(f"window.saved === {t}")
    assert page.locator("dt").first.evaluate("e => getComputedStyle(e).float") == "none"
    assert page.locator(".rb-step").evaluate("e => e.offsetWidth") < 120
    page.evaluate("window.left()")
    assert page.locator("#cell button").count() == 0
    assert messages == []


def test_the_widget_is_one_module_without_imports():
    script = browser.widget_script()
    assert "\nimport " not in script
    assert script.count("export ") == 1
    assert "</script" not in script
    assert np.char.count(script, "mountPlayer(") >= 2
