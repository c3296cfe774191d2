"""How much of a table may be held although no step needs it: codes are moved and written sooner than text is read again."""

from __future__ import annotations

__all__ = ["HELD_TOO", "HeldTooMuch"]

HELD_TOO = 1 << 28  # bytes


class HeldTooMuch(Exception):
    """Columns take more memory as codes than they may, or than their text."""
