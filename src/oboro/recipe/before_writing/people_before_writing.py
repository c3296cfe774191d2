"""Before anything is written: where rows were counted, is one of the identifiers the number of a person who has several?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from oboro.errors import PromiseError
from oboro.table.dataset import Column, Dataset
from oboro.table.frames.nested_column import NestedColumn
from oboro.table.unencoded_columns import unread_columns
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.io.files import Source
    from oboro.recipe.recipe import Recipe
    from oboro.recipe.roles.repeated_people import RepeatedPeople
    from oboro.verifier.promise_check import Promise

__all__ = ["people_before_writing"]


def people_before_writing(
    recipe: Recipe,
    original: Dataset,
    identifiers: Sequence[str],
    released: Dataset,
    promises: Sequence[Promise],
    source: Source | None = None,
) -> list[Message]:
    """Count every promise in people, where an identifier seems to number people with several rows and the recipe has no `person`.

    Raises a `PromiseError` where a promise of rows is broken for them and their traits or a pattern prove that these are people,
    unless the recipe accepts it; else returns what the release should say of it. O(rows) for each identifier that repeats.
    """
    if recipe.person is not None or not promises:
        return []
    unread = unread_columns(original)
    names = _identifiers(original, identifiers)
    held = _held(original, source, names, unread) if unread else original
    left = _left_by_rows(held, names) if names else names
    if left is None:
        return []
    missing = [one for one in left if one not in held]
    said = [Message("exposure.rows.unread", columns=missing)] if missing else []
    others = _by_traits(held, released, left)
    for found, broken in _broken(released, held, [*left, *others], promises):
        facts = {"column": found.column, "reasons": list(found.reasons), "broken": broken}
        because = recipe.because("rows_of", found.column)
        if because:
            said.append(Message("exposure.rows.accepted", **facts, because=because))
        elif found.proven and found.column in left:
            raise PromiseError(Message("error_exposure.rows", **facts))
        else:
            said.append(Message("exposure.rows.perhaps", **facts))
    return said


def _held(original: Dataset, source: Source | None, names: Sequence[str], left: Sequence[str]) -> Dataset:
    """The original with these columns, without those of what was `left` in a file that is large."""
    held = original.select([name for name in original if name not in left])
    unread = [name for name in left if name in names and not isinstance(original[name], NestedColumn)]
    if not unread or source is None or (source.untouched is not None and not source.untouched.small):
        return held
    read = source.fill_columns(original, unread)
    return held.with_columns({name: read[name] for name in unread})


def _identifiers(original: Dataset, declared: Sequence[str]) -> list[str]:
    """Columns that the recipe calls identifiers, and others called the number of a person; released or not, see `Recipe.checks`."""
    from oboro.recipe.roles.column_words import names_one_person

    return [*declared, *(name for name in original if name not in declared and names_one_person(name))]


def _left_by_rows(held: Dataset, names: Sequence[str]) -> list[str] | None:
    """Identifiers that may number people with several rows, where one tells all rows apart.

    `respondent_id` then says that a row is a person: None. `visit_id` or a plain `id` says nothing of `patient_id`.
    """
    from oboro.recipe.roles.column_words import names_one_person

    apart = [name for name in names if name in held and len(held[name].values) == held.rows]
    if any(map(names_one_person, apart)):
        return None
    return [name for name in names if not apart or names_one_person(name)]


def _by_traits(held: Dataset, released: Dataset, names: Sequence[str]) -> list[str]:
    """Other released columns that may be a person, whatever they are called.

    Every value has one sex or birth in all its rows, or is a long code such as a program gives.
    """
    from oboro.recipe.roles.column_forms import holds_tokens
    from oboro.recipe.roles.column_words import names_person_trait
    from oboro.recipe.roles.repeated_people import repeated_in

    asked = [name for name in released if name in held and name not in names]
    found = [one for name in asked if (one := repeated_in(held, name)) is not None]
    traits = [one.column for one in found if any(map(names_person_trait, one.fixed))]
    return traits + [name for name in asked if name not in traits and holds_tokens(held[name])]


def _broken(
    released: Dataset, held: Dataset, names: Sequence[str], promises: Sequence[Promise]
) -> Iterator[tuple[RepeatedPeople, list[Message]]]:
    """Identifiers that seem to number people with several rows, and what does not hold of these people."""
    from oboro.recipe.roles.repeated_people import repeated_in

    for name in names:
        found = repeated_in(held, name, identifier=True) if name in held else None
        if found is not None:
            column, origin = held[name], released.origin
            person = column if origin is None else Column(column.values, column.codes[origin])
            verdicts = [one for promise in promises for one in promise.verify(released, person).verdicts]
            broken = [one.message() for one in verdicts if not one.holds]
            if broken:
                yield found, broken
