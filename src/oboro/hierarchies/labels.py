"""Labels of generalized values: parsing of the range, the set or the mask that a label of oboro or another tool names.

- ranges: `20–29`, `20-29`, `20~29`, `20 to 29`, `[20, 30)`, `[20, 30[` (ARX), `(20, 30]` (pandas, R), `20歳以上30歳未満`, `20代`,
  `昭和34年6月7日〜昭和35年1月1日`, `350万円〜400万円`, `12,50–99,90`, `31.12.1990 to 01.02.2003`, `04.2015 to 11.2020`,
  `$12–$1,234.50`, `7 €–1.234,50 €`, `12,500.5–1,234,567`
- one side only: `<20`, `<=20`, `>60`, `≥60`, `≧60`, `60+`, `60以上`, `60 or more`
- sets: `{F, M}`, `['F', 'M']`, `[1, 2, 3]`, `F~M`, `F|M`
- masks: `130**`, `2*`; and codes or dates cut short: `130` of `13053`, `2024-05` of `2024-05-17`
"""

from __future__ import annotations

import json
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa

from oboro._lazy import pc
from oboro.data.column import Column
from oboro.errors import ColumnError
from oboro.hierarchies.hierarchy import text_array
from oboro.notations.amounts import MARKED, has_decimal_commas, read_decimal_commas, read_marked
from oboro.notations.japanese import looks_like_dates, plain_text, read_written, written_dates
from oboro.notations.kinds import MONTH_TEXT, STAR, Kind, kind_of, numbers_of

__all__ = [
    "LabelRange",
    "NumericLabels",
    "all_stars",
    "beginning_with",
    "end_moment",
    "end_number",
    "is_star",
    "label_range",
    "listed_values",
    "masked_values",
    "plain_kind",
    "plain_numbers",
    "range_marks",
    "set_label",
    "set_values",
    "without_star",
]


# Bounds of ranges -----------------------------------------------------------------------------------------------------
# Bounds of a range as numbers or days, in Japanese notation too.


YEAR_AND_MONTH = r"(\d{4})-(0[1-9]|1[0-2])"
NUMBER_LABEL = re.compile(r"^[-+]?\d+(\.\d+)?(e[-+]?\d+)?$", re.IGNORECASE)


def end_number(end: str) -> float:
    """The end of a range as a number; NaN where it is none. A year by its era is its year.

    >>> end_number("20"), end_number("12,50"), end_number("350万円"), end_number("平成元年"), end_number("平成元年5月")
    (20.0, 12.5, 3500000.0, 1989.0, nan)
    """
    if NUMBER_LABEL.match(end):
        return float(end)
    if has_decimal_commas(text := pa.array([end])):
        return float(read_decimal_commas(text)[0].as_py())
    read = read_marked(text)
    read = read_written(text) if read is None else read
    return np.nan if read is None or pa.types.is_date(read.type) else float(read[0].as_py())


def end_moment(end: str, kind: Kind, last: bool) -> float:
    """The end of a range as days (of date-times, microseconds) since 1970; NaN where it is none.

    A year, a month and a day are meant from their first moment to their `last`.

    >>> end_moment("昭和元年", Kind.DATE, last=False), end_moment("1970年2月", Kind.DATE, last=True)
    (-15713.0, 58.0)
    >>> end_moment("02.1970", Kind.DATE, last=False), end_moment("1970-02", Kind.DATE, last=True)
    (31.0, 58.0)
    """
    written = plain_text(pa.array([end]))
    if looks_like_dates(written)[0].as_py() and (found := written_dates(written)).valid[0]:
        day = float((found.last if last else found.first)[0])
        return day if kind is Kind.DATE else (day + last) * 86_400e6 - last
    if month := re.fullmatch(MONTH_TEXT, end):
        return _month_end(int(month[2]), int(month[1]), kind, last)
    if month := re.fullmatch(YEAR_AND_MONTH, end):
        return _month_end(int(month[1]), int(month[2]), kind, last)
    if len(end) == 4:
        end += "-12-31" if last else "-01-01"
    if len(end) < len("2024-1-1"):
        return np.nan  # a number is no date
    if kind is Kind.DATETIME and len(end) <= len("2024-12-31"):
        end += "T23:59:59.999999" if last else "T00:00:00"
    try:
        return float(numbers_of(pa.array([end]))[0])
    except ColumnError:
        return np.nan


def _month_end(year: int, month: int, kind: Kind, last: bool) -> float:
    """The first or the last moment of a month."""
    months = np.datetime64(f"{year:04d}-{month:02d}") + last
    day = float(months.astype("datetime64[D]").astype(np.int64)) - last
    return day if kind is Kind.DATE else (day + last) * 86_400e6 - last


