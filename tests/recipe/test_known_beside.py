"""Columns that follow from a quasi-identifier, and columns that chance hardly changed: both are told."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from oboro.data.column import Column
from oboro.disclosure.dependent_columns import seems_to_follow
from oboro.disclosure.weak_noise import own_is_nearest
from oboro.io import column_store
from oboro.recipe.recipe import Recipe
from oboro.recipe.release import Release
from oboro.recipe.starter import init
from oboro.schema import Role

AGES = [20 + n % 20 for n in range(60)]  # three people of each
BORN = [2026 - age for age in AGES]


def released(steps: list[Any] | None = None, person: str | None = None, **table: Any) -> Release:
    columns = {name: {"role": "other"} for name in table if name not in ("age", person)}
    columns |= {"age": {"role": "quasi", "hierarchy": {"intervals": [10]}}}
    dropped = [] if person is None else [{"drop_columns": {"attributes": [person]}}]
    steps = [*dropped, {"k_anonymize": {"k": 5}}, *(steps or [])]
    return Recipe(attributes=columns, steps=steps, person=person, seed=1).run(table)


def told(release: Release, kind: str) -> list[dict[str, Any]]:
    return [one.values for one in release.cautions if one.id == f"exposure.{kind}"]


def test_a_copy_of_a_quasi_identifier_is_told_with_what_is_left_of_k() -> None:
    release = released(age=AGES, born=BORN)
    (said,) = told(release, "known_beside")
    assert (said["columns"], said["quasi"]) == (["born"], ["age"])
    groups = Counter(zip(release.data["age"], release.data["born"], strict=True))  # type: ignore[index]
    (broken,) = said["broken"]
    assert f"achieved {min(groups.values())}" in broken.say("en")
    assert release.summary().startswith("Every promise holds over the columns that it names, but")
    assert "「born」" in release.summary(lang="ja")


@pytest.mark.parametrize(
    "beside",
    [
        [age // 10 for age in AGES],  # follows, and divides no group
        [n // 3 % 5 for n in range(60)],  # divides groups, and does not follow
        ["a"] * 60,
    ],
)
def test_what_tells_no_more_is_not_told(beside: list[Any]) -> None:
    release = released(age=AGES, beside=beside)
    assert told(release, "known_beside") == []
    assert release.summary().startswith("Every promise holds\n")


def test_what_somebody_keeps_from_row_to_row_follows_from_nothing() -> None:
    table = {"age": [age for age in AGES[:20] for _ in range(4)], "who": [n // 4 for n in range(80)]}
    colour = [n // 4 * 7 % 5 for n in range(80)]
    assert told(released(**table, colour=colour, person="who"), "known_beside") == []


def test_the_order_tells_it_where_no_value_repeats() -> None:
    days = Column.of([f"19{40 + n}-01-01" for n in range(60)])
    assert seems_to_follow(days, Column.of([(86 - n) // 10 for n in range(60)]))
    assert not seems_to_follow(days, Column.of([n % 7 for n in range(60)]))


def test_a_column_that_stays_in_the_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_store, "HELD_TOO", -1)
    lines = ["age,born", *(f"{age},{born}" for age, born in zip(AGES, BORN, strict=True))]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    columns = {"age": {"role": "quasi", "hierarchy": {"intervals": [10]}}, "born": {"role": "other"}}
    release = Recipe(attributes=columns, steps=[{"k_anonymize": {"k": 5}}]).run(tmp_path / "t.csv")
    assert told(release, "known_beside")[0]["columns"] == ["born"]


def test_a_starter_protects_what_follows() -> None:
    found = init({"age": AGES, "decade": [age // 7 for age in AGES]}).columns["decade"]
    assert found.role is Role.QUASI
    assert [one.id for one in found.reasons] == ["role.follows"]


def test_exceptions_hide_nothing() -> None:
    towns = {str(13000 + n): f"town {n % 7}" for n in range(20)}
    zips = [list(towns)[n % 20] for n in range(200)]
    town = ["town 0", *(towns[one] for one in zips[1:])]
    town[21] = "Town  1"
    assert seems_to_follow(Column.of(zips), Column.of(town))
    born = [2026 - age - n % 2 for n, age in enumerate(AGES)]  # before or after the birthday
    (said,) = told(released(age=AGES, born=born), "known_beside")
    assert said["columns"] == ["born"]


def test_a_secret_that_follows_is_told_too() -> None:
    roles = {"age": {"role": "quasi", "hierarchy": {"intervals": [10]}}, "born": {"role": "sensitive"}}
    demands = {"k": 5, "l_diversity": {"born": 2}}
    release = Recipe(attributes=roles, steps=[{"k_anonymize": demands}]).run({"age": AGES, "born": BORN})
    (said,) = told(release, "known_beside")
    assert [one.id for one in said["broken"]] == ["verdict.broken"]  # of k: whoever knows it learns nothing of it
    moved = [{"shuffle": {"attributes": ["born"]}}, {"k_anonymize": {"k": 5}}]
    assert told(Recipe(attributes=roles, steps=moved, seed=1).run({"age": AGES, "born": BORN}), "known_beside") == []


@pytest.mark.parametrize("role", ["other", "sensitive"])
def test_what_tells_a_quasi_identifier_is_told(role: str) -> None:
    """A month of birth tells the year that its label hides; the year does not tell the month."""
    years = [1980 + n % 20 for n in range(240)]
    months = [f"{year}/{1 + n // 20 % 6}" for n, year in enumerate(years)]  # two people of each
    roles = {"year": {"role": "quasi", "hierarchy": {"intervals": [10]}}, "month": {"role": role}}
    recipe = Recipe(attributes=roles, steps=[{"k_anonymize": {"k": 20}}])
    release = recipe.run({"year": years, "month": months})
    (said,) = told(release, "known_by")
    assert (said["columns"], said["quasi"]) == (["month"], ["year"])
    assert "achieved 12" in said["broken"][0].say("en")  # people of each year
    assert release.summary().startswith("Every promise holds over the columns that it names, but")
    assert init({"zip": years, "x": months}).columns["x"].role is Role.QUASI


@given(st.integers(0, 10**6), st.integers(2, 5))
def test_what_has_nothing_to_do_with_it_never_follows(seed: int, values: int) -> None:
    draw = np.random.default_rng(seed)
    known, often = draw.integers(0, 40, 300), draw.random(values) ** 4
    drawn = draw.choice(values, 300, p=often / often.sum())
    assert not seems_to_follow(Column.of(known.tolist()), Column.of(drawn.tolist()))


# Chance ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("scale", "said"), [(0.2, True), (30.0, False)])
def test_noise_that_hides_nobody_is_told(scale: float, said: bool) -> None:
    table = {"age": AGES, "paid": [10.0 * n for n in range(60)]}
    release = released([{"noise": {"attribute": "paid", "scale": scale}}], **table)
    assert bool(told(release, "hardly_changed")) == said
    assert ("Chance changed 'paid' so little that of 60 records" in release.summary()) == said


@pytest.mark.parametrize(("scale", "said"), [(0.4, True), (9.0, False)])
def test_columns_that_hardly_changed_are_counted_together(scale: float, said: bool) -> None:
    """Three people have each age, height and weight; nobody has another's pair of them."""
    table = {"age": AGES, "height": [150 + n // 20 for n in range(60)], "weight": [60 + n % 20 for n in range(60)]}
    noise = {"noise": {"attributes": ["height", "weight"], "scale": scale}}
    release = released([noise], **table)
    (one,) = told(release, "hardly_changed_together") or [None]
    assert (one is not None) == said
    if one is not None:
        assert (one["columns"], one["alone"]) == (["height", "weight"], 60)
        assert 30 <= one["found"] < 60


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ({"noise": {"attributes": ["x0", "x1", "x2", "x3", "x4"], "scale": 25}}, True),
        ({"noise": {"attributes": ["x0", "x1", "x2", "x3", "x4"], "scale": 400}}, False),
        ({"synthesize": {"attributes": ["x0", "x1", "x2", "x3", "x4"], "k": 10}}, True),
        ({"synthesize": {"attributes": ["x0"], "k": 10}}, False),
    ],
)
def test_who_is_nearest_to_himself_by_all_columns_is_told(step: dict[str, Any], said: bool) -> None:
    """Noise of a quarter of the spread hides nobody in five columns, nor do values drawn from intervals of ten people each."""
    draw = np.random.default_rng(4)
    names = [f"x{n}" for n in range(5)] if "x1" in str(step) else ["x0"]
    release = released([step], age=AGES, **{name: (draw.normal(size=60) * 100).round(1).tolist() for name in names})
    assert bool(told(release, "linked_by_distance")) == said
    assert ("nearer to their own original" in release.summary()) == said


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(-2, 12)), max_size=9))
def test_the_nearest_is_found_as_by_looking_at_all(rows: list[tuple[int, int]]) -> None:
    before = [row[0] for row in rows]
    alone = [row for row in rows if before.count(row[0]) == 1]
    found = [row for row in alone if all(abs(row[1] - row[0]) < abs(row[1] - one) for one in before if one != row[0])]
    both = [np.array(column, float) for column in (before, [row[1] for row in rows])]
    assert own_is_nearest(*both) == (len(found), len(alone))
