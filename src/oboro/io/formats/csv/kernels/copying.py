"""Kernels for copying comma-separated text: some fields are replaced or dropped, the others are copied
unchanged.

Neighbouring fields that stay are copied together, delimiters included, so a wide table costs little more than finding
the ends of its fields. What is written is what would be written if every field had been read and written: quotes only
where they must be.
"""

from __future__ import annotations

import numpy as np
from numba import carray  # type: ignore[attr-defined]

from oboro.io.formats.csv.kernels.cells import pointer
from oboro.io.formats.csv.kernels.cutting import marks_at, ones, trailing_zeros
from oboro.io.formats.csv.kernels.rendering import AT_ENDS, CODES, ENTRIES, OFFSETS, TEXT, WIDTH
from oboro.kernels.jit import kernel

__all__ = ["CHANGED", "DONE", "FULL", "LEAVE", "PASS", "copy_records"]


U = np.uint64
PASS, LEAVE = -1, -2  # what becomes of a field, beside the number of the table that it is looked up in
DONE, FULL, CHANGED = 0, 1, 2  # how a call ends: all done, no room for the next record, the text is not what it was
PLACE, RECORD, TAKEN, WRITTEN = 0, 1, 2, 3  # what `state` says: bytes read, records read, records taken, bytes written
LF, CR, SPACE = 10, 13, 32
# What `kinds` says of a byte: it ends a field, it makes quotes necessary wherever it stands.
ENDS, MUST = 2, 1


@kernel(inner=True)
def label(table: np.ndarray, row: int) -> tuple[int, int]:
    """Return the start and the end of the text of a row's value."""
    if table[WIDTH] == 1:
        code = np.int64(carray(pointer(table[CODES]), row + 1, np.uint8)[row])
    elif table[WIDTH] == 2:
        code = np.int64(carray(pointer(table[CODES]), row + 1, np.uint16)[row])
    else:
        code = np.int64(carray(pointer(table[CODES]), row + 1, np.uint32)[row])
    offsets = carray(pointer(table[OFFSETS]), table[ENTRIES] + 1, np.int32)
    return np.int64(offsets[code]), np.int64(offsets[code + 1])


@kernel(inner=True)
def copy(text: np.ndarray, start: int, end: int, out: np.ndarray, at: int) -> int:
    """Write `text[start:end]` at a place; returns where it ends."""
    for i in range(end - start):
        out[U(at + i)] = text[U(start + i)]
    return at + end - start


@kernel(inner=True)
def quote_into(text: np.ndarray, start: int, end: int, quote: int, out: np.ndarray, at: int) -> int:
    """Write `text[start:end]` in quotes, its own quotes doubled; returns where it ends."""
    out[at] = quote
    at += 1
    for i in range(start, end):
        out[at] = text[i]
        at += 1
        if text[i] == quote:
            out[at] = quote
            at += 1
    out[at] = quote
    return at + 1


@kernel(inner=True)
def closing(text: np.ndarray, place: int, end: int, quote: int, kinds: np.ndarray) -> tuple[int, int]:
    """Find the closing quote of the text at `place` (or `end`), and whether the text needs its quotes."""
    must = 0
    while place < end:
        if text[place] == quote:
            if place + 1 == end or text[place + 1] != quote:
                break
            place += 1
        must |= kinds[text[place]]
        place += 1
    return place, must & MUST


@kernel(inner=True)
def plain_end(text: np.ndarray, place: int, fields: int, quote: int, delimiter: int) -> int:
    """Find the end of the line whose last `fields` start at `place`, if all can be copied unchanged; else −1.

    That is so where none has a quote, a byte below 14, or a space at an end. 64 bytes are looked at together: field by field it
    took four times as long, since nothing foretells where a field ends. A line break stands behind the text. O(bytes).
    """
    edge, spaced = U(1), U(0)  # whether the byte before ends a field, whether it is a space
    inner = 0  # delimiters so far
    while True:
        low: int = marks_at(text, place, np.uint8(0))
        cuts = marks_at(text, place, np.uint8(delimiter)) & ~low
        spaces = marks_at(text, place, np.uint8(SPACE)) & ~low
        stops = low | marks_at(text, place, np.uint8(quote))
        if stops:
            before = (stops & (~stops + U(1))) - U(1)  # all bits below the first stop
            cuts, spaces = cuts & before, spaces & before
            ends = cuts | (before + U(1))
        else:
            ends = cuts
        if (spaces & ((cuts << U(1)) | edge | (ends >> U(1)))) | (spaced & ends):
            return -1
        inner += ones(cuts)
        if stops:
            place += np.int64(trailing_zeros(stops))
            return place if inner == fields - 1 and (text[place] == LF or text[place] == CR) else -1
        edge, spaced = cuts >> U(63), spaces >> U(63)
        place += 64


