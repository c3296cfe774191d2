"""One number for the fields of a record that stay in the file, so that equal records are found without holding them."""

from __future__ import annotations

import numpy as np

from oboro.io.csv.kernels.cells import LONG, LOW, U, hash_of, mix, place_of, size_of
from oboro.kernels import kernel

__all__ = ["add_cells"]


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
                begin = hash_of(words, place_of(end), size_of(end))
                end = end & ~LOW
            out[row - first] += mix(mix(begin ^ key) + (middle * U(0xC2B2AE3D27D4EB4F) ^ end))
