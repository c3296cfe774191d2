"""δ-disclosure privacy and β-likeness: by hand, against plain loops, of people, and as a receiver may read the file."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import product
from math import inf, log, log2

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.drawing import picks
from typer.testing import CliRunner

import oboro
from oboro.cli.all_commands import app
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.errors import PromiseError, UsageError
from oboro.schema import Attribute, Schema
from oboro.techniques.k_anonymize import KAnonymize
from oboro.verifier.attribute import BetaLikeness, DeltaDisclosure
from oboro.verifier.classes import Classes
from oboro.verifier.table import verify

# Ten records: flu 5, cold 4, gout 1. Among the six women flu 3, cold 2, gout 1; among the four men flu 2, cold 2.
PATIENTS = {"sex": ["F"] * 6 + ["M"] * 4, "s": [*["flu"] * 3, *["cold"] * 2, "gout", *["flu"] * 2, *["cold"] * 2]}


def verdict(**limits):
    return verify(PATIENTS, quasi=["sex"], sensitive="s", **limits).verdicts[0]


def test_disclosure_by_hand():
    """Women: gout 1/6 against 1/10 is 5/3; cold 1/3 against 2/5 is 5/6. Men have no gout."""
    assert verdict(delta=50).achieved is None
    assert not verdict(delta=50).holds
    held = verdict(delta=0.8, disclosed="held")
    assert held.holds
    assert held.achieved == pytest.approx(log2(5 / 3))
    assert not verdict(delta=0.7, disclosed="held").holds
    assert "0.7-disclosure privacy" in verify(PATIENTS, quasi="sex", sensitive="s", delta=0.7).sentence()


def test_a_frequency_of_exactly_two_to_the_delta_breaks():
    """Brickell and Shmatikov ask for less than δ: twice as frequent is 1 away."""
    table = {"x": ["a", "a", "b", "b", "b", "b", "b", "b"], "s": list("uvuvvvvv")}  # u: 1 of 2 against 2 of 8
    assert not verify(table, quasi=["x"], sensitive="s", delta=1.0).holds
    assert verify(
        table, quasi=["x"], sensitive="s", delta=1.0001
    ).holds  # the others: 1/2 to 3/4, 1/6 to 1/4, 5/6 to 3/4


def test_likeness_by_hand():
    """The greatest gain of a woman's disease: gout from 1/10 to 1/6, by 2/3 of it; of a man's: cold from 2/5 to 1/2, by 1/4."""
    basic = verdict(beta=0.7, likeness="basic")
    assert basic.holds
    assert basic.achieved == pytest.approx(2 / 3)
    assert not verdict(beta=0.6, likeness="basic").holds
    # Enhanced: −ln(1/10) is 2.3 and −ln(2/5) 0.92, so β decides.
    assert verdict(beta=0.7).holds
    # A value of 9 in 10 may gain −ln 0.9 = 0.105 only: in a class of its own it gains 1/9 = 0.111.
    table = {"x": ["a"] * 5 + ["b"] * 5, "s": [*["u"] * 9, "v"]}
    assert verify(table, quasi=["x"], sensitive="s", beta=4, likeness="basic").holds
    assert not verify(table, quasi=["x"], sensitive="s", beta=4).holds


ROWS = picks(product("ab*", "pqrst", ["u", "v", "w", None]), min_size=1, max_size=30)


def shares(rows, of_people):
    """(class, value) → share in the class and in the table, of records or of people, with every value of the table."""
    who = (lambda i, row: row[1]) if of_people else (lambda i, row: i)
    classes, everybody = defaultdict(lambda: defaultdict(set)), defaultdict(set)
    for i, row in enumerate(rows):
        classes[row[0]][row[2]].add(who(i, row))
        everybody[row[2]].add(who(i, row))
    people = len(set().union(*everybody.values()))
    for held in classes.values():
        size = len(set().union(*held.values()))
        yield {v: (Fraction(len(held.get(v, ())), size), Fraction(len(all_), people)) for v, all_ in everybody.items()}


@given(ROWS, st.booleans(), st.sampled_from([0.3, 0.5, 1.0, 1.5, 2.0]))
def test_against_plain_loops(rows, of_people, limit):
    data = Dataset.of({"x": [r[0] for r in rows], "s": [r[2] for r in rows]})
    person = Column.of([r[1] for r in rows]) if of_people else None
    classes = Classes.of(data, ["x"], person)
    found = list(shares(rows, of_people))
    away = [[abs(log2(q / p)) if q else inf for q, p in one.values()] for one in found]
    worst = [max(one) for one in away]
    expected = sum(any(not q or max(q / p, p / q) >= 2.0**limit for q, p in one.values()) for one in found)
    got = DeltaDisclosure(sensitive="s", delta=limit).judge(classes)
    assert (got.broken_groups, got.achieved is None) == (expected, max(worst) == inf)
    if got.achieved is not None:
        assert got.achieved == pytest.approx(max(worst))
    held = DeltaDisclosure(sensitive="s", delta=limit, values="held").judge(classes)
    assert held.broken_groups == sum(
        any(q and max(q / p, p / q) >= 2.0**limit for q, p in one.values()) for one in found
    )
    basic = BetaLikeness(sensitive="s", beta=limit, kind="basic").judge(classes)
    gains = [[float((q - p) / p) for q, p in one.values()] for one in found]
    assert basic.broken_groups == sum(any(gain > limit for gain in one) for one in gains)
    assert basic.achieved == pytest.approx(max(max(0, *one) for one in gains))
    enhanced = BetaLikeness(sensitive="s", beta=limit).judge(classes)
    bad = [any(float((q - p) / p) > min(limit, -log(p)) for q, p in one.values()) for one in found]
    assert enhanced.broken_groups == sum(bad)
    assert enhanced.holds == ((enhanced.achieved or 0) <= limit + 1e-12)


def test_values_that_some_reader_tells_apart_are_judged_apart():
    """`""` and missing are one for a reader of CSV and two for others: apart, the class a has missing twice as often."""
    table = {"x": ["a", "a", "b", "b"], "s": [None, "u", "", "u"]}
    assert verify(table, quasi=["x"], sensitive="s", beta=0.9, likeness="basic").holds is False
    assert verify(table, quasi=["x"], sensitive="s", beta=1.0, likeness="basic").holds


QUASI = {
    "a": {"role": "quasi", "hierarchy": {"rows": [[str(i), str(i // 2), "*"] for i in range(6)]}},
    "b": {"role": "quasi"},
}
DEMANDS = st.sampled_from(
    [
        {"delta_disclosure": {"s": 1.5}},
        {"delta_disclosure": {"s": {"delta": 1.0, "values": "held"}}},
        {"beta_likeness": {"s": 0.5}},
        {"beta_likeness": {"s": {"beta": 1.0, "kind": "basic"}}},
    ]
)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), DEMANDS, st.sampled_from([0.0, 0.2, 0.5]), st.booleans())
def test_what_is_released_keeps_the_models(seed, demand, suppress, people):
    """The release is recounted here from its text alone."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(4, 40))
    table = pa.table(
        {
            "a": rng.choice([str(i) for i in range(6)], rows),
            "b": rng.choice(["x", "y"], rows),
            "s": rng.choice(["u", "v", "w"], rows, p=[0.5, 0.3, 0.2]),
            **({"who": rng.integers(0, max(2, rows // 2), rows)} if people else {}),
        }
    )
    roles = {**QUASI, "s": {"role": "sensitive"}}
    try:
        recipe = oboro.Recipe(
            attributes={**roles, **({"who": {"role": "identifier"}} if people else {})},
            steps=[
                {"k_anonymize": {"k": 2, "suppress": suppress, **demand}},
                *([{"drop_columns": {"attributes": ["who"]}}] if people else []),
            ],
            **({"person": "who"} if people else {}),
            order="kept",
        )
        released = recipe.run(table).data
    except PromiseError as error:
        assert "no choice of levels" in str(error)
        return
    who = table["who"].to_pylist() if people else list(range(rows))
    keys = [f"{a}/{b}" for a, b in zip(released["a"].to_pylist(), released["b"].to_pylist(), strict=True)]
    found = list(shares(list(zip(keys, who, released["s"].to_pylist(), strict=True)), people))
    kind, limit = next(iter(demand.items()))
    asked = limit["s"]
    for one in found:
        for q, p in one.values():
            if kind == "beta_likeness":
                most = 1.0 if isinstance(asked, dict) else min(0.5, -log(p))
                assert float((q - p) / p) <= most
            elif q or not isinstance(asked, dict):
                assert q
                assert max(q / p, p / q) < 2 ** (1.0 if isinstance(asked, dict) else 1.5)


def test_from_the_command_line(tmp_path):
    path = tmp_path / "released.csv"
    path.write_text("sex,s\n" + "".join(f"{a},{b}\n" for a, b in zip(*PATIENTS.values(), strict=True)))
    run = ["verify", str(path), "--quasi", "sex", "--sensitive", "s"]
    assert CliRunner().invoke(app, [*run, "--delta", "0.8", "--disclosed", "held", "--beta", "0.7"]).exit_code == 0
    found = CliRunner().invoke(app, [*run, "--beta", "0.6"])
    assert found.exit_code == 1
    assert "enhanced 0.6-likeness of s" in found.stdout


def test_errors_teach():
    with pytest.raises(UsageError, match="beta"):
        verify(PATIENTS, quasi="sex", sensitive="s", k=2, likeness="basic")
    with pytest.raises(UsageError, match="sensitive"):
        verify(PATIENTS, quasi="sex", delta=1)
    with pytest.raises(UsageError, match="values"):
        verify(PATIENTS, quasi="sex", sensitive="s", delta=1, disclosed="some")


def test_the_plan_says_what_is_demanded():
    schema = Schema({"s": Attribute(role="sensitive"), "x": Attribute(role="quasi")})
    plan = KAnonymize(k=2, delta_disclosure={"s": 1}, beta_likeness={"s": {"beta": 2, "kind": "basic"}}).explain(schema)
    assert "less than 2^1 times as frequent" in plan
    assert "grows by at most 2 times" in plan
