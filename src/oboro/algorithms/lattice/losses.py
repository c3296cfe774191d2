"""Information loss of a generalization: the objective functions of the search, and lower bounds on them for nodes that
are not evaluated yet.

| name | what it counts | range |
|---|---|---|
| `loss` | mean over cells of the share of the domain that the label covers (NCP); suppressed: all | 0 … 1 |
| `precision` | mean over cells of level / height; a suppressed cell counts as the top | 0 … 1 |
| `entropy` | non-uniform entropy: bits lost, log₂(records of the label / of the value), as a share of all | 0 … 1 |
| `arx_entropy` | as ARX counts non-uniform entropy: generalization of all records, and the entropy of the suppressed
labels | ≥ 0 |
| `arx_bits` | the same in bits, not as a share (ARX's plain non-uniform entropy), summed over attributes | ≥ 0 |
| `height` | sum of the levels; suppression costs nothing | ≥ 0 |
| `arx` | ARX's Loss: share of leaves beyond the first, geometric mean over attributes of 1 + it, minus 1 | 0 … 1 |
| `discernibility` | each record pays its class's size, a suppressed one the table's size | records … records² |
| `average_class_size` | records / classes / k; the suppressed records are one class | ≥ 1 / k |

Four more are summed over classes (`class_payments`): `ambiguity`, `kl`, `classification` and `payout`.

All but the last two look at cells (attribute weights count), the last two at classes. What the attributes lose is put
together by an *aggregate*: mean, sum, max, geometric or rank (the greatest part decides, among equals the next one,
and so on: `rank_search`). Weights add up to 1 in a mean of `loss`, `precision` and `entropy`; those named after ARX,
and `height`, take them as ARX does: over the greatest, and the geometric mean is that of (1 + part) · weight, minus 1
(so there they change the value, not which levels are the best). A *factor* of 0 … 1 weighs generalization against
suppression as ARX's does: below 0.5 suppression costs less, above 0.5 generalization does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from hashlib import blake2b
from itertools import chain
from math import exp, fsum, log, log2
from operator import attrgetter, mul
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oboro.data.column import Column
from oboro.data.grouping import Groups
from oboro.hierarchies.hierarchy import Hierarchy, Level, text_array
from oboro.notations.texts import texts_of
from oboro.privacy.economics import Market
from oboro.system.process import on_cores

if TYPE_CHECKING:
    from oboro.algorithms.lattice.evaluator import NodeChecker
    from oboro.algorithms.lattice.problem import NodeClasses

__all__ = [
    "CellLoss",
    "ClassEarnings",
    "ClassLoss",
    "ClassPayments",
    "Loss",
    "LossName",
    "PaymentName",
    "label_leaves",
    "loss_of",
    "lost_detail",
]


CellName = Literal[
    "loss", "precision", "discernibility", "average_class_size", "entropy", "arx", "arx_entropy", "arx_bits", "height"
]
PaymentName = Literal["ambiguity", "kl", "classification", "payout"]
LossName = CellName | PaymentName
Aggregate = Literal["mean", "geometric", "sum", "max", "rank"]
AS_ARX = ("arx", "arx_entropy", "arx_bits", "height")  # these weigh attributes as ARX does
SAME = 1e-12  # parts closer than this are equal
BEYOND = 1e300  # loses more than what is agreed on already; finite, for it is subtracted from


@dataclass(frozen=True, eq=False)
class LevelCost:
    """Loss of one attribute at one level.

    `base` is paid without any suppression; suppressing a record adds one of few amounts: `extra[steps[label]]` for its
    label. Everything is a share of what suppressing the whole column costs, except `extra`, which is that times the
    records.
    """

    base: float
    level: Level
    steps: np.ndarray
    extra: np.ndarray
    bits: float = 0.0
    """Not 0: suppressed records pay the entropy of their labels on this level, times this; then a step is a label."""

    @cached_property
    def step(self) -> np.ndarray:
        """For each code which amount it adds; there may be very many codes, and not every level is looked at."""
        return np.asarray(self.steps[self.level.table])

    @staticmethod
    def of(level: Level, counts: np.ndarray, cost: np.ndarray, rows: int, factor: float = 0.5) -> LevelCost:
        """Build it from what a record pays for each label: its part of what a suppressed one pays. Equal costs are
        added as counts (whole numbers), so that the order of the labels, which is that of the rows, changes nothing.
        """
        alike = cost.size > 0 and bool((cost == cost[0]).all())
        found = (cost[:1], np.zeros(cost.size, dtype=np.int64)) if alike else np.unique(cost, return_inverse=True)
        amounts, step = found[0].astype(np.float64), found[1].ravel()
        kept = amounts if factor <= 0.5 else amounts * (1 - 2 * (factor - 0.5))
        gone = 1.0 - kept if factor >= 0.5 else 2 * factor * (1.0 - amounts)
        held = np.bincount(step, weights=counts, minlength=amounts.size) if not alike else float(counts.sum())
        whole = max(rows, 1)
        return LevelCost(fsum(kept * held) / whole, level, step, gone / whole)

    def of_suppressed(self, counts: np.ndarray) -> float:
        """Return the loss that so many suppressed records of each step add."""
        if not self.bits:
            steps = min(counts.size, self.extra.size)  # counts may end before the last step that was suppressed
            return fsum(counts[:steps] * self.extra[:steps])
        some = np.sort(counts[counts > 0]).astype(np.float64)
        total = float(some.sum())
        return 0.0 if total == 0 else max(0.0, self.bits * (total * log2(total) - fsum(some * np.log2(some))))


@dataclass(frozen=True, eq=False)
class CellLoss:
    """Loss that is summed over cells, attribute by attribute, then averaged over the attributes by weight."""

    name: str
    weights: np.ndarray
    costs: tuple[tuple[LevelCost, ...], ...]
    geometric: bool = False
    scale: float = 1.0
    """What the geometric mean is multiplied by."""
    largest: bool = False
    """Whether the attribute that loses most decides alone."""
    ranked: bool = False
    """Whether among equals the next one decides, and so on."""
    agreed: tuple[float, ...] = ()
    """What the attributes that lose most may lose, the greatest first; what comes next is the loss."""

    by_cells = True

    def value(self, levels: Sequence[int], suppressed: np.ndarray | None) -> float:
        """Return the loss of a node; `suppressed[a, step]` counts the suppressed records by what they add.

        Exact sums (fsum) of order-free integers: the last bit does not depend on the order of the rows.
        """
        return self.mean(self.parts(levels, suppressed))

    def parts(self, levels: Sequence[int], suppressed: np.ndarray | None) -> list[float]:
        """Return the loss of each attribute."""
        parts = []
        for a, level in enumerate(levels):
            one = self.costs[a][level]
            gone = 0.0 if suppressed is None else one.of_suppressed(suppressed[a])
            parts.append(one.base + gone)
        return parts

    def mean(self, parts: Sequence[float]) -> float:
        """Return the loss of a table from the losses of the attributes."""
        if self.geometric:
            return self.scale * exp(fsum(w * log(1 + part) for w, part in zip(self.weights, parts, strict=True))) - 1
        if self.largest:
            return self._next_greatest(parts)
        return fsum(map(mul, self.weights, parts))

    def ranks(self, parts: Sequence[float]) -> list[float]:
        """Return the losses of the attributes by their weights, the greatest first."""
        return sorted((float(w * part) for w, part in zip(self.weights, parts, strict=True)), reverse=True)

    def _next_greatest(self, parts: Sequence[float]) -> float:
        ranks = self.ranks(parts)
        if any(part > most + SAME for part, most in zip(ranks, self.agreed, strict=False)):
            return BEYOND
        return ranks[len(self.agreed)]

    def bounds(self, limit: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return per attribute and level the parts (P, Q) of a lower bound: with s ≤ `limit` records suppressed a node
        loses at least ΣP + s · ΣQ, as `fold` counts.

        Each suppressed record adds at least the least `extra`. For the geometric mean, log(1 + b + q·s) is concave in
        s, so its chord from 0 to the limit lies below it.
        """
        bases, slopes = [], []
        # The greatest of some numbers is at least their mean; what is agreed on for greater ones is left out of it.
        parts = len(self.costs) - len(self.agreed) if self.largest else 1
        spared = fsum(self.agreed) / max(len(self.costs), 1)
        for weight, costs in zip(self.weights, self.costs, strict=True):
            base = np.array([one.base for one in costs])
            least = np.array([one.extra.min(initial=np.inf) for one in costs])
            least = np.where(np.isfinite(least), least, 0.0)
            if self.geometric:
                top = max(limit, 1)
                least = (np.log1p(base + least * top) - np.log1p(base)) / top
                base = np.log1p(base)
            too_much = weight * base > self.agreed[0] + SAME if self.agreed else np.zeros(base.size, dtype=bool)
            bases.append(np.where(too_much, BEYOND, (weight * base - spared) / parts))
            slopes.append(weight * least / parts)
        return bases, slopes

    def fold(self, loss: float) -> float:
        """Convert a loss to the scale of the bounds."""
        if not self.geometric:
            return loss
        return log(max(1 + loss, 1e-300) / self.scale) if self.scale > 0 else 0.0

    def unfold(self, folded: float) -> float:
        """Convert a number on the scale of the bounds to a loss."""
        return self.scale * exp(folded) - 1 if self.geometric else folded

    def slopes(self, levels: Sequence[int], suppressed: np.ndarray, more: int) -> np.ndarray:
        """Return per attribute a lower bound on the growth of the loss, as `fold` counts, by what further suppressed
        records add to it.

        For the geometric mean, log(1 + part) is concave, so its chord to the greatest part that `more` records can make lies
        below it.
        """
        if not self.geometric:
            return np.zeros(len(levels)) if self.largest else self.weights
        out = np.empty(len(levels))
        for a, part in enumerate(self.parts(levels, suppressed)):
            reach = more * float(self.costs[a][levels[a]].extra.max(initial=0.0))
            out[a] = self.weights[a] * (log((1 + part + reach) / (1 + part)) / reach if reach > 0 else 1 / (1 + part))
        return out

    @cached_property
    def width(self) -> int:
        """The most amounts that an attribute can add."""
        return max(map(attrgetter("extra.size"), chain.from_iterable(self.costs)), default=1)


