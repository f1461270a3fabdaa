import json
import math
import os
import subprocess
import sys

import pytest
from facts import refuses

import rosenblatt as rb
from rosenblatt.errors import DataError, OpenError, UsageError, WriteError
from rosenblatt.files import CheckpointFolder, compute_checksum, read_checksummed, write_checksummed


@pytest.fixture
def saved(tmp_path):
    model = rb.OnlinePerceptron(average=True, pocket=True, window=3)
    for i in range(10):
        model.learn_one({"a": i / 3, "b": (-1) ** i / 7}, i % 2)
    path = tmp_path / "model.json"
    model.save(path)
    return path


def test_numbers_are_restored_to_the_last_bit(tmp_path):
    numbers = [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, -0.0, 2**53 + 1]
    write_checksummed(tmp_path / "file", "stream checkpoint", numbers)
    again = read_checksummed(tmp_path / "file", "stream checkpoint")
    assert [math.copysign(1, v) for v in again] == [math.copysign(1, v) for v in numbers]
    assert again == numbers


def test_a_truncated_file_is_refused(saved):
    whole = saved.read_bytes()
    for length in range(0, len(whole) - 2, 7):
        saved.write_bytes(whole[:length])
        with refuses(DataError, "model.json"):
            rb.OnlinePerceptron.load(saved)


def test_any_changed_digit_is_detected(saved):
    text = saved.read_text()
    begin = text.index('"training"')
    for at, letter in enumerate(text):
        if at > begin and letter in "123456789":
            changed = text[:at] + ("1" if letter != "1" else "2") + text[at + 1 :]
            if json.loads(changed) == json.loads(text):  # a digit beyond those of a double
                continue
            saved.write_text(changed)
            with refuses(ValueError, "model.json"):
                rb.OnlinePerceptron.load(saved)


def test_wrong_formats_kinds_and_programs_are_named(saved):
    whole = json.loads(saved.read_text())
    for change, facts in [
        ({"format": 1}, ("model.json", "1", "2")),
        ({"rosenblatt": "proof"}, ("model.json", "proof")),
        ({"rosenblatt": "pickle"}, ("model.json",)),
    ]:
        saved.write_text(json.dumps({**whole, **change}))
        with refuses(DataError, *facts):
            rb.OnlinePerceptron.load(saved)


@pytest.mark.parametrize("kind", ["online perceptron", "stream checkpoint"])
def test_files_of_version_0_1_are_refused_with_a_remedy(tmp_path, kind):
    old = {"program": "rosenblatt", "kind": kind, "version": 1, "sha256": "0", "content": {}}
    for name in ("model.json", "checkpoint.json"):
        (tmp_path / name).write_text(json.dumps(old))
    if kind == "online perceptron":
        for read in (rb.OnlinePerceptron.load, rb.load):
            with refuses(DataError, "1", "2", "rosenblatt stream"):
                read(tmp_path / "model.json")
    else:
        with (
            CheckpointFolder(tmp_path) as folder,
            refuses(DataError, "1", "2"),
        ):
            folder.read(resume=True)


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"[]", b"3", b"{}", b"[" * 100_000, b"NaN"])
def test_files_without_a_model_are_refused(tmp_path, data):
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(DataError):
        rb.OnlinePerceptron.load(path)


def test_a_missing_file_is_an_error(tmp_path):
    with refuses(OpenError, "nothing"):
        rb.OnlinePerceptron.load(tmp_path / "nothing")


BROKEN = {
    "vectors": [{}, {"w": [0.0]}, {"w": ["a", 0, 0]}],
    "count": [[], [1] * 8, [0] * 8, [10, 11, 0, 0, 0, 0, 0, 0], [1.5] * 8],
    "window": ["", "zz", "020000"],
    "labels": [[], [1, 0], [0, 0], [0, 1, 2], "ab", [None, 1]],
    "features": [["a", "a"], [["a"], "b"], ["a"]],
    "parameters": [{}, {"window": 0}, {"code": "print(1)"}, None],
    "squared_radius": [-1, "1", None],
}


@pytest.mark.parametrize(("part", "value"), [(k, v) for k, vs in BROKEN.items() for v in vs])
def test_an_impossible_state_is_refused_even_if_its_checksum_matches(saved, part, value):
    whole = json.loads(saved.read_text())
    whole["stream"][part] = value
    saved.write_text(json.dumps({**whole, "checksum": compute_checksum(whole)}))
    with refuses(ValueError, "online perceptron"):
        rb.OnlinePerceptron.load(saved)


def test_a_failed_write_leaves_the_old_file_intact(saved, monkeypatch):
    before = saved.read_bytes()
    model = rb.OnlinePerceptron.load(saved)

    def no_space(fd):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with refuses(WriteError, "model.json", "No space left on device"):
        model.save(saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == ["model.json"]


def test_only_one_process_at_a_time_can_use_a_folder(tmp_path):
    with CheckpointFolder(tmp_path / "kept") as folder:
        folder.write({"n": 1})
        with refuses(OpenError, "kept"), CheckpointFolder(tmp_path / "kept"):
            pass
    with CheckpointFolder(tmp_path / "kept") as folder:
        assert folder.read(resume=True) == {"n": 1}
        with refuses(UsageError, advice=["resume"]):
            folder.read(resume=False)


def test_a_killed_process_leaves_no_lock_and_no_partial_file(tmp_path):
    code = (
        "import os, sys; from rosenblatt.files import CheckpointFolder\n"
        "folder = CheckpointFolder(sys.argv[1]).__enter__(); folder.write({'n': 1})\n"
        "open(folder.path / '.checkpoint.json.a1b2c3d4.rosenblatt-tmp', 'w').write('half')\n"
        "os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path], check=False)
    with CheckpointFolder(tmp_path) as folder:
        assert folder.read(resume=True) == {"n": 1}
        assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint.json", "lock"]


def test_other_files_in_the_folder_are_left_alone(tmp_path):
    others = [".checkpoint.json.left", ".checkpoint.json.mybackup", ".checkpoint.json.bak.zip"]
    for name in others:
        (tmp_path / name).write_text("mine")
    (tmp_path / ".checkpoint.json.abcdefgh.rosenblatt-tmp").symlink_to(tmp_path / others[0])
    with CheckpointFolder(tmp_path) as folder:
        folder.write({"n": 1})
    with CheckpointFolder(tmp_path) as folder:
        assert folder.read(resume=True) == {"n": 1}
    assert [(tmp_path / name).read_text() for name in others] == ["mine"] * 3


def test_an_empty_folder_has_no_checkpoint(tmp_path):
    with CheckpointFolder(tmp_path) as folder:
        assert folder.read(resume=True) is None
        assert folder.read(resume=False) is None


def test_a_folder_that_cannot_be_created_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with refuses(OpenError, "file"), CheckpointFolder(tmp_path / "file"):
        pass
