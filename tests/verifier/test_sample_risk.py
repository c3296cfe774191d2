"""Records at risk, sample and population uniqueness, estimated k-map: by hand, against plain loops, and as demands."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, nbinom, poisson
from tests.drawing import picks
from typer.testing import CliRunner

from oboro.cli.all_commands import app
from oboro.errors import UsageError
from oboro.techniques.k_anonymize import KAnonymize
from oboro.verifier.risk import expected_small, least_in_sample, shlosser, slide_negative_binomial, unique_share
from oboro.verifier.table import verify

TEN = {"x": [*"aaaa", *"bbb", "c", "c", "d"]}  # classes of 4, 3, 2 and 1


def one(**limits):
    return verify(TEN, quasi=["x"], **limits).verdicts[0]


def test_records_at_risk_by_hand():
    """Above 0.3: the classes of 3, 2 and 1, six of ten records; above 1/3 only those of 2 and 1."""
    assert one(records_at_risk=(0.3, 0.6)).achieved == 0.6
    assert one(records_at_risk=(0.3, 0.6)).holds
    broken = one(records_at_risk=(0.3, 0.5))
    assert (broken.holds, broken.broken_groups, broken.broken_records) == (False, 3, 6)
    assert one(records_at_risk=(1 / 3, 0.3)).achieved == 0.3
    assert one(sample_uniqueness=0.1).holds
    assert not one(sample_uniqueness=0.09).holds


@given(picks("abcdefgh", min_size=1, max_size=30), st.sampled_from([0.2, 0.25, 1 / 3, 0.5]))
def test_records_at_risk_against_loops(values, risk):
    sizes = Counter(values)
    share = sum(size for size in sizes.values() if 1 / size > risk) / len(values)
    found = verify({"x": values}, quasi=["x"], records_at_risk=(risk, 0.3), sample_uniqueness=0.3).verdicts
    assert (found[0].achieved, found[0].holds) == (share, share <= 0.3)
    alone = sum(size == 1 for size in sizes.values()) / len(values)
    assert (found[1].achieved, found[1].holds) == (alone, alone <= 0.3)


@given(st.integers(1, 60), st.sampled_from([0.01, 0.1, 0.3, 0.9, 1.0]), st.sampled_from([0.001, 0.01, 0.05, 0.2]))
def test_the_least_size_in_a_sample_is_that_of_the_poisson_law(k, fraction, significance):
    mean = k * fraction
    least = next(n for n in range(1, 1000) if poisson.sf(n - 1, mean) <= significance)
    assert least_in_sample(k, fraction, significance, "poisson") == min(k, least)
    seen = -np.expm1(-mean)
    least = next(n for n in range(1, 1000) if poisson.sf(n - 1, mean) / seen <= significance)
    assert least_in_sample(k, fraction, significance, "zero_truncated") == min(k, least)


def test_the_slide_negative_binomial_expects_what_its_series_does():
    """P(size 1 or 2 in the sample) = Σ P(size j in the population) · P(1 or 2 of j are drawn)."""
    for alpha, beta, fraction in [(0.7, 0.2, 0.1), (2.5, 0.6, 0.4), (0.05, 0.9, 0.01)]:
        size = np.arange(1, 5000)
        law = nbinom.pmf(size - 1, alpha, beta)
        series = [float((law * binom.pmf(drawn, size, fraction)).sum()) for drawn in (1, 2)]
        assert expected_small(alpha, beta, fraction) == pytest.approx(series)


def test_estimates_of_the_slide_negative_binomial():
    """Sizes 1, 1, 2 of a half: 3 + 2 · (0.875 / 0.8125) · (1.25 / 1.5)². A fitted law gives back its uniques where K is known."""
    assert shlosser(np.array([1, 1, 2]), 0.5) == pytest.approx(3 + 2 * 0.875 / 0.8125 * (1.25 / 1.5) ** 2)
    assert slide_negative_binomial(np.array([1, 1, 3]), 0.5) is None  # no pairs
    rng = np.random.default_rng(5)
    people = rng.negative_binomial(3.0, 0.6, 20_000) + 1
    sample = rng.binomial(people, 0.9)
    found = slide_negative_binomial(sample[sample > 0], 0.9)
    assert found == pytest.approx((people == 1).sum(), rel=0.05)


def test_population_uniqueness():
    assert unique_share(np.array([2, 2]), 0.1, "snb") == 0
    assert unique_share(np.array([1, 1, 2]), 1.0, "pitman") == 0.5  # the table is the population
    assert unique_share(np.array([1, 5]), 0.1, "snb") == np.inf  # unique records and no estimate: never taken for none
    holds = verify(TEN, quasi=["x"], population_uniqueness=1.0, fraction=0.5, estimator="zayatz")
    assert holds.verdicts[0].achieved == pytest.approx(unique_share(np.array([4, 3, 2, 1]), 0.5, "zayatz"))
    assert not verify(TEN, quasi=["x"], population_uniqueness=0.001, fraction=0.5, estimator="zayatz").holds
    assert verify({"x": ["a", "a"]}, quasi=["x"], population_uniqueness=0.0, fraction=0.1).holds


def test_estimated_k_map_is_demanded_and_checked():
    """10 people of the population at a tenth: Poisson(1) is 4 or more with 1.9 %, 3 or more with 8 %. So classes of 4."""
    people = {"age": [31, 32, 33, 34, 41, 42, 43, 44, 51, 52, 53]}
    roles = {"age": {"role": "quasi", "hierarchy": {"intervals": [10, 20]}}}
    released = KAnonymize(k=2, estimated_k_map={"k": 10, "fraction": 0.1}).apply(people, attributes=roles)
    assert min(Counter(released["age"]).values()) >= 4
    assert verify(released, quasi=["age"], estimated_k_map=10, fraction=0.1).verdicts[0].required == 4
    assert verify(released, quasi=["age"], estimated_k_map=10, fraction=0.1).holds
    finer = KAnonymize(k=2).apply(people, attributes=roles)
    assert not verify(finer, quasi=["age"], estimated_k_map=10, fraction=0.1).holds
    same = KAnonymize(k=2, estimated_k_map={"k": 10, "people": 110}).apply(people, attributes=roles)
    assert same == released


def test_errors_teach():
    with pytest.raises(UsageError, match="fraction"):
        verify(TEN, quasi=["x"], estimated_k_map=5)
    with pytest.raises(UsageError, match="has no effect"):
        verify(TEN, quasi=["x"], k=1, fraction=0.1)
    with pytest.raises(ValueError, match="one of the two"):
        KAnonymize(k=2, estimated_k_map={"k": 10})


def test_from_the_command_line(tmp_path):
    path = tmp_path / "released.csv"
    path.write_text("x\n" + "\n".join(TEN["x"]) + "\n")
    run = ["verify", str(path), "--quasi", "x"]
    good = [*run, "--records-at-risk", "0.3,0.6", "--sample-uniqueness", "0.1"]
    assert CliRunner().invoke(app, good).exit_code == 0
    found = CliRunner().invoke(app, [*run, "--estimated-k-map", "10", "--fraction", "0.1", "--lang", "en"])
    assert found.exit_code == 1
    assert "10-map, estimated" in found.stdout
