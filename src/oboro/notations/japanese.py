"""Japanese notations of numbers and dates: `39歳`, `３９`, `350万円`, `1,200千円`, `昭和34年6月7日`, `令和元年`.

A column is read as numbers or dates only if every value can be, and all of them together mean one thing. Where that
is not so, it is text: `350` beside `350万円` may be yen or ten thousands of yen, and a wrong guess would be silent.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from oboro._lazy import pc
from oboro.notations.registry import may_be_japanese
from oboro.notations.texts import integers_of
from oboro.text import Message, Raw

__all__ = [
    "BEFORE",
    "DAY",
    "ERAS",
    "MONTH",
    "YEAR",
    "Era",
    "WrittenDates",
    "days_of",
    "era_numbers",
    "era_years",
    "joined_labels",
    "looks_like_dates",
    "month_label",
    "plain_text",
    "read_written",
    "unit_written",
    "why_no_date",
    "why_unread",
    "written_dates",
    "year_label",
]


# Eras -----------------------------------------------------------------------------------------------------------------
# The modern eras of Japan (明治 to 令和): the era of each day, and the year within the era.
#
# Days are counted since 1970 in the Gregorian calendar, which Japan has used since 1873; the days of 明治 before that are
# counted in it too, as in most programs. 明治 and 大正 ended on the day on which the next era began: 大正15年12月25日 and
# 昭和元年12月25日 are one day. 昭和 and 平成 ended on the day before.


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


# Dates ----------------------------------------------------------------------------------------------------------------
# Dates in Japanese notation, as ranges of days.
#
# `昭和34年6月7日`, `昭34.6.7`, `S34.6.7`, `S34/6/7`, `令和元年`, `平成3年5月`, `1940年1月1日`, and ISO dates among them.
# A month or a year is all of its days within its era: `昭和64年` is a week.
#
# At least three parts are required, since S34.6 is a code of ICD-10; and no hyphen after a letter, since R1-2-3 is a
# house number.


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
    """Return which plain texts have the form of a date, possible or not."""
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
    number = integers_of(pc.if_else(first_year, "1", year), 0)
    return era, np.where(fitting, number, 0), integers_of(field("month"), -1), integers_of(field("day"), -1)


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
    """Explain why a text in the form of a date is none; None if it is one, or has another form.

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


# Numbers, ages and amounts --------------------------------------------------------------------------------------------


HEAD = 100  # so many values settle nearly every column of words
WHOLE = r"^-?(0|[1-9][0-9]{0,17})$"
_N = r"(?:0|[1-9][0-9]*|[1-9][0-9]{0,2}(?:,[0-9]{3})+)(?:\.[0-9]+)?"
_SCALES = {"兆": 12, "十億": 9, "億": 8, "百万": 6, "万": 4, "千": 3}
_PARTS = "".join(f"(?:(?P<n{power}>{_N}){name})?" for name, power in _SCALES.items())
_AMOUNT = rf"^満?(?P<yen>¥?)(?P<sign>[-+▲△]?){_PARTS}(?P<n0>{_N})?(?P<unit>円|歳|才|年)?$"
_DIGIT = r"[0-9]"
# What values of one column may say together: an age, yen, scaled yen, a year, how many years; or nothing.
_BARE, _AGE, _YEN, _SCALED, _YEARS, _LASTED = 1, 2, 4, 8, 16, 32
_TOGETHER = (_BARE | _AGE, _BARE | _YEN, _YEN | _SCALED, _BARE | _YEARS, _BARE | _LASTED)
FIRST_YEAR = 1000  # 38年 is how many years, 1938年 a year
FURTHEST = 2.0**53


def plain_text(texts: pa.Array) -> pa.Array:
    """Text in half width, with one kind of dash, without spaces but between digits (`1 2` is not 12).

    >>> plain_text(pa.array(["３９　歳", "昭和 34年 6月 7日", "〒１００－０００１"])).to_pylist()
    ['39歳', '昭和34年6月7日', '〒100-0001']
    """
    plain = pc.utf8_trim_whitespace(pc.utf8_normalize(texts, "NFKC"))
    plain = pc.replace_substring_regex(plain, r"[‐‑‒–—―−]", "-")
    plain = pc.replace_substring_regex(plain, r"\s+([^0-9\s])", r"\1")
    return pc.replace_substring_regex(plain, r"([^0-9\s])\s+", r"\1")


