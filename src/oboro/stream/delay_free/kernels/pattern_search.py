"""The least general pattern that enough of what a stream remembers matches.

Because a level is a function of the one below, two records that agree on a bit of their masks agree on all coarser bits
of that attribute, so the intersection of two such agreements is again one level per attribute.
"""

from __future__ import annotations

import numpy as np

from oboro.kernels import kernel
from oboro.stream.delay_free.kernels.record_agreements import NOBODY, add_to, agreements, full_mask, wider, worth
from oboro.stream.delay_free.kernels.release_history import (
    CROWD,
    ENTRIES,
    MISSING,
    RECORDS,
    ArrivalOrder,
    ReleaseHistory,
    ReleaseRules,
    expire,
    remember,
    search,
)

__all__ = ["absorb", "best"]

EFFORT = 400_000  # comparisons that one search may cost before it settles for the best found


@kernel(inner=True)
def _suffices(history: ReleaseHistory, rules: ReleaseRules, record: int, person: int, secret: int) -> bool:
    """Whether the records that are exactly alike are enough by themselves, where it matters who they are."""
    needed = _needed(rules, person)
    people, secrets = np.empty(needed, dtype=np.int64), np.empty(rules.secrets, dtype=np.int64)
    secrets[0] = secret
    others, kinds = 0, 1
    entry = history.head[record]
    while entry >= 0 and (others < needed or kinds < rules.secrets):
        if history.count[entry] > 0:
            others = _count_in(rules.people, history.person[entry], person, history.count[entry], people, others)
            kinds = _note(history.secret[entry], secrets, kinds)
        entry = history.next[entry]
    return others >= needed and kinds >= rules.secrets


@kernel(inner=True)
def _alike(history: ReleaseHistory, rules: ReleaseRules, record: int, person: int, secret: int) -> bool:
    """Whether the records that are exactly alike are enough by themselves."""
    if not rules.people and rules.secrets <= 1:
        return history.total[record] >= rules.others
    return _suffices(history, rules, record, person, secret)


@kernel(inner=True, bare=True)
def _needed(rules: ReleaseRules, person: int) -> int:
    """How many other people a record needs: k − 1; one more where its own person is missing, who may be among them."""
    return rules.others + (1 if person == MISSING else 0)


@kernel(inner=True, bare=True)
def _count_in(by_people: bool, who: int, person: int, weight: int, people: np.ndarray, others: int) -> int:
    """How many others there are with one more entry: people once each and not oneself, or plainly records."""
    if not by_people:
        return others + weight
    return others if who in (person, MISSING) else _note(who, people, others)


@kernel(inner=True, bare=True)
def _note(value: int, seen: np.ndarray, count: int) -> int:
    """Add a value to a short list of different ones, while there is room."""
    for i in range(min(count, seen.size)):
        if seen[i] == value:
            return count
    if count < seen.size:
        seen[count] = value
    return count + 1


@kernel(inner=True)
def _holds(
    history: ReleaseHistory, rules: ReleaseRules, items: np.ndarray, mask: int, person: int, secret: int
) -> bool:
    """Whether the agreements that include `mask` are enough, where it matters who they are."""
    needed = _needed(rules, person)
    people, secrets = np.empty(needed, dtype=np.int64), np.empty(rules.secrets, dtype=np.int64)
    by_people, persons, kept, secrets[0] = rules.people, history.person, history.secret, secret
    others, kinds = 0, 1
    for i in range(items.shape[0]):
        if items[i, 0] & mask == mask:
            entry = items[i, 1]
            others = _count_in(by_people, persons[entry], person, items[i, 3], people, others)
            kinds = _note(kept[entry], secrets, kinds)
            if others >= needed and kinds >= rules.secrets:
                return True
    return False


@kernel(inner=True, bare=True)
def _enough(items: np.ndarray, mask: int, others: int) -> bool:
    """Whether the agreements that include `mask` are enough, where only their number matters."""
    number = 0
    for i in range(items.shape[0]):
        number += items[i, 3] if items[i, 0] & mask == mask else 0
    return number >= others


