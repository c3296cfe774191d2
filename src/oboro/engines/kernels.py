"""Kernels of the engines: keyed 64-bit numbers of the texts of an Arrow array, to find and compare values without a copy."""

from __future__ import annotations

import numpy as np

from oboro.kernels.jit import kernel

__all__ = ["add_mixed", "number_texts"]


U = np.uint64


@kernel(inner=True)
def _mixed(value: int) -> int:
    value = (value ^ (value >> U(32))) * U(0xD6E8FEB86659FD93)
    value = (value ^ (value >> U(29))) * U(0xC4CEB9FE1A85EC53)
    return value ^ (value >> U(32))


@kernel()
def number_texts(data: np.ndarray, starts: np.ndarray, key: np.ndarray, out: np.ndarray) -> None:
    """Compute a 64-bit number of each text, from its bytes and a key: each eight bytes are mixed with those before. O(bytes).

    Whoever does not know the key finds no two texts of one number.
    """
    for i in range(starts.size - 1):
        begin, end = starts[i], starts[i + 1]
        value = _mixed(key[0] ^ U(end - begin))
        while begin < end:
            word, shift = U(0), U(0)
            for place in range(begin, min(begin + 8, end)):
                word |= U(data[place]) << shift
                shift += U(8)
            value = _mixed(_mixed(value ^ word) + key[1])
            begin += 8
        out[i] = value


@kernel()
def add_mixed(numbers: np.ndarray, key: np.ndarray) -> int:
    """The sum of the numbers, each mixed once more, modulo 2⁶⁴: the same for the same rows in any order. O(n)."""
    total = U(0)
    for i in range(numbers.size):
        total += _mixed(_mixed(numbers[i] ^ key[0]) + key[1])
    return total
