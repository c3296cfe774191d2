"""One column as an attacker compares it: a place for each original value, what it may stand for for each released one.

`31–38`, `{F, M}`, `*` and labels of a hierarchy are compared by what they mean. A label that nothing explains stands for
the original values that became it, if it is known which records did and there are several, and so does a number to which
numbers were rounded. Otherwise (a pseudonym is one value's) it fits nobody, so that an attack never succeeds by
misunderstanding.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oboro.attacks.comparison.kernels import FITS, NUMBER, SPAN
from oboro.table.dataset import Column
from oboro.table.hierarchy import Hierarchy
from oboro.table.hierarchy.levels import text_array
from oboro.table.labels.possible_values import possible_values
from oboro.table.labels.recoded_column import RecodedColumn
from oboro.table.labels.starred_values import is_star, plain_numbers
from oboro.table.rows.row_origins import Rows
from oboro.table.value_counts import Tally
from oboro.table.values import Kind

__all__ = ["ColumnComparison", "compare_columns"]

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
    """How the values of one column are compared; `rows`: from which original row each released one came, if known.

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
