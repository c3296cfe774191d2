"""Problem of global recoding: requirements, hierarchies and objective function, with the result of an evaluated node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from math import inf, log, prod
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oboro.algorithms.lattice.constraints import Rule
from oboro.algorithms.lattice.kernels import nodes
from oboro.algorithms.lattice.losses import CellLoss, ClassLoss, Loss
from oboro.algorithms.lattice.nodes import Lattice, Levels
from oboro.data.column import Column
from oboro.hierarchies.hierarchy import Hierarchy
from oboro.notations.texts import texts_of

if TYPE_CHECKING:
    from oboro.algorithms.lattice.constraints import Population
    from oboro.algorithms.lattice.losses import ClassEarnings
    from oboro.algorithms.lattice.suppression import SizeLimit

__all__ = ["WRONG_BY", "Node", "NodeClasses", "Problem"]


# Classes of a node ----------------------------------------------------------------------------------------------------
# Classes of one node of the lattice: the class of each tuple, and the suppressed classes.


@dataclass(frozen=True, eq=False)
class NodeClasses:
    """Classes of one node: the class of each tuple, the records of each class, and the suppressed classes.

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
        """Amount suppressed, as the limit counts it: records, or people where these are suppressed with all their
        records.
        """
        return int(self.sizes[self.gone].sum()) + self.thinned if self.leaving is None else self.people_gone

    @property
    def out(self) -> np.ndarray:
        """Mask of the suppressed tuples."""
        return np.asarray(self.gone[self.labels]) if self.leaving is None else self.leaving

    @cached_property
    def members(self) -> tuple[np.ndarray, np.ndarray]:
        """Tuples class by class, and the start of each class (one more entry at the end)."""
        counts = np.bincount(self.labels, minlength=self.sizes.size)
        starts = np.concatenate([[0], np.cumsum(counts)])
        order = np.empty(self.labels.size, dtype=np.int64)
        nodes.order_by_class(self.labels, starts[:-1].copy(), order)
        return order, starts


# Problem --------------------------------------------------------------------------------------------------------------


WRONG_BY = 1e-9  # what bounds that were added up in another order differ by at most
FINE = 1 << 20  # parts of a natural unit of information that are told apart, for each record
MANY_LABELS = 1 << 12  # from which on their counts are counted
MANY_ROWS = 400_000  # below, checking distinct tuples is at least as fast as reading rows in slices


@dataclass(frozen=True)
class Node:
    """Result of evaluating one node."""

    levels: Levels
    suppressed: int
    """Records of classes that break a rule (where that is too many, at least so many)."""
    surely: int
    """At least how many go in this node and in every finer one."""
    extra: int
    """Records suppressed in addition, so that the suppressed records keep the rules as a class of their own."""
    satisfying: bool
    """No more records break a rule than may be suppressed."""
    loss: float
    """Infinite where the node cannot be released."""
    floor: float = -inf
    """A lower bound on the loss of this node and of everything coarser (−inf: none beyond what levels tell)."""
    settled: bool = True
    """Whether `loss` is the loss; otherwise it is a lower bound that was enough to know that others are better."""
    least: float = field(default=-inf, compare=False)
    """Where the best classes to join the suppressed were not found for certain: what the node loses at least; else −inf."""
    open: bool = field(default=False, compare=False)
    """Whether it was left for later which classes join the suppressed; `least` is then what it loses if none does."""
    joined: tuple[Levels, ...] = field(default=(), compare=False, repr=False)
    """The classes that joined the suppressed, by the numbers of their labels."""

    @property
    def feasible(self) -> bool:
        """True if the node can be released within the limit, extra suppression included."""
        return self.loss < inf

    @property
    def rank(self) -> tuple[float, Levels]:
        """Sort key, smaller is better: the loss, and among equal losses the lexicographically smaller levels."""
        return (round(self.loss, 12), self.levels)


