"""Kernels for cutting comma-separated text into cells."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic

from oboro.io.formats.csv.kernels.cells import U, ir, pack
from oboro.kernels.intrinsics import word_at
from oboro.kernels.jit import kernel

__all__ = ["marks_at", "ones", "tokenize", "trailing_zeros"]


PLAIN, QUOTE, DELIMITER, LF, CR, NUL = 0, 1, 2, 3, 4, 5  # what a byte can be; a field ends at DELIMITER and above
UNEXPECTED, UNCLOSED = 6, 7  # what else can end a field: text behind its closing quote, the file inside quotes
SPACE = 32
REPEAT = U(0x0101010101010101)  # times a byte: that byte eight times


@intrinsic  # type: ignore[misc]
def trailing_zeros(typing: Any, word: Any) -> Any:
    """Count the trailing zero bits of a word other than 0."""

    def code(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], cgutils.true_bit)

    return types.uint64(types.uint64), code


@intrinsic  # type: ignore[misc]
def marks_at(typing: Any, words: Any, place: Any, mark: Any) -> Any:
    """Of the 64 bytes from byte `place` on, a bit for each that is the mark or below 14 (line breaks, NUL, some others)."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        first = builder.bitcast(array.data, cgutils.voidptr_t)
        many = ir.VectorType(ir.IntType(8), 64)
        found = builder.load(builder.bitcast(builder.gep(first, [arguments[1]]), many.as_pointer()), align=1)
        one = builder.insert_element(ir.Constant(many, ir.Undefined), arguments[2], ir.IntType(32)(0))
        marks = builder.shuffle_vector(
            one, ir.Constant(many, ir.Undefined), ir.Constant(ir.VectorType(ir.IntType(32), 64), [0] * 64)
        )
        low = builder.icmp_unsigned("<", found, ir.Constant(many, [14] * 64))
        return builder.bitcast(builder.or_(low, builder.icmp_unsigned("==", found, marks)), ir.IntType(64))

    return types.uint64(words, types.int64, types.uint8), code


@kernel(inner=True)
def ones(word: int) -> int:
    """Count the bits of a word that are set."""
    word = word - ((word >> U(1)) & U(0x5555555555555555))
    word = (word & U(0x3333333333333333)) + ((word >> U(2)) & U(0x3333333333333333))
    word = (word + (word >> U(4))) & U(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * U(0x0101010101010101)) >> U(56))


@kernel(inner=True)
def run_end(buffer: np.ndarray, place: int, fields: int, quote: int, delimiter: int) -> int:
    """Find the end of the fields that start at `place`, a delimiter or a line break; −1 if a quote or a byte below 14 is there.

    64 bytes are looked at together: nothing foretells where the next field ends, but how many end here is counted at once.
    A line break stands behind the text. O(bytes).
    """
    before = 0  # fields that have ended
    while True:
        low: int = marks_at(buffer, place, np.uint8(0))
        cuts = marks_at(buffer, place, np.uint8(delimiter)) & ~low
        stops = low | marks_at(buffer, place, np.uint8(quote))
        if stops:
            cuts &= (stops & (~stops + U(1))) - U(1)  # those before the first stop
        here = ones(cuts)
        if before + here >= fields:
            for _ in range(fields - before - 1):
                cuts &= cuts - U(1)
            return place + np.int64(trailing_zeros(cuts))
        before += here
        if stops:
            place += np.int64(trailing_zeros(stops))
            return place if before == fields - 1 and (buffer[place] == 10 or buffer[place] == 13) else -1
        place += 64


@kernel(inner=True)
def next_mark(words: np.ndarray, place: int, mark: int) -> int:
    """The first byte from `place` on that is the mark or below 14 (line breaks, NUL, some others), eight bytes at a time.

    `mark` is the byte eight times over. There must be such a byte: behind the text stands a line break.
    """
    while True:
        word: int = word_at(words, place)
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
    """Find the closing quote of the text at `place` (or `end`, or a NUL), whether quotes are doubled, and count line breaks."""
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
def join(buffer: np.ndarray, start: int, stop: int, quote: int, doubled: bool, kinds: np.ndarray, out: int) -> int:
    """Write a field to `out` in the same buffer in the one way that all texts of its value share; returns where it ends.

    Without quotes (`quote` is 0 where it had none), unless it holds a delimiter or a line break or begins with a quote: then as
    it stands. So fields that are written behind each other are equal only where each is. Never longer than it was. O(bytes).
    """
    must = quote != 0 and start < stop and buffer[start] == quote
    for place in range(start, stop if quote != 0 else start):
        must |= kinds[buffer[place]] >= DELIMITER
    if doubled and not must:
        return out + undouble(buffer, start, stop, quote, out)
    for place in range(start - must, stop + must):
        buffer[out] = buffer[place]
        out += 1
    return out


