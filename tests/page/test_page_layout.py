"""On projectors and in notebooks, picture, buttons and text fit on one screen."""

import base64
import json
import xml.etree.ElementTree as ElementTree

import pytest

import rosenblatt as rb

pytestmark = pytest.mark.slow_without_jit

PROJECTOR = {"width": 1280, "height": 720}
TABLET = {"width": 1024, "height": 768}
PHONE = {"width": 390, "height": 844}
BOX = """selector => {
  const { left, right, top, bottom } = document.querySelector(selector).getBoundingClientRect();
  return { left, right, top, bottom };
}"""


def box(page, selector):
    return page.evaluate(BOX, selector)


def overlap(one, other):
    across = min(one["right"], other["right"]) > max(one["left"], other["left"])
    return across and min(one["bottom"], other["bottom"]) > max(one["top"], other["top"])


@pytest.mark.parametrize("size", ["normal", "large"])
def test_every_step_of_the_tour_keeps_the_picture_in_view(opened, size):
    screen = opened(f"#data=separable&type={size}", viewport=PROJECTOR)
    with screen.training():
        screen.page.get_by_role("button", name="A tour in four steps").click()
    for step in range(1, 5):
        screen.page.get_by_role("heading", name=f"{step}. ").wait_for()
        tour, plane = box(screen.page, "#tour"), box(screen.page, ".rb-plane")
        tools = box(screen.page, ".toolbar")
        assert tour["bottom"] <= tools["top"] < tools["bottom"] <= plane["top"], step
        assert plane["bottom"] - plane["top"] >= 200, step
        for part in (".rb-plane", ".rb-step", ".rb-play"):
            assert box(screen.page, part)["bottom"] <= PROJECTOR["height"], (step, part)
        spot = box(screen.page, ".rb-spot")
        assert tour["bottom"] <= spot["top"] <= PROJECTOR["height"] - 100, step
        if step < 4:
            with screen.training():
                screen.page.get_by_role("button", name="Next").click()


def test_the_picture_stays_in_view_while_the_charts_are_read(opened):
    screen = opened(viewport=PROJECTOR)
    screen.ask(
        "() => document.querySelector('figure.rb-mistakes').scrollIntoView({ block: 'end' })"
    )
    plane = box(screen.page, ".rb-plane")
    assert plane["top"] >= 0
    assert box(screen.page, ".rb-play")["bottom"] <= PROJECTOR["height"]


@pytest.mark.parametrize("width", [720, 900, 1100])
def test_beside_the_panels_the_picture_is_wide_enough(opened, width):
    screen = opened(viewport={"width": width, "height": 1000})
    plane, side = box(screen.page, ".rb-plane"), box(screen.page, ".rb-side")
    assert plane["right"] <= side["left"]
    assert plane["right"] - plane["left"] > 0.5 * width
    assert 0.8 < (plane["right"] - plane["left"]) / (plane["bottom"] - plane["top"]) < 1.7


@pytest.mark.parametrize(
    ("viewport", "size"), [(PROJECTOR, "large"), (TABLET, "normal"), (PHONE, "normal")]
)
def test_data_set_and_algorithm_are_at_the_top(opened, viewport, size):
    screen = opened(f"#data=separable&type={size}", viewport=viewport)
    for label, choice in (("Data set", "noisy"), ("Algorithm", "pocket")):
        field = screen.page.get_by_label(label)
        place = field.bounding_box()
        assert place["y"] + place["height"] <= viewport["height"] / 4
        with screen.training():
            field.select_option(choice)
    state = screen.ask("() => window.rosenblatt.state")
    assert (state["data"], state["algorithm"]) == ("noisy", "pocket")
    assert screen.ask("() => document.documentElement.scrollWidth") == viewport["width"]


def test_the_choices_return_to_the_settings_in_normal_type(opened):
    screen = opened("#type=large", viewport=PROJECTOR)
    screen.page.get_by_role("button", name="Large type").click()
    assert screen.page.locator("#choices select").count() == 0
    labels = screen.page.locator("#settings label > span").all_inner_texts()
    assert labels.index("Data set") < labels.index("Algorithm") < labels.index("Order of visits")


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("size", ["normal", "large"])
def test_a_message_does_not_cover_play(opened, width, size):
    screen = opened(f"#type={size}", viewport={"width": width, "height": 720})
    screen.page.locator(".rb-play").scroll_into_view_if_needed()
    screen.ask("() => window.rosenblatt.note('Cross added at -0.125, 0.25, on another.')")
    note = box(screen.page, "#note")
    assert note["bottom"] > note["top"]
    for part in (".rb-play", ".rb-step"):
        assert not overlap(note, box(screen.page, part))


def drawn(screen, size=600):
    """Return the shapes and texts of the SVG picture, in the order of drawing."""
    svg = screen.page.evaluate("size => window.rosenblatt.player.svg(size, size)", size)
    return list(ElementTree.fromstring(svg))


