"""Recipes from strangers: what they cost is bounded, and what is wrong with them is said."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from oboro.errors import FileError, OboroError, RecipeError, UsageError
from oboro.recipe.recipe import Recipe
from oboro.recipe.text import content_of

LAUGHS = "\n".join(
    ["a0: &a0 [x, x, x, x, x, x, x, x, x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9))]
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LAUGHS, "aliases stand for more than"),
        ("steps: &s [*s]", "aliases stand for more than"),
        ("attributes: &a {b: *a}", "aliases stand for more than"),
        ("steps: " + "[" * 3000 + "]" * 3000, "nested too deeply"),
        ("attributes: {day: 2020-13-45}", "a date that does not exist"),
        ("seed: " + "9" * 5000, "too many digits"),
        ("? [a, b]\n: c", "not valid YAML"),
        ("steps: !!python/object/apply:os.system [ls]", "not valid YAML"),
    ],
)
def test_it_is_refused_with_a_reason(text: str, said: str) -> None:
    assert len(text) < 10_000
    with pytest.raises(RecipeError, match=said):
        Recipe.parse(text)


def test_aliases_that_save_writing_are_welcome() -> None:
    text = "attributes:\n  a: &quasi {role: quasi}\n  b: *quasi\nsteps: [{k_anonymize: {k: 2}}]\n"
    assert content_of(text, "recipe")["attributes"]["b"] == {"role": "quasi"}
    assert [one.role.value for one in Recipe.parse(text).attributes.values()] == ["quasi", "quasi"]


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("atributes: {}\nsteps: []", "attributes"),
        ("attributes: {age: {rolle: quasi}}\nsteps: []", "role"),
        ("attributes: {}\nsteps: [{k_anonymize: {k: 2, suppres: 0.1}}]", "suppress"),
    ],
)
def test_a_misspelt_key_gets_the_right_one(text: str, near: str) -> None:
    with pytest.raises(RecipeError, match=f"did you mean '{near}'"):
        Recipe.parse(text)


SECRETS = (
    "d3b07384d113edec49eaa6238ad5ff00",
    "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP",
    "s3cret key of ours",
    "1234567890123456",
)


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("place", ["key_env", "seed_env", "key", "seed_env_number"])
def test_a_key_that_stands_in_a_recipe_is_not_repeated(secret: str, place: str) -> None:
    step = {"pseudonymize": {"attribute": "name", "key_env" if place != "key" else "key": secret}}
    number = int(secret, 16) if place == "seed_env_number" and secret.isalnum() and secret[0] in "d1" else secret
    seeds = {"seed_env": number} if place.startswith("seed") else {}
    steps = [step] if place.startswith("key") else [{"drop_columns": {"attributes": ["name"]}}, "shuffle"]
    with pytest.raises(UsageError) as caught:
        _explained_and_run(secret, steps=steps, **seeds)
    assert secret not in str(caught.value)
    assert str(number) not in caught.value.show()


def _explained_and_run(secret: str, **given: Any) -> None:
    recipe = Recipe(attributes={"name": {"role": "identifier"}, "age": {"role": "other"}}, **given)
    assert secret not in recipe.explain()
    recipe.run({"name": ["Ann"], "age": [1]})


def test_what_came_from_outside_is_cut_and_has_no_control_characters() -> None:
    with pytest.raises(RecipeError) as caught:
        Recipe.parse('attributes: {}\nsteps: [{"\\e[31m' + "x" * 100_000 + '": {}}]')
    assert len(str(caught.value)) < 2_000
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize("tree", ["&a [*a]", LAUGHS.replace("a0:", "x:"), "[" * 3000 + "]" * 3000])
def test_a_tree_of_aliases_is_refused(tmp_path: Path, tree: str) -> None:
    (tmp_path / "tree.yaml").write_text(tree)
    spec = {"role": "quasi", "hierarchy": {"tree": str(tmp_path / "tree.yaml")}}
    with pytest.raises(OboroError):
        Recipe(attributes={"age": spec}, steps=[{"k_anonymize": {"k": 2}}]).run({"age": ["a", "b"]})


@pytest.mark.parametrize("key", ["csv", "tree"])
def test_a_pipe_named_as_a_hierarchy_is_refused(tmp_path: Path, key: str) -> None:
    """Waiting for somebody to write into it, a thread could not be ended by SIGTERM."""
    os.mkfifo(tmp_path / "pipe")
    spec = {"role": "quasi", "hierarchy": {key: str(tmp_path / "pipe")}}
    with pytest.raises(FileError, match="pipe or a device"):
        Recipe(attributes={"age": spec}, steps=[{"k_anonymize": {"k": 2}}]).run({"age": ["a", "b"]})
    step = {"pseudonymize": {"attribute": "age", "key_file": str(tmp_path / "pipe")}}
    with pytest.raises(FileError, match="pipe or a device"):
        Recipe(attributes={"age": {"role": "identifier"}}, steps=[step]).run({"age": ["a", "b"]})
