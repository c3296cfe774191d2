"""Whatever somebody gives to a public function, what goes wrong is an `OboroError` that says it in both languages."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import oboro
from oboro.errors import OboroError
from oboro.techniques import TECHNIQUES

TABLE = {"age": [31, 38, 35, 52, 31, 38], "sex": ["F", "F", "M", "M", "F", "M"]}
RECIPE: dict[str, Any] = {
    "attributes": {"age": {"role": "quasi"}, "sex": {"role": "quasi"}},
    "steps": [{"k_anonymize": {"k": 2}}],
}
ODD: list[Any] = [
    None, 0, -1, 1.5, float("nan"), float("inf"), "", "x", "\0", b"x", [], [1], [None], {}, {"age": None}, {"age": 1},
    {"age": [1, "x"]}, {1: [1]}, object(), 10**400, "a" * 5000, {"x": {"y": "z"}}, "\ud800", pa.table({}), {"age": []},
    {"age": [object()]}, {"age": [{"a": 1}] * 6},
]  # fmt: skip
GIVEN: dict[str, Any] = {
    "original": TABLE, "released": TABLE, "frame": TABLE, "quasi": ["age"], "path": "/nowhere/at/all", "source": TABLE,
    "attributes": ["age", "sex"], "rho": 0.5, "values": TABLE["age"],
}  # fmt: skip
FUNCTIONS = (
    oboro.verify, oboro.risk, oboro.attack, oboro.assess, oboro.reconstruct, oboro.pk_evidence, oboro.special_uniques,
    oboro.propose_hierarchy, oboro.init, oboro.read,
)  # fmt: skip


def try_it(act: Callable[[], Any]) -> None:
    """Whether it works or not, nothing but an error of ours comes out."""
    try:
        act()
    except OboroError as error:
        assert len(error.say("en")) + len(error.say("ja")) + len(error.show()) < 10_000


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda one: one.__name__)
def test_functions(function: Callable[..., Any]) -> None:
    parameters = [one for one in inspect.signature(function).parameters.values() if one.kind is not one.VAR_KEYWORD]
    needed = {one.name: GIVEN[one.name] for one in parameters if one.default is one.empty}
    for parameter in parameters:
        for value in ODD:
            try_it(lambda name=parameter.name, value=value: function(**{**needed, name: value}))  # type: ignore[misc]


@pytest.mark.parametrize(
    "parameter", ["original", "released", "recipe", "truth", "rename", "person", "stream", "earlier"]
)
def test_evaluate(parameter: str) -> None:
    for value in ODD:
        given = {"original": TABLE, "released": TABLE, "quasi": ["age"], "attempts": 0, parameter: value}
        try_it(lambda given=given: oboro.evaluate(**given))  # type: ignore[misc]


@pytest.mark.parametrize("step", TECHNIQUES)
def test_techniques(step: str) -> None:
    technique, example = TECHNIQUES[step], TECHNIQUES[step].examples[0]
    for value in ODD:
        for name in [*technique.model_fields, "nope"]:
            try_it(lambda name=name, value=value: technique(**{**example, name: value}))  # type: ignore[misc]
        try_it(lambda value=value: technique(**example).apply(value))  # type: ignore[misc]
        try_it(lambda value=value: technique(**example).apply(TABLE, attributes=value))  # type: ignore[misc]


@pytest.mark.parametrize("key", [*oboro.Recipe.model_fields, "nope"])
def test_recipes(key: str) -> None:
    for value in ODD:
        try_it(lambda value=value: oboro.Recipe(**{**RECIPE, key: value}))  # type: ignore[misc]


def test_what_is_done_with_a_recipe(tmp_path: Any) -> None:
    recipe = oboro.Recipe(**RECIPE)
    release = recipe.run(TABLE)
    acts: list[Callable[[Any], Any]] = [
        oboro.Recipe.parse, oboro.Recipe.load, oboro.Recipe.model_validate, recipe.run, recipe.explain,
        lambda value: recipe.run(tmp_path / "t.csv", reading=value), lambda value: recipe.stream(restore=value),
        lambda value: recipe.stream(person=value), lambda value: recipe.stream().push(value),
        lambda value: recipe.stream().push_many(value), lambda value: recipe.stream().push({"age": value, "sex": "F"}),
        lambda value: release.write_truth(value) if value not in ("x", b"x") else None,
        lambda value: release.summary(lang=value), oboro.Dataset.of,
        lambda value: release.write(tmp_path / "out.csv", force=True, encoding=value),
        lambda value: oboro.Recipe(**{**RECIPE, "steps": [value]}),
        lambda value: oboro.Recipe(**{**RECIPE, "steps": [{"k_anonymize": value}]}),
    ]  # fmt: skip
    (tmp_path / "t.csv").write_text("age,sex\n31,F\n31,F\n")
    for value in ODD:
        for act in acts:
            try_it(lambda act=act, value=value: act(value))  # type: ignore[misc]


def test_a_mistake_of_ours_stays_one() -> None:
    from oboro.data.parameters import at_the_door

    @at_the_door
    def broken(number: int) -> int:
        raise TypeError("ours")

    with pytest.raises(TypeError, match="ours"):
        broken(3)
    with pytest.raises(OboroError, match="number should be int, got 'str'"):
        broken("3")  # type: ignore[arg-type]
