"""Reading ahead: the next batches are read by another thread while one is worked on."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")

ROOM = 2  # batches that are ready at the most
POLL_SECONDS = 0.05


def ahead(items: Iterable[T]) -> Iterator[T]:
    """The same items in the same order, made by another thread; its trouble is raised here.

    Examples
    --------
    >>> list(ahead(x * x for x in range(4)))
    [0, 1, 4, 9]
    """
    ready: queue.Queue[tuple[T | None, BaseException | None]] = queue.Queue(ROOM)
    enough = threading.Event()

    def put(item: T | None, trouble: BaseException | None = None) -> bool:
        while not enough.is_set():
            try:
                ready.put((item, trouble), timeout=POLL_SECONDS)
                return True
            except queue.Full:
                continue
        return False

    def make() -> None:
        try:
            for item in items:
                if not put(item):
                    break
            else:
                put(None, StopIteration())
        except BaseException as trouble:
            put(None, trouble)
        finally:
            if isinstance(items, Generator):
                items.close()  # in the thread that ran it

    maker = threading.Thread(target=make, daemon=True)
    maker.start()
    try:
        yield from _taken(ready, maker)
    finally:
        enough.set()
        maker.join()


def _taken(ready: queue.Queue[Any], maker: threading.Thread) -> Iterator[Any]:
    while True:
        try:
            item, trouble = ready.get(timeout=1.0)
        except queue.Empty:
            if maker.is_alive() or not ready.empty():
                continue
            raise MemoryError("the thread that reads has ended") from None
        if isinstance(trouble, StopIteration):
            return
        if trouble is not None:
            raise trouble
        yield item
