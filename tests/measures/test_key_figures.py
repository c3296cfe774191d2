"""The figures that a run prints without a report are those that the report measures."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawing import picks

from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.hierarchies.spec import HierarchySpec
from oboro.measures.information_loss import utility
from oboro.measures.risk import LOSSES, Loss, key_figures, risk


@st.composite
def releases(draw: st.DrawFn) -> tuple[Dataset, Dataset, dict[str, HierarchySpec]]:
    rows = draw(st.integers(0, 12))
    ages = draw(picks([23, 27, 31, 58], min_size=rows, max_size=rows))
    sexes = draw(picks(["F", "M", None], min_size=rows, max_size=rows))
    before = Dataset(
        {"age": Column.encode(pa.array(ages, pa.int64())), "sex": Column.encode(pa.array(sexes, pa.string()))}, rows
    )
    trees = {"age": HierarchySpec(intervals=[10, 20]), "sex": HierarchySpec()}
    bound = {name: spec.build(name, before[name]) for name, spec in trees.items()}
    level = draw(st.integers(0, bound["age"].height))
    age = bound["age"].generalize(before["age"], level)
    odd = draw(st.booleans())
    shown = Column.encode(pa.array(["?"] * rows)) if odd and rows else before["sex"]
    return before, Dataset({"age": age, "sex": shown}, rows), bound


@given(releases())
def test_key_figures_are_those_of_the_report(case):
    before, after, trees = case
    quasi = ["age", "sex"]
    found = key_figures(before, after, quasi, trees)
    measured = utility(before, after, quasi=quasi, hierarchies=trees)
    whole = {one.name: one.value for one in measured if one.column is None and one.value is not None}
    assert {one.name: one.value for one in found.losses} == pytest.approx(
        {one: whole[one] for one in LOSSES if one in whole}
    )
    for one in found.losses:
        unknown = [
            other.column for other in measured if other.name == one.name and other.column and other.value is None
        ]
        assert list(one.unknown) == unknown
        assert one.known == len(quasi) - len(unknown)
    for data, figures in ((before, found.risk_before), (after, found.risk)):
        one = risk(data, quasi=quasi)
        assert figures == (one.prosecutor_max, one.prosecutor_mean, one.uniques)


def test_a_loss_that_knows_nothing_of_most_columns_is_not_said_as_if_it_were_small():
    known = Loss.over("ncp", {"age": 0.5, "sex": 0.1})
    some = Loss.over("ncp", {"age": 0.5, "sex": None})
    most = Loss.over("ncp", {"age": 0.0, "sex": None, "job": None})
    said = [one.said().say("en") for one in (known, some, most) if one]
    assert said == ["NCP 30 %", "NCP 50 % (without 'sex')", "NCP unknown for 2 of 3 columns"]
    assert Loss.over("ncp", {"age": None}) is None
