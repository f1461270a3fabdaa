"""The page in a browser: everything that a user can do with it."""

import csv
import io
import json
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import rosenblatt as rb
from rosenblatt.evidence.proof import Proof
from rosenblatt.read import Layout, Source
from rosenblatt.read.data import read_data
from rosenblatt.read.plan import ColumnOptions

pytestmark = pytest.mark.slow_without_jit

POCKET = (
    "#data=noisy&algorithm=pocket&order=random&random_state=3"
    "&eta=0.3&start=0.5,-1,0.25&max_updates=80"
)


def test_clicking_adds_examples_and_trains_at_once(opened):
    screen = opened()
    with screen.training():
        screen.page.get_by_role("button", name="Remove all examples").click()
    assert screen.points == []
    with screen.training():
        screen.click(0.5, 0.5)
    assert "needs two labels" in screen.page.locator(".rb-lead").inner_text()
    screen.page.keyboard.press("x")
    with screen.training():
        screen.click(-0.5, -0.25)
    with screen.training():
        screen.click(0.1, -0.5, modifiers=["Shift"])  # shift: the other kind
    (x1, y1, one), (x2, y2, two), (_, _, three) = screen.points
    assert (one, two, three) == (1, -1, 1)
    assert (x1, y1, x2, y2) == pytest.approx((0.5, 0.5, -0.5, -0.25), abs=0.01)
    assert screen.page.locator(".rb-verdict h2").inner_text() == "Separable"
    assert screen.fact("mistakes") == "3"


def test_examples_can_be_moved_erased_and_restored(opened):
    screen = opened("#points=o0.5,0.5x-0.5,-0.5x0,-0.5")
    box = screen.page.locator(".rb-plane").bounding_box()
    begin, end = screen.place(0.5, 0.5), screen.place(-0.3, 0.2)
    mouse = screen.page.mouse
    with screen.training():
        mouse.move(box["x"] + begin["x"], box["y"] + begin["y"])
        mouse.down()
        mouse.move(box["x"] + end["x"], box["y"] + end["y"], steps=4)
        mouse.up()
    screen.until("() => !window.rosenblatt.training")
    assert screen.points[0] == pytest.approx([-0.3, 0.2, 1], abs=0.01)
    screen.page.get_by_role("button", name="Erase examples").click()
    with screen.training():
        screen.click(0, -0.5)
    assert len(screen.points) == 2
    for count in (3, 3):
        with screen.training():
            screen.page.get_by_role("button", name="Undo").click()
        assert len(screen.points) == count
    assert screen.points[0] == [0.5, 0.5, 1]


def test_step_play_pause_and_rewind(opened):
    screen = opened()
    page = screen.page
    total = screen.ask("() => window.rosenblatt.player.story.T")
    assert total > 5
    assert int(screen.fact("bound").replace(",", "")) >= total  # shown before the first step
    page.get_by_role("button", name="Step: make one update").click()
    assert (screen.t, screen.fact("t")) == (1, "1")
    assert "Update 1" in page.locator(".rb-lead").inner_text()
    page.get_by_label("Speed, updates per second").select_option("20")
    page.get_by_role("button", name="Play", exact=True).click()
    screen.until("() => window.rosenblatt.player.t >= 3")
    if screen.ask("() => window.rosenblatt.player.playing"):
        page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Play", exact=True).click()
    screen.until("() => !window.rosenblatt.player.playing")
    assert screen.t == total
    assert screen.fact("mistakes") == "0"
    assert "made no mistake" in page.locator(".rb-lead").inner_text()
    page.get_by_label("Update t").fill("4")
    assert screen.t == 4
    assert page.get_by_label("Update t").get_attribute("aria-valuetext").startswith("t = 4 of")
    page.get_by_role("button", name="One update back").click()
    assert screen.t == 3
    page.get_by_role("button", name="Back to the start").click()
    assert screen.t == 0


def test_a_frame_that_started_before_play_does_not_step_back(opened):
    # On a busy machine a frame has an earlier time than the click that asked for it.
    screen = opened()
    screen.ask("""() => {
      const { requestAnimationFrame } = window;
      window.requestAnimationFrame = (draw) => requestAnimationFrame((now) => draw(now - 100));
    }""")
    screen.page.get_by_role("button", name="Play", exact=True).click()
    screen.until("() => window.rosenblatt.player.t >= 1")
    assert screen.troubles == []


