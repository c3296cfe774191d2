"""A live set of records that can be searched while records come and go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from oboro.decide.neighbours.kernels.live_points import LivePoints, Metric, put, take_out
from oboro.decide.neighbours.kernels.nearest_search import CandidateLists, by_list, by_region, everywhere
from oboro.decide.neighbours.search_plan import Kind, SearchPlan, anchors_of, empty, no_lists, no_neighbours
from oboro.decide.neighbours.shortlists import shortlists
from oboro.errors import UsageError
from oboro.text import Message

__all__ = ["LiveIndex"]


class LiveIndex:
    """Points with numbers, found by their distance; at most `room` at a time.

    `sample` is what anchors and radii are learned from (`fdh`, `fdhq`). Given: finite numbers. Promises: `exhaustive` and `auto`
    return the nearest, equal ones by age; the others the nearest of the record's own region in each set, or of more regions
    where those hold fewer than `least`. Checked by: tests/decide/test_neighbours.py, against plain loops.

    >>> index = LiveIndex([[0.0], [5.0], [6.0]], "exhaustive", room=4)
    >>> first, second, third = index.add([[0.0], [5.0], [6.0]])
    >>> index.query([5.4], 2)
    [(1, 0.1600...), (2, 0.359...)]
    >>> index.remove(second)
    >>> [number for number, _ in index.query([5.4], 2)]
    [2, 0]
    """

    def __init__(
        self, sample: Any, kind: Kind = "auto", *, room: int, seed: int = 0, least: int = 1, **options: Any
    ) -> None:
        points = np.asarray(sample, dtype=np.float64)
        self.plan = SearchPlan.of(kind, window=room, **options)
        self.anchors = anchors_of(points, self.plan, np.random.default_rng(seed))
        self.metric = Metric(np.zeros(0), np.zeros(points.shape[1]))
        self.live = empty(room, points.shape[1], 0, self.plan)
        if len(points):
            self.live.shift[:] = points.mean(axis=0)
        self.least = least
        self._free = list(range(room))[::-1]
        self._slots: dict[int, int] = {}
        self._added = self._queries = 0

    def __len__(self) -> int:
        return len(self._slots)

    def add(self, points: Any) -> list[int]:
        """Let points be found; their numbers, counted from 0 in the order of coming."""
        rows = np.asarray(points, dtype=np.float64)
        if len(rows) > len(self._free):
            raise UsageError(Message("error_decide.room", free=len(self._free), points=len(rows)))
        numbers = list(range(self._added, self._added + len(rows)))
        for number, row in zip(numbers, rows, strict=True):
            slot = self._slots[number] = self._free.pop()
            self.live.at.points[slot] = row
            self.live.number[slot] = number
            put(self.live, self.anchors, slot)
        self._added += len(rows)
        return numbers

    def remove(self, number: int) -> None:
        """Let a point be found no more."""
        slot = self._slots.pop(number)
        take_out(self.live, slot)
        self._free.append(slot)

    def key(self, number: int) -> list[int]:
        """The region of a point in every set of anchors."""
        keys: list[int] = self.live.keys[self._slots[number]].tolist()
        return keys

    def query(self, point: Sequence[float], count: int) -> list[tuple[int, float]]:
        """The nearest points (number, squared distance), nearest first; as many as asked for, if there are as many."""
        return self.query_many(np.asarray(point, dtype=np.float64)[None, :], count)[0]

    def query_many(self, points: Any, count: int) -> list[list[tuple[int, float]]]:
        """As `query`, for many at once; with `auto` they share their matrix products."""
        rows = np.asarray(points, dtype=np.float64)
        asking = empty(len(rows), rows.shape[1], 0, self.plan)
        asking.at.points[:] = rows
        lists = None
        if self.plan.kind == "auto":
            (found,) = shortlists([(self.live, 2 * count)], rows, asking.at.traits, self.metric)
            lists = no_lists(0, len(rows), 0, 0, 0)
            lists = lists._replace(**found._asdict(), row=np.arange(len(rows)), since=np.array([self._added]))
        return [self._one(asking, i, count, lists) for i in range(len(rows))]

    def _one(self, asking: LivePoints, i: int, count: int, lists: CandidateLists | None) -> list[tuple[int, float]]:
        best = no_neighbours(count)
        live, metric = self.live, self.metric
        self._queries += 1
        if self.plan.sets:
            put(asking, self.anchors, i)
            by_region(live, metric, asking.at, i, asking.keys, self.plan.base, self.least, self._queries, np.inf, best)
        elif lists is None or not by_list(live, metric, asking.at, i, i, lists, self._added, np.inf, best):
            everywhere(live, metric, asking.at, i, np.inf, best)
        found = int(best.count[0])
        return list(zip(live.number[best.slots[:found]].tolist(), best.distances[:found].tolist(), strict=True))
