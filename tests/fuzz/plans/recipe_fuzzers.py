"""Recipes as text and as objects: whatever they say, they are a recipe or refused, and a release keeps what was promised."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml
from tests.fuzz.fuzzing import Case, Fuzzer, asked, refused, require
from tests.fuzz.mutations import mutated, mutated_value, odd_value
from tests.fuzz.tables.round_trip import only_files

from oboro.recipe.recipe import Recipe
from oboro.techniques import TECHNIQUES

__all__ = ["RECIPE_FUZZERS"]

PEOPLE = {
    "name": ["Ann", "Bob", "Cid", "Dan", "Eve", "Fay", "Gil", "Hal"],
    "age": [31, 38, 35, 52, 57, 59, 31, None],
    "sex": ["F", "M", "M", "M", "F", "F", "M", "F"],
    "zip": ["1500001", "1500002", "5300001", "5300001", "1500001", "5300003", "1500002", "5300001"],
    "day": [
        "2020-01-01",
        "2020-01-02",
        "2020-02-01",
        "2021-03-05",
        "2021-01-01",
        "2020-12-31",
        "2020-01-01",
        "2021-03-05",
    ],
    "disease": ["flu", "cold", "flu", "ulcer", "flu", "cold", "flu", "ulcer"],
    "income": [1000.5, 2000, 3000.25, 1000, 900, 80, 12000, 100],
}
HIERARCHIES: Sequence[Any] = (
    {"intervals": [10, 20]}, {"mask": "right"}, {"dates": ["day", "month", "year"]}, {"japan": "postcode"},
    {"mask": {"side": "left", "steps": [2, 4]}}, {"tree": {"all": ["F", "M"]}}, {"rows": [["F", "*"], ["M", "*"]]},
    {"intervals": {"edges": [[0, 40, 100]]}}, {"priority": {"levels": [2, 1]}}, {"neighbours": {"groups": [2, 2]}},
)  # fmt: skip
MARKS = tuple(mark.encode() for mark in (
    ":", ": ", "- ", "\n", "  ", "{", "}", "[", "]", ",", "&a ", "*a", "!", "!!python/object:os.system", "|", ">", "'", '"',
    "#", "%", "@", "\t", "---",
    "!!timestamp ", "!!float ", "!!int ", "!!bool ", "!!binary ", "!!set ", "!!null ", "!!omap ", "!!pairs ", "!x ", "\\0", "\0",
    '"a\\0.csv"', "{csv: ", "...", "? ", "<<: *a", "null", "~", "1e999", "0x1F", "2020-13-45", "é", "k", "role", "quasi",
))  # fmt: skip


@lru_cache(1)
def _words() -> list[str]:
    fields = [name for one in TECHNIQUES.values() for name in one.model_fields]
    said = ["role", "hierarchy", "weight", "fold", "quasi", "sensitive", "identifier", "other", "seed", "unnamed", "drop",
    "accept", "order",
            "kept", "person", "together", "earlier", "csv", "star", "origin", "top", "bottom", "edges", "*",
            "a\0.csv", "x" * 9000, "/dev/zero", "."]  # fmt: skip
    return [*PEOPLE, *TECHNIQUES, *fields, *Recipe.model_fields, *said]


def drawn_recipe(rng: random.Random) -> dict[str, Any]:
    """A recipe that could be one, with a few things changed."""
    roles = {"name": "identifier", "disease": "sensitive", "income": "other"}
    attributes: dict[str, Any] = {name: {"role": roles.get(name, "quasi")} for name in PEOPLE}
    for name in ("age", "sex", "zip", "day"):
        if rng.random() < 0.4:
            attributes[name]["hierarchy"] = rng.choice(HIERARCHIES)
    attributes["age"].setdefault("hierarchy", {"intervals": [10, 20]})
    steps: list[Any] = [{"drop_columns": {"attributes": ["name"]}}]
    for _ in range(rng.randint(0, 2)):
        step = rng.choice(list(TECHNIQUES))
        steps.append({step: dict(rng.choice(list(TECHNIQUES[step].examples)))})
    steps += [{"k_anonymize": {"k": rng.randint(1, 4), "suppress": rng.choice([0, 0.2, 1])}}]
    made: dict[str, Any] = {
        "attributes": attributes,
        "steps": steps,
        "accept": {"unique_on": ["income"], "because": "a test"},
    }
    if rng.random() < 0.3:
        made["seed"] = 1
    return made


def _changed(rng: random.Random, most: float) -> dict[str, Any]:
    made: Any = drawn_recipe(rng)
    for _ in range(int(rng.expovariate(most))):
        made = mutated_value(rng, made, _words())
    return made if isinstance(made, dict) else {"attributes": made}


def draw_text(rng: random.Random) -> Case:
    """A recipe as YAML, after accidents in its meaning and in its text."""
    text = yaml.safe_dump(
        _plain(_changed(rng, 0.7)), allow_unicode=True, default_flow_style=rng.choice([None, True, False])
    )
    return {
        "text": mutated(rng, text.encode(errors="replace"), MARKS, int(rng.expovariate(0.5))).decode(errors="replace")
    }


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {_plain(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value.encode(errors="replace").decode() if isinstance(value, str) else value


def check_text(case: Case, place: Path) -> Sequence[str]:
    """It is a recipe that can be told and written, or refused."""
    recipe = asked(lambda: Recipe.parse(case["text"], folder=place))
    if not isinstance(recipe, Recipe):
        return []
    _check_recipe(recipe)
    return ["a recipe after all"]


def _check_recipe(recipe: Recipe) -> None:
    for lang in ("en", "ja"):
        plan = asked(lambda lang=lang: recipe.explain(lang))
        require(refused(plan) or bool(str(plan).strip()), "a plan without words")
    text = asked(recipe.to_yaml)
    require(not refused(text), f"a recipe that cannot be written: {text}")
    again = asked(lambda: Recipe.parse(str(text)))
    require(not refused(again), f"what is written is no recipe: {again}")
    require(again.to_yaml() == text, "another recipe after it was written")  # type: ignore[union-attr]


def draw_objects(rng: random.Random) -> Case:
    """A recipe as Python's objects; whether it is run."""
    made = _changed(rng, 0.5) if rng.random() < 0.95 else {"attributes": odd_value(rng), "steps": odd_value(rng, 3)}
    return {"recipe": made}


