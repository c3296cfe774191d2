"""Who came, stayed and left between two releases: plain loops, and every world that explains both."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.naive.series import possible_keys

from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.grouping import Groups
from oboro.hierarchies.spec import HierarchySpec
from oboro.verifier.series import Part, RowChanges, Rows, Wanted, empty_readings, known_series, old_places, shared_codes

ROWS = st.lists(st.tuples(st.integers(-1, 2), st.integers(0, 3), st.integers(0, 2)), max_size=14)


def changes(old: list, new: list) -> RowChanges:
    """Rows are (old class, key, new class); old ones stand in an old class."""
    was, now = (np.array(rows, dtype=np.int64).reshape(-1, 3).T for rows in (old, new))
    return RowChanges(Rows(was[0], was[1], {"s": was[1] % 2}), Rows(now[0], now[1], {"s": now[1] % 2}), now[2])


def groups(part: Part) -> list[tuple[int, int]]:
    """How many people each group holds that holds somebody, and how many secrets."""
    return sorted((int(n), int(d)) for n, d in zip(part.sizes, part.distinct("s"), strict=True) if n)


@settings(max_examples=35, deadline=None)
@given(ROWS.map(lambda rows: [row for row in rows if row[0] >= 0]), ROWS)
def test_parts_are_those_of_plain_loops(old: list, new: list) -> None:
    was, now = Counter((j, key) for j, key, _ in old), Counter((j, key) for j, key, _ in new)
    cells = Counter(new)
    more = {pair: max(0, now[pair] - was[pair]) for pair in now}
    left: dict[Any, Counter[int]] = {}
    for (j, key), n in was.items():
        if any(now[j, other] for other in range(4) if was[j, other]):
            left.setdefault(j, Counter())[key] += max(0, n - now[j, key])
    stayed: dict[Any, Counter[int]] = {}
    came: dict[Any, Counter[int]] = {}
    for (j, key, i), n in cells.items():
        stayed.setdefault((j, i), Counter())[key] += max(0, n - more[j, key]) if j >= 0 else 0
        alone = n == now[j, key]
        came.setdefault(i, Counter())[key] += more[j, key] if alone else max(0, n - was[j, key])
    found = changes(old, new)
    for part, expected in ((found.left, left), (found.stayed, stayed), (found.came, came)):
        held = [+one for one in expected.values()]
        assert groups(part) == sorted((sum(one.values()), len({key % 2 for key in one})) for one in held if one)


def test_by_hand() -> None:
    """A class of five: B left, two E came."""
    found = changes([(0, key, 0) for key in (0, 0, 1, 1, 2)], [(0, key, 0) for key in (0, 0, 1, 2, 3, 3)])
    assert [part.sizes.max() for part in (found.left, found.stayed, found.came)] == [1, 4, 2]
    assert found.left.small(Wanted(2)).any()
    assert not found.came.small(Wanted(2)).any()
    assert found.came.small(Wanted(2, {"s": 2})).any()  # both have the same secret
    assert found.followed == 0.8


def test_a_class_that_is_gone_or_stays_as_a_whole_tells_nothing_new() -> None:
    gone = changes([(0, 0, 0), (0, 1, 0)], [(1, 0, 0)] * 5)
    assert not gone.left.small(Wanted(5)).any()
    whole = changes([(0, 0, 0), (0, 1, 0)], [(0, 0, 0), (0, 1, 0)])
    assert not whole.broken_stayed(Wanted(5)).any()


@pytest.mark.parametrize(("k", "l"), [(2, 1), (2, 2), (3, 2)])
def test_what_is_judged_safe_is_safe_in_every_world(k: int, l: int) -> None:  # noqa: E741
    """Classes of the two releases may cut each other in any way."""
    rng, safe = np.random.default_rng([k, l]), 0
    for _ in range(700):
        safe += world(rng, k, l)
    assert safe >= 30


def world(rng: np.random.Generator, k: int, l: int) -> bool:  # noqa: E741
    """One random truth; whether its two releases are safe and were judged so."""
    size, cells = int(rng.integers(4, 9)), int(rng.integers(1, 4))
    cell, key, presence = rng.integers(0, cells, size), rng.integers(0, 3, size), rng.integers(1, 4, size)
    presence[rng.random(size) < rng.choice([0, 0.5])] = 3
    cuts = rng.integers(0, cells, (2, cells))
    rows = [[(int(cuts[t][cell[i]]), int(key[i])) for i in range(size) if presence[i] >> t & 1] for t in (0, 1)]
    if not all(alone(one, k, l) for one in rows):
        return False
    new = [i for i in range(size) if presence[i] & 2]
    there = {place for place, _ in rows[0]}
    place = [int(cuts[0][cell[i]]) if int(cuts[0][cell[i]]) in there else -1 for i in new]
    now = [(j, int(key[i]), int(cuts[1][cell[i]])) for j, i in zip(place, new, strict=True)]
    old = np.array(rows[0]).T
    found = np.array(now).T
    judged = RowChanges(
        Rows(old[0], old[1], {"s": old[1]}), Rows(found[0], found[1], {"s": found[1]}), found[2]
    ).judged(Wanted(k, {"s": l}))
    if judged[1].any():
        return False
    people = {str(i): [(str(cuts[t][cell[i]]),) if presence[i] >> t & 1 else None for t in (0, 1)] for i in range(size)}
    tables = [[((str(at),), (str(one),)) for at, one in release] for release in rows]
    for person, keys in possible_keys(people, tables).items():
        for at, table in zip(people[person], tables, strict=True):
            assert at is None or sum(label == at and one in keys for label, one in table) >= k
        assert len(keys) >= l
    return True


def alone(rows: list[tuple[int, int]], k: int, l: int) -> bool:  # noqa: E741
    held = {place: [key for at, key in rows if at == place] for place, _ in rows}
    return bool(rows) and all(len(keys) >= k and len(set(keys)) >= l for keys in held.values())


def test_the_narrowest_class_that_fits_is_where_somebody_stands() -> None:
    people = Dataset.of({"age": [1, 3, 5, 7, 99]})
    released = Dataset.of({"age": ["1–4", "1–8", "3–4", "*"]})
    tree = HierarchySpec.model_validate({"intervals": [2, 4, 8]}).build("age", people["age"])
    assert old_places(people, released, ["age"], {"age": tree})[1].tolist() == [0, 2, 1, 1, 3]
    assert old_places(people, Dataset.of({"age": ["3–4"]}), ["age"])[1].tolist() == [-1, 0, -1, -1, -1]


@pytest.mark.parametrize("person", [None, "who"])
def test_empty_text_in_one_release_is_the_missing_value_of_another(person: str | None) -> None:
    """March was read from CSV, which has one word for both; April comes from a frame. One of four left, and it must show."""
    march = {"who": list("abcdefgh"), "sex": [None] * 4 + ["F"] * 4, "ill": list("uvwx") * 2}
    april = {"who": list("abcefgh"), "sex": [""] * 3 + ["F"] * 4, "ill": list("uvwuvwx")}
    for told in ([""], [None]):
        data, earlier = Dataset.of(april), Dataset.of({**march, "sex": told * 4 + ["F"] * 4})
        if person is None:
            data, earlier = (table.select(["sex", "ill"]) for table in (data, earlier))
        series = known_series(data, [earlier], ["sex"], hierarchies={}, secrets=["ill"], person=person)
        classes = Groups.of([data["sex"]], data.rows).labels
        sizes = [look.left.sizes.max() for one in series for look in one.changes(data, classes)]
        assert max(sizes) == 1
        assert any(look.left.small(Wanted(2)).any() for one in series for look in one.changes(data, classes))


def test_empty_and_missing_secrets_are_one_over_a_series() -> None:
    data = Dataset.of({"age": [1] * 6, "ill": ["", None, "", None, "a", "b"]})
    earlier = Dataset.of({"age": [1, 1], "ill": ["a", "b"]})
    for one in known_series(data, [earlier], ["age"], hierarchies={}, secrets=["ill"]):
        for look in one.changes(data, np.zeros(6, dtype=np.int64)):
            assert look.came.distinct("ill").max() == 1
            assert look.came.small(Wanted(2, {"ill": 2})).any()


def test_a_table_that_tells_empty_from_missing_is_compared_both_ways() -> None:
    one, both = Dataset.of({"a": ["", "x"]}), Dataset.of({"a": ["", None]})
    assert empty_readings([Dataset.of({"a": [None, "x"]})]) == [False]
    assert empty_readings([one, Dataset.of({"a": [None, "x"]})]) == [True]
    assert empty_readings([one, both]) == [True, False]


def test_a_value_that_another_release_writes_otherwise_is_the_same() -> None:
    """A column of numbers with gaps comes as 1.0 from pandas, and as 1 in the month without gaps."""
    for march, april in ((["1.0", "2.0"], [1, 2]), ([1, 2], [1.0, 2.0]), ([True], ["true"])):
        codes, _ = shared_codes([Column.of(march), Column.of(april)])
        assert codes[0].tolist() == codes[1].tolist()
    codes, _ = shared_codes([Column.of(["01", "1", "x"]), Column.of(["1", "01", "y", None])])
    assert [code.tolist() for code in codes] == [[0, 1, 2], [1, 0, 3, 4]]
