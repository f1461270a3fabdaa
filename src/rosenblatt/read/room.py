"""Room: how much memory there is, and about how much a file needs once it is read."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from rosenblatt.read import NPY, PARQUET, Layout, Source, npy, reader_of
from rosenblatt.read.columnar import decoded_size

CGROUP = Path("/sys/fs/cgroup")
COPIES = 3  # of the numbers: as they are read, as rows, and scaled
UNPACKED = 4  # how much larger compressed text is, about


@dataclass(frozen=True)
class Room:
    """The bytes that data need and those that are free (None where that is not known).

    Examples
    --------
    >>> Room(3_000_000_000, 4_000_000_000).too_small, Room(1000, None).too_small
    (True, False)
    """

    needed: int
    free: int | None

    @classmethod
    def of(cls, source: Source, layout: Layout) -> Room:
        """The room that a file has."""
        return cls(COPIES * _size(source, layout), free_memory())

    @property
    def too_small(self) -> bool:
        """Whether the data do not fit in half of the free memory."""
        return self.free is not None and 2 * self.needed > self.free

    def __str__(self) -> str:
        free = "unknown" if self.free is None else in_words(self.free)
        return f"about {in_words(self.needed)} in memory, more than half of the {free} that is free"


def in_words(size: int) -> str:
    """Bytes as a person says them.

    Examples
    --------
    >>> in_words(3_840_000_000), in_words(12_345_678), in_words(0)
    ('3.8 GB', '12.3 MB', '0.0 MB')
    """
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"


def _size(source: Source, layout: Layout) -> int:
    reader, size = reader_of(source, layout), os.path.getsize(source.path)
    if reader is NPY and source.compression is None:
        header = npy.header_of(source)
        return header.shape[0] * header.shape[1] * header.dtype.itemsize
    if reader is PARQUET and source.compression is None:
        return decoded_size(source)
    return size if source.compression is None else UNPACKED * size


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
