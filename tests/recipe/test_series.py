"""Deliveries month by month: who comes, stays or leaves does so among many, or is held back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from tests.command_line import call
from tests.recipe.series_worlds import ROLES, series

import oboro
from oboro.attacks.series import series_attack
from oboro.data.dataset import Dataset
from oboro.errors import InputError, RecipeError, UsageError
from oboro.verifier.series import known_series

ACCEPTED = {"unique_on": ["job"], "because": "a test"}


# Brute force ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "l"), [(2, 1), (2, 2), (3, 1), (3, 2)])
def test_no_world_narrows_anybody_in_two_releases(k: int, l: int) -> None:  # noqa: E741
    """An attacker who knows everybody's values and in which release they are, and who can think of every world."""
    kept = [series(np.random.default_rng([k, l, seed]), k, l, releases=2, person=False) for seed in range(16)]
    assert sum(one is not None for one in kept) >= 4
    assert not [one for one in kept if one is not None and (one[0] < k or one[1] < l)]


@pytest.mark.parametrize(("k", "l"), [(2, 1), (2, 2), (3, 2)])
def test_no_world_narrows_anybody_in_three_releases_whose_people_are_known(k: int, l: int) -> None:  # noqa: E741
    kept = [series(np.random.default_rng([k, l, seed]), k, l, releases=3, person=True) for seed in range(14)]
    assert sum(one is not None for one in kept) >= 2
    assert not [one for one in kept if one is not None and (one[0] < k or one[1] < l)]


def test_without_earlier_most_series_narrow_somebody() -> None:
    found = [series(np.random.default_rng([2, 2, s]), 2, 2, releases=2, person=False, known=False) for s in range(16)]
    assert sum(one is not None and min(one) < 2 for one in found) >= 5


# A monthly delivery ---------------------------------------------------------------------------------------------------


def months() -> list[pd.DataFrame]:
    """600 people; each month some leave and some come."""
    rng = np.random.default_rng(7)
    everybody = pd.DataFrame(
        {
            "who": [f"person {i}" for i in range(700)],
            "age": rng.integers(1, 9, 700),
            "ill": rng.choice(list("ABCDEF"), 700),
            "job": rng.choice([f"job {i}" for i in range(40)], 700),
        }
    )
    return [everybody.iloc[begin : begin + 600].reset_index(drop=True) for begin in (0, 40, 70)]


def recipe(**demands: Any) -> oboro.Recipe:
    roles = {**ROLES, "job": {"role": "other"}}
    asked = {"k": 5, "l_diversity": {"ill": 2}, **demands}
    steps = [{"k_anonymize": asked}, {"drop_columns": {"attributes": ["who"]}}]
    return oboro.Recipe(attributes=roles, steps=steps, accept=ACCEPTED)


def exposed(new: oboro.Release, earlier: Sequence[oboro.Release]) -> int:
    """Whom the attacks narrow below 5 rows or 2 secrets."""
    tables = [one.frame.data for one in earlier]
    return series_attack(new.frame.data, tables, quasi=["age"], k=5, diverse={"ill": 2}).exposed


def test_a_monthly_delivery_holds_back_who_would_stand_out() -> None:
    first, second, third = months()
    march = recipe().run(first)
    plain = recipe().run(second)
    assert exposed(plain, [march]) > 0
    april = recipe(earlier=[march.data]).run(second)
    assert exposed(april, [march]) == 0
    held = april.steps[0].facts["held_back"]["records"]
    assert 0 < held < 60
    assert len(april.data) == len(second) - held
    assert any(one.id == "technique.series.held_back" for one in april.steps[0].warnings)
    assert "5-anonymity of who came, stayed or left since 1 earlier release" in april.verification.sentence()
    may = recipe(earlier=[march.data, april.data]).run(third)
    shown = april.report
    assert shown.series is not None
    assert shown.series.came[0].below_k == 0
    assert not shown.refused
    assert "Together with earlier releases" in shown.to_html()
    assert any(one.id == "technique.series.pairs" for one in may.steps[0].warnings)


def test_levels_never_split_a_class_of_an_earlier_release() -> None:
    first, second, _ = months()
    coarse = recipe(levels={"age": 2}).run(first)
    assert recipe().run(second).steps[0].facts["levels"]["age"]["level"] == 0
    after = recipe(earlier=[coarse.data]).run(second)
    assert after.steps[0].facts["levels"]["age"] == {"level": 2, "of": 3}
    assert after.steps[0].facts["again"] == {"levels": {"age": 2}}
    with pytest.raises(UsageError, match="must be at least 2"):
        recipe(earlier=[coarse.data], levels={"age": 1}).run(second)


