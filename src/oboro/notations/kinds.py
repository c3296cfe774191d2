"""Kinds of values: text, numbers, dates and times, and the number that each value stands for.

Everything here works on the *dictionary* of a column (its distinct values), never on its rows, so it costs what the number of
distinct values costs. Text that looks like a number or a date counts as one where a technique needs numbers, also as it is
written in most of Europe (`1.234,56`), in America (`$1,234.50`, `12/31/1990`) and in Japanese offices (`39歳`, `昭和34年6月7日`).
What is not changed is written back as it came (`007` stays `007`).
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np
import pyarrow as pa

from oboro._lazy import pc
from oboro.errors import ColumnError
from oboro.notations.amounts import read_decimal_commas
from oboro.notations.registry import DECIMAL_COMMAS, NOTATIONS
from oboro.notations.texts import all_match, is_text, texts_of
from oboro.text import Message, Raw, Words

__all__ = [
    "READ_AS_MISSING",
    "STAR",
    "Kind",
    "from_numbers",
    "is_months",
    "kind_of",
    "numbers_of",
    "reads_as_no_secret",
    "tells_nothing",
]


STAR = "*"  # what suppression writes
READ_AS_MISSING = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
)
"""Texts that pandas.read_csv takes for a missing value unless it is asked not to, quoted or not (`na_values` in its documentation);
R and other tools take some of them."""


class Kind(StrEnum):
    """Kind of the values of a column."""

    INTEGER = "integer"
    NUMBER = "number"
    DATE = "date"
    DATETIME = "datetime"
    BOOLEAN = "boolean"
    TEXT = "text"

    @property
    def numeric(self) -> bool:
        """True if values of this kind have a position on a line (numbers, dates and times)."""
        return self in (Kind.INTEGER, Kind.NUMBER, Kind.DATE, Kind.DATETIME)


# Leading zeros make an identifier (zip code, phone), not a number; 18 digits fit an int64.
INTEGER_TEXT = r"^-?(0|[1-9][0-9]{0,17})$"
NUMBER_TEXT = r"^[-+]?(0|[1-9][0-9]*)?(\.[0-9]*)?([eE][-+]?[0-9]{1,3})?$"
DOTTED = r"([0-9]{1,2})\.([0-9]{1,2})\.([0-9]{4})"  # day, month and year, as most of Europe writes them: no other order has dots
DATE_TEXT = rf"^([0-9]{{4}}[-/][0-9]{{1,2}}[-/][0-9]{{1,2}}|{DOTTED})$"
MONTH_TEXT = (
    r"^(0[1-9]|1[0-2])[./]([0-9]{4})$"  # a month, as `04.2015` and `04/2015`; with a year before it, a label of our own
)
DATETIME_TEXT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?Z?$"


def kind_of(values: pa.Array) -> Kind:
    """Return the kind of a dictionary: by its type, or for text by the form of every value.

    >>> kind_of(pa.array(["1", "-20", None])), kind_of(pa.array(["007"])), kind_of(pa.array(["2024-02-30"]))
    (<Kind.INTEGER: 'integer'>, <Kind.TEXT: 'text'>, <Kind.TEXT: 'text'>)
    >>> kind_of(pa.array(["31.12.1990", "1.2.2003"])), kind_of(pa.array(["12.31.1990"]))
    (<Kind.DATE: 'date'>, <Kind.TEXT: 'text'>)
    >>> kind_of(pa.array(["04.2015", "11.2020"])), kind_of(pa.array(["10.2015", "11.2020"]))
    (<Kind.DATE: 'date'>, <Kind.NUMBER: 'number'>)
    """
    type_ = values.type
    if pa.types.is_boolean(type_):
        return Kind.BOOLEAN
    if pa.types.is_integer(type_):
        return Kind.INTEGER
    if pa.types.is_floating(type_) or pa.types.is_decimal(type_):
        return Kind.NUMBER
    if pa.types.is_date(type_):
        return Kind.DATE
    if pa.types.is_timestamp(type_):
        return Kind.DATETIME
    if not is_text(values):
        return Kind.TEXT
    return _kind_of_text(values.drop_null())


def _kind_of_text(texts: pa.Array) -> Kind:
    if len(texts) == 0:
        return Kind.TEXT
    if all_match(texts, INTEGER_TEXT):
        return Kind.INTEGER
    if all_match(texts, NUMBER_TEXT) and _parses(texts, Kind.NUMBER):
        return Kind.NUMBER
    if is_months(texts) or (all_match(texts, DATE_TEXT) and _parses(texts, Kind.DATE)):
        return Kind.DATE
    if all_match(texts, DATETIME_TEXT) and _parses(texts, Kind.DATETIME):
        return Kind.DATETIME
    for notation in NOTATIONS:
        if notation.recognise(texts) and (read := notation.parse(texts)) is not None:
            return kind_of(read)
    return Kind.TEXT


def is_months(texts: pa.Array) -> bool:
    """Return whether text names months only, each of which counts as its first day."""
    return all_match(texts, MONTH_TEXT)


def _parses(texts: pa.Array, kind: Kind) -> bool:
    try:
        _parse_plain(texts, kind)
    except (pa.ArrowInvalid, ValueError):
        return False
    return True


def _parse(texts: pa.Array, kind: Kind) -> pa.Array:
    """Return text of a known kind as programs write it, or else in the first notation that reads it."""
    try:
        return _parse_plain(texts, kind)
    except (pa.ArrowInvalid, ValueError):
        for notation in NOTATIONS:
            # A decimal comma is read of numbers only: other kinds that are asked for have a message of their own.
            if (read := None if notation is DECIMAL_COMMAS else notation.parse(texts)) is not None:
                return read
        if kind is not Kind.NUMBER:
            raise
        return read_decimal_commas(texts)  # a part of a column of them, which alone shows nothing


def _parse_plain(texts: pa.Array, kind: Kind) -> pa.Array:
    if kind is Kind.INTEGER:
        return pc.cast(texts, pa.int64())
    if kind is Kind.NUMBER:
        return pc.cast(pc.utf8_ltrim(texts, "+"), pa.float64())
    if kind is Kind.DATE:
        days = pc.replace_substring_regex(texts, MONTH_TEXT, r"\2-\1-01")
        dashed = pc.replace_substring_regex(pc.replace_substring(days, "/", "-"), f"^{DOTTED}$", r"\3-\2-\1")
        padded = pc.replace_substring_regex(dashed, r"-([0-9])\b", r"-0\1")
        return pc.cast(padded, pa.date32())
    return pc.cast(pc.utf8_rtrim(texts, "Z"), pa.timestamp("us"))


def typed(values: pa.Array, kind: Kind | None = None) -> pa.Array:
    """The dictionary with the type of its kind: text that looks like numbers or dates is parsed, everything else is kept."""
    kind = kind_of(values) if kind is None else kind
    return _parse(values, kind) if is_text(values) and kind is not Kind.TEXT else values


def numbers_of(values: pa.Array, name: str = "column", kind: Kind | None = None) -> np.ndarray:
    """Each value's place on the line as float64, NaN where missing: dates count days, date-times microseconds, since 1970.

    `kind` is what `kind_of` says, if it was asked already. Raises `ColumnError` naming the column and one value that is no number.
    """
    kind = kind_of(values) if kind is None else kind
    parsed = typed(values, kind)
    if kind is Kind.DATE or kind is Kind.DATETIME:
        parsed = _counted(parsed)
    elif not kind.numeric and not pa.types.is_null(values.type) and len(values.drop_null()):
        culprit = _not_a_number(values)
        because = because_unread(values)
        raise ColumnError(Message("error_table.not_numeric", name=name, culprit=Raw(culprit), because=because))
    if pa.types.is_null(parsed.type):
        return np.full(len(values), np.nan)
    floats = pc.cast(parsed, pa.float64(), safe=False)
    return np.asarray(floats.fill_null(np.nan).to_numpy(zero_copy_only=False), dtype=np.float64)


def _counted(moments: pa.Array) -> pa.Array:
    """Dates as days and date-times as microseconds, which stay exact in a float64 until the year 2255; no type is too narrow."""
    type_ = moments.type
    if pa.types.is_date32(type_):
        return pc.cast(moments, pa.int32())
    ticks = pc.cast(moments, pa.int64())
    if pa.types.is_date64(type_):
        return pc.floor(pc.divide(pc.cast(ticks, pa.float64(), safe=False), 86_400_000))
    if type_.unit == "ns":
        return pc.divide(ticks, 1000)
    more = {"s": 10**6, "ms": 10**3, "us": 1}[type_.unit]
    return ticks if more == 1 else pc.multiply(pc.cast(ticks, pa.float64(), safe=False), more)


def because_unread(values: pa.Array) -> Words:
    """Return why dates or amounts are not read as such, in brackets; nothing of values that look like neither."""
    reasons = (notation.explain(values) for notation in NOTATIONS) if is_text(values) else ()
    reason = next((one for one in reasons if one is not None), None)
    return "" if reason is None else Message("error_table.because", reason=reason)


def _not_a_number(values: pa.Array) -> str | None:
    texts = [text for text in texts_of(values) if text is not None]
    return next((text for text in texts if not _is_number(text)), texts[0])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return kind_of(pa.array([text])).numeric
    return True


def from_numbers(numbers: np.ndarray, kind: Kind) -> pa.Array:
    """The way back from `numbers_of`: integers and dates are rounded to the nearest, NaN becomes missing.

    >>> from_numbers(np.array([1.4, np.nan]), Kind.INTEGER).to_pylist()
    [1, None]
    """
    missing = np.isnan(numbers)
    if kind is Kind.NUMBER or not kind.numeric:
        return pa.array(numbers, mask=missing)
    whole = np.rint(np.where(missing, 0.0, numbers)).astype(np.int64)
    integers = pa.array(whole, mask=missing)
    if kind is Kind.DATE:
        return pc.cast(pc.cast(integers, pa.int32()), pa.date32())
    if kind is Kind.DATETIME:
        return pc.cast(integers, pa.timestamp("us"))
    return integers


def reads_as_no_secret(value: object) -> bool:
    """Return whether a secret is none to some reader: missing, empty, or a word such as `NA` that is read as missing.

    >>> [reads_as_no_secret(value) for value in (None, "", "NA", "null", "none", 0)]
    [True, True, True, True, False, False]
    """
    return is_missing(value) or (isinstance(value, str) and value in READ_AS_MISSING)


def tells_nothing(value: object) -> bool:
    """Return whether a person is missing: null, or empty text, which is all that CSV has for it.

    >>> [tells_nothing(value) for value in (None, float("nan"), "", 0, " ")]
    [True, True, True, False, False]
    """
    return is_missing(value) or (isinstance(value, str) and not value)


def is_missing(value: object) -> bool:
    """Return whether a value is none: None, not-a-number (also a decimal one), a time that is none (NaT, pandas' NA).

    >>> [is_missing(value) for value in (None, float("nan"), 0, "", "nan")]
    [True, True, False, False, False]
    """
    if value is None or isinstance(value, str | int):
        return value is None
    try:
        return bool(value != value)  # what equals nothing, not even itself
    except (TypeError, ValueError):  # pandas' NA does not say; an array is no single value
        return type(value).__name__ == "NAType"
