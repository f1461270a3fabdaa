"""Files that anyone may have written are read, or refused in one sentence and little memory."""

import gzip
import hashlib
import json
import os
import random
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from facts import refuses

import rosenblatt as rb
from rosenblatt import files
from rosenblatt.errors import UserError

READERS = {
    "model": "rb.load(path)",
    "proof": "rb.Proof.from_json(open(path, 'rb').read())",
    "proof file": "read_proof(path)",
    "stream": "rb.OnlinePerceptron.load(path)",
}
# Each reader takes each file in a process that has 100 MB more than it begins with.
CHILD = """
import json, resource, sys
import pyarrow, scipy.sparse
import rosenblatt as rb
from rosenblatt.model import read_proof
rb.load, rb.Proof, rb.OnlinePerceptron
pyarrow.CompressedInputStream(pyarrow.BufferReader(b""), "gzip")
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
now = int(status["VmSize"].split()[0]) * 1024
resource.setrlimit(resource.RLIMIT_AS, (now + 100_000_000,) * 2)
for path in sys.argv[1:]:
    for name, reader in READERS.items():
        try:
            eval(reader)
            outcome = "read"
        except ValueError as refused:
            outcome = str(refused)
        print(json.dumps([path, name, outcome]), flush=True)
"""


def hostile():
    """Files that would take memory or time, each with a name."""
    many = ", ".join(f'"k{i}": 1' for i in range(200_000))
    head = '{"rosenblatt": "model", "format": 2, '
    return {
        "nested lists": b"[" * 200_000 + b"]" * 200_000,
        "nested objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        "nested after a string": b'["\\\\\\"[", ' + b"[" * 100_000,
        "many small lists": b"[" + b"[]," * 2_000_000 + b"1]",
        "a number of a million digits": b"[" + b"9" * 1_000_000 + b"]",
        "a number that is not finite": b"[1e99999]",
        "10**400": f'{head}"threshold": {10**400}}}'.encode(),
        "NaN": b'{"a": NaN}',
        "Infinity": b'{"a": -Infinity}',
        "one key twice among many": f'{{{many}, "k7": 2}}'.encode(),
        "all keys alike": b'{"a": 1' + b', "a": 1' * 200_000 + b"}",
        "half a character": b'{"\\ud800": 1}',
        "not UTF-8": b"\xff\xfe\x00",
        "UTF-16": '{"a": 1}'.encode("utf-16"),
        "only a mark": b"\xef\xbb\xbf",
        "empty": b"",
        "zeros": bytes(1_000_000),
        "an unended string of quotes": b'"' + b'\\"' * 500_000,
        "a bomb of blanks": gzip.compress(b" " * 200_000_000, 6),
        "a bomb of lists": gzip.compress(b"[" + b"[]," * 20_000_000 + b"1]", 1),
        "a bomb of numbers": gzip.compress(b"[" + b"0.5," * 900_000 + b"1]", 1),
        "a bomb for zstd": pa.compress(b" " * 200_000_000, "zstd", asbytes=True),
        "half a gzip": gzip.compress(b'{"a": 1}' * 1000)[:-20],
        "a long key": b'{"' + b"k" * 1_000_000 + b'": 1, "' + b"k" * 1_000_000 + b'": 2}',
        "a long format": b'{"rosenblatt": "model", "format": "' + b"f\\n" * 1_000_000 + b'"}',
    }


