"""Recipes from strangers: what they cost is bounded, and what is wrong with them is said."""

from __future__ import annotations

import pytest

from oboro.errors import RecipeError
from oboro.recipe.loading import content_of
from oboro.recipe.recipe import Recipe

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
