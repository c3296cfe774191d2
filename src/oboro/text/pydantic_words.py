"""What pydantic finds wrong with parameters, in words of ours: where, what, and what came."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from oboro.text.message import Message, Words, known

__all__ = ["UNSAID", "complaint", "placed_complaint", "said_of"]

UNSAID = "\0"  # begins the names of choices that pydantic makes, which nobody wrote


def said_of(part: str) -> bool:
    """Whether a part of a place is one that somebody wrote."""
    return part != "" and not part.startswith(UNSAID)


def complaint(found: Mapping[str, Any]) -> Words:
    """What is wrong with one value: the message of a validator of ours, or words for what pydantic itself says.

    >>> complaint({"type": "greater_than_equal", "ctx": {"ge": 2}, "msg": "…"}).say("ja")
    '2 以上でなければなりません'
    """
    context = found.get("ctx", {})
    if found["type"] == "value_error":
        words = context["error"].args[0] if context["error"].args else ""
        return words if isinstance(words, Message) else str(words)
    if found["type"] in ("literal_error", "enum"):
        return Message("error_value.one_of", expected=re.findall(r"'([^']*)'", context["expected"]))
    id = f"error_value.{found['type']}"
    return Message(id, **context) if known(id) else Message("error_value.another", said=found["msg"])


def placed_complaint(where: str, found: Mapping[str, Any]) -> Message:
    """The same with where it stands and, if it is short, what came.

    >>> found = {"type": "less_than", "ctx": {"lt": 1}, "msg": "Input should be less than 1", "input": 3}
    >>> str(placed_complaint("suppress", found))
    'suppress: Input should be less than 1 (got 3)'
    """
    what = complaint(found)
    plain = isinstance(found["input"], str | int | float | bool | None.__class__)
    if plain and found["type"] not in ("missing", "value_error"):
        return Message("error_value.at_got", where=where, what=what, got=found["input"])
    return Message("error_value.at", where=where, what=what)
