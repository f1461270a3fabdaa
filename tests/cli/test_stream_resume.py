"""What a stream goes on with is what it left: its outputs, its options, its unfinished line."""

import json
import os
import random
import subprocess

import pytest
from installed import PROGRAM

HEADER = "a,b,label\n"
KEPT = ("--checkpoint", "kept", "--quiet")
FILES = ("--checkpoint", "kept", "-o", "out", "--rejects", "bad")


def rows(begin, end):
    return "".join(
        f"{i % 7},{i % 5 - 2},{'yes' if i % 7 > 3 else 'no'}\n" for i in range(begin, end)
    )


@pytest.fixture
def stream(run_command, tmp_path):
    """Runs `rosenblatt stream` on a file that has grown by some rows since the last time."""

    def call(*arguments, until, data="d.csv"):
        (tmp_path / data).write_text(HEADER + rows(0, until))
        return run_command("stream", data, *KEPT, *arguments)

    return call


def files(folder):
    return {p.name: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture
def begun(stream, tmp_path):
    """A stream that ended in order after 30 rows, with predictions and rejects."""
    assert stream("-o", "out", "--rejects", "bad", until=30)[0] == 0
    return tmp_path


def refused(stream, folder, *arguments):
    """The sentence with which a run is refused, which must touch nothing."""
    (folder / "d.csv").write_text(HEADER + rows(0, 40))
    before = files(folder)
    code, _, err = stream("--resume", *arguments, until=40)
    assert code in (64, 65), err
    assert err.count("\n") == 1, err
    assert files(folder) == before
    return err


def test_another_output_is_refused_and_left_unchanged(stream, begun):
    (begun / "OTHER").write_text("somebody's diary\n" * 100)
    err = refused(stream, begun, "-o", "OTHER", "--rejects", "bad")
    assert "--output out, not for OTHER" in err
    err = refused(stream, begun, "-o", "out", "--rejects", "OTHER")
    assert "--rejects bad, not for OTHER" in err
    assert "without" not in refused(stream, begun, "-o", "out")
    assert "--output out, not for standard output" in refused(stream, begun, "--rejects", "bad")


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: "a note\n" + text,
        lambda text: text.replace("yes", "YES", 1),
        lambda text: text[: len(text) // 2] + "no\n" + text[len(text) // 2 :],
        lambda text: text + "a line of mine\n",
        lambda text: text[4:],
        lambda text: "",
    ],
)
def test_an_output_that_was_edited_between_runs_is_refused(stream, begun, edit):
    out = begun / "out"
    out.write_text(edit(out.read_text()))
    refused(stream, begun, "-o", "out", "--rejects", "bad")


def test_a_deleted_output_is_not_started_again(stream, begun):
    (begun / "out").unlink()
    err = refused(stream, begun, "-o", "out", "--rejects", "bad")
    assert "out has 0 bytes" in err
    refused(stream, begun, "-o", "new", "--rejects", "new too")


def test_a_foreign_file_of_the_same_name_is_refused(stream, begun):
    (begun / "sub").mkdir()
    (begun / "sub" / "out").write_text("x" * 10_000)
    refused(stream, begun, "-o", "sub/out", "--rejects", "bad")


def test_input_output_and_checkpoint_may_be_moved_together(stream, begun):
    (begun / "sub").mkdir()
    for name in ("out", "bad"):
        os.rename(begun / name, begun / "sub" / name)
    assert stream("--resume", "-o", "sub/out", "--rejects", "sub/bad", until=40)[0] == 0
    assert (begun / "sub" / "out").read_text().count("\n") == 40


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ([], ["--target", "a"]),
        (["--target", "label"], []),
        (["--target", "label"], ["--target", "a"]),
        ([], ["--ignore", "a"]),
        (["--ignore", "a"], []),
        ([], ["--separator", ";"]),
        ([], ["--no-header"]),
        ([], ["--format", "jsonl"]),
        ([], ["--decimal", ","]),
        ([], ["--category", "a"]),
        (["--text", "a"], []),
        ([], ["--predict-with", "average"]),
        ([], ["--eta", "2"]),
        ([], ["--no-intercept"]),
        ([], ["--window", "9"]),
    ],
)
def test_changed_options_are_refused(stream, tmp_path, before, now):
    assert stream("-o", "out", *before, until=30)[0] == 0
    assert "the checkpoint was made with" in refused(stream, tmp_path, "-o", "out", *now)
    assert stream("--resume", "-o", "out", *before, until=40)[0] == 0
    assert (tmp_path / "out").read_text().count("\n") == 40


