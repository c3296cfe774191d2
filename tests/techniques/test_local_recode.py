"""Local recoding: groups against plain loops, promises on the released table, what is published."""

from __future__ import annotations

from collections import Counter
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.drawing import picks
from tests.naive.local import Naive, as_sets, grouped

from oboro.algorithms.lattice.constraints import closeness_rule, diversity_rule
from oboro.algorithms.partitioning import records as partitioning_records
from oboro.algorithms.partitioning.mondrian import mondrian
from oboro.algorithms.partitioning.records import OrderedAttribute, Records, TreeAttribute
from oboro.algorithms.partitioning.top_down import patterns, published, top_down
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.errors import ColumnError, InputError, PromiseError, UsageError
from oboro.measures.information_loss import utility
from oboro.schema import Attribute, Schema
from oboro.techniques.base import Work
from oboro.techniques.checks import SCHEMA, check
from oboro.techniques.k_anonymize import KAnonymize
from oboro.techniques.local_recode import LocalRecode
from oboro.verifier.attribute import EntropyLDiversity, RecursiveLDiversity, TCloseness
from oboro.verifier.identity import DistinctLDiversity, KAnonymity

TREE = {"tree": {"north": ["a", "b", "c"], "south": {"east": ["d", "e"], "west": ["f", "g"]}}}
METHODS = ["mondrian", "relaxed_mondrian", "top_down"]


@st.composite
def tables_of_records(draw, rules=True):
    """Attributes (numbers with gaps, a tree, plain codes), perhaps a rule, and k."""
    rows = draw(st.integers(1, 40))
    few = draw(st.integers(1, 12))
    numbers = draw(st.lists(st.one_of(st.none(), st.integers(0, few)), min_size=rows, max_size=rows))
    letters = draw(picks(["a", "b", "c", "d", "e", "f", "g", None], min_size=rows, max_size=rows))
    codes = draw(picks(range(4), min_size=rows, max_size=rows))
    weight = draw(st.sampled_from([0.5, 1.0, 2.0]))
    column = Column.of(letters)
    hierarchy = Attribute.model_validate({"hierarchy": TREE}).hierarchy
    chosen = [
        OrderedAttribute.of(Column.of(pa.array(numbers, pa.int64())), "n", weight),
        TreeAttribute.of(column, hierarchy.build("t", column, None)),
        TreeAttribute.plain(np.array(codes), 4),
    ]
    keep = draw(picks([False, True], min_size=3, max_size=3).filter(any))
    attributes = [one for one, kept in zip(chosen, keep, strict=True) if kept]
    secret = Column.of(draw(picks("xyz", min_size=rows, max_size=rows)))
    made = {
        "none": [],
        "distinct": [diversity_rule("s", secret, l=2)],
        "recursive": [diversity_rule("s", secret, l=2, kind="recursive", c=2.0)],
        "close": [closeness_rule("s", secret, t=0.4), diversity_rule("s", secret, l=2)],
    }
    which = draw(st.sampled_from(sorted(made))) if rules else "none"
    return attributes, made[which], draw(st.integers(1, 6))


def naive_of(records, attributes, rules, k, person=None):
    domains = [
        ("ordered", one.places.tolist(), one.missing)
        if isinstance(one, OrderedAttribute)
        else ("tree", one.table.tolist(), one.losses.tolist())
        for one in attributes
    ]

    def keeps(group):
        for r, rule in enumerate(rules):
            held = np.zeros(rule.whole.size, dtype=np.int64)
            for i, load in group:
                held[records.rules.secrets[r][i]] += load
            if person is None and rule.breaks(held):
                return False
        return person is None or keeps_of_people([i for i, _ in group])

    def keeps_of_people(items):
        *secrets, persons = records.rules.secrets
        people = {persons[i] for i in items}
        for rule, own in zip(rules, secrets, strict=True):
            pairs = {(persons[i], own[i]) for i in items}
            held = np.bincount([value for _, value in pairs], minlength=rule.whole.size)
            if rule.breaks(held, len(people)):
                return False
        return len(people) >= person.count

    weights = [one.weight for one in attributes]
    return Naive(records.codes.tolist(), domains, weights, k, keeps)


