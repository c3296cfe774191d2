"""Reader of CSV text: parse it into an encoded table, block by block, on all cores.

While the columns of one block are numbered, the next block is read and cut into fields. What is kept of a row is one small code
per column; buffers are used again and again, because memory that was never touched before costs more than the parsing.
"""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from threading import Lock, local
from typing import Any

import numpy as np
import pyarrow as pa

from oboro.data.column import Column, UnreadColumn, address, large_zeros, smallest_unsigned
from oboro.data.dataset import Dataset
from oboro.errors import FileError
from oboro.io import column_store
from oboro.io.bytes import ByteStream, FileState, open_stream
from oboro.io.column_store import BlockEnd, FileFingerprints, HeldColumns, HeldTooMuch, UntouchedCsvColumns
from oboro.io.formats.csv.blocks import RecordBlock, RecordCutter
from oboro.io.formats.csv.dialect import Dialect, NotUnicode
from oboro.io.formats.csv.kernels import numbering
from oboro.io.formats.csv.kernels.cells import size_of
from oboro.io.formats.csv.kernels.fingerprinting import add_cells
from oboro.text import Message, Raw
from oboro.text.language import ByteProgress, RowProgress

__all__ = ["ColumnCoder", "CsvParser", "RawCells", "UnifyingMemory", "ZerosPool", "parse", "parse_held"]


MOST_THREADS = 8
AT_ONCE = 8  # columns that a thread takes; fewer where there are few, so that every thread has some
PIECE = 32 << 20  # bytes of memory asked for at once
FEW = 96  # values that a column has room for at first
MANY = 4096  # values from which on a guess is made how many there will be
PART = 2048  # values that are unified together: their table stays in the cache
MOST_WAITING = 1 << 22  # values that are collected before they are unified
# Where columns may be held that no step needs: so many values may differ, and of so many more fields one.
ANYWAY, SELDOM = 1 << 16, 4
A_VALUE = 40  # bytes that a different value takes while reading, beside its text
MOST_TEXT = (1 << 32) - 64  # bytes of different values in one column: offsets have 32 bits while reading


class ZerosPool:
    """Arrays of zeros cut from large pieces of memory."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.piece = large_zeros(0)

    def array(self, size: int, dtype: Any) -> np.ndarray:
        """An array of zeros; what is not touched costs no memory."""
        needed = -(-size * np.dtype(dtype).itemsize // 64) * 64
        with self.lock:
            if needed > PIECE // 4:
                taken = large_zeros(needed)
            else:
                if needed > self.piece.size:
                    self.piece = large_zeros(PIECE)
                taken, self.piece = self.piece[:needed], self.piece[needed:]
        array: np.ndarray = taken.view(dtype)
        return array[:size]


class UnifyingMemory(local):
    """Memory to unify the values of one column after another, one for each thread."""

    def __init__(self) -> None:
        self.cells = np.empty(0, dtype=np.uint64)
        self.records = np.empty(0, dtype=np.uint64)
        self.codes = np.empty(0, dtype=np.uint32)

    def arrays(self, values: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Memory for so many values: their cells, the same as slots, and their codes."""
        if self.codes.size < values:
            self.cells = large_zeros(3 * values, np.uint64)
            self.records = large_zeros(4 * values, np.uint64)
            self.codes = large_zeros(values, np.uint32)
        return self.cells, self.records, self.codes[:values]


