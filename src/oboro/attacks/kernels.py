"""Kernels of the attacks: nearest released records, and people who match a description.

Columns come in three kinds. `NUMBER`: a person has a place, a record a range from `low` to `high`; `SPAN`: the same for
ranks of categories, which are as far apart as any other; `FITS`: a person has a rank, a record an entry, and a table of
bytes says which fit. A missing number is NaN on both sides; a range from −∞ to ∞ is anything at all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from oboro.kernels.distances import between
from oboro.kernels.jit import kernel, prange

__all__ = [
    "FITS",
    "MANY",
    "NUMBER",
    "SPAN",
    "TIE",
    "few_matches",
    "few_members",
    "few_nearest",
    "matches",
    "medoids",
    "members",
    "nearest",
    "word_costs",
]


# Kernels for few people -----------------------------------------------------------------------------------------------
# The same in NumPy: few people and classes are compared before compiled code is loaded.


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


def word_costs(
    kinds: np.ndarray, places: np.ndarray, low: np.ndarray, high: np.ndarray, entries: np.ndarray, bases: np.ndarray,
    fits: np.ndarray, offsets: np.ndarray, widths: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Compute the distance of each person to each word: people × words."""
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
    costs = word_costs(kinds, places, low, high, entries, bases, fits, offsets, widths)
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


# Compiled kernels -----------------------------------------------------------------------------------------------------


PARTS = 16  # of the people, for as many threads as there are


@kernel(inner=True)
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


@kernel(inner=True)
def _nearest(
    kinds: np.ndarray,
    t: int,
    places: np.ndarray,
    words: np.ndarray,
    order: np.ndarray,
    lead: int,
    starts: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    entries: np.ndarray,
    bases: np.ndarray,
    fits: np.ndarray,
    offsets: np.ndarray,
    widths: np.ndarray,
    sizes: np.ndarray,
    own: np.ndarray,
    keys: np.ndarray,
) -> tuple[int, int]:
    """The nearest class of person t, and how many words were looked at. Compiled by itself it takes a fifth of the time."""
    costs, rest, first = np.empty(bases[-1]), 0.0, 0
    for j in range(kinds.size):
        least = np.inf
        for word in range(bases[j], bases[j + 1]):
            if kinds[j] == FITS:
                one = fits[offsets[j] + int(places[t, j]) * widths[j] + entries[word]]
                costs[word] = 1.0 - low[word] if one else 1.0
            else:
                costs[word] = _cost(kinds[j], places[t, j], low[word], high[word])
            if costs[word] < least:
                least = costs[word]
                if j == lead:
                    first = word - bases[j]
        if j != lead:
            rest += least
    best, total, chosen, state = np.inf, 0.0, -1, keys[t]
    seen = bases[-1]
    for turn in range(-1, starts.size - 1):  # the cheapest word of `lead` first, and not again
        block = first if turn < 0 else turn
        if turn == first or costs[bases[lead] + block] + rest > best + TIE:
            continue
        seen += (starts[block + 1] - starts[block]) * kinds.size
        for i in range(starts[block], starts[block + 1]):
            c = order[i]
            size = sizes[c] - (1 if own[t] == c else 0)
            if size <= 0:
                continue
            distance = 0.0
            for j in range(kinds.size):
                distance += costs[words[i, j]]
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
    return chosen, seen


def _nearest_work(kinds: np.ndarray, places: np.ndarray, words: np.ndarray, *more: Any) -> int:
    return int(words.size) * len(places)


@kernel(parallel=True, little=few_nearest, work=_nearest_work)
def nearest(
    kinds: np.ndarray,
    places: np.ndarray,
    words: np.ndarray,
    order: np.ndarray,
    lead: int,
    starts: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    entries: np.ndarray,
    bases: np.ndarray,
    fits: np.ndarray,
    offsets: np.ndarray,
    widths: np.ndarray,
    sizes: np.ndarray,
    own: np.ndarray,
    keys: np.ndarray,
    out: np.ndarray,
) -> int:
    """For each person (row of `places`) the nearest class of records; of several, one by chance, weighted by size.

    Word w means `low[w]`, `high[w]`, `entries[w]`; those of column j are `bases[j] … bases[j + 1] − 1`. Row i of `words`
    says what class `order[i]` consists of; rows stand by their word of column `lead`, the n-th from `starts[n]` on. One
    record of class `own[t]` is left out for person t (−1: none). `out` gets −1 where nothing is left.

    What each word costs a person is found once; then classes are passed over whose word of `lead` costs so much that they
    cannot be the nearest even if all else costs the least that it can. O(people · (words + classes · columns)) at worst;
    returns how many words were looked at.
    """
    looked = 0
    for t in prange(places.shape[0]):
        out[t], seen = _nearest(
            kinds, np.int64(t), places, words, order, lead, starts, low, high, entries, bases, fits, offsets, widths,
            sizes, own, keys,
        )  # fmt: skip
        looked += seen
    return looked


