"""Everything beyond k that a step can demand of the classes that it makes: as it stands in a recipe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import Field, model_validator

from oboro.errors import UsageError
from oboro.table.dataset import Dataset
from oboro.table.hierarchy import Hierarchy
from oboro.table.schema import Schema
from oboro.techniques.demands.in_series import InSeries
from oboro.techniques.demands.models_asked import Alpha, Closeness, Demand, Disclosure, Diversity, Likeness, Presence
from oboro.techniques.demands.population_table import PopulationTable
from oboro.techniques.demands.risk_sizes import least_size
from oboro.techniques.demands.sample_demands import AtRisk, EstimatedMap, UniqueInPopulation
from oboro.text import Message
from oboro.verifier.models.class_models import Model

if TYPE_CHECKING:
    from oboro.decide.lattice.suppression.size_limits import SizeLimit

__all__ = ["ClassDemands", "Share"]

Share = Annotated[float, Field(gt=0, le=1)]


class ClassDemands(InSeries):
    """A step whose classes must keep more than a size."""

    quasi: list[str] | None = Field(default=None, min_length=1)
    """The columns to generalize. Without it: all quasi-identifiers."""
    l_diversity: dict[str, Annotated[float, Field(ge=1)] | Diversity] = Field(default_factory=dict)
    """For each sensitive column: how many different values every class must have. Or l with a kind, and c."""
    t_closeness: dict[str, Annotated[float, Field(ge=0, le=1)] | Closeness] = Field(default_factory=dict)
    """For each sensitive column: how far its distribution in a class may be from that in the whole table. Or t with a distance."""
    delta_disclosure: dict[str, Annotated[float, Field(gt=0, le=500)] | Disclosure] = Field(default_factory=dict)
    """For each sensitive column: by which power of 2 the frequency of a value in a class and in the whole table may differ."""
    beta_likeness: dict[str, Annotated[float, Field(gt=0)] | Likeness] = Field(default_factory=dict)
    """For each sensitive column: by which part of it the share of a value may grow in a class. Or beta with a kind."""
    alpha: Share | dict[str, Share | Alpha] = Field(default_factory=dict)
    """The greatest share that one sensitive value may have in a class: for all sensitive columns, or for each."""
    maximum_risk: Share | None = None
    """The greatest re-identification risk allowed for any record (prosecutor risk): 1 / the size of its class."""
    average_risk: Share | None = None
    """The greatest re-identification risk allowed on average: number of classes / number of records, over all records and over
    those that are not suppressed."""
    records_at_risk: AtRisk | None = None
    """Which share of the records may have a re-identification risk above a limit."""
    sample_uniqueness: Annotated[float, Field(ge=0, le=1)] | None = None
    """The greatest share of the records that may stand alone in their class; for k: 1."""
    population_uniqueness: UniqueInPopulation | None = None
    """The greatest share of the population that may be unique, as estimated from how large a part of it the table is; for k: 1."""
    estimated_k_map: EstimatedMap | None = None
    """Every class must match at least so many people of the population, as estimated from how large a part of it the table is."""
    population: PopulationTable | None = None
    """The population that this table was drawn from: a table with the same columns, not generalized. A file, looked for
    beside the recipe; in Python also a frame.
    """
    k_map: int | None = Field(default=None, ge=1)
    """Every class must match at least this many people in the population (k-map)."""
    presence: Presence | None = None
    """Which share of the matching people in the population may be in the table, at least and at most (δ-presence)."""

    @model_validator(mode="after")
    def _population_for_something(self) -> Self:
        if (self.population is not None) != self.needs_population:
            raise ValueError(Message("error_technique.population_with"))
        return self

    @property
    def needs_population(self) -> bool:
        """Whether something is asked of people beyond the table."""
        return self.k_map is not None or self.presence is not None

    def files(self) -> tuple[str, ...]:
        """The files of the population and of earlier releases, if they were given as such."""
        return tuple(one for one in (self.population, *super().files()) if isinstance(one, str))

    def demands(self, schema: Schema) -> list[tuple[str, Demand]]:
        """Every demand beyond k with its sensitive column."""
        alpha: Mapping[str, float | Alpha]
        alpha = self.alpha if isinstance(self.alpha, dict) else dict.fromkeys(schema.sensitive, self.alpha)
        if not alpha and self.alpha:
            raise UsageError(Message("error_technique.alpha_sensitive", step=self.step))
        demands: list[tuple[str, Demand]] = []
        demands += [(name, d if isinstance(d, Diversity) else Diversity(l=d)) for name, d in self.l_diversity.items()]
        demands += [(name, d if isinstance(d, Closeness) else Closeness(t=d)) for name, d in self.t_closeness.items()]
        demands += [
            (n, d if isinstance(d, Disclosure) else Disclosure(delta=d)) for n, d in self.delta_disclosure.items()
        ]
        demands += [
            (name, d if isinstance(d, Likeness) else Likeness(beta=d)) for name, d in self.beta_likeness.items()
        ]
        demands += [(name, d if isinstance(d, Alpha) else Alpha(alpha=d)) for name, d in alpha.items()]
        both = [name for name, _ in demands if name in schema.chosen(self.quasi, self.step)]
        if both:
            raise UsageError(Message("error_technique.quasi_or_sensitive", step=self.step, both=both))
        return demands

    def sample_limits(self, sample: int) -> list[Model]:
        """What the verifier is to check of a table that is a sample; it has so many records, or people."""
        if not self.of_sizes and self.estimated_k_map is None:
            return []
        from oboro.verifier.models.sample_risk import (
            EstimatedKMap,
            PopulationUniqueness,
            RecordsAtRisk,
            SampleUniqueness,
        )

        models: list[Model] = []
        if self.records_at_risk is not None:
            models.append(RecordsAtRisk(**self.records_at_risk.model_dump()))
        if self.sample_uniqueness is not None:
            models.append(SampleUniqueness(share=self.sample_uniqueness))
        if (unique := self.population_uniqueness) is not None:
            part = unique.part(sample)
            models.append(PopulationUniqueness(share=unique.share, fraction=part, estimator=unique.estimator))
        if self.estimated_k_map is None:
            return models
        one = self.estimated_k_map
        return [
            *models,
            EstimatedKMap(k=one.k, fraction=one.part(sample), significance=one.significance, estimator=one.estimator),
        ]

    @property
    def of_sizes(self) -> bool:
        """Whether something is demanded of the sizes of all classes together."""
        limits = (self.records_at_risk, self.sample_uniqueness, self.population_uniqueness)
        return any(one is not None for one in limits)

    def size_limits(self, sample: int) -> tuple[SizeLimit, ...]:
        """What the search decides by, of the sizes of all classes."""
        if not self.of_sizes:
            return ()
        from oboro.decide.lattice.suppression.size_limits import SizeLimit

        limits = []
        if self.records_at_risk is not None:
            limits.append(SizeLimit(least_size(self.records_at_risk.risk), self.records_at_risk.share))
        if self.sample_uniqueness is not None:
            limits.append(SizeLimit(2, self.sample_uniqueness))
        if self.population_uniqueness is not None:
            limits.append(SizeLimit(estimated=self.population_uniqueness.too_many(sample)))
        return tuple(limits)

    def least_class(self, sample: int) -> int:
        """How many records, or people, every class needs for k and the limits on risk."""
        sizes = [getattr(self, "k", 1), 1 if self.maximum_risk is None else least_size(self.maximum_risk)]
        sizes += [
            int(model.required) for model in self.sample_limits(sample) if model.message == "model.estimated_k_map"
        ]
        return max([*sizes, *self.further_sizes()])

    def further_sizes(self) -> list[int]:
        """How many records further demands need in every class."""
        return []

    def risk_limits(self) -> list[Model]:
        """What the verifier is to check of the risk."""
        if self.maximum_risk is None and self.average_risk is None:
            return []
        from oboro.verifier.models.risk_limits import AverageRisk, MaximumRisk

        models: list[Model] = [] if self.maximum_risk is None else [MaximumRisk(risk=self.maximum_risk)]
        return models + ([] if self.average_risk is None else [AverageRisk(risk=self.average_risk)])

    def population_limits(self, population: Dataset, hierarchies: Mapping[str, Hierarchy]) -> list[Model]:
        """What the verifier is to check against the population."""
        from oboro.verifier.models.population_models import DeltaPresence, KMap

        everybody: dict[str, Any] = {"population": population, "hierarchies": hierarchies}
        models: list[Model] = [] if self.k_map is None else [KMap(k=self.k_map, **everybody)]
        if self.presence is not None:
            models.append(DeltaPresence(low=self.presence.min, high=self.presence.max, **everybody))
        return models

    def limits_told(self, schema: Schema) -> list[Message]:
        """What is demanded beyond the sensitive columns, in words."""
        told = self.series_told(schema)
        limits = {"maximum_risk": self.maximum_risk, "average_risk": self.average_risk}
        told += [Message(f"technique.demand.{name}", risk=risk) for name, risk in limits.items() if risk is not None]
        if self.records_at_risk is not None:
            told.append(Message("technique.demand.records_at_risk", **self.records_at_risk.model_dump()))
        if self.sample_uniqueness is not None:
            told.append(Message("technique.demand.sample_uniqueness", share=self.sample_uniqueness))
        if self.population_uniqueness is not None:
            told.append(Message("technique.demand.population_uniqueness", **self.population_uniqueness.model_dump()))
        if self.estimated_k_map is not None:
            told.append(Message("technique.demand.estimated_k_map", **self.estimated_k_map.model_dump()))
        return told + self.population_told()

    def population_told(self) -> list[Message]:
        """What is demanded of the people in the population that match a class."""
        told = [] if self.k_map is None else [Message("technique.demand.k_map", k=self.k_map)]
        if self.presence is not None:
            told.append(Message("technique.demand.presence", low=self.presence.min, high=self.presence.max))
        return told
