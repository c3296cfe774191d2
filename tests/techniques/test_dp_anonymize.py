"""Differential privacy by sampling: the formula exactly, the release on neighbouring tables, and what would break it."""

from __future__ import annotations

from fractions import Fraction
from hashlib import shake_256
from math import ceil, comb, exp, floor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta as beta_law

import oboro
from oboro.algorithms.private_sampling import (
    DETAIL,
    drawn_records,
    largest_sampling,
    least_class_size,
    limit_of_counts,
    node_details,
    node_scores,
    nodes_between,
    noisy_best,
    risk_of_sample,
)
from oboro.data.dataset import Dataset
from oboro.errors import PromiseError, RecipeError, UsageError
from oboro.hierarchies.spec import HierarchySpec
from oboro.schema import Attribute, Schema
from oboro.techniques.base import Work
from oboro.verifier.differential import SampledPrivacy

PEOPLE = {"age": [20 + i % 50 for i in range(400)], "sex": ["F" if i % 3 else "M" for i in range(400)]}
ROLES = {"age": {"role": "quasi", "hierarchy": {"intervals": [10, 20]}}, "sex": {"role": "quasi"}}


def tail(n: int, first: int, p: Fraction) -> Fraction:
    return sum(tail_terms(n, p)[first:], Fraction(0))


# The formula -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("part", [0.3, 1.0])
@pytest.mark.parametrize("k", [2, 5, 13])
def test_delta_is_that_of_li_qardaji_and_su_in_exact_arithmetic(epsilon: float, part: float, k: int) -> None:
    sampling = floor(largest_sampling(epsilon) * part * 1024) / 1024  # a short fraction: exact arithmetic is quick
    gamma, p = limit_of_counts(epsilon, sampling), Fraction(sampling)
    assert gamma == pytest.approx((exp(epsilon) - 1 + sampling) / exp(epsilon))
    first = max(1, ceil(k / gamma - 1))
    exact = max(tail(n, floor(n * gamma) + 1, p) for n in range(first, first + 60))
    assert risk_of_sample(k, epsilon, sampling) == pytest.approx(float(exact), rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 1.7])
@pytest.mark.parametrize("delta", [1e-2, 1e-4, 1e-6])
def test_k_is_the_least_that_keeps_delta_and_the_verifier_finds_the_same(epsilon: float, delta: float) -> None:
    for sampling in (largest_sampling(epsilon), largest_sampling(epsilon) / 3):
        k = least_class_size(epsilon, delta, sampling)
        assert risk_of_sample(k, epsilon, sampling) <= delta
        assert k == 1 or risk_of_sample(k - 1, epsilon, sampling) > delta * (1 - 1e-8)
        assert SampledPrivacy(epsilon=epsilon, delta=delta, sampling=sampling).required == k


@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_no_neighbours_are_told_apart_by_more(epsilon: float) -> None:
    """The release of one class, exactly: its count where it is at least k, else nothing. The other classes are the same."""
    for part in (0.5, 1.0):
        sampling = floor(largest_sampling(epsilon) * part * 1024) / 1024
        p, factor = Fraction(sampling), Fraction(exp(epsilon))
        for k in (2, 4, 9):
            delta = Fraction(risk_of_sample(k, epsilon, sampling))
            for n in range(1, 40):
                with_, without = released_counts(n, k, p), released_counts(n - 1, k, p)
                for one, other in ((with_, without), (without, with_)):
                    more = sum(
                        (max(Fraction(0), one[j] - factor * other.get(j, Fraction(0))) for j in one), Fraction(0)
                    )
                    assert more <= delta * (1 + Fraction(1, 10**9))


def released_counts(n: int, k: int, p: Fraction) -> dict[int, Fraction]:
    chances = tail_terms(n, p)
    return {0: sum(chances[:k], Fraction(0))} | {j: chances[j] for j in range(k, n + 1)}


