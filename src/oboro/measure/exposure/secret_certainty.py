"""For whom the secret is certain: everybody who shares their quasi-identifiers has the same sensitive value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oboro.measure.exposure.people_in_classes import first_rows, label_column, people_in, people_per_class
from oboro.measure.exposure.separation import require_columns
from oboro.table.dataset import Column, Dataset
from oboro.table.groups import Groups
from oboro.table.value_counts import clean, tally

__all__ = ["NEARLY", "CertainSecrets", "certain_secrets"]

NEARLY = (95, 100)  # a share of the class of at least this is nearly certain; in whole numbers, so that it is exact


@dataclass(frozen=True)
class CertainSecrets:
    """What somebody who knows only the quasi-identifiers learns of one sensitive column (the homogeneity attack)."""

    sensitive: str
    quasi: tuple[str, ...]
    people: int
    """How many people there are: records, unless `person` says whose they are."""
    certain: int
    """People in classes of which everybody has the same value."""
    nearly_certain: int
    """People in classes of which at least 95 % have the same value, the certain ones included."""
    largest: float
    """The largest posterior: the highest share of a class that has the same value. 0 in an empty table."""
    everywhere: float
    """The share of all people that has the most frequent value: what is known without the quasi-identifiers."""


def certain_secrets(
    data: Dataset, quasi: Sequence[str], sensitive: Sequence[str], person: str | None = None
) -> tuple[CertainSecrets, ...]:
    """For each sensitive column, for how many people the class tells the value. O(rows) for each, after grouping once.

    A class of one tells it always. With `person`, a value counts once for each person in the class who has it in some row; rows
    without a person are left out.

    >>> table = Dataset.of({"sex": ["F", "F", "M", "M"], "disease": ["flu", "flu", "flu", "cold"]})
    >>> found, = certain_secrets(table, ["sex"], ["disease"])
    >>> found.certain, found.largest, found.everywhere
    (2, 1.0, 0.75)
    """
    names = require_columns(data, quasi, person)
    wanted = require_columns(data, sensitive)
    if person is not None:
        data = data.take(clean(data[person]).codes != clean(data[person]).missing)
    classes = Groups.of([clean(data[name]) for name in names], data.rows)
    known = None if person is None else clean(data[person])
    return tuple(_judged(_spread(classes, data[name], known), names, name) for name in wanted)


@dataclass(frozen=True, eq=False)
class _Spread:
    """How the values of a secret are spread: over each class, and over everybody."""

    people: int
    sizes: np.ndarray
    """How many people stand in each class."""
    most: np.ndarray
    """How many of them have the value that most have."""
    everywhere: int
    """How many of all people have the value that most have."""
    labels: np.ndarray
    person: Column | None

    def standing_in(self, classes: np.ndarray) -> int:
        """How many people stand in some of the marked classes."""
        if self.person is None:
            return int(self.sizes[classes].sum())
        return int(np.unique(self.person.codes[classes[self.labels]]).size)


def _spread(classes: Groups, column: Column, person: Column | None) -> _Spread:
    secret, labels, sizes, whole = clean(column), classes.labels, classes.sizes, clean(column).counts
    codes, people = secret.codes, labels.size
    if person is not None:  # each person once for each value in each class, and once for each value
        whole, people = people_per_class(Groups.of([secret], len(secret)), person), people_in(person)
        sizes = people_per_class(classes, person)
        rows = first_rows(Groups.of([label_column(labels, len(classes)), secret, person], labels.size))
        labels, codes = labels[rows], codes[rows]
    held = np.bincount(labels, minlength=len(classes))
    most = tally(labels, held, codes, len(secret.values)).most_frequent if labels.size else np.zeros(0, np.int64)
    return _Spread(people, sizes, most, int(whole.max(initial=0)), classes.labels, person)


def _judged(found: _Spread, quasi: tuple[str, ...], name: str) -> CertainSecrets:
    return CertainSecrets(
        sensitive=name,
        quasi=quasi,
        people=found.people,
        certain=found.standing_in(found.most == found.sizes),
        nearly_certain=found.standing_in(NEARLY[1] * found.most >= NEARLY[0] * found.sizes),
        largest=float((found.most / found.sizes).max(initial=0.0)),
        everywhere=found.everywhere / found.people if found.people else 0.0,
    )
