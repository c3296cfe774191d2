"""Rows told apart by one 64-bit key each: equal keys get equal numbers, by hashing and exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oboro.kernels import hashing, little_work
from oboro.table.large_arrays import large_zeros

__all__ = ["NumberedKeys", "number_keys"]

FEW = 1 << 14  # different keys whose table fits a cache: they are numbered at once, not part by part
IN_PART = 1 << 13  # keys in a part, about
MOST_PARTS = 1 << 11  # more would each be written to from another page of memory


@dataclass(frozen=True, eq=False)
class NumberedKeys:
    """A number for each key, 0 … found − 1; `places` says where that of each row stands (None: in the order of the rows)."""

    numbers: np.ndarray
    found: int
    places: np.ndarray | None = None

    def of_rows(self, rows: slice) -> np.ndarray:
        """The numbers of some rows."""
        return self.numbers[rows] if self.places is None else self.numbers[self.places[rows]]


def number_keys(keys: np.ndarray, *, in_rows: bool = True) -> NumberedKeys:
    """Number the keys, in no particular order. The array of keys is used up. Without `in_rows` nobody asks which row has which.

    Exact. O(rows); memory 8 bytes a row beside the keys where few are different, else 16.
    """
    if little_work(keys.size):
        values, places = np.unique(keys, return_inverse=True)
        return NumberedKeys(places.astype(np.uint32), values.size)
    factor = np.random.default_rng().integers(0, 1 << 64, 1, np.uint64) | np.uint64(1)
    parts = 1
    while parts < MOST_PARTS and parts * IN_PART < keys.size:
        parts *= 2
    shift = 65 - parts.bit_length() if parts > 1 else 63  # one bit too few: a shift by all 64 is not defined
    sizes = np.zeros(max(parts, 2), np.int64)
    hashing.mix(keys, factor, shift, sizes)
    if (few := _few(keys)) is not None:
        return few
    starts = np.concatenate([[0], np.cumsum(sizes)])
    spread, places = large_zeros(keys.size, np.uint64), large_zeros(keys.size if in_rows else 0, np.uint32)
    hashing.spread(keys, shift, starts[:-1].copy(), spread, places)
    most = int(sizes.max())
    slots = np.zeros(_slots(most), np.uint32)
    numbers = keys.view(np.uint32)[: keys.size]  # the keys are not needed any more
    found = hashing.number_parts(spread, starts, slots, np.empty(most, np.uint64), numbers)
    return NumberedKeys(numbers, found, places)


def _few(keys: np.ndarray) -> NumberedKeys | None:
    """The numbers, where there are few different keys; of many, it is soon found out."""
    numbers, whole = large_zeros(keys.size, np.uint32), np.array([0, keys.size])
    found = hashing.number_parts(keys, whole, np.zeros(4 * FEW, np.uint32), np.empty(FEW, np.uint64), numbers)
    return None if found == hashing.FULL else NumberedKeys(numbers, found)


def _slots(keys: int) -> int:
    """A power of two, at least twice the number of keys."""
    return 1 << (2 * max(keys, 1) - 1).bit_length()
