"""Linked rows: unique people where a pseudonym or another column links the records of a person.

Every class may hold k people. An attacker who knows several records of a person, and sees by the pseudonym which
released records belong together, looks for the people with a record in each of these classes: the intersection of the
classes may hold one (an intersection attack).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from oboro.data.column import Column
from oboro.data.dataset import Dataset, unread_columns
from oboro.data.grouping import Groups, clean
from oboro.disclosure.gate import Findings, ReleaseCandidate
from oboro.disclosure.identifiers import holds_tokens
from oboro.text import Message

__all__ = ["LinkedPeople", "check", "linked_people"]


@dataclass(frozen=True)
class LinkedPeople:
    """Number of people, and of those who are unique by the classes of all their records."""

    people: int
    unique: int


def linked_people(data: Dataset, quasi: Sequence[str], person: Column) -> LinkedPeople:
    """Compare people by how many rows they have in which class. Exact; O(rows · log rows), rows without a person are left out.

    >>> table = Dataset.of({"who": [1, 1, 2, 2, 3, 3], "year": [80, 81, 80, 81, 80, 80]})
    >>> linked_people(table, ["year"], table["who"])
    LinkedPeople(people=3, unique=1)
    """
    labels = Groups.of([clean(data[name]) for name in quasi], data.rows).labels
    known = np.flatnonzero(person.codes != person.missing) if person.missing >= 0 else np.arange(data.rows)
    order = known[np.lexsort((labels[known], person.codes[known]))]
    counts = np.bincount(person.codes[order], minlength=len(person.values))
    starts = np.cumsum(counts) - counts
    held = np.flatnonzero(counts)
    return LinkedPeople(held.size, _alone(labels[order].astype(np.int64), starts[held], counts[held]))


def _alone(labels: np.ndarray, starts: np.ndarray, counts: np.ndarray) -> int:
    """How many of the sorted runs of labels are like no other; a run more is read only of those that were alike so far."""
    wide, place, alone = int(labels.max(initial=0)) + 1, 0, 0
    state = np.unique(counts, return_inverse=True)[1].ravel()
    while state.size:
        single = np.bincount(state)[state] == 1
        alone += int(single.sum())
        going = ~single & (counts > place)
        starts, counts, state = starts[going], counts[going], state[going]
        state = np.unique(state * wide + labels[starts + place], return_inverse=True)[1].ravel()
        place += 1
    return alone


# Check of linking columns ---------------------------------------------------------------------------------------------
# Check whether a pseudonym, a code or a sensitive attribute links the records of a person, and count the people who
# are unique by all of their linked records.


MOST_ROWS_EACH = 200  # on average; a column with more rows for each value is a category


def check(candidate: ReleaseCandidate) -> Findings:
    """Caution of each column that links records: how many people are unique by the classes of all linked records.

    Such are pseudonyms, long codes that a program gave and, where people are counted, sensitive attributes of which each value is
    one person's.
    """
    if not candidate.guarantees:
        return Findings()
    data, person = candidate.released, candidate.person
    over = list(dict.fromkeys(one.quasi for one in candidate.guarantees))
    pseudonyms, secrets = candidate.pseudonyms, candidate.schema.sensitive if person is not None else ()
    others = [name for name in data if not any(name in quasi for quasi in over)]
    coded = [name for name in others if name in pseudonyms] + _tokens(candidate, set(others).difference(pseudonyms))
    coded = [name for name in coded if _repeats(candidate, name)]
    asked = [*coded, *(name for name in secrets if name in others and name not in coded)]
    held, cautions = candidate.loaded(data, asked), []
    for name in asked:
        if name not in held and name in coded:
            cautions.append(Message("exposure.linked.unread", column=name))
        if name not in held or not _links_records(held[name], person):
            continue
        for quasi in over:
            shown = [one for one in quasi if one in data]
            candidate.require_rows(shown)
            found = linked_people(data, shown, held[name])
            if shown and found.unique:
                kind = "exposure.linked.pseudonym" if name in coded else "exposure.linked.secret"
                cautions.append(Message(kind, column=name, columns=shown, **vars(found)))
    return Findings(tuple(cautions))


def _repeats(candidate: ReleaseCandidate, name: str) -> bool:
    """Return whether values of a column that is not loaded may be in several records, as far as the store knows."""
    known = candidate.store.distinct(name) if name in unread_columns(candidate.released) else None
    return known is None or known < candidate.original.rows


def _tokens(candidate: ReleaseCandidate, names: Collection[str]) -> list[str]:
    """Return the columns of long codes; of columns that are not loaded the first rows are read."""
    data = candidate.released
    unread = [name for name in unread_columns(data) if name in names]
    first = candidate.first_rows(unread)
    seen = {name: Column.encode(values) for name, values in first.items() if pa.types.is_string(values.type)}
    seen |= {name: data[name] for name in names if name not in unread}
    return [name for name in data if name in seen and holds_tokens(seen[name])]


def _links_records(column: Column, person: Column | None) -> bool:
    """Return whether some values are in several records and, where people are counted, each in records of one person only."""
    held = np.flatnonzero(column.codes != column.missing)
    codes = column.codes[held]
    values = np.unique(codes).size
    if not values < held.size <= MOST_ROWS_EACH * values:
        return False
    if person is None:
        return True
    whose = np.empty(len(column.values), person.codes.dtype)
    whose[codes] = person.codes[held]
    return bool((whose[codes] == person.codes[held]).all())
