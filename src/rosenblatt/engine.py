"""Compile kernels (functions with hot loops) with Numba at their first call, and run threads.

``engine.pla`` is the compiled ``kernels.pla``, and likewise for every other kernel. Tuning for
processors is here too, so that the kernels stay plain. Numba is imported inside functions:
importing rosenblatt stays fast, and a process that does one small job never imports it.

Compiled kernels are in Numba's own cache: in ``NUMBA_CACHE_DIR``, else in ``__pycache__`` beside
the source file, else in the user's cache folder. Where none is writable, kernels are compiled in
memory. Numba discards a cached kernel when its own file changes, but looks at no other file: the
digest of the files in `SHARED`, which all kernels use, is therefore added to what Numba compares.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import operator
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import rosenblatt.clock as clock
import rosenblatt.kernels as kernels
import rosenblatt.rowformats as rowformats

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

log = logging.getLogger("rosenblatt")

# An edit to one of these files recompiles every kernel.
SHARED = ("kernels.py", "rowformats.py", "engine.py")

# Sums may be reordered; NaN and infinity keep their meaning, so that overflow is detected.
REORDER = {"reassoc", "contract", "nsz"}
NO_WRAPPERS: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
# Counting references to arrays takes as long as two rows in each call, and slows compilation.
UNCOUNTED: Any = {"_nrt": False}
INSIDE: Any = {"forceinline": True, **UNCOUNTED}  # inlined into the loop
REORDERING: Any = {"fastmath": REORDER}
REORDERED: Any = {**INSIDE, **REORDERING}
SILENT_SECONDS = 0.4  # compilation time before a message; with the start, half a second
HEARTBEAT = 0.2  # seconds
AHEAD = 256  # entries of a sparse matrix to prefetch
WORTH_A_THREAD = 2**19  # multiplications: about a quarter of a millisecond
PARTS_PER_THREAD = 8
WORTH_COMPILING = 2**17  # multiplications in a call: some hundredths of a second in Python
CALLS = 4  # after this many calls of that size, a kernel is compiled in any case
ROW = 4  # the overhead of a row in Python, in multiplications


class Kernel:
    """Function that Numba compiles at its first call with each format of rows.

    `bind` is called before compilation and registers helpers that are not in `rowformats`.
    `work` estimates the number of multiplications of a call, for `plain_at_first`.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        bind: Callable[[], None] | None = None,
        work: Callable[..., int] | None = None,
    ) -> None:
        self.function, self.bind, self.work = function, bind, work
        self.jitted: Any = None
        self.ready: set[Any] = set()
        functools.update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        kind = _kind(arguments[0]), _kind(arguments[1])
        if kind not in self.ready:
            done = _done_in_python.get()
            if done is not None and self.work is not None:
                work = self.work(*arguments)
                if work <= min(WORTH_COMPILING, CALLS * WORTH_COMPILING - done[self]):
                    done[self] += work
                    # Time limits do not count what Python does in place of compiling.
                    with clock.pause_clock(), np.errstate(all="ignore"):
                        return self.function(*arguments)
            # Time limits do not count compilation, which happens once per environment.
            with clock.loading(), _report_when_slow(self.function.__name__):
                self._compile(arguments)
            self.ready.add(kind)
        return self.jitted(*arguments)

    def _compile(self, arguments: tuple[Any, ...]) -> None:
        """Compile the kernel for the types of the arguments, or load it from the cache."""
        import numba

        if not compiles():
            self.jitted = self.function
            return
        _bind_primitives()
        _bind_orders()
        if self.bind is not None:
            self.bind()
        types = tuple(map(numba.typeof, arguments))
        for cached in (True, True, False):
            try:
                if self.jitted is None:
                    self.jitted = numba.njit(nogil=True, cache=cached)(self.function)
                    if cached:
                        index = self.jitted._cache._cache_file
                        index._source_stamp = index._source_stamp, _digest_of_shared_files()
                self.jitted.compile(types)
                return
            except Exception as error:
                if not cached:
                    raise
                # The index of the cache may come from another version of the package: remove it
                # and try again. If the cache is full or cannot be written, compile in memory.
                log.info("cache of %s unusable (%s)", self.function.__name__, error)
                with suppress(Exception):
                    Path(self.jitted._cache._cache_file._index_path).unlink()
                self.jitted = None


@functools.cache
def _digest_of_shared_files() -> str:
    here = Path(__file__).parent
    return hashlib.sha256(b"".join((here / name).read_bytes() for name in SHARED)).hexdigest()


