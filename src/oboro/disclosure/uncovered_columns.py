"""Check whether a person is unique by released columns that no guarantee covers.

All such columns together are counted first; a part of them singles out nobody whom the whole does not. Where people are unique whom
the recipe does not accept, the refusal says by which columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from oboro.disclosure.column_names import role_by_name
from oboro.disclosure.gate import ColumnStore, Findings, ReleaseCandidate
from oboro.errors import SingledOutError
from oboro.measure.exposure.last_look import Acceptance, LastLook, last_look
from oboro.measure.exposure.looked_at import LookedAt
from oboro.measure.exposure.people_in_classes import people_at_most
from oboro.table.dataset import Column, Dataset
from oboro.table.schema import Role
from oboro.text import Message

__all__ = ["accepted_cautions", "check", "known_columns", "look_findings", "unique_by_all"]

SHOWN = 6  # columns and pairs that a refusal lists


def check(candidate: ReleaseCandidate) -> Findings:
    """Count the people who are unique by uncovered columns; raise a `SingledOutError` where the recipe accepts not all of them.

    Without uncovered columns no record is read. O(records · columns).
    """
    released = candidate.released
    wanted = [Acceptance(tuple(one.unique_on), one.because) for one in candidate.accept if one.unique_on]
    covered = [tuple(name for name in one.quasi if name in released) for one in candidate.guarantees]
    pseudonyms = tuple(name for name in released if name in candidate.pseudonyms)
    telling = _telling_columns(candidate)
    names = candidate.uncovered + telling
    if not names:
        person = candidate.person
        look = LastLook(
            (),
            released.rows if person is None else people_at_most(person),
            person is not None,
            unique=0,
            refused=0,
            unneeded=tuple(one.columns for one in wanted),
            pseudonyms=pseudonyms,
            promised=tuple(one for one in covered if one),
        )
        return Findings(look=look)
    promised = tuple(one for one in covered if one)
    found = last_look(_exposure(candidate), names, wanted, pseudonyms=pseudonyms, promised=promised)
    if found.refused:
        idle = {name for one in candidate.guarantees if not one.covers for name in one.quasi}
        why = [Message("error_exposure.k_of_one")] if not idle.isdisjoint(names) else []
        if telling:
            why.append(Message("error_exposure.known_secrets", columns=telling))
        raise SingledOutError(_refusal(found, why))
    return Findings(look=found)


def known_columns(candidate: ReleaseCandidate) -> list[str]:
    """Return the columns that this check counts: uncovered ones, and sensitive ones that others know."""
    return candidate.uncovered + _telling_columns(candidate)


def _telling_columns(candidate: ReleaseCandidate) -> list[str]:
    """Return sensitive columns without a guarantee whose names say that others know them, where they single a person out.

    Somebody may call a date of birth or an address sensitive in order to protect it; but it is released as it is.
    """
    if not candidate.schema.sensitive:
        return []
    covered = {getattr(model, "sensitive", None) for one in candidate.guarantees for model in one.models}
    covered |= {*candidate.perturbed, *candidate.pseudonyms}
    covered = covered.union(*(one.quasi for one in candidate.guarantees))
    names = [name for name in candidate.schema.sensitive if name in candidate.released and name not in covered]
    known = [name for name in names if role_by_name(name) in (Role.QUASI, Role.IDENTIFIER)]
    return known if known and _exposure(candidate).together(known) else []


def unique_by_all(data: Dataset, found: LastLook, store: ColumnStore, person: Column | None = None) -> int:
    """Count the people who are unique by all columns that guarantees cover separately, or not at all. O(records · columns)."""
    return _counted(data, store, person).together(found.known)


def _exposure(candidate: ReleaseCandidate) -> LookedAt:
    return _counted(candidate.released, candidate.store, candidate.person)


def _counted(data: Dataset, store: ColumnStore, person: Column | None) -> LookedAt:
    marks = store.fingerprints(data)
    read = partial(store.read, data)
    if marks is None:
        return LookedAt(data, read, person=person, counted=store.unique)
    return LookedAt(data, read, marks.names, marks.numbers, person, store.unique)


def look_findings(found: LastLook) -> list[Message]:
    """Return the lines of a summary: nobody is unique, and pseudonyms that were not counted."""
    lines = [] if found.unique or not found.columns else [Message("exposure.look.nobody", columns=found.columns)]
    return lines + ([Message("exposure.look.pseudonyms", columns=found.pseudonyms)] if found.pseudonyms else [])


def accepted_cautions(found: LastLook) -> list[Message]:
    """Return what the signer of a release must know: what the recipe accepts."""
    lines = [
        Message("exposure.look.accepted", people=one.people, all=found.people, columns=one.columns, because=one.because)
        for one in found.accepted
    ]
    return lines + [Message("exposure.look.unneeded", columns=columns) for columns in found.unneeded]


def _refusal(found: LastLook, why: Sequence[Message]) -> Message:
    kind = "people" if found.counts_people else "records"
    worst = [
        Message("error_exposure.singled_out_by", columns=one.columns, people=one.people) for one in found.worst[:SHOWN]
    ]
    suffices = next((one.columns for one in found.worst if one.people == found.unique), found.columns)
    return Message(
        f"error_exposure.singled_out.{kind}",
        unique=found.refused,
        people=found.people,
        columns=found.columns,
        worst=worst,
        accept=", ".join(suffices),
        why=why,
    )
