"""Which recipes need no rows on the driver: one `k_anonymize` that asks for sizes of classes alone, and columns left out."""

from __future__ import annotations

from collections.abc import Sequence

from oboro.recipe.recipe import Recipe
from oboro.techniques.drop_columns import DropColumns
from oboro.techniques.k_anonymize import KAnonymize
from oboro.text import Message

__all__ = ["generalizing", "why_rows"]

USUAL = {
    "recoding": "global",
    "suppressed": "class",
    "suppress_also": [],
    "suppress_people": False,
    "alternatives": {},
    "aggregates": {},
    "earlier": [],
    "population": None,
    "profitability": None,
    "target": None,
    "l_diversity": {},
    "t_closeness": {},
    "delta_disclosure": {},
    "beta_likeness": {},
    "alpha": {},
    "maximum_risk": None,
    "average_risk": None,
    "records_at_risk": None,
    "sample_uniqueness": None,
    "population_uniqueness": None,
    "estimated_k_map": None,
}
"""What nothing but sizes of classes decides; anything else looks into classes, or at several tables."""
PAID_BY_CLASS = ("ambiguity", "kl", "classification", "payout")


def why_rows(recipe: Recipe, names: Sequence[str]) -> Message | None:
    """Why a recipe needs all rows on the driver, or None where it does not."""
    for step in recipe.steps:
        if not isinstance(step, KAnonymize | DropColumns):
            return Message("error_engine.rows_step", step=step.step)
    steps = [step for step in recipe.steps if isinstance(step, KAnonymize)]
    if len(steps) != 1:
        return Message("error_engine.rows_step", step="k_anonymize")
    for parameter, value in USUAL.items():
        if getattr(steps[0], parameter) != value:
            return Message("error_engine.rows_asked", parameter=parameter)
    if steps[0].loss in PAID_BY_CLASS or steps[0].aggregate == "rank":
        return Message("error_engine.rows_asked", parameter="loss")
    for parameter in ("person", "earlier", "budget", "together"):
        if getattr(recipe, parameter):
            return Message("error_engine.rows_asked", parameter=parameter)
    return None if set(generalizing(recipe)) <= _released(recipe, names) else Message("error_engine.rows_dropped")


def generalizing(recipe: Recipe) -> list[str]:
    """The columns that the one step generalizes."""
    step = next(one for one in recipe.steps if isinstance(one, KAnonymize))
    return list(recipe.schema_given.chosen(step.quasi, step.step))


def _released(recipe: Recipe, names: Sequence[str]) -> set[str]:
    gone = {name for step in recipe.steps for name in step.removes_identity}
    return {name for name in names if name not in gone}
