"""Where results are kept: one file for each set of instructions that kernels were compiled for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
# What Numba is told to compile for, and which kernels BLAS takes on such a processor: ours and the
# peers' alike. LLVM takes gathers to be fast on skylake, so that it is the harder of the processors
# with AVX2 and without AVX-512.
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
# What our own kernels decide; the others are measured for the host alone.
KERNEL_PARTS = ("pla", "separability", "pocket", "online", "family")

Parts = dict[str, Any]


def environment(kind: str, given: Mapping[str, str]) -> dict[str, str]:
    """The environment of a process that compiles for these instructions."""
    return {name: value for name, value in given.items() if name not in SETTINGS} | INSTRUCTIONS[
        kind
    ]


def path(folder: Path, kind: str) -> Path:
    """The file of one set of instructions."""
    return folder / ("results.json" if kind == "host" else f"results-{kind}.json")


def read(folder: Path = HERE) -> dict[str, Parts]:
    """The results of every set of instructions that has some, by part."""
    files = {kind: path(folder, kind) for kind in INSTRUCTIONS}
    return {
        kind: json.loads(file.read_text(encoding="utf-8"))
        for kind, file in files.items()
        if file.exists()
    }


def write(folder: Path, kind: str, parts: Parts) -> None:
    """Keep the results of one set of instructions."""
    text = json.dumps(parts, indent=1, ensure_ascii=False) + "\n"
    path(folder, kind).write_text(text, encoding="utf-8")
