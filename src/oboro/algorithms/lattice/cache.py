"""Cache of node evaluations: class sizes of each division of the records, reused for every k and suppression limit."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from hashlib import blake2b
from itertools import islice
from math import inf
from threading import Lock
from typing import Any

import numpy as np

from oboro.algorithms.lattice.evaluator import DistinctTuples, NodeChecker, RolledUp
from oboro.algorithms.lattice.kernels import classes
from oboro.algorithms.lattice.losses import CellLoss, ClassPayments
from oboro.algorithms.lattice.nodes import Levels
from oboro.algorithms.lattice.problem import Node, NodeClasses, Problem
from oboro.algorithms.lattice.sliced import SPARSE, THREADS, SlicedChecker, _Count, on_threads, share_out
from oboro.data.column import smallest_unsigned

__all__ = [
    "Division",
    "KnownNodes",
    "Look",
    "LookMemory",
    "RememberingChecker",
    "RememberingSlices",
    "digest_of",
    "sliced_sizes",
]


# Class sizes of a node ------------------------------------------------------------------------------------------------
# Number of records in classes of each size: what is kept of one evaluation of a node.


@dataclass(frozen=True, eq=False)
class Look:
    """The classes of a node, by their size. Where people are counted, a class's size is the number of its people."""

    sizes: np.ndarray
    """The different sizes of classes that no rule suppresses, ascending."""
    records: np.ndarray
    """How many records stand in classes of at most that size."""
    times: np.ndarray
    """How many classes have that size."""
    classes: int
    squares: int
    """The sum of the squared sizes of all classes, in records."""
    least: int = 1
    """Only a k of at least so much can be answered."""
    most: int | None = None
    """Only a k of at most so much can be answered; larger sizes count as this one."""
    gone: int = 0
    """Records that rules suppress, whatever k is."""
    surely: int = 0
    """Of these, how many go at least in every finer node too."""
    whole: bool = True
    """Whether every rule was asked; otherwise `gone` are those of strong rules."""

    @staticmethod
    def of(counted: np.ndarray, records: np.ndarray, **more: Any) -> Look:
        """Build it from the size of each class as it is counted, and its records."""
        sizes, place, times = np.unique(counted, return_inverse=True, return_counts=True)
        held = np.bincount(place.ravel(), weights=records, minlength=sizes.size).astype(np.int64)
        return Look(sizes, np.cumsum(held), times, **more)

    @staticmethod
    def of_histogram(classes: np.ndarray, most: int, rows: int, squares: int = 0) -> Look:
        """From how many classes have each size; the last ones have `most` records or more."""
        found = classes[1:most].nonzero()[0]
        sizes, held = np.empty((2, found.size + 1), dtype=np.int64)
        np.add(found, 1, out=sizes[:-1])
        sizes[-1] = most
        times = classes[sizes]
        np.multiply(sizes[:-1], times[:-1], out=held[:-1])
        held[:-1].cumsum(out=held[:-1])
        held[-1] = rows
        return Look(sizes, held, times, int(times.sum()), squares, most=most)

    def answers(self, k: int) -> bool:
        """Return whether it determines the suppressed records for this k."""
        return self.least <= k and (self.most is None or k <= self.most)

    @property
    def by_size(self) -> list[tuple[int, int]]:
        """(size, classes), ascending."""
        return [(int(size), int(times)) for size, times in zip(self.sizes, self.times, strict=True) if times]

    def small(self, k: int) -> int:
        """Return the number of records of classes smaller than k that no rule suppresses."""
        place = int(self.sizes.searchsorted(k))
        return int(self.records[place - 1]) if place else 0


# Evaluated nodes of one lattice ---------------------------------------------------------------------------------------
# Evaluations of the nodes of one lattice and the bounds that follow from them, reused by the next search of the same
# kind.


MOST_KINDS = 64  # for as many kinds of questions what looks told is kept


@dataclass(eq=False)
class KnownNodes:
    """Evaluations of the nodes of one lattice, and bounds on losses found there. Threads may share them."""

    looks: dict[Levels, Look] = field(default_factory=dict)
    floors: dict[Hashable, dict[Levels, float]] = field(default_factory=dict)
    """For each loss that is summed over classes: what a node and everything coarser loses at least."""
    _told: dict[Hashable, tuple[int, dict[Levels, float]]] = field(default_factory=dict)
    """For each kind of question how many looks were asked, and what they told."""

    def keep(self, levels: Levels, look: Look) -> None:
        """Keep an evaluation; one that is replaced may have contained less."""
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


