"""Who joins a head: the group with the least loss per record, k to 2k − 1 of them (Yamayoshi et al., 4.2)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oboro.decide.neighbours.kernels.live_points import LivePoints, Metric, PointRows, apart, beyond, copy_row, squares
from oboro.decide.neighbours.kernels.nearest_search import Neighbours
from oboro.kernels import kernel

__all__ = ["GroupRules", "GroupScratch", "average", "commonest", "gather", "gather_diverse"]


class GroupRules(NamedTuple):
    """What is demanded of a group, and how it is looked for."""

    k: int
    grow: bool  # the next member is nearest to the centre of those so far, not to the head
    pool: int  # how many of the nearest are considered
    least: np.ndarray  # of each demand (a secret, a person): how many different values
    candidates: int  # how many candidates a search by regions finds at least
    kind: int  # of index
    base: int  # parts an anchor cuts the data into
    exchange: bool  # members of a group are released in each other's places
    people: int  # the demand for different people; −1 if records are counted


class GroupScratch(NamedTuple):
    """What a decision is worked out on; nothing here is remembered."""

    best: Neighbours  # neighbours of the head
    nearest: Neighbours  # the nearest published centroid
    order: np.ndarray  # the group's members
    values: np.ndarray  # what they have of one number, in order
    used: np.ndarray  # which of the neighbours are members
    different: np.ndarray  # of each demand: how many different values the group has
    centre: PointRows  # of the group


@kernel(inner=True, bare=True)
def _different(demands: np.ndarray, order: np.ndarray, size: int, slot: int, which: int) -> bool:
    """Whether a record's value is not among those of the first members; a missing one (−1) is not different from anything."""
    if demands[slot, which] < 0:
        return False
    for i in range(size):  # noqa: SIM110  (numba has no all() over a generator)
        if demands[order[i], which] == demands[slot, which]:
            return False
    return True


@kernel(inner=True, bare=True)
def different_among(demands: np.ndarray, order: np.ndarray, size: int, which: int) -> int:
    """How many different values the first members have; missing ones do not count."""
    found = 0
    for i in range(size):
        found += _different(demands, order, i, order[i], which)
    return found


@kernel(inner=True, bare=True)
def commonest(traits: np.ndarray, order: np.ndarray, size: int, m: int) -> tuple[int, int]:
    """What most of the first members have of a category, of equally many the smallest; and how many have it."""
    best, most = traits[order[0], m], 0
    for i in range(size):
        code, same = traits[order[i], m], 0
        for j in range(size):
            same += traits[order[j], m] == code
        if same > most or (same == most and code < best):
            best, most = code, same
    return best, most


@kernel(inner=True, bare=True)
def _settle(metric: Metric, at: PointRows, order: np.ndarray, size: int, centre: PointRows) -> float:
    """Categories and gaps of the centre: what most members have, of equally many the smallest; and what that costs."""
    cost, traits, holes, lacking = 0.0, at.traits, at.holes, at.lacking
    for m in range(traits.shape[1]):
        centre.traits[0, m], most = commonest(traits, order, size, m)
        cost += metric.weights[m] * (size - most)
    missing = 0
    for i in range(size):
        missing += holes[order[i]]
    centre.holes[0] = 0
    if missing == 0:
        centre.lacking[0, :] = 0
        return cost
    for m in range(lacking.shape[1]):
        gone = 0
        for i in range(size):
            gone += lacking[order[i], m]
        centre.lacking[0, m] = 2 * gone >= size
        centre.holes[0] += centre.lacking[0, m]
        cost += metric.gaps[m] * min(gone, size - gone)
    return cost


@kernel(inner=True, bare=True)
def _next(
    rules: GroupRules, metric: Metric, at: PointRows, best: Neighbours, used: np.ndarray, size: int, centre: PointRows
) -> int:
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


@kernel(inner=True, bare=True)
def _join(at: PointRows, centre: PointRows, size: int, slot: int) -> float:
    """Move the centre of `size` members for one more; how much the sum of squares grows by that (exact, no cancellation)."""
    here, there = centre.points, at.points
    more = squares(here, 0, there, slot, np.inf) * size / (size + 1)
    for m in range(here.shape[1]):
        here[0, m] += (there[slot, m] - here[0, m]) / (size + 1)
    return more


@kernel(inner=True, bare=True)
def _count_different(demands: np.ndarray, scratch: GroupScratch, size: int, slot: int) -> None:
    for which in range(scratch.different.size):
        scratch.different[which] += _different(demands, scratch.order, size, slot, which)


@kernel(inner=True, bare=True)
def _begin(at: PointRows, demands: np.ndarray, q: int, scratch: GroupScratch) -> None:
    """A group of one."""
    copy_row(at.points, q, scratch.centre.points, 0)
    copy_row(at.traits, q, scratch.centre.traits, 0)
    copy_row(at.lacking, q, scratch.centre.lacking, 0)
    scratch.centre.holes[0] = at.holes[q]
    scratch.used[:] = False
    scratch.different[:] = 0
    scratch.order[0] = q
    _count_different(demands, scratch, 0, q)


@kernel(inner=True, bare=True)
def _lacks(rules: GroupRules, scratch: GroupScratch) -> int:
    """A demand that has too few different values; −1 if there is none."""
    for which in range(rules.least.size):
        if scratch.different[which] < rules.least[which]:
            return which
    return -1


