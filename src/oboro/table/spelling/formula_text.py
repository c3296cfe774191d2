"""Text that a spreadsheet would run as a formula, and how it is written so that it is not.

Excel and others run what begins with `=`, `+`, `-` or `@` (in full width too, and after a tab or a line break), whoever wrote it.
An apostrophe before it makes it text. Plain numbers such as `-5`, and ranges of numbers such as `-10–-5`, stay as they are. Text
that begins with apostrophes before such a character gets one more, so that no two values become one: whoever counts equal or
different values finds the same as before.
"""

from __future__ import annotations

import re

__all__ = ["FORMULA_START", "PLAIN_NUMBER", "guarded_text"]

FORMULA_START = r"^'*[=+\-@\t\r\n＝＋－＠]"
_DIGITS = r"(?:[0-9]+(?:[.,][0-9]+)*|\.[0-9]+)(?:[eE][+\-]?[0-9]+)?%?"
PLAIN_NUMBER = rf"^[+\-＋－]{_DIGITS}(?:[–～〜][+\-−－]?{_DIGITS})?$"
"""Both as RE2 reads them, where `$` is the end of the text."""

_start, _number = re.compile(FORMULA_START), re.compile(PLAIN_NUMBER[:-1] + r"\Z")


def guarded_text(text: str) -> str:
    """A text as no spreadsheet takes it for a formula.

    >>> guarded_text("=1+1"), guarded_text("-5"), guarded_text("'=x"), guarded_text("'s-Gravenhage")
    ("'=1+1", '-5', "''=x", "'s-Gravenhage")
    """
    return f"'{text}" if _start.match(text) and not _number.match(text) else text
