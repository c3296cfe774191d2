"""Columns encoded from batches of Arrow arrays: values numbered by first appearance, and a code for each row.

Text is numbered by the kernels that read CSV (a batch of Arrow text is their input nearly as it is; Arrow's own encoder took
ten times as long on 500,000 addresses), whole numbers and dates by a table with a place for each of them, the rest by Arrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from threading import Lock
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oboro.data.column import Column, large_zeros, smallest_unsigned
from oboro.io.formats.csv.blocks import PAD
from oboro.io.formats.csv.kernels import numbering
from oboro.io.formats.csv.reader import ColumnCoder, UnifyingMemory, ZerosPool
from oboro.kernels import grouping
from oboro.text.language import RowProgress

__all__ = [
    "MOST_ROWS",
    "GrowingColumn",
    "GrowingDictionary",
    "GrowingText",
    "RowCounter",
    "by_appearance",
    "growing_column",
    "is_text",
    "joined_column",
]


MOST_ROWS = 1 << 17  # rows in a batch
PENDING = 1 << 20  # values that are collected before they are unified
WIDEST = 1 << 21  # whole numbers from the least to the greatest, or there is no table with a place for each
MISSING = b"\xff"  # stands for a missing value while text is numbered: no text is encoded like this


class GrowingColumn(Protocol):
    """A column that is being read."""

    def add(self, array: pa.Array) -> None:
        """One more batch, of at most `MOST_ROWS` rows."""

    def finished(self) -> tuple[pa.Array, list[np.ndarray]]:
        """The values, and the codes of the rows in pieces."""


def is_text(type_: pa.DataType) -> bool:
    """Return whether a column holds text, in any of Arrow's ways."""
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_string_view(type_))


def growing_column(type_: pa.DataType, rows: int) -> GrowingColumn:
    """An empty column; about so many rows are expected."""
    return GrowingText(rows) if is_text(type_) else GrowingValues(type_)


def joined_column(parts: Sequence[GrowingColumn], pool: Executor) -> Column:
    """The parts of one column below each other. Memory: the codes twice."""
    finished = [part.finished() for part in parts]
    values, lookups = _unified([found for found, _ in finished])
    pieces = [(lookup, piece) for lookup, (_, some) in zip(lookups, finished, strict=True) for piece in some]
    dtype = smallest_unsigned(len(values))
    if len(pieces) == 1 and pieces[0][1].dtype == dtype:
        return Column(values, pieces[0][1])
    ends = np.cumsum([piece.size for _, piece in pieces])
    codes = large_zeros(int(ends[-1]) if pieces else 0, dtype)

    def look_up(place: int) -> None:
        lookup, piece = pieces[place]
        grouping.look_up(lookup, piece, codes[ends[place] - piece.size : ends[place]])

    list(pool.map(look_up, range(len(pieces))))
    return Column(values, codes)


def _unified(parts: Sequence[pa.Array]) -> tuple[pa.Array, list[np.ndarray]]:
    """The values of all parts, once each, and for each part the new codes of its values."""
    if len(parts) == 1:
        return parts[0], [np.arange(len(parts[0]), dtype=smallest_unsigned(len(parts[0])))]
    column = growing_column(parts[0].type, sum(map(len, parts)))
    for part in parts:
        for start in range(0, len(part), MOST_ROWS):
            column.add(part.slice(start, MOST_ROWS))
    values, pieces = column.finished()
    numbers = np.concatenate([np.zeros(0, np.uint8), *pieces]).astype(smallest_unsigned(len(values)))
    return values, np.split(numbers, np.cumsum([len(part) for part in parts])[:-1])


