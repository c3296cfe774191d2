"""Files of a table, one or many, on this machine or in an object store: listing, reading of requested columns, writing."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import numpy as np
import pyarrow as pa

from oboro.errors import ColumnError, FileError, OboroError, UsageError
from oboro.io.formats.base import FORMATS, FileFormat, format_of_stored_file
from oboro.io.places.batches import BatchTable, simple_batch, simple_schema
from oboro.io.places.place import GLOB, Place, without_secrets, without_values
from oboro.system.process import ahead
from oboro.text import Message

__all__ = [
    "DONE",
    "STAGING",
    "ColumnarFiles",
    "FetchedFile",
    "StoredFolder",
    "TableFile",
    "at_place",
    "called",
    "check_stored",
    "file_format",
    "file_system",
    "files_of",
    "partition_schema",
    "remove_folder",
    "stored_file",
    "stored_folder",
    "table_files",
]


# File systems ---------------------------------------------------------------------------------------------------------
# File systems of this machine and of object stores, through the clients of Arrow; any other through fsspec, if it is
# installed.
#
# These libraries manage credentials: they take them from the environment, from their files, or from the machine.


SCHEMES = ("s3", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs")  # those that Arrow knows by a URL
AZURE = ("az", "azure")
CLIENTS = ("AWS_", "GOOGLE_", "STORAGE_EMULATOR_")  # how variables begin that Arrow's clients are made from
RETRIED = "30"  # seconds: how long Google's client tries again


def file_system(place: Place) -> tuple[Any, str]:
    """The file system of a place, and its path there."""
    with at_place(place):
        if place.is_local:
            from pyarrow.fs import LocalFileSystem

            return LocalFileSystem(), os.path.abspath(place.path)
        if place.scheme in AZURE:
            return _azure(place), place.path
        if place.scheme in SCHEMES:
            return _by_url(place)
        return _by_fsspec(place)


def _by_url(place: Place) -> tuple[Any, str]:
    from pyarrow.fs import FileSystem

    host, _, path = place.path.partition("/")
    scheme = "gs" if place.scheme == "gcs" else place.scheme
    user, given = _google() if scheme == "gs" else ("", {})
    asked = "&".join(f"{name}={quote(value, safe='')}" for name, value in (given | dict(place.parameters)).items())
    server = host if "@" in host else f"{user}{host}"
    found, _ = _opened(f"{scheme}://{server}/" + (f"?{asked}" if asked else ""), _environment())
    bucket = host.rpartition("@")[0 if scheme.startswith("abfs") else 2]
    assert isinstance(found, FileSystem)
    return found, f"{bucket}/{path}"


def _google() -> tuple[str, dict[str, str]]:
    """The user and the parameters of Google's store, or of an emulator that STORAGE_EMULATOR_HOST names (nobody needs a key there).

    Without a limit Arrow's client looks for credentials, or for a server, for a quarter of an hour.
    """
    given = {"retry_limit_seconds": RETRIED}
    scheme, _, address = os.environ.get("STORAGE_EMULATOR_HOST", "").rstrip("/").rpartition("://")
    if not address:
        return "", given
    return "anonymous@", given | {"scheme": scheme or "http", "endpoint_override": address}


def _environment() -> tuple[tuple[str, str], ...]:
    """Return the settings of a client besides the URL: another endpoint, or other credentials, make another one."""
    return tuple(sorted((name, value) for name, value in os.environ.items() if name.startswith(CLIENTS)))


@cache
def _opened(url: str, environment: object) -> Any:
    from pyarrow.fs import FileSystem

    return FileSystem.from_uri(url)


def _azure(place: Place) -> Any:
    from pyarrow.fs import AzureFileSystem

    account = os.environ.get("AZURE_STORAGE_ACCOUNT_NAME") or os.environ.get("AZURE_STORAGE_ACCOUNT")
    key = os.environ.get("AZURE_STORAGE_ACCOUNT_KEY") or os.environ.get("AZURE_STORAGE_KEY")
    if not account:
        raise UsageError(Message("error_places.no_account", place=place.shown))
    return AzureFileSystem(account_name=account, account_key=key or None, **_azure_endpoint())


def _azure_endpoint() -> dict[str, str]:
    """Another server than Azure's own, such as its emulator: AZURE_STORAGE_BLOB_ENDPOINT=http://127.0.0.1:10000."""
    scheme, _, authority = os.environ.get("AZURE_STORAGE_BLOB_ENDPOINT", "").rstrip("/").partition("://")
    if not authority:
        return {}
    return {
        f"{kind}_storage_{part}": said
        for kind in ("blob", "dfs")
        for part, said in (("scheme", scheme), ("authority", authority))
    }


