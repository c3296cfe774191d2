"""The hierarchy of a column, rebuilt from its released labels: for releases of other tools, whose hierarchies nobody has.

A label says by itself which values it stands for (`[20, 30[`, `130**`), or, where it is known which record came from which,
the values that became it do. A column that was not recoded alike everywhere (`20-35` here, `25-40` there) shows no hierarchy.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from oboro.table.dataset import Column
from oboro.table.hierarchy import Hierarchy
from oboro.table.hierarchy.levels import Level, text_array
from oboro.table.labels.possible_values import possible_values
from oboro.table.labels.recoded_column import RecodedColumn
from oboro.table.labels.starred_values import plain_numbers
from oboro.table.rows.row_origins import Rows
from oboro.table.values import STAR

__all__ = ["implied_hierarchy"]

MOST_LABELS = 10_000  # of a column with more there is no reading what each one stands for


def implied_hierarchy(name: str, original: Column, released: Column, rows: Rows | None) -> Hierarchy | None:
    """The original values, the released labels over them, `*`; None where labels overlap, or values were only kept or moved.

    `rows`: for each released row the original one, if known. O(labels · values) at worst.
    """
    if len(released.values) > MOST_LABELS:
        return None
    recoded = RecodedColumn.of(original, released, None, rows)
    labels = np.flatnonzero((recoded.released.counts > 0) & ~recoded.stars)
    new = labels[~recoded.known[labels]]
    if not new.size or recoded.numbers is not None:
        return None
    table = np.full(len(recoded.original.values), -1)
    for label, values in zip(labels, _stands_for(recoded, labels), strict=True):
        if (table[values] >= 0).any() or not values.size:
            return None
        table[values] = label
    texts = pa.concat_arrays([text_array(recoded.released.values), pa.array([STAR])])
    table[table < 0] = len(texts) - 1  # these are released nowhere
    level = Level(texts, table, _shares(recoded.original, table, len(texts))).compact()
    values = recoded.original.values
    return Hierarchy(name, (Level.ground(values), level, Level.star(len(values))), source="the released labels")


def _stands_for(recoded: RecodedColumn, labels: np.ndarray) -> list[np.ndarray]:
    """The original dictionary entries that each label names; those behind it where it does not say."""
    originals = Column(recoded.original.values, np.arange(len(recoded.original.values), dtype=np.uint32))
    found = possible_values(originals, recoded.released)
    out = []
    for label in labels:
        named = np.flatnonzero((found.ranks >= found.low[label]) & (found.ranks <= found.high[label]))
        if found.row[label] >= 0:
            ranks = found.ranks[named]
            words = found.bits[found.row[label] + ranks // 64]
            named = named[(words >> (ranks % 64).astype(np.uint64)) & np.uint64(1) != 0]
        if not named.size and recoded.behind is not None:
            named = recoded.behind.codes[recoded.behind.starts[label] : recoded.behind.starts[label + 1]]
        out.append(named)
    return out


def _shares(original: Column, table: np.ndarray, labels: int) -> np.ndarray:
    """The part of the domain under each label: of the range for numbers, of the values for categories; one value: 0."""
    numbers = plain_numbers(original)
    under = np.bincount(table, minlength=labels)
    if numbers is None:
        return np.where(under <= 1, 0.0, under / max(1, table.size))
    there = ~np.isnan(numbers)
    low, high = np.full(labels, np.inf), np.full(labels, -np.inf)
    np.minimum.at(low, table[there], numbers[there])
    np.maximum.at(high, table[there], numbers[there])
    width = float(np.ptp(numbers[there])) or 1.0
    return np.where(high >= low, (high - low) / width, 0.0)
