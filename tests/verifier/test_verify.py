"""The verifier against the definitions, against pycanon, and against examples worked by hand."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import product
from math import exp, prod
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pycanon.anonymity as pycanon
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from tests.drawing import picks

import oboro
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.errors import ColumnError, HierarchyError, UsageError
from oboro.hierarchies.hierarchy import Hierarchy
from oboro.hierarchies.spec import HierarchySpec
from oboro.kernels import grouping
from oboro.verifier import kernels
from oboro.verifier.attribute import AlphaK, EntropyLDiversity, RecursiveLDiversity, TCloseness, _decide
from oboro.verifier.classes import Classes
from oboro.verifier.identity import DistinctLDiversity, KAnonymity, Model
from oboro.verifier.promises import Promise
from oboro.verifier.table import verify
from oboro.verifier.verdict import Verification

# The definitions, in plain loops --------------------------------------------------------------------------------------

Table = dict[str, list[Any]]


def classes_of(table: Table, quasi: list[str]) -> dict[tuple[Any, ...], list[int]]:
    found = defaultdict(list)
    for row in range(len(table[quasi[0]])):
        found[tuple(table[name][row] for name in quasi)].append(row)
    return found


def histograms_of(table: Table, quasi: list[str], sensitive: str) -> list[Counter[Any]]:
    return [Counter(table[sensitive][row] for row in rows) for rows in classes_of(table, quasi).values()]


def naive_entropy_holds(counts: list[int], l: int) -> bool:  # noqa: E741
    """H ≥ log l ⟺ s^s ≥ l^s · ∏ c^c, in whole numbers."""
    size = sum(counts)
    return size**size >= l**size * prod(count**count for count in counts)


def naive_recursive(counts: list[int], l: int) -> Fraction | None:  # noqa: E741
    ordered = sorted(counts, reverse=True)
    tail = sum(ordered[l - 1 :])
    return Fraction(ordered[0], tail) if tail else None


def shares(counts: Counter[Any], order: list[Any]) -> list[Fraction]:
    return [Fraction(counts[value], sum(counts.values())) for value in order]


def naive_equal(p: list[Fraction], q: list[Fraction]) -> Fraction:
    return sum((abs(a - b) for a, b in zip(p, q, strict=True)), Fraction(0)) / 2


def naive_ordered(p: list[Fraction], q: list[Fraction]) -> Fraction:
    total, carried = Fraction(0), Fraction(0)
    for a, b in zip(p, q, strict=True):
        carried += a - b
        total += abs(carried)
    return total / max(1, len(p) - 1)


def naive_hierarchical(p: dict[Any, Fraction], q: dict[Any, Fraction], paths: dict[Any, list[str]]) -> Fraction:
    """Li et al. 2007, 4.3: at every inner node of height h, h / H of what can be moved between its children."""
    height = len(next(iter(paths.values()))) - 1
    cost = Fraction(0)
    for level in range(1, height + 1):
        for node in {path[level] for path in paths.values()}:
            below = defaultdict(Fraction)
            for value, path in paths.items():
                if path[level] == node:
                    below[path[level - 1]] += p[value] - q[value]
            surplus = sum((extra for extra in below.values() if extra > 0), Fraction(0))
            lack = -sum((extra for extra in below.values() if extra < 0), Fraction(0))
            cost += Fraction(level, height) * min(surplus, lack)
    return cost


def transport(p: list[Fraction], q: list[Fraction], ground: np.ndarray) -> float:
    """The earth mover's distance from its definition: the cheapest flow."""
    size = len(p)
    rows = np.kron(np.eye(size), np.ones(size))
    columns = np.kron(np.ones(size), np.eye(size))
    margins = np.array([float(share) for share in [*p, *q]])
    return float(linprog(ground.ravel(), A_eq=np.vstack([rows, columns]), b_eq=margins).fun)


# Random tables --------------------------------------------------------------------------------------------------------

quasi_values = st.sampled_from(["a", "b", "*", None])
words = st.sampled_from(["flu", "cold", "gout", "*", None])
amounts = st.sampled_from([9, 10, 100, 2, None])


