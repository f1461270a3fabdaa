"""How much memory is free for this process, and how much of it a batch of rows may take."""

from __future__ import annotations

import os
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")
LEAST, MOST = 1 << 18, 1 << 23  # bytes of a batch; larger ones leave the cache
SHARE = 256  # a batch takes at most this part: several are held at once, and kernels compiled


def batch_bytes() -> int:
    """How large a batch may be: a small part of what is free."""
    free = free_memory()
    return MOST if free is None else max(LEAST, min(MOST, free // SHARE))


def free_memory() -> int | None:
    """The bytes this process may still take: of the machine, its control group, its limits."""
    known = [room for room in (_machine(), _group(), *_limits()) if room is not None]
    return max(0, min(known)) if known else None


def _machine() -> int | None:
    available = _fields("/proc/meminfo").get("MemAvailable")
    if available is not None:
        return 1024 * available
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _group() -> int | None:
    """What the control groups of this process allow; pages of files are given back on demand."""
    rooms = []
    for line in _lines("/proc/self/cgroup"):
        _, kinds, name = [*line.split(":", 2), "", ""][:3]
        if kinds and "memory" not in kinds.split(","):
            continue
        top = CGROUP / "memory" if kinds else CGROUP
        limit, usage = (
            ("memory.limit_in_bytes", "memory.usage_in_bytes")
            if kinds
            else ("memory.max", "memory.current")
        )
        folder = top / name.lstrip("/")
        for place in (folder, *folder.parents):
            most, used = _number(place / limit), _number(place / usage)
            if most is not None and used is not None:
                files = _fields(place / "memory.stat").get("inactive_file", 0)
                rooms.append(most - used + files)
            if place == top:
                break
    return min(rooms, default=None)


def _limits() -> list[int]:
    """What the limits on addresses and on data leave."""
    try:
        import resource
    except ImportError:  # not on this system
        return []
    status = _fields("/proc/self/status")
    pairs = ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData"))
    limits = [(resource.getrlimit(kind)[0], 1024 * status.get(name, 0)) for kind, name in pairs]
    return [most - used for most, used in limits if most != resource.RLIM_INFINITY]


def _lines(path: str | Path) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except (OSError, UnicodeError):
        return []


def _fields(path: str | Path) -> dict[str, int]:
    words = (line.replace(":", " ").split() for line in _lines(path))
    return {w[0]: int(w[1]) for w in words if len(w) > 1 and w[1].isdigit()}


def _number(path: Path) -> int | None:
    lines = _lines(path)
    return int(lines[0]) if lines and lines[0].isdigit() else None
