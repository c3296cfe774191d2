"""Dates of a person are shifted together: against a naive twin, over types and notations, and before release checks."""

from __future__ import annotations

import datetime
import hashlib
import hmac
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

import oboro
from oboro.data.column import Column
from oboro.disclosure.gate import perturbed_columns
from oboro.errors import ColumnError, OboroError, RecipeError, SingledOutError, UsageError
from oboro.schema import Attribute, Schema
from oboro.techniques.base import Work
from oboro.techniques.date_shift import DateShift, _unique_by_differences

KEY = "0123456789abcdef0123456789abcdef"
DAY = datetime.timedelta(days=1)
FIRST = datetime.date(2024, 1, 31)


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHIFT_KEY", KEY)


def naive_offset(person: str, days: int, key: bytes = KEY.encode()) -> int:
    """The offset of a person, by the standard library alone."""
    own = hmac.new(key, b"\xffdate_shift", hashlib.sha256).digest()
    digest = hmac.new(own, person.encode(), hashlib.sha256).digest()
    return int.from_bytes(digest[:8], "big") % (2 * days + 1) - days


def shifted(table: dict[str, list[Any]] | pa.Table, days: int = 30, seed: int = 1, **options: Any) -> Any:
    person = options.pop("person", "id")
    step = DateShift(**{"attribute": "visit", "days": days, **options})
    return step.apply(table, person=person, seed=seed)


