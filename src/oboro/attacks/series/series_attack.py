"""What several releases tell together: the intersection attack on who is in all, the difference attack on who came or left.

The attacker has the released files, knows a person's quasi-identifiers, and knows in which releases the person is. Rows are
followed from one release to the next by what both say beside the quasi-identifiers.

- *In all*: the person's row is one of those of their class in the new release whose like stands in their class of every other.
- *Came*: a person who is in the new release and not in an earlier one is among the rows that the earlier one does not explain.
- *Left*: the same the other way round.

Everything is counted over all rows, nothing is drawn, and the order of rows plays no part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from oboro.attacks.series.candidate_rows import known_people, overlapping_people, rows_in_all
from oboro.attacks.series.followed_rows import FollowedRows
from oboro.attacks.series.narrowed import Narrowed
from oboro.table.dataset import Dataset
from oboro.table.hierarchy import Hierarchy

__all__ = ["SeriesRisk", "series_attack"]


@dataclass(frozen=True)
class SeriesRisk:
    """What a release tells together with those before it."""

    earlier: int
    k: int
    l: Mapping[str, int]  # noqa: E741
    followed_by: tuple[tuple[str, ...], ...]
    """For each earlier release, the columns by which rows were followed from it."""
    known: bool
    """Whether those who are in all are the people of an original table; otherwise rows are counted."""
    in_all: Narrowed
    came: tuple[Narrowed, ...]
    """For each earlier release, the rows that are new since."""
    left: tuple[Narrowed, ...]
    """For each earlier release, the rows that are gone since."""
    verified: bool = False
    """Whether a promise over the series was verified. What the attacks conclude is then wrong for some of those whom they name."""
    accepted: str = ""
    """Why it may be released although it tells some people; empty: nobody said so."""

    @property
    def attacks(self) -> list[tuple[str, int, Narrowed]]:
        """Each attack with its name and the number of the earlier release (0: all of them)."""
        found = [("in_all", 0, self.in_all)]
        for number, (came, left) in enumerate(zip(self.came, self.left, strict=True), 1):
            found += [("came", number, came), ("left", number, left)]
        return found

    @property
    def exposed(self) -> int:
        """The most people whom one of the attacks narrows below k or l."""
        return max(one.exposed for _, _, one in self.attacks)

    @property
    def refused(self) -> int:
        """The same, where nobody accepted it and no promise over the series was verified."""
        return 0 if self.accepted or self.verified else self.exposed

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "exposed": self.exposed}


def series_attack(
    released: Dataset,
    earlier: Sequence[Dataset],
    *,
    quasi: Sequence[str],
    k: int,
    diverse: Mapping[str, int] | None = None,
    person: str | None = None,
    original: Dataset | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> SeriesRisk:
    """Attack `released` with the releases before it. O(rows · log rows), and what classes overlap.

    `diverse` says of how many values of each sensitive column one must be in doubt. `original` are people whom the attacker knows;
    without it everybody is attacked who may stand in the classes. `person` is a released column that says whose a row is.
    """
    wanted = {name: least for name, least in (diverse or {}).items() if name in released}
    known: dict[str, Any] = {"person": person, "known": original, "hierarchies": hierarchies}
    found: list[SeriesRisk] = []
    for steadily in (False, True):
        looks = [FollowedRows.of(one, released, quasi, list(wanted), **known, steadily=steadily) for one in earlier]
        if not found or any(look.followed != names for look, names in zip(looks, found[0].followed_by, strict=True)):
            vectors, times = overlapping_people(looks), None
            if original is not None:
                vectors, times = known_people(original, [released, *earlier], quasi, hierarchies)
            found.append(_attacked(looks, vectors, times, k, wanted))
    return found[0] if len(found) == 1 else _worse(*found)


def _attacked(
    looks: Sequence[FollowedRows], vectors: np.ndarray, times: np.ndarray | None, k: int, diverse: Mapping[str, int]
) -> SeriesRisk:
    return SeriesRisk(
        earlier=len(looks),
        k=k,
        l=diverse,
        followed_by=tuple(look.followed for look in looks),
        known=times is not None,
        in_all=rows_in_all(looks, vectors, times, k, diverse),
        came=tuple(look.changed(k, diverse, new=True) for look in looks),
        left=tuple(look.changed(k, diverse, new=False) for look in looks),
    )


def _worse(one: SeriesRisk, other: SeriesRisk) -> SeriesRisk:
    """Of two ways to follow rows, for each attack the one that finds more."""

    def more(first: Narrowed, second: Narrowed) -> Narrowed:
        return second if second.exposed > first.exposed else first

    came, left = (tuple(map(more, *pair)) for pair in ((one.came, other.came), (one.left, other.left)))
    return replace(one, in_all=more(one.in_all, other.in_all), came=came, left=left)
