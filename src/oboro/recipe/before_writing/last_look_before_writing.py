"""Before anything is written: which released columns no promise covers, and whether somebody is unique by them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from oboro.errors import SingledOutError
from oboro.measure.exposure.last_look import Acceptance, LastLook, last_look
from oboro.measure.exposure.people_in_classes import people_at_most
from oboro.recipe.roles.column_words import role_by_name
from oboro.table.dataset import Column, Dataset
from oboro.table.schema import Role, Schema
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.io.files import Source
    from oboro.measure.exposure.looked_at import LookedAt
    from oboro.recipe.release import StepRecord
    from oboro.recipe.released.acceptances import Accept
    from oboro.verifier.promise_check import Promise

__all__ = [
    "beside_promises",
    "look_before_writing",
    "said_of_look",
    "unique_by_all",
    "unprotected",
    "warnings_of_look",
]

SHOWN = 6  # columns and pairs that a refusal lists


def unprotected(data: Dataset, schema: Schema, promises: Sequence[Promise], steps: Sequence[StepRecord]) -> list[str]:
    """The released columns that an attacker may know and that nothing protects.

    A column is protected where a promise covers it, or where its values are random. A sensitive column is the secret itself, which
    the attacker does not know. Nobody knows a pseudonym without the key.
    """
    covered = {*schema.sensitive, *nobodys(steps), *pseudonymized(steps)}
    for promise in filter(attrgetter("covers"), promises):
        covered.update(promise.quasi)
    return [name for name in data if name not in covered]


def _known_secrets(
    data: Dataset, schema: Schema, promises: Sequence[Promise], steps: Sequence[StepRecord], person: Column | None
) -> list[str]:
    """Sensitive columns that no promise is about, whose names say that others know them, and that together single somebody out.

    Who wants to hide a date of birth or an address may call it sensitive; but that is released as it is.
    """
    spoken = {getattr(model, "sensitive", None) for promise in promises for model in promise.models}
    spoken |= {*nobodys(steps), *pseudonymized(steps)}.union(*(promise.quasi for promise in promises))
    names = [name for name in schema.sensitive if name in data and name not in spoken]
    told = [name for name in names if role_by_name(name) in (Role.QUASI, Role.IDENTIFIER)]
    return told if told and _looked_at(data, None, person).together(told) else []


def beside_promises(data: Dataset, schema: Schema, look: LastLook, steps: Sequence[StepRecord]) -> list[str]:
    """The released columns that an attacker may know, and the secrets that may follow from what the attacker knows."""
    hidden = {*nobodys(steps), *pseudonymized(steps)}
    return [*look.columns, *(name for name in schema.sensitive if name in data and name not in hidden)]


def nobodys(steps: Sequence[StepRecord], beside: Collection[str] | None = None) -> set[str]:
    """The columns whose values are not those of their records any more: chance changed or moved them.

    Not those in which most values stayed, nor those that were moved together, because there each row tells the rest of its
    piece as before. `beside`: only pieces that hold one of these columns count as moved together.
    """
    found: set[str] = set()
    for step in filter(attrgetter("traits.random"), steps):
        technique, piece = step.technique, step.technique.moved_together
        whole = piece if beside is None or not set(beside).isdisjoint(piece) else ()
        found |= _touched(step).difference(whole, technique.left_in_place(step.facts, step.rows_before))
    return found


def pseudonymized(steps: Sequence[StepRecord]) -> set[str]:
    """The columns that were replaced by pseudonyms."""
    found = [_touched(step) for step in steps if step.technique.traits.opinion == "pseudonymisation"]
    return set().union(*found)


def _touched(step: StepRecord) -> set[str]:
    return {*(step.changed or ()), *(step.facts.get("attributes") or ())}


def look_before_writing(
    data: Dataset,
    schema: Schema,
    promises: Sequence[Promise],
    steps: Sequence[StepRecord],
    *,
    accept: Sequence[Accept] = (),
    source: Source | None = None,
    person: Column | None = None,
) -> LastLook:
    """Look at the release; raise a `SingledOutError` where unprotected columns single out somebody whom no `accept` covers."""
    wanted = [Acceptance(tuple(one.unique_on), one.because) for one in accept]
    promised = [tuple(filter(data.__contains__, one.quasi)) for one in promises]
    pseudonyms = filter(pseudonymized(steps).__contains__, data)
    facts: dict[str, Any] = {"pseudonyms": tuple(pseudonyms), "promised": tuple(filter(None, promised))}
    secrets = _known_secrets(data, schema, promises, steps, person) if schema.sensitive else []
    names = unprotected(data, schema, promises, steps) + secrets
    if not names:
        everybody = data.rows if person is None else people_at_most(person)
        unneeded = tuple([one.columns for one in wanted])
        return LastLook((), everybody, person is not None, unique=0, refused=0, unneeded=unneeded, **facts)
    found = last_look(_looked_at(data, source, person), names, wanted, **facts)
    if found.refused:
        idle = {name for promise in promises if not promise.covers for name in promise.quasi}
        why = [Message("error_exposure.k_of_one")] if not idle.isdisjoint(names) else []
        if secrets:
            why.append(Message("error_exposure.known_secrets", columns=secrets))
        raise SingledOutError(_refusal(found, why))
    return found


def unique_by_all(data: Dataset, found: LastLook, source: Source | None = None, person: Column | None = None) -> int:
    """How many people are unique for somebody who knows all that promises cover separately, or not at all. O(rows · columns)."""
    return _looked_at(data, source, person).together(found.known)


def said_of_look(found: LastLook) -> list[Message]:
    """What the summary says of the last look: that nobody is unique, and what was not looked at."""
    said = [] if found.unique or not found.columns else [Message("exposure.look.nobody", columns=found.columns)]
    return said + ([Message("exposure.look.pseudonyms", columns=found.pseudonyms)] if found.pseudonyms else [])


def warnings_of_look(found: LastLook) -> list[Message]:
    """What whoever signs the release must know of the last look: what the recipe accepts."""
    said = [
        Message("exposure.look.accepted", people=one.people, all=found.people, columns=one.columns, because=one.because)
        for one in found.accepted
    ]
    return said + [Message("exposure.look.unneeded", columns=columns) for columns in found.unneeded]


def _looked_at(data: Dataset, source: Source | None, person: Column | None) -> LookedAt:
    from oboro.measure.exposure.looked_at import LookedAt

    if source is None or source.untouched is None:
        return LookedAt(data, data.select, person=person)
    known = source.untouched.fingerprints
    read = partial(source.fill_columns, data)
    if known is None:
        return LookedAt(data, read, person=person)
    return LookedAt(data, read, known.names, partial(known.of_rows, data.origin), person)


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
