"""How likely is it that somebody is recognised? Re-identification risk from the sizes of the classes of a released
table.

Definitions follow El Emam, *Guide to the De-Identification of Personal Health Information* (2013), chapter 16. A
record in a class of f records of the table, of which the population holds F, is found with probability

- 1 / f by a **prosecutor**, who knows that the person is in the table;
- 1 / F by a **journalist**, who does not, and looks for anybody in the population;
- a **marketer** wants as many as possible: the part of all records that is matched rightly on average.

Missing values and `*` are values like any other, so the fully suppressed records form one class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from oboro.errors import InputError, UsageError
from oboro.measure.metrics import Measure
from oboro.table.dataset import Column, Dataset
from oboro.table.frames import Frame
from oboro.table.groups import Groups
from oboro.table.named_columns import Names, named_columns
from oboro.table.parameters.at_the_door import at_the_door
from oboro.table.values import texts_of
from oboro.text import Message
from oboro.verifier.classes import Classes, class_sizes

__all__ = ["Bin", "Risk", "risk", "risk_of"]


@dataclass(frozen=True)
class Bin:
    """The classes of `low` to `high` records (both included): how many, and with how many records."""

    low: int
    high: int
    groups: int
    records: int


@dataclass(frozen=True)
class Risk:
    """Risk of re-identification; probabilities are None where the table has no records."""

    records: int
    groups: int
    threshold: float  # records at a higher risk than this are counted
    prosecutor_max: float | None
    prosecutor_mean: float | None
    prosecutor_above: float | None
    journalist_max: float | None
    journalist_mean: float | None
    journalist_above: float | None
    marketer: float | None
    uniques: int  # records that stand alone in the table
    unique_share: float | None
    population_uniques: int | None  # … and in the population too; None without a population
    sizes: tuple[Bin, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {**asdict(self), "sizes": [asdict(bin_) for bin_ in self.sizes]}

    def measures(self) -> list[Measure]:
        """The same numbers, each saying what it means."""
        return [
            Measure(
                name,
                getattr(self, name),
                "lower",
                means=Message(f"measure.{name}.meaning", threshold=f"{self.threshold:.4g}"),
            )
            for name in MEASURES
        ]


MEASURES = (
    "prosecutor_max",
    "prosecutor_mean",
    "prosecutor_above",
    "journalist_max",
    "journalist_mean",
    "journalist_above",
    "marketer",
    "unique_share",
)


@at_the_door
def risk(
    frame: Any,
    *,
    quasi: Names,
    k: int = 5,
    population: Any = None,
    population_sizes: Sequence[int] | None = None,
) -> Risk:
    """Measure the risk of a released table (any frame, or a `Dataset`) over its quasi-identifiers.

    Records in classes of fewer than `k` count as above the threshold 1 / k. `population` is a table of everybody,
    with the same values in the same columns; `population_sizes` gives instead, for each class in the order in which
    it first appears in the table, how many of the population belong to it. Without either the population is the table
    itself.

    >>> import pandas as pd
    >>> found = risk(pd.DataFrame({"sex": ["F", "F", "F", "M"]}), quasi="sex", k=2)
    >>> found.prosecutor_max, found.prosecutor_mean, found.prosecutor_above, found.uniques
    (1.0, 0.5, 0.25, 1)
    """
    if k < 1:
        raise UsageError(Message("error_measure.k", k=k))
    names = named_columns(quasi, "quasi")
    if not names:
        raise UsageError(Message("error_measure.no_quasi"))
    if population is not None and population_sizes is not None:
        raise UsageError(Message("error_measure.population_or_sizes"))
    data = Frame.read(frame).data
    if population is None and population_sizes is None:
        return risk_of(class_sizes(data, names), k)
    found = Classes.of(data, names).sizes
    if population is not None:
        everybody = _matched(data, Frame.read(population).data, names, found.size)
    else:
        everybody = np.asarray(population_sizes, dtype=np.int64)
    _require_population(found, everybody)
    return _measure(found, everybody, k, True)


def risk_of(sizes: np.ndarray, k: int) -> Risk:
    """The risk of a table with classes of these sizes, which is its own population. O(classes)."""
    times = np.bincount(sizes) if sizes.size else np.zeros(0, np.int64)
    size = np.flatnonzero(times)
    return _measure(size, size, k, False, times[size])


def _measure(found: np.ndarray, everybody: np.ndarray, k: int, known: bool, times: np.ndarray | None = None) -> Risk:
    """From the sizes of classes in the table and in the population; `times`: how many classes there are of each size."""
    count = np.ones(found.size, np.int64) if times is None else times
    groups, records = int(count.sum()), int((found * count).sum())
    if groups == 0:
        empty = dict.fromkeys(MEASURES)
        return Risk(0, 0, 1 / k, **empty, uniques=0, population_uniques=0 if known else None, sizes=())
    alone = (found == 1) * count
    marketer = float((found / everybody * count).sum() / records)
    return Risk(
        records=records,
        groups=groups,
        threshold=1 / k,
        prosecutor_max=float(1 / found.min()),
        prosecutor_mean=groups / records,
        prosecutor_above=float((found * count)[found < k].sum() / records),
        journalist_max=float(1 / everybody.min()),
        journalist_mean=max(groups / int((everybody * count).sum()), marketer),
        journalist_above=float((found * count)[everybody < k].sum() / records),
        marketer=marketer,
        uniques=int(alone.sum()),
        unique_share=float(alone.sum() / records),
        population_uniques=int(alone[everybody == 1].sum()) if known else None,
        sizes=_bins(found, count),
    )


def _bins(sizes: np.ndarray, times: np.ndarray) -> tuple[Bin, ...]:
    """A histogram of class sizes in steps 1, 2, 3–4, 5–9, 10–19, 20–49, 50–99, 100–199 …, up to the largest class.

    >>> [(bin.low, bin.high, bin.groups) for bin in _bins(np.array([1, 4, 5]), np.array([2, 1, 1]))]
    [(1, 1, 2), (2, 2, 0), (3, 4, 1), (5, 9, 1)]
    """
    edges = [1, 2, 3, 5]
    while edges[-1] <= sizes.max():
        edges.append(edges[-1] * 2 if str(edges[-1])[0] in "15" else edges[-1] * 5 // 2)
    place = np.searchsorted(edges, sizes, side="right") - 1
    groups = np.bincount(place, weights=times, minlength=len(edges))
    records = np.bincount(place, weights=sizes * times, minlength=len(edges))
    last = int(place.max())
    return tuple(Bin(edges[i], edges[i + 1] - 1, int(groups[i]), int(records[i])) for i in range(last + 1))


def _matched(data: Dataset, population: Dataset, quasi: list[str], classes: int) -> np.ndarray:
    """For each class of `data`, how many of the population belong to it. Values are matched by their text."""
    Classes.of(population, quasi)  # says which column is lacking
    both = [_stack(data[name], population[name]) for name in quasi]
    labels = Groups.of(both, data.rows + population.rows).labels
    # Labels count by first appearance, so the table's own classes come first, in their own order.
    return np.bincount(labels[data.rows :], minlength=classes)[:classes]


def _stack(first: Column, second: Column) -> Column:
    values = pa.array([*texts_of(first.values), *texts_of(second.values)], pa.string())
    shifted = second.codes.astype(np.uint32) + np.uint32(len(first.values))
    return Column(values, np.concatenate([first.codes.astype(np.uint32), shifted])).tidy()


def _require_population(found: np.ndarray, everybody: np.ndarray) -> None:
    if everybody.size != found.size:
        raise UsageError(Message("error_measure.sizes", classes=found.size, sizes=everybody.size))
    lacking = int((everybody < found).sum())
    if lacking:
        raise InputError(Message("error_measure.not_a_sample", lacking=lacking, classes=found.size))