@dataclass(frozen=True)
class ClassLoss:
    """Loss that depends on the sizes of the classes."""

    name: str
    rows: int
    k: int

    by_cells = False

    def value(self, classes: int, squares: int, suppressed: int) -> float:
        """Return the loss of a node from its kept classes: how many, and the sum of their squared sizes (exact
        integers).
        """
        if self.name == "discernibility":
            return float(squares + self.rows * suppressed)
        return self.rows / max(classes + (suppressed > 0), 1) / self.k

    def fold(self, loss: float) -> float:
        """Convert a loss to the scale of the bounds: the same number."""
        return loss

    def unfold(self, folded: float) -> float:
        """Convert a number on the scale of the bounds to a loss: the same number."""
        return folded

    def added(self, sizes: np.ndarray, classes: int) -> np.ndarray:
        """Lower bound on the loss added by suppressing further classes of these sizes, where so many are left and some
        record is suppressed.

        The mean size is convex in how many classes go, so each adds at least as much as the first.
        """
        if self.name == "discernibility":
            return np.asarray(self.rows * sizes - sizes * sizes, dtype=np.float64)
        first = self.value(classes - 1, 0, 1) - self.value(classes, 0, 1)
        return np.full(sizes.size, first)

    def floor(self, classes: int, squares: int) -> float:
        """Lower bound for a node with these classes and for every coarser one: the loss if nothing were suppressed.

        Coarser classes are unions of these: every record's class only grows, and there are never more classes.
        """
        return self.value(classes, squares, 0)


