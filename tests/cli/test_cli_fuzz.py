"""Thousands of broken files and models: one sentence each, never a traceback."""

import bz2
import gzip
import json
import lzma
import os
import random
import zipfile
from pathlib import Path

import numpy as np
import pytest
from case_counts import count_cases, n_cases

from rosenblatt.experiments import credit

# Plain Python instead of compiled kernels is slow: fewer files then.
SHARE = 3 if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0") else 1
PACKED = ["d.csv.gz", "d.csv.bz2", "d.csv.xz", "d.csv.zst", "d.csv.zip"]
CODES = {0, 1, 2, 64, 65, 66, 74}
TOKENS = [b",", b"\t", b";", b'"', b"\n", b"\r", b"\0", b"\xff", b"?", b"NaN", b"1e999", b" ", b":"]
TOKENS += [b"-", b"{", b"}", b"[", b"]", b"true", b"null", b"\xef\xbb\xbf", b"0", b"999999999999"]


def spoiled(content, rng):
    """Bytes with a few cuts, doublings, swaps and strange tokens."""
    data = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.choice([1, 2, 8, 64, 512]))
        what = rng.randrange(6)
        if what == 0:
            del data[at:end]
        elif what == 1:
            data[at:at] = rng.choice(TOKENS)
        elif what == 2:
            data[at:at] = data[at:end]
        elif what == 3 and data:
            data[min(at, len(data) - 1)] = rng.randrange(256)
        elif what == 4:
            del data[at:]
        else:
            data[at:end] = rng.choice(TOKENS) * (end - at)
    return bytes(data)


