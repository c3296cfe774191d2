"""What `kernels` does, in NumPy: among few people and classes it is done before compiled code is loaded."""

from __future__ import annotations

import numpy as np

__all__ = ["FITS", "MANY", "NUMBER", "SPAN", "TIE", "few_matches", "few_members", "few_nearest"]

NUMBER, SPAN, FITS = 0, 1, 2
MANY = 3  # people who fit a description; more need not be counted, since one of them may be left out
TIE = 1e-9  # sums of the same costs in another order differ by less
MULTIPLIER, INCREMENT, WORD = 6364136223846793005, 1442695040888963407, (1 << 64) - 1  # of the random numbers


def few_members(labels: np.ndarray, asked: np.ndarray, cursor: np.ndarray, last: np.ndarray, out: np.ndarray) -> None:
    """As `kernels.members`."""
    rows = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels, minlength=cursor.size)
    groups = np.repeat(np.arange(cursor.size), last - cursor)
    there = asked < sizes[groups]
    out[there] = rows[(np.cumsum(sizes) - sizes)[groups[there]] + asked[there]]
    cursor[:] = last


def _costs(
    kinds: np.ndarray, places: np.ndarray, low: np.ndarray, high: np.ndarray, entries: np.ndarray, bases: np.ndarray,
    fits: np.ndarray, offsets: np.ndarray, widths: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """What each word costs each person."""
    costs = np.empty((len(places), bases[-1]))
    for j, kind in enumerate(kinds):
        mine = slice(bases[j], bases[j + 1])
        place = places[:, j, None]
        if kind == FITS:
            one = fits[offsets[j] + place.astype(np.int64) * widths[j] + entries[mine]]
            costs[:, mine] = np.where(one, 1.0 - low[mine], 1.0)
        elif kind == SPAN:
            inside = (low[mine] <= place) & (place <= high[mine])
            costs[:, mine] = np.where(inside, 1.0 - 1.0 / (high[mine] - low[mine] + 1.0), 1.0)
        else:
            costs[:, mine] = _distances(place, low[mine], high[mine])
    return costs


def _distances(place: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Expected distance between places and uniform draws from ranges, at most 1."""
    missing = np.isnan(place).astype(np.int64) + np.isnan(low)
    anything = (low == -np.inf) & (high == np.inf)
    low, high = np.where(anything, 0.0, low), np.where(anything, 1.0, high)
    low, high = np.maximum(low, -1.0), np.minimum(high, 2.0)
    inside = ((place - low) ** 2 + (high - place) ** 2) / (2 * (high - low))
    outside = np.minimum(1.0, np.abs(place - (low + high) / 2))
    found = np.where((place <= low) | (place >= high), outside, inside)
    return np.where(missing == 0, found, np.where(missing == 2, 0.0, 1.0))


def few_nearest(
    kinds: np.ndarray, places: np.ndarray, words: np.ndarray, order: np.ndarray, lead: int, starts: np.ndarray,
    low: np.ndarray, high: np.ndarray, entries: np.ndarray, bases: np.ndarray, fits: np.ndarray, offsets: np.ndarray,
    widths: np.ndarray, sizes: np.ndarray, own: np.ndarray, keys: np.ndarray, out: np.ndarray,
) -> int:  # fmt: skip
    """As `kernels.nearest`."""
    costs = _costs(kinds, places, low, high, entries, bases, fits, offsets, widths)
    distances, rest = np.zeros((len(places), len(words))), np.zeros(len(places))
    for j in range(kinds.size):
        distances += costs[:, words[:, j]]
        rest += 0.0 if j == lead else costs[:, bases[j] : bases[j + 1]].min(axis=1)
    looked, members = 0, sizes[order]
    for t in range(len(places)):
        bounds = costs[t, bases[lead] : bases[lead + 1]][: starts.size - 1]
        held = members - (order == own[t])
        spans = _visited(distances[t], bounds, float(rest[t]), starts, held)
        out[t] = _drawn(distances[t], held, order, spans, int(keys[t]))
        looked += int(bases[-1]) + kinds.size * sum(last - first for first, last in spans)
    return looked


def _visited(
    distances: np.ndarray, bounds: np.ndarray, rest: float, starts: np.ndarray, held: np.ndarray
) -> list[tuple[int, int]]:
    """The blocks of classes that are looked at: the cheapest first, then those that can still be as near."""
    first = int(bounds.argmin())
    near = np.where(held > 0, distances, np.inf)
    found = [(int(starts[first]), int(starts[first + 1]))]
    best = near[slice(*found[0])].min(initial=np.inf)
    for block in np.flatnonzero(bounds + rest <= best + TIE):
        if block != first and bounds[block] + rest <= best + TIE:
            found.append((int(starts[block]), int(starts[block + 1])))
            best = min(best, near[slice(*found[-1])].min(initial=np.inf))
    return found


def _drawn(distances: np.ndarray, held: np.ndarray, order: np.ndarray, spans: list[tuple[int, int]], state: int) -> int:
    """The nearest class of those that are looked at; of several, one by chance, weighted by size."""
    best, total, chosen = np.inf, 0.0, -1
    for first, last in spans:
        for i in first + np.flatnonzero((held[first:last] > 0) & (distances[first:last] <= best + TIE)):
            if distances[i] > best + TIE:
                continue
            if distances[i] < best - TIE:
                best, total, chosen = float(distances[i]), 0.0, -1
            total += float(held[i])
            state = (state * MULTIPLIER + INCREMENT) & WORD
            if chosen < 0 or (state >> 11) / 9007199254740992.0 * total < held[i]:
                chosen = int(order[i])
    return chosen


def few_matches(
    kinds: np.ndarray, codes: np.ndarray, places: np.ndarray, starts: np.ndarray, low: np.ndarray, high: np.ndarray,
    entries: np.ndarray, used: np.ndarray, fits: np.ndarray, offsets: np.ndarray, widths: np.ndarray, lead: int,
    segments: np.ndarray, heads: np.ndarray, listed: np.ndarray, first: int, last: int, out: np.ndarray,
) -> None:  # fmt: skip
    """As `kernels.matches`."""
    segment = segments[codes[lead, first:last]]
    for one in np.unique(segment):
        people, asked = first + np.flatnonzero(segment == one), listed[heads[one] : heads[one + 1]]
        fit = np.ones((people.size, asked.size), dtype=bool)
        for j, kind in enumerate(kinds):
            place = places[starts[j] + codes[j, people]][:, None]
            if kind == FITS:
                said = fits[offsets[j] + place.astype(np.int64) * widths[j] + entries[asked, j]] != 0
            else:
                said = _inside(place, low[asked, j], high[asked, j])
            fit &= said | ~used[asked, j].astype(bool)
        np.add.at(out, asked, fit.sum(axis=0))
    np.minimum(out, MANY, out=out)


def _inside(place: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Whether places lie in ranges; a missing one only in the range of the missing, and in that of anything at all."""
    anything, both = (low == -np.inf) & (high == np.inf), np.isnan(place) & np.isnan(low)
    return np.asarray(anything | both | ((low <= place) & (place <= high)))
