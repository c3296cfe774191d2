"""Randomness of a run: the order of released records, and the seed of random choices.

The order is random where a step has a guarantee, sorted where a step sorts, and that of the original where the recipe
asks for it.

An attacker who knows the original order (by name, by age, by the day of admission) knows between which records a
person's record is. No model of classes counts that. A random order discloses nothing, and neither does an order that
follows from the released values alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from operator import attrgetter
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from oboro.data.dataset import Dataset
from oboro.data.row_order import RowShuffle
from oboro.schema import Schema
from oboro.system.files import secret_key, variable_shown
from oboro.techniques import Technique
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.recipe.recipe import Recipe
    from oboro.techniques.sort import Sort

__all__ = [
    "Order",
    "entropy_of",
    "moves_rows",
    "plan_of_order",
    "plan_of_seed",
    "released_order",
    "warning_of_order",
    "warning_of_seed",
]


Order = Literal["shuffled", "kept"]


def moves_rows(order: Order | None, steps: Sequence[Technique]) -> bool:
    """Return whether the original order is given up: as the recipe asks, else where a step has a guarantee."""
    return order == "shuffled" or (order is None and any(map(attrgetter("promising"), steps)))


def released_order(steps: Sequence[Technique], data: Dataset, rng: np.random.Generator) -> RowShuffle | None:
    """Draw a random order; where a step sorts, sort by the released values, and order only equal rows at random."""
    shuffle, sort = RowShuffle.drawn(data.rows, rng), _last_sort(steps)
    sorted_ = sort is not None and sort.sorts(data)
    return RowShuffle.fixed(sort.order(data, shuffle.order)) if sort and sorted_ else shuffle


def plan_of_order(order: Order | None, steps: Sequence[Technique], schema: Schema) -> Message:
    """Describe the order for `--explain`."""
    if not moves_rows(order, steps):
        return Message("recipe.order.kept" if moves_rows(None, steps) else "recipe.order.nothing_promised")
    sort = _last_sort(steps)
    dropped = {name for step in steps for name in step.removes_identity}
    if sort is None or any(name.removeprefix("-") in dropped for name in sort.names):
        return Message("recipe.order.shuffled")
    return Message("recipe.order.sorted", keys=sort.keys(schema))


def warning_of_order(steps: Sequence[Technique]) -> list[Message]:
    """Warn the signer of a release that the original order was kept although a step has a guarantee."""
    return [Message("recipe.order.warning")] if moves_rows(None, steps) else []


def _last_sort(steps: Sequence[Technique]) -> Sort | None:
    for step in reversed(steps):
        if step.step == "sort":
            return cast("Sort", step)
    return None


# Seed of random choices -----------------------------------------------------------------------------------------------
# The seed comes from the system, from a secret that the recipe names, or from a number in the recipe.
#
# Method and recipe may be known. Then the seed is the secret: an attacker who has it repeats every random choice and
# undoes the guarantees that rest on it. A small number is found by trying all of them, so a number below 2^64 causes
# a warning.


GUESSABLE = 1 << 64  # seeds below are found by trying them all


def entropy_of(recipe: Recipe) -> int | None:
    """Return the entropy of a run's random choices; None: the system draws it. Of a secret at least 128 bits are kept."""
    if recipe.seed_env is None and recipe.seed_file is None:
        return recipe.seed
    key = secret_key("seed", recipe.seed_env, recipe.seed_file, recipe.folder)
    return int.from_bytes(blake2b(key, digest_size=32, person=b"oboro seed").digest(), "big")


def plan_of_seed(recipe: Recipe) -> list[Message]:
    """Describe the seed for `--explain`."""
    if recipe.seed_env is not None:
        return [Message("recipe.seed.variable", name=variable_shown(recipe.seed_env))]
    if recipe.seed_file is not None:
        return [Message("recipe.seed.file", path=recipe.seed_file)]
    if recipe.seed is None:
        return [Message("recipe.seed.drawn")]
    return [Message("recipe.seed.number", seed=recipe.seed), *warning_of_seed(recipe)]


def warning_of_seed(recipe: Recipe) -> list[Message]:
    """Warn that a seed can be guessed, and name the random choices that it repeats; no warning where there are none."""
    if recipe.seed is None or recipe.seed >= GUESSABLE:
        return []
    resting = dict.fromkeys(map(attrgetter("step"), filter(attrgetter("rests_on_chance"), recipe.steps)))
    order = [Message("recipe.seed.order")] if moves_rows(recipe.order, recipe.steps) else []
    if not resting and not order:
        return []
    return [Message("recipe.seed.guessable", seed=recipe.seed, undone=[*resting, *order])]
