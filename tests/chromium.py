"""A real browser: the Chromium of the system, driven by Playwright; CI must have it."""

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


def missing(message):
    """Fail in CI, where a browser must be installed; skip the test elsewhere."""
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


def watched(page):
    """Return two lists that collect the messages and errors of a page, and its requests."""
    messages, requests = [], []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    return messages, requests