@given(tables_of_records(), st.sampled_from(METHODS), st.booleans(), st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_the_groups_are_those_of_plain_loops(table, method, of_people, random):
    attributes, rules, k = table
    person = None
    if of_people:
        owner = Column.of([random.randrange(12) for _ in attributes[0].codes])
        person = diversity_rule("person", owner, l=k)
        rules = [rule.counting(owner) for rule in rules]
    records = Records.of(attributes, rules, person=person)
    naive = naive_of(records, attributes, rules, k, person)
    loads = records.loads.tolist()
    if records.count < k or not naive.keeps([[i, load] for i, load in enumerate(loads)]):
        with pytest.raises(InputError):
            top_down(records, k)
        return
    if method == "top_down":
        groups, expected = top_down(records, k), naive.top_down(loads)
    else:
        groups = mondrian(records, k, relaxed=method == "relaxed_mondrian")
        expected = naive.mondrian(loads, method == "relaxed_mondrian")
    item_of_row = np.empty(records.count, dtype=int)
    item_of_row[records.rows] = np.repeat(np.arange(len(loads)), loads)
    assert grouped(groups.labels, item_of_row) == as_sets(expected)
    assert groups.sizes.min() >= k


@given(tables_of_records(), st.integers(0, 2**64 - 1))
@settings(max_examples=35)
def test_top_down_as_published_is_that_of_plain_loops(table, seed):
    attributes, rules, k = table
    records = Records.each(attributes, rules)
    naive = naive_of(records, attributes, rules, k)
    if records.count < k or not naive.keeps([[i, 1] for i in range(records.count)]):
        with pytest.raises(InputError):
            published(records, k, seed)
        return
    groups = published(records, k, seed)
    assert grouped(groups.labels, np.arange(records.count)) == as_sets(naive.published(seed))
    assert groups.sizes.min() >= k


@given(tables_of_records(), st.sampled_from(METHODS), st.randoms())
@settings(max_examples=30)
def test_the_order_of_rows_does_not_matter(table, method, random):
    attributes, rules, k = table
    rows = attributes[0].codes.size
    order = np.array(random.sample(range(rows), rows), dtype=int)

    def run(place):
        records = Records.of(
            [_shuffled(one, place) for one in attributes], [_with_codes(rule, rule.codes[place]) for rule in rules]
        )
        split = {"top_down": top_down}.get(method, lambda *given: mondrian(*given, relaxed=method != "mondrian"))
        labels = split(records, k).labels
        alike = np.stack([one.codes[place] for one in attributes], axis=1)
        return Counter(tuple(sorted(map(tuple, alike[labels == label].tolist()))) for label in np.unique(labels))

    try:
        expected = run(np.arange(rows))
    except InputError:
        return
    assert run(order) == expected


def _shuffled(attribute, place):
    return type(attribute)(**{**attribute.__dict__, "codes": attribute.codes[place]})


def _with_codes(rule, codes):
    return type(rule)(**{**rule.__dict__, "codes": codes})


def test_threads_do_not_change_the_groups(monkeypatch):
    rng = np.random.default_rng(5)
    attributes = [
        OrderedAttribute.of(Column.of(rng.integers(0, 500, 3000).tolist())),
        TreeAttribute.plain(rng.integers(0, 9, 3000), 9),
    ]
    records = Records.of(attributes)
    alone = [top_down(records, 3), mondrian(records, 3), mondrian(records, 3, relaxed=True)]
    monkeypatch.setattr(partitioning_records, "PARALLEL", 100)
    together = [top_down(records, 3), mondrian(records, 3), mondrian(records, 3, relaxed=True)]
    for one, other in zip(alone, together, strict=True):
        assert np.array_equal(one.labels, other.labels)


def test_strict_mondrian_by_hand():
    # Ages 20 … 70 and two postcodes, as in LeFevre et al.: the wider side is cut in the middle, then each half again.
    ages, places = [25, 25, 26, 27, 28, 60], [53711, 53712, 53711, 53710, 53712, 53711]
    records = Records.of([OrderedAttribute.of(Column.of(ages)), OrderedAttribute.of(Column.of(places))])
    # Both attributes are fully open: the first one is cut at 3 | 3. Then neither 3 can be cut again for k = 2.
    assert mondrian(records, 2).labels.tolist() == [0, 0, 0, 1, 1, 1]


def test_relaxed_mondrian_divides_equal_numbers_and_strict_does_not():
    records = Records.of([OrderedAttribute.of(Column.of([1, 2, 2, 2, 2, 2]))])
    assert sorted(mondrian(records, 2).sizes.tolist()) == [6]
    assert sorted(mondrian(records, 2, relaxed=True).sizes.tolist()) == [3, 3]


def test_an_outlier_takes_its_neighbours_instead_of_spoiling_the_group():
    records = Records.of([OrderedAttribute.of(Column.of([1, 1, 1, 1, 2, 3, 3, 3, 100]))])
    labels = top_down(records, 3).labels
    assert Counter(labels.tolist())[labels[8]] == 3
    assert labels[8] not in labels[:5]


def test_few_missing_numbers_spoil_one_group_only():
    numbers = [*range(100), None]
    released = LocalRecode(k=2).apply({"n": numbers}, attributes={"n": {"role": "quasi"}})["n"]
    assert released.count("*") in (2, 3)
    assert released[-1] == "*"
    assert released[0] == "0–2"


def test_many_missing_numbers_stand_alone():
    released = LocalRecode(k=2).apply({"n": [1, 2, None, None, 3]}, attributes={"n": {"role": "quasi"}})["n"]
    assert released == ["1–3", "1–3", None, None, "1–3"]


def test_plain_codes_for_streams():
    codes = np.array([[0, 0], [0, 0], [1, 0], [1, 1], [1, 1]])
    groups = top_down(Records.of([TreeAttribute.plain(codes[:, j], 2) for j in range(2)]), 2)
    assert (groups.sizes >= 2).all()
    shared = patterns(codes, groups)
    # The one in the middle is as near to both; it goes with the first.
    assert shared[groups.labels].tolist() == [[-1, 0]] * 3 + [[1, 1]] * 2


# The technique --------------------------------------------------------------------------------------------------------

PARAMETERS = [
    {"k": 2},
    {"k": 3, "method": "top_down", "l_diversity": {"disease": 2}},
    {"k": 3, "method": "relaxed_mondrian", "t_closeness": {"disease": 0.4}, "publish": "hierarchy"},
    {"k": 4, "method": "top_down", "publish": "mean", "largest_set": 1},
    {"k": 3, "method": "bic", "quasi": ["age", "income"]},
    {"k": 3, "method": "bic", "quasi": ["age", "income"], "publish": "mean"},
]


@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
def test_common_checks(parameters):
    technique = LocalRecode.model_validate(parameters)
    check(technique)


MODELS = {
    "distinct": ({"l_diversity": {"s": 2}}, DistinctLDiversity(sensitive="s", l=2)),
    "entropy": ({"l_diversity": {"s": {"l": 1.8, "kind": "entropy"}}}, EntropyLDiversity(sensitive="s", l=1.8)),
    "recursive": (
        {"l_diversity": {"s": {"l": 2, "kind": "recursive", "c": 2}}},
        RecursiveLDiversity(sensitive="s", c=2, l=2),
    ),
    "equal": ({"t_closeness": {"s": 0.3}}, TCloseness(sensitive="s", t=0.3)),
    "ordered": (
        {"t_closeness": {"s": {"t": 0.2, "distance": "ordered"}}},
        TCloseness(sensitive="s", t=0.2, distance="ordered"),
    ),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("model", MODELS)
def test_every_demand_is_kept_and_costs_groups(model, method):
    rng = np.random.default_rng(11)
    data = Dataset.of(
        {
            "age": rng.integers(20, 60, 400).tolist(),
            "job": rng.choice(list("abcdefg"), 400).tolist(),
            "s": rng.choice([1, 2, 3], 400, p=[0.6, 0.3, 0.1]).tolist(),
        }
    )
    schema = Schema(
        {"age": Attribute(role="quasi"), "job": Attribute.model_validate({"role": "quasi", "hierarchy": TREE})}
    )
    given_, expected = MODELS[model]
    outcomes = [
        LocalRecode(k=3, method=method, **demand).run(Work(data, schema, np.random.default_rng(0)))
        for demand in (given_, {})
    ]
    strict, free = outcomes
    assert expected.check(strict.data, ["age", "job"]).holds
    assert not expected.check(free.data, ["age", "job"]).holds
    assert 5 < strict.facts["groups"] < free.facts["groups"]
    for outcome in outcomes:
        assert KAnonymity(k=3).check(outcome.data, ["age", "job"]).holds


def test_hierarchical_closeness():
    rng = np.random.default_rng(2)
    roles = {"age": {"role": "quasi"}, "s": {"role": "sensitive", "hierarchy": TREE}}
    frame = {"age": rng.integers(0, 90, 200).tolist(), "s": rng.choice(list("abcdefg"), 200).tolist()}
    demand = {"s": {"t": 0.35, "distance": "hierarchical"}}
    released = LocalRecode(k=2, t_closeness=demand).apply(frame, attributes=roles)  # verifies what it promises
    assert 2 < len(set(released["age"])) < len(set(LocalRecode(k=2).apply(frame, attributes=roles)["age"]))


def test_numbers_become_ranges_that_hold_them():
    roles = {"n": {"role": "quasi"}, "d": {"role": "quasi"}}
    frame = {"n": [-5, 3, 10, 12], "d": [date(2020, 1, 1), date(2020, 2, 1), date(2021, 1, 5), date(2021, 1, 5)]}
    released = LocalRecode(k=2).apply(frame, attributes=roles)
    assert released["n"] == ["-5 to 3", "-5 to 3", "10–12", "10–12"]
    assert released["d"] == ["2020-01-01 to 2020-02-01"] * 2 + ["2021-01-05"] * 2


def test_equal_numbers_written_differently_look_alike():
    released = LocalRecode(k=2).apply({"n": ["1.0", "1", "2", "2"]}, attributes={"n": {"role": "quasi"}})
    assert released == {"n": ["1", "1", "2", "2"]}


def test_categories_become_ancestors_sets_or_stars():
    roles = {"place": {"role": "quasi", "hierarchy": TREE}}
    released = LocalRecode(k=2, method="top_down").apply({"place": list("aabcdefg")}, attributes=roles)["place"]
    assert released == ["a", "a", "north", "north", "east", "east", "west", "west"]
    frame, roles = {"c": ["x", "y", "z", "z", "z"]}, {"c": {"role": "quasi"}}
    assert LocalRecode(k=2).apply(frame, attributes=roles)["c"] == ["{x, y}", "{x, y}", "z", "z", "z"]
    assert LocalRecode(k=2, largest_set=1).apply(frame, attributes=roles)["c"] == ["*", "*", "z", "z", "z"]
    frame = {"c": ["x", None, "z", "z", "*", "y"]}
    assert LocalRecode(k=2).apply(frame, attributes=roles)["c"] == ["*", "*", "z", "z", "*", "*"]


def test_numbers_by_their_hierarchy_and_masks_always():
    frame = {"age": [31, 38, 39, 52, 57, 58]}
    roles = {"age": {"role": "quasi", "hierarchy": {"intervals": [10, 20]}}}
    assert LocalRecode(k=3, publish="hierarchy").apply(frame, attributes=roles)["age"] == ["30–39"] * 3 + ["50–59"] * 3
    assert LocalRecode(k=3).apply(frame, attributes=roles)["age"] == ["31–39"] * 3 + ["52–58"] * 3
    codes = {"zip": {"role": "quasi", "hierarchy": {"mask": "right"}}}
    assert LocalRecode(k=2).apply({"zip": [101, 102, 205, 209]}, attributes=codes)["zip"] == ["10*"] * 2 + ["20*"] * 2


def test_means_stay_whole_numbers():
    frame = {"n": [1, 2, 10, 13], "m": [0.0, 1.0, 5.0, 5.5]}
    released = LocalRecode(k=2, publish="mean").apply(
        frame, attributes={"n": {"role": "quasi"}, "m": {"role": "quasi"}}
    )
    assert released == {"n": [2, 2, 12, 12], "m": [0.5, 0.5, 5.25, 5.25]}


def test_weights_say_which_attribute_is_cut_first():
    frame = {"a": [1, 1, 9, 9], "b": [1, 9, 1, 9]}
    for heavy, kept in (("a", ["1", "9"]), ("b", ["1–9"])):
        roles = {name: {"role": "quasi", "weight": 3 if name == heavy else 1} for name in frame}
        released = LocalRecode(k=2).apply(frame, attributes=roles)["a"]
        assert sorted(set(map(str, released))) == kept


def test_what_cannot_be_done_is_said():
    frame = {"n": [1, 2, 3], "t": ["a", "b", "c"], "s": ["x", "x", "x"]}
    roles = {"n": {"role": "quasi"}, "s": {"role": "sensitive"}}
    with pytest.raises(PromiseError, match="only 3 records"):
        LocalRecode(k=4).apply(frame, attributes=roles)
    with pytest.raises(PromiseError, match="even all records as one group break a demand on 's'"):
        LocalRecode(k=2, l_diversity={"s": 2}).apply(frame, attributes=roles)
    with pytest.raises(UsageError, match="no quasi-identifier"):
        LocalRecode(k=2).apply(frame)
    with pytest.raises(UsageError, match="named twice"):
        LocalRecode(k=2, quasi=["n", "n"]).apply(frame)
    with pytest.raises(UsageError, match="either a quasi-identifier or sensitive"):
        LocalRecode(k=2, l_diversity={"n": 2}).apply(frame, attributes=roles)
    with pytest.raises(ColumnError, match="t: needs numbers"):
        LocalRecode(k=2, method="bic", quasi=["t"]).apply(frame)
    with pytest.raises(ColumnError, match="infinite"):
        LocalRecode(k=2, quasi=["n"]).apply({"n": [1.0, float("inf")]})
    for wrong in ({"l_diversity": {"s": 2}}, {"t_closeness": {"s": 0.2}}, {"publish": "hierarchy"}):
        with pytest.raises(ValueError, match="bic"):
            LocalRecode(k=2, method="bic", **wrong)


def test_adult_loses_far_less_than_with_one_level_for_all(arx_adult, arx_table):
    names = ["age", "sex", "race", "education", "native-country"]
    original = arx_table
    roles = {
        name: {"role": "quasi", "hierarchy": {"csv": f"adult_hierarchy_{name}.csv"}} if name in names else {}
        for name in original
    }
    schema = Schema({name: Attribute.model_validate(role) for name, role in roles.items()}, arx_adult)
    hierarchies = {name: schema.hierarchy(name, original[name]) for name in names}

    def lost(technique):
        outcome = technique.run(Work(original, schema, np.random.default_rng(0)))
        assert all(promise.verify(outcome.data).holds for promise in outcome.promises)
        measures = utility(original, outcome.data, quasi=names, hierarchies=hierarchies)
        return next(one.value for one in measures if one.name == "ncp" and one.column is None)

    everywhere = lost(KAnonymize(k=10, suppress=0.02))
    for method in METHODS:
        free = lost(LocalRecode(k=10, method=method))
        diverse = lost(
            LocalRecode(k=10, method=method, l_diversity={"occupation": 4}, t_closeness={"salary-class": 0.3})
        )
        assert free < diverse < everywhere / 2


def test_the_plan_says_what_is_asked():
    words = LocalRecode(
        k=3,
        method="top_down",
        l_diversity={"disease": {"l": 2, "kind": "recursive", "c": 3}},
        t_closeness={"income": {"t": 0.2, "distance": "ordered"}},
    ).explain(SCHEMA)
    for part in ("3 or more", "'age', 'zip' and 'sex'", "Xu", "(3, 2)-diverse", "by at most 0.2 (ordered distance)"):
        assert part in words
