"""Rows that several threads read, counted together."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock

from oboro.io.file_progress import RowProgress

__all__ = ["RowCounter"]


@dataclass
class RowCounter:
    """How many rows all threads have read, of how many as far as is known."""

    total: int
    progress: RowProgress | None
    rows: int = 0
    stopped: bool = False
    lock: Lock = field(default_factory=Lock)

    def add(self, rows: int) -> None:
        """So many more."""
        with self.lock:
            self.rows += rows
            if self.progress:
                self.progress(self.rows, max(self.total, self.rows))
