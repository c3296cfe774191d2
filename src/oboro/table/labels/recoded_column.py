"""One column before and after: on which level of the hierarchy each released value stands, and how much of the domain it covers.

- `*` covers everything.
- A label of the column's hierarchy covers the leaves under it.
- A plain value, or a label that no hierarchy explains, covers the original values behind it, if it is known which
  released record was made from which original one; otherwise a plain value covers itself, and a label what it names by
  itself (`31–38`), if every such label of the column names something.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter

import numpy as np
import pyarrow as pa

from oboro.kernels import grouping
from oboro.system import arrow_functions as pc
from oboro.table.dataset import Column
from oboro.table.hierarchy import Hierarchy, Level
from oboro.table.hierarchy.levels import text_array
from oboro.table.labels.label_reach import LabelReach
from oboro.table.labels.starred_values import all_stars, is_star, plain_numbers, without_star
from oboro.table.rows.row_origins import Rows
from oboro.table.value_counts import Tally, clean, tally
from oboro.table.values import Kind, kind_of

__all__ = ["RecodedColumn", "positions"]


@dataclass(frozen=True, eq=False)
class RecodedColumn:
    """One column before and after. Everything here is per dictionary entry of the released column, never per row."""

    original: Column
    released: Column
    hierarchy: Hierarchy | None
    rows: Rows | None  # for each released row the original one

    @staticmethod
    def of(original: Column, released: Column, hierarchy: Hierarchy | None, rows: Rows | None) -> RecodedColumn:
        """Bind the hierarchy to the original column, unless it is."""
        original, released = clean(original), clean(released)
        if hierarchy is not None and not hierarchy.levels[0].labels.equals(original.values):
            hierarchy = hierarchy.bind(original)
        return RecodedColumn(original, released, hierarchy, rows)

    @cached_property
    def behind(self) -> Tally | None:
        """The original codes behind each released code, and how often; None where rows are not paired. O(rows)."""
        if self.rows is None:
            return None
        came_from, width = self._came_from(self.rows), len(self.original.values)
        became = np.full(width, -1, dtype=np.int64)
        if not grouping.one_image(came_from, self.released.codes.astype(np.uint32, copy=False), became):
            return tally(self.released.codes, self.released.counts, came_from, width)
        if isinstance(self.rows, slice):
            return _recoded(became, self.original.counts, len(self.released.values))
        counts = np.zeros(width, dtype=np.int64)
        grouping.occurrences(came_from, counts)
        return _recoded(became, counts, len(self.released.values))

    def _came_from(self, rows: Rows) -> np.ndarray:
        """The original code of each released row."""
        codes = self.original.codes
        if isinstance(rows, slice):
            return np.asarray(codes[rows].astype(np.uint32, copy=False))
        out = np.empty(rows.size, dtype=np.uint32)
        grouping.look_up(np.ascontiguousarray(codes), rows, out)
        return out

    @property
    def levels(self) -> tuple[Level, ...]:
        """The levels of the hierarchy; without one only the values themselves."""
        return (_ground(self.original.values),) if self.hierarchy is None else self.hierarchy.levels

    @property
    def height(self) -> int:
        """The level of `*`."""
        return max(1, len(self.levels) - 1)

    @cached_property
    def stars(self) -> np.ndarray:
        """Which entries are `*`."""
        return is_star(self.released)

    @cached_property
    def place(self) -> tuple[np.ndarray, np.ndarray]:
        """For each entry the lowest level that has it as a label (−1: none), and which label it is there."""
        texts = text_array(self.released.values)
        level, label = np.full(len(texts), -1), np.zeros(len(texts), np.int64)
        for number, one in enumerate(self.levels):
            index = positions(texts, text_array(one.labels))
            new = (index >= 0) & (level < 0) & ~self.stars
            level[new], label[new] = number, index[new]
        level[self.stars] = self.height
        return level, label

    @cached_property
    def numbers(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The original and the released dictionary as numbers, if both count the same: a year is no date."""
        kinds = {kind_of(without_star(column.values)) for column in (self.original, self.released)}
        if len(kinds) > 1 and not kinds <= {Kind.INTEGER, Kind.NUMBER}:
            return None
        before, after = plain_numbers(self.original), plain_numbers(self.released)
        return None if before is None or after is None else (before, after)

    @cached_property
    def line(self) -> tuple[np.ndarray, np.ndarray] | None:
        """`numbers`; and where every number became `*`, those of the original beside none."""
        if self.numbers is not None or not all_stars(self.released):
            return self.numbers
        before = plain_numbers(self.original)
        return None if before is None else (before, np.full(len(self.released.values), np.nan))

    @cached_property
    def lost(self) -> np.ndarray:
        """Which entries say nothing any more: `*`, and labels that stand for every value there was."""
        level, label = self.place
        out = self.stars.copy()
        there = ~self.original.values.is_null().to_numpy(zero_copy_only=False)
        for number, one in enumerate(self.levels):
            under = np.bincount(one.table[there], minlength=len(one.labels))
            here = np.flatnonzero((level == number) & ~self.stars)
            out[here] = (under[label[here]] == there.sum()) & (there.sum() > 1)
        if self.reach is not None:
            out[self.reach.labels] = (self.reach.under(there) == there.sum()) & (there.sum() > 1)
        return out

    @cached_property
    def reach(self) -> LabelReach | None:
        """What those labels name that the hierarchy does not have; None where one names nothing, or numbers became numbers."""
        asked = ~self.known & (self.released.counts > 0)
        return LabelReach.of(self.original, self.released, asked) if asked.any() and self.numbers is None else None

    @property
    def spreads(self) -> bool:
        """Whether it is known of every label which original values it stands for, so that rows can be spread over these."""
        return (self.hierarchy is not None and bool(self.known.all())) or self.reach is not None

    @property
    def lost_share(self) -> float:
        """The part of the released values that say nothing any more."""
        counts = self.released.counts
        return float(counts[self.lost].sum() / max(1, counts.sum()))

    @cached_property
    def known(self) -> np.ndarray:
        """Which entries are explained by the hierarchy (or are values of the original column)."""
        return self.place[0] >= 0

    @property
    def relative_level(self) -> np.ndarray:
        """The level of each entry over the height of the hierarchy: 0 the value itself, 1 `*`, NaN not known."""
        level, _ = self.place
        return np.where(level >= 0, level / self.height, np.nan)

    @cached_property
    def share(self) -> np.ndarray:
        """The part of the original domain that each entry may stand for: 0 one value, 1 everything, NaN not known."""
        level, _ = self.place
        out = np.where(level >= 0, self._from_levels(map(attrgetter("share"), self.levels), 1.0), np.nan)
        plain = (level <= 0) & ~self.stars
        if self.behind is not None:
            return np.where(plain, _spread(self.behind, self.original), out)
        if self.reach is not None:
            out[self.reach.labels] = _named(self.reach, self.original)
        return out

    @cached_property
    def weight(self) -> np.ndarray:
        """How many original records hold a value that each entry may stand for; NaN not known."""
        counts = self.original.counts
        under = [np.bincount(level.table, weights=counts, minlength=len(level.labels)) for level in self.levels]
        out = np.where(self.known, self._from_levels(under, float(counts.sum())), np.nan)
        if self.behind is None:
            if self.reach is not None:
                out[self.reach.labels] = self.reach.under(counts)
            return out
        behind = np.add.reduceat(counts[self.behind.codes], self.behind.starts[:-1])
        return np.asarray(np.where((self.place[0] <= 0) & ~self.stars, behind, out))

    def _from_levels(self, values: Iterable[np.ndarray], star: float) -> np.ndarray:
        """For each entry the number that its level has for its label."""
        level, label = self.place
        out = np.full(level.size, star)
        for number, value in enumerate(values):
            here = (level == number) & ~self.stars
            out[here] = value[label[here]]
        return out

    def leaves(self) -> np.ndarray:
        """The released rows that still say something, spread evenly over the original values that they may stand for; the
        column must be one that `spreads`."""
        level, label = self.place
        counts = self.released.counts
        out = np.zeros(len(self.original.values))
        for number, one in enumerate(self.levels):
            here = (level == number) & ~self.lost
            rows = np.bincount(label[here], weights=counts[here], minlength=len(one.labels))
            out += (rows / np.bincount(one.table, minlength=len(one.labels)).clip(1))[one.table]
        if self.reach is not None:
            out += self.reach.spread(np.where(self.lost, 0, counts)[self.reach.labels])
        return out


