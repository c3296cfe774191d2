"""Columns of a table that comes only once: they wait in memory while they are little, else in a file without a name."""

from __future__ import annotations

import mmap
import tempfile
import weakref
from collections.abc import Collection, Hashable, Iterator, Sequence
from typing import IO, Any

import pyarrow as pa

from oboro.io.places.batch_table import BatchTable
from oboro.io.shuffled import dealt_runs

__all__ = ["SpooledBatches"]


class SpooledBatches(BatchTable):
    """Batches of some columns, which can be read again and again. Nobody else can read the file, and it goes with this."""

    twice = True

    def __init__(
        self, shown: str, schema: pa.Schema, names: Sequence[str], most: int = 0, droppable: Sequence[str] = ()
    ) -> None:
        """Prepare for the columns `names`; the `droppable` ones are kept only while all together are at most `most` bytes.

        A check compares those; identifiers of a large table must not wait in a file for it.
        """
        self.shown, self.names = shown, list(dict.fromkeys(names))
        self.most, self.droppable, self.shed = most, {*droppable}, False
        self.schema = pa.schema([schema.field(name) for name in self.names])
        self.count = 0
        self.nbytes: int = 0
        self._held: list[pa.RecordBatch] = []
        self._file: IO[bytes] | None = None
        self._writer: Any = None

    def add(self, batch: pa.RecordBatch) -> None:
        """One more batch, which has these columns and maybe others."""
        self.count += batch.num_rows
        if not self.names:
            return
        batch = batch.select(self.names)
        self.nbytes += batch.nbytes
        if self.droppable and not self.shed and self.nbytes > self.most:
            batch = self._without_droppable(batch)
        if self._writer is None and self.nbytes <= dealt_runs.HELD:
            self._held.append(batch)
            return
        if self._writer is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115  (it goes with this object)
            weakref.finalize(self, self._file.close)
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            self._writer = pa.ipc.new_file(pa.PythonFile(self._file, "w"), batch.schema, options=options)
        self._writer.write_batch(batch)

    def _without_droppable(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Drop the columns that only a small table keeps; return the batch without them."""
        self.shed = True
        self.forget(self.droppable)
        batch = batch.select(self.names)
        self.nbytes += batch.nbytes
        return batch

    def forget(self, names: Collection[str]) -> None:
        """Drop columns that nobody will ask for again, while all wait in memory."""
        self.names = [name for name in self.names if name not in names]
        self.schema = pa.schema([self.schema.field(name) for name in self.names])
        self._held = [one.select(self.names) for one in self._held]
        self.nbytes = sum(one.nbytes for one in self._held)

    def finish(self) -> None:
        """All are there."""
        if self._writer is not None and self._file is not None:
            self._writer.close()
            self._file.flush()
        self.rows = self.count

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows of some columns, in the order in which they came."""
        if not columns:
            yield pa.table({"": pa.nulls(self.count)}).select([]).to_batches()[0]
            return
        for batch in self._all():
            yield batch.select(list(columns))

    def _all(self) -> Iterator[pa.RecordBatch]:
        yield from self._held
        if self._file is not None:
            mapped = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
            reader = pa.ipc.open_file(pa.py_buffer(mapped))
            for number in range(reader.num_record_batches):
                yield reader.get_batch(number)

    def state(self) -> Hashable:
        """It does not change."""
        return self.count
