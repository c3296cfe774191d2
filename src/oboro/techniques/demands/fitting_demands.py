"""Which demands can be kept together: what a step that searches levels must not be asked at once."""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING

from oboro.table.values import STAR
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.techniques.k_anonymize import KAnonymize

__all__ = ["require_fitting"]


def require_fitting(step: KAnonymize) -> KAnonymize:
    """The step; raise a `ValueError` where two parameters of the step exclude each other."""
    local, worth = step.recoding == "local", step.by_class or step.profitability is not None
    compared, further = step.t_closeness or step.delta_disclosure or step.beta_likeness, step.earlier or step.of_sizes
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
