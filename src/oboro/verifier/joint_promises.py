"""Promises over different columns, judged over all of these columns together.

An attacker who knows the columns of two promises knows all of them. Records that look alike by the columns of one promise may
differ by those of the other. So k over x and k over y say nothing of x and y: the classes over both must be counted.

A promise over all the columns covers its own models (k-anonymity, the diversity of one secret). Every other model is judged
here, the strictest of those that were promised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from oboro.table.dataset import Column, Dataset
from oboro.text import Message
from oboro.verifier.classes import Classes
from oboro.verifier.models.class_models import KAnonymity, Model
from oboro.verifier.models.spread_models import RecursiveLDiversity
from oboro.verifier.promise_check import Promise
from oboro.verifier.verdict import COUNTS_CANDIDATES, Verdict

__all__ = ["joint_columns", "joint_promise", "joint_verdicts"]

WHO = ("model.k_anonymity", *COUNTS_CANDIDATES)


def joint_columns(data: Dataset, promises: Sequence[Promise]) -> tuple[str, ...]:
    """The released columns of all promises; none where all promises are over the same."""
    sets = [tuple(name for name in promise.quasi if name in data) for promise in promises]
    several = len({frozenset(one) for one in sets if one}) > 1
    return tuple(dict.fromkeys(name for one in sets for name in one)) if several else ()


def joint_promise(data: Dataset, promises: Sequence[Promise]) -> Promise | None:
    """What must hold over all columns together for every promise to hold there; None where the promises say it themselves."""
    together = joint_columns(data, promises)
    if not together:
        return None
    whole = [one for one in promises if set(together) <= set(one.quasi)]
    said = {_subject(model) for promise in whole for model in promise.models}
    left = [model for promise in promises for model in promise.models if _subject(model) not in said]
    exempt = any(one.exempt for one in promises)
    return Promise("together", together, tuple(_strictest(left)), exempt) if left else None


def joint_verdicts(
    data: Dataset, promises: Sequence[Promise], person: Column | None = None, *, strict: bool = False
) -> tuple[Verdict, ...]:
    """The verdicts over all promised columns together; none where the promises say it themselves. O(rows · columns).

    `strict`: by the classes that the strictest reader of somebody else's release sees.
    """
    promise = joint_promise(data, promises)
    if promise is None:
        return ()
    classes = Classes.of(data, promise.quasi, person, finest=strict, exempt=promise.exempt)
    conceals = any(model.message in COUNTS_CANDIDATES for one in promises for model in one.models)
    return tuple(_judged(model, classes, conceals).jointly(promise.quasi) for model in promise.models)


def _judged(model: Model, classes: Classes, conceals: bool) -> Verdict:
    sensitive = getattr(model, "sensitive", None)
    if sensitive is not None and sensitive not in classes.data:
        return model.vacuous(Message("verdict.column_not_released", column=sensitive))
    if hasattr(model, "population"):  # it knows what the labels of its own columns stand for, not those of the others
        note = Message("verdict.population_apart")
        return Verdict(False, model.describe(), model.required, None, len(classes.groups), 0, 0, (), note)
    found = model.judge(classes)
    if conceals and isinstance(model, KAnonymity) and not found.holds:
        return replace(found, note=Message("verdict.alike_at_least", least=found.achieved))
    return found


def _subject(model: Model) -> tuple[object, ...]:
    """What a model speaks of: who a record is, or how one secret is spread."""
    if model.message in WHO:
        return WHO
    rank = getattr(model, "l", None) if isinstance(model, RecursiveLDiversity) else None
    return (model.message, rank, *(getattr(model, name, None) for name in ("sensitive", "value", "distance")))


def _strictest(models: Sequence[Model]) -> list[Model]:
    """Of the models that speak of the same the one with the strictest limit."""
    found: dict[tuple[object, ...], Model] = {}
    for model in map(_by_classes, models):
        before = found.get(_subject(model))
        if before is None or (model.required < before.required if model.most else model.required > before.required):
            found[_subject(model)] = model
    return list(found.values())


def _by_classes(model: Model) -> Model:
    """Records that look alike can be exchanged for each other: whoever is a candidate of one is a candidate of all.

    So k records that look alike have k candidates, and a class counts at least as many as it holds.
    """
    return KAnonymity(k=int(model.required)) if model.message in COUNTS_CANDIDATES else model
