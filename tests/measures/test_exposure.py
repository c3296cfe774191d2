"""Who is exposed: exact counts equal obvious loops, and figures by hand."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.naive import exposure as naive

from oboro.data.dataset import Dataset
from oboro.data.grouping import ClassCounts, class_counts
from oboro.errors import ColumnError, UsageError
from oboro.measures.exposure import Counted, certain_secrets, exposure, rare_values, unique_people

VALUES = {
    "a": st.sampled_from(["x", "y", "*", None]),
    "b": st.integers(0, 4),
    "c": st.sampled_from(["p", "q"]),
    "who": st.sampled_from(["Ann", "Bob", "Cid", None]),
}
ROWS = st.lists(st.fixed_dictionaries(VALUES), max_size=12)
PERSON = st.sampled_from([None, "who"])


def table(rows: list[dict[str, object]]) -> Dataset:
    return Dataset.of({name: [row[name] for row in rows] for name in VALUES})


@settings(max_examples=30, deadline=None)
@given(rows=ROWS, person=PERSON, size=st.integers(1, 3))
def test_exposure_equals_naive_counts(rows: list[dict[str, object]], person: str | None, size: int) -> None:
    columns = ["a", "b", "c"][:size]
    found = exposure(table(rows), columns, person)
    held = [len(naive.people(members, person)) for members in naive.classes(rows, columns)]
    assert found.distinct == len(held)
    assert found.told_apart == naive.told_apart(rows, columns)
    assert found.unique == naive.unique(rows, columns, person)
    assert found.people == len(naive.people(rows, person)) + len(rows) - len(naive.named(rows, person))
    assert found.unique <= found.people
    assert found.smallest == min(held, default=0)


@settings(max_examples=30, deadline=None)
@given(rows=ROWS, person=PERSON)
def test_unique_people_equal_naive_counts(rows: list[dict[str, object]], person: str | None) -> None:
    found = unique_people(table(rows), ["a", "b", "c"], person)
    counted = {one.columns: one.people for one in (*found.single, *found.pairs)}
    sets = [*combinations("abc", 1), *combinations("abc", 2)]
    expected = {columns: naive.unique(rows, columns, person) for columns in sets}
    assert counted == {columns: people for columns, people in expected.items() if people}
    assert found.together == naive.unique(rows, ["a", "b", "c"], person)
    assert [one.people for one in found.ranked] == sorted((one.people for one in found.ranked), reverse=True)


@settings(max_examples=30, deadline=None)
@given(rows=ROWS, person=PERSON, size=st.integers(0, 2))
def test_certain_secrets_equal_naive_counts(rows: list[dict[str, object]], person: str | None, size: int) -> None:
    quasi = ["a", "b"][:size]
    (found,) = certain_secrets(table(rows), quasi, ["c"], person)
    assert found.certain == naive.certain(rows, quasi, "c", 1, person)
    assert found.nearly_certain == naive.certain(rows, quasi, "c", 0.95, person)
    assert found.largest == pytest.approx(naive.largest_posterior(rows, quasi, "c", person))
    assert found.everywhere == pytest.approx(naive.largest_posterior(rows, [], "c", person))


@settings(max_examples=25, deadline=None)
@given(rows=ROWS, person=PERSON, k=st.integers(1, 4))
def test_rare_values_equal_naive_counts(rows: list[dict[str, object]], person: str | None, k: int) -> None:
    found = {one.column: (one.values, one.records) for one in rare_values(table(rows), ["a", "b", "c"], k, person)}
    expected = {name: naive.rare(rows, name, k, person) for name in "abc"}
    assert found == {name: counts for name, counts in expected.items() if counts[0]}


def test_figures_by_hand() -> None:
    people = Dataset.of({"sex": ["F", "F", "M", "M", "M"], "job": ["cook", "judge", "cook", "cook", None]})
    found = exposure(people, ["job"])  # cook three times, judge, missing
    assert (found.distinction, found.separation, found.unique) == (3 / 5, 7 / 10, 2)
    assert unique_people(people, ["sex", "job"]).together == 3  # F cook, F judge, M missing


def test_nineteen_of_twenty_are_nearly_certain() -> None:
    secret = Dataset.of({"disease": ["flu"] * 19 + ["cold"]})
    (found,) = certain_secrets(secret, [], ["disease"])
    assert (found.certain, found.nearly_certain, found.largest) == (0, 20, 0.95)


def test_a_man_with_eight_rows_is_one_man() -> None:
    panel = Dataset.of({"man": [1] * 8 + [2] * 8, "job": ["cook"] * 8 + ["judge"] * 8})
    assert exposure(panel, ["job"]).unique == 0
    assert exposure(panel, ["job"], person="man").unique == 2
    assert exposure(panel, ["job"], person="man").smallest == 1


def test_a_star_is_no_rare_value_and_rows_of_one_person_count_once() -> None:
    table = {"job": ["*", "cook", "cook", "cook", "judge", "judge"], "who": [1, 1, 2, 3, 4, 4]}
    assert rare_values(Dataset.of(table), ["job"], k=2) == ()
    (found,) = rare_values(Dataset.of(table), ["job"], k=2, person="who")
    assert (found.values, found.records, found.fewest) == (1, 2, 1)  # two rows of a judge, one person


def test_nothing_is_counted_where_all_columns_together_single_out_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    counted = Counted._classes
    monkeypatch.setattr(Counted, "_classes", lambda self, names: asked.append(1) or counted(self, names))
    twice = Dataset.of({name: [1, 2, 3] * 2 for name in "abcdef"})
    assert unique_people(twice, list("abcdef")).together == 0
    assert len(asked) == 1


def test_wide_tables_are_told_apart_by_fingerprints() -> None:
    draw = np.random.default_rng(1)
    columns = {f"c{i}": draw.integers(0, 50, 60).tolist() * 2 for i in range(14)}  # 50¹⁴ > 2⁶³ combinations
    columns["c0"][-1] = 51
    data = Dataset.of(columns)
    assert exposure(data, list(columns)).unique == 2
    assert class_counts(list(data.columns.values()), data.rows) == ClassCounts(61, 2 + 59 * 4, 2, 1)
    assert unique_people(data, list(columns), paired=3).unpaired


def test_wrong_columns_are_named() -> None:
    data = Dataset.of({"a": [1]})
    with pytest.raises(ColumnError, match="'b'"):
        exposure(data, ["b"])
    with pytest.raises(ColumnError, match="'who'"):
        unique_people(data, ["a"], "who")
    with pytest.raises(UsageError, match="twice"):
        exposure(data, ["a", "a"])
    with pytest.raises(UsageError, match="at least 1"):
        rare_values(data, k=0)
