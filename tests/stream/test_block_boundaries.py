"""What comes of a record does not depend on the block in which it comes: another process may read others and must agree."""

from __future__ import annotations

import json
from datetime import date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oboro.errors import InputError, UsageError
from oboro.hierarchies.spec import HierarchySpec
from oboro.recipe.recipe import Recipe
from oboro.recipe.stream import StreamOptions, anonymizer
from oboro.stream.delay_free.values import ValueLevels
from oboro.stream.engine import Decider
from oboro.stream.records import body_form

NUMBERS: list[Any] = [
    *(
        0,
        -0.0,
        7,
        7.0,
        12,
        12.5,
        True,
        1,
        "12",
        "12.5",
        "1.234",
        "1.234,50",
        "39歳",
        "007",
        1 << 53,
        1 << 64,
        1e300,
        "x",
        "-3",
    ),
]
CODES: list[Any] = ["1", "12", "1234", "12345", 12, 123, "é", "", "a b c d e", True, 1.5, "\ud800"]
DAYS: list[Any] = [
    *(
        "2020-01-02",
        "2020/1/2",
        "31.12.1990",
        "13/1/1990",
        "1/13/1990",
        "2020-01-02T10:00:00",
        "昭和34年6月7日",
        "04.2015",
        "10.2015",
        "2020-05",
        "2020/5",
        "20200531",
        20200531,
        202005,
    ),
    *("2020-02-30", "2020", 2020, date(2020, 1, 2), datetime(2020, 1, 2, 3), "x"),
]
LISTED: list[Any] = [
    "Kyoto",
    "Nara",
    "kyoto",
    "39",
    39,
    39.0,
    "40",
    "2020-01-31",
    "2020-01-31T00:00:00",
    "x",
    True,
    "true",
]
ADDRESSES: list[Any] = [
    "東京都新宿区西新宿2",
    "東京都新宿区",
    "東京都",
    "東京都新しい市1",
    "〒160-0023 東京都新宿区",
    "港区1",
    "x",
]
POSTCODES: list[Any] = ["100-0001", "1000002", "〒100-0001", "100", "", 600001, "１００－０００１"]
AGES: list[Any] = ["39歳", "４０歳", "41", 42, 42.5, "100歳", "200歳", "x"]
ERAS: list[Any] = [
    "昭和34年6月7日",
    "昭和34年",
    "昭和",
    "昭和64年1月8日",
    "平成元年5月",
    "平成2年2月30日",
    "2019-04-30",
    "S34.6.7",
]
ILLNESSES: list[Any] = ["E11", "E11.9", "E119", "e11.-", "E10-E14", "B99", "XX"]
TREE = {"West": ["Kyoto", "Nara"], "Numbers": ["39.00", "40"], "Others": ["2020-01-31", "TRUE"]}
CASES: list[tuple[dict[str, Any], list[Any]]] = [
    ({"intervals": [5, 10, 40]}, NUMBERS),
    ({"intervals": {"edges": [[0, 10, 40], [0, 40]]}}, NUMBERS),
    ({"mask": {"side": "right", "steps": [1, 2, 4]}}, CODES),
    ({"mask": {"side": "left", "steps": [1, 3]}}, CODES),
    ({"dates": ["month", "year"]}, DAYS),
    ({"dates": ["year", "decade"]}, DAYS),
    ({"dates": ["day", "month"], "date_order": "month_first"}, DAYS),
    ({"tree": TREE}, LISTED),
    ({"japan": "address"}, ADDRESSES),
    ({"japan": "postcode"}, POSTCODES),
    ({"japan": "age"}, AGES),
    ({"japan": "era"}, ERAS),
    ({"icd10": "chapters"}, ILLNESSES),
]
ROWS = [
    {"age": age, "zip": zip_, "note": n}
    for n, (age, zip_) in enumerate(
        [
            (31, "12"),
            (31.0, "123"),
            (38, 12),
            (1.0, []),
            (1, "12"),
            (12.5, "12"),
            ("31", "12"),
            (31, "12"),
            (38.5, "1"),
            (True, "1"),
        ]
    )
]
RECIPE: dict[str, Any] = {
    "attributes": {
        "age": {"role": "quasi", "hierarchy": {"intervals": [10, 40]}},
        "zip": {"role": "quasi", "hierarchy": {"mask": {"side": "right", "steps": [1, 2]}}},
        "note": {"role": "other"},
    },
    "steps": [{"k_anonymize": {"k": 2}}],
}


