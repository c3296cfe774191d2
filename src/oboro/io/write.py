"""Tables out: the name's ending chooses the format, and all of the file appears at once or nothing does."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from oboro.data.column import Column, UnencodedColumn, is_nested
from oboro.data.dataset import Dataset
from oboro.data.frames import Types, restorable
from oboro.errors import ColumnError, FileError, UsageError
from oboro.io.formats.base import EXCEL
from oboro.io.formats.csv.dialect import AS_IT_IS, Dialect, encoding_named, in_encoding
from oboro.io.formats.csv.small import is_small, text_before_rows, text_of_rows
from oboro.io.places.place import GLOB, Place, as_place, is_lake
from oboro.system.files import STDOUT, atomic, check_place, staged_folder, why_unwritable
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.data.row_order import RowShuffle
    from oboro.io.formats.csv import FormulaGuard

__all__ = [
    "as_folder",
    "check_output",
    "check_place_out",
    "destination",
    "dialect_asked",
    "dialect_for",
    "encoded",
    "folder_out",
    "formula_guard",
    "is_csv",
    "is_one_file",
    "one_dictionary",
    "refuse_forgotten",
    "refuse_place_read",
    "rows_in_group",
    "slices",
    "write",
    "write_blocks",
]


NO_TYPES: Types = MappingProxyType({})
# Rows in a row group, and values in one of a wide table.
FEWEST, MOST, CELLS = 1 << 16, 1 << 20, 1 << 24
PART = 1 << 22  # rows in a file of a folder, about
TABLE = "table"  # instead of an ending
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".lz4": "lz4", ".xz": "xz"}
FOLDERS = (".parquet", ".csv", ".tsv", ".arrow", ".feather", ".ndjson", ".jsonl")


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
    _format_of(path)
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
    """Raise where a command would write to what nobody can read once it has ended."""
    place = as_place(path)
    if place.scheme == "memory":
        raise UsageError(Message("error_places.forgotten", place=place.shown))


def formula_guard(path: Output) -> FormulaGuard:
    """What keeps a spreadsheet from running cells, where that is asked for. A sheet of Excel needs none: its text is text."""
    if not is_csv(path) and WRITERS[_format_of(path)[0]] is not _excel:
        raise UsageError(Message("error_io.excel_safe_not_csv", path=str(path)))
    from oboro.io.formats.csv import FormulaGuard

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
    if dialect is not None and dialect.encoding not in AS_IT_IS and is_csv(path):
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


def rows_in_group(columns: int) -> int:
    """How many rows are decoded and written together: fewer where the table is wide."""
    return min(max(CELLS // max(columns, 1), FEWEST), MOST)


def write_blocks(
    blocks: Iterable[Dataset | pa.Table],
    path: Output,
    dialect: Dialect | None = None,
    large: bool = True,
    guard: FormulaGuard | None = None,
    types: Types = NO_TYPES,
) -> None:
    """Write tables that together are one, without ever holding more than a few of them."""
    writer, place = WRITERS[_format_of(path)[0]], as_place(path)
    datasets = map(partial(_checked, writer), blocks)
    if guard is not None and writer is _csv:
        guard.begin()
        datasets = map(guard.guarded, datasets)
    chosen = dialect_for(path, dialect)
    if place.kind == "file":
        with destination(path, large) as file:
            if writer is _excel:
                _excel(file, datasets, chosen, from_text=dialect is not None)
            else:
                recoded = writer is _csv and chosen.encoding not in AS_IT_IS
                writer(encoded(file, chosen) if recoded else file, datasets, chosen, types)
    elif is_lake(place.scheme):
        from oboro.io.formats.parquet import regrouped, typed
        from oboro.io.places.lakes import write_lake

        write_lake(place, regrouped(typed(block, NO_TYPES) for block in datasets))
    elif place.kind == "table":
        from oboro.io.formats.parquet import regrouped, typed
        from oboro.io.places.databases import write_table

        write_table(place, regrouped(typed(block, NO_TYPES) for block in datasets), place.force)
    else:
        _write_folder(datasets, place, writer, chosen, types)


def _checked(writer: Writer, block: Dataset | pa.Table) -> Dataset:
    """The block, encoded; raises where it holds lists or structures and goes to a format that has none."""
    data = block if isinstance(block, Dataset) else _unencoded(block)
    if writer in (_csv, _excel, _json):
        for name, column in data.columns.items():
            type_ = column.array.type if isinstance(column, UnencodedColumn) else column.values.type
            if is_nested(type_):
                raise ColumnError(Message("error_io.nested_out", column=name, type=str(type_)))
    return data


def _write_folder(blocks: Iterator[Dataset], place: Place, writer: Writer, dialect: Dialect, types: Types) -> None:
    """Files of at most some million rows each; their names are numbers, since names of folders would tell values."""
    from oboro.io.bytes import packed

    name, compression = _format_of(place)
    ending = "".join(Path(place.ending.lower()).suffixes) if place.wild else name
    with folder_out(place, place.force) as folder, _errors_of_the_system():
        for number, part in enumerate(_parts(blocks)):
            with folder.file(f"part-{number:05}{ending}") as file, packed(file, compression) as out:
                writer(encoded(out, dialect) if writer is _csv else out, part, dialect, types)


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


def encoded(file: Any, dialect: Dialect) -> Any:
    """A file that takes UTF-8 and holds the dialect's encoding."""
    if dialect.encoding in AS_IT_IS:
        return file
    from oboro.io.bytes import EncodedFile

    return EncodedFile(file, dialect.encoding)


