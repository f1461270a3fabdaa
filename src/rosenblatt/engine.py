"""Compiles a kernel the first time it is called, and keeps the result on disk where it can.

Numba is imported here and nowhere else, inside functions, so that nothing is paid before the
first kernel runs. Where no cache can be written the kernels are compiled in memory.
"""

from __future__ import annotations

import functools
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rosenblatt import kernels

log = logging.getLogger("rosenblatt")

# Sums may be reordered; NaN and infinity keep their meaning, so that overflow is seen.
REORDER = {"reassoc", "contract", "nsz"}
SILENT_SECONDS = 0.5


class Kernel:
    """A function of `kernels`, compiled when it is first called."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.ready = False
        functools.update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        if self.ready:
            return _jit(self.function)(*arguments)
        with _told_when_slow(self.function.__name__):
            result = self._first_call(arguments)
        self.ready = True
        return result

    def _first_call(self, arguments: tuple[Any, ...]) -> Any:
        try:
            return _jit(self.function)(*arguments)
        except (OSError, EOFError, ValueError, ImportError) as trouble:
            # Kernels raise nothing themselves: this is a cache that is full, foreign or damaged.
            log.info(
                "cache of %s unusable (%s); compiling in memory", self.function.__name__, trouble
            )
            _jit.cache_clear()
            _without_cache.add(self.function)
            return _jit(self.function)(*arguments)


_without_cache: set[Callable[..., Any]] = set()


@functools.cache
def _jit(function: Callable[..., Any]) -> Callable[..., Any]:
    import numba

    _bind_primitives()
    if function not in _without_cache:
        try:
            return numba.njit(cache=True, nogil=True)(function)
        except RuntimeError:  # Numba's word for "no directory to cache in"
            log.info("no directory to cache compiled kernels in; compiling in memory")
    return numba.njit(nogil=True)(function)


@functools.cache
def _bind_primitives() -> None:
    """Tell Numba which primitive serves which row format, and to compile the small helpers."""
    from numba.extending import overload

    def sparse(rows: Any) -> bool:
        return rows.instance_class is kernels.Sparse

    @overload(kernels.score, jit_options={"fastmath": REORDER})
    def score(D, n, w):  # type: ignore[no-untyped-def]
        return kernels.score_sparse if sparse(D) else kernels.score_dense

    # No reordering in `add`: a fused multiply-add would make a replay differ in the last bit.
    @overload(kernels.add)
    def add(D, n, w, a):  # type: ignore[no-untyped-def]
        return kernels.add_sparse if sparse(D) else kernels.add_dense

    overload(kernels.sign)(lambda s, zero: kernels.sign)
    overload(kernels.mistaken)(lambda D, n, w, zero: kernels.mistaken)


@contextmanager
def _told_when_slow(name: str) -> Iterator[None]:
    """Say on a terminal what is happening when a first call takes longer than a moment."""

    def tell() -> None:
        log.info("compiling the kernel %s", name)
        if sys.stderr is not None and sys.stderr.isatty():
            print("rosenblatt: compiling, once on this machine …", file=sys.stderr, flush=True)

    timer = threading.Timer(SILENT_SECONDS, tell)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


pla = Kernel(kernels.pla)
pla_random = Kernel(kernels.pla_random)
pla_first = Kernel(kernels.pla_first)
scores = Kernel(kernels.scores)
replay = Kernel(kernels.replay)
along = Kernel(kernels.along)
keep = Kernel(kernels.keep)
judge = Kernel(kernels.judge)
ratchet = Kernel(kernels.ratchet)
