"""Releases about the same people share one budget: it is remembered in a file, and refused once it is used up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("opendp", reason="accounts are OpenDP's: install oboro[dp]")

import oboro
from oboro.errors import ConflictError, FileError, PromiseError
from oboro.recipe import ledger as recipe_ledger
from oboro.recipe.ledger import PrivacyLedger, together
from oboro.system.files import FileLock

PEOPLE = {"sex": ["F", "M"] * 300}
RECIPE = """
attributes: {{sex: {{role: quasi}}}}
steps:
  - dp_anonymize: {{epsilon: {epsilon}, delta: 0.0001, levels: {{sex: 0}}}}
budget: {{epsilon: {most}, delta: 0.001, ledger: people.json}}
"""


def recipe(folder: Path, epsilon: float = 1, most: float = 2.5) -> oboro.Recipe:
    (folder / "recipe.yaml").write_text(RECIPE.format(epsilon=epsilon, most=most))
    return oboro.Recipe.load(folder / "recipe.yaml")


def spent(folder: Path) -> list[float]:
    return [one["epsilon"] for one in json.loads((folder / "people.json").read_text())["spent"]]


def test_a_third_release_takes_what_is_left_and_no_more(tmp_path: Path) -> None:
    release = recipe(tmp_path).run(PEOPLE)
    assert "ε = 1, δ = 0.0001 taken by all releases about these people, of 2.5 and 0.001" in release.summary()
    recipe(tmp_path).run(PEOPLE)
    with pytest.raises(PromiseError, match=r"took 2 and 0\.0002 already, of 2\.5"):
        recipe(tmp_path).run(PEOPLE)
    assert spent(tmp_path) == [1, 1]
    recipe(tmp_path, epsilon=0.5).run(PEOPLE)
    assert spent(tmp_path) == [1, 1, 0.5]
    assert (tmp_path / "people.json").stat().st_mode & 0o077 == 0


def test_refused_before_any_work_and_once_more_before_it_exists(tmp_path: Path, monkeypatch) -> None:
    """Another release takes the rest while this one is made."""
    made = recipe(tmp_path, most=1)
    looked = []

    def meanwhile(given: oboro.Recipe) -> None:
        looked.append(PrivacyLedger.read(tmp_path / "people.json"))
        recipe_ledger.charge(given)

    monkeypatch.setattr(recipe_ledger, "check_ledger", meanwhile)
    with pytest.raises(PromiseError, match="took 1"):
        made.run(PEOPLE)
    assert looked == [None]
    assert spent(tmp_path) == [1]


def test_a_later_recipe_does_not_raise_the_budget(tmp_path: Path) -> None:
    recipe(tmp_path, most=1).run(PEOPLE)
    with pytest.raises(PromiseError, match="not raised by a later recipe"):
        recipe(tmp_path, most=9).run(PEOPLE)
    with pytest.raises(PromiseError, match="took 1"):
        recipe(tmp_path, epsilon=0.5, most=1).run(PEOPLE)


def test_a_ledger_that_is_none_or_is_held(tmp_path: Path, monkeypatch) -> None:
    for text in ("hello", "{}", '{"epsilon": -1, "delta": 0}', '{"epsilon": 1, "delta": 0, "spent": [{"epsilon": 1}]}'):
        (tmp_path / "people.json").write_text(text)
        with pytest.raises(FileError, match="not the ledger"):
            recipe(tmp_path).run(PEOPLE)
    (tmp_path / "people.json").unlink()
    monkeypatch.setattr(recipe_ledger, "PATIENCE", 0.01)
    lock = FileLock(tmp_path / ".people.json.lock")
    with pytest.raises(ConflictError, match="another process"):
        recipe(tmp_path).run(PEOPLE)
    lock.release()
    assert (tmp_path / "people.json") in recipe(tmp_path).files  # and is not written over


def test_values_and_records_are_accounts_of_their_own() -> None:
    ledger = PrivacyLedger.model_validate(
        {
            "epsilon": 1,
            "delta": 0,
            "spent": [
                {"at": "2026-01-01", "unit": "record", "epsilon": 0.9, "delta": 0},
                {"at": "2026-01-02", "unit": "value", "epsilon": 0.2, "delta": 0, "columns": ["age"]},
            ],
        }
    )
    assert (ledger.taken("record")[0], ledger.taken("value")[0]) == (0.9, 0.2)


def test_the_account_is_that_of_basic_composition_rounded_up() -> None:
    parts = [(0.1, 1e-7)] * 30
    epsilon, delta = together(parts)
    assert epsilon == pytest.approx(3, rel=1e-12)
    assert delta == pytest.approx(3e-6, rel=1e-12)
    assert epsilon >= sum(one for one, _ in parts)
    assert together([]) == (0.0, 0.0)
