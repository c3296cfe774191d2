"""Searching the lattice: all minimal nodes, and the best of all nodes that can be released.

Nodes resolve each other. A node that suppresses too much by strong rules fails with everything finer; where all rules
are strong (or nothing may be suppressed) a satisfying node makes everything coarser satisfy. The next node to look at
is the one that is expected to settle most others, by a guess of how likely it fails that is refitted as results come
in. For the optimum, a lower bound on each node's loss (levels alone, plus the records that an evaluated coarser node
already suppresses) rules out the rest.

The order of looking changes how many nodes are looked at, never the answer. Only where the lattice is too large to
list, or time is up, is the answer the best node so far, and then it says so, with a bound on what better ones could
reach.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from oboro.decide.lattice.anytime import Climb, block_bound
from oboro.decide.lattice.node_check import Lens
from oboro.decide.lattice.node_status import Board
from oboro.decide.lattice.nodes import Levels
from oboro.decide.lattice.problem import Node, Problem
from oboro.decide.lattice.search_limits import Standing, Watch
from oboro.decide.lattice.sliced_check import Slices

__all__ = ["Found", "Strategy", "lens_for", "search"]

Strategy = Literal["auto", "depth_first"]
Stop = Literal["time", "interrupt", "size"]

RUNNERS_UP = 5
ALONE = 24  # so many looks go one by one, for each settles much; the later ones
TOGETHER = 8  # go together, on two threads
REFOCUS = 32  # after so many looks it is asked again which levels are out of the question
CLIMBING = 0.7  # this part of a time limit goes to climbing, the rest to the bound
LISTED = 1 << 20  # lattices with more nodes are not listed but climbed


@dataclass(frozen=True)
class Found:
    """What a search found, and what it took."""

    best: Node | None
    minimal: list[Levels] | None
    """All minimal satisfying nodes, in lexicographic order; None where they were not asked for or time was up."""
    runners_up: list[Node]
    """The next best nodes among those that were looked at."""
    size: int
    evaluated: int
    tagged: int
    """Settled by another node's result."""
    skipped: int
    """Ruled out by the bound on their loss, or not reached."""
    top: Node
    """The coarsest node: what is possible at all."""
    exact: bool = True
    """Whether `best` is known to be the best of all."""
    bound: float | None = None
    """No node that can be released loses less than this (None: not known)."""
    stopped: Stop | None = None
    """What ended the search before it was sure: the time limit, an interrupt, or a lattice too large to list."""


def lens_for(problem: Problem) -> Lens | Slices:
    """What looks at nodes best: slices of rows where these are very many and only k is asked, else distinct tuples."""
    return Slices(problem) if Slices.suits(problem) else Lens.of(problem)


def search(
    problem: Problem,
    lens: Lens | Slices | None = None,
    *,
    strategy: Strategy = "auto",
    minimal: bool = True,
    time_limit: float | None = None,
    tell: Callable[[Standing], None] | None = None,
) -> Found:
    """Find the best node that can be released, and if asked all minimal nodes.

    When the time is up, or at the first Ctrl-C, the best node so far is the answer, if there is one; a second Ctrl-C is
    answered as if there were no search. `tell` hears a few times a second how far the search is.
    """
    watch = Watch(time_limit, tell=tell)
    with watch.interruptible() as interrupt:
        lens = lens or lens_for(problem)
        huge = problem.lattice.size > LISTED
        found = _climb(problem, lens, watch) if huge else _list(problem, lens, strategy, minimal, watch)
        if watch.stopped.is_set() and found.best is None:
            interrupt()
    if found.exact:
        return found
    stop: Stop = "interrupt" if watch.stopped.is_set() else "time" if watch.over() else "size"
    return replace(found, stopped=stop)


def _list(problem: Problem, lens: Lens | Slices, strategy: Strategy, minimal: bool, watch: Watch) -> Found:
    """The lattice is small enough for a board."""
    board = Board(problem, lens)
    board.look(problem.lattice.top)
    if strategy == "depth_first":
        _depth_first(board, watch)
    elif minimal:
        _settle(board, board.undecided, watch)
    listed = minimal and not watch.over()
    _settle(board, board.promising, watch)
    return _sum_up(board, listed)


