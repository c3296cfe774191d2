"""Who joins a head: the group with the least loss per record, k to 2k − 1 of them (Yamayoshi et al., 4.2)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oboro.kernels import kernel
from oboro.kernels.live import Live, Metric, Places, apart, beyond, squares
from oboro.kernels.nearby import Found

__all__ = ["Rules", "gather", "gather_diverse"]


class Rules(NamedTuple):
    """What is demanded of a group, and how it is looked for."""

    k: int
    grow: bool  # the next member is nearest to the centre of those so far, not to the head
    pool: int  # how many of the nearest are considered
    least: np.ndarray  # of each demand (a secret, a person): how many different values
    candidates: int  # how many candidates a search by regions finds at least
    kind: int  # of index
    base: int  # parts an anchor cuts the data into


@kernel(inner=True)
def _different(demands: np.ndarray, order: np.ndarray, size: int, slot: int, which: int) -> bool:
    """Whether a record's value is not among those of the first members."""
    for i in range(size):  # noqa: SIM110  (numba has no all() over a generator)
        if demands[order[i], which] == demands[slot, which]:
            return False
    return True


@kernel(inner=True)
def _settle(metric: Metric, at: Places, order: np.ndarray, size: int, centre: Places) -> float:
    """Categories and gaps of the centre: what most members have, of equally many the smallest; and what that costs."""
    cost = 0.0
    for m in range(at.traits.shape[1]):
        best, most = at.traits[order[0], m], 0
        for i in range(size):
            code, same = at.traits[order[i], m], 0
            for j in range(size):
                same += at.traits[order[j], m] == code
            if same > most or (same == most and code < best):
                best, most = code, same
        centre.traits[0, m] = best
        cost += metric.weights[m] * (size - most)
    missing = 0
    for i in range(size):
        missing += at.holes[order[i]]
    centre.holes[0] = 0
    if missing == 0:
        centre.lacking[0, :] = 0
        return cost
    for m in range(at.lacking.shape[1]):
        gone = 0
        for i in range(size):
            gone += at.lacking[order[i], m]
        centre.lacking[0, m] = 2 * gone >= size
        centre.holes[0] += centre.lacking[0, m]
        cost += metric.gaps[m] * min(gone, size - gone)
    return cost


@kernel(inner=True)
def _next(rules: Rules, metric: Metric, at: Places, best: Found, used: np.ndarray, size: int, centre: Places) -> int:
    """Which candidate comes next; −1 if there is none."""
    if not rules.grow:
        return size - 1 if size - 1 < best.count[0] else -1
    chosen, least = -1, np.inf
    slots, here, there = best.slots, centre.points, at.points
    mixed = at.traits.shape[1] > 0 or centre.holes[0] > 0
    holes = at.holes
    for c in range(best.count[0]):
        if used[c]:
            continue
        distance = squares(here, 0, there, slots[c], least)
        if distance < least and (mixed or holes[slots[c]] > 0):
            distance += beyond(metric, centre, 0, at, slots[c])
        if distance < least:
            chosen, least = c, distance
    return chosen


@kernel(inner=True)
def _join(at: Places, centre: Places, size: int, slot: int) -> float:
    """Move the centre of `size` members for one more; how much the sum of squares grows by that (exact, no cancellation)."""
    more = squares(centre.points, 0, at.points, slot, np.inf) * size / (size + 1)
    for m in range(centre.points.shape[1]):
        centre.points[0, m] += (at.points[slot, m] - centre.points[0, m]) / (size + 1)
    return more


@kernel(inner=True)
def _centre(live: Live, q: int) -> Places:
    width = live.at.points.shape[1]
    centre = Places(
        np.empty((1, width)),
        np.empty((1, live.at.traits.shape[1]), np.int32),
        np.zeros((1, width), np.uint8),
        np.zeros(1, np.int32),
    )
    centre.points[0, :] = live.at.points[q, :]
    centre.traits[0, :] = live.at.traits[q, :]
    centre.lacking[0, :] = live.at.lacking[q, :]
    centre.holes[0] = live.at.holes[q]
    return centre


@kernel(inner=True)
def gather(
    rules: Rules,
    metric: Metric,
    live: Live,
    demands: np.ndarray,
    q: int,
    best: Found,
    waiting: int,
    ending: bool,
    order: np.ndarray,
) -> tuple[int, float]:
    """The size of the best group around q and its loss per record; `order` holds its members. Size 0: there is none.

    `ending`: nobody new will come, so nobody of the `waiting` others may be left over alone.
    """
    centre = _centre(live, q)
    used = np.zeros(best.count[0], dtype=np.bool_)
    different = np.ones(rules.least.size, dtype=np.int64)
    order[0] = q
    total, chosen, least = 0.0, 0, np.inf
    for size in range(1, 2 * rules.k - 1):
        c = _next(rules, metric, live.at, best, used, size, centre)
        if c < 0:
            break
        used[c] = True
        slot = best.slots[c]
        for which in range(different.size):
            different[which] += _different(demands, order, size, slot, which)
        total += _join(live.at, centre, size, slot)
        order[size] = slot
        cost = _settle(metric, live.at, order, size + 1, centre) if rules.grow or size + 1 >= rules.k else 0.0
        left = waiting - size
        if size + 1 < rules.k or (different < rules.least).any() or (ending and 0 < left < rules.k):
            continue
        if (total + cost) / (size + 1) < least:
            chosen, least = size + 1, (total + cost) / (size + 1)
    return chosen, least


@kernel(inner=True)
def gather_diverse(
    rules: Rules, metric: Metric, live: Live, demands: np.ndarray, q: int, order: np.ndarray
) -> tuple[int, float]:
    """As `gather`, where the nearest are too much alike: first whoever is nearest and different, then whoever is nearest.

    O(k · slots · d); asked only where `gather` found nothing.
    """
    centre, size, total, cost = _centre(live, q), 1, 0.0, 0.0
    order[0] = q
    different = np.ones(rules.least.size, dtype=np.int64)
    while size < order.size:
        lacking = -1
        for which in range(different.size):
            if different[which] < rules.least[which]:
                lacking = which
        if lacking < 0 and size >= rules.k:
            break
        chosen, least = -1, np.inf
        for slot in range(live.alive.size):
            if not live.alive[slot] or (order[:size] == slot).any():
                continue
            if lacking >= 0 and not _different(demands, order, size, slot, lacking):
                continue
            distance = apart(metric, live.at, q, live.at, slot)
            if distance < least or (distance == least and chosen >= 0 and live.number[slot] < live.number[chosen]):
                chosen, least = slot, distance
        if chosen < 0:
            return 0, np.inf
        for which in range(different.size):
            different[which] += _different(demands, order, size, chosen, which)
        total += _join(live.at, centre, size, chosen)
        order[size] = chosen
        size += 1
        cost = _settle(metric, live.at, order, size, centre)
    if size < rules.k or (different < rules.least).any():
        return 0, np.inf
    return size, (total + cost) / size