def test_every_update_has_its_mark_on_the_slider(opened):
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
          ringed: player.story.mistakesAt(t).length,
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


def test_xor_is_not_separable_and_the_proof_is_visible(opened):
    screen = opened()
    page = screen.page
    with screen.training():
        page.get_by_label("Data set").select_option("xor")
    assert page.locator(".rb-verdict h2").inner_text() == "Inseparable"
    with screen.training():
        page.get_by_label("Algorithm").select_option("pocket")
    page.get_by_role("button", name="To the last update").click()
    assert screen.fact("pocket") == "1"
    assert page.get_by_label("Order of visits").input_value() == "random"
    page.get_by_label("Show the proof in the picture").check()
    assert page.locator("[data-multiplier]").all_inner_texts() == ["λ = 0.25"] * 4
    drawn = screen.exported("Picture (SVG)").decode()
    assert drawn.count("λ = 0.25") == 4
    assert "in both hulls" in drawn
    assert ">pocket<" in drawn
    assert rb.separability([p[:2] for p in screen.points], [p[2] for p in screen.points]).conflicts


def test_the_maximum_margin_and_its_rows_are_shown(opened):
    screen = opened("#data=separable&proof=1")
    space = screen.python()
    support = [str(n + 1) for n in space["verdict"].support]
    assert ", ".join(support) in screen.page.locator(".rb-proof").inner_text()
    assert f"{screen.fact('bound')} updates" in repr(space["verdict"])


def test_a_link_reproduces_the_state(opened):
    first = opened(POCKET + "&zero=positive&theme=dark&type=large&speed=5")
    with first.training():
        first.click(0.31, 0.12)
    first.page.get_by_label("Show the proof in the picture").check()
    first.page.get_by_label("Update t").fill("17")
    link = first.ask("() => window.rosenblatt.writeAddress()").partition("#")[2]
    second = opened("#" + link)
    state = "() => JSON.stringify(window.rosenblatt.state)"
    assert second.ask(state) == first.ask(state)
    svg = "() => window.rosenblatt.player.svg()"
    assert second.ask(svg) == first.ask(svg)
    assert second.t == 17
    assert "token" not in link


@pytest.mark.parametrize("data", ["credit", "file&x=wide&y=high"])
def test_a_link_to_changed_or_no_examples_keeps_their_names(opened, data):
    first = opened(f"#data={data}&algorithm=pocket&order=random&t=3")
    with first.training():
        first.page.locator(".rb-plane").click(position={"x": 100, "y": 100})
    first.until("() => /^#z=|points=/.test(location.hash)")
    second = opened("#" + first.page.url.partition("#")[2])
    svg = "() => window.rosenblatt.player.svg()"
    assert second.ask(svg) == first.ask(svg)
    with second.training():
        second.page.get_by_role("button", name="Remove all examples").click()
    second.until("() => location.hash.includes('points=none')")
    assert opened("#" + second.page.url.partition("#")[2]).points == []
    with second.training():
        second.page.get_by_role("button", name="Undo").click()
    assert second.points == first.points


def test_an_invalid_link_opens_the_default(opened):
    screen = opened("#algorithm=magic&eta=-&points=o1,x&start=1&t=99999&data=separable&%%%=&x")
    assert screen.ask("() => window.rosenblatt.state.algorithm") == "pla"
    assert screen.ask("() => window.rosenblatt.state.eta") == 1


def test_an_axis_has_more_than_one_number_whatever_its_size(opened):
    screen = opened("#data=separable&t=3")
    for size in range(350, 950, 50):
        svg = screen.ask(f"() => window.rosenblatt.player.svg({size}, {size})")
        texts = ElementTree.fromstring(svg).findall("{*}text")
        numbers = [one for one in texts if re.fullmatch(r"−?[\d.]+", one.text)]
        across = {one.text for one in numbers if float(one.get("y")) == size - 8}
        up = {one.text for one in numbers if float(one.get("x")) == 8}
        assert min(len(across), len(up)) > 1, size


