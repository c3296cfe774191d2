"""Before anything is written: does a pseudonym or a secret show which rows are one person's, and who is alone with all of them?"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from oboro.measure.linked_rows import linked_people
from oboro.recipe.before_writing.last_look_before_writing import pseudonymized
from oboro.recipe.roles.column_forms import holds_tokens
from oboro.table.dataset import Column, Dataset
from oboro.table.schema import Schema
from oboro.table.unencoded_columns import unread_columns
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.io.files import Source
    from oboro.recipe.release import StepRecord
    from oboro.verifier.promise_check import Promise

__all__ = ["linked_before_writing"]

MOST_ROWS_EACH = 200  # on average; a column with more rows for each value is a category


def linked_before_writing(
    data: Dataset,
    schema: Schema,
    promises: Sequence[Promise],
    steps: Sequence[StepRecord],
    *,
    person: Column | None = None,
    source: Source | None = None,
) -> list[Message]:
    """For each column that joins rows of a person: how many are unique by the classes of all rows that it joins.

    Such are pseudonyms, long codes that a program gave and, where people are known, secrets of which each is one person's.
    Every class may hold k people, and still one person be the only one in all of the classes of their rows.
    """
    over = list(dict.fromkeys(promise.quasi for promise in promises))
    pseudonyms, secrets = pseudonymized(steps), schema.sensitive if person is not None else ()
    others = [name for name in data if not any(name in quasi for quasi in over)]
    coded = [name for name in others if name in pseudonyms] + _tokens(data, set(others).difference(pseudonyms), source)
    asked = [*coded, *(name for name in secrets if name in others and name not in coded)]
    held, said = _held(data, asked, source), []
    for name in asked:
        if name not in held and name in coded:
            said.append(Message("exposure.linked.unread", column=name))
        if name not in held or not _joins_rows(held[name], person):
            continue
        for quasi in over:
            shown = [one for one in quasi if one in data]
            found = linked_people(data, shown, held[name])
            if shown and found.unique:
                kind = "exposure.linked.pseudonym" if name in coded else "exposure.linked.secret"
                said.append(Message(kind, column=name, columns=shown, **vars(found)))
    return said


def _tokens(data: Dataset, names: Collection[str], source: Source | None) -> list[str]:
    """Which hold long codes; of columns that stay in a file the first rows are looked at."""
    unread = [name for name in unread_columns(data) if name in names]
    first = source.first_rows(unread) if unread and source is not None else {}
    seen = {name: Column.encode(values) for name, values in first.items() if pa.types.is_string(values.type)}
    seen |= {name: data[name] for name in names if name not in unread}
    return [name for name in data if name in seen and holds_tokens(seen[name])]


def _held(data: Dataset, names: Sequence[str], source: Source | None) -> Dataset:
    """These columns; without those that stay in a large file."""
    unread = set(unread_columns(data)).intersection(names)
    if source is None or not unread or (source.untouched is not None and not source.untouched.small):
        return data.select([name for name in names if name not in unread])
    return source.fill_columns(data, names)


def _joins_rows(column: Column, person: Column | None) -> bool:
    """Whether some values stand in several rows and, where people are known, in rows of one person only."""
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
