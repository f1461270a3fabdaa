"""Circumstances of a measurement: machine, instructions, versions, date."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bench import kept

PACKAGES = (
    "rosenblatt", "numpy", "scipy", "numba", "scikit-learn", "pyarrow", "python-flint",
    "river", "vowpalwabbit", "mlxtend", "FukuML", "firthmodels", "dask",
    "distributed", "dask-ml", "playwright",
)  # fmt: skip


# Names of vector instructions, widest first; the first that a processor has is reported.
WIDEST = {"+avx512f": "AVX-512", "+avx2": "AVX2", "+avx": "AVX", "+neon": "NEON"}
OTHERS = {"generic": "SSE2 alone", "avx2": "AVX2"}  # vectors of the processors in `kept`


def stamp(kind: str = "host") -> dict[str, Any]:
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": _machine(),
        "instructions": _instructions(kind),
        "load": round(os.getloadavg()[0], 1),
        "cores": _cores(),
        "versions": {"Python": platform.python_version(), **{p: _version(p) for p in PACKAGES}},
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _instructions(kind: str) -> str:
    """Return the processor that Numba compiles for, and the widest vectors on it."""
    from llvmlite import binding

    asked = kept.INSTRUCTIONS[kind]
    if asked:
        return f"{asked['NUMBA_CPU_NAME']} ({OTHERS[kind]})"
    has = binding.get_host_cpu_features().flatten().split(",")
    widest = next((name for flag, name in WIDEST.items() if flag in has), "no wide vectors")
    return f"{binding.get_host_cpu_name()} ({widest})"


def _machine() -> str:
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{_processor()}, {_cores()} cores, {gigabytes:.0f} GB, "
        f"{platform.system()} {platform.machine()}"
    )


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    names = path.read_text().splitlines() if path.exists() else []
    found = [line.partition(":")[2].strip() for line in names if line.startswith("model name")]
    return found[0] if found else platform.processor() or "processor unknown"
