"""Losses that classes pay and what a release is worth: against plain loops over levels and joined classes, and by hand."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import log, log2, prod
from typing import get_args

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.algorithms.lattice_cases import LOSSES, cases
from tests.drawing import picks
from tests.naive.lattice import Naive, TooMany
from tests.techniques.test_k_anonymize import run

import oboro
from oboro.algorithms.lattice.losses import CellName, ClassEarnings, ClassPayments, PaymentName, loss_of
from oboro.algorithms.lattice.search import search
from oboro.algorithms.lattice.suppression import SizeLimit
from oboro.data.column import Column
from oboro.errors import UsageError
from oboro.privacy.economics import Market
from oboro.report.chosen_levels import chosen_levels_said, lost

MARKETS = [
    Market(10, 30, 20, 4),
    Market(10, 3, 20, 4),
    Market(5, 40, 8, 2.5),
    Market(10, 0, 20, 4),
]
NAMES = ["ambiguity", "kl", "classification", "payout"]


class Paying(Naive):
    """`covers[a][level][i]` is how many values record i's label covers."""

    market, asked, relaxed, covers, target = None, False, False, (), ()

    def check(self, node):
        self.node = node
        return super().check(node)

    def lost(self, i):
        whole = log(prod(len(rows) for rows in self.rows))
        return log(prod(self.covers[a][level][i] for a, level in enumerate(self.node))) / whole if whole else 0.0

    def payout(self, members):
        m, chance = self.market, 1 / len(members)
        return m.benefit * (1 - self.lost(members[0])) - (m.loss * chance if m.gain * chance > m.cost else 0)

    def unsafe(self, members, people=()):
        return super().unsafe(members, people) or (self.asked and self.payout(members) <= 1e-12)

    def told(self, out, rest, people):
        if self.relaxed:
            return False
        if out and self.asked:
            m = self.market
            return super().unsafe(out) or (m.gain / len(out) > m.cost and m.loss > 0)
        return super().told(out, rest, people)

    def cost(self, node, kept, out):
        if self.loss not in NAMES:
            return super().cost(node, kept, out)
        whole, n = prod(len(rows) for rows in self.rows), self.n
        covered = lambda i: prod(self.covers[a][level][i] for a, level in enumerate(node))  # noqa: E731
        if self.loss == "ambiguity":
            return sum(covered(i) for some in kept for i in some) + len(out) * whole
        if self.loss == "classification":
            return (sum(map(self.wrong, kept)) + len(out)) / n
        if self.loss == "payout":
            return sum(len(c) * (self.market.benefit - self.payout(c)) for c in kept) + len(out) * self.market.benefit
        tuples = Counter(tuple(part[0][i] for part in self.labels) for i in range(n))
        p = {i: tuples[tuple(part[0][i] for part in self.labels)] / n for i in range(n)}
        q = {i: len(some) / n / covered(i) for some in kept for i in some} | dict.fromkeys(out, 1 / n / whole)
        return sum(log2(p[i] / q[i]) for i in range(n)) / n

    def wrong(self, members):
        counts = Counter(self.target[i] for i in members).most_common(2)
        tie = len(counts) > 1 and counts[0][1] == counts[1][1]
        return len(members) if tie else len(members) - counts[0][1]


def paying(case, market, asked):
    naive = case.naive()
    naive.__class__ = Paying
    naive.rows, naive.market, naive.asked, naive.target = case.rows, market, asked, case.target
    naive.covers = [
        [
            [max(1, sum(row[i] == label for row in rows)) for label in level]
            for i, level in enumerate(labels)
        ]
        for rows, labels in zip(case.rows, naive.labels, strict=True)
    ]  # fmt: skip
    return naive


