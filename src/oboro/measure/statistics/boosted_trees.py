"""Gradient-boosted trees that tell two kinds of records apart, in NumPy: few records train them before scikit-learn is loaded.

The same model as scikit-learn's `HistGradientBoostingClassifier` with the same settings, except that trees grow level by level.
Numbers are cut into bins, gaps are a bin of their own, and categories stand in the order of what the trees got wrong of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["out_of_fold"]

TREES, RATE, DEPTH = 60, 0.1, 5
LEAST = 20  # records in a leaf
BINS = 64
TINY = 1e-9


class _Tree(NamedTuple):
    """For each level and each node of it: the column asked, and which of its bins go left. Then the value of each leaf."""

    columns: list[np.ndarray]
    left: list[np.ndarray]
    values: np.ndarray

    def leaves(self, bins: np.ndarray) -> np.ndarray:
        """The leaf of each record."""
        node = np.zeros(len(bins), dtype=np.intp)
        for columns, left in zip(self.columns, self.left, strict=True):
            node = 2 * node + ~left[node, bins[np.arange(len(bins)), columns[node]]]
        return node


def out_of_fold(
    matrix: np.ndarray, truth: np.ndarray, categorical: np.ndarray, rng: np.random.Generator, folds: int = 3
) -> np.ndarray:
    """How likely each record is of the second kind (`truth` 1), says a model that was trained without it and its fold."""
    bins = _binned(matrix, categorical)
    fold = np.empty(len(truth), dtype=np.intp)
    for kind in (0, 1):  # as many of each kind in every fold
        mine = np.flatnonzero(truth == kind)
        fold[rng.permutation(mine)] = np.arange(len(mine)) % folds
    found = np.empty(len(truth))
    for one in range(folds):
        out = fold == one
        found[out] = _trained(bins[~out], truth[~out].astype(np.float64), bins[out], categorical)
    return found


def _binned(matrix: np.ndarray, categorical: np.ndarray) -> np.ndarray:
    """Each column in bins from 1, of about as many records each; rare categories share the last one. 0: missing."""
    bins = np.zeros(matrix.shape, dtype=np.intp)
    for i, column in enumerate(matrix.T):
        there = ~np.isnan(column)
        values = column[there]
        if categorical[i]:
            bins[there, i] = 1 + np.minimum(values.astype(np.intp), BINS - 2)
        elif values.size:
            edges = np.unique(np.quantile(values, np.linspace(0, 1, BINS - 1)[1:-1]))
            bins[there, i] = 1 + np.searchsorted(edges, values)
    return bins


def _trained(bins: np.ndarray, truth: np.ndarray, asked: np.ndarray, categorical: np.ndarray) -> np.ndarray:
    """Train on some records; the probabilities of others."""
    start = float(np.log(truth.mean() / (1 - truth.mean())))
    score, guess = np.full(len(truth), start), np.full(len(asked), start)
    for _ in range(TREES):
        likely = 1 / (1 + np.exp(-score))
        tree, leaves = _grown(bins, likely - truth, likely * (1 - likely), categorical)
        score += tree.values[leaves]
        guess += tree.values[tree.leaves(asked)]
    return np.asarray(1 / (1 + np.exp(-guess)))


def _grown(bins: np.ndarray, slope: np.ndarray, bend: np.ndarray, categorical: np.ndarray) -> tuple[_Tree, np.ndarray]:
    """One tree: of each node the column and the bins that bring the loss down most (slope and bend: its derivatives).

    Also the leaf of each record that it was grown from.
    """
    tree, node, every = _Tree([], [], np.empty(0)), np.zeros(len(bins), dtype=np.intp), np.arange(len(bins))
    columns = bins.shape[1]
    cells = np.arange(columns) * BINS + bins
    weights = np.repeat(slope, columns), np.repeat(bend, columns), None  # of records: how many
    for level in range(DEPTH):
        place, shape = (node[:, None] * (columns * BINS) + cells).ravel(), (3, 1 << level, columns, BINS)
        sums = np.stack([np.bincount(place, weights=of, minlength=columns * BINS << level) for of in weights])
        column, left = _splits(sums.reshape(shape), categorical)
        tree.columns.append(column)
        tree.left.append(left)
        node = 2 * node + ~left[node, bins[every, column[node]]]
    slopes, bends = (np.bincount(node, weights=of, minlength=1 << DEPTH) for of in (slope, bend))
    return tree._replace(values=-RATE * slopes / (bends + TINY)), node


def _splits(sums: np.ndarray, categorical: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The best split of each node: its column and which bins go left (all, where no split is worth it).

    `sums` are the slopes, bends and records of each node, column and bin.
    """
    order = np.broadcast_to(np.arange(BINS), sums.shape[1:]).copy()
    if categorical.any():
        slopes, bends, records = some = sums[:, :, categorical]
        wrong = np.where(records > 0, slopes / (bends + TINY), np.inf)
        order[:, categorical] = mine = np.argsort(wrong, axis=2, kind="stable")
        sums[:, :, categorical] = np.take_along_axis(some, mine[None], 3)
    left = sums.cumsum(axis=3)
    whole = left[..., -1:]
    right = whole - left
    gain = left[0] ** 2 / (left[1] + TINY) + right[0] ** 2 / (right[1] + TINY)
    gain -= whole[0] ** 2 / (whole[1] + TINY)  # what the node loses without a split
    gain = np.where(np.minimum(left[2], right[2]) >= LEAST, gain, 0.0)
    best = gain.reshape(len(gain), -1).argmax(axis=1)
    column, cut = np.divmod(best, BINS)
    every = np.arange(len(best))
    rank = np.argsort(order[every, column], axis=1)
    worth = gain[every, column, cut] > TINY
    return column, (rank <= cut[:, None]) | ~worth[:, None]
