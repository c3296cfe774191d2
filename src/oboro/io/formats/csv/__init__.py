"""CSV: text with a delimiter, in any encoding, packed or not. The format of files that no other format recognizes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from oboro._lazy import lazy_module
from oboro.data.dataset import Dataset
from oboro.io.formats.base import FileFormat, ReadRequest, TypedTable, WriteRequest

__all__ = ["FORMAT"]


dialect = lazy_module("oboro.io.formats.csv.dialect")
small = lazy_module("oboro.io.formats.csv.small")
tables = lazy_module("oboro.io.formats.csv.tables")
writer = lazy_module("oboro.io.formats.csv.writer")


class Csv(FileFormat):
    """CSV."""

    name = "csv"
    endings = (".csv", ".tsv", ".txt")
    packed = fallback = dialects = joined = folders = offered = True
    formulas = "guarded"

    def column_names(self, path: str, request: ReadRequest) -> list[str]:
        """Return the names in the header."""
        found: list[str] = tables.column_names(path, request)
        return found

    def read(self, path: str, request: ReadRequest) -> TypedTable:
        """Read a file, or standard input."""
        found: TypedTable = tables.read_table(path, request)
        return found

    def write(self, file: Any, blocks: Iterator[Dataset], request: WriteRequest) -> None:
        """Write lines in the dialect of the input, in its encoding."""
        out, before = dialect.encoded(file, request.dialect), None
        for number, data in enumerate(blocks):
            if number == 0:
                out.write(small.text_before_rows(list(data.columns), request.dialect))
            if small.is_small(data):
                out.write(small.text_of_rows(data, request.dialect))
            else:
                before = writer.write_rows(out, data, request.dialect, before)


FORMAT = Csv()