def read_written(texts: pa.Array) -> pa.Array | None:
    """The values as days (`date32`), whole numbers or numbers; None where some value is none, or no value is Japanese.

    Missing values stay missing. A month is its first day; a column of years holds whole numbers. O(n).

    >>> read_written(pa.array(["３９歳", "40", None])).to_pylist(), read_written(pa.array(["350万円", "1,200千円"])).to_pylist()
    ([39, 40, None], [3500000, 1200000])
    >>> read_written(pa.array(["38年", "5年"])).to_pylist(), read_written(pa.array(["38年", "昭和38年"])) is None
    ([38, 5], True)
    >>> read_written(pa.array(["350万円", "350"])) is None, read_written(pa.array(["39", "40"])) is None
    (True, True)
    """
    known = texts.drop_null().cast(pa.string())
    if not may_be_japanese(known) or not _may_be(known.slice(0, HEAD)) or not _may_be(known):
        return None
    plain = plain_text(known)
    read = _dates(known, plain)
    read = _numbers(known, plain) if read is None else read
    if read is None or len(known) == len(texts):
        return read
    place = np.cumsum(texts.is_valid().to_numpy(zero_copy_only=False)) - 1
    return read.take(pa.array(place, mask=texts.is_null().to_numpy(zero_copy_only=False)))


def _japanese(texts: pa.Array) -> bool:
    return not pc.all(pc.string_is_ascii(texts)).as_py()


def _may_be(texts: pa.Array) -> bool:
    plain = plain_text(texts)
    dates = looks_like_dates(plain)
    numbers = pc.and_(pc.match_substring_regex(plain, _AMOUNT), pc.match_substring_regex(plain, _DIGIT))
    return bool(pc.all(pc.or_(dates, numbers)).as_py())


def _dates(texts: pa.Array, plain: pa.Array) -> pa.Array | None:
    """Days and months as days."""
    if not pc.all(looks_like_dates(plain)).as_py():
        return None
    found = written_dates(plain)
    fits = found.valid.all() and bool(np.isin(found.unit, (DAY, MONTH)).all())
    if not fits or not (_japanese(texts) or found.by_era.any()):
        return None
    return pc.cast(pa.array(found.first.astype(np.int32)), pa.date32())


def _numbers(texts: pa.Array, plain: pa.Array) -> pa.Array | None:
    if not _japanese(texts):
        return None
    if pc.all(pc.match_substring_regex(plain, WHOLE)).as_py():
        return pc.cast(plain, pa.int64())
    values, says = _amounts(plain)
    dated = looks_like_dates(plain).to_numpy(zero_copy_only=False)
    if dated.any():
        found: WrittenDates = written_dates(plain)
        year = dated & found.valid & (found.unit == YEAR)
        values, says = (
            np.where(year, found.years, values),
            np.where(year, _YEARS, np.where(dated & (says != _LASTED), 0, says)),
        )
    together = int(np.bitwise_or.reduce(says))
    if not says.all() or not any(together | family == family for family in _TOGETHER):
        return None
    if not (np.abs(values) < FURTHEST).all():
        return None
    return pa.array(values.astype(np.int64) if (values == np.floor(values)).all() else values)


