"""What a record is worth to its publisher and to an attacker: as it stands in a recipe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from oboro.table.parameters import Parameters

if TYPE_CHECKING:
    from oboro.decide.lattice.worth.market import Market

__all__ = ["Profitability"]


class Profitability(Parameters):
    """What a record is worth to its publisher and to an attacker, as amounts of money (Wan et al. 2015)."""

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

    def market(self) -> Market:
        """The same for whoever decides."""
        from oboro.decide.lattice.worth.market import Market

        return Market(self.benefit, self.loss, self.gain, self.cost, self.attacker == "journalist")

    @property
    def least(self) -> int:
        """How many people a record must be among so that no attack pays off; 1 where attacks are allowed."""
        return self.market().least_unattacked if self.attacks == "none" else 1
