"""Before anything is written: does a column that no promise covers, or a secret, follow from a quasi-identifier?

Whoever knows the quasi-identifiers, which every promise allows, then knows that column too, and finds fewer records than promised.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from oboro.measure.exposure.following_columns import rows_of_some, seems_to_follow
from oboro.table.dataset import Column, Dataset
from oboro.table.nested_values import is_nested, nested_column, numbered
from oboro.table.unencoded_columns import UnreadColumn
from oboro.text import Message
from oboro.verifier.models.class_models import KAnonymity, SensitiveModel

if TYPE_CHECKING:
    from oboro.io.files import Source
    from oboro.verifier.promise_check import Promise

__all__ = ["known_beside_before_writing"]


def known_beside_before_writing(
    original: Dataset,
    released: Dataset,
    beside: Sequence[str],
    promises: Sequence[Promise],
    person: Column | None = None,
    source: Source | None = None,
) -> list[Message]:
    """What each promise of groups amounts to, counted with the columns `beside` it that follow from its quasi-identifiers.

    A few rows rule most columns out; O(rows) for each that is left.
    """
    some = rows_of_some(released.rows, person)
    said = []
    for promise in promises:
        models = tuple(one for one in promise.models if isinstance(one, KAnonymity | SensitiveModel))
        asked = replace(promise, models=models)
        found = dict(_following(original, released, beside, asked, some, source)) if models else {}
        if found and (broken := _broken(released, asked, found, person)):
            quasi = dict.fromkeys(name for name, _ in found.values())
            said.append(Message("exposure.known_beside", columns=list(found), quasi=list(quasi), broken=broken))
    return said


def _following(
    original: Dataset,
    released: Dataset,
    names: Sequence[str],
    promise: Promise,
    some: np.ndarray,
    source: Source | None,
) -> Iterator[tuple[str, tuple[str, Column]]]:
    """The columns that follow from one quasi-identifier as it came, each with it and as it is released."""
    held = [name for name in promise.quasi if name in released and name in original]
    known = {name: original[name] for name in held if not isinstance(original[name], UnreadColumn)}
    unread = [name for name in names if isinstance(released[name], UnreadColumn)]
    first = source.first_rows(unread, list(known)) if unread and source is not None else {}
    before = some if released.origin is None else released.origin[some]
    sample = {name: column.take(before) for name, column in known.items()}
    for name in names:
        if name in first:
            told = _encoded(first[name])
            rows = np.arange(len(told))
            beside = {
                quasi: _encoded(first[quasi]) if quasi in first else column.take(rows)
                for quasi, column in known.items()
            }
        elif name in unread:
            continue
        else:
            told, beside = released[name].take(some), sample
        quasi = next((one for one in beside if seems_to_follow(beside[one], told)), None)
        if quasi is not None:
            whole = source.fill_columns(released, [name])[name] if source and name in unread else released[name]
            yield name, (quasi, whole)


def _encoded(values: pa.Array) -> Column:
    """Of lists and structures only which rows are equal."""
    nested = is_nested(values.type)
    return numbered(nested_column(pa.chunked_array([values]))) if nested else Column.encode(values)


def _broken(
    released: Dataset, promise: Promise, found: dict[str, tuple[str, Column]], person: Column | None
) -> list[Message]:
    left = tuple(one for one in promise.models if getattr(one, "sensitive", None) not in found)
    wider = replace(promise, quasi=(*promise.quasi, *found), models=left)
    table = released.with_columns({name: column for name, (_, column) in found.items()})
    return [one.message() for one in wider.verify(table, person).verdicts if not one.holds]
