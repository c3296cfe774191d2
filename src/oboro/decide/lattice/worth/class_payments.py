"""Losses that are summed over classes: what each kept class pays depends on its size, its labels and what is in it.

- `ambiguity` (Goldberger, Tassa): a record pays how many combinations of values its labels cover, a suppressed one all of them.
- `kl` (Machanavajjhala et al.), the divergence from the original: a class of c of n records pays c/n · log₂(n · combinations / c),
  a suppressed record 1/n · log₂(n · all combinations), and once Σ p · log₂ p over the original's combinations is added.
- `classification`: records whose `target` is not the most frequent one of their class pay 1/n; all, where two are; a
  suppressed record too.
- `payout` (Wan et al. 2015): a record pays its benefit, less what its publisher earns with it; a suppressed one all of it.

A suppressed record never pays less than a kept one, so suppressing more never loses less. Merging classes never loses less either,
but for ties (`classification`) and fear of an attack (`payout`), which the lower bound leaves out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from math import fsum, log2
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from oboro.decide.lattice.worth.market import Market
from oboro.table.dataset import Column
from oboro.table.groups import Groups
from oboro.table.hierarchy import Hierarchy
from oboro.table.hierarchy.levels import text_array

if TYPE_CHECKING:
    from oboro.decide.lattice.judged_classes import NodeClasses
    from oboro.decide.lattice.node_check import NodeChecker
    from oboro.decide.lattice.objective import PaymentName
    from oboro.table.hierarchy.levels import Level

__all__ = ["ClassEarnings", "ClassPayments", "label_leaves", "lost_detail"]


@dataclass(frozen=True, eq=False)
class ClassPayments:
    """A loss that every class pays a part of."""

    name: PaymentName
    rows: int
    leaves: tuple[tuple[np.ndarray, ...], ...]
    """For each attribute and level, how many values of the domain each label covers."""
    domains: tuple[int, ...]
    """How many values each attribute's domain has."""
    constant: float = 0.0
    target: np.ndarray | None = None
    """What is to be predicted: a code for each record."""
    market: Market | None = None
    key: str = ""
    """Tells apart what another target or other labels would pay."""

    by_cells = False

    def fold(self, loss: float) -> float:
        """From a loss to where it stands among the bounds: there."""
        return loss

    def unfold(self, folded: float) -> float:
        """The loss that stands there among the bounds."""
        return folded

    def floor(self, classes: int, squares: int) -> float:
        """What is known from sizes alone: nothing."""
        return 0.0

    def total(self, paid: np.ndarray, suppressed: int) -> float:
        """The loss where kept classes pay so much and so many records are suppressed. Exact sums: order changes nothing."""
        return max(0.0, fsum([self.constant, *paid.tolist(), suppressed * self.of_suppressed]))

    @property
    def of_suppressed(self) -> float:
        """What a suppressed record pays."""
        if self.name == "ambiguity":
            return float(np.prod(np.array(self.domains, dtype=np.float64)))
        if self.name == "kl":
            return (log2(max(self.rows, 1)) + self._all_bits) / max(self.rows, 1)
        if self.name == "classification":
            return 1 / max(self.rows, 1)
        assert self.market is not None
        return self.market.benefit

    @property
    def _all_bits(self) -> float:
        return fsum(log2(domain) for domain in self.domains)

    def paid(self, checker: NodeChecker, classes: NodeClasses) -> np.ndarray:
        """What each class pays if it is kept. O(tuples + classes · attributes)."""
        return self._paid(checker, classes, least=False)

    def of_node(self, checker: NodeChecker, classes: NodeClasses) -> float:
        """What a node loses with those suppressed who are."""
        kept = ~classes.gone & (classes.sizes > 0)
        return self.total(self.paid(checker, classes)[kept], int(classes.sizes[classes.gone].sum()))

    def least(self, checker: NodeChecker, classes: NodeClasses) -> float:
        """A lower bound for the node and everything coarser: nothing suppressed, ties broken, no attack."""
        filled = classes.sizes > 0
        return self.total(self._paid(checker, classes, least=True)[filled], 0)

    def _paid(self, checker: NodeChecker, classes: NodeClasses, *, least: bool) -> np.ndarray:
        sizes = classes.sizes.astype(np.float64)
        if self.name == "classification":
            return _wrong(checker, classes, ties=not least) / max(self.rows, 1)
        covered = _covered(self.leaves, checker, classes)
        if self.name == "ambiguity":
            return np.asarray(sizes * covered.prod(axis=1))
        if self.name == "kl":
            bits = np.log2(covered).sum(axis=1)
            some = np.where(sizes > 0, sizes, 1.0)
            return np.asarray(sizes / max(self.rows, 1) * (log2(max(self.rows, 1)) + bits - np.log2(some)))
        assert self.market is not None
        lost = lost_detail(covered, self.domains)
        if least:
            return np.asarray(sizes * self.market.benefit * lost)
        return np.asarray(sizes * (self.market.benefit - self.market.payout(lost, _chance(classes, self.market))))

    @staticmethod
    def of(
        name: PaymentName,
        columns: Sequence[Column],
        hierarchies: Sequence[Hierarchy],
        target: Column | None = None,
        market: Market | None = None,
    ) -> ClassPayments:
        """The loss of that name for these columns."""
        rows = len(columns[0]) if columns else 0
        leaves = tuple(tuple(label_leaves(one, i) for i in range(len(one.levels))) for one in hierarchies)
        domains = tuple(_domain(one) for one in hierarchies)
        constant = 0.0
        if name == "kl" and rows:
            sizes = np.sort(Groups.of(list(columns), rows).sizes) / rows
            constant = fsum(sizes * np.log2(sizes))
        codes = None if target is None else target.codes.astype(np.int64)
        parts = [part for one in leaves for part in one] + ([] if codes is None else [codes])
        mixed = blake2b(digest_size=16)
        for part in parts:
            mixed.update(np.ascontiguousarray(part).tobytes())
        return ClassPayments(name, rows, leaves, domains, constant, codes, market, f"{mixed.hexdigest()} {market}")


