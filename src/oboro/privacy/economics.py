"""Profitability of a release for its publisher, and of an attack for the attacker.

Wan, Vorobeychik, Xia, Clayton, Kantarcioglu, Ganta, Heatherly and Malin, "A game theoretic framework for analyzing
re-identification risk" (PLOS ONE 2015): a record earns the publisher its benefit, less the information that its labels
lost; it costs them their loss, if it is re-identified. An attacker gains from each re-identified record and pays a cost
in any case. They attack where that pays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from oboro.privacy.base import PrivacyModel, Scope
from oboro.text import Message

__all__ = ["Market", "Profitability"]


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


# Profitability --------------------------------------------------------------------------------------------------------
# Value of a record for the publisher and for an attacker, as a recipe states it.


class Profitability(PrivacyModel):
    """What a record is worth to its publisher and to an attacker, as amounts of money (Wan et al. 2015)."""

    key: ClassVar[str] = "profitability"
    scope: ClassVar[Scope] = "worth"
    words: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "model.profitable": {"attacks": "allowed"},
        "model.no_attack_pays": {"attacks": "none"},
    }
    limit: ClassVar[str] = "benefit"
    examples: ClassVar[Sequence[Mapping[str, Any]]] = (
        {"benefit": 10, "loss": 30, "gain": 9, "cost": 4},
        {"benefit": 10, "loss": 30, "gain": 9, "cost": 4, "attacks": "none"},
    )
    unbounded: ClassVar[str] = "it bounds what an attack is worth, and attacks here are made at any price"

    benefit: float = Field(gt=0, allow_inf_nan=False)
    """What the publisher earns with a record that lost nothing."""
    loss: float = Field(ge=0, allow_inf_nan=False)
    """What it costs the publisher when somebody is recognised."""
    gain: float = Field(ge=0, allow_inf_nan=False)
    """What an attacker gains by recognising somebody."""
    cost: float = Field(gt=0, allow_inf_nan=False)
    """What an attack on a record costs the attacker."""
    attacker: Literal["prosecutor", "journalist"] = "prosecutor"
    """prosecutor: knows who is in the table; journalist: looks among the people of the `population`."""
    attacks: Literal["allowed", "none"] = "allowed"
    """allowed: every class must earn its publisher something, attacks included; none: no attack may pay off."""

    def plan(self, sensitive: str | None = None) -> Message:
        """Describe what each class must earn, or that no attack may pay off."""
        amounts = self.model_dump(exclude={"attacks"})
        return Message(f"technique.demand.profitability.{self.attacks}", **amounts)

    def market(self) -> Market:
        """Return the amounts as the search computes with them."""
        return Market(self.benefit, self.loss, self.gain, self.cost, self.attacker == "journalist")

    def least_class(self, sample: int) -> int:
        """Return so many that no attack of a prosecutor pays off, where none may."""
        return 1 if self.attacker == "journalist" else self.least

    @property
    def least(self) -> int:
        """How many people a record must be among so that no attack pays off; 1 where attacks are allowed."""
        return self.market().least_unattacked if self.attacks == "none" else 1
