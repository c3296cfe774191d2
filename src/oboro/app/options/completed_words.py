"""What a shell may complete where an argument is one of a few words."""

from __future__ import annotations

__all__ = ["engines", "kinds", "modes"]


def _of(words: tuple[str, ...], incomplete: str) -> list[str]:
    return [word for word in words if word.startswith(incomplete)]


def engines(incomplete: str) -> list[str]:
    """Where a recipe can run."""
    return _of(("local", "spark", "duckdb"), incomplete)


def kinds(incomplete: str) -> list[str]:
    """The made-up tables."""
    return _of(("people", "purchases"), incomplete)


def modes(incomplete: str) -> list[str]:
    """The modes of a stream without delay."""
    return _of(("swap", "count", "paper", "sequential", "fixed"), incomplete)
