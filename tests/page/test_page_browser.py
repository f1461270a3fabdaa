"""The page in a real browser: everything a person does with it, and what it never does."""

import csv
import io
import json
import xml.etree.ElementTree as ElementTree

import pytest

import rosenblatt as rb

pytestmark = pytest.mark.slow_without_jit

POCKET = (
    "#data=noisy&algorithm=pocket&order=random&chance=3&eta=0.3&start=0.5,-1,0.25&corrections=80"
)


def test_examples_are_added_by_clicking_and_learnt_from_at_once(opened):
    screen = opened()
    with screen.learning():
        screen.page.get_by_role("button", name="Take all examples away").click()
    assert screen.points == []
    with screen.learning():
        screen.click(0.5, 0.5)
    assert "add one of the other kind" in screen.page.locator(".rb-lead").inner_text()
    screen.page.keyboard.press("x")
    with screen.learning():
        screen.click(-0.5, -0.25)
    with screen.learning():
        screen.click(0.1, -0.5, modifiers=["Shift"])  # shift: the other kind
    (x1, y1, one), (x2, y2, two), (_, _, three) = screen.points
    assert (one, two, three) == (1, -1, 1)
    assert (x1, y1, x2, y2) == pytest.approx((0.5, 0.5, -0.5, -0.25), abs=0.01)
    assert screen.page.locator(".rb-verdict h2").inner_text() == "Separable"
    assert screen.fact("mistakes") == "3"


def test_examples_are_moved_erased_and_brought_back(opened):
    screen = opened("#points=o0.5,0.5x-0.5,-0.5x0,-0.5")
    box = screen.page.locator(".rb-plane").bounding_box()
    begin, end = screen.place(0.5, 0.5), screen.place(-0.3, 0.2)
    mouse = screen.page.mouse
    with screen.learning():
        mouse.move(box["x"] + begin["x"], box["y"] + begin["y"])
        mouse.down()
        mouse.move(box["x"] + end["x"], box["y"] + end["y"], steps=4)
        mouse.up()
    screen.until("() => !window.rosenblatt.asking")
    assert screen.points[0] == pytest.approx([-0.3, 0.2, 1], abs=0.01)
    screen.page.get_by_role("button", name="Erase examples").click()
    with screen.learning():
        screen.click(0, -0.5)
    assert len(screen.points) == 2
    for count in (3, 3):
        with screen.learning():
            screen.page.get_by_role("button", name="Undo").click()
        assert len(screen.points) == count
    assert screen.points[0] == [0.5, 0.5, 1]


def test_step_play_pause_and_rewind(opened):
    screen = opened()
    page = screen.page
    total = screen.ask("() => window.rosenblatt.player.story.T")
    assert total > 5
    assert int(screen.fact("bound").replace(",", "")) >= total  # shown before the first step
    page.get_by_role("button", name="Step: make one correction").click()
    assert (screen.t, screen.fact("t")) == (1, "1")
    assert "Correction 1" in page.locator(".rb-lead").inner_text()
    page.get_by_label("Speed, corrections a second").select_option("20")
    page.get_by_role("button", name="Play", exact=True).click()
    screen.until("() => window.rosenblatt.player.t >= 3")
    if screen.ask("() => window.rosenblatt.player.playing"):
        page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Play", exact=True).click()
    screen.until("() => !window.rosenblatt.player.playing")
    assert screen.t == total
    assert screen.fact("mistakes") == "0"
    assert "found no mistake" in page.locator(".rb-lead").inner_text()
    page.get_by_label("Correction t").fill("4")
    assert screen.t == 4
    assert page.get_by_label("Correction t").get_attribute("aria-valuetext").startswith("t = 4 of")
    page.get_by_role("button", name="One correction back").click()
    assert screen.t == 3
    page.get_by_role("button", name="Back to the start").click()
    assert screen.t == 0


def test_every_correction_has_its_mark_on_the_slider(opened):
    screen = opened()
    marks, total = screen.ask("""() => {
      const { player } = window.rosenblatt;
      const { canvas, ratio } = player.sheets.marks;
      const row = Math.round(0.5 * canvas.height);
      const pixels = canvas.getContext("2d").getImageData(0, row, canvas.width, 1).data;
      let marks = 0;
      for (let x = 1; x < canvas.width; x++) {
        if (pixels[4 * x + 3] > 0 && pixels[4 * x - 1] === 0) marks += 1;
      }
      return [marks, player.story.T];
    }""")
    assert marks == total