# Ranges, sets and masks -----------------------------------------------------------------------------------------------


INFINITE = r"[-+−]?(?:inf(?:inity)?|∞)"
MOMENT = r"\d{4}[-/]\d{1,2}[-/]\d{1,2}(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?|\d{1,2}\.\d{1,2}\.\d{4}|\d{2}/\d{4}"
COMMA = r"\d+,(?:\d{1,2}|\d{4,})(?!\d)|0,\d+|\d{1,3}(?:\.\d{3})+,\d+"  # a decimal comma that can mean nothing else
NUMBER = r"[-+−]?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
ERA = r"(?:明治|大正|昭和|平成|令和|[明大昭平令MTSHR])"
WRITTEN = (
    rf"(?:(?:西暦)?{ERA}?(?:元|\d{{1,4}})年(?:\d{{1,2}}月(?:\d{{1,2}}日)?)?|{ERA}\d{{1,2}}[./]\d{{1,2}}[./]\d{{1,2}})"
)
DIGITS = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
SCALED = rf"(?:{DIGITS}(?:兆|十億|億|百万|万|千))+(?:{DIGITS})?"
AMOUNT = rf"[-+−▲△]?(?:{SCALED}円?|{DIGITS}円)|¥[-+−▲△]?(?:{SCALED}|{DIGITS})"
POINTED = rf"(?:{MOMENT}|{WRITTEN}|{AMOUNT}|{NUMBER}|{INFINITE})"  # in brackets a comma stands between values: [1,2,3] is a set
THOUSANDS = r"[-+−]?\d{1,3}(?:(?:,\d{3}){2,}(?:\.\d+)?|,\d{3}\.\d+)"  # commas that can mean nothing else
END = rf"(?:[-+−]?(?:{COMMA})|{MARKED}|{THOUSANDS}|{POINTED})"
TO = r"(?:-|–|—|~|〜|～|\.\.+|to|から)"
MORE = r"(?:\+|以上|or (?:more|older|over)|and (?:over|older|above|up))"
UNITS = re.compile(r"(?<=\d)\s*(?:歳|才|years?|yrs?)")
FORMS = (
    rf"(?P<left>[\[\](])\s*(?P<first>{POINTED})\s*[,;]\s*(?P<last>{POINTED})\s*(?P<right>[\])\[])",
    rf"(?P<first>{END})\s*{TO}\s*(?P<last>{END})",
    rf"(?P<first>{END})以上(?P<last>{END})(?P<right>未満|以下)",
    rf"(?P<right><=|=<|≤|≦|<)\s*(?P<last>{END})",
    rf"(?P<left>>=|=>|≥|≧|>)\s*(?P<first>{END})",
    rf"(?P<first>{END})\s*{MORE}",
    rf"(?P<last>{END})(?P<right>未満|以下)",
    rf"(?P<first>{END})(?P<left>超)",
)
DECADE = re.compile(r"^(\d+)(?:代|s)$")
OPEN_LEFT, OPEN_RIGHT = ("(", "]", ">", "超"), (")", "[", "<", "未満")
SEPARATORS = (",", "~", "|", ";", "/", "、", " or ")
PLAIN = re.compile(r'^[^,{}"\s](?:[^,{}"]*[^,{}"\s])?$')  # needs no quotes in a set
HIDDEN = re.compile(r"(?:\\\*)+")  # stars, as `re.escape` writes them
MOST_TRIED = 100_000  # texts that are held against one mask; one that leaves more open says next to nothing


@dataclass(frozen=True)
class LabelRange:
    """From `first` to `last`, as text; None is no end. `after`, `before`: that end itself is not in it."""

    first: str | None
    last: str | None
    after: bool = False
    before: bool = False


@cache
def _forms() -> list[re.Pattern[str]]:
    """The forms of a range, read when the first label is: to read them takes longer than to read a small table."""
    return [re.compile(f"^{form}$", re.IGNORECASE) for form in FORMS]


def label_range(text: str) -> LabelRange | None:
    """Parse the range that a label names.

    >>> label_range("[20, 30["), label_range("60+"), label_range("20代"), label_range("HS-grad")
    (LabelRange(first='20', last='30', after=False, before=True), LabelRange(first='60', last=None, after=False, before=False), \
LabelRange(first='20', last='30', after=False, before=True), None)
    """
    text = text if text.isascii() else unicodedata.normalize("NFKC", text)
    text = UNITS.sub("", text.strip())
    if decade := DECADE.match(text):
        return LabelRange(decade[1], str(int(decade[1]) + 10), before=True)
    for form in _forms():
        if found := form.match(text):
            part = {"left": "", "right": "", **{key: value or "" for key, value in found.groupdict().items()}}
            first, last = _end(part.get("first", "")), _end(part.get("last", ""))
            return LabelRange(first, last, after=part["left"] in OPEN_LEFT, before=part["right"] in OPEN_RIGHT)
    return None


