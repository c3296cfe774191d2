"""Noise as a mechanism of differential privacy: its size by other formulas than OpenDP's, and neighbours over many draws."""

from __future__ import annotations

from math import exp
from typing import Any

import numpy as np
import opendp.prelude as dp
import pytest
from scipy.stats import norm

import oboro
from oboro.algorithms.private_sampling import noised
from oboro.errors import UsageError
from oboro.privacy.differential import composed
from oboro.schema import PrivacySpent

RUNS = 20_000


def told_apart(one: np.ndarray, other: np.ndarray, epsilon: float, delta: float) -> float:
    """By how much more than is allowed some half-line is likelier, in standard deviations."""
    worst = -np.inf
    for cut in np.quantile(np.concatenate([one, other]), np.linspace(0.02, 0.98, 40)):
        for a, b in (((one <= cut), (other <= cut)), ((other > cut), (one > cut))):
            p, q = a.mean(), b.mean()
            spread = np.sqrt((p * (1 - p) + exp(2 * epsilon) * q * (1 - q)) / one.size) + 1e-9
            worst = max(worst, (p - exp(epsilon) * q - delta) / spread)
    return float(worst)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.7, None), (1.0, 1e-3)])
def test_the_two_ends_are_not_told_apart(whole: bool, epsilon: float, delta: float | None) -> None:
    low = noised(np.full(RUNS, 0.0), 8.0, epsilon, delta, whole=whole)
    high = noised(np.full(RUNS, 8.0), 8.0, epsilon, delta, whole=whole)
    assert told_apart(low, high, epsilon, delta or 0.0) < 4.5
    assert told_apart(low, high, epsilon / 3, delta or 0.0) > 4.5, "so much noise would be wasted"
    assert (low == np.rint(low)).all() == whole


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_laplace_noise_has_the_scale_of_dwork_and_no_more(epsilon: float) -> None:
    spread = noised(np.zeros(RUNS), 50.0, epsilon, None, whole=True).std()
    b = 50 / epsilon  # of the discrete law: the variance is 1 / (cosh(1/b) − 1)
    assert spread == pytest.approx(np.sqrt(1 / (np.cosh(1 / b) - 1)), rel=0.05)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-3), (1.0, 1e-6)])
def test_gaussian_noise_is_enough_by_the_analytic_account(epsilon: float, delta: float) -> None:
    """Balle and Wang (2018): δ = Φ(Δ/2σ − εσ/Δ) − e^ε · Φ(−Δ/2σ − εσ/Δ). OpenDP goes by zCDP, so it takes a little more noise."""
    sigma = noised(np.zeros(RUNS), 50.0, epsilon, delta, whole=True).std()
    half, part = 50 / (2 * sigma), epsilon * sigma / 50
    needed = norm.cdf(half - part) - exp(epsilon) * norm.cdf(-half - part)
    assert needed <= delta
    assert needed > delta * 1e-3


def test_budgets_add_up_as_opendp_adds_them() -> None:
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    parts = [dp.m.make_laplace(*space, 50 / epsilon) for epsilon in (0.5, 0.25, 1.0)]
    together = dp.c.make_composition(parts).map(50)
    ours = composed(
        PrivacySpent("value", epsilon, 0.0, (name,)) for epsilon, name in ((0.5, "a"), (0.25, "b"), (1.0, "c"))
    )
    assert [one.epsilon for one in ours] == [pytest.approx(together, rel=1e-9)]
    assert ours[0].columns == ("a", "b", "c")


def test_values_stay_within_bounds_and_of_their_kind() -> None:
    people = {
        "age": [20, 35, None, 200],
        "since": ["2020-01-01", "2020-06-01", None, "2020-12-31"],
        "pay": [1.5, 2.5, 3.5, None],
    }
    given: Any = {"attribute": "age", "distribution": "laplace", "epsilon": 1, "bounds": {"min": 0, "max": 100}}
    age = oboro.Noise(**given, numbers="whole").apply(people)
    assert age["age"][2] is None
    assert all(isinstance(one, int) and 0 <= one <= 100 for one in age["age"] if one is not None)
    day = {"min": "2020-01-01", "max": "2020-12-31"}
    since = oboro.Noise(attribute="since", epsilon=1, delta=1e-3, bounds=day).apply(people)["since"]
    assert all(str(one).startswith("2020-") for one in since if one is not None)
    pay = oboro.Noise(attribute="pay", distribution="laplace", epsilon=1, bounds={"min": 0, "max": 9}).apply(people)[
        "pay"
    ]
    assert pay[3] is None
    assert all(0 <= one <= 9 for one in pay[:3])