@kernel(inner=True)
def _walk(history: ReleaseHistory, rules: ReleaseRules, items: np.ndarray, full: int, person: int, secret: int) -> int:
    """The mask worth most that enough agreements include: intersections of agreements, depth first, the best first.

    What is worth most is the intersection of all agreements that include it, so adding agreements one by one, in one
    order, comes across it; a branch that is worth no more than the best found is left.
    """
    count = items.shape[0]
    masks, nexts = np.empty(count + 1, dtype=np.int64), np.zeros(count + 1, dtype=np.int64)
    seen, tried = np.zeros((256, 2), dtype=np.int64), 0
    masks[0] = full
    depth, found, most, effort, sums = 0, 0, 0, EFFORT, rules.worth
    simple, others = not rules.people and rules.secrets <= 1, rules.others
    while depth >= 0 and effort > 0:
        i = nexts[depth]
        if i >= count or items[i, 2] <= most:
            depth -= 1
            continue
        nexts[depth] = i + 1
        mask = masks[depth] & items[i, 0]
        effort -= 1
        if (mask == masks[depth] and depth > 0) or worth(sums, mask) <= most:
            continue
        # Several sets of agreements have one intersection; what was reached earlier has had all of its continuations.
        if add_to(seen, mask, 1) == 0:
            continue
        tried += 1
        if 2 * tried > seen.shape[0]:
            seen = wider(seen)
        effort -= count
        if _enough(items, mask, others) if simple else _holds(history, rules, items, mask, person, secret):
            found, most = mask, worth(sums, mask)
        else:
            depth += 1
            masks[depth], nexts[depth] = mask, 0
    return found


@kernel(inner=True)
def best(history: ReleaseHistory, rules: ReleaseRules, record: int, row: np.ndarray, person: int, secret: int) -> int:
    """The mask under which a record is released: worth most among those that enough earlier records match.

    `record` is what `lookup` found for the row.
    """
    full = full_mask(row)
    if record >= 0 and _alike(history, rules, record, person, secret):
        _note_alike(history, rules, record, full, person)
        return full
    items = agreements(history, rules, row)
    found = _walk(history, rules, items, full, person, secret)
    if _may_be_smallest(history, rules, found):
        _note_matches(history, rules, items, found, person)
    return found


@kernel(inner=True)
def weigh(
    history: ReleaseHistory, rules: ReleaseRules, record: int, row: np.ndarray, mask: int, person: int, secret: int
) -> None:
    """Note the crowd behind a release that was decided before, as `best` did then."""
    if not _may_be_smallest(history, rules, mask):
        return
    if record >= 0 and mask == full_mask(row) and _alike(history, rules, record, person, secret):
        _note_alike(history, rules, record, mask, person)
    else:
        _note_matches(history, rules, agreements(history, rules, row), mask, person)


@kernel(inner=True, bare=True)
def _may_be_smallest(history: ReleaseHistory, rules: ReleaseRules, mask: int) -> bool:
    """Whether a release is one, and its crowd could be smaller than all before: none is smaller than k."""
    return mask != 0 and (history.sizes[CROWD] == 0 or history.sizes[CROWD] > rules.others + 1)


@kernel(inner=True)
def _note_alike(history: ReleaseHistory, rules: ReleaseRules, record: int, mask: int, person: int) -> None:
    """The crowd of a record that is released whole: those that are exactly alike, of other people, and itself."""
    if not _may_be_smallest(history, rules, mask):
        return
    if not rules.people:
        _note_crowd(history, history.total[record], person)
        return
    entry, length = history.head[record], 0
    while entry >= 0:
        length += 1
        entry = history.next[entry]
    people, others = np.empty(length, dtype=np.int64), 0
    entry = history.head[record]
    while entry >= 0:
        if history.count[entry] > 0:
            others = _count_in(True, history.person[entry], person, history.count[entry], people, others)
        entry = history.next[entry]
    _note_crowd(history, others, person)


