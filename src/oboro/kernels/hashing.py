"""Open-addressing hash tables with linear probing, for compiled loops, and the numbering of 64-bit keys on top of them.

A table is an array whose size is a power of two; `mask` is that size minus one. Three layouts are in use:

- slots with the number of an entry, from 1 on (0 is free), whose keys are in an array beside them (`slot_of`);
- slots with the number of an entry, from 0 on (−1 is free), whose entries are compared by the caller (`free_slot`);
- pairs of a key and a count (a count of 0 is free), which share a line of the cache (`pair_of`).

Texts have tables of their own (`text_search`, the cells of CSV): theirs hold part of the hash, and fetch memory ahead.
"""

from __future__ import annotations

import numpy as np

from oboro.kernels.jit import kernel

__all__ = [
    "FNV_START",
    "FULL",
    "SHORT_GOLDEN",
    "add_to_pair",
    "fold",
    "free_slot",
    "hash_of",
    "mix",
    "more_slots",
    "number_by_hash",
    "number_parts",
    "pair_of",
    "short_hash",
    "short_shift",
    "slot_of",
    "spread",
]


U = np.uint64
GOLDEN = U(0x9E3779B97F4A7C15)  # 2⁶⁴ over the golden ratio, odd: neighbouring keys go far apart
SHORT_GOLDEN = np.uint32(0x9E3779B1)  # the same for 32 bits, prime
FNV_START, FNV_PRIME = U(14695981039346656037), U(1099511628211)
FULL = -1  # result of `number_parts` where there are more distinct keys than room for them


# Hash functions -------------------------------------------------------------------------------------------------------


@kernel(inner=True, bare=True)
def hash_of(key: int) -> int:
    """Hash a 64-bit key by a multiplication (Knuth 1973). The upper 44 bits of the product are left; a mask takes the lowest."""
    return ((key ^ (key >> U(32))) * GOLDEN) >> U(20)


@kernel(inner=True, bare=True)
def short_shift(size: int) -> int:
    """Number of bits by which a 32-bit product is shifted to be an index below `size`, a power of two."""
    shift = np.uint32(0)
    while U(size) << U(shift) < U(1) << U(32):
        shift += np.uint32(1)
    return shift


@kernel(inner=True, bare=True)
def short_hash(key: int, shift: int) -> int:
    """Hash a 32-bit key by a multiplication; its upper bits are the index. Several are computed at a time, unlike of 64 bits."""
    return np.int64(np.uint32(key * SHORT_GOLDEN) >> shift)


@kernel(inner=True, bare=True)
def fold(value: int, code: int) -> int:
    """Fold one more code or byte into the hash of a sequence (FNV-1a). Starts with FNV_START."""
    return (value ^ U(code)) * FNV_PRIME


# Look-up and insertion ------------------------------------------------------------------------------------------------


@kernel(inner=True, bare=True)
def slot_of(key: int, start: int, slots: np.ndarray, mask: int, keys: np.ndarray) -> int:
    """Return the slot of a key, or the free one where it belongs, looking from its hash `start` on.

    A slot holds the number of its key in `keys`, from 1 on. Keys are compared in full: a collision costs time and joins nothing.
    """
    slot = start & mask
    while slots[slot] != 0 and keys[slots[slot] - 1] != key:
        slot = (slot + U(1)) & mask
    return slot


@kernel(inner=True, bare=True)
def more_slots(slots: np.ndarray, mask: int, keys: np.ndarray, found: int) -> int:
    """Enter `found` keys into four times as many slots, which there must be room for; return the new mask."""
    slots[: mask + U(1)] = 0
    mask = U(4) * mask + U(3)
    for number in range(found):
        slot = hash_of(keys[number]) & mask
        while slots[slot] != 0:
            slot = (slot + U(1)) & mask
        slots[slot] = number + 1
    return mask


@kernel(inner=True, bare=True)
def free_slot(start: int, slots: np.ndarray) -> int:
    """Return the first free slot (−1) from a hash on."""
    mask = slots.size - 1
    slot = start & mask
    while slots[slot] >= 0:
        slot = (slot + 1) & mask
    return slot