class ColumnCoder:
    """The values of one column, numbered by first appearance, and the codes of its rows."""

    def __init__(self, place: int, table: np.ndarray, pool: ZerosPool, in_file: int = 0) -> None:
        """`place` is its place among the cells of a block, `in_file` among the columns."""
        self.table, self.pool, self.in_file = table, pool, in_file
        self.slots = np.zeros(_slots(FEW), dtype=np.uint64)
        self.offsets = np.zeros(FEW, dtype=np.uint32)
        self.text = np.empty(4096, dtype=np.uint8)
        self.codes = np.empty(0, dtype=np.uint8)
        self.direct = np.zeros(1000, dtype=np.uint32)
        self.may_wait = True
        table[numbering.PLACE] = place
        self._tell()

    def _tell(self) -> None:
        """Tell the kernel where everything is now."""
        places = numbering.SLOTS, numbering.OFFSETS, numbering.TEXT, numbering.DIRECT
        arrays: tuple[np.ndarray, ...] = self.slots, self.offsets, self.text, self.direct
        for place, array in zip(places, arrays, strict=True):
            self.table[place], self.table[place + 1] = address(array), array.size
        self.table[numbering.CODES] = address(self.codes)
        self.table[numbering.WIDTH], self.table[numbering.ROOM] = self.codes.itemsize, self.codes.size

    @property
    def found(self) -> int:
        """Number of values so far."""
        return int(self.table[numbering.FOUND])

    @property
    def rows(self) -> int:
        """Number of rows with a code."""
        return int(self.table[numbering.ROWS])

    @property
    def hashed(self) -> int:
        """Number of values in the table of slots: all but short whole numbers."""
        return int(self.table[numbering.HASHED])

    def size(self, rows: int) -> int:
        """Estimate the bytes of the column with so many rows: its codes, and each different value so far."""
        return rows * self.codes.itemsize + int(self.offsets[self.found]) + A_VALUE * self.found

    @property
    def waits(self) -> bool:
        """True if equal values are still to be found, because nearly all differ."""
        return self.slots.size == 0

    def grow(self, block: RecordBlock, expected: int) -> None:
        """Make the room that the kernel asked for; `expected` rows are guessed in all."""
        row = int(self.table[numbering.ROW])
        wanted = max(expected, self.found * 3 // 2) if self.waits else self._wanted(self.found, row, expected)
        if row == block.found:
            self._grow_codes(row, wanted, expected)
        elif not self.waits and self.hashed >= numbering.full(self.slots.size):
            self._grow_slots(row, expected)
        elif self.found + 1 == self.offsets.size:
            self.offsets = self._longer(self.offsets, self.found + 1, wanted + 2)
        else:
            self._grow_text(size_of(block.cells[self.table[numbering.PLACE], 3 * row + 2]), wanted)
        self._tell()

    def _wanted(self, found: int, row: int, expected: int) -> int:
        """For how many values to make room when so many are there."""
        return max(_projected(found, self.rows + row, expected) * 9 // 8, found * 3 // 2, 2 * FEW)

    def _grow_slots(self, row: int, expected: int) -> None:
        """A larger table, or none where nearly every row would make a new entry."""
        if self.may_wait and 4 * _projected(self.hashed, self.rows + row, expected) > expected:
            self.slots = self.slots[:0]
        else:
            self._index(self._wanted(self.hashed, row, expected))

    def _index(self, wanted: int) -> None:
        # All pages at once: one at a time, as values fall into them, takes longer.
        self.slots = large_zeros(_slots(wanted), np.uint64, at_once=True)
        cells = large_zeros(3 * self.found, np.uint64)
        numbering.pack_values(self.offsets, self.text.view(np.uint64), self.found, True, cells)
        if np.mean(cells[2 : 3 * self.found : 3] >> 56 <= numbering.DIGITS) > 0.5:
            self.direct = large_zeros(numbering.NUMBERS, np.uint32)
        self.table[numbering.HASHED] = numbering.rehash(cells, self.found, self.slots, self.direct)

    def _grow_text(self, more: int, wanted: int) -> None:
        used = int(self.offsets[self.found])
        if used + more > MOST_TEXT:
            raise FileError(Message("error_io.column_too_large", place=self.in_file + 1))
        guess = int(1.1 * used * wanted / max(self.found, 64))
        size = min(max(2 * self.text.size, used + more + 64, guess), MOST_TEXT + 64)
        self.text = self._longer(self.text, used, (size + 7) // 8 * 8)

    def _grow_codes(self, more: int, wanted: int, expected: int) -> None:
        room = self.codes.size
        if self.rows + more > room:
            room = max(expected, self.rows + more) if self.rows == 0 else max(expected, (self.rows + more) * 3 // 2)
        dtype = smallest_unsigned(wanted if wanted >= 1 << 16 else self.found)
        self.codes = self._longer(self.codes, self.rows, room, dtype)

    def _longer(self, array: np.ndarray, used: int, size: int, dtype: Any = None) -> np.ndarray:
        """A longer array that starts with the used part; what is not used is not touched, so it costs no memory yet."""
        longer = self.pool.array(size, dtype or array.dtype)
        longer[:used] = array[:used]
        return longer

    def settle(self, unifying: UnifyingMemory) -> None:
        """Stop collecting values before they take too much memory."""
        if self.waits and (self.found > MOST_WAITING or int(self.offsets[self.found]) > MOST_TEXT // 4):
            self._unify(unifying)
            self._index(max(2 * self.found, self.offsets.size - 2))
            self.may_wait = False
            self._tell()

    def _unify(self, unifying: UnifyingMemory) -> None:
        """Find the equal values among those that were only collected, and give their rows one code."""
        found, known = self.found, self.text.view(np.uint64)
        ends = np.zeros(-(-found // PART), dtype=np.int64)
        cells, records, codes = unifying.arrays(found)
        numbering.pack_values(self.offsets, known, found, True, cells)
        numbering.scatter(cells, found, ends, records)
        largest = int(np.diff(ends, prepend=0).max())
        numbering.representatives(records, ends, known, np.empty(_slots(2 * largest), np.uint64), codes)
        kept = numbering.renumber(found, self.offsets, self.text, codes)
        if kept < found:
            self.codes[: self.rows] = codes[self.codes[: self.rows]]
        self.table[numbering.FOUND] = kept

    def column(self, path: str, name: str, unifying: UnifyingMemory) -> Column:
        """The finished column; an empty field is a missing value."""
        if self.waits:
            self._unify(unifying)
        found, size = self.found, int(self.offsets[self.found])
        present = np.diff(self.offsets[: found + 1]) > 0
        wide = size >= 1 << 31
        starts = self.offsets[: found + 1].astype(np.int64) if wide else self.offsets[: found + 1].view(np.int32)
        bits = None if present.all() else pa.py_buffer(np.packbits(present, bitorder="little"))
        buffers = [bits, pa.py_buffer(starts), pa.py_buffer(self.text[:size])]
        values = pa.Array.from_buffers(pa.large_string() if wide else pa.string(), found, buffers)
        column = Column(values, self.codes[: self.rows].astype(smallest_unsigned(found), copy=False))
        if size and self.text[:size].max() > 127:
            _check_text(path, name, column)
        return column


def _projected(found: int, rows: int, expected: int) -> int:
    """Estimate the final number of distinct values, all taken as equally likely; 0 if it is too early for an estimate.

    Of D values, n rows show about D · (1 − exp(−n/D)): the share of new ones says n/D. Without this guess, the tables of a
    column of many values would be doubled, and filled anew, ten times.
    """
    if found < MANY:
        return 0
    low, high = 1e-6, rows / found + 1.0  # n/D is between these
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if -math.expm1(-middle) / middle > found / rows else (low, middle)
    domain = rows / low
    return int(domain * -math.expm1(-max(expected, rows) / domain))


def _slots(values: int) -> int:
    """Return the number of words of a table for so many values: lines of two slots, a quarter of them free."""
    return 8 * (values * 2 // 3 + 2)


def _check_text(path: str, name: str, column: Column) -> None:
    try:
        column.values.validate(full=True)
    except pa.ArrowInvalid:
        values = column.values.cast(pa.large_binary()).to_pylist()
        code, value = next((code, value) for code, value in enumerate(values) if not _is_text(value))
        row = int(np.argmax(column.codes == code)) + 1
        culprit = Raw(value[:40], row)
        raise NotUnicode(Message("error_io.not_utf8", path=path, name=name, row=row, value=culprit)) from None


def _is_text(value: bytes | None) -> bool:
    try:
        (value or b"").decode()
    except UnicodeDecodeError:
        return False
    return True


class CsvParser:
    """Turns the blocks of one stream into columns."""

    def __init__(
        self, cutter: RecordCutter, wanted: Sequence[int], also: Sequence[Callable[[RecordBlock], None]] = ()
    ) -> None:
        """Each of `also` is called with each block, in other threads, block after block."""
        self.cutter, self.also = cutter, also
        self.tables = np.zeros((len(wanted), numbering.WORDS), dtype=np.int64)
        pool = ZerosPool()
        self.coders = [
            ColumnCoder(int(cutter.places[place]), table, pool, place)
            for place, table in zip(wanted, self.tables, strict=True)
        ]
        self.unifying = UnifyingMemory()
        self.at_once = min(AT_ONCE, -(-len(wanted) // 4))
        self.rows = 0
        self.used = 0
        self.limited: list[ColumnCoder] = []  # they may take `most` bytes
        self.most = 0

    def columns(self, names: Sequence[str], progress: ByteProgress | None) -> dict[str, Column]:
        """Read to the end, on all cores: the wanted columns under their names."""
        helpers = min(max(os.cpu_count() or 1, 2), MOST_THREADS) - 1
        path = self.cutter.stream.path
        with ThreadPoolExecutor(helpers + 1) as pool:
            self._run(pool, helpers, progress)
            # Several at a time: of a wide table a column takes less time than to hand it to a thread.
            several = [range(begin, begin + self.at_once) for begin in range(0, len(names), self.at_once or 1)]
            found = pool.map(
                lambda some: [
                    self.coders[place].column(path, names[place], self.unifying) for place in some if place < len(names)
                ],
                several,
            )
            return dict(zip(names, chain.from_iterable(found), strict=True))

    def _run(self, pool: ThreadPoolExecutor, helpers: int, progress: ByteProgress | None) -> None:
        """Number the fields of one block while the next is read and cut, until there is none."""
        cutter, stream = self.cutter, self.cutter.stream
        spare = cutter.block()
        current = cutter.fill(cutter.block(), spare)
        skip = cutter.dialect.skipped
        while current.found:
            self.rows += current.found - skip
            self.used += int(current.state[0])
            expected = self._expected()
            # Whether limited columns can be held at all is seen from the first block: until then there is no room for more.
            room = self.rows if self.limited and not current.before else expected
            turns = self._turns()  # one for all threads: each takes the next
            helping = [pool.submit(self._encode, current, turns, skip, room) for _ in range(helpers)]
            helping += [pool.submit(act, current) for act in self.also]
            following = cutter.fill(spare, current)
            self._encode(current, turns, skip, room)
            for helper in helping:
                helper.result()
            for coder in self.coders:
                coder.settle(self.unifying)
            if self.limited:
                self._check_limited(expected)
            current, spare, skip = following, current, 0
            if progress:
                progress(stream.done(), stream.total)
        cutter.check(current)

    def _turns(self) -> Iterator[int]:
        """Return where the columns begin that a thread takes together, those of many values first.

        They wait for memory and take longest: begun last, they keep one core waiting for the other at every block.
        """
        begins = np.arange(0, len(self.coders), self.at_once or 1)
        found = self.tables[:, numbering.FOUND]
        most = np.maximum.reduceat(found, begins) if begins.size else found
        return iter(begins[np.argsort(-most, kind="stable")].tolist())

    def _check_limited(self, expected: int) -> None:
        """Raise if these columns take too much, or if so many values differ that codes and values are longer than the text."""
        different = sum(coder.found for coder in self.limited)
        size = sum(coder.size(expected) for coder in self.limited)
        if size > self.most or SELDOM * (different - ANYWAY) > self.rows * len(self.limited):
            raise HeldTooMuch

    def _encode(self, block: RecordBlock, turns: Iterator[int], first: int, expected: int) -> None:
        out = np.empty(block.found, dtype=np.uint32)
        for begin in turns:
            end = min(begin + self.at_once, len(self.coders))
            while begin < end:
                begin = numbering.encode_columns(
                    block.cells, first, block.found, block.words, self.tables, begin, end, out
                )
                if begin < end:
                    self.coders[begin].grow(block, expected)

    def _expected(self) -> int:
        """Estimate the number of rows of the file from its beginning, slightly too high."""
        done, total = self.cutter.stream.done(), self.cutter.stream.total
        if not total or not done or not self.used:
            return 2 * self.rows
        ahead = self.cutter.got / self.used  # what was read is more than what was cut so far
        return int(1.01 * self.rows * ahead * total / done) + 64


def parse(
    stream: ByteStream,
    dialect: Dialect,
    names: Sequence[str],
    wanted: Sequence[str],
    progress: ByteProgress | None = None,
    raw: bool = False,
) -> Dataset:
    """Read the whole stream and encode the wanted columns; `raw` with their quotes."""
    place = {name: number for number, name in enumerate(names)}
    places = [place[name] for name in wanted]
    parser = CsvParser(RecordCutter(stream, dialect, len(names), raw, places), places)
    columns = parser.columns(wanted, progress)
    return Dataset(columns, parser.rows)


# Reading with some columns loaded -------------------------------------------------------------------------------------
# Only some columns are loaded: every record is checked, and the ends of blocks are kept.


FEWEST_JOINED = 3  # columns beside each other that are looked at together
FIRST_MARK = 14  # delimiters below are not told from line breaks where many bytes are looked at together


@dataclass
class CheckingCutter(RecordCutter):
    """Cuts a stream into blocks, remembers where they end, and can check the text of every field, wanted or not.

    Where `all_held`, that is not needed: each different value is checked once, when its column is finished.
    """

    names: Sequence[str] = ()
    all_held: bool = False
    block_ends: list[BlockEnd] = field(default_factory=list)

    def fill(self, block: RecordBlock, before: RecordBlock) -> RecordBlock:
        """The next block."""
        block = super().fill(block, before)
        if block.found:
            self.block_ends.append(BlockEnd(self.got - block.filled + int(block.state[0]), block.found))
        return block

    def check_text(self, block: RecordBlock) -> None:
        """Raise where a field of a block is no text."""
        if self.all_held or self.stream.encoding not in ("utf-8", "utf-8-sig"):
            return
        text = block.text[: block.state[0]]
        offsets = pa.py_buffer(np.array([0, text.size], dtype=np.int32))
        try:
            pa.Array.from_buffers(pa.string(), 1, [None, offsets, pa.py_buffer(text)]).validate(full=True)
        except pa.ArrowInvalid:
            raise self._not_text(text.tobytes(), block.before) from None

    def _not_text(self, text: bytes, before: int) -> NotUnicode:
        """The error for a block with a field that is no text; the block is read once more, by Python, to find it."""
        place: dict[str, Any] = {"name": "", "row": 0}
        value = Raw(b"")
        marks = {"delimiter": self.dialect.cut, "quotechar": self.dialect.quote}
        records = csv.reader(io.StringIO(text.decode("utf-8", "surrogateescape"), newline=""), **marks)  # type: ignore[arg-type]
        with suppress(csv.Error):
            for row, record in enumerate(filter(None, records), before + 1 - int(self.dialect.header)):
                bad = next(
                    (place for place, one in enumerate(record) if not one.isascii() and not _decoded_as_text(one)), None
                )
                if bad is not None:
                    place = {"name": self.names[bad], "row": row}
                    value = Raw(record[bad].encode("utf-8", "surrogateescape")[:40], row)
                    break
        id = "error_io.not_utf8" if place["row"] else "error_io.not_utf8_somewhere"
        return NotUnicode(Message(id, path=self.stream.path, value=value, **place))


class FieldFingerprints:
    """One 64-bit number a record, from its fields in some columns, with new random keys for every file."""

    def __init__(self, places: np.ndarray, skipped: int) -> None:
        """`places` of the columns among the cells of a block; `skipped` records precede the first row."""
        self.places, self.skipped = places, skipped
        self.keys = np.random.default_rng().integers(0, 1 << 64, places.size, np.uint64)
        self.parts: list[np.ndarray] = []

    def add(self, block: RecordBlock) -> None:
        """The records of the next block."""
        first = 0 if block.before else self.skipped
        part = large_zeros(block.found - first, np.uint64)
        add_cells(block.cells, first, block.found, block.words, self.places, self.keys, part)
        self.parts.append(part)


def _decoded_as_text(value: str) -> bool:
    return not any("\udc80" <= letter <= "\udcff" for letter in value)


def parse_held(
    stream: ByteStream, dialect: Dialect, columns: HeldColumns, progress: RowProgress | None = None
) -> tuple[Dataset, UntouchedCsvColumns]:
    """Encode the columns to load. Memory: their codes and dictionaries."""
    names, held, fingerprinted, limited = columns
    file_state = FileState.of(stream.path)
    place = {name: number for number, name in enumerate(names)}
    wanted = [place[name] for name in held]
    marked = [place[name] for name in fingerprinted]
    cutter = CheckingCutter(
        stream, dialect, len(names), packed=[*wanted, *marked], joined=_runs(marked, dialect), names=names,
        all_held=set(held) >= set(names),
    )  # fmt: skip
    seen = cutter.places[marked]
    marker = FieldFingerprints(seen[seen >= 0], dialect.skipped)
    parser = CsvParser(cutter, wanted, [cutter.check_text, *([marker.add] if marked else [])])
    may_take = set(limited)
    parser.limited = [coder for coder, name in zip(parser.coders, held, strict=True) if name in may_take]
    parser.most = column_store.HELD_TOO
    found = parser.columns(held, _counting(cutter, progress))
    made = {name: found[name] if name in found else UnreadColumn(parser.rows) for name in names}
    untouched = UntouchedCsvColumns(
        stream.path,
        tuple(names),
        parser.rows,
        file_state,
        FileFingerprints(tuple(fingerprinted), marker.parts) if fingerprinted else None,
        dialect,
        tuple(cutter.block_ends),
    )
    return Dataset(made, parser.rows), untouched


def _runs(columns: Sequence[int], dialect: Dialect) -> list[range]:
    """Columns beside each other, of which one number is made from their text as it stands; not where spaces are skipped in it."""
    if dialect.space or ord(dialect.cut) < FIRST_MARK:
        return []
    groups = np.split(np.array(columns), np.flatnonzero(np.diff(columns) != 1) + 1)
    return [range(some[0], some[-1] + 1) for some in groups if len(some) >= FEWEST_JOINED]


def _counting(cutter: CheckingCutter, progress: RowProgress | None) -> ByteProgress | None:
    """Bytes as rows: how many there are in all is guessed from what was read."""
    if progress is None:
        return None
    return lambda done, total: progress(cutter.rows, round(cutter.rows * max((total or 0) / max(done, 1), 1)))


# Raw cells ------------------------------------------------------------------------------------------------------------
# Cells with their quotes: some tools distinguish `""` from an empty field, and `"1"` from `1`.


RAW_PIECE = 1 << 22


@dataclass(frozen=True, eq=False)
class RawCells:
    """One file, read again when the unchanged cells of a column are requested."""

    path: str
    dialect: Dialect
    names: Sequence[str]
    _read: dict[str, Column] = field(default_factory=dict, repr=False)

    def beside(self, data: Dataset) -> Dataset:
        """Return the table with columns that know their cells in the file."""
        columns = {
            name: Column(column.values, column.codes, _Cells(self, name, column))
            for name, column in data.columns.items()
        }
        return data.with_columns(columns)

    def column(self, name: str, known: Column) -> Column:
        """The column with quotes; the known one where the file has none. O(bytes)."""
        self.read([name])
        found = self._read.get(name, known)
        return found if len(found) == len(known) else known

    def read(self, names: Sequence[str]) -> None:
        """Read the cells of these columns, as far as that was not done, in one go."""
        wanted = [name for name in dict.fromkeys(names) if name not in self._read and name in self.names]
        if not wanted or not self._quotes:
            return

        with open_stream(self.path, self.dialect.encoding) as stream:
            self._read.update(parse(stream, self.dialect, self.names, wanted, raw=True).columns)

    @cached_property
    def _quotes(self) -> bool:
        """True if there is a quote in the file at all."""
        quote, piece = self.dialect.quote.encode(), memoryview(bytearray(RAW_PIECE))
        with open_stream(self.path, self.dialect.encoding) as stream:
            while got := stream.readinto(piece):
                if quote in bytes(piece[:got]):
                    return True
        return False


@dataclass(frozen=True, eq=False)
class _Cells:
    """Loader of one column with its unchanged cells of the file."""

    file: RawCells
    name: str
    known: Column

    def __call__(self) -> Column:
        return self.file.column(self.name, self.known)

    def ahead(self, names: Sequence[str]) -> None:
        """All of these with one reading of the file."""
        self.file.read(names)
