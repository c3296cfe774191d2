"""Writer of CSV: rows of encoded tables, and CSV to CSV in one pass, where only loaded columns are replaced or dropped."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from oboro.data.column import Column, address, large_zeros
from oboro.data.dataset import Dataset
from oboro.errors import FileError, UsageError
from oboro.io.column_store import UntouchedCsvColumns, file_changed, file_rows
from oboro.io.formats.csv.dialect import Dialect
from oboro.io.formats.csv.kernels import copying, rendering
from oboro.system.process import in_order
from oboro.text import Message
from oboro.text.language import RowProgress

__all__ = ["BlockCopy", "CopyThrough", "CsvRows", "column_table", "dictionary_text", "must_quote", "write_rows"]


# Rows as text ---------------------------------------------------------------------------------------------------------
# Only dictionaries are turned into text; rows are copied from them.


PIECE = 1 << 20  # bytes of text made at a time
CELLS = 12_800  # fields looked up at a time: they stay in the cache


class CsvRows:
    """The rows of a table as lines of text. What the block `before` made of a dictionary is not made again."""

    def __init__(self, data: Dataset, dialect: Dialect, before: CsvRows | None = None) -> None:
        self.rows, self.delimiter = data.rows, ord(dialect.delimiter)
        self.columns = list(data.columns.values())
        if not self.columns:
            raise UsageError(Message("error_io.no_column_left"))
        self.codes = [np.ascontiguousarray(column.codes) for column in self.columns]
        known: dict[int, pa.Array] = before.known if before else {}
        # Held here, because the kernel knows their addresses only.
        self.texts = [
            known.get(id(column.values)) or dictionary_text(name, column, dialect, alone=len(self.columns) == 1)
            for name, column in data.columns.items()
        ]
        self.known: dict[int, pa.Array] = {
            id(column.values): text for column, text in zip(self.columns, self.texts, strict=True)
        }
        self.tables = np.array([column_table(codes, text) for codes, text in zip(self.codes, self.texts, strict=True)])
        self.longest = sum(1 + longest(text) for text in self.texts)

    def pieces(self) -> Iterator[range]:
        """The rows in pieces of about `PIECE` bytes."""
        mean = sum(1 + text.nbytes // max(len(text), 1) for text in self.texts)
        step = max(PIECE // max(mean, 1), 1)
        return (range(begin, min(begin + step, self.rows)) for begin in range(0, self.rows, step))

    def render(self, rows: range) -> list[memoryview]:
        """The text of some rows, in one or more parts."""
        parts = []
        row, size = rows.start, np.zeros(1, dtype=np.int64)
        cells = np.empty((max(CELLS // len(self.tables), 1), 2 * len(self.tables)), dtype=np.uint64)
        while row < rows.stop:
            out = np.empty((PIECE + PIECE // 4 + self.longest) // 8 + 2, dtype=np.uint64)
            row = rendering.render(self.tables, row, rows.stop, self.longest, self.delimiter, cells, size, out)
            parts.append(memoryview(out.view(np.uint8).data)[: size[0]])
        return parts


def write_rows(file: Any, data: Dataset, dialect: Dialect, before: CsvRows | None) -> CsvRows:
    """Write the rows of a block, made on all cores; `before` is what the block before it gave."""
    rows = CsvRows(data, dialect, before)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for texts in in_order(pool, rows.pieces(), rows.render):
            for text in texts:
                file.write(text)
    return rows


def column_table(codes: np.ndarray, text: pa.Array) -> tuple[int, int, int, int, int]:
    """Return the addresses of a column's codes, dictionary offsets and text for the kernel, code width and number of values."""
    _, offsets, data = text.buffers()
    begin = offsets.address + 4 * text.offset if offsets is not None else 0
    return address(codes), begin, data.address if data is not None else 0, codes.itemsize, len(text)


def longest(text: pa.Array) -> int:
    """The bytes of the longest value."""
    starts, _ = _arrays(text)
    return int(np.diff(starts).max(initial=0))


def dictionary_text(name: str, column: Column, dialect: Dialect, alone: bool) -> pa.Array:
    """Return a column's dictionary in the form of the file: a missing value is empty, and values are quoted where necessary."""
    texts = column.values if pa.types.is_string(column.values.type) else pa.array(column.texts, pa.large_string())
    if texts.nbytes >= 1 << 31:
        raise FileError(Message("error_io.text_too_large", name=name))
    plain = texts if pa.types.is_string(texts.type) else texts.cast(pa.string())
    return _quoted(plain.fill_null("") if plain.null_count else plain, dialect, alone)


@cache
def must_quote(dialect: Dialect) -> np.ndarray:
    """For each byte, where in a value it makes quotes necessary."""
    kinds = np.zeros(256, dtype=np.uint8)
    kinds[[ord(" "), ord("\t")]] = rendering.AT_ENDS
    kinds[[ord(mark) for mark in ("\n", "\r", dialect.quote, dialect.delimiter)]] = rendering.ANYWHERE
    return kinds


def _quoted(texts: pa.Array, dialect: Dialect, alone: bool) -> pa.Array:
    """Return values in the form of the file: quoted where necessary. A line with one empty field would be no line at all."""
    kinds = must_quote(dialect)
    starts, text = _arrays(texts)
    places = np.zeros(len(texts) + 1, dtype=np.int64)
    if not rendering.quoted_sizes(text, starts, kinds, ord(dialect.quote), alone, places[1:]):
        return texts
    np.cumsum(places, out=places)
    out = np.empty(places[-1], dtype=np.uint8)
    rendering.quote_values(text, starts, places, ord(dialect.quote), out)
    buffers = [None, pa.py_buffer(places), pa.py_buffer(out)]
    return pa.Array.from_buffers(pa.large_string(), len(texts), buffers).cast(pa.string())


