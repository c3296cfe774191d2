"""Every check before a release is run by every engine, whether its driver has rows or none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.engines.release_checks import CASES, case, outcome

import oboro.engines.run as engine_run
from oboro.disclosure import gate
from oboro.disclosure.gate import CHECKS, Checks, NeedsRows, ReleaseCandidate, check_release
from oboro.engines.bounded import RemoteColumns
from oboro.engines.run import anonymize_place
from oboro.recipe.recipe import Recipe

HELD = {"rows on the driver": None, "no rows on the driver": 0}


def on_duckdb(recipe: Recipe, folder: Path, data: pa.Table, held_rows: int | None) -> Any:
    pq.write_table(data, folder / "in.parquet")
    places = str(folder / "in.parquet"), str(folder / "out")
    return anonymize_place(recipe, *places, engine="duckdb", force=True, held_rows=held_rows)


def test_the_list_has_every_check_once() -> None:
    """A module of the package that defines `check` is in the list, and the other way round."""
    files = Path(gate.__file__).parent.glob("*.py")
    assert sorted(CHECKS.names) == sorted(one.stem for one in files if "\ndef check(" in one.read_text())
    assert set(CASES) == set(CHECKS.names)
    assert len({check.__module__ for check in CHECKS}) == len(CHECKS) == len(CHECKS[:])


@pytest.mark.parametrize("name", CHECKS.names)
def test_each_case_is_found_by_its_check_alone(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the check nothing is found, so that the test of an engine fails where it leaves the check out."""
    recipe, data = case(name, tmp_path)
    assert CASES[name][1] in outcome(lambda: recipe.run(data))
    monkeypatch.setattr(gate, "CHECKS", Checks(*(one for one in CHECKS.names if one != name)))
    assert CASES[name][1] not in outcome(lambda: recipe.run(data))


@pytest.mark.parametrize("held_rows", HELD.values(), ids=HELD)
@pytest.mark.parametrize("name", CHECKS.names)
def test_duckdb_finds_what_one_machine_finds(name: str, held_rows: int | None, tmp_path: Path) -> None:
    recipe, data = case(name, tmp_path)
    one = outcome(lambda: recipe.run(data))
    found = outcome(lambda: on_duckdb(recipe, tmp_path, data, held_rows))
    if name == "earlier_releases":  # an engine that cannot do it says so before any work
        assert list(found) == ["error_engine.earlier"]
        return
    random = any(step.traits.random for step in recipe.steps)  # of draws the figures differ
    assert found.keys() == one.keys() if random else found == one
    refused = CASES[name][1].startswith("error")
    assert (tmp_path / "out").exists() is not refused


def test_a_driver_without_rows_runs_the_same_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each check of the list is run there, and rows come to the driver only where one asks for them."""
    seen: list[ReleaseCandidate] = []

    def watched(candidate: ReleaseCandidate) -> gate.Findings:
        seen.append(candidate)
        return check_release(candidate)

    monkeypatch.setattr("oboro.engines.bounded.check_release", watched)
    monkeypatch.setattr(engine_run, "_with_rows", lambda *_: pytest.fail("rows came to the driver"))
    recipe, data = case("identifiers", tmp_path)
    calm = data.set_column(0, "mail", pa.array([f"district {row % 30}" for row in range(data.num_rows)]))
    assert outcome(lambda: on_duckdb(recipe, tmp_path, calm, 0)) == outcome(lambda: recipe.run(calm)) == {}
    (candidate,) = seen
    assert isinstance(candidate.store, RemoteColumns)
    assert dict(zip(candidate.released["mail"].texts, candidate.released["mail"].counts, strict=True)) == {
        f"district {one}": 10 for one in range(30)
    }


def test_identifiers_of_which_each_is_one_record_need_no_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """How often a value occurs is counted where the data is."""
    recipe, data = case("counted_people", tmp_path)
    data = data.set_column(0, "patient_id", pa.array([f"P{row:03}" for row in range(data.num_rows)]))
    one = outcome(lambda: recipe.run(data))
    monkeypatch.setattr(engine_run, "_with_rows", lambda *_: pytest.fail("rows came to the driver"))
    assert outcome(lambda: on_duckdb(recipe, tmp_path, data, 0)) == one == {}


def test_why_rows_came_is_said(tmp_path: Path) -> None:
    recipe, data = case("dependent_columns", tmp_path)
    assert "a check before the release needs all rows of" in str(on_duckdb(recipe, tmp_path, data, 0).driver)


def test_a_check_that_an_engine_cannot_serve_refuses_the_release() -> None:
    assert "needs all rows of 'cohort'" in str(NeedsRows(["cohort"]))
