"""Re-identification risk from the class sizes of a released table, with key figures and contributions of columns.

Definitions follow El Emam, *Guide to the De-Identification of Personal Health Information* (2013), chapter 16. A record
in a class of f records of the table, of which the population holds F, is re-identified with probability

- 1 / f by a **prosecutor**, who knows that the person is in the table;
- 1 / F by a **journalist**, who does not, and looks for any person of the population;
- a **marketer** wants as many as possible: the part of all records that is matched rightly on average.

Missing values and `*` are values like any other, so the fully suppressed records form one class.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import comb
from typing import Any

import numpy as np
import pyarrow as pa

from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.frames import Frame
from oboro.data.grouping import Groups
from oboro.data.parameters import Names, at_the_door, named_columns
from oboro.data.row_order import same_rows
from oboro.data.special_uniques import SpecialUniques, special_uniques
from oboro.errors import InputError, UsageError, listing
from oboro.hierarchies.hierarchy import Hierarchy
from oboro.hierarchies.labels import is_star
from oboro.hierarchies.recoding import RecodedColumn
from oboro.measures.base import Measure
from oboro.notations.texts import texts_of
from oboro.text import Message
from oboro.verifier.classes import Classes, class_sizes

__all__ = [
    "LOSSES",
    "Bin",
    "Contribution",
    "KeyFigures",
    "Loss",
    "Risk",
    "contributions",
    "key_figures",
    "mean_known",
    "mean_over_rows",
    "risk",
    "risk_of",
    "suppressed_records",
]


# Contributions of columns to uniqueness -------------------------------------------------------------------------------
# Contribution of each column to unique records: with one other column, with two, and as a share of SUDA's score.
#
# Counted on minimal sets of columns (`oboro.data.special_uniques`): a record that one column makes unique is not
# counted again with others. The shares are those that sdcMicro calls contributions.


WORK = 400_000_000  # records to look at, over all sets of columns: larger sets are left out beyond it
LARGEST = 3  # columns in a set


@dataclass(frozen=True)
class Contribution:
    """Contribution of one column together with others."""

    with_one: int
    """Records that it makes unique with one other column, and neither of the two does alone."""
    with_two: int | None
    """Records that it makes unique with two others, and no part of the three does (None: not counted)."""
    share: float
    """The share of SUDA's score of all records that comes from minimal sets with this column; shares overlap."""


def contributions(data: Dataset, names: Sequence[str], work: int = WORK) -> dict[str, Contribution]:
    """Compute the contribution of each column with the others, on all records; nothing where that is too much work.

    Sets of three columns, and of two, are looked at if all of them together mean at most `work` records.

    >>> table = Dataset.of({"sex": ["F", "F", "M", "M"], "job": ["cook", "judge", "cook", "cook"]})
    >>> contributions(table, ["sex", "job"])["sex"]
    Contribution(with_one=1, with_two=None, share=0.5)
    """
    size = _size(data.rows, len(names), work)
    if size < 2:
        return {}
    special = special_uniques(data, list(names), max_size=size)
    shares = _shares(special)
    return {
        name: Contribution(_made_unique(special, name, 2), _made_unique(special, name, 3) if size > 2 else None, share)
        for name, share in shares.items()
    }


def _size(rows: int, columns: int, work: int) -> int:
    """The size of the largest sets that can be afforded."""
    sizes = range(1, min(LARGEST, columns) + 1)
    return max((size for size in sizes if rows * comb(columns, size) <= work), default=0)


def _shares(special: SpecialUniques) -> Mapping[str, float]:
    held = dict.fromkeys(special.attributes, 0.0)
    total = 0.0
    for names, rows in special.sets.items():
        score = float(special.score_of(names)) * rows.size
        total += score
        for name in names:
            held[name] += score
    return {name: score / total if total else 0.0 for name, score in held.items()}


def _made_unique(special: SpecialUniques, name: str, size: int) -> int:
    """Count the records with a minimal set of so many columns that includes this one."""
    seen = np.zeros(special.sizes.size, bool)
    for names, rows in special.sets.items():
        if len(names) == size and name in names:
            seen[rows] = True
    return int(np.count_nonzero(seen))


