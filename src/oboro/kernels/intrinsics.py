"""Intrinsics for compiled loops: prefetch memory, load words of text. To import this is to import numba: only what is
compiled in any case should.
"""

from __future__ import annotations

from typing import Any

from numba.core import cgutils, types
from numba.extending import intrinsic

__all__ = ["fetch", "word_at"]


ir: Any = cgutils.ir  # type: ignore[attr-defined]


@intrinsic  # type: ignore[misc]
def fetch(typing: Any, words: Any, place: Any) -> Any:
    """Have the line of the cache that holds the word `place` brought while other work goes on. It need not be there."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        at = builder.bitcast(builder.gep(array.data, [arguments[1]]), cgutils.voidptr_t)
        flag = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, flag, flag, flag])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")  # type: ignore[no-untyped-call]
        builder.call(function, [at, flag(0), flag(3), flag(1)])
        return context.get_dummy_value()

    return types.none(words, types.int64), code


# Words of text --------------------------------------------------------------------------------------------------------


@intrinsic  # type: ignore[misc]
def word_at(typing: Any, text: Any, place: Any) -> Any:
    """The eight bytes that start at byte `place` of a text, whatever its array holds, in one load that need not be aligned.

    It touches these eight bytes only.
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        first = builder.bitcast(array.data, cgutils.voidptr_t)
        word = cgutils.ir.IntType(64).as_pointer()  # type: ignore[attr-defined]
        return builder.load(builder.bitcast(builder.gep(first, [arguments[1]]), word), align=1)

    return types.uint64(text, types.int64), code
