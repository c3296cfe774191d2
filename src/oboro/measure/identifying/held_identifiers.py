"""Identifiers that a column holds, by their form, and whether it is plainly a column of them.

An address inside a remark is worth a warning. A column of which most values are addresses names people, however many records share
each; one number that everybody has is nobody's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from oboro.measure.identifying.identifier_forms import BY_CHANCE, MOST_VALUES, WARNED, has_form, matches, narrow
from oboro.measure.identifying.naming_forms import NAMING, named_telephone, names_of_people, naming, telephones
from oboro.system import arrow_functions as pc
from oboro.table.hierarchy.levels import text_array
from oboro.table.nested_values import is_nested, single_parts
from oboro.text import Message

__all__ = ["HeldIdentifiers", "held_identifiers"]

SEVERAL = 2  # different values: one that everybody has is no identifier
SMALLEST = 1_000_000  # numbers of fewer digits are no identifiers by their form


@dataclass(frozen=True)
class HeldIdentifiers:
    """Identifiers of one kind in a column."""

    kind: str
    records: int  # that hold one
    looked: int  # records that were looked at
    plain: bool  # whether most of what the column holds are such identifiers, of several people

    @property
    def kind_name(self) -> Message:
        """What such identifiers are called."""
        return Message(f"measure.identifier.{self.kind}")


def held_identifiers(name: str, values: pa.Array, counts: np.ndarray) -> list[HeldIdentifiers]:
    """What forms of identifiers the distinct `values` of a column have, each in so many records. O(values · kinds)."""
    values, counts = values.slice(0, MOST_VALUES), counts[:MOST_VALUES]
    parts = single_parts(values) if is_nested(values.type) else [(values, np.arange(len(values)))]
    found: dict[str, HeldIdentifiers] = {}
    for part, places in parts:
        if (texts := _texts(part)) is not None:
            for one in _in_part(name, texts, places, counts):
                if one.kind not in found or (one.plain, one.records) > (found[one.kind].plain, found[one.kind].records):
                    found[one.kind] = one
    return list(found.values())


def _texts(part: pa.Array) -> pa.Array | None:
    """The texts of values that may be identifiers: no dates, and no small or broken numbers."""
    type_ = part.type
    if pa.types.is_floating(type_) or (pa.types.is_decimal(type_) and type_.scale > 0):  # whole numbers may be kept so
        part = _whole(part)
    elif pa.types.is_temporal(type_) or pa.types.is_boolean(type_):
        return None
    if part is None or (pa.types.is_integer(part.type) and (pc.max(part).as_py() or 0) < SMALLEST):
        return None
    return narrow(text_array(part))


def _whole(numbers: pa.Array) -> pa.Array | None:
    try:
        return pc.cast(numbers, pa.int64())
    except pa.ArrowInvalid:  # broken, or too large
        return None


def _in_part(name: str, texts: pa.Array, places: np.ndarray, counts: np.ndarray) -> Iterator[HeldIdentifiers]:
    if not (found := _matches(name, texts)):
        return
    given = _given(texts)

    def records(hits: np.ndarray) -> int:
        return int(counts[np.unique(places[hits])].sum())

    def most(hits: np.ndarray) -> bool:
        different = len(texts.filter(pa.array(hits)).unique())
        many = 2 * records(hits) >= records(given) or 2 * different >= len(texts.filter(pa.array(given)).unique())
        return many and different >= SEVERAL

    for kind, hits in found.items():
        if kind in (*WARNED, "name") and (kind not in BY_CHANCE or 2 * records(hits) >= records(given)):
            plain = kind in NAMING and most(hits) and most(naming(kind, name, texts, hits))
            yield HeldIdentifiers(kind, records(hits), int(counts.sum()), plain)


def _matches(name: str, texts: pa.Array) -> dict[str, np.ndarray]:
    found = matches(texts, numeric=True)  # no dates: those are no identifiers
    if named_telephone(name) and (numbers := telephones(texts)).any():
        found["phone"] = found.get("phone", np.False_) | numbers
    if (people := names_of_people(name, texts)).any():
        found["name"] = people
    return found


def _given(texts: pa.Array) -> np.ndarray:
    """Which texts say anything: not those that are missing, blank or suppressed."""
    return np.asarray(has_form(texts, r"\S") & ~has_form(texts, r"^\s*\*\s*$"))
