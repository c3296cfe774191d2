"""Counting equal keys where there are too many different ones for a counter each."""

from __future__ import annotations

import numpy as np

from oboro.kernels import kernel

__all__ = ["runs"]


@kernel()
def runs(keys: np.ndarray) -> int:
    """How often each of the sorted keys occurs, written over the keys; returns how many different ones there are. O(n)."""
    found, length = 0, 0
    for i in range(keys.size):
        length += 1
        if i + 1 == keys.size or keys[i + 1] != keys[i]:
            keys[found] = length
            found += 1
            length = 0
    return found