def test_exports_are_complete(opened):
    screen = opened("#data=separable&t=3")
    png = screen.exported("Picture (PNG)")
    assert png.startswith(b"\x89PNG")
    assert len(png) > 10_000
    svg = ElementTree.fromstring(screen.exported("Picture (SVG)"))
    assert svg.find("{http://www.w3.org/2000/svg}title").text.endswith("mistakes")
    rows = list(csv.reader(io.StringIO(screen.exported("Examples (CSV)").decode())))
    assert rows[0] == ["x1", "x2", "label"]
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
    with screen.training():
        page.keyboard.press("Enter")
    x, y, answer = screen.points[2]
    assert x < 0 and abs(y) < 0.01 and answer == -1  # noqa: PT018
    page.keyboard.press("m")
    page.keyboard.press("Enter")
    page.keyboard.press("Shift+ArrowUp")
    with screen.training():
        page.keyboard.press("Enter")
    screen.until("() => !window.rosenblatt.training")
    assert screen.points[2][1] > 0.1
    with screen.training():
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
    with screen.training():
        page.get_by_role("button", name="A tour in four steps").click()
    titles = []
    for step in range(4):
        page.locator("#tour h2").wait_for()
        titles.append(page.locator("#tour h2").inner_text())
        assert screen.ask("() => document.activeElement.tagName") == "H2" or step
        assert page.locator(".rb-spot").count() == 1
        if step < 3:
            with screen.training():
                page.get_by_role("button", name="Next").click()
    words = ["hypothesis", "update", "guarantee", "pocket"]
    assert [title.split()[-1] for title in titles] == words
    assert page.get_by_label("Algorithm").input_value() == "pocket"
    page.get_by_role("button", name="End the tour").click()
    assert not page.locator("#tour").is_visible()


def test_own_data_show_two_columns_or_a_projection(opened):
    screen = opened("")
    page = screen.page
    assert page.get_by_label("Data set").input_value() == "file"
    assert screen.points[:2] == [[0, 0, -1], [1, 5, -1]]
    with screen.training():
        page.get_by_label("Horizontal axis").select_option("high")
    assert screen.points[1] == [3, 5, -1]
    with screen.training():
        page.get_by_label("Horizontal axis").select_option("*")
    assert "Trained on all 3 features" in page.locator("#settings").inner_text()
    assert page.get_by_role("button", name="Add circles: key o").is_disabled()
    space = screen.python()
    page.get_by_role("button", name="To the last update").click()
    exact = json.loads(page.locator(".rb-sum").get_attribute("data-exact"))
    assert exact == space["trace"].weights(len(space["trace"])).tolist()
    assert len(exact) == 4


def test_a_proof_beyond_the_plane_comes_from_python_and_is_checked(opened, flowers):
    screen = opened("#data=file&x=*&y=*")
    about = screen.page.locator(".rb-about")
    assert about.inner_text() == (
        "About 3 features, 40 rows of flowers.csv. "
        "Python found the proof; this page has checked it again."
    )
    proof = Proof.from_json(screen.exported("Proof").decode())
    data = read_data(Source.find(str(flowers)), Layout(), ColumnOptions())
    assert proof.check_examples(data.examples)
    with screen.training():
        screen.ask(
            "() => { const { own } = window.rosenblatt;"
            "own.verdict = { ...own.verdict, proof: own.verdict.proof.replace('0x', '0x1') };"
            "window.rosenblatt.set({ random_state: 5 }); }"
        )
    assert screen.page.locator(".rb-verdict h2").inner_text() == "Undecided"
    shown = screen.page.locator(".rb-bound").inner_text()
    assert shown.startswith("The proof that came with the data does not hold:")


def test_settings_reach_the_algorithm(opened):
    screen = opened()
    page = screen.page
    with screen.training():
        page.get_by_label("Order of visits").select_option("first")
    with screen.training():
        page.get_by_label("Learning rate η").fill("0.5")
        page.keyboard.press("Enter")
    with screen.training():
        page.get_by_label("sign(0) is").select_option("negative")
    with screen.training():
        page.get_by_label("Initial w1").fill("2")
        page.keyboard.press("Enter")
    page.get_by_label("Update t").fill("3")
    story = "() => window.rosenblatt.player.story.json"
    run = screen.ask(story)
    assert (run["order"], run["eta"], run["zero"]) == ("first", 0.5, -1)
    assert run["start"] == [0, 2, 0]
    exact = json.loads(page.locator(".rb-sum").get_attribute("data-exact"))
    assert exact == screen.python()["trace"].weights(3).tolist()


