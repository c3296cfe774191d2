"""How long a search may take."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic

__all__ = ["Watch"]


@dataclass(frozen=True)
class Watch:
    """A time limit in seconds from now; None: as long as it takes."""

    seconds: float | None = None
    start: float = field(default_factory=monotonic)

    def over(self) -> bool:
        """Whether the time is up."""
        return self.seconds is not None and monotonic() - self.start > self.seconds