def test_telling_how_many_were_left_out_would_tell_who_is_there() -> None:
    """Why nothing is written for records that are left out: of nobody and of somebody the number of `*` differs too often."""
    epsilon, k = 1.0, 9
    sampling = largest_sampling(epsilon)
    p, promised = Fraction(sampling), risk_of_sample(k, epsilon, sampling)
    one, other = (dict(enumerate(tail_terms(n, p))) for n in (1, 0))  # below k all are left out, and each is one `*`
    more = sum(max(Fraction(0), one[j] - Fraction(exp(epsilon)) * other.get(j, Fraction(0))) for j in one)
    assert more == p > 2 * promised


def tail_terms(n: int, p: Fraction) -> list[Fraction]:
    return [comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(n + 1)]


# The release -------------------------------------------------------------------------------------------------------------


def release(people: dict[str, list[object]], **options: object) -> dict[str, list[object]]:
    step = oboro.DpAnonymize(**{"epsilon": 1, "delta": 1e-2, "levels": {"age": 1, "sex": 0}} | options)
    return step.apply(people, attributes=ROLES)


def test_every_released_combination_occurs_k_times_and_rows_stand_by_value() -> None:
    step = oboro.DpAnonymize(epsilon=1, delta=1e-2, levels={"age": 1, "sex": 0})
    found = step.apply(PEOPLE, attributes=ROLES)
    rows = list(zip(found["age"], found["sex"], strict=True))
    assert rows
    assert rows == sorted(rows)
    assert min(rows.count(row) for row in set(rows)) >= step.k
    assert oboro.verify(found, quasi=["age", "sex"], k=step.k).holds


def test_a_seed_repeats_nothing() -> None:
    recipe = oboro.Recipe(
        attributes=ROLES,
        steps=[{"dp_anonymize": {"epsilon": 1, "delta": 1e-2, "levels": {"age": 2, "sex": 0}}}],
        seed=1,
    )
    sizes = {len(recipe.run(PEOPLE).data["age"]) for _ in range(12)}
    assert len(sizes) > 1


def test_nobody_is_enough_for_nothing() -> None:
    assert release({"age": [30, 31], "sex": ["F", "F"]}) == {"age": [], "sex": []}


def interval(hits: int, runs: int, sure: float = 1e-4) -> tuple[float, float]:
    """Clopper and Pearson."""
    low = float(beta_law.ppf(sure / 2, hits, runs - hits + 1)) if hits else 0.0
    return low, float(beta_law.ppf(1 - sure / 2, hits + 1, runs - hits)) if hits < runs else 1.0


def told_apart(one: np.ndarray, other: np.ndarray, epsilon: float, delta: float) -> bool:
    """Whether some event (so many or more, so many or fewer, exactly so many) is surely likelier by more than is allowed."""
    runs = one.size
    for a, b in ((one, other), (other, one)):
        for j in np.unique(np.concatenate([a, b])):
            for event in (np.greater_equal, np.less_equal, np.equal):
                low = interval(int(event(a, j).sum()), runs)[0]
                high = interval(int(event(b, j).sum()), runs)[1]
                if low > exp(epsilon) * high + delta:
                    return True
    return False


def counts_of_runs(members: int, step: oboro.DpAnonymize, runs: int) -> np.ndarray:
    data = Dataset.of({"sex": ["F"] * members + ["M"] * 5})
    schema = Schema({"sex": Attribute.model_validate({"role": "quasi"})})
    work = Work(data, schema, np.random.default_rng(0))
    found = [step.run(work).data for _ in range(runs)]
    return np.array([one.rows for one in found])


def test_neighbouring_tables_are_not_told_apart_by_many_runs() -> None:
    step = oboro.DpAnonymize(epsilon=0.4, delta=1e-2, levels={"sex": 0})
    members, runs = step.k + 4, 600
    one, other = (counts_of_runs(n, step, runs) for n in (members, members + 1))
    assert not told_apart(one, other, 0.4, 1e-2)


def test_the_same_test_tells_apart_what_is_only_k_anonymous() -> None:
    """Without a sample, whoever knows the k − 1 others sees at once whether the last one is there."""
    runs = 600
    one, other = np.full(runs, 0), np.full(runs, 5)  # k − 1 records are left out, k are released
    assert told_apart(one, other, 0.4, 1e-2)
    larger = np.array([drawn_records(3, 0.9).sum() for _ in range(runs)])  # a sample far beyond 1 − e^−ε, and no k
    whole = np.array([drawn_records(4, 0.9).sum() for _ in range(runs)])
    assert told_apart(larger, whole, 0.1, 1e-4)


