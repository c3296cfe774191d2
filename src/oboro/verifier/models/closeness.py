"""How far the sensitive values of each class are spread from those of the whole table: the distances of t-closeness.

All three are earth mover's distances (Li, Li, Venkatasubramanian 2007), computed in whole numbers with one division
at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from oboro.errors import UsageError
from oboro.table.dataset import Column, smallest_unsigned
from oboro.table.hierarchy import Hierarchy, HierarchySpec
from oboro.table.spelling.named_values import matched
from oboro.table.value_counts import Tally
from oboro.table.values import STAR, kind_of, numbers_of, texts_of
from oboro.text import Message, Raw
from oboro.verifier import kernels
from oboro.verifier.classes import Classes

__all__ = ["equal_distances", "hierarchical_distances", "ordered_distances", "ranks"]

FITS = 1 << 62  # whole numbers up to here are summed as int64


def equal_distances(classes: Classes, column: Column) -> np.ndarray:
    """Total variation: half the sum of the differences of the relative frequencies. O(rows)."""
    total, scale = _differences(classes.tally(column.codes, len(column.values)))
    return _over(total, scale)


def _differences(tally: Tally) -> tuple[np.ndarray, np.ndarray]:
    """For each class its total variation times 2 · everything · total, and this factor: whole numbers."""
    out, totals = np.empty(tally.starts.size - 1, np.int64), tally.totals
    kernels.equal_distance(tally.codes, tally.counts, tally.starts, totals, tally.whole, out)
    return out, 2 * tally.whole.sum() * totals


def _over(total: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """The distances; a class in which nobody is counted is as far away as can be."""
    if scale.all():
        return np.asarray(total / scale)
    out = np.ones(total.size)
    np.divide(total, scale, out=out, where=scale > 0)
    return out


def hierarchical_distances(
    classes: Classes, column: Column, name: str, hierarchy: Hierarchy | HierarchySpec
) -> np.ndarray:
    """Two values are as far apart as the level on which they first meet, over the height of the root. O(rows · height).

    Where the last level still has several labels, a root is added above it. All leaves are equally deep, so moving
    earth costs the mean, over the levels below the root, of the total variation on that level: what a label has too
    much must cross the edge above it, and an edge is half a level long, since a value goes up to the common ancestor
    and down again.
    """
    bound = hierarchy.bind(column) if isinstance(hierarchy, Hierarchy) else hierarchy.build(name, column, Path("."))
    rooted = len((bound.whole or bound).levels[-1].labels) <= 1  # also by values that this table lacks
    below_root = bound.levels[:-1] if rooted else bound.levels
    total, scale = np.zeros(len(classes.groups), np.int64), np.zeros(len(classes.groups), np.int64)
    for level in below_root:
        here, scale = _differences(classes.tally(column.codes, len(level.labels), level.table))
        total += here
    return _over(total, scale * max(1, len(below_root)))


def ordered_distances(classes: Classes, column: Column, name: str, order: Sequence[str] | None = None) -> np.ndarray:
    """Mean over the m − 1 gaps between neighbouring values of the difference of the cumulated frequencies. O(rows)."""
    rank = ranks(column, name, order)
    tally = classes.tally(column.codes, len(rank), rank)
    totals = tally.totals
    largest = len(rank) * int(tally.whole.sum()) * int(totals.max())
    below = np.concatenate([[0], np.cumsum(tally.whole)]).astype(np.int64 if largest < FITS else np.float64)
    prefix = np.concatenate([[0], np.cumsum(below[1:])]).astype(below.dtype)
    out = np.zeros(totals.size, below.dtype)
    kernels.ordered_distance(tally.codes, tally.counts, tally.starts, totals, below, prefix, out)
    return _over(out, max(1, len(rank) - 1) * tally.whole.sum() * totals.astype(below.dtype))


def ranks(column: Column, name: str, order: Sequence[str] | None = None) -> np.ndarray:
    """The rank of each dictionary entry: numbers and dates by size, text by its letters, or as `order` says.

    `*` and then the missing value come last, whatever the others are.

    >>> ranks(Column.of(["10", "9", None, "*"]), "age").tolist()
    [1, 0, 3, 2]
    """
    texts = column.texts
    plain = np.array([text is not None and text != STAR for text in texts], dtype=bool)
    place = np.zeros(len(texts))
    place[plain] = _given(column, name, order) if order is not None else _natural(column.values.filter(pa.array(plain)))
    last = np.array([2 if text is None else 1 if text == STAR else 0 for text in texts])
    out = np.empty(len(texts), smallest_unsigned(len(texts)))
    out[np.lexsort((place, last))] = np.arange(len(texts))
    return out


def _natural(values: pa.Array) -> np.ndarray:
    if kind_of(values).numeric:
        return numbers_of(values)
    return np.argsort(np.argsort(np.array(Column(values, np.empty(0, np.uint8)).texts, dtype=object)))


def _given(column: Column, name: str, order: Sequence[str]) -> np.ndarray:
    plain = column.values.filter(pa.array([text is not None and text != STAR for text in column.texts]))
    place = matched(plain, pa.array(order, pa.string()))
    lacking = np.flatnonzero(place < 0)
    if lacking.size:
        culprit = Raw(texts_of(plain)[int(lacking[0])])
        raise UsageError(Message("error_verifier.order_lacks", name=name, lacking=[culprit]))
    return place
