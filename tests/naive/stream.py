"""Streams in plain loops: all correspondences one by one, and the best pattern by trying every one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations, product
from typing import Any

TREE = {"tree": {"north": {"up": ["a", "b"]}, "south": {"east": ["c", "d"], "west": ["e"]}}}
PATHS = {
    "a": ("a", "up", "north"),
    "b": ("b", "up", "north"),
    "c": ("c", "east", "south"),
    "d": ("d", "east", "south"),
    "e": ("e", "west", "south"),
}


def path(value: Any, deep: bool) -> tuple[Any, ...]:
    """A value, its labels, and `*` at the end."""
    if value is None:
        return ("*",) * (4 if deep else 2)
    return (*PATHS[value], "*") if deep else (value, "*")


def matches(released: Sequence[Any], original: Sequence[Any], deep: Sequence[bool]) -> bool:
    return all(cell in path(value, is_deep) for cell, value, is_deep in zip(released, original, deep, strict=True))


def correspondences(
    released: Sequence[Sequence[Any]], originals: Sequence[Sequence[Any]], deep: Sequence[bool]
) -> Iterator[tuple[int, ...]]:
    fits = [[matches(one, other, deep) for other in originals] for one in released]
    for owners in permutations(range(len(originals))):
        if all(fits[i][owner] for i, owner in enumerate(owners)):
            yield owners


def candidates(
    released: Sequence[Sequence[Any]], originals: Sequence[Sequence[Any]], deep: Sequence[bool], known: int = 0
) -> list[set[int]]:
    found: list[set[int]] = [set() for _ in originals]
    for owners in correspondences(released, originals, deep):
        if all(owners[i] == i for i in range(known)):
            for i, owner in enumerate(owners):
                found[i].add(owner)
    return found


def stream_anonymous(
    released: Sequence[Sequence[Any]],
    originals: Sequence[Sequence[Any]],
    deep: Sequence[bool],
    k: int,
    people: Sequence[int] | None = None,
) -> bool:
    """The definition, prefix by prefix."""
    who = people or range(len(originals))
    for count in range(1, len(originals) + 1):
        part = released[:count]
        if all(cell == "*" for one in part for cell in one):
            continue
        for found in candidates(part, originals[:count], deep):
            if len({who[owner] for owner in found}) < k:
                return False
    return True


def least_loss(
    record: Sequence[Any],
    earlier: Sequence[tuple[Sequence[Any], Sequence[Any]]],
    deep: Sequence[bool],
    k: int,
    swap: bool,
    person: int = -1,
    people: Sequence[int] = (),
    secret: Any = None,
    secrets: Sequence[Any] = (),
    l: int = 1,  # noqa: E741
) -> float:
    """The least that can be lost: every pattern over the record is tried against all earlier (original, released)."""
    paths = [path(value, is_deep) for value, is_deep in zip(record, deep, strict=True)]
    best = float(len(record))
    for levels in product(*(range(len(one)) for one in paths)):
        pattern = [one[level] for one, level in zip(paths, levels, strict=True)]
        fits = [
            i
            for i, (original, released) in enumerate(earlier)
            if matches(pattern, original, deep) and (not swap or matches(released, record, deep))
        ]
        others = {people[i] for i in fits} - {person} if people else fits
        kinds = {secrets[i] for i in fits} | {secret} if secrets else {secret}
        if len(others) >= k - 1 and len(kinds) >= l:
            best = min(best, loss(pattern, record, deep))
    return best


def loss(released: Sequence[Any], record: Sequence[Any], deep: Sequence[bool]) -> float:
    """Each cell by the highest level that its label may stand for, in equal steps."""
    total = 0.0
    for cell, value, is_deep in zip(released, record, deep, strict=True):
        steps = path(value, is_deep)
        total += steps.index(cell) / (len(steps) - 1) if value is not None else 1.0
    return total
