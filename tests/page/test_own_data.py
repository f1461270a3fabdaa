"""The user's own rows are put into the page, with their verdict, and cannot become code."""

import numpy as np
import pytest

from rosenblatt.errors import UserError
from rosenblatt.examples import Examples
from rosenblatt.read import Layout, Source
from rosenblatt.read.data import Data, read_data
from rosenblatt.read.plan import ColumnOptions
from rosenblatt.show.browser import MOST_NUMBERS, own_data, page_html


@pytest.fixture(scope="module")
def flower_data(flowers):
    return read_data(Source.find(str(flowers)), Layout(), ColumnOptions())


def test_own_data_are_embedded_whole_with_their_proofs(flower_data):
    written = own_data(flower_data)
    assert written["columns"] == ["long", "wide", "high"]
    assert written["labels"] == ["no", "yes"]
    assert written["X"] == flower_data.examples.X.tolist()
    assert written["verdict"]["name"] == "separable"
    assert len(written["verdict"]["weights"]) == 4


def test_a_long_file_is_sampled_and_a_wide_one_refused(flower_data):
    few = own_data(flower_data, most=30)
    assert (len(few["X"]), few["rows"]) == (10, 40)
    huge = Examples(np.zeros((15, 1500)), np.ones(15, dtype=np.int8), np.array([0, 1]))
    with pytest.raises(UserError) as refused:
        own_data(Data("wide.csv", huge, np.arange(15), None, None), most=2**13)
    assert refused.value.message.parameters == ["ignore"]


def test_a_page_can_be_mailed_whatever_the_data():
    rng = np.random.default_rng(0)
    n, d = 2000, 160  # more than a line can classify: the proof has very long integers
    X, y = rng.normal(size=(n, d)), np.where(rng.random(n) < 0.5, 1, -1)
    own = own_data(Data("wide.csv", Examples.from_arrays(X, y), np.arange(n), None, None))
    assert len(own["X"]) == MOST_NUMBERS // d
    assert len(page_html(own).encode()) < 4_000_000


def test_names_in_the_data_cannot_end_the_script_element():
    page = page_html({"name": "</script>mine"})
    assert '{"name":"\\u003c/script>mine"}' in page
    assert "</script>mine" not in page


def test_the_policy_of_the_page_lets_in_one_script_one_style_and_no_request():
    page = page_html()
    policy = page.partition('http-equiv="Content-Security-Policy"')[2].partition(">")[0]
    assert "default-src 'none'" in policy
    assert policy.count("sha256-") == 2
    assert "unsafe" not in policy
