"""Population uniqueness: by hand on small numbers, against the truth on drawn samples."""

from __future__ import annotations

from math import comb, exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawing import picks

from oboro.errors import UsageError
from oboro.verifier.risk import likelihood, pitman, uniqueness, zayatz


def by_hand(sizes: list[int], fraction: float) -> float:
    """Zayatz's estimate with whole-number binomials."""
    n = sum(sizes)
    people = round(n / fraction)
    share = {j: sizes.count(j) / len(sizes) for j in set(sizes)}
    once = {j: j * comb(people - j, n - 1) / comb(people, n) for j in share}
    return sizes.count(1) * share[1] * once[1] / sum(share[j] * once[j] for j in share) / fraction


@given(picks(range(1, 7), min_size=2, max_size=12), st.sampled_from([0.1, 0.25, 0.5]))
def test_zayatz_is_bayes_rule(sizes: list[int], fraction: float) -> None:
    found = zayatz(np.array([1, *sizes]), fraction)
    assert found == pytest.approx(by_hand([1, *sizes], fraction))


@given(picks(range(1, 7), min_size=1, max_size=8), st.floats(0.1, 50), st.floats(0.05, 0.95))
def test_the_law_of_pitman_is_the_product_it_is(sizes: list[int], theta: float, alpha: float) -> None:
    n, u = sum(sizes), len(sizes)
    naive = sum(log(theta + i * alpha) for i in range(1, u)) - sum(log(theta + i) for i in range(1, n))
    naive += sum(log(j - alpha) for size in sizes for j in range(1, size))
    assert likelihood(theta, alpha, np.array(sizes)) == pytest.approx(naive, abs=1e-6)


def test_the_law_of_pitman_adds_up() -> None:
    """Over the partitions of three people: 1 block, 3 of (2, 1), 3 blocks; the constant is left out alike."""
    total = (
        likelihood(2.0, 0.5, np.array([3])),
        likelihood(2.0, 0.5, np.array([2, 1])),
        likelihood(2.0, 0.5, np.array([1] * 3)),
    )
    assert exp(total[0]) + 3 * exp(total[1]) + exp(total[2]) == pytest.approx(1.0)


@pytest.mark.parametrize("fraction", [0.05, 0.2])
def test_estimates_are_near_the_truth(fraction: float) -> None:
    """A population whose classes follow a power law; who is unique in it is known."""
    rng = np.random.default_rng(7)
    classes = rng.zipf(1.6, 200_000) % 1_000_000
    sizes = np.unique(classes, return_counts=True)[1]
    truth = int((sizes == 1).sum())
    sample = rng.choice(classes, int(fraction * classes.size), replace=False)
    found = uniqueness(np.unique(sample, return_counts=True)[1], fraction)
    assert found.population == classes.size
    assert found.pitman == pytest.approx(truth, rel=0.25)
    assert found.decided_by == ("pitman" if fraction <= 0.1 else "zayatz")
    assert found.intrusion is not None
    assert 0 < found.intrusion < 1


def test_intrusion_is_near_the_truth() -> None:
    """The part of sample uniques' matches that are right, counted on the population itself."""
    rng = np.random.default_rng(3)
    classes = rng.zipf(1.5, 100_000) % 500_000
    people = np.bincount(classes)
    sample = rng.choice(classes, 20_000, replace=False)
    seen = np.bincount(sample, minlength=people.size)
    alone = seen == 1
    truth = alone.sum() / people[alone].sum()
    found = uniqueness(seen[seen > 0], 0.2)
    assert found.intrusion == pytest.approx(truth, rel=0.1)


def test_a_table_that_is_its_population_is_counted() -> None:
    found = uniqueness(np.array([1, 1, 2, 5]), 1.0)
    assert (found.decision, found.zayatz, found.pitman, found.decided_by) == (2.0, 2.0, 2.0, "counted")
    assert found.as_dict()["share"] == pytest.approx(2 / 9)


def test_nobody_alone_in_the_sample() -> None:
    assert uniqueness(np.array([3, 4]), 0.1).decision == 0.0


def test_a_sample_larger_than_its_population_is_refused() -> None:
    with pytest.raises(UsageError, match="fraction"):
        uniqueness(np.array([1]), 1.5)


def test_pitman_without_a_fit_has_no_answer() -> None:
    assert pitman(np.array([1] * 30), 0.5) is None
