"""Matching of values that a recipe names with the values of a column.

Recipes say `90`, `"90"`, `90.0`, `2020-01-31` or `"2020/1/31"`; a CSV file has text, a Parquet file numbers and
dates. A value is compared by what it means in the column's kind, so the same recipe protects both alike
(`equal_values`, `matched`). One that cannot be compared is an error that says both kinds; one that no row has is
found out (`absent`), so that a typing error does not pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from difflib import get_close_matches
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
from pydantic import BeforeValidator, StrictBool

from oboro._lazy import pc
from oboro.data.column import Column
from oboro.errors import ColumnError, UsageError
from oboro.notations.kinds import (
    DATE_TEXT,
    DATETIME_TEXT,
    NUMBER_TEXT,
    READ_AS_MISSING,
    STAR,
    Kind,
    is_months,
    kind_of,
    numbers_of,
)
from oboro.notations.texts import booleans, is_text, text_values, texts_of
from oboro.text import Message, Raw

__all__ = [
    "Value",
    "absent",
    "equal_values",
    "kind_of_value",
    "matched",
    "near_values",
    "place",
    "shown",
    "text_places",
    "watched_missing",
    "watched_values",
]


# Lookup of texts ------------------------------------------------------------------------------------------------------
# Look up many texts among many others with compiled loops, where Arrow takes longer than loading these.


MANY = 1 << 16  # texts on both sides, so that loops are compiled for the table in any case


def text_places(asked: pa.Array, known: pa.Array) -> np.ndarray:
    """Return for each text the position in `known` of the first equal one, −1 where there is none, as for a missing one. O(bytes).

    >>> text_places(pa.array(["b", None, "c"]), pa.array(["a", "b", "b", None])).tolist()
    [1, -1, -1]
    """
    few = min(len(asked), len(known)) < MANY or known.null_count
    if few or not (pa.types.is_string(asked.type) and pa.types.is_string(known.type)):
        place = pc.index_in(asked, value_set=known, skip_nulls=True).fill_null(-1)
        found: np.ndarray = place.to_numpy(zero_copy_only=False).astype(np.int64)
        return found
    from oboro.kernels.text_search import BATCH, add_texts, find_texts

    theirs, (shift, slots), out = _parts(known), _slots(len(known)), np.empty(len(asked), dtype=np.int64)
    hashes = np.empty(BATCH, dtype=np.uint64)
    add_texts(*theirs, shift, slots, hashes)
    find_texts(*_parts(asked), *theirs, shift, slots, hashes, out)
    if asked.null_count:
        out[asked.is_null().to_numpy(zero_copy_only=False)] = -1
    return out


def _parts(texts: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Return the read-only offsets and bytes of texts: what is compiled for both kinds is compiled twice."""
    _, offsets, data = texts.buffers()
    places = np.frombuffer(offsets, dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1]
    found = places, np.frombuffer(data or b"", dtype=np.uint8)
    for array in found:
        array.flags.writeable = False
    return found


def _slots(texts: int) -> tuple[int, np.ndarray]:
    """By how many bits a hash is shifted to be a slot, and free slots for so many texts, half of which stay free."""
    bits = max(2 * texts, 2).bit_length()
    return 64 - bits, np.zeros(1 << bits, dtype=np.uint64)


# Values named by a recipe ---------------------------------------------------------------------------------------------


def _as_written(value: Any) -> Any:
    """YAML turns unquoted dates into objects; as ISO text they are the same whichever way the recipe was read."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return f"{value.astimezone(UTC).replace(tzinfo=None).isoformat()}Z"
    return value.isoformat() if isinstance(value, date) else value


Value = Annotated[StrictBool | int | float | str, BeforeValidator(_as_written)]

NUMBERS = (Kind.INTEGER, Kind.NUMBER)
TIMES = (Kind.DATE, Kind.DATETIME)
DAY = 86_400e6  # microseconds
EXACT = float(1 << 53)  # whole numbers up to here are themselves as float64
WORDS = ("true", "false")
NEAR, SHOWN = 0.6, 3  # how alike a near value is, and how many are shown


def shown(value: Value) -> str:
    """Return the value in the notation of a recipe.

    >>> shown(90), shown("a"), shown(True)
    ('90', "'a'", 'true')
    """
    return str(value).lower() if isinstance(value, bool) else repr(value)


def kind_of_value(value: Value) -> Kind:
    """Return the kind of a value of the recipe; text is judged by its form.

    >>> kind_of_value(90), kind_of_value("2020/1/31"), kind_of_value("flu")
    (<Kind.INTEGER: 'integer'>, <Kind.DATE: 'date'>, <Kind.TEXT: 'text'>)
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return Kind.INTEGER  # also those that no machine word holds
    return kind_of(pa.array([value]))