class GrowingValues:
    """A column that is no text: a table with a place for each whole number, or Arrow."""

    def __init__(self, type_: pa.DataType) -> None:
        self.values = Column.encode(pa.nulls(0, type_)).values
        self.waiting: list[Column] = []
        self.codes: list[np.ndarray] = []
        self.places = WholeNumberTable() if WholeNumberTable.takes(type_) else None

    def add(self, array: pa.Array) -> None:
        """One more batch; once its numbers are too far apart for a table, dictionaries are unified when enough wait."""
        if self.places is not None:
            codes = self.places.number(array)
            if codes is not None:
                self.codes.append(codes)
                return
            self.values, self.places = self.places.values(self.values.type), None
        self.waiting.append(Column.encode(array))
        if sum(len(column.values) for column in self.waiting) > max(PENDING, 2 * len(self.values)):
            self._unify()

    def _unify(self) -> None:
        together = pa.concat_arrays([self.values, *(column.values for column in self.waiting)])
        encoded = together.dictionary_encode(null_encoding="encode")
        self.values = encoded.dictionary
        numbers = encoded.indices.to_numpy(zero_copy_only=False).astype(smallest_unsigned(len(self.values)))
        place = len(together) - sum(len(column.values) for column in self.waiting)
        for column in self.waiting:
            self.codes.append(numbers[place : place + len(column.values)][column.codes])
            place += len(column.values)
        self.waiting = []

    def finished(self) -> tuple[pa.Array, list[np.ndarray]]:
        """The values, and the codes of the rows in pieces."""
        if self.places is not None:
            return self.places.values(self.values.type), self.codes
        if self.waiting:
            self._unify()
        return self.values, self.codes


class WholeNumberTable:
    """Whole numbers that are not far apart: each has its place in a table, from the least one's on; place 0 is missing."""

    def __init__(self) -> None:
        self.low = self.found = 0
        self.seen = np.zeros(1, dtype=np.uint32)
        self.known = np.zeros(1, dtype=np.int64)

    @staticmethod
    def takes(type_: pa.DataType) -> bool:
        """Return whether values of a type are whole numbers of 64 bits."""
        return bool(pa.types.is_integer(type_) and not pa.types.is_uint64(type_)) or pa.types.is_date32(type_)

    def number(self, array: pa.Array) -> np.ndarray | None:
        """The codes of a batch; None where its numbers are too far from the others, which changes nothing. O(rows)."""
        whole = array.view(pa.int32()) if pa.types.is_date32(array.type) else array
        numbers = whole.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        missing = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else np.zeros(0, dtype=bool)
        present = numbers[~missing] if missing.size else numbers
        if present.size and not self._reach(int(present.min()), int(present.max())):
            return None
        codes = np.empty(len(array), dtype=np.uint32)
        self.found = grouping.number_whole(numbers, missing, self.low, self.seen, self.known, self.found, codes)
        return codes.astype(smallest_unsigned(self.found))

    def _reach(self, low: int, high: int) -> bool:
        """Make the table reach from one number to another, if that is not too far."""
        size = self.seen.size - 1
        if size:
            low, high = min(low, self.low), max(high, self.low + size - 1)
        if high - low >= WIDEST:
            return False
        if high - low >= size:
            seen = np.zeros(high - low + 2, dtype=np.uint32)
            seen[0] = self.seen[0]
            seen[1 + self.low - low :][:size] = self.seen[1:]
            self.known = np.concatenate([self.known[: self.found], np.zeros(seen.size - self.found, dtype=np.int64)])
            self.low, self.seen = low, seen
        return True

    def values(self, type_: pa.DataType) -> pa.Array:
        """The numbers by their codes, as values of the column's type."""
        missing = np.arange(self.found) == int(self.seen[0]) - 1
        whole = pa.array(self.known[: self.found], mask=missing)
        return whole.cast(pa.int32()).view(type_) if pa.types.is_date32(type_) else whole.cast(type_)


@dataclass
class TextBatch:
    """A batch of text as the kernels of the CSV reader see it."""

    cells: np.ndarray
    words: np.ndarray
    found: int


