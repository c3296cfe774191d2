"""Formulas of spreadsheets: text that a spreadsheet would run as a formula, and its guarded form.

Excel and others run what begins with `=`, `+`, `-` or `@` (in full width too, and after a tab or a line break),
from any author. An apostrophe before it makes it text. Plain numbers such as `-5`, and ranges of numbers such as
`-10–-5`, stay as they are. Text that begins with apostrophes before such a character gets one more, so that no two
values become one: counts of equal and different values do not change.

A spreadsheet splits a file by the separator of its own country, whatever the file was written with: of `x,a;=1+1` a
German Excel makes two cells, and quotes do not help, since for it none begins a cell. So what follows a separator or
a line break within a text is guarded as the beginning of the text is.
"""

from __future__ import annotations

import re

__all__ = ["FORMULA_INSIDE", "FORMULA_START", "PLAIN_NUMBER", "guarded_text"]


FORMULA_START = r"^'*[=+\-@\t\r\n＝＋－＠]"
_DIGITS = r"(?:[0-9]+(?:[.,][0-9]+)*|\.[0-9]+)(?:[eE][+\-]?[0-9]+)?%?"
PLAIN_NUMBER = rf"^[+\-＋－]{_DIGITS}(?:[–～〜][+\-−－]?{_DIGITS})?$"
"""Both as RE2 reads them, where `$` is the end of the text."""

FORMULA_INSIDE = r"[;,\t\r\n]\"*'*[=+\-@＝＋－＠]"
"""What may begin a cell inside of a text; `guarded_text` leaves plain numbers among them as they are."""

_inside = re.compile(rf"([;,\t\r\n]\"*)(?!{PLAIN_NUMBER[1:-1]}(?:[;,\t\r\n\"]|\Z))(?='*[=+\-@＝＋－＠])")
_start, _number = re.compile(FORMULA_START), re.compile(PLAIN_NUMBER[:-1] + r"\Z")


def guarded_text(text: str) -> str:
    """A text as no spreadsheet takes it for a formula.

    >>> guarded_text("=1+1"), guarded_text("-5"), guarded_text("'=x"), guarded_text("'s-Gravenhage")
    ("'=1+1", '-5', "''=x", "'s-Gravenhage")
    >>> guarded_text("a;=1+1"), guarded_text("a;-5;b")
    ("a;'=1+1", 'a;-5;b')
    """
    inside = _inside.sub(r"\1'", text)
    return f"'{inside}" if _start.match(text) and not _number.match(text) else inside
