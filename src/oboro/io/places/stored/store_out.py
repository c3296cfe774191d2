"""Objects out: what is written has another name until it is complete, and a folder says by `_SUCCESS` that all of it is there.

A store has no renaming of folders. So the files of a folder are written under `_oboro-…/`, then copied to their names by the store
itself, then `_SUCCESS` is put beside them. While `_oboro-…/` is there and `_SUCCESS` is not, the folder is not complete, and `read`
refuses it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from oboro.errors import FileError
from oboro.io.places.file_systems import at_place, file_system
from oboro.io.places.place_names import Place
from oboro.io.places.stored.table_files import DONE, STAGING
from oboro.text import Message

__all__ = ["StoredFolder", "check_stored", "remove_folder", "stored_file", "stored_folder"]

WORDS = "error_places.cannot_be_written"
COPIED = 5 << 30  # bytes: what S3 copies in one step
MARK = "_writing"


def check_stored(place: Place, force: bool, ours: str = "/") -> None:
    """Before any work: raise if something is there and may not be replaced, or the store lets nobody look."""
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
    """A folder that is being written under names that nobody reads."""

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
