"""Cells: fields of text as three 64-bit words, so that equal cells mean equal values and most work never returns
to the text.

- up to 23 bytes: the bytes themselves, zeros behind them, and in the top byte of the third word how many there are;
- longer: a hash, zero, and `LONG` | length << 32 | where the bytes start in the buffer. A hash is no identity: bytes
  are compared.

A call of a kernel serves many columns, whose arrays have different types and grow while it runs. So the kernels of
this package take the arrays of a column as *addresses* in a table of whole numbers (`pointer`), which nothing checks.
They stay safe on any input by four rules:

- *The arrays outlive the call.* Whoever fills the table holds them: `ColumnCoder`, `CsvRows`, `CopyThrough`. An array
  that is
  exchanged for a longer one is entered anew before the next call (`ColumnCoder._tell`).
- *Sizes stand beside addresses, and the kernel asks before it writes.* Where the next value, code or record would not
  fit, it
  stops and returns the row; Python makes room and calls again. No size comes from the file.
- *Text is read in words, never beyond what is ours.* Behind every text there are `PAD` bytes of our own, as many as
  the last
  field's words can reach; places in it are those that the cutter found, in the same buffer.
- *A code or a row that is looked up exists.* Codes are our own or, in an Arrow dictionary from outside, validated
  before
  (`Column.encode`). A file that is read a second time may have changed: one record more than the first time ends the
  call
  (`copying.CHANGED`) before its row is looked up.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic

from oboro.kernels.intrinsics import word_at
from oboro.kernels.jit import kernel

__all__ = [
    "LONG",
    "LOW",
    "U",
    "hash_of",
    "ir",
    "mix",
    "pack",
    "place_of",
    "pointer",
    "same",
    "size_of",
    "spread",
    "write",
]


U = np.uint64
ir: Any = cgutils.ir  # type: ignore[attr-defined]
LONG = U(0xFF << 56)
LOW = U(0xFFFFFFFF)


@intrinsic  # type: ignore[misc]
def pointer(typing: Any, address: Any) -> Any:
    """An address as a pointer."""

    def code(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(address), code


@kernel(inner=True)
def mix(word: int) -> int:
    """Spread a word's bits over all 64 (two rounds of multiply and fold)."""
    word = word * U(0x9E3779B97F4A7C15)
    word ^= word >> U(32)
    word = word * U(0xD6E8FEB86659FD93)
    return word ^ (word >> U(29))


@kernel()
def hash_of(words: np.ndarray, place: int, size: int) -> int:
    """A 64-bit hash of at least eight bytes; the last eight are taken whole, overlapping those before. O(size / 8)."""
    value = U(size)
    last = place + size - 8
    while place < last:
        value = (value ^ word_at(words, place)) * U(0x9E3779B97F4A7C15)
        value ^= value >> U(32)
        place += 8
    value = (value ^ word_at(words, last)) * U(0x9E3779B97F4A7C15)
    return value ^ (value >> U(32))  # type: ignore[no-any-return]


@kernel()
def pack(words: np.ndarray, start: int, size: int) -> tuple[int, int, int]:
    """The cell of the `size` bytes that start at `start`; a long one still without its hash."""
    if size < 8:
        return word_at(words, start) & first_bytes(size), U(0), U(size) << U(56)
    if size < 16:
        return word_at(words, start), word_at(words, start + 8) & first_bytes(size - 8), U(size) << U(56)
    if size < 24:
        third = word_at(words, start + 16) & first_bytes(size - 16)
        return word_at(words, start), word_at(words, start + 8), third | (U(size) << U(56))
    return U(0), U(0), LONG | (U(size) << U(32)) | U(start)


@kernel(inner=True)
def first_bytes(size: int) -> int:
    """A mask of the first `size` < 8 bytes of a word."""
    return (U(1) << U(8 * size)) - U(1)


@kernel(inner=True)
def spread(first: int, second: int, third: int) -> int:
    """The hash of a cell; where a long one starts is not part of it."""
    end = third & ~LOW if third >= LONG else third
    return mix(first ^ (second * U(0xC2B2AE3D27D4EB4F)) ^ (end * U(0x165667B19E3779F9)))


@kernel(inner=True)
def place_of(third: int) -> int:
    """Return the start of a long field in its text."""
    return np.int64(third & LOW)


@kernel()
def size_of(third: int) -> int:
    """Return the number of bytes of a field."""
    return np.int64((third >> U(32)) & U(0xFFFFFF) if third >= LONG else third >> U(56))


@kernel(inner=True)
def same(words: np.ndarray, place: int, others: np.ndarray, other: int, size: int) -> bool:
    """Return whether two long texts of the same size are equal."""
    last = place + size - 8
    if word_at(words, last) != word_at(others, other + size - 8):
        return False
    while place < last:
        if word_at(words, place) != word_at(others, other):
            return False
        place += 8
        other += 8
    return True


@kernel(inner=True)
def write(cells: np.ndarray, at: int, words: np.ndarray, place: int, out: np.ndarray) -> None:
    """Write the bytes of a cell at byte `place` of a text seen as words; up to eight bytes behind them change too."""
    third = cells[at + U(2)]
    start = place_of(third)
    index, shift = U(place) >> U(3), (U(place) & U(7)) << U(3)
    for i in range((size_of(third) + 7) >> 3):
        word = word_at(words, start + 8 * i) if third >= LONG else cells[at + U(i)]
        out[index] = (out[index] & ((U(1) << shift) - U(1))) | (word << shift)
        index += U(1)
        out[index] = (word >> U(1)) >> (U(63) - shift)
