"""Compiles a kernel the first time it is called, and keeps the result on disk where it can.

``engine.pla`` is ``kernels.pla`` compiled, and so for every function there. What is done for
processors and is no part of a slide stands here too. Numba is imported inside functions, so that
nothing is paid before the first kernel runs; a process that does one job pays nothing for little
work.

The cache is Numba's own: in ``NUMBA_CACHE_DIR``, else in ``__pycache__`` beside the source file,
else in the user's cache folder. Where none can be written, kernels are compiled in memory. Numba
discards a cached kernel when the file of that kernel changes, and looks at no other file; the
files in `SHARED`, which all kernels use, are therefore made part of what it compares.
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
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import rosenblatt.clock as clock
import rosenblatt.kernels as kernels

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

log = logging.getLogger("rosenblatt")

SHARED = ("kernels.py", "scoring.py", "engine.py")  # an edit to these compiles every kernel again

# Sums may be reordered; NaN and infinity keep their meaning, so that overflow is seen.
REORDER = {"reassoc", "contract", "nsz"}
NO_WAY_IN: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
# A call that counts references to its arrays takes as long as two rows, and longer to compile.
UNCOUNTED: Any = {"_nrt": False}
INSIDE: Any = {"forceinline": True, **UNCOUNTED}  # part of the loop
REORDERING: Any = {"fastmath": REORDER}
REORDERED: Any = {**INSIDE, **REORDERING}
SILENT_SECONDS = 0.4  # of a kernel: half a second with what comes before it
HEARTBEAT = 0.2  # seconds
AHEAD = 256  # entries of a sparse matrix that are asked for before they are needed
WORTH_A_THREAD = 2**19  # multiplications: about a quarter of a millisecond
TURNS = 8  # parts for each thread
WORTH_COMPILING = 2**17  # multiplications of a call: some hundredths of a second in Python
CALLS = 4  # as long as that, after which a kernel is compiled in any case
ROW = 4  # multiplications that Python could make while it comes to a row


class Kernel:
    """A kernel, compiled when it is first called with rows of some format.

    `bind` is called before that, to tell Numba of helpers that are not in `kernels`; `work` says
    about how many multiplications it makes of some arguments, see `plain_at_first`.
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
            if self.work is not None and self._is_little(self.work(*arguments)):
                return self._plain(arguments)
            # A time limit is for work: compiling, once per environment, is not part of it.
            with clock.loading(), _told_when_slow(self.function.__name__):
                self._compile(arguments)
            self.ready.add(kind)
        return self.jitted(*arguments)

    def _is_little(self, work: int) -> bool:
        """Whether so much may still be done in Python; then it counts as done."""
        done = _done_in_python.get()
        if done is None or work > min(WORTH_COMPILING, CALLS * WORTH_COMPILING - done[self]):
            return False
        done[self] += work
        return True

    def _plain(self, arguments: tuple[Any, ...]) -> Any:
        """The same loop in Python: what is done in place of compiling is no part of a limit."""
        with clock.standing_still(), np.errstate(all="ignore"):
            return self.function(*arguments)

    def _compile(self, arguments: tuple[Any, ...]) -> None:
        """Compile for arguments of these types, or load it from the cache; nothing runs."""
        import numba

        if not compiles():
            self.jitted = self.function
            return
        _bind_primitives()
        _bind_orders()
        if self.bind is not None:
            self.bind()
        types = tuple(map(numba.typeof, arguments))
        try:
            if self.jitted is None:
                self.jitted = _with_cache(self.function)
            self.jitted.compile(types)
        except Exception as trouble:  # no writable folder, or a cache that is full or damaged
            name = self.function.__name__
            log.info("cache of %s unusable (%s); compiling in memory", name, trouble)
            self.jitted = numba.njit(nogil=True)(self.function)
            self.jitted.compile(types)


def _with_cache(function: Callable[..., Any]) -> Any:
    """Have Numba cache a kernel for as long as its file and the shared files stay the same."""
    import numba

    jitted: Any = numba.njit(nogil=True, cache=True)(function)
    index = jitted._cache._cache_file
    index._source_stamp = index._source_stamp, _digest_of_shared_files()
    return jitted


@functools.cache
def _digest_of_shared_files() -> str:
    here = Path(__file__).parent
    return hashlib.sha256(b"".join((here / name).read_bytes() for name in SHARED)).hexdigest()


def _kind(argument: Any) -> Any:
    """What decides whether a kernel must be compiled again: the format and type of its rows."""
    if isinstance(argument, tuple):
        first, second = argument[:2]
        return type(argument), _kind(first), getattr(second, "dtype", None)
    return getattr(argument, "dtype", type(argument))


# Multiplications of each kernel; None where all are compiled.
_done_in_python: ContextVar[Counter[Kernel] | None] = ContextVar("done in Python", default=None)


@contextmanager
def plain_at_first() -> Iterator[None]:
    """Have the first work of each kernel here done in plain Python, while it is little.

    For a process that does one job and ends. What is done so depends on the amounts of work alone,
    never on time or on what a cache holds: a job gives the same bits each time.
    """
    token = _done_in_python.set(Counter())
    try:
        yield
    finally:
        _done_in_python.reset(token)


