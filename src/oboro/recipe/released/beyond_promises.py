"""Secrets that no promise covers, and what a run says of them.

Where everybody in a group has the same secret, the group tells it, however large it is.
"""

from __future__ import annotations

from collections.abc import Collection
from operator import attrgetter
from typing import TYPE_CHECKING

from oboro.disclosure.gate import perturbed_columns
from oboro.measure.exposure.secret_certainty import CertainSecrets, certain_secrets, near_secret
from oboro.table.dataset import Dataset
from oboro.table.distinct_people import person_of_rows
from oboro.text import Message
from oboro.verifier.classes import Classes
from oboro.verifier.strict_reading import read_strictly

if TYPE_CHECKING:
    from oboro.recipe.release import Release

__all__ = ["near_said", "spelled_said", "unpromised_said"]

PERSON = "\0person"  # a name that no column has


def unpromised_said(release: Release, secrets: Collection[str], *, measured: bool) -> list[Message]:
    """For how many people each of these secrets is certain; where that is not `measured`, that it may be.

    Nothing is said where values were drawn or moved by chance, or where candidates are promised: classes of equal records tell
    nothing there.
    """
    quasi, names = _told_by_classes(release, secrets)
    if not names:
        return []
    if not measured:
        return [Message("exposure.look.secret_unmeasured", columns=names)]
    found = _certain(release, quasi, names)
    return [Message("exposure.look.secret", **vars(one)) for one in found if one.nearly_certain]


def spelled_said(release: Release, secrets: Collection[str]) -> list[Message]:
    """For how many people each of these secrets is certain to a reader to whom `flu` and `Flu` are one, as no promise says."""
    quasi, names = _told_by_classes(release, secrets)
    found = _certain(release, quasi, names) if names else ()
    return [Message("exposure.look.secret_spelled", **vars(one)) for one in found if one.certain]


def near_said(release: Release, secrets: Collection[str]) -> list[Message]:
    """For how many people all values of their group lie close together, which l-diversity counts as different."""
    quasi, names = _told_by_classes(release, secrets)
    if not names:
        return []
    data, person = _read(release, quasi, names)
    classes = Classes.of(data, quasi, person)
    found = [one for name in names if (one := near_secret(classes, name)) is not None]
    return [Message("exposure.look.secret_near", **vars(one)) for one in found if one.near]


def _told_by_classes(release: Release, secrets: Collection[str]) -> tuple[list[str], list[str]]:
    """The quasi-identifiers, and those of the secrets of which classes of equal records tell something."""
    released = release.worked.data
    random = perturbed_columns(release.steps, beside=release.given.quasi)
    names = [name for name in released if name in secrets and name not in random]
    quasi = [name for name in release.given.quasi if name in released]
    by_candidates = any(map(attrgetter("counts_candidates"), release.verification.verdicts))
    return (quasi, [] if not quasi or by_candidates or not random.isdisjoint(quasi) else names)


def _certain(release: Release, quasi: list[str], names: list[str]) -> tuple[CertainSecrets, ...]:
    data, person = _read(release, quasi, names)
    return certain_secrets(data, quasi, names, person)


def _read(release: Release, quasi: list[str], names: list[str]) -> tuple[Dataset, str | None]:
    """The release as its strictest reader takes it, with the column that says whose each row is."""
    released, source, given = release.worked.data, release.source, release.given
    known = [*quasi, *names]
    data = released.select(known) if source is None else source.fill_columns(released, known)
    data = read_strictly(data, quasi, names)  # empty text and a missing value are one secret, not two
    person = person_of_rows(release.original, given.person, released.origin, given.fold(given.person))
    return (data, None) if person is None else (data.with_columns({PERSON: person}), PERSON)
