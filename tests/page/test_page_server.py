"""The server of the page: what it computes is what Python gives, and nothing hurts it."""

import asyncio
import contextlib
import io
import json
import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from rosenblatt.algorithms import ORDERS
from rosenblatt.cli import run as program
from rosenblatt.examples import Examples
from rosenblatt.read import Layout, Source
from rosenblatt.read.data import read_data
from rosenblatt.read.plan import Wishes

pytest.importorskip("starlette", reason="the extra `web` is not installed")
httpx = pytest.importorskip("httpx", reason="httpx is not installed")
from test_story import unpacked  # noqa: E402

from rosenblatt.show.page.presets import PRESETS, preset  # noqa: E402
from rosenblatt.show.page.requests import Limits, OwnData  # noqa: E402
from rosenblatt.show.page.server import Service, Session, make_app  # noqa: E402

SESSION = Session("127.0.0.1", 8000, "secret")
TOKEN = {"x-rosenblatt-token": "secret"}
ASKED = {
    "algorithm": "pla",
    "order": "cycle",
    "zero": "mistake",
    "eta": 1.0,
    "start": [0, 0, 0],
    "seed": 0,
    "corrections": 200,
}


class Client:
    """Speaks to the application as a browser does, without a port."""

    def __init__(self, app):
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        self.http = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000")

    def request(self, method, path, **given):
        return asyncio.run(self.http.request(method, path, **given))

    def get(self, path, **given):
        return self.request("GET", path, **given)

    def post(self, path, **given):
        return self.request("POST", path, **given)


def client(**service):
    return Client(make_app(Service(SESSION, **service)))


@pytest.fixture(scope="module")
def page():
    return client()


def story_of(page, **given):
    answer = page.post("/api/story", headers=TOKEN, json={**ASKED, **given})
    assert answer.status_code == 200, answer.text
    return answer.json()


def refusal(answer, status):
    """The one clear sentence of a refusal."""
    assert answer.status_code == status, answer.text
    told = answer.json()["error"]
    assert told.endswith(".")
    assert "\n" not in told
    return told


def plane(name, seed=1):
    return preset(name, seed).to_json()


def weights_of(lines):
    """What the exported Python lines compute, w(t) for every t."""
    space = {}
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore", ConvergenceWarning)
        exec(compile(lines, "exported", "exec"), space)
    trace = space["trace"]
    return [trace.weights(t).tolist() for t in range(len(trace) + 1)], space["verdict"].verdict


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("algorithm", ["pla", "pocket", "ratchet", "online"])
def test_the_python_lines_do_the_same_number_by_number(page, algorithm, order):
    name = "separable" if algorithm == "pla" and order in ("cycle", "random") else "noisy"
    for more in ({}, {"eta": 0.3, "start": [0.5, -1.0, 0.25], "zero": "negative", "seed": 7}):
        given = {**plane(name), "algorithm": algorithm, "order": order, "corrections": 60, **more}
        answer = story_of(page, **given)
        weights, verdict = weights_of(answer["python"])
        assert unpacked(answer["story"]["weights"]).reshape(-1, 3).tolist() == weights
        assert answer["story"]["verdict"]["name"] == verdict


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_what_they_are_called(page, name):
    answer = page.post("/api/preset", headers=TOKEN, json={"name": name, "seed": 3})
    found = answer.json()
    verdict = story_of(page, points=found["points"], answers=found["answers"])["story"]["verdict"]
    assert (verdict["name"] == "separable") == (name in ("separable", "narrow"))
    if name == "narrow":
        assert verdict["bound"] > 1000