def for_one_job() -> bool:
    """Whether this is such a process: it had better compile few kernels."""
    return _done_in_python.get() is not None


def one_pass(D: Any, *others: Any) -> int:
    """About how many multiplications a pass over some rows makes."""
    if isinstance(D, kernels.Joint):
        return D.K * one_pass(D.rows)
    if isinstance(D, kernels.Sparse):
        return len(D.data) + ROW * len(D.indptr)
    X = D.X if isinstance(D, kernels.Dense) else D
    return int(X.size) + ROW * len(X)


def compiles() -> bool:
    """Whether kernels are compiled; NUMBA_DISABLE_JIT leaves them plain Python."""
    import numba

    return not numba.config.DISABLE_JIT  # type: ignore[attr-defined]


def overload(function: Callable[..., Any], jit_options: Any = None, strict: bool = True) -> Any:
    """Numba's `overload`, for helpers that kernels alone call: Python has no way in."""
    from numba.extending import overload as bound

    options: Any = {**NO_WAY_IN, **(jit_options or {})}
    return bound(function, jit_options=options, strict=strict)


def chosen(helper: Callable[..., Any], choose: Callable[[Any], Any], **options: Any) -> None:
    """Have kernels call what is chosen by the type of their rows in place of a helper."""
    overload(helper, jit_options=options, strict=False)(lambda rows, *others: choose(rows))


def _kind_of(rows: Any) -> Any:
    """The format of rows of this type: a class of `kernels`."""
    return rows.instance_class


def helpers(*functions: Callable[..., Any], **options: Any) -> None:
    """Have Numba compile functions as they stand, wherever kernels call them."""
    from numba.extending import register_jitable

    for function in functions:
        register_jitable(**NO_WAY_IN, **options)(function)


def is_sparse(rows: Any) -> bool:
    """Whether rows of this type are sparse."""
    return _kind_of(rows) is kernels.Sparse


def is_joint(rows: Any) -> bool:
    """Whether rows of this type have more than two labels."""
    return _kind_of(rows) is kernels.Joint


# Left to itself LLVM gathers the weights of sparse rows into vectors, which is slow on many
# processors; and a single sum waits for itself at every entry. Two sums take turns.


def _score_in_two_sums(D, n, w):  # type: ignore[no-untyped-def]
    s, t = w[0] * D.x0, 0.0
    for j in range(D.indptr[n], D.indptr[n + 1]):
        s, t = t, s + w[1 + D.indices[j]] * D.data[j]
    return s + t


@functools.cache
def _bind_primitives() -> None:
    """Tell Numba which primitive serves which row format, and to compile the small helpers."""
    k = kernels
    # A run in the plane is the same on every processor: no reordering there.
    in_order = {k.Plane: k.score_dense, k.Sparse: _score_in_two_sums}
    chosen(k.score, lambda D: k.score_dense if _kind_of(D) is k.Dense else None, **REORDERING)
    chosen(k.score, lambda D: in_order.get(_kind_of(D)))
    # No reordering in `add`: a fused multiply-add would make a replay differ in the last bit.
    add = {k.Dense: k.add_dense, k.Plane: k.add_dense, k.Sparse: k.add_sparse}
    chosen(k.add, lambda D: add.get(_kind_of(D)), **INSIDE)
    chosen(k.add, lambda D: k.add_joint if is_joint(D) else None)
    chosen(k.step, lambda D: _joint_step if is_joint(D) else lambda D, n: D.step[n], **INSIDE)
    chosen(k.mistake, lambda D: k.mistake_joint if is_joint(D) else k.mistake_of_two, **INSIDE)
    score_all = {k.Dense: k.score_all_dense, k.Sparse: k.score_all_sparse}
    chosen(k.score_all, lambda D: score_all.get(_kind_of(D.types[0])), **REORDERED)
    plane = {k.Plane: k.score_all_dense}
    chosen(k.score_all, lambda D: plane.get(_kind_of(D.types[0])))
    chosen(k.size, lambda D: (lambda D: len(D.label)) if is_joint(D) else lambda D: len(D.step))
    chosen(k.ahead, lambda D: k.ahead_joint if is_joint(D) else k.ahead_of_two)
    chosen(k.block, lambda D: k.block_sparse if is_sparse(D.types[0]) else k.block_dense)
    helpers(k.rival, k.sign, k.mistaken, k.wrong, k.mistakes, k.largest)