def _kind(argument: Any) -> Any:
    """Return a hashable description of an argument's type; a kernel is compiled for each."""
    if isinstance(argument, tuple):
        first, second = argument[:2]
        return type(argument), _kind(first), getattr(second, "dtype", None)
    return getattr(argument, "dtype", type(argument))


# Multiplications done by each kernel in Python; None if kernels are compiled at their first call.
_done_in_python: ContextVar[Counter[Kernel] | None] = ContextVar("done in Python", default=None)


@contextmanager
def plain_at_first() -> Iterator[None]:
    """Run kernels in plain Python inside a `with` block as long as their work is small.

    This suits a process that does one job and ends. The choice depends on the amount of work
    alone, never on time or on the cache, so a job gives the same bits each time.
    """
    token = _done_in_python.set(Counter())
    try:
        yield
    finally:
        _done_in_python.reset(token)


def inside_plain_at_first() -> bool:
    """Return whether loops start as plain Python here, and are compiled only if they run long."""
    return _done_in_python.get() is not None


def one_pass(D: Any, *others: Any) -> int:
    """Estimate how many multiplications a kernel does in one pass over its rows."""
    if isinstance(D, rowformats.Joint):
        return D.K * one_pass(D.rows)
    if isinstance(D, rowformats.Sparse):
        return len(D.data) + ROW * len(D.indptr)
    X = D.X if isinstance(D, rowformats.Dense) else D
    return int(X.size) + ROW * len(X)


def measuring_pass(D: Any, *others: Any) -> int:
    """Estimate the number of multiplications that w·x and ‖x‖² of all rows take."""
    return 4 * one_pass(D)


def compiles() -> bool:
    """Return whether kernels are compiled; NUMBA_DISABLE_JIT leaves them plain Python."""
    import numba

    return not numba.config.DISABLE_JIT  # type: ignore[attr-defined]


def overload(function: Callable[..., Any], jit_options: Any = None, strict: bool = True) -> Any:
    """Return Numba's decorator `overload` for a function that only kernels call."""
    from numba.extending import overload as numba_overload

    options: Any = {**NO_WRAPPERS, **(jit_options or {})}
    return numba_overload(function, jit_options=options, strict=strict)


def bind_by_format(
    helper: Callable[..., Any], choose: Callable[[Any], Any], **options: Any
) -> None:
    """Make kernels call the implementation of `helper` that suits their format of rows.

    `choose` returns this implementation, given the Numba type of the rows.
    """
    overload(helper, jit_options=options, strict=False)(lambda rows, *others: choose(rows))


def helpers(*functions: Callable[..., Any], **options: Any) -> None:
    """Register Python functions with Numba, so that kernels can call them."""
    from numba.extending import register_jitable

    for function in functions:
        register_jitable(**NO_WRAPPERS, **options)(function)


def is_sparse(rows: Any) -> bool:
    """Return whether a Numba type is that of sparse rows."""
    return bool(rows.instance_class is rowformats.Sparse)


def is_joint(rows: Any) -> bool:
    """Return whether a Numba type is that of rows for joint training (3 or more labels)."""
    return bool(rows.instance_class is rowformats.Joint)


# By default LLVM gathers the weights of sparse rows into vectors, which is slow on many
# processors, and each addition to a single sum waits for the one before it. So two sums alternate.
def _score_in_two_sums(D, n, w):  # type: ignore[no-untyped-def]
    s, t = w[0] * D.x0, 0.0
    for j in range(D.indptr[n], D.indptr[n + 1]):
        s, t = t, s + w[1 + D.indices[j]] * D.data[j]
    return s + t


