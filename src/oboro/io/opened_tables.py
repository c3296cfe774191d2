"""Tables that are about to be read: their columns are known before it is decided which of them are held."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from oboro.io.files import Source, column_names, read
from oboro.io.places.place_names import is_plain_file
from oboro.io.places.wanted_columns import WantedColumns

__all__ = ["OpenedFile", "names_a_place", "opened_table"]

READING = {"delimiter": None, "quote": None, "encoding": None, "header": True, "sheet": None, "header_row": None}


class OpenedFile:
    """A file of this machine that is about to be read."""

    def __init__(self, path: str | Path, options: Mapping[str, Any]) -> None:
        self.path, self.options = path, options

    @property
    def columns(self) -> list[str] | None:
        """Its columns; None where it is read at once, all of it."""
        return column_names(self.path, **self.options)

    def read(self, wanted: WantedColumns) -> Source:
        """See `read`."""
        return read(self.path, **vars(wanted), **self.options)


def names_a_place(source: object) -> bool:
    """Whether a table is to be read: a path or a URL, bytes, or what another library holds and has not computed yet."""
    if isinstance(source, str | Path | bytes | bytearray | memoryview):
        return True
    kind = type(source)
    if kind.__name__ in ("LazyFrame", "DuckDBPyRelation", "RecordBatchReader"):
        return True
    return hasattr(kind, "get_fragments") or (hasattr(kind, "__arrow_c_stream__") and not _is_frame(source))


def _is_frame(source: object) -> bool:
    """Whether it is a table in memory, which comes back as what it is."""
    return type(source).__module__.split(".")[0] in ("pandas", "polars", "narwhals", "pyarrow", "modin", "cudf")


def opened_table(source: Any, options: Mapping[str, Any]) -> Any:
    """A file, a place or an object, opened: its `columns`, and `read`."""
    if is_plain_file(source):
        return OpenedFile(source, options)
    from oboro.io.places.place_in import open_place

    return open_place(source, {**READING, **options})
