"""What looks at nodes saw, kept for other questions: one look answers every k and every limit on suppression.

A look keeps how many records stand in classes of which size. With rules beyond k it also keeps how many records a rule suppresses,
whatever k is; that holds for every k that is not smaller than the one that was asked, for smaller classes were not asked.

What a look depends on is how the node divides the records, and nothing else: so it is kept by the labels of the columns
(`Division`). It is found again after a column was left out that stood on `*`, or after another column got another hierarchy.

Only failures are answered from memory, and losses that do not depend on who is suppressed. Everything else is asked of the
checker, so that a search with memory finds what a search without finds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from oboro.decide.lattice.memory.class_sizes import Look
from oboro.decide.lattice.memory.division import Division, digest_of
from oboro.decide.lattice.memory.known_nodes import KnownNodes
from oboro.decide.lattice.node_check import NodeChecker
from oboro.decide.lattice.nodes import Levels
from oboro.decide.lattice.problem import Node, Problem
from oboro.decide.lattice.sliced_check import SlicedChecker
from oboro.decide.lattice.tuples.distinct_tuples import DistinctTuples
from oboro.decide.lattice.tuples.rolled_up import RolledUp

if TYPE_CHECKING:
    from oboro.decide.lattice.memory.remembering import RememberingChecker, RememberingSlices

__all__ = ["LookMemory"]

MOST_LOOKS = 300_000  # about a kilobyte each; beyond, the older half is forgotten
MOST_CHECKERS = 6  # of as many choices of columns the tuples are kept
MOST_REBASED = 24
MOST_ROLLED = 8  # of as many what nodes are counted from is kept, up to 50 MB each
LARGE = 1 << 20  # bytes
MOST_LARGE, MOST_SMALL = 32, 2048  # arrays whose digests are known


@dataclass(eq=False)
class LookMemory:
    """What searches over the same records share. Threads may share it."""

    looks: dict[tuple[Any, ...], Look] = field(default_factory=dict)
    nodes: dict[tuple[Any, ...], Node] = field(default_factory=dict)
    hits: int = 0
    """How many nodes were answered without a look."""
    _checkers: dict[tuple[Any, ...], NodeChecker | SlicedChecker] = field(default_factory=dict)
    _spaces: dict[tuple[Any, ...], KnownNodes] = field(default_factory=dict)
    _rebased: dict[tuple[Any, ...], tuple[DistinctTuples, Levels]] = field(default_factory=dict)
    _rolled: dict[tuple[Any, ...], RolledUp] = field(default_factory=dict)
    _large: dict[int, tuple[np.ndarray, bytes]] = field(default_factory=dict)
    _small: dict[int, tuple[np.ndarray, bytes]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def checker(self, problem: Problem) -> RememberingChecker | RememberingSlices:
        """What checks the nodes of a problem and remembers it."""
        division = Division(problem, self.digest)
        division = replace(division, space=self._space(division))
        from oboro.decide.lattice.memory.remembering import RememberingChecker, RememberingSlices

        if problem.sliced:
            slices = self._checker(division.slices, lambda: SlicedChecker(problem))
            assert isinstance(slices, SlicedChecker)
            return RememberingSlices(problem, slices.layouts, memory=self, division=division)
        tuples = self.tuple_checker(problem, division).tuples
        return RememberingChecker(problem, tuples, problem.lattice.bottom, memory=self, division=division)

    def tuple_checker(self, problem: Problem, division: Division) -> NodeChecker:
        """What checks nodes by the distinct tuples of the records, without memory of nodes; the tuples are kept."""
        found = self._checker(division.tuples, lambda: NodeChecker.of(problem))
        assert isinstance(found, NodeChecker)
        return NodeChecker(problem, found.tuples, problem.lattice.bottom)

    def _space(self, division: Division) -> KnownNodes:
        """What is known of a lattice's nodes; the latest few lattices are kept."""
        key = (division.slices, division.asked)
        with self._lock:
            held = self._spaces[key] = self._spaces.pop(key, KnownNodes())
            while len(self._spaces) > MOST_CHECKERS:
                del self._spaces[next(iter(self._spaces))]
            return held

    def look(self, division: Division, levels: Levels) -> Look | None:
        """What is remembered of a node's classes."""
        found = self.looks.get(division.of(levels))
        if found is not None:
            division.space.keep(levels, found)
        return found

    def keep_look(self, division: Division, levels: Levels, look: Look) -> None:
        """Remember a node's classes."""
        division.space.keep(levels, look)
        self.keep(self.looks, division.of(levels), look)

    def _checker(
        self, key: tuple[Any, ...], make: Callable[[], NodeChecker | SlicedChecker]
    ) -> NodeChecker | SlicedChecker:
        found = self._checkers.pop(key, None) or make()
        with self._lock:
            self._checkers[key] = found
            while len(self._checkers) > MOST_CHECKERS:
                del self._checkers[next(iter(self._checkers))]
        return found

    def keep(self, held: dict[tuple[Any, ...], Any], key: tuple[Any, ...], one: Any) -> None:
        """Remember; where there is too much, the older half is forgotten."""
        with self._lock:
            held[key] = one
            if len(held) > MOST_LOOKS:
                for old in list(held)[: MOST_LOOKS // 2]:
                    del held[old]

    def rebased(self, key: tuple[Any, ...]) -> tuple[DistinctTuples, Levels] | None:
        """Tuples that were joined for coarser nodes, and the levels that they can be asked for."""
        return self._rebased.get(key)

    def keep_rebased(self, key: tuple[Any, ...], found: tuple[DistinctTuples, Levels]) -> None:
        """Keep the latest few."""
        with self._lock:
            self._rebased[key] = found
            while len(self._rebased) > MOST_REBASED:
                del self._rebased[next(iter(self._rebased))]

    def rolled_up(self, key: tuple[Any, ...], make: Callable[[], RolledUp]) -> RolledUp:
        """What counts nodes from the classes of others; the latest few are kept."""
        found = self._rolled.get(key) or make()
        with self._lock:
            self._rolled.pop(key, None)
            self._rolled[key] = found
            while len(self._rolled) > MOST_ROLLED:
                del self._rolled[next(iter(self._rolled))]
        return found

    def digest(self, array: np.ndarray) -> bytes:
        """What stands for the content of an array; of the latest few arrays it is known already."""
        held = self._large if array.nbytes >= LARGE else self._small
        known = held.get(id(array))
        if known is None or known[0] is not array:
            known = array, digest_of(array)
            with self._lock:
                held[id(array)] = known
                while len(held) > (MOST_LARGE if held is self._large else MOST_SMALL):
                    del held[next(iter(held))]
        return known[1]