def _joint_step(D, n):  # type: ignore[no-untyped-def]
    return D.rows.step[np.int64(n) // D.K]


@functools.cache
def _bind_orders() -> None:
    """Tell Numba what it is to visit a range of rows, and to have memory bring the next of them."""
    from numba import types
    from numba.core import cgutils
    from numba.extending import NativeValue, typeof_impl, unbox

    typeof_impl.register(range)(lambda value, context: types.range_state64_type)

    @unbox(types.RangeType)
    def taken(kind, value, c):  # type: ignore[no-untyped-def]
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

    ask = bring()

    def counting(D, order, zero, w, k):  # type: ignore[no-untyped-def]
        first = order.start
        for n in range(first + k, order.stop):
            if kernels.mistaken(D, np.uint64(n), w, zero):
                return n - first, n
        return order.stop - first, kernels.NONE

    def counting_ahead(D, order, zero, w, k):  # type: ignore[no-untyped-def]
        first = order.start
        for n in range(np.uint64(first + k), np.uint64(order.stop)):
            s, t = w[0] * D.x0, 0.0
            for j in range(D.indptr[n], D.indptr[n + 1]):
                ask(D.data, j + AHEAD)
                ask(D.indices, j + 2 * AHEAD)
                s, t = t, s + w[1 + D.indices[j]] * D.data[j]
            if kernels.wrong(s + t, D.step[n] >= 0, zero):
                return np.int64(n) - first, np.int64(n)
        return order.stop - first, kernels.NONE

    @overload(kernels.next_mistake, jit_options=INSIDE)
    def next_mistake(D, order, zero, w, k):  # type: ignore[no-untyped-def]
        if is_joint(D) or not isinstance(order, types.RangeType):
            return kernels.next_mistake
        return counting_ahead if is_sparse(D) else counting


@functools.cache
def bring() -> Any:
    """Ask memory for an entry of an array, past its end if need be; LLVM knows how."""
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    @intrinsic
    def bring(context: Any, array: Any, place: Any) -> Any:
        def emit(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = target.make_array(signature.args[0])(target, builder, arguments[0]).data
            address = builder.bitcast(builder.gep(data, [arguments[1]]), cgutils.voidptr_t)
            number = ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [address.type, number, number, number])
            prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
            read, once, as_data = (ir.Constant(number, i) for i in (0, 0, 1))
            builder.call(prefetch, [address, read, once, as_data])
            return target.get_dummy_value()

        return types.void(array, place), emit

    return bring


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_most_threads: ContextVar[int | None] = ContextVar("most threads", default=None)


@contextmanager
def at_most(threads: int) -> Iterator[None]:
    """Let looks at all examples use so many threads, which changes no answer."""
    token = _most_threads.set(threads)
    try:
        yield
    finally:
        _most_threads.reset(token)


def in_threads(work: Callable[[slice], None], n: int, size: int) -> None:
    """Do work on parts of n rows at once, where there is enough of it.

    Kernels release Python's lock, so parts run side by side; each row's result is the same
    whatever the number of parts. A core may be busy with something else: a thread that is done
    with its part takes the next, and none that has not begun is waited for.
    """
    parts = min(n, 1 + size // WORTH_A_THREAD)
    threads = 1 if parts <= 1 else min(parts, _most_threads.get() or cores())
    if threads <= 1:
        work(slice(0, n))
        return
    parts = min(parts, TURNS * threads)
    turns = iter(range(parts))

    def take() -> None:
        for part in turns:
            work(slice(n * part // parts, n * (part + 1) // parts))

    pool = _helpers()
    others = [pool.submit(take) for _ in range(threads - 1)]
    try:
        take()
    finally:
        for _ in turns:  # none begins another part after Ctrl-C
            pass
        wait_for([other for other in others if not other.cancel()])


@functools.cache
def _helpers() -> ThreadPoolExecutor:
    """Threads that wait for parts of work: starting new ones each time costs more than some looks.

    Work handed to them hands on nothing itself, so that they never wait for each other.
    """
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(max(1, cores() - 1), thread_name_prefix="rosenblatt")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_helpers.cache_clear)  # threads do not come along


def wait_for(done: Iterable[Future[Any]]) -> None:
    """Wait for each in turn, raising what one raised; Ctrl-C is heard on the way.

    A signal that comes just as a wait begins would be heard only at its end: waits are short.
    """
    from concurrent.futures import wait

    for future in done:
        while not wait((future,), HEARTBEAT).done:
            pass
        future.result()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep matrix products to one thread each while this process runs threads of its own.

    Threads of BLAS wait for each other by spinning: beside other work that costs tenfold.
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
def _told_when_slow(name: str) -> Iterator[None]:
    """Say on a terminal what is happening when a first call takes longer than a moment."""

    def tell() -> None:
        log.info("compiling the kernel %s", name)
        watched = sys.stderr is not None and sys.stderr.isatty()
        if watched or "ipykernel" in sys.modules:
            print("rosenblatt: compiling, the first time only …", file=sys.stderr, flush=True)

    timer = threading.Timer(SILENT_SECONDS, tell)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


_WORK: dict[str, Callable[..., int]] = {
    "pla": lambda D, order, zero, w, trace, ends: len(ends) * one_pass(D),
    "pla_random": lambda D, order, chance, *others: len(chance) * one_pass(D) // len(order),
}


def __getattr__(name: str) -> Kernel:
    """Return a kernel of the slides by its name, compiled when it is first called."""
    function = getattr(kernels, name, None)
    if name.startswith("_") or not callable(function):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    kernel = globals()[name] = Kernel(function, work=_WORK.get(name))
    return kernel
