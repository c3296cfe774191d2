"""An earlier release beside a new one: by which columns rows can be followed from one to the other, and what changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oboro.table.dataset import Dataset
from oboro.table.spelling.folding import words_as_missing
from oboro.verifier.series.old_places import released_classes
from oboro.verifier.series.row_changes import RowChanges, Rows
from oboro.verifier.series.shared_codes import shared_codes, shared_labels, without_empty

__all__ = ["EarlierRelease", "followed_by", "steady"]

STEADY = 0.5  # of the rows must find their value again, or the column changes from release to release


def followed_by(new: Dataset, earlier: Dataset, quasi: Sequence[str], person: str | None = None) -> tuple[str, ...]:
    """The columns by which rows can be followed: whose they are, where both releases tell; else all that both say beside the
    quasi-identifiers."""
    if person is not None and person in new and person in earlier:
        return (person,)
    return tuple(name for name in new if name in earlier and name not in quasi)


def steady(old: Dataset, new: Dataset, places: tuple[np.ndarray, np.ndarray], names: Sequence[str]) -> tuple[str, ...]:
    """Which of the columns say the same of most rows in both releases, place by place.

    By a column that changes every month, everybody would seem to have left and to have come; whoever knows that it does sets it
    aside.
    """
    kept: list[str] = []
    for name in names:
        codes, width = shared_codes([old[name], new[name]])
        pairs = [(place.astype(np.int64) + 1) * width + one for place, one in zip(places, codes, strict=True)]
        found, ids = np.unique(np.concatenate(pairs), return_inverse=True)
        before = np.bincount(ids[: pairs[0].size], minlength=found.size)
        after = np.bincount(ids[pairs[0].size :], minlength=found.size)
        both = int(np.minimum(before, after)[found >= width].sum())  # only where somebody stood before
        there = min(int(before.sum()), int(after[found >= width].sum()))
        if both >= STEADY * there:
            kept.append(name)
    return tuple(kept)


@dataclass(frozen=True, eq=False)
class EarlierRelease:
    """A release that is out already, and where the people of the new table stand in it."""

    table: Dataset
    classes: np.ndarray
    """The class of each of its rows."""
    places: np.ndarray
    """For each row of the original table the class in which whoever it is of stands or would stand; −1: none."""
    quasi: tuple[str, ...]
    secrets: tuple[str, ...] = ()
    """The columns of which different values are asked for; rows are always followed by them."""
    changing: tuple[str, ...] = ()
    """Columns by which rows are not followed."""
    who: np.ndarray | None = None
    """Where it is known whose each row is: the person of each row of the original table, by the rows of this one, which has one row
    for everybody then; who is in none has a number of their own."""
    merged: bool = False
    """Whether empty text is read as missing, as in this table already."""

    def followed(self, new: Dataset) -> list[tuple[str, ...]]:
        """The columns by which rows are followed into a release: all that both have and, if others change, the steady ones."""
        names = tuple(name for name in followed_by(new, self.table, self.quasi) if name not in self.changing)
        places = self.classes, self.places[new.origin_rows]
        kept = (*self.secrets, *steady(self.table, new, places, [one for one in names if one not in self.secrets]))
        return list(dict.fromkeys([names, tuple(name for name in names if name in kept)]))

    def changes(self, new: Dataset, classes: np.ndarray) -> list[RowChanges]:
        """What changed to the new release, whose rows stand in these classes, for each way to follow rows. O(rows · log rows)."""
        if self.merged:
            new = without_empty(new)
            classes = released_classes(new, self.quasi).labels
        if self.who is not None:
            return [self._changes(new, classes, [np.arange(self.table.rows), self.who[new.origin_rows]])]
        keys = [shared_labels([self.table, new], names)[0] for names in self.followed(new)]
        return [self._changes(new, classes, one) for one in keys]

    def _changes(self, new: Dataset, classes: np.ndarray, keys: Sequence[np.ndarray]) -> RowChanges:
        told = [name for name in self.secrets if name in self.table and name in new]
        both = {name: [words_as_missing(one[name]) for one in (self.table, new)] for name in told}
        secrets = {name: shared_codes(columns)[0] for name, columns in both.items()}
        old, now = (
            Rows(place, key, {name: codes[which] for name, codes in secrets.items()})
            for which, (place, key) in enumerate(zip((self.classes, self.places[new.origin_rows]), keys, strict=True))
        )
        return RowChanges(old, now, classes.astype(np.int64), self.who is not None)
