"""The parts of a plan against obvious loops: keys of combinations, numbers of values, counts of combinations."""

from __future__ import annotations

import pickle
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engines.engine_cases import table

from oboro.engines import coded
from oboro.engines.coded import (
    COUNT,
    Checking,
    KnownValues,
    RowNumbers,
    Scattered,
    TupleKeys,
    UnknownTuple,
    parts_for,
    rows_of_tally,
    spooled,
    value_numbers,
)
from oboro.errors import InputError

KEY = bytes(range(16))


@settings(max_examples=30)
@given(st.lists(st.tuples(*[st.integers(0, 3)] * 4), min_size=1, max_size=30), st.sampled_from([1 << 63, 40]))
def test_keys_are_equal_where_combinations_are(rows: list[tuple[int, ...]], room: int) -> None:
    columns = [np.array(column, np.uint8) for column in zip(*rows, strict=True)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coded, "ROOM", room)  # keys are numbered anew on the way
        how, keys = TupleKeys.of(columns, [4] * 4, len(rows))
    assert len(set(keys.tolist())) == len(set(rows))
    assert {(row, key) for row, key in zip(rows, keys.tolist(), strict=True)} == {
        (rows[keys.tolist().index(key)], key) for key in keys.tolist()
    }
    assert (how.keys(columns, len(rows)) == keys).all()


def test_a_combination_that_was_never_seen_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coded, "ROOM", 8)
    how, _ = TupleKeys.of([np.array([0, 1]), np.array([0, 1]), np.array([0, 1])], [4, 4, 4], 2)
    with pytest.raises(UnknownTuple):
        how.keys([np.array([3]), np.array([3]), np.array([0])], 1)


def test_a_value_has_one_number_in_every_type() -> None:
    narrow, wide = pa.array([1, None, 3], pa.int8()), pa.array([1, None, 3], pa.int64())
    assert (value_numbers(narrow, KEY) == value_numbers(wide, KEY)).all()
    assert (value_numbers(pa.array(["1", None, "3"]), KEY) == value_numbers(wide, KEY)).all()
    assert len(set(value_numbers(pa.array(["", "a", "aa", "a" * 8, "a" * 9, "a" * 16, None]), KEY).tolist())) == 7
    assert (value_numbers(wide.slice(1), KEY) == value_numbers(wide, KEY)[1:]).all()
    assert (value_numbers(wide, KEY) != value_numbers(wide, KEY[::-1]))[[0, 2]].all()


def test_a_value_that_was_never_seen_is_an_error_that_does_not_repeat_it() -> None:
    known = pickle.loads(pickle.dumps(KnownValues(pa.array(["b", "a", None]), KEY)))
    assert known.codes(pa.array(["a", None, "b", "a"])).tolist() == [1, 2, 0, 1]
    with pytest.raises(InputError) as refused:
        known.codes(pa.array(["a", "secret"]))
    assert "secret" not in refused.value.show()


def test_the_sum_of_rows_knows_every_row_and_no_order() -> None:
    numbers, data = RowNumbers(KEY), table(40, 1)
    whole = numbers.total(numbers.of_arrays(dict(zip(data.column_names, data.columns, strict=True)), 40))
    turned = data.take(pa.array(range(40)[::-1]))
    assert whole == numbers.total(numbers.of_arrays(dict(zip(data.column_names, turned.columns, strict=True)), 40))
    doubled = pa.concat_tables([data.slice(0, 39), data.slice(0, 1)]).combine_chunks()
    assert whole != numbers.total(numbers.of_arrays(dict(zip(data.column_names, doubled.columns, strict=True)), 40))


@pytest.mark.parametrize("batches", [1, 4])
@pytest.mark.parametrize("counted", [0, coded.MAX_COUNTED_COMBINATIONS], ids=["grouped", "in an array"])
@pytest.mark.parametrize("dictionary", [False, True])
def test_combinations_are_counted(
    batches: int, counted: int, dictionary: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Floating numbers by their text: −0.0 and 0.0, not-a-number and missing are told apart here."""
    monkeypatch.setattr(coded, "MAX_COUNTED_COMBINATIONS", counted)
    data = table(60, 2).select(["zip", "weight", "born"])
    if dictionary:
        data = data.set_column(1, "weight", data["weight"].dictionary_encode().combine_chunks())
    how = Checking(RowNumbers(KEY), (("zip", "weight"), ("born",)))
    parts = data.to_batches(60 // batches)
    found = how.together(blob for part in parts for blob in how.part([part]))
    pairs = Counter(zip(data["zip"].to_pylist(), map(str, data["weight"].to_pylist()), strict=True))
    assert sorted(found.tallies[0][COUNT].to_pylist()) == sorted(pairs.values())
    assert sorted(found.tallies[1][COUNT].to_pylist()) == sorted(Counter(data["born"].to_pylist()).values())
    assert rows_of_tally(found.tallies[0], ["zip", "weight"]).rows == found.rows == 60


@given(st.lists(st.integers(0, 40), max_size=60), st.lists(st.integers(0, 40), max_size=60))
def test_sorted_keys_are_found_where_keys_as_they_come_are(known: list[int], keys: list[int]) -> None:
    held, wanted = np.unique(np.array(known, np.uint64)), np.array(keys, np.uint64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coded, "LARGE", 0)
        patch.setattr(coded, "FEW", 0)
        assert coded.places_in(held, wanted).tolist() == np.searchsorted(held, wanted).tolist()


@settings(max_examples=20)
@given(rows=st.integers(0, 50), parts=st.integers(1, 7), together=st.sampled_from([3, 1 << 19]))
def test_scattered_rows_are_the_same_rows(rows: int, parts: int, together: int) -> None:
    data = pa.table({"0": pa.array(range(rows), pa.int64())})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coded, "TOGETHER", together)  # several blocks a part
        tables = [pa.table(one) for one in data.to_batches(max_chunksize=2)]
        found, again = ([one["0"].to_pylist() for one in spooled(Scattered(parts, KEY), tables)] for _ in range(2))
    assert found == again
    assert sorted(number for part in found for number in part) == list(range(rows))


def test_every_order_is_as_likely() -> None:
    """Three rows in two parts, 300 keys: each of the six orders comes about 50 times."""
    data = [pa.table({"0": [0, 1, 2]})]
    orders = Counter(
        tuple(
            number for one in spooled(Scattered(2, key.to_bytes(4, "little")), data) for number in one["0"].to_pylist()
        )
        for key in range(300)
    )
    assert len(orders) == 6
    assert sum((count - 50) ** 2 / 50 for count in orders.values()) < 25  # a chance of 1 in 7,000


def test_parts_are_neither_tiny_nor_huge() -> None:
    assert [parts_for(rows, 200) for rows in (0, 60, 10**6, 10**7, 10**9)] == [1, 1, 16, 153, 954]
