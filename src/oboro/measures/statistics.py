"""Preservation of statistics: correlations and associations of pairs of columns, before and after.

Cramér's V takes every column as categories: its eleven most common values and the rest; numbers with more values by
tenths of the rows. A missing value is a value like any other; records with `*` in one of the two columns are left out
of V, since suppression takes many columns of a record together. So any two columns can be compared, generalized or not.
Such records carry no information on the pair: their part of the difference is the whole original association.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.frames import Frame
from oboro.data.parameters import Names, at_the_door, named_columns, names_shown
from oboro.data.row_order import Rows, same_rows
from oboro.errors import ColumnError, UsageError
from oboro.hierarchies.hierarchy import Hierarchy
from oboro.hierarchies.labels import all_stars, is_star, plain_numbers
from oboro.hierarchies.recoding import RecodedColumn
from oboro.measures.base import Measure, Z, mean_error
from oboro.measures.divergence import divergences, kullback_leibler
from oboro.measures.learning import learned, propensity_error
from oboro.text import Message

__all__ = [
    "Associations",
    "Pairs",
    "associations",
    "correlation_difference",
    "correlations",
    "differences",
    "fidelity",
    "lost_in",
    "lost_pairs",
    "pairs",
]


# Correlations ---------------------------------------------------------------------------------------------------------
# Correlations before and after.
#
# Records with `*` in one of two columns carry no information on the pair: their part of the difference is the whole
# original correlation, as it is for two columns that were destroyed.


CORRELATION_MEANING = Message("measure.correlation_difference.meaning_of_pair")
CONSTANT = Message("measure.note.constant")


def correlation_difference(original: Dataset, released: Dataset, columns: Sequence[str]) -> list[Measure]:
    """Differences of Pearson's correlation of columns that hold numbers in both tables, or held them and are all `*`: their
    mean, then pair by pair."""
    numeric = [name for name in columns if _comparable(original[name], released[name])]
    if len(numeric) < 2:
        return [_gap(np.nan, np.nan, Message("measure.note.few_number_columns"))]
    upper = np.triu_indices(len(numeric), 1)
    before, after = (_correlations(table, numeric)[:, *upper] for table in (original, released))
    lost = _lost_pairs(released, numeric)[upper]
    now, error_now = (np.where(lost == 1, 0.0, side) for side in after)
    gaps = (1 - lost) * np.abs(before[0] - now) + lost * np.abs(before[0])
    # That the two tables were drawn together only makes it smaller.
    errors = (1 - lost) * np.hypot(before[1], error_now) + lost * before[1]
    known = ~np.isnan(gaps)
    left_out = Message("measure.note.constant_pairs", left_out=int((~known).sum()), pairs=int(gaps.size))
    pairs = [f"{numeric[i]} × {numeric[j]}" for i, j in zip(*upper, strict=True)]
    each = [
        _gap(gap, error, *lost_in(share), pair=pair)
        for gap, error, share, pair in zip(gaps, errors, lost, pairs, strict=True)
    ]
    gap, error = (float(side[known].mean()) if known.any() else np.nan for side in (gaps, errors))
    return [_gap(gap, error, *lost_in(lost.mean()), *([] if known.all() else [left_out])), *each]


def _comparable(original: Column, released: Column) -> bool:
    """Whether both hold numbers, or one did and nothing of it is left."""
    if plain_numbers(original) is None:
        return False
    return plain_numbers(released) is not None or all_stars(released)


def _lost_pairs(data: Dataset, columns: Sequence[str]) -> np.ndarray:
    """For every pair of columns the part of the records that have `*` in one of them."""
    return lost_pairs([is_star(data[name])[data[name].codes] for name in columns])


def lost_pairs(stars: Sequence[np.ndarray]) -> np.ndarray:
    """For every pair of columns, each given by where its `*` are, the part of the records that have one. O(rows · pairs).

    >>> lost_pairs([np.array([True, False]), np.array([False, True]), np.array([False, False])])[0].tolist()
    [0.5, 1.0, 0.5]
    """
    out = np.zeros((len(stars), len(stars)))
    some = [bool(one.any()) for one in stars]
    for i, first in enumerate(stars):
        for j, second in enumerate(stars[: i + 1]):
            if some[i] or some[j]:
                out[i, j] = out[j, i] = (first | second).mean()
    return out


def lost_in(share: float) -> tuple[Message, ...]:
    """How many records say nothing of a pair, where some do not."""
    return (Message("measure.note.lost_pair", share=float(share)),) if share else ()


def _gap(value: float, error: float, *notes: Message, pair: str | None = None) -> Measure:
    means = None if pair is None else CORRELATION_MEANING
    if np.isnan(value):
        return Measure("correlation_difference", None, "lower", 0.0, 2.0, pair, notes or (CONSTANT,), means=means)
    return Measure("correlation_difference", float(value), "lower", 0.0, 2.0, pair, notes, float(error), means)


def correlations(data: Dataset, columns: Sequence[str]) -> np.ndarray:
    """Pearson's correlations over the records that hold both numbers; NaN where one of the columns is constant."""
    return np.asarray(_correlations(data, columns)[0])