@kernel(inner=True)
def after_line(buffer: np.ndarray, place: int, end: int) -> int:
    """The place after the line break (LF, CR LF or CR) at `place`."""
    pair = buffer[place] == 13 and place + 1 < end and buffer[place + 1] == 10
    return min(place + (2 if pair else 1), end)


@kernel(bare=True)
def tokenize(
    buffer: np.ndarray,
    words: np.ndarray,
    end: int,
    last: bool,
    kinds: np.ndarray,
    space: bool,
    raw: bool,
    places: np.ndarray,
    runs: np.ndarray,
    state: np.ndarray,
    cells: np.ndarray,
) -> int:
    """Cut `buffer[state[0]:end]` into records and pack fields into `cells[places[column], 3 · row]`; returns how many records.

    A column without a place (−1) is only cut. Where `runs[column]` is not 0, so many fields from this one on are packed as one, in
    the place of the first: their text with the delimiters between them, each in the one way that all texts of its value share.

    `words` is the same buffer seen as words; its second half takes quoted fields without their doubled quotes. `last` says
    that the text ends at `end`; else a record that reaches it is left for the next call. `space` skips spaces before a field.
    `raw` keeps the quotes of a field, so that quoted and unquoted text are two.
    `state`: bytes consumed, lines before them; then for a bad record what is wrong, its line, its number of fields. O(bytes).
    """
    columns, capacity = places.size, cells.shape[1]
    side = buffer.size >> 1
    delimiter = quote = np.uint8(0)
    for byte in range(kinds.size):
        if kinds[byte] == DELIMITER:
            delimiter = np.uint8(byte)
        if kinds[byte] == QUOTE:
            quote = np.uint8(byte)
    buffer[end] = 10  # a fence, so that the inner loop need not ask where the text ends
    place, line, row = state[0], state[1], 0
    base: int = place
    marks: int = marks_at(words, place, delimiter)  # what is ahead, of the 64 bytes from `base` on
    while 3 * row < capacity and place < end:
        breaks = 1
        column = left = joined = run_at = 0
        kind = kinds[buffer[place]]
        blank = columns > 1 and kind in (LF, CR)
        while not blank:
            if space:
                while buffer[place] == SPACE:
                    place += 1
            start = place
            at, run = (places[U(column)], runs[U(column)]) if column < columns else (-1, 0)
            plain = run_end(buffer, place, run, quote, delimiter) if run else -1
            quoted = kinds[buffer[U(place)]] == QUOTE
            doubled = False
            if run and plain < 0 and at >= 0:  # its fields are written behind each other, to be packed with the last
                left, joined, run_at = run, side, at
            if plain >= 0:
                place, size = plain, plain - start
                column += run - 1
                kind = kinds[buffer[place]]
                base, marks = place + 1, marks_at(words, place + 1, delimiter)
            elif quoted:
                start += 1
                place, doubled, more = closing_quote(buffer, words, start, end, kinds, U(buffer[start - 1]) * REPEAT)
                breaks += more
                size = place - start
                if doubled and not raw and not left:
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
                base, marks = place + 1, marks_at(words, place + 1, delimiter)
            else:
                if base + 64 <= place:
                    base, marks = place, marks_at(words, place, delimiter)
                marks &= ~U(0) << U(max(place - base, 0))
                kind = np.uint8(PLAIN)
                while kind < DELIMITER:
                    while marks == U(0):
                        base += 64
                        marks = marks_at(words, base, delimiter)
                    place = base + np.int64(trailing_zeros(marks))
                    marks &= marks - U(1)
                    kind = kinds[buffer[U(place)]]
                size = place - start
            if left:
                if run == 0:
                    buffer[side] = delimiter
                    side += 1
                side = join(buffer, start, start + size, quote if quoted else 0, doubled, kinds, side)
                left -= 1
                at, start, size = -1 if left else run_at, joined, side - joined
            if at >= 0:
                cell = pack(words, start, size)
                cells[U(at), U(3 * row)] = cell[0]
                cells[U(at), U(3 * row + 1)] = cell[1]
                cells[U(at), U(3 * row + 2)] = cell[2]
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
