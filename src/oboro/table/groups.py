"""Who stands with whom: a label per row and the size of each group.

This is the one currency between deciding (decide), publishing (techniques) and proving (verifier).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from oboro.kernels import grouping
from oboro.table.dataset import Column
from oboro.table.large_arrays import large_zeros
from oboro.table.numbered_keys import number_keys

__all__ = ["Digit", "Groups", "keys_of"]

FUSED = 1 << 20  # possible keys of several columns that are numbered in one step: their counters fit a cache
BLOCK = 1 << 16  # rows whose keys are made together
LARGEST_KEY = 1 << 63
COUNTED = 1 << 16  # so many possible keys are always counted


@dataclass(frozen=True, eq=False)
class Groups:
    """A partition of rows: `labels[i]` in 0 … len(sizes) − 1, numbered by first appearance."""

    labels: np.ndarray
    sizes: np.ndarray

    def __len__(self) -> int:
        return len(self.sizes)

    @staticmethod
    def of(columns: Sequence[Column], rows: int) -> Groups:
        """Group rows that agree on every column; a missing value is a value like any other. No column: one group.

        Cost O(rows · columns); exact. Memory 4 bytes a row; 28 where keys have to be hashed (`number_keys`), because there are too
        many possible ones for a counter each.
        """
        together: list[Digit] = []
        space = 1
        for column in columns:
            width = len(column.values)
            # Digits are numbered before one more is added where they still can be counted, or the key would be too long.
            # What must be hashed anyhow is hashed once, with all its digits.
            full = space <= max(4 * rows, COUNTED) or space * width >= LARGEST_KEY
            if len(together) > 1 and space * width > FUSED and full:
                together = [_number(together, space, rows)]
                space = together[0].width
            together.append(Digit(column.codes, width))
            space *= width
        return Groups._sized(_number(together, space, rows))

    @staticmethod
    def of_keys(keys: np.ndarray) -> Groups:
        """Group rows with equal 64-bit keys. The array is used up. O(rows), 28 bytes a row."""
        hashed, rows = number_keys(keys), keys.size
        return Groups._sized(_by_appearance(hashed.of_rows, hashed.found, rows))

    @staticmethod
    def _sized(digit: Digit) -> Groups:
        sizes = np.zeros(digit.width, dtype=np.int64)
        grouping.occurrences(digit.codes, sizes)
        return Groups(digit.codes, sizes)

    def members(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows ordered by group, and where each group starts (one more entry at the end)."""
        order = np.argsort(self.labels, kind="stable")
        starts = np.concatenate([[0], np.cumsum(self.sizes)])
        return order, starts

    def first_rows(self) -> np.ndarray:
        """The first row of each group. O(rows) at most: it ends where every group was met."""
        first, found = np.full(len(self), -1, dtype=np.int64), 0
        for begin in range(0, self.labels.size if len(self) else 0, BLOCK):
            part = self.labels[begin : begin + BLOCK]
            new = np.flatnonzero(first[part] < 0)[::-1]
            first[part[new]] = begin + new  # of a label's rows the one written last stays: the first
            found += int(np.count_nonzero(first[part[new]] == begin + new))
            if found == len(self):
                break
        return first

    def row_sizes(self) -> np.ndarray:
        """For each row, how many rows stand with it (itself included)."""
        return np.asarray(self.sizes[self.labels])


class Digit(NamedTuple):
    """A code per row, and how many codes there are: one digit of the key by which rows are grouped."""

    codes: np.ndarray
    width: int


def _number(digits: Sequence[Digit], space: int, rows: int) -> Digit:
    """One digit in place of several: the keys that occur, of `space` possible ones, numbered by first appearance."""
    if not digits or not rows:
        return Digit(np.zeros(rows, dtype=np.uint32), 1 if rows else 0)
    if space <= max(4 * rows, COUNTED):  # a counter for each possible key
        return _by_appearance(partial(keys_of, digits), space, rows)
    # Hashing numbers keys anyhow; numbering them again by appearance keeps the labels independent of the branch.
    hashed = number_keys(keys_of(digits, slice(0, rows)))
    return _by_appearance(hashed.of_rows, hashed.found, rows)


def _by_appearance(keys: Callable[[slice], np.ndarray], space: int, rows: int) -> Digit:
    """A block of rows at a time, so that its keys stay in the cache."""
    seen, labels, found = large_zeros(space, np.uint32), large_zeros(rows, np.uint32), 0
    for begin in range(0, rows, BLOCK):
        here = slice(begin, min(begin + BLOCK, rows))
        found = grouping.number_by_appearance(keys(here), seen, labels[here], found)
    return Digit(labels, found)


def keys_of(digits: Sequence[Digit], rows: slice) -> np.ndarray:
    """The keys of some rows: one number for the codes of all digits."""
    size = rows.stop - rows.start
    keys = large_zeros(size, np.uint64) if size > BLOCK else np.zeros(size, dtype=np.uint64)
    for digit in digits:
        grouping.combine(keys, digit.codes[rows], digit.width, keys)
    return keys