@dataclass(frozen=True, eq=False)
class ClassEarnings:
    """What the publisher earns with a record of each class."""

    market: Market
    leaves: tuple[tuple[np.ndarray, ...], ...]
    domains: tuple[int, ...]

    @staticmethod
    def of(market: Market, hierarchies: Sequence[Hierarchy]) -> ClassEarnings:
        """For columns with these hierarchies."""
        leaves = tuple(tuple(label_leaves(one, i) for i in range(len(one.levels))) for one in hierarchies)
        return ClassEarnings(market, leaves, tuple(_domain(one) for one in hierarchies))

    def of_classes(self, checker: NodeChecker, classes: NodeClasses) -> np.ndarray:
        """For each class; a class without a record has nobody to recognise."""
        lost = lost_detail(_covered(self.leaves, checker, classes), self.domains)
        found = self.market.payout(lost, _chance(classes, self.market))
        return np.where(classes.sizes > 0, found, np.inf)


def _covered(leaves: tuple[tuple[np.ndarray, ...], ...], checker: NodeChecker, classes: NodeClasses) -> np.ndarray:
    """For each class and attribute, how many values its label covers."""
    labels = checker.labels_of(classes, np.arange(classes.sizes.size))
    parts = [leaves[a][level][labels[:, a]] for a, level in enumerate(classes.levels)]
    return np.stack(parts, axis=1).astype(np.float64)


def label_leaves(hierarchy: Hierarchy, i: int) -> np.ndarray:
    """How many values of the domain each label of a level covers, values that the table lacks included."""
    level, known = hierarchy.levels[i], (hierarchy.whole or hierarchy).levels[i]
    leaves = np.bincount(known.table, minlength=max(len(known.labels), 1))  # none: every value is missing
    if hierarchy.whole is None:
        return np.maximum(leaves, 1)
    found = _listed(level, known)
    finest = hierarchy.levels[0]
    unlisted = _listed(finest, hierarchy.whole.levels[0])[finest.table] < 0
    more = np.bincount(level.table[unlisted], minlength=len(level.labels))  # such as a missing one: each is one value
    return np.maximum(np.where(found >= 0, leaves[found], 0) + more, 1)


def _listed(level: Level, known: Level) -> np.ndarray:
    """For each label of a level its place among those that are known; -1 where it is none of them."""
    place = pc.index_in(text_array(level.labels), value_set=text_array(known.labels)).fill_null(-1)
    return np.asarray(place.to_numpy(zero_copy_only=False))


def lost_detail(covered: np.ndarray, domains: Sequence[int]) -> np.ndarray:
    """Which share of the bits of a record is lost where each of its labels covers so many values (classes × attributes)."""
    whole = fsum(log2(domain) for domain in domains)
    bits = np.log2(covered).sum(axis=1)
    # To twelve digits: all of the bits are all of them, whatever the order of adding logarithms.
    return np.clip(np.round(bits / whole, 12), 0.0, 1.0) if whole > 0 else np.zeros(len(covered))


def _domain(hierarchy: Hierarchy) -> int:
    """How many values there are: those of the list, and those of the table that are in no list."""
    known = (hierarchy.whole or hierarchy).levels[0]
    more = 0 if hierarchy.whole is None else int((_listed(hierarchy.levels[0], known) < 0).sum())
    return max(1, int(known.table.size) + more)


def _chance(classes: NodeClasses, market: Market) -> np.ndarray:
    """How likely somebody in each class is recognised."""
    counted = classes.people if market.journalist and classes.people is not None else classes.sizes
    return np.asarray(1 / np.maximum(np.where(counted > 0, counted, classes.sizes), 1))


def _wrong(checker: NodeChecker, classes: NodeClasses, *, ties: bool) -> np.ndarray:
    """How many records of each class do not have its most frequent target; with ties, all where no target is the most frequent."""
    target, weights = checker.tuples.secrets[-1].astype(np.int64), checker.tuples.weights
    width = int(target.max(initial=0)) + 1
    pairs, which = np.unique(classes.labels.astype(np.int64) * width + target, return_inverse=True)
    counts = np.bincount(which.ravel(), weights=weights, minlength=pairs.size).astype(np.int64)
    of, top = pairs // width, np.zeros(classes.sizes.size, dtype=np.int64)
    np.maximum.at(top, of, counts)
    wrong = classes.sizes - top
    if ties:
        tops = np.bincount(of[(counts == top[of]) & (counts > 0)], minlength=top.size)
        wrong = np.where(tops > 1, classes.sizes, wrong)
    return np.asarray(wrong, dtype=np.float64)
