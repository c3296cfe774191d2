"""A workbook that is open in a process of its own, so that a file made to exhaust memory ends only that process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from multiprocessing.spawn import get_executable
from pathlib import Path
from typing import Any

import pyarrow as pa

from oboro.errors import FileError, UsageError
from oboro.io.byte_streams import readable
from oboro.system.extras import bring
from oboro.text import Message

__all__ = ["Workbook", "open_workbook"]

# A workbook takes 30 to 100 times its size: a cell packs into one to five bytes, and takes 72 while its sheet is put together and 8
# in Arrow. A small one that is no attack stays far below the least.
LEAST_MEMORY, TIMES_SIZE = 2 << 30, 300
LEAST_SECONDS, SECONDS_PER_MEGABYTE = 60, 10  # it reads about 2 MB a second


class Workbook:
    """A workbook in a process of its own."""

    def __init__(self, path: str, process: subprocess.Popen[bytes], memory: int) -> None:
        self.path, self._process, self._memory = path, process, memory
        self.sheets: list[str] = []
        """The names of its sheets."""

    def ask(self, **asked: Any) -> dict[str, Any]:
        """Send a question and return the answer; a `FileError` where the workbook cannot be read, or the process ended over it."""
        sent, received = self._process.stdin, self._process.stdout
        assert sent is not None
        assert received is not None
        line = b""
        with suppress(OSError):  # it has ended
            sent.write(json.dumps(asked).encode() + b"\n")
            sent.flush()
            line = received.readline()
        if not line.endswith(b"\n"):
            raise self._ended()
        answer: dict[str, Any] = json.loads(line)
        if "missing" in answer:
            raise UsageError(Message("error_extra.missing", package=answer["missing"], extra="excel"))
        if "problem" in answer:
            raise FileError(Message("error_io.cannot_be_read", path=self.path, why=answer["problem"]))
        return answer

    def rows(self, sheet: str | int, **how: Any) -> tuple[pa.RecordBatch, dict[int, int]]:
        """Read a sheet, `how` as in `fastexcel.ExcelReader.load_sheet`; and count the cells of each column that hold an error."""
        answer = self.ask(sheet=sheet, **how)
        try:
            with pa.ipc.open_stream(self._process.stdout) as stream:
                batch, *_ = stream  # to the end, behind which the next answer begins
        except (OSError, ValueError):
            raise self._ended() from None
        return batch, {int(place): int(count) for place, count in answer["errors"]}

    def _ended(self) -> FileError:
        return FileError(Message("error_io.workbook_ended", path=self.path, most=self._memory))


@contextmanager
def open_workbook(path: str, name: str | None = None) -> Iterator[Workbook]:
    """Open a workbook, of which messages speak by its `name`; its process ends with the block."""
    if find_spec("fastexcel") is None:
        bring("fastexcel")
    with readable(path):
        size = os.stat(path).st_size
    memory = min(LEAST_MEMORY + TIMES_SIZE * size, max(LEAST_MEMORY, _machine_memory() * 3 // 4))
    seconds = LEAST_SECONDS + SECONDS_PER_MEGABYTE * (size >> 20)
    program = str(Path(__file__).with_name("child_program.py"))
    # -I -S: nothing of the environment, and no `.pth` file; where modules are is told. Malloc takes no more than it uses.
    process = subprocess.Popen(
        [get_executable(), "-I", "-S", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"},
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
    )
    book = Workbook(name or path, process, memory)
    try:
        modules = [os.path.abspath(one) for one in sys.path]
        book.sheets = book.ask(path=os.path.abspath(path), modules=modules, memory=memory, seconds=seconds)["sheets"]
        yield book
    finally:
        process.kill()
        process.communicate()


def _machine_memory() -> int:
    """The memory of this machine in bytes; where the system does not say, more than any limit."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 1 << 62
