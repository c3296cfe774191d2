"""Records told apart by one 64-bit number each, where a table is too wide for exact keys.

Every value of every column gets a random number, and a record's fingerprint is the sum of its values' numbers modulo 2⁶⁴. Equal
records have equal fingerprints. Two different records have the same one with a chance of 2⁻⁶⁴, since one of the numbers in which
they differ is drawn after all others. So a record with a fingerprint of its own is certainly unique. That some unique record among
n is missed has a chance below n² / 2⁶⁵ (3 in a million for 10 million records). The numbers are drawn anew each time: nobody can
choose values that collide.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oboro.measure.exposure import kernels
from oboro.table.dataset import Column
from oboro.table.large_arrays import large_zeros

__all__ = ["fingerprints"]

BLOCK = 1 << 16  # rows whose numbers are made together, in a cache


def fingerprints(columns: Sequence[Column], rows: int, before: np.ndarray | None = None) -> np.ndarray:
    """A number for each record, equal for equal records. O(rows · columns), 8 bytes a row.

    They are added to those that stand for other columns, if there were some `before`.
    """
    out, draw = large_zeros(rows, np.uint64) if before is None else before, np.random.default_rng()
    numbers = [draw.integers(0, 1 << 64, len(column.values), np.uint64) for column in columns]
    for begin in range(0, rows, BLOCK):
        here = slice(begin, begin + BLOCK)
        for column, values in zip(columns, numbers, strict=True):
            kernels.add_numbers(values, column.codes[here], out[here])
    return out
