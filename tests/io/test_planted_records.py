"""Records of a stranger: no two of them are taken for one, whatever they hold, by the numbers that stand for them."""

from __future__ import annotations

import numpy as np

from oboro.io.csv.kernels.cells import pack
from oboro.io.csv.kernels.fingerprinting import add_cells

MIDDLE = 0xC2B2AE3D27D4EB4F  # multiplied with the second word of a field once, without the key


def number_of(field: bytes, key: int) -> int:
    words = np.frombuffer(field + bytes(16 - len(field) % 8), dtype=np.uint64)
    cells = np.array([pack(words, 0, len(field))], dtype=np.uint64)
    out = np.zeros(1, dtype=np.uint64)
    add_cells(cells, 0, 1, words, np.array([0]), np.array([key], dtype=np.uint64), out)
    return int(out[0])


def test_a_planted_difference_does_not_cancel_out() -> None:
    """Flipping the highest bit of a word, and those two of the next that it reaches, left a multiplicative hash as it was."""
    rng = np.random.default_rng(3)
    for _ in range(50):
        field = bytearray(rng.integers(0, 256, 40, dtype=np.uint8).tobytes())
        other = bytearray(field)
        other[7] ^= 0x80
        other[15] ^= 0x80
        other[11] ^= 0x80
        key = int(rng.integers(0, 1 << 63))
        assert number_of(bytes(field), key) != number_of(bytes(other), key)


def test_a_third_word_does_not_undo_the_second() -> None:
    rng = np.random.default_rng(4)
    tried = 0
    while tried < 20:
        first, second, other = (int(one) for one in rng.integers(0, 1 << 63, 3))
        third = int(rng.integers(0, 1 << 56))
        twin = third ^ ((second * MIDDLE) & (2**64 - 1)) ^ ((other * MIDDLE) & (2**64 - 1))
        if twin >> 56:
            continue
        tried += 1
        fields = [np.array([first, a, b], dtype=np.uint64).tobytes()[:23] for a, b in ((second, third), (other, twin))]
        key = int(rng.integers(0, 1 << 63))
        assert number_of(fields[0], key) != number_of(fields[1], key)


def test_equal_fields_have_equal_numbers() -> None:
    for size in (0, 3, 8, 17, 23, 24, 31, 64, 200):
        assert number_of(b"x" * size, 5) == number_of(b"x" * size, 5)
        assert size == 0 or number_of(b"x" * size, 5) != number_of(b"x" * (size - 1) + b"y", 5)
