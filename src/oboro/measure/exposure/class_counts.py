"""How many classes some columns make, and how large these are: four numbers, counted without a list of the classes.

Three ways, all exact but for what `fingerprints` says of very wide tables. Where a counter for each possible combination fits a
cache, rows are counted there. Two columns with more combinations: rows are put in the order of the one, and counted value by value
with a counter for each value of the other. More columns: one key a row, and keys are hashed (`number_keys`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from oboro.kernels import grouping, little_work, tallying
from oboro.measure.exposure import kernels
from oboro.measure.exposure.fingerprints import fingerprints
from oboro.system.process import on_cores
from oboro.table.dataset import Column
from oboro.table.large_arrays import large_zeros
from oboro.table.numbered_keys import number_keys

__all__ = [
    "ClassCounts",
    "Pair",
    "RowOrder",
    "class_counts",
    "combinations_of",
    "combined",
    "counted_pairs",
    "is_direct",
    "key_counts",
    "pair_counts",
    "row_keys",
]

DIRECT = 1 << 20  # combinations whose counters fit a cache
BLOCK = 1 << 16  # rows whose keys are made together
COARSE = 8  # bits: a column is put in order in two steps, so that each writes to few places at a time
MANY = 1 << 18  # keys from which on those that are alone are found first
THREADS = 4  # at most: each needs memory of its own
LARGEST_KEY = 1 << 63

Pair = tuple[str, str]


@dataclass(frozen=True)
class ClassCounts:
    """What is known of the classes: enough for distinction, separation, who is unique, and k."""

    distinct: int
    squares: int
    """The sum of the squares of their sizes."""
    alone: int
    """Classes of one record."""
    least: int
    """The size of the smallest; 0 where there is none."""

    @staticmethod
    def of(sizes: np.ndarray) -> ClassCounts:
        """From a list of sizes, of which some may be 0. O(classes)."""
        return _counts(partial(kernels.sum_up, sizes))

    def beside(self, alone: int) -> ClassCounts:
        """With so many classes of one record more."""
        if not alone:
            return self
        return ClassCounts(self.distinct + alone, self.squares + alone, self.alone + alone, 1)


def class_counts(columns: Sequence[Column], rows: int) -> ClassCounts:
    """The classes of records that agree on every column; without a column all are one.

    O(rows · columns); memory 28 bytes a row, or 4 MB where there are few combinations.
    """
    if len(columns) == 1:
        return ClassCounts.of(columns[0].counts)
    space = combinations_of(columns)
    if is_direct(space, rows):
        sizes = np.zeros(space, np.uint32)
        for _, keys in combined(columns, rows):
            grouping.occurrences(keys, sizes)
        return ClassCounts.of(sizes)
    return key_counts(row_keys(columns, rows))


def key_counts(keys: np.ndarray) -> ClassCounts:
    """The classes of records with equal keys. The array is used up. O(rows), 20 bytes a row beside the keys."""
    shared = _shared(keys) if keys.size >= MANY else keys
    numbered = number_keys(shared)
    sizes = large_zeros(numbered.found, np.uint32)
    grouping.occurrences(numbered.numbers, sizes)
    return ClassCounts.of(sizes).beside(keys.size - shared.size)


def _shared(keys: np.ndarray) -> np.ndarray:
    """The keys without most of those that are alone: who shares a slot of a table with nobody has a key of their own.

    Whoever shares one is looked at again. The table has two bits for each of four slots or more a key, so that it fits a cache
    where all keys would not. O(rows), 1 to 2 bytes a row.
    """
    bits = (4 * keys.size - 1).bit_length()
    factor = np.random.default_rng().integers(0, 1 << 64, 1, np.uint64) | np.uint64(1)
    marks = large_zeros(1 << (bits - 2))
    kernels.mark_twice(keys, factor, 64 - bits, marks)
    return keys[: kernels.keep_marked(keys, factor, 64 - bits, marks)]


def pair_counts(columns: Mapping[str, Column], pairs: Sequence[Pair], rows: int) -> dict[Pair, ClassCounts]:
    """`class_counts` of each of many pairs, on several cores. O(rows) a pair.

    Memory: 13 bytes a row for each thread, of which there are at most 4.
    """

    def with_first(first: Column, others: Sequence[Column]) -> Iterator[ClassCounts]:
        order = RowOrder.by(first)
        held = np.empty(int(first.counts.max(initial=0)), np.uint32)
        for other in others:
            codes, sizes = order.gather(other.codes), np.zeros(len(other.values), np.uint32)
            yield _counts(partial(kernels.classes_within, order.fine, order.starts, codes, sizes, held))

    return counted_pairs(columns, pairs, rows, lambda both: class_counts(both, rows), with_first)


def counted_pairs(
    columns: Mapping[str, Column],
    pairs: Sequence[Pair],
    rows: int,
    directly: Callable[[Sequence[Column]], ClassCounts],
    with_first: Callable[[Column, Sequence[Column]], Iterator[ClassCounts]],
) -> dict[Pair, ClassCounts]:
    """Pairs of few combinations, each counted `directly`; of the others those that have the column of more values in common.

    That one is put in order once for all of them.
    """
    width = {name: len(column.values) for name, column in columns.items()}
    ordered: dict[str, list[Pair]] = {}
    direct: list[Pair] = []
    little = little_work(rows * len(pairs))
    for pair in pairs:
        few = little or is_direct(width[pair[0]] * width[pair[1]], rows)
        (direct if few else ordered.setdefault(max(pair, key=lambda name: width[name]), [])).append(pair)

    def one(pair: Pair) -> list[tuple[Pair, ClassCounts]]:
        return [(pair, directly([columns[name] for name in pair]))]

    def several(first: str) -> list[tuple[Pair, ClassCounts]]:
        some = ordered[first]
        others = [columns[pair[0] if pair[1] == first else pair[1]] for pair in some]
        return list(zip(some, with_first(columns[first], others), strict=True))

    longest = sorted(ordered, key=lambda first: -len(ordered[first]))
    tasks = [*(partial(several, first) for first in longest), *(partial(one, pair) for pair in direct)]
    done = on_cores(lambda task: task(), tasks, rows=rows, most=THREADS)
    return dict(found for some in done for found in some)


def combinations_of(columns: Sequence[Column]) -> int:
    """How many combinations of values are possible."""
    return math.prod(len(column.values) for column in columns)


def is_direct(space: int, rows: int) -> bool:
    """Whether a counter for each combination is worth it."""
    return space <= min(DIRECT, max(4 * rows, BLOCK))


def combined(columns: Sequence[Column], rows: int) -> Iterator[tuple[slice, np.ndarray]]:
    """The keys of all rows, block by block, and which rows these are."""
    block = np.empty(min(BLOCK, rows), np.uint64)
    for begin in range(0, rows, BLOCK):
        here = slice(begin, min(begin + BLOCK, rows))
        keys = block[: here.stop - begin]
        keys[:] = 0
        for column in columns:
            grouping.combine(keys, column.codes[here], len(column.values), keys)
        yield here, keys


def row_keys(columns: Sequence[Column], rows: int) -> np.ndarray:
    """One key a row: exact, or a fingerprint where there are too many combinations. O(rows · columns), 8 bytes a row."""
    if combinations_of(columns) >= LARGEST_KEY:
        return fingerprints(columns, rows)
    keys = large_zeros(rows, np.uint64)
    for here, some in combined(columns, rows):
        keys[here] = some
    return keys


@dataclass(frozen=True, eq=False)
class RowOrder:
    """The rows in the order of one column's values: first in coarse steps, then within each, so that caches are used well."""

    coarse: np.ndarray
    """Of each row the upper bits of its code."""
    steps: np.ndarray
    """Where the rows of each coarse step start."""
    fine: np.ndarray
    """Places in coarse order, in the order of the codes; the rows of one code as they came."""
    starts: np.ndarray
    """Where the rows of each code start, one more entry at the end."""
    room: np.ndarray
    """For another column's codes."""

    @staticmethod
    def by(column: Column) -> RowOrder:
        """O(rows), 9 bytes a row."""
        shift = max(0, (len(column.values) - 1).bit_length() - COARSE)
        coarse = (column.codes >> column.codes.dtype.type(shift)).astype(np.uint8)
        starts, fine, room = _starts(column.counts), *(large_zeros(len(column), np.uint32) for _ in range(2))
        steps = starts[:-1][:: 1 << shift]
        tallying.gather(coarse, column.codes, steps.copy(), room)
        grouping.by_code(room, starts[:-1].copy(), fine)
        return RowOrder(coarse, steps, fine, starts, room)

    def gather(self, codes: np.ndarray, room: np.ndarray | None = None) -> np.ndarray:
        """Another column's codes in coarse order; the next call may use the same room."""
        out = self.room if room is None else room
        tallying.gather(self.coarse, codes, self.steps.copy(), out)
        return out


def _starts(sizes: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)])


def _counts(count: Callable[[np.ndarray], None]) -> ClassCounts:
    out = np.zeros(4, np.int64)
    count(out)
    return ClassCounts(*(int(one) for one in out))
