"""Kernels for text look-up: find each of many texts among known ones by a hash table. Texts are Arrow's: bytes in a
row, and offsets.

A slot holds half of a text's hash and its number + 1; 0 is free. What a batch of texts will need is asked for ahead,
slots first, then what they name: Arrow, which waits for each in turn, takes four times as long for half a million
addresses.
"""

from __future__ import annotations

import numpy as np

from oboro.kernels.intrinsics import fetch, word_at
from oboro.kernels.jit import kernel

__all__ = ["BATCH", "add_texts", "find_texts"]


U = np.uint64
LOW = U(0xFFFFFFFF)
BATCH = 64


@kernel(inner=True)
def hash_bytes(text: np.ndarray, start: int, end: int) -> int:
    """Compute a 64-bit hash; of eight bytes and more, the last eight are taken whole, overlapping those before. O(end −
    start).
    """
    value = U(end - start) * U(0x9E3779B97F4A7C15)
    if end - start < 8:
        for place in range(start, end):
            value = (value ^ U(text[place])) * U(0x9E3779B97F4A7C15)
    else:
        for place in range(start, end - 8, 8):
            value = (value ^ word_at(text, place)) * U(0x9E3779B97F4A7C15)
            value ^= value >> U(32)
        value = (value ^ word_at(text, end - 8)) * U(0x9E3779B97F4A7C15)
    return (value ^ (value >> U(29))) * U(0xD6E8FEB86659FD93)


@kernel(inner=True)
def equal_bytes(text: np.ndarray, start: int, end: int, others: np.ndarray, other: int, after: int) -> bool:
    """Return whether two texts are equal."""
    size = end - start
    if size != after - other:
        return False
    if size < 8:
        same = True
        for i in range(size):
            same &= text[start + i] == others[other + i]
        return same
    for i in range(0, size - 8, 8):
        if word_at(text, start + i) != word_at(others, other + i):
            return False
    return word_at(text, end - 8) == word_at(others, after - 8)  # type: ignore[no-any-return]


@kernel(inner=True)
def hash_batch(
    offsets: np.ndarray, text: np.ndarray, begin: int, end: int, slots: np.ndarray, shift: int, hashes: np.ndarray
) -> None:
    """The hashes of some texts; the slots where they belong are asked for."""
    for i in range(begin, end):
        hashes[i - begin] = hash_bytes(text, np.int64(offsets[i]), np.int64(offsets[i + 1]))
        fetch(slots, np.int64(hashes[i - begin] >> U(shift)))


@kernel(inner=True)
def slot_of(
    offsets: np.ndarray, text: np.ndarray, i: int, hashed: int, known: np.ndarray, others: np.ndarray, slots: np.ndarray, slot: int
) -> int:  # fmt: skip
    """From a slot on, the first that is free or names a known text equal to the i-th of some texts."""
    start, end, half = np.int64(offsets[i]), np.int64(offsets[i + 1]), hashed & LOW
    while slots[slot]:
        if slots[slot] >> U(32) == half:
            code = np.int64(slots[slot] & LOW) - 1
            if equal_bytes(text, start, end, others, np.int64(known[code]), np.int64(known[code + 1])):
                break
        slot = (slot + 1) & (slots.size - 1)
    return slot


@kernel(bare=True)
def add_texts(offsets: np.ndarray, text: np.ndarray, shift: int, slots: np.ndarray, hashes: np.ndarray) -> None:
    """Enter texts into free slots, of equal ones the first.

    `slots` are a power of two, more than there are texts; hashes are shifted by `shift` to be one of them. `hashes` has room for a
    batch. O(bytes) expected.
    """
    for begin in range(0, offsets.size - 1, BATCH):
        end = min(begin + BATCH, offsets.size - 1)
        hash_batch(offsets, text, begin, end, slots, shift, hashes)
        for i in range(begin, end):
            hashed = hashes[i - begin]
            slot = slot_of(offsets, text, i, hashed, offsets, text, slots, np.int64(hashed >> U(shift)))
            if slots[slot] == 0:
                slots[slot] = ((hashed & LOW) << U(32)) | U(i + 1)


@kernel(bare=True)
def find_texts(
    offsets: np.ndarray,
    text: np.ndarray,
    known: np.ndarray,
    others: np.ndarray,
    shift: int,
    slots: np.ndarray,
    hashes: np.ndarray,
    out: np.ndarray,
) -> None:
    """Find for each text which of the known ones (offsets `known`, bytes `others`) that were entered into `slots` it
    is, or −1.

    O(bytes) expected.
    """
    for begin in range(0, offsets.size - 1, BATCH):
        end = min(begin + BATCH, offsets.size - 1)
        hash_batch(offsets, text, begin, end, slots, shift, hashes)
        for i in range(begin, end):
            hashed = hashes[i - begin]
            slot = np.int64(hashed >> U(shift))
            while slots[slot] and slots[slot] >> U(32) != hashed & LOW:
                slot = (slot + 1) & (slots.size - 1)
            out[i] = slot
            fetch(known, np.int64(slots[slot] & LOW))
        for i in range(begin, end):
            code = np.int64(slots[out[i]] & LOW)
            fetch(others, np.int64(known[code]) - 1)  # the last byte of the text
        for i in range(begin, end):
            slot = slot_of(offsets, text, i, hashes[i - begin], known, others, slots, out[i])
            out[i] = np.int64(slots[slot] & LOW) - 1
