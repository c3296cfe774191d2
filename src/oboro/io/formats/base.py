"""Base class of file formats, which states the traits of each format, and registry of formats by the names of their modules."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import pyarrow as pa

from oboro.data.dataset import Dataset
from oboro.data.frames import Frame, Types, lost_types
from oboro.data.parameters import names_shown, require_few_columns
from oboro.errors import ColumnError, FileError, UsageError
from oboro.io.bytes import head_of
from oboro.text import Message
from oboro.text.language import ByteProgress

if TYPE_CHECKING:
    from oboro.io.column_store import UntouchedColumns
    from oboro.io.formats.csv.dialect import Dialect

__all__ = [
    "ARCHIVES",
    "FORMATS",
    "NO_TYPES",
    "PACKED",
    "FileFormat",
    "ReadRequest",
    "TypedTable",
    "WriteRequest",
    "chosen_columns",
    "encoded_table",
    "format_of_bytes",
    "format_of_file",
    "format_of_stored_file",
    "inner_ending",
    "read_endings",
    "require_columns",
    "require_options",
    "rows_in_group",
    "written_endings",
]


NO_TYPES: Types = MappingProxyType({})
PACKED: Mapping[str, str] = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".lz4": "lz4", ".xz": "xz", ".zip": "zip"}
"""Endings of packed files, and the method that each names."""
ARCHIVES = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
"""First bytes of archives: ZIP, and the compound files of old offices."""
# Rows in a row group, and values in one of a wide table.
FEWEST, MOST, CELLS = 1 << 16, 1 << 20, 1 << 24


def rows_in_group(columns: int) -> int:
    """Return the number of rows that are decoded and written together: fewer where the table is wide."""
    return min(max(CELLS // max(columns, 1), FEWEST), MOST)


# Format ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ReadRequest:
    """Columns that a reader shall return, and what the user stated about the file; see `oboro.io.read.read`."""

    columns: Sequence[str] | None = None
    held: Collection[str] | None = None
    fingerprinted: Collection[str] = ()
    progress: ByteProgress | None = None
    delimiter: str | None = None
    quote: str | None = None
    encoding: str | None = None
    header: bool | None = True
    sheet: str | None = None
    header_row: int | None = None
    labels: bool = True


class WriteRequest(NamedTuple):
    """Options for writing a table: the ending of its name, the dialect of text, the types that its columns had."""

    ending: str
    dialect: Dialect
    types: Types = NO_TYPES
    from_text: bool = False
    """True if the input was text, so that text which reads as a number or a date may become one."""


class TypedTable(NamedTuple):
    """A table that a reader returns."""

    data: Dataset
    types: Types = NO_TYPES
    """Types of columns in the file that `data` no longer has."""
    notes: tuple[Message, ...] = ()
    dialect: Dialect | None = None
    untouched: UntouchedColumns | None = None
    """Columns that stayed in the file."""


class FileFormat:
    """A file format: its traits, its reader and its writer. A subclass in a module of this folder adds a format.

    Attributes
    ----------
    name : str
        The name that messages and other modules use.
    endings : tuple of str
        Endings of file names, in lower case. The first one names the format where a user chooses it.
    magic : tuple of bytes
        First bytes of such a file, at most eight.
    read_only : tuple of str
        Endings under which files are read but not written.
    trimmed : tuple of str
        Endings of files in which spaces at the end of text are lost.
    packed : bool
        Files may be packed (`.csv.gz`).
    fallback : bool
        The format of files that no other format recognizes.
    options : tuple of str
        Reading options that only this format has.
    nested : bool
        Columns of lists and structures can be written.
    dialects : bool
        Text with a delimiter, a header and an encoding, which the output takes over from the input.
    formulas : "guarded", "text" or ""
        In a spreadsheet, cells of text would run as formulas unless they are guarded, or never run. Empty: no spreadsheet opens it.
    one_dictionary : bool
        A file has one dictionary for a column, which must be known before the first row is written.
    columnar : bool
        Files hold columns that are read one by one, in batches of Arrow (`open_columns`).
    divided : bool
        A file holds groups of rows that can be read one by one.
    objects : bool
        Rows are objects with keys of their own: files of one table may differ in keys (`read_objects`, `table_of_objects`).
    joined : bool
        A folder of such files is read as one table.
    folders : bool
        A release can be written as a folder of such files.
    offered : bool
        The web interface offers it as a format of the release.
    """

    name: ClassVar[str]
    endings: ClassVar[tuple[str, ...]]
    magic: ClassVar[tuple[bytes, ...]] = ()
    read_only: ClassVar[tuple[str, ...]] = ()
    trimmed: ClassVar[tuple[str, ...]] = ()
    packed: ClassVar[bool] = False
    fallback: ClassVar[bool] = False
    options: ClassVar[tuple[str, ...]] = ()
    nested: ClassVar[bool] = False
    dialects: ClassVar[bool] = False
    formulas: ClassVar[str] = ""
    one_dictionary: ClassVar[bool] = False
    columnar: ClassVar[bool] = False
    divided: ClassVar[bool] = False
    objects: ClassVar[bool] = False
    joined: ClassVar[bool] = False
    folders: ClassVar[bool] = False
    offered: ClassVar[bool] = False

    @property
    def written(self) -> tuple[str, ...]:
        """Endings under which files are written."""
        return tuple(ending for ending in self.endings if ending not in self.read_only)

    def recognizes(self, head: bytes, ending: str | None) -> bool:
        """Return whether a file with these first bytes is of this format; `ending` is None for bytes without a name."""
        return bool(self.magic) and head.startswith(self.magic)

    def column_names(self, path: str, request: ReadRequest) -> list[str] | None:
        """Return the columns of a file, or None where the whole file must be read to know them."""
        return None

    def read(self, path: str, request: ReadRequest) -> TypedTable:
        """Read a file."""
        raise NotImplementedError

    def write(self, file: Any, blocks: Iterator[Dataset], request: WriteRequest) -> None:
        """Write blocks of rows, which together are one table, to an open file."""
        raise NotImplementedError

    def open_columns(self, file: Any) -> Any:
        """Open a file of a table (`TableFile`) for reading some of its columns: `schema`, `rows` and `batches`."""
        raise NotImplementedError

    def read_objects(self, path: str, encoding: str | None, shown: str) -> Iterator[tuple[Any, dict[str, Any]]]:
        """Yield the objects of a file with their positions; messages call the file `shown`."""
        raise NotImplementedError

    def table_of_objects(self, shown: str, objects: Iterator[Any], columns: Sequence[str] | None) -> Dataset:
        """Return objects of one or many files as a table."""
        raise NotImplementedError


# Registry of formats --------------------------------------------------------------------------------------------------


SUPPORT = frozenset({"__init__", "base", "columns", "isolated", "isolated_program"})
"""Modules of this folder that formats share. Every other module, or folder, is a format."""


class Formats(Mapping[str, FileFormat]):
    """Formats by name: the modules of this folder, each with one `FORMAT`, which loads its reader when it reads."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of all formats, from the folder; no module is loaded."""
        folder = Path(__file__).parent
        modules = [one.stem for one in folder.glob("*.py")] + [one.parent.name for one in folder.glob("*/__init__.py")]
        return tuple(sorted({*modules} - SUPPORT))

    def __getitem__(self, name: str) -> FileFormat:
        if name not in self.names:
            raise KeyError(name)
        format_: FileFormat = import_module(f"oboro.io.formats.{name}").FORMAT
        return format_

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def fallback(self) -> FileFormat:
        """The format of files that no other format recognizes."""
        return next(one for one in self.values() if one.fallback)

    def of_ending(self, ending: str) -> FileFormat | None:
        """Return the format that an ending names."""
        return next((one for one in self.values() if ending in one.endings), None)