def range_marks(first: pa.Array, plain: bool) -> pa.Array:
    """Return the separator of the bounds of ranges that begin so: `–`; no dash where it would read as a sign or as part of a date.

    >>> range_marks(pa.array(["31", "-5"]), True).to_pylist(), range_marks(pa.array(["昭和34年6月7日"]), False).to_pylist()
    (['–', ' to '], ['〜'])
    """
    ascii_ = pc.fill_null(pc.string_is_ascii(first), True)
    signed = pc.fill_null(pc.starts_with(first, "-"), False) if plain else ascii_
    return pc.if_else(signed, " to ", "–" if plain else "〜")


def _end(text: str) -> str | None:
    return None if not text or re.fullmatch(INFINITE, text, re.IGNORECASE) else text.replace("−", "-")


def listed_values(text: str) -> Iterator[tuple[list[str], bool]]:
    """The values that a label may list, and whether brackets say that it is a list: without them it may be a value itself.

    >>> list(listed_values("['F', 'M']")), next(listed_values("F~M"))
    ([(['F', 'M'], True)], (['F', 'M'], False))
    """
    if len(text) > 2 and text[0] + text[-1] in ("{}", "[]", "()"):
        yield [part.strip().strip("'\"") for part in text[1:-1].split(",")], True
        return
    for mark in SEPARATORS:
        if mark in text:
            yield [part.strip() for part in text.split(mark)], False


def masked_values(text: str, known: Sequence[str]) -> list[int]:
    """Find the `known` texts, in order, that fit a label with masked characters: as long as it, or of any length if none is.

    >>> masked_values("13*", ["130", "131", "13205", "140"]), masked_values("13*", ["13205", "140"])
    ([0, 1], [0])
    """
    text = text.replace("＊", "*")
    places = range(*_starting(text.partition("*")[0], known))
    if len(places) > MOST_TRIED:
        return []
    as_long = re.compile(HIDDEN.sub(lambda run: f".{{{len(run[0]) // 2}}}", re.escape(text)), re.DOTALL)
    if found := [place for place in places if as_long.fullmatch(known[place])]:
        return found
    shown = re.split(r"\*+", text)
    return [place for place in places if len(shown) > 1 and _in_order(shown, known[place])]


def _in_order(shown: Sequence[str], text: str) -> bool:
    """Return whether a text begins with the first part, ends with the last, and has the others between, in this order.

    Each at the first place where it fits: no other could leave more room. A regular expression would try them all.

    >>> _in_order(["1", "2", "3"], "10223"), _in_order(["1", "23", "3"], "1023")
    (True, False)
    """
    first, *between, last = shown
    at, end = len(first), len(text) - len(last)
    if at > end or not (text.startswith(first) and text.endswith(last)):
        return False
    for part in between:
        at = text.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True


def beginning_with(text: str, known: Sequence[str]) -> range:
    """Find the `known` texts, in order, that begin with a label that holds a digit (a code, a date); none for words.

    >>> beginning_with("130", ["13053", "13068", "14850"]), beginning_with("M", ["Male", "Married"])
    (range(0, 2), range(0, 0))
    """
    return range(*_starting(text, known)) if any(letter.isdigit() for letter in text) else range(0)


def _starting(head: str, known: Sequence[str]) -> tuple[int, int]:
    first = bisect_left(known, head)
    return first, bisect_left(known, head + chr(0x10FFFF), first) if head else len(known)


def set_label(texts: Iterable[str]) -> str:
    """A set of values in words; ambiguous text is in quotes.

    >>> set_label(["M", "F"]), set_label(["a, b", "c"])
    ('{F, M}', '{"a, b", c}')
    """
    words = (text if PLAIN.match(text) else json.dumps(text, ensure_ascii=False) for text in sorted(texts))
    return "{" + ", ".join(words) + "}"


def set_values(inner: str) -> list[str] | None:
    """Return the values that a set names, or None where it is no set as `set_label` writes it."""
    names, decoder, at = [], json.JSONDecoder(), 0
    while True:
        if inner.startswith('"', at):
            try:
                name, at = decoder.raw_decode(inner, at)
            except json.JSONDecodeError:
                return None
        else:
            end = inner.find(", ", at)
            name, at = inner[at : end if end >= 0 else len(inner)], end if end >= 0 else len(inner)
        names.append(name)
        if at == len(inner):
            return names
        if not inner.startswith(", ", at):
            return None
        at += 2


