"""What somebody says a release keeps, checked on it: models that are named, or those that a recipe's steps demand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from oboro.table.dataset import Column, Dataset
from oboro.techniques.demands.models_asked import Alpha, Closeness, Demand, Diversity
from oboro.verifier.models.class_models import KAnonymity, Model
from oboro.verifier.table_check import Promise, verify
from oboro.verifier.verdict import Verification

if TYPE_CHECKING:
    from oboro.recipe.recipe import Recipe
    from oboro.table.schema import Schema

__all__ = ["hidden_columns", "named_promises"]

BY_CLASSES = ("k_anonymize", "local_recode")  # steps whose promise anybody can check on the release alone


def named_promises(
    asked: Mapping[str, Any], plan: Recipe | None, schema: Schema, released: Dataset, person: Column | None
) -> Verification | None:
    """The verdicts on what was `asked` (k, l, kind, c, t, alpha), else on what the steps of a recipe promise; None: nothing was."""
    quasi = [name for name in schema.quasi if name in released]
    if any(asked.get(name) is not None for name in ("k", "l", "t", "alpha")):
        data, whose = (released, None) if person is None else (released.with_columns({PERSON: person}), PERSON)
        secret = [name for name in schema.sensitive if name in released]
        needed = secret if any(asked.get(name) is not None for name in ("l", "t", "alpha")) else None
        return verify(data, quasi=quasi, sensitive=needed, person=whose, **asked)
    promises = [] if plan is None else list(_of_steps(plan, schema))
    kept = [(one, [name for name in one.quasi if name in released]) for one in promises]
    several = len({frozenset(over) for _, over in kept if over}) > 1
    verdicts = [
        verdict.naming(over) if several else verdict
        for promise, over in kept
        if over
        for verdict in promise.verify(released, person).verdicts
    ]
    return Verification.of(verdicts, quasi) if verdicts else None


def hidden_columns(plan: Recipe | None) -> list[str]:
    """The columns that a recipe makes random, or pseudonyms: who knows the original value does not know these."""
    found: list[str] = []
    for step in plan.steps if plan is not None else ():
        if step.traits.random or step.traits.opinion == "pseudonymisation":
            found += [getattr(step, "attribute", None) or "", *(getattr(step, "attributes", None) or ())]
    return [name for name in found if name]


PERSON = "\0person"  # no column's name


def _of_steps(plan: Recipe, schema: Schema) -> Iterator[Promise]:
    """What the steps promise that group records; a population or a hierarchy of secrets is not at hand here."""
    for step in plan.steps:
        if step.step in BY_CLASSES:
            told: Any = step
            names = schema.chosen(told.quasi, step.step)
            yield Promise(step.step, tuple(names), (KAnonymity(k=told.k), *_demanded(told, schema.sensitive)))
        yield from step.own_promises()


def _demanded(step: Any, sensitive: Sequence[str]) -> Iterator[Model]:
    alpha = getattr(step, "alpha", None) or {}
    shares = alpha if isinstance(alpha, Mapping) else dict.fromkeys(sensitive, alpha)
    asked: list[tuple[str, Demand]] = []
    for name, one in (getattr(step, "l_diversity", None) or {}).items():
        asked.append((name, one if isinstance(one, Diversity) else Diversity(l=one)))
    for name, one in (getattr(step, "t_closeness", None) or {}).items():
        asked.append((name, one if isinstance(one, Closeness) else Closeness(t=one)))
    for name, one in shares.items():
        asked.append((name, one if isinstance(one, Alpha) else Alpha(alpha=one)))
    return (demand.model(name) for name, demand in asked if not demand.hierarchical)
