"""Promises over different columns: what holds over all of them together is computed, said, and never called fulfilled."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.drawing import picks

from oboro import Recipe
from oboro.data.dataset import Dataset
from oboro.errors import PromiseError
from oboro.verifier.identity import DistinctLDiversity, KAnonymity
from oboro.verifier.promises import Promise, verify_promises
from oboro.verifier.verdict import Verification

QUASI = {name: {"role": "quasi"} for name in "xy"}
# Over x alone and over y alone four records look alike; over both, two do.
CROSSED = {"x": ["a", "a", "b", "b"] * 2, "y": ["c", "d", "c", "d"] * 2}
TWO_STEPS = [{"k_anonymize": {"k": 3, "quasi": ["x"]}}, {"k_anonymize": {"k": 3, "quasi": ["y"]}}]


def test_two_k_anonymize_are_not_said_to_hold_over_both_columns() -> None:
    release = Recipe(attributes=QUASI, steps=TWO_STEPS).run(CROSSED)
    (joint,) = release.verification.joint
    assert (joint.over, joint.required, joint.achieved, joint.holds) == (("x", "y"), 3, 2, False)
    text = str(release.verification)
    assert "holds over x, y" not in text
    assert text.startswith("each promise holds over its own columns, but not over x, y together")
    assert "✗ 3-anonymity over x, y together is broken in 4 of 4 groups" in text
    assert "Every promise holds" not in release.summary()
    assert "over x, y together is broken" in release.summary()


def test_the_report_says_it_and_its_attacks_are_judged_by_what_holds() -> None:
    report = Recipe(attributes=QUASI, steps=TWO_STEPS).run(CROSSED).report
    assert [one.achieved for one in report.apart] == [2]
    assert "over x, y together is broken" in report.summary()
    assert "Every promise holds" not in report.to_html()
    assert report.verification is not None
    assert report.verification.joint_k == 2
    assert all(one.limit in (None, 1 / 2) for one in report.attacks)


def test_together_asked_for_is_a_promise_like_any_other() -> None:
    with pytest.raises(PromiseError, match="over x, y together is broken"):
        Recipe(attributes=QUASI, steps=TWO_STEPS, together=True).run(CROSSED)
    weaker = [{"k_anonymize": {"k": 2, "quasi": [name]}} for name in "xy"]
    held = Recipe(attributes=QUASI, steps=weaker, together=True).run(CROSSED).verification
    assert held.joint[0].holds
    assert str(held).startswith("holds over x, y\n")


def test_evaluate_counts_over_both_and_fails_where_the_recipe_promises_it() -> None:
    assert not Recipe(attributes=QUASI, steps=TWO_STEPS).evaluate(CROSSED, CROSSED, attempts=0).refused
    found = Recipe(attributes=QUASI, steps=TWO_STEPS, together=True).evaluate(CROSSED, CROSSED, attempts=0)
    assert found.refused
    assert [one.achieved for one in found.apart] == [2]


def test_the_plan_says_it_before_any_row_is_touched() -> None:
    assert "what holds over x, y together is counted" in Recipe(attributes=QUASI, steps=TWO_STEPS).explain()
    assert "x, y" in Recipe(attributes=QUASI, steps=TWO_STEPS, together=True).explain("ja")
    one = Recipe(attributes=QUASI, steps=[{"k_anonymize": {"k": 2}}])
    assert "together" not in one.explain()
    assert one.run(CROSSED).verification.joint == ()


def test_columns_published_one_by_one_are_counted_together() -> None:
    rng = np.random.default_rng(1)
    table = {name: rng.integers(0, 100, 60).astype(float).tolist() for name in "xy"}
    for step in (
        {"partition_univariate": {"attributes": ["x", "y"], "k": 5}},
        {"microaggregate": {"attributes": ["x", "y"], "k": 5, "method": "fixed"}},
    ):
        release = Recipe(attributes=QUASI, steps=[step]).run(table)
        rows = Counter(zip(*(release.data[name] for name in "xy"), strict=True))
        assert [one.achieved for one in release.verification.joint] == [min(rows.values())]


# Brute force ----------------------------------------------------------------------------------------------------------

CELLS = st.lists(
    st.tuples(*[st.sampled_from(["a", "b", None])] * 3, st.sampled_from(["s", "t"]), st.integers(0, 4)),
    min_size=1,
    max_size=9,
)
SETS = st.lists(st.sets(st.sampled_from("xyz"), min_size=1), min_size=1, max_size=3)


@settings(max_examples=30, deadline=None)
@given(CELLS, SETS, st.booleans())
def test_the_joint_classes_are_those_of_the_definition(rows: list, sets: list[set[str]], of_people: bool) -> None:
    columns = dict(zip("xyzsp", zip(*rows, strict=True), strict=True))
    data = Dataset.of({name: list(columns[name]) for name in "xyzs"})
    person = Dataset.of({"p": [str(one) for one in columns["p"]]})["p"] if of_people else None
    models = (KAnonymity(k=1), DistinctLDiversity(sensitive="s", l=1))
    found = verify_promises(data, [Promise("k", tuple(sorted(one)), models) for one in sets], ["k"] * len(sets), person)
    union = sorted(set().union(*sets))
    if any(set(union) == one for one in sets):
        assert found.joint == ()
        return
    assert [one.achieved for one in found.joint] == _naive_joint(columns, union, of_people)


def _naive_joint(columns: dict, union: list[str], of_people: bool) -> list[int]:
    """Walk over the records of each class: who is in it, and which secrets its people have."""
    classes: dict[tuple, list[int]] = {}
    for row in range(len(columns["s"])):
        classes.setdefault(tuple(columns[name][row] for name in union), []).append(row)
    sizes, diverse = [], []
    for rows in classes.values():
        whose = {row: columns["p"][row] if of_people else row for row in rows}
        values = {columns["s"][row] for row in rows}
        shared = [v for v in values if {whose[r] for r in rows if columns["s"][r] == v} == set(whose.values())]
        sizes.append(len(set(whose.values())))
        diverse.append(1 if shared else len(values))
    return [min(sizes), min(diverse)]


def _posterior(people: list[tuple], released: list[tuple], chance: list[dict]) -> Fraction:
    """The largest probability that a record is a person's, over all ways in which the records can be the people's."""
    weights = {}
    for order in permutations(range(len(people))):
        weight = Fraction(1)
        for record, person in enumerate(order):
            for a, table in enumerate(chance):
                weight *= table[people[person][a], released[record][a]]
        weights[order] = weight
    total = sum(weights.values())
    cells = product(range(len(people)), repeat=2)
    return max(sum(w for order, w in weights.items() if order[r] == p) / total for r, p in cells)


def _chance(domain: list[str], rho: Fraction) -> dict[tuple[str, str], Fraction]:
    drawn = (1 - rho) / len(domain)
    return {(before, after): drawn + (rho if before == after else 0) for before in domain for after in domain}


@settings(max_examples=25, deadline=None)
@given(
    picks(product("ab", "cde"), min_size=4, max_size=4),
    st.sampled_from([(0.2, 0.3), (0.5, 0.5), (0.7, 0.1)]),
)
def test_the_joint_linkage_bounds_the_posterior_of_every_release(
    people: list[tuple], rhos: tuple[float, float]
) -> None:
    """Two steps, one for each attribute: no released table links a record better than the joint k says."""
    table = dict(zip("xy", map(list, zip(*people, strict=True)), strict=True))
    domains = {"x": ["a", "b"], "y": ["c", "d", "e"]}
    steps = [
        {"pk_anonymize": {"rho": rho, "attributes": [name], "domain": {name: domains[name]}}}
        for name, rho in zip("xy", rhos, strict=True)
    ]
    (joint,) = Recipe(attributes=QUASI, steps=steps, seed=1).run(table).verification.joint
    chance = [_chance(domains[name], Fraction(rho)) for name, rho in zip("xy", rhos, strict=True)]
    rng = np.random.default_rng(len(set(people)))
    tries = [people, people[::-1]]
    tries += [[(str(rng.choice(list("ab"))), str(rng.choice(list("cde")))) for _ in people] for _ in range(6)]
    worst = max(_posterior(people, released, chance) for released in tries)
    assert float(worst) <= 1 / joint.achieved + 1e-12
    assert not joint.holds


def test_the_joint_linkage_is_reached() -> None:
    """One person is alone with both values, as the formula's worst case has it: nothing smaller would be true."""
    people = [("a", "c"), *[("b", "d")] * 3]
    steps = [{"pk_anonymize": {"rho": 0.5, "attributes": [name]}} for name in "xy"]
    (joint,) = (
        Recipe(attributes=QUASI, steps=steps, seed=1).run({"x": list("abbb"), "y": list("cddd")}).verification.joint
    )
    chance = [_chance(["a", "b"], Fraction(1, 2)), _chance(["c", "d"], Fraction(1, 2))]
    assert float(_posterior(people, people, chance)) == pytest.approx(1 / joint.achieved)