dates = st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 12, 31))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["Ann", "Bob", "Čeněk"]), st.none() | dates), min_size=1, max_size=12),
    st.integers(1, 400),
)
def test_the_naive_twin_agrees(records: list[tuple[str, datetime.date | None]], days: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHIFT_KEY", KEY)
        table = pa.table({"id": [who for who, _ in records], "visit": pa.array([at for _, at in records], pa.date32())})
        found = shifted(table, days, key_env="SHIFT_KEY")["visit"].to_pylist()
    wanted = [None if at is None else at + naive_offset(who, days) * DAY for who, at in records]
    assert found == wanted


def test_people_keep_their_intervals_in_all_columns() -> None:
    rng = np.random.default_rng(3)
    people = [f"p{number}" for number in rng.integers(0, 40, 300)]
    visit = [FIRST + int(n) * DAY for n in rng.integers(0, 2000, 300)]
    left = [at + int(n) * DAY for at, n in zip(visit, rng.integers(0, 30, 300), strict=True)]
    table = {"id": people, "visit": visit, "left": left}
    out = shifted(table, attribute=None, attributes=["visit", "left"])
    offsets: dict[str, set[int]] = {}
    for i, who in enumerate(people):
        offsets.setdefault(who, set()).update({(out[name][i] - table[name][i]).days for name in ("visit", "left")})
    assert all(len(found) == 1 for found in offsets.values())
    assert len({one for found in offsets.values() for one in found}) > 15


def test_offsets_are_uniform_and_0_is_among_them() -> None:
    table = {"id": [str(n) for n in range(7000)], "visit": [FIRST] * 7000}
    for options in ({"person": None}, {"person": "id"}, {"key_env": "SHIFT_KEY"}):
        counts = Counter((at - FIRST).days for at in shifted(table, 3, **options)["visit"])
        assert sorted(counts) == [-3, -2, -1, 0, 1, 2, 3]
        assert max(abs(count - 1000) for count in counts.values()) < 5 * 30  # five standard deviations


def test_without_a_person_each_record_has_its_own_offset() -> None:
    table = {"id": ["Ann"] * 50, "visit": [FIRST] * 50}
    assert len(set(shifted(table, person=None)["visit"])) > 10
    assert len(set(shifted(table)["visit"])) == 1
    assert "another for each record" in DateShift(attribute="visit", days=3).explain(Schema({}))
    assert "all records of one value of 'id'" in DateShift(attribute="visit", days=3).explain(Schema({}, person="id"))


def test_a_key_gives_the_same_offset_in_every_table_and_delivery() -> None:
    one = shifted({"id": [7, 8], "visit": [FIRST, FIRST]}, key_env="SHIFT_KEY")["visit"]
    text = {"id": ["x", "8", "7"], "visit": ["2024-01-31"] * 3}
    other = shifted(text, seed=9, key_env="SHIFT_KEY")["visit"]
    assert [str(at) for at in reversed(one)] == other[1:]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHIFT_KEY", KEY[::-1])
        assert shifted(text, key_env="SHIFT_KEY")["visit"] != other


def test_spellings_of_a_person_that_are_folded_have_one_offset_whichever_comes_first() -> None:
    found = []
    for names in (["Ann", "ann "], ["ANN", "Ann"], ["ANN"]):
        attributes = {"id": {"fold": ["case", "space"]}}
        step = DateShift(attribute="visit", days=400, key_env="SHIFT_KEY")
        found += step.apply({"id": names, "visit": [FIRST] * len(names)}, attributes=attributes, person="id")["visit"]
    assert len(set(found)) == 1


def test_a_seed_repeats_the_draws_and_another_gives_others() -> None:
    table = {"id": [str(n) for n in range(20)], "visit": [FIRST] * 20}
    assert shifted(table, seed=1) == shifted(table, seed=1) != shifted(table, seed=2)
    assert DateShift(attribute="visit", days=3).rests_on_chance
    assert not DateShift(attribute="visit", days=3, key_env="SHIFT_KEY").rests_on_chance


@pytest.mark.parametrize(
    "type_",
    [
        pa.date32(),
        pa.date64(),
        *(pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")),
        pa.timestamp("ns", "Asia/Tokyo"),
    ],
    ids=str,
)
def test_types_stay_and_the_time_of_day_too(type_: pa.DataType) -> None:
    moments = [datetime.datetime(2024, 3, 9, 8, 30), None, datetime.datetime(1900, 1, 1, 23, 59, 59)]
    visit = pa.array([None if at is None else at.date() for at in moments], pa.date32())
    if pa.types.is_timestamp(type_):
        visit = pa.array(moments, pa.timestamp("us")).cast(pa.timestamp(type_.unit)).cast(pa.int64()).cast(type_)
    out = shifted(pa.table({"id": ["a", "a", "a"], "visit": visit}), key_env="SHIFT_KEY")["visit"]
    assert out.type == (pa.date32() if pa.types.is_date(type_) else type_)  # frames hold days as date32
    before, after = (pa.chunked_array(one).to_pylist() for one in ([visit], out.chunks))
    assert [None if a is None else a - b for a, b in zip(after, before, strict=True) if b is not None] == [
        naive_offset("a", 30) * DAY
    ] * 2
    assert after[1] is None


SHIFTED = FIRST + naive_offset("a", 30) * DAY


@pytest.mark.parametrize(
    ("text", "released"),
    [
        ("2024-01-31", f"{SHIFTED}"),
        ("2024/1/31", f"{SHIFTED:%Y/%m/%d}"),
        ("31.01.2024", f"{SHIFTED}"),
        ("1/31/2024", f"{SHIFTED}"),
        ("31/1/2024", f"{SHIFTED}"),
        ("20240131", f"{SHIFTED:%Y%m%d}"),
        ("令和6年1月31日", f"{SHIFTED}"),
        ("R6.1.31", f"{SHIFTED}"),
        ("2024-01-31T08:30:00Z", f"{SHIFTED}T08:30:00Z"),
        ("2024-01-31 08:30", f"{SHIFTED} 08:30"),
        ("2024-01-31 08:30:05.250000", f"{SHIFTED} 08:30:05.250000"),
        ("1/31/2024 2:05 PM", f"{SHIFTED} 14:05"),
    ],
)
def test_text_in_every_notation_of_days(text: str, released: str) -> None:
    assert shifted({"id": ["a", "a"], "visit": [text, None]}, key_env="SHIFT_KEY")["visit"] == [released, None]


def test_digits_that_are_numbers_stay_numbers() -> None:
    table = pa.table({"id": ["a"], "visit": pa.array([20240131], pa.int32())})
    out = shifted(table, key_env="SHIFT_KEY")["visit"]
    assert (out.type, out.to_pylist()) == (pa.int32(), [int(f"{SHIFTED:%Y%m%d}")])


def test_an_order_that_the_column_does_not_show_is_asked_for() -> None:
    table = {"id": ["a"], "visit": ["1/5/2024"]}
    with pytest.raises(ColumnError, match="date_order"):
        shifted(table)
    for order, month in {"day_first": 5, "month_first": 1}.items():
        out = shifted(table, key_env="SHIFT_KEY", date_order=order)["visit"]
        day = datetime.date(2024, month, 6 - month) + naive_offset("a", 30) * DAY
        assert out == [str(day)]
    with pytest.raises(ColumnError):
        shifted({"id": ["a"], "visit": ["12/31/2024"]}, date_order="day_first")


@pytest.mark.parametrize(
    "values",
    [
        ["2024-05"],
        ["2024/5"],
        [202405],
        ["04.2015"],
        ["04/2015"],
        ["令和6年1月"],
        ["令和6年"],
        ["令和6年1月", "令和6年1月31日"],
    ],
    ids=str,
)
def test_months_and_years_are_refused(values: list[Any]) -> None:
    with pytest.raises(ColumnError, match="names no single day"):
        shifted({"id": ["a"] * len(values), "visit": values})


@pytest.mark.parametrize("values", [["flu"], [3.5], [True], ["2024-02-30"], [7]], ids=str)
def test_other_values_are_refused(values: list[Any]) -> None:
    with pytest.raises(ColumnError, match="needs dates"):
        shifted({"id": ["a"], "visit": values})


@pytest.mark.parametrize(
    "visit",
    [
        pa.array([datetime.date(1, 1, 2), datetime.date(9999, 12, 30)]),
        pa.array([-(2**63) + 1, 2**63 - 1]).cast(pa.timestamp("ns")),
        pa.array([2**60, -(2**60)]).cast(pa.timestamp("s")),
    ],
    ids=["dates", "nanoseconds", "far"],
)
def test_dates_that_would_leave_the_calendar_are_refused(visit: pa.Array) -> None:
    for person in ("a", "b"):  # one end or the other
        with pytest.raises(ColumnError, match="leave the years"):
            shifted(pa.table({"id": [person] * 2, "visit": visit}), 400, key_env="SHIFT_KEY")


def test_nothing_but_missing_values_stays() -> None:
    assert shifted({"id": ["a", "b"], "visit": [None, None]})["visit"] == [None, None]


def test_parameters_that_do_not_fit() -> None:
    for wrong in (
        {"days": 0},
        {"days": 10**6},
        {"days": 1, "key_env": "A_KEY", "key_file": "key"},
        {"days": 1, "key_env": "a key"},
    ):
        with pytest.raises((ValidationError, OboroError)):
            DateShift(attribute="visit", **wrong)
    with pytest.raises(UsageError, match="needs the person"):
        shifted({"visit": [FIRST]}, person=None, key_env="SHIFT_KEY")


def test_a_key_in_the_recipe_is_not_repeated() -> None:
    secret = "d3b07384d113edec49eaa6238ad5ff00"
    for wrong in ({"key": secret}, {"key_env": secret + " "}):
        with pytest.raises(RecipeError) as refused:
            recipe({"attribute": "visit", "days": 3, **wrong})
        assert secret not in str(refused.value)


# Release checks -------------------------------------------------------------------------------------------------------


def recipe(*steps: dict[str, Any], **more: Any) -> oboro.Recipe:
    return oboro.Recipe(
        attributes={"id": {"role": "identifier"}, "sex": {"role": "quasi"}, "visit": {"role": "other"}},
        steps=[
            *({"date_shift": one} for one in steps),
            {"k_anonymize": {"k": 2}},
            {"drop_columns": {"attributes": ["id"]}},
        ],
        **{"person": "id", "seed": 5, **more},
    )


def visits(people: int = 40) -> dict[str, list[Any]]:
    rng = np.random.default_rng(1)
    return {
        "id": [f"p{number}" for number in range(people)],
        "sex": ["F", "M"] * (people // 2),
        "visit": [FIRST + int(day) * DAY for day in rng.choice(5000, people, replace=False)],
    }


def test_shifted_dates_are_counted_as_exact_values() -> None:
    with pytest.raises(SingledOutError, match="visit"):
        recipe({"attribute": "visit", "days": 365}).run(visits())
    accepted = {"unique_on": ["visit"], "because": "made-up people"}
    release = recipe({"attribute": "visit", "days": 365}, accept=accepted).run(visits())
    assert perturbed_columns(release.steps) == set()
    assert release.steps[0].changed["visit"] > 30


def test_a_column_is_shifted_once() -> None:
    with pytest.raises(UsageError, match="an earlier date_shift"):
        recipe({"attribute": "visit", "days": 3}, {"attribute": "visit", "days": 3}).run(visits())


def test_differences_that_only_one_person_has_are_counted() -> None:
    days = {"a": [0, 5], "b": [100, 105], "c": [0, 6], "d": [7], "e": [3, 1, 3], "f": [13, 13, 11]}
    table = {
        "id": [who for who, at in days.items() for _ in at],
        "visit": [FIRST + day * DAY for at in days.values() for day in at],
    }
    step = DateShift(attribute="visit", days=30)
    release = oboro.Recipe(
        attributes={"id": {"role": "identifier"}, "visit": {"role": "other"}},
        steps=[step, {"drop_columns": {"attributes": ["id"]}}],
        person="id",
        accept={"unique_on": ["visit"], "because": "made-up people"},
    ).run(table)
    assert release.steps[0].facts["unique_by_intervals"] == {"people": 5, "unique": 1}
    assert "1 of 5 people" in str(release.steps[0].warnings[0])
    assert "1 of 5 people" in release.explain()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.none() | st.integers(0, 3), st.none() | st.integers(0, 3)),
        min_size=1,
        max_size=14,
    )
)
def test_unique_differences_by_brute_force(records: list[tuple[int, int | None, int | None]]) -> None:
    own: dict[int, list[tuple[int | None, ...]]] = {}
    for who, *at in records:
        own.setdefault(who, []).append(tuple(at))
    told = []
    for rows in own.values():
        known = [day for row in rows for day in row if day is not None]
        if len(known) > 1:
            kept = [row for row in rows if set(row) != {None}]
            told.append(str(sorted(str([None if day is None else day - min(known) for day in row]) for row in kept)))
    wanted = sum(count == 1 for count in Counter(told).values()), len(told)
    columns = [np.array([1 << 62 if row[at] is None else row[at] for row in records]) for at in (1, 2)]
    assert _unique_by_differences(columns, Column.of([row[0] for row in records])) == wanted


def test_a_stream_says_why_it_cannot() -> None:
    with pytest.raises(RecipeError, match="needs the person of a record beside the date"):
        recipe({"attribute": "visit", "days": 3}).stream()


def test_the_work_is_not_changed() -> None:
    data = oboro.Dataset.of(visits())
    work = Work(data, Schema({"visit": Attribute()}), np.random.default_rng(1))
    assert DateShift(attribute="visit", days=5).run(work).data["visit"] is not data["visit"]
    assert data["visit"].decode().to_pylist() == visits()["visit"]
