"""Calls of functions in a script of R, as far as their arguments are plain values. Nothing is run.

>>> [(call.name, call.named) for call in r_calls("x <- f(d, breaks = c(0, 18.5), labels = 1:2)  # why")]
[('f', {'breaks': [0, 18.5], 'labels': [1, 2]})]
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

__all__ = ["UNREAD", "RCall", "r_calls"]

TOKENS = re.compile(
    r"""(?P<space>\s+|\#[^\n]*)"""
    r"""|(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
    r"""|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?L?)"""
    r"""|(?P<name>[A-Za-z.][\w.]*|`[^`]*`)"""
    r"""|(?P<mark><-|->|::?:?|.)""",
    re.DOTALL,
)
WORDS = {"TRUE": True, "FALSE": False, "T": True, "F": False, "NULL": None, "NA": None, "Inf": math.inf}
UNREAD = object()  # an argument that is no plain value
OPEN, CLOSE = "([{", ")]}"


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


def r_calls(text: str) -> list[RCall]:
    """All calls, the outermost first, in the order of the script."""
    tokens = [(one.lastgroup or "", one[0]) for one in TOKENS.finditer(text) if one.lastgroup != "space"]
    calls = [call for place in range(len(tokens)) if (call := _call(tokens, place)) is not None]
    return [call for call in calls if call.name not in ("c", "list")]


Tokens = list[tuple[str, str]]


def _call(tokens: Tokens, place: int) -> RCall | None:
    if tokens[place][0] != "name" or tokens[place + 1 : place + 2] != [("mark", "(")]:
        return None
    call = RCall(tokens[place][1].strip("`"))
    for part in _parts(tokens, place + 1):
        if len(part) > 2 and part[0][0] in ("name", "text") and part[1] == ("mark", "="):
            call.named[_plain(part[0])] = _value(part[2:])
        elif part:
            call.given.append(_value(part))
    call.given = [one for one in call.given if one is not UNREAD]  # the table itself, first of all
    call.named = {name: one for name, one in call.named.items() if one is not UNREAD}
    return call


def _parts(tokens: Tokens, start: int) -> Iterator[Tokens]:
    """What stands between the commas of the brackets that open at a place."""
    depth, part = 0, Tokens()
    for token in tokens[start:]:
        depth += (token[0] == "mark" and token[1] in OPEN) - (token[0] == "mark" and token[1] in CLOSE)
        if depth == 0:
            yield part
            return
        if depth == 1 and token == ("mark", ","):
            yield part
            part = []
        elif part or token != ("mark", "(") or depth > 1:
            part.append(token)


def _plain(token: tuple[str, str]) -> str:
    return token[1][1:-1] if token[0] == "text" or token[1].startswith("`") else token[1]


def _value(tokens: Tokens) -> Any:
    """A number, a text, a truth, a range, or `c(…)` of these; UNREAD for anything else."""
    if len(tokens) == 2 and tokens[0] in (("mark", "-"), ("mark", "+")):
        found = _value(tokens[1:])
        return UNREAD if not isinstance(found, int | float) else -found if tokens[0][1] == "-" else found
    if len(tokens) == 1:
        return _single(*tokens[0])
    if len(tokens) == 3 and tokens[1] == ("mark", ":") and tokens[0][0] == tokens[2][0] == "number":
        return list(range(_single(*tokens[0]), _single(*tokens[2]) + 1))
    if tokens[:2] in ([("name", "c"), ("mark", "(")], [("name", "list"), ("mark", "(")]):
        parts = [_value(_unnamed(part)) for part in _parts(tokens, 1) if part]
        flat = [one for part in parts for one in (part if isinstance(part, list) else [part])]
        return UNREAD if any(one is UNREAD for one in flat) else flat
    return UNREAD


def _unnamed(part: Tokens) -> Tokens:
    return part[2:] if len(part) > 2 and part[1] == ("mark", "=") else part


def _single(kind: str, text: str) -> Any:
    if kind == "text":
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    if kind == "number":
        number = float(text.rstrip("L"))
        return int(number) if number.is_integer() else number
    return WORDS.get(text, UNREAD) if kind == "name" else UNREAD