def comparable(one: Kind, other: Kind) -> bool:
    """Return whether values of the two kinds lie on one line: numbers with numbers, dates with dates."""
    return any(one in family and other in family for family in (NUMBERS, TIMES))


def place(value: Value, column: Column, name: str) -> float:
    """Return the number of the value on the scale of `column.numbers`; NaN if all values of the column are missing.

    Raises `ColumnError` where the two are not of one kind.
    """
    return _placed(value, column.values, name)


def _placed(value: Value, values: pa.Array, name: str) -> float:
    given, kind = kind_of_value(value), kind_of(values)
    if values.null_count == len(values):
        return float("nan")
    if comparable(given, kind):
        return _place(value, given, kind)
    what = {"name": name, "kind": kind.value, "value": shown(value), "given": given.value}
    raise ColumnError(Message("error_technique.not_comparable", **what, hint=_hint(kind, value)))


def _place(value: Value, given: Kind, kind: Kind) -> float:
    if given in NUMBERS:
        number = float(numbers_of(pa.array([value]))[0]) if isinstance(value, str) else float(value)  # "90歳" is 90
        if not np.isfinite(number):
            raise UsageError(Message("error_technique.finite_bound", value=value))
        return number
    number = float(numbers_of(pa.array([value]))[0])
    if given is kind:
        return number
    return number * DAY if kind is Kind.DATETIME else number / DAY


def _hint(kind: Kind, value: Value) -> Message:
    if isinstance(value, bool) and kind is Kind.TEXT:
        return Message("error_technique.hint.boolean_word", value=shown(value))
    if kind in NUMBERS:
        return Message("error_technique.hint.number")
    if kind in TIMES:
        return Message("error_technique.hint.date")
    if kind is Kind.BOOLEAN:
        return Message("error_technique.hint.boolean")
    return Message("error_technique.hint.text", value=value)


# Matching values of a column ------------------------------------------------------------------------------------------


def equal_values(column: Column, name: str, wanted: Sequence[Value]) -> np.ndarray:
    """Mark the entries of the column's dictionary that mean one of the wanted values; raise if a value cannot be compared.

    >>> equal_values(Column.of(["1", "1.0", "2", None]), "code", [1.0]).tolist()
    [True, True, False, False]
    >>> equal_values(Column.of([True, False]), "ill", ["True"]).tolist()
    [True, False]
    """
    values = _unsuppressed(column.values)
    texts, kind = pa.array(texts_of(values), pa.string()), kind_of(values)
    if kind is Kind.BOOLEAN or _only_words(texts, kind):
        texts, kind = pc.utf8_lower(texts), Kind.BOOLEAN
    words = [word for value in wanted if (word := _word(value, kind)) is not None]
    found = booleans(pc.is_in(texts, value_set=pa.array(words, pa.string())))
    if STAR in wanted:
        found |= np.array([text == STAR for text in column.texts], dtype=bool)
    places = [_placed(value, values, name) for value in wanted if value != STAR and _has_place(value, kind)]
    return found | np.isin(numbers_of(values, name), places) if any(map(np.isfinite, places)) else found


def watched_missing(column: Column, value: Value) -> bool:
    """Return whether the column has missing values in place of a word such as `NA`, which some readers take for missing."""
    return column.missing >= 0 and value in READ_AS_MISSING and value not in column.texts


def watched_values(column: Column, name: str, value: Value) -> np.ndarray:
    """Mark the entries that mean a value, as the column's reader sees it: where `NA` is read as missing, the missing one.

    >>> watched_values(Column.of(["a", None]), "illness", "NA").tolist()
    [False, True]
    """
    if watched_missing(column, value):
        return np.asarray(np.arange(len(column.values)) == column.missing)
    return equal_values(column, name, [value])


def absent(column: Column, name: str, wanted: Sequence[Value]) -> list[Value]:
    """Return the wanted values that no row has."""
    return [one for one in wanted if not column.counts[equal_values(column, name, [one])].any()]


def near_values(value: Value, column: Column) -> list[Raw]:
    """Values of the column that are written nearly so: what may have been meant. They are values of the data."""
    texts = {text.casefold().strip(): text for text in column.texts if text is not None and text != STAR}
    near = get_close_matches(str(value).casefold().strip(), list(texts), n=SHOWN, cutoff=NEAR)
    return [Raw(texts[one]) for one in near]


def matched(asked: pa.Array, known: pa.Array) -> np.ndarray:
    """Return for each value the position in `known` of the one with the same meaning, −1 where there is none. O(asked + known).

    Equal text decides; else equal numbers, dates or truth values do, if only one known value has that meaning. A missing value has
    no place.

    >>> matched(pa.array([39.0, 7.5]), pa.array(["39.00", "40", "x"])).tolist()
    [0, -1]
    >>> matched(pa.array(["2020-01-31T00:00:00"]), pa.array(["2020-01-31"])).tolist()
    [0]
    """
    own, theirs = text_values(asked), text_values(known)
    found = text_places(own, theirs)
    open_ = (found < 0) & booleans(own.is_valid())
    if open_.any():
        found[open_] = _by_meaning(asked, _in_microseconds(known, theirs))[open_]
    return found


