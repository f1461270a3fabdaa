"""A target that no row has is an error: its name is misspelt, and nothing is saved."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROWS = [{"size": n, "label": "yes" if n > 3 else "no"} for n in range(8)]


def write(path, rows):
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".csv":
        lines = [f"{row['size']},{row['label']}" for row in rows]
        path.write_text("\n".join(["size,label", *lines, ""]))
    elif path.suffix == ".libsvm":
        path.write_text("".join(f"{int(r['label'] == 'yes')} 1:{r['size']}\n" for r in rows))
    else:
        pq.write_table(pa.Table.from_pylist(rows), path)
    return path


FORMS = ["jsonl", "csv", "parquet", "libsvm"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kept", [[], ["--checkpoint", "state"]], ids=["alone", "checkpoint"])
def test_a_misspelt_target_is_refused_and_nothing_is_saved(run_command, tmp_path, form, kept):
    file = write(tmp_path / f"d.{form}", ROWS)
    options = ["--target", "labl", "--save", "model.json", "-o", "predictions.txt", *kept]
    code, out, err = run_command("stream", file, *options)
    assert code == 64
    assert "labl" in err
    assert "label" in err.replace("labl", "", 1)
    assert out == ""
    assert not (tmp_path / "model.json").exists()
    assert not (tmp_path / "predictions.txt").exists()
    assert not (tmp_path / "state" / "checkpoint.json").exists()
    right = ["--target", "label", *options[2:]]
    assert run_command("stream", file, *right, *(["--resume"] if kept else []))[0] == 0


@pytest.mark.parametrize("form", ["jsonl", "csv", "libsvm"])
@pytest.mark.parametrize("rows", [len(ROWS), 3000], ids=["few", "many"])
def test_a_misspelt_target_of_a_pipe_is_refused_too(program, tmp_path, form, rows):
    text = write(tmp_path / f"d.{form}", (ROWS * rows)[:rows]).read_bytes()
    options = ["--format", form, "--target", "labl", "--save", "model.json"]
    done = program("stream", "-", *options, stdin=text)
    assert done.returncode in (64, 65)
    assert b"labl" in done.stderr
    assert b"size" in done.stderr or form == "libsvm"
    assert not (tmp_path / "model.json").exists()


def test_a_pipe_without_its_target_is_refused_after_a_thousand_lines(program, tmp_path):
    lines = "".join(json.dumps({"size": n, "label": 1}) + "\n" for n in range(500_000))
    options = ["--target", "labl", "--save", "model.json", "--checkpoint", "state"]
    done = program("stream", "-", *options, stdin=lines.encode())
    assert done.returncode == 64
    assert b"size and label" in done.stderr
    assert not (tmp_path / "model.json").exists()
    assert not (tmp_path / "state" / "checkpoint.json").exists()


@pytest.mark.parametrize("late", [{}, {"label": None}], ids=["absent", "null"])
def test_labels_may_arrive_late(run_command, tmp_path, late):
    rows = [{"size": n, **late} for n in range(5)] + ROWS
    file = write(tmp_path / "d.jsonl", rows)
    code, out, err = run_command("stream", file, "--target", "label", "--save", "model.json")
    assert code == 0
    assert out.splitlines()[:6] == [""] * 6
    assert f"{len(rows)} rows predicted, {len(ROWS)} trained on" in err


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_a_stream_without_any_label_is_refused_at_its_end(run_command, tmp_path, form):
    nothing = None if form == "jsonl" else ""
    file = write(tmp_path / f"d.{form}", [{"size": n, "label": nothing} for n in range(9)])
    code, _, err = run_command("stream", file, "--target", "label", "--save", "model.json")
    assert code == 65
    assert '"label"' in err
    assert not (tmp_path / "model.json").exists()
