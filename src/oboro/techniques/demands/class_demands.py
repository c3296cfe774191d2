"""Everything beyond k that a step can demand of the classes that it makes: as it stands in a recipe."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from oboro.errors import UsageError
from oboro.table.dataset import Dataset
from oboro.table.hierarchy import Hierarchy
from oboro.table.parameters.loaded_later import loaded_later
from oboro.table.schema import Schema
from oboro.techniques.base import Outcome, Technique, Work
from oboro.techniques.demands.models_asked import Demand, Diversity
from oboro.techniques.demands.population_table import PopulationTable
from oboro.techniques.demands.risk_sizes import least_size
from oboro.text import Message
from oboro.verifier.models.class_models import Model

if TYPE_CHECKING:
    from oboro.decide.lattice.suppression.size_limits import SizeLimit
    from oboro.techniques.demands.further.sample_demands import AtRisk, EstimatedMap, Presence, UniqueInPopulation
    from oboro.techniques.demands.further.share_demands import Alpha, Closeness, Disclosure, Likeness
else:
    FURTHER = "oboro.techniques.demands.further"
    SAMPLE, SHARES = f"{FURTHER}.sample_demands", f"{FURTHER}.share_demands"
    AtRisk, EstimatedMap, Presence = loaded_later(SAMPLE, "AtRisk", "EstimatedMap", "Presence")
    (UniqueInPopulation,) = loaded_later(SAMPLE, "UniqueInPopulation")
    Alpha, Closeness, Disclosure, Likeness = loaded_later(SHARES, "Alpha", "Closeness", "Disclosure", "Likeness")

__all__ = ["ClassDemands", "Share"]

Share = Annotated[float, Field(gt=0, le=1)]


class ClassDemands(Technique):
    """A step whose classes must keep more than a size, also together with earlier releases."""

    earlier: list[PopulationTable] = Field(default_factory=list)
    """Releases of the same people that are out already, oldest first: files, looked for beside the recipe; in Python also frames.
    Whoever comes, stays or leaves does so among k people then, with l secrets; who cannot is held back.
    """
    changing: list[str] = Field(default_factory=list)
    """Columns whose values change from release to release, so that nobody follows a row by them."""

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

    def reads(self, names: Sequence[str]) -> Collection[str]:
        """With earlier releases every column is looked at: rows are followed by what they say."""
        return names if self.earlier else super().reads(names)

    def run(self, work: Work) -> Outcome:
        """Do it; with earlier releases as often as rows must be held back."""
        if not self.earlier:
            return self.once(work)
        from oboro.techniques.demands.kept_in_series import keep_in_series  # most jobs need none of it

        return keep_in_series(self, work)

    def once(self, work: Work) -> Outcome:
        """Do it without regard to earlier releases."""
        raise NotImplementedError

    def in_series(self, schema: Schema) -> tuple[list[str], int, dict[str, int]]:
        """The columns that are generalized, k, and how many values of each secret are asked for."""
        asked = {name: ceil(one.l if isinstance(one, Diversity) else one) for name, one in self.l_diversity.items()}
        return list(schema.chosen(self.quasi, self.step)), getattr(self, "k", 1), asked

    def series_told(self, schema: Schema) -> list[Message]:
        """What is demanded of a series, in words. Only where people are followed is it kept with all releases together."""
        apart = "_apart" if len(self.earlier) > 1 and schema.person is None else ""
        return [Message(f"technique.demand.series{apart}", releases=len(self.earlier))] if self.earlier else []

    def files(self) -> tuple[str, ...]:
        """The files of the population and of earlier releases, if they were given as such."""
        if self.population is None and not self.earlier:
            return ()
        return tuple(one for one in (self.population, *self.earlier) if isinstance(one, str))

    def demands(self, schema: Schema) -> list[tuple[str, Demand]]:
        """Every demand beyond k with its sensitive column."""
        alpha: Mapping[str, float | Alpha]
        alpha = self.alpha if isinstance(self.alpha, dict) else dict.fromkeys(schema.sensitive, self.alpha)
        if not alpha and self.alpha:
            raise UsageError(Message("error_technique.alpha_sensitive", step=self.step))
        demands: list[tuple[str, Demand]] = []
        for name, one in self.l_diversity.items():
            demands.append((name, one if isinstance(one, Diversity) else Diversity(l=one)))
        if self.t_closeness or self.delta_disclosure or self.beta_likeness or alpha:
            from oboro.techniques.demands.further.share_demands import share_demands

            demands += share_demands(self.t_closeness, self.delta_disclosure, self.beta_likeness, alpha)
        quasi = schema.chosen(self.quasi, self.step)
        if not dict(demands).keys().isdisjoint(quasi):
            both = [name for name, _ in demands if name in quasi]
            raise UsageError(Message("error_technique.quasi_or_sensitive", step=self.step, both=both))
        return demands

    def sample_limits(self, sample: int) -> list[Model]:
        """What the verifier is to check of a table that is a sample; it has so many records, or people."""
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
        return (self.records_at_risk, self.sample_uniqueness, self.population_uniqueness) != (None, None, None)

    def size_limits(self, sample: int) -> tuple[SizeLimit, ...]:
        """What the search decides by, of the sizes of all classes."""
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
        if self.estimated_k_map is not None:
            sizes.append(int(self.sample_limits(sample)[-1].required))
        return max(sizes)

    def size_models(self, sample: int) -> list[Model]:
        """What the verifier is to check of the sizes of classes."""
        risks = self.maximum_risk is not None or self.average_risk is not None
        estimates = self.of_sizes or self.estimated_k_map is not None
        return (self.risk_limits() if risks else []) + (self.sample_limits(sample) if estimates else [])

    def risk_limits(self) -> list[Model]:
        """What the verifier is to check of the risk."""
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
