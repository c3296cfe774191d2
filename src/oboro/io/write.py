"""Write tables to any place: the ending of a name selects the format, and a file appears as a whole or not at all."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from oboro.data.column import Column, UnencodedColumn, is_nested
from oboro.data.dataset import Dataset
from oboro.data.frames import Types, restorable
from oboro.errors import ColumnError, FileError, UsageError
from oboro.io.formats.base import (
    FORMATS,
    NO_TYPES,
    FileFormat,
    WriteRequest,
    inner_ending,
    rows_in_group,
    written_endings,
)
from oboro.io.formats.csv.dialect import AS_IT_IS, Dialect, encoding_named, in_encoding
from oboro.io.formats.csv.small import is_small
from oboro.io.places.place import GLOB, Place, as_place
from oboro.system.files import STDOUT, atomic, check_place, staged_folder, why_unwritable
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.data.row_order import RowShuffle
    from oboro.io.formats.csv.formulas import FormulaGuard

__all__ = [
    "as_folder",
    "check_output",
    "check_place_out",
    "destination",
    "dialect_asked",
    "dialect_for",
    "folder_out",
    "formula_guard",
    "has_dialect",
    "is_one_file",
    "named_output",
    "one_dictionary",
    "refuse_forgotten",
    "refuse_place_read",
    "slices",
    "write",
    "write_blocks",
]


PART = 1 << 22  # rows in a file of a folder, about
FOLDER = "parquet"  # the format of a folder that is named without a pattern


Output = str | Path | Place


def check_output(
    path: Output,
    encoding: str | None = None,
    excel_safe: bool = False,
    force: bool = False,
    read: str | Path | None = None,
) -> None:
    """Before any work: raise if no table could be written under this name, in this encoding, safe for spreadsheets.

    What is there already may be replaced with `force` only, and never the place that is `read`; a file is whoever asks to judge.
    It is for commands: what is in a process's own memory is gone when it ends.
    """
    refuse_forgotten(path)
    named_output(path)
    if encoding is not None:
        dialect_asked(path, None, encoding)
    if excel_safe:
        formula_guard(path)
    place, other = as_place(path), as_place(read) if isinstance(read, str | Path) else None
    if place.is_plain and (other is None or other.is_plain):
        check_place(place.path)
        return

    check_place_out(place, force, other)


def refuse_forgotten(path: Output) -> None:
    """Raise if a command would write to an object that does not outlive it."""
    place = as_place(path)
    if place.scheme == "memory":
        raise UsageError(Message("error_places.forgotten", place=place.shown))


def formula_guard(path: Output) -> FormulaGuard:
    """Return the guard that keeps a spreadsheet from running cells, if requested. A sheet of Excel needs none: its text is text."""
    if not named_output(path).format.formulas:
        raise UsageError(Message("error_io.excel_safe_not_csv", path=str(path)))
    from oboro.io.formats.csv.formulas import FormulaGuard

    return FormulaGuard()


def write(
    data: Dataset,
    path: Output,
    dialect: Dialect | None = None,
    guard: FormulaGuard | None = None,
    types: Types = NO_TYPES,
    shuffle: RowShuffle | None = None,
) -> None:
    """Write a table, in the order of `shuffle`; the name's ending chooses the format, `-` is CSV on standard output.

    CSV has the delimiter, the header, the encoding and the byte order mark of `dialect` (how the input was written), and is
    guarded where `guard` is given. Parquet and Arrow have the `types` of the input. The output may have the name of the input:
    that was read before, and is replaced in one step.
    """
    if dialect is not None and dialect.encoding not in AS_IT_IS and has_dialect(path):
        data = in_encoding(data, dialect.encoding)
    if shuffle is not None and (is_small(data) or any(map(pa.types.is_dictionary, types.values()))):
        data, shuffle = shuffle.columns_shuffled(data), None  # dictionaries tell in which order values come first
    data = restorable(data, types) if types else data
    blocks = [data] if is_small(data) and shuffle is None else slices(data, shuffle)
    write_blocks(blocks, path, dialect, not is_small(data), guard, types)


def slices(data: Dataset, shuffle: RowShuffle | None) -> Iterator[Dataset]:
    """A table in blocks of rows, at least one (a table without rows still has columns)."""
    step = rows_in_group(len(data.columns))
    if shuffle is not None:
        yield from shuffle.blocks(data, step)
        return
    if data.rows <= step:
        yield data
        return
    for begin in range(0, data.rows, step):
        rows = slice(begin, begin + step)
        columns = {name: Column(column.values, column.codes[rows]) for name, column in data.columns.items()}
        yield Dataset(columns, min(step, data.rows - begin))


def write_blocks(
    blocks: Iterable[Dataset | pa.Table],
    path: Output,
    dialect: Dialect | None = None,
    large: bool = True,
    guard: FormulaGuard | None = None,
    types: Types = NO_TYPES,
) -> None:
    """Write tables that together are one, without ever holding more than a few of them."""
    output, place = named_output(path), as_place(path)
    datasets = map(partial(_checked, output.format), blocks)
    if guard is not None and output.format.formulas == "guarded":
        guard.begin()
        datasets = map(guard.guarded, datasets)
    request = WriteRequest(output.ending, dialect_for(path, dialect), types, from_text=dialect is not None)
    if place.kind == "file":
        with destination(path, large) as file:
            output.format.write(file, datasets, request)
    elif place.kind == "table":
        from oboro.io.formats.parquet import regrouped, typed

        tables = regrouped(typed(block, NO_TYPES) for block in datasets)
        place.opener.write_table(place, tables, place.force)
    else:
        _write_folder(datasets, place, output, request)


def _checked(format_: FileFormat, block: Dataset | pa.Table) -> Dataset:
    """Return the block, encoded; raise where it holds lists or structures and goes to a format that has none."""
    data = block if isinstance(block, Dataset) else _unencoded(block)
    if not format_.nested:
        for name, column in data.columns.items():
            type_ = column.array.type if isinstance(column, UnencodedColumn) else column.values.type
            if is_nested(type_):
                raise ColumnError(Message("error_io.nested_out", column=name, type=str(type_)))
    return data


def _write_folder(blocks: Iterator[Dataset], place: Place, output: NamedOutput, request: WriteRequest) -> None:
    """Write files of at most some million rows each; their names are numbers, since names of folders would disclose values."""
    from oboro.io.bytes import packed

    ending = "".join(Path(place.ending.lower()).suffixes) if place.wild else output.ending
    with folder_out(place, place.force) as folder, _errors_of_the_system():
        for number, part in enumerate(_parts(blocks)):
            with folder.file(f"part-{number:05}{ending}") as file, packed(file, output.packing) as out:
                output.format.write(out, part, request)


def _parts(blocks: Iterator[Dataset]) -> Iterator[Iterator[Dataset]]:
    """The blocks of one file after the other; each must be used up before the next."""
    first = next(blocks, None)

    def some() -> Iterator[Dataset]:
        nonlocal first
        rows = 0
        while first is not None and rows < PART:
            rows += first.rows
            yield first
            first = next(blocks, None)

    while first is not None:
        yield some()


def _unencoded(table: pa.Table) -> Dataset:
    return Dataset(
        {name: UnencodedColumn(column) for name, column in zip(table.column_names, table.columns, strict=True)},
        len(table),
    )


def dialect_for(path: Output, dialect: Dialect | None) -> Dialect:
    """Return the dialect of a CSV output of this name for an input in `dialect`."""
    dialect = dialect or Dialect()
    return replace(dialect, delimiter="\t") if ".tsv" in Path(as_place(path).ending).suffixes else dialect


def dialect_asked(path: Output, dialect: Dialect | None, encoding: str) -> Dialect:
    """Return the dialect of the output: that of the input, but in `encoding`."""
    if not has_dialect(path):
        raise UsageError(Message("error_io.encoding_not_csv", path=str(path)))
    return replace(dialect or Dialect(), encoding=encoding_named(encoding))


def is_one_file(path: Output) -> bool:
    """Return whether it is a file or an object, neither a folder nor a table of a database."""
    return as_place(path).kind == "file"


def has_dialect(path: Output) -> bool:
    """Return whether text with a delimiter and an encoding is written under this name, packed or not."""
    return named_output(path).format.dialects


def one_dictionary(path: Output) -> bool:
    """Return whether a file of this name has one dictionary for a column, which must be known before its first row is written."""
    return named_output(path).format.one_dictionary


@contextmanager
def destination(path: Output, large: bool = True) -> Iterator[Any]:
    """`atomic`, and what is written is packed if the name says so. `large`: not through the system's cache."""
    compression = named_output(path).packing
    place = as_place(path)
    written: AbstractContextManager[Any]
    errors: AbstractContextManager[None]
    if place.scheme:
        from oboro.io.places.files import stored_file

        written, errors = stored_file(place, place.force), nullcontext()
    else:
        written, errors = atomic(place.path, large=large and compression is None), _errors_of_the_system()
    with written as file, errors:
        if compression is None:
            yield file
            return
        from oboro.io.bytes import packed

        with packed(file, compression) as out:
            yield out


