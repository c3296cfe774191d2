"""What a class must keep beyond its size: as it stands in a recipe, for the deciding side, and for the verifier."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from pydantic import Field, model_validator

from oboro.decide.class_rules import Rule, diversity_rule
from oboro.table.dataset import Column
from oboro.table.hierarchy import Hierarchy
from oboro.table.parameters import Parameters
from oboro.table.spelling.folding import Fold
from oboro.text import Message
from oboro.verifier.models.class_models import DistinctLDiversity, Model

__all__ = ["Demand", "Diversity"]


class Demand(Parameters):
    """A demand on one sensitive column."""

    @property
    def hierarchical(self) -> bool:
        """Whether the demand needs the sensitive column's hierarchy (`tree`)."""
        return False

    @property
    def of_every_reading(self) -> bool:
        """Whether a reader who tells more values apart may see it broken where one who merges them does not."""
        return False

    def model(self, sensitive: str, tree: Hierarchy | None = None) -> Model:
        """What the verifier is to check."""
        raise NotImplementedError

    def rule(self, sensitive: str, column: Column, tree: Hierarchy | None = None) -> Rule:
        """What the search decides by."""
        raise NotImplementedError

    def folding(self, column: Column, folds: Collection[Fold]) -> Demand:
        """The same of a column whose values were folded: a value that it names is spelled as there."""
        return self

    def plan(self, sensitive: str) -> Message:
        """What every class must keep."""
        raise NotImplementedError


class Diversity(Demand):
    """How diverse a sensitive attribute must be within each class."""

    l: float = Field(ge=1, allow_inf_nan=False)  # noqa: E741  (the literature's letter)
    """distinct: the least number of different values; entropy: the entropy is at least log l; recursive: the l of (c,
    l)-diversity."""
    kind: Literal["distinct", "entropy", "recursive"] = "distinct"
    """Which l-diversity: distinct, entropy or recursive."""
    c: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """recursive: the most frequent value must occur less than c times as often as the l-th most frequent and all
    rarer ones together."""

    @model_validator(mode="after")
    def _fits(self) -> Diversity:
        if (self.kind == "recursive") != (self.c is not None):
            raise ValueError(Message("error_technique.recursive_c"))
        if self.kind != "entropy" and self.l != int(self.l):
            raise ValueError(Message("error_technique.whole_l", kind=self.kind))
        return self

    def model(self, sensitive: str, tree: Hierarchy | None = None) -> Model:
        """Distinct, entropy or recursive l-diversity."""
        if self.kind == "distinct":
            return DistinctLDiversity(sensitive=sensitive, l=int(self.l))
        from oboro.verifier.models.spread_models import EntropyLDiversity, RecursiveLDiversity

        if self.c is None:
            return EntropyLDiversity(sensitive=sensitive, l=self.l)
        return RecursiveLDiversity(sensitive=sensitive, c=self.c, l=int(self.l))

    def rule(self, sensitive: str, column: Column, tree: Hierarchy | None = None) -> Rule:
        """Distinct, entropy or recursive l-diversity."""
        return diversity_rule(sensitive, column, l=self.l, kind=self.kind, c=self.c or 1.0)

    def plan(self, sensitive: str) -> Message:
        """How diverse every class must be."""
        if self.kind == "recursive":
            return Message("technique.demand.recursive", sensitive=sensitive, c=self.c, l=self.l)
        if self.kind == "entropy":
            return Message("technique.demand.entropy", sensitive=sensitive, l=self.l)
        return Message("technique.demand.distinct", sensitive=sensitive, l=self.l)