@pytest.mark.parametrize("hash", ["#data=separable", POCKET, "#data=noisy&algorithm=online"])
def test_every_t_shows_the_weights_of_the_trace(opened, hash):
    screen = opened(hash)
    shown = screen.ask("""() => {
      const { player } = window.rosenblatt;
      const slider = document.querySelector("input[type=range]");
      const rows = [];
      for (let t = 0; t <= player.story.T; t++) {
        slider.value = String(t);
        slider.dispatchEvent(new Event("input"));
        rows.push({
          weights: JSON.parse(document.querySelector(".rb-sum").dataset.exact),
          ringed: player.story.mistaken(t).length,
          mistakes: Number(document.querySelector("[data-fact=mistakes]").textContent),
        });
      }
      return rows;
    }""")
    space = screen.python()
    trace = space["trace"]
    assert len(shown) == len(trace) + 1
    for t, row in enumerate(shown):
        assert row["weights"] == trace.weights(t).tolist()
        assert row["ringed"] == row["mistakes"]


def test_xor_is_refused_a_line_and_the_proof_is_seen(opened):
    screen = opened()
    page = screen.page
    with screen.learning():
        page.get_by_label("Begin with").select_option("xor")
    assert page.locator(".rb-verdict h2").inner_text() == "Inseparable"
    with screen.learning():
        page.get_by_label("Algorithm").select_option("pocket")
    page.get_by_role("button", name="To the last correction").click()
    assert screen.fact("pocket") == "1"
    assert page.get_by_label("Order of visits").input_value() == "random"
    page.get_by_label("Show the proof in the picture").check()
    assert page.locator("[data-multiplier]").all_inner_texts() == ["λ = 1"] * 4
    drawn = screen.exported("Picture (SVG)").decode()
    assert drawn.count("λ = 1") == 4
    assert "in both hulls" in drawn
    assert ">pocket<" in drawn
    assert rb.separability([p[:2] for p in screen.points], [p[2] for p in screen.points]).blocking


def test_the_widest_band_and_the_rows_on_it_are_shown(opened):
    screen = opened("#data=separable&proof=1")
    space = screen.python()
    support = [str(n + 1) for n in space["verdict"].support]
    assert ", ".join(support) in screen.page.locator(".rb-proof").inner_text()
    assert f"at most {screen.fact('bound')} corrections" in repr(space["verdict"])


def test_a_link_reproduces_the_state(opened):
    first = opened(POCKET + "&zero=positive&theme=dark&type=large&speed=5")
    with first.learning():
        first.click(0.31, 0.12)
    first.page.get_by_label("Show the proof in the picture").check()
    first.page.get_by_label("Correction t").fill("17")
    first.page.get_by_role("button", name="Copy a link to exactly this").click()
    link = first.page.url.partition("#")[2]
    second = opened("#" + link)
    state = "() => JSON.stringify(window.rosenblatt.state)"
    assert second.ask(state) == first.ask(state)
    svg = "() => window.rosenblatt.player.svg()"
    assert second.ask(svg) == first.ask(svg)
    assert second.t == 17
    assert "token" not in link


@pytest.mark.parametrize("data", ["credit", "file&x=wide&y=high"])
def test_a_link_to_changed_or_no_examples_keeps_what_they_are_called(opened, data):
    first = opened(f"#data={data}&algorithm=pocket&order=random&t=3")
    with first.learning():
        first.page.locator(".rb-plane").click(position={"x": 100, "y": 100})
    first.until("() => location.hash.includes('points=')")
    second = opened("#" + first.page.url.partition("#")[2])
    svg = "() => window.rosenblatt.player.svg()"
    assert second.ask(svg) == first.ask(svg)
    with second.learning():
        second.page.get_by_role("button", name="Take all examples away").click()
    second.until("() => location.hash.includes('points=none')")
    assert opened("#" + second.page.url.partition("#")[2]).points == []
    with second.learning():
        second.page.get_by_role("button", name="Undo").click()
    assert second.points == first.points


def test_a_link_that_says_nonsense_is_taken_as_usual(opened):
    screen = opened("#algorithm=magic&eta=-&points=o1,x&start=1&t=99999&data=separable&%%%=&x")
    assert screen.ask("() => window.rosenblatt.state.algorithm") == "pla"
    assert screen.ask("() => window.rosenblatt.state.eta") == 1


def test_exports_are_whole(opened):
    screen = opened("#data=separable&t=3")
    png = screen.exported("Picture (PNG)")
    assert png.startswith(b"\x89PNG")
    assert len(png) > 10_000
    svg = ElementTree.fromstring(screen.exported("Picture (SVG)"))
    assert svg.find("{http://www.w3.org/2000/svg}title").text.endswith("mistakes")
    rows = list(csv.reader(io.StringIO(screen.exported("Examples (CSV)").decode())))
    assert rows[0] == ["x1", "x2", "answer"]
    assert [[float(a), float(b), int(c)] for a, b, c in rows[1:]] == screen.points