@contextmanager
def _errors_of_the_system() -> Iterator[None]:
    """Arrow says some errors of the system as text, `[errno 28] No space left on device`: raise them as the system does."""
    try:
        yield
    except (OSError, pa.ArrowException) as problem:
        if getattr(problem, "errno", None):
            raise
        found = re.search(r"\[errno (\d+)\]", str(problem))
        raise OSError(int(found[1]) if found else 0, type(problem).__name__) from None


class NamedOutput(NamedTuple):
    """The format that the name of an output chooses."""

    format: FileFormat
    ending: str
    packing: str | None = None


def named_output(path: Output) -> NamedOutput:
    """Return the format that a name chooses, its ending, and the method with which the file is packed; raise where there is none.

    A folder is written as Parquet unless a pattern names another format; a table of a database takes Arrow.
    """
    place = as_place(path)
    if place.kind == "table":
        return NamedOutput(FORMATS["arrow"], "")
    if place.path == STDOUT:
        return NamedOutput(FORMATS.fallback, FORMATS.fallback.endings[0])
    if place.kind == "files" and not place.wild:
        return NamedOutput(FORMATS[FOLDER], FORMATS[FOLDER].endings[0])
    ending, packing = inner_ending(place.ending) if place.ending.lower() != ".parquet" else (".parquet", None)
    format_ = FORMATS.of_ending(ending)
    if format_ is not None and ending in format_.read_only:
        raise UsageError(Message("error_io.old_excel", path=str(path), ending=ending))
    if place.kind == "files" and (format_ is None or not format_.folders):
        raise UsageError(
            Message("error_places.no_folder_format", place=place.shown, known=written_endings(folders=True))
        )
    if format_ is None or (packing and (packing == "zip" or not format_.packed)):
        ending = Path(place.ending.lower()).suffix or "no ending"
        raise UsageError(Message("error_io.no_format", path=place.shown, ending=ending, known=written_endings()))
    return NamedOutput(format_, ending, packing)


