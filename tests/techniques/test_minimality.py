"""Who is suppressed for a secret has that secret: the attack, and the choice of levels that does not look at secrets."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.drawing import picks

from oboro import KAnonymize, LocalRecode, Recipe
from oboro.attacks.minimality import infer_by_minimality
from oboro.data.dataset import Dataset
from oboro.errors import PromiseError
from oboro.hierarchies.spec import HierarchySpec
from oboro.schema import Attribute, Schema
from oboro.techniques.base import Work

ROLES = {"q": {"role": "quasi", "hierarchy": {"mask": "right"}}, "s": {"role": "sensitive"}}
# Forty people with both secrets in eight classes of five; ten more, in two classes, have one secret; two are alone.
CITIES = [f"a{n}" for n in range(8) for _ in range(5)] + ["b0"] * 5 + ["b1"] * 5 + ["c0", "d0"]
SECRETS = ["flu", "hiv", "flu", "flu", "hiv"] * 8 + ["hiv"] * 10 + ["flu", "flu"]
TOWN = {"q": CITIES, "s": SECRETS}
DIVERSE = {"k": 5, "suppress": 0.25, "l_diversity": {"s": 2}, "levels": {"q": 0}}


def _release(**settings: object) -> dict[str, list[str]]:
    return KAnonymize(**{**DIVERSE, **settings}).apply(TOWN, attributes=ROLES)


def _attack(before: dict[str, list[str]], after: dict[str, list[str]], k: int, homogeneous: bool = True):
    original = Dataset.of(before)
    trees = {"q": HierarchySpec(mask="right").build("q", original["q"])}
    return infer_by_minimality(original, Dataset.of(after), ["q"], "s", trees, k=k, homogeneous=homogeneous)


def test_everybody_in_a_class_that_is_missing_for_its_secrets_is_inferred() -> None:
    """By hand: twelve are suppressed. Ten are in classes of five; only hiv is held by five of the suppressed records."""
    found = _attack(TOWN, _release(), k=5)
    assert found is not None
    assert (found.found.right, found.found.tried) == (10, 10)
    assert (found.control.right, found.control.tried) == (10, 12)
    assert found.notes[0].values == {"people": 12, "large": 10}


def test_nobody_is_found_where_size_alone_decides() -> None:
    sizes_only = KAnonymize(k=5, suppress=0.25, levels={"q": 0})
    large_enough = {"q": [*CITIES, "c0", "d0", "e0"], "s": [*SECRETS, "hiv", "flu", "flu"]}
    found = _attack(large_enough, sizes_only.apply(large_enough, attributes=ROLES), k=5)
    assert found is not None
    assert found.found.tried == 0


def test_the_attack_says_nothing_where_the_picture_does_not_fit() -> None:
    untouched = _attack(TOWN, TOWN, k=5)
    strange = _attack(TOWN, {"q": ["x", *CITIES[1:-1], "*"], "s": SECRETS}, k=5)
    shorter = _attack(TOWN, {name: values[:-1] for name, values in _release().items()}, k=5)
    assert [untouched, strange, shorter] == [None, None, None]


@settings(max_examples=35, deadline=None)
@given(st.data())
def test_the_attack_is_its_naive_twin(data: st.DataObject) -> None:
    cells = data.draw(picks(product(["a0", "a1", "b0", "b1"], "xyz"), min_size=2, max_size=12))
    level, k, two = data.draw(st.integers(0, 1)), data.draw(st.integers(1, 4)), data.draw(st.booleans())
    gone = data.draw(st.sets(st.sampled_from(["a0", "a1", "b0", "b1"][: 4 // (1 + level)])))
    labels = [_masked(q, level) for q, _ in cells]
    hidden = {_masked(q, level) for q in gone}
    before = {"q": [q for q, _ in cells], "s": [s for _, s in cells]}
    after = {"q": ["*" if label in hidden else label for label in labels], "s": before["s"]}
    found = _attack(before, after, k, two)
    expected = _naive(before, after, k, two)
    if found is None:
        assert expected is None
        return
    assert expected is not None
    assert (found.found.right, found.found.tried) == expected


def _masked(value: str, level: int) -> str:
    return value[: len(value) - level] + "*" * level


def _naive(before: dict, after: dict, k: int, two: bool) -> tuple[int, int] | None:
    """Try the levels from the finest, walk over people, guess class by class."""
    stars = [row for row, label in enumerate(after["q"]) if label == "*"]
    shown = [label for label in after["q"] if label != "*"]
    if not stars or not shown:
        return None
    for level in (0, 1, 2):
        mine = [_masked(q, level) if level < 2 else "*" for q in before["q"]]
        if all(mine.count(label) >= shown.count(label) for label in shown):
            break
    else:
        return None
    missing = [person for person, label in enumerate(mine) if label not in shown]
    if len(missing) != len(stars):
        return None
    pool, whole = Counter(after["s"][row] for row in stars), Counter(after["s"])
    small = sum(mine.count(mine[person]) < k for person in missing)
    order = sorted(dict.fromkeys(after["s"]), key=lambda v: -(pool[v] - whole[v] / len(after["s"]) * small))
    right = tried = 0
    for person in missing:
        size = mine.count(mine[person])
        fits = [value for value in order if not two or pool[value] >= size]
        if size >= k and fits:
            tried += 1
            right += before["s"][person] == fits[0]
    return right, tried


def test_the_report_runs_the_attack_and_the_plan_warns() -> None:
    town = {name: values * 3 for name, values in TOWN.items()}
    recipe = Recipe(attributes=ROLES, steps=[{"k_anonymize": {**DIVERSE, "k": 15, "levels": {"q": 0}}}])
    report = recipe.run(town).report
    (found,) = [one for one in report.attacks if one.kind == "minimality"]
    assert (found.found.right, found.found.tried) == (30, 30)
    assert str(found.title) == "inferring s from who was suppressed"
    assert "minimality" in recipe.explain()
    assert "最小性" in recipe.explain("ja")


def test_where_people_are_counted_a_class_of_few_people_is_suppressed_for_its_size() -> None:
    """Five records of one person are no class of five: nobody there is suppressed for a secret."""
    rows = {
        "p": [f"p{n}" for n in range(50)] + ["one"] * 5,
        "q": [*CITIES[:50], *["z0"] * 5],
        "s": [*SECRETS[:50], *["flu"] * 5],
    }
    released = {"q": ["*" if q in ("b0", "b1", "z0") else q for q in rows["q"]], "s": rows["s"]}
    original, trees = Dataset.of(rows), {}
    counted = {"k": 5, "homogeneous": False}
    by_row = infer_by_minimality(original, Dataset.of(released), ["q"], "s", trees, **counted)
    by_person = infer_by_minimality(original, Dataset.of(released), ["q"], "s", trees, **counted, person=original["p"])
    assert by_row is not None
    assert by_person is not None
    assert (by_row.found.tried, by_person.found.tried) == (15, 10)
    assert by_person.found.right == 10


def test_a_plan_without_secrets_says_nothing_of_them() -> None:
    assert "minimality" not in Recipe(attributes=ROLES, steps=[{"k_anonymize": {"k": 5}}]).explain()


# Levels and suppression that do not look at secrets --------------------------------------------------------------------


def test_blind_refuses_where_a_demand_does_not_hold() -> None:
    with pytest.raises(PromiseError, match="distinct 2-diversity of s is broken in 2 of 10 groups"):
        _release(blind=True)
    assert (
        "nothing is released" in Recipe(attributes=ROLES, steps=[{"k_anonymize": {**DIVERSE, "blind": True}}]).explain()
    )


def test_blind_does_not_go_with_a_series_whose_secrets_are_looked_at() -> None:
    with pytest.raises(ValueError, match="cannot be combined with `earlier`"):
        KAnonymize(k=5, blind=True, l_diversity={"s": 2}, earlier=[TOWN])


def test_blind_chooses_the_same_whatever_the_secrets_are() -> None:
    rng = np.random.default_rng(1)
    labels = set()
    for _ in range(10):
        town = {"q": CITIES, "s": rng.permutation(SECRETS).tolist()}
        for settings_ in (
            {"blind": True, "l_diversity": {"s": 1}},
            {"blind": True, "l_diversity": {"s": 1}, "recoding": "local"},
        ):
            released = KAnonymize(k=5, suppress=0.1, **settings_).apply(town, attributes=ROLES)
            labels.add((settings_.get("recoding"), tuple(released["q"])))
    assert len(labels) == 2


TABLES = (
    ["a0", "a0", "a1", "a1", "b0", "b0", "b0"],
    ["a0", "a0", "a1", "b0", "b0", "b1", "c0"],
    ["a0", "a0", "a0", "b1", "b2", "c0", "c0"],
)


def _worlds(
    cities: list[str], step: KAnonymize | LocalRecode, values: str
) -> Iterator[tuple[tuple[str, ...], Dataset]]:
    """Every assignment of secrets, and what is released of it; nothing where the step refuses."""
    schema = Schema({name: Attribute.model_validate(one) for name, one in ROLES.items()})
    for secrets in product(values, repeat=len(cities)):
        data = Dataset.of({"q": cities, "s": list(secrets)})
        try:
            outcome = step.run(Work(data, schema, np.random.default_rng(0)))
        except PromiseError:
            continue
        if outcome.promises[0].verify(outcome.data).holds:
            yield secrets, replace(outcome.data, origin=None)


def _gains(cities: list[str], step: KAnonymize | LocalRecode, values: str) -> list[tuple[Fraction, Fraction]]:
    """For each release, person and value: the posterior of who knows the method, and the value's share in the released class.

    The attacker knows everybody's quasi-identifiers, so also in which class of the release each person must be, and takes all
    assignments for equally likely before. The order of the records tells nothing.
    """
    by_release: dict[tuple, list[tuple[tuple[str, ...], tuple[str, ...]]]] = defaultdict(list)
    for secrets, data in _worlds(cities, step, values):
        labels = tuple(str(one) for one in data.to_arrow()["q"].to_pylist())
        by_release[tuple(sorted(zip(labels, secrets, strict=True)))].append((secrets, labels))
    found = []
    for release, worlds in by_release.items():
        for person, value in product(range(len(cities)), values):
            posterior = Fraction(sum(secrets[person] == value for secrets, _ in worlds), len(worlds))
            (label,) = {labels[person] for _, labels in worlds}
            same = [secret for shown, secret in release if shown == label]
            found.append((posterior, Fraction(same.count(value), len(same))))
    return found


BLIND = (
    KAnonymize(k=2, suppress=0.4, l_diversity={"s": 2}, blind=True),
    KAnonymize(k=2, suppress=0.4, l_diversity={"s": 2}, blind=True, recoding="local"),
    LocalRecode(k=2, method="mondrian", l_diversity={"s": 2}, blind=True),
)


@pytest.mark.parametrize("cities", TABLES)
@pytest.mark.parametrize("step", BLIND, ids=lambda step: f"{step.step}-{getattr(step, 'recoding', '')}")
def test_blind_tells_nothing_beyond_the_table(cities: list[str], step: KAnonymize | LocalRecode) -> None:
    """Over all assignments of two secrets to seven people: the posterior is the share in the class, for everybody and always."""
    gains = _gains(cities, step, "xy")
    assert gains
    assert all(posterior == share for posterior, share in gains)


def test_without_it_the_method_tells() -> None:
    """The same count on the usual choice: a secret is certain although two of five suppressed records have it."""
    cities = ["a0", "a0", "a0", "b0", "b0", "b0", "c0", "d0"]
    step = KAnonymize(k=2, suppress=0.7, l_diversity={"s": 2}, levels={"q": 0})
    assert (Fraction(1), Fraction(2, 5)) in _gains(cities, step, "xy")


def test_without_it_the_levels_tell_too() -> None:
    """Nobody is suppressed. That the level was raised tells that one of two classes had one secret: 6/7, not 2/3."""
    step = KAnonymize(k=2, l_diversity={"s": 2})
    assert max(_gains(["a0", "a0", "b0", "b0", "b0", "b0"], step, "xy"))[0] == Fraction(6, 7)


def test_groups_of_local_recoding_tell_unless_they_are_blind() -> None:
    step = LocalRecode(k=2, method="mondrian", l_diversity={"s": 2})
    assert any(posterior > share for posterior, share in _gains(["a0", "a0", "b0", "b0", "b0", "b0"], step, "xy"))
    plans = [
        Recipe(attributes=ROLES, steps=[{"local_recode": {"k": 2, **more}}]).explain()
        for more in ({}, {"l_diversity": {"s": 2}})
    ]
    assert ["minimality" in plan for plan in plans] == [False, True]
