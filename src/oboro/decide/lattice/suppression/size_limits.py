"""Limits on the sizes of all classes of a release together: how many records may be at risk, or how many people unique.

- *Records at risk*: at most a part of the records stands in classes smaller than some size (2: unique records). A coarser node
  has no more such records, suppressed ones included: so as many records as are too many must go in every finer node too.
- *An estimate* from the sizes: it need neither grow nor shrink with coarser levels, so nothing is concluded from one node for
  another.

The suppressed records are a class like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from oboro.decide.lattice.suppression.group_demands import GroupDemand

__all__ = ["SizeLimit", "SizesDemand"]


@dataclass(frozen=True, eq=False)
class SizeLimit:
    """One limit: a part of the records in small classes, or an estimate."""

    small: int = 0
    """Classes with fewer records are at risk."""
    share: float = 1.0
    """This part of all records may be in such classes."""
    estimated: Callable[[np.ndarray], bool] | None = None
    """Whether classes of these sizes are estimated to break a limit."""

    def broken(self, sizes: np.ndarray) -> bool:
        """Whether a release with classes of these sizes breaks the limit. One division, as the verifier's."""
        if self.estimated is not None:
            return self.estimated(sizes)
        return int(sizes[sizes < self.small].sum()) / max(1, int(sizes.sum())) > self.share

    def broken_by(self, sizes: np.ndarray, gone: np.ndarray, relaxed: bool) -> bool:
        """Whether the classes that stay, and the suppressed as one more unless they are left out, break the limit."""
        together = 0 if relaxed else int(sizes[gone].sum())
        left = np.append(sizes[~gone], together)
        return self.broken(left[left > 0])

    def excess_of(self, sizes: np.ndarray, rows: int) -> int:
        """At least how many records must go, where classes of these sizes may stay."""
        return self.excess(int(sizes[sizes < self.small].sum()), rows)

    def excess(self, small: int, rows: int) -> int:
        """At least how many records at risk must go, where so many of the classes that may stay are."""
        if self.estimated is not None:
            return 0
        allowed = int(self.share * rows) + 1
        while allowed / max(1, rows) > self.share:
            allowed -= 1
        return max(0, small - allowed)


@dataclass(frozen=True, eq=False)
class SizesDemand(GroupDemand):
    """A limit on the sizes of all classes. Counts: how many classes of each size joined, then the suppressed records."""

    distinct: np.ndarray
    """The different sizes of the classes that may stay."""
    stay: np.ndarray
    """How many classes may stay of each size."""
    limit: SizeLimit
    rows: int

    def broken(self, held: np.ndarray) -> bool:
        """Whether what stays and the group together break the limit."""
        left, gone = np.repeat(self.distinct, self.stay - held[:-1]), int(held[-1])
        return self.limit.broken(np.append(left, gone) if gone else left)

    def lacking(self, held: np.ndarray, classes: np.ndarray) -> tuple[float, np.ndarray]:
        """How many records at risk are too many; a class at risk takes its own away."""
        risky = np.where(self.distinct < self.limit.small, self.distinct, 0)
        gap = self.limit.excess(int(risky @ (self.stay - held[:-1])), self.rows)
        if gap <= 0:
            return super().lacking(held, classes)
        return float(gap), (self.each[classes, :-1] @ risky).astype(np.float64)
