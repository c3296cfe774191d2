"""What is found in a release: every kind of identifier where it is, and none where there is none."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oboro.data.column import UnreadColumn
from oboro.data.dataset import Dataset
from oboro.disclosure.identifiers import scan, unseen

ROWS = 200
DRAW = random.Random(1)


def digits(count: int) -> list[int]:
    return [DRAW.randrange(10) for _ in range(count)]


def my_number() -> str:
    """By the definition: P_n is the n-th digit from the right of the eleven, Q_n = n + 1 up to six and n − 5 from seven on."""
    eleven = digits(11)
    weighted = sum(p * (n + 1 if n <= 6 else n - 5) for n, p in enumerate(reversed(eleven), 1))
    rest = weighted % 11
    return "".join(map(str, eleven)) + str(0 if rest <= 1 else 11 - rest)


def licence() -> str:
    ten = [3, 0, 9, 2, *digits(6)]
    rest = sum(a * b for a, b in zip(ten, (5, 4, 3, 2, 7, 6, 5, 4, 3, 2), strict=True)) % 11
    return "".join(map(str, ten)) + str((11 - rest) % 10) + "0"


def card() -> str:
    fifteen = [4, *digits(14)]
    total = sum(sum(divmod(2 * d, 10)) if place % 2 == 0 else d for place, d in enumerate(fifteen))
    return "".join(map(str, fifteen)) + str(-total % 10)


FOUND: list[tuple[str, str, list[Any]]] = [  # kind, column, values (the last one counts where only one does)
    ("email", "remark", ["ok", "mail taro@example.co.jp please"]),
    ("phone", "remark", ["ok", "call 03-1234-5678 after six"]),
    ("phone", "contact", ["090-1234-5678", "0120-123-456", "+81 90 1234 5678", "0312345678", "(03) 1234-5678"]),
    ("phone", "contact", ["(212) 555-0123", "212-555-0123", "+1 212 555 0123"]),
    ("url", "remark", ["ok", "see https://example.org/me"]),
    ("ip", "host", ["10.1.2.3"]),
    ("ip", "host", ["fe80::1", "2001:db8:0:0:0:0:0:1"]),
    ("device", "host", ["00:1A:2B:3C:4D:5E"]),
    ("ssn", "number", ["078-05-1120"]),
    ("my_number", "number", [my_number() for _ in range(50)]),
    ("my_number", "number", [f"{n[:4]} {n[4:8]} {n[8:]}" for n in (my_number() for _ in range(50))]),
    ("licence", "number", [licence() for _ in range(50)]),
    ("passport", "number", ["TK1234567", "MZ7654321"]),
    ("residence_card", "number", ["AB12345678CD"]),
    ("pension", "number", ["1234-567890"]),
    ("card", "number", [card() for _ in range(50)]),
    ("account", "number", ["DE89370400440532013000", "GB29NWBK60161331926819"]),
    ("vehicle", "number", ["1HGCM82633A004352"]),
    ("plate", "number", ["品川 300 あ 12-34", "横浜530さ・1-23"]),
    ("photo", "file", ["a.jpg", "b.PNG"]),
    ("zip", "zip", [13053, 14850]),
    ("zip", "code", ["02138", "13053-1234"]),
    ("zip", "郵便番号", ["100-0001", "5300001"]),
    ("zip", "zip", ["1305*"]),
    ("small_zip", "zip", ["130", "036"]),
    ("small_zip", "zip", [36]),
    ("small_zip", "zip", ["692**"]),
    ("over_89", "age", [30, 93]),
    ("over_89", "age", ["20-29", "90-94", "95-99"]),
    ("over_89", "patientAge", ["20-29", "95+"]),
    ("over_89", "birth_year", [1930]),
    ("date", "seen", ["1985-03-15"]),
    ("date", "seen", ["1985/03"]),
    ("date", "seen", ["03/15/1985"]),
    ("date", "seen", ["15.3.85"]),
    ("date", "seen", ["Mar 15, 1985", "15 March 1985"]),
    ("date", "seen", ["昭和60年3月15日", "R6.5.1"]),
]


@pytest.mark.parametrize(("kind", "column", "values"), FOUND, ids=lambda one: str(one)[:20])
def test_is_found(kind: str, column: str, values: list[Any]) -> None:
    cells = (values * ROWS)[:ROWS]
    found = {one.kind: one for one in scan(Dataset.of({column: cells})) if not one.named}
    assert kind in found, found
    assert 0 < found[kind].records <= ROWS


QUIET: dict[str, list[Any]] = {
    "age": ["20–29", "30–39", "≥90", "*", None],
    "old age": [20, 45, 89, 90],
    "sex": ["F", "M"],
    "salary": [DRAW.randrange(20_000, 99_999) for _ in range(ROWS)],
    "amount": [round(DRAW.random() * 1e5, 2) for _ in range(ROWS)],
    "year": list(range(1950, 2020)),
    "years": ["2000-2009", "2010-2019"],
    "zip": ["130", "148", "130**"],
    "transaction": [DRAW.randrange(10**11, 10**12) for _ in range(ROWS)],
    "moment": [f"2024010112{minute:02d}" for minute in range(60)],
    "time": ["12:30:45", "08:15"],
    "version": ["1.2.3", "10.4"],
    "ratio": ["1900.5", "2000.7"],
    "pseudonym": ["".join(DRAW.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", k=16)) for _ in range(ROWS)],
    "prefecture": ["東京都", "大阪府"],
    "drug_name": ["aspirin", "ibuprofen"],
    "native-country": ["Japan", "Peru"],
    "hours-per-week": [38, 40, 42],
    "device_os": ["ios", "android"],
    "electricity": [12, 13],
    "icd": ["J45.0", "E11.9"],
    "sixteen": [DRAW.randrange(10**15, 10**16) for _ in range(ROWS)],
    "score": ["1-2-3", "2-2-1"],
}


@pytest.mark.parametrize("column", list(QUIET))
def test_nothing_is_found_where_nothing_is(column: str) -> None:
    cells = (QUIET[column] * ROWS)[:ROWS]
    assert scan(Dataset.of({column: cells}), Dataset.of({column: [f"original {i}" for i in range(ROWS)]})) == []


def test_codes_of_the_original_are_found_under_any_name() -> None:
    numbers = [10_000 + i for i in range(ROWS)]
    original = Dataset.of({"customer_no": numbers, "sum": [i % 50 for i in range(ROWS)]})
    for name in ("customer_no", "ref"):
        assert [(one.kind, one.column) for one in scan(Dataset.of({name: list(map(str, numbers))}), original)] == [
            ("code", name)
        ]
    fresh = Dataset.of({"customer_no": [f"X{i}" for i in range(ROWS)]})
    assert [one.kind for one in scan(fresh, original)] == []
    assert [
        one.kind for one in scan(Dataset.of({"customer_no": numbers[:10]}), original)
    ] == []  # ten records: no telling


def test_what_a_column_is_called_counts_while_it_holds_the_originals_values() -> None:
    original = Dataset.of({"住所": ["東京都港区", "大阪市北区"] * 50, "passport": ["A", "B"] * 50})
    kept = {(one.column, one.kind, one.named) for one in scan(original, original)}
    assert kept == {("住所", "place", True), ("passport", "passport", True)}
    coarser = Dataset.of({"住所": ["東京都", "大阪府"] * 50, "passport": ["*"] * 100})
    assert scan(coarser, original) == []


def test_what_is_idiosyncratic_is_found() -> None:
    table = Dataset.of(
        {
            "age": [20 + i % 60 for i in range(ROWS - 1)] + [116],
            "illness": ["flu", "cold"] * 99 + ["kuru", "kuru"],
            "income": [300 + i % 150 for i in range(ROWS - 1)] + [99_999],
            "height": [150.0 + i % 40 for i in range(ROWS)],
        }
    )
    found = {(one.column, one.kind): one.records for one in scan(table)}
    assert found == {("age", "over_89"): 1, ("age", "extreme"): 1, ("illness", "rare"): 2, ("income", "extreme"): 1}


@given(st.integers(0, 10**12 - 1))
def test_one_changed_digit_is_no_individual_number(number: int) -> None:
    """A check digit catches every single mistake but those at the remainders 0 and 1, which share the digit 0."""
    right = my_number()
    place, wrong = number % 11, str((int(right[number % 11]) + 1 + number % 9) % 10)
    changed = right[:place] + wrong + right[place + 1 :]
    found = {one.kind for one in scan(Dataset.of({"x": [changed] * 30}))}
    assert "my_number" not in found or right[11] == "0"


def test_columns_that_were_not_looked_at_are_named() -> None:
    assert unseen(Dataset({"a": Dataset.of({"a": ["x"]})["a"], "b": UnreadColumn(1)}, 1)) == ["b"]


def test_a_range_of_numbers_that_begins_like_a_date_is_none() -> None:
    ranges = {"charge": ["1877.5–2000.4", "1990.12–30000"] * 20, "day": ["1990-12-31 to 1991-02-03", "1990.12.31"] * 20}
    assert {one.column for one in scan(Dataset.of(ranges)) if one.kind == "date"} == {"day"}
