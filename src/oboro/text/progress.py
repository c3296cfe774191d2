"""How far the work is: whoever waits is told stages and rows."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Progress", "silent"]


class Progress(Protocol):
    """Told the stage that begins, and while it lasts how many rows are done and how many there are in all."""

    def __call__(self, stage: str, done: int = 0, total: int | None = None) -> None:
        """Take note."""


def silent(stage: str, done: int = 0, total: int | None = None) -> None:
    """Nobody waits."""
