"""Propose a hierarchy for a column without one, as a starting point for a decision by people."""

from __future__ import annotations

import math
import re
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oboro.data.column import Column
from oboro.hierarchies.hierarchy import outside, text_array
from oboro.hierarchies.intervals import Mask
from oboro.hierarchies.spec import HierarchySpec
from oboro.notations.kinds import Kind, kind_of, numbers_of
from oboro.notations.ordered_dates import certain_order, read_years
from oboro.notations.partial_dates import read_plain_dates, seems_dated
from oboro.notations.texts import is_text

__all__ = ["Unit", "fitting", "propose"]


# Ready-made hierarchies that fit --------------------------------------------------------------------------------------
# Select the ready-made hierarchy for a column by its name and its values.


SAMPLE = 1000  # values that are looked at before all of them are
AGE_NAME = re.compile(r"年齢|年令|歳")
POSTCODE_NAME = re.compile(r"郵便|〒")
DISEASE_NAME = re.compile(r"icd|diag|diseas|病名|傷病|疾病|疾患|診断|死因", re.IGNORECASE)
ERA = r"^\s*(明|大|昭|平|令|㍾|㍽|㍼|㍻|㋿|[MTSHRmtshr][0-9０-９])"


def fitting(name: str, values: pa.Array, kind: Kind) -> tuple[str, str] | None:
    """Return the form and the name of the hierarchy that fits, `("japan", "address")`; None if none fits all values.

    >>> fitting("住所", pa.array(["東京都千代田区丸の内1-1", "大阪府堺市北区"]), Kind.TEXT)
    ('japan', 'address')
    >>> fitting("年齢", pa.array([39, 40]), Kind.INTEGER), fitting("age", pa.array([39, 40]), Kind.INTEGER)
    (('japan', 'age'), None)
    """
    texts = text_array(values).cast(pa.string())
    if not len(texts):
        return None
    if kind is Kind.DATE:
        by_era = pc.any(pc.match_substring_regex(texts, ERA)).as_py()
        return ("japan", "era") if by_era else None
    if kind in (Kind.INTEGER, Kind.NUMBER) and _ages(name, values, texts):
        return ("japan", "age")
    for suits in (_postcodes, _addresses, _diseases):
        if (found := suits(name, values.slice(0, SAMPLE), texts)) and suits(name, values, texts):
            return found
    return None


def _ages(name: str, values: pa.Array, texts: pa.Array) -> bool:
    from oboro.hierarchies.japan import OLDEST
    from oboro.notations.kinds import numbers_of

    numbers = numbers_of(values)
    named = AGE_NAME.search(name) or pc.any(pc.match_substring_regex(texts, "[歳才]$")).as_py()
    return bool(named) and bool(((numbers >= 0) & (numbers <= OLDEST)).all())


def _postcodes(name: str, values: pa.Array, texts: pa.Array) -> tuple[str, str] | None:
    from oboro.hierarchies.japan import postcode_digits

    marked = POSTCODE_NAME.search(name) or pc.any(pc.match_substring_regex(texts, r"^〒|^[0-9]{3}-[0-9]{4}$")).as_py()
    return ("japan", "postcode") if marked and not postcode_digits(values).null_count else None


def _addresses(name: str, values: pa.Array, texts: pa.Array) -> tuple[str, str] | None:
    from oboro.hierarchies.japan import with_place

    if not pc.all(pc.match_substring_regex(texts.slice(0, SAMPLE), IDEOGRAPHS)).as_py():
        return None
    return ("japan", "address") if not with_place(values)[1].null_count else None


def _diseases(name: str, values: pa.Array, texts: pa.Array) -> tuple[str, str] | None:
    from oboro.hierarchies.icd10 import categories

    pointed = pc.mean(pc.match_substring_regex(texts, r"^[A-Z][0-9]{2}\.[0-9]").cast(pa.int8())).as_py() > 0.5
    return (
        ("icd10", "chapters") if (pointed or DISEASE_NAME.search(name)) and not categories(values).null_count else None
    )


# Proposed hierarchies -------------------------------------------------------------------------------------------------


FEW = 8  # so many different values need no levels between the value and *
MANY = 20  # from so many on, codes of one length are worth a mask; of postal codes fewer are
CODE_NAME = re.compile(r"zip|post|plz|code|郵便|番号|コード", re.IGNORECASE)
POSTAL = re.compile(r"zip|post|plz|郵便", re.IGNORECASE)
CODE_TEXT = r"^[0-9A-Za-z-]*[0-9][0-9A-Za-z-]*$"
IDEOGRAPHS = r"[\p{Han}\p{Hiragana}\p{Katakana}]"
Unit = Literal["day", "month", "quarter", "year", "decade"]


def propose(name: str, column: Column) -> HierarchySpec | None:
    """Propose a hierarchy that fits the column, or None if its only levels should be the value and `*`.

    >>> propose("age", Column.of(list(range(17, 91)))).intervals
    [5, 10, 20]
    >>> propose("年齢", Column.of(list(range(17, 91)))).japan
    'age'
    >>> propose("sex", Column.of(["F", "M"])) is None
    True
    """
    known = ~outside(column)
    values = column.values.filter(pa.array(known))
    kind = kind_of(values)
    if ready := fitting(name, values, kind) if len(values) > 1 else None:
        return HierarchySpec.model_validate(dict([ready]))
    if kind in (Kind.DATE, Kind.DATETIME):
        order = (
            certain_order(values) if is_text(values) else None
        )  # the next table may not tell it, and a stream never does
        return HierarchySpec(dates=_units(numbers_of(values), kind), **({} if order is None else {"date_order": order}))
    if kind in (Kind.TEXT, Kind.INTEGER) and seems_dated(name, values):
        return HierarchySpec(dates=_units(numbers_of(read_plain_dates(values)), Kind.DATE))
    if kind is Kind.TEXT and (years := read_years(values)) is not None:
        return HierarchySpec(
            dates=[unit for unit in _units(numbers_of(years), Kind.DATE) if unit in ("year", "decade")]
        )
    if len(values) <= FEW:
        return None
    if kind is Kind.TEXT or (kind is Kind.INTEGER and CODE_NAME.search(name)):
        mask = _mask(text_array(values), FEW if POSTAL.search(name) else MANY)
        if mask is not None or kind is Kind.TEXT:
            return mask
    return _intervals(numbers_of(values), column.counts[known]) if kind.numeric else None