# Numeric labels -------------------------------------------------------------------------------------------------------
# Labels of intervals as numbers, or as ordered categories, to train a model on a release.


@dataclass(frozen=True, eq=False)
class NumericLabels:
    """A column whose labels are numbers or intervals: where each lies on the line; `*` and missing values lie nowhere."""

    column: Column
    starts: np.ndarray  # of each dictionary entry; NaN: nowhere
    ends: np.ndarray

    @staticmethod
    def of(column: Column) -> NumericLabels | None:
        """None for a column that holds anything else, and for one that holds numbers as they are."""
        if kind_of(column.values).numeric or not column.texts:
            return None
        spans = [(np.nan, np.nan) if text in (None, STAR) else _span(text or "") for text in column.texts]
        if any(span is None for span in spans) or all(text in (None, STAR) for text in column.texts):
            return None
        starts, ends = np.array([span for span in spans if span is not None], dtype=np.float64).T
        return NumericLabels(column, starts, ends)

    def midpoints(self) -> pa.Array:
        """For each row the middle of its interval, of an open one its end; missing where the value is suppressed.

        >>> NumericLabels.of(Column.of(["20–29", "[20, 30)", "≥90", "7", "*"])).midpoints().to_pylist()
        [24.5, 25.0, 90.0, 7.0, None]
        """
        low = np.where(np.isinf(self.starts), self.ends, self.starts)
        high = np.where(np.isinf(self.ends), self.starts, self.ends)
        middle = ((low + high) / 2)[self.column.codes]
        return pa.array(middle, mask=np.isnan(middle))

    def ordered(self) -> pa.DictionaryArray:
        """For each row its label, in a dictionary in the order of the line; missing where the value is suppressed.

        >>> NumericLabels.of(Column.of(["≥90", "100", "20–29", "*", "<20"])).ordered().dictionary.to_pylist()
        ['<20', '20–29', '≥90', '100']
        """
        order = [at for at in np.lexsort((self.ends, self.starts)) if not np.isnan(self.starts[at])]
        place = np.full(len(self.starts), -1)
        place[order] = np.arange(len(order))
        codes = place[self.column.codes]
        texts = pa.array([self.column.texts[at] for at in order], pa.string())
        return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32(), mask=codes < 0), texts, ordered=True)


def _span(text: str) -> tuple[float, float] | None:
    """Return the bounds of a label; None if it is neither a number nor a range of numbers."""
    if kind_of(pa.array([text])) in (Kind.INTEGER, Kind.NUMBER):
        number = float(numbers_of(pa.array([text]))[0])  # `39歳` and `12,50` are numbers too
        return number, number
    found = label_range(text)
    if found is None:
        return None
    low = -np.inf if found.first is None else end_number(found.first)
    high = np.inf if found.last is None else end_number(found.last)
    return None if np.isnan(low) or np.isnan(high) else (low, high)


# Suppressed values ----------------------------------------------------------------------------------------------------
# Released columns with suppressed values: positions of `*`, and the numbers beside them.


def is_star(column: Column) -> np.ndarray:
    """Mark the dictionary entries that are `*`; numbers and dates never are."""
    type_ = column.values.type
    if pa.types.is_primitive(type_):
        return np.zeros(len(column.values), dtype=bool)
    found = pc.fill_null(pc.equal(text_array(column.values), STAR), False)
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=bool)


def all_stars(column: Column) -> bool:
    """Return whether nothing but `*` and missing values is left, and some `*`.

    >>> [all_stars(Column.of(values)) for values in (["*", None], ["*", "a"], [None])]
    [True, False, False]
    """
    stars = is_star(column)
    return bool(stars.any() and (stars | column.values.is_null().to_numpy(zero_copy_only=False)).all())


def plain_numbers(column: Column) -> np.ndarray | None:
    """The dictionary as numbers, NaN where it is missing or `*`; None if it holds text, or nothing else at all."""
    values, kind = _unstarred(column)
    return numbers_of(values, kind=kind) if kind.numeric and values.null_count < len(values) else None


def plain_kind(column: Column) -> Kind:
    """Return the kind of the values of a column except `*`."""
    return _unstarred(column)[1]


def _unstarred(column: Column) -> tuple[pa.Array, Kind]:
    if not is_star(column).any():
        return column.values, column.kind  # which is remembered
    values = without_star(column.values)
    return values, kind_of(values)


def without_star(values: pa.Array) -> pa.Array:
    """A dictionary with `*` as missing."""
    return pc.if_else(pc.equal(values, STAR), None, values) if pa.types.is_string(values.type) else values