@kernel(inner=True, bare=True)
def gather(
    rules: GroupRules,
    metric: Metric,
    at: PointRows,
    demands: np.ndarray,
    q: int,
    scratch: GroupScratch,
    waiting: int,
    ending: bool,
) -> tuple[int, float]:
    """The size of the best group around q and its loss per record; `scratch.order` holds its members. Size 0: there is none.

    `ending`: nobody new will come, so nobody of the `waiting` others may be left over alone.
    """
    _begin(at, demands, q, scratch)
    best, centre, order = scratch.best, scratch.centre, scratch.order
    total, chosen, least = 0.0, 0, np.inf
    for size in range(1, 2 * rules.k - 1):
        c = _next(rules, metric, at, best, scratch.used, size, centre)
        if c < 0:
            break
        scratch.used[c] = True
        slot = best.slots[c]
        _count_different(demands, scratch, size, slot)
        total += _join(at, centre, size, slot)
        order[size] = slot
        cost = _settle(metric, at, order, size + 1, centre) if rules.grow or size + 1 >= rules.k else 0.0
        left = waiting - size
        if size + 1 < rules.k or _lacks(rules, scratch) >= 0 or (ending and 0 < left < rules.k):
            continue
        if (total + cost) / (size + 1) < least:
            chosen, least = size + 1, (total + cost) / (size + 1)
    return chosen, least


@kernel(inner=True, bare=True)
def gather_diverse(
    rules: GroupRules, metric: Metric, live: LivePoints, demands: np.ndarray, q: int, scratch: GroupScratch
) -> tuple[int, float]:
    """As `gather`, where the nearest are too much alike: first whoever is nearest and different, then whoever is nearest.

    O(k · slots · d); asked only where `gather` found nothing.
    """
    _begin(live.at, demands, q, scratch)
    at, centre, order = live.at, scratch.centre, scratch.order
    size, total, cost = 1, 0.0, 0.0
    while size < order.size:
        lacking = _lacks(rules, scratch)
        if lacking < 0 and size >= rules.k:
            break
        chosen = _nearest_different(metric, live, demands, q, order, size, lacking)
        if chosen < 0:
            return 0, np.inf
        _count_different(demands, scratch, size, chosen)
        total += _join(at, centre, size, chosen)
        order[size] = chosen
        size += 1
        cost = _settle(metric, at, order, size, centre)
    if size < rules.k or _lacks(rules, scratch) >= 0:
        return 0, np.inf
    return size, (total + cost) / size


@kernel(inner=True, bare=True)
def _nearest_different(
    metric: Metric, live: LivePoints, demands: np.ndarray, q: int, order: np.ndarray, size: int, lacking: int
) -> int:
    """Who is nearest to q of those who are no members and, if a demand is `lacking`, differ in it; −1 if nobody."""
    alive, number, chosen, least = live.alive, live.number, -1, np.inf
    for slot in range(alive.size):
        if not alive[slot]:
            continue
        member = False
        for i in range(size):
            member |= order[i] == slot
        if member or (lacking >= 0 and not _different(demands, order, size, slot, lacking)):
            continue
        distance = apart(metric, live.at, q, live.at, slot)
        if distance < least or (distance == least and chosen >= 0 and number[slot] < number[chosen]):
            chosen, least = slot, distance
    return chosen


@kernel(inner=True, bare=True)
def average(
    raw: np.ndarray,
    lacking: np.ndarray,
    order: np.ndarray,
    size: int,
    values: np.ndarray,
    out: np.ndarray,
    gone: np.ndarray,
    slot: int,
) -> None:
    """The mean of what members have of each number; missing, where no more than half of them have it.

    Added from the smallest to the largest: in the order of the members the last bits of the sum would tell who was first.
    Each loop does many numbers at once; one number after the other took fifteen times as long.
    """
    total, lost, there = values.shape[0] - 3, values.shape[0] - 2, values.shape[0] - 1
    _in_order(raw, lacking, order, size, values, there)
    _add(values, size, total, lost, there)
    for m in range(raw.shape[1]):
        present = int(values[there, m])
        gone[slot, m] = 2 * present <= size
        mean = (values[total, m] + values[lost, m]) / max(present, 1)
        out[slot, m] = min(max(mean, values[0, m]), values[present - 1, m]) if 2 * present > size else np.nan


@kernel(inner=True, bare=True)
def _in_order(
    raw: np.ndarray, lacking: np.ndarray, order: np.ndarray, size: int, values: np.ndarray, there: int
) -> None:
    """The members' values of each number, the smallest first and missing ones last; row `there` says how many there are."""
    for m in range(raw.shape[1]):
        values[there, m] = 0.0
    for i in range(size):
        one = order[i]
        for m in range(raw.shape[1]):
            values[i, m] = np.inf if lacking[one, m] else raw[one, m]
            values[there, m] += 0.0 if lacking[one, m] else 1.0
    for last in range(size - 1, 0, -1):
        for i in range(last):
            for m in range(raw.shape[1]):
                a, b = values[i, m], values[i + 1, m]
                values[i, m] = b if a > b else a
                values[i + 1, m] = a if a > b else b


@kernel(inner=True, bare=True)
def _add(values: np.ndarray, size: int, total: int, lost: int, there: int) -> None:
    """Sums of the rows, with what rounding loses on the way: numbers that cancel leave their digits (Neumaier 1974)."""
    for m in range(values.shape[1]):
        values[total, m] = values[lost, m] = 0.0
    for i in range(size):
        for m in range(values.shape[1]):
            before = values[total, m]
            one = values[i, m] if i < values[there, m] else 0.0
            after = before + one
            values[lost, m] += (before - after) + one if abs(before) >= abs(one) else (one - after) + before
            values[total, m] = after
