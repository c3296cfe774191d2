"""Arrow IPC: files (Feather), and streams in a file (`.arrows`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from oboro._lazy import lazy_module
from oboro.data.dataset import Dataset
from oboro.io.bytes import head_of, readable
from oboro.io.formats.base import FileFormat, ReadRequest, TypedTable, WriteRequest, chosen_columns
from oboro.system.process import ahead

__all__ = ["FORMAT"]


FILE, STREAM = b"ARROW1", b"\xff\xff\xff\xff"
parquet = lazy_module("oboro.io.formats.parquet")


class Arrow(FileFormat):
    """Arrow IPC."""

    name = "arrow"
    endings = (".arrow", ".feather", ".ipc", ".arrows")
    magic = (FILE, STREAM)
    nested = one_dictionary = columnar = joined = folders = True

    def read(self, path: str, request: ReadRequest) -> TypedTable:
        """Read all columns; those of a file are mapped into memory."""
        with readable(path):
            if head_of(path).startswith(FILE):
                with pa.memory_map(path) as file:
                    table = pa.ipc.open_file(file).read_all()
            else:
                with pa.OSFile(path) as file:
                    table = pa.ipc.open_stream(file).read_all()
            return chosen_columns(path, table, request.columns)

    def write(self, file: Any, blocks: Iterator[Dataset], request: WriteRequest) -> None:
        """Write record batches; `.arrows` is a stream, all other endings are files."""
        writer = None
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        begin = pa.ipc.new_stream if request.ending == ".arrows" else pa.ipc.new_file
        for table in ahead(parquet.regrouped(parquet.typed(block, request.types) for block in blocks)):
            writer = writer or begin(file, table.schema, options=options)
            writer.write_table(table)
        if writer is not None:
            writer.close()

    def open_columns(self, file: Any) -> ArrowColumns:
        """Open a file or a stream."""
        return ArrowColumns(file)


class ArrowColumns:
    """One Arrow file (Feather), or a stream of Arrow in a file."""

    def __init__(self, file: Any) -> None:
        self.handle = file.opened()
        self.streamed = file.head(len(FILE)) != FILE
        self.handle.seek(0)  # some stores give the same open file again, which `head` has moved
        self.reader: Any = pa.ipc.open_stream(self.handle) if self.streamed else pa.ipc.open_file(self.handle)
        self.schema = self.reader.schema

    @property
    def rows(self) -> int:
        """The number of rows; 0 for a stream, whose rows are known at its end only."""
        if self.streamed:
            return 0
        return sum(self.reader.get_batch(number).num_rows for number in range(self.reader.num_record_batches))

    def __enter__(self) -> ArrowColumns:
        return self

    def __exit__(self, *_: object) -> None:
        self.handle.close()

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Yield batches of some columns."""
        several = self.reader if self.streamed else map(self.reader.get_batch, range(self.reader.num_record_batches))
        for batch in several:
            batch.validate(full=True)  # Arrow trusts the file, and kernels trust Arrow
            for begin in range(0, batch.num_rows, rows):
                yield batch.select(list(columns)).slice(begin, rows) if columns else batch.select([]).slice(begin, rows)


FORMAT = Arrow()
