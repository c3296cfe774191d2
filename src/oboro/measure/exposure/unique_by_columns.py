"""Who is unique by one column, by two, by all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from oboro.measure.exposure.last_look import UniqueBy
from oboro.measure.exposure.separation import Counted, require_columns
from oboro.table.dataset import Dataset
from oboro.table.value_counts import clean

__all__ = ["PAIRED", "UniquePeople", "unique_people"]

PAIRED = 12  # columns of which every pair is counted: 66 pairs


@dataclass(frozen=True)
class UniquePeople:
    """Who is unique by which columns; only those that single somebody out are listed, the worst first."""

    columns: tuple[str, ...]
    people: int
    """How many people there are: records, unless `person` says whose they are."""
    together: int
    """People who are unique by all the columns together: by fewer columns, no more can be."""
    single: tuple[UniqueBy, ...]
    pairs: tuple[UniqueBy, ...]
    unpaired: tuple[str, ...] = ()
    """Columns whose pairs were not counted, because there are more than `PAIRED`; these tell records apart least."""

    @property
    def ranked(self) -> tuple[UniqueBy, ...]:
        """Columns, pairs, and all of them: the most people first, and among equals the fewest columns."""
        whole = (UniqueBy(self.columns, self.together),) if len(self.columns) > 2 and self.together else ()
        return tuple(sorted((*self.single, *self.pairs, *whole), key=lambda one: (-one.people, len(one.columns))))


def unique_people(
    data: Dataset, columns: Sequence[str], person: str | None = None, *, paired: int = PAIRED
) -> UniquePeople:
    """Count who is unique by each column, each pair and all of the columns, on all rows.

    A larger set singles out everybody whom a part of it does. So all columns together are counted first, and where they single out
    nobody, nothing else is. A pair of which one column singles out as many as all together is not counted either.
    Cost: O(rows · columns) for all together, O(rows) for each pair of the `paired` columns that tell most records apart; memory as
    `class_counts` and `pair_counts` say.

    >>> people = Dataset.of({"sex": ["F", "F", "M", "M"], "job": ["cook", "judge", "cook", "cook"]})
    >>> [(one.columns, one.people) for one in unique_people(people, ["sex", "job"]).ranked]
    [(('sex', 'job'), 2), (('job',), 1)]
    """
    names = require_columns(data, columns, person)
    counted = Counted.of(data, person)
    together = counted.unique(names) if names else 0
    if not together:
        return UniquePeople(names, counted.everybody, 0, (), ())
    alone = {name: together if len(names) == 1 else counted.unique([name]) for name in names}
    single = [UniqueBy((name,), people) for name, people in alone.items()]
    chosen = _most_telling(data, names, paired)
    pairs = _pairs(counted, chosen, alone, together, whole=len(names) == 2)
    left = tuple(name for name in names if name not in chosen)
    return UniquePeople(names, counted.everybody, together, _worst_first(single), _worst_first(pairs), left)


def _pairs(
    counted: Counted, chosen: Sequence[str], alone: dict[str, int], together: int, whole: bool
) -> list[UniqueBy]:
    """Each two of the columns; those of which one singles out as many as all together are not counted."""
    pairs = list(combinations(chosen, 2))
    unknown = [] if whole else [pair for pair in pairs if max(alone[name] for name in pair) < together]
    found = counted.unique_by_pairs(unknown)
    return [UniqueBy(pair, found.get(pair, together)) for pair in pairs]


def _worst_first(found: Sequence[UniqueBy]) -> tuple[UniqueBy, ...]:
    return tuple(sorted((one for one in found if one.people), key=lambda one: -one.people))


def _most_telling(data: Dataset, names: tuple[str, ...], most: int) -> list[str]:
    """The columns that tell most records apart, in the order in which they came."""
    if len(names) <= most:
        return list(names)
    together = {name: float((clean(data[name]).counts.astype(np.float64) ** 2).sum()) for name in names}
    best = set(sorted(names, key=lambda name: together[name])[:most])
    return [name for name in names if name in best]
