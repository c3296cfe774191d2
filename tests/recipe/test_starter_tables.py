"""Starter recipes of public tables, run as they are: nobody is singled out by a column that was released as it is."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.recipe.public_tables import PUBLIC_TABLES, public_table

import oboro
from oboro.recipe.starter import Starter
from oboro.schema import Role

ADULT = "age workclass fnlwgt education education-num marital-status occupation relationship race sex capital-gain capital-loss hours-per-week native-country income"  # noqa: E501


def fewest_people(frame: pd.DataFrame, columns: list[str], person: pd.Series) -> int:
    """Among how many people the loneliest combination of values is: one by one, by pandas."""
    return int(person.groupby([frame[name] for name in columns], dropna=False, observed=True).nunique().min())


def check(frame: pd.DataFrame) -> tuple[Starter, oboro.Release]:
    """Run the starter recipe of a table, and count on what it released."""
    starter = oboro.init(frame)
    release = starter.recipe.run(frame)
    released: pd.DataFrame = release.data
    rows = release.dataset.origin_rows
    whose = pd.Series(rows if starter.roles.person is None else frame[starter.roles.person].to_numpy()[rows])
    released = released.reset_index(drop=True)
    other, quasi = starter.roles.named(Role.OTHER), starter.roles.named(Role.QUASI)
    for columns in [[name] for name in other] + [list(pair) for pair in combinations(other, 2)] + [other]:
        if columns:
            assert fewest_people(released, columns, whose) > 1, f"somebody is singled out by {columns}"
    k = next((step.k for step in starter.recipe.steps if step.step in ("k_anonymize", "local_recode")), 1)
    assert starter.recipe.person == starter.roles.person
    assert not quasi or fewest_people(released, quasi, whose) >= k
    assert not set(starter.roles.named(Role.IDENTIFIER)) & set(released.columns)
    secrets = released[starter.roles.exact_secrets]
    assert all(secrets[name].value_counts(dropna=False).min() >= k for name in secrets)
    stars = float((released[quasi].astype(str) == "*").to_numpy().mean()) if quasi else 0.0
    assert stars < 0.2, "a release of stars helps nobody"
    assert len(released) == len(frame)
    print(
        f"{len(frame)} rows; quasi {len(quasi)}, other {len(other)}; k {k}; {stars:.0%} of the quasi-identifiers' cells are *"
    )
    return starter, release


@pytest.mark.parametrize("name", PUBLIC_TABLES)
def test_nobody_is_singled_out_by_what_is_released_as_it_is(name: str) -> None:
    check(public_table(name))


def test_nobody_is_singled_out_in_adult(adult_folder: Path) -> None:
    adult = pd.read_csv(adult_folder / "adult.data", names=ADULT.split(), skipinitialspace=True)
    starter, _ = check(adult.iloc[::4].reset_index(drop=True))
    assert starter.columns["fnlwgt"].role is Role.QUASI


def test_dates_of_patients_are_protected() -> None:
    # In 2,843 patients, 2,220 are unique by diag and death, which no name gives away.
    patients = public_table("MASS/Aids2")
    assert int((patients.groupby(["diag", "death"]).size() == 1).sum()) == 2220
    starter, _ = check(patients)
    assert starter.columns["diag"].role is Role.QUASI
    assert starter.columns["death"].role is Role.QUASI
    assert starter.columns["diag"].exposure.unique == int((patients["diag"].value_counts() == 1).sum())


def test_a_panel_counts_men_not_rows() -> None:
    # 545 men with 8 yearly rows each: five rows alone may be one man's.
    starter, release = check(public_table("Ecdat/Males"))
    assert starter.recipe.person == "nr"
    assert "person: nr" in starter.to_yaml()
    assert "nr" not in release.data
    assert release.verification.holds


@pytest.mark.parametrize("rows", [2, 3, 5, 10])
def test_very_small_tables(rows: int) -> None:
    starter = oboro.init(public_table("MASS/Aids2").head(rows))
    release = starter.recipe.run(public_table("MASS/Aids2").head(rows))
    other = starter.roles.named(Role.OTHER)
    assert not other or int(release.data.groupby(other, dropna=False).size().min()) > 1


def test_visits_with_a_secret_and_many_quasi_identifiers() -> None:
    """Groups of their own, counted in people, with diverse secrets: what a table of a hospital needs."""
    rng = np.random.default_rng(3)
    patient = rng.integers(0, 120, 400)
    visits = pd.DataFrame(
        {
            "patient_id": patient,
            "birthdate": pd.to_datetime("1940-01-01") + pd.to_timedelta(patient * 173 % 25_000, "D"),
            "sex": np.where(patient % 2, "F", "M"),
            "zip": (10_000 + patient * 7919 % 80_000).astype(str),
            "visited": pd.to_datetime("2025-01-01") + pd.to_timedelta(rng.integers(0, 365, 400), "D"),
            "disease": rng.choice(["flu", "cold", "asthma", "cancer"], 400),
        }
    )
    starter, release = check(visits)
    assert starter.recipe.person == "patient_id"
    assert starter.recipe.steps[1].step == "local_recode"
    assert starter.recipe.steps[1].l_diversity == {"disease": 2}
    assert release.verification.holds