def _correlations(data: Dataset, columns: Sequence[str]) -> np.ndarray:
    """The correlations, and half the widths of their 95 % intervals."""
    numbers = []
    for name in columns:
        places = plain_numbers(data[name])
        numbers.append(np.full(data.rows, np.nan) if places is None else places[data[name].codes])
    out = np.stack([np.eye(len(columns)), np.zeros((len(columns), len(columns)))])
    for i in range(len(columns)):
        for j in range(i):
            out[:, i, j] = out[:, j, i] = _pearson(numbers[i], numbers[j])
    return out


def _pearson(first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
    """The correlation r and its error, by what each record weighs in it: xy − r (x² + y²) / 2 of standardized numbers.

    Fisher's (1 − r²) / √n is the same for normal numbers, and far too small where few large ones decide.
    """
    both = ~np.isnan(first) & ~np.isnan(second)
    if not both.any():
        return float("nan"), float("nan")
    first, second = first[both] - first[both].mean(), second[both] - second[both].mean()
    size = float(np.sqrt((first**2).sum() * (second**2).sum()))
    if size == 0:
        return float("nan"), float("nan")
    x, y = first / first.std(), second / second.std()
    r = float((x * y).mean())
    return r, mean_error(x * y - r * (x**2 + y**2) / 2) or 0.0


# Associations ---------------------------------------------------------------------------------------------------------


CATEGORIES = 12
MOST_COLUMNS = 12
MAX_ASSOCIATION_ROWS = 200_000
PARTS = 20  # of a sample, each left out in turn to see how far the rest would have missed
ASSOCIATION_MEANING = Message("measure.association_difference.meaning_of_pair")


@dataclass(frozen=True, eq=False)
class Associations:
    """Cramér's V of every pair of columns, and half the width of its 95 % interval; 0 where all rows were counted."""

    values: np.ndarray
    errors: np.ndarray
    lost: np.ndarray
    """The part of the records that have `*` in one of the two."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Cramér's V over the same columns before and after; `sampled` rows of each table, 0 for all."""

    columns: tuple[str, ...]
    was: Associations
    now: Associations
    sampled: int

    @property
    def before(self) -> np.ndarray:
        """The matrix of the original."""
        return self.was.values

    @property
    def after(self) -> np.ndarray:
        """The matrix of the release."""
        return self.now.values

    @property
    def lost(self) -> np.ndarray:
        """The part of the released records that say nothing of a pair any more."""
        return self.now.lost

    @property
    def error(self) -> float:
        """The greatest error of a V, 0 where all rows were counted."""
        return float(max(self.was.errors.max(), self.now.errors.max()))

    def measures(self) -> list[Measure]:
        """The mean over all pairs first, then each pair; of samples with the error."""
        upper = np.triu_indices(len(self.columns), 1)
        lost = self.lost[upper]
        gaps = differences(self.before, self.after, self.lost)[upper]
        chance = (1 - lost) * np.hypot(self.was.errors, self.now.errors)[upper] + lost * self.was.errors[upper]
        errors = [float(error) if self.sampled else None for error in chance]
        notes = (Message("measure.note.sampled", rows=self.sampled),) if self.sampled else ()
        names = [f"{self.columns[i]} × {self.columns[j]}" for i, j in zip(*upper, strict=True)]
        whole = float(chance.mean()) if self.sampled else None
        return [
            Measure(
                "association_difference",
                float(gaps.mean()),
                "lower",
                notes=(*lost_in(lost.mean()), *notes),
                error=whole,
            ),
            *(
                Measure(
                    "association_difference",
                    float(gap),
                    "lower",
                    0.0,
                    1.0,
                    name,
                    (*said, *notes),
                    error,
                    ASSOCIATION_MEANING,
                )
                for name, gap, said, error in zip(names, gaps, map(lost_in, lost), errors, strict=True)
            ),
        ]


def differences(before: np.ndarray, after: np.ndarray, lost: np.ndarray) -> np.ndarray:
    """Return the differences of associations: for the lost part the whole association, for the rest the gap.

    >>> differences(np.array([0.5, 0.5]), np.array([0.3, 0.0]), np.array([0.25, 1.0])).round(3).tolist()
    [0.275, 0.5]
    """
    return np.asarray((1 - lost) * np.abs(before - after) + lost * before)


def pairs(original: Dataset, released: Dataset, columns: Sequence[str], *, seed: int = 0) -> Pairs | None:
    """Compare the first dozen columns that both tables have; None if there are fewer than two. O(rows · pairs)."""
    names = [name for name in columns if name in original and name in released][:MOST_COLUMNS]
    if len(names) < 2 or not original.rows or not released.rows:
        return None
    rng = np.random.default_rng(seed)
    sampled = MAX_ASSOCIATION_ROWS if max(original.rows, released.rows) > MAX_ASSOCIATION_ROWS else 0
    return Pairs(tuple(names), associations(original, names, rng), associations(released, names, rng), sampled)


def associations(data: Dataset, columns: Sequence[str], rng: np.random.Generator | None = None) -> Associations:
    """Cramér's V of every pair: 0 independent, 1 one follows from the other; 0 where one has one category.

    With `rng` of at most `MOST_ROWS` rows, drawn by it.
    """
    part = rng is not None and data.rows > MAX_ASSOCIATION_ROWS
    rows = rng.choice(data.rows, MAX_ASSOCIATION_ROWS, replace=False) if rng is not None and part else slice(None)
    codes = [_coarse(data[name])[data[name].codes[rows]] for name in columns]
    values, errors = np.eye(len(columns)), np.zeros((len(columns), len(columns)))
    for i in range(len(columns)):
        for j in range(i):
            if part:
                value, error = _estimated_association(codes[i], codes[j], 1 - MAX_ASSOCIATION_ROWS / data.rows)
                errors[i, j] = errors[j, i] = error
            else:
                value = float(np.sqrt(_square(_table(codes[i], codes[j]))))
            values[i, j] = values[j, i] = value
    return Associations(values, errors, lost_pairs([one < 0 for one in codes]))


def _coarse(column: Column) -> np.ndarray:
    """A category for each dictionary entry, −1 for `*`."""
    numbers = plain_numbers(column)
    stars = is_star(column)
    if numbers is not None and len(column.values) > CATEGORIES:
        order = np.argsort(numbers)  # missing and `*` come last
        upto = np.cumsum(column.counts[order]) - column.counts[order] / 2
        out = np.empty(order.size, np.int64)
        out[order] = np.minimum((upto * 10 / max(1, column.counts.sum())).astype(np.int64), 9)
        return np.where(stars, -1, np.where(np.isnan(numbers), 10, out))
    rank = np.empty(len(column.values), np.int64)
    rank[np.lexsort((np.arange(rank.size), -np.where(stars, 0, column.counts)))] = np.arange(rank.size)
    return np.where(stars, -1, np.minimum(rank, CATEGORIES - 1))


def _table(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Count how often two categories meet; records with `*` in one of them are left out."""
    kept = (first >= 0) & (second >= 0)
    counts = np.bincount(first[kept] * CATEGORIES + second[kept], minlength=CATEGORIES**2)
    return counts.reshape(CATEGORIES, CATEGORIES)


def _square(table: np.ndarray) -> float:
    """V² of a table of counts."""
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0].astype(np.float64)
    freedom = min(table.shape) - 1
    if freedom < 1:
        return 0.0
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True) / table.sum()
    return float(((table - expected) ** 2 / expected).sum() / (table.sum() * freedom))


def _estimated_association(first: np.ndarray, second: np.ndarray, left: float) -> tuple[float, float]:
    """V of the whole table and its error, from a sample; `left` is the part that was not drawn.

    Among fewer records columns seem to go together more, by 1 / records in V². The jackknife (Quenouille 1956, Tukey 1958)
    over parts takes that out, and says how far chance moves the rest.
    """
    tables = [_table(first[part::PARTS], second[part::PARTS]) for part in range(PARTS)]
    whole = np.sum(tables, axis=0)
    square, without = _square(whole), np.array([_square(whole - one) for one in tables])
    middle = max(0.0, square - (PARTS - 1) * float(without.mean() - square) * left)
    chance = Z * float(np.sqrt((PARTS - 1) * without.var() * left))
    value = float(np.sqrt(middle))
    return value, max(float(np.sqrt(middle + chance)) - value, value - float(np.sqrt(max(0.0, middle - chance))))


# Fidelity -------------------------------------------------------------------------------------------------------------
# Resemblance of a release to the original as a source of statistics.
#
# `utility` measures generalization; this measures the effect on an analyst's results.


MAX_FIDELITY_ROWS = 10_000  # of each table, for what is estimated; the errors say what that costs


@at_the_door
def fidelity(
    original: Any,
    released: Any,
    *,
    columns: Names = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    target: str | None = None,
    paired: bool = True,
    seed: int = 0,
    most: int = MAX_FIDELITY_ROWS,
) -> list[Measure]:
    """Compare two tables (frames or datasets) over `columns`, all that both have where not given.

    Counted on all records, per column and as their mean: Kullback–Leibler over a histogram, Jensen–Shannon. Estimated,
    with an error, from at most `most` records of each table and the first dozen columns: Kullback–Leibler by density ratio
    of each numeric column and of all together, differences of correlations, how well a model tells the tables apart and,
    with `target`, how well one that was trained on the release predicts that column of the original.

    `hierarchies` (bound to original columns) spread released labels over the values under them; with `paired=False` rows
    do not correspond, else those that belong together are drawn together. Everything that is drawn is drawn from `seed`.
    O(dictionaries) and a second or two.

    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["F", "F", "M", "M"]})
    >>> one = fidelity(people, people.assign(sex="F"), columns="sex")[1]
    >>> one.name, round(one.value, 4)
    ('jensen_shannon', 0.3113)
    """
    before, after = Frame.read(original).data, Frame.read(released).data
    names = [name for name in after if name in before] if columns is None else named_columns(columns, "columns")
    return _compared(before, after, names, hierarchies or {}, target, paired, seed, most)


def _compared(
    original: Dataset,
    released: Dataset,
    names: Sequence[str],
    known: Mapping[str, Hierarchy],
    target: str | None,
    paired: bool,
    seed: int,
    most: int,
) -> list[Measure]:
    _require(original, released, [*names, *([target] if target is not None else [])], most)
    rows = same_rows(original, released) if paired else None
    each = [
        one
        for name in names
        for one in divergences(name, RecodedColumn.of(original[name], released[name], known.get(name), None))
    ]
    rng = np.random.default_rng(seed)
    chosen = _chosen(names, target)
    before, after, together = _sampled(original.select(chosen), released.select(chosen), rows, most, rng)
    found = _estimated_fidelity(before, after, chosen, target, together, rng)
    if max(original.rows, released.rows) > most:
        drawn = Message("measure.note.drawn", original=before.rows, released=after.rows)
        found = [replace(one, notes=(*one.notes, drawn)) for one in found]
    return [*_means(each), *each, *found]


def _require(original: Dataset, released: Dataset, names: Sequence[str], most: int) -> None:
    if unknown := [name for name in names if name not in original or name not in released]:
        raise ColumnError(
            Message("error_measure.fidelity_columns", unknown=unknown, columns=names_shown(original, names))
        )
    if most < 10:
        raise UsageError(Message("error_measure.most", most=most))


def _chosen(names: Sequence[str], target: str | None) -> list[str]:
    """The columns that models look at; the target is always one."""
    some = [name for name in names if name != target][: MOST_COLUMNS - (target is not None)]
    return [name for name in names if name in some or name == target]


def _means(measures: Sequence[Measure]) -> list[Measure]:
    """Each measure over all columns: its mean."""
    out = []
    for name in dict.fromkeys(one.name for one in measures):
        mine = [one for one in measures if one.name == name]
        values = [one.value for one in mine if one.value is not None]
        value = sum(values) / len(values) if values else None
        means = Message("measure.mean_over_columns", meaning=mine[0].meaning)
        out.append(replace(mine[0], value=value, column=None, means=means))
    return out


def _estimated_fidelity(
    original: Dataset,
    released: Dataset,
    names: Sequence[str],
    target: str | None,
    paired: bool,
    rng: np.random.Generator,
) -> list[Measure]:
    numeric = [name for name in names if all(plain_numbers(table[name]) is not None for table in (original, released))]
    measures = [kullback_leibler(original, released, [name], rng=rng) for name in numeric]
    if len(numeric) > 1:
        measures.insert(0, kullback_leibler(original, released, numeric, rng=rng))
    measures += correlation_difference(original, released, names)
    measures.append(propensity_error(original, released, names, rng=rng))
    return measures + (learned(original, released, target, names, paired=paired, rng=rng) if target is not None else [])


def _sampled(
    original: Dataset, released: Dataset, rows: Rows | None, most: int, rng: np.random.Generator
) -> tuple[Dataset, Dataset, bool]:
    """At most so many rows of each table, and whether the n-th released row belongs to the n-th original one."""
    if max(original.rows, released.rows) <= most:
        return original, released, rows is not None
    chosen = _drawn(released.rows, most, rng)
    sources = chosen if isinstance(rows, slice) else None if rows is None else rows[chosen]
    if sources is None or np.unique(sources).size < sources.size:
        rows, sources = None, _drawn(original.rows, most, rng)
    before, after = (_alone(table, at) for table, at in ((original, sources), (released, chosen)))
    return before, after, rows is not None


def _drawn(rows: int, most: int, rng: np.random.Generator) -> np.ndarray:
    return np.sort(rng.choice(rows, min(rows, most), replace=False))


def _alone(table: Dataset, rows: np.ndarray) -> Dataset:
    """Some rows as a table that does not remember where they came from."""
    return Dataset({name: column.take(rows) for name, column in table.columns.items()}, int(rows.size))
