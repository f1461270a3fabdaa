from pathlib import Path

import pytest
from chromium import browsing
from screen import Screen

from rosenblatt.cli import run
from rosenblatt.show.browser import bundle


@pytest.fixture(scope="session")
def flowers(tmp_path_factory):
    """Write a data file with three features."""
    file = tmp_path_factory.mktemp("own") / "flowers.csv"
    labels = ["no", "yes"]
    rows = [f"{i % 7},{(i * 5) % 11},{(i * 3) % 13},{labels[i % 7 > 3]}" for i in range(40)]
    file.write_text("long,wide,high,kind\n" + "\n".join(rows) + "\n")
    return file


@pytest.fixture(scope="session")
def saved(flowers):
    """Save the page with the data in it."""
    page = flowers.with_name("page.html")
    assert run(["watch", str(flowers), "--no-browser", "--save", str(page)]) == 0
    return page


@pytest.fixture(scope="module")
def browser():
    """Start a browser per module: while it runs, nothing else can use asyncio."""
    with browsing() as found:
        yield found


@pytest.fixture(scope="module")
def page(browser, request):
    """Open an empty page with the scripts that the test module imports."""
    context = browser.new_context()
    found = context.new_page()
    found.add_script_tag(content=bundle(request.module.MODULES))
    yield found
    context.close()


@pytest.fixture
def opened(browser, saved):
    """Open the page from disk; at the end, fail on any error or network request."""
    contexts, screens = [], []

    def open_page(hash="#data=separable", page: Path = saved, **given):
        given = {"viewport": {"width": 1280, "height": 860}, **given}
        contexts.append(browser.new_context(reduced_motion="reduce", **given))
        screens.append(Screen(contexts[-1], page.as_uri(), hash))
        return screens[-1]

    yield open_page
    for screen in screens:
        assert screen.troubles == []
        elsewhere = [url for url in screen.requests if not url.startswith(("blob:", "data:"))]
        assert {url.partition("#")[0] for url in elsewhere} == {screen.address}
    for context in contexts:
        context.close()
