"""The classes of one node of the lattice: who stands where, and who goes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from oboro.decide.lattice.kernels import node_classes as kernels
from oboro.decide.lattice.nodes import Levels

__all__ = ["NodeClasses"]


@dataclass(frozen=True, eq=False)
class NodeClasses:
    """The classes of one node: which tuple stands where, how many records each holds, which of them go.

    Where people go with all their records (`leaving`), a class may lose some of its records and stay.
    """

    labels: np.ndarray
    sizes: np.ndarray
    gone: np.ndarray
    levels: Levels
    people: np.ndarray | None = None
    """How many of the population look like each class; a class may have people and no record."""
    if_suppressed: np.ndarray | None = None
    """How many of them are among the suppressed for certain if the class is."""
    open_people: int = 0
    """Of how many people a reader cannot tell which class they look like."""
    surely: int = 0
    """How much goes at least in this node and in every finer one."""
    asked: bool = True
    """Whether every rule was asked."""
    persons: np.ndarray | None = None
    """How many different people each class holds, where these are counted."""
    leaving: np.ndarray | None = None
    """Which tuples go, where people go with all their records."""
    people_gone: int = 0
    """How many people these are."""
    thinned: int = 0
    """How many more records must go at least, for there are too many classes."""

    @property
    def suppressed(self) -> int:
        """How much goes, as the limit counts it: records, or people where these go with all their records."""
        return int(self.sizes[self.gone].sum()) + self.thinned if self.leaving is None else self.people_gone

    @property
    def out(self) -> np.ndarray:
        """Which tuples go."""
        return np.asarray(self.gone[self.labels]) if self.leaving is None else self.leaving

    @cached_property
    def members(self) -> tuple[np.ndarray, np.ndarray]:
        """The tuples class by class, and where each class starts (one more entry at the end)."""
        counts = np.bincount(self.labels, minlength=self.sizes.size)
        starts = np.concatenate([[0], np.cumsum(counts)])
        order = np.empty(self.labels.size, dtype=np.int64)
        kernels.order_by_class(self.labels, starts[:-1].copy(), order)
        return order, starts