@st.composite
def tables(draw: st.DrawFn, sensitive: st.SearchStrategy[Any] = words) -> Table:
    rows = draw(st.integers(1, 24))
    columns = {"x": quasi_values, "y": st.sampled_from([1, 2, None]), "s": sensitive}
    return {name: draw(st.lists(values, min_size=rows, max_size=rows)) for name, values in columns.items()}


QUASI = ["x", "y"]


def check(model: Model, table: Table) -> Any:
    return model.check(Dataset.of(table), QUASI)


@given(tables(), st.integers(1, 6))
def test_k_anonymity_is_the_smallest_class(table: Table, k: int) -> None:
    sizes = sorted(len(rows) for rows in classes_of(table, QUASI).values())
    verdict = check(KAnonymity(k=k), table)
    small = [size for size in sizes if size < k]
    assert (verdict.holds, verdict.achieved, verdict.groups) == (not small, sizes[0], len(sizes))
    assert (verdict.broken_groups, verdict.broken_records) == (len(small), sum(small))
    assert verdict.worst_sizes == tuple(small[:10])


@given(tables(), st.integers(1, 4))
def test_distinct_diversity(table: Table, l: int) -> None:  # noqa: E741
    distinct = [len(counts) for counts in histograms_of(table, QUASI, "s")]
    verdict = check(DistinctLDiversity(sensitive="s", l=l), table)
    assert verdict.achieved == min(distinct)
    assert verdict.broken_groups == sum(number < l for number in distinct)


@given(tables(), st.integers(1, 4))
def test_entropy_diversity_is_exact(table: Table, l: int) -> None:  # noqa: E741
    found = [list(counts.values()) for counts in histograms_of(table, QUASI, "s")]
    verdict = check(EntropyLDiversity(sensitive="s", l=l), table)
    assert verdict.broken_groups == sum(not naive_entropy_holds(counts, l) for counts in found)
    entropies = [-sum(c / sum(counts) * np.log(c / sum(counts)) for c in counts) for counts in found]
    assert verdict.achieved == pytest.approx(exp(min(entropies)))


@given(tables(), st.integers(1, 4), st.sampled_from([0.5, 1, 1.5, 2, 3]))
def test_recursive_diversity(table: Table, l: int, c: float) -> None:  # noqa: E741
    ratios = [naive_recursive(list(counts.values()), l) for counts in histograms_of(table, QUASI, "s")]
    verdict = check(RecursiveLDiversity(sensitive="s", c=c, l=l), table)
    assert verdict.broken_groups == sum(ratio is None or not ratio < Fraction(c) for ratio in ratios)
    known = [ratio for ratio in ratios if ratio is not None]
    assert verdict.achieved == (float(max(known)) if len(known) == len(ratios) else None)


@given(tables(), st.sampled_from([0.1, 0.25, 0.3, 0.5, 0.7, 1]))
def test_alpha_for_every_value_and_for_one(table: Table, alpha: float) -> None:
    found = histograms_of(table, QUASI, "s")
    limit = Fraction(str(alpha))
    every = [max(shares(counts, list(counts))) for counts in found]
    verdict = check(AlphaK(sensitive="s", alpha=alpha), table)
    assert (verdict.broken_groups, verdict.achieved) == (sum(part > limit for part in every), float(max(every)))
    flu = [shares(counts, ["flu"])[0] for counts in found]
    verdict = check(AlphaK(sensitive="s", alpha=alpha, value="flu"), table)
    assert (verdict.broken_groups, verdict.achieved) == (sum(part > limit for part in flu), float(max(flu)))


def sort_key(value: Any) -> tuple[int, Any]:
    return (2, 0) if value is None else (1, 0) if value == "*" else (0, value)


@given(st.one_of(tables(words), tables(amounts)), st.sampled_from([0.1, 0.25, 0.4, 0.5]))
def test_equal_and_ordered_closeness(table: Table, t: float) -> None:
    order = sorted(set(table["s"]), key=sort_key)
    whole = shares(Counter(table["s"]), order)
    found = [shares(counts, order) for counts in histograms_of(table, QUASI, "s")]
    for distance, naive in (("equal", naive_equal), ("ordered", naive_ordered)):
        exact = [naive(part, whole) for part in found]
        verdict = check(TCloseness(sensitive="s", t=t, distance=distance), table)
        assert verdict.broken_groups == sum(number > Fraction(str(t)) for number in exact)
        assert verdict.achieved == float(max(exact))


