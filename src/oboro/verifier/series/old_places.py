"""In which class of an earlier release somebody stands, or would stand, told by their values and the released labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from oboro.table.dataset import Dataset
from oboro.table.groups import Groups
from oboro.table.hierarchy import Hierarchy
from oboro.table.labels.starred_values import is_star
from oboro.table.value_counts import clean
from oboro.verifier.matching import relation

__all__ = ["old_places", "released_classes", "suppressed_classes"]

NOWHERE = -1


def released_classes(released: Dataset, quasi: Sequence[str]) -> Groups:
    """The classes of a release over those quasi-identifiers that it has."""
    return Groups.of([clean(released[name]) for name in quasi if name in released], released.rows)


def suppressed_classes(released: Dataset, quasi: Sequence[str], classes: Groups) -> np.ndarray:
    """Which classes have `*` in every column: whoever fits no other must be there."""
    rows, names = classes.first_rows(), [name for name in quasi if name in released]
    if not names:
        return np.zeros(len(classes), dtype=bool)
    columns = [clean(released[name]) for name in names]
    return np.asarray(np.logical_and.reduce([is_star(column)[column.codes[rows]] for column in columns]))


def old_places(
    people: Dataset, released: Dataset, quasi: Sequence[str], hierarchies: Mapping[str, Hierarchy] | None = None
) -> tuple[Groups, np.ndarray]:
    """The classes of a release, and for each of `people` the class that fits their values, −1 where none does.

    Of several that fit, the narrowest is taken, and the suppressed records only where no other does: that is where a method puts
    them which makes classes as fine as it can, and an attacker knows the method.
    """
    names = [name for name in quasi if name in released and name in people]
    classes = released_classes(released, names)
    if not people.rows or not released.rows:
        return classes, np.full(people.rows, NOWHERE)
    found = relation(people, released, names, hierarchies)
    kinds = classes.labels[found.released.first_rows()].astype(np.int64)
    width = np.bincount(found.tails, weights=found.originals.sizes[found.heads], minlength=kinds.size)
    last = suppressed_classes(released, names, classes)[kinds]
    rank = np.lexsort((kinds, width, last))  # the narrowest first, the suppressed last
    order = np.empty(rank.size, np.int64)
    order[rank] = np.arange(rank.size)
    best = np.full(len(found.originals), rank.size)
    np.minimum.at(best, found.heads, order[found.tails])
    place = np.append(kinds[rank], NOWHERE)[best]
    return classes, np.asarray(place[found.originals.labels])
