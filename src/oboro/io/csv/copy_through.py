"""CSV to CSV in one go: held columns are exchanged, dropped ones left out, all others copied as they stand, on all cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from oboro.errors import UsageError
from oboro.io.csv.dialect import Dialect
from oboro.io.csv.kernels import copying as kernels
from oboro.io.csv.kernels import rendering
from oboro.io.csv.rows_out import column_table, dictionary_text, must_quote
from oboro.io.file_progress import RowProgress
from oboro.io.ordered_threads import in_order
from oboro.io.untouched_columns import UntouchedCsvColumns, file_changed, file_rows
from oboro.table.dataset import Dataset
from oboro.table.large_arrays import large_zeros
from oboro.table.unencoded_columns import UnreadColumn
from oboro.text import Message

__all__ = ["BlockCopy", "CopyThrough"]

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
        self.kinds = np.where(self.edges == rendering.ANYWHERE, kernels.MUST, 0).astype(np.uint8)
        before = untouched.dialect
        self.kinds[[0, 10, 13, ord(before.cut)]] |= kernels.ENDS
        marks = ord(dialect.quote), ord(before.cut), ord(dialect.delimiter), before.space, alone
        self.marks = np.array(marks, dtype=np.int64)
        self.free: list[CopyMemory] = []

    def _hold(self, dialect: Dialect, alone: bool) -> None:
        """The held columns as the kernel needs them: it knows only addresses, so their arrays are held here."""
        held = [name for name, column in self.data.columns.items() if not isinstance(column, UnreadColumn)]
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
        """What `act` makes of each block, in order. Its memory is used again when the next one is asked for."""
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
        ended = kernels.FULL
        while ended == kernels.FULL:
            out = block.memory.out(len(parts), size)
            ended = kernels.copy_records(
                block.memory.text, block.size, block.records, block.header, self.kinds, self.edges, self.marks, self.plan,
                self.tables, block.first, chosen, block.kept is None, block.lengths, state, out,
            )  # fmt: skip
            if state[kernels.WRITTEN] or ended == kernels.DONE:
                parts.append(memoryview(out.data)[: state[kernels.WRITTEN]])
            else:
                size *= 2
        if ended == kernels.CHANGED or state[kernels.RECORD] != block.records:
            raise file_changed(self.untouched.path)
        return parts


def _fate(name: str, data: Dataset, places: dict[str, int]) -> int:
    return kernels.LEAVE if name not in data else places.get(name, kernels.PASS)
