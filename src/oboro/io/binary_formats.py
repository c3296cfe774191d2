"""Tables in formats that say themselves what they hold: Parquet, Feather / Arrow IPC, Excel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather

from oboro.errors import ColumnError, FileError, UsageError
from oboro.io.byte_streams import head_of, readable
from oboro.io.csv.dialect import Dialect, names_of
from oboro.table.dataset import Dataset
from oboro.table.frames import Frame
from oboro.text import Message

__all__ = ["EXCEL", "binary_reader", "read_parquet"]

Reader = Callable[[str, Sequence[str] | None, str | None], Dataset]

EXCEL = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")


def binary_reader(path: str | Path) -> Reader | None:
    """What reads a file, by its first bytes (Excel: by its ending too), or None for text."""
    if Path(path).is_fifo():  # a pipe can be read only once
        return None
    head = head_of(path)
    if head.startswith(b"PAR1"):
        return read_parquet
    if head.startswith(b"ARROW1"):
        return _feather
    if head.startswith(b"\xff\xff\xff\xff"):
        return _arrow_stream
    zipped = head.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0"))
    if zipped and Path(path).suffix.lower() in EXCEL:
        return _excel
    if zipped:
        raise FileError(Message("error_io.archive", path=path, endings=list(EXCEL)))
    if Path(path).suffix.lower() in (*EXCEL, ".parquet", ".feather", ".arrow") and head:
        raise FileError(Message("error_io.wrong_ending", path=path))
    return None


def read_parquet(path: str, columns: Sequence[str] | None, sheet: str | None) -> Dataset:
    """All columns of a Parquet file, or the given ones in their order."""
    from oboro.io.parquet.encode import encode, schema_of

    with readable(path):
        names = schema_of(path).names
        _require(path, names, columns)
        return encode(path, list(names if columns is None else columns))


def _feather(path: str, columns: Sequence[str] | None, sheet: str | None) -> Dataset:
    with readable(path):
        with pa.memory_map(path) as file:
            table = pa.ipc.open_file(file).read_all()
        return _chosen(path, table, columns)


def _arrow_stream(path: str, columns: Sequence[str] | None, sheet: str | None) -> Dataset:
    with readable(path), pa.OSFile(path) as file:
        return _chosen(path, pa.ipc.open_stream(file).read_all(), columns)


def _excel(path: str, columns: Sequence[str] | None, sheet: str | None) -> Dataset:
    """The named sheet, or the first one; what Excel keeps as decimals and times comes back as whole numbers and dates."""
    import fastexcel

    try:
        book = fastexcel.read_excel(path)
        if sheet is not None and sheet not in book.sheet_names:
            raise UsageError(Message("error_io.no_sheet", path=path, sheet=sheet, sheets=list(book.sheet_names)))
        place = sheet if sheet is not None else 0
        top = book.load_sheet(place, header_row=None, n_rows=1, dtypes="string").to_arrow()
        # Types are judged by all rows: judged by the first thousand, a later word among numbers would be lost.
        batch = book.load_sheet(place, schema_sample_rows=None).to_arrow() if top.num_columns else top
    except fastexcel.FastExcelError as problem:
        raise FileError(Message("error_io.cannot_be_read", path=path, why=str(problem).splitlines()[0])) from None
    if not top.num_rows:
        raise FileError(Message("error_io.empty_sheet", path=path))
    # fastexcel gives a column without a name, or with one that was there before, a name of its own.
    names = names_of(path, [column[0].as_py() or "" for column in top.columns], Dialect())
    return _chosen(path, pa.table([_whole(column) for column in batch.columns], names=names), columns)


def _whole(column: pa.Array) -> pa.Array:
    """Numbers without decimals as integers, times at midnight as dates; where one value does not fit, all stay as they are."""
    whole = (
        pa.int64() if pa.types.is_floating(column.type) else pa.date32() if pa.types.is_timestamp(column.type) else None
    )
    try:
        return pc.cast(column, whole) if whole else column
    except pa.ArrowInvalid:
        return column


def _chosen(path: str, table: pa.Table, columns: Sequence[str] | None) -> Dataset:
    """The wanted columns. Arrow believes what a file says of offsets and codes, and kernels believe Arrow: it is checked here."""
    _require(path, table.column_names, columns)
    table.validate(full=True)
    return _encode(path, table if columns is None else table.select(list(columns)))


def _encode(path: str, table: pa.Table) -> Dataset:
    try:
        return Frame.read(table).data
    except ColumnError as problem:
        raise ColumnError(Message("error_io.in_file", path=path, problem=problem.words)) from None


def _require(path: str, names: Sequence[str], columns: Sequence[str] | None) -> None:
    unknown = [name for name in columns or () if name not in names]
    if unknown:
        raise ColumnError(Message("error_io.no_column", path=path, unknown=unknown, names=list(names)))
