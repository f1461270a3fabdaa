"""The server of the page: it gives one page to who has the token, and nothing hurts it."""

import json
from http.client import HTTPConnection
from urllib.parse import quote

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from serving import answering

from rosenblatt.examples import Examples
from rosenblatt.read import Layout, Source
from rosenblatt.read.data import Data, read_data
from rosenblatt.read.plan import Wishes
from rosenblatt.show.page.assets import page_html
from rosenblatt.show.page.own import SAVED, OwnData
from rosenblatt.show.page.server import Session


class Client:
    """Speaks to a server as a browser does."""

    def __init__(self, session):
        self.own = f"127.0.0.1:{session.port}"
        self.token, self.cookie = session.token, f"{session.cookie}={session.token}"

    def request(self, method, path, **headers):
        http = HTTPConnection(self.own)
        http.putrequest(method, path, skip_host=True)
        for name, value in {"host": self.own, **headers}.items():
            http.putheader(name, value)
        http.endheaders()
        answer = http.getresponse()
        answer.text = answer.read().decode()
        http.close()
        return answer

    def get(self, path, **headers):
        return self.request("GET", path, **headers)


@pytest.fixture(scope="module")
def page():
    with answering() as server:
        yield Client(server.session)


def refusal(answer, status):
    """The one clear sentence of a refusal."""
    assert answer.status == status, answer.text
    told = json.loads(answer.text)["error"]
    assert told.endswith(".")
    assert "\n" not in told
    return told


@pytest.fixture(scope="module")
def own(flowers):
    return OwnData.of(read_data(Source.find(str(flowers)), Layout(), Wishes()))


def test_own_data_are_carried_whole_with_what_is_proved_of_them(own):
    told = own.to_json()
    assert told["columns"] == ["long", "wide", "high"]
    assert told["labels"] == ["no", "yes"]
    assert told["X"] == own.examples.X.tolist()
    assert told["verdict"]["name"] == "separable"
    assert len(told["verdict"]["weights"]) == 4


def test_a_long_file_is_sampled_and_a_wide_one_refused(own):
    data = Data("flowers.csv", own.examples, np.arange(own.examples.n), None, None)
    few = OwnData.of(data, most=30)
    assert (few.examples.n, few.rows) == (10, 40)
    huge = Examples(np.zeros((15, 1500)), np.ones(15, dtype=np.int8), np.array([0, 1]))
    with pytest.raises(Exception, match=r"more than the page can carry; leave out columns"):
        OwnData.of(Data("wide.csv", huge, np.arange(15), None, None), most=2**13)


def test_a_saved_page_stays_small_whatever_the_data():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 20)), np.where(rng.random(3000) < 0.5, 1, -1)
    examples = Examples.from_arrays(X, y)
    own = OwnData.of(Data("wide.csv", examples, np.arange(3000), None, None), SAVED)
    assert own.examples.n == SAVED // 20
    assert len(page_html(own.to_json()).encode()) < 700_000


def test_the_page_opens_with_the_token_only_and_takes_it_from_the_address():
    with answering(own={"name": "</script>mine"}) as server:
        page = Client(server.session)
        assert page.get("/").status == 403
        assert page.get("/?token=guess").status == 403
        assert page.get("/", cookie=page.cookie[:-1]).status == 403
        turned = page.get(f"/?token={page.token}")
        assert (turned.status, turned.headers["location"]) == (303, "/")
        assert "HttpOnly" in turned.headers["set-cookie"]
        shown = page.get("/", cookie=turned.headers["set-cookie"].partition(";")[0])
        assert shown.status == 200
        assert page.token not in shown.text
        assert '{"name":"\\u003c/script>mine"}' in shown.text


def test_every_answer_has_a_strict_policy(page):
    for path in ("/", "/nothing", f"/?token={page.token}"):
        headers = page.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:PORT", "127.0.0.1", "127.0.0.1:80", "", "a@127.0.0.1:PORT",
     "127.0.0.1:PORT/x", "127.0.0.1.evil.example:PORT", "[::", "0.0.0.0:PORT"],
)  # fmt: skip
def test_a_foreign_host_is_turned_away(page, host):
    host = host.replace("PORT", page.own.partition(":")[2])
    refusal(page.get("/", cookie=page.cookie, host=host), 421)


def test_known_hosts_are_let_in(page):
    port = page.own.partition(":")[2]
    for host in ("127.0.0.1", "localhost", "[::1]"):
        assert page.get("/", cookie=page.cookie, host=f"{host}:{port}").status == 200
    wild = Session("0.0.0.0", 8000)
    assert wild.has_name("192.168.1.7:8000")
    assert not wild.has_name("evil.example:8000")


def test_another_site_may_not_ask(page):
    refusal(page.get("/", cookie=page.cookie, origin="https://evil.example"), 403)
    assert page.get("/", cookie=page.cookie, origin=f"http://{page.own}").status == 200


def test_there_is_nothing_else(page):
    for path in ("/static/page.js", "/server.py", "/api/story", "/../server.py", "/%2e%2e/x"):
        told = refusal(page.get(path, cookie=page.cookie), 404)
        assert told == "there is nothing at this address."
    refusal(page.request("POST", "/", cookie=page.cookie), 405)
    refusal(page.request("BREW", "/", cookie=page.cookie), 405)
    assert page.request("HEAD", "/", cookie=page.cookie).status == 200


@given(st.text(max_size=40), st.sampled_from(["GET", "POST", "PUT", "DELETE", "OPTIONS"]))
def test_any_path_and_method_gets_a_sentence(page, path, method):
    answer = page.request(method, "/" + quote(path), cookie=page.cookie)
    assert answer.status in (200, 404, 405)
