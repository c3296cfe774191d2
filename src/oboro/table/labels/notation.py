"""What a label says by itself: ranges, sets and masks, as this and other tools write them.

- ranges: `20–29`, `20-29`, `20~29`, `20 to 29`, `[20, 30)`, `[20, 30[` (ARX), `(20, 30]` (pandas, R), `20歳以上30歳未満`, `20代`
- one side only: `<20`, `<=20`, `>60`, `≥60`, `60+`, `60以上`, `60 or more`
- sets: `{F, M}`, `['F', 'M']`, `[1, 2, 3]`, `F~M`, `F|M`
- masks: `130**`, `2*`; and codes or dates cut short: `130` of `13053`, `2024-05` of `2024-05-17`
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

__all__ = ["Span", "cut_short", "masked", "members", "span"]

INFINITE = r"[-+−]?(?:inf(?:inity)?|∞)"
MOMENT = r"\d{4}[-/]\d{1,2}[-/]\d{1,2}(?:[T ]\d{1,2}:\d{2}(?::\d{2})?)?"
NUMBER = r"[-+−]?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
END = rf"(?:{MOMENT}|{NUMBER}|{INFINITE})"
TO = r"(?:-|–|—|~|〜|～|\.\.+|to|から)"
MORE = r"(?:\+|以上|or (?:more|older|over)|and (?:over|older|above|up))"
UNITS = re.compile(r"(?<=\d)\s*(?:歳|才|years?|yrs?)")
FORMS = tuple(
    re.compile(f"^{form}$", re.IGNORECASE)
    for form in (
        rf"(?P<left>[\[\](])\s*(?P<first>{END})\s*[,;]\s*(?P<last>{END})\s*(?P<right>[\])\[])",
        rf"(?P<first>{END})\s*{TO}\s*(?P<last>{END})",
        rf"(?P<first>{END})以上(?P<last>{END})(?P<right>未満|以下)",
        rf"(?P<right><=|=<|≤|<)\s*(?P<last>{END})",
        rf"(?P<left>>=|=>|≥|>)\s*(?P<first>{END})",
        rf"(?P<first>{END})\s*{MORE}",
        rf"(?P<last>{END})(?P<right>未満|以下)",
        rf"(?P<first>{END})(?P<left>超)",
    )
)
DECADE = re.compile(r"^(\d+)(?:代|s)$")
OPEN_LEFT, OPEN_RIGHT = ("(", "]", ">", "超"), (")", "[", "<", "未満")
SEPARATORS = (",", "~", "|", ";", "/", "、", " or ")
HIDDEN = re.compile(r"(?:\\\*)+")  # stars, as `re.escape` writes them
MOST_TRIED = 100_000  # texts that are held against one mask; one that leaves more open says next to nothing


@dataclass(frozen=True)
class Span:
    """From `first` to `last`, as text; None is no end. `after`, `before`: that end itself is not in it."""

    first: str | None
    last: str | None
    after: bool = False
    before: bool = False


def span(text: str) -> Span | None:
    """The range that a label names.

    >>> span("[20, 30["), span("60+"), span("20代"), span("HS-grad")
    (Span(first='20', last='30', after=False, before=True), Span(first='60', last=None, after=False, before=False), \
Span(first='20', last='30', after=False, before=True), None)
    """
    text = UNITS.sub("", text.strip())
    if decade := DECADE.match(text):
        return Span(decade[1], str(int(decade[1]) + 10), before=True)
    for form in FORMS:
        if found := form.match(text):
            part = {"left": "", "right": "", **{key: value or "" for key, value in found.groupdict().items()}}
            first, last = _end(part.get("first", "")), _end(part.get("last", ""))
            return Span(first, last, after=part["left"] in OPEN_LEFT, before=part["right"] in OPEN_RIGHT)
    return None


def _end(text: str) -> str | None:
    return None if not text or re.fullmatch(INFINITE, text, re.IGNORECASE) else text.replace("−", "-")


def members(text: str) -> Iterator[tuple[list[str], bool]]:
    """The values that a label may list, and whether brackets say that it is a list: without them it may be a value itself.

    >>> list(members("['F', 'M']")), next(members("F~M"))
    ([(['F', 'M'], True)], (['F', 'M'], False))
    """
    if len(text) > 2 and text[0] + text[-1] in ("{}", "[]", "()"):
        yield [part.strip().strip("'\"") for part in text[1:-1].split(",")], True
        return
    for mark in SEPARATORS:
        if mark in text:
            yield [part.strip() for part in text.split(mark)], False


def masked(text: str, known: Sequence[str]) -> list[int]:
    """Which of the `known` texts, in order, a label with hidden characters may be: as long as it, or of any length if none is.

    >>> masked("13*", ["130", "131", "13205", "140"]), masked("13*", ["13205", "140"])
    ([0, 1], [0])
    """
    text = text.replace("＊", "*")
    places = range(*_starting(text.partition("*")[0], known))
    if len(places) > MOST_TRIED:
        return []
    plain = re.escape(text)
    for star in (lambda run: f".{{{len(run[0]) // 2}}}", ".*"):
        form = re.compile(HIDDEN.sub(star, plain), re.DOTALL)
        if found := [place for place in places if form.fullmatch(known[place])]:
            return found
    return []


def cut_short(text: str, known: Sequence[str]) -> range:
    """Which of the `known` texts, in order, begin with a label that holds a digit (a code, a date); none for words.

    >>> cut_short("130", ["13053", "13068", "14850"]), cut_short("M", ["Male", "Married"])
    (range(0, 2), range(0, 0))
    """
    return range(*_starting(text, known)) if any(letter.isdigit() for letter in text) else range(0)


def _starting(head: str, known: Sequence[str]) -> tuple[int, int]:
    first = bisect_left(known, head)
    return first, bisect_left(known, head + chr(0x10FFFF), first) if head else len(known)
