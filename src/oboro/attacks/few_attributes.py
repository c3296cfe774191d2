"""Special uniques of both tables: records that one or two attributes make unique."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from oboro.attacks.base import Rate
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.grouping import clean, combination_counts, digits_of
from oboro.data.special_uniques import special_uniques
from oboro.kernels import grouping

__all__ = ["UniqueByFew", "special"]


MOST_ROWS = 1_000_000  # two of each class of more than one; above, records are drawn
MOST_COLUMNS = 15
DRAWN = 300  # records: shares are then within ± 6 points
DRAWN_COLUMNS = 6  # with the most values
SETS = 10  # are named
DENSE = 1 << 22  # combinations of two columns that may have a counter each


@dataclass(frozen=True)
class UniqueByFew:
    """Records that one or two attributes make unique, before and after."""

    sizes: dict[str, int]
    """How many released records have a smallest identifying set of so many attributes."""
    sets: dict[str, int]
    """Attribute sets that make the most records unique, and how many."""
    before: dict[str, int]
    """The sizes in the original table."""
    drawn: int = 0
    """How many released records it was estimated from, each held against all; 0: counted."""
    drawn_before: int = 0
    """The same for the original table."""
    error: float = 0.0
    """What the shares that were estimated may be off by (95 %)."""


@dataclass(frozen=True)
class _Found:
    """How many records have a smallest set of one or two attributes, and which sets make how many unique."""

    sizes: dict[str, int] = field(default_factory=lambda: {"1": 0, "2": 0})
    sets: dict[tuple[str, ...], int] = field(default_factory=dict)
    drawn: int = 0  # records; 0: all were looked at
    error: float = 0.0  # of the shares


def special(
    original: Dataset,
    released: Dataset,
    quasi: Sequence[str],
    sizes_before: np.ndarray | None,
    sizes: np.ndarray | None,
    seed: int = 0,
) -> UniqueByFew | None:
    """The smallest attribute sets that make records unique, before and after.

    `sizes_before` and `sizes` are the sizes of the classes. Only records that are alone in their class are searched: no set of
    attributes makes another one unique. O(rows) for each pair of columns.
    """
    names = list(quasi)[:MOST_COLUMNS]
    if not names or sizes_before is None or sizes is None:
        return None
    rng = np.random.default_rng(seed)
    was, now = (_found(table, names, held, rng) for table, held in ((original, sizes_before), (released, sizes)))
    largest = sorted(((count, " + ".join(names)) for names, count in now.sets.items()), reverse=True)[:SETS]
    return UniqueByFew(
        sizes=now.sizes,
        sets={name: count for count, name in largest},
        before=was.sizes,
        drawn=now.drawn,
        drawn_before=was.drawn,
        error=max(was.error, now.error),
    )


def _found(table: Dataset, names: Sequence[str], sizes: np.ndarray, rng: np.random.Generator) -> _Found:
    alone = int(np.count_nonzero(sizes == 1))
    if not alone:
        return _Found()
    if 2 * sizes.size - alone > MOST_ROWS:
        most = sorted(names, key=lambda name: -len(table[name].values))[:DRAWN_COLUMNS]
        return _drawn(table, [name for name in names if name in most], rng)
    found = special_uniques(table, names, max_size=2)
    return _Found(
        {str(size): int((found.sizes == size).sum()) for size in (1, 2)},
        {names: rows.size for names, rows in found.sets.items()},
    )


def _drawn(table: Dataset, names: Sequence[str], rng: np.random.Generator) -> _Found:
    """Some records, each held against everybody: how many of them one column makes unique, how many of the others two."""
    columns = {name: clean(table[name]) for name in names}
    rows = np.sort(rng.choice(table.rows, min(DRAWN, table.rows), replace=False))
    single = np.column_stack([column.counts[column.codes[rows]] == 1 for column in columns.values()])
    pairs = list(combinations(range(len(names)), 2))
    alone = np.array([_alone(columns[names[i]], columns[names[j]], rows) for i, j in pairs]).reshape(-1, rows.size)
    parts: dict[tuple[str, ...], np.ndarray] = {(name,): single[:, j] for j, name in enumerate(names)}
    parts |= {
        (names[i], names[j]): held & ~single[:, [i, j]].any(axis=1) for (i, j), held in zip(pairs, alone, strict=True)
    }
    by_one = single.any(axis=1)
    by_two = alone.any(axis=0) & ~by_one
    rates = {"1": Rate(int(by_one.sum()), rows.size), "2": Rate(int(by_two.sum()), rows.size)}
    scale = table.rows / rows.size
    return _Found(
        {size: round(rate.right * scale) for size, rate in rates.items()},
        {pair: round(int(held.sum()) * scale) for pair, held in parts.items() if held.any()},
        int(rows.size),
        max(rate.error for rate in rates.values()),
    )


def _alone(first: Column, second: Column, rows: np.ndarray) -> np.ndarray:
    """Which of some records have two values together that no other record has. O(all records), once or twice.

    Only records that share a value of the rarer kind are looked at, or where that is no small part, every combination is counted.
    """
    width = len(second.values)
    lead = min((first, second), key=lambda column: int(column.counts[np.unique(column.codes[rows])].sum()))
    near, wanted = np.empty(len(lead), dtype=bool), np.zeros(len(lead.values), dtype=bool)
    wanted[lead.codes[rows]] = True
    if 4 * int(lead.counts[wanted].sum()) > len(lead) and len(first.values) * width <= DENSE:
        counts = combination_counts(digits_of([first, second]), len(first))
        return np.asarray(counts[_keys(first, second, rows)] == 1)
    grouping.look_up(wanted, lead.codes, near)
    asked, which = np.unique(_keys(first, second, rows), return_inverse=True)
    keys = _keys(first, second, np.flatnonzero(near))
    at = np.minimum(np.searchsorted(asked, keys), asked.size - 1)
    return np.asarray(np.bincount(at[asked[at] == keys], minlength=asked.size)[which.ravel()] == 1)


def _keys(first: Column, second: Column, rows: np.ndarray) -> np.ndarray:
    """A number for the combination that each of some records has."""
    return np.asarray(first.codes[rows].astype(np.int64) * len(second.values) + second.codes[rows])