def test_a_sample_draws_everybody_with_the_same_probability() -> None:
    keys = [i.to_bytes(4, "big") for i in range(2000)]
    drawn = np.array([drawn_records(50, 0.3, key) for key in keys])
    low, high = interval(int(0.3 * drawn.size), drawn.size, 1e-6)
    assert low < drawn.mean() < high
    assert abs(drawn.mean(axis=0) - 0.3).max() < 0.06
    assert abs(np.corrcoef(drawn[:, :10].T) - np.eye(10)).max() < 0.12
    assert drawn_records(0, 0.5).size == 0


# Levels by the exponential mechanism -----------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 39), st.sampled_from("FM")), min_size=1, max_size=40), st.integers(1, 6))
def test_one_record_changes_no_score_by_more_than_one_and_all_in_one_direction(
    rows: list[tuple[int, str]], least: int
) -> None:
    nodes = nodes_between([0, 0], [3, 1])
    details = node_details(nodes, [3, 1], [2.0, 1.0])
    assert details.max() <= DETAIL
    more, fewer = (scored(some, nodes, details, least) for some in (rows, rows[1:]))
    assert ((more - fewer) >= 0).all()
    assert ((more - fewer) <= DETAIL).all()


def scored(rows: list[tuple[int, str]], nodes: list[tuple[int, ...]], details: np.ndarray, least: int) -> np.ndarray:
    data = Dataset.of({"age": [age for age, _ in rows], "sex": [sex for _, sex in rows]})
    specs = {"age": HierarchySpec.model_validate({"intervals": [5, 10]}), "sex": HierarchySpec()}
    trees = [spec.build(name, data[name]) for name, spec in specs.items()]
    return node_scores(nodes, details, [data["age"], data["sex"]], trees, least)


