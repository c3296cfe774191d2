"""Every node of a lattice by the plainest means, to prove that no node is better: sort the records, count, add up.

It shares nothing with the search but the labels of the hierarchies: no kernels, no bounds, no order. The loss is ARX's.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import inf

import numpy as np

from oboro.table.dataset import Column
from oboro.table.hierarchy import Hierarchy

__all__ = ["best_losses"]

Cell = tuple[int, int]


def best_losses(
    columns: Sequence[Column], hierarchies: Sequence[Hierarchy], cells: Sequence[Cell]
) -> dict[Cell, float]:
    """For each (k, most records suppressed) the least ARX loss of all nodes. O(nodes · records · log).

    As in ARX the suppressed may be fewer than k; ours may not, so this is a bound that no release can pass.
    """
    tables = list(zip(columns, hierarchies, strict=True))
    values = [[level.table[column.codes] for level in h.levels] for column, h in tables]
    costs = [[_cost(h, i)[column.codes] for i in range(len(h.levels))] for column, h in tables]
    best = dict.fromkeys(cells, inf)
    for node in product(*(range(len(levels)) for levels in values)):
        sizes = _sizes([values[a][level] for a, level in enumerate(node)])
        paid = [costs[a][level] for a, level in enumerate(node)]
        for k, limit in cells:
            gone = sizes < k
            if int(gone.sum()) <= limit:
                best[k, limit] = min(best[k, limit], _loss(paid, gone))
    return best


def _sizes(labels: list[np.ndarray]) -> np.ndarray:
    """For each record how many share its labels."""
    key = np.zeros(labels[0].size, dtype=np.int64)
    for label in labels:
        key = key * (int(label.max()) + 1) + label
    _, inverse, counts = np.unique(key, return_inverse=True, return_counts=True)
    return np.asarray(counts[inverse])


def _loss(paid: list[np.ndarray], gone: np.ndarray) -> float:
    parts = [np.where(gone, 1.0, cost).mean() for cost in paid]
    return float(np.exp(np.mean(np.log1p(parts))) - 1)


def _cost(hierarchy: Hierarchy, level: int) -> np.ndarray:
    """For each value what its label costs: the part of the hierarchy's leaves beyond the first that it covers."""
    rows = hierarchy.to_rows()
    under: dict[str, int] = {}
    for row in rows:
        under[row[level]] = under.get(row[level], 0) + 1
    mine = {row[0]: (under[row[level]] - 1) / max(len(rows) - 1, 1) for row in rows}
    return np.array([mine[str(text)] for text in hierarchy.levels[0].labels.to_pylist()])
