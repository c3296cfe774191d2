"""Outlier detection: one value far from the rest, a rare category, an odd combination, a unique combination.

An outlier is easy to recognise and so at risk of identity disclosure. `Outliers` declares how to find such records; it
feeds `drop_records`, gives the bounds for top and bottom coding, and counts for a report. Methods that look at one
column at a time work on its dictionary and counts, so they cost as much as the number of distinct values, plus one
look-up per row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from oboro._lazy import bring
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.frames import Frame
from oboro.data.grouping import Groups
from oboro.data.parameters import Parameters, named_columns, names_shown
from oboro.errors import ColumnError, UsageError
from oboro.text import Message

__all__ = [
    "Fences",
    "Method",
    "OutlierScores",
    "Outliers",
    "fences",
    "highest",
    "isolation",
    "local_factors",
    "quantiles",
    "rarity",
]


Method = Literal["robust_z", "iqr", "rare", "isolation", "lof", "special"]

# What each method listens to, and what it takes where nothing is said (None: that criterion is then off).
DEFAULTS: dict[str, dict[str, float | None]] = {
    "robust_z": {"threshold": 3.5},  # Iglewicz and Hoaglin (1993)
    "iqr": {"threshold": 1.5},  # Tukey (1977)
    "rare": {"count": 5, "share": None},
    "isolation": {"threshold": 0.6, "share": None, "trees": 100},  # Liu, Ting, Zhou (2008) look at scores from 0.6
    "lof": {"threshold": 1.5, "share": None, "neighbors": 20},
    "special": {"max_size": 2},
}


def _listed(given: Any) -> Any:
    return None if given is None else named_columns(given, "attributes")


class Outliers(Parameters):
    """How to look for records that stand out.

    | method | a record stands out when | score |
    |---|---|---|
    | `robust_z` | a number lies more than `threshold` (3.5) robust deviations from the median | deviations |
    | `iqr` | a number lies more than `threshold` (1.5) interquartile ranges outside the quartiles | ranges outside |
    | `rare` | a value is held by fewer than `count` (5) records, or less than `share` of them | 1 / its share |
    | `isolation` | a forest of `trees` (100) puts it above `threshold` (0.6) or in the top `share` | 0 to 1 |
    | `lof` | its local outlier factor over `neighbors` (20) is above `threshold` (1.5) or in the top `share` | factor |
    | `special` | a set of at most `max_size` (2) attributes makes it unique | 1 / the smallest set's size |

    With several attributes a record has the largest score of them. A robust deviation is 1.4826 × the median absolute
    deviation; where more than half of the values are equal that is zero, and 1.2533 × the mean absolute deviation
    stands in; where all are equal nothing stands out. Where half of the values are equal the interquartile range is
    zero, and `iqr` finds every value outside the quartiles. A missing value lies far from nothing, but is a value of
    its own for `rare` and `special`.

    >>> import pandas as pd
    >>> found = Outliers(method="robust_z").examine(pd.DataFrame({"age": [31, 35, 38, 40, 44, 47, 112]}))
    >>> found.rows.tolist(), found.reasons_of(6)
    ([False, False, False, False, False, False, True], [('age',)])
    """

    method: Method = "robust_z"
    """robust_z, iqr (numbers and dates); rare (categories); isolation, lof (combinations); special (unique
    combinations)."""
    attributes: Annotated[tuple[str, ...] | None, BeforeValidator(_listed)] = Field(default=None, min_length=1)
    """The columns to look at. Without it: all numbers and dates (robust_z, iqr), all others (rare), all (isolation,
    lof). The method special has no default, because an identifier makes everybody unique."""
    threshold: float | None = Field(default=None, gt=0)
    """robust_z: deviations (3.5); iqr: interquartile ranges (1.5); isolation: anomaly score (0.6); lof: factor
    (1.5)."""
    count: int | None = Field(default=None, ge=1)
    """rare: a value held by fewer records than this is rare (5, where no share is given)."""
    share: float | None = Field(default=None, gt=0, lt=1)
    """rare: a value held by a smaller share of the records is rare; isolation, lof: at most this share of the records
    stands out, those with the highest scores (instead of a threshold)."""
    trees: int | None = Field(default=None, ge=1)
    """isolation: how many trees (100)."""
    neighbors: int | None = Field(default=None, ge=1)
    """lof: how many neighbours make a neighbourhood (20)."""
    max_size: int | None = Field(default=None, ge=1)
    """special: the largest number of attributes in a set (2). Each one more takes many times longer."""

    @model_validator(mode="after")
    def _only_what_the_method_uses(self) -> Outliers:
        given = {name for name in self.model_fields_set - {"method", "attributes"} if getattr(self, name) is not None}
        takes = DEFAULTS[self.method]
        if unused := given - takes.keys():
            raise ValueError(
                Message("error_decide.outliers_unused", method=self.method, unused=sorted(unused), takes=list(takes))
            )
        if {"share", "threshold"} <= given:
            raise ValueError(Message("error_decide.threshold_or_share", method=self.method))
        if self.method == "special" and self.attributes is None:
            raise ValueError(Message("error_decide.special_attributes"))
        return self

    def find(self, frame: Any, rng: np.random.Generator | None = None) -> np.ndarray:
        """One boolean per record of a frame or a `Dataset`: it stands out. Only isolation draws random numbers."""
        return self.examine(frame, rng).rows

    def examine(self, frame: Any, rng: np.random.Generator | None = None) -> OutlierScores:
        """The records of a frame or a `Dataset` that stand out, how much, and by which attributes."""
        data = Frame.read(frame).data
        names = self._names(data)
        if self.method == "special":
            return _special(data, names, int(self._parameter("max_size")))
        if self.method in ("isolation", "lof"):
            return self._combinations(data, names, rng if rng is not None else np.random.default_rng())
        return self._columns(data, names)

    def bounds(self, frame: Any, attribute: str) -> tuple[float, float]:
        """Between which numbers an attribute does not stand out (dates count days), for top and bottom coding.

        >>> Outliers(method="iqr").bounds({"age": [1, 2, 3, 4, 5]}, "age")
        (-1.0, 7.0)
        """
        fences = self._fences(Frame.read(frame).data[attribute], attribute)
        return fences.low, fences.high

    def explain(self, lang: str = "en") -> str:
        """What will be looked for, in one sentence.

        >>> Outliers(method="rare", share=0.01, attributes=["job"]).explain()
        "A record stands out when it holds a value that less than 0.01 of the records hold; looked at: 'job'."
        """
        return self.plan().say(lang)

    def plan(self) -> Message:
        """What will be looked for, and where."""
        where = Message(f"outliers.everywhere.{self.method}")
        if self.attributes is not None:
            where = Message("outliers.columns", columns=self.attributes)
        return Message("outliers.plan", criterion=self._criterion(), where=where)

    def _criterion(self) -> Message:
        if self.method == "rare":
            count, share = self._rarity()
            few = [] if count is None else [Message("outliers.fewer_than", count=count)]
            few += [] if share is None else [Message("outliers.less_than", share=share)]
            return Message("outliers.rare", few=few)
        if self.method == "isolation":
            return Message("outliers.isolation", trees=self._parameter("trees"), limit=self._limit())
        if self.method == "lof":
            return Message("outliers.lof", neighbors=self._parameter("neighbors"), limit=self._limit())
        if self.method == "special":
            return Message("outliers.special", max_size=self._parameter("max_size"))
        far = "outliers.robust_z" if self.method == "robust_z" else "outliers.iqr"
        return Message(far, threshold=self._parameter("threshold"))

    def _limit(self) -> Message:
        if self.share:
            return Message("outliers.in_the_top", share=self.share)
        return Message("outliers.above", threshold=self._parameter("threshold"))

    def _parameter(self, name: str) -> float:
        """As given, else the method's own default."""
        given: float | None = getattr(self, name)
        value = DEFAULTS[self.method][name] if given is None else given
        assert value is not None  # only share is ever None, and nobody asks for it here
        return value

    def _rarity(self) -> tuple[int | None, float | None]:
        return (int(self._parameter("count")) if self.share is None else self.count), self.share

    def _names(self, data: Dataset) -> list[str]:
        if self.attributes is not None:
            if unknown := [name for name in self.attributes if name not in data]:
                raise ColumnError(
                    Message("error_decide.outliers_column", unknown=unknown, columns=names_shown(data, self.attributes))
                )
            return list(self.attributes)
        if self.method in ("robust_z", "iqr"):
            return [name for name in data if data[name].kind.numeric]
        if self.method == "rare":
            return [name for name in data if not data[name].kind.numeric]
        return list(data)

    def _fences(self, column: Column, name: str) -> Fences:
        if self.method not in ("robust_z", "iqr"):
            raise UsageError(Message("error_decide.outliers_bounds", method=self.method, name=name))

        return fences(column, name, by=self.method, threshold=self._parameter("threshold"))

    def _columns(self, data: Dataset, names: list[str]) -> OutlierScores:

        found, scores = np.zeros(data.rows, dtype=bool), np.zeros(data.rows)
        reasons: dict[tuple[str, ...], np.ndarray] = {}
        for name in names:
            column = data[name]
            out, score = self._values(column, name)
            rows = out[column.codes]
            found |= rows
            reasons[(name,)] = np.flatnonzero(rows)
            np.maximum(scores, score[column.codes], out=scores)
        return OutlierScores(found, scores, reasons)

    def _values(self, column: Column, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Which dictionary entries stand out, and the score of each."""
        if self.method == "rare":
            count, share = self._rarity()
            return rarity(column, count=count, share=share), len(column) / np.maximum(column.counts, 1)
        fences, numbers = self._fences(column, name), column.numbers(name)
        return fences.outside(numbers), fences.distances(numbers)

    def _combinations(self, data: Dataset, names: list[str], rng: np.random.Generator) -> OutlierScores:

        if self.method == "isolation":
            scores = isolation(data, names, trees=int(self._parameter("trees")), rng=rng)
        else:
            scores = local_factors(data, names, neighbors=int(self._parameter("neighbors")))
        rows = highest(scores, self.share) if self.share else scores > self._parameter("threshold")
        return OutlierScores(rows, scores, {tuple(names): np.flatnonzero(rows)})


def _special(data: Dataset, names: list[str], max_size: int) -> OutlierScores:
    from oboro.data.special_uniques import special_uniques

    uniques = special_uniques(data, names, max_size)
    sizes = uniques.sizes.astype(np.float64)
    scores = np.divide(1.0, sizes, out=np.zeros_like(sizes), where=sizes > 0)
    return OutlierScores(uniques.sizes > 0, scores, uniques.sets)


# Odd combinations -----------------------------------------------------------------------------------------------------
# Isolation forest and local outlier factor, by scikit-learn, on records turned into points.
#
# Both score each distinct combination once: records that agree on all attributes get the same score.


ONE_HOT = 16  # a category with more values becomes one axis (how common the value is): many more would drown the others


def isolation(data: Dataset, names: Sequence[str], *, trees: int, rng: np.random.Generator) -> np.ndarray:
    """Compute the anomaly score of each record in (0, 1]: near 1 a few random cuts isolate it, below 0.5 it is
    ordinary.

    After Liu, Ting and Zhou (2008). Drawn from the given stream: the same stream, the same scores.
    """
    ensemble = bring("sklearn.ensemble")
    if data.rows == 0:
        return np.zeros(0)
    groups, places = _distinct(data, names)
    forest = ensemble.IsolationForest(n_estimators=trees, random_state=int(rng.integers(2**31)))
    forest.fit(places[groups.labels])  # all records, so that a common combination is common in the trees' samples too
    scores = np.asarray(-forest.score_samples(places), dtype=np.float64)
    return np.asarray(scores[groups.labels])


def local_factors(data: Dataset, names: Sequence[str], *, neighbors: int) -> np.ndarray:
    """Local outlier factor of each record: about 1 amid its like, more where its neighbours stand closer.

    Taken over distinct points (the k-distinct-distance of Breunig et al. 2000), because repeated points have infinite
    density. A point that more than `neighbors` records share has its whole neighbourhood in itself: factor 1.
    """
    neighbours = bring("sklearn.neighbors")
    groups, places = _distinct(data, names)
    distinct, place_of = np.unique(places, axis=0, return_inverse=True)
    if len(distinct) < 3:
        return np.ones(data.rows)
    fitted = neighbours.LocalOutlierFactor(n_neighbors=min(neighbors, len(distinct) - 1)).fit(distinct)
    records = np.bincount(place_of.ravel(), weights=groups.sizes)
    factors = np.where(records > neighbors, 1.0, -fitted.negative_outlier_factor_)
    return np.asarray(factors[place_of.ravel()][groups.labels], dtype=np.float64)


def highest(scores: np.ndarray, share: float) -> np.ndarray:
    """Return the records with the highest scores, at most this share of all; equal scores are in or out together."""
    most = int(share * scores.size)
    if most == 0:
        return np.zeros(scores.size, dtype=bool)
    edge = np.partition(scores, scores.size - most)[scores.size - most]
    rows = scores >= edge
    return np.asarray(rows if rows.sum() <= most else scores > edge)


def _distinct(data: Dataset, names: Sequence[str]) -> tuple[Groups, np.ndarray]:
    """Records that agree on the attributes, and one point for each such group."""
    groups = Groups.of([data[name] for name in names], data.rows)
    first = groups.first_rows()
    axes = [axis[data[name].codes[first]] for name in names for axis in _axes(data[name], name)]
    return groups, np.column_stack(axes) if axes else np.zeros((len(groups), 1))


def _axes(column: Column, name: str) -> list[np.ndarray]:
    """Axes of one column, each as one number per dictionary entry; two different categories are at distance 1."""
    if column.kind.numeric:
        return _number_axes(column.numbers(name), column.counts)
    count = len(column.values)
    if count <= ONE_HOT:
        return [np.where(np.arange(count) == value, np.sqrt(0.5), 0.0) for value in range(count)]
    return [np.log(column.counts / len(column))]


def _number_axes(numbers: np.ndarray, counts: np.ndarray) -> list[np.ndarray]:
    """In standard deviations from the mean. A missing one stands at the mean; a second axis says that it is missing."""
    real = np.isfinite(numbers)
    if not real.any():
        return []
    mean = np.average(numbers[real], weights=counts[real])
    spread = np.sqrt(np.average((numbers[real] - mean) ** 2, weights=counts[real]))
    within = np.clip(
        np.nan_to_num(numbers, nan=mean), numbers[real].min(), numbers[real].max()
    )  # infinity: the outermost
    placed = (within - mean) / (spread or 1.0)
    missing = np.isnan(numbers)
    return [placed, missing.astype(np.float64)] if missing.any() else [placed]


# Outlier scores -------------------------------------------------------------------------------------------------------
# Outlying records, their scores and the attributes that are the reason.


@dataclass(frozen=True, eq=False)
class OutlierScores:
    """Outlying records, their scores, and the attributes that are the reason."""

    rows: np.ndarray
    """One boolean per record: it stands out."""
    scores: np.ndarray
    """One number per record, larger for one that stands out more; `Outliers` says what it counts."""
    reasons: Mapping[tuple[str, ...], np.ndarray]
    """For each attribute, or set of attributes, the records (numbers, ascending) that stand out by it."""

    def reasons_of(self, row: int) -> list[tuple[str, ...]]:
        """Return the attributes, or sets of attributes, by which one record is an outlier."""
        return [names for names, rows in self.reasons.items() if row in rows[np.searchsorted(rows, row) :][:1]]

    def facts(self) -> dict[str, Any]:
        """Return counts for a report: the number of outlying records, and the number by each set of attributes."""
        by = {" + ".join(names): int(rows.size) for names, rows in self.reasons.items() if rows.size}
        return {"records": int(self.rows.sum()), "of": int(self.rows.size), "by": by}


# Far and rare values --------------------------------------------------------------------------------------------------
# Values far from the rest, and rare ones: one column at a time, from its dictionary and counts alone.


@dataclass(frozen=True)
class Fences:
    """Between which numbers a value does not stand out, and how far outside of its middle a number lies."""

    low: float
    high: float
    middle: tuple[float, float]
    """Distances are counted from here: both quartiles, or twice the median."""
    unit: float
    """… in this unit: the interquartile range, or a robust standard deviation."""

    def outside(self, numbers: np.ndarray) -> np.ndarray:
        """Return which numbers lie outside; a missing one (NaN) never does."""
        return np.asarray((numbers < self.low) | (numbers > self.high))

    def distances(self, numbers: np.ndarray) -> np.ndarray:
        """Return how many units each number lies outside of the middle: 0 where missing, infinite where there is no
        spread.
        """
        left, right = self.middle
        apart = np.fmax(np.fmax(left - numbers, numbers - right), 0.0)
        infinite = np.where(apart > 0, np.inf, 0.0)
        return np.divide(apart, self.unit, out=infinite, where=np.full(apart.shape, self.unit > 0))


NOTHING = Fences(-np.inf, np.inf, (np.inf, -np.inf), 1.0)  # a column without any number: nothing can lie outside


def fences(column: Column, name: str, *, by: Literal["robust_z", "iqr"], threshold: float) -> Fences:
    """Compute Tukey's fences (`iqr`), or `threshold` robust deviations around the median (`robust_z`). O(distinct ·
    log).
    """
    numbers, counts = column.numbers(name), column.counts
    real = np.isfinite(numbers) & (counts > 0)
    if not real.any():
        return NOTHING
    numbers, counts = numbers[real], counts[real]
    if by == "iqr":
        left, right = quantiles(numbers, counts, (0.25, 0.75))
        unit = right - left
    else:
        left = right = quantiles(numbers, counts, (0.5,))[0]
        unit = _robust_deviation(numbers, counts, left)
    return Fences(left - threshold * unit, right + threshold * unit, (left, right), unit)


def quantiles(numbers: np.ndarray, counts: np.ndarray, at: Sequence[float]) -> list[float]:
    """Compute quantiles of values with counts, interpolated linearly, as NumPy gives them for the values written out.

    >>> quantiles(np.array([1.0, 3.0]), np.array([3, 1]), [0.5, 1.0])
    [1.0, 3.0]
    """
    order = np.argsort(numbers, kind="stable")
    ordered, ends = numbers[order], np.cumsum(counts[order])
    places = np.asarray(at) * (ends[-1] - 1)
    below = np.floor(places)
    lower = ordered[np.searchsorted(ends, below, side="right")]
    upper = ordered[np.searchsorted(ends, np.ceil(places), side="right")]
    return [float(value) for value in lower + (upper - lower) * (places - below)]


def _robust_deviation(numbers: np.ndarray, counts: np.ndarray, median: float) -> float:
    """A standard deviation's worth, hard to move by outliers: 1.4826 × the median absolute deviation (MAD).

    Where more than half of the values are equal the MAD is zero; then 1.2533 × the mean absolute deviation, as
    Iglewicz and Hoaglin (1993) advise. Both factors make the result a standard deviation for normal data.
    """
    deviations = np.abs(numbers - median)
    (middle,) = quantiles(deviations, counts, (0.5,))
    if middle > 0:
        return 1.482602218505602 * middle  # 1 / the normal distribution's 75 % point
    return float(np.sqrt(np.pi / 2) * np.average(deviations, weights=counts))


def rarity(column: Column, *, count: int | None, share: float | None) -> np.ndarray:
    """Return which dictionary entries have fewer than `count` records, or less than `share` of them."""
    counts = column.counts
    rare = np.zeros(counts.size, dtype=bool)
    if count is not None:
        rare |= counts < count
    if share is not None:
        rare |= counts < share * len(column)
    return rare