def test_hostile_files_get_one_sentence_within_a_hundred_megabytes(tmp_path):
    if not os.path.exists("/proc/self/status"):
        pytest.skip("the memory of a process is read from /proc")
    paths = {}
    for number, (name, data) in enumerate(hostile().items()):
        paths[name] = tmp_path / f"{number}.json"
        paths[name].write_bytes(data)
    child = CHILD.replace("READERS", repr(READERS))
    done = subprocess.run(
        [sys.executable, "-c", child, *map(str, paths.values())],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == len(paths) * len(READERS)
    for path, reader, outcome in lines:
        what = f"{path} as {reader}: {outcome}"
        assert outcome != "read", what
        assert outcome.endswith("."), what
        assert "\n" not in outcome, what
        assert len(outcome) < 400, what


def test_duplicate_names_are_found_in_one_pass():
    class Counted(str):
        requests = 0

        def __eq__(self, other):
            Counted.requests += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    pairs = [(Counted(f"k{i}"), i) for i in range(2000)] + [(Counted("k3"), 0)]
    with refuses(files.NotJsonError, '"k3"'):
        files._parse_object(pairs)
    assert Counted.requests < 100


@pytest.mark.parametrize(
    "change",
    [
        {"x0": "0x1p99999"},
        {"x0": "0x" + "f" * 100_000},
        {"weights": ["0x" + "z" * 100_000]},
        {"weights": [10**400]},
        {"conflicts": [{"rows": [10**400], "multipliers": ["0x1"], "rest": "0x0"}]},
        {"conflicts": {"rows": []}},
        {"claim": ["separable"] * 1000},
        {"data": None},
    ],
)
def test_a_proof_of_absurd_numbers_is_refused_in_one_sentence(change):
    content = json.loads(rb.separability([[0.0], [1.0]], [0, 1]).proof.to_json())
    del content["checksum"]
    content |= change
    content["checksum"] = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    with pytest.raises(rb.ProofError) as refused:
        rb.Proof.from_json(json.dumps(content)).check([[0.0], [1.0]], [0, 1])
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 600


def test_a_large_proof_is_read_compressed_or_not(tmp_path):
    rng = random.Random(0)
    weights = tuple(rng.getrandbits(500) + 1 for _ in range(47_000))
    proof = rb.Proof("separable", "0" * 64, 1.0, weights)
    text = proof.to_json()
    assert rb.Proof.from_json(text) == proof
    (tmp_path / "p.json.gz").write_bytes(gzip.compress(text.encode()))
    assert files.read_json(str(tmp_path / "p.json.gz")) == json.loads(text)


def test_files_of_other_programs_are_read(tmp_path):
    clf = rb.Perceptron().fit([[1.0], [-1.0]], ['yes \U0001f600 [{\\"', "no"])
    path = tmp_path / "m.json"
    rb.save(clf, path)
    value = json.loads(path.read_text())
    for data in (
        json.dumps(value).encode(),  # with characters escaped in pairs
        b"\xef\xbb\xbf" + json.dumps(value, ensure_ascii=False).encode(),
        gzip.compress(path.read_bytes()),
    ):
        path.write_bytes(data)
        assert rb.load(path).classes_.tolist() == ["no", 'yes \U0001f600 [{\\"']


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_pipes_and_devices_are_read(tmp_path, monkeypatch):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    monkeypatch.setattr(files, "PIPE_SECONDS", 0.05)
    for load in (rb.load, rb.OnlinePerceptron.load):
        with refuses(UserError, "pipe"):
            load(pipe)
        with refuses(UserError, "/dev/zero", "33,554,432"):
            load("/dev/zero")
        with refuses(UserError, "/dev/null"):
            load("/dev/null")
        with refuses(UserError, tmp_path):
            load(tmp_path)
    rb.save(rb.Perceptron().fit([[1.0], [-1.0]], [1, 0]), tmp_path / "m.json")
    monkeypatch.setattr(files, "PIPE_SECONDS", 60)
    writer = subprocess.Popen(["cp", tmp_path / "m.json", pipe])
    assert rb.load(pipe).classes_.tolist() == [0, 1]
    assert writer.wait(300) == 0


def with_checksum(path, value):
    """A file with a checksum as somebody could write one by hand."""
    path.write_text(files.dump_with_checksum(value))


def by_hand(path, kind, content):
    with_checksum(path, {"rosenblatt": kind, "format": 2, "content": content})


def test_a_forged_state_is_refused_in_one_sentence(tmp_path):
    model = rb.OnlinePerceptron(window=4)
    model.learn_one({"a": 1.0}, True)
    state = model.state()
    path = tmp_path / "state.json"
    model.save(path)
    whole = json.loads(path.read_text())
    for change in (
        {"parameters": {**state["parameters"], "window": 10**15}},
        {"parameters": {**state["parameters"], "eta0": 10**400}},
        {"parameters": []},
        {"squared_radius": 10**400},
        {"vectors": {"w": [10**400, 0]}},
        {"features": [["a"]]},
        {"labels": 5},
        {"count": [10**30] * 8},
    ):
        with_checksum(path, {**whole, "stream": {**state, **change}})
        with refuses(ValueError, "online perceptron"):
            rb.OnlinePerceptron.load(path)
    for content in ([], 7, "x"):
        with_checksum(path, {**whole, "stream": content})
        with refuses(ValueError, '"stream"'):
            rb.OnlinePerceptron.load(path)


def test_every_forged_checkpoint_is_refused_in_one_sentence(tmp_path):
    folder = tmp_path / "kept"
    data = tmp_path / "d.csv"
    data.write_text("a,y\n1,0\n2,1\n")
    run = [sys.executable, "-m", "rosenblatt", "stream", str(data), "--target", "y", "-o"]
    run += [str(tmp_path / "out"), "--checkpoint", str(folder)]
    subprocess.run(run, check=True, capture_output=True)
    file = folder / "checkpoint.json"
    content = files.read_checksummed(file, "stream checkpoint")
    from rosenblatt.cli import run as program

    for spoiled in (
        [],
        {},
        {**content, "tally": 3},
        {**content, "feed": {**content["feed"], "names": 3}},
        {**content, "feed": {"kind": "os.system"}},
        {**content, "output": -1},
        {**content, "input": None},
        {**content, "model": []},
    ):
        by_hand(file, "stream checkpoint", spoiled)
        assert program([*run[3:], "--resume"]) == 65, spoiled


def test_a_forged_dask_state_is_refused_in_one_sentence(tmp_path):
    pytest.importorskip("dask")
    from rosenblatt.algorithms import Budget, Rule
    from rosenblatt.dask.partitions import KIND, Checkpoint, MixingPlan, State

    path, plan = tmp_path / "rounds.json", MixingPlan(Rule(), Budget())
    saved = Checkpoint(path, 1, {"columns": 2, "x0": 1.0}, (3,))
    saved.write(plan, State(np.zeros(3)))
    whole = files.read_checksummed(path, KIND)
    assert saved.read(plan)[1].w.tolist() == [0.0, 0.0, 0.0]
    state = whole["state"]
    for spoiled in (
        [],
        {**whole, "data": 3},
        {**whole, "seed": None},
        {**whole, "state": None},
        {**whole, "state": {**state, "w": [0.0]}},
        {**whole, "state": {**state, "w": [10**400, 0, 0]}},
        {**whole, "state": {**state, "w": ["nan", 0, 0]}},
        {**whole, "state": {**state, "rounds": "many"}},
        {**whole, "state": {**state, "history": [[1]]}},
    ):
        by_hand(path, KIND, spoiled)
        with refuses(UserError, "rounds.json"):
            saved.read(plan)


def test_sums_that_overflow_cause_no_warnings():
    pocket = rb.PocketPerceptron(max_updates=60, random_state=0)
    assert pocket.fit([[1.7e308], [1e308], [1.0]], [2, 1, 0]).n_mistakes_ == 2
    X, weights = [[-5e-324, 0.0], [-5e-324, 1e-323], [-5e-324, 1e-323]], [1 / 3, 0.0, 1e10]
    found = rb.fewest_mistakes(X, [0, 1, 1], sample_weight=weights, fit_intercept=False)
    assert found.mistakes == 0
