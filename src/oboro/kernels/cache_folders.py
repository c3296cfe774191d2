"""Where compiled kernels are kept. Compiling all of them takes minutes, so they are kept wherever that is safe.

They are read from beside the code, if somebody compiled them there (`oboro warm-up` when an image is built), and else from the
first of these places, where new ones are written:

1. the folder that `OBORO_CACHE` names, or else `NUMBA_CACHE_DIR`;
2. beside the code, where that can be written;
3. `oboro` in the user's cache (`XDG_CACHE_HOME`, or `.cache` in the home);
4. `oboro-` and the user's number in the folder for temporary files;
5. a new folder for temporary files, which goes when the process ends.

A compiled kernel is code. So a place is used only if it belongs to the user, to root or to the owner of the package, and
nobody else can write there. A named one that others can write is refused.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from oboro.errors import UsageError
from oboro.system.trusted_folder import is_trusted_folder, make_private, why_not_trusted
from oboro.text import Message

__all__ = ["PACKAGE", "CachePlace", "cache_place", "package_owner"]

PACKAGE = Path(__file__).parent.parent
"""Kernels live beside their users, in every room."""
VARIABLES = ("OBORO_CACHE", "NUMBA_CACHE_DIR")


@dataclass(frozen=True)
class CachePlace:
    """A folder for compiled kernels; None: beside the code."""

    folder: Path | None
    lasting: bool = True  # whether the next process finds them again

    @property
    def path(self) -> Path:
        """The folder, whichever it is."""
        return PACKAGE if self.folder is None else self.folder

    def compiled(self) -> Iterator[Path]:
        """What was compiled before and is found again: here, and beside the code."""
        for place in {PACKAGE, self.path}:
            yield from place.rglob("*.nbi")


@cache
def cache_place() -> CachePlace:
    """The place of this process, chosen once."""
    for variable in VARIABLES:
        if given := os.environ.get(variable):
            return CachePlace(_named(variable, Path(given)))
    if _can_write_beside():
        return CachePlace(None)
    for folder in _usual():
        if make_private(folder):
            return CachePlace(folder)
    passing = tempfile.mkdtemp(prefix="oboro-kernels-")
    atexit.register(shutil.rmtree, passing, ignore_errors=True)
    return CachePlace(Path(passing), lasting=False)


def package_owner() -> int:
    """Who could change the package, and with it all that is run: 0 where files have no owner."""
    return Path(__file__).stat().st_uid


def _can_write_beside() -> bool:
    return os.access(PACKAGE, os.W_OK) and is_trusted_folder(PACKAGE, package_owner(), alone=True)


def _named(variable: str, folder: Path) -> Path:
    """The folder that a variable names: made if need be, refused if others could write there."""
    folder = _real(folder.expanduser().absolute())
    if make_private(folder):
        return folder
    if not folder.is_dir():
        raise UsageError(Message("error_kernels.no_folder", variable=variable, folder=str(folder)))
    if is_trusted_folder(folder, package_owner()):
        return folder  # made for us to read: what is compiled anew is not kept
    why = Message(f"error_kernels.{why_not_trusted(folder, package_owner())}")
    raise UsageError(Message("error_kernels.not_trusted", variable=variable, folder=str(folder), why=why))


def _usual() -> Iterator[Path]:
    if sys.platform == "win32":
        yield Path(os.environ.get("LOCALAPPDATA") or tempfile.gettempdir()) / "oboro"
        return
    given = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    if os.path.isabs(given):  # without a home there is none
        yield _real(Path(given) / "oboro")
    yield _real(Path(tempfile.gettempdir()) / f"oboro-{os.getuid()}")


def _real(folder: Path) -> Path:
    """The folder by its real name: a link above it could be turned elsewhere later. It must not be one itself."""
    return folder.parent.resolve() / folder.name
