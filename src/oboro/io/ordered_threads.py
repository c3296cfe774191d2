"""Work that goes on in other threads while this one waits for it in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

__all__ = ["ahead", "in_order"]

A = TypeVar("A")
B = TypeVar("B")

WAITING = 4  # results that may wait for their turn


def in_order(pool: ThreadPoolExecutor, tasks: Iterable[A], act: Callable[[A], B]) -> Iterator[B]:
    """The results in order, with a few pieces of work always under way and never more than a few waiting."""
    waiting: deque[Future[B]] = deque()
    for task in tasks:
        waiting.append(pool.submit(act, task))
        if len(waiting) > WAITING:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def ahead(items: Iterable[A]) -> Iterator[A]:
    """The same items, the next one being made while this one is used."""
    source, end = iter(items), object()
    with ThreadPoolExecutor(1) as pool:
        coming: Future[A | object] = pool.submit(next, source, end)
        while (item := coming.result()) is not end:
            coming = pool.submit(next, source, end)
            yield item  # type: ignore[misc]
