"""Run benchmarks: `python -m bench [part …] [--instructions KIND] [--quick] [--out FOLDER]`.

The figures of each part go to results.json; RESULTS.md is rendered from this file, and README and
manual quote its figures. `--instructions generic` and `avx2` compile for other processors, run the
parts whose speed depends on kernels, and store these figures beside those of the host. `--quick`
uses small sizes, says so in the table, and does not change the stored results.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench import kept, machine, quotes, render
from bench.line import Line
from bench.promises import PROMISES

HERE = Path(__file__).parent
PARTS = (
    "pla", "separability", "separation", "pocket", "fewest", "cli", "online",
    "page", "big", "dask", "growth", "quality", "family", "limits",
)  # fmt: skip
PATIENCE = 1800.0  # seconds a part may take before it is ended and the others go on


def main(arguments: list[str]) -> int:
    asked = _asked(arguments)
    folder = asked.out or (HERE.parent / "build" / "bench" if asked.quick else HERE)
    folder.mkdir(parents=True, exist_ok=True)
    failed, kind = False, asked.instructions
    for name in [name for name in asked.parts or PARTS if name in parts_of(kind)]:
        print(f"bench: {name}, {kind} …", flush=True)
        part = run_part(name, asked.quick, kind)
        failed |= any(missing.get("failed") for missing in part["missing"])
        write(folder, name, part, kind)
        render.show(part)
    print(f"bench: {folder / 'RESULTS.md'} and results.json written.")
    if folder == HERE:
        quotes.main([])
    return int(failed)


def _asked(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(PARTS))
    parser.add_argument(
        "--instructions",
        default="host",
        choices=kept.INSTRUCTIONS,
        help="what kernels are compiled for (other than host: the parts that kernels decide)",
    )
    parser.add_argument("--quick", action="store_true", help="smoke sizes")
    parser.add_argument("--out", type=Path, help="folder of results.json and RESULTS.md")
    asked = parser.parse_args(arguments)
    for name in asked.parts:
        if name not in PARTS:
            parser.error(f"no part {name!r}; there are {', '.join(PARTS)}.")
    return asked


def parts_of(kind: str) -> tuple[str, ...]:
    """Return the parts that are measured with kernels compiled for these instructions."""
    return PARTS if kind == "host" else kept.KERNEL_PARTS


def run_part(name: str, quick: bool, kind: str = "host") -> dict[str, Any]:
    """Run one part in its own process, so that parts cannot slow or end each other."""
    part: dict[str, Any] = {**machine.stamp(kind), "quick": quick, "lines": [], "tables": []}
    part |= {"missing": [], "took": {}}
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "results"
        out.touch()
        command = [sys.executable, "-m", "bench.part", name, str(out), *["--quick"] * quick]
        ended = _patiently(command, kept.environment(kind, os.environ))
        for text in out.read_text(encoding="utf-8").splitlines():
            _take(json.loads(text), part)
    if ended:
        part["missing"].append({"ids": [name], "why": ended, "failed": True})
    part["seconds"] = round(time.perf_counter() - begin, 1)
    part["lines"] += [line.to_json() for line in unmeasured(name, part)]
    return part


def _patiently(command: list[str], environment: dict[str, str]) -> str:
    """Run a command until it ends or PATIENCE is over; return the reason of a failure, or ""."""
    # With its own process group, browsers and workers that it started end with it.
    process = subprocess.Popen(command, cwd=HERE.parent, env=environment, start_new_session=True)
    try:
        status = process.wait(PATIENCE)
    except BaseException as interruption:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if not isinstance(interruption, subprocess.TimeoutExpired):
            raise
        return f"not done after {PATIENCE:g} s"
    return f"ended with status {status}" if status else ""


def _take(result: dict[str, Any], part: dict[str, Any]) -> None:
    for kind, value in result.items():
        if kind == "took":
            part["took"].update([value])
        elif kind == "missing":
            part["missing"].append(value)
        else:
            part[kind + "s"].append(value)


def unmeasured(name: str, part: dict[str, Any]) -> list[Line]:
    """Return a line with a reason instead of a figure for each unmeasured promise of a part."""
    there = {line["id"] for line in part["lines"]}
    lines = []
    for promise in PROMISES.values():
        if promise.part == name and promise.id not in there:
            gaps = [gap for gap in part["missing"] if promise.id.startswith(tuple(gap["ids"]))]
            lines.append(Line(promise, None, note=gaps[0]["why"] if gaps else "not run"))
    return lines


def write(folder: Path, name: str, part: dict[str, Any], kind: str = "host") -> None:
    """Replace the stored results of one part, and render RESULTS.md."""
    old = kept.read(folder).get(kind, {})
    parts = {part: old.get(part) or not_run(part, kind) for part in parts_of(kind)}
    kept.write(folder, kind, parts | {name: part})
    (folder / "RESULTS.md").write_text(render.markdown(kept.read(folder)), encoding="utf-8")


def not_run(name: str, kind: str = "host") -> dict[str, Any]:
    """Return results without figures for a part that was never run."""
    part: dict[str, Any] = {**machine.stamp(kind), "date": "", "load": None, "quick": False}
    part |= {"seconds": 0.0, "lines": [], "tables": [], "missing": [], "took": {}}
    return part | {"lines": [line.to_json() for line in unmeasured(name, part)]}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