def test_beside_classes_the_smallest_class_counts() -> None:
    """x makes two classes of four people; y is randomized: within a class of four, not of eight, a record is sought."""
    steps = [{"k_anonymize": {"k": 4, "quasi": ["x"]}}, {"pk_anonymize": {"rho": 0.5, "attributes": ["y"]}}]
    (joint,) = Recipe(attributes=QUASI, steps=steps, seed=1).run(CROSSED).verification.joint
    assert joint.achieved == pytest.approx(1 + 3 * (0.5 / 1.5) ** 2)
    drawn_first = [steps[1], {"k_anonymize": {"k": 2}}]
    (unknown,) = Recipe(attributes=QUASI, steps=drawn_first, seed=1).run(CROSSED).verification.joint
    assert (unknown.achieved, unknown.holds) == (None, False)


def test_a_verification_with_joint_verdicts_is_read_back() -> None:
    found = Recipe(attributes=QUASI, steps=TWO_STEPS).run(CROSSED).verification
    assert Verification.read(found.as_dict()) == found
    assert "over x, y together" in found._repr_html_()


def test_the_public_is_not_told_what_follows_from_parameters() -> None:
    steps = [{"pk_anonymize": {"rho": 0.5, "attributes": [name]}} for name in "xy"]
    report = Recipe(attributes=QUASI, steps=steps, seed=1).run(CROSSED).report
    assert report.apart
    assert report.to_public().joint == ()