def labels(spec: dict[str, Any], values: list[Any]) -> list[Any]:
    """What each value becomes on all levels; None of one that is refused."""
    one = ValueLevels("place", HierarchySpec(**spec))
    try:
        return [one.paths[code] for code in one.learn(values)]
    except InputError:
        return [None] * len(values)


@pytest.mark.parametrize(("spec", "values"), CASES, ids=lambda one: str(one)[:30])
def test_labels_of_values_that_are_new_together_are_those_of_each_alone(
    spec: dict[str, Any], values: list[Any]
) -> None:
    """By itself 12 was in `10–19` and beside 12.5 in `[10, 20)`; 1.234 was a thousand beside 1.234,50."""
    alone = {(type(value), value): labels(spec, [value])[0] for value in values}
    taken = [value for value in values if alone[type(value), value] is not None]
    assert len(taken) > 2
    different = list(dict.fromkeys(taken))  # 1, 1.0 and true are one
    assert labels(spec, different) == [alone[type(value), value] for value in different]
    backwards = list(dict.fromkeys(taken[::-1]))
    assert labels(spec, backwards) == [alone[type(value), value] for value in backwards]


def in_blocks(rows: list[dict[str, Any]], cuts: list[int], **options: Any) -> tuple[list[bytes], list[bytes]]:
    made = anonymizer(Recipe(**RECIPE), StreamOptions(**options))
    decider = Decider(made, body_form("ndjson"), body_form("ndjson"))
    bodies, letters, at = list[bytes](), list[bytes](), 0
    for count in [*cuts, len(rows)]:
        items = [(json.dumps(row).encode(), str(row["note"]), 1000.0) for row in rows[at : at + count]]
        done = decider.decide(items)
        bodies, letters, at = bodies + done.bodies, letters + done.letters, at + count
    return bodies, letters


@given(
    st.lists(st.sampled_from(ROWS), min_size=2, max_size=12),
    st.lists(st.integers(1, 6), max_size=4),
    st.sampled_from([{}, {"mode": "count"}, {"horizon": 3}]),
)
def test_the_same_records_in_other_blocks_are_released_alike(
    rows: list[dict[str, Any]], cuts: list[int], options: dict[str, Any]
) -> None:
    """Values of records that were refused, and of those that came later in a block, were learned before their turn."""
    assert in_blocks(rows, cuts, **options) == in_blocks(rows, [1] * len(rows), **options)


@pytest.mark.parametrize(
    ("spec", "value", "expected"),
    [
        ({"japan": "postcode"}, "100-0001", ("100-0001", "100-****", "10*-****")),
        ({"japan": "address"}, "東京都新宿区西新宿2", ("東京都新宿区西新宿2", "東京都新宿区", "東京都", "関東地方")),
        ({"japan": "age"}, "39歳", ("39歳", "35～39歳", "35～44歳", "15～64歳")),
        ({"japan": "era"}, "昭和34年6月7日", ("昭和34年6月7日", "昭和34年6月", "昭和34年", "昭和")),
        ({"icd10": "chapters"}, "E11.9", ("E11.9", "E11", "E10-E14", "IV (E00-E90)")),
        ({"dates": ["quarter", "year"]}, "2020-05", ("2020-05", "2020-Q2", "2020")),
    ],
)
def test_ready_hierarchies_have_their_levels_in_streams(
    spec: dict[str, Any], value: str, expected: tuple[str, ...]
) -> None:
    """A stream took them for the value or `*`."""
    assert labels(spec, [value]) == [expected]


@pytest.mark.parametrize("spec", [{"neighbours": {"groups": [2]}}, {"priority": {"levels": 2}}])
def test_a_hierarchy_of_all_values_is_refused_in_streams(spec: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="depends on all values"):
        ValueLevels("place", HierarchySpec(**spec))
