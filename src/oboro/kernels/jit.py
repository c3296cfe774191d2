"""Decorator for compiled loops (`kernel`) and the folders of their cache. Loops take arrays, `out` last; they know no
column, no object and no file.

`kernel` is the only place that says how code is compiled (`compiling`) and when: numba is loaded and a loop compiled,
or found compiled, when it is first called. To load numba takes as long as to anonymize a thousand records, and a
compiled loop a twentieth of a second more. So a kernel may say how little work is done without: as it stands, by
Python, or by NumPy. The result is the same.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property, partial, update_wrapper
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from oboro._lazy import lazy_module
from oboro.errors import UsageError
from oboro.system.process import is_trusted_folder, make_private, why_not_trusted
from oboro.text import Message

__all__ = [
    "PACKAGE",
    "CachePlace",
    "Kernel",
    "always_compiled",
    "cache_place",
    "coin",
    "kernel",
    "little_work",
    "package_owner",
    "prange",
    "tell_when_cold",
]


compiling = lazy_module("oboro.kernels.compiling")  # imports numba

F = TypeVar("F", bound=Callable[..., Any])

prange = range
"""A loop on all cores, once it is compiled."""
LITTLE = (
    1 << 18
)  # entries of arrays that a kernel sees before it is compiled, where Python does them: a tenth of a second
LITTLE_FOR_NUMPY = 1 << 22  # and where NumPy does
PER_CALL = 16  # entries that a call counts for in any case

_compile_all = False
_tell: Callable[[], object] | None = None


def _entries(*arguments: Any) -> int:
    entries = 0
    for one in arguments:
        entries += one.size if isinstance(one, np.ndarray) else 0
    return entries


class Kernel:
    """Loop over arrays that is compiled when it is first needed."""

    def __init__(
        self,
        function: Callable[..., Any],
        how: dict[str, bool],
        little: Callable[..., Any] | bool,
        work: Callable[..., int],
    ) -> None:
        update_wrapper(self, function)
        self.work = work
        self.function, self.how = function, how
        self.little: Callable[..., Any] | None = function if little is True else little or None
        self.left = LITTLE if little is True else LITTLE_FOR_NUMPY
        self.plain = not little and not how["inner"]  # always compiled: asked first, since some calls take microseconds

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Run the loop."""
        if self.plain:
            return self.compiled(*arguments, **named)
        if self.how["inner"]:  # only a loop that Python runs, because there is little to do, can call it from here
            return self.function(*arguments, **named)
        if self.little is not None and self.left > 0 and not _compile_all:
            work = PER_CALL + self.work(*arguments)
            if work <= self.left:
                self.left -= work
                with np.errstate(all="ignore"):  # a division by zero is no error to what is compiled
                    return self.little(*arguments, **named)
            self.left = 0
        return self.compiled(*arguments, **named)

    @cached_property
    def compiled(self) -> Any:
        """The loop as machine code."""
        _say_if_cold()
        return compiling.compiled(self, **self.how)

    @property
    def py_func(self) -> Callable[..., Any]:
        """The loop as it stands, as numba calls it."""
        return self.function

    @property
    def stats(self) -> Any:
        """Number of times it was found compiled, and the number of times it was not."""
        return self.compiled.stats


def kernel(
    *,
    parallel: bool = False,
    inner: bool = False,
    bare: bool = False,
    makes_arrays: bool = False,
    little: Callable[..., Any] | bool = False,
    work: Callable[..., int] = _entries,
) -> Callable[[F], F]:
    """Compile a loop over arrays. `inner`: only other kernels call it, so no door to Python is compiled, which takes its time.

    `bare`: it makes no array and returns none, so references need not be counted. With many arrays in tuples, counting
    takes most of the time, to run and to compile. numba refuses to compile a bare kernel that makes an array. What a bare
    kernel calls is bare too, unless it says that it `makes_arrays`: references to those are counted, to those handed over not.

    `little`: what does the same as long as there is little work; `True` is the loop itself, which Python then runs. Its whole
    numbers must not overflow. `work` says how much some arguments are, where it is not as much as their entries.
    """
    how = {"parallel": parallel, "inner": inner, "bare": bare, "makes_arrays": makes_arrays}
    return partial(Kernel, how=how, little=little, work=work)  # type: ignore[return-value]


def little_work(entries: int, most: int = LITTLE) -> bool:
    """Return whether so much work is done sooner without compiled code than it takes to load it."""
    return entries <= most and not _compile_all


@contextmanager
def always_compiled() -> Iterator[None]:
    """Everything is compiled, however little it is: to compile ahead of time, and to test what was compiled."""
    global _compile_all
    before, _compile_all = _compile_all, True
    try:
        yield
    finally:
        _compile_all = before


def tell_when_cold(tell: Callable[[], object]) -> None:
    """Call this once, before anything is compiled on a machine where nothing was yet: that takes a while, and should be said."""
    global _tell
    _tell = tell


def _say_if_cold() -> None:
    global _tell
    tell, _tell = _tell, None

    if tell is not None and not any(True for _ in cache_place().compiled()):
        tell()


# Cache folders --------------------------------------------------------------------------------------------------------
# Folders of compiled kernels. Compiling all of them takes minutes, so they are kept wherever that is safe.
#
# They are read from beside the code, if they were compiled there (`oboro warm-up` when an image is built), and else
# from the first of these folders, where new ones are written:
#
# 1. the folder that `OBORO_CACHE` names, or else `NUMBA_CACHE_DIR`;
#
# 2. beside the code, where that can be written;
#
# 3. `oboro` in the user's cache (`XDG_CACHE_HOME`, or `.cache` in the home);
#
# 4. `oboro-` and the user's number in the folder for temporary files;
#
# 5. a new folder for temporary files, which goes when the process ends.
#
# A compiled kernel is code. So a folder is used only if it belongs to the user, to root or to the owner of the package,
# and no other user can write there. A named one that others can write is refused.


PACKAGE = Path(__file__).parent.parent
"""Kernels live beside their users, in every room."""
VARIABLES = ("OBORO_CACHE", "NUMBA_CACHE_DIR")


@dataclass(frozen=True)
class CachePlace:
    """Folder for compiled kernels; None: beside the code."""

    folder: Path | None
    lasting: bool = True  # whether the next process finds them again

    @property
    def path(self) -> Path:
        """The folder, whichever it is."""
        return PACKAGE if self.folder is None else self.folder

    def compiled(self) -> Iterator[Path]:
        """Kernels compiled before that are found again: here, and beside the code."""
        for place in {PACKAGE, self.path}:
            yield from place.rglob("*.nbi")


@cache
def cache_place() -> CachePlace:
    """Return the cache folder of this process, chosen once."""
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
    """Return the user who could change the package, and with it all code that is run: 0 where files have no owner."""
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


# Random bits ----------------------------------------------------------------------------------------------------------


@kernel(inner=True)
def coin(state: np.ndarray) -> int:
    """Return the next 64 random bits (splitmix64, Steele et al. 2014)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
