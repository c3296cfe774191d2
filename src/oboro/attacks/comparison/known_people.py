"""The people whom an attacker knows, and how many of them fit a description: all are asked, whatever the size of the table.

Whether exactly one person fits a description cannot be told from a part of the table: who is alone there may have
doubles elsewhere. So nobody is left out; but only those are looked at who fit the rarest word of the description.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from oboro.attacks.comparison import kernels
from oboro.attacks.comparison.column_comparison import ColumnComparison
from oboro.kernels.grouping import occurrences
from oboro.table.dataset import Dataset
from oboro.table.large_arrays import large_zeros

__all__ = ["Descriptions", "KnownPeople", "tables"]

AT_ONCE = 2000  # descriptions that people pass by: lists for every place grow with their square
FIRST = 65_536  # people after whom the descriptions that three of them fit are taken off the lists; then after 4 times as many


@dataclass(frozen=True, eq=False)
class Descriptions:
    """Descriptions × columns: a range or an entry for each, and which columns a description uses."""

    low: np.ndarray
    high: np.ndarray
    entries: np.ndarray
    used: np.ndarray

    def __len__(self) -> int:
        return len(self.low)

    def distinct(self) -> tuple[Descriptions, np.ndarray]:
        """Each description once, and which of them each one is: of few categories many are drawn again and again."""
        columns = [np.where(self.used, side, side.dtype.type(0)) for side in (self.low, self.high, self.entries)]
        rows = np.hstack([np.ascontiguousarray(one).view(np.uint8) for one in (*columns, self.used)])
        whole = np.ascontiguousarray(rows).view([("", np.void, rows.shape[1])]).ravel()
        _, first, which = np.unique(whole, return_index=True, return_inverse=True)
        return self.take(first), which

    def take(self, rows: np.ndarray) -> Descriptions:
        """Some of them."""
        return Descriptions(self.low[rows], self.high[rows], self.entries[rows], self.used[rows])

    def among(self, columns: np.ndarray, width: int) -> Descriptions:
        """The same as descriptions over `width` columns, of which these are `columns`."""
        shape = (len(self), width)
        out = [np.zeros(shape, side.dtype) for side in (self.low, self.high, self.entries, self.used)]
        for wide, side in zip(out, (self.low, self.high, self.entries, self.used), strict=True):
            wide[:, columns] = side
        return Descriptions(*out)


@dataclass(frozen=True, eq=False)
class KnownPeople:
    """Some columns of people as codes, and the place that each code stands for. 4 bytes for each cell."""

    comparisons: tuple[ColumnComparison, ...]
    codes: np.ndarray  # columns × people
    places: tuple[np.ndarray, ...]
    counts: tuple[np.ndarray, ...] | None = None  # how many people have each code, where they were counted before

    @staticmethod
    def of(
        comparisons: Sequence[ColumnComparison], table: Dataset, names: Sequence[str], places: Sequence[np.ndarray]
    ) -> KnownPeople:
        """The people of a table. O(people · columns)."""
        codes = large_zeros(len(names) * table.rows, np.uint32).reshape(len(names), table.rows)
        for row, name in zip(codes, names, strict=True):
            row[:] = table[name].codes
        return KnownPeople(tuple(comparisons), codes, tuple(places), tuple(table[name].counts for name in names))

    def __len__(self) -> int:
        return int(self.codes.shape[1])

    def take(self, rows: np.ndarray) -> KnownPeople:
        """Some of them."""
        return replace(self, codes=np.take(self.codes, rows, axis=1), counts=None)

    def at(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Places of some people, people × some columns."""
        return np.column_stack([self.places[j][self.codes[j, rows]] for j in columns])

    @cached_property
    def _lines(self) -> tuple[_Line, ...]:
        counts = self.counts or map(_counted, self.codes, self.places)
        return tuple(map(_Line.of, self.places, counts))

    def fitting(self, described: Descriptions) -> np.ndarray:
        """How many people fit each description, 3 for more. O(people) for each column that is the rarest of one."""
        once, which = described.distinct()
        slices = [
            line.slices(comparison, once, j)
            for j, (line, comparison) in enumerate(zip(self._lines, self.comparisons, strict=True))
        ]
        counts = np.column_stack(
            [line.starts[last] - line.starts[first] for line, (first, last) in zip(self._lines, slices, strict=True)]
        )
        out = np.minimum(np.where(once.used, counts, len(self)).min(axis=1), kernels.MANY)
        plain = np.array([comparison.kind != kernels.FITS for comparison in self.comparisons])
        asked = np.flatnonzero((once.used.sum(axis=1) > 1) | ~(once.used & plain).any(axis=1))
        rarest = self._rarest(np.where(once.used, counts, len(self) + 1)[asked])
        for column in np.unique(rarest):
            first, last = slices[column]
            mine = asked[rarest == column]
            for rows in np.array_split(mine, -(-mine.size // AT_ONCE)):
                out[rows] = self._counted(once.take(rows), int(column), first[rows], last[rows])
        return np.asarray(out[which])

    def each(self, rows: np.ndarray, described: Descriptions) -> np.ndarray:
        """Whether the n-th of these people fits the n-th description. O(people · columns)."""
        out = np.ones(rows.size, bool)
        for j, comparison in enumerate(self.comparisons):
            place, low, high = self.places[j][self.codes[j, rows]], described.low[:, j], described.high[:, j]
            if comparison.kind == kernels.FITS:
                fit = comparison.fits[place.astype(np.int64), described.entries[:, j]] != 0
            else:
                anything = np.isneginf(low) & np.isposinf(high)
                fit = anything | ((low <= place) & (place <= high)) | (np.isnan(low) & np.isnan(place))
            out &= fit | ~described.used[:, j]
        return out

    def _rarest(self, fitting: np.ndarray) -> np.ndarray:
        """By which column each description is looked up: one for all, where letting everybody pass again does not pay."""
        column = int(fitting.sum(axis=0).argmin())
        if fitting[:, column].sum() <= 2 * fitting.min(axis=1).sum():
            return np.full(len(fitting), column)
        return np.asarray(fitting.argmin(axis=1))

    def _counted(self, described: Descriptions, lead: int, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        """Everybody passes once by those descriptions that their place in column `lead` may fit, until three people fit each."""
        starts = np.append(0, np.cumsum([place.size for place in self.places]))[:-1].astype(np.int64)
        kinds, places = np.array([one.kind for one in self.comparisons], np.int64), np.concatenate(self.places)
        words = described.low, described.high, described.entries, described.used, *tables(self.comparisons)
        out = np.zeros(len(described), np.int64)
        done, some = 0, FIRST
        while done < len(self) and (out < kernels.MANY).any():
            segments, heads, listed = _listed(first, last, np.flatnonzero(out < kernels.MANY), self._lines[lead].ranks)
            until = min(len(self), done + some)
            kernels.matches(
                kinds, self.codes, places, starts, *words, lead, segments, heads, listed, done, until, out
            )  # what enough people fit is not listed again
            done, some = until, some * 4
        return out


def _listed(
    first: np.ndarray, last: np.ndarray, rows: np.ndarray, ranks: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each rank (by way of segments in which all fit the same) which of the `rows` have it from `first` to `last` − 1.

    Segments of the ranks, where the list of each segment starts, and the lists. O(ranks + rows · segments).
    """
    bounds = np.unique(np.concatenate([first[rows], last[rows]]))
    from_, to = (np.searchsorted(bounds, side[rows], "right") for side in (first, last))
    counts = to - from_
    listed = np.repeat(rows, counts)
    segment = np.repeat(from_ - np.append(0, np.cumsum(counts)[:-1]), counts) + np.arange(listed.size)
    heads = np.append(0, np.cumsum(np.bincount(segment, minlength=bounds.size + 1)))
    return np.searchsorted(bounds, ranks, "right"), heads, listed[np.argsort(segment, kind="stable")]


def tables(comparisons: Sequence[ColumnComparison]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All tables of sets in one, where each starts, and how wide it is."""
    offsets = np.append(0, np.cumsum([one.fits.size for one in comparisons]))[:-1].astype(np.int64)
    fits = np.concatenate([one.fits.ravel() for one in comparisons] or [np.empty(0, np.uint8)])
    return fits, offsets, np.array([one.fits.shape[1] for one in comparisons], np.int64)


def _counted(codes: np.ndarray, places: np.ndarray) -> np.ndarray:
    counts = np.zeros(places.size, np.int64)
    occurrences(codes, counts)
    return counts


@dataclass(frozen=True, eq=False)
class _Line:
    """The places of one column in order, and how many people have each; no place (missing numbers) comes last."""

    ranks: np.ndarray  # for each code, its rank
    places: np.ndarray  # ascending, NaN last
    starts: np.ndarray  # how many people have a lower rank, one more entry at the end

    @staticmethod
    def of(places: np.ndarray, counts: np.ndarray) -> _Line:
        by = np.argsort(places, kind="stable")
        ranks = np.empty(by.size, np.uint32)
        ranks[by] = np.arange(by.size, dtype=np.uint32)
        return _Line(ranks, places[by], np.append(0, np.cumsum(counts[by])))

    def slices(
        self, comparison: ColumnComparison, described: Descriptions, column: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """From which rank to which (not included) places may fit what descriptions say of this column."""
        low, high = described.low[:, column], described.high[:, column]
        if comparison.kind == kernels.FITS:
            fits = comparison.fits[:, described.entries[:, column]] != 0
            low = np.where(fits.any(axis=0), fits.argmax(axis=0), 1.0)
            high = np.where(fits.any(axis=0), len(fits) - 1.0 - fits[::-1].argmax(axis=0), 0.0)
        known = int(np.count_nonzero(~np.isnan(self.places)))
        first = np.searchsorted(self.places[:known], low, "left")
        last = np.searchsorted(self.places[:known], high, "right")
        # A description that says nothing of this column may still be looked up by it, with all the others.
        anything, missing = (np.isneginf(low) & np.isposinf(high)) | ~described.used[:, column], np.isnan(low)
        first = np.where(anything, 0, np.where(missing, known, first))
        last = np.where(anything | missing, self.places.size, last)
        return first, np.maximum(first, last)
