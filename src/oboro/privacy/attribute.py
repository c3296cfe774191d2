"""Privacy models of one sensitive attribute: l-diversity, t-closeness, δ-disclosure privacy, β-likeness, (α, k)-anonymity.

Bounds on inference: a value is guessed with at most the share that it has in its class. That is α of (α, k)-anonymity;
c / (1 + c) of recursive (c, l)-diversity; the share of the most frequent value in the table plus t, of t-closeness with
equal distances; 2^δ times that share, of δ-disclosure privacy; 1 + β times it, of β-likeness (enhanced: 1 + min(β, −ln p),
and p · (1 − ln p) grows with p); of entropy l-diversity the largest share that an entropy of log l leaves.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import exp, log
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from oboro.data.column import Column
from oboro.data.folding import Fold, as_folded, reads_as_missing
from oboro.data.matching import Value
from oboro.notations.kinds import READ_AS_MISSING
from oboro.privacy.base import Bounds, Control, Keyword, PrivacyModel, Scope
from oboro.text import Message

__all__ = ["Alpha", "AttributeModel", "Closeness", "Disclosure", "Diversity", "Likeness", "largest_share"]

SHARES = (1, 0.7, 0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1, 0.05)


class AttributeModel(PrivacyModel):
    """A model of the values of one sensitive attribute in each class."""

    scope: ClassVar[Scope] = "attribute"

    def folding(self, column: Column, folds: Collection[Fold]) -> AttributeModel:
        """The same of a column whose values were folded: a value that it names is spelled as there."""
        return self


class Diversity(AttributeModel):
    """How diverse a sensitive attribute must be within each class."""

    key: ClassVar[str] = "l_diversity"
    words: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "model.distinct_l_diversity": {"kind": "distinct"},
        "model.entropy_l_diversity": {"kind": "entropy"},
        "model.recursive_l_diversity": {"kind": "recursive"},
        "model.distinct_l_diversity_within": {"kind": "distinct"},
        "model.stream_l_diversity": {"kind": "distinct"},
    }
    limit: ClassVar[str] = "l"
    examples: ClassVar[Sequence[Mapping[str, Any]]] = (
        {"l": 2},
        {"l": 1.5, "kind": "entropy"},
        {"l": 2, "kind": "recursive", "c": 2.0},
    )
    keywords: ClassVar[Sequence[Keyword]] = (
        Keyword("l", ("l",)),
        Keyword("kind", ("kind",), "str", "distinct", option="l_kind"),
        Keyword("c", ("c",)),
    )
    control: ClassVar[Control | None] = Control("main", (1, 2, 3, 4, 5, 6, 8, 10), 1, part="l")

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

    @classmethod
    def wrong_keywords(cls, given: Mapping[str, Any]) -> Message | None:
        """Explain an unknown kind, and a c without the kind that needs it."""
        if given["kind"] not in cls.choices("kind"):
            return Message("error_verifier.kind", kinds=list(cls.choices("kind")), got=given["kind"])
        return (
            Message("error_verifier.recursive_c")
            if (given["kind"] == "recursive") != (given["c"] is not None)
            else None
        )

    def plan(self, sensitive: str | None = None) -> Message:
        """Describe the diversity of each class."""
        more = {"c": self.c} if self.kind == "recursive" else {}
        return Message(f"technique.demand.{self.kind}", sensitive=sensitive, l=self.l, **more)

    def largest_share(self, bounds: Bounds) -> float | None:
        """Return the bound of entropy and recursive diversity; distinct values may have all but l − 1 records of a class."""
        if self.kind == "entropy":
            return largest_share(self.l, bounds.values)
        return self.c / (1 + self.c) if self.c is not None and self.l > 1 else None


class Closeness(AttributeModel):
    """How close a sensitive attribute's distribution within each class must be to that of the whole table."""

    key: ClassVar[str] = "t_closeness"
    words: ClassVar[Mapping[str, Mapping[str, Any]]] = {"model.t_closeness": {}}
    limit: ClassVar[str] = "t"
    examples: ClassVar[Sequence[Mapping[str, Any]]] = ({"t": 0.25}, {"t": 0.2, "distance": "ordered"})
    compares_with_table: ClassVar[bool] = True
    keywords: ClassVar[Sequence[Keyword]] = (
        Keyword("t", ("t",)),
        Keyword("distance", ("distance",), "str", "equal"),
        Keyword("hierarchy", ("hierarchy",), "Hierarchy | HierarchySpec | Mapping[str, Any] | None"),
        Keyword("order", ("order",), "Sequence[str] | None", option=None),
    )
    control: ClassVar[Control | None] = Control("secrets", SHARES, 1, part="t", choice="distance")

    t: float = Field(ge=0, le=1)
    """The greatest distance allowed between the two distributions (earth mover's distance)."""
    distance: Literal["equal", "ordered", "hierarchical"] = "equal"
    """How far two values are apart. equal: any two the same; ordered: by rank; hierarchical: by the column's hierarchy."""

    @property
    def hierarchical(self) -> bool:
        """Whether the distance is the hierarchical one."""
        return self.distance == "hierarchical"

    def plan(self, sensitive: str | None = None) -> Message:
        """Describe the distance of each class from the whole table."""
        return Message("technique.demand.closeness", sensitive=sensitive, t=self.t, distance=self.distance)

    def largest_share(self, bounds: Bounds) -> float | None:
        """Return the share in the table plus t; other distances than the equal one bound no share."""
        if bounds.everywhere is None or self.distance != "equal":
            return None
        return min(1.0, bounds.everywhere + self.t)


