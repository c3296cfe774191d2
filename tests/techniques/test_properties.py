"""Random tables, hierarchies and recipes: the release keeps every promise, or there is none and a clear error instead."""

from __future__ import annotations

import copy
import datetime as dt
from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import oboro
from oboro.errors import OboroError

TREE = [["a", "ab", "*"], ["b", "ab", "*"], ["c", "cd", "*"], ["d", "cd", "*"]]
HIERARCHIES: dict[str, list[dict[str, Any] | None]] = {
    "age": [None, {"intervals": [5]}, {"intervals": [10, 20], "star": False}, {"intervals": [5, 20], "top": 60}],
    "zip": [None, {"mask": "right"}, {"mask": {"side": "left", "steps": [2]}}],
    "group": [None, {"rows": TREE}, {"tree": {"ab": ["a", "b"], "cd": ["c", "d"]}}],
    "born": [None, {"dates": ["day", "month", "year"]}, {"dates": ["day", "decade"], "star": False}],
}
optional = lambda values: st.one_of(values, values, values, st.none())  # noqa: E731
CELLS: dict[str, st.SearchStrategy[Any]] = {
    "age": optional(st.integers(18, 70)),
    "zip": optional(st.sampled_from(["101", "102", "201", "2021"])),
    "group": optional(st.sampled_from("abcd")),
    "born": optional(st.dates(dt.date(1950, 1, 1), dt.date(1960, 12, 31)).map(str)),
    "disease": optional(st.sampled_from(["flu", "cold", "ulcer"])),
    "income": optional(st.floats(0, 1e6, allow_nan=False)),
}
STEPS: list[st.SearchStrategy[dict[str, Any]]] = [
    st.just({"shuffle": {}}),
    st.just({"sort": {"by": ["age", "-zip"]}}),
    st.builds(
        lambda k, s: {"k_anonymize": {"k": k, "suppress": s}}, st.integers(1, 4), st.sampled_from([0, 0.1, 0.3, 1])
    ),
    st.builds(
        lambda k, kind: {
            "k_anonymize": {"k": k, "suppress": 0.4, "l_diversity": {"disease": {"l": 2, "kind": kind, **C[kind]}}}
        },
        st.integers(1, 3),
        st.sampled_from(["distinct", "entropy", "recursive"]),
    ),
    st.builds(
        lambda t: {"k_anonymize": {"k": 2, "suppress": 0.4, "t_closeness": {"disease": t}}}, st.sampled_from([0.2, 0.5])
    ),
    st.builds(lambda k: {"microaggregate": {"attributes": ["age", "income"], "k": k}}, st.integers(2, 4)),
    st.builds(lambda at: {"top_code": {"attribute": "age", "at": at}}, st.integers(20, 60)),
    st.builds(lambda level: {"generalize": {"attribute": "zip", "level": level}}, st.integers(0, 2)),
    st.just({"round": {"attribute": "income", "base": 1000}}),
    st.just({"noise": {"attribute": "income", "relative": 0.1}}),
    st.just({"swap": {"attribute": "income", "window": 10}}),
    st.builds(lambda part: {"sample": {"fraction": part}}, st.sampled_from([0.5, 0.9])),
    st.just({"drop_records": {"where": {"group": {"equals": "d"}}}}),
    st.just({"pk_anonymize": {"k": 2, "attributes": ["group"]}}),
]
C: dict[str, dict[str, float]] = {"distinct": {}, "entropy": {}, "recursive": {"c": 3}}


@st.composite
def plans(draw: st.DrawFn) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    rows = draw(st.integers(0, 25))
    table = {name: draw(st.lists(cells, min_size=rows, max_size=rows)) for name, cells in CELLS.items()}
    table["row"] = list(range(rows))
    roles = {"disease": "sensitive", "income": "other", "row": "other"}
    attributes: dict[str, Any] = {name: {"role": roles.get(name, "quasi")} for name in table}
    for name, choices in HIERARCHIES.items():
        if (hierarchy := draw(st.sampled_from(choices))) is not None:
            attributes[name]["hierarchy"] = hierarchy
    steps = draw(st.lists(st.one_of(STEPS), max_size=3)) + draw(st.lists(st.one_of(STEPS[2:5]), max_size=1))
    steps += draw(st.lists(st.one_of(STEPS[:2]), max_size=1))
    accept = {"unique_on": list(table), "because": "made up"}
    said = {"seed": draw(st.integers(0, 3)), "order": draw(st.sampled_from([None, "kept", "shuffled"]))}
    return table, {"attributes": attributes, "steps": steps, "accept": accept, **said}


@settings(max_examples=max(50, settings().max_examples))  # 60 ms each; `make thorough` has more
@given(plans())
def test_a_release_keeps_its_promises_or_there_is_none(plan: tuple[dict[str, list[Any]], dict[str, Any]]) -> None:
    table, recipe = plan
    before = copy.deepcopy(table)
    outcomes = [attempt(table, recipe) for _ in range(2)]
    assert table == before, "the input was changed"
    assert repr(outcomes[0]) == repr(outcomes[1]), "the same seed gave something else"
    if isinstance(outcomes[0], dict):
        no_record_is_lost_or_invented(table, recipe, outcomes[0])
        every_promise_holds(recipe, outcomes[0])


def attempt(table: dict[str, list[Any]], recipe: dict[str, Any]) -> dict[str, list[Any]] | str:
    try:
        released = oboro.Recipe(**copy.deepcopy(recipe)).run(table).data
    except OboroError as error:
        assert str(error).strip()
        return str(error)
    assert isinstance(released, dict)
    return released


def no_record_is_lost_or_invented(
    table: dict[str, list[Any]], recipe: dict[str, Any], released: dict[str, list[Any]]
) -> None:
    names = {name for step in recipe["steps"] for name in step}
    assert list(released) == list(table)
    assert len(set(released["row"])) == len(released["row"])
    assert set(released["row"]) <= set(table["row"])
    if not names & {"sample", "drop_records"}:
        assert set(released["row"]) == set(table["row"])
    if not names & {"shuffle", "sort"} and recipe["order"] == "kept":
        assert released["row"] == sorted(released["row"]), "the order of rows changed"
    sick = dict(zip(table["row"], table["disease"], strict=True))
    assert [sick[row] for row in released["row"]] == released["disease"], "a column that no step names was changed"


def every_promise_holds(recipe: dict[str, Any], released: dict[str, list[Any]]) -> None:
    """Regrouped here with a plain dictionary: neither the anonymizer nor the verifier is asked."""
    for step in recipe["steps"]:
        for name, parameters in step.items():
            quasi = {"k_anonymize": ["age", "zip", "group", "born"], "microaggregate": ["age", "income"]}.get(name)
            if quasi is not None:
                sizes = Counter(zip(*[released[column] for column in quasi], strict=True))
                assert all(size >= parameters["k"] for size in sizes.values())
            diversity = parameters.get("l_diversity", {}).get("disease")
            if diversity and diversity["kind"] in ("distinct", "entropy"):
                tuples = zip(*[released[column] for column in ("age", "zip", "group", "born")], strict=True)
                seen: dict[Any, set[Any]] = {}
                for key, disease in zip(tuples, released["disease"], strict=True):
                    seen.setdefault(key, set()).add(disease)
                assert all(len(values) >= 2 for values in seen.values())