# Cache keys -----------------------------------------------------------------------------------------------------------
# Division of the records by the nodes of a problem, as cache keys.


def digest_of(*arrays: np.ndarray) -> bytes:
    """Return a digest of the content of arrays."""
    out = blake2b(digest_size=16)
    for array in arrays:
        out.update(f"{array.dtype}{array.shape}".encode())
        out.update(np.ascontiguousarray(array).data)
    return out.digest()


@dataclass(frozen=True, eq=False)
class Division:
    """Division of the records by the nodes of a problem, as cache keys."""

    problem: Problem
    digest: Callable[[np.ndarray], bytes]
    space: KnownNodes = field(default_factory=KnownNodes)
    """What is known of the nodes of this very lattice."""

    @cached_property
    def parts(self) -> tuple[tuple[tuple[bytes, bytes] | None, ...], ...]:
        """For each attribute and level, digests of the codes and of their labels; None where there is only one label."""
        digest = self.digest
        return tuple(
            tuple((digest(column.codes), digest(one.table)) if len(one.labels) > 1 else None for one in tree.levels)
            for column, tree in zip(self.problem.columns, self.problem.hierarchies, strict=True)
        )

    @cached_property
    def asked(self) -> tuple[Any, ...]:
        """Requirements on classes beyond k."""
        problem, digest = self.problem, self.digest
        rules = [
            (rule.kind, rule.count, rule.level, rule.of_people, *map(digest, (rule.codes, rule.whole, rule.tree)))
            for rule in problem.rules
        ]
        crowd = problem.population
        people = crowd and (tuple(map(digest, crowd.codes)), crowd.least, crowd.low, crowd.high)
        return (tuple(rules), people, None if problem.person is None else self.digest(problem.person.codes))

    @cached_property
    def tuples(self) -> tuple[Any, ...]:
        """Key of distinct tuples: the values, the sensitive values and the people."""
        columns = tuple(self.digest(column.codes) for column in self.problem.columns)
        secrets = tuple(self.digest(codes) for codes in self.problem.secrets)
        return ("tuples", columns, secrets, self.asked[1:])

    @cached_property
    def slices(self) -> tuple[Any, ...]:
        """Key of slices of rows: values and hierarchies."""
        return ("slices", self.parts)

    @cached_property
    def cost(self) -> tuple[Any, ...]:
        """Key of losses."""
        loss = self.problem.loss
        figures = [getattr(loss, one.name) for one in fields(loss)]
        odd = tuple(one for one in figures if isinstance(one, bool | int | float | str))
        if not isinstance(loss, CellLoss):
            return odd
        paid = np.array([[one.base, one.extra.size] for costs in loss.costs for one in costs])
        added = [part for costs in loss.costs for one in costs for part in (one.step, one.extra)]
        return (odd, digest_of(loss.weights, paid, *added))

    def of(self, levels: Levels) -> tuple[Any, ...]:
        """Return the key of an evaluation: the same for nodes that divide the records alike."""
        held = frozenset(part for a, level in enumerate(levels) if (part := self.parts[a][level]) is not None)
        return (held, self.asked)

    def question(self, levels: Levels) -> tuple[Any, ...]:
        """Return the key of an evaluated node: everything but the suppression limit is part of it."""
        return (levels, *self._questioned)

    @cached_property
    def _questioned(self) -> tuple[Any, ...]:
        problem = self.problem
        odd = (problem.most_classes, problem.whole_people, problem.relaxed, *_further(problem))
        return (problem.k, self.cost, self.asked, odd)


def _further(problem: Problem) -> list[Any]:
    """Every other plain parameter of a problem, whatever it will be."""
    held = (getattr(problem, one.name) for one in fields(problem))
    return [value for value in held if isinstance(value, bool | float | str)]


# Cache shared by searches ---------------------------------------------------------------------------------------------
# Evaluations of nodes, kept for other problems: one evaluation answers every k and every suppression limit.
#
# Kept are the numbers of records in classes of each size. With rules beyond k it is also kept how many records a rule
# suppresses, whatever k is; that holds for every k that is not smaller than the one evaluated, for smaller classes were
# not judged.
#
# An evaluation depends on the division of the records by the node, and on nothing else: so its key is the labels of the
# columns (`Division`). It is found again after a column was left out that was on `*`, or after another column got
# another hierarchy.
#
# Only failures are answered from the cache, and losses that do not depend on which records are suppressed. Everything
# else is evaluated by the checker, so that a search with the cache finds what a search without it finds.


