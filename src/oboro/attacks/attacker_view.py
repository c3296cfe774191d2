"""The attacker's comparison of known people with released records, column by column and class by class."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oboro.attacks import kernels
from oboro.attacks.kernels import FITS, NUMBER, SPAN
from oboro.data.column import Column, large_zeros
from oboro.data.dataset import Dataset
from oboro.data.grouping import Groups, Tally, clean
from oboro.data.row_order import Rows
from oboro.hierarchies.hierarchy import Hierarchy, text_array
from oboro.hierarchies.labels import is_star, plain_numbers
from oboro.hierarchies.recoding import RecodedColumn, possible_values
from oboro.kernels.grouping import occurrences
from oboro.notations.kinds import Kind

__all__ = [
    "AttackerView",
    "ColumnComparison",
    "Descriptions",
    "KnownPeople",
    "ReleasedClasses",
    "compare_columns",
    "tables",
]


# Comparison of columns ------------------------------------------------------------------------------------------------
# One column as an attacker compares it: a position for each original value, a set of possible values for each released
# one.
#
# `31–38`, `{F, M}`, `*` and labels of a hierarchy are compared by what they mean. A label without an explanation
# represents the original values that became it, if it is known which records did and there are several, and so does a
# number to which numbers were rounded. Otherwise (a pseudonym represents one value) it matches no person, so that an
# attack never succeeds by misunderstanding.


LARGEST_TABLE = 20_000_000  # bytes of "fits or not" for one column with sets of values
LEAST_DIGITS = 5
NOBODY = (9.0, 9.0)  # a range far from everybody: places lie between 0 and 1


@dataclass(frozen=True, eq=False)
class ColumnComparison:
    """One column: a place for each original entry, a range (or a set) for each released entry."""

    kind: int
    places: np.ndarray
    low: np.ndarray
    high: np.ndarray
    fits: np.ndarray = field(default_factory=lambda: np.empty((0, 0), np.uint8))  # ranks × released entries, for sets
    scale: tuple[float, float] = (0.0, 1.0)

    @property
    def nobody(self) -> np.ndarray:
        """Which released entries fit nobody, because nothing explains them."""
        if self.kind == FITS:
            return np.asarray(~(self.fits != 0).any(axis=0))
        return np.asarray(self.low > self.high if self.kind == SPAN else self.low == NOBODY[0])

    def place(self, column: Column, original: Column) -> np.ndarray:
        """Where the values of another table (a control group) stand, entry by entry."""
        if self.kind == NUMBER:
            numbers = plain_numbers(column)
            low, width = self.scale
            return np.full(len(column.values), np.nan) if numbers is None else np.asarray((numbers - low) / width)
        found = pc.index_in(text_array(column.values), value_set=text_array(original.values)).fill_null(-1)
        index = found.to_numpy(zero_copy_only=False)
        unknown = self.fits.shape[0] - 1 if self.kind == FITS else -1.0  # a value nobody else has
        return np.asarray(np.where(index < 0, unknown, self.places[np.maximum(index, 0)]))


def compare_columns(
    original: Column, released: Column, hierarchy: Hierarchy | None, rows: Rows | None = None
) -> ColumnComparison:
    """Compare the values of one column; `rows`: the original row of each released one, if known.

    O(both dictionaries), with a logarithm where values are put in order; O(rows) where labels are explained by `rows`.
    """
    recoded = RecodedColumn.of(original, released, hierarchy, rows)
    strange = ~recoded.known & ~recoded.stars
    small = len(original.values) * len(released.values) <= LARGEST_TABLE
    codes = _codes(recoded.original) and (not strange.any() or (small and recoded.numbers is None))
    if (numbers := plain_numbers(recoded.original)) is not None and not codes:
        return _ranges(numbers, recoded) if recoded.numbers is None else _points(*recoded.numbers, recoded)
    return _sets(recoded) if strange.any() and small else _spans(recoded)


def _codes(column: Column) -> bool:
    """Whether whole numbers all have the same five digits or more, as postcodes do: the next one is another, not a near one."""
    if column.kind is not Kind.INTEGER:
        return False
    lengths = pc.min_max(pc.utf8_length(text_array(column.values)))
    return bool(lengths["min"].as_py() == lengths["max"].as_py() >= LEAST_DIGITS)


def _scaled(numbers: np.ndarray) -> tuple[float, float]:
    low, high = float(np.nanmin(numbers)), float(np.nanmax(numbers))
    return low, high - low or 1.0


def _points(before: np.ndarray, after: np.ndarray, recoded: RecodedColumn) -> ColumnComparison:
    """Numbers that are numbers in the release too; where each was rounded to one, that stands for all it was made of."""
    low, width = _scaled(before)
    places, line = (before - low) / width, (after - low) / width
    first, last = line.copy(), line.copy()
    fewer = after.size < before.size
    if fewer and recoded.behind is not None and np.unique(recoded.behind.codes).size == recoded.behind.codes.size:
        _from_behind(recoded.behind, places, ~np.isnan(line), first, last)
    ends = np.where(recoded.stars, -np.inf, first), np.where(recoded.stars, np.inf, last)
    return ColumnComparison(NUMBER, places, *ends, scale=(low, width))


def _from_behind(behind: Tally, places: np.ndarray, asked: np.ndarray, first: np.ndarray, last: np.ndarray) -> None:
    """Let the entries `asked` for reach from the least to the greatest place behind them, if there are several."""
    under, starts = places[behind.codes], behind.starts[:-1]
    several = asked & (np.add.reduceat(~np.isnan(under), starts, dtype=np.int64) > 1)
    first[several] = np.fmin.reduceat(under, starts)[several]
    last[several] = np.fmax.reduceat(under, starts)[several]


def _ranges(numbers: np.ndarray, recoded: RecodedColumn) -> ColumnComparison:
    """Numbers that were generalized: a label possible from the least to the greatest number under it."""
    low, width = _scaled(numbers)
    line = (numbers - low) / width
    first, last = _ends(recoded, line, NOBODY)
    strange = np.flatnonzero(~recoded.known & ~recoded.stars)
    if strange.size:
        labels = Column(recoded.released.values.take(pa.array(strange)), np.arange(strange.size))
        first[strange], last[strange] = _understood(recoded.original, labels, np.unique(line[~np.isnan(line)]))
        nobody = first == NOBODY[0]
        if nobody.any() and recoded.behind is not None:
            _from_behind(recoded.behind, line, nobody, first, last)
    ends = np.where(recoded.stars, -np.inf, first), np.where(recoded.stars, np.inf, last)
    return ColumnComparison(NUMBER, line, *ends, scale=(low, width))


def _understood(original: Column, labels: Column, line: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What labels that no hierarchy has say of themselves (`31–38`); the last rank is the missing value."""
    found = possible_values(original, labels)
    ends = np.append(line, np.nan)
    first, last = (ends[np.clip(side, 0, line.size)] for side in (found.low, found.high))
    last = np.where(np.isnan(last) & ~np.isnan(first), line[-1], last)
    nobody = found.low > found.high
    return np.where(nobody, NOBODY[0], first), np.where(nobody, NOBODY[1], last)