def test_a_long_state_is_compressed_and_a_longer_one_offered_as_a_file(opened, tmp_path):
    points = "".join(f"{'xo'[i % 2]}{i / 700},{(i * i % 701) / 701}" for i in range(300))
    first = opened(f"#points={points}&algorithm=pocket&order=shuffle&t=40")
    link = first.ask("() => window.rosenblatt.writeAddress()")
    assert "#z=" in link
    assert len(link) < 0.6 * len(points)
    second = opened("#" + link.partition("#")[2])
    state = "() => JSON.stringify(window.rosenblatt.state)"
    assert second.ask(state) == first.ask(state)
    cut = opened("#" + link.partition("#")[2][:-20])
    assert cut.ask("() => window.rosenblatt.state.points") is None
    first.ask("""() => {
      const point = (_, i) => [Math.sin(i), Math.cos(i * i), 1 - 2 * (i % 2)];
      const points = Array.from({ length: 2500 }, point);
      return window.rosenblatt.set({ points, max_updates: 30, t: 9 });
    }""")
    with first.page.expect_download() as download:
        first.page.get_by_role("button", name="Copy a link to the page as it is now").click()
    whole = tmp_path / "whole.html"
    whole.write_bytes(download.value.path().read_bytes())
    assert "too long for a link" in first.page.locator("#note").inner_text()
    third = opened("", page=whole)
    assert third.ask(state) == first.ask(state)
    assert third.t == 9


def test_the_file_works_in_an_iframe_without_a_network(browser, saved, tmp_path):
    slides = tmp_path / "slides.html"
    frame = f'<iframe src="{saved.as_uri()}#data=xor&proof=1" width="900" height="700"></iframe>'
    slides.write_text(f"<!doctype html><title>slides</title>{frame}")
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.goto(slides.as_uri())
    inside = page.frame_locator("iframe")
    inside.locator("body[data-ready]").wait_for()
    assert inside.locator(".rb-verdict h2").inner_text() == "Inseparable"
    inside.locator("[data-fact=fewest]").wait_for()
    inside.get_by_role("button", name="Step: make one update").click()
    assert inside.locator("[data-fact=t]").inner_text() == "1"
    context.close()


def test_the_page_reports_that_no_line_makes_fewer_mistakes(opened):
    screen = opened("#data=noisy&algorithm=pocket&order=random")
    screen.page.locator("[data-fact=fewest]").wait_for()
    points = screen.points
    found = rb.fewest_mistakes([p[:2] for p in points], [p[2] for p in points])
    assert screen.fact("fewest") == f"{found.mistakes} mistakes"
    line = np.array(screen.ask("() => window.rosenblatt.player.story.fewest.line"))
    wrong = [(line @ [1, x, y]) * answer <= 0 for x, y, answer in points]
    assert sum(wrong) == found.mistakes
    screen.page.get_by_label("Show the proof in the picture").check()
    assert ">fewest mistakes<" in screen.exported("Picture (SVG)").decode()
    with screen.training():
        screen.page.get_by_role("button", name="Remove all examples").click()
    assert not screen.page.locator("[data-fact=fewest]").is_visible()


def test_a_proof_from_the_page_is_checked_by_python(opened):
    for data in ("separable", "xor"):
        screen = opened(f"#data={data}")
        text = screen.exported("Proof (JSON)").decode()
        points = screen.points
        assert rb.Proof.from_json(text).check([p[:2] for p in points], [p[2] for p in points])


def test_a_circle_can_lie_on_a_cross_by_click_and_by_numbers(opened):
    screen = opened("#points=o0.5,0.5x-0.5,-0.5")
    with screen.training():
        screen.click(-0.5, -0.5)
    assert screen.points[2] == [-0.5, -0.5, 1]
    assert screen.page.locator(".rb-verdict h2").inner_text() == "Quasi-separable"
    screen.page.keyboard.press("x")
    screen.page.get_by_label("x1 of a new example").fill("0.125")
    screen.page.get_by_label("x2 of a new example").fill("-0.75")
    with screen.training():
        screen.page.get_by_role("button", name="Add", exact=True).click()
    assert screen.points[3] == [0.125, -0.75, -1]


