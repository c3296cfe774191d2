"""Index for nearest-neighbour search: a live set of points, its method (FDH, FDHQ, exhaustive) and its parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from threading import local
from typing import Any, Literal, NamedTuple

import numpy as np
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from oboro.algorithms.neighbours.kernels import (
    BLOCK,
    UNIT,
    Anchors,
    CandidateLists,
    LivePoints,
    Metric,
    Neighbours,
    PointRows,
    by_list,
    by_region,
    everywhere,
    put,
    ranked,
    shortlist,
    take_out,
)
from oboro.errors import UsageError
from oboro.system.process import cores, in_every_child
from oboro.text import Message

__all__ = [
    "Kind",
    "LiveIndex",
    "SearchPlan",
    "anchors_of",
    "empty",
    "no_anchors",
    "no_lists",
    "no_neighbours",
    "note",
    "places",
    "shortlists",
]


Kind = Literal["auto", "exhaustive", "fdh", "fdhq"]
# Points among which anchors are spread out. The paper does not say how many; the fewer, the less the anchors are spread. Largest
# region of FDH over the paper's (1M points, median of nine draws): 30 points 1.18, 100 points 0.94, 1,000 points 0.68. For
# FDHQ it makes no difference. docs/benchmarks.md has the table.
SPREAD = 100
MEASURED = 10_000  # points that radii are measured on
MOST_REGIONS = 1 << 20


@dataclass(frozen=True)
class SearchPlan:
    """Method of a nearest-neighbour search and its parameters, checked.

    - `exhaustive`: every record is measured.
    - `fdh`: each anchor's radius halves the data, so `anchors` of them cut it into 2^anchors regions (Yiu et al.).
    - `fdhq`: each anchor has three radii, 4^anchors regions (Yamayoshi et al.); `split` says how they part the data, and
      may have any number of parts.
    - `auto`: exact like `exhaustive`, by matrix products for `batch` heads at once.

    With `sets` > 1 (MA-) a search looks into the record's own region of each set. `least` is 2pk: with fewer candidates
    neighbouring regions are searched too.

    >>> SearchPlan.of("fdhq", window=10_000).regions
    1024
    >>> SearchPlan.of("fdh", anchors=12).regions
    4096
    """

    kind: Kind
    anchors: int
    sets: int
    split: tuple[float, ...]
    batch: int

    @staticmethod
    def of(
        kind: Kind,
        *,
        anchors: int | None = None,
        sets: int | None = None,
        split: Sequence[float] | None = None,
        batch: int | None = None,
        window: int = 10_000,
    ) -> SearchPlan:
        """Fill in what is not said: about ten records a region, 100 sets, quarters, 128 heads at once."""
        regions = kind in ("fdh", "fdhq")
        for name, value, fits in (
            ("anchors", anchors, regions),
            ("sets", sets, regions),
            ("split", split, kind == "fdhq"),
            ("batch", batch, kind == "auto"),
        ):
            if value is not None and not fits:
                raise UsageError(Message("error_decide.idle_option", name=name, kind=kind))
        parts = tuple(split or (25, 25, 25, 25)) if kind == "fdhq" else (50.0, 50.0)
        if len(parts) < 2 or min(parts) <= 0 or not math.isfinite(sum(parts)):
            raise UsageError(Message("error_decide.split", parts=str(list(parts))))
        each = anchors or max(1, round(math.log(max(window / 10, 2), len(parts))))
        if regions and len(parts) ** each > MOST_REGIONS:
            raise UsageError(Message("error_decide.anchors", each=each, parts=len(parts), most=MOST_REGIONS))
        return SearchPlan(kind, each if regions else 0, (sets or 100) if regions else 0, parts, batch or 128)

    @property
    def base(self) -> int:
        """Parts an anchor cuts the data into."""
        return len(self.split)

    @property
    def regions(self) -> int:
        """Regions of one set of anchors."""
        return self.base**self.anchors if self.anchors else 0

    @property
    def cuts(self) -> np.ndarray:
        """The shares of the data within each radius."""
        cuts: np.ndarray = np.cumsum(self.split)[:-1] / sum(self.split)
        return cuts


def anchors_of(points: np.ndarray, plan: SearchPlan, rng: np.random.Generator) -> Anchors:
    """Choose anchors that are spread out among the points, and the radii that part the points as planned.

    For each set: a random sample of 100 points, one of them at random, then again and again the one that is farthest
    from all anchors so far (farthest-first traversal). Radii are quantiles of the distances of up to 10,000 points: the
    ⌈cn⌉-th distance, or the mean of the cn-th and the next where cn is whole. O(s · A · sample · d).
    """
    if plan.sets == 0 or len(points) == 0:
        return no_anchors(points.shape[1])
    measured = _sample(points, MEASURED, rng)
    norms = (measured**2).sum(axis=1)
    chosen = [_spread(_sample(points, SPREAD, rng), plan.anchors, rng) for _ in range(plan.sets)]
    radii = np.concatenate([_radii(measured, norms, some, plan.cuts) for some in chosen], axis=1)
    places = np.ascontiguousarray(np.concatenate(chosen).T)
    return Anchors(places, radii, plan.sets, plan.anchors, np.empty(places.shape[1]))


def no_anchors(width: int) -> Anchors:
    """For searches that need none."""
    return Anchors(np.empty((width, 0)), np.empty((1, 0)), 0, 0, np.empty(0))


def _sample(points: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    return points[rng.permutation(len(points))[:most]]


def _spread(points: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Farthest first; of equally far ones the first."""
    chosen = [int(rng.integers(len(points)))]
    distance = ((points - points[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < count:
        chosen.append(int(distance.argmax()))
        distance = np.minimum(distance, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
    return points[chosen]


def _radii(points: np.ndarray, norms: np.ndarray, anchors: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    squared = norms[:, None] - 2 * points @ anchors.T + (anchors**2).sum(axis=1)
    distances = np.sqrt(np.maximum(squared, 0))
    radii: np.ndarray = np.quantile(distances, cuts, axis=0, method="averaged_inverted_cdf")
    return radii


def empty(slots: int, width: int, traits: int, plan: SearchPlan) -> LivePoints:
    """Allocate an empty live set. About (40 + 9d + 4c) bytes a slot, and 12 s for regions or 4d + 20 for `auto`."""
    rows = slots if plan.kind == "auto" else 0
    return LivePoints(
        at=places(slots, width, traits),
        alive=np.zeros(slots, dtype=np.uint8),
        number=np.full(slots, -1, dtype=np.int64),
        keys=np.zeros((slots, plan.sets), dtype=np.int32),
        first=np.full((plan.sets, plan.regions), -1, dtype=np.int32),
        after=np.full((slots, plan.sets), -1, dtype=np.int32),
        before=np.full((slots, plan.sets), -1, dtype=np.int32),
        stamp=np.zeros(slots, dtype=np.int64),
        some=np.zeros(slots, dtype=np.int64),
        shift=np.zeros(width),
        wide=np.zeros((rows, width + 1), dtype=np.float32),
        owner=np.zeros(rows, dtype=np.int64),
        row=np.zeros(rows, dtype=np.int64),
        rows=np.zeros(1, dtype=np.int64),
    )


def places(slots: int, width: int, traits: int) -> PointRows:
    """Room for points and categories."""
    return PointRows(
        np.zeros((slots, width)),
        np.zeros((slots, traits), dtype=np.int32),
        np.zeros((slots, width), dtype=np.uint8),
        np.zeros(slots, dtype=np.int32),
    )


def no_neighbours(most: int) -> Neighbours:
    """Room for so many neighbours."""
    return Neighbours(np.empty(most, dtype=np.int64), np.empty(most), np.zeros(2, dtype=np.int64))


def no_lists(slots: int, heads: int, room: int, width: int, late: int) -> CandidateLists:
    """Room for the lists of so many heads, and for `late` records that come later; with none they are not written down."""
    return CandidateLists(
        row=np.full(slots, -1, dtype=np.int64),
        slots=np.full((heads, room), -1, dtype=np.int64),
        least=np.zeros((heads, room)),
        bound=np.zeros(heads),
        since=np.zeros(1, dtype=np.int64),
        places=np.zeros((width, heads), dtype=np.float32),
        reach=np.zeros(heads),
        late=np.zeros((heads, late), dtype=np.int64),
        lates=np.full(heads, late + 1, dtype=np.int64),
        turn=np.zeros(2, dtype=np.int64),
        apart=np.zeros(heads, dtype=np.float32),
    )


# Candidate lists ------------------------------------------------------------------------------------------------------
# Exact candidates for many heads at once, by matrix products in single precision.
#
# Heads are in the window long before their turn. One product of their points with those of all records gives all
# distances, good to about six digits; of these each head keeps a list, and a bound: a record outside the list is
# certainly farther than that. At a head's turn, the list is measured in double precision together with the records that
# came later. If the bound does not settle it (too many of the list have left), that head is searched without the list.
# So the result is always the same as measuring all records.


TILE = 8192  # points at a time: the products of 64 heads are 2 MB
TINY = 200_000  # multiplications that a product does on one core anyway
SMALL = (
    20_000_000  # multiplications that are not worth a second thread: waking it takes a tenth of a millisecond or more
)


class Shortlists(NamedTuple):
    """For each head its nearest candidates, sorted."""

    slots: np.ndarray  # [head, candidate], −1 where there are fewer
    least: np.ndarray  # [head, candidate]: what it is away at least, squared
    bound: np.ndarray  # [head]: the same for everybody who is not in its list


def shortlists(
    lives: Sequence[tuple[LivePoints, int]], points: np.ndarray, traits: np.ndarray, metric: Metric
) -> list[Shortlists]:
    """Compute the candidate lists of all heads, for each set of records and the number wanted of it.

    O(heads · records · d) multiplications on all cores; memory heads · 4096 single numbers.
    """
    heads, width = points.shape
    found = [
        Shortlists(np.empty((heads, 2 * wanted), dtype=np.int64), np.empty((heads, 2 * wanted)), np.empty(heads))
        for _, wanted in lives
    ]

    def some(part: slice) -> None:
        scores = _scores((part.stop - part.start) * (TILE + TILE // BLOCK))
        with np.errstate(all="ignore"):  # whoever is too far for single precision is not in a list; the bound says so
            for (live, _), lists in zip(lives, found, strict=True):
                _collect(live, points[part], traits[part], metric, scores, Shortlists(*(each[part] for each in lists)))

    _shared(some, heads, heads * sum(int(live.rows[0]) for live, _ in lives) * width)
    return found


def note(lists: CandidateLists, found: Shortlists, norms: np.ndarray) -> None:
    """Write the lists of heads with these norms over older ones; from now on a new record that may be near is noticed."""
    heads = len(norms)
    for old, new in zip((lists.slots, lists.least, lists.bound), found, strict=True):
        old[:heads] = new
    lists.reach[:heads] = np.sqrt(np.maximum(found.bound, 0.0)) + UNIT * norms
    lists.lates[:] = 0
    lists.turn[:] = 0, heads


class _Kept(local):
    """Room for scores that each thread keeps: megabytes of new memory for every batch took as long as measuring in them."""

    scores = np.empty(0, dtype=np.float32)


_kept = _Kept()


def _scores(size: int) -> np.ndarray:
    if _kept.scores.size < size:
        _kept.scores = np.empty(size, dtype=np.float32)
    return _kept.scores[:size]


def _collect(
    live: LivePoints, points: np.ndarray, traits: np.ndarray, metric: Metric, scores: np.ndarray, out: Shortlists
) -> None:
    heads, width = points.shape
    moved, rows = points - live.shift, live.wide[: live.rows[0]]
    query = np.ones((width + 1, heads), dtype=np.float32)
    query[:width] = moved.T
    fill, limit = np.zeros(heads, dtype=np.int64), np.full(heads, np.inf, dtype=np.float32)
    lowest = scores[TILE * heads :].reshape(-1, heads)
    for start in range(0, len(rows), TILE):
        tile = rows[start : start + TILE]
        here = np.matmul(tile, query, out=scores[: len(tile) * heads].reshape(len(tile), heads))
        blocks = lowest[: -(-len(tile) // BLOCK)]
        shortlist(
            here, start, traits, live.at.traits, live.owner, metric.weights, blocks, out.least, out.slots, fill, limit
        )
    norms = (moved**2).sum(axis=1)
    ranked(live.owner, len(rows), norms, 4 * (width + 8) * UNIT, out.least, out.slots, fill, limit, out.bound)


def _shared(some: Callable[[slice], None], heads: int, work: int) -> None:
    """Give each core its share of the heads, and each product one core.

    A product on all cores followed by a loop on all cores took more than twice as long as one core alone: idle threads of the one
    keep the cores from the other.
    """
    if work < TINY:
        some(slice(0, heads))
        return
    threads = min(cores(), heads) if work > SMALL else 1
    edges = np.linspace(0, heads, threads + 1).astype(int).tolist()
    first, *others = [slice(low, high) for low, high in pairwise(edges)]
    with _blas().limit(limits=1, user_api="blas"):
        waiting = [_pool(threads - 1).submit(some, part) for part in others]
        some(first)
        for each in waiting:
            each.result()


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


@cache
def _pool(cores: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(cores, thread_name_prefix="oboro-nearest")


in_every_child(_pool.cache_clear)  # threads do not follow into a child


# Live index -----------------------------------------------------------------------------------------------------------
# A live set of records that can be searched while records come and go.


class LiveIndex:
    """Index of numbered points, found by their distance; at most `room` at a time.

    `sample` is what anchors and radii are learned from (`fdh`, `fdhq`). Given: finite numbers. Promises: `exhaustive` and `auto`
    return the nearest, equal ones by age; the others the nearest of the record's own region in each set, or of more regions
    where those hold fewer than `least`. Checked by: tests/algorithms/test_neighbours.py, against plain loops.

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
        """Add points to the index and return their numbers, counted from 0 in the order of arrival."""
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
        """Remove a point from the index."""
        slot = self._slots.pop(number)
        take_out(self.live, slot)
        self._free.append(slot)

    def key(self, number: int) -> list[int]:
        """Return the region of a point in every set of anchors."""
        keys: list[int] = self.live.keys[self._slots[number]].tolist()
        return keys

    def query(self, point: Sequence[float], count: int) -> list[tuple[int, float]]:
        """Return the nearest points (number, squared distance), nearest first; as many as requested, if there are as
        many.
        """
        return self.query_many(np.asarray(point, dtype=np.float64)[None, :], count)[0]

    def query_many(self, points: Any, count: int) -> list[list[tuple[int, float]]]:
        """Query many points at once as `query` does; with `auto` they share their matrix products."""
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
