"""The page in a browser: time per frame while the slider moves, and time to the first step."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from bench.line import Line, MissingError
from bench.measure import figure, peer

POINTS = 2_000
UPDATES = 100_000
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# Without these flags a frame never takes less than the screen's 16.7 ms.
FLAGS = ("--no-sandbox", "--disable-gpu-vsync", "--disable-frame-rate-limit")

# Move the slider once per frame, as a hand does, with frames as fast as the browser can draw.
FRAMES = """(count) => new Promise((done) => {
  const slider = document.querySelector("input[type=range]");
  const times = [];
  let last = performance.now();
  const turn = (k) => {
    slider.value = String(Math.round((Number(slider.max) * k) / count));
    slider.dispatchEvent(new Event("input"));
    requestAnimationFrame(() => {
      const now = performance.now();
      times.push(now - last);
      last = now;
      if (k < count) turn(k + 1);
      else done(times);
    });
  };
  requestAnimationFrame(() => { last = performance.now(); turn(0); });
})"""

# Train again as after a click, then press Step; the step is drawn when the next frame begins.
FIRST_STEP = """() => new Promise((done) => {
  const page = window.rosenblatt;
  const begin = performance.now();
  page.set({ chance: page.state.chance + 1, t: 0 }).then(() => {
    const trained = performance.now();
    document.querySelector(".rb-step").click();
    requestAnimationFrame(() => requestAnimationFrame(() => {
      const now = performance.now();
      done([(now - begin) / 1000, (now - trained) / 1000, page.player.t]);
    }));
  });
})"""


def frame(quick: bool) -> Iterator[Line]:
    """Measure milliseconds per frame while the slider moves through all updates."""
    with _page() as page:
        page.evaluate(FRAMES, 20)
        times = page.evaluate(FRAMES, 60 if quick else 400)
    low, middle, high = np.percentile(times, [5, 50, 95])
    note = f"95 of 100 frames under {high:.1f} ms; frame rate not limited by the screen"
    yield figure("page.frame-100000", middle, (low, high), note)


def first_step(quick: bool) -> Iterator[Line]:
    """Measure seconds from a click, which starts training, until the first step is drawn."""
    with _page() as page:
        rounds = [page.evaluate(FIRST_STEP) for _ in range(3 if quick else 9)]
    assert all(t == 1 for *_, t in rounds)
    whole, alone = ([round_[k] for round_ in rounds] for k in (0, 1))
    note = f"including 100,000 updates; Step alone {np.median(alone):.3f} s"
    yield figure("page.first-step", float(np.median(whole)), tuple(whole), note)


WORKS = {frame: ("page.frame",), first_step: ("page.first",)}


@contextmanager
def _page() -> Iterator[Any]:
    """Open the page with 2,000 points that are not separable, and 100,000 updates of PLA."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise MissingError(f"none of {', '.join(BROWSERS)} is installed")
    playwright = peer("playwright.sync_api", "playwright")
    with _saved() as address, playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=list(FLAGS))
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        wish = f"order=shuffle&max_updates={UPDATES}"
        page.goto(f"{address}#data=file&x=a&y=b&{wish}")
        page.wait_for_selector("body[data-ready]")
        made = page.evaluate("() => window.rosenblatt.player.story.T")
        assert made == UPDATES, f"{made} updates"
        yield page
        browser.close()


@contextmanager
def _saved() -> Iterator[str]:
    """Save the page with the points to a file and yield its address."""
    with tempfile.TemporaryDirectory() as folder:
        file, page = Path(folder) / "points.csv", Path(folder) / "page.html"
        file.write_text(_points())
        command = [sys.executable, "-m", "rosenblatt", "watch", str(file), "--save", str(page)]
        subprocess.run([*command, "--no-browser"], check=True, stdout=subprocess.DEVNULL)
        yield page.as_uri()


def _points() -> str:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (POINTS, 2)).round(4)
    yes = (X @ [1.0, -2.0] + 0.1 > 0) ^ (rng.random(POINTS) < 0.1)
    rows = [f"{a},{b},{'yes' if y else 'no'}" for (a, b), y in zip(X.tolist(), yes, strict=True)]
    return "a,b,answer\n" + "\n".join(rows) + "\n"
