"""Two tables as an attacker compares them: people have places, released records have what they may stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from oboro.evaluate.attacks.axis import Axis, axis
from oboro.evaluate.attacks.people import People, tables
from oboro.evaluate.classes import clean
from oboro.kernels import attacks as kernels
from oboro.table.dataset import Column, Dataset
from oboro.table.groups import Groups
from oboro.table.hierarchy import Hierarchy

__all__ = ["Classes", "View"]


@dataclass(frozen=True, eq=False)
class Classes:
    """Released records that look alike in some columns, one row per class, ready for the kernels."""

    groups: Groups
    low: np.ndarray
    high: np.ndarray
    entries: np.ndarray

    def __len__(self) -> int:
        return len(self.groups)

    def members(self, chosen: np.ndarray, number: np.ndarray) -> np.ndarray:
        """The row that is the n-th member (from 0) of each chosen class."""
        return _members(self.groups, chosen, number)


@dataclass(frozen=True, eq=False)
class View:
    """Some columns of both tables."""

    names: tuple[str, ...]
    axes: tuple[Axis, ...]
    original: Dataset
    released: Dataset

    @staticmethod
    def of(
        original: Dataset, released: Dataset, names: Sequence[str], hierarchies: Mapping[str, Hierarchy] | None = None
    ) -> View:
        """Compare the columns one by one; dictionaries are made tidy first."""
        first, second = (
            Dataset({name: clean(table[name]) for name in names}, table.rows) for table in (original, released)
        )
        known = hierarchies or {}
        axes = tuple(axis(first[name], second[name], known.get(name)) for name in names)
        return View(tuple(names), axes, first, second)

    def select(self, names: Sequence[str]) -> View:
        """Fewer columns."""
        axes = tuple(self.axes[self.names.index(name)] for name in names)
        return View(tuple(names), axes, self.original.select(list(names)), self.released.select(list(names)))

    def part(self, rows: np.ndarray) -> View:
        """The same people and fewer released records; entries keep their numbers."""
        some = {name: Column(column.values, column.codes[rows]) for name, column in self.released.columns.items()}
        return replace(self, released=Dataset(some, int(rows.size)))

    def at(self, names: Sequence[str]) -> np.ndarray:
        """The positions of columns."""
        return np.array([self.names.index(name) for name in names])

    @cached_property
    def people(self) -> People:
        """Everybody of the original."""
        return People.of(self.axes, self.original, self.names, [one.places for one in self.axes])

    def others(self, table: Dataset) -> People:
        """The people of another table: a control group."""
        pairs = zip(self.names, self.axes, strict=True)
        return People.of(
            self.axes, table, self.names, [one.place(table[name], self.original[name]) for name, one in pairs]
        )

    def records(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Low, high and entry of some released records, records × columns."""
        codes = [self.released[name].codes[rows] for name in self.names]
        low, high = (
            np.column_stack([getattr(one, end)[code] for one, code in zip(self.axes, codes, strict=True)])
            for end in ("low", "high")
        )
        return low, high, np.column_stack(codes).astype(np.int32)

    def classes(self) -> Classes:
        """The released records grouped over these columns."""
        groups = Groups.of([self.released[name] for name in self.names], self.released.rows)
        firsts = _members(groups, np.arange(len(groups)), np.zeros(len(groups), np.int64))
        return Classes(groups, *self.records(firsts))

    def nearest(self, places: np.ndarray, classes: Classes, own: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """For each person the nearest class, without one record of class `own` (−1: none); −1 where none is left."""
        kinds = np.array([one.kind for one in self.axes], np.int64)
        out = np.empty(len(places), np.int64)
        keys = rng.integers(1, 2**63, len(places), dtype=np.uint64)
        records = classes.low, classes.high, classes.entries
        kernels.nearest(kinds, places, *records, *tables(self.axes), classes.groups.sizes, own, keys, out)
        return out


def _members(groups: Groups, chosen: np.ndarray, number: np.ndarray) -> np.ndarray:
    """The row that is the n-th member (from 0) of each chosen group. O(rows), without putting them in order."""
    order = np.lexsort((number, chosen))
    ends = np.cumsum(np.bincount(chosen, minlength=len(groups)))
    found = np.empty(chosen.size, np.int64)
    kernels.members(groups.labels, number[order], np.append(0, ends[:-1]), ends, found)
    out = np.empty_like(found)
    out[order] = found
    return out
