"""A real browser: the Chromium of the system, driven by Playwright; in CI it must be there."""

import contextlib
import importlib.util
import os
import shutil

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-sync",
         "--disable-background-networking", "--disable-component-update"]  # fmt: skip


@contextlib.contextmanager
def browsing():
    """A browser without a window; while it is open no other event loop can run."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        missing(f"no browser: none of {', '.join(BROWSERS)} is installed")
    if importlib.util.find_spec("playwright") is None:
        missing("playwright is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        browser.close()


def missing(told):
    """In CI a failure: what nobody looked at was not tested."""
    if os.environ.get("CI"):
        pytest.fail(told)
    pytest.skip(told)


def watched(page):
    """Lists that fill with what a page says or does wrong, and with what it asks for."""
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    return said, asked
