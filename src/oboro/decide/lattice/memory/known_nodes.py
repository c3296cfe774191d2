"""What is known of the nodes of one lattice, and what that tells: the next question of the same kind asks only what is new."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from itertools import islice

from oboro.decide.lattice.memory.class_sizes import Look
from oboro.decide.lattice.nodes import Levels

__all__ = ["KnownNodes"]

MOST_KINDS = 64  # for as many kinds of questions what looks told is kept


@dataclass(eq=False)
class KnownNodes:
    """Looks at the nodes of one lattice, and bounds on losses that were found there. Threads may share them."""

    looks: dict[Levels, Look] = field(default_factory=dict)
    floors: dict[Hashable, dict[Levels, float]] = field(default_factory=dict)
    """For each loss that is summed over classes: what a node and everything coarser loses at least."""
    _told: dict[Hashable, tuple[int, dict[Levels, float]]] = field(default_factory=dict)
    """For each kind of question how many looks were asked, and what they told."""

    def keep(self, levels: Levels, look: Look) -> None:
        """Keep a look; one that is replaced may have told less."""
        if self.looks.get(levels, look) is not look:
            self._told.clear()
        self.looks[levels] = look

    def told(self, kind: Hashable, k: int, tell: Callable[[Look], float]) -> dict[Levels, float]:
        """What `tell`, always the same for the same kind and k, says of every look that answers k."""
        asked, found = self._told.pop((kind, k), (0, {}))
        looks = list(self.looks.items())
        new = {levels: tell(look) for levels, look in islice(looks, asked, None) if look.answers(k)}
        found = {**found, **new}
        self._told[kind, k] = len(looks), found
        for old in list(self._told)[:-MOST_KINDS]:
            self._told.pop(old, None)
        return found
