"""Rows under labels that say themselves which values they stand for, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oboro
from oboro.data.column import Column
from oboro.hierarchies.recoding import RecodedColumn
from oboro.measures.divergence import resemblance

AGES = st.lists(st.one_of(st.none(), st.integers(0, 30)), min_size=2, max_size=12)
LABELS = st.lists(
    st.one_of(
        st.just("*"),
        st.tuples(st.integers(0, 30), st.integers(0, 12)).map(lambda ends: f"{ends[0]}–{sum(ends)}"),
        st.sets(st.integers(0, 30), min_size=2, max_size=3).map(lambda some: f"{{{', '.join(map(str, some))}}}"),
    ),
    min_size=1,
    max_size=8,
)


def named(label: str, ages: set[int]) -> set[int]:
    if label.startswith("{"):
        return ages & {int(one) for one in label[1:-1].split(", ")}
    low, high = map(int, label.split("–"))
    return {age for age in ages if low <= age <= high}


@settings(deadline=None)
@given(AGES, LABELS)
def test_rows_are_spread_over_the_values_that_their_labels_name(ages, labels):
    known = {age for age in ages if age is not None}
    recoded = RecodedColumn.of(Column.of(ages), Column.of(labels), None, None)
    under = [named(label, known) for label in labels if label != "*"]
    if not known or not under or not all(under):
        assert recoded.reach is None
        return
    out = dict.fromkeys(known, 0.0)
    for some in under:
        if some != known or len(known) == 1:  # what names everything is lost
            for age in some:
                out[age] += 1 / len(some)
    values = recoded.original.values.to_pylist()
    assert recoded.leaves() == pytest.approx([out.get(age, 0.0) for age in values])
    width = max(known) - min(known) or 1
    for label, share, weight in zip(recoded.released.texts, recoded.share, recoded.weight, strict=True):
        if label != "*":
            some = named(str(label), known)
            assert share == pytest.approx((max(some) - min(some)) / width)
            assert weight == sum(age in some for age in ages)


def test_a_label_that_names_nothing_leaves_the_column_as_it_is():
    for labels in (["1–2", "young"], ["1–2", "40–50"], ["young"]):
        recoded = RecodedColumn.of(Column.of([1, 2, 3]), Column.of(labels), None, None)
        assert not recoded.spreads
        assert [one.name for one in resemblance("age", recoded)] == ["total_variation"]


def test_groups_with_ranges_of_their_own_are_compared_by_what_they_say():
    draw = np.random.default_rng(4)
    days = np.datetime64("1960-01-01") + draw.integers(0, 9000, 200).astype("timedelta64[D]")
    people = {"born": days.astype(str).tolist(), "paid": draw.integers(100, 900, 200).tolist()}
    roles = {"born": {"role": "quasi", "hierarchy": {"dates": ["month", "year"]}}, "paid": {"role": "quasi"}}
    release = oboro.Recipe(attributes=roles, steps=[{"local_recode": {"k": 5}}]).run(people)
    found = {(one.name, one.column): one.value for one in release.report.utility}
    for name in people:
        assert found["jensen_shannon", name] < 0.5  # as categories of their own: 1
        assert found["kolmogorov_smirnov", name] < 0.1
