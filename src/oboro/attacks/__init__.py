"""Attacks that are really run against a release: singling out, linkability, inference, record linkage."""

from oboro.attacks.attack import attack
from oboro.attacks.rates import Attack, Rate

__all__ = ["Attack", "Rate", "attack"]
