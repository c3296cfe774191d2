"""The last look before a release: does a column that no promise covers single somebody out?

All such columns together are counted first. A part of them singles out nobody whom the whole does not. So where the whole singles
out nobody, the look is over. Columns may have stayed in their file: then one number a record stands for them (a fingerprint), and
they are read, a few at a time, only where somebody was found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from oboro.measure.exposure.looked_at import LookedAt

__all__ = ["Acceptance", "LastLook", "UniqueBy", "last_look", "uncovered"]


@dataclass(frozen=True)
class UniqueBy:
    """How many people are unique by some columns together."""

    columns: tuple[str, ...]
    people: int


@dataclass(frozen=True)
class Acceptance:
    """Columns by which somebody may be unique, why, and how many people are."""

    columns: tuple[str, ...]
    because: str
    people: int = 0


@dataclass(frozen=True)
class LastLook:
    """Who is unique by the released columns that no promise covers."""

    columns: tuple[str, ...]
    """The columns that were looked at: those that no promise covers, and that are neither secret, random nor pseudonyms."""
    people: int
    """How many people there are: records, unless the recipe says whose they are."""
    counts_people: bool
    unique: int
    """People who are unique by all these columns together."""
    refused: int
    """Those of them whom no acceptance covers. Where there are some, nothing is released."""
    accepted: tuple[Acceptance, ...] = ()
    unneeded: tuple[tuple[str, ...], ...] = ()
    """Acceptances of columns that single nobody out."""
    worst: tuple[UniqueBy, ...] = ()
    """Columns and pairs, the worst first; counted only where the release is refused."""
    pseudonyms: tuple[str, ...] = ()
    """Columns of pseudonyms: nobody knows them without the key, so they are not looked at."""
    promised: tuple[tuple[str, ...], ...] = ()
    """The sets of released columns that promises cover, each set for itself."""

    @property
    def known(self) -> tuple[str, ...]:
        """Everything that an attacker may know, and that no promise covers together; nothing where one promise covers it all."""
        known = (*self.promised, self.columns) if self.columns else self.promised
        return tuple(dict.fromkeys(chain.from_iterable(known))) if len(set(map(frozenset, known))) > 1 else ()

    def as_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return asdict(self)


def last_look(
    release: LookedAt, columns: Sequence[str], accept: Sequence[Acceptance] = (), **more: tuple[Any, ...]
) -> LastLook:
    """Look whether somebody is unique by `columns` whom no acceptance covers.

    An acceptance covers whoever is unique by its columns. So whoever is left is unique by some other columns. `more` are
    other facts: `pseudonyms`, `promised`.
    Cost where nobody is unique: O(rows · columns), and memory of 28 bytes a row where there are many combinations.
    """
    names = tuple(columns)
    facts: dict[str, Any] = {"people": release.everybody, "counts_people": release.person is not None}
    facts |= {"columns": names, **more}
    unique = release.together(names) if names else 0
    if not unique:
        return LastLook(**facts, unique=0, refused=0, unneeded=tuple(one.columns for one in accept))
    refused, taken = uncovered(release, names, unique, accept)
    facts |= {
        "unique": unique,
        "refused": refused,
        "worst": release.ranked(names) if refused else (),
        "accepted": tuple(one for one in taken if one.people),
        "unneeded": tuple(one.columns for one in taken if not one.people),
    }
    return LastLook(**facts)


def uncovered(
    release: LookedAt, names: Sequence[str], unique: int, accept: Sequence[Acceptance]
) -> tuple[int, list[Acceptance]]:
    """How many people no acceptance covers, and the acceptances with how many each covers."""
    if not accept:
        return unique, []
    everybody = [one for one in accept if set(names) <= set(one.columns)]
    if (
        everybody and len(accept) == 1
    ):  # the one acceptance is of all columns: who is unique by them was counted already
        return 0, [replace(everybody[0], people=unique)]
    parts = [[name for name in one.columns if name in names] for one in accept]
    covered = [release.alone(part) for part in parts]
    left = np.setdiff1d(release.alone(names), np.concatenate(covered))
    people = [release.number(part, who) for part, who in zip(parts, covered, strict=True)]
    return release.number(names, left), [replace(one, people=n) for one, n in zip(accept, people, strict=True)]
