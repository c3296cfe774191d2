"""Read the releases before one, for its evaluation, and attack them together with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING, Any

from oboro.disclosure.earlier_releases import attack_series
from oboro.io.files import Source, read, read_data
from oboro.io.places.place_names import names_a_place
from oboro.system.named_files import beside
from oboro.table.dataset import Dataset
from oboro.table.frames import Frame
from oboro.table.schema import Schema
from oboro.techniques.demands.class_demands import ClassDemands

if TYPE_CHECKING:
    from oboro.attacks.series.series_attack import SeriesRisk
    from oboro.recipe.recipe import Recipe

__all__ = ["dataset_of", "diversity_of", "earlier_of", "series_of_steps", "tables_of"]


def dataset_of(table: Any, reading: Mapping[str, Any]) -> Dataset:
    """A frame, a file, or one that was read already."""
    if names_a_place(table):
        table = read(table, **reading)
    return table.data if isinstance(table, Source) else Frame.read(table).data


def tables_of(earlier: Any) -> list[Any]:
    """One table or several, as a list."""
    return list(earlier) if isinstance(earlier, list | tuple) else [earlier]


def earlier_of(plan: Recipe | None) -> list[Any]:
    """The earlier releases that a recipe names, at its top or in a step; the longest list, as each is of the whole series."""
    if plan is None:
        return []
    named = [plan.earlier, *(getattr(step, "earlier", []) for step in plan.steps)]
    return [beside(plan.folder, one) if isinstance(one, str) else one for one in max(named, key=len)]


def diversity_of(plan: Recipe | None, l: float | None, sensitive: Sequence[str]) -> dict[str, int]:  # noqa: E741
    """How many values of each secret are asked for: as named, else as the steps of a recipe say."""
    if l is not None:
        return dict.fromkeys(sensitive, ceil(l))
    found: dict[str, int] = {}
    for step in plan.steps if plan is not None else ():
        for name, one in (getattr(step, "l_diversity", None) or {}).items():
            found[name] = max(found.get(name, 1), ceil(getattr(one, "l", one)))
    return found


def series_of_steps(recipe: Recipe, released: Dataset, given: Schema, original: Dataset) -> SeriesRisk | None:
    """Attack a release together with the earlier ones that a step of the recipe names, whose guarantee was verified."""
    for step in recipe.steps:
        if isinstance(step, ClassDemands) and step.earlier:
            names, k, diverse = step.in_series(given)
            found = attack_series(
                released,
                [
                    read_data(beside(recipe.folder, one)) if isinstance(one, str) else dataset_of(one, {})
                    for one in step.earlier
                ],
                quasi=names,
                sensitive=given.sensitive,
                k=k,
                diverse=diverse,
                original=original,
                hierarchies=given.fitting_hierarchies(original),
            )
            return None if found is None else replace(found, verified=True)
    return None
