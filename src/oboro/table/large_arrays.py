"""Large arrays, as the system gives them fastest."""

from __future__ import annotations

import mmap
import time
from typing import Any

import numpy as np

__all__ = ["address", "large_zeros"]

# Pages of our own: shared ones, which mmap gives by default, are slower to come by.
PRIVATE = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
AT_ONCE = {"flags": PRIVATE["flags"] | mmap.MAP_POPULATE} if hasattr(mmap, "MAP_POPULATE") else PRIVATE
LARGE_PAGE = 1 << 21  # bytes
SLOW = 5e-4  # seconds of the processor for a large page; its 512 small ones take about three times as long
TRIES = 3  # slow ones after which no more are asked for

_tries = TRIES if hasattr(mmap, "MADV_HUGEPAGE") else 0


def address(array: np.ndarray) -> int:
    """Where an array begins, for kernels that take addresses; a third of the time of `array.ctypes.data`."""
    place: int = array.__array_interface__["data"][0]
    return place


def large_zeros(size: int, dtype: Any = np.uint8, *, at_once: bool = False) -> np.ndarray:
    """A large array of zeros that starts with a page; it takes memory only where it is touched, or all of it `at_once`.

    Large pages come seven times as fast as small ones (0.1 instead of 0.7 ns a byte), where the system has them at hand. On a
    virtual machine whose host must first find the memory they come more slowly than small pages, which are those that were used
    before (3 to 5 ns a byte: reading a wide table took half as long again). So one is tried.
    """
    bytes_ = max(size * np.dtype(dtype).itemsize, 1)
    large = _tries > 0 and bytes_ >= LARGE_PAGE
    memory = mmap.mmap(-1, bytes_, **(AT_ONCE if at_once and not large else PRIVATE))
    if large:
        _try_large_pages(memory)
    return np.frombuffer(memory, dtype, size)


def _try_large_pages(memory: mmap.mmap) -> None:
    """Have memory in large pages if the first one comes fast."""
    global _tries
    array = np.frombuffer(memory, np.uint8)
    first = -array.ctypes.data % LARGE_PAGE
    if first + LARGE_PAGE > array.size:
        return
    try:
        memory.madvise(mmap.MADV_HUGEPAGE)
    except OSError:  # a system without them
        _tries = 0
        return
    begin = time.thread_time()
    array[first] = 0
    fast = time.thread_time() - begin < SLOW
    _tries = TRIES if fast else _tries - 1
    if not fast:
        memory.madvise(mmap.MADV_NOHUGEPAGE)