@given(
    case=cases(),
    name=st.sampled_from([*NAMES, *LOSSES, "arx_entropy", "height"]),
    market=st.sampled_from(MARKETS),
    asked=st.booleans(),
    relaxed=st.booleans(),
    limit=st.sampled_from([None, SizeLimit(2, 0.1), SizeLimit(3, 0.3)]),
    data=st.data(),
)
def test_every_model_with_every_objective_and_rule_of_suppression_equals_brute_force(
    case, name, market, asked, relaxed, limit, data
):
    """Rules on secrets, a limit on sizes and what a class earns; every loss; the suppressed as a class, or left out."""
    assume(all(value is not None for column in case.columns for value in column))
    asked = asked or name == "payout"
    n = len(case.secret)
    case.loss = name if name in LOSSES else "loss"  # which shares the plain loops take
    case.target = data.draw(picks("xyz", min_size=n, max_size=n))
    problem = case.problem()
    naive = paying(case, market, asked)
    naive.loss, naive.relaxed = name, relaxed
    naive.sizes = () if limit is None or relaxed else ((limit.small, limit.share),)
    try:
        _, best, _ = naive.solve()
    except TooMany:
        assume(False)
    target = Column.of(case.target) if name == "classification" else None
    if name in NAMES:
        loss = ClassPayments.of(name, problem.columns, problem.hierarchies, target, market)
    else:
        loss = loss_of(name, problem.columns, problem.hierarchies, case.weights, case.k)
    limits = () if limit is None or relaxed else (limit,)
    earnings = ClassEarnings.of(market, problem.hierarchies) if asked else None
    found = search(replace(problem, loss=loss, earnings=earnings, relaxed=relaxed, class_sizes=limits))
    assert found.exact
    assert (found.best is None) == (best is None)
    if best is not None:
        assert found.best.loss == pytest.approx(best[0], abs=1e-9, rel=1e-9)
        assert found.best.levels == best[1] or naive.check(found.best.levels)[3] == pytest.approx(best[0], abs=1e-9)


TREE = [["a", "A", "*"], ["b", "B", "*"], ["c", "B", "*"], ["d", "D", "*"]]


def figures(table, **step):
    roles = {name: {"role": "quasi", "hierarchy": {"rows": TREE}} for name in ("x",)}
    roles |= {name: {"role": "other"} for name in table if name != "x"}
    recipe = oboro.Recipe(
        attributes=roles, steps=[{"k_anonymize": step}], accept={"unique_on": [*table], "because": "made up"}
    )
    made = recipe.run(table)
    assert made.verification.holds
    return made.steps[0].facts


def test_ambiguity_and_divergence_by_hand():
    """a twice alone, b and c under B: 2 · 1 + 2 · 2 combinations; ½ · log₂(4 · 1 / 2) + ½ · log₂(4 · 2 / 2) − (½ + ½ · 2) bits."""
    table = {"x": ["a", "a", "b", "c"]}
    assert figures(table, k=2, loss="ambiguity")["loss"]["value"] == 6
    assert figures(table, k=2, loss="kl")["loss"]["value"] == pytest.approx(0.5 * 1 + 0.5 * 2 - 1.5)
    suppressed = figures(table, k=2, loss="ambiguity", suppress=0.5, levels={"x": 0})
    assert suppressed["loss"]["value"] == 2 + 2 * 4


def test_the_target_chooses_the_levels():
    """b and c have the same target, a and d another each: joining b with c costs no prediction, one level higher does."""
    table = {"x": ["a", "a", "b", "c", "b", "c", "d", "d"], "y": ["1", "1", "2", "2", "2", "2", "3", "3"]}
    facts = figures(table, k=2, loss="classification", target="y")
    assert (facts["loss"]["value"], facts["levels"]["x"]["level"]) == (0.0, 0)
    assert figures(table, k=4, suppress=0.5, loss="classification", target="y")["loss"]["value"] == 0.5
    with pytest.raises(UsageError, match="go together"):
        oboro.KAnonymize(k=2, loss="classification")
    with pytest.raises(UsageError, match="is a quasi-identifier"):
        figures(table, k=2, loss="classification", target="x")


