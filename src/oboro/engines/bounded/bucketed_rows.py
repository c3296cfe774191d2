"""Rows as codes in buckets that no class of the coarser nodes crosses, and what each bucket says: numbers that add up.

A bucket holds all rows that agree on the labels of one node, the *cut* (the lattice's top, where that tells enough rows apart). So
every class of every node that is nowhere coarser than the cut lies in one bucket, and our own kernels count it there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from oboro.decide.lattice.node_check import NodeChecker
from oboro.decide.lattice.nodes import Levels
from oboro.decide.lattice.objective import CellLoss
from oboro.decide.lattice.problem import Problem
from oboro.decide.lattice.sliced_check import SlicedChecker
from oboro.engines.coded.plan import KnownValues, prepared
from oboro.engines.coded.scattered_rows import in_chunks, packed, shared_out
from oboro.engines.coded.value_numbers import RowNumbers, summed
from oboro.table.dataset import Column, smallest_unsigned
from oboro.table.hierarchy.levels import Level

__all__ = [
    "Bucket",
    "BucketCoding",
    "BucketLook",
    "ClassesAt",
    "SmallClasses",
    "Suppressed",
    "Suppressing",
    "Survey",
    "lean",
]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class BucketCoding:
    """How rows become codes, and in which bucket each goes. It travels to tasks."""

    token: str
    known: Mapping[str, KnownValues]
    cut: tuple[np.ndarray, ...]
    """For each of these columns, by code: its part of the number of the row's class at the cut."""
    parts: int
    numbers: RowNumbers
    others: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """The columns that are read."""
        return [*self.known, *self.others]

    def scatter(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, bytes]]:
        """Blocks of rows, each with its bucket. O(rows)."""
        ready = prepared(self)
        for table in in_chunks(ready.coded(batch) for batch in batches):
            yield from shared_out(table, self._buckets(table), self.parts)

    def coded(self, batch: pa.RecordBatch) -> pa.Table:
        """One code a column, and one number for all other columns of a row."""
        columns = {}
        for place, (name, known) in enumerate(self.known.items()):
            columns[f"{place}"] = pa.array(known.codes(batch[name]).astype(smallest_unsigned(len(known.values))))
        if self.others:
            arrays = {name: batch[name] for name in self.others}
            columns["others"] = pa.array(self.numbers.of_arrays(arrays, batch.num_rows))
        return pa.table(columns)

    def _buckets(self, table: pa.Table) -> np.ndarray:
        keys = np.zeros(table.num_rows, np.uint64)
        for place, part in enumerate(self.cut):
            keys += part[table[f"{place}"].to_numpy()]
        return np.asarray(((keys * GOLDEN) >> np.uint64(32)) % np.uint64(self.parts), dtype=np.uint32)


@dataclass(frozen=True, eq=False)
class Bucket:
    """The rows of one bucket."""

    codes: tuple[np.ndarray, ...]
    others: np.ndarray | None
    rows: int

    @staticmethod
    def of(blocks: Iterable[Any]) -> Bucket:
        """From its blocks, in any order."""
        table = pa.concat_tables([pa.ipc.open_stream(block).read_all() for block in blocks])
        codes = tuple(table[name].to_numpy() for name in table.column_names if name != "others")
        others = table["others"].to_numpy() if "others" in table.column_names else None
        return Bucket(codes, others, table.num_rows)


class BucketLook(Protocol):
    """What is asked of every bucket. It travels to tasks."""

    def of(self, bucket: Bucket) -> bytes:
        """What one bucket says."""


def lean(problem: Problem) -> Problem:
    """The same question without columns and texts: what a task needs of it."""
    hierarchies = []
    for hierarchy in problem.hierarchies:
        levels = tuple(Level(pa.nulls(len(one.labels)), one.table, one.share) for one in hierarchy.levels)
        hierarchies.append(replace(hierarchy, levels=levels, whole=None))
    return replace(problem, columns=(), hierarchies=tuple(hierarchies))


def _asked_of(problem: Problem, bucket: Bucket) -> Problem:
    widths = [one.levels[0].table.size for one in problem.hierarchies]
    columns = [Column(pa.nulls(width), codes) for width, codes in zip(widths, bucket.codes, strict=True)]
    return replace(problem, columns=tuple(columns))


