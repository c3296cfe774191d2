"""Sort, shuffle, drop columns, generalize and sample, against plain Python over the rows."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.naive.records import (
    Row,
    explained,
    naive_sort,
    naive_total,
    records,
    rows_of,
    run,
    table,
    values,
)

from oboro.data.dataset import Dataset
from oboro.errors import ColumnError, UsageError
from oboro.schema import Role
from oboro.techniques.base import Work
from oboro.techniques.drop_columns import DropColumns
from oboro.techniques.generalize import Generalize
from oboro.techniques.sample import Sample
from oboro.techniques.shuffle import Shuffle
from oboro.techniques.sort import Sort

# sort -----------------------------------------------------------------------------------------------------------------


keys = st.lists(st.tuples(st.sampled_from("ntd"), st.booleans()), min_size=1, max_size=3, unique_by=lambda key: key[0])


@given(records, keys)
def test_sort_is_pythons_sort_with_missing_last(rows: list[Row], by: list[tuple[str, bool]]) -> None:
    sort = Sort(by=tuple(f"-{name}" if down else name for name, down in by))
    outcome = run(sort, table(rows))
    assert rows_of(outcome.data) == naive_sort(rows, [("ntd".index(name), down) for name, down in by])
    assert [rows[origin] for origin in outcome.data.origin_rows] == rows_of(outcome.data)


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (pa.array(["10", "9", "-1", "1e1", "2.5"]), ["-1", "2.5", "9", "10", "1e1"]),
        (pa.array(["10", "9", "x"]), ["10", "9", "x"]),
        (pa.array(["007", "06"]), ["007", "06"]),  # leading zeros: identifiers, so text
        (pa.array(["2020/10/1", "2020-9-30", "2019/12/31"]), ["2019/12/31", "2020-9-30", "2020/10/1"]),
        (pa.array([2**62 + 1, 2**62, -(2**62)]), [-(2**62), 2**62, 2**62 + 1]),  # no float64 tells the first two apart
        (pa.array([Decimal("1.50"), Decimal("-3.25")]), [Decimal("-3.25"), Decimal("1.50")]),
        (pa.array([True, False]), [False, True]),
        (pa.array([2.5, 1.5], pa.float16()), [1.5, 2.5]),
        (pa.array([10, 9], pa.uint8()), [9, 10]),
        (pa.array([None, None]), [None, None]),
        (pa.array([b"b", b"a"]), [b"a", b"b"]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_sort_compares_values_as_what_they_are(array: pa.Array, expected: list[Any]) -> None:
    assert values(run(Sort(by="x"), Dataset.from_arrow(pa.table({"x": array}))), "x") == expected


def test_sort_descending_keeps_missing_last_and_ties_in_order() -> None:
    data = Dataset.of({"x": [None, 1, 2, 1], "row": [0, 1, 2, 3]})
    for sort in (Sort(by="x", descending=True), Sort(by=("-x",))):
        assert rows_of(run(sort, data).data) == [(2, 2), (1, 1), (1, 3), (None, 0)]


def test_sort_takes_a_column_that_begins_with_a_minus_at_its_word() -> None:
    data = Dataset.of({"-x": [2, 1], "x": [1, 2]})
    assert values(run(Sort(by="-x"), data), "-x") == [1, 2]


@pytest.mark.parametrize(
    "bad", [{"by": []}, {"by": ""}, {"by": ["-a"], "descending": True}, {"by": ["a", "-a"]}, {"by": "a", "order": 1}]
)
def test_sort_refuses_what_it_cannot_mean(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  (pydantic's own, whatever the field)
        Sort.model_validate(bad)


def test_sort_says_what_it_will_do_and_did() -> None:
    plan = explained(Sort(by=("age", "-zip")), age={}, zip={})
    assert "'age' (low to high), then by 'zip' (high to low)" in plan
    assert "missing values come last" in plan
    assert run(Sort(by=("-x",)), Dataset.of({"x": [1]})).facts == {"records": 1, "by": ["-x"]}
    with pytest.raises(ColumnError, match="sort: there is no column 'y'; the table has 'x'"):
        run(Sort(by=("-y",)), Dataset.of({"x": [1]}))


# shuffle --------------------------------------------------------------------------------------------------------------


@given(records, st.integers(0, 99))
def test_shuffle_keeps_every_record_whole(rows: list[Row], seed: int) -> None:
    outcome = run(Shuffle(), table(rows), seed=seed)
    assert Counter(rows_of(outcome.data)) == Counter(rows)
    assert [rows[origin] for origin in outcome.data.origin_rows] == rows_of(outcome.data)
    assert rows_of(run(Shuffle(), table(rows), seed=seed).data) == rows_of(outcome.data)


@given(records, st.integers(0, 99))
def test_shuffle_of_columns_moves_them_together_and_nothing_else(rows: list[Row], seed: int) -> None:
    shuffled = rows_of(run(Shuffle(attributes=("n", "d")), table(rows), seed=seed).data)
    assert [row[1] for row in shuffled] == [row[1] for row in rows]
    assert Counter((row[0], row[2]) for row in shuffled) == Counter((row[0], row[2]) for row in rows)


@pytest.mark.parametrize("attributes", [None, ("x",)])
def test_every_order_is_as_likely_as_any_other(attributes: tuple[str, ...] | None) -> None:
    data, shuffle = Dataset.of({"x": [1, 2, 3], "y": [1, 2, 3]}), Shuffle(attributes=attributes)
    found = Counter(tuple(values(run(shuffle, data, seed=seed), "x")) for seed in range(1200))
    assert len(found) == 6
    # 200 expected each; chi-square with 5 degrees of freedom stays below 20.5 with probability 0.999.
    assert sum((count - 200) ** 2 / 200 for count in found.values()) < 20.5


def test_shuffle_says_whether_records_stay_whole() -> None:
    assert "every record stays whole" in explained(Shuffle())
    assert "breaks their link" in explained(Shuffle(attributes=("a", "b")))
    assert run(Shuffle(attributes=("x",)), Dataset.of({"x": [1]})).facts == {"records": 1, "attributes": ["x"]}
    with pytest.raises(ColumnError, match="shuffle: there is no column 'z'"):
        run(Shuffle(attributes=("z",)), Dataset.of({"x": [1]}))


# drop columns ---------------------------------------------------------------------------------------------------------


def test_drop_columns_takes_columns_and_their_roles_away() -> None:
    data = Dataset.of({"name": ["a", "b"], "age": [1, 2], "zip": ["1", "2"]})
    drop = DropColumns(attributes=("zip", "name"))
    outcome = run(drop, data, name={"role": "identifier"})
    assert list(outcome.data) == ["age"]
    assert list(outcome.schema.attributes) == ["age"]
    assert outcome.schema.named(Role.IDENTIFIER) == []
    assert drop.removes_identity == ("zip", "name")
    assert outcome.facts == {"dropped": ["zip", "name"]}
    assert "'zip', 'name'" in explained(drop)


def test_drop_columns_refuses_unknown_columns_and_an_empty_table() -> None:
    data = Dataset.of({"name": ["a"], "age": [1]})
    with pytest.raises(ColumnError, match="drop_columns: there is no column 'zip'"):
        run(DropColumns(attributes=("zip",)), data)
    with pytest.raises(UsageError, match="no column would be left"):
        run(DropColumns(attributes=("age", "name")), data)
    with pytest.raises(ValueError, match="at least 1"):
        DropColumns(attributes=())


# generalize -----------------------------------------------------------------------------------------------------------


MASK = {"hierarchy": {"mask": "right"}}


codes = st.lists(st.none() | st.from_regex("[12]{3}", fullmatch=True), min_size=1, max_size=30)


@given(codes.filter(any), st.integers(0, 3))
def test_generalize_masks_as_text_would_be_cut(zips: list[str | None], level: int) -> None:
    released = values(run(Generalize(attribute="zip", level=level), Dataset.of({"zip": zips}), zip=MASK), "zip")
    cut = {code: "*" if level == 3 else code[: 3 - level] + "*" * level for code in zips if code is not None}
    assert all(value == cut[code] for code, value in zip(zips, released, strict=True) if code is not None)
    # A missing value stays one, or joins where there is nothing left to tell apart.
    joined = {None} | (set(cut.values()) if len(set(cut.values())) == 1 else set())
    assert {value for code, value in zip(zips, released, strict=True) if code is None} <= joined


def test_generalize_in_two_steps_is_generalize_in_one() -> None:
    data = Dataset.of({"zip": ["1234", "1299", "5678"]})
    first = run(Generalize(attribute="zip", level=1), data, zip=MASK)
    second = Generalize(attribute="zip", level=2).run(Work(first.data, first.schema, np.random.default_rng()))
    assert values(second, "zip") == values(run(Generalize(attribute="zip", level=3), data, zip=MASK), "zip")
    assert values(second, "zip") == ["1***", "1***", "5***"]
    assert "on top of the level it already has" in Generalize(attribute="zip", level=2).explain(first.schema)
    with pytest.raises(UsageError, match="'zip' has levels 0 to 1, but level 2 was asked for"):
        Generalize(attribute="zip", level=2).run(Work(second.data, second.schema, np.random.default_rng()))


def test_generalize_several_columns_each_to_its_level() -> None:
    data = Dataset.of({"zip": ["1234", "1299"], "sex": ["F", "M"], "age": [31, 47]})
    outcome = run(Generalize(levels={"zip": 2, "sex": 1, "age": 0}), data, zip=MASK)
    assert rows_of(outcome.data) == [("12**", "*", 31), ("12**", "*", 47)]
    assert outcome.facts["zip"] == {"level": 2, "of": 4, "values": [2, 1]}
    assert outcome.facts["age"] == {"level": 0, "of": 1, "values": [2, 2]}


def test_generalize_says_what_is_wrong() -> None:
    data = Dataset.of({"sex": ["F", "M"]})
    with pytest.raises(UsageError, match="'sex' has levels 0 to 1, but level 2 was asked for"):
        run(Generalize(attribute="sex", level=2), data)
    with pytest.raises(ColumnError, match="generalize: there is no column 'age'"):
        run(Generalize(attribute="age", level=2), data)
    for bad in ({}, {"attribute": "a"}, {"level": 1}, {"levels": {"a": 1}, "level": 1}, {"levels": {}}):
        with pytest.raises(ValueError, match=r"give attribute and level|at least 1"):
            Generalize.model_validate(bad)
    with pytest.raises(ValueError, match="greater than or equal to 0"):
        Generalize(attribute="a", level=-1)


def test_generalize_explains_by_which_hierarchy() -> None:
    plan = explained(Generalize(levels={"zip": 2, "sex": 1}), zip=MASK, sex={})
    assert "'zip' goes to level 2 (by its hierarchy: " in plan
    assert "'sex' goes to level 1 (which has no hierarchy: level 1 is `*`)" in plan


# sample ---------------------------------------------------------------------------------------------------------------


@given(records, st.sampled_from([0.01, 0.1, 0.25, 0.5, 0.7, 1.0]), st.integers(0, 50))
def test_sample_keeps_a_part_in_order(rows: list[Row], fraction: float, seed: int) -> None:
    outcome = run(Sample(fraction=fraction), table(rows), seed=seed)
    origin = outcome.data.origin_rows
    assert rows_of(outcome.data) == [rows[row] for row in origin]
    assert (np.diff(origin) > 0).all()
    assert outcome.facts == {"records": len(rows), "kept": naive_total(len(rows), fraction)}
    assert len(origin) == outcome.facts["kept"]
    assert list(run(Sample(fraction=fraction), table(rows), seed=seed).data.origin_rows) == list(origin)


@given(records, st.sampled_from([0.1, 0.25, 0.5, 0.7]), st.integers(0, 2), st.integers(0, 50))
def test_stratified_sample_gives_each_its_share(rows: list[Row], fraction: float, minimum: int, seed: int) -> None:
    sample = Sample(fraction=fraction, by=("t", "d"), minimum=minimum)
    outcome = run(sample, table(rows), seed=seed)
    sizes = Counter(row[1:] for row in rows)
    kept = Counter(row[1:] for row in rows_of(outcome.data))
    total = naive_total(len(rows), fraction)
    exact = {stratum: Fraction(total * size, len(rows)) for stratum, size in sizes.items()}
    shares = {stratum: floor(share) for stratum, share in exact.items()}
    left = total - sum(shares.values())
    remainders = sorted((exact[one] - shares[one] for one in shares), reverse=True)
    cut = remainders[left - 1] if left else Fraction(1)
    for stratum, size in sizes.items():
        remainder = exact[stratum] - shares[stratum]
        allowed = {shares[stratum] + extra for extra in (0, 1) if remainder == cut or extra == (remainder > cut)}
        assert kept[stratum] in {max(share, min(minimum, size)) for share in allowed}
    if minimum == 0:
        assert sum(kept.values()) == total
    assert outcome.facts["strata"] == len(sizes)
    assert outcome.facts["strata_without_records"] == len(sizes) - len(+kept)


def test_largest_remainder_by_hand() -> None:
    """Ten of 47, 16, 15 and 22 (of 100): 4.7, 1.6, 1.5, 2.2 → 4 + 1 + 1 + 2, and two more to the first two."""
    data = Dataset.of({"x": ["a"] * 47 + ["b"] * 16 + ["c"] * 15 + ["d"] * 22})
    outcome = run(Sample(count=10, by=("x",)), data)
    assert Counter(values(outcome, "x")) == {"a": 5, "b": 2, "c": 1, "d": 2}


@pytest.mark.parametrize("by", [None, ("x",)])
def test_every_record_is_drawn_as_often_as_any_other(by: tuple[str, ...] | None) -> None:
    data = Dataset.of({"x": ["a", "a", "b", "b", "a", "b", "a", "b"]})
    drawn = np.zeros(8)
    for seed in range(1000):
        drawn[run(Sample(count=4, by=by), data, seed=seed).data.origin_rows] += 1
    assert drawn.sum() == 4000
    assert (abs(drawn - 500) < 70).all()  # standard deviation 16


def test_a_tie_between_strata_is_broken_by_chance() -> None:
    data = Dataset.of({"x": ["a", "b"]})
    found = {values(run(Sample(count=1, by=("x",)), data, seed=seed), "x")[0] for seed in range(40)}
    assert found == {"a", "b"}


def test_sample_minimum_keeps_small_strata() -> None:
    data = Dataset.of({"x": ["a"] * 97 + ["b"] * 2 + [None]})
    assert Counter(values(run(Sample(count=10, by=("x",)), data), "x")) == {"a": 10}
    assert Counter(values(run(Sample(count=10, by=("x",), minimum=2), data), "x")) == {"a": 10, "b": 2, None: 1}


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"count": 1, "fraction": 0.5},
        {"count": 0},
        {"fraction": 0},
        {"fraction": 1.1},
        {"count": 1, "minimum": 1},
        {"count": 1, "by": []},
        {"count": 1, "by": ["a"], "minimum": -1},
    ],
)
def test_sample_refuses_what_it_cannot_mean(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  (pydantic's own, whatever the field)
        Sample.model_validate(bad)


def test_sample_says_what_it_will_do_and_what_is_wrong() -> None:
    assert "Keep 0.1 of the records" in explained(Sample(fraction=0.1))
    plan = explained(Sample(count=5, by=("sex",), minimum=2))
    assert "Keep 5 of the records" in plan
    assert "combination of 'sex' gives its proportional share (at least 2, or all it has)" in plan
    data = Dataset.of({"x": [1, 2]})
    with pytest.raises(UsageError, match="count is 3, but the table has 2 records"):
        run(Sample(count=3), data)
    with pytest.raises(ColumnError, match="sample: there is no column 'y'"):
        run(Sample(count=1, by=("y",)), data)
