"""CSV to CSV in one go: held columns are exchanged, dropped ones left out, all others copied as they stand, on all cores."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from oboro.errors import UsageError
from oboro.io.csv.dialect import Dialect
from oboro.io.csv.kernels import rendering
from oboro.io.csv.kernels import splicing as kernels
from oboro.io.csv.rows_out import must_quote, table, written
from oboro.io.ordered_threads import in_order
from oboro.io.untouched_columns import CsvRest, Rows, changed, kept
from oboro.table.dataset import Dataset
from oboro.table.large_arrays import memory
from oboro.table.unread import Unread

__all__ = ["Splice", "in_file_order"]


def in_file_order(data: Dataset, names: Sequence[str]) -> bool:
    """Whether columns and rows stand in the order of the file, so that text can be copied from the one to the other."""
    rows = data.origin is None or bool((data.origin[1:] > data.origin[:-1]).all())
    return rows and [name for name in names if name in data] == list(data)


@dataclass
class Room:
    """Memory for a block on its way; it is used again, because new memory costs more than the copying."""

    text: np.ndarray = field(default_factory=lambda: memory(0))
    outs: list[np.ndarray] = field(default_factory=list)

    def text_of(self, size: int) -> np.ndarray:
        """Room for so many bytes of text."""
        if self.text.size < size:
            self.text = memory(size * 9 // 8)
        return self.text

    def out(self, number: int, size: int) -> np.ndarray:
        """The `number`-th part of what is written, at least so many bytes."""
        while len(self.outs) <= number:
            self.outs.append(memory(size))
        if self.outs[number].size < size:
            self.outs[number] = memory(size)
        return self.outs[number]


@dataclass
class Piece:
    """One block: its text, its records, and which rows of the release they become."""

    room: Room
    size: int
    records: int
    header: int
    first: int
    kept: np.ndarray | None


class Splice:
    """The release of a CSV file as CSV text."""

    def __init__(self, data: Dataset, rest: CsvRest, dialect: Dialect) -> None:
        self.data, self.rest = data, rest
        if not data.columns:
            raise UsageError("no column is left to write; keep at least one")
        held = [name for name, column in data.columns.items() if not isinstance(column, Unread)]
        alone = len(data.columns) == 1
        # Held here, because the kernel knows their addresses only.
        self.texts = [written(name, data[name], dialect, alone) for name in held]
        self.codes = [np.ascontiguousarray(data[name].codes) for name in held]
        tables = [table(codes, text) for codes, text in zip(self.codes, self.texts, strict=True)]
        self.tables = np.array(tables, dtype=np.int64).reshape(-1, 5)
        places = {name: place for place, name in enumerate(held)}
        self.plan = np.array([_fate(name, data, places) for name in rest.names], dtype=np.int64)
        self.edges = must_quote(dialect)
        self.kinds = np.where(self.edges == rendering.ANYWHERE, kernels.MUST, 0).astype(np.uint8)
        self.kinds[[0, 10, 13, ord(rest.dialect.delimiter)]] |= kernels.ENDS
        marks = ord(dialect.quote), ord(rest.dialect.delimiter), ord(dialect.delimiter), rest.dialect.space, alone
        self.marks = np.array(marks, dtype=np.int64)
        self.free: list[Room] = []

    def parts(self, done: Rows | None = None) -> Iterator[memoryview]:
        """The text of all rows, in order. Each part is good until the next one is asked for."""
        self.rest.check()
        row = 0
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for piece, parts in in_order(pool, self._pieces(), self._splice):
                yield from parts
                self.free.append(piece.room)
                row += piece.records - piece.header
                if done:
                    done(row, self.rest.rows)
        self.rest.check(row)

    def _pieces(self) -> Iterator[Piece]:
        row, header, rooms = 0, int(self.rest.dialect.header), []

        def room(size: int) -> np.ndarray:
            rooms.append(self.free.pop() if self.free else Room())
            return rooms[-1].text_of(size)

        for _, size, mark in self.rest.texts(room):
            begin, _, chosen = kept(self.data, row, row + mark.records - header)
            yield Piece(rooms.pop(), size, mark.records, header, begin, chosen)
            row += mark.records - header
            header = 0

    def _splice(self, piece: Piece) -> tuple[Piece, list[memoryview]]:
        state, size = np.zeros(4, dtype=np.int64), piece.size * 5 // 4 + (1 << 16)
        parts: list[memoryview] = []
        chosen = np.zeros(0, dtype=np.int64) if piece.kept is None else piece.kept
        ended = kernels.FULL
        while ended == kernels.FULL:
            out = piece.room.out(len(parts), size)
            ended = kernels.splice(
                piece.room.text, piece.size, piece.records, piece.header, self.kinds, self.edges, self.marks, self.plan,
                self.tables, piece.first, chosen, piece.kept is None, state, out,
            )  # fmt: skip
            if state[kernels.WRITTEN] or ended == kernels.DONE:
                parts.append(memoryview(out.data)[: state[kernels.WRITTEN]])
            else:
                size *= 2
        if ended == kernels.CHANGED or state[kernels.RECORD] != piece.records:
            raise changed(self.rest.path)
        return piece, parts


def _fate(name: str, data: Dataset, places: dict[str, int]) -> int:
    return kernels.LEAVE if name not in data else places.get(name, kernels.PASS)
