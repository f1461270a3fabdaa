from urllib.parse import urlsplit

import pytest
from screen import Screen
from serving import browsing, serving


@pytest.fixture(scope="session")
def address(tmp_path_factory):
    """The address of a server that shows a file."""
    file = tmp_path_factory.mktemp("own") / "flowers.csv"
    labels = ["no", "yes"]
    rows = [f"{i % 7},{(i * 5) % 11},{(i * 3) % 13},{labels[i % 7 > 3]}" for i in range(40)]
    file.write_text("long,wide,high,kind\n" + "\n".join(rows) + "\n")
    with serving(file) as found:
        yield found


@pytest.fixture(scope="module")
def browser():
    """One for a module, and not longer: while it runs, nothing else can use asyncio."""
    with browsing() as found:
        yield found


@pytest.fixture
def opened(browser, address):
    """Opens the page; at the end nothing may have gone wrong, or elsewhere."""
    contexts, screens = [], []

    def open_page(hash="#data=separable", **given):
        given = {"viewport": {"width": 1280, "height": 860}, **given}
        contexts.append(browser.new_context(reduced_motion="reduce", **given))
        screens.append(Screen(contexts[-1], address, hash))
        return screens[-1]

    yield open_page
    for screen in screens:
        assert screen.troubles == []
        served = {urlsplit(url).netloc for url in screen.requests if not url.startswith("blob:")}
        assert served == {urlsplit(address).netloc}
    for context in contexts:
        context.close()