def check_objects(case: Case, place: Path) -> Sequence[str]:
    """It is a recipe, or refused."""
    recipe = asked(lambda: Recipe(**{str(key): value for key, value in case["recipe"].items()}))
    if not isinstance(recipe, Recipe):
        return []
    _check_recipe(recipe)
    return ["a recipe after all"]


# Run ------------------------------------------------------------------------------------------------------------------


def draw_run(rng: random.Random) -> Case:
    """A recipe with few accidents, to be run on eight people."""
    return {"recipe": _changed(rng, 1.2)}


def check_run(case: Case, place: Path) -> Sequence[str]:
    """What comes out is k-anonymous where that was asked for, counted anew."""
    recipe = asked(lambda: Recipe(**{str(key): value for key, value in case["recipe"].items()}))
    if not isinstance(recipe, Recipe):
        return []
    recipe._folder = place
    release = asked(lambda: recipe.run(PEOPLE))
    only_files(place)
    if refused(release):
        return ["not run"]
    table = release.data  # type: ignore[union-attr]
    for step in recipe.steps:
        if step.step == "k_anonymize" and step.quasi is None and step.k_map is None:  # type: ignore[attr-defined]
            _recount(table, [name for name in recipe.schema_given.quasi if name in table], step.k)  # type: ignore[attr-defined]
    for lang in ("en", "ja"):
        asked(lambda lang=lang: release.summary(lang=lang))  # type: ignore[union-attr]
    return ["released"]


def _recount(table: dict[str, list[Any]], quasi: list[str], k: int) -> None:
    if not quasi:
        return
    sizes = Counter(zip(*(map(str, table[name]) for name in quasi), strict=True))
    require(min(sizes.values(), default=k) >= k, f"a class of {min(sizes.values(), default=0)} where {k} were promised")


RECIPE_FUZZERS = (
    Fuzzer("recipe_text", draw_text, check_text, 50),
    Fuzzer("recipe_objects", draw_objects, check_objects, 100),
    Fuzzer("recipe_run", draw_run, check_run, 50),
)
