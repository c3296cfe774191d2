"""Tuples as few digits: small attributes are fused into one, so that a node's keys are read with fewer look-ups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from oboro.decide.lattice.nodes import Levels
from oboro.table.dataset import smallest_unsigned
from oboro.table.hierarchy import Hierarchy

__all__ = ["FusedDigits"]

WIDEST = 4096  # values of a digit: its part of a node's table stays in the nearest cache
MOST_TABLES = 1024  # of digits at some levels; then they are made anew


@dataclass(frozen=True, eq=False)
class FusedDigits:
    """Which attributes each digit stands for, and the digits of each tuple, numbered through."""

    groups: tuple[tuple[int, ...], ...]
    codes: np.ndarray
    width: int
    """How many values all digits have together."""
    hierarchies: Sequence[Hierarchy]
    _tables: dict[tuple[int, ...], tuple[np.ndarray, int]] = field(default_factory=dict)

    @staticmethod
    def of(codes: np.ndarray, offsets: np.ndarray, block: range, hierarchies: Sequence[Hierarchy]) -> FusedDigits:
        """From codes, numbered through, of which the digits stand for a block. O(tuples · attributes)."""
        widths = np.diff(offsets).tolist()
        groups, sizes = _grouped(widths, block, min(WIDEST, len(codes) // 8))
        out, start = np.empty((len(codes), len(groups)), dtype=smallest_unsigned(sum(sizes))), 0
        for g, group in enumerate(groups):
            digit = np.zeros(len(codes), dtype=np.int64)
            for a in group:
                digit *= widths[a]
                digit += codes[:, a]
                digit -= offsets[a]
            out[:, g] = digit + start
            start += sizes[g]
        return FusedDigits(tuple(map(tuple, groups)), out, sum(sizes), hierarchies)

    def table(self, levels: Levels) -> tuple[np.ndarray, int]:
        """For each value of each digit its part of a node's keys, and how many keys can be."""
        parts, stride = [], 1
        for g, group in enumerate(self.groups):
            key = (g, *map(levels.__getitem__, group))
            if key not in self._tables:
                if len(self._tables) >= MOST_TABLES:
                    self._tables.clear()
                self._tables[key] = self._one(group, levels)
            part, count = self._tables[key]
            parts.append(part * np.uint64(stride))
            stride *= count
        return np.concatenate(parts), stride

    def _one(self, group: tuple[int, ...], levels: Levels) -> tuple[np.ndarray, int]:
        """For each value of one digit the number of its labels, and how many there can be."""
        out, count = np.zeros(1, dtype=np.uint64), 1
        for a in group:
            level = self.hierarchies[a].levels[levels[a]]
            labels = len(level.labels)
            out = np.add.outer(out * np.uint64(labels), level.table.astype(np.uint64)).ravel()
            count *= labels
        return out, count


def _grouped(widths: Sequence[int], block: range, most: int) -> tuple[list[list[int]], list[int]]:
    """Attributes in groups of few values together, and how many; the widest first, each with the narrow ones that still fit."""
    groups: list[list[int]] = []
    sizes: list[int] = []
    for a in sorted(block, key=widths.__getitem__, reverse=True):
        for g, size in enumerate(sizes):
            if size * widths[a] <= most:
                groups[g].append(a)
                sizes[g] *= widths[a]
                break
        else:
            groups.append([a])
            sizes.append(widths[a])
    return groups, sizes