# Key figures ----------------------------------------------------------------------------------------------------------
# The few figures that summarize a release: re-identification risk before and after, and information loss.
#
# They need nothing but class sizes and the recoded quasi-identifiers, so a run can print them without making a report.


LOSSES = ("ncp", "generalization_intensity", "suppressed_cells")
RiskFigures = tuple[float | None, float | None, int]


@dataclass(frozen=True)
class Loss:
    """The mean of a loss over the columns of which it is known, and the columns of which it is not: they may have lost
    everything, so 0 % of the others would read as no loss at all."""

    name: str
    value: float
    known: int
    unknown: tuple[str, ...] = ()

    @classmethod
    def over(cls, name: str, columns: Mapping[str, float | None]) -> Loss | None:
        """From the loss of each column; nothing where it is known of none."""
        mean = mean_known(columns.values())
        unknown = tuple(column for column, value in columns.items() if value is None)
        return None if mean is None else cls(name, mean, len(columns) - len(unknown), unknown)

    def said(self) -> Message:
        """As a part of the line of a summary."""
        title, unknown = Message(f"measure.{self.name}.title"), len(self.unknown)
        if unknown > self.known:
            columns = unknown + self.known
            return Message("report.summary.measure_unknown", title=title, unknown=unknown, columns=columns)
        if not unknown:
            return Message("report.summary.measure", title=title, value=self.value)
        without = Message("measure.note.without", columns=listing(list(self.unknown)))
        return Message("report.summary.measure_without", title=title, value=self.value, note=without)


@dataclass(frozen=True)
class KeyFigures:
    """The risk of the original and of the release, and the losses over all quasi-identifiers that could be measured.

    A risk is the highest, the mean (both None where there are no records), and how many records stand alone.
    """

    risk_before: RiskFigures
    risk: RiskFigures
    losses: tuple[Loss, ...]


def key_figures(
    original: Dataset, released: Dataset, quasi: Sequence[str], hierarchies: Mapping[str, Hierarchy]
) -> KeyFigures:
    """Measure them over `quasi`, columns that both tables have; `hierarchies` are bound to the original columns."""
    rows = same_rows(original, released)
    shares: dict[str, float | None] = {}
    levels: dict[str, float | None] = {}
    stars: dict[str, float | None] = {}
    for name in quasi:
        recoded = RecodedColumn.of(original[name], released[name], hierarchies.get(name), rows)
        shares[name] = mean_over_rows(recoded.share, recoded)
        levels[name] = mean_over_rows(recoded.relative_level, recoded)
        gone = float(recoded.released.counts[recoded.stars].sum())
        stars[name] = gone / released.rows if released.rows else None
    found = map(Loss.over, LOSSES, (shares, levels, stars))
    return KeyFigures(_risk(original, quasi), _risk(released, quasi), tuple(filter(None, found)))


def mean_over_rows(scores: np.ndarray, recoded: RecodedColumn) -> float | None:
    """The mean over rows of one number per released value; None where a value has none."""
    counts = recoded.released.counts
    return None if np.isnan(scores).any() or not counts.sum() else float(scores @ counts / counts.sum())


def mean_known(values: Iterable[float | None]) -> float | None:
    """The mean of what could be measured; None where nothing could."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _risk(data: Dataset, quasi: Sequence[str]) -> RiskFigures:
    """Prosecutor risk: 1 / the size of a record's class."""
    sizes = class_sizes(data, quasi)
    if not sizes.size:
        return None, None, 0
    return float(1 / sizes.min()), sizes.size / int(sizes.sum()), int((sizes == 1).sum())


def suppressed_records(released: Dataset, quasi: Sequence[str]) -> int:
    """Count the rows with `*` in every quasi-identifier. O(rows) for the first column, then O(rows that are left)."""
    rows: np.ndarray | slice = slice(None)
    for name in quasi:
        stars = is_star(released[name])
        if not stars.any():
            return 0
        here = np.flatnonzero(stars[released[name].codes[rows]])
        rows = here if isinstance(rows, slice) else rows[here]
    return 0 if isinstance(rows, slice) else int(rows.size)


# Re-identification risk -----------------------------------------------------------------------------------------------


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