def test_a_class_that_earns_nothing_goes_and_no_attack_pays_off():
    """Benefit 10, and 30 lost with a chance of 1/2: 10 − 15 < 0, so pairs go; of three 10 − 10 = 0 go too; four stay with 2.5."""
    table = {"x": ["a"] * 4 + ["b"] * 3 + ["c"] * 2}
    amounts = {"benefit": 10, "loss": 30, "gain": 100, "cost": 1}
    facts = figures(table, k=1, suppress=1.0, suppressed="drop", profitability=amounts, loss="payout", levels={"x": 0})
    assert facts["suppressed"]["records"] == 5
    assert facts["loss"]["value"] == pytest.approx(4 * 7.5 + 5 * 10)
    none = {"benefit": 10, "loss": 30, "gain": 11, "cost": 4, "attacks": "none"}
    assert figures(table, k=1, suppress=0.5, profitability=none)["suppressed"]["records"] in (0, 3)
    assert Market(1, 1, 12, 4).least_unattacked == 4  # three would bring exactly what they cost
    assert Market(1, 1, 11, 4).least_unattacked == 3


def test_a_journalist_looks_among_the_people_of_the_population():
    people = {"x": ["a"] * 9 + ["b"] * 9 + ["c"] * 9 + ["d"] * 2}
    amounts = {"benefit": 10, "loss": 30, "gain": 20, "cost": 4, "attacker": "journalist", "attacks": "none"}
    step = oboro.KAnonymize(k=1, profitability=amounts, population=people)
    roles = {"x": {"role": "quasi", "hierarchy": {"rows": TREE}}}
    assert sorted(step.apply({"x": ["a", "b", "c"]}, attributes=roles)["x"]) == ["a", "b", "c"]  # 1/9 · 20 < 4
    prosecutor = oboro.KAnonymize(k=1, profitability=amounts | {"attacker": "prosecutor"})
    assert set(prosecutor.apply({"x": ["a", "b", "c"] * 2}, attributes=roles)["x"]) == {"*"}
    with pytest.raises(UsageError, match="population"):
        oboro.KAnonymize(k=1, profitability=amounts)


def test_the_verifier_sees_what_earns_nothing():
    from oboro.data.dataset import Dataset
    from oboro.hierarchies.spec import HierarchySpec
    from oboro.verifier.economics import NoAttackPays, Profitable

    data = Dataset.of({"x": ["A", "A", "B", "B", "B", "B"]})
    tree = HierarchySpec(rows=TREE).build("x", Column.of(["a", "b", "c", "d"]))
    amounts = {"benefit": 10, "loss": 30, "gain": 100, "cost": 1, "hierarchies": {"x": tree}}
    found = Profitable(**amounts).check(data, ["x"])
    assert (found.holds, found.broken_records) == (False, 6)  # B lost half: 5 − 7.5
    assert found.achieved == pytest.approx(10 - 15)
    assert Profitable(**amounts | {"loss": 10}).check(data, ["x"]).holds  # 10 − 5, 5 − 2.5
    assert NoAttackPays(**amounts | {"cost": 51}).check(data, ["x"]).holds
    assert not NoAttackPays(**amounts | {"cost": 50}).check(data, ["x"]).holds


def test_a_missing_value_is_a_value_to_the_verifier_too():
    """Half of the bits stay, for `x` has two values; to whoever leaves out the missing one every bit is lost and nothing earned."""
    money = {"benefit": 10, "loss": 0, "gain": 4, "cost": 4}
    table = {"x": ["a"] * 4 + [None] * 4, "y": ["p", "q"] * 4}
    roles = {name: {"role": "quasi"} for name in "xy"}
    released = oboro.KAnonymize(k=4, profitability=money).apply(table, attributes=roles)
    assert released == {"x": table["x"], "y": ["*"] * 8}


def test_what_is_made_least_is_not_called_by_what_is_wanted():
    money = {"benefit": 10, "loss": 0, "gain": 4, "cost": 4}
    roles = {"x": {"role": "quasi"}}
    for asked, said in (
        ({"loss": "payout", "profitability": money}, "payout that is not earned 0 ("),
        ({"loss": "classification", "target": "t"}, "share of wrong classifications 0 ("),
    ):
        outcome = run(oboro.KAnonymize(k=2, **asked), {"x": ["a", "a", "b", "b"], "t": ["p", "p", "q", "q"]}, roles)
        assert dict(chosen_levels_said(outcome.facts))["minimized"].say().startswith(said)


@pytest.mark.parametrize("name", [*get_args(CellName), *get_args(PaymentName)])
def test_every_loss_is_named_in_both_languages(name):
    assert "_" not in lost(name).say()
    assert not lost(name).say("ja").isascii()