@given(tables())
def test_ordered_closeness_of_tables_too_large_for_whole_numbers(table: Table) -> None:
    order = sorted(set(table["s"]), key=sort_key)
    whole = shares(Counter(table["s"]), order)
    exact = max(naive_ordered(shares(counts, order), whole) for counts in histograms_of(table, QUASI, "s"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("oboro.verifier.attribute.FITS", 0)
        found = check(TCloseness(sensitive="s", t=1, distance="ordered"), table).achieved
    assert found == pytest.approx(float(exact), abs=1e-12)


DISEASES = {  # Li et al. 2007, figure 1
    "flu": ["flu", "respiratory infection", "respiratory", "*"],
    "pneumonia": ["pneumonia", "respiratory infection", "respiratory", "*"],
    "bronchitis": ["bronchitis", "respiratory infection", "respiratory", "*"],
    "pulmonary edema": ["pulmonary edema", "vascular lung", "respiratory", "*"],
    "gastric ulcer": ["gastric ulcer", "stomach", "digestive", "*"],
    "stomach cancer": ["stomach cancer", "stomach", "digestive", "*"],
    "gastritis": ["gastritis", "stomach", "digestive", "*"],
    "colitis": ["colitis", "colon", "digestive", "*"],
}
TREE = {
    "respiratory": {
        "respiratory infection": ["flu", "pneumonia", "bronchitis"],
        "vascular lung": ["pulmonary edema"],
    },
    "digestive": {"stomach": ["gastric ulcer", "stomach cancer", "gastritis"], "colon": ["colitis"]},
}
SPEC = HierarchySpec.model_validate({"tree": TREE})


@given(tables(st.sampled_from(list(DISEASES))), st.sampled_from([0.1, 0.25, 0.4]))
def test_hierarchical_closeness(table: Table, t: float) -> None:
    order = list(DISEASES)
    whole = dict(zip(order, shares(Counter(table["s"]), order), strict=True))
    found = [dict(zip(order, shares(c, order), strict=True)) for c in histograms_of(table, QUASI, "s")]
    exact = [naive_hierarchical(part, whole, DISEASES) for part in found]
    bound = SPEC.build("s", Column.of(order), None)
    for hierarchy in (SPEC, bound):
        verdict = check(TCloseness(sensitive="s", t=t, distance="hierarchical", hierarchy=hierarchy), table)
        assert verdict.broken_groups == sum(number > Fraction(str(t)) for number in exact)
        assert verdict.achieved == float(max(exact))


@settings(max_examples=25)
@given(tables(st.sampled_from(list(DISEASES))))
def test_distances_are_the_cheapest_flow(table: Table) -> None:
    order = sorted(set(table["s"]))
    paths = [DISEASES[value] for value in order]
    meet = [[min(i for i in range(4) if a[i] == b[i]) / 3 for b in paths] for a in paths]
    ranks = np.abs(np.subtract.outer(np.arange(len(order)), np.arange(len(order)))) / max(1, len(order) - 1)
    grounds = {"equal": 1 - np.eye(len(order)), "ordered": ranks, "hierarchical": np.array(meet)}
    whole = shares(Counter(table["s"]), order)
    found = [shares(counts, order) for counts in histograms_of(table, QUASI, "s")]
    for distance, ground in grounds.items():
        hierarchy = SPEC if distance == "hierarchical" else None
        verdict = check(TCloseness(sensitive="s", t=0, distance=distance, hierarchy=hierarchy), table)
        assert verdict.achieved == pytest.approx(max(transport(part, whole, ground) for part in found), abs=1e-9)


# Kernels against their naive twins ------------------------------------------------------------------------------------


def naive_tally(labels: np.ndarray, codes: np.ndarray) -> list[list[tuple[int, int]]]:
    return [
        sorted(Counter(int(c) for c, group in zip(codes, labels, strict=True) if group == label).items())
        for label in range(labels.max() + 1)
    ]


@st.composite
def coded(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int]:
    width = draw(st.integers(1, 9))
    size = draw(st.integers(1, 30))
    labels = draw(picks(range(5), min_size=size, max_size=size))
    dense = np.unique(labels, return_inverse=True)[1].astype(np.uint32)
    codes = draw(st.lists(st.integers(0, width - 1), min_size=size, max_size=size))
    return dense, np.array(codes, dtype=draw(st.sampled_from([np.uint8, np.uint16]))), width


@given(coded())
def test_kernels_agree_with_plain_loops(drawn: tuple[np.ndarray, np.ndarray, int]) -> None:
    labels, codes, width = drawn
    sizes = np.bincount(labels)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    gathered = np.empty_like(codes)
    cursor = starts[:-1].copy()
    grouping.gather(labels, codes, cursor, gathered)
    assert gathered.tolist() == [int(c) for label in range(len(sizes)) for c in codes[labels == label]]
    assert (cursor == starts[1:]).all()

    found = Classes(Dataset({}, labels.size), _groups(labels, sizes)).tally(codes, width)
    naive = naive_tally(labels, codes)
    assert list(zip(found.codes.tolist(), found.counts.tolist(), strict=True)) == [
        pair for one in naive for pair in one
    ]
    assert found.distinct.tolist() == [len(one) for one in naive]
    assert found.most_frequent.tolist() == [max(count for _, count in one) for one in naive]

    for most in range(4):
        out = np.empty(len(sizes), np.int64)
        kernels.largest(found.counts, found.starts, most, out)
        assert out.tolist() == [sum(sorted((n for _, n in one), reverse=True)[:most]) for one in naive]


@given(coded(), st.sampled_from([np.int64, np.float64]))
def test_distance_kernels_agree_with_plain_loops(drawn: tuple[np.ndarray, np.ndarray, int], kind: type) -> None:
    labels, codes, width = drawn
    n, sizes = labels.size, np.bincount(labels)
    found = Classes(Dataset({}, n), _groups(labels, sizes)).tally(codes, width)
    within = [np.bincount(codes[labels == label], minlength=width) for label in range(len(sizes))]
    whole = np.bincount(codes, minlength=width)
    out = np.empty(len(sizes), np.int64)
    kernels.equal_distance(found.codes, found.counts, found.starts, sizes, whole, out)
    assert out.tolist() == [np.abs(one * n - whole * one.sum()).sum() for one in within]

    below = np.concatenate([[0], np.cumsum(whole)]).astype(kind)
    prefix = np.concatenate([[0], np.cumsum(below[1:])]).astype(kind)
    ranked = np.zeros(len(sizes), kind)
    kernels.ordered_distance(found.codes, found.counts, found.starts, sizes, below, prefix, ranked)
    assert ranked.tolist() == [np.abs(np.cumsum(one) * n - np.cumsum(whole) * one.sum()).sum() for one in within]


def _groups(labels: np.ndarray, sizes: np.ndarray) -> Any:
    from oboro.data.grouping import Groups

    return Groups(labels, sizes)


# Rounding neither breaks a kept promise nor hides a broken one --------------------------------------------------------


@pytest.mark.parametrize("l", [2, 3, 5, 6, 7, 10, 100])
@pytest.mark.parametrize("each", [1, 3, 7, 1000])
def test_uniform_classes_have_exactly_their_entropy(l: int, each: int) -> None:  # noqa: E741
    data = Dataset.of({"x": ["a"] * l * each, "s": list(range(l)) * each})
    verdict = EntropyLDiversity(sensitive="s", l=l).check(data, ["x"])
    assert (verdict.holds, verdict.achieved) == (True, l)
    assert not EntropyLDiversity(sensitive="s", l=l + 1e-12).check(data, ["x"]).holds


def test_a_hair_below_log_two_is_broken() -> None:
    data = Dataset.of({"x": ["a"] * 200_001, "s": ["u"] * 100_000 + ["v"] * 100_001})
    assert not EntropyLDiversity(sensitive="s", l=2).check(data, ["x"]).holds


@example(4, (4, 1, 1, 1, 1))  # exactly log 4, though not uniform
@given(st.integers(1, 5), picks(range(1, 13), min_size=1, max_size=6).map(tuple))
def test_entropy_in_doubt_is_decided_exactly(l: int, counts: tuple[int, ...]) -> None:  # noqa: E741
    assert _decide(l, tuple(sorted(counts))) == naive_entropy_holds(list(counts), l)


def test_limits_that_are_just_reached() -> None:
    table = Dataset.of({"x": ["a"] * 10 + ["b"] * 10, "s": ["u"] * 3 + list("vwxyzpq") + list("uvwxyzpqrt")})
    assert AlphaK(sensitive="s", alpha=0.3).check(table, ["x"]).holds
    assert not AlphaK(sensitive="s", alpha=0.2999999999).check(table, ["x"]).holds
    two = Dataset.of({"x": ["a"] * 5, "s": list("uuuvv")})
    assert not RecursiveLDiversity(sensitive="s", c=1.5, l=2).check(two, ["x"]).holds  # 3 < 1.5 · 2 is false
    assert RecursiveLDiversity(sensitive="s", c=1.51, l=2).check(two, ["x"]).holds


# Examples from the literature -----------------------------------------------------------------------------------------

SALARIES = [3, 4, 5, 6, 11, 8, 7, 9, 10]  # Li et al. 2007, table 3
ILLNESSES = [
    "gastric ulcer",
    "gastritis",
    "stomach cancer",
    "gastritis",
    "flu",
    "bronchitis",
    "bronchitis",
    "pneumonia",
    "stomach cancer",
]


def closeness_of(rows: list[int], values: list[Any], **options: Any) -> float:
    """How far one class of Li et al.'s table is from the whole; the others are one class that comes closer."""
    data = Dataset.of({"x": [row in rows for row in range(9)], "s": values})
    verdict = TCloseness(sensitive="s", t=0, **options).check(data, ["x"])
    return float(verdict.achieved)


def test_salaries_of_li_et_al() -> None:
    # {3k, 4k, 5k}: (2/9 + 4/9 + 6/9 + 5/9 + 4/9 + 3/9 + 2/9 + 1/9) / 8 = 27/72 = 0.375; {6k, 8k, 11k}: 12/72 = 0.167.
    assert closeness_of([0, 1, 2], SALARIES, distance="ordered") == 27 / 72
    assert closeness_of([3, 4, 5], SALARIES, distance="ordered") == 12 / 72
    assert closeness_of([3, 4, 5], [f"{salary}k" for salary in SALARIES], distance="ordered") != 12 / 72  # "11k" < "3k"
    order = tuple(f"{salary}k" for salary in sorted(SALARIES))
    assert closeness_of([3, 4, 5], [f"{s}k" for s in SALARIES], distance="ordered", order=order) == 12 / 72


def test_dates_sort_as_dates() -> None:
    dates = [f"2024/{salary}/1" for salary in SALARIES]
    assert closeness_of([3, 4, 5], dates, distance="ordered") == 12 / 72


def test_areas_and_illnesses_by_hand() -> None:
    """Salaries are at most 1/6 away; illnesses in the tree of the paper's figure 1 are 7/27, 8/27 and 5/27 away.

    For the second: 1/9 moves within stomach diseases and 1/9 within infections for 1/3 each, 2/9 between systems for 1.
    """
    area = ["4767*", "4760*", "4767*", "4790*", "4790*", "4790*", "4760*", "4767*", "4760*"]
    table = {"zip": area, "salary": SALARIES, "disease": ILLNESSES}
    assert verify(table, quasi=["zip"], sensitive="salary", t=0.167, distance="ordered").verdicts[0].achieved == 1 / 6
    found = verify(table, quasi=["zip"], sensitive="disease", t=8 / 27, distance="hierarchical", hierarchy=SPEC)
    assert found.holds
    assert found.verdicts[0].achieved == 8 / 27


def test_recursive_diversity_of_machanavajjhala_et_al() -> None:
    """(c, 2): the most frequent value must not outnumber the others c times; (c, 3): not even without the second."""
    table = {"x": ["a"] * 10, "s": ["flu"] * 5 + ["cold"] * 3 + ["gout"] * 2}
    for l, c, holds in ((2, 1, False), (2, 1.01, True), (3, 2.5, False), (3, 2.6, True), (4, 100, False)):  # noqa: E741
        assert verify(table, quasi=["x"], sensitive="s", l=l, kind="recursive", c=c).holds is holds


# Agreement with pycanon, on tables without missing values -------------------------------------------------------------


@st.composite
def complete(draw: st.DrawFn) -> pd.DataFrame:
    rows = draw(st.integers(2, 30))
    columns = {"x": st.sampled_from("ab"), "y": st.integers(1, 2), "s": st.sampled_from("uvw"), "n": st.integers(1, 5)}
    frame = pd.DataFrame({k: draw(st.lists(v, min_size=rows, max_size=rows)) for k, v in columns.items()})
    assume(frame["n"].nunique() > 1)  # pycanon divides by the number of gaps between values
    return frame


@settings(max_examples=25)
@given(complete())
def test_agreement_with_pycanon(frame: pd.DataFrame) -> None:
    def achieved(**asked: Any) -> float:
        verdict = verify(frame, quasi=QUASI, **asked).verdicts[0]
        assert verdict.achieved is not None
        return verdict.achieved

    assert achieved(k=1) == pycanon.k_anonymity(frame, QUASI)
    assert achieved(sensitive="s", l=1) == pycanon.l_diversity(frame, QUASI, ["s"])
    alpha, k = pycanon.alpha_k_anonymity(frame, QUASI, ["s"])
    assert (achieved(sensitive="s", alpha=1), achieved(k=1)) == (pytest.approx(alpha), k)
    assert achieved(sensitive="s", t=1) == pytest.approx(pycanon.t_closeness(frame, QUASI, ["s"]))
    ordered = pycanon.t_closeness(frame, QUASI, ["n"])  # it takes the ordered distance for numbers
    assert achieved(sensitive="n", t=1, distance="ordered") == pytest.approx(ordered)
    # pycanon cuts exp(entropy) to a whole number, so a hair below 2 becomes 1: exact ones may be one apart.
    floor = pycanon.entropy_l_diversity(frame, QUASI, ["s"])
    exact = achieved(sensitive="s", l=1, kind="entropy")
    assert int(exact) == floor or exact == pytest.approx(floor + 1, abs=1e-9)


@settings(max_examples=25)
@given(picks(product(range(2, 5), range(1, 4)), min_size=1, max_size=4))
def test_recursive_agreement_with_pycanon(shapes: list[tuple[int, int]]) -> None:
    """pycanon sorts the counts upwards, so that its r₁ is the rarest value; with equal counts that is no difference."""
    rows = [
        (label, value)
        for label, (distinct, each) in enumerate(shapes)
        for value in range(distinct)
        for _ in range(each)
    ]
    frame = pd.DataFrame(rows, columns=["x", "s"])
    c, l = pycanon.recursive_c_l_diversity(frame, ["x"], ["s"])  # noqa: E741
    verdict = verify(frame, quasi=["x"], sensitive="s", l=l, kind="recursive", c=c).verdicts[0]
    assert verdict.holds
    assert int(verdict.achieved + 1) == c


def test_pycanon_overlooks_missing_values() -> None:
    frame = pd.DataFrame({"x": ["a", "a", None], "s": ["u", "v", "w"]})
    assert pycanon.k_anonymity(frame, ["x"]) == 2
    assert verify(frame, quasi=["x"], k=2).verdicts[0].achieved == 1


def test_pycanon_sorts_the_counts_upwards() -> None:
    frame = pd.DataFrame({"x": ["a"] * 11, "s": ["u"] * 10 + ["v"]})
    assert pycanon.recursive_c_l_diversity(frame, ["x"], ["s"]) == (1, 2)  # by the definition 10 < c · 1
    assert verify(frame, quasi=["x"], sensitive="s", l=2, kind="recursive", c=1).verdicts[0].achieved == 10


# The door -------------------------------------------------------------------------------------------------------------

SMALL: Table = {"x": ["a", "a", "b"], "s": ["u", "v", "w"]}


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table, Dataset.of, dict])
def test_every_kind_of_frame(kind: Any) -> None:
    found = oboro.verify(kind(SMALL), quasi=["x"], k=2)
    assert not found.holds
    assert found.verdicts[0].worst_sizes == (1,)


