"""Kernels for JSON: objects to known cells, and released cells to JSON, without an object for any record.

Only *plain* JSON is read: flat objects, one per line, with every field once, in any order; no space but blanks. A value
that is released unchanged must be spelled as it would be written: text without escapes, whole numbers of at most 18
digits, decimals of at most 15 digits without needless zeros (the shortest spelling of the number that they represent),
`true`, `false`, `null`. The caller has checked that the text is UTF-8 and ends with a line break.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oboro.kernels.hashing import FNV_START, fold, free_slot
from oboro.kernels.jit import kernel

__all__ = ["KnownCells", "PlainFields", "climb", "place", "scan", "write"]


QUOTE, BACKSLASH, COLON, COMMA, OPEN, CLOSE, BLANK, LINE = 34, 92, 58, 44, 123, 125, 32, 10
ZERO, NINE, MINUS, PLUS, POINT, SMALL_E, LARGE_E = 48, 57, 45, 43, 46, 101, 69
WHOLE, DECIMAL = 18, 15  # digits
LITERALS = np.frombuffer(b"truefalsenull", np.uint8).copy()


class PlainFields(NamedTuple):
    """The fields of a record: attributes first, then those that go out as they came, then those that do not go out."""

    names: np.ndarray  # in JSON, one behind the other
    ends: np.ndarray  # ends[i]: where the i-th begins
    expected: np.ndarray  # which field stood at which place last
    offsets: np.ndarray  # of each attribute, its first bit
    heights: np.ndarray  # of each attribute, its levels below `*`


class KnownCells(NamedTuple):
    """Spellings of values met before. A *cell* is one of them, of one attribute."""

    slots: np.ndarray  # hash table: a cell's number or −1
    pool: np.ndarray  # bytes of values and of released labels
    field: np.ndarray  # the cell's attribute
    value: np.ndarray  # value[cell]: where its spelling begins and ends in the pool
    codes: np.ndarray  # codes[cell, level]
    labels: (
        np.ndarray
    )  # labels[cell, level]: where the JSON of its name and label begins and ends in the pool; 0: not made yet


@kernel(inner=True, bare=True)
def _after_blanks(text: np.ndarray, at: int) -> int:
    while text[at] == BLANK:
        at += 1
    return at


@kernel(inner=True, bare=True)
def _equal(one: np.ndarray, at: int, other: np.ndarray, start: int, size: int) -> bool:
    for i in range(size):  # noqa: SIM110  (a generator would not compile)
        if one[at + i] != other[start + i]:
            return False
    return True


@kernel(inner=True, bare=True)
def _named(text: np.ndarray, at: int, fields: PlainFields, first: int) -> int:
    """Which field's name stands here; the one that is expected is tried first. −1: none."""
    count = fields.ends.size - 1
    for turn in range(count):
        field = first + turn
        if field >= count:
            field -= count
        start = fields.ends[field]
        size = fields.ends[field + 1] - start
        if at + size <= text.size and _equal(text, at, fields.names, start, size):
            return field
    return -1


@kernel(inner=True, bare=True)
def _text_end(text: np.ndarray, at: int, escapes: bool) -> int:
    """Behind the quote that ends a text; −1 where it is not plain."""
    at += 1
    while at < text.size:
        byte = text[at]
        if byte == QUOTE:
            return at + 1
        if byte == BACKSLASH:
            if not escapes:
                return -1
            at += 1
            byte = text[at]
        if byte < BLANK:
            return -1
        at += 1
    return -1


@kernel(inner=True, bare=True)
def _digits_end(text: np.ndarray, at: int) -> int:
    while ZERO <= text[at] <= NINE:
        at += 1
    return at


@kernel(inner=True, bare=True)
def _number_end(text: np.ndarray, at: int) -> int:
    """Behind a number that would be written like this; −1 if it would not."""
    negative = text[at] == MINUS
    start = at + 1 if negative else at
    at = _digits_end(text, start)
    whole = at - start
    nothing = whole == 1 and text[start] == ZERO
    if whole == 0 or (text[start] == ZERO and whole > 1) or (nothing and negative):
        return -1
    if text[at] != POINT:
        return -1 if whole > WHOLE or text[at] in (SMALL_E, LARGE_E) else at
    first = at + 1
    at = _digits_end(text, first)
    size = at - first
    if size == 0 or whole + size > DECIMAL or text[at] in (SMALL_E, LARGE_E):
        return -1
    if text[at - 1] == ZERO and size > 1:
        return -1
    return -1 if nothing and size > 1 and text[first] == ZERO else at


@kernel(inner=True, bare=True)
def _any_number_end(text: np.ndarray, at: int) -> int:
    """Behind whatever may be a number; who reads it sees whether it is one."""
    while ZERO <= text[at] <= NINE or text[at] in (MINUS, PLUS, POINT, SMALL_E, LARGE_E):
        at += 1
    return at


@kernel(inner=True, bare=True)
def _literal_end(text: np.ndarray, at: int) -> int:
    start = 0
    for size in (4, 5, 4):
        if at + size <= text.size and _equal(text, at, LITERALS, start, size):
            return at + size
        start += size
    return -1


@kernel(inner=True, bare=True)
def _value_end(text: np.ndarray, at: int, as_it_came: bool) -> int:
    """Behind a value; −1 where it is not plain."""
    if text[at] == QUOTE:
        return _text_end(text, at, not as_it_came)
    if text[at] == MINUS or ZERO <= text[at] <= NINE:
        return _number_end(text, at) if as_it_came else _any_number_end(text, at)
    return _literal_end(text, at)


