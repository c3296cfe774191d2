"""Choosing levels by the exponential mechanism: better levels are likelier, and nobody's record changes much of how likely.

A node of the lattice scores how much of the table it would release, and how fine: the records of its classes beyond the first
t − 1 of each, times the share of detail that its levels keep. Somebody more or less changes one class by one, so no score
changes by more than 1; and all scores change in the same direction, which halves what the mechanism needs. Where a sample is
released later, t is the number of records that makes k of them be expected in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from oboro.decide.lattice.node_check import NodeChecker
from oboro.decide.lattice.nodes import Levels
from oboro.decide.lattice.objective import loss_of
from oboro.decide.lattice.problem import Problem
from oboro.table.dataset import Column
from oboro.table.hierarchy import Hierarchy

__all__ = ["DETAIL", "MOST_NODES", "node_details", "node_scores", "nodes_between"]

DETAIL = 1 << 10  # detail is counted in so many parts: scores are whole numbers, and whole numbers do not round
MOST_NODES = 1 << 16  # every node is scored, since leaving one out for its score would tell something


def nodes_between(least: Sequence[int], greatest: Sequence[int]) -> list[Levels]:
    """Every choice of levels within limits, in lexicographic order."""
    return list(product(*(range(low, high + 1) for low, high in zip(least, greatest, strict=True))))


def node_details(nodes: Sequence[Levels], heights: Sequence[int], weights: Sequence[float]) -> np.ndarray:
    """The share of detail that each node keeps: 1 − level / height, on the average of the columns by weight; in parts of DETAIL.

    Nothing of the table goes in.
    """
    whole = sum(weights) or 1.0
    lost = [
        sum(w * level / max(height, 1) for w, level, height in zip(weights, node, heights, strict=True)) / whole
        for node in nodes
    ]
    return np.array([int(DETAIL * max(0.0, 1 - one)) for one in lost], dtype=np.int64)


def node_scores(
    nodes: Sequence[Levels],
    details: np.ndarray,
    columns: Sequence[Column],
    hierarchies: Sequence[Hierarchy],
    least: int,
) -> np.ndarray:
    """The score of each node, in parts of DETAIL. O(nodes · distinct tuples).

    One record more or less in the table changes each by at most DETAIL, and all in one direction.
    """
    found = np.zeros(len(nodes), dtype=np.int64)
    for i, sizes in enumerate(_class_sizes(nodes, columns, hierarchies)):
        found[i] = details[i] * int(np.maximum(sizes - (least - 1), 0).sum())
    return found


def _class_sizes(
    nodes: Sequence[Levels], columns: Sequence[Column], hierarchies: Sequence[Hierarchy]
) -> Iterator[np.ndarray]:
    held, steps = tuple(columns), tuple(hierarchies)
    if len(held[0]) == 0:
        yield from (np.zeros(0, dtype=np.int64) for _ in nodes)
        return
    loss = loss_of("height", held, steps, [1.0] * len(held), 1)
    checker = NodeChecker.of(Problem(held, steps, 1, 0, (), loss))
    yield from (checker.classes(node).sizes for node in nodes)
