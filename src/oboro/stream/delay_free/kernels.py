"""Kernels of delay-free streams: the most specific pattern that enough remembered records match.

Because a level is a function of the one below, two records that agree on a bit of their masks agree on all coarser bits
of that attribute, so the intersection of two such agreements is again one level per attribute.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oboro.kernels.hashing import FNV_START, add_to_pair, fold, free_slot
from oboro.kernels.jit import kernel

__all__ = [
    "CODES",
    "CROWD",
    "ENTRIES",
    "KEPT_BITS",
    "LARGEST",
    "MISSING",
    "NOBODY",
    "RECORDS",
    "ArrivalOrder",
    "ReleaseHistory",
    "ReleaseRules",
    "absorb",
    "add_to",
    "agreement",
    "agreements",
    "best",
    "expire",
    "full_mask",
    "lookup",
    "relink",
    "remember",
    "search",
    "sign_of",
    "sign_width",
    "wider",
    "worth",
]


# Release history ------------------------------------------------------------------------------------------------------
# Remembered records, with the number of releases of each under each mask.
#
# A record is a row of codes, one for each attribute and each level of its hierarchy below `*`, from fine to coarse; −1
# is a missing value, which equals nothing. A *mask* has one bit for each of these codes: a pattern keeps the codes of
# its bits and leaves the others open.
#
# *Records* are the distinct rows. *Entries* belong to a record: the number of releases under a mask (and, where that
# matters, for a person and with a sensitive value).


RECORDS, ENTRIES, CROWD, LARGEST = 0, 1, 2, 3  # places in `ReleaseHistory.sizes`
CODES, KEPT_BITS = 0, 1  # places in `ReleaseHistory.signs`
MISSING = -2  # a person that nobody knows: protects nobody (−1: people are not asked for)


class ReleaseHistory(NamedTuple):
    """Everything remembered, in arrays with room to grow."""

    slots: np.ndarray  # hash table: a record's number or −1
    codes: np.ndarray  # codes[bit, record]
    total: np.ndarray  # how many records of the stream are like it
    head: np.ndarray  # its newest entry
    shared: np.ndarray  # the bits that all masks of its entries keep: where one is not agreed on, no entry is
    signs: np.ndarray  # signs[CODES, record]: a few bits of each code; signs[KEPT_BITS, record]: those in `shared`
    next: np.ndarray  # the entry before, of the same record, or −1
    owner: np.ndarray  # the entry's record
    out: np.ndarray  # the mask it was released under
    count: np.ndarray
    person: np.ndarray
    secret: np.ndarray
    sizes: (
        np.ndarray
    )  # used records and entries; the smallest crowd of a release so far (0: there was none); the largest code


class ReleaseRules(NamedTuple):
    """Requirements on a release."""

    others: int  # k − 1 earlier matches (of other people, where people are known)
    secrets: int  # this many different secrets among the matches and the record itself; 1: no such demand
    swap: bool  # only earlier matches that might have had this record's values behind their own output
    people: bool
    forgets: bool
    reach: int  # how many records at most are compared, the newest ones
    worth: np.ndarray  # worth[i, byte]: what the bits of the i-th byte of a mask are worth


class ArrivalOrder(NamedTuple):
    """The entries in the order of arrival, a ring; for forgetting. `ends` holds where it starts and stops."""

    entry: np.ndarray
    time: np.ndarray
    ends: np.ndarray


@kernel(inner=True, bare=True)
def _hash(row: np.ndarray) -> int:
    value = FNV_START
    for code in row:
        value = fold(value, code + 1)
        value ^= value >> np.uint64(29)
    return np.int64(value >> np.uint64(2))


@kernel(inner=True, bare=True)
def _same(codes: np.ndarray, record: int, row: np.ndarray) -> bool:
    for bit in range(row.size):  # noqa: SIM110  (a generator would not compile)
        if codes[bit, record] != row[bit]:
            return False
    return True


@kernel(inner=True, bare=True)
def sign_width(bits: int) -> int:
    """Return the number of bits of each code that fit into a sign of 64 bits."""
    return min(64 // bits, 31)


@kernel(inner=True, bare=True)
def sign_of(row: np.ndarray) -> int:
    """The last bits of each code. Where two signs differ in those of a code, the codes do."""
    width, sign = sign_width(row.size), np.int64(0)
    for bit in range(row.size):
        sign |= (np.int64(row[bit]) & ((np.int64(1) << width) - 1)) << (bit * width)
    return sign


@kernel(inner=True, bare=True)
def _sign_bits(mask: int, bits: int) -> int:
    """The bits of a sign that stand for the codes of a mask."""
    width, chosen = sign_width(bits), np.int64(0)
    for bit in range(bits):
        if mask >> bit & 1 != 0:
            chosen |= ((np.int64(1) << width) - 1) << (bit * width)
    return chosen


@kernel()
def lookup(history: ReleaseHistory, row: np.ndarray) -> int:
    """The number of a record that is like `row`, −1 if there is none."""
    return search(history.slots, history.codes, row)


@kernel(inner=True, bare=True)
def search(slots: np.ndarray, codes: np.ndarray, row: np.ndarray) -> int:
    """`lookup` in the arrays themselves: handing over all of a history takes longer than this."""
    last = slots.size - 1
    place = _hash(row) & last
    while slots[place] >= 0:
        if _same(codes, slots[place], row):
            return slots[place]
        place = (place + 1) & last
    return -1


@kernel()
def relink(history: ReleaseHistory) -> None:
    """Fill the hash table and the signs from the records; the table was emptied or replaced."""
    history.slots[:] = -1
    row = np.empty(history.codes.shape[0], dtype=history.codes.dtype)
    for record in range(history.sizes[RECORDS]):
        for bit in range(row.size):
            row[bit] = history.codes[bit, record]
        history.slots[free_slot(_hash(row), history.slots)] = record
        history.signs[CODES, record] = sign_of(row)
        history.signs[KEPT_BITS, record] = _sign_bits(history.shared[record], row.size)
        history.sizes[LARGEST] = max(history.sizes[LARGEST], row.max())


@kernel(inner=True, bare=True)
def _add_record(history: ReleaseHistory, row: np.ndarray) -> int:
    record = history.sizes[RECORDS]
    history.sizes[RECORDS] = record + 1
    for bit in range(row.size):
        history.codes[bit, record] = row[bit]
        history.sizes[LARGEST] = max(history.sizes[LARGEST], row[bit])
    history.total[record] = 0
    history.head[record] = -1
    history.signs[CODES, record] = sign_of(row)
    history.shared[record] = -1
    history.slots[free_slot(_hash(row), history.slots)] = record
    return record


@kernel(inner=True, bare=True)
def remember(
    history: ReleaseHistory, rules: ReleaseRules, record: int, row: np.ndarray, mask: int, person: int, secret: int
) -> int:
    """Note a record and how it was released; returns its entry.

    Without forgetting, more than is ever asked for is not kept: k people and as many secrets as are needed say enough
    for every later record, so an entry of the same release takes the rest, and memory grows with the distinct records only.
    """
    if record < 0:
        record = _add_record(history, row)
    history.total[record] += 1
    mask = mask if rules.swap else 0
    entry = _home(history, rules, record, mask, person, secret)
    if entry < 0:
        entry = history.sizes[ENTRIES]
        history.sizes[ENTRIES] = entry + 1
        history.next[entry] = history.head[record]
        history.head[record] = entry
        history.shared[record] &= mask
        history.signs[KEPT_BITS, record] = _sign_bits(history.shared[record], row.size)
        history.owner[entry] = record
        history.out[entry] = mask
        history.count[entry] = 0
        history.person[entry] = person
        history.secret[entry] = secret
    history.count[entry] += 1
    return entry


@kernel(inner=True, bare=True)
def _home(history: ReleaseHistory, rules: ReleaseRules, record: int, mask: int, person: int, secret: int) -> int:
    """The entry that one more record may be added to, −1 if it needs one of its own."""
    if rules.forgets and rules.people:
        return -1  # who leaves must be known exactly, and a frequent record would have a long list to look through
    people, secrets, found = 0, 0, -1
    entry = history.head[record]
    while entry >= 0:
        if history.out[entry] == mask:
            if history.person[entry] == person and history.secret[entry] == secret:
                return entry
            people += 1 if history.person[entry] != MISSING and _first_with(history, history.person, entry) else 0
            secrets += 1 if _first_with(history, history.secret, entry) else 0
            found = entry
        entry = history.next[entry]
    if found < 0 or rules.forgets:
        return -1
    enough = not rules.people or people > rules.others
    return found if enough and secrets >= rules.secrets else -1


@kernel(inner=True, bare=True)
def _first_with(history: ReleaseHistory, values: np.ndarray, entry: int) -> bool:
    """Whether no older entry of the same record and release has the same value."""
    older = history.next[entry]
    while older >= 0:
        if history.out[older] == history.out[entry] and values[older] == values[entry]:
            return False
        older = history.next[older]
    return True


@kernel(inner=True, bare=True)
def expire(history: ReleaseHistory, arrivals: ArrivalOrder, keep: int, cutoff: float) -> int:
    """Forget from the oldest on, until at most `keep` records are left and all came at `cutoff` or later; how many went."""
    gone = 0
    while arrivals.ends[1] - arrivals.ends[0] > 0:
        place = arrivals.ends[0] % arrivals.entry.size
        if arrivals.ends[1] - arrivals.ends[0] <= keep and arrivals.time[place] >= cutoff:
            break
        entry = arrivals.entry[place]
        history.count[entry] -= 1
        history.total[history.owner[entry]] -= 1
        arrivals.ends[0] += 1
        gone += 1
    return gone


# Agreement with earlier records ---------------------------------------------------------------------------------------
# Bits on which earlier records of a stream agree with a row, and the number of such records.
#
# Few records can matter to a row, since most agree with it on too little. These are found by one comparison of signs
# for each.


# Handing a tuple of arrays to a function counts references to each of them, which costs more than a comparison: the loops
# over records take the arrays out first (192 µs → 12 µs for 1,500 records).
BLOCK = 2048  # records compared at a time: their masks stay in the nearest cache
KEPT = 1024  # agreements that a search looks at; leaving out the poorest can only cost detail, never the promise
FEW = 100  # agreements that are put in order one by one
NOBODY = -1


@kernel(inner=True, bare=True)
def agreement(codes: np.ndarray, row: np.ndarray, first: int, masks: np.ndarray) -> None:
    """For the records from `first` on: on which bits they agree with `row`. O(records · bits), a column at a time."""
    masks[:] = 0
    for bit in range(row.size):
        code = row[bit]
        if code < 0:
            continue
        flag = np.int64(1) << bit
        column = codes[bit, first : first + masks.size]
        for i in range(masks.size):
            masks[i] |= flag if column[i] == code else 0


@kernel(inner=True, bare=True)
def _possible(
    signs: np.ndarray, sign: int, first: int, count: int, flags: np.ndarray, words: np.ndarray, places: np.ndarray
) -> int:
    """Which of so many records from `first` on may agree with a row on all that they kept: how many, and their places.

    `sign` is the row's; `words` are the bytes of `flags`, eight at a time. One comparison for all codes, many records at once, and
    few pass: a record of 20 attributes is decided in 24 µs, not 37. What lost: comparing the first eight bits of all records, and
    the others of whoever passed.
    """
    theirs, kept, found = signs[CODES, first : first + count], signs[KEPT_BITS, first : first + count], 0
    for i in range(count):
        flags[i] = (theirs[i] ^ sign) & kept[i] == 0
    last = (count + 7) // 8
    for i in range(count, 8 * last):
        flags[i] = 0
    for word in range(last):
        if words[word] != 0:
            for i in range(8 * word, 8 * word + 8):
                places[found] = i
                found += flags[i]
    return found


@kernel(inner=True, bare=True)
def _by_sign(theirs: int, sign: int, bits: int) -> int:
    """On which bits a record agrees with a row, from their signs, where these hold all of each code."""
    width, mask, unlike = sign_width(bits), np.int64(0), theirs ^ sign
    part = (np.int64(1) << width) - 1
    for bit in range(bits):
        mask |= np.int64((unlike >> (bit * width)) & part == 0) << bit
    return mask


@kernel(inner=True, bare=True)
def _fits(codes: np.ndarray, row: np.ndarray, record: int, shared: int) -> int:
    """On which bits a record agrees with `row`; 0 as soon as it does not on one that all its entries share."""
    mask = np.int64(0)
    for bit in range(row.size):
        if codes[bit, record] == row[bit] >= 0:
            mask |= np.int64(1) << bit
        elif shared >> bit & 1 != 0:
            return 0
    return mask


@kernel(inner=True, bare=True)
def full_mask(row: np.ndarray) -> int:
    """All bits that are not missing."""
    mask = np.int64(0)
    for bit in range(row.size):
        if row[bit] >= 0:
            mask |= np.int64(1) << bit
    return mask


@kernel(inner=True, bare=True)
def worth(table: np.ndarray, mask: int) -> int:
    """What the bits of a mask are worth together; `table[i]` holds the sums for the i-th eight bits."""
    total = np.int64(0)
    for i in range(table.shape[0]):
        total += table[i, mask & 255]
        mask >>= 8
    return total


@kernel(inner=True)
def _tally(history: ReleaseHistory, rules: ReleaseRules, row: np.ndarray, block: np.ndarray) -> np.ndarray:
    """How many earlier records agree with `row` on which bits, as (mask, entry, worth, number), in no order.

    Under `swap` only those that could change places with it: their own output leaves open whatever they do not agree on.
    `block`: room for masks; with 32 bits for each, where they do, comparing takes half the time.
    """
    size, codes, head, next_ = history.sizes[RECORDS], history.codes, history.head, history.next
    out, count, shared, signs = history.out, history.count, history.shared, history.signs
    sign, places, flags = sign_of(row), np.empty(BLOCK + 8, dtype=np.int64), np.empty(BLOCK, dtype=np.uint8)
    words, full, theirs = flags.view(np.uint64), full_mask(row), signs[CODES]
    # All bits set stand for a missing value: no code may look like that.
    whole = max(history.sizes[LARGEST], row.max()) < (np.int64(1) << sign_width(row.size)) - 1
    table, used = np.zeros(512, dtype=np.int64), 0  # a small hash table from masks (never 0) to numbers
    for start in range(max(0, size - rules.reach), size, BLOCK):
        masks = block[: min(BLOCK, size - start)]
        found = _possible(signs, sign, start, masks.size, flags, words, places)
        many = found > BLOCK >> 3 and not whole
        if many:
            agreement(codes, row, start, masks)
        for j in range(found):
            record = start + places[j]
            if whole:
                mask = _by_sign(theirs[record], sign, row.size) & full
            else:
                mask = np.int64(masks[places[j]]) if many else _fits(codes, row, record, shared[record])
            if shared[record] & ~mask != 0 or mask == 0:
                continue
            number, entry = np.int64(0), head[record]
            while entry >= 0:
                number += count[entry] if out[entry] & ~mask == 0 else 0
                entry = next_[entry]
            if number > 0:
                used += add_to(table, mask, number)
                if 4 * used > table.size:
                    table = wider(table)
    return _tallied(rules, table, used)


@kernel(inner=True, bare=True)
def add_to(table: np.ndarray, mask: int, number: int) -> bool:
    """Add to the number of a mask; return whether the mask is new. Its place decides the order of equally good agreements."""
    return add_to_pair(mask, (mask * 0x9E3779B97F4A7C1) >> 20, table, np.uint64((table.size >> 1) - 1), number)


@kernel(inner=True)
def wider(table: np.ndarray) -> np.ndarray:
    """The same masks and numbers, with four times the room."""
    wide = np.zeros(4 * table.size, dtype=np.int64)
    for i in range(0, table.size, 2):
        if table[i] != 0:
            add_to(wide, table[i], table[i + 1])
    return wide


@kernel(inner=True)
def _tallied(rules: ReleaseRules, table: np.ndarray, used: int) -> np.ndarray:
    items, size, sums = np.empty((used, 4), dtype=np.int64), 0, rules.worth
    for i in range(0, table.size, 2):
        if table[i] != 0:
            items[size, 0], items[size, 1], items[size, 3] = table[i], NOBODY, table[i + 1]
            items[size, 2] = worth(sums, table[i])
            size += 1
    return items


@kernel(inner=True)
def _listed(history: ReleaseHistory, rules: ReleaseRules, row: np.ndarray) -> np.ndarray:
    """The same one by one, where it matters who agrees and what their secrets are."""
    size, codes, head, next_ = history.sizes[RECORDS], history.codes, history.head, history.next
    out, count, shared, sums = history.out, history.count, history.shared, rules.worth
    block = np.empty(BLOCK, dtype=np.int64)
    items, found = np.empty((1024, 4), dtype=np.int64), 0
    for start in range(max(0, size - rules.reach), size, BLOCK):
        masks = block[: min(BLOCK, size - start)]
        agreement(codes, row, start, masks)
        for i in range(masks.size):
            entry = head[start + i] if masks[i] != 0 and shared[start + i] & ~masks[i] == 0 else -1
            while entry >= 0:
                if count[entry] > 0 and out[entry] & ~masks[i] == 0:
                    if found == items.shape[0]:
                        items = np.concatenate((items, np.empty_like(items)))
                    items[found, 0], items[found, 1], items[found, 3] = masks[i], entry, count[entry]
                    items[found, 2] = worth(sums, masks[i])
                    found += 1
                entry = next_[entry]
    return items[:found]


@kernel(inner=True)
def agreements(history: ReleaseHistory, rules: ReleaseRules, row: np.ndarray) -> np.ndarray:
    """Return the agreements of earlier records with a row, by descending worth."""
    if rules.people or rules.secrets > 1:
        items = _listed(history, rules, row)
    elif row.size < 32:
        items = _tally(history, rules, row, np.empty(BLOCK, dtype=np.int32))
    else:
        items = _tally(history, rules, row, np.empty(BLOCK, dtype=np.int64))
    return items[_by_worth(items[:, 2])[:KEPT]]


@kernel(inner=True)
def _by_worth(worths: np.ndarray) -> np.ndarray:
    """The order of agreements, what is worth most first, else as they stand. Few are put in order one by one: 6 → 1 µs for 60."""
    if worths.size > FEW:
        return np.argsort(-worths, kind="mergesort")
    order = np.empty(worths.size, dtype=np.int64)
    for i in range(worths.size):
        place = i
        while place > 0 and worths[order[place - 1]] < worths[i]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = i
    return order


# Pattern search -------------------------------------------------------------------------------------------------------


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
    seen, tried = np.zeros(512, dtype=np.int64), 0
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
        if not add_to(seen, mask, 1):
            continue
        tried += 1
        if 4 * tried > seen.size:
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
