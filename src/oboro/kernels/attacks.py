"""What an attacker does with two tables: look for the nearest record, and count how many people fit a description.

Columns come in three kinds. `NUMBER`: a person has a place, a record a range from `low` to `high`; `SPAN`: the same for
ranks of categories, which are as far apart as any other; `FITS`: a person has a rank, a record an entry, and a table of
bytes says which fit. A missing number is NaN on both sides; a range from −∞ to ∞ is anything at all.
"""

from __future__ import annotations

import numba
import numpy as np

from oboro.kernels import kernel

__all__ = ["FITS", "NUMBER", "SPAN", "matches", "members", "nearest", "ordered"]

NUMBER, SPAN, FITS = 0, 1, 2
TIE = 1e-9  # sums of the same costs in another order differ by less


@kernel()
def _cost(kind: int, place: float, low: float, high: float) -> float:
    """Expected distance between a place and a uniform draw from a range, at most 1; 1 − 1/size for a set that fits."""
    if kind == NUMBER:
        if np.isnan(place) or np.isnan(low):
            return 0.0 if np.isnan(place) and np.isnan(low) else 1.0
        if low == -np.inf and high == np.inf:
            low, high = 0.0, 1.0
        low, high = max(low, -1.0), min(high, 2.0)
        if place <= low or place >= high:
            return min(1.0, abs(place - (low + high) / 2))
        return ((place - low) ** 2 + (high - place) ** 2) / (2 * (high - low))
    return 1.0 - 1.0 / (high - low + 1.0) if low <= place <= high else 1.0


@kernel(parallel=True)
def nearest(
    kinds: np.ndarray,
    places: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    entries: np.ndarray,
    fits: np.ndarray,
    offsets: np.ndarray,
    widths: np.ndarray,
    sizes: np.ndarray,
    own: np.ndarray,
    keys: np.ndarray,
    out: np.ndarray,
) -> None:
    """For each person (row of `places`) the nearest class of records; of several, one by chance, weighted by size.

    One record of class `own[t]` is left out for person t (−1: none). `out` gets −1 where nothing is left.
    O(people · classes · columns).
    """
    for t in numba.prange(places.shape[0]):
        best, total, chosen, state = np.inf, 0.0, -1, keys[t]
        for c in range(low.shape[0]):
            size = sizes[c] - (1 if own[t] == c else 0)
            if size <= 0:
                continue
            distance = 0.0
            for j in range(kinds.size):
                if kinds[j] == FITS:
                    rank = int(places[t, j])
                    one = fits[offsets[j] + rank * widths[j] + entries[c, j]]
                    distance += 1.0 - low[c, j] if one else 1.0
                else:
                    distance += _cost(kinds[j], places[t, j], low[c, j], high[c, j])
                if distance > best + TIE:
                    break
            if distance > best + TIE:
                continue
            if distance < best - TIE:
                best, total, chosen = distance, 0.0, -1
            total += size
            state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
            drawn = np.float64(state >> np.uint64(11)) / 9007199254740992.0
            if chosen < 0 or drawn * total < size:
                chosen = c
        out[t] = chosen


@kernel(parallel=True)
def matches(
    kinds: np.ndarray,
    codes: np.ndarray,
    places: np.ndarray,
    starts: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    entries: np.ndarray,
    used: np.ndarray,
    fits: np.ndarray,
    offsets: np.ndarray,
    widths: np.ndarray,
    order: np.ndarray,
    first: np.ndarray,
    last: np.ndarray,
    out: np.ndarray,
) -> None:
    """For each description (row of `low`, over the `used` columns) how many people fit it: 0, 1 or 2 for more.

    The place of person i in column j is `places[starts[j] + codes[j, i]]`. Only `order[first[p]] … order[last[p] − 1]` are
    looked at for description p. O(people looked at · columns) at worst; a description that two people fit ends at the
    second.
    """
    for p in numba.prange(low.shape[0]):
        found = 0
        for at in range(first[p], last[p]):
            i = order[at]
            fit = True
            for j in range(kinds.size):
                if not used[p, j]:
                    continue
                place = places[starts[j] + codes[j, i]]
                if kinds[j] == FITS:
                    fit = fits[offsets[j] + int(place) * widths[j] + entries[p, j]] != 0
                elif low[p, j] == -np.inf and high[p, j] == np.inf:
                    fit = True
                elif np.isnan(place) or np.isnan(low[p, j]):
                    fit = bool(np.isnan(place) and np.isnan(low[p, j]))
                else:
                    fit = bool(low[p, j] <= place <= high[p, j])
                if not fit:
                    break
            if fit:
                found += 1
                if found == 2:
                    break
        out[p] = found


@kernel()
def members(labels: np.ndarray, asked: np.ndarray, cursor: np.ndarray, last: np.ndarray, out: np.ndarray) -> None:
    """For some groups the rows that are their n-th members: `out[a]` is the row that is member `asked[a]` of its group.

    Group g asks from `cursor[g]` to `last[g]`, ascending; `cursor` ends at `last`. O(rows).
    """
    seen = np.zeros(cursor.size, np.int64)
    for i in range(labels.size):
        group = labels[i]
        at = cursor[group]
        while at < last[group] and asked[at] == seen[group]:
            out[at] = i
            at += 1
        cursor[group] = at
        seen[group] += 1


@kernel()
def ordered(codes: np.ndarray, ranks: np.ndarray, cursor: np.ndarray, out: np.ndarray) -> None:
    """Rows by the rank of their code. `cursor` holds where each rank starts, and ends as where it ends. O(rows)."""
    for i in range(codes.size):
        rank = ranks[codes[i]]
        out[cursor[rank]] = i
        cursor[rank] += 1
