"""Language of the system, reasons of the operating system in it, and progress of work."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Mapping
from typing import ParamSpec, Protocol, TypeVar

from oboro.text.message import LANGUAGES, Message, Words, known

__all__ = ["READING", "ByteProgress", "Parts", "Progress", "RowProgress", "os_reason", "silent", "system_language"]


# Progress of files ----------------------------------------------------------------------------------------------------
# Progress of reading or writing a file.


ByteProgress = Callable[[int, int | None], None]
"""Called with the bytes read so far and the bytes in all (None: unknown)."""

RowProgress = Callable[[int, int], None]
"""Called with the rows done so far and the rows in all."""


# Language -------------------------------------------------------------------------------------------------------------


VARIABLES = ("OBORO_LANG", "LC_ALL", "LC_MESSAGES", "LANG")


def system_language(environment: Mapping[str, str] = os.environ) -> str:
    """The language of the first variable that is set, if it is one of ours; else English.

    >>> system_language({"LANG": "ja_JP.UTF-8"}), system_language({"LC_ALL": "C", "LANG": "ja_JP.UTF-8"}), system_language({})
    ('ja', 'en', 'en')
    """
    said = next(filter(None, map(environment.get, VARIABLES)), "")
    return said[:2] if said[:2] in LANGUAGES and said[2:3] in ("", "_", "-", ".") else "en"


# Reasons of the operating system --------------------------------------------------------------------------------------
# Reasons for which the operating system cannot use a file, in the language of the reader.


def os_reason(error: OSError) -> Words:
    """Return the reason of the operating system in the language of the reader; a reason without translation is unchanged.

    >>> os_reason(FileNotFoundError(2, "No such file or directory")).say("ja")
    'ファイル又はフォルダーがありません'
    """
    if isinstance(words := getattr(error, "words", None), Message):
        return words
    id = f"error_os.{errno.errorcode.get(error.errno or 0, '').lower()}"
    return Message(id) if known(id) else error.strerror or str(error) or type(error).__name__


# Progress of work -----------------------------------------------------------------------------------------------------
# Progress of a job in stages and rows.


READING = Message("progress.reading")


class Progress(Protocol):
    """Receiver of progress: the stage that begins, then the number of finished rows and of all rows."""

    def __call__(self, stage: Words, done: int = 0, total: int | None = None) -> None:
        """Take note."""


def silent(stage: Words, done: int = 0, total: int | None = None) -> None:
    """Ignore progress."""


# Progress of parallel work --------------------------------------------------------------------------------------------
# Work done in parallel, reported as one stage.


P = ParamSpec("P")
T = TypeVar("T")


class Parts:
    """Pieces of parallel work, reported as one stage with the number of finished ones. Threads may do them."""

    def __init__(self, tell: Progress, stage: Words, total: int) -> None:
        self._tell, self._stage, self._total, self._done = tell, stage, total, 0
        self._lock = threading.Lock()

    def do(self, work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
        """Do one of them."""
        found = work(*given, **named)
        self._more(1, 0)
        return found

    def inner(self) -> Progress:
        """The progress of a piece that has pieces itself: they count as these do."""
        before = [0, 0]

        def tell(stage: Words, done: int = 0, total: int | None = None) -> None:
            more = done - before[0], (total or 0) - before[1]
            before[:] = done, total or 0
            self._more(*more)

        return tell

    def _more(self, done: int, total: int) -> None:
        with self._lock:
            self._done, self._total = self._done + done, self._total + total
            now = self._done, self._total
        self._tell(self._stage, *now)
