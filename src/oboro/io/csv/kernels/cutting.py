"""Comma-separated text cut into cells."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic

from oboro.io.csv.kernels.cells import U, pack, word_at
from oboro.kernels import kernel

__all__ = ["tokenize"]

PLAIN, QUOTE, DELIMITER, LF, CR, NUL = 0, 1, 2, 3, 4, 5  # what a byte can be; a field ends at DELIMITER and above
UNEXPECTED, UNCLOSED = 6, 7  # what else can end a field: text behind its closing quote, the file inside quotes
SPACE = 32
REPEAT = U(0x0101010101010101)  # times a byte: that byte eight times


@intrinsic  # type: ignore[misc]
def trailing_zeros(typing: Any, word: Any) -> Any:
    """How many zero bits a word other than 0 ends in."""

    def code(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], cgutils.true_bit)

    return types.uint64(types.uint64), code


@kernel(inner=True)
def next_mark(words: np.ndarray, place: int, mark: int) -> int:
    """The first byte from `place` on that is the mark or below 14 (line breaks, NUL, some others), eight bytes at a time.

    `mark` is the byte eight times over. There must be such a byte: behind the text stands a line break.
    """
    while True:
        word = word_at(words, place)
        other = word ^ mark
        low = ((word - U(0x0E0E0E0E0E0E0E0E)) & ~word) | ((other - U(0x0101010101010101)) & ~other)
        low &= U(0x8080808080808080)
        if low:
            return place + np.int64(trailing_zeros(low) >> U(3))
        place += 8


@kernel(inner=True)
def closing_quote(
    buffer: np.ndarray, words: np.ndarray, place: int, end: int, kinds: np.ndarray, quote: int
) -> tuple[int, bool, int]:
    """Where the quoted text that starts at `place` is closed (or `end`, or a NUL), whether quotes are doubled, line breaks."""
    doubled = False
    lines = 0
    while True:
        place = next_mark(words, place, quote)
        if place >= end:
            return end, doubled, lines
        kind = kinds[buffer[place]]
        if kind == QUOTE:
            if place + 1 == end or kinds[buffer[place + 1]] != QUOTE:
                break
            doubled = True
            place += 1
        elif kind == CR or (kind == LF and buffer[place - 1] != 13):
            lines += 1
        elif kind == NUL:
            break
        place += 1
    return place, doubled, lines


@kernel(inner=True)
def undouble(buffer: np.ndarray, start: int, stop: int, quote: int, out: int) -> int:
    """Copy `buffer[start:stop]` to `out` in the same buffer with each doubled quote once; returns its size."""
    begin = out
    while start < stop:
        buffer[out] = buffer[start]
        start += 2 if buffer[start] == quote else 1
        out += 1
    return out - begin


@kernel(inner=True)
def after_line(buffer: np.ndarray, place: int, end: int) -> int:
    """The place after the line break (LF, CR LF or CR) at `place`."""
    pair = buffer[place] == 13 and place + 1 < end and buffer[place + 1] == 10
    return min(place + (2 if pair else 1), end)


@kernel()
def tokenize(
    buffer: np.ndarray,
    words: np.ndarray,
    end: int,
    last: bool,
    kinds: np.ndarray,
    space: bool,
    raw: bool,
    state: np.ndarray,
    cells: np.ndarray,
) -> int:
    """Cut `buffer[state[0]:end]` into records and pack their fields into `cells[column, 3 · row]`; returns how many records.

    `words` is the same buffer seen as words; its second half takes quoted fields without their doubled quotes. `last` says
    that the text ends at `end`; else a record that reaches it is left for the next call. `space` skips spaces before a field.
    `raw` keeps the quotes of a field, so that quoted and unquoted text are two.
    `state`: bytes consumed, lines before them; then for a bad record what is wrong, its line, its number of fields. O(bytes).
    """
    columns, capacity = cells.shape
    side = buffer.size >> 1
    mark = U(np.argmax(kinds == DELIMITER)) * REPEAT
    buffer[end] = 10  # a fence, so that the inner loop need not ask where the text ends
    place, line, row = state[0], state[1], 0
    while 3 * row < capacity and place < end:
        breaks = 1
        column = 0
        kind = kinds[buffer[place]]
        blank = columns > 1 and kind in (LF, CR)
        while not blank:
            if space:
                while buffer[place] == SPACE:
                    place += 1
            start = place
            if kinds[buffer[place]] == QUOTE:
                start += 1
                place, doubled, more = closing_quote(buffer, words, start, end, kinds, U(buffer[start - 1]) * REPEAT)
                breaks += more
                size = place - start
                if doubled and not raw:
                    size = undouble(buffer, start, place, buffer[start - 1], side)
                    start = side
                    side += size
                kind = kinds[buffer[place]]
                if place < end and kind == QUOTE:
                    place += 1
                    kind = kinds[buffer[place]]
                    if kind < DELIMITER:
                        kind = UNEXPECTED
                    if raw:
                        start -= 1
                        size += 2
                elif last and place == end:
                    kind = UNCLOSED
            else:
                place = next_mark(words, place, mark)
                while kinds[buffer[U(place)]] < DELIMITER:
                    place = next_mark(words, place + 1, mark)
                kind = kinds[buffer[place]]
                size = place - start
            if column < columns:
                cell = pack(words, start, size)
                cells[U(column), U(3 * row)] = cell[0]
                cells[U(column), U(3 * row + 1)] = cell[1]
                cells[U(column), U(3 * row + 2)] = cell[2]
            column += 1
            if kind != DELIMITER:
                break
            place += 1
        if not last and place + (kind == CR) >= end:  # the record may go on
            break
        if kind >= NUL or (column != columns and not blank):
            state[2], state[3], state[4] = kind, line + 1, column
            break
        place = after_line(buffer, place, end)
        line += breaks
        row += not blank
        state[0], state[1] = place, line
    return row