def test_an_invalid_number_is_marked_when_the_field_is_left(opened):
    screen = opened()
    field = screen.page.get_by_label("Maximum number of updates")
    field.fill("0")
    screen.page.keyboard.press("Tab")
    assert field.get_attribute("aria-invalid") == "true"
    assert screen.page.locator(".hint").inner_text() == "a number from 1 to 100,000"
    with screen.training():
        field.fill("12")
        screen.page.keyboard.press("Tab")
    assert field.get_attribute("aria-invalid") == "false"
    assert screen.page.locator(".hint").count() == 0


def test_a_file_can_be_dropped_on_the_page(opened):
    screen = opened()
    drop = """([name, text]) => {
      const data = new DataTransfer();
      data.items.add(new File([text], name));
      document.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true }));
    }"""
    with screen.training():
        text = "a;b;c;sort\n1;2;9;good\n2;3;8;bad\n5;1;7;good\n"
        screen.page.evaluate(drop, ["wine.csv", text])
    assert screen.points == [[1, 2, 1], [2, 3, -1], [5, 1, 1]]
    about = screen.page.locator(".rb-about").inner_text()
    assert about == "About a and b, 3 rows of wine.csv."
    drawn = screen.exported("Picture (SVG)").decode()
    assert "○ good" in drawn and "× bad" in drawn  # noqa: PT018
    with screen.training():
        screen.page.get_by_label("Horizontal axis").select_option("*")
    assert "`rosenblatt watch`" in screen.page.locator(".rb-bound").inner_text()
    with screen.training():
        screen.page.get_by_label("Open a file").set_input_files(
            {"name": "b.csv", "mimeType": "text/csv", "buffer": b"0.5,1,n\n2,3,y\n2.5,4,y\n"}
        )
    assert screen.points == [[0.5, 1, -1], [2, 3, 1], [2.5, 4, 1]]
    screen.page.evaluate(drop, ["bad.csv", "a,b\n1,2\n3,4\n5,6\n"])
    screen.page.get_by_role("alert").filter(has_text="no column with two to five labels").wait_for()


@pytest.mark.parametrize("height", [720, 800])
@pytest.mark.parametrize("size", ["large", "normal"])
@pytest.mark.parametrize("hash", ["#data=xor&proof=1&t=3", "#data=separable&tour=3&proof=1&t=4"])
def test_on_a_projector_picture_step_play_and_verdict_are_one_screen(opened, height, hash, size):
    screen = opened(f"{hash}&type={size}", viewport={"width": 1280, "height": height})
    for part in (".rb-plane", ".rb-step", ".rb-play"):
        box = screen.page.locator(part).bounding_box()
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= height
    assert screen.page.locator(".rb-plane").bounding_box()["height"] >= 150
    bound = screen.page.locator(".rb-bound").bounding_box()
    assert bound["y"] + 40 <= height


def test_messages_move_nothing_and_disappear(opened):
    screen = opened()
    before = screen.page.locator(".rb-plane").bounding_box()
    with screen.training():
        screen.click(0.9, -0.9)
    assert "added at" in screen.page.locator("#note").inner_text()
    assert screen.page.locator(".rb-plane").bounding_box() == before
    screen.until("() => document.getElementById('note').textContent === ''")


def test_at_the_start_nothing_is_ringed_and_a_legend_explains_the_signs(opened):
    screen = opened("#data=separable&t=0")
    drawn = screen.exported("Picture (SVG)").decode()
    assert len(re.findall("<circle[^>]* stroke=", drawn)) == sum(
        point[2] > 0 for point in screen.points
    )
    assert "○ yes, +1" in drawn


def test_the_tour_scrolls_to_the_element_it_describes(opened):
    screen = opened("#data=separable&type=large", viewport={"width": 1280, "height": 720})
    with screen.training():
        screen.page.get_by_role("button", name="A tour in four steps").click()
    for _ in range(3):
        with screen.training():
            screen.page.get_by_role("button", name="Next").click()
        screen.until("""() => {
          const { top } = document.querySelector(".rb-spot").getBoundingClientRect();
          const tour = document.getElementById("tour").getBoundingClientRect();
          return tour.top >= 0 && top >= tour.bottom - 1 && top < window.innerHeight - 60;
        }""")
