"""Run one part: `python -m bench.part NAME FILE [--quick]` appends each result to FILE.

A part is a module with `WORKS = {function: ("part.what", …)}`: each function takes `quick` and
yields lines and tables whose ids begin with one of these strings. If one function fails, the others
still run.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any, TextIO

from bench.line import Line, MissingError


def run(name: str, quick: bool, out: TextIO) -> None:
    for work, ids in _works(name, out).items():
        begin = time.perf_counter()
        try:
            for result in work(quick):
                assert result.id.startswith(ids), f"{result.id} is none of {ids}"
                kind = "line" if isinstance(result, Line) else "table"
                _write(out, {kind: result.to_json()})
        except MissingError as missing:
            _write(out, {"missing": {"ids": ids, "why": str(missing)}})
        except Exception as trouble:
            traceback.print_exc()
            why = f"{type(trouble).__name__}: {trouble}".splitlines()[0]
            _write(out, {"missing": {"ids": ids, "why": why, "failed": True}})
        _write(out, {"took": [work.__name__, round(time.perf_counter() - begin, 1)]})


def _works(name: str, out: TextIO) -> dict[Any, tuple[str, ...]]:
    try:
        works: dict[Any, tuple[str, ...]] = importlib.import_module(f"bench.{name}").WORKS
    except (ImportError, MissingError) as missing:
        _write(out, {"missing": {"ids": [name], "why": str(missing)}})
        return {}
    return works


def _write(out: TextIO, value: dict[str, Any]) -> None:
    out.write(json.dumps(value, ensure_ascii=False) + "\n")
    out.flush()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with Path(sys.argv[2]).open("a", encoding="utf-8") as out:
        run(sys.argv[1], "--quick" in sys.argv, out)
