"""An earlier release beside a new one: by which columns rows can be followed from one to the other, and what changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from oboro.table.dataset import Dataset
from oboro.verifier.series.row_changes import RowChanges, Rows
from oboro.verifier.series.shared_codes import shared_codes, shared_labels

__all__ = ["EarlierRelease", "followed_by"]


def followed_by(new: Dataset, earlier: Dataset, quasi: Sequence[str], person: str | None = None) -> tuple[str, ...]:
    """The columns by which rows are followed: whose they are, where both releases tell; else all that both say beside the
    quasi-identifiers."""
    if person is not None and person in new and person in earlier:
        return (person,)
    return tuple(name for name in new if name in earlier and name not in quasi)


@dataclass(frozen=True, eq=False)
class EarlierRelease:
    """A release that is out already: its rows, and the class of each."""

    table: Dataset
    classes: np.ndarray
    """The class of each of its rows; those that are out with their person have one for all that was said of them."""
    followed: tuple[str, ...]
    """The columns by which rows are followed into the next release."""
    once: bool = False
    """Whether these say whose a row is."""
    secrets: tuple[str, ...] = field(default=())
    """The columns of which different values are asked for."""

    def changes(self, new: Dataset, places: np.ndarray, classes: np.ndarray) -> RowChanges:
        """What changed: `places` are the old classes of the new rows, `classes` their new ones. O(rows · log rows)."""
        followed = [name for name in self.followed if name in new]
        keys, _ = shared_labels([self.table, new], followed)
        secrets: Mapping[str, list[np.ndarray]] = {
            name: shared_codes([self.table[name], new[name]])[0]
            for name in self.secrets
            if name in self.table and name in new
        }
        old, now = (
            Rows(place, key, {name: codes[which] for name, codes in secrets.items()})
            for which, (place, key) in enumerate(zip((self.classes, places), keys, strict=True))
        )
        return RowChanges(old, now, classes, self.once)
