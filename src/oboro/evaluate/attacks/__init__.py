"""Attacks that are really run against a release: singling out, linkability, inference, record linkage."""

from oboro.evaluate.attacks.attacks import attack
from oboro.evaluate.attacks.rates import Attack, Rate

__all__ = ["Attack", "Rate", "attack"]