@pytest.mark.parametrize("numbers", ["whole", "any"])
@pytest.mark.parametrize("form", [list, lambda ages: [str(one) for one in ages]])
def test_one_value_with_a_fraction_does_not_change_how_all_are_written(numbers: Any, form: Any) -> None:
    """Were whole numbers released as such only where all are whole, 30 and 30.5 would be told apart for certain."""
    step = oboro.Noise(
        attribute="age", distribution="laplace", epsilon=1, bounds={"min": 0, "max": 100}, numbers=numbers
    )
    for last in (30, 30.5):
        released = step.apply({"age": form([20, 40, 60, last])})["age"]
        assert all((one == round(one)) == (numbers == "whole") for one in released)
        assert {type(one) for one in released} == {int if numbers == "whole" else float}


def test_a_seed_repeats_nothing() -> None:
    step = oboro.Noise(attribute="age", distribution="laplace", epsilon=0.1, bounds={"min": 0, "max": 1000})
    people = {"age": [500] * 40}
    assert step.apply(people, seed=1) != step.apply(people, seed=1)
    assert not step.repeatable
    assert not step.rests_on_chance


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"epsilon": 1}, "delta is for"),
        ({"epsilon": 1, "delta": 1e-6}, "every column needs bounds"),
        ({"epsilon": 1, "delta": 1e-6, "bounds": {"min": 0}}, "every column needs bounds"),
        ({"epsilon": 1, "distribution": "laplace", "delta": 1e-6, "bounds": {"min": 0, "max": 1}}, "delta is for"),
        ({"scale": 1, "delta": 1e-6}, "delta is for"),
        ({"epsilon": 1, "scale": 1}, "give one of scale"),
        ({"scale": 1, "numbers": "whole"}, "numbers is for noise with epsilon"),
        ({"epsilon": 1, "distribution": "laplace", "multiplicative": True}, "to each value alone"),
    ],
)
def test_parameters_that_make_no_sense(options: dict[str, object], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        oboro.Noise(attribute="age", **options)


def test_the_summary_says_what_is_private_and_what_is_not() -> None:
    step = {"noise": {"attribute": "pay", "distribution": "laplace", "epsilon": 1, "bounds": {"min": 0, "max": 9}}}
    attributes = {"pay": {"role": "sensitive"}, "sex": {"role": "quasi"}}
    made = oboro.Recipe(attributes=attributes, steps=[step, {"k_anonymize": {"k": 2}}]).run(
        {"pay": [1, 2, 3, 4], "sex": ["F", "F", "M", "M"]}
    )
    assert "ε = 1, δ = 0 for the values of pay" in made.summary()
    assert "not differentially private: sex" in made.summary()
    twice = oboro.Recipe(attributes=attributes, steps=[step, step, {"k_anonymize": {"k": 2}}])
    assert "ε = 2" in twice.run({"pay": [1, 2, 3, 4], "sex": ["F", "F", "M", "M"]}).summary()


def test_rows_of_one_person_are_refused() -> None:
    step = {"noise": {"attribute": "pay", "distribution": "laplace", "epsilon": 1, "bounds": {"min": 0, "max": 9}}}
    attributes = {"pay": {"role": "sensitive"}, "sex": {"role": "quasi"}}
    steps = [{"drop_columns": {"attributes": ["who"]}}, step, {"k_anonymize": {"k": 2}}]
    recipe = oboro.Recipe(attributes=attributes, steps=steps, person="who")
    with pytest.raises(UsageError, match="its budget is that of one row"):
        recipe.run({"who": [1, 1, 2, 3], "pay": [1, 2, 3, 4], "sex": ["F", "F", "F", "M"]})


def test_no_last_bit_of_a_float_tells_the_value() -> None:
    """Whatever the value was, what is released is a multiple of the width / 2^40, so that all values share their doubles."""
    step = oboro.Noise(attribute="pay", distribution="laplace", epsilon=1, bounds={"min": 0, "max": 8})
    for value in (1 / 3, 2.5, 7.1):
        released = np.array(step.apply({"pay": [value] * 200})["pay"], dtype=float)
        assert (released * 2**37 % 1 == 0).all()
