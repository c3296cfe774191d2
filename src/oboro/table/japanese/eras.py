"""The modern eras of Japan (明治 to 令和): which day lies in which, and the year of the era.

Days are counted since 1970 in the Gregorian calendar, which Japan has used since 1873; the days of 明治 before that are
counted in it too, as most programs do. 明治 and 大正 ended on the day on which the next era began: 大正15年12月25日 and
昭和元年12月25日 are one day. 昭和 and 平成 ended on the day before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["BEFORE", "ERAS", "Era", "days_of", "era_numbers", "era_years", "joined_labels", "month_label", "year_label"]

FOREVER = 2_932_896  # 9999-12-31
BEFORE = "明治より前"


def days_of(date: str) -> int:
    """A day as a number.

    >>> days_of("1970-01-02")
    1
    """
    return int(np.datetime64(date, "D").astype(np.int64))


@dataclass(frozen=True)
class Era:
    """An era, its letter on forms, its first year and the days on which it may be written."""

    name: str
    letter: str
    year: int
    first: int
    last: int


ERAS = (
    Era("明治", "M", 1868, days_of("1868-10-23"), days_of("1912-07-30")),
    Era("大正", "T", 1912, days_of("1912-07-30"), days_of("1926-12-25")),
    Era("昭和", "S", 1926, days_of("1926-12-25"), days_of("1989-01-07")),
    Era("平成", "H", 1989, days_of("1989-01-08"), days_of("2019-04-30")),
    Era("令和", "R", 2019, days_of("2019-05-01"), FOREVER),
)
_STARTS = np.array([era.first for era in ERAS], dtype=np.int64)


def era_numbers(days: np.ndarray) -> np.ndarray:
    """The place in `ERAS` of each day's era, −1 before 明治; a day that two eras share belongs to the later one."""
    return np.searchsorted(_STARTS, days, side="right") - 1


def era_years(days: np.ndarray) -> np.ndarray:
    """The year of each day in its era, from 1; before 明治 the year of the Gregorian calendar."""
    years = days.astype("datetime64[D]").astype("datetime64[Y]").astype(np.int64) + 1970
    first = np.array([*(era.year for era in ERAS), 1], dtype=np.int64)
    return np.asarray(years - first[era_numbers(days)] + 1)


def year_label(day: int) -> str:
    """The year of a day, by its era.

    >>> year_label(days_of("1989-01-07")), year_label(days_of("1989-01-08")), year_label(days_of("1850-01-01"))
    ('昭和64年', '平成元年', '1850年')
    """
    era = int(era_numbers(np.array([day]))[0])
    year = int(era_years(np.array([day]))[0])
    if era < 0:
        return f"{year}年"
    return f"{ERAS[era].name}{'元' if year == 1 else year}年"


def month_label(day: int) -> str:
    """The month of a day, by its era.

    >>> month_label(days_of("2019-05-01"))
    '令和元年5月'
    """
    return f"{year_label(day)}{int(np.datetime64(day, 'D').astype('datetime64[M]').astype(np.int64)) % 12 + 1}月"


def era_label(day: int) -> str:
    """The era of a day.

    >>> era_label(days_of("1926-12-25"))
    '昭和'
    """
    era = int(era_numbers(np.array([day]))[0])
    return ERAS[era].name if era >= 0 else BEFORE


LABELS = {"month": month_label, "year": year_label, "era": era_label}


def joined_labels(unit: str, first: int, last: int) -> str:
    """The label of a stretch of days within a year; one over the change of an era names both sides.

    >>> joined_labels("year", days_of("1989-01-01"), days_of("1989-12-31"))
    '昭和64年・平成元年'
    """
    begin, end = LABELS[unit](first), LABELS[unit](last)
    return begin if begin == end else f"{begin}・{end}"
