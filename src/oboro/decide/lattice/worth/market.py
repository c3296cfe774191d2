"""What a release is worth to its publisher, and an attack to whoever tries one.

Wan, Vorobeychik, Xia, Clayton, Kantarcioglu, Ganta, Heatherly and Malin, "A game theoretic framework for analyzing
re-identification risk" (PLOS ONE 2015): a record earns the publisher its benefit, less what its labels lost of it; it costs them
their loss, where it is recognised. Whoever attacks a record gains where they recognise it and pays a cost in any case. They attack
where that pays.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor

import numpy as np

__all__ = ["Market"]


@dataclass(frozen=True)
class Market:
    """Amounts of money, for each record."""

    benefit: float
    loss: float
    gain: float
    cost: float
    journalist: bool = False
    """Whether an attacker has to find the record among the people of the population, not among those of the table."""

    def payout(self, lost: np.ndarray, chance: np.ndarray) -> np.ndarray:
        """What the publisher earns with a record that lost a share of its detail and is recognised with a probability."""
        attacked = self.gain * chance > self.cost
        return np.asarray(self.benefit * (1 - lost) - np.where(attacked, self.loss * chance, 0.0))

    @property
    def least_unattacked(self) -> int:
        """How many people a record must be among so that an attack does not pay off.

        >>> Market(300, 1000, 500, 4).least_unattacked, Market(300, 1000, 500, 100).least_unattacked
        (126, 6)
        """
        return floor(self.gain / self.cost) + 1 if self.cost > 0 else 1 << 62 if self.gain > 0 else 1

    @property
    def least_suppressed(self) -> int:
        """How many suppressed records there must be so that they cost the publisher nothing: they earn nothing either."""
        if self.loss == 0 or self.gain == 0:
            return 1
        return max(1, ceil(self.gain / self.cost)) if self.cost > 0 else 1 << 62
