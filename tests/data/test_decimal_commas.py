"""Numbers with a decimal comma: read where they can mean nothing else, and written as they came."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oboro
from oboro.data.column import Column
from oboro.hierarchies.labels import NumericLabels, label_range
from oboro.notations.amounts import read_decimal_commas
from oboro.notations.kinds import Kind, kind_of, numbers_of

AMOUNTS = ["12,50", "7", "1.234,5", "-0,125", None, "99,90"]


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (AMOUNTS, Kind.NUMBER),
        (["1234,567"], Kind.NUMBER),
        (["1,234", "5,678"], Kind.TEXT),  # thousands, or a little more than one
        (["1,234", "1,5"], Kind.NUMBER),
        (["1.234", "1,5"], Kind.TEXT),  # 1.234 may be a thousand
        (["007,5"], Kind.TEXT),
        (["1,2,3"], Kind.TEXT),
        (["1,5", "much"], Kind.TEXT),
        (["12,50 EUR"], Kind.TEXT),
    ],
)
def test_a_column_is_read_where_it_can_mean_one_thing(texts: list[str | None], kind: Kind) -> None:
    assert kind_of(pa.array(texts)) is kind


@given(st.lists(st.decimals(-(10**9), 10**9, places=2), min_size=1))
def test_what_was_written_is_read(numbers: list[Decimal]) -> None:
    plain = [f"{number:.2f}" for number in numbers]
    grouped = [f"{number:,.2f}".translate(str.maketrans(",.", ".,")) for number in numbers]
    for texts in ([text.replace(".", ",") for text in plain], grouped):
        assert kind_of(pa.array(texts)) is Kind.NUMBER
        assert numbers_of(pa.array(texts)).tolist() == [float(text) for text in plain]
    assert read_decimal_commas(pa.array(grouped)).to_pylist() == [float(text) for text in plain]


def test_new_numbers_have_commas_too() -> None:
    table = {"spent": ["12,50", "99,90", "7", "250,25"]}
    assert oboro.TopCode(attribute="spent", at=100.5).apply(table) == {"spent": ["12,50", "99,90", "7", "100,5"]}
    assert oboro.Round(attribute="spent", base=0.5).apply(table) == {"spent": ["12,50", "100", "7", "250"]}
    means = oboro.Microaggregate(attributes=["spent"], k=2).apply(table, attributes={"spent": {"role": "quasi"}})
    assert sorted(means["spent"]) == ["175,0750", "175,0750", "9,75", "9,75"]


def test_ranges_are_read_again() -> None:
    assert NumericLabels.of(Column.of(["12,50–99,90", "7"])) is not None
    found = label_range("1.000,50–2.000,50")
    assert found is not None
    assert (found.first, found.last) == ("1.000,50", "2.000,50")
    assert label_range("1,000–2,000") is None  # thousands, or ones
    assert label_range("[1,2,3]") is None  # a set
    assert label_range("[20,30)") == label_range("[20, 30)")


def test_a_table_of_customers_goes_through() -> None:
    rows = [{"plz": f"1011{i % 2}", "spent": f"{10 + i},{i % 10}0"} for i in range(60)]
    table = {name: [row[name] for row in rows] for name in ("plz", "spent")}
    starter = oboro.init(table)
    assert starter.recipe.attributes["spent"].role == "quasi"
    release = starter.recipe.run(table)
    assert release.verification.holds
    assert all("." not in text for text in release.data["spent"])


def test_a_mean_has_two_places_more_than_the_column() -> None:
    table = {"spent": ["12231,01", "0", "0", "7,5"]}
    found = oboro.Microaggregate(attributes=["spent"], k=4).apply(table)["spent"]
    assert set(found) == {"3059,6275"}
    assert set(oboro.Microaggregate(attributes=["spent"], k=3).apply({"spent": ["1,5", "0", "0"]})["spent"]) == {"0,5"}
    assert set(oboro.Microaggregate(attributes=["spent"], k=3).apply({"spent": ["1,1", "0", "0"]})["spent"]) == {
        "0,3667"
    }
