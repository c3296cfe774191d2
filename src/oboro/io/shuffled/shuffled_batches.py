"""Columns that stayed in a file, in a new order, for files of any size: rows go to buckets, and bucket after bucket comes out."""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Any

import numpy as np
import pyarrow as pa

from oboro.io.file_progress import RowProgress
from oboro.io.shuffled import dealt_runs
from oboro.io.untouched_columns import UntouchedColumns, file_changed, file_rows
from oboro.table.dataset import Column, Dataset
from oboro.table.rows.row_shuffle import RowShuffle
from oboro.table.unencoded_columns import UnencodedColumn, unread_columns

__all__ = ["shuffled_blocks"]

GROUP = 1 << 17  # rows that are put in their places together, at least


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
        if self.writer is None and self.bytes_held + batch.nbytes <= dealt_runs.HELD:
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
        end = min(max(int(np.searchsorted(starts, starts[begin] + GROUP)), begin + 1), buckets)
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
