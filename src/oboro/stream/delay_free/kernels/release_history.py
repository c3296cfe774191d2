"""What a stream remembers: records, and how often each was released under which mask.

A record is a row of codes, one for each attribute and each level of its hierarchy below `*`, from fine to coarse; −1 is
a missing value, which equals nothing. A *mask* has one bit for each of these codes: a pattern keeps the codes of its
bits and leaves the others open.

*Records* are the distinct rows. *Entries* hang on a record: how often it was released under which mask (and, where that
matters, for which person and with which secret).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oboro.kernels import kernel

__all__ = [
    "CODES",
    "CROWD",
    "ENTRIES",
    "KEPT_BITS",
    "LARGEST",
    "MISSING",
    "RECORDS",
    "ArrivalOrder",
    "ReleaseHistory",
    "ReleaseRules",
    "expire",
    "lookup",
    "relink",
    "remember",
    "search",
    "sign_of",
    "sign_width",
]

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
    """What a release needs."""

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
    value = np.uint64(14695981039346656037)
    for code in row:
        value = (value ^ np.uint64(code + 1)) * np.uint64(1099511628211)
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
    """How many bits of each code a sign of 64 has room for."""
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
    last = history.slots.size - 1
    history.slots[:] = -1
    row = np.empty(history.codes.shape[0], dtype=history.codes.dtype)
    for record in range(history.sizes[RECORDS]):
        for bit in range(row.size):
            row[bit] = history.codes[bit, record]
        place = _hash(row) & last
        while history.slots[place] >= 0:
            place = (place + 1) & last
        history.slots[place] = record
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
    last = history.slots.size - 1
    place = _hash(row) & last
    while history.slots[place] >= 0:
        place = (place + 1) & last
    history.slots[place] = record
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
