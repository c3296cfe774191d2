"""Compiled loops: arrays in, arrays out, `out` last. They know no column, no object and no file.

`kernel` is the only place that says how code is compiled: cached on disk (`cache_folders` says where), without the GIL, no
fastmath (sums must not depend on the machine), errors as in NumPy. `parallel=True` is for loops over `numba.prange`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

from oboro.kernels.cache_folders import cache_place
from oboro.kernels.kernel_cache import LayeredCache

__all__ = ["compiled_before", "kernel"]

F = TypeVar("F", bound=Callable[..., Any])


def kernel(*, parallel: bool = False, inner: bool = False, bare: bool = False) -> Callable[[F], F]:
    """Compile a loop over arrays. `inner`: only other kernels call it, so no door to Python is compiled, which takes its time.

    `bare`: it makes no array and returns none, so references need not be counted. With many arrays in tuples, counting
    takes most of the time, to run and to compile. numba refuses to compile a bare kernel that makes an array.
    """
    more: dict[str, bool] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True} if inner else {}
    more |= {"_nrt": False} if bare else {}
    compiled = numba.njit(nogil=True, parallel=parallel, error_model="numpy", **more)

    def decorate(function: F) -> F:
        dispatcher = compiled(function)
        dispatcher._cache = LayeredCache(function)  # what `cache=True` does, with places of our own
        return dispatcher  # type: ignore[no-any-return]

    return decorate


def compiled_before() -> bool:
    """Whether kernels were compiled on this machine before; if not, the first run takes longer and should say so."""
    return any(True for _ in cache_place().compiled())
