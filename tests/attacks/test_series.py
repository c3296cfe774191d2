"""A release beside those before it: whom do they tell together?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.command_line import call
from tests.naive.series import alike, candidates, changed, reach

import oboro
from oboro.attacks.series import Narrowed, SeriesRisk, series_attack
from oboro.data.dataset import Dataset

MARCH = {"age": ["20–29"] * 5 + ["30–39"] * 5, "ill": list("ABABC") + list("AABBC")}
AGES = list(range(1, 9))
LEVELS = (str, lambda a: f"{(a - 1) // 2 * 2 + 1}–{(a - 1) // 2 * 2 + 2}", lambda a: "1–4" if a <= 4 else "5–8")


def test_one_person_more_is_the_difference() -> None:
    april = {"age": ["20–29"] * 6 + ["30–39"] * 5, "ill": list("ABABCE") + list("AABBC")}
    found = attacked(april, [MARCH], k=5)
    assert found.came[0] == Narrowed(1, 1, 1, {"ill": 1}, {"ill": 1})
    assert found.left[0].people == 0
    assert found.in_all == Narrowed(10, 0, 5, {"ill": 0}, {"ill": 0})  # E was not there in March
    assert found.exposed == 1


def test_one_person_less_is_the_difference() -> None:
    april = {"age": ["20–29"] * 5 + ["30–39"] * 4, "ill": list("ABABC") + list("AABB")}
    found = attacked(april, [MARCH], k=4)
    assert found.left[0] == Narrowed(1, 1, 1, {"ill": 1}, {"ill": 1})
    assert found.came[0].people == 0
    assert found.in_all.fewest == 4


def test_coarser_classes_leave_what_both_say_of_a_secret() -> None:
    """Somebody of 20–29 in March has A, B or C; of 20–39 in April everything but E is possible for them."""
    april = {"age": ["20–39"] * 4, "ill": list("AAEE")}
    found = attacked(april, [MARCH], k=2)
    assert found.in_all == Narrowed(2, 0, 2, {"ill": 2}, {"ill": 2})  # A is certain for whoever was there


def test_the_same_release_twice_tells_nothing_new_in_any_order() -> None:
    again = {name: values[::-1] for name, values in MARCH.items()}
    found = attacked(again, [MARCH], k=5)
    assert found.exposed == 0
    assert found.in_all.people == 10


def test_known_people_are_counted_where_the_original_is_given() -> None:
    april = {"age": ["20–29"] * 5 + ["30–39"] * 5, "ill": list("AABBE") + list("AABBC")}
    people = {"age": [21, 22, 23, 24, 25, 31, 32, 33, 34, 35, 99]}  # the last fits no class
    found = attacked(april, [MARCH], k=5, original=people)
    assert (found.in_all.people, found.in_all.below_k, found.in_all.fewest) == (10, 5, 4)
    assert found.known


def test_a_third_release_narrows_further() -> None:
    one = {"age": ["1–8"] * 4, "ill": list("ABCD")}
    two = {"age": ["1–8"] * 4, "ill": list("ABCE")}
    three = {"age": ["1–8"] * 4, "ill": list("ABEF")}
    assert attacked(three, [two], k=3).in_all.fewest == 3
    assert attacked(three, [one, two], k=3).in_all.fewest == 2


def test_people_are_followed_by_a_pseudonym() -> None:
    march = {"who": list("abcd"), "age": ["1–4"] * 2 + ["5–8"] * 2}
    april = {"who": list("bcad"), "age": ["1–8"] * 4}
    found = attacked(april, [march], k=2, person="who")
    assert found.followed_by == (("who",),)
    assert (found.in_all.people, found.in_all.fewest) == (4, 2)
    rows = {"who": list("aaaab"), "age": ["1–4"] * 5}
    assert attacked(rows, [rows], k=3, person="who").in_all == Narrowed(2, 2, 2, {}, {})


def test_suppressed_records_are_a_class_of_their_own() -> None:
    march = {"age": ["1–4"] * 2 + ["*"] * 2, "ill": list("ABCD")}
    april = {"age": ["1–4"] * 2 + ["*"] * 2, "ill": list("CDAB")}
    found = attacked(april, [march], k=2)
    assert found.in_all.people == 0  # nobody can have been in both
    assert (found.came[0].people, found.came[0].below_k) == (4, 0)


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_attacks_are_those_of_plain_loops(data: st.DataObject) -> None:
    quasi = ["age", "zip"][: data.draw(st.integers(1, 2))]
    tables = [data.draw(releases(quasi)) for _ in range(data.draw(st.integers(2, 3)))]
    new, olds = tables[0], tables[1:]
    everybody = list(product(AGES, repeat=len(quasi)))  # so that labels reach what they say
    known = dict(zip(quasi, zip(*everybody, strict=True), strict=True))
    found = series_attack(
        dataset(new, quasi),
        [dataset(one, quasi) for one in olds],
        quasi=quasi,
        k=3,
        diverse={"ill": 2},
        original=Dataset.of({name: list(values) for name, values in known.items()}),
    )
    assert list(found.came) == [judged(changed(new, old, AGES)) for old in olds]
    assert list(found.left) == [judged(changed(old, new, AGES)) for old in olds]
    rows = series_attack(
        dataset(new, quasi), [dataset(one, quasi) for one in olds], quasi=quasi, k=3, diverse={"ill": 2}
    )
    assert (rows.came, rows.left) == (found.came, found.left)  # labels speak for themselves
    assert rows.in_all == by_rows(new, olds)


def test_python_and_the_command_line_say_the_same(tmp_path: Path) -> None:
    import pandas as pd

    april = {"age": ["20–29"] * 6 + ["30–39"] * 5, "ill": list("ABABCE") + list("AABBC")}
    people = {"age": [20, 21, 22, 23, 24, 25, 30, 31, 32, 33, 34], "ill": april["ill"]}
    for name, table in (("march", MARCH), ("april", april), ("people", people)):
        pd.DataFrame(table).to_csv(tmp_path / f"{name}.csv", index=False)
    files = {name: str(tmp_path / f"{name}.csv") for name in ("march", "april", "people")}
    roles = ["--quasi", "age", "--sensitive", "ill"]
    said = call("assess", files["april"], *roles, "--earlier", files["march"])
    assert "New since earlier release 1: of 1 row, 1 are" in said.out
    report = call("evaluate", files["people"], files["april"], *roles, "--k", "5", "--earlier", files["march"])
    assert report.code == 1
    assert "Together with earlier releases it narrows 1" in report.out
    alone = call("evaluate", files["people"], files["april"], *roles, "--k", "5")
    assert alone.code == 0
    found = oboro.evaluate(people, april, quasi=["age"], sensitive=["ill"], k=5, earlier=[MARCH], attempts=0)
    assert found.refused
    assert found.series is not None
    assert found.series.exposed == 1
    assert "new since release 1" in found.to_html()
    assert found.to_public().series is None
    assert "加わった" in found.to_html(lang="ja")


def test_an_earlier_release_of_something_else_is_refused() -> None:
    with pytest.raises(oboro.errors.UsageError, match="Earlier release 1 has none of the quasi-identifiers"):
        oboro.assess(MARCH, quasi=["age"], earlier=[{"height": [1, 2]}])


# Helpers -------------------------------------------------------------------------------------------------------------


def attacked(
    new: dict, earlier: list[dict], *, k: int, original: dict | None = None, person: str | None = None
) -> SeriesRisk:
    secrets = {"ill": 2} if "ill" in new else {}
    people = None if original is None else Dataset.of(original)
    tables = [Dataset.of(one) for one in earlier]
    return series_attack(Dataset.of(new), tables, quasi=["age"], k=k, diverse=secrets, original=people, person=person)


@st.composite
def releases(draw: st.DrawFn, quasi: Sequence[str]) -> list:
    levels = [draw(st.sampled_from(LEVELS)) for _ in quasi]
    rows = draw(
        st.lists(st.tuples(*[st.sampled_from(AGES)] * len(quasi), st.sampled_from("ABC")), min_size=1, max_size=9)
    )
    gone = draw(st.booleans())
    out = []
    for *values, ill in rows:
        labels = tuple(level(value) for level, value in zip(levels, values, strict=True))
        out.append((("*",) * len(quasi) if gone and values[0] == 1 else labels, (ill,)))
    return out


def dataset(rows: list, quasi: Sequence[str]) -> Dataset:
    columns = {name: [labels[a] for labels, _ in rows] for a, name in enumerate(quasi)}
    return Dataset.of({**columns, "ill": [key[0] for _, key in rows]})


def judged(groups: dict) -> Narrowed:
    sizes = {row: sum(held.values()) for row, held in groups.items() if sum(held.values())}
    few = sum(size for row, size in sizes.items() if len({key[-1] for key in +groups[row]}) < 2)
    small = sum(size for size in sizes.values() if size < 3)
    return Narrowed(sum(sizes.values()), small, min(sizes.values(), default=None), {"ill": few}, {"ill": few})


def by_rows(new: list, olds: list) -> Narrowed:
    """Each row by the worst combination of classes that it may belong to."""
    least: Counter = Counter()
    values: Counter = Counter()
    places = [sorted({row for row, _ in old}) for old in olds]
    for row in {row for row, _ in new}:
        for vector in product([row], *places):
            if all(alike(row, place, AGES) for place in vector[1:]):
                found = candidates(new, olds, vector)
                for number in found:
                    least[number] = min(least.get(number, 99), len(found))
                    values[number] = min(values.get(number, 99), len({new[one][1] for one in found}))
    few = sum(one < 2 for one in values.values())
    return Narrowed(
        len(least),
        sum(one < 3 for one in least.values()),
        min(least.values(), default=None),
        {"ill": few},
        {"ill": few},
    )


def test_the_naive_reach_is_as_by_hand() -> None:
    assert [reach(label, AGES) for label in ("3–4", "7", "*")] == [{3, 4}, {7}, set(AGES)]


def test_the_attack_finds_people_whose_missing_values_one_release_writes_as_empty_text() -> None:
    """March came from CSV, April is a frame; one of four left."""
    march = {"sex": [None] * 4 + ["F"] * 4, "ill": list("uvwx") * 2}
    april = {"sex": [""] * 3 + ["F"] * 4, "ill": list("uvwuvwx")}
    found = oboro.assess(april, quasi=["sex"], earlier=[march]).series
    assert (found.came[0].people, found.left[0].people, found.left[0].below_k) == (0, 1, 1)
