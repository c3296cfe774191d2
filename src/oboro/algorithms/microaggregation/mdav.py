"""MDAV and V-MDAV microaggregation: groups of at least k similar records.

Domingo-Ferrer & Mateo-Sanz, "Practical data-oriented microaggregation for statistical disclosure control", 2002; in the
generic form of Domingo-Ferrer & Torra, "Ordinal, continuous and heterogeneous k-anonymity through microaggregation",
2005. Solanas & Martínez-Ballesté, "V-MDAV: a multivariate microaggregation with variable group size", 2006.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from oboro.algorithms.microaggregation import kernels
from oboro.algorithms.partitioning.records import Space
from oboro.data.grouping import Groups
from oboro.errors import InputError
from oboro.kernels import grouping
from oboro.text import Message

__all__ = ["fixed", "mdav", "vmdav"]


# Groups of fixed size -------------------------------------------------------------------------------------------------
# Groups of fixed size along one line.


def fixed(numbers: np.ndarray, k: int) -> Groups:
    """Sort one number per record and cut every k records; the last group has k … 2k − 1. O(n log n).

    Missing values (NaN) form a group of their own where k or more are missing and k or more are not; otherwise they
    come after the largest number. Equal numbers may fall into two groups.
    """
    missing = int(np.isnan(numbers).sum())
    present = numbers.size - missing
    if 0 < numbers.size < k:
        raise InputError(Message("error_decide.no_group", records=numbers.size, k=k))
    order = np.argsort(numbers, kind="stable")  # NaN last
    apart = missing if missing >= k and (present >= k or present == 0) else 0
    cut = numbers.size - apart
    places = np.arange(numbers.size)
    ordered = np.minimum(places // k, max(cut // k - 1, 0))
    ordered[cut:] = cut // k
    labels = np.empty(numbers.size, dtype=np.uint32)
    labels[order] = ordered
    return _groups_by_label(labels)


def _groups_by_label(labels: np.ndarray) -> Groups:
    found = int(labels.max()) + 1 if labels.size else 0
    out = np.empty_like(labels)
    grouping.number_by_appearance(labels, np.zeros(found, dtype=np.uint32), out)
    return Groups(out, np.bincount(out, minlength=found))


# MDAV and V-MDAV ------------------------------------------------------------------------------------------------------


# A tree of boxes finds neighbours in O(log n), but only in few dimensions; a scan is O(n) in any. Measured at k = 5 on
# two busy cores: 100,000 normal records in 3 dimensions 3.0 s by tree (on one of them) and 5.9 s by scan (on both), in 5
# dimensions 6.5 s and 7.8 s; below 20,000 records either is well under a second.
TREE_RECORDS = 20_000
TREE_ATTRIBUTES = 6


def mdav(space: Space, k: int) -> Groups:
    """Group all records, k or more each.

    While 3k records or more remain: r is the record farthest from the centre of the remaining ones; r and the k − 1
    records nearest to it form a group; s is the record farthest from r, and the k nearest to s form another. Of 2k … 3k
    − 1 records the k nearest to the farthest form a group and the rest the last one; fewer than 2k records form one
    group.

    The centre is the mean of each number and the most frequent category (the first of equally frequent ones). Records
    are taken in the order of their attributes: of equally near ones the first is nearer, of equally far ones the last
    is farther. So the groups' values do not depend on the order of the rows.

    Cost O(n² · attributes / k) on all cores, memory O(n · attributes). With few attributes and many records a tree
    finds the same groups in about O(n^1.5).
    """
    _require(space, k)
    if space.records >= TREE_RECORDS and len(space.points) + len(space.categories) <= TREE_ATTRIBUTES:
        return _by_tree(space, k)
    remaining = _Remaining(space)
    while remaining.count >= 3 * k:
        group, opposite = remaining.around(*remaining.farthest(), k)
        remaining.close(group)
        group, _ = remaining.around(*opposite, k)
        remaining.close(group)
    if remaining.count >= 2 * k:
        group, _ = remaining.around(*remaining.farthest(), k)
        remaining.close(group)
    if remaining.count:
        remaining.close(np.arange(remaining.count))
    return remaining.groups()


def vmdav(space: Space, k: int, gamma: float = 0.2) -> Groups:
    """Group all records, k to 2k − 1 each (a few may have more).

    The record farthest from the centre of all and the k − 1 nearest to it form a group. As long as the group has fewer
    than 2k − 1 records, the nearest outsider joins if its distance to the group (to the nearest member) is less than
    `gamma` times its distance to the nearest other outsider: large for clustered data (1.1), small for scattered data
    (0.2). The last records, fewer than k, join the groups whose centres are nearest. Ties as in `mdav`.

    Cost about O(n log n) with few attributes, O(n² · attributes) at worst.
    """
    _require(space, k)
    order, tree, centre = _tree(space)
    target, traits = _middle(centre)
    far = _distances(
        np.ascontiguousarray(space.points[:, order]), space.categories[:, order], space.gaps, target, traits
    )
    queue = np.lexsort((np.arange(far.size), far))[::-1]
    labels = np.full(space.records, -1, dtype=np.int64)
    found = kernels.vmdav(tree, centre, k, gamma, queue, labels)
    left = np.flatnonzero(labels < 0)
    if left.size:
        labels[left] = _nearest_group(space, order, labels, found, left)
    return _groups_in_order(order, labels, found)


def _require(space: Space, k: int) -> None:
    if 0 < space.records < k:
        raise InputError(Message("error_decide.no_group", records=space.records, k=k))


# MDAV on a tree -------------------------------------------------------------------------------------------------------


def _by_tree(space: Space, k: int) -> Groups:
    order, tree, centre = _tree(space)
    n = space.records
    labels = np.full(n, -1, dtype=np.int64)
    place = np.empty(len(space.points)), np.empty(len(space.categories), dtype=np.int64)
    stands = np.empty_like(tree.points), np.empty_like(tree.categories)
    state = np.array([0, 0, kernels.SORTING * n])
    shell = kernels.Shell(np.empty(n, dtype=np.int64), np.empty(n), *stands, *place, floor=np.empty(1), state=state)
    return _groups_in_order(order, labels, kernels.mdav(tree, centre, shell, k, labels))


def _tree(space: Space) -> tuple[np.ndarray, kernels.BoxTree, kernels.Centre]:
    """The records in their order, a tree of them (ids are places in that order), and what their centre is made of."""
    order = space.order()
    points = np.ascontiguousarray(space.points[:, order].T)
    categories = np.ascontiguousarray(space.categories[:, order].T).astype(np.int64)
    n, levels = len(order), max(0, int(np.ceil(np.log2(max(1, len(order)) / kernels.LEAF))))
    ids = np.arange(n)
    kernels.build(points, categories, levels, ids)
    nodes, boxes = 2 << levels, (2 << levels, points.shape[1])
    tree = kernels.BoxTree(
        points=points[ids],
        categories=categories[ids],
        gaps=space.gaps,
        ids=ids,
        where=np.empty(n, dtype=np.int64),
        levels=levels,
        held=np.zeros(nodes, dtype=np.int64),
        low=np.empty(boxes),
        high=np.empty(boxes),
        lacking=np.zeros(boxes, dtype=np.bool_),
        shared=np.empty((nodes, categories.shape[1]), dtype=np.int64),
        distances=np.empty(n),
        stack=np.empty(2 * levels + 4, dtype=np.int64),
        bounds=np.empty(2 * levels + 4),
    )
    kernels.fill(tree)
    counts = [np.bincount(codes) for codes in categories.T]
    offset = np.cumsum([0, *(count.size for count in counts)])
    occurrences = np.concatenate([*counts, np.zeros(0, dtype=np.int64)])
    present = (~np.isnan(points)).sum(axis=0)
    return order, tree, kernels.Centre(np.nansum(points, axis=0), present, occurrences, offset)


def _middle(centre: kernels.Centre) -> Place:
    present = centre.present
    mean = np.divide(centre.sums, present, out=np.full(present.size, np.nan), where=present > 0)
    counts = (centre.occurrences[a:b] for a, b in pairwise(centre.offset))
    return mean, np.array([count.argmax() for count in counts], dtype=np.uint32)


def _distances(
    points: np.ndarray, categories: np.ndarray, gaps: np.ndarray, target: np.ndarray, traits: np.ndarray
) -> np.ndarray:
    out = np.empty(points.shape[1])
    kernels.measure(points, categories, gaps, target, traits, 0, out)
    return out


def _nearest_group(space: Space, order: np.ndarray, labels: np.ndarray, found: int, left: np.ndarray) -> np.ndarray:
    """For each record that is left over the group with the nearest centre (the first of equals)."""
    held = np.flatnonzero(labels >= 0)
    groups = Groups(labels[held], np.bincount(labels[held], minlength=found))
    points, categories = space.points[:, order], space.categories[:, order]
    centres = np.stack([_means(row[held], groups) for row in points]) if len(points) else np.empty((0, found))
    traits = np.stack([_modes(row[held], groups) for row in categories]) if len(categories) else np.empty((0, found))
    chosen = [
        _distances(centres, traits.astype(np.uint32), space.gaps, points[:, one].copy(), categories[:, one].copy())
        for one in left
    ]
    return np.array([apart.argmin() for apart in chosen])


def _means(numbers: np.ndarray, groups: Groups) -> np.ndarray:
    present = np.bincount(groups.labels[~np.isnan(numbers)], minlength=len(groups))
    sums = np.bincount(groups.labels, weights=np.nan_to_num(numbers), minlength=len(groups))
    return np.asarray(np.divide(sums, present, out=np.full(len(groups), np.nan), where=present > 0))


def _modes(codes: np.ndarray, groups: Groups) -> np.ndarray:
    """The most frequent code of each group, the first of equally frequent ones."""
    width = int(codes.max(initial=0)) + 1
    pairs, counts = np.unique(groups.labels * width + codes, return_counts=True)
    best = np.lexsort((pairs % width, -counts, pairs // width))
    first = np.unique((pairs // width)[best], return_index=True)[1]
    return np.asarray((pairs % width)[best][first])


def _groups_in_order(order: np.ndarray, labels: np.ndarray, found: int) -> Groups:
    """Labels per place in the order → groups by first appearance among the rows."""
    of_row = np.empty(labels.size, dtype=np.uint32)
    of_row[order] = labels
    out = np.empty_like(of_row)
    grouping.number_by_appearance(of_row, np.zeros(found, dtype=np.uint32), out)
    return Groups(out, np.bincount(out, minlength=found))


# MDAV by exhaustive scan ----------------------------------------------------------------------------------------------

Place = tuple[np.ndarray, np.ndarray]  # coordinates and categories of one record, or of a centre


class _Remaining:
    """The records without a group, packed together, with what their centre needs; and the labels of the others."""

    def __init__(self, space: Space) -> None:
        self.order = space.order()
        self.points = np.ascontiguousarray(space.points[:, self.order])
        self.categories = np.ascontiguousarray(space.categories[:, self.order])
        self.gaps = space.gaps
        self.count = space.records
        self.ids = np.arange(self.count)
        self.labels = np.empty(self.count, dtype=np.uint32)
        self.closed = 0
        self.distances = np.empty(self.count)
        self.sums = np.nansum(self.points, axis=1)
        self.present = (~np.isnan(self.points)).sum(axis=1)
        self.occurrences = [np.bincount(codes) for codes in self.categories]

    def centre(self) -> Place:
        mean = np.divide(self.sums, self.present, out=np.full(self.sums.size, np.nan), where=self.present > 0)
        return mean, np.array([counts.argmax() for counts in self.occurrences], dtype=np.uint32)

    def farthest(self) -> Place:
        """The record farthest from the centre."""
        return self.around(*self.centre(), 0)[1]

    def around(self, target: np.ndarray, traits: np.ndarray, k: int) -> tuple[np.ndarray, Place]:
        """The positions of the k records nearest to a place, and the record farthest from it."""
        blocks = -(-self.count // kernels.BLOCK)
        near = np.empty((blocks, k), dtype=np.int64)
        far = np.empty(blocks, dtype=np.int64)
        records = (self.points, self.categories, self.gaps, self.ids, self.count)
        scan = kernels.scan_parallel if blocks >= kernels.PARALLEL_BLOCKS else kernels.scan
        scan(*records, target, traits, self.distances, near, far)
        group = np.empty(k, dtype=np.int64)
        farthest = kernels.merge(self.distances, self.ids, self.count, near, far, group)
        return group, (self.points[:, farthest].copy(), self.categories[:, farthest].copy())

    def close(self, group: np.ndarray) -> None:
        """Make these positions a group and take them out."""
        self.labels[self.order[self.ids[group]]] = self.closed
        self.closed += 1
        self.sums -= np.nansum(self.points[:, group], axis=1)
        self.present -= (~np.isnan(self.points[:, group])).sum(axis=1)
        for counts, codes in zip(self.occurrences, self.categories, strict=True):
            np.subtract.at(counts, codes[group], 1)
        self.count = kernels.remove_records(self.points, self.categories, self.ids, self.count, np.sort(group)[::-1])

    def groups(self) -> Groups:
        return _groups_in_order(np.arange(self.labels.size), self.labels, self.closed)
