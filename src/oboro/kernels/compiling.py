"""How loops are compiled: cached on disk (`cache_folders` says where), without the GIL, no fastmath (sums must not depend on the
machine), errors as in NumPy. `parallel` is for loops over `prange`."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numba

from oboro.kernels import Kernel, prange
from oboro.kernels.kernel_cache import LayeredCache

__all__ = ["compiled"]


def compiled(kernel: Kernel, *, parallel: bool, inner: bool, bare: bool) -> Any:
    """The function of a kernel as numba compiles it, where it is called with types for the first time."""
    function: Any = kernel.function
    more: dict[str, bool] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True} if inner else {}
    more |= {"_nrt": False} if bare else {}
    known = dict(function.__globals__)
    named = FunctionType(function.__code__, known, function.__name__, function.__defaults__, function.__closure__)
    named.__qualname__, named.__module__ = function.__qualname__, function.__module__
    dispatcher = numba.njit(nogil=True, parallel=parallel, error_model="numpy", **more)(named)
    dispatcher._cache = LayeredCache(function)  # what `cache=True` does, with places of our own
    for name in function.__code__.co_names:
        if isinstance(value := known.get(name), Kernel):
            known[name] = dispatcher if value is kernel else value.compiled
        elif value is prange:
            known[name] = numba.prange
    return dispatcher
