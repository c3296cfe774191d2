"""Where random choices come from: the system, a secret that the recipe names, or a number in the recipe.

Method and recipe may be known. Then the seed is the secret: whoever has it repeats every random choice and undoes what rests on it.
A small number is found by trying all of them, so a number below 2^64 is warned of.
"""

from __future__ import annotations

from hashlib import blake2b
from operator import attrgetter
from typing import TYPE_CHECKING

from oboro.recipe.released.released_order import moves_rows
from oboro.system.secret_key import secret_key, variable_shown
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.recipe.recipe import Recipe

__all__ = ["entropy_of", "plan_of_seed", "warning_of_seed"]

GUESSABLE = 1 << 64  # seeds below are found by trying them all


def entropy_of(recipe: Recipe) -> int | None:
    """What the random choices of a run start from; None: what the system draws. Of a secret at least 128 bits are kept."""
    if recipe.seed_env is None and recipe.seed_file is None:
        return recipe.seed
    key = secret_key("seed", recipe.seed_env, recipe.seed_file, recipe.folder)
    return int.from_bytes(blake2b(key, digest_size=32, person=b"oboro seed").digest(), "big")


def plan_of_seed(recipe: Recipe) -> list[Message]:
    """What `--explain` says of it."""
    if recipe.seed_env is not None:
        return [Message("recipe.seed.variable", name=variable_shown(recipe.seed_env))]
    if recipe.seed_file is not None:
        return [Message("recipe.seed.file", path=recipe.seed_file)]
    if recipe.seed is None:
        return [Message("recipe.seed.drawn")]
    return [Message("recipe.seed.number", seed=recipe.seed), *warning_of_seed(recipe)]


def warning_of_seed(recipe: Recipe) -> list[Message]:
    """That a seed can be guessed, where something rests on chance, and what."""
    if recipe.seed is None or recipe.seed >= GUESSABLE:
        return []
    resting = dict.fromkeys(map(attrgetter("step"), filter(attrgetter("rests_on_chance"), recipe.steps)))
    order = [Message("recipe.seed.order")] if moves_rows(recipe.order, recipe.steps) else []
    if not resting and not order:
        return []
    return [Message("recipe.seed.guessable", seed=recipe.seed, undone=[*resting, *order])]