def _unencoded(table: pa.Table) -> Dataset:
    return Dataset(
        {name: UnencodedColumn(column) for name, column in zip(table.column_names, table.columns, strict=True)},
        len(table),
    )


def dialect_for(path: Output, dialect: Dialect | None) -> Dialect:
    """How a CSV file of this name is written, when the input was written in `dialect`."""
    dialect = dialect or Dialect()
    return replace(dialect, delimiter="\t") if ".tsv" in Path(as_place(path).ending).suffixes else dialect


def dialect_asked(path: Output, dialect: Dialect | None, encoding: str) -> Dialect:
    """How the output is written: as the input, but in `encoding`."""
    if not is_csv(path):
        raise UsageError(Message("error_io.encoding_not_csv", path=str(path)))
    return replace(dialect or Dialect(), encoding=encoding_named(encoding))


def is_one_file(path: Output) -> bool:
    """Whether it is a file or an object, neither a folder nor a table of a database."""
    return as_place(path).kind == "file"


def is_csv(path: Output) -> bool:
    """Whether what is written under this name is CSV, packed or not."""
    return WRITERS[_format_of(path)[0]] is _csv


def one_dictionary(path: Output) -> bool:
    """Whether a file of this name has one dictionary for a column, which must be known before its first row is written."""
    return WRITERS[_format_of(path)[0]] is _feather


@contextmanager
def destination(path: Output, large: bool = True) -> Iterator[Any]:
    """`atomic`, and what is written is packed if the name says so. `large`: not through the system's cache."""
    _, compression = _format_of(path)
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


Writer = Callable[[Any, Iterator[Dataset], Dialect, Types], None]


def _format_of(path: Output) -> tuple[str, str | None]:
    """The ending that chooses the format, and what it is packed with."""
    place = as_place(path)
    if place.kind == "table":
        return TABLE, None
    name = ".parquet" if place.kind == "files" and not place.wild else place.ending.lower()
    compression = COMPRESSIONS.get(Path(name).suffix)
    inner = Path(name).stem if compression else name
    ending = ".csv" if name == STDOUT else name if name == ".parquet" else Path(inner).suffix
    if ending in EXCEL and ending not in WRITERS:
        raise UsageError(Message("error_io.old_excel", path=str(path), ending=ending))
    if place.kind == "files" and ending not in FOLDERS:
        raise UsageError(Message("error_places.no_folder_format", place=place.shown, known=list(FOLDERS)))
    if ending not in WRITERS or ending == TABLE or (compression and WRITERS[ending] not in (_csv, _json)):
        known = [one for one in WRITERS if one != TABLE]
        ending = Path(name).suffix or "no ending"
        raise UsageError(Message("error_io.no_format", path=place.shown, ending=ending, known=known))
    return ending, compression


def _csv(file: Any, blocks: Iterator[Dataset], dialect: Dialect, types: Types) -> None:
    before = None
    for number, data in enumerate(blocks):
        if number == 0:
            file.write(text_before_rows(list(data.columns), dialect))
        if is_small(data):
            file.write(text_of_rows(data, dialect))
        else:
            from oboro.io.formats.csv.writer import write_rows

            before = write_rows(file, data, dialect, before)


def _parquet(file: Any, blocks: Iterator[Dataset], dialect: Dialect, types: Types) -> None:
    from oboro.io.formats.parquet import as_dictionaries, only_used, parquet_writer, regrouped
    from oboro.system.process import ahead

    writer = None
    try:
        for group in ahead(map(only_used, regrouped(map(as_dictionaries, blocks)))):
            writer = writer or parquet_writer(file, group.schema, types)
            writer.write_table(group)
    finally:
        if writer is not None:
            writer.close()


def _feather(file: Any, blocks: Iterator[Dataset], dialect: Dialect, types: Types) -> None:
    from oboro.io.formats.parquet import regrouped, typed
    from oboro.system.process import ahead

    writer = None
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    for table in ahead(regrouped(typed(block, types) for block in blocks)):
        writer = writer or pa.ipc.new_file(file, table.schema, options=options)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def _excel(
    file: Any, blocks: Iterator[Dataset], dialect: Dialect, types: Types = NO_TYPES, from_text: bool = False
) -> None:
    from oboro.io.formats.excel import sheet_bytes

    file.write(sheet_bytes(list(blocks), from_text=from_text))


def _json(file: Any, blocks: Iterator[Dataset], dialect: Dialect, types: Types) -> None:
    from oboro.io.formats.json_lines import write_json_lines

    write_json_lines(file, blocks)


WRITERS: dict[str, Writer] = {
    TABLE: _feather,  # a database takes Arrow
    ".ndjson": _json,
    ".jsonl": _json,
    ".csv": _csv,
    ".tsv": _csv,
    ".txt": _csv,
    ".parquet": _parquet,
    ".feather": _feather,
    ".arrow": _feather,
    ".xlsx": _excel,
}


# Place out ------------------------------------------------------------------------------------------------------------
# One way out: a folder, an object of a store, or a new table of a database; never the place that was read.


PARTS = ("part-", "_", ".")  # how the names of files in a folder begin that is a table of ours


def check_place_out(place: Place, force: bool, read: Place | None = None) -> None:
    """Before any work: raise if nothing could be written there, or what is there may not be replaced."""
    refuse_place_read(place, read)
    if is_lake(place.scheme):
        from oboro.io.places.lakes import check_lake

        check_lake(place)
    elif place.kind == "table":
        from oboro.io.places.databases import check_table

        check_table(place, force, read)
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
