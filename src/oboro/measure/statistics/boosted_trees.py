"""Gradient-boosted trees that tell two kinds of records apart: compiled, or in NumPy where there are few records.

The same model as scikit-learn's `HistGradientBoostingClassifier` with the same settings, but trees grow level by level. That
library takes two seconds to load, and no less time to train. Numbers are cut into bins, gaps are a bin of their own, and categories
stand in the order of what the trees got wrong of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oboro.kernels import little_work

__all__ = ["FEW_CELLS", "out_of_fold"]

TREES, RATE, DEPTH = 60, 0.1, 5
LEAST = 20  # records in a leaf
FEW_BINS, MANY_BINS = 64, 256
FEW_CELLS = 1 << 14  # records times columns that NumPy does before compiled code is loaded
TINY = 1e-9


class _Tree(NamedTuple):
    """A tree that NumPy grew: for each level and node the column asked, and which of its bins go left; the value of each leaf."""

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
    few = little_work(matrix.size, FEW_CELLS)
    width, trained = (FEW_BINS, _trained) if few else (MANY_BINS, _trained_compiled)
    bins = _binned(matrix, categorical, width)
    fold = np.empty(len(truth), dtype=np.intp)
    for kind in (0, 1):  # as many of each kind in every fold
        mine = np.flatnonzero(truth == kind)
        fold[rng.permutation(mine)] = np.arange(len(mine)) % folds
    found = np.empty(len(truth))
    for one in range(folds):
        out = fold == one
        found[out] = trained(bins[~out], truth[~out].astype(np.float64), bins[out], categorical)
    return found


def _binned(matrix: np.ndarray, categorical: np.ndarray, width: int) -> np.ndarray:
    """Each column in bins from 1, of about as many records each; rare categories share the last one. 0: missing."""
    bins = np.zeros(matrix.shape, dtype=np.uint8)
    for i, column in enumerate(matrix.T):
        there = ~np.isnan(column)
        values = column[there]
        if categorical[i]:
            bins[there, i] = 1 + np.minimum(values.astype(np.intp), width - 2)
        elif values.size:
            edges = np.unique(np.quantile(values, np.linspace(0, 1, width - 1)[1:-1]))
            bins[there, i] = 1 + np.searchsorted(edges, values)
    return bins


def _trained(bins: np.ndarray, truth: np.ndarray, asked: np.ndarray, categorical: np.ndarray) -> np.ndarray:
    """Train on some records; the probabilities of others."""
    bins, asked = bins.astype(np.intp), asked.astype(np.intp)
    start = float(np.log(truth.mean() / (1 - truth.mean())))
    score, guess = np.full(len(truth), start), np.full(len(asked), start)
    for _ in range(TREES):
        likely = 1 / (1 + np.exp(-score))
        tree, leaves = _grown(bins, likely - truth, likely * (1 - likely), categorical, FEW_BINS)
        score += tree.values[leaves]
        guess += tree.values[tree.leaves(asked)]
    return np.asarray(1 / (1 + np.exp(-guess)))


def _trained_compiled(bins: np.ndarray, truth: np.ndarray, asked: np.ndarray, categorical: np.ndarray) -> np.ndarray:
    """`_trained` by compiled loops, with more bins."""
    from oboro.measure.statistics import kernels

    start = float(np.log(truth.mean() / (1 - truth.mean())))
    score, guess = np.full(len(truth), start), np.full(len(asked), start)
    columns, left = np.empty((1 << DEPTH) - 1, dtype=np.int64), np.empty(((1 << DEPTH) - 1, MANY_BINS), dtype=bool)
    leaf, theirs = np.empty(len(truth), dtype=np.int64), np.empty(len(asked), dtype=np.int64)
    for _ in range(TREES):
        likely = 1 / (1 + np.exp(-score))
        slope, bend = likely - truth, likely * (1 - likely)
        kernels.grow(bins, slope, bend, categorical, LEAST, columns, left, leaf)
        values = _values(leaf, slope, bend)
        score += values[leaf]
        kernels.leaves(asked, columns, left, theirs)
        guess += values[theirs]
    return np.asarray(1 / (1 + np.exp(-guess)))


def _values(leaf: np.ndarray, slope: np.ndarray, bend: np.ndarray) -> np.ndarray:
    """What each leaf adds to the score of its records."""
    slopes, bends = (np.bincount(leaf, weights=of, minlength=1 << DEPTH) for of in (slope, bend))
    return np.asarray(-RATE * slopes / (bends + TINY))


def _grown(
    bins: np.ndarray, slope: np.ndarray, bend: np.ndarray, categorical: np.ndarray, width: int
) -> tuple[_Tree, np.ndarray]:
    """One tree: of each node the column and the bins that bring the loss down most (slope and bend: its derivatives).

    Also the leaf of each record that it was grown from.
    """
    tree, node, every = _Tree([], [], np.empty(0)), np.zeros(len(bins), dtype=np.intp), np.arange(len(bins))
    columns = bins.shape[1]
    cells = np.arange(columns) * width + bins
    weights = np.repeat(slope, columns), np.repeat(bend, columns), None  # of records: how many
    for level in range(DEPTH):
        place, shape = (node[:, None] * (columns * width) + cells).ravel(), (3, 1 << level, columns, width)
        sums = np.stack([np.bincount(place, weights=of, minlength=columns * width << level) for of in weights])
        column, left = _splits(sums.reshape(shape), categorical)
        tree.columns.append(column)
        tree.left.append(left)
        node = 2 * node + ~left[node, bins[every, column[node]]]
    return tree._replace(values=_values(node, slope, bend)), node


def _splits(sums: np.ndarray, categorical: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The best split of each node: its column and which bins go left (all, where no split is worth it).

    `sums` are the slopes, bends and records of each node, column and bin.
    """
    width = sums.shape[3]
    order = np.broadcast_to(np.arange(width), sums.shape[1:]).copy()
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
    column, cut = np.divmod(best, width)
    every = np.arange(len(best))
    rank = np.argsort(order[every, column], axis=1)
    worth = gain[every, column, cut] > TINY
    return column, (rank <= cut[:, None]) | ~worth[:, None]
