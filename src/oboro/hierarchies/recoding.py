"""Recoding of one column: hierarchy level of each released value, and the part of the original domain that it covers.

- `*` covers everything.
- A label of the column's hierarchy covers the leaves under it.
- A plain value, or a label that no hierarchy explains, covers the original values behind it, if it is known which
  released record was made from which original one; otherwise a plain value covers itself, and a label what it names by
  itself (`31–38`), if every such label of the column names something.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter

import numpy as np
import pyarrow as pa

from oboro._lazy import pc
from oboro.data.column import Column
from oboro.data.grouping import Tally, clean, tally
from oboro.data.row_order import Rows
from oboro.hierarchies.hierarchy import Hierarchy, Level, text_array
from oboro.hierarchies.labels import (
    LabelRange,
    all_stars,
    beginning_with,
    end_moment,
    end_number,
    is_star,
    label_range,
    listed_values,
    masked_values,
    plain_numbers,
    set_values,
    without_star,
)
from oboro.kernels import grouping
from oboro.notations.kinds import STAR, Kind, kind_of

__all__ = ["LabelReach", "PossibleValues", "RecodedColumn", "implied_hierarchy", "positions", "possible_values"]


# Possible values ------------------------------------------------------------------------------------------------------
# Original values that fit each released value, by its label alone and not by the origin of records. This is the
# relation between people and records that any release leaves open, a non-homogeneous one too.
#
# - `*` may be anything, a missing value included.
# - A text that is also an original value is that value only.
# - A label of the column's hierarchy is any leaf under it.
# - `31–38`, `[10, 20[`, `<20`, `35+`, `{F, M}`, `130**` and other labels that `labels` can parse are one of the values
#   that they name.
# - Any other label fits no value: a label that cannot be parsed must not count as protection.


ONE_DATE = re.compile(r"^\d{4}(-\d{2}(-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?)?)?)?$")
ONE_NUMBER = re.compile(r"^[-+]?\d+(\.\d+)?$")


@dataclass(frozen=True, eq=False)
class PossibleValues:
    """One attribute: originals have ranks; each released dictionary entry reaches the ranks from `low` to `high`, of
    which only those with a bit where `row` says so (−1: all of them). `low > high` reaches nobody."""

    ranks: np.ndarray  # per original row
    low: np.ndarray  # per entry of the released dictionary
    high: np.ndarray
    row: np.ndarray
    bits: np.ndarray

    @property
    def width(self) -> int:
        """Number of ranks."""
        return int(self.ranks.max(initial=-1)) + 1

    def reaches(self, label: int) -> np.ndarray:
        """Return a mask of the ranks that one entry reaches."""
        ranks = np.arange(self.width)
        found = (ranks >= self.low[label]) & (ranks <= self.high[label])
        if self.row[label] >= 0:
            words = self.bits[self.row[label] + ranks // 64]
            found &= (words >> (ranks % 64).astype(np.uint64)) & np.uint64(1) > 0
        return np.asarray(found)

    @staticmethod
    def of(ranks: np.ndarray, width: int, reached: Iterable[tuple[int, int] | np.ndarray]) -> PossibleValues:
        """From one (lowest, highest) pair or one array of ranks for each released entry: any relation at all."""
        words, used = -(-max(1, width) // 64), 0
        ends, row, bits = [], [], [np.zeros(0, dtype=np.uint64)]
        for one in reached:
            table = None if isinstance(one, tuple) else _some(one, words)
            ends.append(one if isinstance(one, tuple) else _ends(one))
            row.append(-1 if table is None else used)
            if table is not None:
                bits.append(table)
                used += words
        low, high = np.array(ends, dtype=np.int32).reshape(-1, 2).T
        return PossibleValues(ranks.astype(np.int32), low, high, np.array(row, dtype=np.int64), np.concatenate(bits))


def _ends(ranks: np.ndarray) -> tuple[int, int]:
    return (int(ranks.min()), int(ranks.max())) if ranks.size else (1, 0)


def _some(ranks: np.ndarray, words: int) -> np.ndarray | None:
    """One bit for each rank, or None where they are all that lies between the first and the last."""
    first, last = _ends(ranks)
    if np.unique(ranks).size == last - first + 1:
        return None
    table = np.zeros(words, dtype=np.uint64)
    np.bitwise_or.at(table, ranks // 64, np.uint64(1) << (ranks % 64).astype(np.uint64))
    return table


def possible_values(original: Column, released: Column, hierarchy: Hierarchy | None = None) -> PossibleValues:
    """Find the original values that each released value of a column may stand for. O(both dictionaries · log)."""
    order = _Order(original)
    tree = _leaves(original, hierarchy, order.rank) if hierarchy is not None else {}
    stars = is_star(released)
    found: list[tuple[int, int] | np.ndarray] = []
    for text, star in zip(released.texts, stars, strict=True):
        if star:
            found.append((0, order.width - 1))
        elif text in order.by_text:
            found.append((order.by_text[text], order.by_text[text]))
        elif text in tree:
            found.append(tree[text])
        else:
            found.append(order.between(text))
    return PossibleValues.of(order.rank[original.codes], order.width, found)


class _Order:
    """The original values in order: numbers by size, text as text, missing last; equal numbers have one rank."""

    def __init__(self, column: Column) -> None:
        texts = column.texts
        self.numbers: np.ndarray | None = None
        if column.kind.numeric:
            numbers = column.numbers()
            self.numbers, self.rank = np.unique(numbers, return_inverse=True)
            if np.isnan(numbers).any():
                self.numbers = self.numbers[: np.count_nonzero(~np.isnan(self.numbers))]
                self.rank = np.minimum(self.rank, self.numbers.size)
        else:
            keys = sorted(set(texts), key=lambda text: (text is None, text or ""))
            places = {text: place for place, text in enumerate(keys)}
            self.rank = np.array([places[text] for text in texts], dtype=np.int64)
            self.numbers = _as_numbers(keys)
        self.width = int(self.rank.max(initial=-1)) + 1
        self.by_text: dict[str | None, int] = dict(zip(texts, self.rank.tolist(), strict=True))
        self.kind = column.kind

    @cached_property
    def _sorted(self) -> tuple[list[str], np.ndarray]:
        """The values as text, in the order of text, and the rank of each."""
        texts = sorted(text for text in self.by_text if text is not None)
        return texts, np.array([self.by_text[text] for text in texts], dtype=np.int64)

    def between(self, text: str | None) -> tuple[int, int] | np.ndarray:
        """Return the ranks that a range, a set or a mask reaches; none for any other label."""
        nobody = (1, 0)
        if text is None:
            return nobody
        if self.numbers is not None and self.kind in (Kind.INTEGER, Kind.NUMBER) and ONE_NUMBER.match(text):
            return self._ranks(LabelRange(text, text))  # the same number, written otherwise: 25.0
        if len(places := self._hidden(text)):
            return self._sorted[1][np.array(places, dtype=np.int64)]
        if self.kind in (Kind.DATE, Kind.DATETIME) and ONE_DATE.match(text):
            return self._ranks(LabelRange(text, text))  # the same day, written otherwise, or all of a month or a year
        if self.kind.numeric and (ends := self._own_ends(text)) is not None:
            return ends
        if self.numbers is not None and (named := label_range(text)) is not None:
            return self._ranks(named)
        for names, surely in self._sets(text):
            found = [self.by_text[one] for one in names if one in self.by_text]
            if found and (surely or len(found) == len(names)):
                return np.array(found, dtype=np.int64)
        return nobody

    def _own_ends(self, text: str) -> tuple[int, int] | None:
        """From one value of the column to another, which mean what they mean there: `€1.234 to €7,50`."""
        for mark in (" to ", "–", "〜"):
            first, _, last = text.partition(mark)
            if first in self.by_text and last in self.by_text:
                return self.by_text[first], self.by_text[last]
        return None

    def _hidden(self, text: str) -> Sequence[int]:
        """The values, by their places in order, of which a part is hidden or cut off: a mask, a shorter code, a month."""
        if "*" in text or "＊" in text:
            return masked_values(text, self._sorted[0])
        return () if self.kind in (Kind.INTEGER, Kind.NUMBER) else beginning_with(text, self._sorted[0])

    def _sets(self, text: str) -> Iterator[tuple[list[str], bool]]:
        if text.startswith("{") and text.endswith("}") and (names := set_values(text[1:-1])):
            yield names, True
        yield from listed_values(text)

    def _ranks(self, named: LabelRange) -> tuple[int, int]:
        assert self.numbers is not None
        low = -np.inf if named.first is None else self._place(named.first, last=named.after)
        high = np.inf if named.last is None else self._place(named.last, last=not named.before)
        if np.isnan(low) or np.isnan(high):
            return (1, 0)
        least = int(np.searchsorted(self.numbers, low, "right" if named.after else "left"))
        most = int(np.searchsorted(self.numbers, high, "left" if named.before else "right"))
        return (least, most - 1) if most > least else (1, 0)

    def _place(self, end: str, last: bool) -> float:
        """The end of a range as a number; NaN where it is none."""
        return end_moment(end, self.kind, last) if self.kind in (Kind.DATE, Kind.DATETIME) else end_number(end)


def _as_numbers(keys: list[str | None]) -> np.ndarray | None:
    """Codes of equally many digits, in order, as numbers: `02138` lies between `01000` and `03000`; None for other text."""
    codes = [key for key in keys if key is not None]
    alike = codes and codes[0].isdecimal() and all(len(key) == len(codes[0]) and key.isdecimal() for key in codes)
    return np.array([float(key) for key in codes]) if alike else None


def _leaves(original: Column, hierarchy: Hierarchy, rank: np.ndarray) -> dict[str | None, np.ndarray]:
    """For each label the ranks under it, on the lowest level that has the label."""
    out: dict[str | None, np.ndarray] = {}
    for level in hierarchy.bind(original).levels[1:]:
        labels = Column(level.labels, level.table).texts
        order = np.argsort(level.table, kind="stable")
        parts = np.split(rank[order], np.cumsum(np.bincount(level.table, minlength=len(labels)))[:-1])
        for label, part in zip(labels, parts, strict=True):
            out.setdefault(label, part)
    return out


# Values named by labels -----------------------------------------------------------------------------------------------
# Original values that labels name by themselves: `31–38`, `1950-03-30 to 1976-01-22`, `130**`. This explains columns
# that no hierarchy explains, because every class has its own ranges.


@dataclass(frozen=True, eq=False)
class LabelReach:
    """The labels of a released dictionary that are asked about, and the entries of the original one that each names."""

    labels: np.ndarray  # their places in the released dictionary
    found: PossibleValues  # of each entry of the released dictionary, ranks of entries of the original one

    @staticmethod
    def of(original: Column, released: Column, asked: np.ndarray) -> LabelReach | None:
        """Return the values that `asked` labels name; None if there are none, too many, or one names nothing. O(labels · log)."""
        labels = np.flatnonzero(asked)
        if not 0 < labels.size <= MOST_LABELS:
            return None
        entries = Column(original.values, np.arange(len(original.values), dtype=np.uint32))
        some = Column(released.values.take(labels), np.arange(labels.size, dtype=np.uint32))
        reach = LabelReach(labels, possible_values(entries, some))
        return reach if (reach.found.low <= reach.found.high).all() else None

    def under(self, weights: np.ndarray) -> np.ndarray:
        """For each label the sum over the original entries that it names."""
        by_rank = np.bincount(self.found.ranks, weights=weights, minlength=self.found.width)
        sums = np.append(0.0, np.cumsum(by_rank))
        out = np.asarray(sums[self.found.high + 1] - sums[self.found.low])
        for one in self._scattered:
            out[one] = by_rank[self.found.reaches(one)].sum()
        return out

    def spread(self, counts: np.ndarray) -> np.ndarray:
        """The rows of each label, spread evenly over the original entries that it names."""
        share = counts / self.under(np.ones(self.found.ranks.size))
        whole = np.ones(share.size, dtype=bool)
        whole[self._scattered] = False
        steps = np.zeros(self.found.width + 1)
        np.add.at(steps, self.found.low[whole], share[whole])
        np.add.at(steps, self.found.high[whole] + 1, -share[whole])
        by_rank = np.cumsum(steps)[:-1]
        for one in self._scattered:
            by_rank[self.found.reaches(one)] += share[one]
        return np.asarray(by_rank[self.found.ranks])

    def ends(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For each label the least and the greatest of the numbers that it names, which are ranked by size."""
        low, high = np.full(self.found.width, np.inf), np.full(self.found.width, -np.inf)
        there = ~np.isnan(numbers)
        np.minimum.at(low, self.found.ranks[there], numbers[there])
        np.maximum.at(high, self.found.ranks[there], numbers[there])
        return low[self.found.low], high[self.found.high]

    @property
    def _scattered(self) -> np.ndarray:
        """Labels that do not name all that lies between their first value and their last."""
        return np.flatnonzero(self.found.row >= 0)


