"""Files in and out: one `read`, whatever the format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from oboro.errors import ColumnError, listing
from oboro.io.dialect import Dialect, dialect_of, first_record, names_of
from oboro.io.formats import binary_reader
from oboro.io.parse import NotUnicode, Progress, parse
from oboro.io.streams import STDIN, Stream, open_stream
from oboro.table.dataset import Dataset

__all__ = ["Source", "read"]


@dataclass(frozen=True)
class Source:
    """A table that was read, and how its file was written, so that the output can be written the same way."""

    data: Dataset
    path: str
    dialect: Dialect | None = None


def read(
    path: str | Path,
    *,
    columns: Sequence[str] | None = None,
    delimiter: str | None = None,
    quote: str | None = None,
    encoding: str | None = None,
    header: bool | None = True,
    sheet: str | None = None,
    progress: Progress | None = None,
) -> Source:
    """Read and encode a table: CSV (packed or not), Parquet, Feather / Arrow, Excel; `-` is CSV on standard input.

    What is not given is found out: CSV's `delimiter`, `quote` and `encoding`. `columns` reads only these. `header=False` says that
    the first line is data already (columns are then named `column1` …), `None` guesses. `sheet` is for Excel.
    """
    if (reader := binary_reader(path)) is not None:
        return Source(reader(str(path), columns, sheet), str(path))
    options = {"delimiter": delimiter, "quote": quote, "header": header}
    with open_stream(path, encoding) as stream:
        try:
            return _csv(stream, options, columns, progress)
        except NotUnicode:
            # A file whose first part is plain ASCII may turn out to be Japanese later on.
            if encoding or not stream.ascii_so_far or str(path) == STDIN:
                raise
    with open_stream(path, "cp932") as stream:
        return _csv(stream, options, columns, progress)


def _csv(stream: Stream, options: dict[str, Any], columns: Sequence[str] | None, progress: Progress | None) -> Source:
    sample = stream.sample()
    dialect = replace(dialect_of(sample, **options), encoding=stream.encoding)
    names = names_of(stream.path, first_record(stream.path, sample, dialect), dialect)
    wanted = list(names if columns is None else columns)
    unknown = [name for name in wanted if name not in names]
    if unknown:
        raise ColumnError(
            f"{stream.path}: there is no column {listing(unknown)}; the file has {listing(names, most=30)}"
        )
    return Source(parse(stream, dialect, names, wanted, progress), stream.path, dialect)
