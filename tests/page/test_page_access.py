"""The page is accessible: axe-core and our own checks find no problem."""

import importlib.util
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow_without_jit

STATE = "#data=noisy&algorithm=pocket&order=random&max_updates=60&proof=1&t=7&tour=4"
CONTROLS = {"button", "checkbox", "combobox", "slider", "spinbutton", "link", "application",
            "DisclosureTriangle"}  # fmt: skip

CONTRASTS = """() => {
  const parsed = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = parsed(getComputedStyle(e).backgroundColor);
      if (colour.length === 3 || colour[3] > 0.99) return colour;
    }
    return [255, 255, 255];
  };
  const poor = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let seen = 0;
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !element.checkVisibility()) continue;
    if (element.closest("noscript, .skip, :disabled, option")) continue;
    const [a, b] = [light(parsed(getComputedStyle(element).color)), light(ground(element))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    seen += 1;
    if (contrast < 4.5) poor.push([walker.currentNode.textContent, contrast]);
  }
  return { seen, poor };
}"""

PALETTE = """() => {
  const { palette } = window.rosenblatt.player;
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (colour) => {
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (colour) => rgb(colour).map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const found = {};
  const labels = ["yes", "no", "third", "fourth", "fifth"];
  for (const name of ["ink", "soft", "pocket", "mark", ...labels]) {
    for (const ground of ["paper", ...labels.map((label) => `${label}Area`)]) {
      const [a, b] = [light(palette[name]), light(palette[ground])];
      found[`${name} on ${ground}`] = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    }
  }
  return found;
}"""

STRUCTURE = """() => {
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  const levels = [...document.querySelectorAll("h1, h2, h3")]
    .filter((e) => e.checkVisibility()).map((e) => Number(e.tagName[1]));
  return {
    lang: document.documentElement.lang,
    title: document.title,
    twice: ids.filter((id, i) => ids.indexOf(id) !== i),
    main: document.querySelectorAll("main").length,
    levels,
    nested: document.querySelectorAll("button button, a button, button a, label label").length,
    positive: [...document.querySelectorAll("[tabindex]")].filter((e) => e.tabIndex > 0).length,
    unnamed: [...document.querySelectorAll("canvas")].filter(
      (e) => e.getAttribute("aria-hidden") !== "true" && !e.getAttribute("aria-label")).length,
    zoom: document.querySelector("meta[name=viewport]").content,
  };
}"""


LOOKS = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "large": {"viewport": {"width": 1280, "height": 720}},
    "phone": {"viewport": {"width": 390, "height": 844}, "has_touch": True},
}


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing(opened, look):
    found = importlib.util.find_spec("axe_playwright_python")
    if found is None:
        pytest.skip("axe-playwright-python is not installed")
    axe = Path(found.origin).with_name("axe.min.js").read_text()
    more = "&type=large" if look == "large" else ""
    for state in (STATE, "#data=three&proof=1&t=9", "#data=file&x=*&y=*&t=3"):
        screen = opened(state + more, **LOOKS[look])
        # By the driver: the page's own policy lets no other script in.
        screen.page.evaluate(axe)
        wrong, fine = screen.ask("() => axe.run().then((r) => [r.violations, r.passes.length])")
        faults = [(one["id"], node["html"]) for one in wrong for node in one["nodes"]]
        assert faults == []
        assert fine > 20


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_picture_have_contrast(opened, scheme):
    screen = opened(STATE, color_scheme=scheme)
    found = screen.ask(CONTRASTS)
    assert found["seen"] > 60
    assert found["poor"] == []
    drawn = screen.ask(PALETTE)
    assert {pair: ratio for pair, ratio in drawn.items() if ratio < 4.5} == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_chosen_theme_overrides_the_system_theme(opened, scheme):
    grounds = {}
    for theme in ("auto", "light", "dark"):
        screen = opened(f"{STATE}&theme={theme}", color_scheme=scheme)
        ground = screen.ask("() => getComputedStyle(document.body).backgroundColor")
        grounds[theme] = ground, screen.ask("() => window.rosenblatt.player.palette.paper")
    assert grounds["auto"] == grounds[scheme]
    assert (grounds["light"][1], grounds["dark"][1]) == ("#ffffff", "#14171c")


def test_every_control_has_a_role_and_a_name(opened):
    screen = opened(STATE)
    session = screen.page.context.new_cdp_session(screen.page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    found = []
    for node in nodes:
        properties = {p["name"]: p["value"].get("value") for p in node.get("properties", [])}
        if node.get("ignored") or not properties.get("focusable"):
            continue
        role, name = node["role"]["value"], node.get("name", {}).get("value", "")
        if role in ("RootWebArea", "heading", "MenuListPopup", "option", "menuListOption"):
            continue
        found.append((role, name))
    assert len(found) > 25
    assert [pair for pair in found if not pair[1].strip()] == []
    assert {role for role, _ in found} <= CONTROLS
    names = [name for _, name in found]
    assert len(names) == len(set(names)), "two controls of one name"


def test_the_structure_is_sound(opened):
    found = opened(STATE).ask(STRUCTURE)
    assert found["lang"] == "en"
    assert found["title"]
    assert found["twice"] == []
    assert found["main"] == 1
    assert found["levels"][0] == 1
    assert all(after - before <= 1 for before, after in zip(found["levels"], found["levels"][1:]))  # noqa: B905
    assert (found["nested"], found["positive"], found["unnamed"]) == (0, 0, 0)
    assert "user-scalable=no" not in found["zoom"]


def test_tab_reaches_everything_and_the_focus_is_visible(opened):
    screen = opened("#data=noisy&algorithm=pocket&order=random&max_updates=60&t=7")
    wanted = screen.ask("""() => [...document.querySelectorAll(
      "button, select, input, summary, a[href], [tabindex='0']")]
      .filter((e) => !e.disabled && e.checkVisibility()).length""")
    reached, unseen = set(), []
    for _ in range(wanted + 5):
        screen.page.keyboard.press("Tab")
        focus = screen.ask("""() => {
          const e = document.activeElement;
          const style = getComputedStyle(e);
          e.dataset.reached ||= String(Math.random());
          return [e.tagName, e.dataset.reached, style.outlineStyle, parseFloat(style.outlineWidth)];
        }""")
        if focus[0] == "BODY":
            continue
        reached.add(focus[1])
        if focus[2] == "none" or focus[3] < 2:
            unseen.append(focus)
    assert len(reached) == wanted
    assert unseen == []


def test_updates_are_announced_to_a_screen_reader(opened):
    screen = opened("#data=separable")
    screen.page.get_by_role("button", name="Step: make one update").click()
    live = screen.page.locator(".rb-player [role=status]").inner_text()
    assert live.startswith("Update 1:")
    assert live.endswith("left.")
    label = screen.page.locator(".rb-plane").get_attribute("aria-label")
    assert "t = 1" in label
    assert "circles and" in label
