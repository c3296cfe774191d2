"""Whether somebody is in the table: certain without chance, hardly better than a coin under differential privacy."""

from __future__ import annotations

from math import exp

import numpy as np

import oboro
from oboro.attacks.membership import WithoutChance
from oboro.data.frames import Frame

PEOPLE = {"age": [20 + i % 50 for i in range(1200)], "sex": ["F" if i % 3 else "M" for i in range(1200)]}
ROLES = {"age": {"role": "quasi", "hierarchy": {"intervals": [10, 20]}}, "sex": {"role": "quasi"}}
STEP = {"epsilon": 1, "delta": 1e-4, "levels": {"age": 2, "sex": 0}}


def test_the_guess_is_that_of_plain_loops():
    rng = np.random.default_rng(5)
    data = Frame.read({"x": rng.integers(0, 4, 60).astype(str).tolist()}).data
    drawn = data.take(np.flatnonzero(rng.random(60) < 0.6))
    classes = WithoutChance.of(data, drawn, ["x"], {})
    seen = classes.counts(drawn)
    assert sorted(seen.tolist()) == sorted(np.unique(drawn["x"].decode().to_pylist(), return_counts=True)[1].tolist())
    right = tried = 0
    for people, shown in zip(classes.groups.sizes.tolist(), seen.tolist(), strict=True):
        for others, there in ((people - 1, True), (people, False)):
            likelier = (others + 1) * 0.4 > others + 1 - shown  # n (1 − β) / (n − j) > 1, with n = others + 1
            right += people * (likelier == there)
            tried += people
    assert classes.membership(seen, 0.6).right == right
    assert classes.membership(seen, 0.6).tried == tried
    assert classes.membership(classes.groups.sizes, 1.0).share == 1


def test_the_report_has_both_side_by_side():
    recipe = oboro.Recipe(attributes=ROLES, steps=[{"dp_anonymize": STEP}])
    report = recipe.run(PEOPLE).report
    attacks = {one.name: one for one in report.attacks}
    member = attacks["membership"]
    assert member.limit == (exp(1) + 1e-4) / (1 + exp(1))
    assert member.found.share < 0.9
    [note] = member.notes
    assert note.values["share"] == 1
    linked = attacks["linkability"] if "linkability" in attacks else attacks["singling_out"]
    assert any(one.id == "attack.note.without_chance" for one in linked.notes)
    assert "k-anonymity alone" in note.say("en")
    assert "k-匿名性" in note.say("ja")
