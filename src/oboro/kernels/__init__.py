"""Compiled loops: arrays in, arrays out, `out` last. They know no column, no object and no file.

`kernel` is the only place that says how code is compiled (`compiling`) and when: numba is loaded and a loop compiled, or found
compiled, when it is first called. To load numba takes as long as to anonymize a thousand records, and a compiled loop a twentieth
of a second more. So a kernel may say how little work is done without: as it stands, by Python, or by NumPy. The result is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, partial, update_wrapper
from typing import Any, TypeVar

import numpy as np

__all__ = ["Kernel", "always_compiled", "kernel", "little_work", "prange", "tell_when_cold"]

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
    """A loop over arrays that is compiled when it is first needed."""

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
        from oboro.kernels.compiling import compiled

        _say_if_cold()
        return compiled(self, **self.how)

    @property
    def py_func(self) -> Callable[..., Any]:
        """The loop as it stands, as numba calls it."""
        return self.function

    @property
    def stats(self) -> Any:
        """How often it was found compiled, and how often not."""
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
    """Whether so much is done sooner without compiled code than it takes to load it."""
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
    from oboro.kernels.cache_folders import cache_place

    if tell is not None and not any(True for _ in cache_place().compiled()):
        tell()