def _amounts(plain: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The number of each text, and what it says of itself (0: it is no number)."""
    parts = pc.extract_regex(plain, _AMOUNT)
    field = {name: pc.struct_field(parts, name).fill_null("") for name in ("yen", "sign", "unit", "n0")}
    values, scaled = _scaled(field["n0"], 0)[0], np.zeros(len(plain), dtype=bool)
    there = _there(field["n0"])
    for power in _SCALES.values():
        value, said = _scaled(pc.struct_field(parts, f"n{power}").fill_null(""), power)
        values, scaled = values + value, scaled | said
    negative = pc.is_in(field["sign"], value_set=pa.array(["-", "▲", "△"])).to_numpy(zero_copy_only=False)
    unit = {name: pc.equal(field["unit"], name).to_numpy(zero_copy_only=False) for name in ("円", "歳", "才", "年")}
    yen = unit["円"] | _there(field["yen"])
    counted = unit["歳"] | unit["才"] | unit["年"]
    says = np.where(scaled, _SCALED, np.where(yen, _YEN, _BARE))
    years = np.where(values < FIRST_YEAR, _LASTED, _YEARS)
    says = np.where(unit["歳"] | unit["才"], _AGE, np.where(unit["年"], years, says))
    wrong = ~(there | scaled) | (counted & (scaled | yen | negative))
    return np.where(negative, -values, values), np.where(wrong, 0, says)


def _there(texts: pa.Array) -> np.ndarray:
    return np.asarray(pc.not_equal(texts, "").to_numpy(zero_copy_only=False), dtype=bool)


def _scaled(texts: pa.Array, power: int) -> tuple[np.ndarray, np.ndarray]:
    """Decimal numbers times a power of ten, rounded once: 1.1 万 is 11,000. And which were there."""
    there = _there(texts)
    plain = pc.replace_substring(texts, ",", "")
    digits = pc.replace_substring(plain, ".", "")
    point = pc.find_substring(plain, ".").to_numpy(zero_copy_only=False)
    behind = np.where(point < 0, 0, pc.utf8_length(plain).to_numpy(zero_copy_only=False) - point - 1)
    number = pc.cast(pc.if_else(pa.array(there), digits, "0"), pa.float64()).to_numpy(zero_copy_only=False)
    shift = power - behind
    return np.where(shift >= 0, number * 10.0 ** np.maximum(shift, 0), number / 10.0 ** np.maximum(-shift, 0)), there


# Units, and reasons for unread columns --------------------------------------------------------------------------------


def unit_written(texts: pa.Array) -> str:
    """Return the unit with which a new number is read like the others: 歳, 円 or 年, or nothing.

    >>> unit_written(pa.array(["39歳", "40歳"])), unit_written(pa.array(["350万円"])), unit_written(pa.array(["39", "40歳"]))
    ('歳', '円', '')
    """
    known = texts.drop_null().cast(pa.string())
    read = read_written(known)
    if read is None or pa.types.is_date(read.type):
        return ""
    says = _amounts(plain_text(known))[1]
    for unit, what in (("歳", _AGE), ("年", _LASTED)):
        if (says == what).all():
            return unit
    return "円" if (says & (_YEN | _SCALED)).all() else ""


def why_unread(texts: pa.Array) -> Message | None:
    """Explain why a column of Japanese dates or amounts is text: a date that does not exist, or amounts without a unit."""
    known = texts.drop_null().cast(pa.string())
    if not len(known) or not pc.any(pc.or_(looks_like_dates(plain := plain_text(known)), _scaled_text(plain))).as_py():
        return None
    odd = _impossible(known, plain)
    if odd is not None:
        return why_no_date(unicodedata.normalize("NFKC", plain[odd].as_py()), known[odd].as_py())
    if _may_be(known) and pc.any(_scaled_text(plain)).as_py():
        return Message("error_japan.unit_missing")
    years = written_dates(plain)
    mixed = pc.all(looks_like_dates(plain)).as_py() and (years.unit == YEAR).any()
    return Message("error_japan.only_years") if mixed else None


def _scaled_text(plain: pa.Array) -> pa.Array:
    return pc.and_(
        pc.match_substring_regex(plain, _AMOUNT), pc.match_substring_regex(plain, "[0-9](兆|十億|億|百万|万|千)")
    )


def _impossible(texts: pa.Array, plain: pa.Array) -> int | None:
    """The first text that looks like a date and is none."""
    dated = looks_like_dates(plain).to_numpy(zero_copy_only=False)
    wrong = np.flatnonzero(dated & ~written_dates(plain).valid)
    return int(wrong[0]) if wrong.size else None
