"""Calls of functions in a script of R, as far as their arguments are plain values. Nothing is run.

>>> [(call.name, call.named) for call in r_calls("x <- f(d, breaks = c(0, 18.5), labels = 1:2)  # why")]
[('f', {'breaks': [0, 18.5], 'labels': [1, 2]})]
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from oboro.errors import FileError
from oboro.text import Message

__all__ = ["UNREAD", "RCall", "r_calls"]

TOKENS = re.compile(
    # A quote that is never closed takes all of the rest: tried anew at each later quote, it would cost the square of the length.
    r"""(?P<space>\s+|\#[^\n]*)"""
    r"""|(?P<text>"(?:[^"\\]|\\(?:.|\Z))*(?:"|\Z)|'(?:[^'\\]|\\(?:.|\Z))*(?:'|\Z))"""
    r"""|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?L?)"""
    r"""|(?P<name>[A-Za-z.][\w.]*|`[^`]*`)"""
    r"""|(?P<mark><-|->|::?:?|.)""",
    re.DOTALL,
)
WORDS = {"TRUE": True, "FALSE": False, "T": True, "F": False, "NULL": None, "NA": None, "Inf": math.inf}
UNREAD = object()  # an argument that is no plain value
OPEN, CLOSE = "([{", ")]}"
VECTORS = ("c", "list")
DEEPEST = (
    100  # brackets within brackets: every call reads its arguments to their end, so that the cost is depth times length
)
MOST_VALUES = (
    1_000_000  # in all vectors of a script together: they name columns and edges, and `1:200000000` would take 4 GB
)


@dataclass
class RCall:
    """One call: its name, and its arguments."""

    name: str
    given: list[Any] = field(default_factory=list)
    named: dict[str, Any] = field(default_factory=dict)

    def argument(self, *names: str, place: int | None = None, default: Any = None) -> Any:
        """An argument by one of its names, or by its place among those without a name."""
        for name in names:
            if name in self.named:
                return self.named[name]
        return self.given[place] if place is not None and place < len(self.given) else default


def r_calls(text: str, path: str = "script") -> list[RCall]:
    """Return all calls, the outermost first, in the order of the script. O(length · depth).

    `FileError` where brackets are nested deeper than `DEEPEST`, or vectors have more than `MOST_VALUES` values.
    """
    found = [(one.lastgroup or "", one[0], one.start()) for one in TOKENS.finditer(text) if one.lastgroup != "space"]
    depth = 0
    for kind, mark, place in found:
        depth = max(0, depth + (kind == "mark" and mark in OPEN) - (kind == "mark" and mark in CLOSE))
        if depth > DEEPEST:
            line = text.count("\n", 0, place) + 1
            raise FileError(Message("error_recipe.r_too_deep", path=path, line=line, most=DEEPEST))
    return _Script([(kind, mark) for kind, mark, _ in found], path).calls()


Token = tuple[str, str]
Tokens = Sequence[Token]


class _Script:
    """The tokens of one script, and how many values its vectors may still have."""

    def __init__(self, tokens: Tokens, path: str) -> None:
        self.tokens, self.path, self.left = tokens, path, MOST_VALUES

    def calls(self) -> list[RCall]:
        """All calls but those that make vectors, which are arguments."""
        return [call for place in range(len(self.tokens)) if (call := self._call(place)) is not None]

    def _call(self, place: int) -> RCall | None:
        tokens = self.tokens
        if tokens[place][0] != "name" or tokens[place + 1 : place + 2] != [("mark", "(")]:
            return None
        if tokens[place][1] in VECTORS:
            return None
        call = RCall(tokens[place][1].strip("`"))
        for part in _parts(tokens, place + 1):
            if len(part) > 2 and part[0][0] in ("name", "text") and part[1] == ("mark", "="):
                call.named[_plain(part[0])] = self._value(part[2:])
            elif part:
                call.given.append(self._value(part))
        call.given = [one for one in call.given if one is not UNREAD]  # the table itself, first of all
        call.named = {name: one for name, one in call.named.items() if one is not UNREAD}
        return call

    def _value(self, tokens: Tokens) -> Any:
        """A number, a text, a truth, a range, or `c(…)` of these; UNREAD for anything else."""
        if len(tokens) == 2 and tokens[0] in (("mark", "-"), ("mark", "+")):
            found = self._value(tokens[1:])
            return UNREAD if not isinstance(found, int | float) else -found if tokens[0][1] == "-" else found
        if len(tokens) == 1:
            return _single(*tokens[0])
        if len(tokens) == 3 and tokens[1] == ("mark", ":") and tokens[0][0] == tokens[2][0] == "number":
            return self._range(_single(*tokens[0]), _single(*tokens[2]))
        if tokens[0] in [("name", one) for one in VECTORS] and tokens[1] == ("mark", "("):
            parts = [self._value(_unnamed(part)) for part in _parts(tokens, 1) if part]
            flat = [one for part in parts for one in (part if isinstance(part, list) else [part])]
            return UNREAD if any(one is UNREAD for one in flat) else flat
        return UNREAD

    def _range(self, first: int | float, last: int | float) -> Any:
        """`first:last` as R counts: by one, upwards or downwards, and never beyond the last."""
        if not math.isfinite(first) or not math.isfinite(last):
            return UNREAD
        if abs(last - first) >= self.left:
            said = Message("error_recipe.r_too_many", path=self.path, first=first, last=last, most=MOST_VALUES)
            raise FileError(said)
        count, step = int(abs(last - first)) + 1, 1 if last >= first else -1
        self.left -= count
        return [first + step * place for place in range(count)]


def _parts(tokens: Tokens, start: int) -> Iterator[Tokens]:
    """The tokens between the commas of the brackets that open at a place."""
    depth, begin = 0, start + 1
    for place in range(start, len(tokens)):
        kind, mark = tokens[place]
        depth += (kind == "mark" and mark in OPEN) - (kind == "mark" and mark in CLOSE)
        if depth == 0 or (depth == 1 and (kind, mark) == ("mark", ",")):
            yield tokens[begin:place]
            begin = place + 1
        if depth == 0:
            return


def _plain(token: Token) -> str:
    return token[1][1:-1] if token[0] == "text" or token[1].startswith("`") else token[1]


def _unnamed(part: Tokens) -> Tokens:
    return part[2:] if len(part) > 2 and part[1] == ("mark", "=") else part


def _single(kind: str, text: str) -> Any:
    if kind == "text":
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    if kind == "number":
        number = float(text.rstrip("L"))
        return int(number) if number.is_integer() else number
    return WORDS.get(text, UNREAD) if kind == "name" else UNREAD
