"""The steps of a session's recipe: which one is explored, and what a change of a role means for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from oboro.errors import UsageError
from oboro.recipe.preparing.starter_steps import smallest_class
from oboro.recipe.recipe import Recipe
from oboro.table.hierarchy import HierarchySpec
from oboro.table.schema import Role
from oboro.techniques.drop_columns import DropColumns
from oboro.techniques.k_anonymize import KAnonymize
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.techniques.base import Technique

__all__ = [
    "choice_of",
    "demands_with_role",
    "explored_step",
    "role_of",
    "spec_of",
    "technique_of",
    "with_choice",
    "with_role_in_steps",
]

CHOICES = ("k_anonymize", "local_recode", "k_conceal")
SUPPRESS = 0.02
OF_SECRETS = ("l_diversity", "t_closeness", "alpha", "delta_disclosure", "beta_likeness")
OF_LEVELS = ("levels", "limits", "alternatives")


def explored_step(plan: Recipe, rows: int) -> tuple[list[Technique], int]:
    """The steps, with `k_anonymize` where the recipe chooses who stands with whom, and its place."""
    steps = list(plan.steps)
    place = next((i for i, step in enumerate(steps) if step.step in CHOICES), None)
    if place is None:
        place = next((i for i, step in enumerate(steps) if step.reorders), len(steps))
        steps.insert(place, KAnonymize(k=smallest_class(rows), suppress=SUPPRESS))
    elif not isinstance(steps[place], KAnonymize):
        held = steps[place].model_dump(exclude_defaults=True)
        kept = {name: held[name] for name in ("k", "quasi", "l_diversity", "t_closeness") if name in held}
        steps[place] = KAnonymize(suppress=SUPPRESS, **kept)
    return steps, place


def choice_of(plan: Recipe, place: int) -> KAnonymize:
    """The explored step."""
    step = plan.steps[place]
    assert isinstance(step, KAnonymize)
    return step


def require_mapping(name: str, given: object) -> None:
    """Raise a `UsageError` where a parameter that names values by keys is anything else."""
    if not isinstance(given, Mapping):
        raise UsageError(Message("error_explorer.not_a_mapping", name=name, kind=type(given).__name__))


def technique_of(default: KAnonymize, demands: Mapping[str, Any] | KAnonymize | None) -> KAnonymize:
    """Demands as a step. Parameters are checked as those of a recipe are, and complaints say what is allowed."""
    if demands is None:
        return default
    if isinstance(demands, KAnonymize):
        return demands
    require_mapping("demands", demands)
    step = Recipe(attributes={}, steps=[{KAnonymize.step: dict(demands)}]).steps[0]
    assert isinstance(step, KAnonymize)
    return step


def spec_of(name: str, hierarchy: HierarchySpec | Mapping[str, Any]) -> HierarchySpec:
    """A hierarchy as a recipe writes it, checked as that of a recipe is."""
    if isinstance(hierarchy, HierarchySpec):
        return hierarchy
    require_mapping("hierarchy", hierarchy)
    found = Recipe(attributes={name: {"hierarchy": dict(hierarchy)}}, steps=[]).attributes[name].hierarchy
    assert found is not None
    return found


def with_choice(plan: Recipe, place: int, technique: KAnonymize) -> list[Technique]:
    """The steps with another explored one."""
    return [*plan.steps[:place], technique, *plan.steps[place + 1 :]]


def with_role_in_steps(plan: Recipe, place: int, name: str, role: Role) -> tuple[list[Technique], int]:
    """The steps after a column got a role, and the place of the explored one: identifiers are dropped, others are not."""
    steps, explored = list(plan.steps), plan.steps[place]
    pseudonymized = any(
        name in step.removes_identity for step in steps if not isinstance(step, DropColumns) and step is not explored
    )
    was = plan.columns.get(name)
    if was is not None and was.role is Role.IDENTIFIER and role is not Role.IDENTIFIER:
        steps = _without(steps, name, only=DropColumns)
    elif role is Role.IDENTIFIER and not pseudonymized:
        steps = _dropping(_without(steps, name), name)
    return steps, steps.index(explored)


def _without(steps: list[Technique], name: str, only: type[Technique] | None = None) -> list[Technique]:
    """The steps without those that a column that is gone would be asked by."""
    out = []
    for step in steps:
        names = getattr(step, "attributes", None)
        mine = only is None or isinstance(step, only)
        if mine and getattr(step, "attribute", None) == name:
            continue
        if mine and isinstance(names, list | tuple) and name in names:
            left = type(names)(one for one in names if one != name)
            if not left:
                continue
            step = step.model_copy(update={"attributes": left})
        out.append(step)
    return out


def _dropping(steps: list[Technique], name: str) -> list[Technique]:
    first = next((i for i, step in enumerate(steps) if isinstance(step, DropColumns)), None)
    if first is None:
        return [DropColumns(attributes=(name,)), *steps]
    held = steps[first]
    assert isinstance(held, DropColumns)
    steps[first] = held.model_copy(update={"attributes": (*held.attributes, name)})
    return steps


def demands_with_role(demands: KAnonymize, name: str, role: Role) -> KAnonymize:
    """The demands without those on a column that its role does not allow any more."""
    changed: dict[str, Any] = {}
    for one in (*(OF_SECRETS if role is not Role.SENSITIVE else ()), *(OF_LEVELS if role is not Role.QUASI else ())):
        held = getattr(demands, one, None)
        if isinstance(held, Mapping) and name in held:
            changed[one] = {column: asked for column, asked in held.items() if column != name}
    if role is not Role.QUASI and demands.quasi is not None and name in demands.quasi:
        changed["quasi"] = [one for one in demands.quasi if one != name] or None
    if name in demands.suppress_also and role in (Role.QUASI, Role.IDENTIFIER):
        changed["suppress_also"] = [one for one in demands.suppress_also if one != name]
    if name == demands.target and role in (Role.QUASI, Role.IDENTIFIER):
        changed |= {"target": None, "loss": "loss"}
    return demands.model_copy(update=changed)


def role_of(role: Role | str) -> Role:
    """A role by its name; a `UsageError` lists them."""
    try:
        return Role(role)
    except ValueError:
        raise UsageError(Message("error_explorer.no_role", role=str(role), roles=[one.value for one in Role])) from None