@dataclass(frozen=True)
class SmallClasses:
    """The records of classes of fewer than k, at some nodes, none coarser than the cut: all that most nodes are asked for."""

    problem: Problem
    nodes: tuple[Levels, ...]

    def of(self, bucket: Bucket) -> bytes:
        """Of one bucket."""
        checker = SlicedChecker(_asked_of(self.problem, bucket))
        found = map(checker.small_classes, self.nodes)
        return b"".join(small.to_bytes(8, "little") + tally.tobytes() for small, tally in found)

    def together(self, said: Sequence[bytes]) -> list[tuple[int, np.ndarray]]:
        """Of all buckets: for each node how many, and these by attribute and cost."""
        every = np.sum([np.frombuffer(one, np.int64).reshape(len(self.nodes), -1) for one in said], axis=0)
        return [(int(one[0]), one[1:].reshape(len(self.problem.hierarchies), -1)) for one in every]


@dataclass(frozen=True)
class Survey:
    """Sums over the classes of some nodes, none of them coarser than the cut."""

    problem: Problem
    nodes: tuple[Levels, ...]

    def of(self, bucket: Bucket) -> bytes:
        """Of one bucket."""
        checker, found = NodeChecker.of(_asked_of(self.problem, bucket)), []
        for levels in self.nodes:
            sums, tally = checker.survey(levels)
            found.append(np.concatenate([sums, tally.ravel()]))
        return np.concatenate(found).tobytes()

    def together(self, said: Sequence[bytes]) -> list[tuple[np.ndarray, np.ndarray]]:
        """Of all buckets: the sums of `NodeChecker.survey` for each node."""
        every = np.stack([np.frombuffer(one, np.int64).reshape(len(self.nodes), -1) for one in said])
        added, least = every.sum(axis=0), every[:, :, 5].min(axis=0)
        added[:, 5] = least
        return [(one[:6], one[6:].reshape(len(levels), -1)) for one, levels in zip(added, self.nodes, strict=True)]


@dataclass(frozen=True)
class ClassesAt:
    """The classes of one node, any node: the numbers of their labels, and how many records each has."""

    problem: Problem
    levels: Levels

    def of(self, bucket: Bucket) -> bytes:
        """Of one bucket, which may hold parts of classes."""
        checker = NodeChecker.of(_asked_of(self.problem, bucket))
        classes = checker.classes(self.levels)
        labels = checker.labels_of(classes, np.arange(classes.sizes.size)).astype(np.uint32)
        columns = {f"{a}": pa.array(np.ascontiguousarray(labels[:, a])) for a in range(labels.shape[1])}
        return packed(pa.table({**columns, "sizes": pa.array(classes.sizes)}))

    def together(self, said: Sequence[bytes]) -> tuple[list[np.ndarray], np.ndarray]:
        """Of all buckets: for each attribute the label of each class, and the sizes."""
        every = pa.concat_tables([pa.ipc.open_stream(one).read_all() for one in said])
        names = [name for name in every.column_names if name != "sizes"]
        found = every.group_by(names).aggregate([("sizes", "sum")])
        return [found[name].to_numpy() for name in names], found["sizes_sum"].to_numpy()


