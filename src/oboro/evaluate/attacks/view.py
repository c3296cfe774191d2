"""Two tables as an attacker compares them: people have places, released records have what they may stand for.

`31–38`, `{F, M}`, `*` and labels of a hierarchy are compared by what they mean. A label that nothing explains fits
nobody, so that an attack never succeeds by misunderstanding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from oboro.evaluate.consistency import reach
from oboro.evaluate.meaning import Meaning, is_star, plain_numbers, text_array
from oboro.kernels import attacks as kernels
from oboro.table.dataset import Column, Dataset
from oboro.table.groups import Groups
from oboro.table.hierarchy import Hierarchy

__all__ = ["Axis", "Classes", "View"]

LARGEST_TABLE = 20_000_000  # bytes of "fits or not" for one column; larger ones are compared by equality


@dataclass(frozen=True, eq=False)
class Axis:
    """One column: a place for each original entry, a range (or a set) for each released entry."""

    kind: int
    places: np.ndarray
    low: np.ndarray
    high: np.ndarray
    fits: np.ndarray  # ranks × released entries, for sets
    scale: tuple[float, float] = (0.0, 1.0)

    def place(self, column: Column, original: Column) -> np.ndarray:
        """Where the people of another table (a control group) stand, row by row."""
        if self.kind == kernels.NUMBER:
            numbers = plain_numbers(column)
            low, width = self.scale
            line = np.full(len(column.values), np.nan) if numbers is None else (numbers - low) / width
            return np.asarray(line[column.codes])
        found = pc.index_in(text_array(column.values), value_set=text_array(original.values)).fill_null(-1)
        index = found.to_numpy(zero_copy_only=False)
        unknown = self.fits.shape[0] - 1 if self.kind == kernels.FITS else -9.0  # a value nobody else has
        return np.asarray(np.where(index < 0, unknown, self.places[np.maximum(index, 0)])[column.codes])


def axis(original: Column, released: Column, hierarchy: Hierarchy | None) -> Axis:
    """How the values of one column are compared. O(both dictionaries)."""
    meaning = Meaning.of(original, released, hierarchy, None)
    original, released = meaning.original, meaning.released
    if (numbers := plain_numbers(original)) is not None:
        if meaning.numbers is not None:
            return _points(*meaning.numbers, is_star(released))
        return _ranges(numbers, original, released, meaning.hierarchy)
    if len(original.values) * len(released.values) <= LARGEST_TABLE:
        return _sets(original, released, meaning.hierarchy)
    found = pc.index_in(text_array(released.values), value_set=text_array(original.values)).fill_null(-1)
    index = found.to_numpy(zero_copy_only=False).astype(np.float64)
    stars = is_star(released)
    nothing = np.empty((0, 0), np.uint8)
    low, high = np.where(stars, -np.inf, index), np.where(stars, np.inf, index)
    return Axis(kernels.EXACT, np.arange(len(original.values), dtype=np.float64), low, high, nothing)


def _scaled(numbers: np.ndarray) -> tuple[float, float]:
    low, high = float(np.nanmin(numbers)), float(np.nanmax(numbers))
    return low, high - low or 1.0


def _points(before: np.ndarray, after: np.ndarray, stars: np.ndarray) -> Axis:
    low, width = _scaled(before)
    line = (after - low) / width
    ends = np.where(stars, -np.inf, line), np.where(stars, np.inf, line)
    return Axis(kernels.NUMBER, (before - low) / width, *ends, np.empty((0, 0), np.uint8), (low, width))


def _ranges(numbers: np.ndarray, original: Column, released: Column, hierarchy: Hierarchy | None) -> Axis:
    low, width = _scaled(numbers)
    found = reach(original, released, hierarchy)
    line = np.unique(numbers[~np.isnan(numbers)])
    ends = np.append((line - low) / width, np.nan)  # the last rank is the missing value
    nobody, stars = found.low > found.high, is_star(released)
    first, last = (ends[np.clip(side, 0, line.size)] for side in (found.low, found.high))
    last = np.where(np.isnan(last) & ~np.isnan(first), 1.0, last)
    first, last = (np.where(nobody, 9.0, side) for side in (first, last))  # far from everybody
    first, last = np.where(stars, -np.inf, first), np.where(stars, np.inf, last)
    return Axis(kernels.NUMBER, (numbers - low) / width, first, last, np.empty((0, 0), np.uint8), (low, width))


def _sets(original: Column, released: Column, hierarchy: Hierarchy | None) -> Axis:
    found = reach(original, released, hierarchy)
    ranks = np.empty(len(original.values), np.int64)
    ranks[original.codes] = found.ranks
    width = int(ranks.max(initial=-1)) + 1
    every = np.arange(width)[:, None]
    fits = (every >= found.low) & (every <= found.high)
    for entry in np.flatnonzero(found.row >= 0):
        words = found.bits[found.row[entry] + np.arange(width) // 64]
        fits[:, entry] &= (words >> (np.arange(width) % 64).astype(np.uint64)) & np.uint64(1) != 0
    size = np.maximum(1, fits.sum(axis=0))
    fits = np.vstack([fits, is_star(released)[None, :]])  # one more rank: a value that the original does not have
    return Axis(kernels.FITS, ranks.astype(np.float64), 1.0 / size, 1.0 / size, fits.astype(np.uint8))


@dataclass(frozen=True, eq=False)
class Classes:
    """Released records that look alike in some columns, one row per class, ready for the kernels."""

    groups: Groups
    low: np.ndarray
    high: np.ndarray
    entries: np.ndarray

    def __len__(self) -> int:
        return len(self.groups)


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
            Dataset({name: table[name].tidy() for name in names}, table.rows) for table in (original, released)
        )
        known = hierarchies or {}
        axes = tuple(axis(first[name], second[name], known.get(name)) for name in names)
        return View(tuple(names), axes, first, second)

    def select(self, names: Sequence[str]) -> View:
        """Fewer columns."""
        axes = tuple(self.axes[self.names.index(name)] for name in names)
        return View(tuple(names), axes, self.original.select(list(names)), self.released.select(list(names)))

    def people(self, table: Dataset | None = None) -> np.ndarray:
        """Places, people × columns: the original's, or a control group's."""
        if table is None:
            columns = [one.places[self.original[name].codes] for name, one in zip(self.names, self.axes, strict=True)]
        else:
            pairs = zip(self.names, self.axes, strict=True)
            columns = [one.place(table[name], self.original[name]) for name, one in pairs]
        return np.column_stack(columns)

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
        firsts = np.zeros(len(groups), np.int64)
        firsts[groups.labels] = np.arange(self.released.rows)
        return Classes(groups, *self.records(firsts))

    @property
    def kernel_tables(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Kinds, all tables of sets in one, and where each starts and how wide it is."""
        kinds = np.array([one.kind for one in self.axes], np.int64)
        sizes = [one.fits.size for one in self.axes]
        offsets = np.append(0, np.cumsum(sizes))[:-1].astype(np.int64)
        fits = np.concatenate([one.fits.ravel() for one in self.axes] or [np.empty(0, np.uint8)])
        return kinds, fits, offsets, np.array([one.fits.shape[1] for one in self.axes], np.int64)

    def nearest(self, places: np.ndarray, classes: Classes, own: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """For each person the nearest class, without one record of class `own` (−1: none); −1 where none is left."""
        kinds, fits, offsets, widths = self.kernel_tables
        out = np.empty(len(places), np.int64)
        keys = rng.integers(1, 2**63, len(places), dtype=np.uint64)
        records = classes.low, classes.high, classes.entries
        kernels.nearest(kinds, places, *records, fits, offsets, widths, classes.groups.sizes, own, keys, out)
        return out

    def fitting(
        self, places: np.ndarray, low: np.ndarray, high: np.ndarray, entries: np.ndarray, used: np.ndarray
    ) -> np.ndarray:
        """How many people fit each description: 0, 1, or 2 for more."""
        kinds, fits, offsets, widths = self.kernel_tables
        out = np.empty(len(low), np.int64)
        kernels.matches(kinds, places, low, high, entries, used, fits, offsets, widths, out)
        return out
