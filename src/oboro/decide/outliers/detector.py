"""Records that stand out: one value far from the rest, a rare category, an odd combination, a unique one.

A record that stands out is a record that somebody recognises. `Outliers` says how to look for such records; it feeds
`drop_records`, gives the bounds for top and bottom coding, and counts for a report. What looks at one column at a time
works on its dictionary and counts, so it costs what the number of distinct values costs, plus one look-up per row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from oboro.errors import ColumnError, UsageError
from oboro.table.dataset import Column, Dataset
from oboro.table.frames import Frame
from oboro.table.named_columns import named_columns, names_shown
from oboro.table.parameters import Parameters
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.decide.outliers.outlier_scores import OutlierScores
    from oboro.decide.outliers.single_values import Fences

__all__ = ["Method", "Outliers"]

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
        from oboro.decide.outliers import single_values

        return single_values.fences(column, name, by=self.method, threshold=self._parameter("threshold"))

    def _columns(self, data: Dataset, names: list[str]) -> OutlierScores:
        from oboro.decide.outliers.outlier_scores import OutlierScores

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
            from oboro.decide.outliers import single_values

            count, share = self._rarity()
            return single_values.rarity(column, count=count, share=share), len(column) / np.maximum(column.counts, 1)
        fences, numbers = self._fences(column, name), column.numbers(name)
        return fences.outside(numbers), fences.distances(numbers)

    def _combinations(self, data: Dataset, names: list[str], rng: np.random.Generator) -> OutlierScores:
        from oboro.decide.outliers import combinations
        from oboro.decide.outliers.outlier_scores import OutlierScores

        if self.method == "isolation":
            scores = combinations.isolation(data, names, trees=int(self._parameter("trees")), rng=rng)
        else:
            scores = combinations.local_factors(data, names, neighbors=int(self._parameter("neighbors")))
        rows = combinations.highest(scores, self.share) if self.share else scores > self._parameter("threshold")
        return OutlierScores(rows, scores, {tuple(names): np.flatnonzero(rows)})


def _special(data: Dataset, names: list[str], max_size: int) -> OutlierScores:
    from oboro.decide.outliers.outlier_scores import OutlierScores
    from oboro.table.special_uniques import special_uniques

    uniques = special_uniques(data, names, max_size)
    sizes = uniques.sizes.astype(np.float64)
    scores = np.divide(1.0, sizes, out=np.zeros_like(sizes), where=sizes > 0)
    return OutlierScores(uniques.sizes > 0, scores, uniques.sets)
