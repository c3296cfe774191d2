"""Progress of reading a file that may be read twice."""

from __future__ import annotations

from oboro.text.language import ByteProgress

__all__ = ["SteadyProgress"]


class SteadyProgress:
    """Progress that never goes back. After a restart of the reader, the remaining progress covers the whole second reading.

    >>> steady = SteadyProgress(print)
    >>> for done in (10, 50, 0, 50, 100):
    ...     steady(done, 100)
    10 100
    50 100
    50 100
    75 100
    100 100
    """

    def __init__(self, progress: ByteProgress) -> None:
        self.progress = progress
        self._done, self._base, self._share = 0, 0.0, 0.0

    def __call__(self, done: int, total: int | None) -> None:
        """So much is done, of so much."""
        if done < self._done:
            self._base = self._share
        self._done = done
        if not total:  # how far it is nobody knows: what was read counts
            self.progress(done, total)
            return
        self._share = max(self._share, self._base + (1 - self._base) * min(done / total, 1.0))
        self.progress(round(self._share * total), total)