def test_not_a_number_is_missing_and_missing_is_a_value() -> None:
    frame = pd.DataFrame({"x": [1.0, np.nan, np.nan], "s": [np.nan, np.nan, "u"]})
    assert verify(frame, quasi=["x"], k=1).verdicts[0].groups == 2
    assert verify(frame, quasi=["x"], sensitive="s", alpha=0.5).verdicts[0].achieved == 1


def test_suppressed_records_are_a_class_that_must_be_large_enough() -> None:
    assert not verify({"x": ["a", "a", "*"]}, quasi=["x"], k=2).holds
    assert verify({"x": ["a", "a", "*", "*"]}, quasi=["x"], k=2).holds


def test_an_untidy_dictionary_cannot_fake_diversity() -> None:
    twice = Column(pa.array(["u", "u", "never"]), np.array([0, 1], dtype=np.uint8))
    data = Dataset({"x": Column.of(["a", "a"]), "s": twice, "y": twice}, 2)
    assert not verify(data, quasi=["x"], sensitive="s", l=2).holds
    assert verify(data, quasi=["y"], k=2).holds


def test_empty_table_holds_and_says_so() -> None:
    empty = pa.table({"x": pa.array([], pa.string()), "s": pa.array([], pa.string())})
    found = verify(empty, quasi=["x"], k=3, sensitive="s", l=2, t=0.1, alpha=0.5)
    assert found.holds
    assert [verdict.achieved for verdict in found.verdicts] == [None] * 4
    assert "no records" in found.sentence()


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ({"quasi": [], "k": 2}, "quasi"),
        ({"quasi": ["x"], "k": 0}, "k: "),
        ({"quasi": ["x"], "k": 2.5}, "k: "),
        ({"quasi": ["x"], "l": 2}, "sensitive"),
        ({"quasi": ["x"], "t": 0.2, "alpha": 0.2}, "t, alpha"),
        ({"quasi": ["x"], "sensitive": "s", "l": 0}, "l: "),
        ({"quasi": ["x"], "sensitive": "s", "l": 2.5}, "l: "),
        ({"quasi": ["x"], "sensitive": "s", "l": 2, "kind": "many"}, "kind: "),
        ({"quasi": ["x"], "sensitive": "s", "l": 2, "kind": "recursive"}, "c: "),
        ({"quasi": ["x"], "sensitive": "s", "l": 2, "c": 2}, "c: "),
        ({"quasi": ["x"], "sensitive": "s", "l": 2, "kind": "recursive", "c": -1}, "c: "),
        ({"quasi": ["x"], "sensitive": "s", "t": 1.5}, "t: "),
        ({"quasi": ["x"], "sensitive": "s", "t": float("nan")}, "t: "),
        ({"quasi": ["x"], "sensitive": "s", "t": 0.5, "distance": "far"}, "distance: "),
        ({"quasi": ["x"], "sensitive": "s", "t": 0.5, "distance": "hierarchical"}, "hierarchy: "),
        ({"quasi": ["x"], "sensitive": "s", "t": 0.5, "hierarchy": SPEC}, "hierarchy: "),
        ({"quasi": ["x"], "sensitive": "s", "t": 0.5, "order": ["u"]}, "order: "),
        ({"quasi": ["x"], "sensitive": "s", "t": 0.5, "distance": "ordered", "order": ["u"]}, "order lacks"),
        ({"quasi": ["x"], "sensitive": "s", "alpha": 0}, "alpha: "),
        ({"quasi": ["x"], "k": 2, "value": "u"}, "value: "),
        ({"quasi": ["x"], "k": 2, "distance": "ordered"}, "distance: "),
        ({"quasi": ["x"], "k": 2, "kind": "entropy"}, "kind: "),
        ({"quasi": ["x", "s"], "sensitive": "s", "l": 2}, "is a quasi-identifier too"),
    ],
)
def test_nonsense_is_refused(asked: dict[str, Any], hint: str) -> None:
    with pytest.raises(UsageError, match=hint):
        verify(SMALL, **asked)


