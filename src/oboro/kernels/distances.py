"""Kernel for the distance of two people in k-concealment."""

from __future__ import annotations

import numpy as np

from oboro.kernels.jit import kernel

__all__ = ["between"]


@kernel(inner=True)
def between(places: np.ndarray, caps: np.ndarray, one: int, other: int) -> float:
    """Return the distance of two people; `places` is attributes × people."""
    total = 0.0
    for a in range(caps.size):
        total += min(abs(places[a, one] - places[a, other]), caps[a])
    return total