def _in_microseconds(values: pa.Array, texts: pa.Array) -> pa.Array:
    """The texts of values, moments with six decimals: nine, as pandas counts them, are no way to write a moment."""
    if not (pa.types.is_timestamp(values.type) and values.type.unit == "ns"):
        return texts
    return text_values(pc.cast(values, pa.timestamp("us", values.type.tz), safe=False))


def _by_meaning(asked: pa.Array, known: pa.Array) -> np.ndarray:
    kind = kind_of(_unsuppressed(asked))
    if kind in NUMBERS:
        return _same_number(asked, known, NUMBER_TEXT)
    if kind in TIMES:
        return _same_time(asked, known, kind)
    own = pa.array(texts_of(asked), pa.string())
    if not (kind is Kind.BOOLEAN or _only_words(own, kind)):
        return np.full(len(asked), -1)
    words = pc.utf8_lower(known)
    twice = [word for word in WORDS if pc.sum(pc.equal(words, word)).as_py() not in (None, 0, 1)]
    place = pc.index_in(
        pc.utf8_lower(own), value_set=pc.if_else(pc.is_in(words, pa.array(twice, pa.string())), "", words)
    )
    return np.asarray(place.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)


def _same_time(asked: pa.Array, known: pa.Array, kind: Kind) -> np.ndarray:
    """By the moment: a day is its midnight, so that a column of days meets the same one written with hours."""
    if is_text(asked) and is_months(_unsuppressed(asked).drop_null()):
        return np.full(len(asked), -1)  # a month is no day, although it counts as its first
    days, moments = (DATE_TEXT, 1.0), (DATETIME_TEXT, 1 / DAY)
    if kind is Kind.DATETIME:
        days, moments = (DATE_TEXT, DAY), (DATETIME_TEXT, 1.0)
    own, other = (days, moments) if kind is Kind.DATE else (moments, days)
    found = _same_number(asked, known, *own)
    return np.where(found < 0, _same_number(asked, known, *other), found)


def _same_number(asked: pa.Array, known: pa.Array, pattern: str, unit: float = 1.0) -> np.ndarray:
    """By place on the line; a known place that two values share, or that a float64 cannot tell from its neighbour, matches none.

    Known places are counted in other units than those asked for: `unit` of ours is one of theirs.
    """
    here = np.flatnonzero(booleans(pc.match_substring_regex(known.fill_null(""), pattern).fill_null(False)))
    here = here[[bool(known[int(one)].as_py()) for one in here]] if here.size else here
    try:
        places = unit * numbers_of(known.take(pa.array(here)))
    except (ColumnError, pa.ArrowInvalid, ValueError):  # looks like dates and is none
        return np.full(len(asked), -1)
    order = np.argsort(places, kind="stable")
    line, counts = np.unique(places, return_counts=True)
    numbers = numbers_of(_unsuppressed(asked))
    at = np.searchsorted(line, numbers).clip(0, max(line.size - 1, 0))
    if not line.size:
        return np.full(len(asked), -1)
    fits = (line[at] == numbers) & (counts[at] == 1) & ((np.abs(numbers) < EXACT) | (pattern != NUMBER_TEXT))
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    return np.where(fits, here[order[first[at]]], -1)


def _unsuppressed(values: pa.Array) -> pa.Array:
    """The values with the suppressed one missing: what kind the others are does not depend on it."""
    return pc.if_else(pc.equal(values, STAR), None, values) if is_text(values) else values


def _only_words(texts: pa.Array, kind: Kind) -> bool:
    """Return whether text says only true and false: as CSV files write truth values."""
    known = texts.drop_null()
    return kind is Kind.TEXT and 0 < len(known) <= 6 and set(pc.utf8_lower(known).to_pylist()) <= set(WORDS)


def _word(value: Value, kind: Kind) -> str | None:
    """The text that the value has in such a column, or None where only its place can tell (90.0 and 9e1 are equal)."""
    if isinstance(value, bool):
        return shown(value) if kind is Kind.BOOLEAN else None
    if isinstance(value, int) and kind is Kind.INTEGER:
        return str(value)  # exact, also beyond 2**53
    if isinstance(value, str):
        return value.lower() if kind is Kind.BOOLEAN else value
    return None


def _has_place(value: Value, kind: Kind) -> bool:
    """Text equals the same text, and if it looks like the column's numbers or dates, also those written otherwise."""
    if not isinstance(value, str):
        return _word(value, kind) is None
    given = kind_of_value(value)
    return comparable(given, kind) and not given is kind is Kind.INTEGER
