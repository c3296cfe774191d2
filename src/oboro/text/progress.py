"""How far the work is: whoever waits is told stages and rows."""

from __future__ import annotations

from typing import Protocol

from oboro.text.message import Message, Words

__all__ = ["READING", "Progress", "silent"]

READING = Message("progress.reading")


class Progress(Protocol):
    """Told the stage that begins, and while it lasts how many rows are done and how many there are in all."""

    def __call__(self, stage: Words, done: int = 0, total: int | None = None) -> None:
        """Take note."""


def silent(stage: Words, done: int = 0, total: int | None = None) -> None:
    """Nobody waits."""
