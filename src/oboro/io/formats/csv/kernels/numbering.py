"""Kernels for numbering the cells of a column by first appearance.

The distinct values of a column stand one after another in its `text`, from `offsets[code]` on: what Arrow needs in the end, so
nothing is copied then. `slots` is an open-addressing table over them, four words each: the cell (a long one with its place in
`text`) and code + 1, or 0 where it is free. Two slots are one line of the cache, so most values are found with one look.
A whole number of up to six digits, written without leading zeros, is not hashed where `direct` reaches it: `direct[number]` is
its code + 1.

A column of mostly different values is not looked up row by row, which would be a cache miss each: `slots` is empty, every row
gets a value of its own, and at the end equal ones are found part by part (`scatter`, `representatives`), each part small enough
for the cache.
"""

from __future__ import annotations

import numpy as np
from numba import carray  # type: ignore[attr-defined]

from oboro.io.formats.csv.kernels.cells import (
    LONG,
    LOW,
    U,
    hash_of,
    pack,
    place_of,
    pointer,
    same,
    size_of,
    spread,
    write,
)
from oboro.kernels.intrinsics import fetch
from oboro.kernels.jit import kernel

__all__ = ["encode_columns", "full", "pack_values", "rehash", "renumber", "representatives", "scatter", "whole"]


# What `tables` says of a column: addresses and sizes of its arrays, its place in a record, what it holds, where it is.
SLOTS, OFFSETS, TEXT, CODES, WIDTH, ROOM, ROWS = 0, 2, 4, 6, 7, 8, 9
PLACE, ROW, FOUND, HASHED, DIRECT, WORDS = 10, 11, 12, 14, 15, 17
DIGITS = 6  # of the whole numbers that are addressed directly
NUMBERS = 10**DIGITS
LARGE = 1 << 13  # words of a table that no longer fits the nearest cache
BATCH = 128  # rows that are prepared together


@kernel(inner=True)
def share(hashed: int, count: int) -> int:
    """Return the number of the part, of `count` equal ones, for a hash."""
    return ((hashed >> U(32)) * count) >> U(32)


@kernel()
def whole(first: int, third: int) -> int:
    """The whole number of up to `DIGITS` digits that a cell says in the shortest way, or `NUMBERS` where it says something else."""
    size = third >> U(56)
    zero = first & U(0xFF) == U(0x30)
    if size == 0 or size > U(DIGITS) or (zero and size > 1):
        return U(NUMBERS)
    # The last digit in the top byte, zeros before the first.
    digits = (first ^ U(0x3030303030303030)) << (U(64) - (size << U(3)))
    if (digits | (digits + U(0x7676767676767676))) & U(0x8080808080808080):
        return U(NUMBERS)
    pairs = (digits * U(10) + (digits >> U(8))) & U(0x00FF00FF00FF00FF)
    fours = (pairs * U(100) + (pairs >> U(16))) & U(0x0000FFFF0000FFFF)
    return (fours * U(10_000) + (fours >> U(32))) & U(0xFFFFFFFF)


@kernel(inner=True)
def prepare(
    cells: np.ndarray,
    begin: int,
    end: int,
    words: np.ndarray,
    slots: np.ndarray,
    known: np.ndarray,
    limit: int,
    starts: np.ndarray,
) -> None:
    """Say of some rows which number below `limit` they are, or `NUMBERS` + the slot they start at.

    What they will need of a large table is brought into the cache, all at once: waiting for one row's slot, then for the next
    one's, took twice as long. Long fields are hashed here and not while cutting, because a column's fields are alike and a
    record's are not.
    """
    lines = U(slots.size >> 3)
    large = slots.size >= LARGE
    hashed = 0
    for row in range(begin, end):
        third = cells[U(3 * row + 2)]
        number = whole(cells[U(3 * row)], third)
        if number >= limit:
            if third >= LONG:
                cells[U(3 * row)] = hash_of(words, place_of(third), size_of(third))
            slot = share(spread(cells[U(3 * row)], cells[U(3 * row + 1)], third), lines) << U(3)
            if large:
                fetch(slots, slot)
            number = U(NUMBERS) + slot
            hashed += 1
        starts[row - begin] = number
    if not large or hashed == 0:
        return
    size = U(slots.size)
    for i in range(end - begin):
        if starts[i] < U(NUMBERS):
            continue
        slot, first = starts[i] - U(NUMBERS), cells[U(3 * (begin + i))]
        while slots[slot + U(3)] and slots[slot] != first:
            slot = slot + U(4) if slot + U(4) < size else U(0)
        starts[i] = slot + U(NUMBERS)
        third = slots[slot + U(2)]
        if third >= LONG:  # its text may lie on two lines of the cache
            fetch(known, place_of(third) >> 3)
            fetch(known, (place_of(third) + size_of(third) - 1) >> 3)


