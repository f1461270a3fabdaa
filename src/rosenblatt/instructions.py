"""Instructions of the processor that Numba has no word for.

Each is written for LLVM, which finds what the processor at hand has for it: nothing here is of one
make of processor. What they do is said in Python where they are bound (`kernels.fetch`),
and that is what runs with ``NUMBA_DISABLE_JIT=1``.
"""

from __future__ import annotations

import functools
from typing import Any


@functools.cache
def bring() -> Any:
    """Ask memory for an entry of an array, past its end if need be."""
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
