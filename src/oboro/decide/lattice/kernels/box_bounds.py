"""What the nodes of a box lose at least: the least of each block of attributes within the box, added up."""

from __future__ import annotations

import numpy as np

from oboro.kernels import kernel

__all__ = ["below_any", "least_of_box"]


@kernel(little=True)
def least_of_box(
    low: np.ndarray,
    high: np.ndarray,
    gone: float,
    attributes: np.ndarray,
    firsts: np.ndarray,
    strides: np.ndarray,
    base: np.ndarray,
    slope: np.ndarray,
    surely: np.ndarray,
) -> float:
    """Sum over blocks of the least base + slope · suppressed between two nodes, `gone` being suppressed at least.

    Block b has the `attributes` from `firsts[b]` to `firsts[b + 1]`. The arrays of all blocks lie one after the other. `strides`
    says how far apart two levels of each of these attributes are, and then where each block begins. O(nodes of the box by block).
    """
    total, blocks = 0.0, firsts.size - 1
    levels = low.copy()
    for b in range(blocks):
        first, last = firsts[b], firsts[b + 1]
        place = strides[attributes.size + b]
        for i in range(first, last):
            levels[attributes[i]] = low[attributes[i]]
            place += low[attributes[i]] * strides[i]
        least = np.inf
        while True:
            least = min(least, base[place] + slope[place] * max(surely[place], gone))
            i = last - 1
            while i >= first and levels[attributes[i]] == high[attributes[i]]:
                place -= (high[attributes[i]] - low[attributes[i]]) * strides[i]
                levels[attributes[i]] = low[attributes[i]]
                i -= 1
            if i < first:
                break
            levels[attributes[i]] += 1
            place += strides[i]
        total += least
    return total


@kernel()
def below_any(levels: np.ndarray, nodes: np.ndarray) -> bool:
    """Whether a node is below one of some nodes, or is one of them. O(nodes), and few attributes of each."""
    for node in range(nodes.shape[0]):
        a = 0
        while a < levels.size and nodes[node, a] >= levels[a]:
            a += 1
        if a == levels.size:
            return True
    return False