@kernel(inner=True)
def encode(
    cells: np.ndarray,
    first: int,
    rows: int,
    words: np.ndarray,
    slots: np.ndarray,
    offsets: np.ndarray,
    known: np.ndarray,
    direct: np.ndarray,
    state: np.ndarray,
    out: np.ndarray,
) -> int:
    """Number a column's cells `first` … `rows` by first appearance into `out`; returns the row where room ran out, or `rows`.

    The distinct values are in `known`, a text seen as words, from byte `offsets[code]` on; `state[0]` says how many there are,
    `state[2]` how many of them are in `slots`. Without `slots`, every row gets a value of its own. O(rows) expected.
    """
    starts = np.empty(BATCH, dtype=np.uint64)
    slot, number = U(0), U(NUMBERS)
    found, hashed, size = state[0], state[2], U(slots.size)
    most = full(slots.size)
    row = first
    for begin in range(first, rows, BATCH):
        end = min(begin + BATCH, rows)
        if size:
            prepare(cells, begin, end, words, slots, known, U(direct.size), starts)
        while row < end:
            at = U(3 * row)
            first_word, second_word, third_word = cells[at], cells[at + U(1)], cells[at + U(2)]
            if size:
                # Written out, because an array that is passed on to a function is counted there and back for every row.
                number = starts[row - begin]
                if number < U(NUMBERS):
                    code = U(direct[number])
                else:
                    slot = number - U(NUMBERS)
                    code = slots[slot + U(3)]
                while code and number >= U(NUMBERS):
                    other = slots[slot + U(2)]
                    if slots[slot] == first_word and slots[slot + U(1)] == second_word:
                        if other == third_word and third_word < LONG:
                            break
                        if other >> U(32) == third_word >> U(32) and third_word >= LONG:  # noqa: SIM102
                            if same(words, place_of(third_word), known, place_of(other), size_of(third_word)):
                                break
                    slot = slot + U(4) if slot + U(4) < size else U(0)
                    code = slots[slot + U(3)]
                if code:
                    out[row] = code - U(1)
                    row += 1
                    continue
            place = np.int64(offsets[found])
            after = place + size_of(third_word)
            crowded = size and number >= U(NUMBERS) and hashed == most
            if found + 1 == offsets.size or after + 16 > 8 * known.size or crowded:
                state[0], state[2] = found, hashed
                return row
            write(cells, at, words, place, known)
            out[row] = found
            found += 1
            offsets[found] = after
            if size and number < U(NUMBERS):
                direct[number] = found
            elif size:
                hashed += 1
                slots[slot] = first_word
                slots[slot + U(1)] = second_word
                slots[slot + U(2)] = (third_word & ~LOW) | U(place) if third_word >= LONG else third_word
                slots[slot + U(3)] = U(found)
            row += 1
    state[0], state[2] = found, hashed
    return rows


@kernel()
def pack_values(offsets: np.ndarray, known: np.ndarray, count: int, hashed: bool, out: np.ndarray) -> None:
    """The cells of the first `count` values, long ones with their hash if it is not made later (`encode`). O(bytes)."""
    for code in range(count):
        place = np.int64(offsets[code])
        size = np.int64(offsets[code + 1]) - place
        first, second, third = pack(known, place, size)
        at = U(3 * code)
        out[at] = hash_of(known, place, size) if hashed and third >= LONG else first
        out[at + U(1)] = second
        out[at + U(2)] = third


@kernel()
def full(words: int) -> int:
    """Return the capacity of a table of so many words: a quarter of its slots stays free, so that most are found at once."""
    return (words >> 4) * 3


@kernel()
def rehash(cells: np.ndarray, found: int, slots: np.ndarray, direct: np.ndarray) -> int:
    """Enter the cells of `found` values, which all differ, into empty tables; returns how many are in `slots`. O(found)."""
    lines = U(slots.size >> 3)
    hashed = 0
    for code in range(found):
        at = U(3 * code)
        number = whole(cells[at], cells[at + U(2)])
        if number < U(direct.size):
            direct[number] = code + 1
            continue
        hashed += 1
        slot = share(spread(cells[at], cells[at + U(1)], cells[at + U(2)]), lines) << U(3)
        while slots[slot + U(3)]:
            slot = slot + U(4) if slot + U(4) < U(slots.size) else U(0)
        slots[slot], slots[slot + U(1)], slots[slot + U(2)] = cells[at], cells[at + U(1)], cells[at + U(2)]
        slots[slot + U(3)] = U(code + 1)
    return hashed