def _by_fsspec(place: Place) -> tuple[Any, str]:
    try:
        import fsspec
    except ImportError:
        raise UsageError(Message("error_places.no_fsspec", place=place.shown, scheme=place.scheme)) from None
    from pyarrow.fs import FSSpecHandler, PyFileSystem

    url = f"{place.scheme}://{place.path}"
    try:
        client = fsspec.get_filesystem_class(place.scheme)
    except ValueError:
        known = [*SCHEMES, *AZURE, "sqlite", "duckdb", "postgresql"]
        raise UsageError(
            Message("error_places.no_scheme", place=place.shown, scheme=place.scheme, known=known)
        ) from None
    except ImportError as problem:
        why = without_secrets(str(problem), place)
        raise UsageError(Message("error_places.no_client", place=place.shown, scheme=place.scheme, why=why)) from None
    found, path = (
        _client(place, lambda: client(**client._get_kwargs_from_urls(url), **dict(place.parameters))),
        client._strip_protocol(url),
    )
    return PyFileSystem(FSSpecHandler(found)), f"{path}/" if place.path.endswith("/") else path


def _client(place: Place, make: Callable[[], Any]) -> Any:
    """Create a client of another library, which may raise any error for a host or a parameter, and again when it is discarded."""
    said = sys.unraisablehook
    sys.unraisablehook = lambda _: None
    try:
        return make()
    except ImportError as problem:
        why = without_secrets(str(problem), place)
        raise UsageError(Message("error_places.no_client", place=place.shown, scheme=place.scheme, why=why)) from None
    except OSError:
        raise
    except Exception as problem:
        raise FileError(Message("error_places.cannot_be_read", place=place.shown, why=_why(problem, place))) from None
    finally:
        sys.unraisablehook = said


@contextmanager
def at_place(place: Place, words: str = "error_places.cannot_be_read") -> Iterator[None]:
    """Turn an error of a library about a place into one clear message, without passwords."""
    try:
        yield
    except OboroError:
        raise
    except (OSError, pa.ArrowException, EOFError) as problem:
        raise FileError(Message(words, place=place.shown, why=_why(problem, place))) from None
    except Exception as problem:
        if type(problem).__module__.split(".")[0] in ("oboro", "builtins", "numpy"):
            raise
        raise FileError(Message(words, place=place.shown, why=_why(problem, place))) from None


def _why(problem: BaseException, place: Place) -> Any:
    number = getattr(problem, "errno", None)
    if isinstance(problem, FileNotFoundError) or number == 2:
        return Message("error_places.why.nothing")
    said = getattr(problem, "strerror", None) or str(problem) or type(problem).__name__
    refused = ("ACCESS_DENIED", "INVALID_ACCESS_KEY", "SIGNATURE", "403", "UNAUTHENTICATED", "PERMISSION_DENIED")
    if isinstance(problem, PermissionError) or any(word in said.upper() for word in refused):
        return Message("error_places.why.refused", said=without_secrets(said, place))
    return without_secrets(said, place)


# Files of a table -----------------------------------------------------------------------------------------------------
# The files of a table: a folder, a pattern, or one object of a store; hive partitions (`year=2024/`) are columns.
#
# Files are taken in the order of their names. Names that begin with `_` or `.` are not data, by the usual convention
# for such folders.