@kernel(inner=True, bare=True)
def pair_of(key: int, start: int, pairs: np.ndarray, mask: int) -> int:
    """Return the index of a key among the `mask + 1` pairs (key, count), or of the free pair where it belongs."""
    place = U(start) & mask
    while pairs[U(2) * place + U(1)] != 0 and U(pairs[U(2) * place]) != U(key):
        place = (place + U(1)) & mask
    return place


@kernel(inner=True, bare=True)
def add_to_pair(key: int, start: int, pairs: np.ndarray, mask: int, number: int) -> bool:
    """Add a number above 0 to the count of a key; return whether the key is new."""
    place = U(2) * pair_of(key, start, pairs, mask)
    new = pairs[place + U(1)] == 0
    pairs[place] = key
    pairs[place + U(1)] += number
    return new


# Numbering of keys ----------------------------------------------------------------------------------------------------
# Keys of 64 bits of which there are too many possible ones for a counter each.
#
# Keys are mixed (one to one, so nothing is taken for equal that is not), spread over parts by their upper bits, and
# numbered part by part: the table of a part fits a cache, where one table of all keys would be waited for at every row.


def _number_by_hash(keys: np.ndarray, slots: np.ndarray, out: np.ndarray) -> int:
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    out[:] = np.argsort(np.argsort(first))[which]
    return int(first.size)


@kernel(little=_number_by_hash)
def number_by_hash(keys: np.ndarray, slots: np.ndarray, out: np.ndarray) -> int:
    """Number equal keys alike, 0, 1, 2 … by first appearance, with one table; return how many are distinct. O(n) expected.

    `slots` are zeroed, at least twice as many as keys. A slot holds the first row of its key, from 1 on.
    """
    mask, found = U(slots.size - 1), 0
    for i in range(keys.size):
        slot = slot_of(keys[i], hash_of(keys[i]), slots, mask, keys)
        first = slots[slot]
        if first == 0:
            slots[slot] = i + 1
            out[i] = found
            found += 1
        else:
            out[i] = out[first - 1]
    return found


@kernel()
def mix(keys: np.ndarray, factor: np.ndarray, shift: int, sizes: np.ndarray) -> None:
    """Mix the keys in place, one to one, and count those of each part, which the bits from `shift` on choose. O(n).

    `factor` is one odd number, drawn anew each time, so that nobody can choose values that collide.
    """
    for i in range(keys.size):
        key = keys[i]
        key = (key ^ (key >> U(32))) * factor[0]
        key = (key ^ (key >> U(29))) * U(0xC4CEB9FE1A85EC53)
        key ^= key >> U(32)
        keys[i] = key
        sizes[key >> U(shift)] += 1


@kernel()
def spread(keys: np.ndarray, shift: int, cursor: np.ndarray, out: np.ndarray, places: np.ndarray) -> None:
    """Order the keys by part, those of one part as they came; `places` gets the index of each row's, unless it is empty.

    `cursor` holds the start of each part. O(n).
    """
    with_places = places.size > 0
    for i in range(keys.size):
        part = keys[i] >> U(shift)
        place = cursor[part]
        out[place] = keys[i]
        if with_places:
            places[i] = place
        cursor[part] = place + 1


@kernel(bare=True)
def number_parts(keys: np.ndarray, starts: np.ndarray, slots: np.ndarray, known: np.ndarray, out: np.ndarray) -> int:
    """Number the mixed keys of each part by first appearance, after those of the parts before; return how many are distinct.

    Equal keys are in one part. `slots` has room for twice the keys of a part, a power of two, `known` for its distinct keys: where
    they are more, the result is FULL. O(n).
    """
    found = 0
    for part in range(starts.size - 1):
        begin, end = starts[part], starts[part + 1]
        size = 1
        while size < 2 * (end - begin) and size < slots.size:
            size *= 2
        slots[:size] = 0
        here = 0
        for i in range(begin, end):
            slot = slot_of(keys[i], keys[i], slots, U(size - 1), known)
            if slots[slot] == 0:
                if here == known.size:
                    return FULL
                known[here] = keys[i]
                here += 1
                slots[slot] = here
            out[i] = found + slots[slot] - 1
        found += here
    return found