# Recoded column -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RecodedColumn:
    """One column of the original and the release. Everything here is per dictionary entry of the released column, never per row."""

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
        """Original codes behind each released code, with frequencies; None where rows are not paired. O(rows)."""
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
        """Mask of the entries that are `*`."""
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
        """Mask of the entries without information: `*`, and labels that stand for every original value."""
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
        """Values named by labels that the hierarchy lacks; None if one names nothing, or numbers became numbers."""
        asked = ~self.known & (self.released.counts > 0)
        return LabelReach.of(self.original, self.released, asked) if asked.any() and self.numbers is None else None

    @property
    def spreads(self) -> bool:
        """True if it is known of every label which original values it stands for, so that rows can be spread over these."""
        return (self.hierarchy is not None and bool(self.known.all())) or self.reach is not None

    @property
    def lost_share(self) -> float:
        """Return the part of the released values without information."""
        counts = self.released.counts
        return float(counts[self.lost].sum() / max(1, counts.sum()))

    @cached_property
    def known(self) -> np.ndarray:
        """Mask of the entries that the hierarchy explains (or that are values of the original column)."""
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
        """Number of original records with a value that each entry may stand for; NaN if not known."""
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
        """Return the released rows with information, spread evenly over the original values that they may stand for; the
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
    """Return the original codes behind each released code, under global recoding. O(dictionary)."""
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
    """Return the part of the domain that each label names."""
    numbers = plain_numbers(original) if original.kind.numeric else None
    if numbers is None:
        entries = reach.under(np.ones(len(original.values)))
        return np.where(entries > 1, entries / len(original.values), 0.0)
    low, high = reach.ends(numbers)
    return np.asarray((high - low) / (np.nanmax(numbers) - np.nanmin(numbers) or 1.0))


def _spread(behind: Tally, original: Column) -> np.ndarray:
    """Return the part of the domain behind each entry: the range of numbers, or the number of different categories."""
    starts = behind.starts[:-1]
    numbers = plain_numbers(original)
    if numbers is None:
        return np.asarray(np.where(behind.distinct > 1, behind.distinct / len(original.values), 0.0))
    width = np.nanmax(numbers) - np.nanmin(numbers)
    values = numbers[behind.codes]
    high = np.maximum.reduceat(np.where(np.isnan(values), -np.inf, values), starts)
    low = np.minimum.reduceat(np.where(np.isnan(values), np.inf, values), starts)
    return np.asarray(np.where(high >= low, high - low, 0.0) / (width or 1.0))


# Implied hierarchy ----------------------------------------------------------------------------------------------------
# The hierarchy of a column, rebuilt from its released labels, for releases of other tools whose hierarchies are not
# available.
#
# A label stands for the values that it names (`[20, 30[`, `130**`), or, where the origin of records is known, for the
# original values that became it. A column with local recoding (`20-35` here, `25-40` there) implies no hierarchy.


MOST_LABELS = 10_000  # of a column with more there is no reading what each one stands for


def implied_hierarchy(name: str, original: Column, released: Column, rows: Rows | None) -> Hierarchy | None:
    """The original values, the released labels over them, `*`; None where labels overlap, or values were only kept or moved.

    `rows`: for each released row the original one, if known. O(labels · values) at worst.
    """
    if len(released.values) > MOST_LABELS:
        return None
    recoded = RecodedColumn.of(original, released, None, rows)
    labels = np.flatnonzero((recoded.released.counts > 0) & ~recoded.stars)
    new = labels[~recoded.known[labels]]
    if not new.size or recoded.numbers is not None:
        return None
    table = np.full(len(recoded.original.values), -1)
    for label, values in zip(labels, _stands_for(recoded, labels), strict=True):
        if (table[values] >= 0).any() or not values.size:
            return None
        table[values] = label
    texts = pa.concat_arrays([text_array(recoded.released.values), pa.array([STAR])])
    table[table < 0] = len(texts) - 1  # these are released nowhere
    level = Level(texts, table, _shares(recoded.original, table, len(texts))).compact()
    values = recoded.original.values
    return Hierarchy(name, (Level.ground(values), level, Level.star(len(values))), source="the released labels")


def _stands_for(recoded: RecodedColumn, labels: np.ndarray) -> list[np.ndarray]:
    """The original dictionary entries that each label names; those behind it where it does not say."""
    originals = Column(recoded.original.values, np.arange(len(recoded.original.values), dtype=np.uint32))
    found = possible_values(originals, recoded.released)
    out = []
    for label in labels:
        named = np.flatnonzero((found.ranks >= found.low[label]) & (found.ranks <= found.high[label]))
        if found.row[label] >= 0:
            ranks = found.ranks[named]
            words = found.bits[found.row[label] + ranks // 64]
            named = named[(words >> (ranks % 64).astype(np.uint64)) & np.uint64(1) != 0]
        if not named.size and recoded.behind is not None:
            named = recoded.behind.codes[recoded.behind.starts[label] : recoded.behind.starts[label + 1]]
        out.append(named)
    return out


def _shares(original: Column, table: np.ndarray, labels: int) -> np.ndarray:
    """The part of the domain under each label: of the range for numbers, of the values for categories; one value: 0."""
    numbers = plain_numbers(original)
    under = np.bincount(table, minlength=labels)
    if numbers is None:
        return np.where(under <= 1, 0.0, under / max(1, table.size))
    there = ~np.isnan(numbers)
    low, high = np.full(labels, np.inf), np.full(labels, -np.inf)
    np.minimum.at(low, table[there], numbers[there])
    np.maximum.at(high, table[there], numbers[there])
    width = float(np.ptp(numbers[there])) or 1.0
    return np.where(high >= low, (high - low) / width, 0.0)
