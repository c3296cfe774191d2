"""What carries notes."""

from __future__ import annotations

from oboro.text.message import Message

__all__ = ["Noted"]


class Noted:
    """What has notes."""

    notes: tuple[Message, ...]

    @property
    def note(self) -> str:
        """All notes in English, or nothing."""
        return "; ".join(map(str, self.notes))
