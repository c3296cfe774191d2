"""Parquet to an encoded table, batch by batch, on all cores: what is held is codes and dictionaries, never the rows.

Text is numbered by the kernels that read CSV (a batch of Arrow text is their input nearly as it is; Arrow's own encoder took
ten times as long on 500,000 addresses), everything else by Arrow.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from threading import Lock

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from oboro.errors import ColumnError
from oboro.io.blocks import PAD, memory
from oboro.io.parse import Coder, Scratch, Slab
from oboro.io.threads import ahead
from oboro.kernels import csv as kernels
from oboro.table.dataset import Column, Dataset, smallest_unsigned

__all__ = ["batches", "encode", "schema_of"]

CELLS = 1 << 19  # values read at a time; larger batches come in new memory each time, which took ten times as long
FEWEST, MOST = 1 << 12, 1 << 17  # rows read at a time
SMALL = 1 << 20  # rows that a core must have to read, or it does not begin
PENDING = 1 << 20  # values that are collected before they are unified
MISSING = b"\xff"  # stands for a missing value while text is numbered: no text is encoded like this

Done = Callable[[int, int], None]


def schema_of(path: str) -> pa.Schema:
    """Names and types; a column that does not hold single values is an error."""
    schema = pq.read_schema(path)
    twice = sorted({name for name in schema.names if schema.names.count(name) > 1})
    if twice:
        raise ColumnError(f"{path}: two columns have the same name: {twice[0]!r}; rename one of them")
    for entry in schema:
        if pa.types.is_nested(entry.type) or isinstance(entry.type, pa.BaseExtensionType):
            raise ColumnError(
                f"{path}: column {entry.name!r} holds {entry.type}, not single values; split it into plain columns or drop it"
            )
    return schema


def batches(path: str, columns: Sequence[str], groups: range | None = None) -> Iterator[pa.RecordBatch]:
    """The rows of some columns in order, or of some row groups; memory for two batches and what Parquet buffers of a row group.

    All rows are read ahead by another thread, some row groups by this one.
    """
    rows = min(max(CELLS // max(len(columns), 1), FEWEST), MOST)
    with pq.ParquetFile(path, pre_buffer=False) as file:
        if not columns:
            chosen = range(file.metadata.num_row_groups) if groups is None else groups
            count = sum(file.metadata.row_group(number).num_rows for number in chosen)
            yield from (_empty(min(MOST, count - start)) for start in range(0, count, MOST))
        elif groups is None:
            yield from ahead(file.iter_batches(rows, columns=list(columns)))
        else:
            yield from file.iter_batches(rows, list(groups), list(columns), use_threads=False)


def _empty(rows: int) -> pa.RecordBatch:
    return pa.table({"": pa.nulls(rows)}).select([]).to_batches()[0]


def encode(path: str, columns: Sequence[str], done: Done | None = None) -> Dataset:
    """Read and encode some columns, each core its part of the file.

    Memory: their codes, a dictionary for each core, and twice the codes of one column at the end.
    """
    schema = schema_of(path)
    with pq.ParquetFile(path) as file:
        groups = [file.metadata.row_group(number).num_rows for number in range(file.metadata.num_row_groups)]
    counter = Counter(sum(groups), done)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            parts = [pool.submit(_encode, path, schema, columns, some, counter) for some in _shares(groups)]
            found = [part.result() for part in parts]
        finally:
            counter.stopped = True  # an interrupt ends the other threads too
    return Dataset({name: _joined([part.pop(name) for part in found]) for name in columns}, counter.rows)


@dataclass
class Counter:
    """How many rows all threads have read."""

    total: int
    done: Done | None
    rows: int = 0
    stopped: bool = False
    lock: Lock = field(default_factory=Lock)

    def add(self, rows: int) -> None:
        """So many more."""
        with self.lock:
            self.rows += rows
            if self.done:
                self.done(self.rows, self.total)


def _shares(groups: Sequence[int]) -> list[range]:
    """Row groups, in order, cut into one share for each core, about equally many rows; a small file is not cut."""
    shares = min(os.cpu_count() or 1, sum(groups) // SMALL) or 1
    ends = np.cumsum(groups)
    cuts = [int(np.searchsorted(ends, sum(groups) * share / shares)) for share in range(1, shares)]
    edges = [0, *cuts, len(groups)]
    return [range(begin, end) for begin, end in pairwise(edges) if begin < end]


def _encode(path: str, schema: pa.Schema, columns: Sequence[str], groups: range, counter: Counter) -> dict[str, Column]:
    """Some row groups of some columns."""
    scratch, kept = Scratch(), Slab()
    growing: list[Texts | Others] = [
        Texts(scratch, kept, counter.total) if _is_text(schema.field(name).type) else Others(schema.field(name).type)
        for name in columns
    ]
    for batch in batches(path, columns, groups):
        for one, array in zip(growing, batch.columns, strict=True):
            one.add(array)
        counter.add(batch.num_rows)
        if counter.stopped:
            break
    return {name: one.finished() for name, one in zip(columns, growing, strict=True)}


def _joined(parts: list[Column]) -> Column:
    """The parts of one column below each other, numbered by first appearance."""
    if len(parts) == 1:
        return parts[0]
    column = (
        Texts(Scratch(), Slab(), 2 * len(parts[0].values))
        if _is_text(parts[0].values.type)
        else Others(parts[0].values.type)
    )
    for part in parts:
        for start in range(0, len(part.values), MOST):
            column.add(part.values.slice(start, MOST))
    unified = column.finished()
    numbers = unified.codes
    codes = np.empty(sum(len(part) for part in parts), dtype=numbers.dtype)
    row = place = 0
    for part in parts:
        np.take(numbers[place : place + len(part.values)], part.codes, out=codes[row : row + len(part)], mode="clip")
        row, place = row + len(part), place + len(part.values)
    return Column(unified.values, codes)


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_string_view(type_))


class Others:
    """A column that is no text: each batch is encoded by itself, and dictionaries are unified when enough of them wait."""

    def __init__(self, type_: pa.DataType) -> None:
        self.values = Column.encode(pa.nulls(0, type_)).values
        self.waiting: list[Column] = []
        self.codes: list[np.ndarray] = []

    def add(self, array: pa.Array) -> None:
        """One more batch."""
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

    def finished(self) -> Column:
        """The finished column."""
        if self.waiting:
            self._unify()
        codes = np.empty(sum(part.size for part in self.codes), dtype=smallest_unsigned(len(self.values)))
        place = 0
        for part in self.codes:
            codes[place : place + part.size] = part
            place += part.size
        return Column(self.values, codes)


@dataclass
class Packed:
    """A batch of text as the kernels of the CSV reader see it."""

    cells: np.ndarray
    words: np.ndarray
    found: int


class Texts(Coder):
    """A column of text: the table of its values grows with the batches."""

    def __init__(self, scratch: Scratch, kept: Slab, expected: int) -> None:
        self.tables = np.zeros((1, kernels.WORDS), dtype=np.int64)
        super().__init__(0, self.tables[0], kept)
        self.scratch, self.expected = scratch, expected
        self.batch = memory(1 << 20)
        self.cells = memory(3 * MOST, np.uint64).reshape(1, -1)
        self.numbers = np.empty(MOST, dtype=np.uint32)

    def add(self, array: pa.Array) -> None:
        """One more batch."""
        if not len(array):
            return
        block = self._packed(array)
        while not kernels.encode_columns(
            block.cells, 0, block.found, block.words, self.tables, 0, 1, self.numbers[: block.found]
        ):
            self.grow(block, self.expected)  # type: ignore[arg-type]
        self.settle(self.scratch)

    def _packed(self, array: pa.Array) -> Packed:
        offsets, text = _buffers(array)
        if text.size + PAD > self.batch.size:
            self.batch = memory((2 * text.size + PAD) // 8 * 8)
        self.batch[: text.size] = text
        words = self.batch.view(np.uint64)
        kernels.pack_values(offsets, words, len(array), self.cells[0])
        return Packed(self.cells, words, len(array))

    def finished(self) -> Column:
        """The finished column; unlike in CSV, empty text is a value of its own."""
        if self.waits:
            self._unify(self.scratch)
        size = int(self.offsets[self.found])
        buffers = [None, pa.py_buffer(self.offsets[: self.found + 1].astype(np.int64)), pa.py_buffer(self.text[:size])]
        values = pa.Array.from_buffers(pa.large_binary(), self.found, buffers)
        values = pc.if_else(pc.equal(values, pa.scalar(MISSING, pa.large_binary())), None, values)
        values = values.cast(pa.large_string() if size >= 1 << 31 else pa.string())
        return Column(values, self.codes[: self.rows].astype(smallest_unsigned(self.found), copy=False))


def _buffers(array: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The offsets, from 0 on, and the bytes of some text, missing values as `MISSING`."""
    binary = array.cast(pa.binary())
    if binary.null_count:
        binary = binary.fill_null(MISSING)
    _, offsets, data = binary.buffers()
    places = np.frombuffer(offsets, dtype=np.int32)[binary.offset : binary.offset + len(binary) + 1]
    text = np.frombuffer(data, dtype=np.uint8) if data is not None else np.zeros(0, dtype=np.uint8)
    return (places - places[0]).astype(np.uint32), text[places[0] : places[-1]]