Loss: TypeAlias = "CellLoss | ClassLoss | ClassPayments"


def loss_of(
    name: LossName,
    columns: Sequence[Column],
    hierarchies: Sequence[Hierarchy],
    weights: Sequence[float],
    k: int,
    aggregate: Aggregate | None = None,
    factor: float = 0.5,
) -> Loss:
    """Return the loss of that name for these columns; `factor` weighs generalization against suppression.

    What classes pay needs more than columns: `ClassPayments.of`.
    """
    rows = len(columns[0]) if columns else 0
    if name in ("discernibility", "average_class_size"):
        return ClassLoss(name, rows, k)
    pay = PAYMENTS[name]
    on_cores(attrgetter("counts"), columns, rows=rows)  # each counts once
    costs = []
    for column, hierarchy in zip(columns, hierarchies, strict=True):
        counts = hierarchy.label_counts(column)
        paid = partial(pay, hierarchy, counts=counts, rows=rows, factor=factor)
        costs.append(tuple(map(paid, range(len(counts)))))
    usual: dict[str, Aggregate] = {"arx": "geometric", "height": "sum", "arx_bits": "sum"}
    return _put_together(name, tuple(costs), np.array(weights, dtype=np.float64), aggregate or usual.get(name, "mean"))


def _put_together(
    name: str, costs: tuple[tuple[LevelCost, ...], ...], weights: np.ndarray, aggregate: Aggregate
) -> CellLoss:
    """What each attribute counts for."""
    count, arx = max(weights.size, 1), name in AS_ARX
    most = float(weights.max(initial=0.0) if arx else weights.sum() / count)
    shares = weights / most if most > 0 else np.ones(weights.size)  # all 0: all alike
    if aggregate in ("sum", "max", "rank"):
        return CellLoss(name, shares, costs, largest=aggregate != "sum", ranked=aggregate == "rank")
    if not arx or aggregate == "mean":
        return CellLoss(name, shares / count, costs, geometric=aggregate == "geometric")
    scale = float(np.prod(shares ** (1 / count)))
    exponents = np.full(weights.size, 1 / count if scale > 0 else 0.0)
    return CellLoss(name, exponents, costs, geometric=True, scale=scale)


