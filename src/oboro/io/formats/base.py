"""Tables in formats that say themselves what they hold: Parquet, Feather / Arrow IPC, Excel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple

import pyarrow as pa

from oboro.data.column import Column, NestedColumn
from oboro.data.dataset import Dataset
from oboro.data.frames import Frame, Types, lost_types
from oboro.data.parameters import names_shown, require_few_columns
from oboro.errors import ColumnError, FileError
from oboro.io.bytes import head_of, readable
from oboro.text import Message

__all__ = ["EXCEL", "READERS", "binary_format", "is_json_lines", "read_sheet"]


# Binary formats -------------------------------------------------------------------------------------------------------
# Which format a file has: Parquet, Feather / Arrow IPC, Excel, JSON lines, or text.


BinaryFormat = Literal["parquet", "feather", "arrow", "excel"]
JSON_LINES = (".ndjson", ".jsonl")
PACKED = (".gz", ".zst", ".bz2", ".lz4", ".xz", ".zip")
EXCEL = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")


def is_json_lines(path: str | Path) -> bool:
    """Whether a file's ending says that it holds JSON lines, packed or not."""
    name = Path(path)
    name = name.with_suffix("") if name.suffix.lower() in PACKED else name
    return name.suffix.lower() in JSON_LINES


def binary_format(path: str | Path) -> BinaryFormat | None:
    """The format of a file, by its first bytes (Excel: by its ending too), or None for text."""
    if Path(path).is_fifo():  # a pipe can be read only once
        return None
    head = head_of(path)
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"ARROW1"):
        return "feather"
    if head.startswith(b"\xff\xff\xff\xff"):
        return "arrow"
    zipped = head.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0"))
    if zipped and Path(path).suffix.lower() in EXCEL:
        return "excel"
    if zipped and Path(path).suffix.lower() == ".zip":
        return None
    if zipped:
        raise FileError(Message("error_io.archive", path=path, endings=list(EXCEL)))
    if Path(path).suffix.lower() in (*EXCEL, ".parquet", ".feather", ".arrow") and head:
        raise FileError(Message("error_io.wrong_ending", path=path))
    return None


# Binary readers -------------------------------------------------------------------------------------------------------


class TypedTable(NamedTuple):
    """A table that was read, and the types of columns that it does not tell any more."""

    data: Dataset
    types: Types = MappingProxyType({})


def _parquet(path: str, columns: Sequence[str] | None, sheet: str | None) -> TypedTable:
    """All columns of a Parquet file, or the given ones in their order."""
    from oboro.io.formats.parquet import encode, schema_of, unusable

    with readable(path):
        schema = schema_of(path)
        _require(path, schema.names, columns)
        nested = unusable(path, schema) if columns is None else {}
        names = list(schema.names if columns is None else columns)
        data = encode(path, [name for name in names if name not in nested])
    floats = {
        name: replace(column, finer=partial(_with_nan, path, name))
        for name, column in data.columns.items()
        if column.missing >= 0 and pa.types.is_floating(schema.field(name).type)
    }
    left = {name: NestedColumn(data.rows, why) for name, why in nested.items()}
    return TypedTable(data.with_columns({**floats, **left}).select(names), lost_types(schema))


def _with_nan(path: str, name: str) -> Column:
    """A column of Parquet with not-a-number and missing apart; read again, since hardly any file has both."""
    import pyarrow.parquet as pq

    with readable(path):
        return Column.encode(pq.read_table(path, columns=[name]).column(0)).finest()


def _feather(path: str, columns: Sequence[str] | None, sheet: str | None) -> TypedTable:
    with readable(path):
        with pa.memory_map(path) as file:
            table = pa.ipc.open_file(file).read_all()
        return _chosen(path, table, columns)


def _arrow_stream(path: str, columns: Sequence[str] | None, sheet: str | None) -> TypedTable:
    with readable(path), pa.OSFile(path) as file:
        return _chosen(path, pa.ipc.open_stream(file).read_all(), columns)


def _excel(path: str, columns: Sequence[str] | None, sheet: str | None) -> TypedTable:
    """The named sheet of an Excel file, or the first one."""
    return TypedTable(read_sheet(path, columns, sheet)[0])


def read_sheet(
    path: str, columns: Sequence[str] | None, sheet: str | None, header_row: int | None = None
) -> tuple[Dataset, tuple[Message, ...]]:
    """The same with a given row of names (from 1), and what was found out about the sheet."""
    from oboro.io.formats.excel import sheet_table

    table, notes = sheet_table(path, sheet, header_row)
    return _chosen(path, table, columns).data, notes


def _chosen(path: str, table: pa.Table, columns: Sequence[str] | None) -> TypedTable:
    """The wanted columns. Arrow believes what a file says of offsets and codes, and kernels believe Arrow: it is checked here."""
    _require(path, table.column_names, columns)
    table.validate(full=True)
    data = _encode(path, table if columns is None else table.select(list(columns)))
    return TypedTable(data, lost_types(table.schema))


def _encode(path: str, table: pa.Table) -> Dataset:
    try:
        return Frame.read(table).data
    except ColumnError as problem:
        raise ColumnError(Message("error_io.in_file", path=path, problem=problem.words)) from None


def _require(path: str, names: Sequence[str], columns: Sequence[str] | None) -> None:
    require_few_columns(path, len(names))
    known = set(names)
    unknown = [name for name in columns or () if name not in known]
    if unknown:
        raise ColumnError(
            Message("error_io.no_column", path=path, unknown=unknown, names=names_shown(names, columns or ()))
        )


Reader = Callable[[str, Sequence[str] | None, str | None], TypedTable]
READERS: Mapping[str, Reader] = {"parquet": _parquet, "feather": _feather, "arrow": _arrow_stream, "excel": _excel}
"""What reads a file, by its format (`binary_format`)."""