def _recoded(became: np.ndarray, counts: np.ndarray, width: int) -> Tally:
    """What stands behind each released code where every original code became one and the same everywhere. O(dictionary)."""
    codes = np.flatnonzero(counts)
    codes = codes[np.argsort(became[codes], kind="stable")]
    starts = np.append(0, np.cumsum(np.bincount(became[codes], minlength=width)))
    return Tally(codes, counts[codes], starts, counts)


def _ground(values: pa.Array) -> Level:
    """Level 0: the values themselves."""
    return Level(values, np.arange(len(values)), np.zeros(len(values)))


def positions(asked: pa.Array, among: pa.Array) -> np.ndarray:
    """For each of different texts its first place among others, −1 where it has none. The shorter list is put into a table.

    >>> positions(pa.array(["b", None, "z"]), pa.array(["a", "b", None, "b"]))
    array([ 1,  2, -1])
    """
    if 4 * len(asked) > len(among):
        found = pc.index_in(asked, value_set=among).fill_null(-1)
        return np.asarray(found.to_numpy(zero_copy_only=False).astype(np.int64))
    back = pc.index_in(among, value_set=asked).fill_null(-1).to_numpy(zero_copy_only=False)
    there = np.flatnonzero(back >= 0)[::-1]  # the first place is written last
    out = np.full(len(asked), -1)
    out[back[there]] = there
    return out


def _named(reach: LabelReach, original: Column) -> np.ndarray:
    """How much of the domain each label names."""
    numbers = plain_numbers(original) if original.kind.numeric else None
    if numbers is None:
        entries = reach.under(np.ones(len(original.values)))
        return np.where(entries > 1, entries / len(original.values), 0.0)
    low, high = reach.ends(numbers)
    return np.asarray((high - low) / (np.nanmax(numbers) - np.nanmin(numbers) or 1.0))


def _spread(behind: Tally, original: Column) -> np.ndarray:
    """How much of the domain lies behind each entry: the range of numbers, or the number of different categories."""
    starts = behind.starts[:-1]
    numbers = plain_numbers(original)
    if numbers is None:
        return np.asarray(np.where(behind.distinct > 1, behind.distinct / len(original.values), 0.0))
    width = np.nanmax(numbers) - np.nanmin(numbers)
    values = numbers[behind.codes]
    high = np.maximum.reduceat(np.where(np.isnan(values), -np.inf, values), starts)
    low = np.minimum.reduceat(np.where(np.isnan(values), np.inf, values), starts)
    return np.asarray(np.where(high >= low, high - low, 0.0) / (width or 1.0))
