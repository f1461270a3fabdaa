"""Text as it is read: its byte-order mark, and lines that are too long for any table."""

import codecs
import gzip
import os
import subprocess
import sys

import pytest
from facts import refuses

from rosenblatt.errors import DataError
from rosenblatt.read import Layout, Source
from rosenblatt.read.data import read_batches, read_schema, read_whole
from rosenblatt.read.feed import Place
from rosenblatt.read.source import LONGEST_LINE, MOST_COLUMNS
from rosenblatt.read.streams import LineStream

MARKS = {
    "utf-8": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}
NAMES = ["d", "d.csv", "d.tsv", "d.dat", "d.jsonl", "d.svm"]


@pytest.mark.parametrize("encoding", MARKS)
@pytest.mark.parametrize("text", ["", "\n", "\r\n", "\n \n\n"])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_a_lone_byte_order_mark_is_refused(name, packed, text, encoding, tmp_path):
    content = MARKS[encoding] + text.encode(encoding)
    path = tmp_path / (name + ".gz" * packed)
    path.write_bytes(gzip.compress(content) if packed else content)
    source = Source.find(str(path))
    must_be_utf_8 = encoding != "utf-8" and name in ("d.jsonl", "d.svm")
    for read in (read_whole, read_schema, lambda source: list(read_batches(source))):
        with refuses(DataError, "UTF-8" if must_be_utf_8 else name):
            read(source)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("d.csv", "a,y\n1,0\n2,1\n"),
        ("d.dat", "1 0\n2 1\n"),
        ("d.jsonl", '{"a": 1, "y": 0}\n{"a": 2, "y": 1}\n'),
        ("d.svm", "0 1:1\n1 1:2\n"),
    ],
)
def test_a_utf_8_byte_order_mark_is_not_part_of_the_text(name, text, tmp_path):
    (tmp_path / name).write_text(text)
    plain = read_whole(Source.find(str(tmp_path / name)))
    (tmp_path / name).write_text(text, encoding="utf-8-sig")
    marked = Source.find(str(tmp_path / name))
    assert read_whole(marked).equals(plain)
    stream = LineStream(str(tmp_path / name))
    assert b"".join(chunk.data for chunk in stream.chunks(Place(), None)) == text.encode()


def long_lines(name, size):
    """A table whose third line has so many bytes, of which few are a number."""
    if name == "d.jsonl":
        begin, end = b'{"a": "x", "y": 0}\n{"a": "z", "y": 1}\n{"y": 0, "a": "', b'"}'
    elif name == "d.svm":
        begin, end = b"0 1:1\n1 1:2\n0 1:3 #", b""
    else:
        cut = b" " if name == "d.dat" else b","
        begin, end = cut.join([b"x", b"0\nz", b"1\n"]), cut + b"0"
    above, newline, line = begin.rpartition(b"\n")
    more = b"w" * (size - len(line) - len(end))
    return begin + more + end + b"\n" + above + newline


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", ["d.csv", "d.dat", "d.jsonl", "d.svm"])
def test_a_line_longer_than_the_limit_is_refused_by_its_number(name, packed, late, tmp_path):
    content = long_lines(name, LONGEST_LINE + 1)
    if late:  # behind blocks of short lines
        content = content[: content.index(b"\n") + 1] * (1 << 20) + content
    path = tmp_path / (name + ".gz" * packed)
    path.write_bytes(gzip.compress(content, 1) if packed else content)
    line = f"line {3 if not late else (1 << 20) + 3}"
    with refuses(DataError, line):
        read_whole(Source.find(str(path)))
    with refuses(DataError, line):
        list(read_batches(Source.find(str(path))))
    with refuses(DataError, line):
        list(LineStream(str(path)).chunks(Place(), None))


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("name", ["d.csv", "d.dat", "d.jsonl", "d.svm"])
def test_a_line_as_long_as_the_limit_is_read(name, late, tmp_path):
    content = long_lines(name, LONGEST_LINE)
    content = content[: content.index(b"\n") + 1] * (1 << 20) * late + content
    path, rows = tmp_path / name, content.count(b"\n")
    path.write_bytes(content)
    layout = Layout(header=False)
    assert read_whole(Source.find(str(path)), layout).num_rows == rows
    assert sum(map(len, read_batches(Source.find(str(path)), layout))) == rows
    assert sum(chunk.count for chunk in LineStream(str(path)).chunks(Place(), None)) == rows


def test_an_endless_line_is_refused_while_it_arrives():
    command = [sys.executable, "-m", "rosenblatt", "stream", "-", "--target", "y"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as reader:
        pipe, refused = reader.stdin.fileno(), False
        while not refused:
            try:
                os.write(pipe, b"1," * (1 << 15))
            except BrokenPipeError:
                refused = True
        err = reader.stderr.read().decode()
    assert (reader.returncode, "line 1" in err) == (65, True), err


def test_more_columns_than_the_limit_are_refused(tmp_path):
    (tmp_path / "d.csv").write_text(",".join(["1"] * (MOST_COLUMNS + 1)) + "\n")
    with refuses(DataError, f"{MOST_COLUMNS + 1:,}"):
        read_whole(Source.find(str(tmp_path / "d.csv")))


def test_words_of_a_long_line_are_not_columns(tmp_path):
    (tmp_path / "d.csv").write_text("note,y\n" + "a b " * MOST_COLUMNS + ",1\nb,0\n")
    assert read_whole(Source.find(str(tmp_path / "d.csv"))).column_names == ["note", "y"]