@functools.cache
def _bind_primitives() -> None:
    """Register the functions in `rowformats` with Numba, for each format of rows."""
    k = rowformats
    # Runs on rows of at most two features are the same on every processor: their sums are not
    # reordered.
    in_order = {k.Plane: k.score_dense, k.Sparse: _score_in_two_sums}
    bind_by_format(
        k.score, lambda D: k.score_dense if D.instance_class is k.Dense else None, **REORDERING
    )
    bind_by_format(k.score, lambda D: in_order.get(D.instance_class))
    # No reordering in `add`: a fused multiply-add would make a replay differ in the last bit.
    add = {k.Dense: k.add_dense, k.Plane: k.add_dense, k.Sparse: k.add_sparse}
    bind_by_format(k.add, lambda D: add.get(D.instance_class), **INSIDE)
    bind_by_format(k.add, lambda D: k.add_joint if is_joint(D) else None)
    joint_step = lambda D, n: D.rows.step[np.int64(n) // D.K]  # noqa: E731
    step = lambda D, n: D.step[n]  # noqa: E731
    bind_by_format(k.step, lambda D: joint_step if is_joint(D) else step, **INSIDE)
    bind_by_format(
        k.mistake, lambda D: k.mistake_joint if is_joint(D) else k.mistake_of_two, **INSIDE
    )
    score_all = {k.Dense: k.score_all_dense, k.Sparse: k.score_all_sparse}
    bind_by_format(k.score_all, lambda D: score_all.get(D.types[0].instance_class), **REORDERED)
    plane = {k.Plane: k.score_all_dense}
    bind_by_format(k.score_all, lambda D: plane.get(D.types[0].instance_class))
    bind_by_format(
        k.size, lambda D: (lambda D: len(D.label)) if is_joint(D) else lambda D: len(D.step)
    )
    bind_by_format(k.ahead, lambda D: k.ahead_joint if is_joint(D) else k.ahead_of_two)
    bind_by_format(
        k.label_weights,
        lambda D: k.label_weights_sparse if is_sparse(D.types[0]) else k.label_weights_dense,
    )
    measure = {k.Dense: k.measure_dense, k.Plane: k.measure_dense}
    bind_by_format(k.measure, lambda D: measure.get(D.instance_class), **REORDERING)
    bind_by_format(k.measure, lambda D: k.measure_sparse if is_sparse(D) else None)
    helpers(k.squared_length, **REORDERING)
    helpers(k.best_competitor, k.sign, k.mistaken, k.wrong, k.largest, kernels.mistakes)


@functools.cache
def _bind_orders() -> None:
    """Let compiled kernels visit rows in the order of a `range`, and prefetch sparse rows."""
    from numba import types
    from numba.core import cgutils
    from numba.extending import NativeValue, typeof_impl, unbox

    typeof_impl.register(range)(lambda value, context: types.range_state64_type)

    @unbox(types.RangeType)
    def unbox_range(kind, value, c):  # type: ignore[no-untyped-def]
        state = cgutils.create_struct_proxy(kind)(c.context, c.builder)
        for name in ("start", "stop", "step"):
            number = c.pyapi.object_getattr_string(value, name)
            setattr(state, name, c.pyapi.long_as_longlong(number))
            c.pyapi.decref(number)
        return NativeValue(state._getvalue())

    @overload(operator.getitem)
    def row(order, k):  # type: ignore[no-untyped-def]
        if isinstance(order, types.RangeType):
            return lambda order, k: order.start + k * order.step
        return None

    fetch = prefetch()

    def counting(D, order, zero, w, k):  # type: ignore[no-untyped-def]
        first = order.start
        for n in range(first + k, order.stop):
            if rowformats.mistaken(D, np.uint64(n), w, zero):
                return n - first, n
        return order.stop - first, rowformats.NONE

    def counting_ahead(D, order, zero, w, k):  # type: ignore[no-untyped-def]
        first = order.start
        for n in range(np.uint64(first + k), np.uint64(order.stop)):
            s, t = w[0] * D.x0, 0.0
            for j in range(D.indptr[n], D.indptr[n + 1]):
                fetch(D.data, j + AHEAD)
                fetch(D.indices, j + 2 * AHEAD)
                s, t = t, s + w[1 + D.indices[j]] * D.data[j]
            if rowformats.wrong(s + t, D.step[n] >= 0, zero):
                return np.int64(n) - first, np.int64(n)
        return order.stop - first, rowformats.NONE

    @overload(kernels.next_mistake, jit_options=INSIDE)
    def next_mistake(D, order, zero, w, k):  # type: ignore[no-untyped-def]
        if is_joint(D) or not isinstance(order, types.RangeType):
            return kernels.next_mistake
        return counting_ahead if is_sparse(D) else counting


@functools.cache
def prefetch() -> Any:
    """Return a function that loads an array entry into the processor's cache ahead of use.

    The entry may be past the end of the array.
    """
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    @intrinsic
    def fetch(context: Any, array: Any, place: Any) -> Any:
        def emit(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = target.make_array(signature.args[0])(target, builder, arguments[0]).data
            address = builder.bitcast(builder.gep(data, [arguments[1]]), cgutils.voidptr_t)
            number = ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [address.type, number, number, number])
            llvm = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
            read, once, as_data = (ir.Constant(number, i) for i in (0, 0, 1))
            builder.call(llvm, [address, read, once, as_data])
            return target.get_dummy_value()

        return types.void(array, place), emit

    return fetch


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_max_threads: ContextVar[int | None] = ContextVar("max threads", default=None)


@contextmanager
def at_most(threads: int) -> Iterator[None]:
    """Limit the threads used inside a `with` block, without changing any result."""
    token = _max_threads.set(threads)
    try:
        yield
    finally:
        _max_threads.reset(token)


def in_threads(work: Callable[[slice], None], n: int, size: int) -> None:
    """Split n rows into parts and run `work` on them, in parallel if the job is large.

    Kernels release Python's lock, so parts run in parallel; the result of a row does not depend
    on the number of parts. A core may be busy with something else: a thread that finishes a part
    takes the next one, and threads that have not begun are cancelled, not waited for.
    """
    parts = min(n, 1 + size // WORTH_A_THREAD)
    threads = 1 if parts <= 1 else min(parts, _max_threads.get() or cores())
    if threads <= 1:
        work(slice(0, n))
        return
    parts = min(parts, PARTS_PER_THREAD * threads)
    remaining = iter(range(parts))

    def work_on_parts() -> None:
        for part in remaining:
            work(slice(n * part // parts, n * (part + 1) // parts))

    pool = _thread_pool()
    others = [pool.submit(work_on_parts) for _ in range(threads - 1)]
    try:
        work_on_parts()
    finally:
        for _ in remaining:  # no thread begins another part after Ctrl-C
            pass
        wait_for([other for other in others if not other.cancel()])


@functools.cache
def _thread_pool() -> ThreadPoolExecutor:
    """Return the pool of threads that all jobs share.

    Starting new threads can take longer than a pass over rows. Jobs in the pool submit no jobs
    themselves, so threads never wait for each other.
    """
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(max(1, cores() - 1), thread_name_prefix="rosenblatt")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_thread_pool.cache_clear)  # a fork has no threads


def wait_for(futures: Iterable[Future[Any]]) -> None:
    """Wait for all futures; raise their exceptions, and KeyboardInterrupt on Ctrl-C.

    Waits are short, and Ctrl-C is delayed to the end of each: within a wait it could leave a lock
    in a state that ends another thread with an error.
    """
    from concurrent.futures import wait

    for future in futures:
        done = False
        while not done:
            with clock.delay_interrupts():
                done = bool(wait((future,), HEARTBEAT).done)
        future.result()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread inside a `with` block that runs threads itself.

    BLAS threads wait for each other by spinning, which beside other work is ten times slower.
    """
    with _blas_lock:
        _blas_users.append(True)
        if len(_blas_users) == 1:
            _blas_limit.append(_blas().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _blas_lock:
            _blas_users.pop()
            if not _blas_users:
                _blas_limit.pop().restore_original_limits()


_blas_lock = threading.Lock()
_blas_users: list[bool] = []
_blas_limit: list[Any] = []


@functools.cache
def _blas() -> Any:
    with clock.loading():
        import scipy.linalg  # noqa: F401  (compiled kernels multiply with SciPy's BLAS, not NumPy's)
        import threadpoolctl

        return threadpoolctl.ThreadpoolController()


@contextmanager
def _report_when_slow(name: str) -> Iterator[None]:
    """Print a message if the `with` block takes long, because it compiles a kernel."""

    def report() -> None:
        log.info("compiling the kernel %s", name)
        terminal = sys.stderr is not None and sys.stderr.isatty()
        if terminal or "ipykernel" in sys.modules:
            print("rosenblatt: compiling, the first time only …", file=sys.stderr, flush=True)

    timer = threading.Timer(SILENT_SECONDS, report)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


pla = Kernel(kernels.pla, work=lambda D, order, zero, w, trace, ends: len(ends) * one_pass(D))
pla_random = Kernel(
    kernels.pla_random,
    work=lambda D, order, chance, *others: len(chance) * one_pass(D) // len(order),
)
pla_first, pocket = Kernel(kernels.pla_first), Kernel(kernels.pocket)
ratchet = Kernel(kernels.ratchet)
scores = Kernel(rowformats.scores, work=one_pass)
scores_joint = Kernel(rowformats.scores_joint, work=one_pass)
look = Kernel(rowformats.look, work=measuring_pass)
look_joint = Kernel(rowformats.look_joint, work=measuring_pass)
