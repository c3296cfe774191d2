"""What a generalization costs: the losses that solutions are compared by, and lower bounds on them before a node is
checked.

| name | what it counts | range |
|---|---|---|
| `loss` | mean over cells of the share of the domain that the label covers (NCP); suppressed: all | 0 … 1 |
| `precision` | mean over cells of level / height; a suppressed cell counts as the top | 0 … 1 |
| `entropy` | non-uniform entropy: bits lost, log₂(records of the label / of the value), as a share of all | 0 … 1 |
| `arx` | ARX's Loss: share of leaves beyond the first, geometric mean over attributes of 1 + it, minus 1 | 0 … 1 |
| `discernibility` | each record pays its class's size, a suppressed one the table's size | records … records² |
| `average_class_size` | records / classes / k; the suppressed records are one class | ≥ 1 / k |

The first four look at cells (attribute weights count), the last two at classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from math import exp, fsum, log
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oboro.table.dataset import Column
from oboro.table.hierarchy import Hierarchy, Level
from oboro.table.values import texts_of

__all__ = ["CellLoss", "ClassLoss", "Loss", "LossName", "loss_of"]

LossName = Literal["loss", "precision", "discernibility", "average_class_size", "entropy", "arx"]


@dataclass(frozen=True, eq=False)
class LevelCost:
    """What one attribute pays at one level.

    `base` is paid without any suppression; suppressing a record adds one of few amounts: `extra[step[code]]` for its
    code. Everything is a share of what suppressing the whole column costs, except `extra`, which is that times the
    records.
    """

    base: float
    step: np.ndarray
    extra: np.ndarray

    @staticmethod
    def of(level: Level, counts: np.ndarray, cost: np.ndarray, rows: int) -> LevelCost:
        """From what a record pays for each label: its part of what a suppressed one pays. Equal costs are added as counts
        (whole numbers), so that the order of the labels, which is that of the rows, changes nothing.
        """
        amounts, step = _distinct(cost)
        paid = fsum(amounts * np.bincount(step, weights=counts, minlength=amounts.size))
        whole = max(rows, 1)
        return LevelCost(paid / whole, step[level.table], (1.0 - amounts) / whole)


@dataclass(frozen=True, eq=False)
class CellLoss:
    """A loss that is summed over cells, attribute by attribute, then averaged over the attributes by weight."""

    name: str
    weights: np.ndarray
    costs: tuple[tuple[LevelCost, ...], ...]
    geometric: bool = False

    by_cells = True

    def value(self, levels: Sequence[int], suppressed: np.ndarray | None) -> float:
        """The loss of a node; `suppressed[a, step]` counts the suppressed records by what they add.

        Exact sums (fsum) of order-free integers: the last bit does not depend on the order of the rows.
        """
        parts = []
        for a, level in enumerate(levels):
            one = self.costs[a][level]
            gone = 0.0 if suppressed is None else fsum(suppressed[a, : one.extra.size] * one.extra)
            parts.append(one.base + gone)
        return self.mean(parts)

    def mean(self, parts: Sequence[float]) -> float:
        """The loss of a table from what each attribute loses."""
        if self.geometric:
            return exp(fsum(w * log(1 + part) for w, part in zip(self.weights, parts, strict=True))) - 1
        return fsum(w * part for w, part in zip(self.weights, parts, strict=True))

    def bounds(self, limit: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Per attribute and level the parts (P, Q) of a lower bound: with s ≤ `limit` records suppressed a node loses
        at least ΣP + s · ΣQ, as `fold` counts.

        Each suppressed record adds at least the least `extra`. For the geometric mean, log(1 + b + q·s) is concave in
        s, so its chord from 0 to the limit lies below it.
        """
        bases, slopes = [], []
        for weight, costs in zip(self.weights, self.costs, strict=True):
            base = np.array([one.base for one in costs])
            least = np.array([one.extra.min(initial=np.inf) for one in costs])
            least = np.where(np.isfinite(least), least, 0.0)
            if self.geometric:
                top = max(limit, 1)
                least = (np.log1p(base + least * top) - np.log1p(base)) / top
                base = np.log1p(base)
            bases.append(weight * base)
            slopes.append(weight * least)
        return bases, slopes

    def fold(self, loss: float) -> float:
        """From a loss to where it stands among the bounds."""
        return log(max(1 + loss, 1e-300)) if self.geometric else loss

    @cached_property
    def width(self) -> int:
        """The most amounts that an attribute can add."""
        return max((one.extra.size for costs in self.costs for one in costs), default=1)


