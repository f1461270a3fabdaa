"""Compressed files as streams are the lines in them; other kinds of file are refused."""

import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from compressors import PACKERS, as_zip

UNPACK = {
    ".gz": "gzip -dc",
    ".bz2": "bzip2 -dc",
    ".xz": "xz -dc",
    ".zst": "zstd -dc",
    ".zip": "unzip -p",
}
WORKBOOK = as_zip("<w/>\n", "xl/workbook.xml", **{"[Content_Types].xml": "<Types/>\n"})


def text(rows):
    lines = (f"{i % 7},{i % 5 - 2},{'yes' if i % 7 > 3 else 'no'}\n" for i in range(rows))
    return ("a,b,label\n" + "".join(lines)).encode()


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_compressed_file_is_trained_on_like_its_lines(run_command, tmp_path, suffix):
    (tmp_path / "d.csv").write_bytes(text(50))
    (tmp_path / f"d.csv{suffix}").write_bytes(PACKERS[suffix](text(50)))
    code, expected, _ = run_command("stream", "d.csv", "--save", "plain.json")
    assert (code, expected.count("\n")) == (0, 50)
    assert run_command("stream", f"d.csv{suffix}", "--save", "m.json")[:2] == (0, expected)
    assert (tmp_path / "m.json").read_bytes() == (tmp_path / "plain.json").read_bytes()


@pytest.mark.parametrize("suffix", PACKERS)
def test_resuming_a_compressed_file_continues_after_its_last_line(run_command, tmp_path, suffix):
    path = tmp_path / f"d.csv{suffix}"
    (tmp_path / "d.csv").write_bytes(text(50))
    _, expected, _ = run_command("stream", "d.csv")
    for rows in (20, 50):
        path.write_bytes(PACKERS[suffix](text(rows)))
        code, _, err = run_command("stream", path, "--checkpoint", "kept", "--resume", "-o", "out")
        assert code == 0, err
    assert (tmp_path / "out").read_text() == expected
    path.write_bytes(PACKERS[suffix](text(60).replace(b"yes", b"YES")))
    code, _, err = run_command("stream", path, "--checkpoint", "kept", "--resume", "-o", "out")
    assert (code, "is not the stream that the checkpoint was made on" in err) == (65, True)


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_truncated_compressed_file_is_reported_as_damaged(run_command, tmp_path, suffix):
    packed = PACKERS[suffix](text(50_000))
    (tmp_path / f"d.csv{suffix}").write_bytes(packed[: len(packed) // 2])
    code, _, err = run_command("stream", f"d.csv{suffix}", "--quiet", "-o", "out")
    assert code == 65
    assert f"d.csv{suffix} is" in err


def test_a_compressed_file_is_not_followed(run_command, tmp_path):
    (tmp_path / "d.csv.gz").write_bytes(gzip.compress(text(9)))
    code, _, err = run_command("stream", "d.csv.gz", "--follow")
    assert (code, "d.csv.gz is compressed" in err) == (64, True)


def test_compressed_parquet_is_refused_with_advice_to_decompress(run_command, tmp_path):
    pq.write_table(pa.table({"a": [1.0, 2.0], "label": ["no", "yes"]}), tmp_path / "d.parquet")
    packed = gzip.compress((tmp_path / "d.parquet").read_bytes())
    (tmp_path / "d.parquet.gz").write_bytes(packed)
    code, _, err = run_command("stream", "d.parquet.gz")
    assert (code, "d.parquet.gz holds compressed Parquet" in err) == (64, True)


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_compressed_pipe_is_refused_with_advice_to_decompress(program, suffix):
    got = program("stream", "-", stdin=PACKERS[suffix](text(50)))
    assert got.returncode == 65
    assert f"unpack them first, as {UNPACK[suffix]} does" in got.stderr.decode()


def test_a_workbook_is_refused_in_one_sentence(run_command, program, tmp_path):
    for name in ("d.xlsx", "d.csv"):
        (tmp_path / name).write_bytes(WORKBOOK)
        code, _, err = run_command("stream", name, "--target", "y")
        assert (code, f"{name} holds" in err, err.count("\n")) == (65, True, 1), err
    got = program("stream", "-", stdin=WORKBOOK)
    assert (got.returncode, b"standard input holds zip data" in got.stderr) == (65, True)
