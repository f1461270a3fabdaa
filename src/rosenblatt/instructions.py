"""Instructions of the processor that Numba has no word for.

Each is written for LLVM, which finds what the processor at hand has for it: nothing here is of one
make of processor. What they do is said in Python where they are bound (`kernels.fetch`,
`algorithms.sifting`), and that is what runs with ``NUMBA_DISABLE_JIT=1``.
"""

from __future__ import annotations

import functools
from typing import Any

LANES = 64  # rows that are multiplied at once: with two vectors, what registers hold
WIDTH = 16  # of them in one instruction, where it is the widest there is


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


@functools.cache
def sides() -> Any:
    """Bits of 64 rows, for v and for u: whose product is below -slack, and whose within slack."""
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    bits, long = ir.IntType(WIDTH), ir.IntType(64)

    @intrinsic
    def sides(context: Any, rows: Any, v: Any, u: Any, slack: Any) -> Any:
        def emit(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            high, low = (
                _spread(builder, side) for side in (arguments[3], builder.neg(arguments[3]))
            )
            answers = []
            for sums in _sums(target, builder, signature, arguments):
                below, above = ir.Constant(long, 0), ir.Constant(long, 0)
                for part, each in enumerate(sums):
                    at = ir.Constant(long, part * WIDTH)
                    where = builder.bitcast(builder.icmp_signed("<", each, low), bits)
                    below = builder.or_(below, builder.shl(builder.zext(where, long), at))
                    where = builder.bitcast(builder.icmp_signed(">", each, high), bits)
                    above = builder.or_(above, builder.shl(builder.zext(where, long), at))
                answers += [below, builder.not_(builder.or_(below, above))]
            return cgutils.pack_array(builder, answers)

        return types.UniTuple(types.int64, 4)(rows, v, u, slack), emit

    return sides


def _sums(target: Any, builder: Any, signature: Any, arguments: Any) -> list[list[Any]]:
    """The products of 64 rows, in parts, with v and with u; rows lie down the columns, in pairs.

    Written so that LLVM knows it for what processors have for sound: multiply sixteen-bit numbers
    and add the products by twos, in one instruction. Two vectors at once read each row once.
    """
    from llvmlite import ir
    from numba.core import cgutils

    number = ir.IntType(32)
    part, pairs = ir.VectorType(number, WIDTH), ir.VectorType(ir.IntType(16), 2 * WIDTH)
    longer = ir.VectorType(number, 2 * WIDTH)
    even, odd = (ir.Constant(part, [2 * k + i for k in range(WIDTH)]) for i in (0, 1))
    nothing, parts = ir.Constant(longer, ir.Undefined), LANES // WIDTH
    rows, *vectors = (
        target.make_array(signature.args[i])(target, builder, arguments[i]) for i in range(3)
    )
    data = builder.bitcast(rows.data, pairs.as_pointer())
    zeros = ir.Constant(part, None)
    totals = [[cgutils.alloca_once_value(builder, zeros) for _ in range(parts)] for _ in vectors]
    with cgutils.for_range(builder, builder.extract_value(rows.shape, 0)) as loop:
        factors = [
            builder.sext(builder.bitcast(_spread(builder, one), pairs), longer)
            for one in (builder.load(builder.gep(v.data, [loop.index])) for v in vectors)
        ]
        start = builder.mul(loop.index, ir.Constant(loop.index.type, parts))
        for k in range(parts):
            place = builder.add(start, ir.Constant(loop.index.type, k))
            some = builder.sext(builder.load(builder.gep(data, [place]), align=4), longer)
            for factor, total in zip(factors, totals, strict=True):
                each = builder.mul(some, factor, flags=["nsw"])
                twos = [builder.shuffle_vector(each, nothing, which) for which in (even, odd)]
                both = builder.add(*twos, flags=["nsw"])
                builder.store(builder.add(builder.load(total[k]), both), total[k])
    return [[builder.load(total) for total in some] for some in totals]


def _spread(builder: Any, number: Any) -> Any:
    """The same number in every place of a part."""
    from llvmlite import ir

    kind = ir.VectorType(number.type, WIDTH)
    nothing, first = ir.Constant(kind, ir.Undefined), ir.Constant(ir.IntType(32), 0)
    one = builder.insert_element(nothing, number, first)
    return builder.shuffle_vector(one, nothing, ir.Constant(kind, None))