@dataclass(frozen=True)
class Joinable:
    """Of one node that is not coarser than the cut: the classes of fewer than k, and those that may join them where one is enough.

    Of classes that cost alike, record by record, the smallest comes, and of equal ones the first by the text of its labels.
    """

    problem: Problem
    levels: Levels
    ranks: tuple[np.ndarray, ...]
    """For each attribute the place of each label in the order of their text."""

    def of(self, bucket: Bucket) -> bytes:
        """Of one bucket."""
        checker = NodeChecker.of(_asked_of(self.problem, bucket))
        classes = checker.classes(self.levels)
        labels = checker.labels_of(classes, np.arange(classes.sizes.size))
        some = self._chosen(labels, classes.sizes)
        return np.column_stack([labels[some], classes.sizes[some]]).astype(np.int64).tobytes()

    def _chosen(self, labels: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Which classes come. O(classes · log(classes))."""
        loss, large = self.problem.loss, np.flatnonzero(sizes >= self.problem.k)
        assert isinstance(loss, CellLoss), "others look into classes"
        prices = []
        for a, level in enumerate(self.levels):
            one_each = self.problem.hierarchies[a].levels[level].one_each
            prices.append(loss.costs[a][level].step[one_each][labels[large, a]])
        texts = [rank[labels[large, a]] for a, rank in enumerate(self.ranks)]
        order = np.lexsort([*reversed(texts), sizes[large], *prices])
        priced = np.column_stack(prices)[order]
        first = np.append(True, (priced[1:] != priced[:-1]).any(axis=1))[: order.size]
        return np.concatenate([np.flatnonzero(sizes < self.problem.k), large[order[first]]])

    def together(self, said: Sequence[bytes]) -> tuple[list[np.ndarray], np.ndarray]:
        """Of all buckets: for each attribute the label of each class, and the sizes."""
        every = np.concatenate([np.frombuffer(one, np.int64) for one in said]).reshape(-1, len(self.levels) + 1)
        some = every[self._chosen(every[:, :-1], every[:, -1])]
        return [some[:, a] for a in range(len(self.levels))], some[:, -1]


@dataclass(frozen=True)
class Suppressed:
    """What came of a node: how many records go, what of each column changes, one number for all rows, and the classes that go."""

    rows: int
    changed: tuple[int, ...]
    counts: tuple[np.ndarray, ...]
    """For each column, by released code, how many released records have it."""
    total: int
    keys: np.ndarray


@dataclass(frozen=True)
class Suppressing:
    """A node is released: every row gets its labels, or `*` where its class goes."""

    k: int
    maps: tuple[np.ndarray, ...]
    """For each column, from codes to released codes."""
    stars: tuple[int, ...] | None
    """For each column the released code of `*`; None where nobody is suppressed."""
    same: tuple[np.ndarray, ...]
    """For each column, by code, the released code that says the same (−1: none does)."""
    values: tuple[np.ndarray, ...]
    """For each column, by released code, the number of the value, for the sum over all rows."""
    numbers: RowNumbers
    strides: tuple[int, ...]
    gone: np.ndarray | None
    """The keys of the classes that go, sorted; None: those with fewer than k records, which lie in one bucket each."""

    def of(self, bucket: Bucket) -> bytes:
        """Of one bucket."""
        released = [table[codes] for table, codes in zip(self.maps, bucket.codes, strict=True)]
        rows, keys = self._gone(released, bucket.rows)
        total = np.zeros(bucket.rows, np.uint64) if bucket.others is None else bucket.others.copy()
        changed, counts = [], []
        for a, codes in enumerate(released):
            if self.stars is not None:
                codes = np.where(rows, self.stars[a], codes)
            total += self.values[a][codes]
            changed.append(int((self.same[a][bucket.codes[a]] != codes).sum()))
            counts.append(np.bincount(codes, minlength=self.values[a].size))
        figures = np.concatenate([[int(rows.sum()), *changed], *counts]).astype(np.int64)
        return figures.tobytes() + self.numbers.total(total).to_bytes(8, "little") + keys.tobytes()

    def _gone(self, released: Sequence[np.ndarray], rows: int) -> tuple[np.ndarray, np.ndarray]:
        nobody = np.zeros(0, np.uint64)
        if self.stars is None:
            return np.zeros(rows, bool), nobody
        keys = np.zeros(rows, np.uint64)
        for codes, stride in zip(released, self.strides, strict=True):
            keys += codes.astype(np.uint64) * np.uint64(stride)
        if self.gone is not None:
            places = np.minimum(np.searchsorted(self.gone, keys), self.gone.size - 1)
            return self.gone[places] == keys, nobody
        found, which, sizes = np.unique(keys, return_inverse=True, return_counts=True)
        return (sizes < self.k)[which.ravel()], found[sizes < self.k]

    @cached_property
    def _figures(self) -> int:
        return 8 * (1 + len(self.maps) + sum(one.size for one in self.values))

    def together(self, said: Sequence[bytes]) -> Suppressed:
        """Of all buckets."""
        figures = np.sum([np.frombuffer(one[: self._figures], np.int64) for one in said], axis=0)
        total = summed(int.from_bytes(one[self._figures : self._figures + 8], "little") for one in said)
        keys = [np.frombuffer(one[self._figures + 8 :], np.uint64) for one in said]
        known = np.sort(np.concatenate(keys)) if self.gone is None else self.gone
        ends = np.cumsum([1, len(self.maps), *(one.size for one in self.values)])
        _, changed, *counts, _ = np.split(figures, ends)
        return Suppressed(int(figures[0]), tuple(changed.tolist()), tuple(counts), total, known)