@kernel(inner=True)
def _note_matches(history: ReleaseHistory, rules: ReleaseRules, items: np.ndarray, mask: int, person: int) -> None:
    """The crowd of a release: the earlier records that were counted for it, of other people, and itself."""
    people, others = np.empty(items.shape[0], dtype=np.int64), 0
    for i in range(items.shape[0]):
        if items[i, 0] & mask == mask:
            who = history.person[items[i, 1]] if rules.people else NOBODY
            others = _count_in(rules.people, who, person, items[i, 3], people, others)
    _note_crowd(history, others, person)


@kernel(inner=True, bare=True)
def _note_crowd(history: ReleaseHistory, others: int, person: int) -> None:
    """So many others and itself, who may be one of them where its person is missing."""
    crowd = others + (0 if person == MISSING else 1)
    if history.sizes[CROWD] == 0 or crowd < history.sizes[CROWD]:
        history.sizes[CROWD] = crowd


@kernel(inner=True, makes_arrays=True)
def _absorb(
    history: ReleaseHistory,
    rules: ReleaseRules,
    arrivals: ArrivalOrder,
    keep: int,
    cutoff: float,
    now: float,
    rows: np.ndarray,
    people: np.ndarray,
    secrets: np.ndarray,
    forced: bool,
    masks: np.ndarray,
) -> int:
    """Decide and remember one record after the other, in order, until memory is full; returns how many were done.

    `masks` receives the decisions; `forced` means that they were taken before (a replay) and only have to be remembered.
    """
    sizes, total, count, ends = history.sizes, history.total, history.count, arrivals.ends
    slots, codes = history.slots, history.codes
    simple = not rules.people and rules.secrets <= 1 and not rules.forgets
    for i in range(rows.shape[0]):
        if sizes[RECORDS] >= total.size or sizes[ENTRIES] >= count.size:
            return i
        if rules.forgets:
            if ends[1] - ends[0] >= arrivals.entry.size:
                return i
            expire(history, arrivals, keep, cutoff)
        record = search(slots, codes, rows[i])
        if simple and record >= 0 and total[record] >= rules.others:
            masks[i] = full_mask(rows[i])  # and nothing to remember: no later decision could depend on it
            _note_alike(history, rules, record, masks[i], people[i])
            continue
        if forced:
            weigh(history, rules, record, rows[i], masks[i], people[i], secrets[i])
        else:
            masks[i] = best(history, rules, record, rows[i], people[i], secrets[i])
        entry = remember(history, rules, record, rows[i], masks[i], people[i], secrets[i])
        if rules.forgets:
            place = ends[1] % arrivals.entry.size
            arrivals.entry[place], arrivals.time[place] = entry, now
            ends[1] += 1
    return rows.shape[0]


@kernel(bare=True)
def absorb(
    slots: np.ndarray,
    codes: np.ndarray,
    total: np.ndarray,
    head: np.ndarray,
    shared: np.ndarray,
    signs: np.ndarray,
    next_: np.ndarray,
    owner: np.ndarray,
    out: np.ndarray,
    count: np.ndarray,
    person: np.ndarray,
    secret: np.ndarray,
    sizes: np.ndarray,
    others: int,
    kinds: int,
    swap: bool,
    by_people: bool,
    forgets: bool,
    reach: int,
    worths: np.ndarray,
    entry: np.ndarray,
    time: np.ndarray,
    ends: np.ndarray,
    keep: int,
    cutoff: float,
    now: float,
    rows: np.ndarray,
    people: np.ndarray,
    secrets: np.ndarray,
    forced: bool,
    masks: np.ndarray,
) -> int:
    """`_absorb` with the arrays of history, rules and arrivals one by one: to hand over tuples of them takes three times as long.

    References to what is handed to a bare kernel are not counted further in either: that was a quarter of the time.
    """
    history = ReleaseHistory(slots, codes, total, head, shared, signs, next_, owner, out, count, person, secret, sizes)
    rules = ReleaseRules(others, kinds, swap, by_people, forgets, reach, worths)
    arrivals = ArrivalOrder(entry, time, ends)
    return _absorb(history, rules, arrivals, keep, cutoff, now, rows, people, secrets, forced, masks)
