"""What a pseudonym gives away: whose rows belong together, and so who is alone with the classes of all their rows.

Every class may hold k people. Whoever knows several rows of a person and sees by the pseudonym which released rows are one person's
looks for those who have a row in each of these classes: the intersection of the classes may hold one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oboro.table.dataset import Column, Dataset
from oboro.table.groups import Groups
from oboro.table.value_counts import clean

__all__ = ["LinkedPeople", "linked_people"]


@dataclass(frozen=True)
class LinkedPeople:
    """How many people there are, and how many of them nobody else resembles in the classes of all their rows."""

    people: int
    unique: int


def linked_people(data: Dataset, quasi: Sequence[str], person: Column) -> LinkedPeople:
    """Compare people by how many rows they have in which class. Exact; O(rows · log rows), rows without a person are left out.

    >>> table = Dataset.of({"who": [1, 1, 2, 2, 3, 3], "year": [80, 81, 80, 81, 80, 80]})
    >>> linked_people(table, ["year"], table["who"])
    LinkedPeople(people=3, unique=1)
    """
    labels = Groups.of([clean(data[name]) for name in quasi], data.rows).labels
    known = np.flatnonzero(person.codes != person.missing) if person.missing >= 0 else np.arange(data.rows)
    order = known[np.lexsort((labels[known], person.codes[known]))]
    counts = np.bincount(person.codes[order], minlength=len(person.values))
    starts = np.cumsum(counts) - counts
    held = np.flatnonzero(counts)
    return LinkedPeople(held.size, _alone(labels[order].astype(np.int64), starts[held], counts[held]))


def _alone(labels: np.ndarray, starts: np.ndarray, counts: np.ndarray) -> int:
    """How many of the sorted runs of labels are like no other; a run more is read only of those that were alike so far."""
    wide, place, alone = int(labels.max(initial=0)) + 1, 0, 0
    state = np.unique(counts, return_inverse=True)[1].ravel()
    while state.size:
        single = np.bincount(state)[state] == 1
        alone += int(single.sum())
        going = ~single & (counts > place)
        starts, counts, state = starts[going], counts[going], state[going]
        state = np.unique(state * wide + labels[starts + place], return_inverse=True)[1].ravel()
        place += 1
    return alone
