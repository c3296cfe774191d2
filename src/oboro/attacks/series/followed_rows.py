"""A new release beside an earlier one, row by row: classes that overlap, keys by which rows are followed, secrets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from oboro.attacks.series.narrowed import Narrowed, distinct_values, narrowed
from oboro.attacks.series.overlapping_classes import Overlap, overlap
from oboro.table.dataset import Dataset
from oboro.table.groups import Groups
from oboro.table.hierarchy import Hierarchy
from oboro.table.value_counts import clean
from oboro.verifier.series.earlier_release import followed_by, steady
from oboro.verifier.series.shared_codes import shared_labels

__all__ = ["FollowedRows"]


@dataclass(frozen=True, eq=False)
class FollowedRows:
    """Keys are numbered alike in both releases. Pairs are of the earlier and of the new one."""

    overlap: Overlap
    followed: tuple[str, ...]
    keys: tuple[np.ndarray, np.ndarray]
    width: int
    secrets: tuple[Mapping[str, np.ndarray], Mapping[str, np.ndarray]]
    once: bool = False
    """Whether a key is a person, who counts once however many rows they have in a class."""

    @staticmethod
    def of(
        earlier: Dataset,
        released: Dataset,
        quasi: Sequence[str],
        sensitive: Sequence[str],
        *,
        person: str | None = None,
        known: Dataset | None = None,
        hierarchies: Mapping[str, Hierarchy] | None = None,
        steadily: bool = False,
    ) -> FollowedRows:
        """Compare classes and number keys. With `steadily`, rows are not followed by columns that change. O(rows · columns)."""
        found = overlap(earlier, released, quasi, known=known, hierarchies=hierarchies)
        followed = followed_by(released, earlier, quasi, person)
        if steadily and followed != (person,):
            regions = found.old_region[found.old.labels], found.new_region[found.new.labels]
            kept = steady(earlier, released, regions, [name for name in followed if name not in sensitive])
            followed = tuple(name for name in followed if name in (*sensitive, *kept))
        keys, width = shared_labels([earlier, released], followed)
        old, new = ({n: clean(one[n]).codes for n in sensitive if n in one} for one in (earlier, released))
        return FollowedRows(found, followed, (keys[0], keys[1]), width, (old, new), followed == (person,))

    @property
    def classes(self) -> tuple[Groups, Groups]:
        """The classes of both releases."""
        return self.overlap.old, self.overlap.new

    @property
    def followed_from(self) -> np.ndarray:
        """Which keys stand in which old class, as numbers in order."""
        return np.unique(self.overlap.old.labels.astype(np.int64) * self.width + self.keys[0])

    def changed(self, k: int, diverse: Mapping[str, int], *, new: bool) -> Narrowed:
        """The rows of one release that the other does not explain within the region that both describe, class by class.

        Somebody known to be in this release and not in the other is among those of their class.
        """
        mine = int(new)
        regions = self.overlap.old_region, self.overlap.new_region
        pairs = [
            regions[side][self.classes[side].labels].astype(np.int64) * self.width + self.keys[side] for side in (0, 1)
        ]
        found, ids = np.unique(np.concatenate(pairs), return_inverse=True)
        split = ids[: pairs[0].size], ids[pairs[0].size :]
        here, there = (self._number(np.bincount(split[side], minlength=found.size)) for side in (mine, 1 - mine))
        cells, each, rows = np.unique(
            self.classes[mine].labels.astype(np.int64) * found.size + split[mine],
            return_inverse=True,
            return_counts=True,
        )
        number = np.minimum(self._number(rows), np.maximum(here - there, 0)[cells % max(1, found.size)])
        group, groups = cells // max(1, found.size), len(self.classes[mine])
        sizes = np.bincount(group, weights=number, minlength=groups).astype(np.int64)
        told = number[each] > 0
        held = {n: distinct_values(group[each[told]], v[told], groups) for n, v in self.secrets[mine].items()}
        return narrowed(sizes, sizes, held, k, diverse)

    def _number(self, rows: np.ndarray) -> np.ndarray:
        return np.minimum(rows, 1) if self.once else rows
