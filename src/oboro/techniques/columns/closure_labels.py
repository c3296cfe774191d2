"""What some people have in common, in words: a range, a set, or the lowest label that covers them all."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oboro.decide.local.records import OrderedAttribute, TreeAttribute
from oboro.table.dataset import Column
from oboro.table.hierarchy import Hierarchy
from oboro.table.labels.notation import range_marks, set_label
from oboro.table.values import STAR, Kind

__all__ = ["ancestors", "ranges", "sets"]


def ranges(name: str, column: Column, members: np.ndarray) -> Column:
    """`31–38` for each row of `members` (people); `*` where some of them have no number and some do.

    >>> ranges("age", Column.of([31, 38, None]), np.array([[0, 1], [1, 1], [1, 2]])).decode().to_pylist()
    ['31–38', '38', '*']
    """
    attribute = OrderedAttribute.of(column, name)
    codes = attribute.codes[members]
    low, high = codes.min(axis=1), codes.max(axis=1)
    if (low == high).all():
        return column.take(members[:, 0])
    pairs, labels = np.unique(np.stack([low, high], axis=1), axis=0, return_inverse=True)
    first, last = (attribute.texts.take(pa.array(side)) for side in pairs.T)
    dash = range_marks(first, plain=column.kind in (Kind.INTEGER, Kind.NUMBER))
    text = pc.binary_join_element_wise(first, dash, last, "", null_handling="emit_null")
    text = pc.if_else(pa.array(pairs[:, 1] == attribute.missing), STAR, text)
    return Column(pc.if_else(pa.array(pairs[:, 0] == pairs[:, 1]), first, text), labels.ravel()).tidy()


def sets(column: Column, members: np.ndarray) -> Column:
    """`{F, M}` for each row of `members`, one value as itself; `*` where a missing value or `*` is among others.

    >>> sets(Column.of(["F", "M", None]), np.array([[0, 1], [0, 0], [0, 2]])).decode().to_pylist()
    ['{F, M}', 'F', '*']
    """
    codes = np.sort(column.codes[members].astype(np.int64), axis=1)
    if (codes[:, 0] == codes[:, -1]).all():
        return column.take(members[:, 0])
    codes[:, 1:][codes[:, 1:] == codes[:, :-1]] = -1  # each value once
    found, labels = np.unique(np.sort(codes, axis=1), axis=0, return_inverse=True)
    texts = column.texts
    words = [_set([texts[code] for code in row if code >= 0]) for row in found.tolist()]
    return Column(pa.array(words, pa.string()), labels.ravel()).tidy()


def _set(texts: list[str | None]) -> str | None:
    if len(texts) == 1:
        return texts[0]
    known = [text for text in texts if text is not None and text != STAR]
    return set_label(known) if len(known) == len(texts) else STAR


def ancestors(column: Column, hierarchy: Hierarchy, members: np.ndarray) -> Column:
    """For each row of `members` the label on the lowest level that has one for all of them."""
    attribute = TreeAttribute.of(column, hierarchy)
    codes = attribute.codes[members]
    labels = pa.nulls(len(members), pa.string())
    open_ = np.ones(len(members), dtype=bool)
    for table, names in zip(attribute.table, attribute.labels, strict=True):
        here = table[codes]
        low, high = here.min(axis=1), here.max(axis=1)
        labels = pc.if_else(pa.array(open_ & (low == high)), names.take(pa.array(low)), labels)
        open_ &= low != high
    return Column.encode(labels)