def _pay_share(hierarchy: Hierarchy, i: int, counts: list[np.ndarray], rows: int, factor: float) -> LevelCost:
    level = hierarchy.levels[i]
    return LevelCost.of(level, counts[i], level.share, rows, factor)


def _pay_leaves(hierarchy: Hierarchy, i: int, counts: list[np.ndarray], rows: int, factor: float) -> LevelCost:
    """Charge a label of m leaves (m − 1) / (leaves of the domain − 1), values that the table lacks included.

    A missing value is a leaf, as in ARX: that of the hierarchy, or one of its own where the hierarchy lists none. A value that was
    suppressed before covers the whole domain. Where the domain has one leaf, no label loses anything.
    """
    level, whole = hierarchy.levels[i], hierarchy.whole or hierarchy
    known, missing = whole.levels[i], hierarchy.unlisted_missing
    domain = known.table.size + (missing >= 0)
    leaves = np.bincount(known.table, minlength=max(len(known.labels), 1))  # none: every value is missing
    place = (
        pc.index_in(_texts(level.labels), value_set=_texts(known.labels)).fill_null(-1).to_numpy(zero_copy_only=False)
    )
    under = leaves[place]
    if missing >= 0:
        under[level.table[missing]] += 1
    alone = level.share if domain > 1 else 0.0 * level.share
    cost = np.where(place >= 0, (np.maximum(under, 1) - 1) / max(domain - 1, 1), alone)
    return LevelCost.of(level, counts[i], cost, rows, factor)


def _texts(labels: pa.Array) -> pa.Array:
    return pa.array(texts_of(labels), pa.string())


def _pay_level(hierarchy: Hierarchy, i: int, counts: list[np.ndarray], rows: int, factor: float) -> LevelCost:
    level, cost = hierarchy.levels[i], np.full(counts[i].size, i / max(hierarchy.height, 1))
    return LevelCost.of(level, counts[i], cost, rows, factor)


def _pay_bits(hierarchy: Hierarchy, i: int, counts: list[np.ndarray], rows: int, factor: float) -> LevelCost:
    """Bits: a record with value v under label g loses log₂(|g| / |v|), a suppressed one log₂(n / |v|)."""
    level = hierarchy.levels[i]
    known = np.log2(np.maximum(counts[i], 1))
    extra = np.where(counts[i] > 0, np.log2(max(rows, 1)) - known, 0.0)
    value_bits = np.log2(np.maximum(counts[0], 1))
    spent = fsum(known * counts[i]) - fsum(value_bits * counts[0])
    whole = rows * float(np.log2(max(rows, 1))) - fsum(value_bits * counts[0])
    amounts, step = np.unique(extra, return_inverse=True)
    base = max(spent, 0.0) / whole if whole > 0 else 0.0
    kept = 1.0 if factor <= 0.5 else 1 - 2 * (factor - 0.5)
    gone = 2 * factor if factor < 0.5 else 1.0
    shares = amounts / whole if whole > 0 else 0.0 * amounts
    if kept < 1.0:  # what was lost by generalization alone counts less, and all of it again once a record is suppressed
        return LevelCost(kept * base, level, step.ravel(), shares)
    return LevelCost(base, level, step.ravel(), gone * shares)


def _pay_arx_bits(hierarchy: Hierarchy, i: int, counts: list[np.ndarray], rows: int, factor: float) -> LevelCost:
    """Bits as ARX counts them: all records pay their generalization, the suppressed ones the entropy of their labels too."""
    level, one = hierarchy.levels[i], _pay_bits(hierarchy, i, counts, rows, 0.5)
    value_bits = np.log2(np.maximum(counts[0], 1))
    whole = rows * float(np.log2(max(rows, 1))) - fsum(value_bits * counts[0])
    kept, gone = 1.0 if factor <= 0.5 else 1 - 2 * (factor - 0.5), 2 * factor if factor < 0.5 else 1.0
    labels = len(level.labels)
    return LevelCost(kept * one.base, level, np.arange(labels), np.zeros(labels), gone / whole if whole > 0 else 0.0)


