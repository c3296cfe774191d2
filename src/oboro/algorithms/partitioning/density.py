"""Partition by density: the cells of a multivariate histogram, cut as in Mondrian, chosen by likelihood and penalized
by BIC.

The univariate criterion of Kontkanen & Myllymäki, "MDL histogram density estimation", 2007, with a constant penalty
for each cell and at least k records in it, carried over to several attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from oboro.algorithms.partitioning.kernels import density
from oboro.algorithms.partitioning.records import OrderedAttribute, Records
from oboro.data.column import Column
from oboro.data.grouping import Groups
from oboro.errors import InputError
from oboro.text import Message

__all__ = ["Cells", "bic", "cells"]


PATIENCE = 2  # cuts one below the other that need not pay for themselves: enough for a checkerboard


@dataclass(frozen=True, eq=False)
class Cells:
    """Boxes that tile the range of the data, each with its records: a histogram.

    `low[c, j]` and `high[c, j]` are the edges of cell c along attribute j, in the attribute's own places (0 to its
    weight; a missing number lies one mean step above the largest).
    """

    groups: Groups
    low: np.ndarray
    high: np.ndarray

    def log_density(self, points: np.ndarray) -> np.ndarray:
        """The log-density at each point (`points[i, j]`), those outside the range moved to its edge. O(points · cells)."""
        rows = self.groups.labels.size
        sizes = np.bincount(self.groups.labels, minlength=len(self.groups))
        height = np.log(sizes / rows) - np.log(self.high - self.low).sum(axis=1)
        ends = self.low.min(axis=0), np.nextafter(self.high.max(axis=0), -np.inf)
        inside = np.clip(points, *ends)
        found = np.full(len(points), -np.inf)
        for c in range(len(sizes)):
            here = ((inside >= self.low[c]) & (inside < self.high[c])).all(axis=1)
            found[here] = height[c]
        return found


def bic(attributes: Sequence[OrderedAttribute], k: int) -> Groups:
    """Group all records, k or more each, by the cells of the histogram that BIC prefers.

    Starting from the box of all records, each cell is cut where the likelihood grows most, along any attribute, midway
    between two neighbouring values, as long as k records remain on both sides. Cuts that (with those below them) raise
    the log-likelihood by less than ½ log n are taken back. Where the density needs no detail, cells stay large: more
    anonymity than k asks for, at no cost in usefulness. The order of the rows does not matter. O(n · attributes · depth).
    """
    return cells(attributes, k).groups


def cells(
    attributes: Sequence[OrderedAttribute], k: int, *, penalty: float | None = None, halves: bool = False
) -> Cells:
    """The cells themselves. `penalty` for each cell instead of ½ log n; `halves` cuts at medians (Mondrian) instead."""
    records = Records.of(attributes)
    n = records.count
    if n < k:
        raise InputError(Message("error_decide.no_group", records=n, k=k))
    lines = [_line(attribute) for attribute in attributes]
    offset = np.cumsum([0, *(line.size for line in lines)])
    most = 2 * (n // k) + 1
    low, high = np.empty((most, len(lines))), np.empty((most, len(lines)))
    low[0], high[0] = np.array([_edges(line) for line in lines]).T
    items = np.arange(records.loads.size)
    starts, stops = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    price = np.log(n) / 2 if penalty is None else penalty
    places = np.concatenate(lines)
    tree = (starts, stops, low, high)
    placed = density.PlacedRecords(records.codes, records.loads, places, offset)
    found = density.grow(placed, k, price, PATIENCE, halves, items, *tree)
    label = np.empty(records.loads.size, dtype=np.uint32)
    order = np.argsort(starts[:found])
    label[items] = np.repeat(order, (stops[:found] - starts[:found])[order])
    labels = np.empty(n, dtype=np.uint32)
    labels[records.rows] = np.repeat(label, records.loads)
    groups = Groups.of([Column(pa.nulls(found), labels)], n)
    _, first = np.unique(groups.labels, return_index=True)
    return Cells(groups, low[labels[first]], high[labels[first]])


def _line(attribute: OrderedAttribute) -> np.ndarray:
    """The places of all ranks; a missing number lies one mean step above the largest."""
    places = attribute.places
    if attribute.missing < 0:
        return places
    step = np.ptp(places) / max(1, places.size - 1) if places.size else 0.0
    return np.append(places, places[-1] + (step or 1.0) if places.size else 0.0)


def _edges(line: np.ndarray) -> tuple[float, float]:
    """The ends of the box: half the smallest step beyond the outermost places (1 for whole numbers: ages 17 … 90 fill
    16.5 … 90.5).
    """
    step = float(np.diff(line).min()) if line.size > 1 else 1.0
    return float(line[0]) - step / 2, float(line[-1]) + step / 2