class GrowingText(ColumnCoder):
    """A column of text: the table of its values grows with the batches."""

    def __init__(self, expected: int) -> None:
        self.tables = np.zeros((1, numbering.WORDS), dtype=np.int64)
        super().__init__(0, self.tables[0], ZerosPool())
        self.unifying, self.expected = UnifyingMemory(), expected
        self.batch = large_zeros(1 << 20)
        self.cells = large_zeros(3 * MOST_ROWS, np.uint64).reshape(1, -1)
        self.numbers = np.empty(MOST_ROWS, dtype=np.uint32)
        self.missing = 0

    def add(self, array: pa.Array) -> None:
        """One more batch."""
        if not len(array):
            return
        self.missing += array.null_count
        block = self._packed(array)
        while not numbering.encode_columns(
            block.cells, 0, block.found, block.words, self.tables, 0, 1, self.numbers[: block.found]
        ):
            self.grow(block, self.expected)  # type: ignore[arg-type]
        self.settle(self.unifying)

    def _packed(self, array: pa.Array) -> TextBatch:
        offsets, text = _buffers(array)
        if text.size + PAD > self.batch.size:
            self.batch = large_zeros((2 * text.size + PAD) // 8 * 8)
        self.batch[: text.size] = text
        words = self.batch.view(np.uint64)
        numbering.pack_values(offsets, words, len(array), False, self.cells[0])
        return TextBatch(self.cells, words, len(array))

    def finished(self) -> tuple[pa.Array, list[np.ndarray]]:
        """The values and the codes; unlike in CSV, empty text is a value of its own."""
        if self.waits:
            self._unify(self.unifying)
        size = int(self.offsets[self.found])
        buffers = [None, pa.py_buffer(self.offsets[: self.found + 1].astype(np.int64)), pa.py_buffer(self.text[:size])]
        values = pa.Array.from_buffers(pa.large_binary(), self.found, buffers)
        stands_for = pc.equal(values, pa.scalar(MISSING, pa.large_binary()))
        stand_ins = pc.indices_nonzero(stands_for).to_numpy()
        if self.missing != (np.isin(self.codes[: self.rows], stand_ins).sum() if stand_ins.size else 0):
            raise pa.ArrowInvalid("Invalid UTF8 payload")  # what Arrow says of any other byte that no text has
        values = pc.if_else(stands_for, None, values)
        values = values.cast(pa.large_string() if size >= 1 << 31 else pa.string())
        return values, [self.codes[: self.rows]]


def _buffers(array: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The offsets, from 0 on, and the bytes of some text, missing values as `MISSING`."""
    binary = array.cast(pa.binary())
    if binary.null_count:
        binary = binary.fill_null(MISSING)
    _, offsets, data = binary.buffers()
    places = np.frombuffer(offsets, dtype=np.int32)[binary.offset : binary.offset + len(binary) + 1]
    text = np.frombuffer(data, dtype=np.uint8) if data is not None else np.zeros(0, dtype=np.uint8)
    return (places - places[0]).astype(np.uint32), text[places[0] : places[-1]]


def by_appearance(seen: np.ndarray) -> np.ndarray:
    """The keys that `number_by_appearance` saw, in their order."""
    keys = np.flatnonzero(seen)
    order = np.empty_like(keys)
    order[seen[keys] - 1] = keys
    return order


class GrowingDictionary:
    """A column of text whose batches come as dictionaries: only their values are numbered, one by one."""

    def __init__(self, expected: int) -> None:
        self.texts = GrowingText(expected)
        self.texts.may_wait = False
        self.codes: list[np.ndarray] = []

    def add(self, array: pa.DictionaryArray) -> None:
        """One more batch."""
        array.dictionary.validate(full=True)  # here, where the error can name the column
        column = Column.encode(array)
        seen, labels = np.zeros(len(column.values), dtype=np.uint32), np.empty(len(column), dtype=np.uint32)
        grouping.number_by_appearance(column.codes, seen, labels)
        before = self.texts.rows
        order = column.values.take(pa.array(by_appearance(seen)))
        for start in range(0, len(order), MOST_ROWS):
            self.texts.add(order.slice(start, MOST_ROWS))
        self.codes.append(self.texts.codes[before : self.texts.rows][labels])

    def finished(self) -> tuple[pa.Array, list[np.ndarray]]:
        """The values, and the codes of the rows in pieces."""
        return self.texts.finished()[0], self.codes


# Row counter ----------------------------------------------------------------------------------------------------------
# Number of rows read by all threads.


@dataclass
class RowCounter:
    """Number of rows that all threads have read, and the total if it is known."""

    total: int
    progress: RowProgress | None
    rows: int = 0
    stopped: bool = False
    lock: Lock = field(default_factory=Lock)

    def add(self, rows: int) -> None:
        """So many more."""
        with self.lock:
            self.rows += rows
            if self.progress:
                self.progress(self.rows, max(self.total, self.rows))
