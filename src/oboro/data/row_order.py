"""Row order of a release: origin of each row, and a random order that discloses nothing about the order of the original."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter

import numpy as np

from oboro.data.column import Column, large_zeros
from oboro.data.dataset import Dataset
from oboro.system.process import on_cores

__all__ = ["RowShuffle", "Rows", "released_person", "same_rows", "source_rows"]


# Row origins ----------------------------------------------------------------------------------------------------------
# Original row of each released row, where it is known.


Rows = np.ndarray | slice


def source_rows(original: Dataset, released: Dataset) -> np.ndarray | None:
    """Return the original row of each released row, or None if it is not known.

    A table that forgot (it was read from a file) is taken to be in the same order if it has as many rows.
    """
    if released.origin is None and released.rows != original.rows:
        return None
    rows = released.origin_rows
    return None if rows.size and (rows.min() < 0 or rows.max() >= original.rows) else rows


def same_rows(original: Dataset, released: Dataset) -> Rows | None:
    """Return the same as `source_rows`, or a slice of all rows if no row moved."""
    unmoved = released.origin is None and released.rows == original.rows
    return slice(None) if unmoved else source_rows(original, released)


def released_person(original: Dataset, released: Dataset, name: str | None, paired: bool = True) -> Column | None:
    """Return the person of each released record, from the release, or else from the same record of the original.

    None where no column was named, or where it is not known which record is which.
    """
    if name is None or name in released:
        return None if name is None else released[name]
    rows = source_rows(original, released) if paired and name in original else None
    return None if rows is None else original[name].take(rows)


# Row shuffle ----------------------------------------------------------------------------------------------------------


SMALL = 1 << 16  # rows that one bucket holds, shuffled by NumPy without a kernel
WHOLE = 1 << 21  # rows whose order fits the cache of a machine: drawn as a whole in half the time that buckets take
BUCKET = 1 << 13  # rows of a bucket: their places fit into the cache of a core
MOST_BITS = 12  # 4,096 buckets: more are more than a cache has lines for
CACHED = 1 << 24  # bytes of a column that is looked up row by row; a larger one goes through the buckets
CHUNK = 1 << 18  # rows that are drawn for at a time: what was drawn stays in the cache, in memory that is used again
SPARE = 1 << 10  # draws beside those that are needed: one of 2^18 or fewer is passed over


@dataclass(frozen=True, eq=False)
class RowShuffle:
    """New order of rows: each is dealt to a bucket, and each bucket has an order of its own.

    A writer of a table that is larger than memory deals its rows to the buckets, and then writes one bucket after the other.
    """

    bucket: np.ndarray  # the bucket of each row
    starts: np.ndarray  # the first place of each bucket, and the end
    within: np.ndarray  # for each place, which of the rows of its bucket stands there

    @staticmethod
    def drawn(rows: int, rng: np.random.Generator) -> RowShuffle:
        """A uniformly random order. O(rows).

        >>> shuffle = RowShuffle.drawn(4, np.random.default_rng(1))
        >>> sorted(shuffle.order.tolist())
        [0, 1, 2, 3]
        """
        if rows <= SMALL:
            return RowShuffle.fixed(rng.permutation(rows))
        if rows <= WHOLE:
            return RowShuffle.fixed(_drawn_order(rows, rng))
        from oboro.kernels import grouping as shuffling

        bits = min(max((rows // BUCKET).bit_length(), 1), MOST_BITS)
        counts, bucket = np.zeros(1 << bits, dtype=np.int64), large_zeros(rows, np.uint16)
        for begin in range(0, rows, CHUNK):
            part = bucket[begin : begin + CHUNK]
            shuffling.deal(_drawn_bits(rng, part.size, 16), 16 - bits, counts, part)
        starts = np.concatenate([[0], np.cumsum(counts)])
        drawn = RowShuffle(bucket, starts, _drawn_within(starts, rng))
        if 4 * rows <= CACHED:  # its columns fit the cache: the rows of each bucket are found now, while others work
            drawn._dealt  # noqa: B018
        return drawn

    @staticmethod
    def fixed(order: np.ndarray) -> RowShuffle:
        """A given order: the n-th row will be the row `order[n]`. One bucket."""
        rows = order.size
        return RowShuffle(np.zeros(rows, dtype=np.uint16), np.array([0, rows]), order.astype(np.uint32, copy=False))

    def in_buckets(self) -> RowShuffle:
        """Return the same order in buckets, for callers that deal rows to them. O(rows)."""
        rows = self.within.size
        if self.buckets > 1 or rows <= SMALL:
            return self
        from oboro.kernels import grouping as shuffling

        width = max(BUCKET, -(-rows >> MOST_BITS))
        bucket, rank, within = (large_zeros(rows, kind) for kind in (np.uint16, np.uint32, np.uint32))
        shuffling.bucket_places(self.within, width, bucket, rank, within)
        return RowShuffle(bucket, np.array([*range(0, rows, width), rows]), within)

    def split(self, buckets: int) -> RowShuffle:
        """The same order in so many buckets of equally many rows, for callers that load one bucket at a time. O(rows).

        >>> shuffle = RowShuffle.fixed(np.array([3, 0, 2, 1])).split(2)
        >>> shuffle.bucket.tolist(), shuffle.within.tolist(), shuffle.order.tolist()
        ([0, 1, 1, 0], [1, 0, 1, 0], [3, 0, 2, 1])
        """
        order, rows = self.order, self.within.size
        starts = np.arange(buckets + 1) * rows // buckets
        bucket, rank = np.empty(rows, dtype=np.uint16), np.empty(rows, dtype=np.uint32)
        bucket[order] = np.repeat(np.arange(buckets), np.diff(starts))
        came = np.argsort(bucket, kind="stable")
        rank[came] = np.arange(rows) - np.repeat(starts[:-1], np.diff(starts))
        return RowShuffle(bucket, starts, rank[order])

    @property
    def buckets(self) -> int:
        """Number of buckets."""
        return self.starts.size - 1

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """One value per row, in the new order."""
        if self.buckets == 1 and self.within.size <= SMALL:
            return np.asarray(values[self.within])
        out = large_zeros(values.size, values.dtype)
        if self.buckets == 1 or values.nbytes <= CACHED:
            from oboro.kernels import grouping

            grouping.look_up(np.ascontiguousarray(values), self.order, out)
            return out
        from oboro.kernels import grouping as shuffling

        dealt = large_zeros(values.size, values.dtype)
        shuffling.rearrange(np.ascontiguousarray(values), self.bucket, self.starts, self.within, dealt, out)
        return out

    @cached_property
    def _dealt(self) -> np.ndarray:
        """The rows of each bucket, as they came."""
        from oboro.kernels import grouping as shuffling

        dealt = large_zeros(self.within.size, np.uint32)
        shuffling.deal_rows(self.bucket, self.starts, dealt)
        return dealt

    @cached_property
    def order(self) -> np.ndarray:
        """Row at each position."""
        return self.rows_at(0, self.within.size)

    def rows_at(self, begin: int, end: int) -> np.ndarray:
        """Return the rows at the positions from `begin` to `end`. O(end - begin), after O(rows) the first time."""
        if self.buckets == 1:
            return self.within[begin:end]
        from oboro.kernels import grouping as shuffling

        out = np.empty(min(end, self.within.size) - begin, dtype=np.uint32)
        bucket = int(np.searchsorted(self.starts, begin, side="right")) - 1
        shuffling.rows_at(self._dealt, self.starts, self.within, begin, bucket, out)
        return out

    def shuffled(self, data: Dataset) -> Dataset:
        """The table in the new order; it knows where its rows came from. Columns that stayed in a file stay there."""
        moved = self.columns_shuffled(data)
        origin = self.order.astype(np.int64) if data.origin is None else self(data.origin)
        return replace(moved, origin=origin)

    def columns_shuffled(self, data: Dataset) -> Dataset:
        """Return the same for writing only, without the origin of its rows."""
        held = {name: column for name, column in data.columns.items() if column.loaded}
        arrays = list(map(attrgetter("codes"), held.values()))
        if self.buckets > 1 and min(map(attrgetter("nbytes"), arrays), default=CACHED + 1) <= CACHED:
            self.order  # noqa: B018  (once, and not in every thread)
        codes = dict(zip(held, on_cores(self, arrays, rows=self.within.size), strict=True))
        moved = {name: Column(held[name].values, one) for name, one in codes.items()}
        return Dataset({**data.columns, **moved}, data.rows)

    def blocks(self, data: Dataset, rows: int) -> Iterator[Dataset]:
        """Yield the table in the new order, in blocks of rows, for writing only. A block is looked up when it is its turn.

        Columns that are larger than a cache are moved as a whole before. Blocks are small and use memory that was used before: new
        memory took as long as the looking up.
        """
        held = [name for name, column in data.columns.items() if column.loaded]
        moved = self.columns_shuffled(data.select([name for name in held if data[name].codes.nbytes > CACHED]))
        for begin in range(0, max(data.rows, 1), rows):
            end = min(begin + rows, data.rows)
            yield self._block(data, moved, begin, end)

    def _block(self, data: Dataset, moved: Dataset, begin: int, end: int) -> Dataset:
        order = self.rows_at(begin, end) if len(moved.columns) < len(data.columns) else None

        def one(name: str, column: Column) -> Column:
            if name in moved:
                return Column(column.values, moved[name].codes[begin:end])
            return Column(column.values, _looked_up(column.codes, order))

        columns = on_cores(one, data.columns.keys(), data.columns.values(), rows=end - begin)
        return Dataset(dict(zip(data.columns, columns, strict=True)), end - begin)


def _looked_up(values: np.ndarray, order: np.ndarray | None) -> np.ndarray:
    assert order is not None
    if order.size <= SMALL:
        return np.asarray(values[order])
    from oboro.kernels import grouping

    out = np.empty(order.size, dtype=values.dtype)
    grouping.look_up(np.ascontiguousarray(values), order, out)
    return out


def _drawn_bits(rng: np.random.Generator, size: int, bits: int) -> np.ndarray:
    """So many numbers of 16 or 32 random bits. The generator gives 64 at a time, the lowest ones first on every machine."""
    raw = rng.bit_generator.random_raw(-(-size * bits // 64))
    type_ = np.dtype(f"u{bits // 8}")
    return raw.astype("<u8", copy=False).view(type_.newbyteorder("<")).astype(type_, copy=False)[:size]


def _drawn_order(rows: int, rng: np.random.Generator) -> np.ndarray:
    """All rows in a random order."""
    from oboro.kernels import grouping as shuffling

    order, placed = large_zeros(rows, np.uint32), 0
    while placed < rows:
        placed = shuffling.draw_order(_drawn_bits(rng, min(CHUNK, rows - placed + SPARE), 32), placed, order)
    return order


def _drawn_within(starts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return for each position the row of its bucket."""
    from oboro.kernels import grouping as shuffling

    within = large_zeros(int(starts[-1]), np.uint32)
    first = 0
    while first < starts.size - 1:
        last = max(int(np.searchsorted(starts, starts[first] + CHUNK, side="right")) - 1, first + 1)
        some = starts[first : last + 1]
        part = within[some[0] : some[-1]]
        while not shuffling.shuffle_within(_drawn_bits(rng, part.size + SPARE, 32), some, part):
            pass  # draws were used up, which says nothing about the order: all of these places are drawn again
        first = last
    return within