def _spans(recoded: RecodedColumn) -> ColumnComparison:
    """Categories in the order of their hierarchy, where every label possible from one rank to another."""
    values = len(recoded.original.values)
    order = np.lexsort([level.table for level in recoded.levels[1:]]) if len(recoded.levels) > 1 else np.arange(values)
    ranks = np.empty(values)
    ranks[order] = np.arange(values)
    first, last = _ends(recoded, ranks, (-3.0, -4.0))
    first[recoded.stars], last[recoded.stars] = -1.0, values - 1.0  # also a value that nobody of the original has
    return ColumnComparison(SPAN, ranks, first, last)


def _ends(recoded: RecodedColumn, places: np.ndarray, nobody: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """For each released entry the least and the greatest place under it, on the lowest level that has it; NaN: missing."""
    level, label = recoded.place
    out = np.full(level.size, nobody[0]), np.full(level.size, nobody[1])
    for number, one in enumerate(recoded.levels):
        here = np.flatnonzero((level == number) & ~recoded.stars)
        if not here.size:
            continue
        for side, ufunc, start in zip(out, (np.fmin, np.fmax), (np.inf, -np.inf), strict=True):
            most = np.full(len(one.labels), start)
            ufunc.at(most, one.table, places)
            side[here] = np.where(np.isinf(most), np.nan, most)[label[here]]
    return out


def _sets(recoded: RecodedColumn) -> ColumnComparison:
    """Categories among which sets are released: a table says which value fits which entry."""
    original, released = recoded.original, recoded.released
    found = possible_values(original, released, recoded.hierarchy)
    ranks = np.empty(len(original.values), np.int64)
    ranks[original.codes] = found.ranks
    width = int(ranks.max(initial=-1)) + 1
    every = np.arange(width)[:, None]
    fits = (every >= found.low) & (every <= found.high)
    for entry in np.flatnonzero(found.row >= 0):
        words = found.bits[found.row[entry] + np.arange(width) // 64]
        fits[:, entry] &= (words >> (np.arange(width) % 64).astype(np.uint64)) & np.uint64(1) != 0
    nobody = ~fits.any(axis=0)
    if nobody.any() and recoded.behind is not None:
        several = nobody & (recoded.behind.distinct > 1)
        label = np.repeat(np.arange(several.size), recoded.behind.distinct)
        edge = several[label]
        fits[ranks[recoded.behind.codes[edge]], label[edge]] = True
    size = np.maximum(1, fits.sum(axis=0))
    fits = np.vstack([fits, is_star(released)[None, :]])  # one more rank: a value that the original does not have
    return ColumnComparison(FITS, ranks.astype(np.float64), 1.0 / size, 1.0 / size, fits.astype(np.uint8))


# Known people ---------------------------------------------------------------------------------------------------------
# The people whom an attacker knows, and the number of them who match a description, over the whole table.
#
# A part of the table cannot show that exactly one person matches a description: a person who is unique there may have
# doubles elsewhere. So all people are included; but only those are compared who match the rarest word of the
# description.


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
    """Some columns of people as codes, and the position of each code. 4 bytes for each cell."""

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
        """Test the n-th of these people against the n-th description. O(people · columns)."""
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


# Attacker view --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ReleasedClasses:
    """Released records that look alike in some columns, one row for each class that is searched, ready for the kernels.

    A word is something that a class says in a column. 4 bytes for each class and column, 20 for each word.
    """

    groups: Groups
    words: np.ndarray  # classes × columns, by the word of column `lead`, which has the most
    order: np.ndarray  # which class each row of `words` is
    lead: int
    starts: np.ndarray  # where the rows of each word of `lead` start, one more entry at the end
    low: np.ndarray
    high: np.ndarray
    entries: np.ndarray
    bases: np.ndarray  # where the words of each column start, one more entry at the end

    @staticmethod
    def of(
        groups: Groups, numbers: np.ndarray, comparisons: Sequence[ColumnComparison], said: np.ndarray
    ) -> ReleasedClasses:
        """The classes with these numbers; `said`: what each says, an entry of each column. O(classes · log classes · columns)."""
        present, places = zip(*(np.unique(column, return_inverse=True) for column in said.T), strict=True)
        bases = np.append(0, np.cumsum([entries.size for entries in present])).astype(np.int64)
        words = np.column_stack([base + place for base, place in zip(bases, places, strict=False)]).astype(np.int32)
        lead = int(np.diff(bases).argmax())
        order = np.argsort(words[:, lead], kind="stable")
        starts = np.append(0, np.cumsum(np.bincount(places[lead], minlength=present[lead].size)))
        low, high = (
            np.concatenate(
                [getattr(comparison, end)[entries] for comparison, entries in zip(comparisons, present, strict=True)]
            )
            for end in ("low", "high")
        )
        entries = np.concatenate(present).astype(np.int32)  # one type, so that the kernel is compiled once
        return ReleasedClasses(groups, words[order], numbers[order], lead, starts, low, high, entries, bases)

    def __len__(self) -> int:
        return int(self.order.size)

    def members(self, chosen: np.ndarray, number: np.ndarray) -> np.ndarray:
        """The row that is the n-th member (from 0) of each chosen class."""
        return _members(self.groups, chosen, number)


@dataclass(frozen=True, eq=False)
class AttackerView:
    """Some columns of both tables."""

    names: tuple[str, ...]
    comparisons: tuple[ColumnComparison, ...]
    original: Dataset
    released: Dataset

    @staticmethod
    def of(
        original: Dataset,
        released: Dataset,
        names: Sequence[str],
        hierarchies: Mapping[str, Hierarchy] | None = None,
        rows: Rows | None = None,
        explained: Collection[str] = (),
    ) -> AttackerView:
        """Compare the columns one by one; dictionaries are made tidy first.

        Labels of the `explained` columns that nothing else explains are by `rows`: the original row of each released one.
        """
        first, second = (
            Dataset({name: clean(table[name]) for name in names}, table.rows) for table in (original, released)
        )
        known = hierarchies or {}
        comparisons = tuple(
            compare_columns(first[name], second[name], known.get(name), rows if name in explained else None)
            for name in names
        )
        return AttackerView(tuple(names), comparisons, first, second)

    def select(self, names: Sequence[str]) -> AttackerView:
        """Fewer columns."""
        comparisons = tuple(self.comparisons[self.names.index(name)] for name in names)
        return AttackerView(
            tuple(names), comparisons, self.original.select(list(names)), self.released.select(list(names))
        )

    def at(self, names: Sequence[str]) -> np.ndarray:
        """The positions of columns."""
        return np.array([self.names.index(name) for name in names])

    @cached_property
    def people(self) -> KnownPeople:
        """Everybody of the original."""
        return KnownPeople.of(self.comparisons, self.original, self.names, [one.places for one in self.comparisons])

    def others(self, table: Dataset) -> KnownPeople:
        """The people of another table: a control group."""
        pairs = zip(self.names, self.comparisons, strict=True)
        return KnownPeople.of(
            self.comparisons, table, self.names, [one.place(table[name], self.original[name]) for name, one in pairs]
        )

    def records(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Low, high and entry of some released records, records × columns."""
        codes = [self.released[name].codes[rows] for name in self.names]
        low, high = (
            np.column_stack([getattr(one, end)[code] for one, code in zip(self.comparisons, codes, strict=True)])
            for end in ("low", "high")
        )
        return low, high, np.column_stack(codes).astype(np.int32)

    def classes(self, rows: np.ndarray | None = None, most: int = 0) -> ReleasedClasses:
        """The released records grouped over these columns; of more than `most` groups only those of `rows` are searched."""
        groups = Groups.of([self.released[name] for name in self.names], self.released.rows)
        numbers = np.arange(len(groups))
        if rows is not None and len(groups) > most:
            numbers = np.unique(groups.labels[rows]).astype(np.int64)
        firsts = _members(groups, numbers, np.zeros(numbers.size, np.int64))
        said = np.column_stack([self.released[name].codes[firsts] for name in self.names])
        return ReleasedClasses.of(groups, numbers, self.comparisons, said)

    def nearest(
        self, places: np.ndarray, classes: ReleasedClasses, own: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """For each person the nearest class, without one record of class `own` (−1: none); −1 where none is left."""
        out = np.empty(len(places), np.int64)
        self._search(places, classes, own, rng, out)
        return out

    def effort(self, places: np.ndarray, classes: ReleasedClasses, rng: np.random.Generator) -> float:
        """Average number of words compared for one of these people."""
        out = np.empty(len(places), np.int64)
        return self._search(places, classes, np.full(len(places), -1), rng, out) / max(1, len(places))

    def _search(
        self, places: np.ndarray, classes: ReleasedClasses, own: np.ndarray, rng: np.random.Generator, out: np.ndarray
    ) -> int:
        found = kernels.nearest(
            np.array([one.kind for one in self.comparisons], np.int64),
            places,
            classes.words,
            classes.order,
            classes.lead,
            classes.starts,
            classes.low,
            classes.high,
            classes.entries,
            classes.bases,
            *tables(self.comparisons),
            classes.groups.sizes,
            own,
            rng.integers(1, 2**63, len(places), dtype=np.uint64),
            out,
        )
        return int(found)


def _members(groups: Groups, chosen: np.ndarray, number: np.ndarray) -> np.ndarray:
    """The row that is the n-th member (from 0) of each chosen group. O(rows), without putting them in order."""
    order = np.lexsort((number, chosen))
    ends = np.cumsum(np.bincount(chosen, minlength=len(groups)))
    found = np.empty(chosen.size, np.int64)
    kernels.members(groups.labels, number[order], np.append(0, ends[:-1]), ends, found)
    out = np.empty_like(found)
    out[order] = found
    return out
