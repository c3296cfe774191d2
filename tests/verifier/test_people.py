"""People, not records: every model against plain loops, and what goes wrong where a person has many records."""

from __future__ import annotations

from itertools import product
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawing import picks
from tests.naive import people as naive

import oboro
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.grouping import Groups
from oboro.data.units import people_holding, people_per_group, tally_people
from oboro.errors import ColumnError, UsageError
from oboro.verifier.attribute import AlphaK, EntropyLDiversity, RecursiveLDiversity, TCloseness
from oboro.verifier.classes import Classes
from oboro.verifier.identity import DeltaPresence, DistinctLDiversity, KAnonymity, KMap
from oboro.verifier.risk import AverageRisk, MaximumRisk

ROWS = picks(product("xyz", [None, "Ann", "Bob", "Cid", "Dan"], "uvw"), min_size=1, max_size=14)


def _table(rows: list[tuple[str, str | None, str]]) -> Dataset:
    keys, people, secrets = zip(*rows, strict=True)
    return Dataset.of({"q": keys, "who": people, "s": secrets})


def _scores(model, table: Dataset) -> tuple[list[float], list[bool]]:
    scores, broken = model._scores(Classes.of(table, ["q"], "who"))
    return scores.tolist(), broken.tolist()


@given(ROWS)
def test_sizes_and_values_are_those_of_people(rows):
    table = _table(rows)
    groups = Groups.of([table["q"]], table.rows)
    expected = naive.classes(*zip(*rows, strict=True))
    assert people_per_group(groups, table["who"]).tolist() == [naive.persons(members) for members in expected]
    held = np.array([secret == "u" for *_, secret in rows])
    assert people_holding(groups, table["who"], held).tolist() == [naive.values(one)["u"] for one in expected]
    column = table["s"]
    found = tally_people(groups, table["who"], column.codes, np.arange(len(column.values)), len(column.values))
    for group, members in enumerate(expected):
        part = slice(found.starts[group], found.starts[group + 1])
        texts = [column.texts[code] for code in found.codes[part]]
        assert dict(zip(texts, found.counts[part].tolist(), strict=True)) == dict(naive.values(members))


@given(ROWS, st.integers(1, 3))
def test_k_l_and_risk_against_loops(rows, least):
    table, expected = _table(rows), naive.classes(*zip(*rows, strict=True))
    people = [naive.persons(members) for members in expected]
    assert _scores(KAnonymity(k=least), table) == (people, [size < least for size in people])
    distinct = [naive.distinct(members) for members in expected]
    assert _scores(DistinctLDiversity(sensitive="s", l=least), table) == (distinct, [d < least for d in distinct])
    assert _scores(MaximumRisk(risk=0.5), table)[0] == [1 / max(1, size) for size in people]
    mean = len(people) / max(1, sum(people))
    assert _scores(AverageRisk(risk=0.5), table) == ([mean] * len(people), [mean > 0.5] * len(people))


@given(ROWS)
def test_shares_and_distances_against_loops(rows):
    table, expected = _table(rows), naive.classes(*zip(*rows, strict=True))
    whole = naive.everybody([who for _, who, _ in rows], [secret for *_, secret in rows])
    shares = [naive.share(members) for members in expected]
    assert _scores(AlphaK(sensitive="s", alpha=0.5), table) == (shares, [one > 0.5 for one in shares])
    shares = [naive.share(members, "u") for members in expected]
    assert _scores(AlphaK(sensitive="s", alpha=0.5, value="u"), table)[0] == shares
    equal = [naive.distance(members, whole) for members in expected]
    assert _scores(TCloseness(sensitive="s", t=0.3), table)[0] == pytest.approx([float(one) for one in equal])
    # Only values that somebody known has stand in a place of the order.
    if {secret for _, secret in whole} == {secret for *_, secret in rows}:
        ordered = [float(naive.ordered_distance(members, whole)) for members in expected]
        assert _scores(TCloseness(sensitive="s", t=0.3, distance="ordered"), table)[0] == pytest.approx(ordered)


@given(ROWS, st.integers(1, 3))
def test_entropy_and_recursive_diversity_against_loops(rows, least):
    table, expected = _table(rows), naive.classes(*zip(*rows, strict=True))
    ratios = [naive.recursive(members, least) for members in expected]
    assert _scores(RecursiveLDiversity(sensitive="s", c=2, l=least), table) == (ratios, [not r < 2 for r in ratios])
    scores, broken = _scores(EntropyLDiversity(sensitive="s", l=1.5), table)
    for members, score, bad in zip(expected, scores, broken, strict=True):
        if naive.certain(members):
            assert (score, bad) == (min(1, len(members)), True)
        else:
            assert score == pytest.approx(exp(naive.entropy(members)))
            assert bad == (exp(naive.entropy(members)) < 1.5)