def _arrays(texts: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The offsets and the bytes of an Arrow array of text; an empty one may have neither."""
    _, offsets, data = texts.buffers()
    if len(texts) == 0:
        return np.zeros(1, dtype=np.int32), np.zeros(0, dtype=np.uint8)
    starts = np.frombuffer(offsets, dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return starts, np.frombuffer(data, dtype=np.uint8) if data is not None else np.zeros(0, dtype=np.uint8)


# Copy from CSV to CSV -------------------------------------------------------------------------------------------------


B = TypeVar("B")


@dataclass
class CopyMemory:
    """Memory for a block on its way; it is used again, because new memory costs more than the copying."""

    text: np.ndarray = field(default_factory=lambda: large_zeros(0))
    outs: list[np.ndarray] = field(default_factory=list)

    def text_of(self, size: int) -> np.ndarray:
        """Memory for so many bytes of text."""
        if self.text.size < size:
            self.text = large_zeros(size * 9 // 8)
        return self.text

    def out(self, number: int, size: int) -> np.ndarray:
        """The `number`-th part of what is written, at least so many bytes."""
        while len(self.outs) <= number:
            self.outs.append(large_zeros(size))
        if self.outs[number].size < size:
            self.outs[number] = large_zeros(size)
        return self.outs[number]


@dataclass
class BlockCopy:
    """One block on its way: its text, its records, and which rows of the release they become."""

    memory: CopyMemory
    size: int
    records: int
    header: int
    first: int
    kept: np.ndarray | None
    lengths: np.ndarray  # of the lines that are made, in bytes; empty where nobody asked


class CopyThrough:
    """The release of a CSV file as CSV text; `measured`: with the length of each line."""

    def __init__(self, data: Dataset, untouched: UntouchedCsvColumns, dialect: Dialect, measured: bool = False) -> None:
        self.data, self.untouched, self.measured = data, untouched, measured
        if not data.columns:
            raise UsageError(Message("error_io.no_column_left"))
        alone = len(data.columns) == 1
        self._hold(dialect, alone)
        self.edges = must_quote(dialect)
        self.kinds = np.where(self.edges == rendering.ANYWHERE, copying.MUST, 0).astype(np.uint8)
        before = untouched.dialect
        self.kinds[[0, 10, 13, ord(before.cut)]] |= copying.ENDS
        marks = ord(dialect.quote), ord(before.cut), ord(dialect.delimiter), before.space, alone
        self.marks = np.array(marks, dtype=np.int64)
        self.free: list[CopyMemory] = []

    def _hold(self, dialect: Dialect, alone: bool) -> None:
        """The held columns as the kernel needs them: it knows only addresses, so their arrays are held here."""
        held = [name for name, column in self.data.columns.items() if column.loaded]
        self.texts = [dictionary_text(name, self.data[name], dialect, alone) for name in held]
        self.codes = [np.ascontiguousarray(self.data[name].codes) for name in held]
        tables = [column_table(codes, text) for codes, text in zip(self.codes, self.texts, strict=True)]
        self.tables = np.array(tables, dtype=np.int64).reshape(-1, 5)
        places = {name: place for place, name in enumerate(held)}
        self.plan = np.array([_fate(name, self.data, places) for name in self.untouched.names], dtype=np.int64)

    def parts(self, done: RowProgress | None = None) -> Iterator[memoryview]:
        """The text of all rows, in order. Each part is good until the next one is asked for."""
        for parts in self.each(self.copy, done):
            yield from parts

    def each(self, act: Callable[[BlockCopy], B], done: RowProgress | None = None) -> Iterator[B]:
        """Yield the result of `act` for each block, in order. Its memory is used again when the next one is asked for."""
        self.untouched.check()
        row = 0
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for block, made in in_order(pool, self._blocks(), lambda block: (block, act(block))):
                yield made
                self.free.append(block.memory)
                row += block.records - block.header
                if done:
                    done(row, self.untouched.rows)
        self.untouched.check(row)

    def _blocks(self) -> Iterator[BlockCopy]:
        row, header, taken = 0, self.untouched.dialect.skipped, []

        def array(size: int) -> np.ndarray:
            taken.append(self.free.pop() if self.free else CopyMemory())
            return taken[-1].text_of(size)

        for _, size, end in self.untouched.texts(array):
            begin, stop, chosen = file_rows(self.data, row, row + end.records - header)
            lengths = np.zeros(stop - begin if self.measured else 0, dtype=np.uint32)
            yield BlockCopy(taken.pop(), size, end.records, header, begin, chosen, lengths)
            row += end.records - header
            header = 0

    def copy(self, block: BlockCopy) -> list[memoryview]:
        """The text of a block, in parts that end with a line."""
        state, size = np.zeros(4, dtype=np.int64), block.size * 5 // 4 + (1 << 16)
        parts: list[memoryview] = []
        chosen = np.zeros(0, dtype=np.int64) if block.kept is None else block.kept
        ended = copying.FULL
        while ended == copying.FULL:
            out = block.memory.out(len(parts), size)
            ended = copying.copy_records(
                block.memory.text, block.size, block.records, block.header, self.kinds, self.edges, self.marks, self.plan,
                self.tables, block.first, chosen, block.kept is None, block.lengths, state, out,
            )  # fmt: skip
            if state[copying.WRITTEN] or ended == copying.DONE:
                parts.append(memoryview(out.data)[: state[copying.WRITTEN]])
            else:
                size *= 2
        if ended == copying.CHANGED or state[copying.RECORD] != block.records:
            raise file_changed(self.untouched.path)
        return parts


def _fate(name: str, data: Dataset, places: dict[str, int]) -> int:
    return copying.LEAVE if name not in data else places.get(name, copying.PASS)
