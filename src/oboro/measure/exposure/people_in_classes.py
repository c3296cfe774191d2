"""Which people stand alone in their class."""

from __future__ import annotations

import numpy as np

from oboro.measure.exposure import kernels
from oboro.table.dataset import Column
from oboro.table.groups import Groups
from oboro.table.value_counts import clean

__all__ = ["alone_in_class", "only_person", "people_at_most", "people_in", "who_is_alone"]


def people_in(column: Column) -> int:
    """How many people a column names; a missing name is nobody's."""
    held = clean(column)
    return len(held.values) - (held.missing >= 0)


def people_at_most(column: Column) -> int:
    """How many people there can be: those who are named, and for each row without a person one more. O(rows).

    Whoever stands alone is counted in this way too, so that never more are unique than there are.
    """
    held = clean(column)
    return people_in(column) + (0 if held.missing < 0 else int(np.count_nonzero(held.codes == held.missing)))


def alone_in_class(groups: Groups, person: Column) -> int:
    """How many people stand in a class that holds nobody else. O(rows).

    Somebody who is alone in several classes is one person. A class of rows without a person holds somebody whom nobody stands
    with, so each such class counts as one.
    """
    only = only_person(groups, person)
    return int(np.unique(only[only >= 0]).size + np.count_nonzero(only == kernels.NOBODY))


def who_is_alone(groups: Groups, person: Column) -> np.ndarray:
    """The codes of the people who stand in a class that holds nobody else, and −1 − row for rows of classes without a person.

    Nobody knows whether two rows without a person are one's. So these are rows, not one more person: who accepts one of them has
    not accepted the others.
    """
    only = only_person(groups, person)
    nobodys = np.flatnonzero((only == kernels.NOBODY)[groups.labels])
    return np.concatenate([-1 - nobodys[::-1], np.unique(only[only >= 0])])


def only_person(groups: Groups, person: Column) -> np.ndarray:
    """For each class the code of the only person in it, or `kernels.NOBODY`, or `kernels.SEVERAL`. O(rows)."""
    held = clean(person)
    only = np.full(len(groups), kernels.NOBODY, np.int64)
    kernels.only_person(groups.labels, held.codes, held.missing, only)
    return only
