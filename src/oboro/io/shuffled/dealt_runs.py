"""What was dealt to buckets, run after run: in memory while it is little, else in a file that nobody else can read."""

from __future__ import annotations

import errno
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np

from oboro.io.places.place_names import Place, as_place
from oboro.system.atomic_file import STDOUT

__all__ = ["DealtRuns", "private_folder"]

HELD = 1 << 29  # bytes that are held in memory; what comes after them goes to the file


def private_folder(output: str | Path | Place) -> str | None:
    """Where a file waits that is part of an output: beside it, where there must be room for it; None: where the system says."""
    place = as_place(output)
    if not place.is_local:
        return None
    path = place.path
    folder = os.path.dirname(os.path.realpath(path))
    return None if str(path) == STDOUT or not os.access(folder, os.W_OK) or Path(path).is_fifo() else folder


@dataclass
class DealtRuns:
    """Runs of bytes. The file has no name (or loses it when it is closed), is for its owner only, and goes with this object."""

    folder: str | None
    held: list[np.ndarray] = field(default_factory=list)
    bytes_held: int = 0
    begins: list[int] = field(default_factory=list)  # in the file, of the runs that are there
    file: IO[bytes] | None = None

    def add(self, run: np.ndarray) -> None:
        """Keep one more run, which is not used elsewhere any more."""
        if self.file is None and self.bytes_held + run.size <= HELD:
            self.held.append(run)
            self.bytes_held += run.size
            return
        self.file = self.file or tempfile.TemporaryFile(buffering=0, dir=self.folder)  # noqa: SIM115  (closed in `close`)
        begin = self.file.seek(0, os.SEEK_END)
        view = memoryview(run.data)
        while view:
            view = view[self.file.write(view) :]
        self.begins.append(begin)

    def read(self, number: int, begin: int, end: int, out: np.ndarray) -> None:
        """The bytes `begin` … `end` of a run."""
        if number < len(self.held):
            out[:] = self.held[number][begin:end]
            return
        assert self.file is not None
        self.file.seek(self.begins[number - len(self.held)] + begin)
        view = memoryview(out.data)
        while view:
            got = self.file.readinto(view)  # type: ignore[attr-defined]
            if not got:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            view = view[got:]

    def close(self) -> None:
        """Forget everything."""
        self.held.clear()
        if self.file is not None:
            self.file.close()