@dataclass(frozen=True, eq=False)
class Problem:
    """Choice of a transformation, given the requirements on a class, the suppression limit, and the objective function."""

    columns: tuple[Column, ...]
    hierarchies: tuple[Hierarchy, ...]
    k: int
    limit: int
    rules: tuple[Rule, ...]
    loss: Loss
    population: Population | None = None
    """Whom the table was drawn from, if classes must keep something with regard to them."""
    most_classes: int | None = None
    """How many classes the release may have, the suppressed records being one (average risk); at least 1."""
    kept_risk: float | None = None
    """How many classes a record there may be among those who are not suppressed (average risk)."""
    class_sizes: tuple[SizeLimit, ...] = ()
    """Limits on the sizes of all classes together: records at risk, estimates of uniqueness."""
    earnings: ClassEarnings | None = None
    """What every kept class must earn something of, if that is asked; the suppressed must cost nothing."""
    person: Column | None = None
    """Whose each record is, if classes must hold k different people and rules count people."""
    whole_people: bool = False
    """Whether everybody is suppressed with all their records or not at all; then `limit` counts people."""
    relaxed: bool = False
    """The suppressed records need not be a safe class themselves: they are left out, or exempt, or it is for a bound."""
    _text_ranks: dict[tuple[int, int], np.ndarray] = field(init=False, default_factory=dict, repr=False)

    @cached_property
    def rows(self) -> int:
        """Number of records."""
        return len(self.columns[0])

    @cached_property
    def people(self) -> int:
        """Number of people; without `person` every record is one."""
        return self.rows if self.person is None else int(np.count_nonzero(self.person.counts))

    @cached_property
    def lattice(self) -> Lattice:
        """Every choice of levels."""
        return Lattice(tuple(map(attrgetter("height"), self.hierarchies)))

    @cached_property
    def monotone(self) -> bool:
        """True if a coarser node satisfies what a finer one does: all rules are strong, or nothing may be suppressed.

        Few classes are asked for on the whole, not of each; that is strong: what a finer node suppresses for it can be
        suppressed in the coarser one too, which then has no more classes.
        """
        strong = not self.strong_first[1] and (self.population is None or self.population.strong)
        if self.earnings is not None:  # coarser labels earn less
            return False
        return strong or (self.limit == 0 and self.joinable)

    @cached_property
    def strong_first(self) -> tuple[list[int], list[int]]:
        """The places of the strong rules, and of the others."""
        split: tuple[list[int], list[int]] = ([], [])
        for i, rule in enumerate(self.rules):
            split[not rule.strong].append(i)
        return split

    @cached_property
    def joinable(self) -> bool:
        """True if good classes stay good when they are joined: then above a node without suppression there is none."""
        if self.earnings is not None:
            return False
        return (self.population is None or self.population.joinable) and all(map(attrgetter("joinable"), self.rules))

    @cached_property
    def least_loss(self) -> float:
        """No loss is below this: ARX's geometric mean with weights is below 0 where little is lost, all others are not."""
        return self.loss.scale - 1 if isinstance(self.loss, CellLoss) and self.loss.geometric else 0.0

    @cached_property
    def secrets(self) -> list[np.ndarray]:
        """Codes that separate tuples beside their values: the codes of every rule, and last those of the predicted
        attribute.
        """
        target = getattr(self.loss, "target", None)
        return [*map(attrgetter("codes"), self.rules), *([] if target is None else [target])]

    @cached_property
    def least_suppressed(self) -> int:
        """Least number of suppressed records, or people, if there are any."""
        return self.k if self.earnings is None else max(self.k, self.earnings.market.least_suppressed)

    @cached_property
    def only_k(self) -> bool:
        """True if nothing but a class's size decides."""
        plain = self.population is None and self.person is None and self.earnings is None
        return plain and not self.rules and not self.class_sizes

    @cached_property
    def only_rules(self) -> bool:
        """True if nothing but a class's size and rules about its records' sensitive values decides."""
        plain = self.population is None and self.person is None and self.earnings is None
        few = self.most_classes is not None or self.kept_risk is not None or bool(self.class_sizes)
        return plain and bool(self.rules) and not few

    @cached_property
    def sliced(self) -> bool:
        """True if nodes are checked by reading all rows, in slices: there are very many, and nothing but k is asked
        for.
        """
        if self.rows < MANY_ROWS or not self.only_k or self.most_classes is not None or self.kept_risk is not None:
            return False
        return prod(len(hierarchy.levels[0].labels) for hierarchy in self.hierarchies) < 1 << 62

    @cached_property
    def label_counts(self) -> tuple[list[np.ndarray], ...]:
        """For each attribute and level, the number of records with each label."""
        return tuple(map(Hierarchy.label_counts, self.hierarchies, self.columns))

    @cached_property
    def entropies(self) -> tuple[np.ndarray, ...]:
        """For each attribute, the entropy of its labels on each level."""
        return _entropies(self.label_counts, self.rows)

    def text_ranks(self, a: int, level: int) -> np.ndarray:
        """For each code of an attribute, the place of its label among the level's labels in the order of their text."""
        return np.asarray(self.label_ranks(a, level)[self.hierarchies[a].levels[level].table])

    def label_ranks(self, a: int, level: int) -> np.ndarray:
        """The place of each label of a level in the order of their text."""
        if (a, level) not in self._text_ranks:
            texts = pa.array(texts_of(self.hierarchies[a].levels[level].labels), pa.string())
            place = np.empty(len(texts), dtype=np.int64)
            place[pc.array_sort_indices(texts, null_placement="at_start")] = np.arange(len(texts))
            self._text_ranks[a, level] = place
        return self._text_ranks[a, level]

    def too_many(self, classes: int, suppressed: int) -> bool:
        """Return whether so many classes, beside so many suppressed records, are more than the mean risk allows."""
        most, left = self.most_classes, self.rows - suppressed
        if most is not None and not self.relaxed and classes + (suppressed > 0) > most:
            return True
        return self.kept_risk is not None and left > 0 and classes / left > self.kept_risk

    def node_of_sizes(self, levels: Levels, sums: np.ndarray, tally: np.ndarray, hurdle: float = inf) -> Node | None:
        """Return a node where classes need only be large enough, from `NodeChecker.survey`; None if good ones must be
        suppressed in addition. Of a node that cannot lose less than `hurdle`, the loss is only bounded.
        """
        loss = self.loss
        assert isinstance(loss, CellLoss | ClassLoss), "others look into classes"
        suppressed, classes, kept, squares, kept_squares, smallest = sums.tolist()
        floor = -inf if isinstance(loss, CellLoss) else loss.floor(classes, squares)
        if suppressed > self.limit:
            return Node(levels, suppressed, suppressed, 0, False, inf, floor)
        if self.too_many(kept, suppressed):
            return None
        if 0 < suppressed < self.k and not self.relaxed:
            lost = kept == 0 or suppressed + smallest > self.limit
            return Node(levels, suppressed, suppressed, 0, True, inf, floor) if lost else None
        if isinstance(loss, CellLoss) and (least := self._least_lost(levels, suppressed)) > loss.fold(hurdle):
            return Node(levels, suppressed, suppressed, 0, True, loss.unfold(least), floor, settled=False)
        by_class = loss.value(kept, kept_squares, suppressed) if isinstance(loss, ClassLoss) else 0.0
        value = loss.value(levels, tally if suppressed else None) if isinstance(loss, CellLoss) else by_class
        return Node(levels, suppressed, suppressed, 0, True, value, floor)

    def node_of_verdicts(self, levels: Levels, sums: np.ndarray, tally: np.ndarray, hurdle: float = inf) -> Node | None:
        """Return a node from the results of `judge_nodes`; None if logarithms do not tell. It is open if good classes
        must be suppressed in addition, and what it loses without them is not above `hurdle`. Above, the loss is only
        bounded.
        """
        from oboro.algorithms.lattice.kernels.attributes import FAILS, OPEN

        loss = self.loss
        assert isinstance(loss, CellLoss | ClassLoss), "others look into classes"
        how, suppressed, surely, classes, kept, squares, kept_squares, safe = sums.tolist()
        floor = -inf if isinstance(loss, CellLoss) else loss.floor(classes, squares)
        if how == OPEN:
            return None
        if how == FAILS or suppressed > self.limit:
            return Node(levels, suppressed, surely, 0, False, inf, floor)
        settled = True
        if isinstance(loss, ClassLoss):
            lost = loss.value(kept, kept_squares, suppressed)
        elif (least := self._least_lost(levels, suppressed)) > loss.fold(hurdle):
            lost, settled = loss.unfold(least), False
        else:
            lost = loss.value(levels, tally if suppressed else None)
        if safe:
            return Node(levels, suppressed, surely, 0, True, lost, floor, settled)
        return Node(levels, suppressed, surely, 0, True, inf, floor, least=lost, open=lost <= hurdle)

    @cached_property
    def _bounds(self) -> tuple[list[list[float]], list[list[float]]]:
        """What a level loses at least, and what each suppressed record adds to it, as the loss folds them."""
        assert isinstance(self.loss, CellLoss)
        bases, slopes = self.loss.bounds(max(self.limit, 0))
        return [one.tolist() for one in bases], [one.tolist() for one in slopes]

    @cached_property
    def _level_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """The same of all levels, attribute after attribute, and where each attribute begins."""
        bounds = self._bounds
        return np.array(list(map(list, map(chain.from_iterable, bounds)))).T, np.cumsum([0, *map(len, bounds[0][:-1])])

    def least_lost(self, nodes: np.ndarray) -> np.ndarray:
        """Lower bound on the loss of each of some nodes by its levels, and with each suppressed record, as the loss
        folds it.
        """
        lost, first = self._level_bounds
        return np.asarray(lost[first + nodes].sum(axis=1))

    def _least_lost(self, levels: Levels, suppressed: int) -> float:
        """Lower bound on the loss of a node with so many suppressed, as the loss folds it."""
        bases, slopes = self._bounds
        base = sum(one[level] for one, level in zip(bases, levels, strict=True))
        return base + suppressed * sum(one[level] for one, level in zip(slopes, levels, strict=True))


def _entropies(ladders: Sequence[Sequence[np.ndarray]], rows: int) -> tuple[np.ndarray, ...]:
    """From how often each label occurs, on each level of each attribute; what is added up is rounded to whole numbers, so that the
    order of the labels, which is that of the rows, changes nothing."""
    if not rows:
        return tuple(np.zeros(len(ladder)) for ladder in ladders)
    held, times = zip(*map(_by_size, chain.from_iterable(ladders)), strict=True)
    sizes, begins = np.concatenate(held), np.cumsum([0, *map(len, held[:-1])])
    bits = np.rint(sizes * np.log(np.maximum(sizes, 1)) * FINE).astype(np.int64) * np.concatenate(times)
    found = (log(rows) - np.add.reduceat(bits, begins) / (FINE * rows)).round(6)
    found = np.maximum(found, 0.0)  # exactly, where all records are alike
    return tuple(np.split(found, np.cumsum([len(ladder) for ladder in ladders[:-1]])))


def _by_size(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Counts and how often each occurs: very many labels have few different ones."""
    if counts.size < MANY_LABELS or int(counts.max()) > counts.size:
        return counts, np.ones(counts.size, dtype=np.int64)
    times = np.bincount(counts)
    return np.arange(times.size), times
