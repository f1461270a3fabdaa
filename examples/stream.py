"""Kill a stream in the middle, resume it, and compare with one that was never interrupted.

Run it as `python examples/stream.py [ROWS]`. It prints how many rows were lost or repeated: none.
"""

import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def write_clicks(file, rows):
    chance = random.Random(0)
    with open(file, "w", encoding="utf-8") as out:
        for _ in range(rows):
            click = {"hour": chance.random(), "price": chance.random(), "stars": chance.random()}
            click["bought"] = click["price"] + 0.5 * click["hour"] - click["stars"] < 0.3
            out.write(json.dumps(click) + "\n")


def stream(clicks, folder, *options):
    """Return the `rosenblatt stream` command that writes its output to a folder."""
    return [
        *(sys.executable, "-m", "rosenblatt", "stream", str(clicks), "--target", "bought"),
        *("--checkpoint", str(folder / "state"), "--every", "1000", "--quiet"),
        *("-o", str(folder / "predicted.txt"), "--save", str(folder / "model.json"), *options),
    ]


def kill_when(predictions, lines, process):
    """Kill a process once it has written some predictions; return whether it was running."""
    while process.poll() is None:
        if predictions.exists() and predictions.read_bytes().count(b"\n") >= lines:
            process.send_signal(signal.SIGKILL)
            return process.wait() != 0
        time.sleep(0.01)
    return False


def main(rows=200_000):
    with tempfile.TemporaryDirectory() as name:
        clicks, whole, killed = (Path(name) / part for part in ("clicks.jsonl", "whole", "killed"))
        whole.mkdir()
        killed.mkdir()
        write_clicks(clicks, rows)

        subprocess.run(stream(clicks, whole), check=True)
        first = subprocess.Popen(stream(clicks, killed))
        stopped = kill_when(killed / "predicted.txt", rows // 4, first)
        had = (killed / "predicted.txt").read_bytes().count(b"\n")
        print(f"killed after {had:,} predictions of {rows:,}" if stopped else "too quick to kill")
        subprocess.run(stream(clicks, killed, "--resume"), check=True)

        for file in ("predicted.txt", "model.json"):
            same = (whole / file).read_bytes() == (killed / file).read_bytes()
            print(f"{file}: {'the same bytes' if same else 'DIFFERENT'}")
            if not same:
                sys.exit(1)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