def _sum_up(board: Board, listed: bool) -> Found:
    feasible = sorted((node for node in board.nodes.values() if node.feasible), key=lambda node: node.rank)
    tagged = int((~board.seen & (board.satisfies | board.fails)).sum())
    exact = not board.promising().any()
    return Found(
        best=board.best,
        minimal=board.lattice.minimal(board.seen & board.satisfies) if listed else None,
        runners_up=feasible[1 : RUNNERS_UP + 1],
        size=board.lattice.size,
        evaluated=len(board.nodes),
        tagged=tagged,
        skipped=board.lattice.size - len(board.nodes) - tagged,
        top=board.nodes[board.lattice.top],
        exact=exact,
        bound=None if board.best is None else board.best.loss if exact else board.bound(),
    )


def _climb(problem: Problem, lens: Lens | Slices, watch: Watch) -> Found:
    """The lattice cannot be listed: the best node that a climb finds, and a bound from blocks of attributes."""
    climb = Climb(problem, lens, replace(watch, seconds=watch.seconds and watch.seconds * CLIMBING))
    climb.run()
    feasible = sorted((node for node in climb.nodes.values() if node.feasible), key=lambda node: node.rank)
    bound = None if climb.best is None else block_bound(problem, lambda part: _bound(part, watch))
    return Found(
        best=climb.best,
        minimal=None,
        runners_up=feasible[1 : RUNNERS_UP + 1],
        size=problem.lattice.size,
        evaluated=len(climb.nodes),
        tagged=0,
        skipped=problem.lattice.size - len(climb.nodes),
        top=climb.nodes[problem.lattice.top],
        exact=climb.best is not None and bound is not None and climb.best.loss <= bound,
        bound=bound,
    )


def _bound(problem: Problem, watch: Watch) -> float | None:
    return _list(problem, lens_for(problem), "auto", False, watch).bound


def _settle(board: Board, waiting: Callable[[], np.ndarray], watch: Watch) -> None:
    """Look at nodes until none is waiting; each time at those that are expected to settle most."""
    again = len(board.nodes)
    with ThreadPoolExecutor(2) as pool:
        while not watch.over() and (open_ := waiting()).any():
            if len(board.nodes) >= again:
                board.focus(open_)
                again = len(board.nodes) + REFOCUS
            alone = len(board.nodes) < ALONE or isinstance(board.lens, Slices)
            for node in _look(board, board.choose(open_, 1 if alone else TOGETHER), pool):
                board.record(node)
            watch.report(board.standing)


def _depth_first(board: Board, watch: Watch) -> None:
    """The parallel depth-first search with a shared stack (Hasegawa, Masaki, Okada, Algorithm 1).

    From the bottom up: a failing node puts its unexplored parents on the stack, a satisfying one marks everything
    above it as explored. A few nodes at a time are taken from the stack and looked at in parallel; results are noted
    in the order of taking, so that the same nodes are looked at on every machine.
    """
    lattice = board.lattice
    explored = np.zeros(lattice.shape, dtype=bool)
    stack = [lattice.bottom]
    with ThreadPoolExecutor(2) as pool:
        while stack and not watch.over():
            taken: list[Levels] = []
            while stack and len(taken) < TOGETHER:
                levels = stack.pop()
                if not explored[levels]:
                    explored[levels] = True
                    taken.append(levels)
            for node in _look(board, taken, pool):
                board.record(node)
                if node.satisfying:
                    explored[lattice.above(node.levels)] = True
                else:
                    stack.extend(parent for parent in lattice.parents(node.levels) if not explored[parent])
            watch.report(board.standing)


def _look(board: Board, chosen: list[Levels], pool: ThreadPoolExecutor) -> Iterable[Node]:
    """Look at several nodes, two at a time; slices use both threads themselves."""
    if isinstance(board.lens, Slices):
        return (board.lens.look(levels, board.hurdle) for levels in chosen)
    return map(board.lens.look, chosen) if len(chosen) == 1 else pool.map(board.lens.look, chosen)
