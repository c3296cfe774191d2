"""Columns whose levels only decide who stands together, and whose values are made from the class."""

from __future__ import annotations

from statistics import fmean, median, multimode

import pytest
from hypothesis import given
from hypothesis import strategies as st

import oboro
from oboro.errors import ColumnError, PromiseError, UsageError
from oboro.techniques.k_anonymize import KAnonymize

ROLES = {
    "age": {"role": "quasi", "hierarchy": {"intervals": [10, 20]}},
    "sex": {"role": "quasi"},
    "ill": {"role": "sensitive"},
}
PLAIN = {
    "mean": lambda ages: round(fmean(ages)),
    "median": lambda ages: round(median(ages)),
    "mode": lambda ages: min(multimode(ages)),
    "interval": lambda ages: str(ages[0]) if ages[0] == ages[-1] else f"{ages[0]}–{ages[-1]}",
}


@given(
    rows=st.lists(st.tuples(st.integers(0, 60), st.sampled_from("FM"), st.sampled_from("ab")), min_size=4, max_size=24),
    how=st.sampled_from(list(PLAIN)),
    step=st.sampled_from([{}, {"recoding": "local"}, {"suppressed": "exempt"}, {"l_diversity": {"ill": 2}}]),
)
def test_classes_say_what_plain_loops_find(rows, how, step):
    table = dict(zip(ROLES, map(list, zip(*rows, strict=True)), strict=True))
    step = {"k": 2, "suppress": 0.4, **step}
    try:
        labels = KAnonymize(**step).apply(table, attributes=ROLES)
    except PromiseError:
        return
    released = KAnonymize(**step, aggregates={"age": how}).apply(table, attributes=ROLES)
    assert {name: released[name] for name in ("sex", "ill")} == {name: labels[name] for name in ("sex", "ill")}
    classes: dict = {}
    for row, key in enumerate(zip(labels["age"], labels["sex"], strict=True)):
        gone = released["age"][row] == "*"
        assert not gone or key == ("*", "*")
        classes.setdefault((*key, gone), []).append(row)
    for (*_, gone), members in classes.items():
        said = "*" if gone else str(PLAIN[how](sorted(table["age"][row] for row in members)))
        assert {str(released["age"][row]) for row in members} == {said}
    if step.get("suppressed") != "exempt":
        assert oboro.verify(released, quasi=["age", "sex"], k=2).holds


def test_suppressed_records_stay_apart_from_a_class_of_stars():
    """All levels are the coarsest and some records are suppressed: theirs is `*`, not the mean of the others."""
    table = {"age": [1, 2, 3, 90, 91], "sex": list("FFFMM")}
    roles = {"age": {"role": "quasi", "hierarchy": {"rows": [[a, "*"] for a in ["1", "2", "3", "90", "91"]]}}}
    step = KAnonymize(k=2, quasi=["age"], levels={"age": 1}, aggregates={"age": "mean"})
    assert step.apply(table, attributes=roles)["age"] == [37] * 5  # 37.4, a whole number as it was


def test_most_frequent_categories_and_few_numbers():
    table = {"town": ["a", "a", "b", "c"], "age": [30, None, None, None]}
    roles = {name: {"role": "quasi"} for name in table}
    released = KAnonymize(k=4, aggregates={"town": "mode", "age": "mean"}).apply(table, attributes=roles)
    assert released == {"town": ["a"] * 4, "age": [None] * 4}  # the mean of one in four would be theirs
    with pytest.raises(ColumnError, match="town"):
        KAnonymize(k=4, aggregates={"town": "mean"}).apply(table, attributes=roles)


def test_a_release_with_its_report_and_the_same_again(tmp_path):
    table = {"age": [31, 32, 38, 45, 46, 47], "sex": list("FFFMMM"), "ill": list("ababab")}
    recipe = oboro.Recipe(attributes=ROLES, steps=[{"k_anonymize": {"k": 3, "aggregates": {"age": "mean"}}}])
    assert "'age' becomes the mean of the class" in recipe.explain()
    release = recipe.run(table)
    assert sorted(release.data["age"]) == [34] * 3 + [46] * 3
    assert "3-anonymity holds" in release.explain()
    assert sorted(oboro.Recipe.parse(release.again).run(table).data["age"]) == [34] * 3 + [46] * 3


def test_wrong_questions_teach():
    with pytest.raises(ValueError, match="population"):
        KAnonymize(k=2, aggregates={"age": "mean"}, k_map=2, population={"age": [1]})
    with pytest.raises(UsageError, match="ill"):
        KAnonymize(k=2, aggregates={"ill": "mode"}).apply({"age": [1], "sex": ["F"], "ill": ["a"]}, attributes=ROLES)
