"""What the nodes of a box of the lattice lose at least, from few attributes at a time.

Classes over fewer attributes are unions of classes. So a node suppresses at least as many records as any few of its levels do
alone. The attributes are dealt into blocks; of each block's own lattice every node is known that suppresses few
enough. Where the loss adds up over attributes, the least that each block loses within a box adds up to a bound for the box.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from math import inf, prod

import numpy as np

from oboro.decide.lattice.huge.block_optima import part_of
from oboro.decide.lattice.kernels.box_bounds import least_of_box
from oboro.decide.lattice.node_check import NodeChecker
from oboro.decide.lattice.nodes import Levels
from oboro.decide.lattice.objective import CellLoss
from oboro.decide.lattice.problem import Problem

__all__ = ["BlockBounds"]

BLOCK_NODES = 600  # in a block; four times as many close a gap no sooner, and take four times as long to know


@dataclass(frozen=True, eq=False)
class BlockBounds:
    """Bounds for the boxes of one problem whose loss adds up over cells. Arrays of all blocks lie one after the other."""

    attributes: np.ndarray
    firsts: np.ndarray
    strides: np.ndarray
    base: np.ndarray
    """What levels lose without suppression, as `fold` counts; infinite where they suppress too many alone."""
    slope: np.ndarray
    """What each suppressed record adds at least."""
    surely: np.ndarray
    """How many records the levels suppress at least, whatever the others are."""
    alone: list[np.ndarray]
    """For each attribute and level what it loses alone, if the attribute that loses most decides; otherwise nothing."""

    @staticmethod
    def of(problem: Problem, over: Callable[[], bool]) -> BlockBounds:
        """Look at every block; once time is `over` the rest counts as suppressing nobody, which is safe."""
        loss, blocks = problem.loss, _dealt(problem)
        assert isinstance(loss, CellLoss)
        bases, slopes = loss.bounds(problem.limit)
        surely = [_suppressed(problem, some, over) for some in blocks]
        base = [
            np.where(gone > problem.limit, inf, _sums([bases[a] for a in some]))
            for some, gone in zip(blocks, surely, strict=True)
        ]
        slope = [_sums([slopes[a] for a in some]) for some in blocks]
        strides = [stride // gone.itemsize for gone in surely for stride in gone.strides]
        starts = np.cumsum([0, *(gone.size for gone in surely[:-1])])
        return BlockBounds(
            np.concatenate(blocks),
            np.cumsum([0, *map(len, blocks)]),
            np.concatenate([strides, starts]).astype(np.int64),
            _flat(base),
            _flat(slope),
            _flat(surely).astype(np.float64),
            [part * len(bases) for part in bases] if loss.largest and not loss.agreed else [],
        )

    def least(self, low: Levels, high: Levels, surely: int) -> float:
        """What a node between two nodes loses at least, as `fold` counts, if it suppresses at least so many."""
        box, gone = (np.array(low), np.array(high)), float(surely)
        blocks = (self.attributes, self.firsts, self.strides, self.base, self.slope, self.surely)
        total = float(least_of_box(*box, gone, *blocks))
        return max([total, *(float(part[low[a] : high[a] + 1].min()) for a, part in enumerate(self.alone))])


def _flat(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([part.ravel() for part in parts])


def _sums(parts: list[np.ndarray]) -> np.ndarray:
    """For every combination of levels the sum of one number each."""
    total = np.zeros([part.size for part in parts])
    for a, part in enumerate(parts):
        total += part.reshape([-1 if b == a else 1 for b in range(len(parts))])
    return total


def _suppressed(problem: Problem, some: list[int], over: Callable[[], bool]) -> np.ndarray:
    """How many records, or people, k alone suppresses at each node over some attributes; above the limit at least so many."""
    part = part_of(problem, some)
    lattice, surely = part.lattice, np.zeros(part.lattice.shape, dtype=np.int64)
    checker = None if over() else NodeChecker.of(part)
    for levels in product(*(range(size - 1, -1, -1) for size in lattice.shape)):
        if checker is None or over():
            break
        if surely[levels] <= problem.limit:
            below = surely[lattice.below(levels)]
            np.maximum(below, checker.check(levels).surely, out=below)
    return surely


def _dealt(problem: Problem) -> list[list[int]]:
    """The attributes in blocks of few nodes; those with most entropy meet each other, for they constrain most."""
    order = sorted(range(len(problem.columns)), key=lambda a: -problem.entropies[a][0])
    blocks: list[list[int]] = []
    for a in order:
        for block in blocks:
            if prod(problem.lattice.shape[b] for b in block) * problem.lattice.shape[a] <= BLOCK_NODES:
                block.append(a)
                break
        else:
            blocks.append([a])
    return blocks
