"""Requirements on classes beyond k, as a recipe states them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from math import ceil
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from oboro._lazy import loaded_later
from oboro.algorithms.lattice.losses import Aggregate, Loss, LossName, loss_of
from oboro.algorithms.lattice.problem import Problem
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.errors import PromiseError, UsageError
from oboro.hierarchies.hierarchy import Hierarchy
from oboro.notations.kinds import STAR
from oboro.privacy.attribute import Diversity
from oboro.privacy.base import MODELS, PrivacyModel, Scope
from oboro.schema import Schema, TableReference
from oboro.techniques.base import Outcome, Technique, Work
from oboro.text import Message
from oboro.verifier.identity import Model
from oboro.verifier.judges import judge
from oboro.verifier.promises import Promise

if TYPE_CHECKING:
    from oboro.algorithms.lattice.constraints import Population
    from oboro.algorithms.lattice.losses import ClassEarnings
    from oboro.algorithms.lattice.suppression import SizeLimit
    from oboro.techniques.k_anonymize import KAnonymize
    from oboro.techniques.level_limits import AllowedLevels, LevelLimits
    from oboro.techniques.population import PopulationCodes

__all__ = [
    "AskedOfLevels",
    "ClassDemands",
    "Share",
    "WorthAsked",
    "attribute_models",
    "keeps_or_not",
    "person_left",
    "require_fitting",
    "told_of_secrets",
    "treated",
]


# Requirements of a search ---------------------------------------------------------------------------------------------
# The requirements on the levels that a step chooses, and the problem of finding the best.


@dataclass(frozen=True, eq=False)
class AskedOfLevels:
    """What a choice of levels must keep, and the problem of finding the best."""

    promise: Promise
    hierarchies: Mapping[str, Hierarchy]
    """One for each column, in the order of the levels, with all its levels."""
    limits: Mapping[str, LevelLimits]
    """Which levels of some columns may be chosen."""
    problem: Problem | None
    """None where there are no records. It counts levels among those that are `allowed`."""

    @cached_property
    def names(self) -> list[str]:
        """The columns, in the order of the levels."""
        return list(self.hierarchies)

    @cached_property
    def allowed(self) -> AllowedLevels:
        """Among which levels the problem chooses; where nothing limits them, these are the levels of the hierarchies."""
        from oboro.techniques.level_limits import AllowedLevels

        return AllowedLevels.of(self.hierarchies, self.limits, self.promise.step)


# Data-independent selection -------------------------------------------------------------------------------------------
# Levels and suppression selected without looking at sensitive values.
#
# A selection that looks at sensitive values discloses some of them: a class of enough people that is suppressed is
# suppressed for its sensitive values (minimality). With data-independent selection every assignment of sensitive values
# that fits the released table leads to that very table, so an attacker who knows the method learns nothing beyond it.
# The argument is in docs/guarantees/l-diversity.md.


def keeps_or_not(outcome: Outcome, promise: Promise, person: Column | None, k: int) -> Outcome:
    """The outcome where every demand holds on it; else a `PromiseError`. Nothing is mended: that would look at the secrets.

    Whether it holds, the released table shows itself. So that it was released tells nothing more.
    """
    found = promise.verify(outcome.data, person)
    if found.holds:
        return outcome
    broken = [one.message() for one in found.verdicts if not one.holds]
    raise PromiseError(Message("error_technique.blind_broken", step=promise.step, verdicts=broken, k=k))


def told_of_secrets(plan: Message, *, blind: bool, suppresses: bool) -> Message:
    """The plan, and what the choice of levels and of suppressed records tells about secrets."""
    said = "blind" if blind else "suppression_tells" if suppresses else "levels_tell"
    return Message("text.sentences", said=[plan, Message(f"technique.k_anonymize.{said}")])


# Requirements on classes ----------------------------------------------------------------------------------------------


if TYPE_CHECKING:
    from oboro.privacy.attribute import Alpha, AttributeModel, Closeness, Disclosure, Likeness
    from oboro.privacy.identity import Presence
    from oboro.privacy.risk import AtRisk, EstimatedMap, UniqueInPopulation
else:
    AtRisk, EstimatedMap, UniqueInPopulation = loaded_later(
        "oboro.privacy.risk", "AtRisk", "EstimatedMap", "UniqueInPopulation"
    )
    (Presence,) = loaded_later("oboro.privacy.identity", "Presence")
    Alpha, Closeness, Disclosure, Likeness = loaded_later(
        "oboro.privacy.attribute", "Alpha", "Closeness", "Disclosure", "Likeness"
    )

Share = Annotated[float, Field(gt=0, le=1)]


class ClassDemands(Technique):
    """A step whose classes must keep more than a size, also together with earlier releases."""

    earlier: list[TableReference] = Field(default_factory=list)
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
    population: TableReference | None = None
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
        from oboro.techniques.series import keep_in_series  # most jobs need none of it

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
        """The paths and addresses of the population and of earlier releases."""
        return tuple(one.name for one in (*self.populations, *self.earlier_releases) if one.name is not None)

    @property
    def earlier_releases(self) -> tuple[TableReference, ...]:
        """The releases in `earlier`."""
        return tuple(self.earlier)

    @property
    def populations(self) -> tuple[TableReference, ...]:
        """The population, where there is one."""
        return () if self.population is None else (self.population,)

    def demands(self, schema: Schema) -> list[tuple[str, AttributeModel]]:
        """Return every model of a sensitive attribute that is asked for, with the attribute."""
        given = {key: getattr(self, key) for key in _of_attributes()}
        for key, limits in given.items():
            if limits and not isinstance(limits, dict):  # one limit for all sensitive attributes
                given[key] = dict.fromkeys(schema.sensitive, limits)
                if not given[key]:
                    raise UsageError(Message(f"error_technique.{key}_sensitive", step=self.step))
        demands = attribute_models(given)
        quasi = schema.chosen(self.quasi, self.step)
        if not dict(demands).keys().isdisjoint(quasi):
            both = [name for name, _ in demands if name in quasi]
            raise UsageError(Message("error_technique.quasi_or_sensitive", step=self.step, both=both))
        return demands

    def asked(self, *scopes: Scope) -> Iterator[PrivacyModel]:
        """Yield the models of these scopes that are asked for."""
        for key, declared in MODELS.items():
            if declared.scope in scopes and (given := getattr(self, key, None)) is not None:
                yield declared.of_limit(given)

    @property
    def of_sizes(self) -> bool:
        """Whether something is demanded of the sizes of all classes together, which the search decides by them."""
        return any(model.estimated or model.at_risk is not None for model in self.asked("table"))

    def size_limits(self, sample: int) -> tuple[SizeLimit, ...]:
        """Return the limits on the sizes of all classes, as the search decides by them."""
        from oboro.algorithms.lattice.suppression import SizeLimit

        limits = []
        for model in self.asked("table"):
            if model.at_risk is not None:
                limits.append(SizeLimit(*model.at_risk))
            elif model.estimated:
                limits.append(SizeLimit(estimated=judge(model, sample).broken_by))
        return tuple(limits)

    def least_class(self, sample: int) -> int:
        """Return the number of records, or people, that every class needs."""
        return max([1, *(model.least_class(sample) for model in self.asked("class", "worth"))])

    def size_models(self, sample: int) -> list[Model]:
        """Return the judges of the sizes of classes, beside k."""
        return [judge(model, sample) for model in self.asked("class", "table") if model.in_recipe]

    def population_limits(self, population: Dataset, hierarchies: Mapping[str, Hierarchy]) -> list[Model]:
        """Return the judges that compare classes with the population."""
        everybody: dict[str, Any] = {"population": population, "hierarchies": hierarchies}
        return [judge(model, **everybody) for model in self.asked("population")]

    def limits_told(self, schema: Schema) -> list[Message]:
        """Describe the models beyond the sensitive attributes."""
        sizes = [model.plan() for model in self.asked("class", "table") if model.in_recipe]
        return [*self.series_told(schema), *sizes, *self.population_told()]

    def population_told(self) -> list[Message]:
        """Describe the models of the people in the population who match a class."""
        return [model.plan() for model in self.asked("population")]


def _of_attributes() -> list[str]:
    """Return the models of sensitive attributes in the order of recipes: those that one limit may ask of all come last."""
    return sorted(MODELS.in_recipes("attribute"), key=lambda key: MODELS[key].for_all)


def attribute_models(given: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, AttributeModel]]:
    """Return each model of a sensitive attribute with the attribute; `given` by the key of the model as a recipe has them.

    >>> attribute_models({"l_diversity": {"disease": 2}})
    [('disease', Diversity(l=2.0, kind='distinct', c=None))]
    """
    found: list[Any] = [
        (name, MODELS[key].of_limit(one)) for key, limits in given.items() for name, one in limits.items()
    ]
    return found


# Compatible requirements ----------------------------------------------------------------------------------------------
# Combinations of requirements that a step that searches levels cannot satisfy at once.


def require_fitting(step: KAnonymize) -> KAnonymize:
    """The step; raise a `ValueError` where two parameters of the step exclude each other."""
    local, worth = step.recoding == "local", step.by_class or step.profitability is not None
    compared = any(getattr(step, key) for key in _of_attributes() if MODELS[key].compares_with_table)
    further = step.earlier or step.of_sizes
    alone = local or step.suppress_people
    starred = step.suppress > 0 and step.suppressed != "drop"
    wrong = {
        "error_technique.local_earlier": step.earlier and local,
        "error_technique.blind_earlier": step.earlier and step.blind,
        "error_technique.population_with": (step.population is not None) != step.needs_population,
        "error_technique.target": (step.loss == "classification") != (step.target is not None),
        "error_technique.payout": step.loss == "payout" and step.profitability is None,
        "error_technique.by_class": step.by_class and (step.aggregate is not None or step.gen_factor != 0.5),
        "error_technique.aggregates_with": step.aggregates
        and (step.needs_population or step.profitability or step.earlier),
        "error_technique.local_people": step.suppress_people and local,
        "error_technique.one_of": step.levels is not None and step.alternatives,
        "error_technique.local_levels": step.levels is not None and local,
        "error_technique.local_population": local and (step.population is not None or step.average_risk is not None),
        "error_technique.local_loss": local and not step.loss_by_record,
        "error_technique.worth_global": worth and alone,
        "error_technique.sizes_global": step.of_sizes and alone,
        "error_technique.suppressed_earlier": step.suppressed != "class" and further,
        "error_technique.forbidden_star": starred and any(STAR in one.forbidden for one in step.limits.values()),
        "error_technique.drop_compared": step.suppressed == "drop" and compared,
    }
    for id in compress(wrong, wrong.values()):
        raise ValueError(Message(id, loss=step.loss) if id == "error_technique.by_class" else Message(id))
    return step


# Suppressed records ---------------------------------------------------------------------------------------------------
# Treatment of suppressed records: a class of their own, left out, or exempt from every requirement.


def treated(outcome: Outcome, how: str, out: np.ndarray, also: Sequence[str] = ()) -> Outcome:
    """The outcome with its suppressed records (a boolean for each row) as the step says; `also` are columns that go with them.

    - *class*: whoever fits no released class must be among them, so they keep every demand as one class. Nothing is to do.
    - *drop*: they are not in the release. Whoever fits no class may be left out, or was never there.
    - *exempt*: they stay, and nothing is promised of them. That is said as a warning.
    """
    gone = int(out.sum())
    if gone and also:
        emptied = {name: outcome.data[name].where(out, STAR) for name in also}
        outcome = replace(outcome, data=outcome.data.with_columns(emptied))
    if how == "class" or not gone:
        return outcome
    facts = {**outcome.facts, "suppressed": {**outcome.facts["suppressed"], "as": how}}
    if how == "exempt":
        told = Message("technique.k_anonymize.exempted", records=gone)
        return replace(outcome, facts=facts, warnings=(*outcome.warnings, told))
    return replace(outcome, data=outcome.data.take(~out), facts=facts)


def person_left(person: Column | None, before: Dataset, after: Dataset) -> Column | None:
    """Whose each row is that is left."""
    if person is None or after.rows == before.rows:
        return person
    return Column(person.values, person.codes[np.isin(before.origin_rows, after.origin_rows)])


# Profitability --------------------------------------------------------------------------------------------------------
# The benefit of a release: as a requirement on every class, and as the objective of a search.


if TYPE_CHECKING:
    from oboro.privacy.economics import Profitability
else:
    (Profitability,) = loaded_later("oboro.privacy.economics", "Profitability")


class WorthAsked(ClassDemands):
    """A step that may be asked for what a release is worth, and to lose as little as possible of something."""

    loss: LossName = "loss"
    """Which information loss is minimized: loss (normalized certainty penalty, NCP), precision, entropy, discernibility,
    average_class_size, height, arx, arx_entropy and arx_bits (as the ARX tool computes its Loss and its non-uniform entropy, as a
    share and in bits), ambiguity, kl (divergence from
    the original), classification (how often `target` cannot be told from a class), payout (`profitability`).
    """
    aggregate: Aggregate | None = None
    """How what the columns lose is put together: mean, geometric, sum, max, or rank (the column that loses most decides,
    among equals the next one, and so on). Without it geometric for arx, sum for height and arx_bits, else mean."""
    gen_factor: float = Field(default=0.5, ge=0, le=1)
    """Generalization against suppression, as in ARX: below 0.5 suppression costs less, above 0.5 generalization does."""
    target: str | None = None
    """With `loss: classification`: the column that is to be predicted from the quasi-identifiers."""
    profitability: Profitability | None = None
    """What a record is worth to its publisher and to an attacker: every class must earn something, or no attack may pay off."""

    @property
    def by_class(self) -> bool:
        """Whether what is lost is paid by classes."""
        return self.loss in ("ambiguity", "kl", "classification", "payout")

    @property
    def loss_by_record(self) -> bool:
        """Whether every record pays for its own labels, whoever else is suppressed."""
        together = ("arx_entropy", "arx_bits", "height")
        return self.gen_factor == 0.5 and self.loss not in together and self.aggregate != "rank"

    @property
    def needs_population(self) -> bool:
        """Whether something is asked of people beyond the table."""
        journalist = self.profitability is not None and self.profitability.attacker == "journalist"
        return journalist or any(self.asked("population"))

    def loss_over(
        self, columns: Mapping[str, Column], hierarchies: Mapping[str, Hierarchy], schema: Schema, data: Dataset
    ) -> Loss:
        """What the search makes least."""
        held, steps = list(columns.values()), list(hierarchies.values())
        if self.by_class:
            if self.target in hierarchies:
                raise UsageError(Message("error_technique.target_quasi", target=self.target))
            target = None if self.target is None else data[self.target]
            market = None if self.profitability is None else self.profitability.market()
            from oboro.algorithms.lattice.losses import ClassPayments

            return ClassPayments.of(self.loss, held, steps, target, market)  # type: ignore[arg-type]
        weights = [schema.attributes[name].weight if name in schema.attributes else 1.0 for name in hierarchies]
        return loss_of(self.loss, held, steps, weights, getattr(self, "k", 1), self.aggregate, self.gen_factor)

    def people_over(
        self, population: PopulationCodes, problem: Problem, levels: tuple[tuple[int, ...], ...]
    ) -> Population:
        """What is asked of the people of the population, over the levels that may be chosen."""
        from oboro.algorithms.lattice.constraints import Population, all_stars, unclear_values
        from oboro.privacy.identity import Presence

        presence, most = self.presence or Presence(), problem.rows if problem.whole_people else problem.limit
        unclear = unclear_values(problem.hierarchies, levels, problem.columns, most)
        least = self.k_map or 0
        if self.profitability is not None and self.profitability.attacker == "journalist":
            least = max(least, self.profitability.least)
        stars = None if unclear is None else all_stars(problem.hierarchies, levels, problem.columns)
        return Population(population.codes, least, presence.min, presence.max, unclear, stars)

    def earnings(self, hierarchies: Mapping[str, Hierarchy]) -> ClassEarnings | None:
        """What every class must earn something of."""
        if self.profitability is None or self.profitability.attacks == "none":
            return None
        from oboro.algorithms.lattice.losses import ClassEarnings

        return ClassEarnings.of(self.profitability.market(), list(hierarchies.values()))

    def worth_limits(self, hierarchies: Mapping[str, Hierarchy], population: PopulationCodes | None) -> list[Model]:
        """What the verifier is to check of the worth."""
        people: dict[str, Any] = {
            "population": None if population is None else population.table,
            "hierarchies": hierarchies,
        }
        return [judge(model, **people) for model in self.asked("worth")]

    def worth_told(self) -> list[Message]:
        """Describe what is demanded of the worth."""
        return [model.plan() for model in self.asked("worth")]