def crashed(folder):
    """Make the checkpoint one after which a run was killed."""
    from rosenblatt.files import CheckpointFolder

    with CheckpointFolder(folder / "kept") as kept:
        kept.write({**kept.read(resume=True), "ended": False})


def test_output_after_the_last_checkpoint_is_truncated(stream, begun):
    crashed(begun)
    with open(begun / "out", "a") as file:
        file.write("yes\nno\nye")
    assert stream("--resume", "-o", "out", "--rejects", "bad", until=40)[0] == 0
    whole = (begun / "out").read_text()
    assert stream("-o", "whole", "--checkpoint", "anew", until=40)[0] == 0
    assert (begun / "whole").read_text() == whole


def test_output_without_a_checkpoint_is_kept_as_a_copy(stream, tmp_path):
    assert stream("-o", "out", until=0)[0] == 0
    crashed(tmp_path)
    (tmp_path / "out").write_text("of whom?\n")
    code, _, err = stream("--resume", "-o", "out", until=3)
    assert (code, "out.removed" in err) == (0, True)
    assert (tmp_path / "kept" / "out.removed").read_text() == "of whom?\n"
    assert (tmp_path / "out").read_text().count("\n") == 3


def test_without_its_checkpoint_an_output_is_not_overwritten(stream, begun):
    before = files(begun)
    code, _, err = stream("--resume", "--checkpoint", "mistyped", "-o", "out", until=30)
    assert (code, "--output out is not empty" in err) == (64, True)
    assert files(begun).items() >= before.items()


def test_a_file_in_the_place_of_a_device_is_not_emptied(stream, tmp_path):
    (tmp_path / "out").symlink_to("/dev/null")
    assert stream("-o", "out", until=30)[0] == 0
    (tmp_path / "out").unlink()
    (tmp_path / "out").write_text("a diary")
    assert "is not empty" in refused(stream, tmp_path, "-o", "out")


def test_a_checkpoint_of_an_earlier_version_is_refused_in_one_sentence(stream, begun):
    from rosenblatt.files import CheckpointFolder

    with CheckpointFolder(begun / "kept") as kept:
        old = kept.read(resume=True)
        kept.write({name: old[name] for name in ("model", "tally", "feed", "input")})
    assert "an earlier version" in refused(stream, begun, "-o", "out", "--rejects", "bad")


# A last line without its end


@pytest.mark.parametrize("form", ["csv", "jsonl", "libsvm"])
def test_with_a_checkpoint_an_unterminated_last_line_waits(run_command, tmp_path, form):
    begin, half, rest = {
        "csv": ("a,b,label\n1,2,0\n2,1,10\n", "3,4,1", "0\n5,6,0\n"),
        "jsonl": ('{"a": 1, "label": 0}\n{"a": 2, "label": 10}\n', '{"a": 3, "la', 'bel": 10}\n'),
        "libsvm": ("0 1:1\n10 1:2\n", "10 1:3", "5\n"),
    }[form]
    path = tmp_path / f"d.{form}"
    arguments = ["stream", path, *KEPT, "-o", "out", "--rejects", "bad", "--format", form]
    arguments += ["--target", "label"] if form != "libsvm" else []
    path.write_text(begin + half)
    code, _, err = run_command(*arguments)
    number = begin.count("\n") + 1
    assert (code, err.count("\n")) == (0, 1), err
    assert f"line {number} is incomplete" in err
    assert (tmp_path / "out").read_text().count("\n") == 2
    path.write_text(begin + half + rest)
    code, _, err = run_command(*arguments, "--resume")
    assert (code, err) == (0, "")
    assert (tmp_path / "bad").read_text() == ""
    assert (tmp_path / "out").read_text().count("\n") == 2 + rest.count("\n")
    labels = json.loads((tmp_path / "kept" / "checkpoint.json").read_text())
    assert labels["content"]["model"]["labels"] == [0, 10]


