"""What a release is to be worth: as a demand on every class, and as what a search makes the most of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pydantic import Field

from oboro.decide.lattice.objective import Aggregate, Loss, LossName, loss_of
from oboro.errors import UsageError
from oboro.table.dataset import Column, Dataset
from oboro.table.hierarchy import Hierarchy
from oboro.table.parameters.loaded_later import loaded_later
from oboro.table.schema import Schema
from oboro.techniques.demands.class_demands import ClassDemands
from oboro.text import Message
from oboro.verifier.models.class_models import Model

if TYPE_CHECKING:
    from oboro.decide.lattice.population_limits import Population
    from oboro.decide.lattice.problem import Problem
    from oboro.decide.lattice.worth.class_payments import ClassEarnings
    from oboro.techniques.demands.further.profitability import Profitability
    from oboro.techniques.demands.population_codes import PopulationCodes
else:
    (Profitability,) = loaded_later("oboro.techniques.demands.further.profitability", "Profitability")

__all__ = ["WorthAsked"]


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
        return journalist or self.k_map is not None or self.presence is not None

    def least_class(self, sample: int) -> int:
        """The same, and so many that no attack of a prosecutor pays off, where none may."""
        asked, least = self.profitability, super().least_class(sample)
        return least if asked is None or asked.attacker == "journalist" else max(least, asked.least)

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
            from oboro.decide.lattice.worth.class_payments import ClassPayments

            return ClassPayments.of(self.loss, held, steps, target, market)  # type: ignore[arg-type]
        weights = [schema.attributes[name].weight if name in schema.attributes else 1.0 for name in hierarchies]
        return loss_of(self.loss, held, steps, weights, getattr(self, "k", 1), self.aggregate, self.gen_factor)

    def people_over(
        self, population: PopulationCodes, problem: Problem, levels: tuple[tuple[int, ...], ...]
    ) -> Population:
        """What is asked of the people of the population, over the levels that may be chosen."""
        from oboro.decide.lattice.population_limits import Population, all_stars, unclear_values
        from oboro.techniques.demands.further.sample_demands import Presence

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
        from oboro.decide.lattice.worth.class_payments import ClassEarnings

        return ClassEarnings.of(self.profitability.market(), list(hierarchies.values()))

    def worth_limits(self, hierarchies: Mapping[str, Hierarchy], population: PopulationCodes | None) -> list[Model]:
        """What the verifier is to check of the worth."""
        if self.profitability is None:
            return []
        from oboro.verifier.models.worth_models import NoAttackPays, Profitable

        amounts = self.profitability.model_dump(exclude={"attacks"})
        people = {"population": None if population is None else population.table, "hierarchies": hierarchies}
        return [(NoAttackPays if self.profitability.attacks == "none" else Profitable)(**amounts, **people)]

    def worth_told(self) -> list[Message]:
        """What is demanded of the worth, in words."""
        if self.profitability is None:
            return []
        amounts = self.profitability.model_dump()
        return [Message(f"technique.demand.profitability.{amounts.pop('attacks')}", **amounts)]
