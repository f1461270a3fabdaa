"""Stored results: one file for each set of instructions that kernels were compiled for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
# Settings of Numba and OpenBLAS for each set of instructions, for us and for peers. Of the
# processors with AVX2 and without AVX-512, skylake is the hardest case, because LLVM assumes that
# gathers are fast on it.
INSTRUCTIONS: dict[str, dict[str, str]] = {
    "host": {},
    "generic": {
        "NUMBA_CPU_NAME": "generic",
        "NUMBA_CPU_FEATURES": "",
        "OPENBLAS_CORETYPE": "Prescott",
    },
    "avx2": {
        "NUMBA_CPU_NAME": "skylake",
        "NUMBA_CPU_FEATURES": "",
        "OPENBLAS_CORETYPE": "Haswell",
    },
}
SETTINGS = ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "OPENBLAS_CORETYPE")
# Parts whose speed depends on our kernels; the others are measured for the host alone.
KERNEL_PARTS = ("pla", "separability", "pocket", "online", "family")

Parts = dict[str, Any]


def environment(kind: str, given: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a process that compiles for these instructions."""
    return {name: value for name, value in given.items() if name not in SETTINGS} | INSTRUCTIONS[
        kind
    ]


def path(folder: Path, kind: str) -> Path:
    """Return the file with the results for a set of instructions."""
    return folder / ("results.json" if kind == "host" else f"results-{kind}.json")


def read(folder: Path = HERE) -> dict[str, Parts]:
    """Return the results by part, for every set of instructions that has results."""
    files = {kind: path(folder, kind) for kind in INSTRUCTIONS}
    return {
        kind: json.loads(file.read_text(encoding="utf-8"))
        for kind, file in files.items()
        if file.exists()
    }


def write(folder: Path, kind: str, parts: Parts) -> None:
    """Write the results for a set of instructions to its file."""
    text = json.dumps(parts, indent=1, ensure_ascii=False) + "\n"
    path(folder, kind).write_text(text, encoding="utf-8")
