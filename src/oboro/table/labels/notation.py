"""How labels are written, by this and by other tools: reading the range, the set or the mask that a label names.

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

import pyarrow as pa
import pyarrow.compute as pc

from oboro.table.spelling.marked_numbers import MARKED

__all__ = [
    "LabelRange",
    "beginning_with",
    "label_range",
    "listed_values",
    "masked_values",
    "range_marks",
    "set_label",
    "set_values",
]

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
    """The range that a label names.

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
    """What stands between the ends of ranges that begin so: `–`; no dash where it would read as a sign or as part of a date.

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
    """Which of the `known` texts, in order, a label with hidden characters may be: as long as it, or of any length if none is.

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
    """Whether a text begins with the first part, ends with the last, and has the others between, in this order.

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
    """Which of the `known` texts, in order, begin with a label that holds a digit (a code, a date); none for words.

    >>> beginning_with("130", ["13053", "13068", "14850"]), beginning_with("M", ["Male", "Married"])
    (range(0, 2), range(0, 0))
    """
    return range(*_starting(text, known)) if any(letter.isdigit() for letter in text) else range(0)


def _starting(head: str, known: Sequence[str]) -> tuple[int, int]:
    first = bisect_left(known, head)
    return first, bisect_left(known, head + chr(0x10FFFF), first) if head else len(known)


def set_label(texts: Iterable[str]) -> str:
    """A set of values in words; what could be misread stands in quotes.

    >>> set_label(["M", "F"]), set_label(["a, b", "c"])
    ('{F, M}', '{"a, b", c}')
    """
    words = (text if PLAIN.match(text) else json.dumps(text, ensure_ascii=False) for text in sorted(texts))
    return "{" + ", ".join(words) + "}"


def set_values(inner: str) -> list[str] | None:
    """The values that a set names, or None where it is no set as `set_label` writes it."""
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