def _pay_plain_bits(hierarchy: Hierarchy, i: int, counts: list[np.ndarray], rows: int, factor: float) -> LevelCost:
    """The same, not as a share of all bits."""
    one = _pay_arx_bits(hierarchy, i, counts, rows, factor)
    whole = rows * float(np.log2(max(rows, 1))) - fsum(np.log2(np.maximum(counts[0], 1)) * counts[0])
    return replace(one, base=one.base * whole, bits=one.bits * whole)


def _pay_steps(hierarchy: Hierarchy, i: int, counts: list[np.ndarray], rows: int, factor: float) -> LevelCost:
    """The level itself; suppression costs nothing."""
    level = hierarchy.levels[i]
    return LevelCost(float(i), level, np.zeros(len(level.labels), dtype=np.int64), np.zeros(1))


PAYMENTS = {
    "loss": _pay_share,
    "arx": _pay_leaves,
    "precision": _pay_level,
    "entropy": _pay_bits,
    "arx_entropy": _pay_arx_bits,
    "arx_bits": _pay_plain_bits,
    "height": _pay_steps,
}


# Losses summed over classes -------------------------------------------------------------------------------------------
# Losses that are summed over classes: what each kept class pays depends on its size, its labels and its values.
# - `ambiguity` (Goldberger, Tassa): a record pays the number of combinations of values that its labels cover, a
#   suppressed one all of them.
# - `kl` (Machanavajjhala et al.), the divergence from the original: a class of c of n records pays c/n · log₂(n ·
#   combinations / c), a suppressed record 1/n · log₂(n · all combinations), and once Σ p · log₂ p over the original's
#   combinations is added.
# - `classification`: records whose `target` is not the most frequent one of their class pay 1/n; all, where two are; a
#   suppressed record too.
# - `payout` (Wan et al. 2015): a record pays its benefit, less what its publisher earns with it; a suppressed one all
#   of it.
#
# A suppressed record never pays less than a kept one, so suppressing more never loses less. Merging classes never loses
# less either, but for ties (`classification`) and fear of an attack (`payout`), which the lower bound leaves out.


@dataclass(frozen=True, eq=False)
class ClassPayments:
    """Loss to which every class contributes a part."""

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
        """Convert a loss to the scale of the bounds: the same number."""
        return loss

    def unfold(self, folded: float) -> float:
        """Convert a number on the scale of the bounds to a loss: the same number."""
        return folded

    def floor(self, classes: int, squares: int) -> float:
        """Lower bound from the sizes alone: none."""
        return 0.0

    def total(self, paid: np.ndarray, suppressed: int) -> float:
        """The loss where kept classes pay so much and so many records are suppressed. Exact sums: order changes nothing."""
        return max(0.0, fsum([self.constant, *paid.tolist(), suppressed * self.of_suppressed]))

    @property
    def of_suppressed(self) -> float:
        """Payment of a suppressed record."""
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
        """Return the payment of each class if it is kept. O(tuples + classes · attributes)."""
        return self._paid(checker, classes, least=False)

    def of_node(self, checker: NodeChecker, classes: NodeClasses) -> float:
        """Return the loss of a node with the given suppressed records."""
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
        """Return the loss of that name for these columns."""
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
    """Earnings of the publisher from a record of each class."""

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
    """Return the number of values of the domain that each label of a level covers, values that the table lacks
    included.
    """
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
    """Return the share of the bits of a record that is lost where each of its labels covers so many values (classes ×
    attributes).
    """
    whole = fsum(log2(domain) for domain in domains)
    bits = np.log2(covered).sum(axis=1)
    # To twelve digits: all of the bits are all of them, whatever the order of adding logarithms.
    return np.clip(np.round(bits / whole, 12), 0.0, 1.0) if whole > 0 else np.zeros(len(covered))


def _domain(hierarchy: Hierarchy) -> int:
    """Return the number of values of the domain: those of the list, and those of the table that are in no list."""
    known = (hierarchy.whole or hierarchy).levels[0]
    more = 0 if hierarchy.whole is None else int((_listed(hierarchy.levels[0], known) < 0).sum())
    return max(1, int(known.table.size) + more)


def _chance(classes: NodeClasses, market: Market) -> np.ndarray:
    """Return the probability that a person in each class is recognised."""
    counted = classes.people if market.journalist and classes.people is not None else classes.sizes
    return np.asarray(1 / np.maximum(np.where(counted > 0, counted, classes.sizes), 1))


def _wrong(checker: NodeChecker, classes: NodeClasses, *, ties: bool) -> np.ndarray:
    """Count the records of each class without its most frequent target; with ties, all where no target is the most
    frequent.
    """
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
