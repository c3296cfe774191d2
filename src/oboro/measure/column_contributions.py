"""How much each column does to make records unique: with one other column, with two, and as a share of SUDA's score.

Counted on minimal sets of columns (`oboro.table.special_uniques`): a record that a column makes unique alone is not counted again
with others. The shares are those that sdcMicro calls contributions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from oboro.table.dataset import Dataset
from oboro.table.special_uniques import SpecialUniques, special_uniques

__all__ = ["Contribution", "contributions"]

WORK = 400_000_000  # records to look at, over all sets of columns: larger sets are left out beyond it
LARGEST = 3  # columns in a set


@dataclass(frozen=True)
class Contribution:
    """What one column does together with others."""

    with_one: int
    """Records that it makes unique with one other column, and neither of the two does alone."""
    with_two: int | None
    """Records that it makes unique with two others, and no part of the three does (None: not counted)."""
    share: float
    """The share of SUDA's score of all records that comes from minimal sets with this column; shares overlap."""


def contributions(data: Dataset, names: Sequence[str], work: int = WORK) -> dict[str, Contribution]:
    """What each of these columns does with the others of them, on all records; nothing where that is too much work.

    Sets of three columns, and of two, are looked at if all of them together mean at most `work` records.

    >>> table = Dataset.of({"sex": ["F", "F", "M", "M"], "job": ["cook", "judge", "cook", "cook"]})
    >>> contributions(table, ["sex", "job"])["sex"]
    Contribution(with_one=1, with_two=None, share=0.5)
    """
    size = _size(data.rows, len(names), work)
    if size < 2:
        return {}
    special = special_uniques(data, list(names), max_size=size)
    shares = _shares(special)
    return {
        name: Contribution(_made_unique(special, name, 2), _made_unique(special, name, 3) if size > 2 else None, share)
        for name, share in shares.items()
    }


def _size(rows: int, columns: int, work: int) -> int:
    """The size of the largest sets that can be afforded."""
    sizes = range(1, min(LARGEST, columns) + 1)
    return max((size for size in sizes if rows * comb(columns, size) <= work), default=0)


def _shares(special: SpecialUniques) -> Mapping[str, float]:
    held = dict.fromkeys(special.attributes, 0.0)
    total = 0.0
    for names, rows in special.sets.items():
        score = float(special.score_of(names)) * rows.size
        total += score
        for name in names:
            held[name] += score
    return {name: score / total if total else 0.0 for name, score in held.items()}


def _made_unique(special: SpecialUniques, name: str, size: int) -> int:
    """How many records have a minimal set of so many columns with this one in it."""
    seen = np.zeros(special.sizes.size, bool)
    for names, rows in special.sets.items():
        if len(names) == size and name in names:
            seen[rows] = True
    return int(np.count_nonzero(seen))
