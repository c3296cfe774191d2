"""Pk-anonymization: the promised k against enumeration, the mechanism against its definition, and the way back."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product
from math import log, prod

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.frames import Frame
from oboro.errors import ColumnError, UsageError
from oboro.measures.reconstruction import Domain, _bayes, gather, pk_evidence, reconstruct, spread
from oboro.schema import Attribute, Role, Schema
from oboro.techniques.base import Work
from oboro.techniques.pk_anonymize import GRID, PkAnonymize, anonymity, budget, solve


def work(data: Dataset, quasi: list[str] | None = None, seed: int = 0) -> Work:
    roles = {name: Attribute(role=Role.QUASI) for name in (list(data) if quasi is None else quasi)}
    return Work(data, Schema(roles), np.random.default_rng(seed))


# ---- the formula, from the definition ------------------------------------------------------------------------------


def chance(old: tuple[int, ...], new: tuple[int, ...], sizes: tuple[int, ...], rhos: tuple[float, ...]) -> float:
    """P(new | old): kept with rho, else one of the domain, the same one included."""
    return prod(rho * (a == b) + (1 - rho) / size for a, b, size, rho in zip(old, new, sizes, rhos, strict=True))


def worst_link(n: int, sizes: tuple[int, ...], rhos: tuple[float, ...]) -> float:
    """The best link that anybody can make, over all tables and all releases.

    For who knows all originals and sees the release in no order, every assignment of persons to records is equally
    likely beforehand, and afterwards as likely as the product of its chances.
    """
    values = list(product(*(range(size) for size in sizes)))
    matrix = np.array([[chance(old, new, sizes, rhos) for new in values] for old in values])
    tables = np.array(list(combinations_with_replacement(range(len(values)), n)))
    orders = list(permutations(range(n)))
    worst = 0.0
    for originals in tables:
        pairs = matrix[originals[None, :, None], tables[:, None, :]]  # release, person, record
        weights = np.stack([pairs[:, np.arange(n), list(order)].prod(axis=1) for order in orders], axis=1)
        for person, record in product(range(n), range(n)):
            linked = weights[:, [order[person] == record for order in orders]].sum(axis=1)
            worst = max(worst, float((linked / weights.sum(axis=1)).max()))
    return worst


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("sizes", [(2,), (3,), (2, 2), (2, 3), (3, 3)])
@pytest.mark.parametrize("rho", [0.1, 0.6])
def test_no_link_is_surer_than_one_in_k_and_the_worst_one_is_as_sure(
    n: int, sizes: tuple[int, ...], rho: float
) -> None:
    rhos = tuple(rho / (1 + place) for place in range(len(sizes)))  # another rho for each attribute
    named = {str(place): size for place, size in enumerate(sizes)}
    k = float(anonymity(n, named, {str(place): one for place, one in enumerate(rhos)}))
    worst = worst_link(n, sizes, rhos)
    assert worst <= 1 / k + 1e-12
    assert worst == pytest.approx(1 / k)  # so no larger k could be promised


@pytest.mark.parametrize("sizes", [(2,), (5,), (2, 3)])
def test_epsilon_bounds_what_a_record_says_of_its_original(sizes: tuple[int, ...]) -> None:
    rhos = (0.3, 0.7)[: len(sizes)]
    values = list(product(*(range(size) for size in sizes)))
    worst = max(
        chance(one, new, sizes, rhos) / chance(other, new, sizes, rhos)
        for one in values
        for other in values
        for new in values
    )
    named = {str(place): size for place, size in enumerate(sizes)}
    assert budget(named, {str(place): rho for place, rho in enumerate(rhos)}) == pytest.approx(log(worst))


def test_one_case_by_hand() -> None:
    # (1 - 1/2) / (1 + 1/2) = 1/3; its square 1/9; 1 + 100/9; ln 3
    assert anonymity(101, {"sex": 2}, {"sex": 0.5}) == 1 + Fraction(100, 9)
    assert budget({"sex": 2}, {"sex": 0.5}) == pytest.approx(log(3))
    # (1 - 1/4) / (1 + 3/4) = 3/7 and 1/3: 1 + 1000 * (1/7)^2
    assert anonymity(1001, {"a": 4, "b": 2}, {"a": 0.25, "b": 0.5}) == 1 + Fraction(1000, 49)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(2, 10**7),
    st.lists(st.integers(1, 500), min_size=1, max_size=6),
    st.floats(0, 1),
)
def test_the_found_rho_reaches_k_and_the_next_one_does_not(n: int, sizes: list[int], part: float) -> None:
    k = 1 + (n - 1) * part * (1 - 1e-9) + 1e-9
    named = {str(place): size for place, size in enumerate(sizes)}
    rho = solve(k, n, named, {})
    assert float(rho) == rho, "the float that is drawn with is the rho that was checked"
    assert anonymity(n, named, dict.fromkeys(named, rho)) >= Fraction(k)
    if max(sizes) > 1:
        assert anonymity(n, named, dict.fromkeys(named, rho + Fraction(1, GRID))) < Fraction(k)


# ---- parameters ----------------------------------------------------------------------------------------------------


def test_k_finds_one_rho_for_all_and_the_facts_say_everything() -> None:
    data = Dataset.of({"sex": ["F", "M"] * 500, "job": ["a", "b", "c", "d"] * 250, "pay": list(range(1000))})
    outcome = PkAnonymize(k=5).run(work(data, ["sex", "job"]))
    facts = outcome.facts
    assert facts["domain_sizes"] == {"sex": 2, "job": 4}
    assert facts["rho"]["sex"] == facts["rho"]["job"]
    assert facts["k_asked"] == 5
    assert 5 <= facts["k"] < 5 + 1e-9
    assert facts["records"] == 1000
    rho = facts["rho"]["sex"]
    assert facts["epsilon"] == pytest.approx(log((1 + rho) / (1 - rho)) + log((1 + 3 * rho) / (1 - rho)))
    # e^epsilon is the product whose square is (n - 1) / (k - 1)
    assert facts["epsilon"] == pytest.approx(0.5 * log(999 / 4))
    assert outcome.promises == ()
    assert outcome.data["pay"] is data["pay"], "what is not named is not touched"


def test_given_rho_reports_k() -> None:
    data = Dataset.of({"sex": ["F", "M"] * 50 + ["F"]})
    facts = PkAnonymize(rho=0.5).run(work(data)).facts
    assert facts["rho"] == {"sex": 0.5}
    assert facts["k"] == pytest.approx(1 + 100 / 9)
    assert facts["k_asked"] is None


def test_a_rho_for_one_attribute_leaves_the_others_to_k() -> None:
    data = Dataset.of({"a": ["x", "y"] * 500, "b": ["x", "y"] * 500})
    facts = PkAnonymize(k=10, rho={"a": 0.25}).run(work(data)).facts
    assert facts["rho"]["a"] == 0.25
    assert facts["rho"]["b"] != 0.25
    assert 10 <= facts["k"] < 10 + 1e-9


def test_attributes_name_what_is_randomized() -> None:
    data = Dataset.of({"a": list("xy") * 500, "b": list("xy") * 500})
    released = PkAnonymize(rho=0.1, attributes=["b"]).run(work(data)).data
    assert released["a"] is data["a"]
    assert (released["b"].decode().to_pylist()) != data["b"].decode().to_pylist()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "give k"),
        ({"k": 1}, "greater than 1"),
        ({"rho": 1.0}, "less than 1"),
        ({"rho": -0.1}, "greater than or equal to 0"),
        ({"rho": {"sex": 1.5}}, "less than 1"),
        ({"k": 5, "domain": {"sex": []}}, "is empty"),
        ({"k": 5, "attributes": ["sex", "sex"]}, "named twice"),
        ({"k": 5, "attributes": []}, "at least 1"),
        ({"k": 5, "colour": "red"}, "Extra inputs|there is no"),
    ],
)
def test_wrong_parameters_are_refused_at_the_door(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PkAnonymize.model_validate(parameters)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"k": 5}, UsageError, "k = 5 cannot be reached with 4 records; ask for at most 4"),
        ({"k": 3, "rho": 0.9}, UsageError, r"with the given rho k is at most 1\.0083"),  # 1 + 3 * (0.1 / 1.9)^2
        ({"rho": {"other": 0.5}}, UsageError, "rho names 'other', which is not randomized"),
        ({"rho": {}}, UsageError, "rho: is missing for 'sex'"),
        ({"k": 2, "domain": {"other": ["x"]}}, UsageError, "domain names 'other'"),
        ({"k": 2, "attributes": ["nobody"]}, ColumnError, "there is no column 'nobody'; the table has 'sex'"),
        ({"k": 2, "domain": {"sex": ["F", "X"]}}, ColumnError, "the data holds 'M', which is not in the domain"),
        ({"k": 2, "domain": {"sex": ["F", "M", "F"]}}, UsageError, "names 'F' twice"),
    ],
)
def test_what_does_not_fit_the_data_is_said(parameters: dict[str, object], error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        PkAnonymize.model_validate(parameters).run(work(Dataset.of({"sex": ["F", "M", "F", "M"]})))


def test_no_attribute_at_all_is_said() -> None:
    with pytest.raises(UsageError, match="no attribute to randomize"):
        PkAnonymize(k=2).run(work(Dataset.of({"a": [1, 2]}), quasi=[]))


def test_k_of_all_records_keeps_nothing_but_chance() -> None:
    data = Dataset.of({"job": list("abcd") * 2500})
    outcome = PkAnonymize(k=10_000).run(work(data))
    assert outcome.facts["rho"] == {"job": 0.0}
    assert outcome.facts["epsilon"] == 0.0
    same = (np.array(outcome.data["job"].decode()) == np.array(data["job"].decode())).mean()
    assert same == pytest.approx(0.25, abs=5 * np.sqrt(0.25 * 0.75 / 10_000))


def test_an_attribute_with_one_value_costs_nothing() -> None:
    rows = list("xy") * 50
    alone = PkAnonymize(k=7).run(work(Dataset.of({"b": rows})))
    beside = PkAnonymize(k=7).run(work(Dataset.of({"one": ["same"] * 100, "b": rows})))
    assert beside.facts["rho"]["b"] == alone.facts["rho"]["b"]
    assert beside.facts["epsilon"] == alone.facts["epsilon"]
    assert beside.data["one"].decode().to_pylist() == ["same"] * 100
    only = PkAnonymize(k=100).run(work(Dataset.of({"one": ["same"] * 100})))
    assert only.facts["k"] == 100


def test_the_plan_says_what_the_guarantee_rests_on() -> None:
    schema = Schema({"sex": Attribute(role=Role.QUASI), "job": Attribute(role=Role.QUASI)})
    plan = PkAnonymize(k=5, domain={"sex": ["F", "M"]}).explain(schema)
    assert "'sex', 'job'" in plan
    assert "k = 5" in plan
    assert "The domain of 'job' is the values in the data" in plan
    assert "cannot be verified from the output" in plan
    assert "in a random order, unless it says order: kept" in plan
    assert "rho (0.5)" in PkAnonymize(rho=0.5).explain(schema)
    assert "sex 0.5; else the largest" in PkAnonymize(k=2, rho={"sex": 0.5}).explain(schema)
    declared = PkAnonymize(k=2, domain={"sex": ["F"], "job": ["a"]}).explain(schema)
    assert "values in the data" not in declared


# ---- the mechanism -------------------------------------------------------------------------------------------------


def test_every_transition_happens_as_often_as_it_should() -> None:
    n, rho = 120_000, 0.4
    rng = np.random.default_rng(3)
    old = rng.choice(4, size=n, p=[0.7, 0.2, 0.07, 0.03])
    data = Dataset({"v": Column(pa.array(["a", "b", None, "d"]), old.astype(np.uint8))}, n)
    released = PkAnonymize(rho=rho).run(work(data, seed=5)).data["v"].decode().to_pylist()
    place = {"a": 0, "b": 1, None: 2, "d": 3}
    new = np.array([place[value] for value in released])
    for before, after in product(range(4), range(4)):
        expected = rho * (before == after) + (1 - rho) / 4
        seen = (new[old == before] == after).mean()
        assert abs(seen - expected) < 4.5 * np.sqrt(expected * (1 - expected) / (old == before).sum())


def test_attributes_and_records_are_randomized_independently() -> None:
    data = Dataset.of({"a": list("xy") * 20_000, "b": list("xy") * 20_000})
    released = PkAnonymize(rho=0.2).run(work(data)).data
    flips = [np.array(released[name].decode()) != np.array(data[name].decode()) for name in ("a", "b")]
    assert abs(np.corrcoef(flips)[0, 1]) < 5 / np.sqrt(40_000)
    assert abs(np.corrcoef(flips[0][1:], flips[0][:-1])[0, 1]) < 5 / np.sqrt(40_000)


def test_a_declared_domain_is_drawn_from_whether_or_not_it_occurs() -> None:
    data = Dataset.of({"sex": ["F", None] * 2000, "age": [20, 30] * 2000})
    domain = {"sex": ["F", "M", None], "age": [10, "20", 30.0, None]}
    outcome = PkAnonymize.model_validate({"rho": 0.5, "domain": domain}).run(work(data))
    assert outcome.facts["domain_sizes"] == {"sex": 3, "age": 4}
    assert outcome.facts["declared_domains"] == ["sex", "age"]
    assert set(outcome.data["sex"].decode().to_pylist()) == {"F", "M", None}
    assert set(outcome.data["age"].decode().to_pylist()) == {10, 20, 30, None}
    assert outcome.data["age"].values.type == pa.int64()
    with pytest.raises(ColumnError, match="holds a missing value, which is not in the domain"):
        PkAnonymize(k=2, domain={"sex": ["F", "M"]}).run(work(data))
    with pytest.raises(ColumnError, match="the domain does not fit the column, which holds int64"):
        PkAnonymize(k=2, domain={"age": [20, 30, "old"]}).run(work(data))


@pytest.mark.parametrize(
    "frame", [pd.DataFrame, pl.DataFrame, pa.table, dict], ids=["pandas", "polars", "arrow", "dict"]
)
def test_frames_come_back_as_they_came_and_the_seed_decides(frame: type) -> None:
    columns = {"sex": ["F", "M"] * 200, "age": list(range(20, 60)) * 10}
    given_frame = frame(columns)
    quasi = {"sex": {"role": "quasi"}, "age": {"role": "quasi"}}

    def released(seed: int) -> object:
        return PkAnonymize(k=5).apply(given_frame, attributes=quasi, seed=seed)

    assert type(released(1)) is type(given_frame)
    assert _lists(given_frame) == columns, "the frame that was given is not changed"
    assert _lists(released(1)) == _lists(released(1))
    assert _lists(released(1)) != _lists(released(2))


def _lists(frame: object) -> dict[str, list[object]]:
    return dict(Frame.read(frame).data.to_arrow().to_pydict())


def test_an_empty_table_stays_empty() -> None:
    data = Dataset.of({"a": []})
    assert PkAnonymize(rho=0.5).run(work(data)).data.rows == 0


# ---- evidence ------------------------------------------------------------------------------------------------------


def test_evidence_fits_an_honest_release_in_any_order() -> None:
    data = Dataset.of({"job": list("aaabbc") * 3000, "n": list(range(300)) * 60})
    released = PkAnonymize(rho=0.3).run(work(data)).data
    shuffled = released.take(np.random.default_rng(0).permutation(data.rows))
    for table in (released, shuffled):
        job, number = pk_evidence(data, table, rho=0.3, attributes=["job", "n"])
        assert job.fits
        assert number.fits
        assert job.expected == pytest.approx(18_000 * (0.3 + 0.7 / 3))
        assert "fits rho = 0.3" in str(job.sentence())


def test_evidence_tells_a_release_that_was_made_otherwise() -> None:
    data = Dataset.of({"job": list("aaabbc") * 3000})
    released = PkAnonymize(rho=0.3).run(work(data)).data
    (wrong,) = pk_evidence(data, released, rho=0.35, attributes=["job"])
    assert not wrong.fits
    assert wrong.z < -6  # 600 too few expected, with a deviation of 67
    assert "does NOT fit" in str(wrong.sentence())
    # The right number unchanged, but everything else became one value: only uniformity tells.
    kept = np.random.default_rng(0).random(data.rows) < 0.3 + 0.7 / 3
    biased = data["job"].codes.copy()
    biased[~kept] = (biased[~kept] + 1) % 3
    (biased_one,) = pk_evidence(
        data, Dataset({"job": Column(data["job"].values, biased)}, data.rows), rho=0.3, attributes=["job"]
    )
    assert abs(biased_one.z) < 4
    assert not biased_one.fits


def test_z_scores_of_honest_releases_are_standard_normal() -> None:
    data = Dataset.of({"job": list("aaabbc") * 50})
    z = [
        pk_evidence(data, PkAnonymize(rho=0.3).run(work(data, seed=seed)).data, rho=0.3, attributes=["job"])[0].z
        for seed in range(300)
    ]
    assert abs(np.mean(z)) < 4.5 / np.sqrt(300)
    assert 0.8 < np.std(z) < 1.2


def test_evidence_needs_rows_that_can_be_matched() -> None:
    data = Dataset.of({"job": ["a", "b"]})
    with pytest.raises(UsageError, match="cannot be matched"):
        pk_evidence(data, Dataset.of({"job": ["a"]}), rho=0.3, attributes=["job"])
    with pytest.raises(UsageError, match="rho: is missing for 'job'"):
        pk_evidence(data, data, rho={}, attributes=["job"])
    (one,) = pk_evidence(data, data, rho=1.0, attributes=["job"], domains={"job": ["a", "b", "c"]})
    assert (one.z, one.domain_size) == (0.0, 3)


# ---- reconstruction ------------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 4), st.floats(0.05, 1)), min_size=1, max_size=3), st.integers(0, 2**31))
def test_spread_is_the_kronecker_product_of_the_definition_and_gather_its_inverse(
    axes: list[tuple[int, float]], seed: int
) -> None:
    shape, rhos = [size for size, _ in axes], [rho for _, rho in axes]
    table = np.random.default_rng(seed).integers(0, 100, size=shape).astype(float)
    matrix = np.ones((1, 1))
    for size, rho in axes:
        matrix = np.kron(matrix, [[rho * (i == j) + (1 - rho) / size for j in range(size)] for i in range(size)])
    expected = (matrix @ table.ravel()).reshape(shape)
    np.testing.assert_allclose(spread(table, rhos), expected, atol=1e-9)
    np.testing.assert_allclose(gather(expected, rhos), table, atol=1e-6)


def log_likelihood(counted: np.ndarray, estimate: np.ndarray, rhos: list[float]) -> float:
    expected = spread(estimate, rhos)
    return float((counted[counted > 0] * np.log(expected[counted > 0])).sum())


def test_bayes_climbs_to_the_most_likely_table() -> None:
    counted, rhos = np.array([[30.0, 2.0, 9.0], [1.0, 25.0, 0.0]]), [0.3, 0.5]
    inverse = gather(counted, rhos)
    assert (inverse < 0).any(), "the case must be one where the inverse is no table"
    climb = [log_likelihood(counted, _bayes(counted, rhos, inverse, 1e-12, most)[0], rhos) for most in range(1, 60)]
    assert (np.diff(climb) > -1e-9).all()
    estimate, rounds, gap = _bayes(counted, rhos, inverse, 1e-8, 100_000)
    assert 0 < rounds < 100_000
    assert estimate.sum() == pytest.approx(counted.sum())
    assert (estimate >= 0).all()

    def loss(x: np.ndarray) -> float:  # a general optimizer, over the tables with the same total
        share = np.exp(x - x.max())
        return -log_likelihood(counted, (share / share.sum() * counted.sum()).reshape(counted.shape), rhos)

    peer = -min(minimize(loss, start, method="BFGS").fun for start in np.random.default_rng(0).normal(size=(5, 6)))
    reached = log_likelihood(counted, estimate, rhos)
    assert reached >= peer - 1e-4
    assert reached + gap >= peer - 1e-9, "the gap that is reported is a bound"


def test_a_table_that_explains_the_release_exactly_is_the_most_likely() -> None:
    result = reconstruct({"v": ["a"] * 60 + ["b"] * 40}, attributes=["v"], rho=0.5)
    assert result.as_dict() == {"a": 70.0, "b": 30.0}
    assert (result.iterations, result.gap) == (0, 0.0)
    # and iterating arrives at the same place
    estimate, _, _ = _bayes(np.array([60.0, 40.0]), [0.5], np.array([-1.0, 101.0]), 1e-10, 100_000)
    np.testing.assert_allclose(estimate, [70, 30], atol=1e-3)


def test_inverse_keeps_negative_counts_unless_clipped() -> None:
    released = {"v": ["a"] * 90 + ["b"] * 6 + [None] * 4}
    kept = reconstruct(released, attributes=["v"], rho=0.5, method="inverse")
    # (y - n/2/3) / (1/2)
    assert kept.as_dict() == pytest.approx({"a": 146.6667, "b": -21.3333, None: -25.3333}, abs=1e-3)
    clipped = reconstruct(released, attributes=["v"], rho=0.5, method="inverse", clip=True)
    assert clipped.as_dict() == pytest.approx({"a": 100, "b": 0, None: 0})
    bayes = reconstruct(released, attributes=["v"], rho=0.5, tolerance=1e-9)
    assert bayes.as_dict() == pytest.approx({"a": 100, "b": 0, None: 0}, abs=1e-3)
    np.testing.assert_array_equal(bayes.released, [90, 6, 4])


def adult_like(n: int, seed: int) -> Dataset:
    rng = np.random.default_rng(seed)
    age = np.clip(rng.gamma(9, 4.3, n).astype(int), 17, 90) // 5
    school = rng.choice(16, n, p=np.array([32, 22, 16, 5, 4, 4, 3, 3, 3, 2, 2, 1, 1, 1, 0.5, 0.5]) / 100)
    sex = np.where(rng.random(n) < 0.3 + 0.3 * (school < 2), "M", "F")
    pay = np.where(rng.random(n) < 0.05 + 0.35 * (sex == "M"), ">50K", "<=50K")
    return Dataset.from_arrow(pa.table({"age": age, "school": school, "sex": sex, "pay": pay}))


def apart(one: dict[object, float], other: dict[object, float]) -> float:
    """Total variation, in records."""
    return sum(abs(one.get(key, 0) - other.get(key, 0)) for key in {*one, *other}) / 2


def counts(data: Dataset, names: list[str]) -> dict[object, float]:
    rows = list(zip(*(data[name].decode().to_pylist() for name in names), strict=True))
    keys, numbers = np.unique(np.array(rows, dtype=object).astype(str), axis=0, return_counts=True)
    return {tuple(key): float(number) for key, number in zip(keys, numbers, strict=True)}


def text_keys(table: dict[object, float]) -> dict[object, float]:
    return {tuple(str(part) for part in (key if isinstance(key, tuple) else (key,))): n for key, n in table.items()}


@pytest.mark.parametrize("method", ["bayes", "inverse"])
@pytest.mark.parametrize("names", [["age"], ["school"], ["sex", "pay"], ["school", "sex"]])
def test_the_way_back_is_much_closer_than_the_release(method: str, names: list[str]) -> None:
    data = adult_like(50_000, 7)
    rho = {"age": 0.4, "school": 0.4, "sex": 0.3}
    released = PkAnonymize(rho=rho).run(work(data, list(rho))).data
    back = reconstruct(released, attributes=names, rho={**rho, "pay": 1.0}, method=method, clip=True)
    truth = counts(data, names)
    raw, found = apart(counts(released, names), truth), apart(text_keys(back.as_dict()), truth)
    assert found < raw / 4
    assert back.counts.sum() == pytest.approx(50_000)


def test_marginals_of_a_joint_table_are_those_of_its_axes() -> None:
    data = adult_like(2000, 1)
    joint = reconstruct(data, attributes=["school", "sex", "pay"], rho=0.8, method="inverse")
    turned = joint.marginal("pay", "school")
    direct = reconstruct(data, attributes=["pay", "school"], rho=0.8, method="inverse")
    assert turned.labels == direct.labels
    np.testing.assert_allclose(turned.counts, direct.counts, atol=1e-6)
    np.testing.assert_allclose(turned.released, direct.released)
    with pytest.raises(ColumnError, match="there is no 'age' in this table"):
        joint.marginal("age")


def test_a_value_that_chance_left_out_needs_the_declared_domain() -> None:
    released = {"v": ["a"] * 30 + ["b"] * 10}
    without = reconstruct(released, attributes=["v"], rho=0.5, method="inverse")
    declared = reconstruct(released, attributes=["v"], rho=0.5, method="inverse", domains={"v": ["a", "b", "c", "d"]})
    assert without.as_dict() == {"a": 40, "b": 0}
    assert declared.as_dict() == {"a": 50, "b": 10, "c": -10, "d": -10}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"attributes": ["v"], "rho": 0}, "rho is 0"),
        ({"attributes": ["v"], "rho": 1.2}, "between 0 and 1, not 1.2"),
        ({"attributes": ["v"], "rho": {"w": 0.5}}, "rho: is missing for 'v'"),
        ({"attributes": [], "rho": 0.5}, "attributes: name at least one column"),
        ({"attributes": ["v", "v"], "rho": 0.5}, "attributes: a column is named twice: v"),
        ({"attributes": ["v"], "rho": 0.5, "method": "magic"}, "method must be"),
        ({"attributes": ["v"], "rho": 0.5, "tolerance": 0}, "tolerance must be above 0"),
        ({"attributes": ["v"], "rho": 0.5, "max_iterations": 0}, "max_iterations at least 1"),
        ({"attributes": ["v"], "rho": 0.5, "domains": {"v": ["a"]}}, "holds 'b', which is not in the domain"),
    ],
)
def test_reconstruction_says_what_is_wrong(parameters: dict[str, object], message: str) -> None:
    with pytest.raises((UsageError, ColumnError), match=message):
        reconstruct({"v": ["a", "b"]}, **parameters)  # type: ignore[arg-type]


def test_reconstruction_refuses_tables_that_are_empty_or_too_large() -> None:
    with pytest.raises(UsageError, match="no records"):
        reconstruct({"v": []}, attributes=["v"], rho=0.5)
    wide = {name: list(range(300)) for name in "abc"}
    with pytest.raises(UsageError, match="would have 27000000 cells"):
        reconstruct(wide, attributes=["a", "b", "c"], rho=0.5)


def test_rounds_are_limited_when_asked() -> None:
    released = {"v": ["a"] * 90 + ["b"] * 6 + ["c"] * 4}
    short = reconstruct(released, attributes=["v"], rho=0.1, max_iterations=3)
    assert short.iterations == 3
    assert short.gap > 0.01
    long = reconstruct(released, attributes=["v"], rho=0.1)
    assert long.gap <= 0.01
    assert 3 < long.iterations < reconstruct(released, attributes=["v"], rho=0.1, tolerance=1e-4).iterations


def test_places_are_matched_by_text_whatever_the_type() -> None:
    domain = Domain.of("v", Column.of(["1", "2"]), [2, 1, None])
    assert domain.values.to_pylist() == ["2", "1", None]
    assert domain.places(Column.of(["1", "2", None])).tolist() == [1, 0, 2]
