"""The roles of a table's columns: each by itself first, then by whom those that nobody named single out together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from oboro.disclosure.counted_people import RepeatedPeople, repeated_people
from oboro.measure.column_contributions import contributions
from oboro.measure.exposure.following_columns import rows_of_some, seems_to_follow
from oboro.measure.exposure.separation import exposure
from oboro.measure.identifiers import Finding, scan
from oboro.recipe.roles.column_guess import ColumnGuess
from oboro.recipe.roles.first_look import first_look
from oboro.recipe.roles.kept_as_they_are import kept_as_they_are
from oboro.system.process import on_cores
from oboro.table.dataset import Column, Dataset
from oboro.table.hierarchy.propose import propose
from oboro.table.schema import Role
from oboro.table.values import Kind
from oboro.text import Message

__all__ = ["Roles", "guess_roles"]

NUMBERS = (Kind.INTEGER, Kind.NUMBER)
ENOUGH_FOR_MEANS = 20  # records with a value


@dataclass(frozen=True)
class Roles:
    """What each column probably is, and whether people have several rows."""

    columns: Mapping[str, ColumnGuess]
    people: RepeatedPeople | None = None

    @property
    def person(self) -> str | None:
        """The column that says whose rows these are, if every row has somebody."""
        return self.people.column if self.people is not None and not self.people.missing else None

    @property
    def exact_secrets(self) -> list[str]:
        """The sensitive numbers that single somebody out by their exact value."""
        found = [self.columns[name] for name in self.named(Role.SENSITIVE)]
        return [one.name for one in found if one.exposure.unique and one.kind in NUMBERS]

    def named(self, role: Role) -> list[str]:
        """The columns of one role, in the order of the table."""
        return [name for name, one in self.columns.items() if one.role is role]


def guess_roles(data: Dataset, *, figures: bool = True, findings: Sequence[Finding] | None = None) -> Roles:
    """What each column of a table probably is. No column, and no two or more of them, that single somebody out are `other`.

    Cost: O(rows · columns) for the roles. With `figures` also what each does with one and two others, and a hierarchy for it; these
    figures are left out where they cost much more. `findings` are what `scan` found, if it was asked already.

    >>> people = {"sex": ["F", "M"] * 20, "diagnosis": ["flu", "cold"] * 20, "spent": [i * i for i in range(40)]}
    >>> {name: one.role.value for name, one in guess_roles(Dataset.of(people)).columns.items()}
    {'sex': 'quasi', 'diagnosis': 'sensitive', 'spent': 'quasi'}
    """
    people = repeated_people(data)
    person = people.column if people is not None and not people.missing else None
    found = _first_looks(data, people, person, scan(data) if findings is None else findings)
    found = _known_beside(data, _protected(data, _secrets(found, person), person), person)
    return Roles(_with_figures(data, found) if figures else found, people)


def _first_looks(
    data: Dataset, people: RepeatedPeople | None, person: str | None, scanned: Sequence[Finding]
) -> dict[str, ColumnGuess]:
    """Each column by itself; what nothing is known of is `other` for now."""
    findings: dict[str, list[Finding]] = {name: [] for name in data}
    for one in scanned:
        findings[one.column].append(one)

    def guessed(name: str) -> ColumnGuess:
        column, exposed = data[name], exposure(data, [name], person)
        if people is not None and name == people.column:
            return ColumnGuess.of(name, column, exposed, Role.IDENTIFIER, *people.reasons)
        look = first_look(name, column, findings[name])
        role, reasons = (Role.OTHER, []) if look is None else (look[0], [look[1]])
        return ColumnGuess.of(name, column, exposed, role, *reasons)

    return dict(zip(data, on_cores(guessed, data, rows=data.rows), strict=True))


def _secrets(found: dict[str, ColumnGuess], person: str | None) -> dict[str, ColumnGuess]:
    """Secrets that single somebody out by their exact value: numbers become means, or are generalized with the rest."""
    for name, one in found.items():
        if one.role is not Role.SENSITIVE or not one.exposure.unique or one.kind not in NUMBERS:
            continue
        if person is None and one.exposure.rows - one.missing >= ENOUGH_FOR_MEANS:
            found[name] = one.become(Role.SENSITIVE, Message("role.secret_alone", people=one.exposure.unique))
        else:  # means of k rows may be means of one person's
            found[name] = one.become(Role.QUASI, Message("role.alone", people=one.exposure.unique))
    return found


def _protected(data: Dataset, found: dict[str, ColumnGuess], person: str | None) -> dict[str, ColumnGuess]:
    """What would single somebody out if it were released as it is becomes a quasi-identifier, with the reason."""
    open_ = [name for name, one in found.items() if one.role is Role.OTHER]
    safe, singled = kept_as_they_are(data, {name: found[name].exposure for name in open_}, person)
    for name in open_:
        one = found[name]
        if name in safe:
            found[name] = one.become(Role.OTHER, *([] if one.reasons else [Message("role.safe")]))
        elif one.exposure.unique:
            found[name] = one.become(Role.QUASI, Message("role.alone", people=one.exposure.unique))
        else:
            found[name] = one.become(Role.QUASI, Message("role.together", people=singled[name]))
    return found


def _known_beside(data: Dataset, found: dict[str, ColumnGuess], person: str | None) -> dict[str, ColumnGuess]:
    """What follows from a quasi-identifier is known to whoever knows that one; what tells it undoes its labels."""
    some = rows_of_some(data.rows, None if person is None else data[person])
    sample = {name: data[name].take(some) for name, one in found.items() if one.role is Role.QUASI}
    for name in [name for name, one in found.items() if one.role is Role.OTHER and one.exposure.distinct > 1]:
        told = data[name].take(some)
        for id, way in (("role.follows", seems_to_follow), ("role.tells", _tells)):
            quasi = next((quasi for quasi, column in sample.items() if way(column, told)), None)
            if quasi is not None:
                found[name] = replace(found[name], role=Role.QUASI, reasons=(Message(id, column=quasi),))
                break
    return found


def _tells(known: Column, told: Column) -> bool:
    """Whether it would tell the quasi-identifier that a label hides."""
    return seems_to_follow(told, known)


def _with_figures(data: Dataset, found: dict[str, ColumnGuess]) -> dict[str, ColumnGuess]:
    """What each column does with others of those that are released, and a hierarchy for each quasi-identifier."""
    released = [name for name, one in found.items() if one.role is not Role.IDENTIFIER and one.exposure.distinct > 1]
    with_others = contributions(data, released)
    return {
        name: replace(
            one,
            contribution=with_others.get(name),
            hierarchy=propose(name, data[name]) if one.role is Role.QUASI else None,
        )
        for name, one in found.items()
    }
