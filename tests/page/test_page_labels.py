"""Three to five labels on the page are drawn, trained, linked and exported."""

import csv
import io

import numpy as np
import pytest
from test_page_access import LOOKS

import rosenblatt as rb

pytestmark = pytest.mark.slow_without_jit

FIVE = "#points=x-0.7,-0.7o0.7,-0.6t0.1,0.8s-0.8,0.5d0.75,0.55d0.6,0.7"


def test_each_label_has_a_key_and_a_button(opened):
    screen = opened("#points=none")
    places = [(-0.7, -0.7), (0.7, -0.6), (0.1, 0.8), (-0.8, 0.5), (0.75, 0.55)]
    for k, place in enumerate(places):
        screen.page.keyboard.press(str(k + 1))
        with screen.training():
            screen.click(*place)
    assert [point[2] for point in screen.points] == [-1, 1, 2, 3, 4]
    screen.page.get_by_role("button", name="Add triangles, a third label: key 3").click()
    with screen.training():
        screen.click(0.2, 0.9)
    assert "Triangle added at" in screen.page.locator("#note").inner_text()
    story = screen.ask("() => window.rosenblatt.player.story.json")
    assert story["labels"] == ["×", "○", "△", "□", "◆"]
    assert story["targets"] == [0, 1, 2, 3, 4, 2]
    assert screen.page.locator(".rb-verdict h2").inner_text() == "Separable"


def test_absent_labels_are_not_trained(opened):
    two = opened("#points=t0.5,0.5d-0.5,-0.5d0.1,-0.4")
    story = two.ask("() => window.rosenblatt.player.story.json")
    assert (story["labels"], story["targets"]) == (["△", "◆"], [-1, 1, 1])
    drawn = two.exported("Picture (SVG)").decode()
    assert "△" in drawn
    assert "◆" in drawn
    assert "×" not in drawn


def test_step_and_rewind_show_the_competing_class(opened):
    screen = opened("#data=three&seed=2")
    page = screen.page
    total = screen.ask("() => window.rosenblatt.player.story.T")
    page.get_by_role("button", name="Step: make one update").click()
    lead = page.locator(".rb-lead").inner_text()
    assert "did not score above" in lead
    page.keyboard.press("End")
    if screen.t < total:
        page.get_by_role("slider").press("End")
    assert screen.fact("mistakes") == "0"
    bound = int(screen.fact("bound").replace(",", ""))
    assert total <= bound
    page.keyboard.press("Home")
    assert screen.t == 0
    X, y = np.array(screen.points)[:, :2], np.array(screen.points)[:, 2]
    assert bound == int(rb.separability(X, y).bound * (1 + 1e-12))


def test_a_link_holds_all_labels_and_the_python_lines_make_the_same_run(opened):
    rule = "&algorithm=pocket&order=random&random_state=5&eta=0.3&max_updates=40&tool=s"
    start = ",".join(map(str, np.linspace(-1, 1, 15).round(2)))
    first = opened(FIVE + rule + f"&start={start}&t=3")
    first.until("() => location.hash.includes('t=3')")
    link = first.ask("() => window.rosenblatt.writeAddress()")
    second = opened("#" + link.partition("#")[2])
    state = "() => JSON.stringify([window.rosenblatt.points, window.rosenblatt.state])"
    assert second.ask(state) == first.ask(state)
    trace = second.python()["trace"]
    story = second.ask(
        "() => { const { rows, rivals, weights } = window.rosenblatt.player.story.json;"
        " return [rows, rivals, Array.from(weights)]; }"
    )
    assert story[0] == trace.examples.tolist()
    assert story[1] == trace.rivals.tolist()
    W = np.array([trace.weights(t) for t in range(len(trace) + 1)])
    assert story[2] == W.ravel().tolist()
    assert trace.weights(0).ravel().tolist() == np.linspace(-1, 1, 15).round(2).tolist()


def test_online_the_python_lines_make_the_same_run(opened):
    for start in ("", "&start=" + ",".join(["0.5", "-1", "0.25"] * 5)):
        screen = opened(FIVE + "&algorithm=online" + start)
        trace = screen.python()["trace"]
        rows = screen.ask("() => window.rosenblatt.player.story.json.rows")
        assert rows == trace.examples.tolist()


def test_a_file_with_three_labels_is_opened_and_exported(opened):
    screen = opened()
    rows = "".join(f"{i % 5},{i % 3 * 2},{'abc'[i % 3]}\n" for i in range(12))
    with screen.training():
        screen.page.get_by_label("Open a file").set_input_files(
            {"name": "k.csv", "mimeType": "text/csv", "buffer": b"u,v,kind\n" + rows.encode()}
        )
    assert screen.points[:3] == [[0, 0, -1], [1, 2, 1], [2, 4, 2]]
    drawn = screen.exported("Picture (SVG)").decode()
    assert all(f"{sign} {name}" in drawn for sign, name in zip("×○△", "abc", strict=True))
    across = screen.page.get_by_label("Horizontal axis").locator("option")
    assert across.all_inner_texts() == ["u", "v"]
    found = list(csv.reader(io.StringIO(screen.exported("Examples (CSV)").decode())))
    assert [row[2] for row in found[1:4]] == ["a", "b", "c"]


def test_a_conflict_is_named_with_its_competing_classes(opened):
    screen = opened("#points=x0,0o1,0x2,0t0.5,1&proof=1")
    verdict = screen.page.locator(".rb-verdict")
    assert verdict.locator("h2").inner_text() == "Quasi-separable"
    shown = verdict.locator("table").inner_text()
    assert "○ example 2 against ×" in shown
    shares = screen.ask("() => window.rosenblatt.player.story.verdict.shares")
    assert sum(shares) == pytest.approx(1)
    found = rb.separability([[0, 0], [1, 0], [2, 0], [0.5, 1]], [0, 1, 0, 2])
    assert found.verdict == "quasi-separable"


@pytest.mark.parametrize("look", LOOKS)
def test_every_appearance_fits_five_labels(opened, look):
    more = "&type=large" if look == "large" else ""
    screen = opened(FIVE + "&t=4&proof=1" + more, **LOOKS[look])
    wide = "() => document.documentElement.scrollWidth <= window.innerWidth"
    assert screen.ask(wide)
    label = screen.page.locator(".rb-plane").get_attribute("aria-label")
    assert label.startswith("1 cross, 1 circle, 1 triangle, 1 square and 2 diamonds; t = 4")
