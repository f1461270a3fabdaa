from importlib.util import find_spec

import pytest
from chromium import browsing
from clouds import cloud

import rosenblatt as rb


@pytest.fixture(autouse=True)
def drawing():
    """Use Matplotlib without a screen, and close all figures."""
    if find_spec("matplotlib") is None:
        yield
        return
    from matplotlib import pyplot

    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")


@pytest.fixture
def separable():
    X, y = cloud()
    return rb.Perceptron().fit(X, y), X, y


@pytest.fixture
def noisy():
    X, y = cloud(noise=6)
    return rb.PocketPerceptron(max_updates=60, random_state=0).fit(X, y), X, y


@pytest.fixture
def many():
    X, y = cloud(n=80, d=6)
    return rb.Perceptron().fit(X, y), X, y


@pytest.fixture(scope="module")
def browser():
    with browsing() as found:
        yield found


@pytest.fixture
def page(browser):
    """Open a browser page of the size of a laptop screen."""
    opened = browser.new_page(viewport={"width": 1200, "height": 900})
    opened.set_default_timeout(120_000)  # milliseconds on a busy machine; it takes a few
    yield opened
    opened.close()
