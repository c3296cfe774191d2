"""What a step that chooses levels is asked: what they must keep, and the problem of finding the best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from oboro.decide.lattice.problem import Problem
from oboro.table.hierarchy import Hierarchy
from oboro.verifier.promise_check import Promise

if TYPE_CHECKING:
    from oboro.techniques.demands.further.allowed_levels import AllowedLevels
    from oboro.techniques.demands.further.level_limits import LevelLimits

__all__ = ["AskedOfLevels"]


@dataclass(frozen=True, eq=False)
class AskedOfLevels:
    """What a choice of levels must keep, and the problem of finding the best."""

    promise: Promise
    hierarchies: Mapping[str, Hierarchy]
    """One for each column, in the order of the levels, with all its levels."""
    limits: Mapping[str, LevelLimits]
    """Which levels of some columns may be chosen."""
    problem: Problem | None
    """None where there are no records. It counts levels among those that are `allowed`."""

    @cached_property
    def names(self) -> list[str]:
        """The columns, in the order of the levels."""
        return list(self.hierarchies)

    @cached_property
    def allowed(self) -> AllowedLevels:
        """Among which levels the problem chooses; where nothing limits them, these are the levels of the hierarchies."""
        from oboro.techniques.demands.further.allowed_levels import AllowedLevels

        return AllowedLevels.of(self.hierarchies, self.limits, self.promise.step)
