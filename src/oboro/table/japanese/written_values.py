"""Numbers and dates as Japanese offices write them: `39歳`, `３９`, `350万円`, `1,200千円`, `昭和34年6月7日`, `令和元年`.

A column is read as numbers or dates only if every value can be, and all of them together mean one thing. Where that is not so, it
is text: `350` beside `350万円` may be yen or ten thousands of yen, and a wrong guess would be silent.
"""

from __future__ import annotations

import unicodedata

import numpy as np
import pyarrow as pa

from oboro.system import arrow_functions as pc
from oboro.table.japanese.written_dates import (
    DAY,
    MONTH,
    YEAR,
    WrittenDates,
    looks_like_dates,
    why_no_date,
    written_dates,
)
from oboro.table.values import may_be_japanese
from oboro.text import Message

__all__ = ["plain_text", "read_written", "unit_written", "why_unread"]

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


# What else is to be said of a column ---------------------------------------------------------------------------------


def unit_written(texts: pa.Array) -> str:
    """What a new number must carry to be read as the others are: 歳, 円 or 年, or nothing.

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
    """Why a column of Japanese dates or amounts is only text: a date that does not exist, or amounts that do not say their unit."""
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
