"""Who stands with whom: a label per row and the size of each group.

This is the one currency between deciding (decide), publishing (techniques) and proving (verifier).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from oboro.kernels import grouping
from oboro.table.dataset import Column
from oboro.table.large_arrays import large_zeros
from oboro.table.numbered_keys import NumberedKeys, number_keys

__all__ = ["Groups"]

FUSED = 1 << 20  # possible keys of several columns that are numbered in one step: their counters fit a cache
BLOCK = 1 << 16  # rows whose keys are made together
LARGEST_KEY = 1 << 63


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
        for column in columns:
            digit = Digit(column.codes, len(column.values))
            if len(together) > 1 and _is_enough(together, digit, rows):
                together = [_number(together, rows)]
            together.append(digit)
        return Groups._sized(_number(together, rows))

    @staticmethod
    def of_keys(keys: np.ndarray) -> Groups:
        """Group rows with equal 64-bit keys. The array is used up. O(rows), 28 bytes a row."""
        return Groups._sized(_by_appearance(number_keys(keys), keys.size))

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


def _is_enough(together: Sequence[Digit], digit: Digit, rows: int) -> bool:
    """Whether some digits are numbered before one more is added: where they still can be counted, or the key would be too long.

    What must be hashed anyhow is hashed once, with all its digits.
    """
    space = _space([*together, digit])
    return space > FUSED and (_is_counted(_space(together), rows) or space >= LARGEST_KEY)


def _is_counted(space: int, rows: int) -> bool:
    """Whether there is a counter for each possible key."""
    return space <= max(4 * rows, 1 << 16)


def _space(digits: Sequence[Digit]) -> int:
    return math.prod(digit.width for digit in digits)


def _number(digits: Sequence[Digit], rows: int) -> Digit:
    """One digit in place of several: the keys that occur, numbered by first appearance."""
    if not digits or not rows:
        return Digit(np.zeros(rows, dtype=np.uint32), 1 if rows else 0)
    space = _space(digits)
    if _is_counted(space, rows):
        return _count(digits, rows, space)
    # Hashing numbers keys anyhow; numbering them again by appearance keeps the labels independent of the branch.
    return _by_appearance(number_keys(_keys(digits, 0, rows)), rows)


def _by_appearance(keys: NumberedKeys, rows: int) -> Digit:
    seen, labels, found = large_zeros(keys.found, np.uint32), large_zeros(rows, np.uint32), 0
    for begin in range(0, rows, BLOCK):
        here = slice(begin, min(begin + BLOCK, rows))
        found = grouping.number_by_appearance(keys.of_rows(here), seen, labels[here], found)
    return Digit(labels, found)


def _count(digits: Sequence[Digit], rows: int, space: int) -> Digit:
    """Number the keys, of which there are `space` possible ones; a block of rows at a time, so that its keys stay in the cache."""
    seen, labels, found = large_zeros(space, np.uint32), large_zeros(rows, np.uint32), 0
    for begin in range(0, rows, BLOCK):
        end = min(begin + BLOCK, rows)
        found = grouping.number_by_appearance(_keys(digits, begin, end), seen, labels[begin:end], found)
    return Digit(labels, found)


def _keys(digits: Sequence[Digit], begin: int, end: int) -> np.ndarray:
    """The keys of some rows."""
    keys = large_zeros(end - begin, np.uint64) if end - begin > BLOCK else np.zeros(end - begin, dtype=np.uint64)
    for digit in digits:
        grouping.combine(keys, digit.codes[begin:end], digit.width, keys)
    return keys
