"""Hierarchies by order and by priority; lines that stand twice; files of one column."""

from __future__ import annotations

import pytest

from oboro.data.column import Column
from oboro.errors import HierarchyError
from oboro.hierarchies.spec import HierarchySpec
from oboro.techniques.k_anonymize import KAnonymize


def rows(values, **spec):
    return HierarchySpec(**spec).build("x", Column.of(values)).to_rows()


def test_neighbours_in_their_own_order():
    """Numbers by size, 10 after 9: {2, 9}, {10, 30}, {41}; then two of these. A set is written in the order of its text."""
    found = rows([9, 10, 2, 30, 41, 9], neighbours={"groups": [2, 2]})
    assert found == [
        ["9", "{2, 9}", "{10, 2, 30, 9}", "*"],
        ["10", "{10, 30}", "{10, 2, 30, 9}", "*"],
        ["2", "{2, 9}", "{10, 2, 30, 9}", "*"],
        ["30", "{10, 30}", "{10, 2, 30, 9}", "*"],
        ["41", "{41}", "{41}", "*"],
    ]


def test_neighbours_in_a_given_order_with_labels():
    order = ["never", "rarely", "often", "always"]
    spec = {"groups": [2], "values": order, "labels": [["seldom", "much"]]}
    assert rows(["often", "never"], neighbours=spec) == [["often", "much", "*"], ["never", "seldom", "*"]]
    # Values that the table lacks are part of the label: it tells nothing of who is there.
    assert rows(["often"], neighbours={"groups": [2], "values": order})[0][1] == "{always, often}"


def test_the_rarest_values_are_hidden_first():
    found = rows([*"aaaa", *"bbb", *"cc", "d"], priority={"levels": 2})
    assert found == [["a", "a", "*"], ["b", "b", "*"], ["c", "*", "*"], ["d", "*", "*"]]
    found = rows(["a", "b", "b"], priority={"levels": 3, "values": ["a", "b", "c"]})
    assert found == [["a", "a", "a", "*"], ["b", "b", "*", "*"]]


def test_lines_that_stand_twice_count_once(tmp_path):
    (tmp_path / "h.csv").write_text("a;A;*\nb;B;*\na;A;*\nb;B;*\n")
    built = HierarchySpec(csv="h.csv").build("x", Column.of(["a", "b"]), tmp_path)
    assert built.to_rows() == [["a", "A", "*"], ["b", "B", "*"]]
    (tmp_path / "h.csv").write_text("a;A;*\nb;B;*\na;A;*\nb;C;*\n")
    with pytest.raises(HierarchyError, match="line 2 and line 4: the value 'b' stands twice, with different labels"):
        HierarchySpec(csv="h.csv").build("x", Column.of(["a"]), tmp_path)


def test_a_file_of_one_column_is_released_as_it_is_or_suppressed(tmp_path):
    (tmp_path / "h.csv").write_text("a\nb\n")
    assert HierarchySpec(csv="h.csv").build("x", Column.of(["b"]), tmp_path).height == 0
    roles = {"x": {"role": "quasi", "hierarchy": {"rows": [["a"], ["b"], ["c"]]}}}
    released = KAnonymize(k=2, suppress=0.5).apply({"x": [*"aabc"]}, attributes=roles)
    assert released == {"x": ["a", "a", "*", "*"]}


def test_errors_teach():
    with pytest.raises(HierarchyError, match="the order lacks 'z'"):
        rows(["z"], neighbours={"groups": [2], "values": ["a", "b"]})
    with pytest.raises(HierarchyError, match="a value twice"):
        rows(["a"], priority={"levels": 2, "values": ["a", "a"]})
    with pytest.raises(HierarchyError, match="2 or more"):
        rows(["a"], neighbours={"groups": [1]})
    with pytest.raises(HierarchyError, match="level 1 has 2 groups"):
        rows([1, 2, 3], neighbours={"groups": [2], "labels": [["only one"]]})


@pytest.mark.parametrize("spec", [{"neighbours": {"groups": [3, 2]}}, {"priority": {"levels": 3}}])
def test_the_words_say_it(spec):
    assert HierarchySpec(**spec).explain()
    assert HierarchySpec(**spec).explain("ja")
