"""Counting: where the release keeps the order of the original, and that order is known, the n-th record is the n-th person's.

Rows that stand by name, by number or by time are in an order that others know too, also if that column is dropped.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oboro.attacks.rates import Attack, Rate
from oboro.table.dataset import Column, Dataset
from oboro.text import Message

__all__ = ["count_rows"]

CHANCE = Message("attack.control.random_record")


def count_rows(
    original: Dataset, released: Dataset, owners: np.ndarray | None, attempts: int, rng: np.random.Generator
) -> list[Attack]:
    """Take for each person the record at the same part of the release; `owners` say whose each is.

    Nothing where no dropped column has the rows in order, or it is not known whose record is whose. O(rows · columns).
    """
    if owners is None:
        return []
    by = next((name for name in original if name not in released and _in_order(original[name])), None)
    if by is None:
        return []
    people = rng.choice(original.rows, min(attempts, original.rows), replace=False)
    rows = ((people + 0.5) * released.rows / original.rows).astype(np.int64)
    drawn = rng.integers(released.rows, size=people.size)
    found, control = (Rate(int((owners[guess] == people).sum()), int(people.size)) for guess in (rows, drawn))
    return [Attack("row_order", "linkability", (by,), found, control, CHANCE)]


def _in_order(column: Column) -> bool:
    """Whether everybody has a value of their own, and rows stand by it, up or down."""
    values = column.values
    if len(values) < len(column) or len(values) < 2 or values.null_count or not _comparable(values):
        return False
    if not (column.codes[1:] > column.codes[:-1]).all():  # values are numbered as they come
        return False
    first, second = values.slice(0, len(values) - 1), values.slice(1)
    return bool(pc.all(pc.less(first, second)).as_py() or pc.all(pc.greater(first, second)).as_py())


def _comparable(values: pa.Array) -> bool:
    return not (pa.types.is_nested(values.type) or pa.types.is_boolean(values.type))