@kernel(inner=True, bare=True)
def _hash(text: np.ndarray, start: int, stop: int, field: int) -> int:
    value = FNV_START ^ np.uint64(field)
    for i in range(start, stop):
        value = fold(value, text[i])
    return np.int64((value ^ (value >> np.uint64(32))) & np.uint64(0x7FFFFFFF))


@kernel(inner=True, bare=True)
def _cell(cells: KnownCells, text: np.ndarray, start: int, stop: int, field: int) -> int:
    """The number of a cell, −1 if it was never met."""
    slots, owner, value, pool = cells.slots, cells.field, cells.value, cells.pool
    last = slots.size - 1
    at = _hash(text, start, stop, field) & last
    while slots[at] >= 0:
        one, size = slots[at], stop - start
        same = owner[one] == field and value[one, 1] - value[one, 0] == size
        if same and _equal(text, start, pool, value[one, 0], size):
            return one
        at = (at + 1) & last
    return -1


@kernel(bare=True)
def place(cells: KnownCells, first: int, stop: int) -> None:
    """Put cells into the hash table, which has room for them."""
    for one in range(first, stop):
        hashed = _hash(cells.pool, cells.value[one, 0], cells.value[one, 1], cells.field[one])
        cells.slots[free_slot(hashed, cells.slots)] = one


@kernel(bare=True)
def scan(text: np.ndarray, fields: PlainFields, cells: KnownCells, found: np.ndarray, spans: np.ndarray) -> bool:
    """Read so many lines as `found` has rows; whether all are plain, and there are no more.

    `found[row, attribute]`: its cell, −1 if it was never met. `spans[row, field]`: where its value begins and ends.
    """
    at, count, width, expected, ends = 0, spans.shape[1], found.shape[1], fields.expected, fields.ends
    for row in range(found.shape[0]):
        if at >= text.size or text[at] != OPEN:
            return False
        at, seen = at + 1, np.int64(0)
        for turn in range(count):
            at = _after_blanks(text, at)
            field = _named(text, at, fields, expected[turn])
            if field < 0 or seen >> field & 1:
                return False
            expected[turn] = field
            seen |= np.int64(1) << field
            at = _after_blanks(text, at + ends[field + 1] - ends[field])
            if text[at] != COLON:
                return False
            start = _after_blanks(text, at + 1)
            at = _value_end(text, start, field >= width)
            if at < 0:
                return False
            spans[row, field, 0], spans[row, field, 1] = start, at
            if field < width:
                found[row, field] = _cell(cells, text, start, at, field)
            at = _after_blanks(text, at)
            if text[at] != (COMMA if turn < count - 1 else CLOSE):
                return False
            at += 1
        if text[at] != LINE:
            return False
        at += 1
    return at == text.size


@kernel(bare=True)
def climb(fields: PlainFields, cells: KnownCells, found: np.ndarray, rows: np.ndarray) -> None:
    """The codes on all levels, `rows[row, bit]`."""
    for row in range(found.shape[0]):
        for i in range(found.shape[1]):
            for level in range(fields.heights[i]):
                rows[row, fields.offsets[i] + level] = cells.codes[found[row, i], level]


@kernel(inner=True, bare=True)
def _copied(source: np.ndarray, start: int, stop: int, out: np.ndarray, at: int) -> int:
    for i in range(start, stop):
        out[at] = source[i]
        at += 1
    return at


@kernel(inner=True, bare=True)
def _level(mask: int, offset: int, height: int) -> int:
    """How many bits of an attribute are gone."""
    gone = 0
    for bit in range(offset, offset + height):
        gone += 1 - (mask >> bit & 1)
    return gone


@kernel(bare=True)
def write(
    text: np.ndarray,
    fields: PlainFields,
    cells: KnownCells,
    found: np.ndarray,
    spans: np.ndarray,
    masks: np.ndarray,
    kept: int,
    counts: np.ndarray,
    out: np.ndarray,
) -> int:
    """Each row as a line: labels of its cells under its mask, then `kept` fields as they came; how many bytes were written.

    −1 where a label is not made yet; then `counts` holds its cell and level. Else it has the cells suppressed and generalized,
    and the rows with nothing left.
    """
    at, width, labels, pool = 0, found.shape[1], cells.labels, cells.pool
    counts[:] = 0
    for row in range(found.shape[0]):
        gone = 0
        for i in range(width):
            height = fields.heights[i]
            level, cell = _level(masks[row], fields.offsets[i], height), found[row, i]
            if labels[cell, level, 1] == 0:
                counts[0], counts[1] = cell, level
                return -1
            out[at] = COMMA if i else OPEN
            at = _copied(pool, labels[cell, level, 0], labels[cell, level, 1], out, at + 1)
            gone += 1 if level == height else 0
            counts[1] += 1 if 0 < level < height else 0
        counts[0] += gone
        counts[2] += 1 if gone == width else 0
        for field in range(width, width + kept):
            out[at] = COMMA
            at = _copied(fields.names, fields.ends[field], fields.ends[field + 1], out, at + 1)
            out[at] = COLON
            at = _copied(text, spans[row, field, 0], spans[row, field, 1], out, at + 1)
        out[at], out[at + 1] = CLOSE, LINE
        at += 2
    return at
