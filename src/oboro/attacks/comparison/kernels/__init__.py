"""What an attacker does with two tables: look for the nearest record, and count how many people fit a description."""

from __future__ import annotations

from oboro.attacks.comparison.kernels.compared_people import matches, medoids, members, nearest
from oboro.attacks.comparison.kernels.few_people import FITS, MANY, NUMBER, SPAN

__all__ = ["FITS", "MANY", "NUMBER", "SPAN", "matches", "medoids", "members", "nearest"]
