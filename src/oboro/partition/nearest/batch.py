"""Exact candidates for many heads at once, by matrix products in single precision.

Heads are in the window long before their turn. One product of their points with those of everybody gives all distances, good
to about six digits; of these each head keeps a list, and a bound: who is not in the list is certainly farther than that. When
its turn comes, the list is measured in double precision together with whoever came later. If the bound does not settle it (too
many of the list have left), that head is searched the long way. So the result is always the same as measuring everybody.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise

import numpy as np
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from oboro.kernels.live import Live, Metric
from oboro.kernels.nearby import shortlist

__all__ = ["shortlists"]

TILE = 4096  # points at a time: the products of 128 heads stay in the cache (2 MB)
UNIT = 2.0**-24  # the rounding of single precision
TINY = 200_000  # multiplications that a product does on one core anyway
SMALL = 2_000_000  # multiplications that are not worth a second thread
LARGE = 1e15  # norms beyond which single precision would overflow


def shortlists(
    live: Live, points: np.ndarray, traits: np.ndarray, metric: Metric, wanted: int
) -> tuple[np.ndarray, np.ndarray]:
    """For each head its `wanted` nearest candidates (slots, −1 where there are fewer) and the bound for all others.

    O(heads · slots · d) multiplications on all cores; memory heads · 4096 single numbers.
    """
    heads, width = points.shape
    moved = points - live.shift
    kept, slots = np.empty((heads, 2 * wanted)), np.full((heads, 2 * wanted), -1, dtype=np.int64)
    fill, limit = np.zeros(heads, dtype=np.int64), np.full(heads, np.inf)

    def some(part: slice) -> None:
        mine = kept[part], slots[part], fill[part], limit[part]
        with np.errstate(all="ignore"):  # whoever is too far for single precision is not in a list; the bound says so
            query = np.concatenate([moved[part], np.ones((len(moved[part]), 1))], axis=1).astype(np.float32)
            for start in range(0, len(live.wide), TILE):
                scores = query @ live.wide[start : start + TILE].T
                shortlist(scores, start, traits[part], live.at.traits, metric.weights, *mine)

    _shared(some, heads, heads * len(live.wide) * width)
    slots[np.arange(2 * wanted) >= fill[:, None]] = -1
    return slots, _bounds(live, (moved**2).sum(axis=1), limit, width)


def _shared(some: Callable[[slice], None], heads: int, work: int) -> None:
    """Give each core its share of the heads, and each product one core.

    A product on all cores followed by a loop on all cores took more than twice as long as one core alone: idle threads of the one
    keep the cores from the other.
    """
    if work < TINY:
        some(slice(0, heads))
        return
    cores = min(len(os.sched_getaffinity(0)), heads) if work > SMALL else 1
    edges = np.linspace(0, heads, cores + 1).astype(int).tolist()
    with _blas().limit(limits=1, user_api="blas"):
        if cores == 1:
            some(slice(0, heads))
        else:
            list(_pool(cores).map(some, [slice(low, high) for low, high in pairwise(edges)]))


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


@cache
def _pool(cores: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(cores, thread_name_prefix="oboro-nearest")


os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not follow into a child


def _bounds(live: Live, norms: np.ndarray, limit: np.ndarray, width: int) -> np.ndarray:
    """What everybody outside a list is at least away: the largest score kept, less all that rounding can have done."""
    last = live.wide[:, -1]
    far = float(np.sqrt(np.max(last, where=np.isfinite(last), initial=0.0)))
    most = far + float(np.sqrt(norms.max(initial=0.0)))
    if not most < LARGE:
        return np.full(limit.size, -np.inf)  # nothing is certain: search the long way
    rounding = 4 * (width + 8) * UNIT * (far * far + 2 * np.sqrt(norms) * far)
    return np.where(np.isinf(limit), np.inf, limit + norms - rounding)