FORMATS = Formats()


def inner_ending(path: str | Path) -> tuple[str, str | None]:
    """Return the ending that names a format, and the method with which the file is packed.

    >>> inner_ending("people.csv.gz"), inner_ending("PEOPLE.PARQUET")
    (('.csv', 'gzip'), ('.parquet', None))
    """
    name = Path(str(path).lower())
    method = PACKED.get(name.suffix)
    return Path(name.stem).suffix if method else name.suffix, method


def _named(path: str | Path) -> FileFormat | None:
    """Return the format that the ending of a file names, packed only where the format may be."""
    ending, method = inner_ending(path)
    found = FORMATS.of_ending(ending)
    return found if found is None or not method or found.packed else None


def format_of_file(path: str | Path) -> FileFormat:
    """Return the format of a file of this machine, by its first bytes; by its ending where the bytes tell no format."""
    named, ending = _named(path), Path(path).suffix.lower()
    if named is not None and not named.magic and not named.fallback:
        return named
    if Path(path).is_fifo():  # a pipe can be read only once
        return FORMATS.fallback
    head = head_of(path)
    found = next((one for one in FORMATS.values() if one.recognizes(head, ending)), None)
    if found is not None:
        return found
    if head.startswith(ARCHIVES) and ending != ".zip":
        endings = [one for format_ in FORMATS.values() if {*ARCHIVES} & {*format_.magic} for one in format_.endings]
        raise FileError(Message("error_io.archive", path=path, endings=endings))
    if named is not None and not named.fallback and head:
        raise FileError(Message("error_io.wrong_ending", path=path))
    return FORMATS.fallback


