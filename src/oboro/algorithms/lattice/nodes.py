"""Nodes of the generalization lattice: one level per attribute makes a node; coarser nodes are above finer ones.

A node is a tuple of levels. Facts about nodes live in arrays with one axis per attribute, so that everything above or
below a node is a plain slice of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

__all__ = ["Lattice", "Levels"]


Levels = tuple[int, ...]


@dataclass(frozen=True)
class Lattice:
    """All combinations of levels; `heights[a]` is the highest level of attribute a.

    >>> lattice = Lattice((1, 2))
    >>> lattice.size, list(lattice.parents((0, 2))), list(lattice.children((0, 2)))
    (6, [(1, 2)], [(0, 1)])
    """

    heights: Levels

    @cached_property
    def shape(self) -> Levels:
        """The length of each axis."""
        return tuple(np.add(self.heights, 1, dtype=object).tolist())

    @cached_property
    def size(self) -> int:
        """Number of nodes (a Python integer: it may exceed 64 bits)."""
        return prod(self.shape)

    @property
    def bottom(self) -> Levels:
        """The node that generalizes nothing."""
        return (0,) * len(self.heights)

    @property
    def top(self) -> Levels:
        """The node that generalizes most."""
        return self.heights

    def parents(self, node: Levels) -> Iterator[Levels]:
        """Return the nodes one step coarser."""
        for a, level in enumerate(node):
            if level < self.heights[a]:
                yield (*node[:a], level + 1, *node[a + 1 :])

    def children(self, node: Levels) -> Iterator[Levels]:
        """Return the nodes one step finer."""
        for a, level in enumerate(node):
            if level > 0:
                yield (*node[:a], level - 1, *node[a + 1 :])

    def above(self, node: Levels) -> tuple[slice, ...]:
        """Return the slices of the node and everything coarser in an array over the lattice."""
        return tuple(slice(level, None) for level in node)

    def below(self, node: Levels) -> tuple[slice, ...]:
        """Return the slices of the node and everything finer in an array over the lattice."""
        return tuple(slice(0, level + 1) for level in node)

    def sums(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        """Return for each node the sum of one number per attribute and level."""
        total = np.zeros(1)
        for part in reversed(parts):  # the longer rows are added at once
            total = (part[:, np.newaxis] + total).ravel()
        return total.reshape(self.shape)

    def count_below(self, marked: np.ndarray) -> np.ndarray:
        """Count for each node the marked nodes that are finer or itself."""
        counts = marked.astype(np.int32)
        for a in range(counts.ndim):
            np.cumsum(counts, axis=a, out=counts)
        return counts

    def count_above(self, marked: np.ndarray) -> np.ndarray:
        """Count for each node the marked nodes that are coarser or itself."""
        flip = (slice(None, None, -1),) * marked.ndim
        return self.count_below(marked[flip])[flip]

    def greatest_above(self, numbers: np.ndarray) -> np.ndarray:
        """Return for each node the greatest number of those that are coarser or itself."""
        flip = (slice(None, None, -1),) * numbers.ndim
        return np.ascontiguousarray(self.greatest_below(numbers[flip])[flip])

    def greatest_below(self, numbers: np.ndarray) -> np.ndarray:
        """Return for each node the greatest number of those that are finer or itself."""
        for a in range(numbers.ndim):
            numbers = np.maximum.accumulate(numbers, axis=a)
        return numbers

    def minimal(self, marked: np.ndarray) -> list[Levels]:
        """Return the marked nodes without a marked node below them, in lexicographic order."""
        alone = marked & (self.count_below(marked) == 1)
        return list(map(tuple, np.argwhere(alone).tolist()))
