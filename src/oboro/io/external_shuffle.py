"""External shuffle of the rows of a file of any size: rows are dealt to buckets, and written bucket by bucket."""

from __future__ import annotations

import errno
import mmap
import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa

from oboro.data.column import Column, UnencodedColumn, large_zeros
from oboro.data.dataset import Dataset, unread_columns
from oboro.data.row_order import RowShuffle
from oboro.io import shuffle_kernels
from oboro.io.column_store import UntouchedColumns, file_changed, file_rows
from oboro.io.formats.csv.writer import BlockCopy, CopyThrough
from oboro.io.places.place import Place, as_place
from oboro.system.files import STDOUT
from oboro.system.process import in_order
from oboro.text.language import RowProgress

__all__ = ["DealtRuns", "ShuffledLines", "private_folder", "shuffled_blocks"]


# Runs of dealt rows ---------------------------------------------------------------------------------------------------
# Runs are kept in memory while they are small, else in a file that only this process can read.


HELD = 1 << 29  # bytes that are held in memory; what comes after them goes to the file


def private_folder(output: str | Path | Place) -> str | None:
    """Return the folder for temporary files of an output: beside it, where there must be room; None: chosen by the system."""
    place = as_place(output)
    if not place.is_local:
        return None
    path = place.path
    folder = os.path.dirname(os.path.realpath(path))
    return None if str(path) == STDOUT or not os.access(folder, os.W_OK) or Path(path).is_fifo() else folder


@dataclass
class DealtRuns:
    """Runs of bytes. The file has no name (or loses it when it is closed), is for its owner only, and goes with this object."""

    folder: str | None
    held: list[np.ndarray] = field(default_factory=list)
    bytes_held: int = 0
    begins: list[int] = field(default_factory=list)  # in the file, of the runs that are there
    file: IO[bytes] | None = None

    def add(self, run: np.ndarray) -> None:
        """Keep one more run, which is not used elsewhere any more."""
        if self.file is None and self.bytes_held + run.size <= HELD:
            self.held.append(run)
            self.bytes_held += run.size
            return
        self.file = self.file or tempfile.TemporaryFile(buffering=0, dir=self.folder)  # noqa: SIM115  (closed in `close`)
        begin = self.file.seek(0, os.SEEK_END)
        view = memoryview(run.data)
        while view:
            view = view[self.file.write(view) :]
        self.begins.append(begin)

    def read(self, number: int, begin: int, end: int, out: np.ndarray) -> None:
        """The bytes `begin` … `end` of a run."""
        if number < len(self.held):
            out[:] = self.held[number][begin:end]
            return
        assert self.file is not None
        self.file.seek(self.begins[number - len(self.held)] + begin)
        view = memoryview(out.data)
        while view:
            got = self.file.readinto(view)  # type: ignore[attr-defined]
            if not got:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            view = view[got:]

    def close(self) -> None:
        """Forget everything."""
        self.held.clear()
        if self.file is not None:
            self.file.close()


# Shuffled batches -----------------------------------------------------------------------------------------------------


GROUP_ROWS = 1 << 17  # rows that are put in their places together, at least


def shuffled_blocks(
    data: Dataset,
    shuffle: RowShuffle,
    untouched: UntouchedColumns,
    folder: str | None,
    done: RowProgress | None = None,
) -> Iterator[Dataset]:
    """The table block by block in the order of `shuffle`; `data` stands in the order of the file.

    Columns of the file that were read wait in memory, or in a file without a name in `folder`.
    """
    moved, dealt = shuffle.shuffled(data), DealtBatches(folder)
    try:
        _deal(dealt, data, shuffle, untouched, done)
        for begin, end in _groups(shuffle.starts):
            yield _placed(moved, dealt, shuffle, begin, end)
    finally:
        dealt.close()