HIVE_MISSING = "__HIVE_DEFAULT_PARTITION__"
STAGING = "_oboro-"  # what is being written begins so; readers of such folders leave it out
DONE = "_SUCCESS"


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


def file_format(place: Place, files: list[TableFile]) -> FileFormat:
    """Return the format that all files have; raise where they have several."""
    with at_place(place):
        found = {format_.name: format_ for format_ in (_format(one) for one in files if one.size)}
    if len(found) > 1:
        raise FileError(Message("error_places.formats", place=place.shown, formats=sorted(found)))
    return next(iter(found.values()), FORMATS.fallback)


def _format(file: TableFile) -> FileFormat:
    return format_of_stored_file(file.path, file.head)


def table_files(place: Place) -> tuple[FileFormat, list[TableFile]]:
    """The format of the files of a place, and the files."""
    files = files_of(place)
    return file_format(place, files), files


# Columnar files -------------------------------------------------------------------------------------------------------


CELLS, FEWEST, MOST_ROWS = 1 << 19, 1 << 12, 1 << 17
SHARE = 1 << 22  # bytes that are worth a thread
AT_ONCE = 8  # files whose columns are asked for at the same time
WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")


def partition_schema(files: Sequence[TableFile]) -> pa.Schema:
    """The columns that paths tell: whole numbers where all are, written as numbers are; else text."""
    names = list(dict.fromkeys(name for one in files for name, _ in one.keys))
    values = {name: [dict(one.keys).get(name) for one in files] for name in names}
    whole = {name: all(one is None or WHOLE.fullmatch(one) for one in values[name]) for name in names}
    return pa.schema([pa.field(name, pa.int64() if whole[name] else pa.string()) for name in names])


