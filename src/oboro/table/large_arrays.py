"""Large arrays, as the system gives them fastest."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np

__all__ = ["large_zeros"]

# Pages of our own: shared ones, which mmap gives by default, are slower to come by.
PRIVATE = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
AT_ONCE = {"flags": PRIVATE["flags"] | mmap.MAP_POPULATE} if hasattr(mmap, "MAP_POPULATE") else PRIVATE


def large_zeros(size: int, dtype: Any = np.uint8, *, at_once: bool = False) -> np.ndarray:
    """A large array of zeros that starts with a page; it takes memory only where it is touched, or all of it `at_once`.

    Not np.zeros or np.empty, which ask the system for pages of 2 MB: on a virtual machine they came so slowly (5 ns a byte) that
    reading a wide table took half as long again, or twice as long.
    """
    pages = AT_ONCE if at_once else PRIVATE
    return np.frombuffer(mmap.mmap(-1, max(size * np.dtype(dtype).itemsize, 1), **pages), dtype, size)
