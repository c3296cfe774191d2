"""The files of a table: a folder, a pattern, or one object of a store; hive partitions (`year=2024/`) are columns.

Files are taken in the order of their names. What begins with `_` or `.` is no data, as everywhere where such folders are written.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from oboro.errors import FileError
from oboro.io.places.file_systems import at_place, file_system
from oboro.io.places.place_names import GLOB, Place, without_values
from oboro.text import Message

__all__ = ["DONE", "STAGING", "TableFile", "file_format", "files_of", "table_files"]

HIVE_MISSING = "__HIVE_DEFAULT_PARTITION__"
STAGING = "_oboro-"  # what is being written begins so; readers of such folders leave it out
DONE = "_SUCCESS"
ENDINGS = {
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc", ".arrows"),
    "csv": (".csv", ".tsv", ".txt"),
    "json": (".ndjson", ".jsonl"),
    "excel": (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"),
}
PACKED = (".gz", ".zst", ".bz2", ".lz4", ".xz", ".zip")
MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow"}


@dataclass(frozen=True)
class TableFile:
    """One file of a table."""

    system: Any = field(repr=False)
    path: str = field(repr=False)
    size: int
    changed: int | None
    keys: tuple[tuple[str, str | None], ...] = ()  # the columns that its path tells
    local: bool = False
    groups: tuple[int, int] | None = None  # of a Parquet file only these groups of rows

    @property
    def shown(self) -> str:
        """Its path without values of the data."""
        return without_values(self.path)

    def opened(self) -> Any:
        """The file, for reading anywhere in it."""
        return self.system.open_input_file(self.path)

    def head(self, size: int = 8) -> bytes:
        """Its first bytes."""
        with self.system.open_input_stream(self.path, compression=None) as file:
            return bytes(file.read(size))


def files_of(place: Place) -> list[TableFile]:
    """The data files of a place, in the order of their names; raises where there are none, or a folder is no plain table."""
    with at_place(place):
        system, path = file_system(place)
        base = _base(path) if place.wild else path.rstrip("/")
        found = [_file(place, system, base, info) for info in _listed(place, system, path, base)]
    if not found:
        raise FileError(Message("error_places.no_files", place=place.shown))
    return sorted(found, key=lambda one: one.path)


def _file(place: Place, system: Any, base: str, info: Any) -> TableFile:
    keys = _keys(os.path.relpath(info.path, base)) if info.path != base else ()
    return TableFile(system, info.path, info.size or 0, info.mtime_ns, keys, place.is_local)


def _listed(place: Place, system: Any, path: str, base: str) -> Iterator[Any]:
    from pyarrow.fs import FileSelector, FileType

    if place.kind == "file":
        info = system.get_file_info(path)
        if info.type == FileType.File:
            yield info
            return
        if info.type == FileType.NotFound:
            raise FileNotFoundError(2, os.strerror(2))
    every = system.get_file_info(FileSelector(base, recursive=True, allow_not_found=False))
    _require_plain_table(place, base, [one.path for one in every], marked=not place.is_local)
    chosen = _pattern(path) if place.wild else None
    for info in every:
        if info.type != FileType.File or _is_hidden(info.path, base):
            continue
        if chosen is None or any(chosen.fullmatch(one) for one in _with_parents(info.path, base)):
            yield info


def _with_parents(path: str, base: str) -> Iterator[str]:
    """A path and the folders that it is in: a pattern may mean a folder."""
    while len(path) > len(base):
        yield path
        path = path.rpartition("/")[0]


def _is_hidden(path: str, base: str) -> bool:
    parts = path[len(base) :].strip("/").split("/")
    return any(part.startswith((".", "_")) and "=" not in part for part in parts)


def _require_plain_table(place: Place, base: str, paths: Iterable[str], *, marked: bool) -> None:
    """Raise where the files of a folder are not simply its rows: rows that were deleted would come back."""
    inside = [path[len(base) :].strip("/") for path in paths]
    if any(one.startswith("_delta_log/") for one in inside):
        raise FileError(Message("error_places.delta", place=place.shown))
    if any(re.fullmatch(r"metadata/.*\.metadata\.json", one) for one in inside):
        raise FileError(Message("error_places.iceberg", place=place.shown))
    if any(one.split("/")[0].startswith(STAGING) for one in inside) and DONE not in inside:
        raise FileError(Message("error_places.unfinished", place=place.shown))


def _base(path: str) -> str:
    """The folder in which all files of a pattern are.

    >>> _base("bucket/people/year=*/part-*.parquet")
    'bucket/people'
    """
    parts = path.split("/")
    first = next(number for number, part in enumerate(parts) if GLOB.search(part))
    return "/".join(parts[:first])


def _pattern(path: str) -> re.Pattern[str]:
    """A glob as a regular expression: `**` is any number of folders, `*` and `?` stay within one."""
    said = ""
    for part in re.split(r"(\*\*/?|\*|\?|\[[^]/]+\])", path):
        if part.startswith("**"):
            said += "(?:.*/)?" if part.endswith("/") else ".*"
        elif part in ("*", "?"):
            said += "[^/]" + ("*" if part == "*" else "")
        elif part.startswith("[") and part.endswith("]"):
            said += "[" + re.sub("^!", "^", part[1:-1].replace("\\", r"\\")) + "]"
        else:
            said += re.escape(part)
    return re.compile(said)


def _keys(path: str) -> tuple[tuple[str, str | None], ...]:
    """The columns that a path tells.

    >>> _keys("year=2024/sex=F/part.parquet")
    (('year', '2024'), ('sex', 'F'))
    """
    found = [part.partition("=") for part in path.replace(os.sep, "/").split("/")[:-1] if "=" in part]
    return tuple((unquote(name), None if value == HIVE_MISSING else unquote(value)) for name, _, value in found)


def file_format(place: Place, files: list[TableFile]) -> str:
    """Which format all files have; raises where they have several, or none that is known."""
    with at_place(place):
        found = {_format(one) for one in files if one.size}
    if len(found) > 1:
        raise FileError(Message("error_places.formats", place=place.shown, formats=sorted(found)))
    return found.pop() if found else "csv"


def _format(file: TableFile) -> str:
    name = file.path.lower()
    for packed in PACKED:
        name = name.removesuffix(packed)
    by_name = next((known for known, endings in ENDINGS.items() if name.endswith(endings)), None)
    return by_name or next((known for magic, known in MAGIC.items() if file.head().startswith(magic)), "csv")


def table_files(place: Place) -> tuple[str, list[TableFile]]:
    """The format of the files of a place, and the files."""
    files = files_of(place)
    return file_format(place, files), files
