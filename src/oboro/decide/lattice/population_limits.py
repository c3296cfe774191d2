"""Everybody whom a table was drawn from, and what a class must keep with regard to them.

- *k-map*: at least k people of the population look like each released record. Strong: joining classes only adds people.
- *δ-presence*: of the people who look like a class, the part that is in the table lies between two limits. With an
  upper limit only it is weak (the part in a union lies between the parts); with a lower one it is not even that, for
  a class may be joined by people of whom nobody is in the table.

The suppressed records are a class too. Whoever fits no released class must be among them, or not in the table at all:
so the people who look like the suppressed are all who fit no released class.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Population"]


@dataclass(frozen=True, eq=False)
class Population:
    """The population's codes, in the dictionaries of the table's columns, and the limits."""

    codes: tuple[np.ndarray, ...]
    """One array per quasi-identifier, one entry per person. Everybody of the table is among them."""
    least: int = 1
    """k-map: so many people at least look like a class."""
    low: float = 0.0
    high: float = 1.0
    """δ-presence: the part of them that is in the table."""

    def __len__(self) -> int:
        return int(self.codes[0].size)

    @property
    def strong(self) -> bool:
        """Whether joining with any class keeps the limits."""
        return self.low <= 0 and self.high >= 1

    @property
    def joinable(self) -> bool:
        """Whether two classes that keep the limits keep them when they are joined, whoever else joins them."""
        return self.low <= 0

    def breaks_k_map(self, people: np.ndarray) -> np.ndarray:
        """Which classes break k-map."""
        return np.asarray(people < self.least)

    def breaks_presence(self, sizes: np.ndarray, people: np.ndarray) -> np.ndarray:
        """Which classes break δ-presence. One division each, so that a limit of 0.3 and 3 of 10 round alike."""
        part = sizes / np.maximum(people, 1)
        return np.asarray((part < self.low) | (part > self.high))

    def safe(self, size: int, people: int) -> bool:
        """Whether the suppressed records keep the limits, with the people who fit no other class."""
        if size == 0:
            return people == 0 or self.low <= 0  # otherwise these people are known to be absent
        return people >= self.least and not bool(self.breaks_presence(np.array([size]), np.array([people]))[0])
