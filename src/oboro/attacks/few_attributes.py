"""Special uniques of both tables, counted; of very many records that stand alone, estimated from some of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from oboro.attacks.comparison.column_comparison import ColumnComparison
from oboro.attacks.comparison.kernels import SPAN
from oboro.attacks.comparison.known_people import Descriptions, KnownPeople
from oboro.attacks.rates import Rate
from oboro.table.dataset import Dataset
from oboro.table.special_uniques import special_uniques
from oboro.table.value_counts import clean

__all__ = ["UniqueByFew", "special"]

MOST_ROWS = 1_000_000  # two of each class of more than one; above, records are drawn
MOST_COLUMNS = 15
DRAWN = 300  # records: shares are then within ± 6 points
DRAWN_COLUMNS = 6  # with the most values
SETS = 10  # are named


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
    codes = np.column_stack([column.codes[rows] for column in columns.values()]).astype(np.float64)
    places = [np.arange(len(column.values), dtype=np.float64) for column in columns.values()]
    people = KnownPeople.of(
        [ColumnComparison(SPAN, at, at, at) for at in places], Dataset(columns, table.rows), names, places
    )
    pairs = list(combinations(range(len(names)), 2))
    used = np.zeros((len(pairs), rows.size, len(names)), bool)
    for one, pair in zip(used, pairs, strict=True):
        one[:, pair] = True
    said = np.tile(codes, (len(pairs), 1))
    described = Descriptions(said, said, said.astype(np.int32), used.reshape(said.shape))
    alone = people.fitting(described).reshape(len(pairs), rows.size) == 1
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
