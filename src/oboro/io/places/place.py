"""Place of a data source or sink by its name: a path, a glob, or a URL of an object store or of a table in a database.

A name may hold a password, and a path may hold values of the data (`zip=1234/part.parquet`): what messages and reports say is
`shown`, which has neither.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal
from urllib.parse import unquote, unquote_plus

if TYPE_CHECKING:
    import pyarrow as pa

    from oboro.io.places.batches import BatchTable

__all__ = [
    "OURS",
    "STDIO",
    "TABLE_PLACES",
    "Place",
    "TablePlace",
    "as_place",
    "is_plain_file",
    "parameters_of",
    "without_secrets",
]


STDIO = "-"
URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://(.*)", re.DOTALL)
GLOB = re.compile(r"[*?\[]")
OURS = ("table", "query", "schema")  # parameters of a database's URL that are not the driver's
SECRETS = (
    "PGPASSWORD", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_STORAGE_KEY", "AZURE_STORAGE_ACCOUNT_KEY",
)  # fmt: skip

Kind = Literal["file", "files", "table"]


@dataclass(frozen=True)
class Place:
    """One place, by its name."""

    text: str = field(repr=False)
    scheme: str  # "" on this machine
    kind: Kind
    path: str = field(repr=False)  # without scheme and parameters; on this machine a path
    parameters: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    force: bool = False  # whether what is there may be replaced

    def __str__(self) -> str:
        return self.shown

    @property
    def is_local(self) -> bool:
        """True if it is on a file system of this machine."""
        return not self.scheme

    def parameter(self, name: str) -> str | None:
        """One parameter of the URL."""
        return dict(self.parameters).get(name)

    @cached_property
    def shown(self) -> str:
        """The name without passwords, parameters, and values that stand in a path."""
        path = without_values(self.path)
        if self.is_local:
            return path
        user, at, host = path.rpartition("@") if "@" in path.split("/", 1)[0] else ("", "", path)
        user = f"{user.split(':')[0]}:***" if ":" in user else user
        asked = [f"{name}={value if name != 'query' else '…'}" for name, value in self.parameters if name in OURS]
        return f"{self.scheme}://{user}{at}{host}" + (f"?{'&'.join(asked)}" if asked else "")

    @property
    def secrets(self) -> list[str]:
        """Secrets of the URL: the password of the URL, as it stands there and as it is meant, and other parameters' values."""
        user, _, _ = self.path.split("/", 1)[0].rpartition("@") if self.scheme else ("", "", "")
        password = user.partition(":")[2]
        given = [value for name, value in self.parameters if re.search("pass|secret|key|token", name, re.IGNORECASE)]
        known = [os.environ.get(name, "") for name in SECRETS]
        return [one for one in (password, unquote(password), *given, *known) if one]

    @property
    def is_plain(self) -> bool:
        """True if it is one file of this machine, or standard output."""
        return not self.scheme and self.kind == "file"

    @property
    def opener(self) -> TablePlace:
        """The registered kind of place that opens a table with this scheme."""
        found = TABLE_PLACES.of_scheme(self.scheme)
        assert found is not None
        return found

    @property
    def wild(self) -> bool:
        """True if it names files by a pattern."""
        return self.kind == "files" and bool(GLOB.search(self.path))

    @property
    def ending(self) -> str:
        """The last part of the name, whose ending chooses a format."""
        return self.path.rstrip("/").rsplit("/", 1)[-1]


# Registry of places ---------------------------------------------------------------------------------------------------


class TablePlace:
    """A kind of place whose URLs name tables, such as databases. A subclass in a module of this folder adds a kind.

    Attributes
    ----------
    schemes : tuple of str
        Schemes of its URLs; `delta` names `delta+s3` too.
    """

    schemes: ClassVar[tuple[str, ...]]

    def named(self, text: str, scheme: str, rest: str) -> Place:
        """Return the place that a URL names; `rest` follows the scheme."""
        raise NotImplementedError

    def open_table(self, place: Place) -> BatchTable:
        """Open a table for reading."""
        raise NotImplementedError

    def check_output(self, place: Place, force: bool, read: Place | None) -> None:
        """Raise, before any work, if the table could not be written, or is the one that was read."""
        raise NotImplementedError

    def write_table(self, place: Place, tables: Iterator[pa.Table], force: bool) -> None:
        """Write tables that together are one: all rows appear at once, or none."""
        raise NotImplementedError


