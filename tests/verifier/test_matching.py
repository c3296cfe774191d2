"""The verifier for non-homogeneous releases, against all ways to match people and records."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.drawing import picks
from tests.naive.concealment import possible_pairs

from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.hierarchies.recoding import PossibleValues, possible_values
from oboro.hierarchies.spec import HierarchySpec
from oboro.verifier.identity import KConcealment
from oboro.verifier.matching import Relation, correspondence, relation
from oboro.verifier.promises import Promise

graphs = st.sampled_from([1, 2, 3, 4, 5, 6, 7, 7, 7]).flatmap(
    lambda n: st.sampled_from([*range(1, n + 1), n, n]).flatmap(
        lambda m: st.lists(picks([False, True], min_size=n, max_size=n), min_size=m, max_size=m)
    )
)


def any_relation(fits: list[list[bool]]) -> Relation:
    """Any relation at all, as one attribute: each original a rank of its own, each record a set of ranks."""
    one = PossibleValues.of(np.arange(len(fits[0])), len(fits[0]), [np.flatnonzero(row) for row in fits])
    return Relation.of([one], [np.arange(len(fits))], len(fits))


@given(graphs)
@settings(max_examples=35)
def test_equals_all_matchings(fits: list[list[bool]]) -> None:
    found = correspondence(any_relation(fits))
    pairs = possible_pairs(fits)
    assert found.possible == bool(pairs)
    assert found.candidates.tolist() == [sum(r == one for r, _ in pairs) for one in range(len(fits))]
    assert found.records.tolist() == [sum(o == one for _, o in pairs) for one in range(len(fits[0]))]


@given(picks(product("ab", range(1, 4)), min_size=1, max_size=6), st.randoms())
@settings(max_examples=30)
def test_like_people_and_records_share_a_node(people: list[tuple[str, int]], random: object) -> None:
    """Values or `*`, as a delay-free stream releases them: kinds with multiplicities against single people."""
    released = [
        tuple("*" if random.random() < 0.5 else str(value) for value in one)  # type: ignore[attr-defined]
        for one in people
    ]
    original = Dataset.of({"x": [x for x, _ in people], "y": [y for _, y in people]})
    table = Dataset.of({"x": [x for x, _ in released], "y": [y for _, y in released]})
    fits = [
        [all(label in ("*", str(value)) for label, value in zip(record, one, strict=True)) for one in people]
        for record in released
    ]
    found = correspondence(relation(original, table, ["x", "y"]))
    pairs = possible_pairs(fits)
    assert found.possible
    assert found.candidates.tolist() == [sum(r == one for r, _ in pairs) for one in range(len(people))]
    assert found.records.tolist() == [sum(o == one for _, o in pairs) for one in range(len(people))]


READINGS = [  # original values, released text, whom it may be
    ([31, 35, 38, None], "31–38", [31, 35, 38]),
    ([31, 35, 38, None], "*", [31, 35, 38, None]),
    ([31, 35, 38, None], None, [None]),
    ([31, 35, 38], "35", [35]),
    ([31, 35, 38], "36", []),
    ([31, 35, 38], "{31, 38}", [31, 38]),
    ([-5, 0, 3], "-5 to 0", [-5, 0]),
    ([1.5, 1.75, 2.0], "[1.5, 2)", [1.5, 1.75]),
    ([10, 20, 30], "[10, 20]", [10, 20]),
    ([10, 20, 30], "<20", [10]),
    ([10, 20, 30], "≥20", [20, 30]),
    ([10, 20, 30], "12–18", []),
    ([10, 20, 30], "about 20", []),
    (["2020-01-01", "2020-02-01", "2021-01-01"], "2020-01-01 to 2020-12-31", ["2020-01-01", "2020-02-01"]),
    (["F", "M", "X"], "{F, X}", ["F", "X"]),
    (["F", "M", "X"], "{F, Y}", ["F"]),
    (["F", "M", "X"], "F–X", []),
    (["a, b", "c", "d"], '{"a, b", c}', ["a, b", "c"]),
    (["a", "b", "{a, b}"], "{a, b}", ["{a, b}"]),  # a value means itself, not what it looks like
    (["a", "b"], '{"a, b', []),
    # as other tools write them: hyphens, half-open intervals on either side, comparisons, masks, parts of dates
    ([19, 20, 25, 29, 30], "20-29", [20, 25, 29]),
    ([19, 20, 25, 29, 30], "20 ~ 29", [20, 25, 29]),
    ([-7, -5, 0, 3], "-5-0", [-5, 0]),
    ([1.5, 2.0, 2.5], "1.75..2.5", [2.0, 2.5]),
    ([10, 15, 20], "(10, 20]", [15, 20]),
    ([10, 15, 20], "(10,20)", [15]),
    ([10, 15, 20], "[10, 20[", [10, 15]),
    ([10, 15, 20], "]10, 20]", [15, 20]),
    ([10, 20, 30], "<=20", [10, 20]),
    ([10, 20, 30], "≤20", [10, 20]),
    ([10, 20, 30], ">20", [30]),
    ([10, 20, 30], ">= 20", [20, 30]),
    ([10, 20, 30], "20+", [20, 30]),
    (["2020-01-01", "2020-02-01", "2021-01-01"], ">2020-01-01", ["2020-02-01", "2021-01-01"]),
    (["2020-01-01", "2020-02-01", "2021-01-01", None], "2020", ["2020-01-01", "2020-02-01"]),
    (["2020-01-01", "2020-02-01", "2021-01-01", None], "2020-02", ["2020-02-01"]),
    (["2020-01-01", "2020-02-01", "2021-01-01"], "2020-01-01-2020-12-31", ["2020-01-01", "2020-02-01"]),
    ([2020, 2021], "2020-2021", [2020, 2021]),
    (["13001", "13099", "13100", "1300", None], "130**", ["13001", "13099"]),
    (["0501", "0599", "0600"], "05**", ["0501", "0599"]),
    ([13001, 13099, 13100, 1300], "130**", [13001, 13099]),
    (["abc", "abd", "xyz", "ab"], "ab*", ["abc", "abd"]),
    (["abc", "ab*"], "ab*", ["ab*"]),  # a value means itself
    (["abc", "xbc", "xbcd"], "*bc", ["abc", "xbc"]),
    ([19, 20, 25, 29, 30], "20代", [20, 25, 29]),
    ([25, 30], "25.0", [25]),  # the same number, written otherwise
    ([1.5, 2.0], "1.50", [1.5]),
    ([25, 30], "26", []),
    ([19, 20, 25, 29, 30], "20歳以上30歳未満", [20, 25, 29]),
    ([19, 20, 30], "20以上", [20, 30]),
    ([19, 20, 30], "(-Inf,20]", [19, 20]),
    ([1, 2, 3, 4], "[1,2,4]", [1, 2, 4]),
    (["a", "b", "c"], "['a', 'b']", ["a", "b"]),
    (["a", "b", "c"], "a~c", ["a", "c"]),
    (["a", "b", "c"], "a,d", []),  # without brackets every part must be a value
    (["02138", "13053", "13068"], "[02138, 13053]", ["02138", "13053"]),  # codes of equally many digits
    (["02138", "13053", "13068"], "130", ["13053", "13068"]),
    (["Male", "Married"], "M", []),  # a word that begins so is another word
    (["2020-01-01 10:00", "2020-01-02 11:00"], "[2020-01-01, 2020-01-01]", ["2020-01-01 10:00"]),
    (["2019-05-01", "2020-01-01", "2021-02-01"], "2019-2020", ["2019-05-01", "2020-01-01"]),
    (["2019-05-01", "2020-01-01"], "[30, 50)", []),  # a number is no date
]


@pytest.mark.parametrize(("original", "label", "expected"), READINGS)
def test_what_a_released_value_may_stand_for(original: list[object], label: str | None, expected: list[object]) -> None:
    column, released = Column.of(original), Column.of([label, "nobody"])
    found = relation(Dataset({"x": column}, len(original)), Dataset({"x": released}, 2), ["x"])
    kind = int(found.released.labels[0])
    heads = found.heads[found.starts[kind] : found.starts[kind + 1]]
    people = [row for row, label_ in enumerate(found.originals.labels.tolist()) if label_ in heads]
    assert [original[row] for row in people] == expected


def test_labels_of_a_hierarchy_reach_their_leaves() -> None:
    column = Column.of([21, 25, 38, 41])
    tree = HierarchySpec.model_validate({"intervals": [10, 40]}).build("age", column, None)  # type: ignore[arg-type]
    label = tree.generalize(column, 1).decode().to_pylist()[0]
    one = possible_values(column, Column.of([label]), tree)
    assert (one.low.tolist(), one.high.tolist()) == ([0], [1])
    assert possible_values(column, Column.of([label])).low.tolist() != [0] or "–" in label


def test_whoever_was_left_out_may_be_any_record() -> None:
    original = Dataset.of({"x": [1, 2, 3]})
    released = Dataset.of({"x": ["1–2", "2–3"]})
    found = correspondence(relation(original, released, ["x"]))
    assert found.candidates.tolist() == [2, 2]
    everybody = correspondence(relation(original, Dataset.of({"x": ["1–2", "2–3", "3"]}), ["x"]))
    assert everybody.candidates.tolist() == [1, 1, 1]  # 3 must be 3, so 2–3 must be 2, so 1–2 must be 1
    assert not correspondence(relation(original, Dataset.of({"x": ["*"] * 4}), ["x"])).possible


def test_columns_that_are_gone_and_empty_tables() -> None:
    original = Dataset.of({"x": [1, 2], "y": ["a", "b"]})
    promise = Promise("k_conceal", ("x", "y"), (KConcealment(k=2, originals=original),))
    assert not promise.verify(Dataset.of({"x": ["1–2", "1–2"], "y": ["a", "b"]})).holds
    assert promise.verify(Dataset.of({"x": ["1–2", "1–2"]})).holds
    assert promise.verify(Dataset.of({"z": [1, 2]})).holds
    assert "no records" in promise.verify(original.take(np.array([], dtype=np.int64))).sentence()


def test_a_large_table_stays_small() -> None:
    rng = np.random.default_rng(0)
    values = rng.integers(0, 12, (40_000, 2))
    stars = rng.random((40_000, 2)) < 0.7
    original = Dataset.of({name: values[:, a].tolist() for a, name in enumerate("xy")})
    released = Dataset.of(
        {name: np.where(stars[:, a], "*", values[:, a].astype(str)).tolist() for a, name in enumerate("xy")}
    )
    found = correspondence(relation(original, released, ["x", "y"]))
    assert found.possible
    assert found.relation.heads.size < 1000
    assert found.candidates.min() > 100
