"""One way out: a folder, an object of a store, or a new table of a database; never the place that was read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from oboro.errors import FileError, UsageError
from oboro.io.places.place_names import GLOB, Place, is_lake
from oboro.system.atomic_file import why_unwritable
from oboro.system.staged_folder import staged_folder
from oboro.text import Message

__all__ = ["as_folder", "check_place_out", "folder_out", "refuse_place_read"]

PARTS = ("part-", "_", ".")  # how the names of files in a folder begin that is a table of ours


def check_place_out(place: Place, force: bool, read: Place | None = None) -> None:
    """Before any work: raise if nothing could be written there, or what is there may not be replaced."""
    refuse_place_read(place, read)
    if is_lake(place.scheme):
        from oboro.io.places.lakes.lake_tables import check_lake

        check_lake(place)
    elif place.kind == "table":
        from oboro.io.places.databases.database_out import check_table

        check_table(place, force, read)
    elif place.is_local:
        if place.kind == "files":
            _check_folder(place, force)
    else:
        from oboro.io.places.stored.store_out import check_stored

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
        from oboro.io.places.stored.store_out import stored_folder

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