class Alpha(AttributeModel):
    """Which share of a class one sensitive value may have."""

    key: ClassVar[str] = "alpha"
    words: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "model.alpha_k_anonymity": {},
        "model.alpha_k_anonymity_of_one": {"value": "?"},  # a verdict does not repeat the value
    }
    limit: ClassVar[str] = "alpha"
    examples: ClassVar[Sequence[Mapping[str, Any]]] = (
        {"alpha": 0.6},
        {"alpha": 0.5, "value": "b", "absent": "allowed"},
    )
    for_all: ClassVar[bool] = True
    keywords: ClassVar[Sequence[Keyword]] = (
        Keyword("alpha", ("alpha",)),
        Keyword("value", ("value",), "Value | None", option=None),
    )
    control: ClassVar[Control | None] = Control("secrets", SHARES, 1, "percent", part="alpha")

    alpha: float = Field(gt=0, le=1)
    """The greatest share allowed."""
    value: Value | None = None
    """Limit only this value, compared by what it means in the column (1, "1" and 1.0 are one number). Without it: every value."""
    absent: Literal["error", "allowed"] = "error"
    """What happens where no record has the value: an error, or nothing (a delivery in which nobody has it)."""

    def folding(self, column: Column, folds: Collection[Fold]) -> Alpha:
        """The value as the folded column spells it; a word that the column's readers take for missing as one of the list."""
        value = as_folded(self.value, column, folds)
        unlisted = isinstance(value, str) and value not in READ_AS_MISSING and value not in column.texts
        return self.model_copy(update={"value": "NA" if unlisted and reads_as_missing(value, folds) else value})

    def judged(self, sample: int) -> dict[str, Any]:
        """Return the limit and the value: a judge never refuses a release because nobody has the value."""
        return {"alpha": self.alpha, "value": self.value}

    def plan(self, sensitive: str | None = None) -> Message:
        """Describe the greatest share of a value in each class."""
        of = "alpha" if self.value is None else "alpha_of_one"
        return Message(f"technique.demand.{of}", sensitive=sensitive, alpha=self.alpha)

    def largest_share(self, bounds: Bounds) -> float | None:
        """Return α; where it limits one value alone, others may have any share."""
        return self.alpha if self.value is None else None