def test_scores_are_those_of_a_plain_count() -> None:
    rows = [(age, "F") for age in (1, 1, 2, 7)]
    nodes = nodes_between([0, 0], [1, 0])
    assert scored(rows, nodes, np.array([DETAIL, DETAIL // 2]), 2).tolist() == [DETAIL, DETAIL // 2 * 2]


def test_a_better_score_is_likelier_and_neighbouring_scores_hardly_differ() -> None:
    runs, epsilon = 400, 0.5
    one = np.array([noisy_best(np.array([3, 4, 9]), 1, epsilon) for _ in range(runs)])
    other = np.array([noisy_best(np.array([4, 4, 10]), 1, epsilon) for _ in range(runs)])
    assert (one == 2).mean() > (one == 0).mean()
    assert not told_apart(one, other, epsilon, 0.0)


def test_levels_are_chosen_within_limits_and_paid_for() -> None:
    recipe = oboro.Recipe(
        attributes=ROLES,
        steps=[
            {"dp_anonymize": {"epsilon": 2, "delta": 1e-3, "search_epsilon": 0.5, "limits": {"age": {"least": 1}}}},
        ],
        budget={"epsilon": 2, "delta": 1e-3},
    )
    made = recipe.run(PEOPLE)
    assert made.verification.holds
    assert made.steps[0].facts["levels"]["age"]["level"] >= 1
    assert made.steps[0].facts["k"] == least_class_size(1.5, 1e-3, largest_sampling(1.5))
    assert "ε = 2, δ = 0.001" in made.summary()


# What would break it --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"levels": None}, "give either levels"),
        ({"search_epsilon": 0.5}, "give either levels"),
        ({"levels": None, "search_epsilon": 1}, "less than epsilon"),
        ({"limits": {"age": {"least": 1}}}, "limits are for"),
        ({"sampling": 0.9}, "at most 0.63212"),
    ],
)
def test_parameters_that_make_no_sense(options: dict[str, object], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        release(PEOPLE, **options)


def run(attributes: dict[str, object], *steps: dict[str, object], **more: object) -> object:
    last = {"dp_anonymize": {"epsilon": 1, "delta": 1e-2, "levels": {"age": 1, "sex": 0}}}
    return oboro.Recipe(attributes=attributes, steps=[*steps, last], **more).run(PEOPLE | {"name": list(range(400))})


@pytest.mark.parametrize(
    ("attributes", "steps", "more", "why"),
    [
        ({"name": {"role": "other"}}, [], {}, "'name' would be released as they are"),
        ({"name": {"role": "other"}}, [{"k_anonymize": {"k": 2}}], {}, "k_anonymize' before it look"),
        ({"name": {"role": "other"}}, [{"top_code": {"attribute": "age", "percentile": 90}}], {}, "top_code' before it"),
        ({"name": {"role": "other"}}, [{"microaggregate": {"attribute": "age", "k": 2}}], {}, "microaggregate' before it"),
        ({"name": {"role": "other"}}, [{"sample": {"fraction": 0.5}}], {}, "sample' before it"),
        ({}, [{"drop_columns": {"attributes": ["name"]}}], {"person": "name"}, "protects one record"),
        ({"age": {"role": "quasi", "hierarchy": {"neighbours": {"groups": [2]}}}, "name": {"role": "other"}},
         [{"drop_columns": {"attributes": ["name"]}}], {}, "made from the values in the table"),
        ({"age": {"role": "quasi", "hierarchy": {"priority": {"levels": 2}}}, "name": {"role": "other"}},
         [{"drop_columns": {"attributes": ["name"]}}], {}, "made from the values in the table"),
        ({"age": {"role": "quasi", "hierarchy": {"mask": "right"}}, "name": {"role": "other"}},
         [{"drop_columns": {"attributes": ["name"]}}], {}, "made from the values in the table"),
    ],
)  # fmt: skip
def test_what_breaks_it_is_refused(
    attributes: dict[str, object], steps: list[dict[str, object]], more: dict[str, object], why: str
) -> None:
    with pytest.raises(UsageError, match=why):
        run(ROLES | attributes, *steps, **more)


def test_steps_that_look_at_each_record_alone_may_come_before_and_any_after() -> None:
    before = [
        {"drop_columns": {"attributes": ["name"]}},
        {"top_code": {"attribute": "age", "at": 60}},
        {"drop_records": {"where": {"age": {"below": 21}}}},
    ]
    assert run(ROLES | {"name": {"role": "identifier"}}, *before).verification.holds  # type: ignore[attr-defined]


def test_a_later_step_that_makes_classes_small_is_an_error() -> None:
    steps = [
        {"dp_anonymize": {"epsilon": 1, "delta": 1e-2, "levels": {"age": 3, "sex": 0}}},
        {"sample": {"count": 3}},
    ]
    with pytest.raises(PromiseError, match="differential privacy"):
        oboro.Recipe(attributes=ROLES, steps=steps).run(PEOPLE)


def test_a_column_beside_the_private_ones_breaks_the_verdict() -> None:
    data = Dataset.of({"sex": ["F"] * 90, "name": list(range(90))})
    verdict = SampledPrivacy(epsilon=1, delta=1e-2, sampling=0.5).check(data, ["sex"])
    assert not verdict.holds
    assert "name" in verdict.sentence()


def test_a_budget_is_kept_before_anything_is_done() -> None:
    steps = [{"dp_anonymize": {"epsilon": 1, "delta": 1e-2, "levels": {"age": 1, "sex": 0}}}]
    with pytest.raises(RecipeError, match="more than the 0.5 and 0.01"):
        oboro.Recipe(attributes=ROLES, steps=steps, budget={"epsilon": 0.5, "delta": 0.01})
    with pytest.raises(RecipeError, match="no step is differentially private"):
        oboro.Recipe(attributes=ROLES, steps=[{"k_anonymize": {"k": 2}}], budget={"epsilon": 0.5})


def test_the_report_says_what_is_private_and_what_is_not(tmp_path: Path) -> None:
    recipe = oboro.Recipe(
        attributes=ROLES, steps=[{"dp_anonymize": {"epsilon": 1, "delta": 1e-2, "levels": {"age": 1, "sex": 0}}}]
    )
    made = recipe.run(PEOPLE)
    assert "differential privacy" in made.summary()
    assert "differentially private in all its columns" in made.summary()
    assert any("Do not publish them" in str(one) for one in made.report.warnings)


# Labels that one record cannot change --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hierarchy", [{"intervals": [10, 20]}, {"intervals": {"edges": [[20, 40, 60]]}}])
def test_one_value_with_a_fraction_does_not_change_the_labels_of_all(hierarchy: dict[str, object]) -> None:
    """Whether labels are 20–29 or [20, 30) would tell for certain that somebody with a fraction is there."""
    ages = [20 + i % 40 for i in range(2000)]
    attributes = {"age": {"role": "quasi", "hierarchy": hierarchy}}
    step = {"dp_anonymize": {"epsilon": 3, "delta": 1e-3, "levels": {"age": 1}}}
    tables = (ages, [*ages, 30.5], [*ages, 30])
    seen = [set(oboro.Recipe(attributes=attributes, steps=[step]).run({"age": one}).data["age"]) for one in tables]
    assert seen[0] == seen[1] == seen[2]


def test_whole_numbers_are_labelled_so_where_the_recipe_says_it_beforehand() -> None:
    attributes = {"age": {"role": "quasi", "hierarchy": {"intervals": [10], "numbers": "whole"}}}
    recipe = oboro.Recipe(
        attributes=attributes, steps=[{"dp_anonymize": {"epsilon": 3, "delta": 1e-3, "levels": {"age": 1}}}]
    )
    ages = [20 + i % 20 for i in range(2000)]
    assert set(recipe.run({"age": ages}).data["age"]) == {"20–29", "30–39"}
    with pytest.raises(oboro.errors.HierarchyError, match="fraction"):
        recipe.run({"age": [*ages, 30.5]})


@pytest.mark.parametrize(
    ("hierarchy", "steps"),
    [
        ({"intervals": [10]}, [{"generalize": {"attribute": "age", "level": 1}}]),
        ({"dates": ["day", "month"]}, []),
    ],
)
def test_labels_that_depend_on_a_value_of_the_table_are_refused(
    hierarchy: dict[str, object], steps: list[dict[str, object]]
) -> None:
    """Made before, labels are already there; the day of a date is its value, of a moment a level: levels would count otherwise."""
    attributes = {"age": {"role": "quasi", "hierarchy": hierarchy}}
    private = {"dp_anonymize": {"epsilon": 3, "delta": 1e-3, "levels": {"age": 0}}}
    values = ["2020-01-01"] * 500 if "dates" in hierarchy else [20] * 500
    with pytest.raises(oboro.errors.UsageError, match="one record could change all labels"):
        oboro.Recipe(attributes=attributes, steps=[*steps, private]).run({"age": values})


def test_more_levels_than_can_be_scored_are_refused() -> None:
    """Every choice is scored: leaving one out for its score would tell something."""
    widths = {"intervals": [2, 4, 8, 16, 32, 64, 128]}
    attributes = {f"a{i}": {"role": "quasi", "hierarchy": widths} for i in range(6)}  # 9 levels each: 531,441 choices
    step = {"dp_anonymize": {"epsilon": 2, "delta": 1e-3, "search_epsilon": 1}}
    table = {name: list(range(200)) for name in attributes}
    with pytest.raises(UsageError, match="65,?536"):
        oboro.Recipe(attributes=attributes, steps=[step]).run(table)


def test_all_that_is_drawn_comes_from_256_fresh_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight bytes of SHAKE-256 a record, against a plain loop; the same bits give the same release."""
    key = bytes(range(32))
    stream = shake_256(key).digest(8 * 50)
    expected = [int.from_bytes(stream[8 * i : 8 * i + 8], "little") < 2**63 for i in range(50)]
    assert drawn_records(50, 0.5, key).tolist() == expected
    asked: list[int] = []

    def fixed(size: int) -> bytes:
        asked.append(size)
        return key

    monkeypatch.setattr("oboro.algorithms.private_sampling.token_bytes", fixed)
    first, second = (release(PEOPLE) for _ in range(2))
    assert asked == [32, 32]
    assert first == second
