"""Raw values of the data in messages: shown where the reader may see them, elsewhere only their kind and position.

A message may end in a log that more people read than the table. So a value of the data is marked (`Raw`), and by
default its words are its kind, its length and its row. The value itself is shown to a person: by the command line on
a terminal, and in an interactive session of Python or a notebook. Elsewhere it is shown on request: by
`error.show()`, within `values_shown()`, by `--show-values`, or where the environment has `OBORO_SHOW_VALUES=1`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import date
from typing import Any

__all__ = ["Raw", "always_show_values", "shows_values", "values_shown", "without_passwords"]


_always: list[bool] = [False]
_asked: ContextVar[bool | None] = ContextVar("values_shown", default=None)
NUMBER = r"[-+]?[0-9][0-9,]*(\.[0-9]*)?([eE][-+]?[0-9]+)?"
PASSWORD = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*:/{1,3}[^\s/@:]*):[^\s\u3000-\uffff]*@")
TOKEN = re.compile(r"((?:nats|rediss?|valkeys?|kafkas?|mqtts?|amqps?|https?)://)[^\s/@:]+@")
# Only the words ignore case: with the range of characters it takes 10 ms to compile, at every start.
GIVEN = re.compile(r"([?&;][\w.-]*(?i:pass|pwd|secret|token|key|sig|credential)[\w.-]*=)[^\s&'\"\u3000-\uffff]+")
DATE = r"[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}([T ].*)?"


class Raw:
    """A value of the data among the values of a message; `row` (from 1) says where it stands, where that is known.

    >>> Raw("Ann").kind, Raw("Ann").letters
    ('text', 3)
    """

    __slots__ = ("row", "value")

    def __init__(self, value: Any, row: int | None = None) -> None:
        self.value = value
        self.row = row

    @property
    def kind(self) -> str:
        """Kind of the value: missing, empty, number, date, moment or text. A computed value (`figure`) has no length."""
        if self.value is None or self.value == "":
            return "missing" if self.value is None else "empty"
        if isinstance(self.value, float):
            return "figure"
        if isinstance(self.value, date) or re.fullmatch(DATE, str(self.value)):
            return "moment" if ":" in str(self.value) else "date"
        return "number" if re.fullmatch(NUMBER, str(self.value)) else "text"

    @property
    def letters(self) -> int:
        """Length of the value as text."""
        return len(str(self.value))

    def placed(self, row_of: Callable[[Any], int | None]) -> Raw:
        """The same with its row, where it has none yet and `row_of` knows it."""
        return self if self.row is not None else Raw(self.value, row_of(self.value))

    def __repr__(self) -> str:
        return f"Raw({self.value!r})" if shows_values() else f"Raw({self.kind}, {self.letters})"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Raw) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)


def shows_values() -> bool:
    """Return whether messages show values of the data now."""
    asked = _asked.get()
    if asked is not None:
        return asked
    return _always[0] or os.environ.get("OBORO_SHOW_VALUES", "") not in ("", "0") or hasattr(sys, "ps1")


@contextmanager
def values_shown(shown: bool = True) -> Iterator[None]:
    """Within this block messages show values of the data, or do not, whatever else was asked."""
    before = _asked.set(shown)
    try:
        yield
    finally:
        _asked.reset(before)


def always_show_values(shown: bool) -> None:
    """From now on messages of this process show values of the data, or do not: for a program that speaks to one person."""
    _always[0] = shown


def without_passwords(words: str) -> str:
    """The words without what stands in an address as a password: also in one that is no address, but meant to be.

    >>> without_passwords("jdbc:postgresql://ann:pa/ss@host/db?sslkey=abc: there is no such file")
    'jdbc:postgresql://ann:***@host/db?sslkey=*** there is no such file'
    """
    if ":/" not in words:
        return words
    return GIVEN.sub(r"\1***", TOKEN.sub(r"\1***@", PASSWORD.sub(r"\1:***@", words)))
