"""Process of oboro: its cores, threads, memory, children, output, clock and trusted folders."""

from __future__ import annotations

import io
import mmap
import os
import stat
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Set
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal, TypeVar

__all__ = [
    "SteadyClock",
    "ahead",
    "cores",
    "elapsed",
    "in_every_child",
    "in_order",
    "is_trusted_file",
    "is_trusted_folder",
    "make_private",
    "megabytes_now",
    "mend_private",
    "on_cores",
    "peak_megabytes",
    "print_utf8",
    "why_not_trusted",
]


# Threads with ordered results -----------------------------------------------------------------------------------------
# Run work in other threads and take the results in order.


A = TypeVar("A")
B = TypeVar("B")

WAITING = 4  # results that may wait for their turn


def in_order(pool: ThreadPoolExecutor, tasks: Iterable[A], act: Callable[[A], B]) -> Iterator[B]:
    """The results in order, with a few pieces of work always under way and never more than a few waiting."""
    waiting: deque[Future[B]] = deque()
    for task in tasks:
        waiting.append(pool.submit(act, task))
        if len(waiting) > WAITING:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def ahead(items: Iterable[A]) -> Iterator[A]:
    """The same items, the next one being made while this one is used."""
    source, end = iter(items), object()
    with ThreadPoolExecutor(1) as pool:
        coming: Future[A | object] = pool.submit(next, source, end)
        while (item := coming.result()) is not end:
            coming = pool.submit(next, source, end)
            yield item  # type: ignore[misc]


# Cores, memory and output ---------------------------------------------------------------------------------------------


T = TypeVar("T")
SMALL = 1 << 16  # rows that are done before a thread has started