class TablePlaces(Mapping[str, TablePlace]):
    """Kinds of places by the names of their modules in this folder, each with one `PLACE`; a module is loaded for a URL."""

    SUPPORT = frozenset({"__init__", "batches", "files", "place"})
    """Modules that places share, and files, which are what remains where no scheme is registered."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of all kinds."""
        return tuple(sorted({one.stem for one in Path(__file__).parent.glob("*.py")} - self.SUPPORT))

    def __getitem__(self, name: str) -> TablePlace:
        if name not in self.names:
            raise KeyError(name)
        place: TablePlace = import_module(f"oboro.io.places.{name}").PLACE
        return place

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def of_scheme(self, scheme: str) -> TablePlace | None:
        """Return the kind of place that a scheme names; None for stores of files."""
        if not scheme:
            return None
        return next((one for one in self.values() if scheme.partition("+")[0] in one.schemes), None)


TABLE_PLACES = TablePlaces()


# Names of places ------------------------------------------------------------------------------------------------------


def without_values(path: str) -> str:
    """A path without the values of hive partitions in it.

    >>> without_values("people/zip=1234/part.parquet")
    'people/zip=…/part.parquet'
    """
    return re.sub(r"(^|/)([^/=]+)=[^/]*(?=/)", r"\1\2=…", path)


def without_secrets(text: str, place: Place) -> str:
    """Return the text of another library about a place in one line, without secrets."""
    for secret in sorted(place.secrets, key=len, reverse=True):
        text = text.replace(secret, "***")
    for name, shown in ((place.text, place.shown), (place.path, without_values(place.path))):
        text = text.replace(name, shown) if name else text
    return (text.strip() or "–").splitlines()[0].rstrip(".")


def as_place(name: str | Path | Place) -> Place:
    """Return the place of a name.

    >>> as_place("s3://bucket/people/").kind, as_place("people.csv").kind, as_place("sqlite:///a.db?table=people").kind
    ('files', 'file', 'table')
    """
    if isinstance(name, Place):
        return name
    text = os.fspath(name)
    found = URL.fullmatch(text) if isinstance(name, str) else None
    if found is None or found[1].lower() == "file":
        path = text if found is None else unquote(found[2])
        return Place(text, "", _local_kind(path), path)
    scheme, rest = found[1].lower(), found[2]
    path, _, query = rest.partition("?")
    tables = TABLE_PLACES.of_scheme(scheme)
    if tables is not None:
        return tables.named(text, scheme, rest)
    wild = _looks_wild(rest)  # a pattern may hold a question mark
    path, parameters = (rest, ()) if wild else (path, parameters_of(query))
    kind: Kind = "files" if path.endswith("/") or GLOB.search(path) else "file"
    return Place(text, scheme, kind, path, parameters)


def _looks_wild(rest: str) -> bool:
    _, mark, tail = rest.partition("?")
    return bool(mark and "=" not in tail)


def _local_kind(path: str) -> Kind:
    if path == STDIO:
        return "file"
    try:
        if os.path.isdir(path) or path.endswith(("/", os.sep)):
            return "files"
        return "files" if GLOB.search(path) and not os.path.lexists(path) else "file"
    except ValueError:  # a zero byte: whoever opens it says so
        return "file"


def is_plain_file(name: object) -> bool:
    """Return whether a name is that of one file of this machine, standard input included: what needs nothing of this folder."""
    text = os.fspath(name) if isinstance(name, str | os.PathLike) else ""
    if isinstance(name, str) and "://" in text:
        return False
    return isinstance(name, str | os.PathLike) and _local_kind(str(text)) == "file"


def parameters_of(query: str) -> tuple[tuple[str, str], ...]:
    """The parameters of a URL. A query may be written as it is, with its spaces, `+` and `&`, or encoded."""
    parts = re.split(r"&(?=[A-Za-z_][A-Za-z0-9_.]*=)", query) if query else []
    pairs = [part.partition("=") for part in parts]
    return tuple((name, unquote(value) if " " in value else unquote_plus(value)) for name, _, value in pairs)


def names_a_place(source: object) -> bool:
    """Return whether a table is to be read: a path or a URL, bytes, or what another library holds and has not computed yet."""
    if isinstance(source, str | Path | bytes | bytearray | memoryview):
        return True
    kind = type(source)
    if kind.__name__ in ("LazyFrame", "DuckDBPyRelation", "RecordBatchReader"):
        return True
    return hasattr(kind, "get_fragments") or (hasattr(kind, "__arrow_c_stream__") and not _is_frame(source))


def _is_frame(source: object) -> bool:
    """Return whether it is a table in memory, which comes back as what it is."""
    return type(source).__module__.split(".")[0] in ("pandas", "polars", "narwhals", "pyarrow", "modin", "cudf")
