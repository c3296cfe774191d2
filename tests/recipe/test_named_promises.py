"""What a recipe demands is verified on anybody's release, hierarchies and populations included, or said to be unchecked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import oboro
from oboro.recipe.evaluate import evaluate
from oboro.report.report import Report

TREE = {"tree": {"lungs": ["flu", "asthma"], "heart": ["angina", "infarct"]}}
PATIENTS = {"age": [31, 32, 33, 34], "disease": ["flu", "asthma", "angina", "infarct"]}


def _closeness(t: float, *earlier: Any) -> oboro.Recipe:
    return oboro.Recipe(
        attributes={"age": {"role": "quasi"}, "disease": {"role": "sensitive", "hierarchy": TREE}},
        steps=[*earlier, {"k_anonymize": {"k": 2, "t_closeness": {"disease": {"t": t, "distance": "hierarchical"}}}}],
    )


def test_hierarchical_closeness_of_a_recipe_is_verified() -> None:
    """{flu, angina} and {asthma, infarct}: on the upper of two levels both are spread as the table, on the lower half is
    moved, so the distance is 1/4. By equal distances it would be 1/2."""
    mixed = {**PATIENTS, "age": ["a", "b", "a", "b"]}
    held = _closeness(0.25).evaluate(PATIENTS, mixed, attempts=0)
    assert [one.model.id for one in held.verdicts] == ["model.k_anonymity", "model.t_closeness"]
    assert held.holds
    assert held.verdicts[1].achieved == pytest.approx(0.25)
    assert _closeness(0.2).evaluate(PATIENTS, mixed, attempts=0).holds is False


def test_a_demand_that_cannot_be_checked_is_said() -> None:
    """What an earlier step made of the secret is not at hand."""
    swapped = _closeness(0.25, {"generalize": {"attribute": "disease", "level": 1}})
    report = swapped.evaluate(PATIENTS, {"age": ["a"] * 4, "disease": ["lungs", "lungs", "heart", "heart"]}, attempts=0)
    assert [one.model.id for one in report.verdicts] == ["model.k_anonymity"]
    assert report.verification is not None
    assert report.verification.unchecked
    assert report.summary().startswith("Every promise that could be checked holds; not all could")
    assert "Not checked: the step k_anonymize" in report.to_html()
    assert Report.model_validate(report.as_dict()).verification == report.verification


def test_a_population_of_a_recipe_is_looked_at(tmp_path: Path) -> None:
    """Of six people four are 31 or 32 (released as 30–34 …): each class matches three."""
    (tmp_path / "everybody.csv").write_text("age\n31\n32\n33\n36\n37\n38\n")
    text = """
attributes:
  age: {role: quasi, hierarchy: {intervals: [5, 10]}}
steps:
  - k_anonymize: {k: 1, k_map: K, population: everybody.csv}
"""
    table = {"age": ["31", "36"]}
    for k_map, holds in ((3, True), (4, False)):
        (tmp_path / "r.yaml").write_text(text.replace("K,", f"{k_map},"))
        report = evaluate(table, {"age": ["30–34", "35–39"]}, tmp_path / "r.yaml", attempts=0)
        assert [one.model.id for one in report.verdicts] == ["model.k_anonymity", "model.k_map"]
        assert report.holds is holds
    (tmp_path / "everybody.csv").unlink()
    report = evaluate(table, {"age": ["30–34", "35–39"]}, tmp_path / "r.yaml", attempts=0)
    assert [one.model.id for one in report.verdicts] == ["model.k_anonymity"]
    assert "everybody.csv" in report.summary()


def test_a_limit_on_risk_is_verified() -> None:
    roles = {"age": {"role": "quasi"}}
    recipe = oboro.Recipe(attributes=roles, steps=[{"k_anonymize": {"k": 1, "maximum_risk": 0.4}}])
    table = {"age": ["x", "x", "y", "y", "y"]}
    assert recipe.evaluate(table, table, attempts=0).holds is False


def test_steps_of_cells_of_samples_and_of_worth_are_checked_on_a_release_alone():
    table = {"sex": ["F"] * 30 + ["M"] * 30}
    roles = {"sex": {"role": "quasi"}}
    steps = {
        "suppress_cells": {"k": 20},
        "dp_anonymize": {"epsilon": 1, "delta": 0.01, "levels": {"sex": 0}},
        "k_anonymize": {"k": 2, "profitability": {"benefit": 1, "loss": 9, "gain": 90, "cost": 2, "attacks": "none"}},
    }
    for step, parameters in steps.items():
        recipe = oboro.Recipe(attributes=roles, steps=[{step: parameters}])
        found = oboro.evaluate(table, {"sex": ["F"] * 15 + ["M"] * 15}, recipe=recipe, attempts=0)
        assert found.verification is not None
        assert not found.verification.holds, step
        assert not found.verification.unchecked