def test_beside_concealment_records_that_look_alike_are_counted_and_that_is_said() -> None:
    """Candidates are at least as many as records that look alike, so the count is a lower bound."""
    table = {"x": [1, 2, 3, 4, 5, 6], "y": ["c", "d", "c", "d", "c", "d"]}
    steps = [{"k_conceal": {"k": 3, "quasi": ["x"]}}, {"k_anonymize": {"k": 3, "quasi": ["y"]}}]
    release = Recipe(attributes=QUASI, steps=steps).run(table)
    (joint,) = release.verification.joint
    alike = Counter(zip(release.data["x"], release.data["y"], strict=True))
    assert joint.achieved == min(alike.values()) < 3
    assert joint.note is not None
    assert joint.note.id == "verdict.alike_at_least"


def test_a_column_that_is_drawn_twice_counts_once_with_the_draw_that_hides_more() -> None:
    """Whoever sees the second draw of a first draw learns no more than from either alone; the exact posterior says so."""
    steps = [{"pk_anonymize": {"rho": rho, "attributes": ["x"]}} for rho in (0.7, 0.4)]
    table = {"x": list("abbb"), "y": list("cccc")}
    (joint,) = Recipe(attributes=QUASI, steps=steps, seed=1, unnamed="other").run(table).verification.joint
    assert joint.achieved == pytest.approx(1 + 3 * (0.6 / 1.4) ** 2)
    first, second = (_chance(["a", "b"], Fraction(rho)) for rho in (0.7, 0.4))
    both = {(u, w): sum(first[u, v] * second[v, w] for v in "ab") for u in "ab" for w in "ab"}
    people = [("a",), *[("b",)] * 3]
    assert (
        max(_posterior(people, list(seen), [both]) for seen in product([("a",), ("b",)], repeat=4))
        <= 1 / joint.achieved
    )


def test_the_plan_speaks_of_columns_that_the_recipe_does_not_name() -> None:
    steps = [{"k_anonymize": {"k": 3, "quasi": ["x"]}}, {"microaggregate": {"attribute": "pay", "k": 3}}]
    plan = Recipe(attributes={"x": {"role": "quasi"}}, steps=steps, unnamed="other").explain()
    assert "what holds over x, pay together is counted and reported" in plan