def test_the_names_of_w_and_the_pocket_cover_no_example(opened):
    for seed in range(1, 5):
        screen = opened(f"#data=noisy&algorithm=pocket&order=random&max_updates=60&seed={seed}")
        for t in range(1, 61, 4):
            screen.ask(f"() => window.rosenblatt.player.show({t})")
            places = screen.ask("""() => {
              const { player } = window.rosenblatt;
              const frame = player.makeFrame(600, 600);
              return player.story.points.map((point) => frame.at(point));
            }""")
            for text in drawn(screen):
                if text.text not in ("w", "pocket"):
                    continue
                x, y, size = (float(text.get(name)) for name in ("x", "y", "font-size"))
                width = 0.58 * size * len(text.text)
                left = x - {"start": 0, "middle": width / 2, "end": width}[text.get("text-anchor")]
                covered = [
                    n
                    for n, (px, py) in enumerate(places)
                    if left - 6 < px < left + width + 6 and y - size < py < y + 6
                ]
                assert covered == [], (seed, t, text.text)


def test_the_legend_covers_no_example_in_a_corner(opened):
    screen = opened()
    rows = b"0,0,no\n0,1,no\n1,0,no\n1,1,yes\n"
    with screen.training():
        screen.page.get_by_label("Open a file").set_input_files(
            {"name": "and.csv", "mimeType": "text/csv", "buffer": b"a,b,label\n" + rows}
        )
    texts = [shape for shape in drawn(screen, 330) if shape.text in ("○ yes", "× no")]
    assert len(texts) == 2
    places = screen.ask("""() => {
      const { player } = window.rosenblatt;
      const frame = player.makeFrame(330, 330);
      return player.story.points.map((point) => frame.at(point));
    }""")
    for text in texts:
        x, y, size = (float(text.get(name)) for name in ("x", "y", "font-size"))
        left = x - 0.6 * size * len(text.text)
        covered = [p for p in places if left - 6 < p[0] < x + 6 and y - size < p[1] < y + 6]
        assert covered == [], text.text


def test_examples_of_all_labels_are_visible_where_they_overlap(opened):
    """Check that no fill covers an outline."""
    screen = opened("#points=x0.3,0.3o0.3,0.3t0.31,0.3s0.3,0.31d0.29,0.3x-0.5,0.1t0.5,-0.5")
    fills, outlines = [], []
    colors = screen.ask("""() => ["yes", "no", "third", "fourth", "fifth"].map(
      (name) => window.rosenblatt.player.palette[name])""")
    paper = screen.ask("() => window.rosenblatt.player.palette.paper")
    for place, shape in enumerate(drawn(screen)):
        if shape.get("fill") in (paper, colors[-1]) and shape.tag.endswith(("circle", "path")):
            fills.append(place)
        if shape.get("stroke") in colors:
            outlines.append(place)
    assert len(outlines) >= 5
    assert max(fills) < min(outlines)


def test_own_data_fill_the_picture(opened):
    screen = opened("")  # the page with a file in it
    assert screen.ask("() => window.rosenblatt.state.data") == "file"
    rows = "".join(f"{i / 100},{i % 5 / 90},{'no' if i < 5 else 'yes'}\n" for i in range(10))
    small = f"a,b,label\n{rows}"
    with screen.training():
        screen.page.get_by_label("Open a file").set_input_files(
            {"name": "small.csv", "mimeType": "text/csv", "buffer": small.encode()}
        )
    spans = screen.ask("""() => {
      const { frame, story } = window.rosenblatt.player;
      return [0, 1].map((j) => {
        const places = story.points.map((point) => frame.at(point)[j]);
        return (Math.max(...places) - Math.min(...places)) / [frame.width, frame.height][j];
      });
    }""")
    assert all(0.75 < span < 0.9 for span in spans)


def test_quasi_separable_with_three_labels_names_the_overlapping_ones(opened):
    # A cross and a triangle share a place; the circles are far from both.
    screen = opened("#points=x0,0x-0.2,0.1t0,0t0.2,0.1o0,-0.9o0.1,-0.8")
    assert screen.page.locator(".rb-verdict h2").inner_text() == "Quasi-separable"
    bound = screen.page.locator(".rb-bound").inner_text()
    assert "× and △" in bound
    assert "○" not in bound


WIDGET = """
window.model = {{
  values: {{ story: {story}, t: 3, mark: "still", _style: {style} }},
  get(name) {{ return this.values[name]; }},
  set() {{}}, on() {{}}, off() {{}}, save_changes() {{}},
}};
const module = await import("data:text/javascript;base64,{module}");
module.default.render({{ model: window.model, el: document.getElementById("cell") }});
"""


@pytest.mark.parametrize(("width", "height"), [(900, 720), (900, 900), (1400, 900)])
def test_the_widget_shows_picture_step_and_weights_together(browser, width, height):
    player = rb.widget([[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "no", "no", "yes"])
    context = browser.new_context(viewport={"width": width, "height": height})
    page = context.new_page()
    page.set_content("<!doctype html><body style='margin: 0'><div id='cell'></div>")
    script = WIDGET.format(
        story=json.dumps(player.story),
        style=json.dumps(player._style),
        module=base64.b64encode(player._esm.encode()).decode(),
    )
    page.add_script_tag(type="module", content=script)
    page.locator(".rb-sum").wait_for()
    places = {
        part: page.locator(part).bounding_box() for part in (".rb-plane", ".rb-step", ".rb-sum")
    }
    for part, place in places.items():
        assert place["y"] + place["height"] <= 0.85 * height, part  # the rest is the cell's code
        assert place["x"] + place["width"] <= width, part
    assert places[".rb-plane"]["height"] >= 300
    context.close()
