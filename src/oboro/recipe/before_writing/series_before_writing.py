"""Before anything is written: whom the release tells together with those that are out already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from oboro.errors import PromiseError
from oboro.io.files import Source, read_data
from oboro.recipe.evaluation.series_of_releases import attack_series
from oboro.recipe.evidence import bound_hierarchies
from oboro.system.named_files import beside
from oboro.table.dataset import Dataset
from oboro.table.schema import Schema
from oboro.techniques.demands.class_demands import ClassDemands
from oboro.text import Message
from oboro.verifier.models.class_models import DistinctLDiversity, KAnonymity

if TYPE_CHECKING:
    from oboro.attacks.series.series_attack import SeriesRisk
    from oboro.recipe.recipe import Recipe
    from oboro.verifier.promise_check import Promise

__all__ = ["series_before_writing", "series_of_steps"]


def series_before_writing(
    recipe: Recipe,
    original: Dataset,
    given: Schema,
    released: Dataset,
    promises: Sequence[Promise],
    source: Source | None = None,
) -> SeriesRisk | None:
    """Attack the release together with those that the recipe names in `earlier`; None where it names none.

    Raises a `PromiseError` where somebody falls below the promised k or l, unless the recipe accepts that.
    """
    if not recipe.earlier:
        return None
    whole = released if source is None else replace(source.fill(released), origin=released.origin)
    models = [model for promise in promises for model in promise.models]
    found = attack_series(
        whole,
        [read_data(beside(recipe.folder, one)) for one in recipe.earlier],
        {},
        quasi=list(dict.fromkeys(name for one in promises for name in one.quasi)) or given.quasi,
        sensitive=given.sensitive,
        k=max((one.k for one in models if isinstance(one, KAnonymity)), default=None),
        diverse={one.sensitive: int(one.l) for one in models if isinstance(one, DistinctLDiversity)},
        person=recipe.person,
        original=original,
        hierarchies=bound_hierarchies(original, given),
        accepted=recipe.series_accepted,
    )
    if found is not None and found.refused:
        from oboro.report.released_alone.series_section import series_said

        raise PromiseError(Message("error_exposure.series", said=series_said(found)))
    return found


def series_of_steps(recipe: Recipe, released: Dataset, given: Schema, original: Dataset) -> SeriesRisk | None:
    """The same attacks with the earlier releases that a step of the recipe names, whose promise was verified."""
    for step in recipe.steps:
        if isinstance(step, ClassDemands) and step.earlier:
            names, k, diverse = step.in_series(given)
            found = attack_series(
                released,
                [read_data(beside(recipe.folder, one)) if isinstance(one, str) else one for one in step.earlier],
                {},
                quasi=names,
                sensitive=given.sensitive,
                k=k,
                diverse=diverse,
                original=original,
                hierarchies=bound_hierarchies(original, given),
            )
            return None if found is None else replace(found, verified=True)
    return None