def test_one_kind_of_answer_is_no_error(page):
    answer = story_of(page, points=[[0.1, 0.2]], answers=[1])
    assert answer["python"] is None
    assert "add one of the other kind" in answer["story"]["told"]


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    file = tmp_path_factory.mktemp("own") / "flowers.csv"
    rng = np.random.default_rng(0)
    rows = [
        f"{a:.2f},{b:.2f},{c:.2f},{'ab'[int(a + b > c)]}" for a, b, c in rng.normal(size=(40, 3))
    ]
    file.write_text("long,wide,high,kind\n" + "\n".join(rows) + "\n")
    return OwnData.of(read_data(Source.find(str(file)), Layout(), Wishes()))


def test_own_data_by_two_columns_or_projected(own):
    page = client(own=own)
    about = page.post("/api/about", headers=TOKEN, json={}).json()
    assert about["file"]["columns"] == ["long", "wide", "high"]
    two = page.post("/api/columns", headers=TOKEN, json={"x": "wide", "y": "high"}).json()
    assert two["points"] == own.examples.X[:, [1, 2]].tolist()
    assert two["labels"] == ["a", "b"]
    whole = story_of(page, source="file", start=[])
    assert whole["story"]["features"] == ["long", "wide", "high"]
    weights, verdict = weights_of(whole["python"])
    assert unpacked(whole["story"]["weights"]).reshape(-1, 4).tolist() == weights
    assert verdict == "separable"
    told = refusal(page.post("/api/columns", headers=TOKEN, json={"x": "wide", "y": "no"}), 422)
    assert "long, wide, high" in told


def test_a_long_file_is_sampled_and_a_wide_one_refused(own):
    few = OwnData.of(_data(own.examples), Limits(points=10))
    assert (few.examples.n, few.rows) == (10, 40)
    huge = Examples(np.zeros((1500, 1500)), np.ones(1500, dtype=np.int8), np.array([0, 1]))
    with pytest.raises(Exception, match=r"more than the page can draw; leave out columns"):
        OwnData.of(_data(huge))


def _data(examples):
    from rosenblatt.read.data import Data

    return Data("flowers.csv", examples, np.arange(examples.n), None, None)


def test_the_page_opens_with_the_token_only_and_takes_it_from_the_address():
    page = client()
    assert page.get("/").status_code == 403
    assert page.get("/?token=guess").status_code == 403
    turned = page.get("/?token=secret")
    assert (turned.status_code, turned.headers["location"]) == (303, "/")
    assert "HttpOnly" in turned.headers["set-cookie"]
    shown = page.get("/")
    assert shown.status_code == 200
    assert 'content="secret"' in shown.text


def test_every_answer_has_a_strict_policy(page):
    for path in ("/", "/static/page.js", "/static/nothing.js", "/api/story"):
        headers = page.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"


def test_what_should_not_happen_is_one_sentence_under_the_same_policy(monkeypatch):
    def broken(*given):
        raise KeyError("secret")

    monkeypatch.setattr("rosenblatt.show.page.server.preset", broken)
    answer = client().post("/api/preset", headers=TOKEN, json={"name": "xor", "seed": 0})
    assert refusal(answer, 500) == "this should not happen (KeyError)."
    assert "default-src 'none'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize("call", ["about", "preset", "columns", "story"])
def test_every_call_that_computes_needs_the_token(page, call):
    for headers in ({}, {"x-rosenblatt-token": "secreT"}, {"x-rosenblatt-token": ""}):
        told = refusal(page.post(f"/api/{call}", headers=headers, json=ASKED), 403)
        assert "token" in told


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8000", "127.0.0.1", "127.0.0.1:80", "", "a@127.0.0.1:8000",
     "127.0.0.1:8000/x", "127.0.0.1.evil.example:8000", "[::", "0.0.0.0:8000"],
)  # fmt: skip
def test_a_foreign_host_is_turned_away(page, host):
    refusal(page.get("/static/page.js", headers={"host": host}), 421)


def test_known_hosts_are_let_in(page):
    for host in ("127.0.0.1:8000", "localhost:8000", "[::1]:8000"):
        assert page.get("/static/page.js", headers={"host": host}).status_code == 200
    wild = Session("0.0.0.0", 8000)
    assert wild.has_name("192.168.1.7:8000")
    assert not wild.has_name("evil.example:8000")


