"""Blocks of records, cut from CSV text."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np

from oboro.data.column import large_zeros
from oboro.errors import FileError
from oboro.io.bytes import ByteStream
from oboro.io.formats.csv.dialect import Dialect
from oboro.io.formats.csv.kernels import cutting
from oboro.text import Message

__all__ = ["PAD", "RecordBlock", "RecordCutter"]


LONGEST = (16 << 20) - 64  # bytes of one record; a longer one has lost a quote
BLOCK = LONGEST  # bytes of text in a block
# Fields in a block. A column of 100,000 values has a table of megabytes, which must come back into the cache for every block: with
# 4,000 rows of 100 columns at a time, reading took a third longer than with 12,000.
CELLS = 1_200_000
PAD = 96  # a field is read in words, up to two of them beyond its end; marks are looked for in 64 bytes at once


@dataclass
class RecordBlock:
    """A piece of the text and the fields found in it."""

    columns: int  # whose fields are packed
    rows: int
    size: int
    text: np.ndarray = field(init=False)
    cells: np.ndarray = field(init=False)
    before: int = 0  # records of the stream that stand before it
    found: int = 0
    filled: int = 0
    state: np.ndarray = field(default_factory=lambda: np.zeros(5, dtype=np.int64))

    def __post_init__(self) -> None:
        half = (self.size + PAD) // 8 * 8
        self.text = large_zeros(2 * half)  # the second half: fields with quotes inside
        self.cells = large_zeros(self.columns * 3 * self.rows, np.uint64).reshape(self.columns, 3 * self.rows)

    @property
    def words(self) -> np.ndarray:
        """The text as 64-bit words."""
        return self.text.view(np.uint64)

    def rest(self) -> np.ndarray:
        """The text after the last whole record."""
        return self.text[self.state[0] : self.filled]


@dataclass
class RecordCutter:
    """Cutter of a stream into blocks of records, which packs the fields of requested columns."""

    stream: ByteStream
    dialect: Dialect
    columns: int
    raw: bool = False  # whether quotes stay
    packed: Collection[int] | None = None  # which columns; None: all
    joined: Collection[range] = ()  # columns beside each other that are packed as one, in the place of the first
    size: int = field(init=False)
    ended: bool = False
    got: int = 0
    rows: int = 0  # records so far

    def __post_init__(self) -> None:
        self.size = BLOCK if self.stream.plain is None else min(BLOCK, self.stream.plain + 1)
        packed = np.arange(self.columns) if self.packed is None else np.unique(np.array([*self.packed], dtype=np.int64))
        self.fields = packed.size  # of a record, those of joined columns included
        self.runs = np.zeros(self.columns, dtype=np.int64)  # how many columns are packed as one from each on
        for run in self.joined:
            packed = packed[(packed <= run.start) | (packed >= run.stop)]
            self.runs[run.start] = len(run)
        self.places = np.full(self.columns, -1, dtype=np.int64)  # of each column among those that are packed
        self.places[packed] = np.arange(packed.size)
        self.kinds = np.zeros(256, dtype=np.uint8)
        self.kinds[ord(self.dialect.quote)] = cutting.QUOTE
        self.kinds[ord(self.dialect.cut)] = cutting.DELIMITER
        self.kinds[[10, 13, 0]] = cutting.LF, cutting.CR, cutting.NUL

    def block(self) -> RecordBlock:
        """An empty block, no larger than the file may need."""
        packed = int(np.count_nonzero(self.places >= 0))
        rows = min(CELLS // max(self.fields, 1), self.size // self.columns)  # a field takes at least its delimiter
        return RecordBlock(packed, max(rows, 16), self.size)

    def fill(self, block: RecordBlock, before: RecordBlock) -> RecordBlock:
        """Read on after `before` and cut: the block, or a larger one where one record did not fit."""
        rest = before.rest()
        lines = before.state[1]
        if block.size < self.size:
            block = self.block()
        while True:
            block.text[: rest.size] = rest
            block.filled = rest.size
            block.state[:] = 0, lines, 0, 0, 0
            self._read(block)
            block.found = cutting.tokenize(
                block.text, block.words, block.filled, self.ended, self.kinds, self.dialect.space, self.raw,
                self.places, self.runs, block.state, block.cells,
            )  # fmt: skip
            if block.found or block.state[3] or self.ended:
                block.before, self.rows = self.rows, self.rows + block.found
                return block
            if block.state[0]:  # only blank lines so far
                rest, lines = block.rest().copy(), block.state[1]
                continue
            rest, block = block.text[: block.filled], self._larger(block)

    def _read(self, block: RecordBlock) -> None:
        if not self.ended:
            room = memoryview(block.text.data)[block.filled : block.size]
            got = self.stream.readinto(room)
            self.ended = got < len(room)
            block.filled += got
            self.got += got

    def _larger(self, block: RecordBlock) -> RecordBlock:
        if block.size >= LONGEST:
            raise FileError(
                Message("error_io.long_record", path=self.stream.path, line=int(block.state[1]) + 1, most=LONGEST >> 20)
            )
        self.size = min(2 * block.size, LONGEST)
        return self.block()

    def check(self, block: RecordBlock) -> None:
        """Raise what is wrong with the record after the block's last good one."""
        _, _, kind, line, fields = (int(value) for value in block.state)
        if line == 0:
            return
        if kind == cutting.NUL:
            raise FileError(Message("error_io.nul_byte", path=self.stream.path, line=line, field=fields))
        if kind == cutting.UNEXPECTED:
            raise FileError(Message("error_io.text_after_quote", path=self.stream.path, line=line, field=fields))
        if kind == cutting.UNCLOSED:
            raise FileError(Message("error_io.open_quote", path=self.stream.path, line=line, field=fields))
        expected = {"columns": self.columns, "delimiter": self.dialect.cut}
        raise FileError(Message("error_io.ragged", path=self.stream.path, line=line, fields=fields, **expected))
