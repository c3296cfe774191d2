"""How far a search is, for whoever waits."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["SearchProgress"]


class SearchProgress(NamedTuple):
    """How far a search is."""

    evaluated: int
    """Nodes checked."""
    settled: int
    """These, and those that their results settle."""
    size: int
    """Nodes in all."""
    loss: float | None
    """Of the best node so far, if there is one."""
    bound: float | None = None
    """No node loses less than this, as far as that is known yet."""
