"""The server of the page: it gives one page to who has the token, and nothing hurts it."""

import asyncio
from urllib.parse import quote

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt.cli import run as program
from rosenblatt.examples import Examples
from rosenblatt.read import Layout, Source
from rosenblatt.read.data import Data, read_data
from rosenblatt.read.plan import Wishes

pytest.importorskip("starlette", reason="the extra `web` is not installed")
httpx = pytest.importorskip("httpx", reason="httpx is not installed")

from rosenblatt.show.page.assets import page_html  # noqa: E402
from rosenblatt.show.page.own import SAVED, OwnData  # noqa: E402
from rosenblatt.show.page.server import Service, Session, make_app  # noqa: E402

SESSION = Session("127.0.0.1", 8000, "secret")
OWNER = {"cookie": "rosenblatt-8000=secret"}


class Client:
    """Speaks to the application as a browser does, without a port."""

    def __init__(self, app):
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        self.http = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000")

    def request(self, method, path, **given):
        return asyncio.run(self.http.request(method, path, **given))

    def get(self, path, **given):
        return self.request("GET", path, **given)


@pytest.fixture(scope="module")
def page():
    return Client(make_app(Service(SESSION)))


def refusal(answer, status):
    """The one clear sentence of a refusal."""
    assert answer.status_code == status, answer.text
    told = answer.json()["error"]
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
    page = Client(make_app(Service(SESSION, {"name": "</script>mine"})))
    assert page.get("/").status_code == 403
    assert page.get("/?token=guess").status_code == 403
    turned = page.get("/?token=secret")
    assert (turned.status_code, turned.headers["location"]) == (303, "/")
    assert "HttpOnly" in turned.headers["set-cookie"]
    shown = page.get("/")
    assert shown.status_code == 200
    assert "secret" not in shown.text
    assert '{"name":"\\u003c/script>mine"}' in shown.text


def test_every_answer_has_a_strict_policy(page):
    for path in ("/", "/nothing", "/?token=secret"):
        headers = page.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8000", "127.0.0.1", "127.0.0.1:80", "", "a@127.0.0.1:8000",
     "127.0.0.1:8000/x", "127.0.0.1.evil.example:8000", "[::", "0.0.0.0:8000"],
)  # fmt: skip
def test_a_foreign_host_is_turned_away(page, host):
    refusal(page.get("/", headers={**OWNER, "host": host}), 421)


def test_known_hosts_are_let_in(page):
    for host in ("127.0.0.1:8000", "localhost:8000", "[::1]:8000"):
        assert page.get("/", headers={**OWNER, "host": host}).status_code == 200
    wild = Session("0.0.0.0", 8000)
    assert wild.has_name("192.168.1.7:8000")
    assert not wild.has_name("evil.example:8000")


def test_another_site_may_not_ask(page):
    refusal(page.get("/", headers={**OWNER, "origin": "https://evil.example"}), 403)
    assert page.get("/", headers={**OWNER, "origin": "http://127.0.0.1:8000"}).status_code == 200


def test_there_is_nothing_else(page):
    for path in ("/static/page.js", "/server.py", "/api/story", "/../server.py", "/%2e%2e/x"):
        assert refusal(page.get(path, headers=OWNER), 404) == "there is nothing at this address."
    refusal(page.request("POST", "/", headers=OWNER), 405)
    assert page.request("HEAD", "/", headers=OWNER).status_code == 200


@given(st.text(max_size=40), st.sampled_from(["GET", "POST", "PUT", "DELETE", "OPTIONS"]))
def test_any_path_and_method_gets_a_sentence(page, path, method):
    answer = page.request(method, "/" + quote(path), headers=OWNER)
    assert answer.status_code in (200, 403, 404, 405, 307)


def test_watch_without_its_extra_says_what_to_install(monkeypatch, capfd):
    import sys

    for name in [name for name in sys.modules if name.startswith("rosenblatt.show.page.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "starlette", None)
    monkeypatch.setitem(sys.modules, "starlette.datastructures", None)
    assert program(["watch"]) == 64
    assert "pip install 'rosenblatt[web]'" in capfd.readouterr().err
