"""Text seen as words. To import this is to import numba: only what is compiled in any case should."""

from __future__ import annotations

from typing import Any

from numba.core import cgutils, types
from numba.extending import intrinsic

__all__ = ["word_at"]


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
