"""What a class must keep of the shares of sensitive values: t-closeness, δ-disclosure privacy, β-likeness, (α, k)-anonymity."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal

from pydantic import Field

from oboro.algorithms.lattice.constraints import Rule, alpha_rule, closeness_rule, disclosure_rule, likeness_rule
from oboro.data.column import Column
from oboro.data.folding import Fold, as_folded, reads_as_missing
from oboro.data.matching import Value, absent, near_values, shown, watched_missing
from oboro.errors import ColumnError
from oboro.hierarchies.hierarchy import Hierarchy
from oboro.notations.kinds import READ_AS_MISSING
from oboro.techniques.requirements import Demand
from oboro.text import Message
from oboro.verifier.identity import Model

__all__ = ["Alpha", "Closeness", "Disclosure", "Likeness", "share_demands"]


class Closeness(Demand):
    """How close a sensitive attribute's distribution within each class must be to that of the whole table."""

    t: float = Field(ge=0, le=1)
    """The greatest distance allowed between the two distributions (earth mover's distance)."""
    distance: Literal["equal", "ordered", "hierarchical"] = "equal"
    """How far two values are apart. equal: any two the same; ordered: by rank; hierarchical: by the column's hierarchy."""

    @property
    def hierarchical(self) -> bool:
        """Whether the distance is the hierarchical one."""
        return self.distance == "hierarchical"

    @property
    def of_every_reading(self) -> bool:
        """Distances and shares may also grow where a reader merges fewer values."""
        return True

    def model(self, sensitive: str, tree: Hierarchy | None = None) -> Model:
        """t-closeness."""
        from oboro.verifier.attribute import TCloseness

        return TCloseness(sensitive=sensitive, t=self.t, distance=self.distance, hierarchy=tree)

    def rule(self, sensitive: str, column: Column, tree: Hierarchy | None = None) -> Rule:
        """t-closeness."""
        return closeness_rule(sensitive, column, t=self.t, distance=self.distance, hierarchy=tree)

    def plan(self, sensitive: str) -> Message:
        """How close every class must be to the whole table."""
        return Message("technique.demand.closeness", sensitive=sensitive, t=self.t, distance=self.distance)


class Disclosure(Demand):
    """How much more or less frequent a sensitive value may be in a class than in the whole table (δ-disclosure privacy)."""

    delta: float = Field(gt=0, le=500)
    """Each value must be less than 2^delta times as frequent in a class as in the whole table, and the other way round."""
    values: Literal["all", "held"] = "all"
    """all: a value that a class lacks breaks it, as the definition says; held: only values that a class holds count, as in ARX."""

    @property
    def of_every_reading(self) -> bool:
        """Distances and shares may also grow where a reader merges fewer values."""
        return True

    def model(self, sensitive: str, tree: Hierarchy | None = None) -> Model:
        """δ-disclosure privacy."""
        from oboro.verifier.attribute import DeltaDisclosure

        return DeltaDisclosure(sensitive=sensitive, delta=self.delta, values=self.values)

    def rule(self, sensitive: str, column: Column, tree: Hierarchy | None = None) -> Rule:
        """δ-disclosure privacy."""
        return disclosure_rule(sensitive, column, delta=self.delta, held=self.values == "held")

    def plan(self, sensitive: str) -> Message:
        """How far the frequencies of a class may be from those of the whole table."""
        return Message(f"technique.demand.disclosure.{self.values}", sensitive=sensitive, delta=self.delta)


class Likeness(Demand):
    """How much more frequent a sensitive value may become in a class (β-likeness)."""

    beta: float = Field(gt=0, allow_inf_nan=False)
    """The share of each value may grow by at most this part of it: (q − p) / p, with p in the whole table and q in a class."""
    kind: Literal["enhanced", "basic"] = "enhanced"
    """enhanced: by at most min(beta, −ln p), so that frequent values do not become certain; basic: by at most beta."""

    @property
    def of_every_reading(self) -> bool:
        """Distances and shares may also grow where a reader merges fewer values."""
        return True

    def model(self, sensitive: str, tree: Hierarchy | None = None) -> Model:
        """β-likeness."""
        from oboro.verifier.attribute import BetaLikeness

        return BetaLikeness(sensitive=sensitive, beta=self.beta, kind=self.kind)

    def rule(self, sensitive: str, column: Column, tree: Hierarchy | None = None) -> Rule:
        """β-likeness."""
        return likeness_rule(sensitive, column, beta=self.beta, enhanced=self.kind == "enhanced")

    def plan(self, sensitive: str) -> Message:
        """How much more frequent a value may become."""
        return Message(f"technique.demand.likeness.{self.kind}", sensitive=sensitive, beta=self.beta)


class Alpha(Demand):
    """Which share of a class one sensitive value may have."""

    alpha: float = Field(gt=0, le=1)
    """The greatest share allowed."""
    value: Value | None = None
    """Limit only this value, compared by what it means in the column (1, "1" and 1.0 are one number). Without it: every value."""
    absent: Literal["error", "allowed"] = "error"
    """What happens where no record has the value: an error, or nothing (a delivery in which nobody has it)."""

    def model(self, sensitive: str, tree: Hierarchy | None = None) -> Model:
        """(α, k)-anonymity."""
        from oboro.verifier.attribute import AlphaK

        return AlphaK(sensitive=sensitive, alpha=self.alpha, value=self.value)

    def folding(self, column: Column, folds: Collection[Fold]) -> Demand:
        """The value as the folded column spells it; a word that the column's readers take for missing as one of the list."""
        value = as_folded(self.value, column, folds)
        unlisted = isinstance(value, str) and value not in READ_AS_MISSING and value not in column.texts
        return self.model_copy(update={"value": "NA" if unlisted and reads_as_missing(value, folds) else value})

    def rule(self, sensitive: str, column: Column, tree: Hierarchy | None = None) -> Rule:
        """(α, k)-anonymity."""
        missing = self.value is not None and watched_missing(column, self.value)
        if (
            self.value is not None
            and not missing
            and self.absent == "error"
            and absent(column, sensitive, [self.value])
        ):
            near = near_values(self.value, column)
            id = "error_technique.value_near" if near else "error_technique.value_absent"
            raise ColumnError(Message(id, column=sensitive, value=shown(self.value), near=near))
        return alpha_rule(sensitive, column, alpha=self.alpha, value=self.value)

    def plan(self, sensitive: str) -> Message:
        """How large a part of every class a value may make up."""
        if self.value is None:
            return Message("technique.demand.alpha", sensitive=sensitive, alpha=self.alpha)
        return Message("technique.demand.alpha_of_one", sensitive=sensitive, alpha=self.alpha)


def share_demands(
    closeness: Mapping[str, Any],
    disclosure: Mapping[str, Any] | None = None,
    likeness: Mapping[str, Any] | None = None,
    alpha: Mapping[str, Any] | None = None,
) -> list[tuple[str, Demand]]:
    """Each demand with its sensitive column; where only a number was given, it is the limit."""
    asked: tuple[tuple[type[Demand], str, Mapping[str, Any] | None], ...] = (
        (Closeness, "t", closeness),
        (Disclosure, "delta", disclosure),
        (Likeness, "beta", likeness),
        (Alpha, "alpha", alpha),
    )
    return [
        (name, one if isinstance(one, demand) else demand(**{limit: one}))
        for demand, limit, given in asked
        for name, one in (given or {}).items()
    ]
