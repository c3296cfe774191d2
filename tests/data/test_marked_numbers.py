"""Numbers with a sign of money or per cent."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oboro
from oboro.data.column import Column
from oboro.hierarchies.propose import propose
from oboro.hierarchies.recoding import possible_values
from oboro.notations.amounts import is_unclear_amount, read_marked
from oboro.notations.kinds import Kind, kind_of, numbers_of

MONEY = ["$1,234.50", "$12", "-$7.25"]


def naive(texts: list[str]) -> list[float] | None:
    """One sign for all, commas only between thousands, and a point that is seen before decimals.

    Without a sign, some comma must stand between thousands for certain.
    """
    bare = [text.lstrip("-") for text in texts]
    signs = {(text[0] if text[0] in "$£" else "", "%" if text.endswith("%") else "") for text in bare}
    if len(signs) > 1:
        return None
    if signs == {("", "")}:
        only = r"\d{1,3}(,\d{3}){2,}(\.\d+)?|\d{1,3},\d{3}\.\d+|\d+\.(\d{1,2}|\d{4,})|(0|\d{4,})\.\d+"  # one meaning
        sure = any(re.fullmatch(only, one) for one in bare)
        grouped = all(re.fullmatch(r"(\d{1,3}(,\d{3})+|\d+)(\.\d+)?", one) for one in bare)
        if not (grouped and sure and any("," in one for one in bare)):
            return None
    inner = [text.strip("$£%") for text in bare]
    if any("," in one and not all(len(part) == 3 for part in one.split(".")[0].split(",")[1:]) for one in inner):
        return None
    if any(len(one.split(".")[0].split(",")[0]) > 3 and "," in one for one in inner):
        return None
    thousand = [
        one.count(".") == 1 and "," not in one and len(one.split(".")[1]) == 3 and len(one.split(".")[0]) < 4
        for one in inner
    ]
    money = next(iter(signs))[0] != ""
    told = any(("." in one or "," in one) and not open_ for one, open_ in zip(inner, thousand, strict=True))
    if money and any(thousand) and not told:
        return None
    return [
        float(one.replace(",", "")) * (-1 if text.startswith("-") else 1)
        for one, text in zip(inner, texts, strict=True)
    ]


whole = st.integers(0, 10**7)
amounts = st.builds(
    lambda minus, sign, number, grouped, decimals, unit: (
        f"{minus}{sign}{number:,}{decimals}{unit}" if grouped else f"{minus}{sign}{number}{decimals}{unit}"
    ),
    st.sampled_from(["", "", "-"]),
    st.sampled_from(["$"] * 6 + ["", "£"]),
    whole,
    st.booleans(),
    st.sampled_from(["", "", ".50", ".5", ".123", ".1234"]),
    st.sampled_from([""] * 6 + ["%"]),
).filter(lambda text: not (text.lstrip("-")[0] in "$£" and text.endswith("%")))


@given(st.lists(amounts, min_size=1, max_size=4))
def test_a_column_is_read_as_by_hand(texts: list[str]) -> None:
    found = read_marked(pa.array(texts))
    assert (None if found is None else [float(one) for one in found.to_pylist()]) == naive(texts)


def naive_euros(texts: list[str]) -> list[float] | None:
    """What all values mean in the English way, or in the other; None where both are possible and differ, or neither is."""
    ways = []
    for thousands, decimal in ((",", "."), (".", ",")):
        read = [_one(text.strip("-€ "), thousands, decimal) for text in texts]
        if None not in read:
            ways.append([one * (-1 if text.startswith("-") else 1) for one, text in zip(read, texts, strict=True)])
    return ways[0] if ways and all(way == ways[0] for way in ways) else None


def _one(number: str, thousands: str, decimal: str) -> float | None:
    whole, *rest = number.split(decimal)
    first, *groups = whole.split(thousands)
    right = (
        first.isdecimal()
        and all(len(one) == 3 and one.isdecimal() for one in groups)
        and (not groups or len(first) < 4)
    )
    right = (
        right
        and ((first == "0" and not groups) or not first.startswith("0"))
        and all(one.isdecimal() for one in rest)
        and len(rest) < 2
    )
    return float("".join([first, *groups, ".", *(rest or "0")])) if right else None


euros = st.builds(
    lambda minus, number, marks, decimals: (
        f"{minus}€{number:,}".replace(",", marks[0]) + (f"{marks[1]}{decimals}" if decimals else "")
    ),
    st.sampled_from(["", "", "-"]),
    st.sampled_from([0, 7, 12, 987, 1234, 45000, 1234567]),
    st.sampled_from([",.", ".,"]),
    st.sampled_from(["", "", "5", "50", "123"]),
)


@given(st.lists(euros, min_size=1, max_size=4))
def test_euros_are_read_as_by_hand(texts: list[str]) -> None:
    found = read_marked(pa.array(texts))
    assert (None if found is None else [float(one) for one in found.to_pylist()]) == naive_euros(texts)


@given(st.lists(amounts | euros, min_size=1, max_size=4))
def test_a_part_of_a_column_is_never_read_otherwise(texts: list[str]) -> None:
    found, part = (read_marked(pa.array(some)) for some in (texts, texts[1:] or texts))
    if found is not None and part is not None:
        assert [float(one) for one in part.to_pylist()] == [float(one) for one in found.to_pylist()][-len(part) :]


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (MONEY, Kind.NUMBER),
        (["$45,000", "$7"], Kind.INTEGER),
        (["64%", "8%", None], Kind.INTEGER),
        (["12.5%", "8%"], Kind.NUMBER),
        (["£1,000,000.00"], Kind.NUMBER),
        (["$5", "7"], Kind.TEXT),  # dollars, or not
        (["$1.234"], Kind.TEXT),  # a thousand, or a little more than one
        (["$5", "£5"], Kind.TEXT),
        (["64%", "0.64"], Kind.TEXT),
        (["12.50 €"], Kind.NUMBER),
        (["1.234,50 €", "7 €", None], Kind.NUMBER),
        (["€1.234,50", "-€12"], Kind.NUMBER),
        (["1\u202f234,50\xa0€", "12,00\xa0€"], Kind.NUMBER),  # as in France
        (["€1.234", "€12,5"], Kind.NUMBER),
        (["€1,234", "€12.5"], Kind.NUMBER),
        (["€12", "€7"], Kind.INTEGER),
        (["12,5 %", "8 %"], Kind.NUMBER),
        (["€1.234", "€5.678"], Kind.TEXT),  # thousands, or a little more than one
        (["€1.234,5", "€1,234.5"], Kind.TEXT),
        (["€5", "$5"], Kind.TEXT),
        (["5 €", "€5"], Kind.TEXT),
        (["1,234", "5,678"], Kind.TEXT),
        (["1,234", "567"], Kind.TEXT),
        (["1,234,567", "89"], Kind.INTEGER),
        (["1,234.5", "12,000", "7"], Kind.NUMBER),
        ([f"{number:,}" for number in range(990, 1035)], Kind.INTEGER),  # 10 below 1,000, 35 above
        ([f"{number:,}" for number in range(990, 1029)], Kind.TEXT),  # too few to be sure
        ([f"{number:,}" for number in range(2000, 2100)], Kind.TEXT),
        (["1,234", "5678"], Kind.TEXT),
        (["01,234,567"], Kind.TEXT),
        (["$007"], Kind.TEXT),
        (["$"], Kind.TEXT),
    ],
)
def test_a_column_is_read_where_it_can_mean_one_thing(texts: list[str | None], kind: Kind) -> None:
    assert kind_of(pa.array(texts)) is kind


def test_amounts_have_places_hierarchies_and_levels() -> None:
    assert numbers_of(pa.array(MONEY)).tolist() == [1234.5, 12.0, -7.25]
    spec = propose("income", Column.of([f"${1000 * i:,}" for i in range(1, 90)]))
    assert spec is not None
    assert spec.intervals is not None


def test_new_amounts_have_the_sign_of_the_column() -> None:
    table = {"income": ["$1,234.50", "$12", "$7.25", "$2,000"]}
    assert oboro.TopCode(attribute="income", at=1000).apply(table)["income"] == ["$1000", "$12", "$7.25", "$1000"]
    assert oboro.Round(attribute="income", base=500).apply(table)["income"] == ["$1000", "$0", "$0", "$2,000"]


def test_ranges_of_amounts_are_read_back() -> None:
    attributes = {"income": {"role": "quasi"}}
    released = oboro.LocalRecode(k=3).apply({"income": MONEY}, attributes=attributes)["income"]
    assert released == ["-$7.25 to $1,234.50"] * 3
    assert possible_values(Column.of(MONEY), Column.of(["$12–$1,234.50"])).reaches(0).tolist() == [False, True, True]
    assert possible_values(Column.of(["64%", "8%"]), Column.of(["8%–30%"])).reaches(0).tolist() == [True, False]


def test_new_amounts_in_euros_and_thousands() -> None:
    table = {"income": ["1.234,50 €", "12,00 €", "7,25 €", "2.000,00 €"]}
    assert oboro.TopCode(attribute="income", at=1000.5).apply(table)["income"] == [
        "1000,5 €",
        "12,00 €",
        "7,25 €",
        "1000,5 €",
    ]
    table = {"income": ["1,234,567", "12,000", "999", "40,000"]}
    assert oboro.Round(attribute="income", base=25_000).apply(table)["income"] == ["1,225,000", "0", "0", "50,000"]
    yen = {"income": ["1,234円", "12,000円"]}  # another reader's
    assert oboro.TopCode(attribute="income", at=5000).apply(yen)["income"] == ["1,234円", "5000円"]


@pytest.mark.parametrize(
    "texts", [["1.234 €", "12,50 €", "7 €"], ["1,234,567", "12,345", "7"], ["€1.234", "€5,5", "€7"]]
)
def test_ranges_of_euros_and_thousands_are_read_back(texts: list[str]) -> None:
    released = oboro.LocalRecode(k=3).apply({"income": texts}, attributes={"income": {"role": "quasi"}})["income"]
    assert len(set(released)) == 1
    assert possible_values(Column.of(texts), Column.of(released)).reaches(0).tolist() == [True] * 3


def test_unclear_amounts_say_so() -> None:
    assert is_unclear_amount(pa.array(["1,234", "€5"])) is False
    table = {"income": ["1,234", "5,678"]}
    with pytest.raises(oboro.errors.ColumnError, match="between thousands or before decimals"):
        oboro.Round(attribute="income", base=10).apply(table)
    assert "between thousands or before decimals" in str(oboro.init(table))