@dataclass
class DealtBatches:
    """Batches of rows that stand by bucket: in memory while they are little, the others in a file without a name."""

    folder: str | None
    held: list[pa.RecordBatch] = field(default_factory=list)
    ends: list[np.ndarray] = field(default_factory=list)  # where each bucket begins in each batch, and the end
    bytes_held: int = 0
    file: IO[bytes] | None = None
    writer: Any = None

    def add(self, batch: pa.RecordBatch, ends: np.ndarray) -> None:
        """Keep one more batch."""
        self.ends.append(ends)
        if self.writer is None and self.bytes_held + batch.nbytes <= HELD:
            self.held.append(batch)
            self.bytes_held += batch.nbytes
            return
        if self.writer is None:
            self.file = tempfile.TemporaryFile(dir=self.folder)  # noqa: SIM115  (closed in `close`)
            self.writer = pa.ipc.new_file(pa.PythonFile(self.file, "w"), batch.schema)
        self.writer.write_batch(batch)

    def finish(self) -> None:
        """All are there: those in the file are looked at there, not read."""
        if self.writer is None or self.file is None:
            return
        self.writer.close()
        self.file.flush()
        mapped = mmap.mmap(self.file.fileno(), 0, access=mmap.ACCESS_READ)
        reader = pa.ipc.open_file(pa.py_buffer(mapped))
        self.held += [reader.get_batch(number) for number in range(reader.num_record_batches)]

    def close(self) -> None:
        """Forget everything."""
        self.held.clear()
        if self.file is not None:
            self.file.close()


def _deal(
    dealt: DealtBatches,
    data: Dataset,
    shuffle: RowShuffle,
    untouched: UntouchedColumns,
    done: RowProgress | None,
) -> None:
    untouched.check()
    names, row = unread_columns(data), 0
    for block in untouched.blocks(names):
        if row + block.rows > untouched.rows:
            raise file_changed(untouched.path)
        begin, stop, chosen = file_rows(data, row, row + block.rows)
        bucket = shuffle.bucket[begin:stop]
        order = np.argsort(bucket, kind="stable")
        rows = pa.array(order if chosen is None else chosen[order])
        arrays = [block[name].decode().take(rows) for name in names]
        ends = np.searchsorted(bucket[order], np.arange(shuffle.buckets + 1))
        dealt.add(pa.RecordBatch.from_arrays(arrays, names=names), ends.astype(np.int32))
        row += block.rows
        if done:
            done(row, untouched.rows)
    untouched.check(row)
    dealt.finish()


def _groups(starts: np.ndarray) -> Iterator[tuple[int, int]]:
    """Neighbouring buckets, from and to, with at least as many rows as are worth a turn."""
    begin, buckets = 0, starts.size - 1
    while begin < buckets:
        end = min(max(int(np.searchsorted(starts, starts[begin] + GROUP_ROWS)), begin + 1), buckets)
        yield begin, end
        begin = end


def _placed(moved: Dataset, dealt: DealtBatches, shuffle: RowShuffle, begin: int, end: int) -> Dataset:
    parts, buckets = [], []
    for batch, ends in zip(dealt.held, dealt.ends, strict=True):
        parts.append(batch.slice(ends[begin], ends[end] - ends[begin]))
        buckets.append(np.repeat(np.arange(begin, end), np.diff(ends[begin : end + 1])))
    came = np.argsort(np.concatenate(buckets), kind="stable")  # bucket by bucket, each as its rows came
    starts, first = shuffle.starts[begin : end + 1], int(shuffle.starts[begin])
    rows = slice(first, int(starts[-1]))
    order = came[np.repeat(starts[:-1] - first, np.diff(starts)) + shuffle.within[rows]]
    found = pa.Table.from_batches(parts).take(pa.array(order))
    columns = {
        name: UnencodedColumn(found[name]) if name in found.column_names else Column(column.values, column.codes[rows])
        for name, column in moved.columns.items()
    }
    return Dataset(columns, rows.stop - rows.start)


# Shuffled lines of CSV ------------------------------------------------------------------------------------------------
# CSV to CSV in a new order: lines go to buckets while they are made, then the buckets are written one by one.
#
# The waiting text is that of the release, already anonymized; only its order is still that of the input. It waits in
# memory, or in a file without a name.


GROUP_BYTES = 1 << 22  # bytes of text that are put in their places together, at least
MOST_BUCKETS = 1 << 12
LARGEST = 1 << 24  # bytes of a bucket: each is held as a whole, so one with longer lines is split
CHUNK = 1 << 15  # bytes that are read from one run at a time, on average, at least


