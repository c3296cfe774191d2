"""Databases through ADBC: which driver a scheme needs, connections, and names as SQL writes them.

A driver says its own traits in `DRIVERS`; another database is one more line.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from oboro.errors import FileError, OboroError, UsageError
from oboro.io.places.place_names import DATABASES, OURS, Place, without_secrets
from oboro.text import Message

__all__ = ["Driver", "connected", "database_file", "driver_of", "ordered_name", "quoted"]


@dataclass(frozen=True)
class Driver:
    """What is special about one database."""

    name: str
    module: str
    extra: str  # of this package, which brings the driver
    is_file: bool = False
    begins: tuple[str, ...] = ()  # said before a query: nothing but reading is allowed, all of one moment


DRIVERS = {
    one.name: one
    for one in (
        Driver("sqlite", "adbc_driver_sqlite.dbapi", "sqlite", is_file=True),
        Driver("duckdb", "adbc_driver_duckdb.dbapi", "duckdb", is_file=True),
        Driver(
            "postgresql",
            "adbc_driver_postgresql.dbapi",
            "postgresql",
            begins=("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY",),
        ),
    )
}


def driver_of(place: Place) -> Driver:
    """The driver of a place's database."""
    return DRIVERS[DATABASES[place.scheme]]


def quoted(name: str) -> str:
    """A name of a table or a column as SQL takes it, whatever stands in it.

    >>> quoted('people"; DROP TABLE people; --')
    '"people""; DROP TABLE people; --"'
    """
    return '"' + name.replace('"', '""') + '"'


def ordered_name(place: Place, table: str) -> str:
    """A table's name, with its schema where the place names one."""
    schema = place.parameter("schema")
    return quoted(table) if not schema else f"{quoted(schema)}.{quoted(table)}"


def database_file(place: Place) -> str:
    """The file of a database: `sqlite:///people.db` is in this folder, `sqlite:////data/people.db` is not.

    Where there is no such file in this folder, three strokes are taken for a path from the root.
    """
    path = unquote(place.path)
    path = path[1:] if path.startswith("/") else path
    if not path:
        raise UsageError(Message("error_places.no_file", place=place.shown))
    rooted = f"/{path}"
    if not os.path.isabs(path) and not os.path.exists(path) and not os.path.isdir(os.path.dirname(path) or "."):
        return rooted if os.path.isdir(os.path.dirname(rooted)) else path
    return path


@contextmanager
def connected(place: Place, words: str, *, write: bool = False) -> Iterator[Any]:
    """A connection whose changes are kept only if somebody says so (`commit`); it reads only, unless it is to write."""
    driver = driver_of(place)
    with _said(place, words):
        connection = _connect(driver, place, write)
        try:
            if not write:
                for statement in driver.begins:
                    execute(connection, statement)
            yield connection
        finally:
            with suppress(Exception):
                connection.rollback()
            with suppress(Exception):
                connection.close()


def execute(connection: Any, statement: str) -> None:
    """One statement whose result nobody reads."""
    with connection.cursor() as cursor:
        cursor.execute(statement)


def _connect(driver: Driver, place: Place, write: bool) -> Any:
    try:
        module = importlib.import_module(driver.module)
    except ImportError:
        needed = {"database": driver.name, "extra": driver.extra}
        raise UsageError(Message("error_places.no_driver", place=place.shown, **needed)) from None
    if not driver.is_file:
        return module.connect(_url(place))
    path = database_file(place)
    if not write and not os.path.isfile(path):
        raise FileError(
            Message("error_places.cannot_be_read", place=place.shown, why=Message("error_places.why.nothing"))
        )
    if driver.name == "sqlite":
        mode = "rwc" if write else "ro"
        return module.connect(f"file:{quote(os.path.abspath(path))}?mode={mode}")
    from adbc_driver_manager.dbapi import connect

    asked = {"path": path} if write else {"path": path, "access_mode": "READ_ONLY"}
    return connect(driver=module.adbc_driver_duckdb.driver_path(), entrypoint="duckdb_adbc_init", db_kwargs=asked)


def _url(place: Place) -> str:
    """The URL as the driver takes it, without what is ours."""
    rest = [f"{quote(name)}={quote(value, safe='')}" for name, value in place.parameters if name not in OURS]
    return f"postgresql://{place.path}" + (f"?{'&'.join(rest)}" if rest else "")


@contextmanager
def _said(place: Place, words: str) -> Iterator[None]:
    """Turn what a driver says into one clear message: no password, and no value of the data, which a driver may quote."""
    try:
        yield
    except OboroError:
        raise
    except Exception as problem:
        if not type(problem).__module__.startswith(("adbc", "pyarrow", "duckdb")) and not isinstance(problem, OSError):
            raise
        raise FileError(Message(words, place=place.shown, why=_why(problem, place))) from None


def _why(problem: Exception, place: Place) -> Any:
    said = str(problem)
    for words, kind in KNOWN.items():
        if words in said.lower():
            return Message(f"error_places.why.{kind}")
    return re.sub(r"['\"].*['\"]", "…", without_secrets(said, place))  # what stands in quotes may be a value


KNOWN = {
    "password authentication failed": "password",
    "no password supplied": "password",
    "permission denied": "denied",
    "read-only": "read_only",
    "readonly": "read_only",
    "database is locked": "locked",
    "could not set lock": "locked",
    "no space left": "full",
    "database or disk is full": "full",
    "does not exist": "no_such",
    "no such table": "no_such",
    "no such column": "no_such",
    "already exists": "exists",
}
