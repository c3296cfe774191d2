from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawing import picks

from oboro.data import grouping
from oboro.data.column import Column, smallest_unsigned
from oboro.data.dataset import Dataset
from oboro.data.grouping import Groups
from oboro.errors import ColumnError

cells = st.one_of(st.none(), st.integers(0, 5).map(str), st.text(max_size=3))


@given(st.lists(cells))
def test_encoding_is_lossless(values: list[str | None]) -> None:
    column = Column.encode(pa.array(values, pa.string()))
    assert column.decode().to_pylist() == values
    assert len(set(column.values.to_pylist())) == len(column.values)
    assert (column.counts > 0).all()
    assert column.codes.dtype == smallest_unsigned(len(column.values))


@given(st.lists(st.one_of(st.none(), st.sampled_from("abc")), min_size=1), st.data())
def test_dictionary_input_never_keeps_values_that_no_row_has(values: list[str | None], data: st.DataObject) -> None:
    dictionary = pa.array(["secret", "a", "b", "c"])
    codes = pa.array([None if value is None else dictionary.to_pylist().index(value) for value in values], pa.int8())
    column = Column.encode(pa.DictionaryArray.from_arrays(codes, dictionary))
    assert column.decode().to_pylist() == values
    assert "secret" not in column.values.to_pylist()


@given(st.lists(cells, min_size=1), st.data())
def test_take_keeps_only_values_in_use(values: list[str | None], data: st.DataObject) -> None:
    rows = np.array(data.draw(st.lists(st.integers(0, len(values) - 1))), dtype=np.int64)
    taken = Column.of(values).take(rows) if any(v is not None for v in values) else None
    if taken is not None:
        assert taken.decode().to_pylist() == [values[i] for i in rows]
        assert set(taken.values.to_pylist()) == {values[i] for i in rows}


@given(picks(range(4), min_size=1), st.data())
def test_recode_looks_up_and_merges(values: list[int], data: st.DataObject) -> None:
    column = Column.of(values)
    table = np.array(data.draw(picks(range(3), min_size=len(column.values), max_size=len(column.values))))
    labels = ["x", "y", "x"]
    recoded = column.recode(table, pa.array(labels))
    assert recoded.decode().to_pylist() == [labels[table[code]] for code in column.codes]
    assert len(set(recoded.values.to_pylist())) == len(recoded.values)


@given(st.lists(st.one_of(st.none(), st.integers(0, 3)), min_size=1), st.data())
def test_where_writes_text_into_numbers(values: list[int | None], data: st.DataObject) -> None:
    mask = np.array(data.draw(picks([False, True], min_size=len(values), max_size=len(values))))
    column = Column.encode(pa.array(values, pa.int64())).where(mask, "*")
    expected = ["*" if hit else None if v is None else str(v) for v, hit in zip(values, mask, strict=True)]
    assert column.decode().to_pylist() == expected


def test_not_a_number_is_missing() -> None:
    column = Column.of([1.0, float("nan"), None])
    assert column.decode().to_pylist() == [1.0, None, None]
    assert column.missing == 1


@given(
    st.lists(st.tuples(cells, st.sampled_from("ab"), st.integers(0, 2)), max_size=30),
    st.sampled_from([1, 6, 1 << 20]),
    st.sampled_from([1, 4, 1 << 16]),
)
def test_groups_equal_a_dictionary_of_tuples(rows: list[tuple[str | None, str, int]], fused: int, block: int) -> None:
    columns = [Column.encode(pa.array([row[i] for row in rows])) for i in range(3)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grouping, "FUSED", fused)
        patch.setattr(grouping, "BLOCK", block)
        groups = Groups.of(columns, len(rows))
    numbers: dict[object, int] = {}
    expected = [numbers.setdefault(row, len(numbers)) for row in rows]
    assert groups.labels.tolist() == expected
    assert groups.sizes.tolist() == [expected.count(label) for label in range(len(numbers))]


def test_groups_sort_when_keys_are_too_spread_out() -> None:
    rng = np.random.default_rng(0)
    values = rng.integers(0, 10**9, size=(2, 2000)) // 10**6
    columns = [Column.encode(pa.array(part)) for part in values] * 2
    groups = Groups.of(columns, 2000)
    numbers: dict[object, int] = {}
    assert groups.labels.tolist() == [numbers.setdefault(tuple(pair), len(numbers)) for pair in values.T.tolist()]


def test_groups_of_nothing() -> None:
    assert len(Groups.of([], 0)) == 0
    assert Groups.of([], 3).sizes.tolist() == [3]


@pytest.mark.parametrize(("rows", "kinds"), [(0, 1), (1, 1), (50, 7), (200_000, 3), (200_000, 190_000)])
def test_the_first_row_of_each_group(rows: int, kinds: int) -> None:
    labels = np.random.default_rng(rows).integers(0, kinds, rows)
    groups = Groups.of([Column(pa.array(range(kinds)), labels.astype(np.uint32))], rows)
    naive: dict[int, int] = {}
    for row, label in enumerate(groups.labels.tolist()):
        naive.setdefault(label, row)
    assert groups.first_rows().tolist() == [naive[label] for label in range(len(groups))]


def test_where_takes_codes_as_wide_as_a_step_made_them() -> None:
    """Groups are numbered in eight bytes, and their numbers may be the codes of a column (k_conceal, local_recode)."""
    column = Column(pa.array(["a", "b"]), np.array([0, 1, 0], dtype=np.int64))
    assert column.where(np.array([True, False, False]), "*").decode().to_pylist() == ["*", "b", "a"]


def test_dataset_is_never_changed_and_remembers_where_rows_came_from() -> None:
    data = Dataset.of({"a": [1, 2, 3], "b": ["x", "y", "x"]})
    taken = data.take(np.array([2, 0]))
    again = taken.take(np.array([True, False]))
    assert data.to_arrow().to_pydict() == {"a": [1, 2, 3], "b": ["x", "y", "x"]}
    assert taken.to_arrow().to_pydict() == {"a": [3, 1], "b": ["x", "x"]}
    assert again.origin_rows.tolist() == [2]


def test_memory_counts_one_byte_a_row_for_few_values() -> None:
    data = Dataset.of({"sex": ["F", "M"] * 500, "id": list(range(1000))})
    memory = data.memory()
    assert memory["sex"] < 1100
    assert memory["id"] == 2 * 1000 + 8 * 1000


def test_unknown_and_repeated_columns_are_named() -> None:
    with pytest.raises(ColumnError, match="'zip'.*'age'"):
        Dataset.of({"age": [1]})["zip"]
    with pytest.raises(ColumnError, match="same name: 'a'"):
        Dataset.from_arrow(pa.table([[1], [2]], names=["a", "a"]))
