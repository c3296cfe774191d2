"""Errors of pydantic as messages of oboro: the position, the problem and the given value."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple, get_args

from oboro.text.message import UNSAID, Message, Words, known

__all__ = ["complaint", "complaints", "no_such_key", "placed_complaint", "said_of"]


SECRET = ("key_env", "key_file", "seed_env", "seed_file")  # where a key may stand by mistake: it is not repeated

SHAPES = ("dict_type", "model_type")  # what is no mapping at all


def said_of(part: str) -> bool:
    """Return whether a part of a position was written by the user."""
    return part != "" and not part.startswith(UNSAID)


def complaint(found: Mapping[str, Any]) -> Words:
    """Describe the error of one value: the message of a validator of ours, or words for what pydantic itself says.

    >>> complaint({"type": "greater_than_equal", "ctx": {"ge": 2}, "msg": "…"}).say("ja")
    '2 以上でなければなりません'
    """
    context = found.get("ctx", {})
    if "actual_length" in context and context["actual_length"] is None:  # of a mapping that is too long
        context = {**context, "actual_length": len(found["input"])}
    if found["type"] == "value_error":
        words = context["error"].args[0] if context["error"].args else ""
        return words if isinstance(words, Message) else str(words)
    if found["type"] in ("literal_error", "enum"):
        return Message("error_value.one_of", expected=re.findall(r"'([^']*)'", context["expected"]))
    id = f"error_value.{found['type']}"
    return Message(id, **context) if known(id) else Message("error_value.another", said=found["msg"])


def placed_complaint(where: str, found: Mapping[str, Any]) -> Message:
    """Describe the error of one value with its position and, if it is short, the value.

    >>> found = {"type": "less_than", "ctx": {"lt": 1}, "msg": "Input should be less than 1", "input": 3}
    >>> str(placed_complaint("suppress", found))
    'suppress: Input should be less than 1 (got 3)'
    """
    what = complaint(found)
    plain = isinstance(found["input"], str | int | float | bool | None.__class__)
    secret = where.rpartition(".")[2] in SECRET
    if plain and not secret and found["type"] not in ("missing", "value_error", "extra_forbidden"):
        return Message("error_value.at_got", where=where, what=what, got=found["input"])
    if not where and isinstance(what, Message):
        return what
    return Message("error_value.at", where=where, what=what)


def complaints(error: Any, model: Any = None, prefix: str = "", given: Any = None) -> list[Message]:
    """Describe all errors that pydantic found in `given`, as lines; a name that the `model` does not have gets those that it has,
    or the nearest. Where a value may be of several kinds, only what fits its kind best is said."""
    placed = [Placed(found, *_written(found, given)) for found in error.errors(include_url=False)]
    return [_said(one, model, prefix) for one in _of_the_best_kind(placed)]


class Placed(NamedTuple):
    """One error, the parts of its position that the user wrote, and the number of them that lead to a choice of kinds."""

    found: Mapping[str, Any]
    place: tuple[Any, ...]
    fork: int | None


def _written(found: Mapping[str, Any], given: Any) -> tuple[tuple[Any, ...], int | None]:
    """Without the names that pydantic gives to the kinds which it tried (`dict[str,float]`): they are no keys of what was given."""
    unheld = len(found["loc"]) - 1 if found["type"] in ("missing", "extra_forbidden") else -1
    place: list[Any] = []
    fork: int | None = None
    for number, part in enumerate(found["loc"]):
        if _holds(given, part):
            given = given[part]
        elif given is not None and number != unheld:
            fork = len(place) if fork is None else fork
            continue
        place.append(part)
    return tuple(place), fork


def _holds(given: Any, part: Any) -> bool:
    if isinstance(given, Mapping):
        return part in given
    return isinstance(given, list | tuple) and isinstance(part, int) and 0 <= part < len(given)


def _of_the_best_kind(placed: Sequence[Placed]) -> list[Placed]:
    """Of the kinds that were tried for one value, those whose complaint stands deepest, and one that is not about braces."""
    kept: dict[tuple[Any, ...], list[Placed]] = {}
    for number, one in enumerate(placed):
        kept.setdefault(one.place[: one.fork] if one.fork is not None else (UNSAID, number), []).append(one)
    return [one for kinds in kept.values() for one in _deepest(kinds)]


def _deepest(kinds: Sequence[Placed]) -> Sequence[Placed]:
    depth = max(len(one.place) for one in kinds)
    deep = [one for one in kinds if len(one.place) == depth]
    return [one for one in deep if one.found["type"] not in SHAPES] or deep[:1]


def _said(one: Placed, model: Any, prefix: str) -> Message:
    found, where = one.found, _place((prefix, *one.place))
    if model is None or found["type"] not in ("extra_forbidden", "model_type"):
        return placed_complaint(where, found)
    keys = _keys(model, found["loc"][:-1] if found["type"] == "extra_forbidden" else found["loc"])
    if found["type"] == "extra_forbidden":
        return no_such_key(_place((prefix, *one.place[:-1])), str(one.place[-1]), keys)
    return Message("error_value.at", where=where, what=Message("error_value.keys", known=keys))


def _place(parts: Sequence[Any]) -> str:
    return ".".join(part for part in map(str, parts) if said_of(part))


def no_such_key(where: str, key: str, there: Sequence[str]) -> Message:
    """Report an unknown name with the nearest known name, or all of them.

    >>> str(no_such_key("", "staet", ["state", "batch"]))
    "there is no 'staet'; did you mean 'state'?"
    """
    near = get_close_matches(key, there, n=1)
    if near:
        what = Message("error_value.near_key", key=key, near=near[0])
    else:
        what = Message("error_value.no_key" if there else "error_value.key", key=key, known=list(there))
    return Message("error_value.at", where=where, what=what) if where else what


def _keys(model: Any, place: Sequence[Any]) -> list[str]:
    """The names that may stand at a place in a model."""
    for part in place:
        field = model.model_fields.get(part) if isinstance(part, str) else None
        if field is not None:
            model = next(_models(field.annotation), None)
        if model is None:
            return []
    return [field.alias or name for name, field in model.model_fields.items()]


def _models(annotation: Any) -> Any:
    if hasattr(annotation, "model_fields"):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)
