"""How loops are compiled: cached on disk (`cache_folders` says where), without the GIL, no fastmath (sums must not depend on the
machine), errors as in NumPy. `parallel` is for loops over `prange`."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.registry import cpu_target

from oboro.kernels import Kernel, prange
from oboro.kernels.kernel_cache import LayeredCache

__all__ = ["compiled"]

OURS, DOOR = "_ZN5oboro", "_ZN7cpython"  # how names of our functions begin in machine code, and of what Python calls


class _Library(JITCodeLibrary):
    """What is compiled of one function. Kernels that only others call are not optimized: they become part of those, which are.

    numba would optimize them by themselves, and again wherever they are called: a sixth of the time that compiling takes.
    """

    def _optimize_final_module(self) -> None:
        names = [function.name for function in self.get_defined_functions()]
        if any(name.startswith(DOOR) for name in names) or not any(name.startswith(OURS) for name in names):
            super()._optimize_final_module()


cpu_target.target_context.codegen()._library_class = _Library


def compiled(kernel: Kernel, *, parallel: bool, inner: bool, bare: bool) -> Any:
    """The function of a kernel as numba compiles it, where it is called with types for the first time."""
    function: Any = kernel.function
    more = {"no_cfunc_wrapper": True, "no_cpython_wrapper": inner}  # nobody calls a kernel as a function of C
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