@kernel(inner=True)
def _fit(place: float, low: float, high: float) -> bool:
    """Whether a place lies in a range; a missing one only in the range of the missing, and in that of anything at all."""
    if low == -np.inf and high == np.inf:
        return True
    if np.isnan(place) or np.isnan(low):
        return bool(np.isnan(place) and np.isnan(low))
    return bool(low <= place <= high)


@kernel(inner=True)
def _match(
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
    lead: int,
    segments: np.ndarray,
    heads: np.ndarray,
    listed: np.ndarray,
    first: int,
    last: int,
    before: np.ndarray,
    part: int,
    found: np.ndarray,
) -> None:
    """Add to `found[part]` how many people of one part fit each description that fewer than 3 fitted before."""
    for i in range(first + (last - first) * part // PARTS, first + (last - first) * (part + 1) // PARTS):
        segment = segments[codes[lead, i]]
        for at in range(heads[segment], heads[segment + 1]):
            p = listed[at]
            fit = before[p] + found[part, p] < MANY
            for j in range(kinds.size):
                if not fit:
                    break
                if used[p, j]:
                    place = places[starts[j] + codes[j, i]]
                    if kinds[j] == FITS:
                        fit = fits[offsets[j] + int(place) * widths[j] + entries[p, j]] != 0
                    else:
                        fit = _fit(place, low[p, j], high[p, j])
            if fit:
                found[part, p] += 1


@kernel(inner=True)
def _add(found: np.ndarray, out: np.ndarray) -> None:
    """Add what all parts found to `out`, up to 3 in all."""
    for p in range(out.size):
        for part in range(found.shape[0]):
            out[p] = min(MANY, out[p] + found[part, p])


def _matches_work(kinds: np.ndarray, codes: np.ndarray, *more: Any) -> int:
    lead, segments, heads, _, first, last, _ = more[-7:]
    return int(np.diff(heads)[segments[codes[lead, first:last]]].sum()) * kinds.size


@kernel(parallel=True, little=few_matches, work=_matches_work)
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
    lead: int,
    segments: np.ndarray,
    heads: np.ndarray,
    listed: np.ndarray,
    first: int,
    last: int,
    out: np.ndarray,
) -> None:
    """Add to `out` how many of the people `first … last − 1` fit each description (row of `low`), up to 3 in all.

    The place of person i in column j is `places[starts[j] + codes[j, i]]`. A person whose code in column `lead` is c is held
    against the descriptions `listed[heads[s]] … listed[heads[s + 1] − 1]`, s being `segments[c]`, over the `used` columns, and
    against no other. O(people · descriptions listed for each · columns) at worst; one that three people fit is passed over.
    """
    found = np.zeros((PARTS, low.shape[0]), np.int64)
    for part in prange(PARTS):
        _match(
            kinds, codes, places, starts, low, high, entries, used, fits, offsets, widths, lead, segments, heads, listed,
            first, last, out, np.int64(part), found,
        )  # fmt: skip
    _add(found, out)


@kernel(little=few_members)
def members(labels: np.ndarray, asked: np.ndarray, cursor: np.ndarray, last: np.ndarray, out: np.ndarray) -> None:
    """For some groups the rows that are their n-th members: `out[a]` is the row that is member `asked[a]` of its group.

    Group g asks from `cursor[g]` to `last[g]`, ascending; `cursor` ends at `last`. O(rows), less where all are found early.
    """
    seen = np.zeros(cursor.size, np.int64)
    left = asked.size
    for i in range(labels.size):
        group = labels[i]
        at = cursor[group]
        while at < last[group] and asked[at] == seen[group]:
            out[at] = i
            at += 1
            left -= 1
        cursor[group] = at
        if left == 0:
            break
        seen[group] += 1


@kernel(parallel=True)
def medoids(
    places: np.ndarray,
    caps: np.ndarray,
    starts: np.ndarray,
    heads: np.ndarray,
    weights: np.ndarray,
    most: int,
    sums: np.ndarray,
) -> None:
    """For each candidate `heads[e]` of a record its distance to all the record's candidates, each so often as it weighs.

    Where a record has more than `most` candidates, evenly chosen ones stand for all.
    """
    for r in prange(starts.size - 1):
        first, last = starts[r], starts[r + 1]
        stride = max(1, (last - first) // most)
        for e in range(first, last):
            total = 0.0
            for f in range(first, last, stride):
                total += weights[heads[f]] * between(places, caps, heads[e], heads[f])
            sums[e] = total
