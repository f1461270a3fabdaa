"""JSON lines: one object a line, and what is not is refused by its row, whoever reads it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from case_counts import count_cases, n_cases
from facts import refuses

from rosenblatt.errors import DataError
from rosenblatt.read import Source
from rosenblatt.read.data import read_batches, read_whole
from rosenblatt.read.feed import Chunk, JsonFeed, Place
from rosenblatt.read.lines import BLOCK

LINE = b'{"a": 1, "b": 0.5, "y": "yes"}\n'
NOT_ONE_OBJECT = {
    "null": b"null",
    "null after blanks": b"  null",
    "null before an object": b'null {"a": 1}',
    "null after an object": b'{"a": 1} null',
    "null between objects": b'{"a": 1} null {"a": 2}',
    "a number": b"3",
    "text": b'"{}"',
    "true": b"true",
    "an array": b"[1, 2]",
    "an array of an object": b'[{"a": 1}]',
    "two objects": b'{"a": 1}{"a": 2}',
    "half an object": b'{"a": 1',
    "the end of an object": b'"a": 1}',
    "half a nested object": b'{"a": {"b": 1}',
    "an object over two lines": b'{"a": [\n{"b": 1}]}',
    "a byte-order mark": b'\xef\xbb\xbf{"a": 1}',
    "no UTF-8": b'{"a": "\xff"}',
    "UTF-16": '{"a": 1}'.encode("utf-16-le"),
}


@pytest.mark.parametrize("name", NOT_ONE_OBJECT)
@pytest.mark.parametrize("before", [1, 40, BLOCK // len(LINE) + 100])
def test_a_line_that_is_not_one_object_is_refused_by_its_row(name, before, tmp_path):
    path, odd = tmp_path / "d.jsonl", NOT_ONE_OBJECT[name]
    path.write_bytes(LINE * before + b"\n" + odd + b"\n" + LINE * 40)
    with refuses(DataError, "d.jsonl", row=before + 1):
        list(read_batches(Source.find(str(path))))
    chunk = Chunk(LINE * 40 + odd + b"\n" + LINE * 40, Place())
    bad = [line.number for batch in JsonFeed("y").read(chunk) for line in batch.bad]
    assert bad == [41 + at for at in range(1 + odd.count(b"\n"))]


def test_blank_lines_and_line_ends_are_not_rows(tmp_path):
    rows = [{"a": i, "y": i % 2} for i in range(3)]
    lines = [json.dumps(row).encode() for row in rows]
    for content in (
        b"\n".join(lines),
        b"\r\n".join([*lines, b""]),
        b"\r".join([*lines, b""]),
        b"\n \n\t\r\n".join([b"", *lines, b""]),
        b"\xef\xbb\xbf" + b"\n  ".join(lines),
    ):
        (tmp_path / "d.jsonl").write_bytes(content)
        assert read_whole(Source.find(str(tmp_path / "d.jsonl"))).to_pylist() == rows


@pytest.mark.parametrize("end", ["", "\n"])
def test_an_empty_object_is_a_row_of_missing_values(end, tmp_path):
    (tmp_path / "d.jsonl").write_text('{"a": 1}\n{}' + end)
    assert read_whole(Source.find(str(tmp_path / "d.jsonl"))).to_pylist() == [{"a": 1}, {"a": None}]


def test_damaged_json_lines_never_crash_the_process(tmp_path):
    command = [sys.executable, Path(__file__).with_name("damage_child.py"), tmp_path / "d.jsonl"]
    done = subprocess.run([*command, str(n_cases(1))], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    count_cases("JSON lines damaged at every position, in memory and as a stream", int(done.stdout))