@dataclass
class DealtBlock:
    """The lines of a block by bucket: their text, their lengths, and where each bucket begins in both."""

    text: np.ndarray
    lengths: np.ndarray
    lines: np.ndarray
    bytes: np.ndarray


@dataclass
class GatheredBuckets:
    """All lines of some neighbouring buckets, run after run."""

    begin: int
    end: int
    text: np.ndarray


@dataclass
class ShuffledLines:
    """The release of a CSV file as CSV text, in the order of `shuffle`. Files that it needs are made in `folder`."""

    copied: CopyThrough
    shuffle: RowShuffle
    folder: str | None
    lengths: list[np.ndarray] = field(default_factory=list)
    lines: list[np.ndarray] = field(default_factory=list)  # where each bucket begins in the lines of each run
    bytes: list[np.ndarray] = field(default_factory=list)

    def __post_init__(self) -> None:
        ends, rows = self.copied.untouched.block_ends, self.shuffle.within.size
        size = ends[-1].end if ends else 0
        if size > LARGEST * self.shuffle.buckets:
            self.shuffle = self.shuffle.split(min(-(-size // GROUP_BYTES), rows, MOST_BUCKETS))

    def parts(self, done: RowProgress | None = None) -> Iterator[memoryview]:
        """The text of all rows, in their new order."""
        runs = DealtRuns(self.folder)
        try:
            for block in self.copied.each(self._deal, done):
                runs.add(block.text)
                self.lengths.append(block.lengths)
                self.lines.append(block.lines)
                self.bytes.append(block.bytes)
            yield from self._placed(runs)
        finally:
            runs.close()

    def _deal(self, block: BlockCopy) -> DealtBlock:
        parts = self.copied.copy(block)
        lengths = block.lengths
        bucket = self.shuffle.bucket[block.first : block.first + lengths.size]
        counts = np.zeros((2, self.shuffle.buckets), dtype=np.int64)
        shuffle_kernels.size_by_bucket(lengths, bucket, counts[0], counts[1])
        lines, places = (np.concatenate([[0], np.cumsum(one)]) for one in counts)
        dealt = DealtBlock(large_zeros(int(places[-1])), np.empty_like(lengths), lines, places)
        line, cursors = 0, (lines.copy(), places.copy())
        for part in parts:
            text = np.frombuffer(part, dtype=np.uint8)
            line = shuffle_kernels.deal_lines(text, lengths, bucket, line, *cursors, dealt.lengths, dealt.text)
        return dealt

    def _placed(self, runs: DealtRuns) -> Iterator[memoryview]:
        lengths, lines, places = np.concatenate(self.lengths), np.array(self.lines), np.array(self.bytes)
        lines += np.concatenate([[0], np.cumsum(lines[:-1, -1])])[:, None]  # among the lines of all runs

        def put(group: GatheredBuckets) -> memoryview:
            within, buckets = self.shuffle.within, slice(group.begin, group.end + 1)
            out = np.empty(group.text.size, dtype=np.uint8)
            counts = np.diff(lines[:, buckets])
            starts = self.shuffle.starts[buckets]
            shuffle_kernels.place_lines(group.text, lengths, lines[:, group.begin].copy(), counts, starts, within, out)
            return memoryview(out.data)

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            yield from in_order(pool, _gathered(runs, places), put)


def _gathered(runs: DealtRuns, places: np.ndarray) -> Iterator[GatheredBuckets]:
    """Neighbouring buckets with at least as much text as is worth a turn; `places[r]`: where each begins in run r."""
    ends = places.sum(axis=0)
    least = max(GROUP_BYTES, CHUNK * len(places))
    begin, buckets = 0, places.shape[1] - 1
    while begin < buckets:
        end = min(max(int(np.searchsorted(ends, ends[begin] + least)), begin + 1), buckets)
        text = np.empty(int(ends[end] - ends[begin]), dtype=np.uint8)
        at = 0
        for number, (first, last) in enumerate(places[:, [begin, end]].tolist()):
            runs.read(number, first, last, text[at : at + last - first])
            at += last - first
        yield GatheredBuckets(begin, end, text)
        begin = end
