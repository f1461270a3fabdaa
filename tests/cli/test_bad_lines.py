"""Lines that are no rows: refused by their number, with exit code 65, by every command."""

import json

import pytest

FINE = b'{"a": 1, "y": "no"}\n{"a": 2, "y": "yes"}\n'


@pytest.mark.parametrize("line", [b"null", b"  null", b'null {"a": 1}', b"[1]"])
@pytest.mark.parametrize("more", [0, 40])
@pytest.mark.parametrize(
    "arguments",
    [["learn"], ["learn", "--stream"], ["predict", "model.json"], ["separable"], ["stream"]],
    ids=" ".join,
)
def test_a_line_that_is_not_an_object_exits_with_65(arguments, more, line, run_command, tmp_path):
    rows = [{"a": i, "y": "yes" if i > 9 else "no"} for i in range(20)]
    (tmp_path / "fine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "d.jsonl").write_bytes(line + b"\n" + FINE * more)
    assert run_command("learn", "fine.jsonl", "--test-size", 0)[0] == 0
    code, out, err = run_command(
        *arguments, "d.jsonl", *(["--target", "y"] * (arguments == ["stream"]))
    )
    if arguments == ["stream"] and more:  # which sets a bad line aside
        assert (code, "line 1" in err) == (0, True)
    else:
        assert code == 65, (out, err)
        assert "row 1" in err or arguments == ["stream"], err
