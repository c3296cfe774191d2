"""Compiled loops: arrays in, arrays out, `out` last. They know no column, no object and no file.

`kernel` is the only place that says how code is compiled: cached on disk, without the GIL, no fastmath (sums must not depend on
the machine), errors as in NumPy. `parallel=True` is for loops over `numba.prange`.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

__all__ = ["compiled_before", "kernel"]

PACKAGE = Path(__file__).parent.parent
"""Kernels live beside their users, in every room."""

F = TypeVar("F", bound=Callable[..., Any])


def _cache_directory() -> str | None:
    """Where compiled kernels go: beside the code if that can be written, else the user's cache, else a private temporary one.

    numba raises at import where neither the package nor the home directory can be written; so it is told before that.
    """
    if os.environ.get("NUMBA_CACHE_DIR") or os.access(PACKAGE, os.W_OK):
        return None
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "oboro"
    try:
        base.mkdir(parents=True, exist_ok=True)
    except OSError:
        return tempfile.mkdtemp(prefix="oboro-kernels-")
    return str(base) if os.access(base, os.W_OK) else tempfile.mkdtemp(prefix="oboro-kernels-")


if _directory := _cache_directory():
    os.environ["NUMBA_CACHE_DIR"] = _directory

import numba  # noqa: E402  (only after the cache directory is known)


def kernel(*, parallel: bool = False, inner: bool = False, bare: bool = False) -> Callable[[F], F]:
    """Compile a loop over arrays. `inner`: only other kernels call it, so no door to Python is compiled, which takes its time.

    `bare`: it makes no array and returns none, so references need not be counted. With many arrays in tuples, counting
    takes most of the time, to run and to compile. numba refuses to compile a bare kernel that makes an array.
    """
    more: dict[str, bool] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True} if inner else {}
    more |= {"_nrt": False} if bare else {}
    return numba.njit(cache=True, nogil=True, parallel=parallel, error_model="numpy", **more)  # type: ignore[no-any-return]


def compiled_before() -> bool:
    """Whether kernels were compiled on this machine before; if not, the first run takes longer and should say so."""
    folder = os.environ.get("NUMBA_CACHE_DIR")
    places = Path(folder) if folder else PACKAGE
    return any(places.rglob("*.nbi")) if places.is_dir() else False