@dataclass(frozen=True)
class ClassLoss:
    """A loss that looks at the sizes of the classes."""

    name: str
    rows: int
    k: int

    by_cells = False

    def value(self, classes: int, squares: int, suppressed: int) -> float:
        """The loss of a node from its kept classes: how many, and the sum of their squared sizes (exact integers)."""
        if self.name == "discernibility":
            return float(squares + self.rows * suppressed)
        return self.rows / max(classes + (suppressed > 0), 1) / self.k

    def floor(self, classes: int, squares: int) -> float:
        """A lower bound for a node with these classes and for every coarser one: the loss if nothing were suppressed.

        Coarser classes are unions of these: every record's class only grows, and there are never more classes.
        """
        return self.value(classes, squares, 0)


Loss = CellLoss | ClassLoss


def loss_of(
    name: LossName, columns: Sequence[Column], hierarchies: Sequence[Hierarchy], weights: Sequence[float], k: int
) -> Loss:
    """The loss of that name for these columns."""
    rows = len(columns[0]) if columns else 0
    if name in ("discernibility", "average_class_size"):
        return ClassLoss(name, rows, k)
    pay = {"loss": _pay_share, "arx": _pay_leaves, "precision": _pay_level, "entropy": _pay_bits}[name]
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda column: column.counts, columns))  # counted once, on all cores
    costs = []
    for column, hierarchy in zip(columns, hierarchies, strict=True):
        counts = [_label_counts(level, column) for level in hierarchy.levels]
        costs.append(tuple(pay(hierarchy, i, counts, rows) for i in range(len(hierarchy.levels))))
    shares = np.array(weights, dtype=np.float64)
    return CellLoss(name, shares / shares.sum(), tuple(costs), geometric=name == "arx")


def _label_counts(level: Level, column: Column) -> np.ndarray:
    return np.bincount(level.table, weights=column.counts, minlength=len(level.labels)).astype(np.int64)


def _distinct(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different numbers, and which one each is; quick where there is only one."""
    if numbers.size and (numbers == numbers[0]).all():
        return numbers[:1].astype(np.float64), np.zeros(numbers.size, dtype=np.int64)
    amounts, step = np.unique(numbers, return_inverse=True)
    return amounts.astype(np.float64), step.ravel()


def _pay_share(hierarchy: Hierarchy, i: int, counts: list[np.ndarray], rows: int) -> LevelCost:
    level = hierarchy.levels[i]
    return LevelCost.of(level, counts[i], level.share, rows)


def _pay_leaves(hierarchy: Hierarchy, i: int, counts: list[np.ndarray], rows: int) -> LevelCost:
    """A label of m leaves pays (m − 1) / (leaves of the domain − 1), values that the table lacks included."""
    level, whole = hierarchy.levels[i], hierarchy.whole or hierarchy
    known = whole.levels[i]
    leaves = np.bincount(known.table, minlength=len(known.labels))
    place = (
        pc.index_in(_texts(level.labels), value_set=_texts(known.labels)).fill_null(-1).to_numpy(zero_copy_only=False)
    )
    cost = np.where(place >= 0, (leaves[place] - 1) / max(known.table.size - 1, 1), level.share)
    return LevelCost.of(level, counts[i], cost, rows)


def _texts(labels: pa.Array) -> pa.Array:
    return pa.array(texts_of(labels), pa.string())


def _pay_level(hierarchy: Hierarchy, i: int, counts: list[np.ndarray], rows: int) -> LevelCost:
    level, cost = hierarchy.levels[i], np.full(counts[i].size, i / max(hierarchy.height, 1))
    return LevelCost.of(level, counts[i], cost, rows)


def _pay_bits(hierarchy: Hierarchy, i: int, counts: list[np.ndarray], rows: int) -> LevelCost:
    """Bits: a record with value v under label g loses log₂(|g| / |v|), a suppressed one log₂(n / |v|)."""
    level = hierarchy.levels[i]
    known = np.log2(np.maximum(counts[i], 1))
    extra = np.where(counts[i] > 0, np.log2(max(rows, 1)) - known, 0.0)
    value_bits = np.log2(np.maximum(counts[0], 1))
    spent = fsum(known * counts[i]) - fsum(value_bits * counts[0])
    whole = rows * float(np.log2(max(rows, 1))) - fsum(value_bits * counts[0])
    amounts, step = np.unique(extra, return_inverse=True)
    base = max(spent, 0.0) / whole if whole > 0 else 0.0
    return LevelCost(base, step.ravel()[level.table], amounts / whole if whole > 0 else 0.0 * amounts)
