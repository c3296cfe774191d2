"""The order in which a table is released: a random one tells nothing about the order in which its rows came."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from oboro.system.process import on_cores
from oboro.table.dataset import Column, Dataset
from oboro.table.large_arrays import large_zeros
from oboro.table.unencoded_columns import UnreadColumn

__all__ = ["RowShuffle"]

SMALL = 1 << 16  # rows that one bucket holds, shuffled by NumPy without a kernel
BUCKET = 1 << 14  # rows of a bucket: their places fit into the cache of a core
MOST_BITS = 12  # 4,096 buckets: more are more than a cache has lines for
CACHED = 1 << 24  # bytes of a column that is looked up row by row; a larger one goes through the buckets


@dataclass(frozen=True, eq=False)
class RowShuffle:
    """A new order of rows: each is dealt to a bucket, and each bucket has an order of its own.

    Whoever writes a table that is larger than memory deals its rows to the buckets, and then writes one bucket after the other.
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
        from oboro.kernels import shuffling

        bits = min(max((rows // BUCKET).bit_length(), 1), MOST_BITS)
        draws = rng.integers(0, 1 << 64, rows, dtype=np.uint64)
        counts, bucket = np.zeros(1 << bits, dtype=np.int64), large_zeros(rows, np.uint16)
        shuffling.deal(draws, bits, counts, bucket)
        starts = np.concatenate([[0], np.cumsum(counts)])
        within = large_zeros(rows, np.uint32)
        shuffling.shuffle_within(draws, starts, within)
        return RowShuffle(bucket, starts, within)

    @staticmethod
    def fixed(order: np.ndarray) -> RowShuffle:
        """A given order: the n-th row will be the row `order[n]`. One bucket."""
        rows = order.size
        return RowShuffle(np.zeros(rows, dtype=np.uint16), np.array([0, rows]), order.astype(np.uint32))

    @property
    def buckets(self) -> int:
        """How many buckets there are."""
        return self.starts.size - 1

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """One value per row, in the new order."""
        if self.buckets == 1:
            return np.asarray(values[self.within])
        out = large_zeros(values.size, values.dtype)
        if values.nbytes <= CACHED:
            from oboro.kernels import grouping

            grouping.look_up(np.ascontiguousarray(values), self.order, out)
            return out
        from oboro.kernels import shuffling

        dealt = large_zeros(values.size, values.dtype)
        shuffling.rearrange(np.ascontiguousarray(values), self.bucket, self.starts, self.within, dealt, out)
        return out

    def looked_up(self) -> RowShuffle:
        """The same; for a table whose columns fit the cache, the row of each place is found now."""
        if 4 * self.within.size <= CACHED:
            self.order  # noqa: B018
        return self

    @cached_property
    def order(self) -> np.ndarray:
        """For each place the row that stands there."""
        if self.buckets == 1:
            return self.within
        from oboro.kernels import shuffling

        dealt, out = (large_zeros(self.within.size, np.uint32) for _ in range(2))
        shuffling.row_of_place(self.bucket, self.starts, self.within, dealt, out)
        return out

    def shuffled(self, data: Dataset) -> Dataset:
        """The table in the new order; it knows where its rows came from. Columns that stayed in a file stay there."""
        return replace(self.columns_shuffled(data), origin=self(data.origin_rows))

    def columns_shuffled(self, data: Dataset) -> Dataset:
        """The same for whoever only writes it: it does not know where its rows came from."""
        held = {name: column for name, column in data.columns.items() if not isinstance(column, UnreadColumn)}
        codes = self._all_shuffled([column.codes for column in held.values()])
        moved = {name: Column(held[name].values, one) for name, one in zip(held, codes, strict=True)}
        return Dataset({name: moved.get(name, column) for name, column in data.columns.items()}, data.rows)

    def _all_shuffled(self, arrays: list[np.ndarray]) -> list[np.ndarray]:
        self.order  # noqa: B018  (once, and not in every thread)
        return on_cores(self, arrays, rows=self.within.size)