def format_of_stored_file(path: str, head: Any) -> FileFormat:
    """Return the format of a file of a folder or a store: by its ending, else by `head()`, which reads its first bytes."""
    name = path.lower()
    for ending in PACKED:
        name = name.removesuffix(ending)
    found = FORMATS.of_ending(Path(name).suffix)
    if found is not None:
        return found
    start = head()
    return next((one for one in FORMATS.values() if one.magic and start.startswith(one.magic)), FORMATS.fallback)


def format_of_bytes(head: bytes) -> FileFormat:
    """Return the format of a file without a name."""
    return next((one for one in FORMATS.values() if one.recognizes(head, None)), FORMATS.fallback)


def read_endings() -> tuple[str, ...]:
    """Return all endings of files that can be read, those of packed files too."""
    plain = [ending for one in FORMATS.values() for ending in one.endings]
    packed = [ending + how for one in FORMATS.values() if one.packed for ending in one.endings for how in PACKED]
    return (*plain, *packed)


def written_endings(*, folders: bool = False) -> list[str]:
    """Return all endings of files that can be written, or of those that a folder can hold; the usual ones first."""
    formats = sorted(FORMATS.values(), key=lambda one: (not one.fallback, not one.offered))
    return [ending for one in formats if one.folders or not folders for ending in one.written]


# Checks and encoding of columns ---------------------------------------------------------------------------------------


def chosen_columns(path: str, table: pa.Table, columns: Sequence[str] | None) -> TypedTable:
    """Encode the requested columns. Arrow trusts offsets and codes of a file, and kernels trust Arrow: they are checked here."""
    require_columns(path, table.column_names, columns)
    table.validate(full=True)
    data = encoded_table(path, table if columns is None else table.select(list(columns)))
    return TypedTable(data, lost_types(table.schema))


def encoded_table(path: str, table: pa.Table) -> Dataset:
    """Encode a table; an error names the file."""
    try:
        return Frame.read(table).data
    except ColumnError as problem:
        raise ColumnError(Message("error_io.in_file", path=path, problem=problem.words)) from None


def require_columns(path: str, names: Sequence[str], columns: Sequence[str] | None) -> None:
    """Raise where a file lacks a requested column, or has too many columns."""
    require_few_columns(path, len(names))
    known = set(names)
    unknown = [name for name in columns or () if name not in known]
    if unknown:
        raise ColumnError(
            Message("error_io.no_column", path=path, unknown=unknown, names=names_shown(names, columns or ()))
        )


def require_options(format_: FileFormat, path: str, request: ReadRequest) -> None:
    """Raise where a reading option was given that the format of the file does not have."""
    if request.header_row is not None and "header_row" not in format_.options:
        raise UsageError(Message("error_io.header_row_not_excel", path=path))
    if not request.labels and "labels" not in format_.options:
        raise UsageError(Message("error_io.no_labels", path=path))
