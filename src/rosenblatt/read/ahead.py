"""Reading ahead: the next batches are read by other threads while one is worked on."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from rosenblatt import engine

T = TypeVar("T")
Item = TypeVar("Item")

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
        if maker is not threading.current_thread():  # which may be the one that cleans up
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
                    yield _made(waiting.popleft())
            while waiting:
                yield _made(waiting.popleft())
        finally:
            for future in waiting:
                future.cancel()


def _made(future: Future[T]) -> T:
    engine.wait_for((future,))
    return future.result()
