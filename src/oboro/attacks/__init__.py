"""Attacks that are really run against a release: singling out, linkability, inference, record linkage."""

from oboro.attacks.rates import Attack, Rate
from oboro.attacks.run_attacks import attack

__all__ = ["Attack", "Rate", "attack"]