def test_unknown_columns_and_values_are_refused() -> None:
    with pytest.raises(ColumnError, match=r"no column 'z'.*'x', 's'"):
        verify(SMALL, quasi=["z"], k=2)
    with pytest.raises(ColumnError, match="no column 'z'"):
        verify(SMALL, quasi=["x"], k=2, sensitive="z")
    with pytest.raises(HierarchyError, match="lacks"):
        verify(SMALL, quasi=["x"], sensitive="s", t=1, distance="hierarchical", hierarchy=SPEC)


def test_a_hierarchy_may_be_given_as_in_a_recipe() -> None:
    table = {"x": ["a", "a", "b"], "s": ["flu", "gastritis", "colitis"]}
    given_as_text = verify(table, quasi=["x"], sensitive="s", t=1, distance="hierarchical", hierarchy={"tree": TREE})
    assert given_as_text == verify(table, quasi=["x"], sensitive="s", t=1, distance="hierarchical", hierarchy=SPEC)
    assert isinstance(SPEC.build("s", Column.of(["flu"]), None), Hierarchy)


def test_a_root_is_added_where_the_top_has_several_labels() -> None:
    """Without `*` on top two trees are 1 apart, and the values of one tree half of that."""
    families = SPEC.build("s", Column.of(list(DISEASES)), None).above(1)
    forest = Hierarchy("s", families.levels[:-1])  # 4 families in 2 systems
    one_tree = {"x": ["a", "b"], "s": ["respiratory infection", "vascular lung"]}
    two_trees = {"x": ["a", "b"], "s": ["respiratory infection", "stomach"]}
    model = TCloseness(sensitive="s", t=0, distance="hierarchical", hierarchy=forest)
    assert model.check(Dataset.of(two_trees), ["x"]).achieved == 0.5
    assert model.check(Dataset.of(one_tree), ["x"]).achieved == 0.25