def test_the_keyboard_is_enough(opened):
    screen = opened("#points=o0.5,0.5x-0.5,-0.5")
    page = screen.page
    for _ in range(40):
        page.keyboard.press("Tab")
        if screen.ask("() => document.activeElement.className") == "rb-plane":
            break
    assert screen.ask("() => document.activeElement.getAttribute('role')") == "application"
    page.keyboard.press("x")
    for _ in range(5):
        page.keyboard.press("ArrowLeft")
    with screen.learning():
        page.keyboard.press("Enter")
    x, y, answer = screen.points[2]
    assert x < 0 and abs(y) < 0.01 and answer == -1  # noqa: PT018
    page.keyboard.press("m")
    page.keyboard.press("Enter")
    page.keyboard.press("Shift+ArrowUp")
    with screen.learning():
        page.keyboard.press("Enter")
    screen.until("() => !window.rosenblatt.asking")
    assert screen.points[2][1] > 0.1
    with screen.learning():
        page.keyboard.press("Delete")
    assert len(screen.points) == 2
    page.keyboard.press("Tab")
    page.keyboard.press("Home")
    assert screen.t == 0
    page.keyboard.press("ArrowRight")
    assert screen.t == 1
    page.keyboard.press("ArrowLeft")
    assert screen.t == 0
    page.keyboard.press("l")
    assert screen.ask("() => document.documentElement.classList.contains('rb-large')")


@pytest.mark.parametrize("width", [390, 768, 1920])
@pytest.mark.parametrize("large", ["normal", "large"])
def test_it_fits_from_phone_to_projector(opened, width, large):
    height = 844 if width == 390 else 1080
    hash = f"#data=noisy&algorithm=pocket&order=random&proof=1&t=5&tour=4&type={large}"
    screen = opened(hash, viewport={"width": width, "height": height})
    assert screen.ask("() => document.documentElement.scrollWidth") == width
    box = screen.page.locator(".rb-plane").bounding_box()
    assert box["width"] >= min(0.4 * width, 600)
    assert box["height"] >= 280
    small = screen.ask("""() => [...document.querySelectorAll("button, select, summary")]
      .filter((e) => e.offsetParent && (e.offsetHeight < 24 || e.offsetWidth < 24))
      .map((e) => e.textContent)""")
    assert small == []
    if large == "large":
        size = screen.ask("() => parseFloat(getComputedStyle(document.body).fontSize)")
        assert size == 24


def test_the_tour_has_the_four_steps_of_the_lecture(opened):
    screen = opened()
    page = screen.page
    with screen.learning():
        page.get_by_role("button", name="A tour in four steps").click()
    titles = []
    for step in range(4):
        page.locator("#tour h2").wait_for()
        titles.append(page.locator("#tour h2").inner_text())
        assert screen.ask("() => document.activeElement.tagName") == "H2" or step
        assert page.locator(".rb-spot").count() == 1
        if step < 3:
            with screen.learning():
                page.get_by_role("button", name="Next").click()
    words = ["hypothesis", "correction", "guarantee", "pocket"]
    assert [title.split()[-1] for title in titles] == words
    assert page.get_by_label("Algorithm").input_value() == "pocket"
    page.get_by_role("button", name="End the tour").click()
    assert not page.locator("#tour").is_visible()


def test_own_data_by_two_columns_or_projected(opened):
    screen = opened("")
    page = screen.page
    assert page.get_by_label("Begin with").input_value() == "file"
    assert screen.points[:2] == [[0, 0, -1], [1, 5, -1]]
    with screen.learning():
        page.get_by_label("Across").select_option("high")
    assert screen.points[1] == [3, 5, -1]
    with screen.learning():
        page.get_by_label("Across").select_option("*")
    assert "Learnt in all 3 features" in page.locator("#settings").inner_text()
    assert page.get_by_role("button", name="Add circles: key o").is_disabled()
    space = screen.python()
    page.get_by_role("button", name="To the last correction").click()
    exact = json.loads(page.locator(".rb-sum").get_attribute("data-exact"))
    assert exact == space["trace"].weights(len(space["trace"])).tolist()
    assert len(exact) == 4


def test_settings_reach_the_algorithm(opened):
    screen = opened()
    page = screen.page
    with screen.learning():
        page.get_by_label("Order of visits").select_option("first")
    with screen.learning():
        page.get_by_label("η, length of a correction").fill("0.5")
        page.keyboard.press("Enter")
    with screen.learning():
        page.get_by_label("sign(0) is").select_option("negative")
    with screen.learning():
        page.get_by_label("w1 at the start").fill("2")
        page.keyboard.press("Enter")
    page.get_by_label("Correction t").fill("3")
    story = "() => window.rosenblatt.player.story.json"
    told = screen.ask(story)
    assert (told["order"], told["eta"], told["zero"]) == ("first", 0.5, -1)
    assert told["start"] == [0, 2, 0]
    exact = json.loads(page.locator(".rb-sum").get_attribute("data-exact"))
    assert exact == screen.python()["trace"].weights(3).tolist()
