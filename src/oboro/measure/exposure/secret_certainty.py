"""For whom the secret is certain: everybody who shares their quasi-identifiers has the same sensitive value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oboro.measure.exposure.people_in_classes import people_in
from oboro.measure.exposure.separation import require_columns
from oboro.table.dataset import Column, Dataset
from oboro.table.distinct_people import people_per_group
from oboro.table.groups import Groups
from oboro.table.spelling.folding import FOLDS, folded
from oboro.table.value_counts import clean
from oboro.verifier.classes import Classes
from oboro.verifier.secret_spread import NEARLY, secret_spread

__all__ = ["NEARLY", "CertainSecrets", "NearSecrets", "certain_secret", "certain_secrets", "near_secret"]

PART = 20  # the values of a class are close where they span so small a part of what the middle of the table spans
MIDDLE = (0.1, 0.9)  # one income of a billion must not make all others alike


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


@dataclass(frozen=True)
class NearSecrets:
    """How many people a class tells a number nearly: its values differ, but lie close together (the proximity attack)."""

    sensitive: str
    near: int
    people: int


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
    classes = Classes.of(data, names, person)
    return tuple(certain_secret(classes, name) for name in wanted)


def certain_secret(classes: Classes, name: str) -> CertainSecrets:
    """The same of one sensitive column, where the classes are formed already.

    `flu` and `Flu ` are one secret to whoever reads them, so they are one here, whatever a promise counts.
    """
    column, sizes = folded(clean(classes.data[name]), FOLDS), classes.sizes
    if classes.person is None and sizes.size:
        found, rows = secret_spread(classes, column), classes.data.rows
        everywhere = _most_frequent(column, None) / rows
        return CertainSecrets(name, classes.quasi, rows, found.certain, found.nearly, found.largest, everywhere)
    most = classes.tally(column.codes, len(column.values)).most_frequent
    everybody = int(sizes.sum()) if classes.person is None else people_in(classes.person)
    return CertainSecrets(
        sensitive=name,
        quasi=classes.quasi,
        people=everybody,
        certain=_standing_in(classes, most == sizes),
        nearly_certain=_standing_in(classes, NEARLY[1] * most >= NEARLY[0] * sizes),
        largest=float((most / np.maximum(sizes, 1)).max(initial=0.0)),
        everywhere=_most_frequent(column, classes.person) / everybody if everybody else 0.0,
    )


def _standing_in(classes: Classes, marked: np.ndarray) -> int:
    """How many people stand in some of the marked classes."""
    if classes.person is None:
        return int(classes.sizes[marked].sum())
    person = clean(classes.person)
    return int(np.setdiff1d(person.codes[marked[classes.groups.labels]], [person.missing]).size)


def _most_frequent(column: Column, person: Column | None) -> int:
    """How many people have the value that most have."""
    counts = column.counts if person is None else people_per_group(Groups.of([column], len(column)), person)
    return int(counts.max(initial=0))


def near_secret(classes: Classes, name: str) -> NearSecrets | None:
    """How many stand in classes of several values that lie close together; None where values have no place on a line. O(rows).

    >>> from oboro.table.dataset import Dataset
    >>> table = Dataset.of({"sex": ["F", "F", "M", "M"], "income": [30010, 30020, 71000, 28000]})
    >>> near_secret(Classes.of(table, ["sex"]), "income").near
    2
    """
    column = classes.data[name]
    if not column.kind.numeric or not classes.data.rows:
        return None
    places = column.numbers(name)
    low, high = _ends(classes, places[column.codes])
    close = (high > low) & (PART * (high - low) <= _middle(places, column.counts))
    people = classes.data.rows if classes.person is None else people_in(classes.person)
    return NearSecrets(name, _standing_in(classes, close), people)


def _ends(classes: Classes, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The least and the greatest value of each class; not-a-number, which is close to nothing, where one is missing."""
    labels, number = classes.groups.labels, len(classes.groups)
    low, high, missing = np.full(number, np.inf), np.full(number, -np.inf), np.isnan(values)
    np.minimum.at(low, labels, np.where(missing, np.inf, values))
    np.maximum.at(high, labels, np.where(missing, -np.inf, values))
    low[labels[missing]] = np.nan
    return low, high


def _middle(places: np.ndarray, counts: np.ndarray) -> float:
    """What the middle four fifths of all records that have a value span."""
    known = ~np.isnan(places) & (counts > 0)
    order = np.argsort(places[known])
    held, below = places[known][order], np.cumsum(counts[known][order])
    if not held.size:
        return 0.0
    first, last = np.searchsorted(below, [part * below[-1] for part in MIDDLE])
    return float(held[last] - held[first])
