"""Write, verify, publish: a folder gets its name only when what stands in it was verified.

Until then it is a private folder beside its place (`oboro.system.staged_folder`); in an object store it is a prefix below it, named
`_oboro-…` (`oboro.io.places.stored`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from oboro.engines.part_files import PartFolder
from oboro.errors import FileError, UsageError
from oboro.io.places.place_names import Place, as_place
from oboro.io.places.place_out import refuse_place_read
from oboro.io.places.stored.store_out import check_stored, stored_folder
from oboro.system.atomic_file import check_place, why_unwritable
from oboro.system.staged_folder import private_folder, staged_folder
from oboro.text import Message

__all__ = ["Staged", "check_apart", "check_folder", "staged"]


@dataclass(frozen=True)
class Staged:
    """Where a release is written before it has its name."""

    made: PartFolder
    """Where tasks write."""
    taken: Callable[[Mapping[str, int]], PartFolder]
    """Let some of what they wrote (names and sizes) be the release; the folder in which these files are then."""


def check_folder(path: str, force: bool) -> Path | Place:
    """Before any work: raise if no folder could appear under this name."""
    place = as_place(path)
    if place.kind == "table":
        raise UsageError(Message("error_engine.no_place", path=place.shown, scheme=place.scheme))
    if place.wild or Path(place.ending).suffix not in ("", ".parquet"):
        raise UsageError(Message("error_engine.output_kind", path=place.shown))
    if not place.is_local:
        check_stored(_as_files(place), force)
        return place
    target = Path(place.path)
    if target.exists() and not force:
        raise FileError(Message("error_system.exists", path=str(target)))
    if not target.exists():
        check_place(target)
    return target


def _as_files(place: Place) -> Place:
    return replace(place, kind="files", path=place.path.rstrip("/") + "/")


def check_apart(place: str, target: Path | Place) -> None:
    """Raise where the release would stand in the place of the table, or within it."""
    read = as_place(place)
    if isinstance(target, Place):
        refuse_place_read(_as_files(target), _as_files(read) if read.kind == "file" else read)
    elif read.is_local:
        source, wanted = Path(read.path).resolve(), target.resolve()
        if source == wanted or source in wanted.parents or wanted in source.parents:
            raise UsageError(Message("error_engine.same_place", path=str(target)))


@contextmanager
def staged(path: str, force: bool = False) -> Iterator[Staged]:
    """A folder to write to. It appears under `path` when the block ends well; what was there before stays until then."""
    target = check_folder(path, force)
    with _staged_here(target.absolute(), force) if isinstance(target, Path) else _stored(target, force) as found:
        yield found


@contextmanager
def _stored(place: Place, force: bool) -> Iterator[Staged]:
    """In an object store: files get their names one by one, and then `_SUCCESS` says that they are all there."""
    with stored_folder(_as_files(place), force) as folder:
        made = PartFolder(place.text, folder.staging)

        def take(sizes: Mapping[str, int]) -> PartFolder:
            folder.sizes.update(sizes)
            return made

        yield Staged(made, take)


@contextmanager
def _staged_here(target: Path, force: bool) -> Iterator[Staged]:
    """On a file system that driver and executors see: one folder that gets its name at once.

    Tasks write into another one: a task that the driver gave up may still write there.
    """
    try:
        with staged_folder(target, replace=force) as rows, private_folder(target) as made:

            def take(sizes: Mapping[str, int]) -> PartFolder:
                for name in sizes:
                    os.rename(made / name, rows / name)
                return PartFolder(str(target), str(rows))

            yield Staged(PartFolder(str(target), str(made)), take)
    except OSError as problem:
        raise FileError(
            Message("error_system.cannot_be_written", path=str(target), why=why_unwritable(problem))
        ) from None
