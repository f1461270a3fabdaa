"""Room: how much memory there is, and about how much a file needs once it is read."""

from __future__ import annotations

from dataclasses import dataclass

from rosenblatt.read import NPY, PARQUET, Layout, Source, npy, reader_of
from rosenblatt.read.columnar import decoded_size
from rosenblatt.read.free import free_memory

COPIES = 3  # of the numbers: as they are read, as rows, and scaled


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
    reader = reader_of(source, layout)
    if reader is NPY and source.compression is None:
        header = npy.header_of(source)
        return header.shape[0] * header.shape[1] * header.dtype.itemsize
    if reader is PARQUET and source.compression is None:
        return decoded_size(source)
    return source.size
