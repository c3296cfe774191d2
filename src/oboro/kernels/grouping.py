"""Grouping rows by their codes."""

from __future__ import annotations

import numpy as np

from oboro.kernels import kernel

__all__ = ["combine", "number_by_appearance", "occurrences"]


@kernel()
def combine(labels: np.ndarray, codes: np.ndarray, width: int, out: np.ndarray) -> None:
    """One key per row: label · width + code, as uint64. O(n)."""
    for i in range(labels.size):
        out[i] = np.uint64(labels[i]) * np.uint64(width) + np.uint64(codes[i])


@kernel()
def number_by_appearance(keys: np.ndarray, seen: np.ndarray, out: np.ndarray) -> int:
    """Number the keys 0, 1, 2 … in the order in which they first appear; returns how many there are.

    `seen` has one zero per possible key. O(n), one random access per row.
    """
    found = 0
    for i in range(keys.size):
        key = keys[i]
        label = seen[key]
        if label == 0:
            found += 1
            label = found
            seen[key] = label
        out[i] = label - 1
    return found


@kernel()
def occurrences(labels: np.ndarray, out: np.ndarray) -> None:
    """Add to `out` how often each label occurs. O(n)."""
    for i in range(labels.size):
        out[labels[i]] += 1
