"""Isolated readers, each in its own process, so that a file made to exhaust memory or to break a reader ends only that process."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa

from oboro._lazy import EXTRA_OF, bring, lazy_module
from oboro.errors import FileError, UsageError
from oboro.io.bytes import readable
from oboro.text import Message

__all__ = ["IsolatedReader"]


subprocess, spawn = lazy_module("subprocess"), lazy_module("multiprocessing.spawn")

# A workbook takes 30 to 100 times its size: a cell packs into one to five bytes, and takes 72 while its sheet is put together and 8
# in Arrow. A small one that is no attack stays far below the least.
LEAST_MEMORY, TIMES_SIZE = 2 << 30, 300
LEAST_SECONDS, SECONDS_PER_MEGABYTE = 60, 10  # it reads about 2 MB a second


class IsolatedReader:
    """A file that is open in a process of its own, within limits of memory and time.

    Parameters
    ----------
    package : str
        The package of an extra that reads the file.
    path : str
        The file.
    name : str, optional
        What messages call the file.
    module : str, optional
        The module whose `serve(given, questions, out)` answers questions; by default the one for workbooks.
    """

    def __init__(self, package: str, path: str, name: str | None = None, module: str | None = None) -> None:
        if find_spec(package) is None:
            bring(package)
        with readable(path):
            size = os.stat(path).st_size
        self.path, self.package = name or path, package
        self._memory = min(LEAST_MEMORY + TIMES_SIZE * size, max(LEAST_MEMORY, _machine_memory() * 3 // 4))
        seconds = LEAST_SECONDS + SECONDS_PER_MEGABYTE * (size >> 20)
        program = str(Path(__file__).with_name("isolated_program.py"))
        # -I -S: nothing of the environment, and no `.pth` file; the search path of modules is sent. Malloc takes what it uses.
        self._process = subprocess.Popen(
            [spawn.get_executable(), "-I", "-S", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system", "OPENBLAS_NUM_THREADS": "1"},
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        self.given = {
            "path": os.path.abspath(path).replace("/proc/self/", f"/proc/{os.getpid()}/"),
            "modules": [os.path.abspath(one) for one in sys.path],
            "memory": self._memory,
            "seconds": seconds,
            "module": module,
        }
        """The first question."""

    def ask(self, **asked: Any) -> dict[str, Any]:
        """Send a question and return the answer; a `FileError` where the file cannot be read, or the process ended over it."""
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
            extra = EXTRA_OF[self.package]
            raise UsageError(Message("error_extra.missing", package=answer["missing"], extra=extra))
        if "problem" in answer:
            raise FileError(Message("error_io.cannot_be_read", path=self.path, why=answer["problem"]))
        return answer

    def ask_rows(self, **asked: Any) -> tuple[dict[str, Any], list[pa.RecordBatch]]:
        """Send a question whose answer is followed by rows; return both."""
        answer = self.ask(**asked)
        try:
            with pa.ipc.open_stream(self._process.stdout) as stream:
                return answer, list(stream)  # to the end, behind which the next answer begins
        except (OSError, ValueError):
            raise self._ended() from None

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()

    def _ended(self) -> FileError:
        return FileError(Message("error_io.workbook_ended", path=self.path, most=self._memory))


def _machine_memory() -> int:
    """Return the memory of this machine in bytes; where the system does not state it, more than any limit."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 1 << 62
