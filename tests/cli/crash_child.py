"""Runs the program in forks of a process that has everything loaded, and kills them on request.

Each line on standard input is a wish: {"arguments": [...], "after": seconds, "signal": number,
"at_call": number, "full_at": number}, all but the first optional. The answer is how it ended.
"""

import json
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import rosenblatt as rb
from rosenblatt import cli, files

CALLS = ("write", "fsync", "replace", "ftruncate")


def main():
    load()
    for line in sys.stdin:
        wish = json.loads(line)
        child = os.fork()
        if child == 0:
            run(wish)
        if "after" in wish:
            time.sleep(wish["after"])
            os.kill(child, wish["signal"])  # it may have ended, but not been waited for
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def load():
    """Load and compile here, once for all forks, what streams and rows that are left out need."""
    rb.OnlinePerceptron(average=True, pocket=True, window=2).learn_many(np.eye(3), [0, 1, 0])
    rows = [(0.5, "no"), (None, "no"), (1.5, "yes")]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = [json.dumps({"x": x, "label": label}) for x, label in rows]
        (folder / "d.jsonl").write_text("\n".join(lines))
        (folder / "d.csv").write_text("x,label\n" + "\n".join(f"{x},{y}" for x, y in rows))
        for data in ("d.jsonl", "d.csv"):
            written = f"--checkpoint kept.{data} --rejects bad.{data} -o out.{data}".split()
            kept = [folder / part if "." in part else part for part in written]
            end = cli.run(
                [str(part) for part in ("stream", folder / data, "--target", "label", *kept)]
            )
            assert end == 0, end


def run(wish):
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nothing, fd)
    if "at_call" in wish:
        die_at(wish["at_call"])
    if "full_at" in wish:
        fill_disk_at(wish["full_at"])
    os._exit(cli.run(wish["arguments"]))


def die_at(number):
    """Kill this process at its so-many-th call of the system: before it, or halfway through."""
    made = 0

    def deadly(call):
        def called(*given, **named):
            nonlocal made
            made += 1
            if made == number:
                if call.__name__ == "write" and len(given[1]) > 1:
                    call(given[0], given[1][: len(given[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*given, **named)

        return called

    for name in CALLS:
        setattr(os, name, deadly(getattr(os, name)))


def fill_disk_at(number):
    """From the so-many-th checkpoint on, the disk has no room for another."""
    made, settle = 0, files._sync_and_rename

    def full(beside, place):
        nonlocal made
        made += 1
        if made >= number:
            raise OSError(28, "No space left on device")
        settle(beside, place)

    files._sync_and_rename = full


if __name__ == "__main__":
    main()