@kernel()
def copy_records(
    text: np.ndarray,
    end: int,
    records: int,
    header: int,
    kinds: np.ndarray,
    edges: np.ndarray,
    marks: np.ndarray,
    plan: np.ndarray,
    tables: np.ndarray,
    first: int,
    kept: np.ndarray,
    every: bool,
    lengths: np.ndarray,
    state: np.ndarray,
    out: np.ndarray,
) -> int:
    """Go on with the records of `text[:end]` where `state` says; returns DONE, FULL or CHANGED.

    There must be `records` of them: one more would be looked up where no row is. `header` records come first and are passed over.
    `plan` says for each field PASS, LEAVE or the number of its table in `tables`; the n-th record that stays is looked up in row
    first + n, and its bytes are counted in `lengths[n]`, unless that is empty. If not `every` record stays, those do whose numbers
    are in `kept` (ascending).
    `marks`: quote, delimiter in, delimiter out, whether spaces before a field go, whether one column is written. `text` has
    room for 64 bytes behind its end. O(bytes).
    """
    quote, between, space, alone = marks[0], marks[2], marks[3], marks[4]
    same = marks[1] == between
    columns = plan.size
    rest = columns  # where those columns begin that pass, up to the last
    while rest > 0 and plan[rest - 1] == PASS:
        rest -= 1
    if not same or space or alone or between < 14:
        rest = columns  # they are looked at one by one
    text[end] = LF  # a fence, so that the inner loop need not ask where the text ends
    place, record, taken, at = state[PLACE], state[RECORD], state[TAKEN], 0
    state[WRITTEN] = 0
    while place < end:
        if columns > 1 and (text[place] == LF or text[place] == CR):
            place += 1
            continue
        if record == records:
            return CHANGED
        number = record - header
        take = number >= 0 and (every or (taken < kept.size and kept[taken] == number))
        row = first + taken
        opening = at
        run, stop, fields = -1, -1, 0  # the fields that wait to be copied together: text[run:stop]
        for column in range(columns):
            if space:
                while text[place] == SPACE:
                    place += 1
            start = place
            quoted = text[place] == quote and place < end
            plain = plain_end(text, place, columns - column, quote, between) if column == rest else -1
            if plain >= 0:
                place, must, inner, last = plain, 0, start, plain
            elif quoted:
                place, must = closing(text, place + 1, end, quote, kinds)
                inner, last = start + 1, place
                place += 1
                if place > end or kinds[text[place]] < ENDS:
                    return CHANGED
            else:
                must = 0
                kind = kinds[text[U(place)]]
                while kind < ENDS:
                    must |= kind
                    place += 1
                    kind = kinds[text[U(place)]]
                inner, last = start, place
            if inner < last:
                must |= (edges[text[inner]] == AT_ENDS) | (edges[text[last - 1]] == AT_ENDS)
            else:
                must |= alone
            if take and plan[column] != LEAVE:
                whole = plan[column] == PASS and (must != 0) == quoted
                if whole and run >= 0 and same and start == stop + 1:
                    stop = place
                else:
                    if at + 3 + (stop - run) + 2 * (last - inner) > out.size:
                        state[WRITTEN] = opening
                        return FULL
                    if run >= 0:
                        at = copy(text, run, stop, out, at)
                    run, stop = -1, -1
                    if fields:
                        out[at] = between
                        at += 1
                    fields += 1
                    if whole:
                        run, stop = start, place
                    elif plan[column] == PASS:
                        at = quote_into(text, inner, last, quote, out, at) if must else copy(text, inner, last, out, at)
                    else:
                        table = tables[plan[column]]
                        low, high = label(table, row)
                        if at + 3 + high - low > out.size:
                            state[WRITTEN] = opening
                            return FULL
                        known = carray(pointer(table[TEXT]), high, np.uint8)
                        at = copy(known, low, high, out, at)
            if plain >= 0:
                break
            if column < columns - 1:
                if text[place] != marks[1] or place >= end:
                    return CHANGED
                place += 1
        if text[place] != LF and text[place] != CR:
            return CHANGED
        if take:
            if at + 1 + (stop - run) > out.size:
                state[WRITTEN] = opening
                return FULL
            if run >= 0:
                at = copy(text, run, stop, out, at)
            out[at] = LF
            at += 1
            if lengths.size:
                lengths[taken] = at - opening
            taken += 1
        place += 2 if text[place] == CR and place + 1 < end and text[place + 1] == LF else 1
        place = min(place, end)
        record += 1
        state[PLACE], state[RECORD], state[TAKEN], state[WRITTEN] = place, record, taken, at
    return DONE