def _units(numbers: np.ndarray, kind: Kind) -> list[Unit]:
    """Quarters where there are few years, decades where there are many; a column without values has none."""
    years = float(np.ptp(numbers) if numbers.size else 0.0) / (365.25 * (1 if kind is Kind.DATE else 86_400_000_000))
    units: list[Unit] = [] if kind is Kind.DATE and _months(numbers) else ["day", "month"]
    units += ["quarter"] if years <= 3 else []
    units += ["year"]
    return [*units, "decade"] if years > 20 else units


def _months(numbers: np.ndarray) -> bool:
    """Return whether every day is the first of a month: then months are the values themselves."""
    days = numbers[~np.isnan(numbers)].astype(np.int64).astype("datetime64[D]")
    return bool((days == days.astype("datetime64[M]").astype("datetime64[D]")).all())


def _mask(texts: pa.Array, few: int) -> HierarchySpec | None:
    """A mask for codes of one length, where there are more than a `few`.

    Also for Japanese addresses, whose first characters name prefecture and city.
    """
    longest, shortest = pc.max(pc.utf8_length(texts)).as_py(), pc.min(pc.utf8_length(texts)).as_py()
    if len(texts) <= few:
        return None
    if longest == shortest >= 3 and pc.all(pc.match_substring_regex(texts, CODE_TEXT)).as_py():
        steps = None if longest <= 6 else [round(longest * part) for part in (0.25, 0.5, 0.75)]
        return HierarchySpec(mask="right" if steps is None else Mask(side="right", steps=steps))
    if longest > 8 and _looks_like_addresses(texts):
        return HierarchySpec(mask=Mask(side="right", steps=[longest - 8, longest - 5, longest - 3]))
    return None


def _looks_like_addresses(texts: pa.Array) -> bool:
    japanese = pc.mean(pc.match_substring_regex(texts, IDEOGRAPHS)).as_py()
    beginnings = pc.count_distinct(pc.utf8_slice_codeunits(texts, 0, 3)).as_py()
    return bool(len(texts) > 5 * MANY and japanese > 0.5 and beginnings * 4 <= len(texts))


def _intervals(numbers: np.ndarray, counts: np.ndarray) -> HierarchySpec | None:
    """Round widths, each made of the one before; long tails become open intervals.

    A tail is long if the middle 98 % of the rows take less than half of the range: equal intervals would leave the
    people in it alone.
    """
    low, bottom, top, high = (_quantile(numbers, counts, share) for share in (0.0, 0.01, 0.99, 1.0))
    tailed = 0 < top - bottom < (high - low) / 2
    span = top - bottom if tailed else high - low
    furthest = max(-low, high)
    if not (furthest < 1e15 and span > max(1e-6, furthest * 1e-9)):
        return None  # infinite, or numbers of another kind: serial numbers, measurements beyond their precision
    width = _round_width(span / 16, whole=bool((numbers == np.floor(numbers)).all()))
    widths = [width]
    while len(widths) < 3 and (width := _next_width(width)) <= span:
        widths.append(width)
    if not tailed:
        return HierarchySpec(intervals=widths)
    floor, ceiling = (
        _multiple(math.floor(bottom / widths[0]), widths[0]),
        _multiple(math.ceil(top / widths[0]), widths[0]),
    )
    return HierarchySpec(
        intervals=widths, bottom=floor if low < floor else None, top=ceiling if high > ceiling else None
    )


def _quantile(numbers: np.ndarray, counts: np.ndarray, share: float) -> float:
    order = np.argsort(numbers)
    reached = np.cumsum(counts[order])
    place = int(np.searchsorted(reached, share * reached[-1]))
    return float(numbers[order[min(place, order.size - 1)]])


def _round_width(width: float, *, whole: bool) -> float:
    """The nearest of 1, 2, 5 times a power of ten (by ratio); at least 2 among whole numbers.

    >>> _round_width(4.6, whole=True), _round_width(0.06, whole=False), _round_width(0.4, whole=True)
    (5, 0.05, 2)
    """
    power = math.floor(math.log10(width))
    candidates = [_decimal(digit, power + shift) for shift in (0, 1) for digit in (1, 2, 5)]
    nearest = min(candidates, key=lambda candidate: abs(math.log(candidate / width)))
    return max(nearest, 2) if whole else nearest


def _next_width(width: float) -> float:
    """The next of 1, 2, 5 times a power of ten that is a multiple: 5 → 10 → 20 → 100."""
    power = math.floor(math.log10(width) + 1e-9)
    digit = round(width / 10.0**power)
    return _decimal(2, power) if digit == 1 else _decimal(1, power + 1)


def _decimal(digit: int, power: int) -> float:
    return digit * 10**power if power >= 0 else float(f"{digit}e{power}")


def _multiple(count: int, width: float) -> float:
    return count * width if isinstance(width, int) else round(count * width, 12)
