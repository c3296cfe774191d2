"""Kernels for fingerprinting records: one number for the fields that stay in the file, so that equal records are found
without loading them."""

from __future__ import annotations

import numpy as np

from oboro.io.formats.csv.kernels.cells import LONG, LOW, U, mix, place_of, size_of
from oboro.kernels.intrinsics import word_at
from oboro.kernels.jit import kernel

__all__ = ["add_cells"]


MANY = 128  # bytes that are hashed in four chains


@kernel(inner=True)
def _stir(value: int, word: int, key: int) -> int:
    return mix(mix(value ^ word) + key)


@kernel(inner=True)
def _keyed_hash(words: np.ndarray, place: int, size: int, key: int) -> int:
    """A 64-bit hash of at least eight bytes. Every word is mixed with what the key made of those before: whoever does not know
    the key finds no two texts of one hash. O(size / 8).
    """
    value = mix(key ^ U(size))
    last = place + size - 8
    if size >= MANY:  # four chains beside each other: a word need not wait for the one before
        second, third, fourth = value ^ U(1), value ^ U(2), value ^ U(3)
        while place + 24 < last:
            value = _stir(value, word_at(words, place), key)
            second = _stir(second, word_at(words, place + 8), key)
            third = _stir(third, word_at(words, place + 16), key)
            fourth = _stir(fourth, word_at(words, place + 24), key)
            place += 32
        value = _stir(_stir(_stir(value, second, key), third, key), fourth, key)
    while place < last:
        value = _stir(value, word_at(words, place), key)
        place += 8
    return _stir(value, word_at(words, last), key)  # type: ignore[no-any-return]


@kernel()
def add_cells(
    cells: np.ndarray, first: int, found: int, words: np.ndarray, places: np.ndarray, keys: np.ndarray, out: np.ndarray
) -> None:
    """Add to each record's number a keyed 64-bit hash of its fields in some columns (`places`, each with a key). O(fields).

    Records from `first` to `found` of a block. An empty field is a missing value, in quotes or not.
    """
    for p in range(places.size):
        column, key = places[p], keys[p]
        for row in range(first, found):
            begin, middle, end = cells[column, 3 * row], cells[column, 3 * row + 1], cells[column, 3 * row + 2]
            if end >= LONG:
                begin = _keyed_hash(words, place_of(end), size_of(end), key)
                end = end & ~LOW
            out[row - first] += _stir(_stir(mix(begin ^ key), middle, key), end, key)
