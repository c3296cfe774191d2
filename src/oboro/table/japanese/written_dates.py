"""Dates as Japanese offices write them, as stretches of days.

`昭和34年6月7日`, `昭34.6.7`, `S34.6.7`, `S34/6/7`, `令和元年`, `平成3年5月`, `1940年1月1日`, and ISO dates beside them.
A month or a year is all of its days, as far as its era goes: `昭和64年` is a week.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from oboro.system import arrow_functions as pc
from oboro.table.japanese.eras import ERAS
from oboro.text import Message, Raw

__all__ = ["DAY", "MONTH", "YEAR", "WrittenDates", "looks_like_dates", "why_no_date", "written_dates"]

DAY, MONTH, YEAR = 0, 1, 2
_NAMES = "|".join(era.name for era in ERAS)
_KANJI = f"{_NAMES}|[明大昭平令]|[MTSHRmtshr]"
_SPELT = rf"^(?:西暦)?(?P<era>{_KANJI})?(?P<year>元|[0-9]{{1,4}})年(?:(?P<month>[0-9]{{1,2}})月(?:(?P<day>[0-9]{{1,2}})日)?)?$"
# Three parts at least, since S34.6 is a code of ICD-10; and no hyphen after a letter, since R1-2-3 is a number of a house.
_MARKED = (
    rf"^(?:(?P<era>{_KANJI})(?P<year>元|[0-9]{{1,2}})[./](?P<month>[0-9]{{1,2}})[./](?P<day>[0-9]{{1,2}})"
    r"|(?P<year4>[0-9]{4})[-./](?P<month4>[0-9]{1,2})[-./](?P<day4>[0-9]{1,2}))$"
)
_PLACES = {
    key: place for place, era in enumerate(ERAS) for key in (era.name, era.name[0], era.letter, era.letter.lower())
}


@dataclass(frozen=True, eq=False)
class WrittenDates:
    """For each text its first and last day, how exact it is, whether an era stands in it, and whether there is such a date."""

    first: np.ndarray
    last: np.ndarray
    unit: np.ndarray
    by_era: np.ndarray
    valid: np.ndarray

    @property
    def years(self) -> np.ndarray:
        """The year of the Gregorian calendar in which each begins."""
        return np.asarray(self.first.astype("datetime64[D]").astype("datetime64[Y]").astype(np.int64) + 1970)


def looks_like_dates(texts: pa.Array) -> pa.Array:
    """Which plain texts have the form of a date, possible or not."""
    return pc.or_(pc.match_substring_regex(texts, _SPELT), pc.match_substring_regex(texts, _MARKED))


def written_dates(texts: pa.Array) -> WrittenDates:
    """The days that plain texts name (full-width characters and spaces are gone). O(n)."""
    era, year, month, day = _parts(texts)
    by_era = era >= 0
    begins = np.array([*(one.year for one in ERAS), 1], dtype=np.int64)
    gregorian = np.where(by_era, begins[era] + year - 1, year)
    unit = np.where(month < 0, YEAR, np.where(day < 0, MONTH, DAY))
    first, last, real = _stretch(gregorian, month, day, unit)
    from_, to = (np.array([*(getattr(one, end) for one in ERAS), far]) for end, far in (("first", -FAR), ("last", FAR)))
    first, last = np.maximum(first, from_[era]), np.minimum(last, to[era])
    return WrittenDates(first, last, unit, by_era, real & (year > 0) & (first <= last))


FAR = 1 << 40  # days that no calendar has


def _parts(texts: pa.Array) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Era (−1: none), year (0: not a date at all), month and day (−1: not said)."""
    spelt, marked = (pc.extract_regex(texts, form) for form in (_SPELT, _MARKED))

    def field(name: str) -> pa.Array:
        found = [pc.struct_field(spelt, name), pc.struct_field(marked, name)]
        found += [pc.struct_field(marked, name + "4")] if name != "era" else []
        return pc.coalesce(*(pc.if_else(pc.equal(one, ""), None, one) for one in found))

    names = pa.array(list(_PLACES))
    place = pc.index_in(field("era"), value_set=names).fill_null(-1).to_numpy(zero_copy_only=False)
    era = np.array([*_PLACES.values(), -1], dtype=np.int64)[place]
    year = field("year")
    first_year = pc.fill_null(pc.equal(year, "元"), False)
    # Without an era a year has four digits and no 元; with one it has at most two.
    digits = pc.utf8_length(year).fill_null(0).to_numpy(zero_copy_only=False)
    fitting = np.where(era >= 0, digits <= 2, digits == 4)
    number = _number(pc.if_else(first_year, "1", year), 0)
    return era, np.where(fitting, number, 0), _number(field("month"), -1), _number(field("day"), -1)


def _number(texts: pa.Array, absent: int) -> np.ndarray:
    return np.asarray(pc.cast(texts, pa.int64()).fill_null(absent).to_numpy(zero_copy_only=False), dtype=np.int64)


def _stretch(
    year: np.ndarray, month: np.ndarray, day: np.ndarray, unit: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """First and last day, and whether the calendar has that month and day."""
    months = (np.clip(year, 0, 9999) - 1970) * 12 + np.where(unit == YEAR, 0, np.clip(month, 1, 12) - 1)
    starts = _first_days(months)
    ends = _first_days(months + np.where(unit == YEAR, 12, 1)) - 1
    real = ((unit == YEAR) | ((month >= 1) & (month <= 12))) & (
        (unit != DAY) | ((day >= 1) & (starts + day - 1 <= ends))
    )
    exact = starts + np.maximum(day, 1) - 1
    return np.where(unit == DAY, exact, starts), np.where(unit == DAY, exact, ends), real


def _first_days(months: np.ndarray) -> np.ndarray:
    return np.asarray(months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64))


def why_no_date(plain: str, text: str) -> Message | None:
    """Why a text that has the form of a date is none; None where it is one, or does not look like one.

    >>> str(why_no_date("昭和70年", "昭和70年"))
    "'昭和70年' does not exist: 昭和 lasted from 1926-12-25 to 1989-01-07"
    """
    array = pa.array([plain])
    if not looks_like_dates(array)[0].as_py() or written_dates(array).valid[0]:
        return None
    era = int(_parts(array)[0][0])
    if era < 0:
        return Message("error_japan.no_such_day", value=Raw(text))
    first, last = (str(np.datetime64(day, "D")) for day in (ERAS[era].first, ERAS[era].last))
    if era == len(ERAS) - 1:
        return Message("error_japan.era_begins", value=Raw(text), era=ERAS[era].name, first=first)
    return Message("error_japan.era_lasted", value=Raw(text), era=ERAS[era].name, first=first, last=last)