def test_a_ledger_follows_people_over_the_whole_series(tmp_path: Path) -> None:
    first, second, third = months()
    made = []
    for number, table in enumerate((first, second, third)):
        plan = recipe(earlier=[str(tmp_path / f"{i}.csv") for i in range(number)])
        release = plan.model_copy(update={"person": "who"}).run(table)
        release.write_ledger(tmp_path / f"{number}.csv")
        made.append(release)
        assert "who" not in release.data
    assert not any(one.id == "technique.series.pairs" for one in made[2].steps[0].warnings)
    said = [pd.read_csv(tmp_path / f"{i}.csv", dtype=str).set_index("who")["age"].rename(i) for i in range(3)]
    assert pd.concat(said, axis=1).fillna("–").value_counts().min() >= 5
    assert (tmp_path / "0.csv").stat().st_mode & 0o077 == 0
    with pytest.raises(UsageError, match="person"):
        recipe().run(first).write_ledger(tmp_path / "none.csv")


def test_somebody_with_rows_in_several_classes_has_all_of_them_as_history() -> None:
    before = Dataset.of({"who": list("aabcd"), "age": ["1–2", "3–4", "1–2", "3–4", "3–4"]})
    now = Dataset.of({"who": list("abcde"), "age": [1, 1, 3, 3, 3]})
    (found,) = known_series(now, [before], ["age"], hierarchies={}, person="who")
    a, b, c, d, new = found.places.tolist()
    assert new == -1
    assert len({a, b, c}) == 3
    assert c == d


def test_again_names_the_release_that_was_written(tmp_path: Path) -> None:
    first, second, _ = months()
    release = recipe().run(first)
    assert release.again.startswith("# Whoever has both releases can compare them")
    release.write(tmp_path / "march.csv")
    step = yaml.safe_load(release.again)["steps"][0]["k_anonymize"]
    assert step["earlier"] == [str(tmp_path / "march.csv")]
    assert step["levels"] == {"age": 0}
    april = oboro.Recipe.parse(release.again).run(second)
    assert april.steps[0].facts["held_back"]["records"] > 0
    april.write(tmp_path / "april.csv")
    assert len(yaml.safe_load(april.again)["steps"][0]["k_anonymize"]["earlier"]) == 2


def test_one_person_more_is_not_released_beside_the_release_before(tmp_path: Path) -> None:
    first, _, _ = months()
    more = pd.concat(
        [first, pd.DataFrame({"who": ["new"], "age": [3], "ill": ["Z"], "job": ["job 1"]})], ignore_index=True
    )
    release = recipe().run(first)
    release.write(tmp_path / "march.csv")
    april = oboro.Recipe.parse(release.again).run(more)
    assert "Z" not in set(april.data["ill"])
    assert april.steps[0].facts["held_back"] == {"records": 1, "of": 601}


# The last look --------------------------------------------------------------------------------------------------------


def files(tmp_path: Path, **top: Any) -> Path:
    first, second, _ = months()
    recipe().run(first).write(tmp_path / "march.csv")
    second.to_csv(tmp_path / "people.csv", index=False)
    content = yaml.safe_load(recipe().to_yaml()) | {"earlier": ["march.csv"]} | top
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(content))
    return tmp_path / "april.csv"


def test_a_recipe_that_names_earlier_releases_looks_before_it_writes(tmp_path: Path) -> None:
    out = files(tmp_path)
    words = ["anonymize", tmp_path / "people.csv", "--recipe", tmp_path / "recipe.yaml", "--output", out]
    done = call(*words)
    assert done.code == 1
    assert not out.exists()
    assert "Together with earlier releases, this one would single people out" in done.err
    assert "march.csv" not in call("anonymize", *words[1:], "--lang", "ja").out


def test_what_a_series_tells_can_be_accepted_in_plain_words(tmp_path: Path) -> None:
    out = files(tmp_path, accept=[ACCEPTED, {"series": True, "because": "April replaces March"}])
    done = call("anonymize", tmp_path / "people.csv", "--recipe", tmp_path / "recipe.yaml", "--output", out, "--json")
    assert done.code == 0
    assert out.exists()
    assert "April replaces March" in done.out
    assert "earlier release march.csv" in done.out  # evidence of what was read
    with pytest.raises(RecipeError, match="give exactly one of unique_on"):
        oboro.Recipe(attributes={}, steps=[], accept={"because": "nothing"})


