"""Asking for memory ahead. To import this is to import numba: only what is compiled in any case should."""

from __future__ import annotations

from typing import Any

from numba.core import cgutils, types
from numba.extending import intrinsic

__all__ = ["fetch"]

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
