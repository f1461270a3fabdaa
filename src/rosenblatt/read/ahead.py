"""Reading ahead: the next batches are read by other threads while one is worked on."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import rosenblatt.engine as engine

T = TypeVar("T")
Item = TypeVar("Item")

READY = 2  # batches at the most
POLL_SECONDS = 0.05


def ahead(items: Iterable[T], ready: int = READY, idle: float | None = None) -> Iterator[T]:
    """The same items in the same order, made by another thread; its trouble is raised here.

    With `idle`, None comes whenever nothing else came for so many seconds, and whoever ends
    early does not wait for the thread: it may itself be waiting for a line of a stream.

    Examples
    --------
    >>> list(ahead(x * x for x in range(4)))
    [0, 1, 4, 9]
    """
    made: queue.Queue[tuple[T | None, BaseException | None]] = queue.Queue(ready)
    enough = threading.Event()

    def put(item: T | None, trouble: BaseException | None = None) -> bool:
        while not enough.is_set():
            try:
                made.put((item, trouble), timeout=POLL_SECONDS)
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
        yield from _taken(made, maker, idle)
    finally:
        enough.set()
        # The thread may be the one that cleans up.
        if idle is None and maker is not threading.current_thread():
            maker.join()


def _taken(made: queue.Queue[Any], maker: threading.Thread, idle: float | None) -> Iterator[Any]:
    while True:
        try:
            item, trouble = made.get(timeout=idle or 1.0)
        except queue.Empty:
            if not maker.is_alive() and made.empty():
                raise MemoryError("the thread that reads has ended") from None
            if idle is not None:
                yield None
            continue
        if isinstance(trouble, StopIteration):
            return
        if trouble is not None:
            raise trouble
        yield item


def side_by_side(work: Callable[[Item], T], items: Iterable[Item]) -> Iterator[T]:
    """What work makes of each item, in their order, by as many threads as there are cores.

    Examples
    --------
    >>> list(side_by_side(lambda x: x * x, range(4)))
    [0, 1, 4, 9]
    """
    threads = engine.cores()
    waiting: deque[Future[T]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > threads:
                    engine.wait_for((waiting[0],))
                    yield waiting.popleft().result()
            while waiting:
                engine.wait_for((waiting[0],))
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
