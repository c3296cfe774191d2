"""Ends of brokers that hold one connection."""

from __future__ import annotations

from typing import Protocol

__all__ = ["LinkedEnd"]


class Link(Protocol):
    """A connection."""

    def close(self) -> None:
        """Let go of it; what the broker keeps, it keeps."""
        ...


class LinkedEnd:
    """An end whose connection is its `link`."""

    link: Link

    def close(self) -> None:
        """Let go of the connection."""
        self.link.close()