def test_another_site_may_not_ask(page):
    headers = {**TOKEN, "origin": "https://evil.example"}
    refusal(page.post("/api/about", headers=headers, json={}), 403)
    headers = {**TOKEN, "origin": "http://127.0.0.1:8000"}
    assert page.post("/api/about", headers=headers, json={}).status_code == 200


@pytest.mark.parametrize(
    "path",
    ["/static/../server.py", "/static/%2e%2e/server.py", "/static/..%2fserver.py", "/server.py",
     "/static//etc/passwd", "/static/index.html", "/static/", "/etc/passwd", "/static/page.js/x"],
)  # fmt: skip
def test_only_its_own_files_are_served(page, path):
    assert refusal(page.get(path), 404) == "there is nothing at this address."


def test_methods_are_what_they_should_be(page):
    refusal(page.get("/api/story", headers=TOKEN), 405)
    refusal(page.post("/static/page.js"), 405)
    assert page.request("HEAD", "/static/page.js").status_code == 200


def test_limits_are_told_in_one_sentence():
    page = client(limits=Limits(body=3000, points=50, corrections=500))
    many = {"points": [[0, 0]] * 51, "answers": [1] * 51}
    told = refusal(page.post("/api/story", headers=TOKEN, json={**ASKED, **many}), 413)
    assert told == "51 points are more than this page takes; give at most 50."
    large = page.post("/api/story", headers=TOKEN, content=b" " * 4000)
    assert "larger than the 3,000 bytes" in refusal(large, 413)

    async def parts():
        for _ in range(5):
            yield b" " * 1000

    chunks = page.post("/api/story", headers=TOKEN, content=parts())
    assert "larger than the 3,000 bytes" in refusal(chunks, 413)
    long = {**ASKED, **plane("xor"), "corrections": 501}
    told = refusal(page.post("/api/story", headers=TOKEN, json=long), 422)
    assert told == "corrections is not a whole number from 1 to 500."


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("algorithm", ["pla", "pocket", "ratchet"])
def test_a_call_that_takes_too_long_is_given_up(algorithm):
    page = client(limits=Limits(seconds=0.0001, corrections=10**7))
    given = {**ASKED, **plane("noisy"), "algorithm": algorithm, "corrections": 10**7}
    answer = page.post("/api/story", headers=TOKEN, json=given)
    assert answer.status_code in (408, 503)
    assert answer.json()["error"].endswith(".")


def test_too_many_calls_at_once_are_told_to_wait():
    page = client(limits=Limits(waiting=0))
    told = refusal(page.post("/api/about", headers=TOKEN, json={}), 503)
    assert "busy" in told


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"points": [[0, 0], [1]]}, "point 2 is not a pair of numbers between -1e9 and 1e9."),
        ({"points": [[0, 0], [1, 1e10]]}, "point 2 is not a pair of numbers"),
        ({"answers": [1, 0]}, "answer 2 is not -1 or 1."),
        ({"answers": [1]}, "2 points but 1 answer given."),
        ({"points": []}, "points and answers must be lists with at least one entry."),
        ({"order": "backwards"}, "order is not one of cycle, random-cycle, shuffle, first"),
        ({"eta": 0}, "eta is not a number from 1e-06 to 1e+06."),
        ({"start": [1, 2]}, "the start has 2 weights; these examples need 3."),
        ({"start": ["a"]}, "the start must be a list of numbers"),
        ({"seed": -1}, "seed is not a whole number from 0"),
        ({"source": "file"}, "there is no file; start with `rosenblatt watch FILE`"),
    ],
)
def test_what_is_wrong_is_said(page, change, told):
    given = {**ASKED, "points": [[0, 0], [1, 1]], "answers": [1, -1], **change}
    assert told in refusal(page.post("/api/story", headers=TOKEN, json=given), 422)