MOST_LOOKS = 300_000  # about a kilobyte each; beyond, the older half is forgotten
MOST_CHECKERS = 6  # of as many choices of columns the tuples are kept
MOST_REBASED = 24
MOST_ROLLED = 8  # of as many what nodes are counted from is kept, up to 50 MB each
LARGE = 1 << 20  # bytes
MOST_LARGE, MOST_SMALL = 32, 2048  # arrays whose digests are known


@dataclass(eq=False)
class LookMemory:
    """Cache shared by searches over the same records. Threads may share it."""

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
        """Return a checker of the nodes of a problem that uses this cache."""
        division = Division(problem, self.digest)
        division = replace(division, space=self._space(division))

        if problem.sliced:
            slices = self._checker(division.slices, lambda: SlicedChecker(problem))
            assert isinstance(slices, SlicedChecker)
            return RememberingSlices(problem, slices.layouts, memory=self, division=division)
        tuples = self.tuple_checker(problem, division).tuples
        return RememberingChecker(problem, tuples, problem.lattice.bottom, memory=self, division=division)

    def tuple_checker(self, problem: Problem, division: Division) -> NodeChecker:
        """Return a checker by the distinct tuples of the records, without a cache of nodes; the tuples are kept."""
        found = self._checker(division.tuples, lambda: NodeChecker.of(problem))
        assert isinstance(found, NodeChecker)
        return NodeChecker(problem, found.tuples, problem.lattice.bottom)

    def _space(self, division: Division) -> KnownNodes:
        """Return the evaluated nodes of a lattice; the latest few lattices are kept."""
        key = (division.slices, division.asked)
        with self._lock:
            held = self._spaces[key] = self._spaces.pop(key, KnownNodes())
            while len(self._spaces) > MOST_CHECKERS:
                del self._spaces[next(iter(self._spaces))]
            return held

    def look(self, division: Division, levels: Levels) -> Look | None:
        """Return the cached classes of a node."""
        found = self.looks.get(division.of(levels))
        if found is not None:
            division.space.keep(levels, found)
        return found

    def keep_look(self, division: Division, levels: Levels, look: Look) -> None:
        """Cache a node's classes."""
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
        """Cache a result; where the cache is full, the older half is dropped."""
        with self._lock:
            held[key] = one
            if len(held) > MOST_LOOKS:
                for old in list(held)[: MOST_LOOKS // 2]:
                    del held[old]

    def rebased(self, key: tuple[Any, ...]) -> tuple[DistinctTuples, Levels] | None:
        """Return tuples that were joined for coarser nodes, and the levels that they serve."""
        return self._rebased.get(key)

    def keep_rebased(self, key: tuple[Any, ...], found: tuple[DistinctTuples, Levels]) -> None:
        """Keep the latest few."""
        with self._lock:
            self._rebased[key] = found
            while len(self._rebased) > MOST_REBASED:
                del self._rebased[next(iter(self._rebased))]

    def rolled_up(self, key: tuple[Any, ...], make: Callable[[], RolledUp]) -> RolledUp:
        """Return the counter of nodes from the classes of others; the latest few are kept."""
        found = self._rolled.get(key) or make()
        with self._lock:
            self._rolled.pop(key, None)
            self._rolled[key] = found
            while len(self._rolled) > MOST_ROLLED:
                del self._rolled[next(iter(self._rolled))]
        return found

    def digest(self, array: np.ndarray) -> bytes:
        """Return the digest of an array; for the latest few arrays it is cached."""
        held = self._large if array.nbytes >= LARGE else self._small
        known = held.get(id(array))
        if known is None or known[0] is not array:
            known = array, digest_of(array)
            with self._lock:
                held[id(array)] = known
                while len(held) > (MOST_LARGE if held is self._large else MOST_SMALL):
                    del held[next(iter(held))]
        return known[1]


# Class sizes from slices ----------------------------------------------------------------------------------------------
# One evaluation of all rows, slice by slice: the number of classes of each size.
#
# Where all rows are one slice, each thread counts a share of the rows for itself, and their counts are added. (With one
# slice counted by one thread, people 1M took 10 ms a look by the clock and by the processor; so did every look of a
# session, which begins at the top, whose layout has one slice.)


FEW = 254  # sizes up to here are counted with a byte each
DENSE = 2  # with more counters per row than this, only those of the rows are read
TOGETHER = 1 << 20  # rows of one slice that are counted before it is asked whether to go on


def sliced_sizes(checker: SlicedChecker, levels: Levels) -> Look:
    """Return the sizes of a node's classes. O(rows · digits)."""

    problem = checker.problem
    most = FEW if problem.k <= FEW else max(1 << 16, 2 * problem.k)
    counted = _Count(problem, checker._layout(levels), levels)
    histogram = np.zeros((THREADS, most + 1), dtype=np.int64)
    slices = range(len(counted.layout.bounds) - 1)
    if len(slices) == 1 and counted.keys <= problem.rows:
        _share(counted, histogram[0])
    else:
        waiting = iter(slices)
        on_threads(lambda thread: _take(counted, waiting, histogram[thread]))
    counted.require_whole()
    return Look.of_histogram(histogram.sum(axis=0), most, problem.rows)


def _share(counted: _Count, histogram: np.ndarray) -> None:
    """One slice: each thread counts some of its rows; counters of the threads are added, none above the last size."""
    most = histogram.size - 1
    counters, table = np.zeros((THREADS, counted.keys), dtype=smallest_unsigned(histogram.size)), counted.room()
    rows, _ = counted.enter(0, table)

    def count(share: range, thread: int) -> None:
        for first in range(share.start, share.stop, TOGETHER):
            if counted.stop():
                return
            codes = rows[first : min(first + TOGETHER, share.stop)]
            classes.count_sizes(codes, table, most, counters[thread])

    share_out(len(rows), count)
    for more in counters[1:]:
        counters[0] += np.minimum(more, most - counters[0])
    classes.read_sizes(counters[0], histogram)


def _take(counted: _Count, slices: Iterator[int], histogram: np.ndarray) -> None:
    """One thread's slices."""
    counters, table = np.zeros(0, dtype=smallest_unsigned(histogram.size)), counted.room()
    for part in slices:
        if counted.stop():
            return
        counters = _slice(counted, part, counters, table, histogram)


def _slice(counted: _Count, part: int, counters: np.ndarray, table: np.ndarray, histogram: np.ndarray) -> np.ndarray:
    """Count one slice; returns the counters, all 0 again, for the next one."""
    most, (codes, space) = histogram.size - 1, counted.enter(part, table)
    if space > SPARSE * max(len(codes), 1 << 14):
        pairs = np.zeros(2 << max(4, (2 * len(codes) - 1).bit_length()), dtype=np.int64)
        classes.count_sizes_hashed(codes, table, pairs, histogram)
        return counters
    if counters.size < space:
        counters = np.zeros(space, dtype=counters.dtype)
    classes.count_sizes(codes, table, most, counters)
    if space > DENSE * len(codes):
        classes.read_sizes_of_rows(codes, table, counters, histogram)
    else:
        classes.read_sizes(counters[:space], histogram)
        counters[:space] = 0
    return counters


# Caching checkers -----------------------------------------------------------------------------------------------------


FEW_SIZES = 1024  # sizes of classes that are told apart in a quick look


def _answered(division: Division, look: Look, levels: Levels) -> Node | None:
    """A node that fails, from what is remembered; None where it may satisfy, or what it loses at least is not known."""
    problem = division.problem
    small, floor = look.small(problem.k) + look.gone, _floor(division, look, levels)
    if small <= problem.limit or not look.answers(problem.k) or floor is None:
        return None
    return Node(levels, small, _surely(problem, look), 0, False, inf, floor)


def _floor(division: Division, look: Look, levels: Levels) -> float | None:
    """Lower bound on the loss of a node and everything coarser; None where classes must be read for it."""
    loss = division.problem.loss
    if isinstance(loss, CellLoss):
        return -inf
    if isinstance(loss, ClassPayments):
        return division.space.floors.get(division.cost, {}).get(levels)
    return loss.floor(look.classes, look.squares)


def _surely(problem: Problem, look: Look) -> int:
    """Lower bound on the suppressed records of a node, valid in every finer one too."""
    strong = look.gone == 0 or not look.whole or all(rule.strong for rule in problem.rules)
    return look.small(problem.k) + (look.gone if strong and problem.population is None else look.surely)


def _known(problem: Problem, division: Division) -> dict[Levels, float]:
    """Of every node of the lattice that was looked at, how many records are surely suppressed."""
    if not _remembers(problem) or _unlike_others(problem):
        return {}
    return division.space.told("surely", problem.k, partial(_surely, problem))


def _floors(problem: Problem, division: Division) -> dict[Levels, float]:
    """Of every node of the lattice that was looked at, what it and everything coarser loses at least."""
    loss = problem.loss
    if isinstance(loss, CellLoss):
        return {}
    if isinstance(loss, ClassPayments):
        return dict(division.space.floors.get(division.cost, {}))
    return division.space.told(division.cost, problem.k, lambda look: loss.floor(look.classes, look.squares))


def _reused(memory: LookMemory, division: Division, levels: Levels, ask: Callable[[], Node], *, certain: bool) -> Node:
    """A node that was checked with the same question, whatever the limit was; checked now if there is none.

    Where nothing joined the suppressed, a node is the same under every limit that it does not exceed. Otherwise only under the
    same, and if it was asked for `certain`, not only whether it is better than another.
    """
    known = _checked(memory, division, levels)
    if known is not None:
        memory.hits += 1
        return known
    return _kept(memory, division, ask(), certain=certain)


def _checked(memory: LookMemory, division: Division, levels: Levels) -> Node | None:
    """A node that was checked with the same question."""
    key, limit = division.question(levels), division.problem.limit
    known = memory.nodes.get((*key, limit)) or memory.nodes.get(key)
    return known if known is not None and known.suppressed <= limit else None


def _kept(memory: LookMemory, division: Division, node: Node, *, certain: bool) -> Node:
    """The node, remembered where it will be the same."""
    key, limit = division.question(node.levels), division.problem.limit
    if node.feasible and node.settled and node.extra == 0:
        memory.keep(memory.nodes, key, node)
    elif certain and node.settled and node.least == -inf:
        memory.keep(memory.nodes, (*key, limit), node)
    return node


def _unlike_others(problem: Problem) -> bool:
    """Return whether more decides than what is kept tells: limits on the sizes of all classes, labels that a reader
    cannot tell apart.
    """
    unclear = problem.population is not None and problem.population.unclear is not None
    return bool(problem.class_sizes) or unclear or problem.earnings is not None


def _remembers(problem: Problem) -> bool:
    """Return whether a class is suppressed by what it is alone, so that sizes and rules tell how much goes."""
    of_all = problem.most_classes is not None or problem.kept_risk is not None or bool(problem.class_sizes)
    return not problem.whole_people and not of_all


@dataclass(frozen=True, eq=False)
class RememberingChecker(NodeChecker):
    """Checker of distinct tuples that evaluates each division of the records once."""

    memory: LookMemory = field(kw_only=True)
    division: Division = field(kw_only=True)

    def check(self, levels: Levels, hurdle: float = inf, *more: Any) -> Node:
        """Evaluate one node, from the cache where that is enough."""
        if _unlike_others(self.problem):
            return NodeChecker.check(self, levels, hurdle, *more)
        if self.many_at_once and not more:
            return self.check_all([levels], hurdle)[0]
        failed = self._failed(levels) if _remembers(self.problem) else None
        if failed is not None:
            return failed
        ask = partial(self._asked, levels, hurdle, *more)
        return _reused(self.memory, self.division, levels, ask, certain=hurdle == inf)

    def _asked(self, levels: Levels, hurdle: float, *more: Any) -> Node:
        """Check a node; what a loss over classes is at least there is kept."""
        node = NodeChecker.check(self, levels, hurdle, *more)
        if isinstance(self.problem.loss, ClassPayments):
            self.division.space.floors.setdefault(self.division.cost, {})[levels] = node.floor
        return node

    def _failed(self, levels: Levels) -> Node | None:
        """The node, if it suppresses too much; a look is only taken where no other tells."""
        look = self.memory.look(self.division, levels)
        if look is not None and look.answers(self.problem.k):
            failed = _answered(self.division, look, levels)
            if failed is not None or look.whole:
                self.memory.hits += failed is not None
                return failed
        look = self._look(levels)
        return _answered(self.division, look, levels)

    @property
    def known(self) -> dict[Levels, float]:
        """For every evaluated node, a lower bound on the suppressed records."""
        return _known(self.problem, self.division)

    @property
    def floors(self) -> dict[Levels, float]:
        """For every evaluated node, a lower bound on the loss of it and everything coarser."""
        return _floors(self.problem, self.division)

    @property
    def many_at_once(self) -> bool:
        """True if several nodes are checked sooner together than one by one."""
        return self.counts_sizes and self._quick

    @cached_property
    def rolls_rules(self) -> bool:
        """What is remembered is told by judging class by class."""
        return False

    @property
    def _quick(self) -> bool:
        """True if the sizes of classes tell who is suppressed, and are counted without numbering the classes."""
        problem = self.problem
        few = problem.only_k and problem.k <= FEW_SIZES and len(self.tuples.blocks) == 1
        return few and _remembers(problem)

    @cached_property
    def rolled_up(self) -> RolledUp:
        """As every checker's; what it kept for other questions is found again."""
        cost = self.division.cost if isinstance(self.problem.loss, CellLoss) else ()
        key = (self.division.tuples, self.division.slices, cost, self.base)
        return self.memory.rolled_up(key, lambda: RolledUp(self.problem, self.tuples, self.digits[0]))

    def check_all(self, chosen: Sequence[Levels], hurdle: float = inf, *, later: bool = False) -> list[Node]:
        """Check several nodes; those that memory cannot tell together."""
        if not self.many_at_once:
            return [self.check(levels, hurdle) for levels in chosen]
        found = {levels: self._recalled(levels) for levels in chosen}
        unknown = [levels for levels, node in found.items() if node is None]
        self.memory.hits += len(found) - len(unknown)
        new = dict(zip(unknown, self._counted(unknown, hurdle), strict=True))
        return [found[levels] or new[levels] for levels in chosen]

    def _counted(self, chosen: Sequence[Levels], hurdle: float) -> list[Node]:
        """Check several nodes by counting their classes, and remember them."""
        if not chosen:
            return []
        problem, sizes = self.problem, np.zeros((len(chosen), FEW_SIZES + 1), dtype=np.int64)
        assert all(map(self.can_check, chosen)), "a node finer than what the tuples were joined by"
        counts = self.rolled_up.count(np.array(chosen, dtype=np.int64), problem.k, problem.limit, sizes)
        nodes = []
        for levels, sums, tally, held in zip(chosen, *counts, sizes, strict=True):
            self._keep_sizes(levels, held, int(sums[3]))
            node = problem.node_of_sizes(levels, sums, tally, hurdle) or self.completed(levels, hurdle)
            certain = hurdle == inf and node.satisfying
            nodes.append(_kept(self.memory, self.division, node, certain=certain))
        return nodes

    def _keep_sizes(self, levels: Levels, held: np.ndarray, squares: int) -> Look:
        """Remember how many classes have each size, unless that is known."""
        look = self.memory.look(self.division, levels)
        if look is None or not look.answers(self.problem.k):
            look = Look.of_histogram(held, FEW_SIZES, self.problem.rows, squares)
            self.memory.keep_look(self.division, levels, look)
        return look

    def _recalled(self, levels: Levels) -> Node | None:
        """The node, if memory tells it: that it fails, or what it is worth."""
        look = self.memory.look(self.division, levels) if _remembers(self.problem) else None
        failed = None if look is None else _answered(self.division, look, levels)
        return failed or _checked(self.memory, self.division, levels)

    def at_once(self, levels: Levels) -> bool:
        """Return whether the cache is enough to evaluate a node."""
        return not _unlike_others(self.problem) and self._recalled(levels) is not None

    def sizes(self, levels: Levels) -> Look:
        """Return the sizes of all classes, whether a rule suppresses them or not."""
        key = (self.division.of(levels)[0], ((), None, self.division.asked[-1]))
        look = self.memory.looks.get(key)
        if look is None:
            look = self._sizes(self.classes(levels))
            self.memory.keep(self.memory.looks, key, look)
        return look

    @staticmethod
    def _sizes(classes: NodeClasses) -> Look:
        held = classes.sizes > 0  # a class may have people of the population and no record
        counted, sizes = (classes.sizes if classes.persons is None else classes.persons)[held], classes.sizes[held]
        return Look.of(counted, sizes, classes=int(sizes.size), squares=int(np.dot(sizes, sizes)))

    def rebased(self, levels: Levels) -> NodeChecker:
        """As every checker; what was rebased before is found again."""
        found = self.memory.rebased((self.division.tuples, self.division.slices, levels))
        if found is None:
            made = NodeChecker.rebased(self, levels)
            found = made.tuples, made.base
            self.memory.keep_rebased((self.division.tuples, self.division.slices, levels), found)
        return replace(self, tuples=found[0], base=found[1])

    def _look(self, levels: Levels) -> Look:
        """Look at a node's classes, and remember them."""
        if self._quick:
            sizes = np.zeros((1, FEW_SIZES + 1), dtype=np.int64)
            counts = self.rolled_up.count(np.array([levels]), self.problem.k, -1, sizes)
            return self._keep_sizes(levels, sizes[0], int(counts.sizes[0, 3]))
        look = self._judged_sizes(levels)
        self.memory.keep_look(self.division, levels, look)
        return look

    def _judged_sizes(self, levels: Levels) -> Look:
        """The sizes of those classes that no rule suppresses."""
        problem, classes = self.problem, self.classes(levels)
        if not problem.rules and problem.population is None:
            return self._sizes(classes)
        counted = classes.sizes if classes.persons is None else classes.persons
        figures: dict[str, Any] = {"classes": int(np.count_nonzero(classes.sizes)), "squares": _squares(classes)}
        judged = self.judge(classes)
        by_rule = judged.gone & (counted >= problem.k)
        figures |= {"least": problem.k, "gone": int(classes.sizes[by_rule].sum())}
        figures["whole"] = judged.asked
        figures["surely"] = max(0, judged.surely - int(classes.sizes[counted < problem.k].sum()))
        return Look.of(counted[~by_rule], classes.sizes[~by_rule], **figures)


@dataclass(eq=False)
class RememberingSlices(SlicedChecker):
    """Checker of very many rows that evaluates each division of the records once."""

    memory: LookMemory = field(kw_only=True)
    division: Division = field(kw_only=True)

    @property
    def known(self) -> dict[Levels, float]:
        """For every evaluated node, a lower bound on the suppressed records."""
        return _known(self.problem, self.division)

    @cached_property
    def checker(self) -> NodeChecker:
        """For nodes where whole classes must be suppressed in addition; tuples are made once for all questions."""
        return self.memory.tuple_checker(self.problem, self.division)

    def sizes(self, levels: Levels) -> Look:
        """Return the sizes of all classes."""
        look = self.memory.look(self.division, levels)
        if look is None or not look.answers(self.problem.k):
            look = sliced_sizes(self, levels)
            self.memory.keep_look(self.division, levels, look)
        else:
            self.memory.hits += 1
        return look

    def check(self, levels: Levels, hurdle: float = inf, *more: Any) -> Node:
        """Evaluate one node, from the cache where that is enough."""
        look = self.sizes(levels)
        return _answered(self.division, look, levels) or self._satisfying(levels, look, hurdle, *more)

    def _satisfying(self, levels: Levels, look: Look, hurdle: float, *more: Any) -> Node:
        """The loss of a node that satisfies; only bounded from below where that is too much."""
        loss, small = self.problem.loss, look.small(self.problem.k)
        if isinstance(loss, CellLoss):
            least = loss.value(levels, _least_tally(loss, levels, small))
            if small and least > hurdle:
                return Node(levels, small, small, 0, True, least, settled=False)
        ask = partial(SlicedChecker.check, self, levels, hurdle, *more)
        if small == 0 and isinstance(loss, CellLoss):  # nobody is suppressed: levels alone say what is lost
            ask = partial(Node, levels, 0, 0, 0, True, loss.value(levels, None))
        return _reused(self.memory, self.division, levels, ask, certain=hurdle == inf)


def _squares(classes: NodeClasses) -> int:
    return int(np.dot(classes.sizes, classes.sizes))


def _least_tally(loss: CellLoss, levels: Levels, suppressed: int) -> np.ndarray:
    """As if every suppressed record were one whose suppression adds least."""
    out = np.zeros((len(levels), loss.width), dtype=np.int64)
    for a, level in enumerate(levels):
        out[a, int(np.argmin(loss.costs[a][level].extra))] = suppressed
    return out
