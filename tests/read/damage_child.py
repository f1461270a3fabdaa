"""Reads JSON lines damaged at every position; what it says last is the line that killed it.

python damage_child.py PATH TIMES
"""

import sys
from contextlib import suppress
from pathlib import Path

from rosenblatt.errors import DataError
from rosenblatt.read import Source
from rosenblatt.read.data import read_whole
from rosenblatt.read.feed import Chunk, JsonFeed, Place

REST = b'{"a": 1, "y": "no"}\n'
NESTED = b'{"a": [1, {"b": null}, []], "c": {"d": "e\\"}, "y": "no"}\n'
TOKENS = [b"null", b"", b"\n", b"{", b"}", b'"', b"[", b"]", b"3", b",", b"null\n", b"{}", b"true"]
TOKENS += [
    b"\nnull",
    b"nul",
    b"\\",
    b"\0",
    b"\xff",
    b":",
    b"-",
    b"[null]",
    b"\\ud800",
    b"\r",
    b"//",
]


def damaged(line, tokens):
    """A token put in at each position, in place of nothing, of a byte, and of all that follows."""
    for at in range(len(line) + 1):
        for token in tokens:
            for end in {at, at + 1, len(line) - 1}:
                yield line[:at] + token + line[max(at, end) :]


if __name__ == "__main__":
    path, times = Path(sys.argv[1]), int(sys.argv[2])
    lines = set(damaged(REST, TOKENS))
    if times > 1:
        lines |= set(damaged(NESTED, TOKENS))
    for line in sorted(lines):
        print(line, file=sys.stderr, flush=True)
        for content in (line, line + 40 * REST, REST + line):
            path.write_bytes(content)
            with suppress(DataError):
                read_whole(Source.find(str(path)))
            JsonFeed("y").read(Chunk(content, Place()))
    print(3 * len(lines))
