"""What is asked of a table that is about to be read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from oboro.io.file_progress import ByteProgress

__all__ = ["WantedColumns"]


@dataclass(frozen=True, kw_only=True)
class WantedColumns:
    """Which columns are read, and which of them are held in memory; see `oboro.io.files.read`."""

    columns: Sequence[str] | None = None
    held: Collection[str] | None = None
    fingerprinted: Collection[str] = ()
    checked: Collection[str] = ()
    """Columns that are not released, but that a check before writing counts where they are small, such as dropped identifiers."""
    progress: ByteProgress | None = None

    def of_file(self) -> dict[str, Any]:
        """Return the options of `oboro.io.files.read`; a check reads a file once more, so the file need not keep `checked`."""
        asked = vars(self).copy()
        del asked["checked"]
        return asked
