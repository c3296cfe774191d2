"""Files of a store that can only be read as a whole (text, Excel): copied once into a file without a name, and read from there."""

from __future__ import annotations

import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from oboro.errors import OboroError
from oboro.io.places.stored.table_files import TableFile
from oboro.text import Message

__all__ = ["FetchedFile", "called"]

PIECE = 1 << 22
BY_NUMBER = sys.platform == "linux"  # an open file can be opened again by its number, though it has no name


class FetchedFile:
    """A copy that nobody else can read and that is gone when this is gone, whatever becomes of the process."""

    def __init__(self, file: TableFile) -> None:
        ending = "".join(Path(file.path).suffixes[-2:])
        self._file: Any = (
            tempfile.TemporaryFile() if BY_NUMBER else tempfile.NamedTemporaryFile(suffix=ending)  # noqa: SIM115
        )
        weakref.finalize(self, self._file.close)
        with file.system.open_input_stream(file.path, compression=None) as source:
            shutil.copyfileobj(source, self._file, PIECE)
        self._file.flush()
        self.path = f"/proc/self/fd/{self._file.fileno()}" if BY_NUMBER else self._file.name

    @classmethod
    def of_bytes(cls, content: bytes) -> FetchedFile:
        """A file with this content."""
        found = cls.__new__(cls)
        found._file = tempfile.TemporaryFile() if BY_NUMBER else tempfile.NamedTemporaryFile()  # noqa: SIM115
        weakref.finalize(found, found._file.close)
        found._file.write(content)
        found._file.flush()
        found.path = f"/proc/self/fd/{found._file.fileno()}" if BY_NUMBER else found._file.name
        return found


@contextmanager
def called(path: str, shown: str) -> Iterator[None]:
    """Let errors call a file by the name that its user knows."""
    try:
        yield
    except OboroError as problem:
        if path == shown or not isinstance(problem.words, Message):
            raise
        raise type(problem)(_renamed(problem.words, path, shown)) from None


def _renamed(said: Message, path: str, shown: str) -> Message:
    def one(value: Any) -> Any:
        if isinstance(value, Message):
            return _renamed(value, path, shown)
        return shown if isinstance(value, str | Path) and str(value) == path else value

    return Message(said.id, **{name: one(value) for name, value in said.values.items()})
