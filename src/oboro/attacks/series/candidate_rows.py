"""Which rows of the new release somebody may be who is in every release: those whose like stands in their class each time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from oboro.attacks.series.followed_rows import FollowedRows
from oboro.attacks.series.narrowed import Narrowed, distinct_values, narrowed
from oboro.table.dataset import Dataset
from oboro.table.hierarchy import Hierarchy
from oboro.verifier.series.old_places import old_places

__all__ = ["known_people", "overlapping_people", "rows_in_all"]

MOST = 20_000_000  # rows and combinations of classes that are looked at together


def known_people(
    people: Dataset, releases: Sequence[Dataset], quasi: Sequence[str], hierarchies: Mapping[str, Hierarchy] | None
) -> tuple[np.ndarray, np.ndarray]:
    """The combinations of classes in which people stand, and how many in each; nobody who fits no class of a release."""
    names = [name for name in quasi if name in people]
    places = [old_places(people, one, names, hierarchies)[1] for one in releases]
    found, times = np.unique(np.column_stack(places), axis=0, return_counts=True)
    there = (found >= 0).all(axis=1)
    return found[there], times[there]


def overlapping_people(looks: Sequence[FollowedRows]) -> np.ndarray:
    """Every combination of a new class with an old one of each release that overlaps it."""
    vectors = np.arange(len(looks[0].classes[1]))[:, None]
    for look in looks:
        pairs = look.overlap.pairs
        order = np.argsort(pairs[:, 1], kind="stable")
        begin, end = (np.searchsorted(pairs[order, 1], vectors[:, 0], side) for side in ("left", "right"))
        place = np.repeat(begin, end - begin) + _within(end - begin)
        vectors = np.column_stack([np.repeat(vectors, end - begin, axis=0), pairs[order[place], 0]])
    return vectors


def rows_in_all(
    looks: Sequence[FollowedRows], vectors: np.ndarray, times: np.ndarray | None, k: int, diverse: Mapping[str, int]
) -> Narrowed:
    """Count for each combination of classes (the new one first) the rows that fit; `times` people stand in each.

    Without `times` it is about the rows: each is narrowed as far as the worst combination that it may belong to narrows it.
    """
    found = _Candidates.of(looks, vectors)
    if times is not None:
        return narrowed(times, found.left, found.values, k, diverse)
    least = [found.worst(array) for array in (found.left, *found.values.values())]
    values = dict(zip(found.values, least[1:], strict=True))
    return narrowed(found.weights, np.where(found.touched, least[0], 0), values, k, diverse)


@dataclass(frozen=True, eq=False)
class _Candidates:
    left: np.ndarray  # of each combination, how many rows (or people) fit
    values: Mapping[str, np.ndarray]  # and how many values of each secret they hold
    weights: np.ndarray  # of each row of the new release: 0 where another row of the same person in its class counts
    group: np.ndarray  # each fit: the combination,
    row: np.ndarray  # and the row

    @staticmethod
    def of(looks: Sequence[FollowedRows], vectors: np.ndarray) -> _Candidates:
        classes = looks[0].classes[1]
        members, there = classes.members(), [look.followed_from for look in looks]
        step = max(1, MOST // max(1, int(classes.sizes.max(initial=1))))
        parts = [
            _fitting(looks, there, vectors[begin : begin + step], members, begin)
            for begin in range(0, len(vectors), step)
        ]
        group, row = (
            np.concatenate([part[side] for part in parts]) if parts else np.zeros(0, np.int64) for side in (0, 1)
        )
        weights = _one_each(looks[0]) if looks[0].once else np.ones(classes.labels.size, np.int64)
        left = np.bincount(group, weights=weights[row], minlength=len(vectors)).astype(np.int64)
        secrets = looks[0].secrets[1]
        values = {name: distinct_values(group, codes[row], len(vectors)) for name, codes in secrets.items()}
        return _Candidates(left, values, weights, group, row)

    @property
    def touched(self) -> np.ndarray:
        """Which rows fit some combination."""
        out = np.zeros(self.weights.size, dtype=bool)
        out[self.row] = True
        return out

    def worst(self, figures: np.ndarray) -> np.ndarray:
        """For each row the least figure of the combinations that it fits."""
        out = np.full(self.weights.size, np.iinfo(np.int64).max)
        np.minimum.at(out, self.row, figures[self.group])
        return out


def _fitting(
    looks: Sequence[FollowedRows],
    there: Sequence[np.ndarray],
    vectors: np.ndarray,
    members: tuple[np.ndarray, np.ndarray],
    begin: int,
) -> tuple[np.ndarray, np.ndarray]:
    order, starts = members
    sizes = starts[vectors[:, 0] + 1] - starts[vectors[:, 0]]
    group = np.repeat(np.arange(len(vectors)), sizes)
    rows = order[starts[vectors[group, 0]] + _within(sizes)]
    for number, (look, known) in enumerate(zip(looks, there, strict=True), 1):
        asked = vectors[group, number] * look.width + look.keys[1][rows]
        fits = known[np.minimum(np.searchsorted(known, asked), known.size - 1)] == asked if known.size else asked < 0
        group, rows = group[fits], rows[fits]
    return group + begin, rows


def _within(sizes: np.ndarray) -> np.ndarray:
    """0, 1, 2 … within each of several runs."""
    return np.asarray(np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes))


def _one_each(look: FollowedRows) -> np.ndarray:
    """1 for one row of each person in a class."""
    pairs = look.classes[1].labels.astype(np.int64) * look.width + look.keys[1]
    out = np.zeros(pairs.size, np.int64)
    out[np.unique(pairs, return_index=True)[1]] = 1
    return out
