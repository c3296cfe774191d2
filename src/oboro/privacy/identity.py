"""Privacy models of identity: k-anonymity, k-concealment, Pk-anonymity, and k-map and δ-presence in a population."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field, model_validator

from oboro.privacy.base import Control, Keyword, PrivacyModel, Scope
from oboro.text import Message

__all__ = ["KAnonymity", "KConcealment", "KMap", "PkAnonymity", "Presence"]


class KAnonymity(PrivacyModel):
    """At least k records, or k people, in every class (Sweeney 2002)."""

    key: ClassVar[str] = "k"
    scope: ClassVar[Scope] = "class"
    words: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "model.k_anonymity": {},
        "model.k_anonymity_within": {},
        "model.stream_k_anonymity": {},
    }
    limit: ClassVar[str] = "k"
    examples: ClassVar[Sequence[Mapping[str, Any]]] = ({"k": 2}, {"k": 4})
    in_recipe: ClassVar[bool] = False
    scalar: ClassVar[bool] = True
    keywords: ClassVar[Sequence[Keyword]] = (Keyword("k", ("k",), "int | None"),)

    k: int = Field(ge=1)
    """The least number of records, or people, in every class."""

    def plan(self, sensitive: str | None = None) -> Message:
        """Describe the least size of each class."""
        return Message("technique.demand.alike", k=self.k)

    def least_class(self, sample: int) -> int:
        """Return k."""
        return self.k

    @property
    def linked(self) -> float | None:
        """Return 1 / k: all records of a class fit alike (Sweeney 2002)."""
        return 1 / self.k if self.k > 1 else None


class KConcealment(PrivacyModel):
    """At least k candidates for every record, and k records for every person (Tassa et al. 2012)."""

    key: ClassVar[str] = "k_concealment"
    scope: ClassVar[Scope] = "release"
    words: ClassVar[Mapping[str, Mapping[str, Any]]] = {"model.k_concealment": {}}
    limit: ClassVar[str] = "k"
    examples: ClassVar[Sequence[Mapping[str, Any]]] = ({"k": 2},)
    in_recipe: ClassVar[bool] = False
    unsearched: ClassVar[str] = "no choice of levels makes it: `k_conceal` decides record by record"

    k: int = Field(ge=1)
    """The least number of people that every record matches, and of records that every person matches."""

    def plan(self, sensitive: str | None = None) -> Message:
        """Describe the model by its name."""
        return Message("model.k_concealment", k=self.k)

    @property
    def linked(self) -> float | None:
        """Return 1 / k: each record has k candidates, of which an attacker can exclude none."""
        return 1 / self.k if self.k > 1 else None


class PkAnonymity(PrivacyModel):
    """A probability of at most 1 / k that a person is linked to the right record (Ikarashi et al. 2014)."""

    key: ClassVar[str] = "pk_anonymity"
    scope: ClassVar[Scope] = "release"
    words: ClassVar[Mapping[str, Mapping[str, Any]]] = {"model.pk_anonymity": {}}
    limit: ClassVar[str] = "k"
    examples: ClassVar[Sequence[Mapping[str, Any]]] = ({"k": 2.5},)
    in_recipe: ClassVar[bool] = False
    unjudged: ClassVar[str] = (
        "it follows from the probabilities of the perturbation, which a released table does not show"
    )
    unsearched: ClassVar[str] = "no choice of levels makes it: `pk_anonymize` perturbs values"

    k: float = Field(ge=1, allow_inf_nan=False)
    """The reciprocal of the greatest probability of a right link."""

    def plan(self, sensitive: str | None = None) -> Message:
        """Describe the model by its name."""
        return Message("model.pk_anonymity", k=self.k)

    @property
    def linked(self) -> float | None:
        """Return 1 / k, as it is defined."""
        return 1 / self.k if self.k > 1 else None


class KMap(PrivacyModel):
    """At least k people of a population match every class (Sweeney 2002), however few of them are in the table."""

    key: ClassVar[str] = "k_map"
    scope: ClassVar[Scope] = "population"
    words: ClassVar[Mapping[str, Mapping[str, Any]]] = {"model.k_map": {}}
    limit: ClassVar[str] = "k"
    examples: ClassVar[Sequence[Mapping[str, Any]]] = ({"k": 4},)
    scalar: ClassVar[bool] = True
    keywords: ClassVar[Sequence[Keyword]] = (Keyword("k_map", ("k",), "int | None"),)
    control: ClassVar[Control | None] = Control("population", "k", 1, "count")
    unbounded: ClassVar[str] = "attacks here know that the person is in the table, and k-map counts people beyond it"

    k: int = Field(ge=1)
    """The least number of people of the population that every class matches."""

    def plan(self, sensitive: str | None = None) -> Message:
        """Describe the people who match each class."""
        return Message("technique.demand.k_map", k=self.k)


class Presence(PrivacyModel):
    """Which share of the people in the population that match a class may be in the table."""

    key: ClassVar[str] = "presence"
    scope: ClassVar[Scope] = "population"
    words: ClassVar[Mapping[str, Mapping[str, Any]]] = {"model.delta_presence": {}}
    limit: ClassVar[str] = "max"
    examples: ClassVar[Sequence[Mapping[str, Any]]] = ({"max": 0.5}, {"min": 0.2, "max": 0.6})
    keywords: ClassVar[Sequence[Keyword]] = (
        Keyword("presence", ("low", "high"), "tuple[float, float] | None", example="0.1,0.6"),
    )
    control: ClassVar[Control | None] = Control("population", "risk", 1, "percent", part="max")
    unbounded: ClassVar[str] = "it bounds the knowledge that a person is in the table; attacks here have that knowledge"

    min: float = Field(default=0.0, ge=0, le=1)
    """The least share: above 0, nobody can be sure that a person is not in the table."""
    max: float = Field(default=1.0, gt=0, le=1)
    """The greatest share: below 1, nobody can be sure that a person is in the table."""

    @model_validator(mode="after")
    def _fits(self) -> Presence:
        if self.min > self.max:
            raise ValueError(Message("error_technique.min_max"))
        return self

    def plan(self, sensitive: str | None = None) -> Message:
        """Describe the share of the matching people that is in the table."""
        return Message("technique.demand.presence", low=self.min, high=self.max)

    def judged(self, sample: int) -> dict[str, Any]:
        """Return the limits, which the judge calls low and high."""
        return {"low": self.min, "high": self.max}

    @classmethod
    def of_words(cls, words: Message) -> Presence:
        """Read the limits, which verdicts call low and high."""
        return cls(min=words.values["low"], max=words.values["high"])