def test_missing_and_suppressed_stand_outside_the_hierarchy() -> None:
    table = {"x": ["a", "b", "c", "d"], "s": ["flu", "flu", None, "*"]}
    found = verify(table, quasi=["x"], sensitive="s", t=0, distance="hierarchical", hierarchy=SPEC)
    assert found.verdicts[0].achieved == 0.75  # as far from all the others as can be


def test_several_sensitive_columns_are_judged_one_by_one() -> None:
    table = {"x": ["a", "a"], "s": ["u", "v"], "n": [1, 1]}
    found = verify(table, quasi="x", k=2, sensitive=["s", "n"], l=2)
    assert [verdict.holds for verdict in found.verdicts] == [True, True, False]
    assert "n" in found.sentence().split(".")[0]


def test_a_verification_reads_well_and_shows_no_values() -> None:
    found = verify({"x": ["secret", "b", "b"]}, quasi=["x"], k=2)
    assert str(found).startswith("BROKEN over x\n✗ 2-anonymity is broken in 1 of 2 groups (1 record;")
    assert not found
    assert verify({"x": ["b", "b"]}, quasi=["x"], k=2)
    as_json = json.dumps(found.as_dict())
    for text in (str(found), found.sentence(), found._repr_html_(), as_json):
        assert "secret" not in text
    assert json.loads(as_json)["verdicts"][0]["worst_sizes"] == [1]
    assert found._repr_html_().count("<tr>") == 2