@kernel()
def scatter(cells: np.ndarray, count: int, ends: np.ndarray, out: np.ndarray) -> None:
    """Sort `count` cells into parts by their hash, in their order, as slots: part p is `ends[p − 1]` … `ends[p]`. O(count)."""
    parts = U(ends.size)
    for code in range(count):
        at = U(3 * code)
        ends[share(spread(cells[at], cells[at + U(1)], cells[at + U(2)]), parts)] += 1
    total = 0
    for part in range(ends.size):
        total += ends[part]
        ends[part] = total - ends[part]
    for code in range(count):
        at = U(3 * code)
        first, second, third = cells[at], cells[at + U(1)], cells[at + U(2)]
        part = share(spread(first, second, third), parts)
        target = U(4 * ends[part])
        out[target], out[target + U(1)], out[target + U(2)], out[target + U(3)] = first, second, third, U(code + 1)
        ends[part] += 1


@kernel()
def representatives(
    records: np.ndarray, ends: np.ndarray, known: np.ndarray, slots: np.ndarray, out: np.ndarray
) -> None:
    """For each value the first one that equals it. `slots` has room for the largest part. O(values) expected."""
    size, lines = U(slots.size), U(slots.size >> 3)
    begin = 0
    for part in range(ends.size):
        slots[:] = 0
        for i in range(begin, ends[part]):
            at = U(4 * i)
            first, second, third, number = records[at], records[at + U(1)], records[at + U(2)], records[at + U(3)]
            # The upper half of the hash chose the part, so the lower half chooses the slot.
            slot = share(spread(first, second, third) << U(32), lines) << U(3)
            while slots[slot + U(3)]:
                other = slots[slot + U(2)]
                if slots[slot] == first and slots[slot + U(1)] == second:
                    if other == third and third < LONG:
                        break
                    if other >> U(32) == third >> U(32) and third >= LONG:  # noqa: SIM102
                        if same(known, place_of(third), known, place_of(other), size_of(third)):
                            break
                slot = slot + U(4) if slot + U(4) < size else U(0)
            if slots[slot + U(3)] == 0:
                slots[slot], slots[slot + U(1)], slots[slot + U(2)], slots[slot + U(3)] = first, second, third, number
            out[number - U(1)] = slots[slot + U(3)] - U(1)
        begin = ends[part]


@kernel()
def renumber(count: int, offsets: np.ndarray, text: np.ndarray, out: np.ndarray) -> int:
    """Turn representatives into codes by first appearance and close the gaps in the text; returns how many values are left."""
    kept = 0
    for code in range(count):
        if out[code] == code:
            place, size = np.int64(offsets[code]), np.int64(offsets[code + 1]) - np.int64(offsets[code])
            target = np.int64(offsets[kept])
            if target < place:
                for i in range(size):
                    text[target + i] = text[place + i]
            out[code] = kept
            kept += 1
            offsets[kept] = target + size
        else:
            out[code] = out[out[code]]
    return kept


@kernel(inner=True)
def append(codes: np.ndarray, first: int, table: np.ndarray) -> None:
    """Write the codes from `first` on behind those that a column has, with its width."""
    begin, count = table[ROWS], codes.size - first
    if table[WIDTH] == 1:
        bytes1 = carray(pointer(table[CODES]), begin + count, np.uint8)
        for i in range(count):
            bytes1[begin + i] = codes[first + i]
    elif table[WIDTH] == 2:
        bytes2 = carray(pointer(table[CODES]), begin + count, np.uint16)
        for i in range(count):
            bytes2[begin + i] = codes[first + i]
    else:
        bytes4 = carray(pointer(table[CODES]), begin + count, np.uint32)
        for i in range(count):
            bytes4[begin + i] = codes[first + i]
    table[ROWS] += count


@kernel()
def encode_columns(
    cells: np.ndarray,
    first: int,
    rows: int,
    words: np.ndarray,
    tables: np.ndarray,
    begin: int,
    end: int,
    out: np.ndarray,
) -> int:
    """Number and append the cells of the columns of `tables[begin:end]`; returns the first that needs more room, or `end`.

    One call for many columns, because a thread that returns to Python waits for the others. `tables` says where a column's arrays
    are: they have different sizes and grow, so they cannot be one array. Called again after growing, it goes on where it was;
    `out` keeps what was done.
    """
    for column in range(begin, end):
        table = tables[column]
        slots = carray(pointer(table[SLOTS]), table[SLOTS + 1], np.uint64)
        offsets = carray(pointer(table[OFFSETS]), table[OFFSETS + 1], np.uint32)
        known = carray(pointer(table[TEXT]), table[TEXT + 1] >> 3, np.uint64)
        direct = carray(pointer(table[DIRECT]), table[DIRECT + 1], np.uint32)
        start = max(first, table[ROW])
        table[ROW] = encode(cells[table[PLACE]], start, rows, words, slots, offsets, known, direct, table[FOUND:], out)
        fits = table[FOUND] <= 1 << 8 * table[WIDTH] and table[ROWS] + rows - first <= table[ROOM]
        if table[ROW] < rows or not fits:
            return column
        append(out, first, table)
        table[ROW] = 0
    return end
