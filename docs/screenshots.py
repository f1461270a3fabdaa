"""Take the pictures of the page for README and manual, and animate a run: `make screenshots`.

A browser opens the page at links that contain the whole state.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import matplotlib as mpl
import numpy as np
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

import rosenblatt as rb
from rosenblatt.show.browser import page_html

mpl.use("Agg")

IMAGES = Path(__file__).parent / "images"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
COLORS = 128  # enough for flat pictures, and a third of the bytes

# name: width, height, color scheme, and the state after the # of the address
SHOTS = {
    "page-light": (1280, 800, "light", "data=separable&t=7&proof=1"),
    "page-dark": (
        1280,
        800,
        "dark",
        "data=noisy&algorithm=pocket&order=random&max_updates=200&t=54",
    ),
    "page-xor": (
        1280,
        800,
        "light",
        "data=xor&algorithm=pocket&order=random&max_updates=40&t=6&proof=1",
    ),
}


def main() -> int:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        print(f"screenshots: none of {', '.join(BROWSERS)} is installed.", file=sys.stderr)
        return 69
    IMAGES.mkdir(exist_ok=True)
    with saved() as address, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        for name in SHOTS:
            size = take(browser, address, name)
            print(f"docs/images/{name}.png: {size / 1000:.0f} kB")
        browser.close()
    animate()
    return 0


@contextmanager
def saved() -> Iterator[str]:
    """Write the page to a temporary file and yield its address."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        page.write_text(page_html(), "utf-8")
        yield page.as_uri()


def take(browser: Browser, address: str, name: str) -> int:
    """Take one picture with few colors; return its size in bytes."""
    width, height, scheme, state = SHOTS[name]
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=scheme,  # type: ignore[arg-type]
        device_scale_factor=1.5,
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.goto(f"{address}#{state}")
    page.wait_for_selector("body[data-ready]")
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    context.close()
    path = IMAGES / f"{name}.png"
    picture.quantize(COLORS, dither=Image.Dither.NONE).save(path, optimize=True)
    return path.stat().st_size


def animate() -> None:
    """Draw PLA on forty points, one frame per update."""
    rng = np.random.default_rng(14)
    X = rng.uniform(-1, 1, (60, 2))
    score = X @ [1.0, 1.4] - 0.25
    X, score = X[np.abs(score) > 0.12][:40], score[np.abs(score) > 0.12][:40]
    clf = rb.Perceptron().fit(X, np.where(score > 0, "yes", "no"))
    place = IMAGES / "pla.gif"
    rb.TraceDisplay(clf.trace_).animate(place, fps=1.25, dpi=80)
    print(f"docs/images/pla.gif: {clf.n_updates_} updates, {place.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    sys.exit(main())