def test_a_broken_limit_is_never_rounded_to_a_kept_one() -> None:
    table = Dataset.of({"x": ["a"] * 200_001, "s": ["u"] * 100_000 + ["v"] * 100_001})
    verdict = EntropyLDiversity(sensitive="s", l=2).check(table, ["x"])
    assert "achieved 1.99999999" in verdict.sentence()


# Promises -------------------------------------------------------------------------------------------------------------


def test_a_promise_counts_only_released_columns() -> None:
    promise = Promise("k_anonymize", ("x", "y"), (KAnonymity(k=2), DistinctLDiversity(sensitive="s", l=2)))
    whole = Dataset.of({"x": ["a", "a"], "y": [1, 2], "s": ["u", "v"]})
    assert not promise.verify(whole).holds
    fewer = promise.verify(whole.select(["x", "s"]))
    assert fewer.holds
    assert fewer.quasi == ("x",)
    none = promise.verify(whole.select(["s"]))
    assert [verdict.achieved for verdict in none.verdicts] == [2, 2]
    blind = promise.verify(whole.select(["x"]))
    assert blind.holds
    assert "'s' is not released" in blind.sentence()


def test_a_model_alone_does_not_forgive_a_lacking_column() -> None:
    with pytest.raises(ColumnError):
        DistinctLDiversity(sensitive="s", l=2).check(Dataset.of({"x": ["a"]}), ["x"])


def test_nothing_promised_is_nothing_broken() -> None:
    assert Verification.of([], []).sentence() == "nothing was promised."


def test_models_have_a_json_schema() -> None:
    properties = TCloseness.model_json_schema()["properties"]
    assert properties["t"]["description"] == "the greatest distance allowed"
    assert {"t", "distance", "fold", "hierarchy", "order", "sensitive"} == set(properties)
