"""What becomes of suppressed records: a class of their own, left out, or exempt; and that it is said."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.algorithms.lattice_cases import cases
from typer.testing import CliRunner

import oboro
from oboro.algorithms.lattice.search import search
from oboro.cli.all_commands import app
from oboro.errors import PromiseError, RecipeError
from oboro.techniques.k_anonymize import KAnonymize

PEOPLE = {
    "age": [31, 32, 38, 39, 45, 46, 71],
    "sex": ["F", "F", "M", "M", "F", "F", "M"],
    "ill": ["flu", "cold", "cold", "flu", "cold", "flu", "flu"],
}
ROLES = {
    "age": {"role": "quasi", "hierarchy": {"intervals": [10, 20]}},
    "sex": {"role": "quasi"},
    "ill": {"role": "sensitive"},
}


def recipe(**more):
    return oboro.Recipe(attributes=ROLES, steps=[{"k_anonymize": {"k": 2, "suppress": 0.5, **more}}], seed=2**70)


def test_one_who_fits_nobody_by_hand():
    """71 is alone. As a class another class must go with them; left out or exempt they go alone."""
    as_class = KAnonymize(k=2, suppress=0.5).apply(PEOPLE, attributes=ROLES)
    assert as_class["age"].count("*") == 3
    dropped = KAnonymize(k=2, suppress=0.5, suppressed="drop").apply(PEOPLE, attributes=ROLES)
    assert dropped["age"] == ["30–39"] * 4 + ["40–49"] * 2
    assert dropped["ill"] == PEOPLE["ill"][:-1]
    exempt = KAnonymize(k=2, suppress=0.5, suppressed="exempt").apply(PEOPLE, attributes=ROLES)
    assert exempt["age"] == [*dropped["age"], "*"]
    assert exempt["sex"][-1] == "*"
    assert not oboro.verify(exempt, quasi=["age", "sex"], k=2).holds  # the verifier makes no exception by itself


def test_it_is_said_in_the_plan_the_summary_the_verification_and_the_report():
    for how, words in (("drop", "left out"), ("exempt", "nothing is promised")):
        made = recipe(suppressed=how)
        assert words in made.explain()
        release = made.run(PEOPLE)
        assert words in release.summary()
        assert release.steps[0].facts["suppressed"] == {"records": 1, "of": 7, "extra": 0, "limit": 3, "as": how}
        assert "対象外" in release.summary(lang="ja") or how == "drop"
        assert release.verification.holds
        told = [one.id for one in release.verification.warnings]
        assert ("verdict.exempt" in told) == (how == "exempt")
        again = oboro.Recipe.parse(release.again).steps[0]
        assert again.suppressed == how
    page = recipe(suppressed="exempt").run(PEOPLE).report.to_html()
    assert "exempt" in page
    assert len(recipe(suppressed="drop").run(PEOPLE).data["age"]) == 6


def test_an_exempt_release_is_evaluated_as_such(tmp_path):
    made = recipe(suppressed="exempt")
    release = made.run(PEOPLE)
    found = made.evaluate(PEOPLE, release.data)
    assert found.verification.holds
    assert [one.id for one in found.verification.warnings][:1] == ["verdict.exempt"]
    strict = recipe().evaluate(PEOPLE, release.data)
    assert not strict.verification.holds


def test_people_local_recoding_and_the_blind_choice():
    table = {**PEOPLE, "who": ["a", "b", "c", "d", "e", "f", "g"]}
    for more in ({}, {"blind": True, "l_diversity": {"ill": 2}}, {"suppress_people": True}):
        for how, rows in (("drop", 6), ("exempt", 7)):
            step = {"k": 2, "suppress": 0.5, "suppressed": how, **more}
            attributes = {**ROLES, "who": {"role": "identifier"}}
            steps = [{"drop_columns": {"attributes": ["who"]}}, {"k_anonymize": step}]
            made = oboro.Recipe(attributes=attributes, steps=steps, person="who", seed=2**70)
            assert len(made.run(table).data["age"]) == rows
    local = KAnonymize(k=2, suppress=0.5, suppressed="drop", recoding="local").apply(PEOPLE, attributes=ROLES)
    kept = Counter(zip(local["age"], local["sex"], strict=True))
    assert min(kept.values()) >= 2
    alone = {"age": [1], "sex": ["F"], "ill": ["flu"]}
    with pytest.raises(PromiseError):
        KAnonymize(k=2, suppressed="drop").apply(alone, attributes=ROLES)
    with pytest.raises(PromiseError, match="not every choice of people was tried"):
        KAnonymize(k=2, suppress_people=True, l_diversity={"ill": 3}).apply(table, attributes=ROLES, person="who")


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="whole table"):
        KAnonymize(k=2, suppressed="drop", t_closeness={"ill": 0.3})
    with pytest.raises(ValueError, match="earlier"):
        KAnonymize(k=2, suppressed="exempt", earlier=["march.csv"])
    with pytest.raises(RecipeError, match="suppressed"):
        recipe(suppressed="drop").stream()


@settings(max_examples=30)
@given(cases(), st.booleans())
def test_without_a_class_of_the_suppressed_the_search_equals_brute_force(case, minimal):
    """No set of classes joins: whatever breaks a demand goes, and nothing else."""
    naive = case.naive()
    naive.told = lambda *_: False
    _, best, _ = naive.solve()
    found = search(replace(case.problem(), relaxed=True), minimal=minimal)
    assert (found.best is None) == (best is None)
    if best is not None:
        assert found.exact
        assert (found.best.levels, found.best.extra) == (best[1], 0)
        assert found.best.loss == pytest.approx(best[0], abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(cases(), st.sampled_from(["drop", "exempt"]), st.sampled_from([0.0, 0.3, 0.6]))
def test_every_class_that_is_released_is_large_enough(case, how, suppress):
    names = [f"a{a}" for a in range(len(case.columns))]
    roles = {name: {"role": "quasi", "hierarchy": {"rows": rows}} for name, rows in zip(names, case.rows, strict=True)}
    table = {name: np.array(column, dtype=object).tolist() for name, column in zip(names, case.columns, strict=True)}
    try:
        released = KAnonymize(k=case.k, suppress=suppress, suppressed=how, average_risk=0.7).apply(
            table, attributes=roles
        )
    except PromiseError as error:
        assert "no choice of levels" in str(error)
        return
    rows = list(zip(*released.values(), strict=True))
    kept = Counter(row for row in rows if set(row) != {"*"})
    assert all(size >= case.k for size in kept.values())
    assert len(rows) >= len(case.secret) * (1 - suppress) - 1e-9 if how == "drop" else len(rows) == len(case.secret)
    assert not kept or len(kept) / sum(kept.values()) <= 0.7


def test_the_command_line_says_levels_loss_and_suppressed_rows(tmp_path):
    lines = ["age,sex,ill", *(",".join(map(str, row)) for row in zip(*PEOPLE.values(), strict=True))]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    made = recipe(suppressed="drop")
    (tmp_path / "recipe.yaml").write_text(made.to_yaml())
    paths = [str(tmp_path / name) for name in ("people.csv", "recipe.yaml", "out.csv", "report.html")]
    plain = CliRunner().invoke(app, ["anonymize", paths[0], "--recipe", paths[1], "--output", paths[2]])
    full = CliRunner().invoke(
        app, ["anonymize", paths[0], "--recipe", paths[1], "--output", paths[2] + ".csv", "--report", paths[3]]
    )
    for said in (plain, full):
        assert said.exit_code == 0, said.stderr
        assert "age 1/3, sex 0/1" in said.stderr
        assert "the least of all choices" in said.stderr
        assert "1 of 7 rows suppressed and left out" in said.stderr
    large = made.run(PEOPLE)
    assert "age 1/3" in large.summary(figures=False)  # what is printed of a table of any size


def test_further_columns_go_with_the_record():
    table = PEOPLE | {"note": list("abcdefg")}
    roles = ROLES | {"note": {"role": "other"}}
    step = {"k": 2, "suppress": 0.3, "suppressed": "exempt", "levels": {"age": 1, "sex": 0}, "suppress_also": ["note"]}
    made = oboro.Recipe(
        attributes=roles,
        steps=[{"k_anonymize": step}],
        accept={"unique_on": ["note"], "because": "made up"},
    ).run(table)
    rows = sorted(zip(made.data["age"], made.data["note"], strict=True))
    assert rows[0] == ("*", "*")
    assert "g" not in made.data["note"]
    assert sum(note == "*" for _, note in rows) == made.steps[0].facts["suppressed"]["records"]
    with pytest.raises(oboro.errors.UsageError, match="of which something is demanded"):
        KAnonymize(k=2, l_diversity={"ill": 2}, suppress_also=["ill"]).apply(PEOPLE, attributes=ROLES)


def test_a_release_without_rows_is_not_called_a_promise_that_holds() -> None:
    steps = [{"k_anonymize": {"k": 50, "suppress": 1.0, "suppressed": "drop"}}]
    release = oboro.Recipe(attributes={"a": {"role": "quasi"}}, steps=steps).run({"a": [str(i) for i in range(9)]})
    assert release.summary().startswith("The release has no rows")
    assert release.report.summary().startswith("The release has no rows")