class ColumnarFiles(BatchTable):
    """The files below each other; a column that a file lacks is missing there."""

    twice = True

    def __init__(self, place: Place, files: Sequence[TableFile], format_: FileFormat) -> None:
        self.place, self.files, self.shown = place, files, place.shown
        self.nbytes = sum(one.size for one in files)
        self.format = format_

    @cached_property
    def _footers(self) -> tuple[pa.Schema, int]:
        """The columns of all files together, and their rows: one small read a file."""
        with ThreadPoolExecutor(AT_ONCE if len(self.files) > 1 else 1) as pool:
            found = list(pool.map(self._footer, self.files))
        schemas, rows = [schema for schema, _ in found], sum(count for _, count in found)
        told = [entry for entry in partition_schema(self.files) if entry.name not in _names(schemas)]
        try:
            schema = pa.unify_schemas(schemas, promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            raise ColumnError(_disagreeing(self.shown, schemas)) from None
        return pa.schema([*schema, *told]), rows

    def _footer(self, one: TableFile) -> tuple[pa.Schema, int]:
        with self._reading(one), self.format.open_columns(one) as file:
            return simple_schema(file.schema), file.rows

    def shares(self, most: int) -> list[BatchTable]:
        """The same table in parts of about equally many bytes, in order, for as many threads; a small one stays whole."""
        parts = min(most, len(self.files), (self.nbytes or 0) // SHARE) or 1
        ends = np.cumsum([one.size for one in self.files])
        cuts = [int(np.searchsorted(ends, ends[-1] * part / parts)) for part in range(1, parts)]
        edges = sorted({0, *cuts, len(self.files)})
        return [self._of(self.files[begin:end]) for begin, end in pairwise(edges)]

    def _of(self, files: Sequence[TableFile]) -> ColumnarFiles:
        """Every part has the columns of all."""
        return ColumnarFiles.known(self.place, files, self.format, *self._footers)

    @staticmethod
    def known(
        place: Place, files: Sequence[TableFile], format_: FileFormat, schema: pa.Schema, rows: int = 0
    ) -> ColumnarFiles:
        """Files whose columns are known: their ends are not read for that."""
        table = ColumnarFiles(place, files, format_)
        table.__dict__["_footers"] = (schema, rows)
        return table

    @property
    def schema(self) -> pa.Schema:
        """Names and types."""
        return self._footers[0]

    @property
    def rows(self) -> int:  # type: ignore[override]
        """Number of rows."""
        return self._footers[1]

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """File by file, the next batch being read while this one is used."""
        return ahead(self._batches(list(columns)))

    def _batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        wanted = pa.schema([self.schema.field(name) for name in columns])
        step = min(max(CELLS // max(len(columns), 1), FEWEST), MOST_ROWS)
        for one in self.files:
            with self._reading(one), self.format.open_columns(one) as file:
                here = [name for name in columns if name in file.schema.names]
                for batch in file.batches(here, step):
                    yield _with_keys(batch, dict(one.keys), wanted)

    def pieces(self, one: TableFile, rows: int) -> list[tuple[int, int]]:
        """Groups of a Parquet file that follow each other and have about so many rows together: from which to which."""
        with self._reading(one), self.format.open_columns(one) as file:
            ends = np.cumsum(file.in_groups)
        cuts = (
            [int(np.searchsorted(ends, begin, side="right")) for begin in range(rows, int(ends[-1]), rows)]
            if len(ends)
            else []
        )
        return list(pairwise(sorted({0, *cuts, len(ends)}))) or [(0, 0)]

    def state(self) -> Hashable:
        """Sizes and times of all files, as they were when they were listed or are now."""
        with at_place(self.place):
            found = self.files[0].system.get_file_info([one.path for one in self.files])
            return tuple((one.path, one.size if one.is_file else -1, one.mtime_ns) for one in found)

    @contextmanager
    def _reading(self, file: TableFile) -> Iterator[None]:
        from dataclasses import replace

        with at_place(replace(self.place, text=file.path, path=file.path, kind="file", parameters=())):
            yield


def _names(schemas: Sequence[pa.Schema]) -> set[str]:
    return {name for schema in schemas for name in schema.names}


def _disagreeing(shown: str, schemas: Sequence[pa.Schema]) -> Message:
    types: dict[str, set[str]] = {}
    for schema in schemas:
        for entry in schema:
            types.setdefault(entry.name, set()).add(str(entry.type))
    several = next(((name, sorted(found)) for name, found in types.items() if len(found) > 1), ("?", ["?"]))
    return Message("error_places.types", place=shown, column=several[0], types=several[1])


def _with_keys(batch: pa.RecordBatch, keys: dict[str, str | None], schema: pa.Schema) -> pa.RecordBatch:
    told = [entry for entry in schema if entry.name in keys and entry.name not in batch.schema.names]
    if told:
        arrays = [pa.repeat(pa.scalar(keys[one.name], pa.string()).cast(one.type), batch.num_rows) for one in told]
        names = [*batch.schema.names, *(one.name for one in told)]
        batch = pa.RecordBatch.from_arrays([*batch.columns, *arrays], names=names)
    return simple_batch(batch, schema)


# Fetched files --------------------------------------------------------------------------------------------------------
# Files of a store that can only be read as a whole (text, Excel): copied once into a file without a name, and read from
# it.


PIECE = 1 << 22
BY_NUMBER = sys.platform == "linux"  # an open file can be opened again by its number, though it has no name


class FetchedFile:
    """A private copy of a file, which is removed with this object, even if the process is killed."""

    def __init__(self, file: TableFile) -> None:
        ending = "".join(Path(file.path).suffixes[-2:])
        self._file: Any = (
            tempfile.TemporaryFile() if BY_NUMBER else tempfile.NamedTemporaryFile(suffix=ending)  # noqa: SIM115
        )
        weakref.finalize(self, self._file.close)
        with file.system.open_input_stream(file.path, compression=None) as source:
            shutil.copyfileobj(source, self._file, PIECE)
        self._file.flush()
        self.path = f"/proc/self/fd/{self._file.fileno()}" if BY_NUMBER else self._file.name

    @classmethod
    def of_bytes(cls, content: bytes) -> FetchedFile:
        """A file with this content."""
        found = cls.__new__(cls)
        found._file = tempfile.TemporaryFile() if BY_NUMBER else tempfile.NamedTemporaryFile()  # noqa: SIM115
        weakref.finalize(found, found._file.close)
        found._file.write(content)
        found._file.flush()
        found.path = f"/proc/self/fd/{found._file.fileno()}" if BY_NUMBER else found._file.name
        return found


@contextmanager
def called(path: str, shown: str) -> Iterator[None]:
    """Let errors call a file by the name that its user knows."""
    try:
        yield
    except OboroError as problem:
        if path == shown or not isinstance(problem.words, Message):
            raise
        raise type(problem)(_renamed(problem.words, path, shown)) from None


def _renamed(said: Message, path: str, shown: str) -> Message:
    def one(value: Any) -> Any:
        if isinstance(value, Message):
            return _renamed(value, path, shown)
        return shown if isinstance(value, str | Path) and str(value) == path else value

    return Message(said.id, **{name: one(value) for name, value in said.values.items()})


# Writing to object stores ---------------------------------------------------------------------------------------------
# An object has another name until it is complete, and a folder is marked complete by `_SUCCESS`.
#
# A store cannot rename folders. So the files of a folder are written under `_oboro-…/`, then the store copies them to
# their names, then `_SUCCESS` is added. While `_oboro-…/` exists and `_SUCCESS` does not, the folder is not complete,
# and `read` refuses it.


WORDS = "error_places.cannot_be_written"
COPIED = 5 << 30  # bytes: what S3 copies in one step
MARK = "_writing"


def check_stored(place: Place, force: bool, ours: str = "/") -> None:
    """Raise, before any work, if an object exists and may not be replaced, or the store cannot be listed."""
    with at_place(place, WORDS):
        system, path = file_system(place)
        found = _files(system, path.rstrip("/")) if place.kind == "files" else [path] * _is_file(system, path)
    there = [one for one in found if not one.startswith(f"{ours}/")]
    if there and not force:
        raise FileError(Message("error_places.exists", place=place.shown))
    strange = [one for one in there if not _is_part(one)] if place.kind == "files" else []
    if strange:
        names = [one.rpartition("/")[2] for one in strange]
        raise FileError(Message("error_places.not_a_table", place=place.shown, names=names))


def _is_part(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.startswith(("part-", "_", ".")) or f"/{STAGING}" in path


def _is_file(system: Any, path: str) -> bool:
    return bool(system.get_file_info(path).is_file)


def _files(system: Any, folder: str) -> list[str]:
    from pyarrow.fs import FileSelector

    found = system.get_file_info(FileSelector(folder, recursive=True, allow_not_found=True))
    return [one.path for one in found if one.is_file]


def _staging_folders(system: Any, folder: str) -> list[str]:
    """Return the folders in which writers of this folder prepare their files, or left them when they were killed.

    Some stores list only the objects in a folder, others also a folder that is left without objects.
    """
    from pyarrow.fs import FileSelector

    entries = system.get_file_info(FileSelector(folder, recursive=True, allow_not_found=True))
    parts = [(one, one.path.removeprefix(f"{folder}/").partition("/")) for one in entries]
    found = {part for one, (part, inside, _) in parts if part.startswith(STAGING) and (inside or not one.is_file)}
    return [f"{folder}/{part}" for part in sorted(found)]


@contextmanager
def stored_file(place: Place, force: bool) -> Iterator[Any]:
    """An object that appears under its name only when the block ends well."""
    check_stored(place, force)
    system, path = file_system(place)
    folder, _, name = path.rpartition("/")
    staging = f"{folder}/{STAGING}{secrets.token_hex(8)}-{name}"
    with at_place(place, WORDS), _leaving_nothing(system, folder, [staging]):
        _make_folder(place, system, folder)
        with system.open_output_stream(staging, compression=None) as file:
            yield file
            size = file.tell()
        check_stored(place, force)  # somebody may have been faster
        _copy(place, system, staging, path, size)
        system.delete_file(staging)


class StoredFolder:
    """A folder that is being written under names that no reader uses."""

    def __init__(self, place: Place, system: Any, path: str, staging: str) -> None:
        self.place, self.system, self.path, self.staging = place, system, path, staging
        self.sizes: dict[str, int] = {}
        self.named: list[str] = []
        """The objects of this release that have their names: those of an earlier one are not removed after a failure."""

    @contextmanager
    def file(self, name: str) -> Iterator[Any]:
        """One of its files."""
        with self.system.open_output_stream(f"{self.staging}/{name}", compression=None) as file:
            yield file
            self.sizes[name] = file.tell()

    def publish(self) -> None:
        """Let every file have its name, then say that they are all there."""
        left = _staging_folders(self.system, self.path)  # this one, and those of writers that were killed
        for old in _files(self.system, self.path):
            if not any(old.startswith(f"{one}/") for one in left):
                self.system.delete_file(old)
        for name, size in self.sizes.items():
            self.named.append(name)
            _copy(self.place, self.system, f"{self.staging}/{name}", f"{self.path}/{name}", size)
        self.named.append(DONE)
        _put(self.system, f"{self.path}/{DONE}")
        # As whole folders: where Arrow deletes the last file of a folder, it puts an empty object in the folder's place.
        for one in left:
            remove_folder(self.system, one)


@contextmanager
def stored_folder(place: Place, force: bool) -> Iterator[StoredFolder]:
    """A folder of a store whose files appear when all of them are written."""
    check_stored(place, force)
    system, path = file_system(place)
    path = path.rstrip("/")
    folder = StoredFolder(place, system, path, f"{path}/{STAGING}{secrets.token_hex(8)}")
    with at_place(place, WORDS), _leaving_nothing(system, path, [], lambda: _removed(folder)):
        _make_folder(place, system, folder.staging)
        _put(system, f"{folder.staging}/{MARK}")
        yield folder
        check_stored(place, force, folder.staging)
        folder.publish()


def _removed(folder: StoredFolder) -> None:
    for name in folder.named:
        with suppress(Exception):
            folder.system.delete_file(f"{folder.path}/{name}")
    with suppress(Exception):
        remove_folder(folder.system, folder.staging)


@contextmanager
def _leaving_nothing(
    system: Any, folder: str, paths: list[str], more: Callable[[], None] = lambda: None
) -> Iterator[None]:
    """After a failure remove what was written, and the folders that were not there before."""
    new = _first_missing(system, folder)
    try:
        yield
    except BaseException:
        more()
        for path in paths:
            with suppress(Exception):
                system.delete_file(path)
        with suppress(Exception):
            if new is not None and not _files(system, new):
                remove_folder(system, new)
        raise


def _first_missing(system: Any, folder: str) -> str | None:
    """Return the topmost folder of a path, below its bucket, that is not there yet; None where all are."""
    from pyarrow.fs import FileType

    missing = None
    while "/" in folder.strip("/") and system.get_file_info(folder).type == FileType.NotFound:
        missing, folder = folder, folder.rpartition("/")[0]
    return missing


def _make_folder(place: Place, system: Any, folder: str) -> None:
    if place.scheme not in ("s3", "gs", "gcs"):  # these have no folders
        system.create_dir(folder, recursive=True)


def remove_folder(system: Any, folder: str) -> None:
    """Remove a folder with all that is in it; Google's store has none, and its client fails for one that nobody made."""
    if system.type_name == "gcs":
        system.delete_dir_contents(folder, missing_dir_ok=True)
    else:
        system.delete_dir(folder)


def _put(system: Any, path: str) -> None:
    with system.open_output_stream(path) as file:
        file.write(b"")


def _copy(place: Place, system: Any, source: str, target: str, size: int) -> None:
    """Copied by the store, once what is there is as long as what was written."""
    found = system.get_file_info(source).size
    if found != size:
        raise FileError(Message("error_places.not_whole", place=place.shown, found=found or 0, expected=size))
    if place.scheme == "s3" and size > COPIED:
        raise FileError(Message("error_places.too_large", place=place.shown, size=size))
    system.copy_file(source, target)
