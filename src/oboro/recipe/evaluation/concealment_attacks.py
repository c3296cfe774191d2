"""Attacks on a k-concealed release: whom would someone guess who knows all originals?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from oboro.attacks.concealment_linkage import candidates, linkage
from oboro.errors import InputError
from oboro.measure.metrics import Measure
from oboro.recipe.recipe import Recipe
from oboro.table.dataset import Dataset
from oboro.table.schema import Schema
from oboro.techniques.base import Work
from oboro.techniques.k_conceal import KConceal
from oboro.text import Message

__all__ = ["attacks", "owners"]

NO_TRUTH = Message("measure.note.no_truth")


def owners(truth: Dataset, original: Dataset, released: Dataset) -> np.ndarray:
    """Which original row each released record is, from a table whose first column says so, counted from 1."""
    if not truth.columns:
        raise InputError(Message("error_recipe.truth_rows", rows=0, records=released.rows))
    name = next(iter(truth))
    numbers = truth[name].numbers(name)[truth[name].codes]
    if numbers.size != released.rows:
        raise InputError(Message("error_recipe.truth_rows", rows=numbers.size, records=released.rows))
    known = np.isfinite(numbers) & (numbers >= 1) & (numbers <= original.rows) & (numbers == np.floor(numbers))
    if not known.all():
        raise InputError(Message("error_recipe.truth_range", row=int(np.argmin(known)) + 1, rows=original.rows))
    rows = np.asarray(numbers.astype(np.int64) - 1)
    if np.unique(rows).size != rows.size:
        raise InputError(Message("error_recipe.truth_twice"))
    return rows


def attacks(
    plan: Recipe, schema: Schema, original: Dataset, released: Dataset, truth: Dataset | None = None
) -> list[Measure]:
    """What attackers of a `k_conceal` release find; nothing for other recipes.

    Without the truth only how many candidates they are left with. With it, how often the guess of the middle one, the
    guess by running the step again (built around its owner, as its deterministic part is), and what follows from some
    disclosed people's records are right, beside the 1/k of a blind guess.
    """
    step = next((one for one in plan.steps if isinstance(one, KConceal)), None)
    if step is None or original.rows < step.k:
        return []
    names = step.quasi if step.quasi is not None else schema.quasi
    quasi = [name for name in names if name in released and name in original]
    trees = {}
    if step.publish == "hierarchy":
        trees = {name: schema.hierarchy(name, original[name]) for name in quasi}
    if truth is None:
        return [replace(candidates(original, released, quasi, trees), notes=(NO_TRUTH,))]
    owned = replace(released, origin=owners(truth, original, released))
    again = step.model_copy(update={"truth": "identity"}).run(Work(original, schema, np.random.default_rng(0))).data
    return [
        candidates(original, released, quasi, trees),
        *linkage(original, owned, quasi, trees, k=step.k, again=again),
    ]
