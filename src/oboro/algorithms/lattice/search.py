"""Search of the lattice: all minimal nodes, and the optimal node among those that can be released.

Nodes resolve each other. A node that suppresses too much by strong rules fails with everything finer; where all rules
are strong (or nothing may be suppressed) a satisfying node makes everything coarser satisfy. The next node to evaluate
is the one that is expected to settle most others, by an estimate of how likely it fails that is refitted as results
come in. For the optimum, a lower bound on each node's loss (levels alone, plus the records that an evaluated coarser
node already suppresses) prunes the rest.

The order of evaluation changes how many nodes are evaluated, never the answer. Only where the lattice is too large to
list, or time is up, is the answer the best node so far; the result then says so, with a lower bound on the loss of
better ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, filterfalse
from math import inf, log, prod
from operator import attrgetter, le
from time import monotonic
from typing import Any, Literal

import numpy as np

from oboro.algorithms.lattice import evaluator
from oboro.algorithms.lattice.evaluator import NodeChecker, RuleScratch, combinations, packed_rules
from oboro.algorithms.lattice.kernels import nodes as kernels_nodes
from oboro.algorithms.lattice.kernels.attributes import RuleArrays
from oboro.algorithms.lattice.kernels.dominance import meet, note, promising
from oboro.algorithms.lattice.kernels.nodes import (
    AT_ONCE,
    JoinedRows,
    KeptRoom,
    finest_alone,
    join_alike,
    spread_labels,
)
from oboro.algorithms.lattice.limits import SearchLimits, SearchProgress
from oboro.algorithms.lattice.losses import BEYOND, CellLoss
from oboro.algorithms.lattice.nodes import Lattice, Levels
from oboro.algorithms.lattice.problem import Node, Problem
from oboro.algorithms.lattice.sliced import SlicedChecker
from oboro.algorithms.lattice.status import BINS, FEW, SAME, NodeStatus

__all__ = ["KeptRows", "KeptSearch", "SearchResult", "Strategy", "checker_for", "search", "search_by_rank", "suits"]


# Rows without suppression ---------------------------------------------------------------------------------------------
# Rows as kernels read them where no record may be suppressed: equal rows joined, on the levels that are still open.


KEY_SPACE = 1 << 62  # combinations up to here have a key each
COUNTERS = 1 << 16  # of classes and values that are counted together,
EACH = 4  # or so many for each row
MOST_ALONE = 1 << 22  # counters for one attribute by itself
WITNESSES = 3  # people that are asked before all others


class KeptRows:
    """Rows of a problem, with the rules they are judged by."""

    def __init__(self, problem: Problem) -> None:
        self.problem, hierarchies = problem, problem.hierarchies
        shape = len(hierarchies), max(problem.lattice.shape)
        self.begins, self.labels = np.zeros((2, *shape), dtype=np.int64)
        tables, begin = [], 0
        for a, hierarchy in enumerate(hierarchies):
            for v, level in enumerate(hierarchy.levels):
                self.begins[a, v], self.labels[a, v] = begin, len(level.labels)
                tables.append(level.table)
                begin += level.table.size
        self.numbers = np.concatenate(tables).astype(np.uint16)
        self.widths = np.array([len(column.values) for column in problem.columns])
        self.codes = np.stack([column.codes.astype(np.uint16) for column in problem.columns])
        secrets, combined = combinations(problem.rules, [rule.codes for rule in problem.rules], problem.rows)
        self.secrets, self.weights = secrets.astype(np.uint32), np.ones(problem.rows, dtype=np.int64)
        self.rules: RuleArrays = packed_rules(list(problem.rules), combined)
        self.values = self.rules.combined.shape[1]
        self.own = RuleScratch(1, 1, 1, max(self.values, self.rules.whole.shape[1])).room

    def finest_alone(self) -> Levels:
        """Return for each attribute the finest level that does not fail by itself."""
        each = max(int(self.widths.max()), int(self.labels.max())) * self.values
        if each > MOST_ALONE:
            return self.problem.lattice.bottom
        out, heights = np.empty(len(self.widths), dtype=np.int64), np.array(self.problem.lattice.heights)
        counters = np.zeros((2, each // self.values, self.values), dtype=np.int64)
        ladders = self.numbers, self.begins, self.labels, self.widths, heights
        finest_alone(self.codes, *ladders, self.secrets, self.problem.k, self.rules, self.own, counters, out)
        return tuple(out.tolist())

    def join(self, levels: Levels) -> None:
        """Join rows that agree on these levels, and in their sensitive values."""
        every = np.arange(len(levels)), np.array(levels)
        labels, size = self.labels[every], self.secrets.size
        if prod(labels.tolist()) * self.values >= KEY_SPACE:
            return
        slots, keys = np.zeros(2 << size.bit_length(), dtype=np.int32), np.empty(size, dtype=np.uint64)
        firsts, sums = np.empty((2, size), dtype=np.int64)
        given = self.codes, self.numbers, self.begins[every], labels, self.secrets, self.values, self.weights
        found = join_alike(*given, slots, keys, firsts, sums)
        order = np.argsort(keys[:found])
        firsts = firsts[order]
        self.codes, self.secrets = self.codes[:, firsts], self.secrets[firsts]
        self.weights = sums[order]

    def above(self, levels: Levels) -> tuple[JoinedRows, KeptRoom]:
        """The labels on these levels and everything coarser, counted from there, and room to judge nodes of them."""
        heights = self.problem.lattice.heights
        which = [(a, v) for a, least in enumerate(levels) for v in range(least, heights[a] + 1)]
        owners, own = np.array(which).T.copy()
        columns = np.empty((len(which), self.secrets.size), dtype=np.uint16)
        spread_labels(self.codes, self.numbers, self.begins[owners, own], owners, columns)
        first, labels = np.zeros((2, *self.labels.shape), dtype=np.int64)
        for c, (a, v) in enumerate(which):
            first[a, v - levels[a]], labels[a, v - levels[a]] = c, self.labels[a, v]
        return JoinedRows(columns, first, labels, self.secrets, self.weights), self._room()

    def _room(self) -> KeptRoom:
        size, classes = self.secrets.size, self.problem.rows // self.problem.k
        return KeptRoom(
            np.zeros(max(4096, 4 << min(classes, size).bit_length()), dtype=np.int32),
            np.empty(classes, dtype=np.uint32),
            np.empty(classes, dtype=np.int64),
            np.empty(classes, dtype=np.int64),
            np.empty(size, dtype=np.int32),
            np.empty(size, dtype=np.uint32),
            np.empty(max(COUNTERS, EACH * size), dtype=np.int64),
            np.empty(AT_ONCE, dtype=np.uint16),
            np.full(WITNESSES, -1, dtype=np.int64),
        )


# Search without suppression -------------------------------------------------------------------------------------------
# Search of the lattice where no record may be suppressed.
#
# The loss of a node is then known before it is judged, and it either satisfies or fails: no class can be left out or
# join the suppressed. So nodes are chosen, judged and noted in compiled code, which returns when one satisfies. Adult
# with one sensitive column took 20 to 40 ms, of which most was spent in Python around the nodes and on keeping classes
# of finer ones.


AT_A_TIME = 32  # nodes that are judged before it is asked whether time is up, and which levels are out of the question;
CELLS = 1 << 27  # fewer where all levels of all rows are more than these: a tenth of a second
FEWER = 0.8  # rows are joined again where so many are left
MANY = 1 << 19  # rows
VALUES = 256  # combinations of sensitive values, for each class counts them all
LARGE = 1 << 16  # values that two bytes number


def suits(problem: Problem) -> bool:
    """Return whether a problem is searched this way: nothing may be suppressed, and coarser nodes satisfy what finer
    ones do.

    Where only k is asked, `label_columns` is as fast. With a million rows, classes of finer nodes are, and with many nodes what
    follows from one takes longer than to judge it.
    """
    if problem.limit != 0 or problem.lattice.size > FEW or not (problem.monotone and problem.only_rules):
        return False
    if not max(evaluator.ROLLED, 1) <= problem.rows <= MANY:
        return False
    if not isinstance(problem.loss, CellLoss) or problem.loss.largest or problem.k < 1:
        return False
    few = prod(rule.whole.size for rule in problem.rules) <= VALUES
    return few and max(len(column.values) for column in problem.columns) <= LARGE


class KeptSearch:
    """Status of every node that is nowhere finer than `low`; finer nodes fail."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.rows = problem, KeptRows(problem)
        self.low = self.rows.finest_alone()
        self.rows.join(self.low)
        self.read, self.room = self.rows.above(self.low)
        self.lattice = Lattice(tuple(np.subtract(problem.lattice.heights, self.low).tolist()))
        self.shape, size = np.array(self.lattice.shape), self.lattice.size
        assert isinstance(problem.loss, CellLoss)
        base = self._sums(problem.loss.bounds(0)[0])
        satisfies, fails, seen, covered = np.zeros((4, size), dtype=bool)
        self.marks = kernels_nodes.KeptMarks(satisfies, fails, seen, covered, np.zeros(size, dtype=np.int32), base)
        self.slope, self.counts = np.zeros(size), np.ones((2, size), dtype=np.int32)
        self.curve = self._curve(self._sums(problem.entropies))
        self.nodes: dict[Levels, Node] = {}
        self.best: Node | None = None
        self.joined = self.lattice.bottom

    def _sums(self, parts: Iterable[np.ndarray]) -> np.ndarray:
        return self.lattice.sums([part[least:] for part, least in zip(parts, self.low, strict=True)]).ravel()

    def _curve(self, entropy: np.ndarray) -> kernels_nodes.Curve:
        """As `FailureCurve` begins."""
        step = max(float(entropy.max()), 1e-9) / (BINS - 1)
        failed, passed = np.zeros((2, BINS), dtype=np.int64)
        usual = log(self.problem.rows / self.problem.k)
        for row, one in ((failed, usual + 1.0), (passed, usual - 3.0)):
            row[min(max(int(one / step), 0), BINS - 1)] += 1
        return kernels_nodes.Curve(entropy, step, failed, passed, np.array([0, 1]))

    def run(self, limits: SearchLimits, minimal: bool, first: Iterable[Levels]) -> bool:
        """Search the lattice; False where no node satisfies, which is for other code to explain."""
        self._settle(np.array([self.lattice.top]), 1, minimal)
        if self.best is None:
            return False
        for levels in first:
            if all(map(le, self.low, levels)):
                self._settle(np.array([levels]) - self.low, 1, minimal)
        most = min(AT_A_TIME, 1 + CELLS // self.read.columns.size)
        for every in (True, False) if minimal else (False,):
            nothing = np.empty((0, self.shape.size), dtype=np.int64)
            while not limits.over() and self._settle(nothing, most, every):
                limits.report(self.progress)
        return True

    def _settle(self, first: np.ndarray, most: int, every: bool) -> int:
        """Judge some nodes; how many. With `every`, whatever they lose."""
        nodes, told = np.empty((most, self.shape.size), dtype=np.int64), np.empty(most, dtype=np.int64)
        asked = first, every, *self._hurdle(), self.problem.k, self.shape, self.read, self.rows.rules
        state = self.rows.own, self.room, self.marks, self.curve, self.counts, self.slope
        judged = int(kernels_nodes.settle_kept(*asked, *state, nodes, told))
        for place in nodes[:judged][told[:judged] == kernels_nodes.HOLDS]:
            self._hold(place)
        if judged and told[judged - 1] == kernels_nodes.UNCLEAR:
            self._look_closer(nodes[judged - 1])
        elif judged == most:
            self._focus(every)
        return judged

    def _hurdle(self) -> tuple[float, float, int]:
        """Return the loss that a node must reach to be the best; of equal ones the first is."""
        if self.best is None:
            return inf, inf, 0
        fold, levels = self.problem.loss.fold, np.subtract(self.best.levels, self.low)
        place = int(np.ravel_multi_index(tuple(levels), self.lattice.shape))
        return fold(self.best.loss - SAME), fold(self.best.loss + SAME), place

    def _hold(self, place: np.ndarray) -> None:
        """A node can be released."""
        levels = tuple((place + self.low).tolist())
        assert isinstance(self.problem.loss, CellLoss)
        node = Node(levels, 0, 0, 0, True, self.problem.loss.value(levels, None))
        self.nodes[levels] = node
        if self.best is None or node.rank < self.best.rank:
            self.best = node

    @cached_property
    def checker(self) -> NodeChecker:
        """Checker that judges a node in exact arithmetic."""
        return NodeChecker.of(self.problem)

    def _look_closer(self, place: np.ndarray) -> None:
        """Judge a node class by class, in exact arithmetic."""
        holds = np.array([self.checker.completed(tuple((place + self.low).tolist())).satisfying])
        nothing = np.zeros(1, dtype=np.int32), np.full(1, -inf)
        note(place[np.newaxis], self.shape, holds, ~holds, holds, *nothing, *self.marks)
        if holds[0]:
            self._hold(place)

    def _focus(self, every: bool) -> None:
        """Join the rows that agree on all levels that are still waiting, where that makes them fewer."""
        least = self.shape - 1
        meet(self.waiting(every), self.shape, least)
        levels = tuple(least.tolist())
        if levels == self.joined:
            return
        before, self.joined = self.rows.secrets.size, levels
        self.rows.join(tuple(np.add(levels, self.low).tolist()))
        if self.rows.secrets.size < FEWER * before:
            self.read, self.room = self.rows.above(self.low)

    def waiting(self, every: bool) -> np.ndarray:
        """Mark the nodes that may still be better than the best; with `every`, those that are not settled."""
        out = np.empty(self.lattice.size, dtype=bool)
        if every:
            return np.asarray(~(self.marks.satisfies | self.marks.fails))
        known = self.marks.fails, self.marks.seen, self.marks.base, self.slope, self.marks.surely
        promising(*known, *self._hurdle(), out)
        return out

    def progress(self) -> SearchProgress:
        """Return the progress of the search."""
        loss = None if self.best is None else self.best.loss
        return SearchProgress(self.evaluated, self._settled, self.problem.lattice.size, loss)

    @property
    def _settled(self) -> int:
        """Nodes of which it is known whether they hold."""
        outside = self.problem.lattice.size - self.lattice.size
        return outside + int((self.marks.fails | self.marks.satisfies).sum())

    @property
    def evaluated(self) -> int:
        """Number of judged nodes."""
        return int(self.marks.seen.sum())

    @property
    def tagged(self) -> int:
        """Number of nodes that were settled by others."""
        return self._settled - self.evaluated

    def minimal(self) -> list[Levels] | None:
        """All minimal nodes, if every node is settled."""
        if self.waiting(True).any():
            return None
        found = self.lattice.minimal(self.marks.satisfies.reshape(self.lattice.shape))
        return [tuple(np.add(levels, self.low).tolist()) for levels in found]

    def bound(self) -> float | None:
        """Lower bound on the loss of all nodes that can be released."""
        if self.best is None or not (waiting := self.waiting(False)).any():
            return None if self.best is None else self.best.loss
        least = self.problem.loss.unfold(float(self.marks.base[waiting].min()))
        return min(self.best.loss, max(least, self.problem.least_loss))


# Search ---------------------------------------------------------------------------------------------------------------


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
ROWS_FOR_THREADS = 1 << 11  # rows that are checked before a thread has started
REFOCUS = 32  # after so many checks it is asked again which levels are out of the question
LONGER = (2000, 40_000)  # groups looked at for the classes that join the suppressed, where the answer hangs on it
LISTED = 1 << 20  # lattices with more nodes are not listed but climbed;
LISTED_BY_SIZE = 1 << 23  # where nothing but the sizes of classes is asked, so many: the list takes 350 MB
ENOUGH = (
    6_000_000_000  # cells that are read of more than `LISTED` nodes where nobody asked for a proof: some ten seconds
)


@dataclass(frozen=True)
class SearchResult:
    """Result of a search, and the work it took."""

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
    """Return the fastest checker of nodes: slices of rows where these are very many and k is the only requirement, else
    distinct tuples.
    """
    if not problem.sliced:
        return NodeChecker.of(problem)
    from oboro.algorithms.lattice.sliced import SlicedChecker

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
    """Search where no record may be suppressed, if the problem suits it and something can be released."""

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
    """Return whether nothing was found, or only that a table of stars can be released, which needs no search."""
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
    from oboro.algorithms.lattice.anytime import HillClimb

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
    from oboro.algorithms.lattice.anytime import HugeSearch

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
    alone = len(parts) == 1 or not isinstance(checker, NodeChecker) or checker.problem.rows <= ROWS_FOR_THREADS
    alone = alone or all(map(checker.at_once, chosen))
    return chain.from_iterable(map(check, parts) if alone else pool.map(check, parts))


# Lexicographic search -------------------------------------------------------------------------------------------------
# The best node where losses are compared by rank: by the attribute that loses most, among equals by the next one, and
# so on.
#
# One search for each rank. The first makes the greatest part as small as possible; every later one minimizes the next
# part among the nodes that keep the greater parts reached. So the last search's best node is the best by rank, if every
# search was exact. The first that is not ends it: further ranks would rest on a guess.


def search_by_rank(
    problem: Problem,
    checker: NodeChecker | SlicedChecker,
    *,
    time_limit: float | None = None,
    tell: Callable[[SearchProgress], None] | None = None,
    **options: Any,
) -> SearchResult:
    """Search as `search` does, by rank; the loss of the answer is its greatest part, and bounds are of it."""
    loss = problem.loss
    assert isinstance(loss, CellLoss)
    assert loss.ranked
    start, found = monotonic(), search(problem, checker, time_limit=time_limit, tell=tell, **options)
    first, ranks = found, () if found.best is None else (found.best.loss,)
    while found.exact and found.best is not None and len(loss.agreed) + 1 < len(loss.costs):
        loss = replace(loss, agreed=(*loss.agreed, found.best.loss))
        left = None if time_limit is None else max(time_limit - (monotonic() - start), 1e-9)
        again = {**options, "minimal": False, "time_limit": left, "first": [found.best.levels]}
        following = replace(problem, loss=loss)
        found, kept = _joint(found, search(following, replace(checker, problem=following), **again))
        ranks = (*ranks, found.best.loss) if kept and found.best is not None else ranks
    if found.best is None or first.best is None:
        return found
    others = [node for node in (first.best, *first.runners_up) if node.levels != found.best.levels]
    best = replace(found.best, loss=first.best.loss)
    told = replace(found, bound=first.bound, minimal=first.minimal, top=first.top)
    return replace(told, best=best, runners_up=others, ranks=ranks)


def _joint(before: SearchResult, after: SearchResult) -> tuple[SearchResult, bool]:
    """Join the statistics of two searches; return the later one's answer, if it has one that keeps the greater parts
    reached, and whether it has.
    """
    evaluated = before.evaluated + after.evaluated
    if after.best is None or after.best.loss >= BEYOND:
        return replace(before, evaluated=evaluated, exact=False, stopped=after.stopped), False
    return replace(after, evaluated=evaluated), True
