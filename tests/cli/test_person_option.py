"""`--person` on the command line: people are counted, not rows, and the exit code says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.command_line import call

VISITS = "patient,sex,town,illness\n1,F,x,flu\n1,F,x,flu\n1,F,x,cold\n2,M,y,flu\n3,M,y,cold\n4,M,y,flu\n"


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    """Three visits of one woman, and of three men one each."""
    path = tmp_path / "visits.csv"
    path.write_text(VISITS)
    return path


@pytest.fixture
def released(tmp_path: Path) -> Path:
    """The same without the patients."""
    path = tmp_path / "released.csv"
    path.write_text("\n".join(line.split(",", 1)[1] for line in VISITS.splitlines()) + "\n")
    return path


def test_verify_counts_people(visits: Path) -> None:
    assert call("verify", visits, "--quasi", "sex", "--k", 3).code == 0
    done = call("verify", visits, "--quasi", "sex", "--k", 3, "--person", "patient")
    assert done.code == 1
    assert "3-anonymity, counted in people, is broken in 1 of 2 groups (3 records; required 3, achieved 1;" in done.out


def test_verify_without_k_says_how_many_people(visits: Path) -> None:
    assert "k = 3 is the most" in call("verify", visits, "--quasi", "sex").out
    assert "k = 1 is the most" in call("verify", visits, "--quasi", "sex", "--person", "patient").out


def test_verify_does_not_take_a_quasi_identifier_for_the_person(visits: Path) -> None:
    done = call("verify", visits, "--quasi", "sex", "--k", 2, "--person", "sex")
    assert done.code == 2
    assert "'sex'" in done.err


def test_evaluate_counts_people(visits: Path, released: Path) -> None:
    asked = ("evaluate", visits, released, "--quasi", "sex", "--sensitive", "illness", "--attempts", 0, "--json")
    rows, people = (json.loads(call(*asked, *more).out) for more in ((), ("--person", "patient")))
    assert (rows["exposed"]["people"], people["exposed"]["people"]) == (6, 4)
    assert (rows["exposed"]["k"], people["exposed"]["k"]) == (3, 1)
    assert people["risk"]["uniques"] == 1
    done = call(*asked, "--k", 2, "--person", "patient")
    assert done.code == 1
    assert json.loads(done.out)["verification"]["verdicts"][0]["people"] is True
    assert call(*asked, "--k", 2, "--accept", "town").code == 0


def test_assess_counts_people(visits: Path) -> None:
    asked = ("assess", visits, "--quasi", "sex,town", "--sensitive", "illness", "--json")
    rows, people = (json.loads(call(*asked, *more).out) for more in ((), ("--person", "patient")))
    assert (rows["k"], people["k"]) == (3, 1)
    assert (rows["together"]["unique"], people["together"]["unique"]) == (3, 1)  # by rows also who has one number


def test_a_person_that_is_not_there(visits: Path, released: Path) -> None:
    for words in (("verify", visits), ("assess", visits), ("evaluate", visits, released)):
        done = call(*words, "--quasi", "sex", "--person", "nobody")
        assert done.code == 2
        assert "nobody" in done.err
        assert "patient" in done.err
