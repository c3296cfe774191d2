"""How far reading or writing has come, for whoever shows it."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["ByteProgress", "RowProgress"]

ByteProgress = Callable[[int, int | None], None]
"""Called with the bytes read so far and the bytes in all (None: unknown)."""

RowProgress = Callable[[int, int], None]
"""Called with the rows done so far and the rows in all."""
