"""Lists of the smallest scores: from the products of many heads with everybody to candidates with certain distances."""

from __future__ import annotations

import numpy as np

from oboro.kernels import kernel

__all__ = ["BLOCK", "ranked", "shortlist"]

BLOCK = 16  # records whose smallest score is looked at first
TURNS = 8  # halvings of where a first limit may be: lists then hold a twentieth more than is wanted
LARGE = 1e15  # norms beyond which single precision could overflow
TINY = 1e-30  # more than what is lost where single precision underflows


@kernel()
def shortlist(
    scores: np.ndarray,
    start: int,
    query: np.ndarray,
    traits: np.ndarray,
    owner: np.ndarray,
    weights: np.ndarray,
    lowest: np.ndarray,
    kept: np.ndarray,
    rows: np.ndarray,
    fill: np.ndarray,
    limit: np.ndarray,
) -> None:
    """Go on collecting the smallest scores of each head: `scores[i, head]` belongs to row `start + i`.

    `kept` and `rows` have room for twice as many as are wanted; whoever is left out has a score of at least `limit`. First
    the smallest score of every block of rows is found, for many heads at once; hardly any block is looked at closely. That
    takes half the time of doing the same head by head.
    """
    _lowest(scores, lowest)
    if start == 0 and traits.shape[1] == 0:
        _first_limits(lowest, kept.shape[1] // 2, limit)
    for block in range(lowest.shape[0]):
        some, least, first = scores[block * BLOCK : (block + 1) * BLOCK], lowest[block], start + block * BLOCK
        for b in range(least.size):
            top = limit[b]
            if least[b] < top:
                for i in range(some.shape[0]):
                    if some[i, b] < top:
                        top = _keep(some[i, b], first + i, b, query, traits, owner, weights, kept, rows, fill, limit)


@kernel(inner=True, bare=True)
def _keep(
    single: float,
    row: int,
    b: int,
    query: np.ndarray,
    traits: np.ndarray,
    owner: np.ndarray,
    weights: np.ndarray,
    kept: np.ndarray,
    rows: np.ndarray,
    fill: np.ndarray,
    limit: np.ndarray,
) -> float:
    """Keep one score if it is below the limit; where there is no more room, half of them stay and the limit sinks to this."""
    score = np.float64(single)
    for m in range(traits.shape[1]):
        if query[b, m] != traits[owner[row], m]:
            score += weights[m]
    if not score < limit[b]:
        return limit[b]
    n, room = fill[b], kept.shape[1]
    kept[b, n], rows[b, n] = score, row
    fill[b] = n + 1
    if n + 1 == room:
        _smallest(kept, rows, b, room, room // 2)
        fill[b] = room // 2
        top = kept[b, 0]
        for i in range(1, room // 2):
            top = max(top, kept[b, i])
        limit[b] = np.float32(top)
    return limit[b]


@kernel(inner=True, bare=True)
def _lowest(scores: np.ndarray, lowest: np.ndarray) -> None:
    """The smallest of every block of rows; written so that it is done for many heads at once."""
    for block in range(lowest.shape[0]):
        for b in range(lowest.shape[1]):
            lowest[block, b] = np.inf
        for i in range(block * BLOCK, min((block + 1) * BLOCK, scores.shape[0])):
            for b in range(lowest.shape[1]):
                lowest[block, b] = scores[i, b] if scores[i, b] < lowest[block, b] else lowest[block, b]


@kernel(inner=True)
def _first_limits(lowest: np.ndarray, wanted: int, limit: np.ndarray) -> None:
    """A limit below which so many blocks have someone, found by halving for many heads at once; none where that finds none."""
    heads = lowest.shape[1]
    low, high = lowest[0].copy(), lowest[0].copy()
    middle, count = np.empty(heads, dtype=np.float32), np.empty(heads, dtype=np.int32)
    for block in range(1, lowest.shape[0]):
        for b in range(heads):
            one = lowest[block, b]
            low[b] = one if one < low[b] else low[b]
            high[b] = one if one > high[b] else high[b]
    for _ in range(TURNS):
        for b in range(heads):
            middle[b], count[b] = np.float32(0.5) * (low[b] + high[b]), 0
        for block in range(lowest.shape[0]):
            for b in range(heads):
                count[b] += np.int32(1) if lowest[block, b] < middle[b] else np.int32(0)
        for b in range(heads):
            if count[b] >= wanted:
                high[b] = limit[b] = middle[b]
            else:
                low[b] = middle[b]


@kernel(bare=True)
def ranked(
    owner: np.ndarray,
    everybody: int,
    norms: np.ndarray,
    rounding: float,
    least: np.ndarray,
    slots: np.ndarray,
    fill: np.ndarray,
    limit: np.ndarray,
    bound: np.ndarray,
) -> None:
    """Make lists of what was collected: nearest first, slots instead of rows, distances that are certain instead of scores.

    `norms` are the squared norms of the heads. A list that has no limit, and not everybody, promises nothing.
    """
    for b in range(slots.shape[0]):
        n = fill[b]
        _sort(least, slots, b, n)
        for c in range(n):
            least[b, c] = _certain(least[b, c], norms[b], rounding)
            slots[b, c] = owner[slots[b, c]]
        slots[b, n:] = -1
        if limit[b] < np.inf:
            bound[b] = _certain(np.float64(limit[b]), norms[b], rounding)
        else:
            bound[b] = np.inf if n == everybody else -np.inf


@kernel(inner=True, bare=True)
def _certain(score: float, norm: float, rounding: float) -> float:
    """What a record with this score, or a greater one, is away at least (squared) from a head with this norm.

    A record x has |x| ≤ R = |q| + √(score + |q|²), and then the score is wrong by at most `rounding` · (R² + 2 |q| R); or it is
    outside of R, and then farther away than the score says. So whoever is far away spoils nobody else's bound.
    """
    own = np.sqrt(norm)
    reach = own + np.sqrt(max(score + norm, 0.0))
    if not reach < LARGE:
        return -np.inf
    return score + norm - rounding * (reach * reach + 2 * own * reach) - TINY


@kernel(inner=True, bare=True)
def _sort(kept: np.ndarray, slots: np.ndarray, b: int, n: int) -> None:
    """By insertion: a few dozen."""
    for i in range(1, n):
        score, slot, at = kept[b, i], slots[b, i], i
        while at > 0 and kept[b, at - 1] > score:
            kept[b, at], slots[b, at] = kept[b, at - 1], slots[b, at - 1]
            at -= 1
        kept[b, at], slots[b, at] = score, slot


@kernel(inner=True, bare=True)
def _smallest(kept: np.ndarray, slots: np.ndarray, b: int, n: int, wanted: int) -> None:
    """Bring the `wanted` smallest of a row to its front, in no order."""
    low, high = 0, n - 1
    while low < high:
        pivot = kept[b, (low + high) // 2]
        i, j = low, high
        while i <= j:
            while kept[b, i] < pivot:
                i += 1
            while kept[b, j] > pivot:
                j -= 1
            if i <= j:
                kept[b, i], kept[b, j] = kept[b, j], kept[b, i]
                slots[b, i], slots[b, j] = slots[b, j], slots[b, i]
                i += 1
                j -= 1
        if wanted - 1 <= j:
            high = j
        elif wanted - 1 >= i:
            low = i
        else:
            return
