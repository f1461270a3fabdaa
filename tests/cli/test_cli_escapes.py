"""What stands in a file is shown on a terminal, never obeyed."""

import json
import re
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_cli_program import on_a_terminal

from rosenblatt.text import UNSEEN, dump_json_line, sanitize

ESC = "\x1b]0;owned\x07"
EVIL = f"{ESC}\x9b31m\u202e\u2028!"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029]")


def test_every_control_and_format_character_is_escaped():
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code)) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
            assert sanitize(chr(code)).startswith("\\"), hex(code)
    assert sanitize("naïve Straße 東京 🙂 a\u00a0b") == "naïve Straße 東京 🙂 a\u00a0b"


@given(st.text(st.characters(codec=None)))
def test_json_on_a_terminal_has_the_same_value(text):
    line = dump_json_line({"text": text})
    assert UNSEEN.search(line) is None
    assert json.loads(line) == {"text": text}


@pytest.fixture
def evil(tmp_path, monkeypatch):
    """A file whose names, labels, categories and own name all speak to the terminal."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{i},a{EVIL},n{EVIL}\n{i + 20},b{EVIL},y{EVIL}\n" for i in range(10))
    name = f"d{EVIL}.csv"
    Path(name).write_text(f"x{EVIL},c{EVIL},t{EVIL}\n{rows}")
    return name


def wordings(name):
    """Commands that repeat what a file holds, or what was typed."""
    yield ["learn", name, "--target", f"t{EVIL}", "--report"]
    yield ["learn", name, "--target", f"t{EVIL}", "--json"]
    yield ["learn", name, "--target", f"x{EVIL}"]
    yield ["learn", name, "--target", f"t{EVIL}", "--number", f"c{EVIL}"]
    yield ["separable", name, "--target", f"t{EVIL}"]
    yield ["separable", name, "--target", f"t{EVIL}", "--ignore", f"x{EVIL}", "--category", ESC]
    yield ["predict", "model.json", name, "--explain", "--to", "csv"]
    yield ["predict", "model.json", name, "-o", f"{EVIL}.csv"]
    yield ["predict", "model.json", name, "--json"]
    yield ["predict", name, name]
    yield ["stream", name, "--target", f"t{EVIL}"]
    yield [EVIL]
    yield ["learn", f"--{EVIL}"]
    yield ["learn", "--algorithm", EVIL]
    yield ["verify", EVIL, EVIL]


def test_no_command_prints_raw_file_content_to_a_terminal(evil, run_command):
    for number, arguments in enumerate(wordings(evil)):
        code, out, err = run_command(*arguments)
        assert code == 0 or number > 1, err
        if (arguments[0] == "predict" and "--to" in arguments) or arguments[0] == "stream":
            out = ""  # data for a pipe, as it is in the file
        assert OBEYED.search(out + err) is None, arguments


@pytest.mark.slow_without_jit
def test_predictions_are_escaped_on_a_terminal_and_raw_in_a_pipe(evil, run_command, tmp_path):
    assert run_command("learn", evil, "--target", f"t{EVIL}")[0] == 0
    assert f"y{EVIL}" in run_command("predict", "model.json", evil)[1]
    streamed = ["stream", evil, "--target", f"t{EVIL}", "--ignore", f"c{EVIL}"]
    for arguments in (["predict", "model.json", evil], streamed):
        code, seen = on_a_terminal(*arguments, cwd=tmp_path, NO_COLOR="1")
        assert code == 0
        # Progress has escapes of its own, none of these.
        assert not any(obeyed in seen for obeyed in ("\x1b]", "\x07", "\x9b", "\u202e", "\u2028"))
        assert r"y\x1b]0;owned\x07\x9b31m\u202e\u2028!" in seen
