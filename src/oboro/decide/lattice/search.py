"""Searching the lattice: all minimal nodes, and the best of all nodes that can be released.

Nodes resolve each other. A node that suppresses too much by strong rules fails with everything finer; where all rules
are strong (or nothing may be suppressed) a satisfying node makes everything coarser satisfy. The next node to check
is the one that is expected to settle most others, by a guess of how likely it fails that is refitted as results come
in. For the optimum, a lower bound on each node's loss (levels alone, plus the records that an evaluated coarser node
already suppresses) rules out the rest.

The order of checking changes how many nodes are checked, never the answer. Only where the lattice is too large to
list, or time is up, is the answer the best node so far, and then it says so, with a bound on what better ones could
reach.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain, filterfalse
from math import inf
from operator import attrgetter
from typing import TYPE_CHECKING, Literal

import numpy as np

from oboro.decide.lattice.node_check import NodeChecker
from oboro.decide.lattice.node_status import NodeStatus
from oboro.decide.lattice.nodes import Levels
from oboro.decide.lattice.problem import Node, Problem
from oboro.decide.lattice.search_limits import SearchLimits

if TYPE_CHECKING:
    from oboro.decide.lattice.search_progress import SearchProgress
    from oboro.decide.lattice.sliced_check import SlicedChecker

__all__ = ["SearchResult", "Strategy", "checker_for", "search"]

Strategy = Literal["auto", "depth_first"]
Stop = Literal["time", "interrupt", "size", "joined"]

RUNNERS_UP = 5
RANK, FEASIBLE = attrgetter("rank"), attrgetter("feasible")  # of a node
ALONE = 12  # so many checks go one by one, for each settles much; the later ones
TOGETHER = 16  # go together, on two threads;
SHARE = 1 << 11  # and of so many nodes one, for what follows from the checks takes its time for each node
WIDE = 1 << 17  # nodes from which on a climb looks for a good node first, and checks go together sooner
CLIMBED = 200  # cells that this climb reads for each node of the lattice: half a second of eight million
HEAVY = 1 << 19  # tuples that nodes are counted from before a second thread is worth its call
FEW = 1 << 11  # rows that are checked before a thread has started
REFOCUS = 32  # after so many checks it is asked again which levels are out of the question
LONGER = (2000, 40_000)  # groups looked at for the classes that join the suppressed, where the answer hangs on it
LISTED = 1 << 20  # lattices with more nodes are not listed but climbed;
LISTED_BY_SIZE = 1 << 23  # where nothing but the sizes of classes is asked, so many: the list takes 350 MB
ENOUGH = (
    6_000_000_000  # cells that are read of more than `LISTED` nodes where nobody asked for a proof: some ten seconds
)


@dataclass(frozen=True)
class SearchResult:
    """What a search found, and what it took."""

    best: Node | None
    minimal: list[Levels] | None
    """All minimal satisfying nodes, in lexicographic order; None where they were not asked for or time was up."""
    runners_up: list[Node]
    """The next best nodes among those that were checked."""
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
    """What ended the search before it was sure: the time limit, an interrupt, a lattice too large to list, or too many sets of
    classes that might join the suppressed."""
    ranks: tuple[float, ...] = ()
    """Where losses are compared by rank: what the attributes of the best lose, the greatest first, as far as it was asked."""


def checker_for(problem: Problem) -> NodeChecker | SlicedChecker:
    """What checks nodes fastest: slices of rows where these are very many and only k is asked, else distinct tuples."""
    if not problem.sliced:
        return NodeChecker.of(problem)
    from oboro.decide.lattice.sliced_check import SlicedChecker

    return SlicedChecker(problem)


def search(
    problem: Problem,
    checker: NodeChecker | SlicedChecker | None = None,
    *,
    strategy: Strategy = "auto",
    minimal: bool = True,
    time_limit: float | None = None,
    tell: Callable[[SearchProgress], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
    first: Iterable[Levels] = (),
    prove: bool = False,
) -> SearchResult:
    """Find the best node that can be released, and if asked all minimal nodes.

    When the time is up, or at the first Ctrl-C, the best node so far is the answer, if it says anything; a second Ctrl-C is
    answered as if there were no search. `tell` hears a few times a second how far the search is. Once `cancelled` says
    so, the search ends as if its time were up. Nodes of `first`, such as the best of a question like this one, are checked first.
    A lattice too large to list is searched for some seconds, or as long as is given; with `prove` until the optimum is known.
    """
    limits = SearchLimits(time_limit, tell=tell, cancelled=cancelled)
    with limits.interruptible() as interrupt:
        kept = _keep(problem, checker, minimal, limits, first) if strategy == "auto" else None
        asked = strategy, minimal, limits, first, prove
        found = kept or _search(problem, checker or checker_for(problem), *asked)
        if limits.stopped.is_set() and _says_nothing(problem, found.best):
            interrupt()
    if found.exact:
        return found
    given_up: Stop = "size" if problem.lattice.size > LISTED else "joined"
    stop: Stop = "interrupt" if limits.asked_to_stop() else "time" if limits.over() else given_up
    return replace(found, stopped=stop)


def _search(
    problem: Problem,
    checker: NodeChecker | SlicedChecker,
    strategy: Strategy,
    minimal: bool,
    limits: SearchLimits,
    first: Iterable[Levels],
    prove: bool,
) -> SearchResult:
    """The search that suits the size of the lattice."""
    if problem.lattice.size <= LISTED:
        return _list(problem, checker, strategy, minimal, limits, first)
    if problem.lattice.size <= LISTED_BY_SIZE and isinstance(checker, NodeChecker) and checker.columns:
        endless = prove or limits.seconds is not None
        return _list(problem, checker, "auto", False, limits, first, inf if endless else ENOUGH)
    return _prove(problem, checker, limits, prove, first)


def _keep(
    problem: Problem,
    checker: NodeChecker | SlicedChecker | None,
    minimal: bool,
    limits: SearchLimits,
    first: Iterable[Levels],
) -> SearchResult | None:
    """The search where nobody may be suppressed, if the problem suits it and something can be released."""
    from oboro.decide.lattice.kept.kept_search import KeptSearch, suits

    remembers = checker is not None and type(checker) is not NodeChecker
    if remembers or not suits(problem):
        return None
    kept = KeptSearch(problem)
    if not kept.run(limits, minimal, first):
        return None
    return SearchResult(
        best=kept.best,
        minimal=kept.minimal() if minimal else None,
        runners_up=sorted(kept.nodes.values(), key=RANK)[1 : RUNNERS_UP + 1],
        size=problem.lattice.size,
        evaluated=kept.evaluated,
        tagged=kept.tagged,
        skipped=problem.lattice.size - kept.evaluated - kept.tagged,
        top=kept.nodes[problem.lattice.top],
        exact=not kept.waiting(False).any(),
        bound=kept.bound(),
    )


def _says_nothing(problem: Problem, best: Node | None) -> bool:
    """Whether nothing was found, or only that a table of stars can be released, which needs no search."""
    if best is None or best.suppressed >= (problem.people if problem.whole_people else problem.rows):
        return True
    chosen = zip(problem.hierarchies, best.levels, strict=True)
    return all(len(hierarchy.levels[level].labels) == 1 for hierarchy, level in chosen)


def _list(
    problem: Problem,
    checker: NodeChecker | SlicedChecker,
    strategy: Strategy,
    minimal: bool,
    limits: SearchLimits,
    first: Iterable[Levels] = (),
    most: float = inf,
) -> SearchResult:
    """The lattice is small enough to keep the status of every node. Ends when so many cells are read."""
    wide, first = not minimal and problem.lattice.size > WIDE, tuple(first)
    climbed = _climb_first(problem, checker, limits, first) if wide else []
    status, listed = NodeStatus(problem, checker), False
    status.record(*climbed)
    status.check(problem.lattice.top)
    with limits.within_looks():
        for levels in first:
            status.check(levels)
        if not minimal and strategy == "auto":
            known, floors = getattr(checker, "known", {}), getattr(checker, "floors", {})
            status.remember(known, floors)  # of a checker that remembers searches
        if strategy == "depth_first":
            _depth_first(status, limits)
        elif minimal:
            _settle(status, status.undecided, limits)
        listed = minimal and not limits.over()
        _settle(status, status.promising, limits, most)
        while status.open and status.left_open() and not limits.over():
            _finish_one(status)
            limits.report(status.progress)
        _make_sure(status, limits)
    return _sum_up(status, listed)


def _climb_first(
    problem: Problem, checker: NodeChecker | SlicedChecker, limits: SearchLimits, first: Sequence[Levels]
) -> list[Node]:
    """What a climb sees: a good node to begin with rules out many others, and is there before the nodes are listed."""
    from oboro.decide.lattice.huge.hill_climb import HillClimb

    climb = HillClimb(problem, checker, limits, most=CLIMBED * problem.lattice.size)
    with limits.within_looks():
        climb.run(first)
    return list(climb.nodes.values())


def _finish_one(status: NodeStatus) -> None:
    """Find the classes that join the suppressed for the one node that may lose least of those that were left open.

    A node that turns out to be good rules out many others, and most of those that are left open never need it: so one now and then.
    """
    if waiting := status.left_open():
        node = min(waiting, key=lambda node: (round(node.least, 12), node.levels))
        assert isinstance(status.whole, NodeChecker), "others leave nothing open"
        status.record(status.whole.completed(node.levels, status.hurdle))


def _make_sure(status: NodeStatus, limits: SearchLimits) -> None:
    """Look longer for the best classes to join the suppressed where that could change the answer."""
    for steps in LONGER:
        for node in status.unsure():
            if limits.over():
                return
            if status.best is None or node.least < status.best.loss:
                status.record(status.whole.check(node.levels, status.hurdle, steps))
                limits.report(status.progress)


def _runners_up(status: NodeStatus) -> list[Node]:
    """The best nodes after the best; what they lose is counted now, where it was only bounded."""
    feasible = sorted(filter(FEASIBLE, status.nodes.values()), key=RANK)
    if isinstance(status.whole, NodeChecker):
        for _ in range(4 * RUNNERS_UP):
            first = next(filterfalse(attrgetter("settled"), feasible[: RUNNERS_UP + 1]), None)
            if first is None:
                break
            status.nodes[first.levels] = status.whole.check(first.levels, inf, LONGER[0])
            feasible[feasible.index(first)] = status.nodes[first.levels]
            feasible.sort(key=RANK)
    return feasible[1 : RUNNERS_UP + 1]


def _sum_up(status: NodeStatus, listed: bool) -> SearchResult:
    tagged = int((~status.seen & (status.satisfies | status.fails)).sum())
    exact = not status.promising().any() and not status.unsure()
    return SearchResult(
        best=status.best,
        minimal=status.lattice.minimal(status.seen & status.satisfies) if listed else None,
        runners_up=_runners_up(status),
        size=status.lattice.size,
        evaluated=len(status.nodes),
        tagged=tagged,
        skipped=status.lattice.size - len(status.nodes) - tagged,
        top=status.nodes[status.lattice.top],
        exact=exact,
        bound=None if status.best is None else status.best.loss if exact else status.bound(),
    )


def _prove(
    problem: Problem,
    checker: NodeChecker | SlicedChecker,
    limits: SearchLimits,
    prove: bool,
    first: Iterable[Levels] = (),
) -> SearchResult:
    """The lattice cannot be listed: the best node that a hill climb finds, and a proof from below as far as it comes."""
    from oboro.decide.lattice.huge.huge_search import HugeSearch

    quiet = replace(limits, tell=None)
    solve = lambda part: _list(part, NodeChecker.of(part), "auto", False, quiet)  # noqa: E731
    huge = HugeSearch(problem, checker, limits, prove, tuple(first), solve)
    huge.run()
    return SearchResult(
        best=huge.boxes.best,
        minimal=None,
        runners_up=huge.feasible[1 : RUNNERS_UP + 1],
        size=problem.lattice.size,
        evaluated=huge.evaluated,
        tagged=0,
        skipped=problem.lattice.size - huge.evaluated,
        top=huge.climb.nodes[problem.lattice.top],
        exact=huge.exact,
        bound=huge.bound,
    )


def _settle(status: NodeStatus, waiting: Callable[[], np.ndarray], limits: SearchLimits, most: float = inf) -> None:
    """Check nodes until none is waiting, or so many cells are read; each time those that are expected to settle most."""
    again, together = len(status.nodes), max(TOGETHER, status.lattice.size // SHARE)
    cells = status.whole.weight * len(status.shape)
    with ThreadPoolExecutor(2) as pool:
        while not limits.over() and len(status.nodes) * cells < most and (open_ := waiting()).any():
            if len(status.nodes) >= again:
                status.focus(open_)
                again = len(status.nodes) + REFOCUS
            alone = len(status.nodes) < ALONE or not isinstance(status.checker, NodeChecker)
            several = status.checker.at_a_time or (1 if alone else min(together, len(status.nodes)))
            chosen = status.choose(open_, several, fill=status.checker.at_a_time is not None)
            status.record(*_check(status, chosen, pool, limits))
            if status.open:
                _finish_one(status)
            limits.report(status.progress)


def _depth_first(status: NodeStatus, limits: SearchLimits) -> None:
    """The parallel depth-first search with a shared stack (Hasegawa, Masaki, Okada, Algorithm 1).

    From the bottom up: a failing node puts its unexplored parents on the stack, a satisfying one marks everything
    above it as explored. A few nodes at a time are taken from the stack and checked in parallel; results are noted
    in the order of taking, so that the same nodes are checked on every machine.
    """
    lattice = status.lattice
    explored = np.zeros(lattice.shape, dtype=bool)
    stack = [lattice.bottom]
    with ThreadPoolExecutor(2) as pool:
        while stack and not limits.over():
            taken: list[Levels] = []
            while stack and len(taken) < TOGETHER:
                levels = stack.pop()
                if not explored[levels]:
                    explored[levels] = True
                    taken.append(levels)
            for node in _check(status, taken, pool, limits):
                status.record(node)
                if node.satisfying:
                    explored[lattice.above(node.levels)] = True
                else:
                    stack.extend(parent for parent in lattice.parents(node.levels) if not explored[parent])
            limits.report(status.progress)


def _check(status: NodeStatus, chosen: list[Levels], pool: ThreadPoolExecutor, limits: SearchLimits) -> Iterator[Node]:
    """Check several nodes, two at a time; slices use both threads themselves. What is not begun in time is left out."""
    checker, hurdle = status.checker, status.hurdle

    def check(several: Sequence[Levels]) -> list[Node]:
        # Two at a time have the same hurdle, so that nothing depends on who is first.
        return [] if limits.over() else checker.check_all(several, hurdle, later=hurdle < inf)

    if not chosen:
        return iter(())
    checker.prepare(chosen)
    if checker.many_at_once:
        heavy = checker.weight * len(chosen) > HEAVY
        parts: list[Sequence[Levels]] = [chosen[::2], chosen[1::2]] if heavy and len(chosen) > 1 else [chosen]
    else:
        parts = list(zip(chosen, strict=True))
    alone = len(parts) == 1 or not isinstance(checker, NodeChecker) or checker.problem.rows <= FEW
    alone = alone or all(map(checker.at_once, chosen))
    return chain.from_iterable(map(check, parts) if alone else pool.map(check, parts))