def test_explain_says_what_is_kept_over_a_series() -> None:
    plan = recipe(earlier=["march.csv"]).explain()
    assert "whoever comes, stays or leaves since 1 earlier release does so among as many, or is held back" in plan
    assert "加わる人" in recipe(earlier=["march.csv"]).explain("ja")
    several = recipe(earlier=["march.csv", "april.csv"])
    assert "kept with each release by itself" in several.explain()
    assert "1 件ずつ" in several.explain("ja")
    assert "by itself" not in several.model_copy(update={"person": "who"}).explain()


# What is refused ------------------------------------------------------------------------------------------------------


def test_what_cannot_be_kept_is_refused_with_the_way_out() -> None:
    first, second, _ = months()
    march = recipe().run(first).data
    with pytest.raises(InputError, match="it has no column 'age'"):
        recipe(earlier=[march.drop(columns="age")]).run(second)
    with pytest.raises(RecipeError, match="recoding: global"):
        recipe(earlier=["march.csv"], recoding="local")
    twice = pd.concat([second, second], ignore_index=True)
    with pytest.raises(UsageError, match="several rows"):
        recipe(earlier=[march]).model_copy(update={"person": "who"}).run(twice)
    other = march.assign(who=[f"x{i}" for i in range(len(march))])
    with pytest.raises(UsageError, match="nobody of the earlier releases is found again"):
        recipe(earlier=[other]).model_copy(update={"person": "who"}).run(second)


def test_columns_that_change_every_month_are_not_followed() -> None:
    first, second, _ = months()
    rng = np.random.default_rng(1)
    march, april = (one.assign(paid=rng.integers(0, 10**6, len(one))) for one in (first, second))
    roles = {**ROLES, "job": {"role": "other"}, "paid": {"role": "other"}}
    accept = [ACCEPTED, {"unique_on": ["paid", "job"], "because": "a test"}]

    def run(table: pd.DataFrame, **demands: Any) -> oboro.Release:
        steps = [{"k_anonymize": {"k": 5, **demands}}, {"drop_columns": {"attributes": ["who"]}}]
        return oboro.Recipe(attributes=roles, steps=steps, accept=accept).run(table)

    before = run(march)
    assert run(april, earlier=[before.data]).steps[0].facts["held_back"]["records"] > 0
    named = run(april, earlier=[before.data], changing=["paid", "job", "ill"])
    assert named.steps[0].facts["held_back"]["records"] > 0


def test_where_most_rows_are_not_found_again_the_run_says_so() -> None:
    first, second, _ = months()
    before = recipe().run(first)
    other = second.assign(job="another", ill=np.resize(["X", "Y", "Z"], len(second)))
    warned = {one.id for one in recipe(earlier=[before.data]).run(other).steps[0].warnings}
    assert "technique.series.lost_sight" in warned
    assert "technique.series.lost_sight" not in {
        one.id for one in recipe(earlier=[before.data]).run(second).steps[0].warnings
    }


@pytest.mark.parametrize("spelled", ["f", "F ", "female"])
def test_an_earlier_release_that_writes_values_otherwise_is_refused(spelled: str) -> None:
    now = {"sex": ["F"] * 6, "ill": ["A", "B"] * 3}
    before = {"sex": [spelled] * 5, "ill": ["A", "B", "A", "B", "A"]}
    roles = {"sex": {"role": "quasi"}, "ill": {"role": "sensitive"}}
    with pytest.raises(InputError, match="none of its labels of 'sex' fits"):
        oboro.Recipe(attributes=roles, steps=[{"k_anonymize": {"k": 2, "earlier": [pd.DataFrame(before)]}}]).run(now)
    with pytest.raises(UsageError, match="no value of 'sex' in common"):
        oboro.assess(now, quasi=["sex"], sensitive=["ill"], earlier=[pd.DataFrame(before)])
    assert oboro.assess(now, quasi=["sex"], sensitive=["ill"], earlier=[now])


def test_who_is_held_back_is_drawn_among_rows_that_look_alike() -> None:
    first, second, _ = months()
    before = recipe().run(first)
    out = []
    for seed in (2**70, 2**71, 2**72):
        now = recipe(earlier=[before.data]).model_copy(update={"seed": seed}).run(second)
        out.append(frozenset(range(len(second))) - frozenset(now.frame.data.origin_rows.tolist()))
    assert len(set(out)) > 1
