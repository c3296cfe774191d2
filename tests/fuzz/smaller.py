"""A failing case, made smaller as long as it fails in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tests.fuzz.fuzzing import Case

__all__ = ["smaller"]


def smaller(case: Case, fails: Callable[[Case], bool], tries: int = 300) -> Case:
    """Parts of it are left out, larger ones first, until nothing more can go or `tries` are used up."""
    going = True
    while going and tries > 0:
        going = False
        for other in _without_parts(case):
            tries -= 1
            if fails(other):
                case, going = other, True
                break
            if tries <= 0:
                break
    return case


def _without_parts(value: Any, top: bool = True) -> Iterator[Any]:
    """The same with one part less. The keys of a case itself stay."""
    if isinstance(value, dict):
        for key in list(value):
            if not top:
                yield {one: inner for one, inner in value.items() if one != key}
            for inner in _without_parts(value[key], False):
                yield {**value, key: inner}
    elif isinstance(value, list | str | bytes):
        yield from _cut(value)
        if isinstance(value, list):
            for at, one in enumerate(value):
                for inner in _without_parts(one, False):
                    yield [*value[:at], inner, *value[at + 1 :]]


def _cut(value: Any) -> Iterator[Any]:
    length = len(value)
    while length:
        for at in range(0, len(value), length):
            yield value[:at] + value[at + length :]
        length //= 2
