"""Random bits inside compiled loops."""

from __future__ import annotations

import numpy as np

from oboro.kernels import kernel

__all__ = ["coin"]


@kernel(inner=True)
def coin(state: np.ndarray) -> int:
    """The next 64 random bits (splitmix64, Steele et al. 2014)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