class Disclosure(AttributeModel):
    """How much more or less frequent a sensitive value may be in a class than in the whole table (δ-disclosure privacy)."""

    key: ClassVar[str] = "delta_disclosure"
    words: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "model.delta_disclosure": {"values": "all"},
        "model.delta_disclosure_of_held": {"values": "held"},
    }
    limit: ClassVar[str] = "delta"
    examples: ClassVar[Sequence[Mapping[str, Any]]] = ({"delta": 1.0}, {"delta": 0.8, "values": "held"})
    compares_with_table: ClassVar[bool] = True
    keywords: ClassVar[Sequence[Keyword]] = (
        Keyword("delta", ("delta",)),
        Keyword("disclosed", ("values",), "str", "all"),
    )
    control: ClassVar[Control | None] = Control(
        "secrets", (0, 5, 4, 3, 2, 1.5, 1, 0.5), 0, part="delta", choice="values"
    )

    delta: float = Field(gt=0, le=500)
    """Each value must be less than 2^delta times as frequent in a class as in the whole table, and the other way round."""
    values: Literal["all", "held"] = "all"
    """all: a value that a class lacks breaks it, as the definition says; held: only values that a class holds count, as in ARX."""

    def plan(self, sensitive: str | None = None) -> Message:
        """Describe how far the frequencies of each class may be from those of the whole table."""
        return Message(f"technique.demand.disclosure.{self.values}", sensitive=sensitive, delta=self.delta)

    def largest_share(self, bounds: Bounds) -> float | None:
        """Return 2^δ times the share in the table."""
        return None if bounds.everywhere is None else min(1.0, bounds.everywhere * 2.0**self.delta)


class Likeness(AttributeModel):
    """How much more frequent a sensitive value may become in a class (β-likeness)."""

    key: ClassVar[str] = "beta_likeness"
    words: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "model.enhanced_likeness": {"kind": "enhanced"},
        "model.basic_likeness": {"kind": "basic"},
    }
    limit: ClassVar[str] = "beta"
    examples: ClassVar[Sequence[Mapping[str, Any]]] = ({"beta": 0.5}, {"beta": 1.0, "kind": "basic"})
    compares_with_table: ClassVar[bool] = True
    keywords: ClassVar[Sequence[Keyword]] = (
        Keyword("beta", ("beta",)),
        Keyword("likeness", ("kind",), "str", "enhanced"),
    )
    control: ClassVar[Control | None] = Control("secrets", (0, 5, 4, 3, 2, 1, 0.5), 0, part="beta", choice="kind")

    beta: float = Field(gt=0, allow_inf_nan=False)
    """The share of each value may grow by at most this part of it: (q − p) / p, with p in the whole table and q in a class."""
    kind: Literal["enhanced", "basic"] = "enhanced"
    """enhanced: by at most min(beta, −ln p), so that frequent values do not become certain; basic: by at most beta."""

    def plan(self, sensitive: str | None = None) -> Message:
        """Describe how much more frequent a value may become in a class."""
        return Message(f"technique.demand.likeness.{self.kind}", sensitive=sensitive, beta=self.beta)

    def largest_share(self, bounds: Bounds) -> float | None:
        """Return the share in the table and what it may grow by."""
        if bounds.everywhere is None:
            return None
        gain = self.beta if self.kind == "basic" else min(self.beta, -log(bounds.everywhere))
        return min(1.0, bounds.everywhere * (1 + gain))


def largest_share(l: float, values: int) -> float:  # noqa: E741  (the literature's letter)
    """Return the largest share that one of so many values can have where the entropy is log l or more.

    The entropy is largest where the other values share the rest evenly: h(p) + (1 − p) log(values − 1), which falls from
    p = 1 / values on.

    >>> round(largest_share(2, 2), 6), round(largest_share(1.5, 2), 3), largest_share(1, 5)
    (0.5, 0.86, 1.0)
    """
    if values < 2 or l <= 1:
        return 1.0
    low, high = 1 / values, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _perplexity(middle, values) >= l else (low, middle)
    return low


def _perplexity(share: float, values: int) -> float:
    parts = [share, *([(1 - share) / (values - 1)] * (values > 1))]
    weights = [1, values - 1]
    return exp(-sum(n * p * log(p) for n, p in zip(weights, parts, strict=True) if p > 0))