def test_an_unterminated_first_line_is_not_yet_a_header(run_command, tmp_path):
    (tmp_path / "d.csv").write_text("a,b,la")
    code, _, err = run_command("stream", "d.csv", *KEPT)
    assert (code, "ends within its first line" in err) == (65, True)


def test_without_a_checkpoint_the_end_of_the_file_ends_the_line(run_command, tmp_path):
    (tmp_path / "d.csv").write_text("a,b,label\n1,2,0\n3,4,1")
    code, out, _ = run_command("stream", "d.csv", "--quiet")
    assert (code, out.count("\n")) == (0, 2)


def mixed(chance, form):
    """Lines of numbers, categories and text, some of them bad, some without a label."""
    for n in range(40):
        x = {"a": chance.random(), "color": chance.choice("xyz"), "note": "see you " * n + "soon"}
        x["note"] = x["note"] if n else "we will see you soon"
        x["label"] = chance.choice(["yes", "no", ""])
        bad = chance.random() < 0.1 and n
        if form == "csv":
            yield ",".join(map(str, x.values())) + (",1\n" if bad else "\n")
        else:
            yield "{\n" if bad else json.dumps({**x, "label": x["label"] or None}) + "\n"


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize("seed", range(4))
def test_a_file_that_grows_by_bytes_is_trained_on_as_if_complete(tmp_path, run_command, form, seed):
    chance = random.Random(seed)
    header = "a,color,note,label\n" if form == "csv" else ""
    text = header + "".join(mixed(chance, form))
    path = tmp_path / f"d.{form}"
    arguments = ["stream", path, "--quiet", "--target", "label", "--resume"]
    first = text.index("\n", len(header)) + 1
    cuts = sorted(chance.sample(range(first, len(text)), 4))
    for end in (*cuts, len(text)):
        path.write_text(text[:end])
        assert run_command(*arguments, *FILES, "--every", chance.randint(1, 50))[0] == 0
    left = [(tmp_path / name).read_bytes() for name in ("out", "bad", "kept/checkpoint.json")]
    for name in ("out", "bad", "kept"):
        os.rename(tmp_path / name, tmp_path / f"first {name}")
    assert run_command(*arguments, *FILES)[0] == 0
    assert left == [
        (tmp_path / name).read_bytes() for name in ("out", "bad", "kept/checkpoint.json")
    ]


def test_lines_that_others_append_to_the_output_are_kept(tmp_path):
    (tmp_path / "d.csv").write_text(HEADER + rows(0, 20))
    command = f"{PROGRAM} stream d.csv --checkpoint kept --quiet --resume >> out"
    subprocess.run(command, shell=True, cwd=tmp_path, check=True, stderr=subprocess.DEVNULL)
    with open(tmp_path / "out", "a") as file:
        file.write("done\n")
    done = subprocess.run(command, shell=True, cwd=tmp_path, check=True, stderr=subprocess.PIPE)
    assert b"kept/output.removed" in done.stderr
    assert (tmp_path / "kept" / "output.removed").read_text() == "done\n"
    (tmp_path / "out").write_text("changed\n" * 20)
    done = subprocess.run(command, shell=True, cwd=tmp_path, check=False, stderr=subprocess.PIPE)
    assert done.returncode == 65
    assert (tmp_path / "out").read_text() == "changed\n" * 20
