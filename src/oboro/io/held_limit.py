"""Which columns of a table are held, and how much of it may be held although no step needs it: codes are moved and written sooner
than text is read again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["HELD_TOO", "HeldColumns", "HeldTooMuch"]

HELD_TOO = 1 << 28  # bytes


class HeldTooMuch(Exception):
    """Columns take more memory as codes than they may, or than their text."""


class HeldColumns(NamedTuple):
    """The columns of a file, and those that are to be held; the others stay in the file."""

    names: Sequence[str]
    held: Sequence[str]
    fingerprinted: Sequence[str] = ()
    """Columns that stay in the file, and of which one number a record is kept: equal for equal fields."""
    limited: Sequence[str] = ()
    """Held columns that may take HELD_TOO bytes together; else HeldTooMuch is raised."""
