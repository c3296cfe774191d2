"""Which format a file has: Parquet, Feather / Arrow IPC, Excel, JSON lines, or text."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from oboro.errors import FileError
from oboro.io.byte_streams import head_of
from oboro.text import Message

__all__ = ["EXCEL", "binary_format", "is_json_lines"]

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