# Outputs other than one file ------------------------------------------------------------------------------------------
# A folder, an object of a store, or a new table of a database; never the place that was read.


PARTS = ("part-", "_", ".")  # how the names of files in a folder begin that is a table of ours


def check_place_out(place: Place, force: bool, read: Place | None = None) -> None:
    """Before any work: raise if nothing could be written there, or what is there may not be replaced."""
    refuse_place_read(place, read)
    if place.kind == "table":
        place.opener.check_output(place, force, read)
    elif place.is_local:
        if place.kind == "files":
            _check_folder(place, force)
    else:
        from oboro.io.places.files import check_stored

        check_stored(as_folder(place), force)


def refuse_place_read(place: Place, read: Place | None) -> None:
    """Raise where files would be written into, around or over those that were read."""
    if read is None or "table" in (place.kind, read.kind) or place.scheme != read.scheme:
        return
    if place.kind == read.kind == "file" and place.is_local:
        return  # one file may take the place of another in one step; whoever asks decides
    ours, theirs = _base(place), _base(read)
    if ours == theirs or f"{ours}/".startswith(f"{theirs}/") or f"{theirs}/".startswith(f"{ours}/"):
        inside = ours == theirs or place.kind == "files" or read.kind == "files"
        if inside:
            raise UsageError(Message("error_places.same_place", place=place.shown))


def _base(place: Place) -> str:
    """The folder of its files, or the file."""
    path = place.path.rpartition("@")[2] if not place.is_local else place.path
    parts = path.split("/")
    if place.kind == "files":
        first = next((number for number, part in enumerate(parts) if GLOB.search(part)), len(parts))
        parts = parts[:first]
    path = "/".join(parts).rstrip("/")
    return os.path.realpath(path or ("/" if place.path.startswith("/") else ".")) if place.is_local else path


def as_folder(place: Place) -> Place:
    """A pattern as the folder that it is in: `released/*.csv` is written to `released/`."""
    if not place.wild:
        return place
    from dataclasses import replace

    folder, _, pattern = place.path.rpartition("/")
    if GLOB.search(folder) or not pattern.startswith("*."):
        known = ["folder/", "folder/*.parquet", "folder/*.csv"]
        raise UsageError(Message("error_places.no_folder_format", place=place.shown, known=known))
    return replace(place, path=f"{folder or '.'}/", text=f"{folder or '.'}/")


def _check_folder(place: Place, force: bool) -> None:
    path = Path(as_folder(place).path)
    try:
        names = [one.name for one in path.iterdir()] if path.is_dir() else []
        taken = path.exists() and not path.is_dir()
    except OSError as problem:
        why = why_unwritable(problem)
        raise FileError(Message("error_places.cannot_be_written", place=place.shown, why=why)) from None
    if (names or taken) and not force:
        raise FileError(Message("error_places.exists", place=place.shown))
    strange = [name for name in names if not name.startswith(PARTS)]
    if strange or taken:
        raise FileError(Message("error_places.not_a_table", place=place.shown, names=strange or [path.name]))


@contextmanager
def folder_out(place: Place, force: bool) -> Iterator[Any]:
    """A folder whose files appear together: something with `file(name)`, which is open for writing while its block lasts."""
    place = as_folder(place)
    if not place.is_local:
        from oboro.io.places.files import stored_folder

        with stored_folder(place, force) as folder:
            yield folder
        return
    _check_folder(place, force)
    try:
        with staged_folder(Path(place.path), replace=force) as path:
            yield _LocalFolder(path)
    except OSError as problem:
        if isinstance(problem, BrokenPipeError):
            raise
        why = why_unwritable(problem)
        raise FileError(Message("error_places.cannot_be_written", place=place.shown, why=why)) from None


class _LocalFolder:
    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def file(self, name: str) -> Iterator[Any]:
        """One of its files."""
        with open(self.path / name, "wb") as file:
            yield file
