"""Kernels for rendering codes as comma-separated text: quoting of values, then rows, eight bytes at a time."""

from __future__ import annotations

import numpy as np
from numba import carray  # type: ignore[attr-defined]

from oboro.io.formats.csv.kernels.cells import pointer
from oboro.kernels.jit import kernel

__all__ = ["ANYWHERE", "AT_ENDS", "quote_values", "quoted_sizes", "render"]


U = np.uint64
ANYWHERE, AT_ENDS = 1, 2  # where in a value a byte makes quotes necessary
# What `tables` says of a column: the addresses of its codes, of its dictionary's offsets and text, the width of a code,
# and the number of values.
CODES, OFFSETS, TEXT, WIDTH, ENTRIES = 0, 1, 2, 3, 4


@kernel()
def quoted_sizes(
    text: np.ndarray, offsets: np.ndarray, kinds: np.ndarray, quote: int, empty: bool, out: np.ndarray
) -> int:
    """Write the size of each value in bytes, quotes included; return the number of values that need quotes. O(bytes).

    `kinds` says for each byte where it makes quotes necessary; `empty` says whether an empty value needs them too.
    """
    count = 0
    for i in range(offsets.size - 1):
        start, end = offsets[i], offsets[i + 1]
        size = end - start
        must = empty if size == 0 else kinds[text[start]] == AT_ENDS or kinds[text[end - 1]] == AT_ENDS
        inner = 0
        for byte in text[start:end]:
            must |= kinds[byte] == ANYWHERE
            inner += byte == quote
        out[i] = size + inner + 2 if must else size
        count += must
    return count


@kernel()
def quote_values(text: np.ndarray, offsets: np.ndarray, places: np.ndarray, quote: int, out: np.ndarray) -> None:
    """Write each value at its place, quoted where there is room for quotes. O(bytes)."""
    for i in range(offsets.size - 1):
        at = places[i]
        quoted = places[i + 1] - at > offsets[i + 1] - offsets[i]
        if quoted:
            out[at] = quote
            at += 1
        for byte in text[offsets[i] : offsets[i + 1]]:
            out[at] = byte
            at += 1
            if quoted and byte == quote:
                out[at] = quote
                at += 1
        if quoted:
            out[at] = quote


@kernel(inner=True)
def part_of(words: np.ndarray, place: int, size: int) -> int:
    """The `size` ≤ 8 bytes at byte `place`; touches no word that holds none of them."""
    first, shift = U(place) >> U(3), (U(place) & U(7)) << U(3)
    second = first + U(shift + U(8 * size) > U(64))  # the same word again where one is enough: no branch to mispredict
    word = (words[first] >> shift) | ((words[second] << U(1)) << (U(63) - shift))
    return word & (~U(0) if size == 8 else (U(1) << U(8 * size)) - U(1))  # type: ignore[no-any-return]


@kernel(inner=True)
def gather(table: np.ndarray, codes: np.ndarray, first: int, column: int, cells: np.ndarray) -> None:
    """Look up some rows of one column: size << 32 | place of each value, and its first eight bytes.

    Column by column the look-ups do not wait for one another, and row by row they would.
    """
    offsets = carray(pointer(table[OFFSETS]), table[ENTRIES] + 1, np.int32)
    text = carray(pointer(table[TEXT]), (np.int64(offsets[table[ENTRIES]]) + 7) >> 3, np.uint64)
    for row in range(cells.shape[0]):
        code = codes[first + row]
        place = np.int64(offsets[code])
        size = np.int64(offsets[code + 1]) - place
        cells[row, 2 * column] = (U(size) << U(32)) | U(place)
        cells[row, 2 * column + 1] = part_of(text, place, min(size, 8)) if size else U(0)


@kernel(inner=True)
def gather_all(tables: np.ndarray, first: int, cells: np.ndarray) -> None:
    """`gather` for every column, whatever the width of its codes."""
    for column in range(tables.shape[0]):
        table = tables[column]
        end = first + cells.shape[0]
        if table[WIDTH] == 1:
            gather(table, carray(pointer(table[CODES]), end, np.uint8), first, column, cells)
        elif table[WIDTH] == 2:
            gather(table, carray(pointer(table[CODES]), end, np.uint16), first, column, cells)
        else:
            gather(table, carray(pointer(table[CODES]), end, np.uint32), first, column, cells)


@kernel()
def render(
    tables: np.ndarray,
    first: int,
    last: int,
    longest: int,
    delimiter: int,
    cells: np.ndarray,
    state: np.ndarray,
    out: np.ndarray,
) -> int:
    """Write the rows `first` … `last` as text; returns the row before which the room may not suffice (or `last`).

    `longest` is the most bytes that a row can take, `cells` room for some looked-up rows; `state[0]` becomes the bytes written.
    Bytes are gathered in a word, so that a short value costs one store. O(bytes).
    """
    columns = tables.shape[0]
    gathered, filled, index, row = U(0), U(0), 0, first
    while row < last:
        count = min(cells.shape[0], last - row, 8 * (out.size - index - 2) // longest)
        if count <= 0:
            break
        gather_all(tables, row, cells[:count])
        for i in range(count):
            for column in range(columns):
                where, word = cells[i, 2 * column], cells[i, 2 * column + 1]
                left = np.int64(where >> U(32))
                place = np.int64(where & U(0xFFFFFFFF))
                end = U(10) if column == columns - 1 else U(delimiter)
                while left >= 8:
                    out[index] = gathered | (word << filled)
                    index += 1
                    gathered = (word >> U(1)) >> (U(63) - filled)
                    left -= 8
                    place += 8
                    if left:
                        text = carray(pointer(tables[column, TEXT]), (place + left + 7) >> 3, np.uint64)
                        word = part_of(text, place, min(left, 8))
                word = (word if left else U(0)) | (end << U(8 * left))  # the last piece takes the delimiter with it
                gathered |= word << filled
                filled += U(8 * left + 8)
                if filled >= U(64):
                    out[index] = gathered
                    index += 1
                    filled -= U(64)
                    gathered = (word >> U(1)) >> (U(8 * left + 7) - filled)
        row += count
    out[index] = gathered
    state[0] = 8 * index + np.int64(filled >> U(3))
    return row
