"""What is asked of a table that is about to be read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from oboro.io.file_progress import ByteProgress

__all__ = ["WantedColumns"]


@dataclass(frozen=True, kw_only=True)
class WantedColumns:
    """Which columns are read, and which of them are held in memory; see `oboro.io.files.read`."""

    columns: Sequence[str] | None = None
    held: Collection[str] | None = None
    fingerprinted: Collection[str] = ()
    progress: ByteProgress | None = None
