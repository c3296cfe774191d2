"""What earlier records of a stream agree with a row on: on which bits, and how many.

Few records can matter to a row, since most agree with it on too little. These are found by one comparison of signs for each.
"""

from __future__ import annotations

import numpy as np

from oboro.kernels import kernel
from oboro.stream.delay_free.kernels.release_history import (
    CODES,
    KEPT_BITS,
    LARGEST,
    RECORDS,
    ReleaseHistory,
    ReleaseRules,
    sign_of,
    sign_width,
)

__all__ = ["NOBODY", "add_to", "agreement", "agreements", "full_mask", "wider", "worth"]

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
    table, used = np.zeros((256, 2), dtype=np.int64), 0  # a small hash table from masks (never 0) to numbers
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
                if 2 * used > table.shape[0]:
                    table = wider(table)
    return _tallied(rules, table, used)


@kernel(inner=True, bare=True)
def add_to(table: np.ndarray, mask: int, number: int) -> int:
    """Add to a mask's number; 1 if the mask is new."""
    last = table.shape[0] - 1
    place = ((mask * 0x9E3779B97F4A7C1) >> 20) & last
    while table[place, 0] != mask:
        if table[place, 0] == 0:
            table[place, 0], table[place, 1] = mask, number
            return 1
        place = (place + 1) & last
    table[place, 1] += number
    return 0


@kernel(inner=True)
def wider(table: np.ndarray) -> np.ndarray:
    """The same masks and numbers, with four times the room."""
    wide = np.zeros((4 * table.shape[0], 2), dtype=np.int64)
    for i in range(table.shape[0]):
        if table[i, 0] != 0:
            add_to(wide, table[i, 0], table[i, 1])
    return wide


@kernel(inner=True)
def _tallied(rules: ReleaseRules, table: np.ndarray, used: int) -> np.ndarray:
    items, size, sums = np.empty((used, 4), dtype=np.int64), 0, rules.worth
    for i in range(table.shape[0]):
        if table[i, 0] != 0:
            items[size, 0], items[size, 1], items[size, 3] = table[i, 0], NOBODY, table[i, 1]
            items[size, 2] = worth(sums, table[i, 0])
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
    """What earlier records agree with a row on, what is worth most first."""
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
