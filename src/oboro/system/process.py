"""What this process has: its cores, its memory, its children, its output."""

from __future__ import annotations

import io
import mmap
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from typing import Any, TypeVar

__all__ = [
    "alone_in_process",
    "arrow_without_pandas",
    "cores",
    "in_every_child",
    "is_alone",
    "megabytes_now",
    "on_cores",
    "peak_megabytes",
    "print_utf8",
    "without_module",
]

T = TypeVar("T")
_alone = False
SMALL = 1 << 16  # rows that are done before a thread has started


def alone_in_process() -> None:
    """Say that nobody else in this process uses numba: it may then do without what our kernels do not need, and starts sooner."""
    global _alone
    _alone = True


def is_alone() -> bool:
    """Whether nobody else in this process uses numba."""
    return _alone


def cores() -> int:
    """How many cores this process may use; where the system does not say, those of the machine."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def on_cores(act: Callable[..., T], *things: Iterable[Any], rows: int, most: int | None = None) -> list[T]:
    """What an act makes of each, in order; of many rows on all cores (kernels and Arrow do not hold Python's lock)."""
    if rows <= SMALL:
        return list(map(act, *things))
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(cores(), most or cores())) as pool:
        return list(pool.map(act, *things))


def in_every_child(act: Callable[[], object]) -> None:
    """Do this first in every process that is forked from this one; Windows forks none."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=act)


def arrow_without_pandas() -> None:
    """Let pyarrow do without pandas in this process. Where pandas is installed, it would be imported with the first array.

    That takes longer than to anonymize a small table. Only for a process that hands no frame of pandas to pyarrow.
    """
    if "pandas" not in sys.modules:
        with without_module("pandas"):
            import pyarrow

            pyarrow.array([0]).to_numpy()  # pyarrow asks once


@contextmanager
def without_module(absent: str, *, by_thread: bool = False) -> Iterator[None]:
    """As if a module were not installed: what is imported meanwhile (`by_thread`: by this thread) does not import it."""
    mine = threading.get_ident()

    class Absent(MetaPathFinder):
        @classmethod
        def find_spec(cls, name: str, path: object = None, target: object = None) -> None:
            if name == absent and (not by_thread or threading.get_ident() == mine):
                raise ModuleNotFoundError(name)

    sys.meta_path.insert(0, Absent)
    try:
        yield
    finally:
        sys.meta_path.remove(Absent)


def peak_megabytes() -> float | None:
    """The most memory that this process has had so far; None on Windows, which is not asked."""
    try:
        import resource
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