def small_files(folder):
    """Small valid files of every format."""
    import pyarrow.csv
    import pyarrow.feather
    import pyarrow.parquet

    table = credit(n=12)
    pyarrow.csv.write_csv(table, folder / "d.csv")
    pyarrow.parquet.write_table(table, folder / "d.parquet")
    pyarrow.feather.write_feather(table, folder / "d.feather")
    rows = table.to_pylist()
    (folder / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "d.svm").write_text("".join(f"{i % 2} 1:{i} 3:{i * i}\n" for i in range(12)))
    (folder / "d").write_text("".join(f"{'ab'[i % 2]}\tsome words {i} here\n" for i in range(60)))
    (folder / "d.dat").write_text("".join(f"{i / 7} {i * 0.5}\t{i % 2}\n" for i in range(12)))
    content = (folder / "d.csv").read_bytes()
    (folder / "d.csv.gz").write_bytes(gzip.compress(content))
    (folder / "d.csv.bz2").write_bytes(bz2.compress(content))
    (folder / "d.csv.xz").write_bytes(lzma.compress(content))
    (folder / "d.csv.zst").write_bytes(pyarrow.Codec("zstd").compress(content, asbytes=True))
    with zipfile.ZipFile(folder / "d.csv.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("d.csv", content)
    numbers = np.column_stack([np.arange(12.0), np.arange(12.0) ** 2, np.arange(12) % 2])
    np.save(folder / "d.npy", numbers)
    text = ["d.jsonl", "d.svm", "d", "d.dat", "d.npy"]
    return ["d.csv", "d.parquet", "d.feather", *text, *PACKED]


def fine(code, out, err, content):
    count_cases("damaged files of data, models and proofs")
    assert code in CODES, (code, err, content)
    assert "Traceback" not in out + err, content
    if code >= 64:
        last = err.strip().splitlines()[-1]
        assert last.startswith("rosenblatt: "), (err, content)
        assert last.endswith((".", '"')), (err, content)


@pytest.mark.parametrize("number", range(8 + len(PACKED)))
def test_broken_data_never_ends_in_a_traceback(number, run_command, tmp_path):
    name = small_files(tmp_path)[number]
    content = (tmp_path / name).read_bytes()
    rng = random.Random(number)
    accepted = 0
    for _ in range(n_cases((50 if name in PACKED else 150) // SHARE)):
        path = tmp_path / f"broken{Path(name).suffix}"
        path.write_bytes(spoiled(content, rng))
        code, out, err = run_command(
            "separable", path, "--missing", rng.choice(["error", "drop", "mean"])
        )
        fine(code, out, err, path.read_bytes())
        accepted += code < 3
    assert accepted > 0 or name in ("d.parquet", "d.feather", "d.csv", *PACKED)


def test_broken_data_do_not_break_predict(run_command, tmp_path):
    names = small_files(tmp_path)
    rng = random.Random(0)
    for name in names:
        target = [] if name in ("d.svm", "d") else ["--target", "-1"]
        code, _, err = run_command("learn", name, *target, "--test-size", 0, "--time-limit", 0.1)
        assert code == 0, err
        content = (tmp_path / name).read_bytes()
        for _ in range(n_cases((15 if name in PACKED else 50) // SHARE)):
            path = tmp_path / f"broken{Path(name).suffix}"
            path.write_bytes(spoiled(content, rng))
            explain = rng.choice([[], ["--explain"]])
            code, out, err = run_command("predict", "model.json", path, *explain)
            fine(code, out, err, path.read_bytes())


def test_broken_models_are_refused(run_command, tmp_path):
    small_files(tmp_path)
    rng = random.Random(1)
    for data, extra in (("d.csv", []), ("d", []), ("d.svm", [])):
        assert run_command("learn", data, *extra, "--test-size", 0, "--time-limit", 0.1)[0] == 0
        content = (tmp_path / "model.json").read_bytes()
        for _ in range(n_cases(160 // SHARE)):
            (tmp_path / "broken.json").write_bytes(spoiled(content, rng))
            code, out, err = run_command("predict", "broken.json", data)
            fine(code, out, err, (tmp_path / "broken.json").read_bytes())


def test_broken_proofs_are_refused(run_command, tmp_path):
    (tmp_path / "xor.csv").write_text("a,b,y\n0,0,no\n0,1,yes\n1,0,yes\n1,1,no\n")
    assert run_command("separable", "xor.csv", "--target", "y", "--proof", "p.json")[0] == 1
    content = (tmp_path / "p.json").read_bytes()
    rng = random.Random(2)
    for _ in range(n_cases(200 // SHARE)):
        (tmp_path / "broken.json").write_bytes(spoiled(content, rng))
        code, out, err = run_command("verify", "broken.json", "xor.csv")
        fine(code, out, err, (tmp_path / "broken.json").read_bytes())


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["learn", "no-such.csv"], 66),
        (["learn", "."], 66),
        (["fly"], 64),
        (["learn", "--fly"], 64),
        (["learn", "--test-size", "2"], 64),
        (["learn", "--separator", "ab"], 64),
        (["learn", "d.csv", "--noise", "0.1"], 64),
        (["learn", "d.csv", "--target", "nothing"], 64),
        (["learn", "d.csv", "--target", "age"], 65),
        (["learn", "d.csv", "--cv", "400"], 64),
        (["learn", "d.csv", "--format", "xlsx"], 64),
        (["learn", "d.csv", "-o", "no/where.json", "--test-size", "0"], 74),
        (["learn", "d.csv", "-o", ".", "--test-size", "0"], 74),
        (["learn", "d.csv", "--stop-words", "no-such"], 66),
        (["predict", "no-such.json", "d.csv"], 66),
        (["predict", "d.csv", "d.csv"], 65),
        (["verify", "d.csv", "d.csv"], 65),
        (["experiment", "--runs", "0"], 64),
        (["experiment", "--noise", "1.1"], 64),
        (["separable"], 64),
    ],
)
def test_each_error_has_its_exit_code(run_command, tmp_path, arguments, code):
    small_files(tmp_path)
    got, _, err = run_command(*arguments)
    assert got == code, err
    assert err.count("\n") == 1
    assert err.startswith("rosenblatt: ")


def test_a_file_without_read_permission_exits_with_66(run_command, tmp_path):
    path = tmp_path / "secret.csv"
    path.write_text("a,y\n1,0\n")
    path.chmod(0)
    try:
        path.read_bytes()
    except PermissionError:
        code, _, err = run_command("learn", path)
        assert code == 66
        assert "no permission" in err
    else:
        pytest.skip("this user may read everything")
