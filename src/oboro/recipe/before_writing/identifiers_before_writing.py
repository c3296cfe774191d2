"""Before anything is written: does a released column name people, by their names, e-mail addresses, telephone numbers and the like?

However many records share an address, it is somebody's, and no promise about groups says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from oboro.errors import PromiseError
from oboro.measure.identifying.held_identifiers import HeldIdentifiers, held_identifiers
from oboro.recipe.before_writing.last_look_before_writing import pseudonymized
from oboro.table.schema import Role
from oboro.table.unencoded_columns import UnreadColumn
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.recipe.recipe import Recipe
    from oboro.recipe.release import StepRecord
    from oboro.table.dataset import Column, Dataset

__all__ = ["First", "FoundIdentifiers", "identifiers_before_writing"]

First = Callable[[Sequence[str]], Mapping[str, pa.Array]]
"""The first rows of columns that stay where they are."""


@dataclass(frozen=True)
class FoundIdentifiers:
    """What is said of identifiers in released columns."""

    accepted: tuple[Message, ...] = ()  # columns of them, which the recipe accepts
    told: tuple[Message, ...] = ()  # some among other values


def identifiers_before_writing(
    recipe: Recipe, released: Dataset, steps: Sequence[StepRecord], first: First | None = None
) -> FoundIdentifiers:
    """Look at the values of every released column. O(distinct values).

    Raises a `PromiseError` where most of a column are identifiers of several people, unless the recipe accepts it. Of a column that
    stays in a large file only the `first` rows are looked at.
    """
    pseudonyms = pseudonymized(steps)
    names = [name for name in released if name not in pseudonyms]
    unread = [name for name in names if isinstance(released[name], UnreadColumn)]
    held = {name: _held(name, released[name]) for name in names if name not in unread}
    seen = first(unread) if unread and first is not None else {}
    held |= {name: held_identifiers(name, values, np.ones(len(values), np.int64)) for name, values in seen.items()}
    accepted: list[Message] = []
    for name, found in held.items():
        grouped = recipe.columns[name].role is Role.QUASI if name in recipe.columns else False
        named = [
            one for one in found if one.plain and not (grouped and one.kind == "name")
        ]  # a name that k people share
        plain = max(named, key=lambda one: one.records, default=None)
        if plain is not None:
            accepted.append(_accepted(recipe, name, plain))
    told = [
        Message("report.warning.looks_like_identifiers", column=name, **_facts(one, "records"))
        for name, found in held.items()
        for one in found
        if not one.plain and name not in seen
    ]
    return FoundIdentifiers(tuple(accepted), tuple(told))


def _held(name: str, column: Column) -> list[HeldIdentifiers]:
    return held_identifiers(name, column.values, column.counts)


def _accepted(recipe: Recipe, name: str, found: HeldIdentifiers) -> Message:
    """What the recipe says of a column that names people; it is refused where it says nothing."""
    because = recipe.because("identifiers", name)
    facts = {"column": name, **_facts(found, "records", "looked")}
    if not because:
        raise PromiseError(Message("error_exposure.identifiers", **facts))
    return Message("exposure.look.identifiers", **facts, because=because)


def _facts(found: HeldIdentifiers, *names: str) -> dict[str, object]:
    return {"kind": found.kind_name, **{name: getattr(found, name) for name in names}}
