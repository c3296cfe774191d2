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
from oboro.verifier.kernels import runs

__all__ = ["fingerprint_sizes", "fingerprints", "sizes_of"]


def fingerprints(columns: Sequence[Column], rows: int) -> np.ndarray:
    """A number for each record, equal for equal records. O(rows · columns), 8 bytes a row."""
    out, draw = large_zeros(rows, np.uint64), np.random.default_rng()
    for column in columns:
        kernels.add_numbers(draw.integers(0, 1 << 64, len(column.values), np.uint64), column.codes, out)
    return out


def sizes_of(numbers: np.ndarray) -> np.ndarray:
    """How often each number occurs, in no particular order. The array is used up. O(rows · log rows)."""
    numbers.sort()
    return numbers[: runs(numbers)].view(np.int64)


def fingerprint_sizes(columns: Sequence[Column], rows: int) -> np.ndarray:
    """How many records share each combination of values."""
    return sizes_of(fingerprints(columns, rows))
