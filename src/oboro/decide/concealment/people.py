"""People as places, with the distance of the paper's section 2.1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from oboro.decide.concealment.kernels import pair_costs
from oboro.decide.space import ranks
from oboro.errors import ColumnError, UsageError
from oboro.table.dataset import Column
from oboro.text import Message

__all__ = ["LARGEST_MATRIX", "Objective", "People"]

Objective = Literal["cost", "ncp"]

LARGEST_MATRIX = 20_000  # people; their distances take 3.2 GB


@dataclass(frozen=True, eq=False)
class People:
    """One place per attribute and person, and what an attribute counts at most: distance = Σ min(|x − y|, cap).

    A number counts the part of its range that lies between two people, two different categories count one whole attribute
    (`cost`, the paper's distance) or what the pair loses of the domain (`ncp`). A number and a missing one are a whole
    attribute apart. Categories stand two caps apart, so that the one formula serves both.
    """

    places: np.ndarray  # attributes × people
    caps: np.ndarray
    ordered: np.ndarray  # which attributes are numbers

    @staticmethod
    def of(
        columns: Mapping[str, Column],
        *,
        categorical: frozenset[str] = frozenset(),
        weights: Mapping[str, float] | None = None,
        objective: Objective = "cost",
    ) -> People:
        """From encoded columns. Columns that hold no numbers are categories in any case."""
        rows = len(next(iter(columns.values())))
        places, caps = np.empty((len(columns), rows)), np.empty(len(columns))
        ordered = np.array([column.kind.numeric and name not in categorical for name, column in columns.items()])
        for a, (name, column) in enumerate(columns.items()):
            weight = (weights or {}).get(name, 1.0)
            if ordered[a]:
                places[a] = _line(name, column, weight)[column.codes]
                caps[a] = weight
            else:
                caps[a] = weight if objective == "cost" else weight / max(1, len(column.values) - 1)
                places[a] = 2 * caps[a] * ranks(column)[column.codes]
        return People(places, caps, ordered)

    def __len__(self) -> int:
        return int(self.places.shape[1])

    @cached_property
    def distances(self) -> np.ndarray:
        """People × people; for the heuristics, which look at all of them again and again."""
        if len(self) > LARGEST_MATRIX:
            raise UsageError(Message("error_decide.too_many_people", people=len(self), most=LARGEST_MATRIX))
        out = np.empty((len(self), len(self)))
        pair_costs.matrix(self.places, self.caps, out)
        return out

    def cost(self, matchings: np.ndarray) -> float:
        """The paper's cost of a design (definition 2.8): the sum of the distances along all its edges."""
        total = 0.0
        for to in matchings:
            for places, cap in zip(self.places, self.caps, strict=True):
                total += float(np.minimum(np.abs(places - places[to]), cap).sum())
        return total

    def ncp(self, members: np.ndarray) -> float:
        """The mean part of an attribute's domain that a closure of `members` (one row each) leaves open, 0 … 1.

        Only for people measured by the objective `ncp`, with weights that count as they are.
        """
        losses = np.empty((len(self.caps), len(members)))
        for a, (places, cap) in enumerate(zip(self.places, self.caps, strict=True)):
            held = np.sort(places[members], axis=1)
            if self.ordered[a]:
                losses[a] = np.minimum(held[:, -1] - held[:, 0], cap)
            else:
                losses[a] = cap * np.count_nonzero(np.diff(held, axis=1), axis=1)
        return float(losses.mean())


def _line(name: str, column: Column, weight: float) -> np.ndarray:
    """Per dictionary entry its place: the range of the numbers spans one weight, a missing one lies far off."""
    numbers = column.numbers(name)
    present = ~np.isnan(numbers)
    if np.isinf(numbers[present]).any():
        raise ColumnError(Message("error_decide.infinite_value", name=name))
    low, high = (numbers[present].min(), numbers[present].max()) if present.any() else (0.0, 0.0)
    if high > np.finfo(np.float64).max / 2 or low < np.finfo(np.float64).min / 2:
        numbers, low, high = numbers / 4, low / 4, high / 4  # else their difference might overflow
    places = (numbers - low) / (high - low) * weight if high > low else np.zeros(numbers.size)
    return np.where(present, np.minimum(places, weight), -2 * weight)