NUMBERS = st.one_of(st.integers(-3, 3), st.floats(), st.integers())
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=10,
)
NEARLY = st.fixed_dictionaries(
    {},
    optional={
        "points": st.lists(st.lists(NUMBERS, min_size=2, max_size=2), max_size=6) | JSON,
        "answers": st.lists(st.sampled_from([1, -1]), max_size=6) | JSON,
        "algorithm": st.sampled_from(["pla", "pocket", "ratchet", "online"]) | JSON,
        "order": st.sampled_from(ORDERS) | JSON,
        "eta": st.floats(1e-6, 1e6) | JSON,
        "zero": st.sampled_from(["mistake", "negative", "positive"]) | JSON,
        "start": st.lists(NUMBERS, max_size=3) | JSON,
        "seed": st.integers(0, 9) | JSON,
        "corrections": st.integers(1, 50) | JSON,
        "name": st.sampled_from(list(PRESETS)) | JSON,
        "source": JSON,
    },
)
CALLS = st.sampled_from(["about", "preset", "columns", "story"])


def answered_properly(answer):
    found = answer.json()
    if answer.status_code == 200:
        return
    assert 400 <= answer.status_code < 500, answer.text
    assert list(found) == ["error"]
    assert found["error"].endswith((".", ". "))
    assert "\n" not in found["error"]


@settings(max_examples=60)
@given(CALLS, st.binary(max_size=60) | st.binary(max_size=30).map(lambda b: b'{"points": ' + b))
def test_any_bytes_get_a_sentence(page, call, body):
    answered_properly(page.post(f"/api/{call}", headers=TOKEN, content=body))


@settings(max_examples=100)
@given(CALLS, NEARLY)
def test_nearly_right_questions_get_a_sentence_or_an_answer(page, call, given):
    body = json.dumps({**ASKED, **given})
    answered_properly(page.post(f"/api/{call}", headers=TOKEN, content=body))


POINTS = st.floats(-1e9, 1e9) | st.sampled_from([0.0, 1e-320, -5e-324, 1e-160, 1.0, 1e9])


@settings(max_examples=60)
@given(
    st.lists(st.tuples(POINTS, POINTS, st.sampled_from([1, -1])), min_size=1, max_size=6),
    st.sampled_from(["pla", "pocket", "ratchet", "online"]),
)
@example([(0.0, 0.0, -1), (0.0, 3892.0, 1), (-5e-324, 0.0, 1)], "online")  # weights of 5e300
def test_all_numbers_that_are_let_in_are_answered(page, rows, algorithm):
    given = {
        "points": [[x, y] for x, y, _ in rows],
        "answers": [answer for *_, answer in rows],
        "algorithm": algorithm,
        "order": "random",
        "corrections": 30,
    }
    story = story_of(page, **given)["story"]
    weights = unpacked(story["weights"])
    assert np.isfinite(weights).all()
    assert len(weights) == 3 * (story["corrections"] + 1)


@given(st.text(max_size=40), st.sampled_from(["GET", "POST", "PUT", "DELETE", "OPTIONS"]))
def test_any_path_and_method_gets_a_sentence(page, path, method):
    from urllib.parse import quote

    answer = page.request(method, "/" + quote(path), headers=TOKEN)
    assert answer.status_code in (200, 403, 404, 405, 307)


def test_deep_json_is_refused(page):
    told = refusal(page.post("/api/story", headers=TOKEN, content=b"[" * 100_000), 400)
    assert told == "the request is not JSON."


def test_watch_without_its_extra_says_what_to_install(monkeypatch, capfd):
    import sys

    for name in [name for name in sys.modules if name.startswith("rosenblatt.show.page.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "starlette", None)
    monkeypatch.setitem(sys.modules, "starlette.datastructures", None)
    assert program(["watch"]) == 64
    assert "pip install 'rosenblatt[web]'" in capfd.readouterr().err
