"""Exact candidates for many heads at once, by matrix products in single precision.

Heads are in the window long before their turn. One product of their points with those of everybody gives all distances, good
to about six digits; of these each head keeps a list, and a bound: who is not in the list is certainly farther than that. When
its turn comes, the list is measured in double precision together with whoever came later. If the bound does not settle it (too
many of the list have left), that head is searched the long way. So the result is always the same as measuring everybody.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from threading import local
from typing import NamedTuple

import numpy as np
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from oboro.decide.neighbours.kernels.live_points import LivePoints, Metric
from oboro.decide.neighbours.kernels.nearest_search import UNIT, CandidateLists
from oboro.decide.neighbours.kernels.score_lists import BLOCK, ranked, shortlist
from oboro.system.process import cores, in_every_child

__all__ = ["note", "shortlists"]

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
    """For each set of records (and how many are wanted of it) the lists of all heads.

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
    """Write the lists of heads with these norms over older ones; from now on whoever comes and may be near is noticed."""
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