def cores() -> int:
    """Return the number of cores that this process may use; those of the machine if the system does not report it."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def on_cores(act: Callable[..., T], *things: Iterable[Any], rows: int, most: int | None = None) -> list[T]:
    """Apply a function to each item, in order; for many rows on all cores (kernels and Arrow do not hold Python's lock)."""
    if rows <= SMALL:
        return list(map(act, *things))
    with ThreadPoolExecutor(min(cores(), most or cores())) as pool:
        return list(pool.map(act, *things))


def in_every_child(act: Callable[[], object]) -> None:
    """Do this first in every process that is forked from this one; Windows forks none."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=act)


def peak_megabytes() -> float | None:
    """The most memory that this process has had so far; None on Windows, which is not asked."""
    try:
        import resource  # noqa: PLC0415  (Windows has none)
    except ImportError:
        return None
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def megabytes_now() -> float | None:
    """The memory that this process has now; where the system does not say, the most that it has had."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * mmap.PAGESIZE / (1 << 20)
    except OSError:
        return peak_megabytes()


def print_utf8() -> None:
    """Let what is printed be UTF-8, which recipes and tables are; Windows would take its code page for a file or a pipe."""
    if os.name == "nt":
        for printed in (sys.stdout, sys.stderr):
            if isinstance(printed, io.TextIOWrapper):
                printed.reconfigure(encoding="utf-8")


# Steady clock ---------------------------------------------------------------------------------------------------------
# A clock that never goes back, even if the clock of the machine is changed.


def elapsed() -> float:
    """Seconds since some moment. Where the system says so, those count in which the machine slept."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


class SteadyClock:
    """Seconds since 1970 that never go back: the machine's clock is asked once, and its answer goes on steadily.

    `latest` is a moment that was noted before, by another process. A clock that was set back since then would say that it lies in
    the future, and whoever waits since then would wait longer: time then goes on from that moment.

    >>> clock = SteadyClock(latest=9e9)
    >>> 9e9 <= clock.now() < 9e9 + 1
    True
    """

    def __init__(self, latest: float = 0.0) -> None:
        self._before = max(time.time(), latest) - elapsed()

    def reach(self, moment: float) -> None:
        """Go on from a moment that somebody else's clock has told, where that is ahead of this one."""
        self._before = max(self._before, moment - elapsed())

    def now(self) -> float:
        """Seconds since 1970."""
        return self._before + elapsed()


# Trusted folders ------------------------------------------------------------------------------------------------------
# Folders whose contents may be run as code: only their owner may write there, and the owner is trusted.
#
# A user who can put a compiled kernel into a folder that a job reads can run code as the user who runs the job. Windows
# has no owners and modes of this kind; there every folder passes, and the folder of the user's profile is protected by
# its own rules.


OWNERS_KNOWN = hasattr(os, "getuid")


def is_trusted_folder(folder: Path, *owners: int, alone: bool = False) -> bool:
    """Return whether a folder is there, and only we, root or these other owners could have put something into it."""
    return folder.is_dir() and why_not_trusted(folder, *owners, alone=alone) is None


def why_not_trusted(folder: Path, *owners: int, alone: bool = False) -> str | None:
    """Return why a folder may hold code of another user: `link`, `owner` or `mode`; None if it may not.

    A link is not followed, and unless the folder is looked at `alone` so is every folder above: whoever can rename one of them can
    put another in its place. In a folder with the sticky bit, such as /tmp, only the owner of an entry can rename it.
    """
    if not OWNERS_KNOWN:
        return None
    if folder.is_symlink():
        return "link"
    mine, found = {os.getuid(), 0, *owners}, folder.stat()
    if found.st_uid not in mine:
        return "owner"
    if _open_to_others(found):
        return "mode"
    return None if alone else _why_not_above(folder, mine)


def _why_not_above(folder: Path, mine: Set[int]) -> str | None:
    """The same for the folders above one that may not be there yet."""
    for place in folder.resolve().parents:
        if not place.exists():
            continue
        found = place.stat()
        if found.st_uid not in mine:
            return "owner"
        if _open_to_others(found) and not found.st_mode & stat.S_ISVTX:
            return "mode"
    return None


def _open_to_others(found: os.stat_result) -> bool:
    return bool(found.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def is_trusted_file(path: Path, *owners: int) -> bool:
    """Return whether a file in a trusted folder is one of ours: a folder may have been open to others before."""
    try:
        found = path.lstat()
    except OSError:
        return False
    if not OWNERS_KNOWN:
        return True
    ours = found.st_uid in {os.getuid(), 0, *owners}
    return stat.S_ISREG(found.st_mode) and ours and not _open_to_others(found)


def make_private(folder: Path) -> bool:
    """Make a folder private to its owner; return whether it exists, is trusted and can be written."""
    if OWNERS_KNOWN and _why_not_above(folder, {os.getuid(), 0}):
        return False  # not even made there
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError:
        return False
    return is_trusted_folder(folder) and os.access(folder, os.W_OK | os.X_OK)


def mend_private(
    folder: Path, own: Callable[[str], bool]
) -> Literal["private", "mended", "owner", "mode", "shared", "planted"]:
    """Let only its owner enter an existing folder for raw values, and return `private`, `mended` or why that cannot be.

    `own` tells by its name whether a file is one of those for which the folder is. A folder with other files (`shared`) is not
    changed: it may be a home folder, or /tmp. `planted`: others could write there, and a file is not ours. A folder of root that
    only a group may write, such as the volume of a container, is taken as it is: its mode is not ours to change.
    """
    if not OWNERS_KNOWN:
        return "private"
    found, me = folder.stat(), os.getuid()
    if {folder.lstat().st_uid, found.st_uid} - {me, 0} and me != 0:
        return "owner"
    if found.st_uid != me and me != 0:
        return "mode" if found.st_mode & stat.S_IWOTH else "private"
    if not found.st_mode & 0o077:
        return "private"
    names = os.listdir(folder)
    if found.st_mode & stat.S_ISVTX or not all(map(own, names)):
        return "shared"
    try:
        os.chmod(folder, 0o700)
    except OSError:
        return "mode"
    if folder.stat().st_mode & 0o077:  # a file system without modes
        return "mode"
    if _open_to_others(found) and not all(is_trusted_file(folder / name) for name in os.listdir(folder)):
        return "planted"
    return "mended"