def test_a_panel_in_which_every_class_is_one_man():
    """545 men with eight yearly records each: five records look alike and are one man's."""
    men = np.repeat(np.arange(545), 8)
    panel = {"man": men.tolist(), "school": (men % 11).tolist(), "town": (men // 11).tolist()}
    assert oboro.verify(panel, quasi=["school", "town"], k=5).holds
    found = oboro.verify(panel, quasi=["school", "town"], k=5, person="man")
    verdict = found.verdicts[0]
    assert not found.holds
    assert (verdict.achieved, verdict.broken_groups, verdict.broken_records) == (1, 545, 4360)
    assert "counted in people" in found.sentence()
    assert "人数" in found.sentence("ja")


def test_who_is_missing_protects_nobody():
    table = {"who": ["Ann", None, None, "Bob"], "q": ["x", "x", "x", "y"]}
    assert oboro.verify(table, quasi=["q"], k=1, person="who").holds
    assert oboro.verify(table, quasi=["q"], k=2, person="who").verdicts[0].broken_groups == 2
    nobody = {"who": [None, None], "q": ["x", "x"], "s": ["u", "v"]}
    found = oboro.verify(nobody, quasi=["q"], k=1, sensitive="s", l=1, t=0.9, alpha=1, person="who")
    assert [verdict.holds for verdict in found.verdicts] == [False] * 4


def test_a_value_that_everybody_has_is_no_secret():
    """Three patients with flu, of whom each has something else too: four values, and the flu is certain."""
    visits = {"who": [1, 1, 2, 2, 3, 3], "q": ["x"] * 6, "s": ["flu", "a", "flu", "b", "flu", "c"]}
    assert oboro.verify(visits, quasi=["q"], sensitive="s", l=4).holds
    assert oboro.verify(visits, quasi=["q"], sensitive="s", alpha=0.5).holds
    found = oboro.verify(visits, quasi=["q"], sensitive="s", l=2, alpha=0.5, person="who")
    assert [(one.holds, one.achieved) for one in found.verdicts] == [(False, 1), (False, 1)]
    for kind, more in (("entropy", {}), ("recursive", {"c": 3})):
        assert not oboro.verify(visits, quasi=["q"], sensitive="s", l=2, kind=kind, person="who", **more).holds


def test_hierarchical_distance_counts_pairs_of_person_and_value():
    """By hand: Ann has a1 and a2, Bob b1, Cid a1. Class x = Ann and Bob: (a1, a2, b1) of (2, 1, 1) in all.

    Values: |1/3 − 1/2| + |1/3 − 1/4| + |1/3 − 1/4| = 1/3, half of it 1/6. Groups: a 2/3 of 3/4, b 1/3 of 1/4: 1/12.
    Mean of both levels: 1/8.
    """
    table = Dataset.of(
        {"who": ["Ann", "Ann", "Ann", "Bob", "Cid"], "q": [*"xxxxy"], "s": ["a1", "a1", "a2", "b1", "a1"]}
    )
    levels = {"tree": {"a": ["a1", "a2"], "b": ["b1"]}}
    model = TCloseness(sensitive="s", t=0.1, distance="hierarchical", hierarchy=levels)
    assert _scores(model, table)[0][0] == pytest.approx(1 / 8)


def test_the_population_is_compared_with_people():
    visits = Dataset.of({"who": [1, 1, 1, None], "q": ["x", "x", "x", "x"]})
    people = Dataset.of({"q": ["x", "x", "x", "x"]})
    presence = DeltaPresence(low=0, high=0.5, population=people).judge(Classes.of(visits, ["q"], "who"))
    assert (presence.holds, presence.achieved, presence.people) == (
        True,
        0.5,
        True,
    )  # Ann, and whoever was the fourth row
    assert KMap(k=4, population=people).judge(Classes.of(visits, ["q"], "who")).holds


def test_what_makes_no_sense_is_refused():
    table = {"who": [1], "q": ["x"], "s": ["u"]}
    with pytest.raises(UsageError, match="named in quasi too"):
        oboro.verify(table, quasi=["q", "who"], k=2, person="who")
    with pytest.raises(UsageError, match="named in sensitive too"):
        oboro.verify(table, quasi=["q"], sensitive="who", l=2, person="who")
    with pytest.raises(ColumnError, match="no column 'whom'"):
        oboro.verify(table, quasi=["q"], k=2, person="whom")


def test_a_dictionary_that_repeats_people_counts_them_once():
    import pyarrow as pa

    person = Column(pa.array(["Ann", "Ann"]), np.array([0, 1], dtype=np.uint8))
    assert people_per_group(Groups.of([], 2), person).tolist() == [1]
