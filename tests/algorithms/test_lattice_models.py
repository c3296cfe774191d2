"""Models beyond k and the sensitive columns: δ-presence and k-map with a population, average and maximum risk."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.algorithms.lattice_cases import (
    EVERY_WAY,
    LOSSES,
    assert_equals_brute_force,
    assert_finds,
    best_of,
    cases,
    checked,
)
from tests.drawing import picks
from tests.techniques.test_k_anonymize import run
from typer.testing import CliRunner

import oboro
from oboro.algorithms.lattice import search, status
from oboro.algorithms.lattice.evaluator import NodeChecker
from oboro.cli.all_commands import app
from oboro.errors import InputError, OboroError, PromiseError, UsageError
from oboro.privacy.risk import least_size
from oboro.techniques.k_anonymize import KAnonymize
from oboro.verifier.table import verify

PARTS = [0.0, 0.0, 0.1, 0.25, 0.3, 0.5, 0.6, 0.75, 1.0]


@st.composite
def crowded(draw):
    """A case with a population, whose people may have values that nobody of the table has, or a limit on classes; the suppressed
    are a class or left out."""
    case = replace(draw(cases()), relaxed=draw(st.booleans()))
    what = draw(st.sampled_from(["k_map", "presence", "presence", "classes", "all"]))
    if what in ("classes", "all"):
        most = draw(st.integers(1, max(1, len(case.secret) // 2)))
        risk = draw(st.sampled_from([None, most / len(case.secret), 0.3, 0.5]))
        case = replace(case, most=draw(st.sampled_from([most, most, None])), risk=risk)
    if what == "classes":
        return case
    more = draw(st.integers(0, 20))
    values = [[row[0] for row in rows] for rows in case.rows]
    others = [draw(picks(some, min_size=more, max_size=more)) for some in values]
    low, high = sorted([draw(st.sampled_from(PARTS)), draw(st.sampled_from(PARTS))])
    least = draw(st.integers(1, 6)) if what in ("k_map", "all") else 1
    return replace(case, others=others, crowd=(least, *((0.0, 1.0) if what == "k_map" else (low, high))))


@settings(max_examples=30)
@given(crowded())
def test_every_search_equals_brute_force(case):
    """Every node listed; depth first; a proof over boxes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(status, "FEW", 0)
        problem, seen = assert_equals_brute_force(case, *EVERY_WAY)
        patch.setattr(search, "LISTED", 0)
        found = search.search(problem, minimal=False, prove=True)
    assert_finds(found, problem, None, best_of(seen), seen)


@pytest.mark.parametrize("loss", LOSSES)
@settings(max_examples=12)
@given(case=crowded())
def test_every_node_is_seen_as_by_plain_loops(loss, case):
    case = replace(case, loss=loss)
    problem, naive = case.problem(), case.naive()
    checker = NodeChecker.of(problem)
    for levels in naive.nodes():
        suppressed, extra, satisfying, cost = checked(naive, levels)
        for view in (checker, checker.rebased(levels)):
            node = view.check(levels)
            assert (node.satisfying, node.feasible) == (satisfying, cost is not None)
            if cost is not None:
                assert (node.suppressed, node.extra) == (suppressed, extra)
                assert node.loss == pytest.approx(cost, abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(case=crowded(), suppress=st.sampled_from([0.0, 0.2, 0.5]), data=st.data())
def test_what_is_released_is_what_the_verifier_accepts(case, suppress, data):
    """The technique and the verifier, which reads labels only, must agree: a release that the search calls safe is."""
    names = [f"a{a}" for a in range(len(case.columns))]
    if data.draw(st.booleans()):  # one text on several levels, with other values under it
        said = {"0": "x", "1": "*", "2": "y"} if data.draw(st.booleans()) else {}
        rows = [
            [[cell if cell[0] != "L" else said.get(cell[2:], cell[2:]) for cell in row] for row in one]
            for one in case.rows
        ]
        case = replace(case, rows=rows)
    table = {name: pa.array(column, pa.string()) for name, column in zip(names, case.columns, strict=True)}
    table["secret"] = pa.array(case.secret)
    roles = {name: {"role": "quasi", "hierarchy": {"rows": rows}} for name, rows in zip(names, case.rows, strict=True)}
    limits = {"k": case.k, "suppress": suppress, "loss": case.loss}
    limits["suppressed"] = data.draw(st.sampled_from(["drop", "exempt"])) if case.relaxed else "class"
    if case.most is not None:
        limits["average_risk"] = min(1.0, case.most / len(case.secret))
    if case.others is not None:
        everybody = [[*c, *o] for c, o in zip(case.columns, case.others, strict=True)]
        limits["population"] = pa.table({n: pa.array(c, pa.string()) for n, c in zip(names, everybody, strict=True)})
        limits["k_map"] = case.crowd[0]
        if case.crowd[2] > 0:
            limits["presence"] = {"min": case.crowd[1], "max": case.crowd[2]}
    limits["maximum_risk"] = data.draw(st.sampled_from([0.2, 0.3, 0.5, 1.0]))
    try:
        released = KAnonymize(**limits).apply(pa.table(table), attributes=roles)  # it verifies its promises itself
    except PromiseError as error:
        assert "no choice of levels" in str(error) or "average risk" in str(error)
        return
    if limits["suppressed"] != "exempt":
        sizes = pa.TableGroupBy(released, names).aggregate([([], "count_all")])["count_all"].to_pylist()
        assert max([1 / size for size in sizes], default=0) <= limits["maximum_risk"]
        assert len(sizes) / max(len(released), 1) <= limits.get("average_risk", 1.0)
    kept = [row for row in zip(*(released[name].to_pylist() for name in names), strict=True) if set(row) != {"*"}]
    assert not kept or len(set(kept)) / len(kept) <= limits.get("average_risk", 1.0)


PEOPLE = {"age": ["31", "32", "38", "45", "46", "47", "31", "39"], "sex": ["F", "M", "F", "M", "M", "F", "F", "M"]}
ROLES = {"age": {"role": "quasi", "hierarchy": {"intervals": [10]}}, "sex": {"role": "quasi"}}


def patients():
    return {"age": ["31", "45"], "sex": ["F", "M"]}


def test_k_map_counts_the_population_by_hand():
    """One F and one M in the table; of their like the population has 3 women in their thirties, 2 men in their forties."""
    released = KAnonymize(k=1, k_map=2, population=PEOPLE).apply(patients(), attributes=ROLES)
    assert released == {"age": ["30–39", "40–49"], "sex": ["F", "M"]}
    released = KAnonymize(k=1, k_map=4, population=PEOPLE).apply(patients(), attributes=ROLES)
    assert released == {"age": ["*", "*"], "sex": ["F", "M"]}
    with pytest.raises(PromiseError):
        KAnonymize(k=1, k_map=9, population=PEOPLE).apply(patients(), attributes=ROLES)


def test_presence_counts_the_population_by_hand():
    """1 of 3 women in their thirties and 1 of 2 men in their forties; 1 of 4 where only the sex is told."""
    released = KAnonymize(k=1, presence={"max": 0.5}, population=PEOPLE).apply(patients(), attributes=ROLES)
    assert released == {"age": ["30–39", "40–49"], "sex": ["F", "M"]}
    released = KAnonymize(k=1, presence={"max": 0.4}, population=PEOPLE).apply(patients(), attributes=ROLES)
    assert released == {"age": ["*", "*"], "sex": ["F", "M"]}
    # A least part: women in their forties and men in their thirties would be known to be absent.
    released = KAnonymize(k=1, presence={"min": 0.1}, population=PEOPLE).apply(patients(), attributes=ROLES)
    assert released == {"age": ["*", "*"], "sex": ["F", "M"]}


def check(table, hierarchies=None, **limits):
    spec = {"age": {"intervals": [10]}} if hierarchies is None else hierarchies
    return verify(table, quasi=["age", "sex"], population=PEOPLE, hierarchies=spec, **limits).verdicts[0]


def test_the_verifier_counts_the_population_by_hand():
    released = {"age": ["30–39", "40–49"], "sex": ["F", "M"]}
    assert check(released, k_map=2).achieved == 2
    assert check(released, k_map=2).holds
    assert not check(released, k_map=3).holds
    assert check(released, presence=(0.0, 0.5)).achieved == 0.5
    assert not check(released, presence=(0.0, 0.4)).holds
    below = check(released, presence=(0.1, 1.0))  # three people are known to be absent
    assert (below.holds, below.required, below.achieved) == (False, 0.1, 0.0)


def test_whoever_fits_no_other_class_is_among_the_suppressed():
    released = {"age": ["30–39", "*"], "sex": ["F", "*"]}
    assert check(released, k_map=3).achieved == 3  # 3 women in their thirties, 5 others
    assert check(released, presence=(0.2, 0.5)).holds
    assert check(released, presence=(0.0, 0.5)).achieved == pytest.approx(1 / 3)


def test_people_who_may_be_in_two_classes_count_for_none():
    assert check({"age": ["30–39", "31"], "sex": ["F", "F"]}, k_map=1).achieved == 0
    assert not check({"age": ["30–39", "*"], "sex": ["F", "F"]}, k_map=1).holds
    assert not check({"age": ["30–39", "40–49"], "sex": ["F", "M"]}, {}, k_map=1).holds  # labels that nothing explains


def test_a_label_on_two_levels_with_other_values_under_it_is_open():
    rows = [["31", "31", "*"], ["32", "31", "*"], ["38", "x", "*"], ["39", "x", "*"]]
    rows += [["45", "y", "*"], ["46", "y", "*"], ["47", "y", "*"]]
    assert check({"age": ["31"], "sex": ["F"]}, {"age": {"rows": rows}}, k_map=1).achieved == 2  # not 31 and 32


JOBS = [["clerk", "*", "*"], ["nurse", "health", "*"], ["doctor", "health", "*"], ["pilot", "air", "*"]]
CROWD = {"job": ["clerk"] * 25 + ["nurse"] * 12 + ["doctor"] * 13, "sex": ["F", "M"] * 25}
WORK = {"job": {"role": "quasi", "hierarchy": {"rows": JOBS}}, "sex": {"role": "quasi"}}


def test_a_label_means_the_values_under_it_at_its_level():
    """`*` is a clerk where a nurse is `health`, and anybody on the level above."""
    table = {"job": ["clerk", "clerk", "nurse", "doctor"], "sex": ["F", "M", "F", "M"]}
    limits = {"k": 1, "k_map": 12, "population": CROWD}
    released = KAnonymize(**limits).apply(table, attributes=WORK)
    assert released == {"job": ["*", "*", "health", "health"], "sex": ["F", "M", "F", "M"]}
    found = verify(released, quasi=["job", "sex"], population=CROWD, hierarchies={"job": {"rows": JOBS}}, k_map=1)
    assert found.verdicts[0].achieved == 12  # 13 women and 12 men are clerks; 12 and 13 work in health
    presence = KAnonymize(k=1, presence={"max": 0.1}, population=CROWD).apply(table, attributes=WORK)
    assert presence == released
    with pytest.raises(PromiseError, match=r"'\*' of 'job' stands on several levels .* give it another name"):
        KAnonymize(k=1, k_map=51, population=CROWD).apply(table, attributes=WORK)


def test_marital_status_as_arx_has_it():
    """`spouse present` stands on two levels, with other values under it."""
    rows = [
        ["Married-civ-spouse", "spouse present", "spouse present", "*"],
        ["Married-AF-spouse", "spouse present", "spouse present", "*"],
        ["Widowed", "alone", "spouse present", "*"],
        ["Divorced", "Divorced", "not present", "*"],
        ["Never-married", "not present", "not present", "*"],
    ]
    everybody = {"state": [row[0] for row in rows for _ in range(20)]}
    roles = {"state": {"role": "quasi", "hierarchy": {"rows": rows}}}
    table = {"state": ["Married-civ-spouse", "Married-AF-spouse", "Divorced", "Widowed"]}
    released = KAnonymize(k=1, k_map=20, population=everybody).apply(table, attributes=roles)
    assert released == table
    # Level 2 would have 60 and 40 people, but its labels are also those of level 1, where `not present` is 20 people.
    released = KAnonymize(k=1, k_map=21, population=everybody).apply(table, attributes=roles)
    assert released["state"] == ["*"] * 4
    with pytest.raises(PromiseError):
        KAnonymize(k=1, k_map=101, population=everybody).apply(table, attributes=roles)


def test_other_labels_of_a_column_tell_the_level():
    """`alone` stands on two levels, `together` only on the upper one: where it is seen, `alone` covers everybody below it."""
    rows = [["never", "single", "alone", "*"], ["divorced", "alone", "alone", "*"], ["civil", "civil", "together", "*"]]
    roles = {"state": {"role": "quasi", "hierarchy": {"rows": rows}}}
    everybody = {"state": [row[0] for row in rows for _ in range(20)] + ["civil"] * 20}
    table = {"state": ["never", "divorced", "civil", "civil"]}
    limits = {"k": 1, "k_map": 40, "population": everybody}
    released = KAnonymize(**limits).apply(table, attributes=roles)
    assert released["state"] == ["alone", "alone", "together", "together"]
    # Where the only record with `together` may be suppressed, perhaps nobody sees it.
    outcome = run(KAnonymize(**limits, suppress=0.5), {"state": ["never", "divorced", "civil"]}, roles)
    assert outcome.data["state"].decode().to_pylist() == ["*"] * 3
    assert not outcome.facts["loss"]["exact"]  # nobody need be suppressed, and then everybody sees it
    assert run(KAnonymize(**limits), table, roles).facts["loss"]["exact"]


def test_a_table_of_stars_covers_everybody():
    """Each `*` also stands on a finer level, where it is one value; all of them together leave nobody out."""
    rows = [["a", "A", "*"], ["b", "*", "*"]]
    roles = {name: {"role": "quasi", "hierarchy": {"rows": rows}} for name in "xy"}
    everybody = {"x": list("aabb"), "y": list("abab")}
    released = KAnonymize(k=1, k_map=4, population=everybody).apply({"x": ["a"], "y": ["b"]}, attributes=roles)
    assert released == {"x": ["*"], "y": ["*"]}
    table = {"x": ["b", "b"], "y": ["a", "b"]}
    outcome = run(KAnonymize(k=2, presence={"max": 1.0}, population=everybody), table, roles)  # which asks for nothing
    assert [one["level"] for one in outcome.facts["levels"].values()] == [0, 2]


def test_a_column_of_missing_values_beside_a_population():
    everybody = {"x": ["a", "b", None, None], "y": ["p"] * 4}
    roles = {"x": {"role": "quasi"}, "y": {"role": "quasi"}}
    table = {"x": [None, None], "y": ["p", "p"]}
    assert KAnonymize(k=1, k_map=2, population=everybody).apply(table, attributes=roles) == table
    released = KAnonymize(k=1, k_map=3, population=everybody, loss="arx").apply(table, attributes=roles)
    assert released == {"x": ["*"] * 2, "y": ["p"] * 2}
    assert KAnonymize(k=2, loss="ambiguity").apply(table, attributes=roles) == table


@given(data=st.data())
def test_a_search_finds_what_the_verifier_takes(data):
    """One column, nobody suppressed: the search says yes exactly where the released labels of some level do."""
    values, labels = ["a", "b", "c", "d"], st.sampled_from(["a", "b", "x", "y"])
    rows = [[value] for value in values]
    for _ in range(2):  # each label of a level goes to one label of the next
        steps = data.draw(st.fixed_dictionaries({row[-1]: labels for row in rows}))
        rows = [[*row, steps[row[-1]]] for row in rows]
    people = st.lists(st.sampled_from(values), min_size=1, max_size=6)
    table = {"it": data.draw(people)}
    everybody, spec, k = {"it": table["it"] + data.draw(people)}, {"rows": rows}, data.draw(st.integers(1, 8))
    part = data.draw(st.sampled_from([None, 0.3, 0.5, 0.9]))
    asked = {"k_map": k} if part is None else {"presence": {"max": part}}
    levels = [{"it": [row[i] for one in table["it"] for row in rows if row[0] == one]} for i in range(3)]
    options = {"quasi": ["it"], "population": everybody, "hierarchies": {"it": spec}}
    options |= {"k_map": k} if part is None else {"presence": (0.0, part)}
    holding = [level for level in levels if verify(level, **options).holds]
    roles = {"it": {"role": "quasi", "hierarchy": spec}}
    try:
        released = KAnonymize(k=1, **asked, population=everybody).apply(table, attributes=roles)
    except PromiseError:
        assert not holding
    else:
        assert released in holding


def test_where_a_reader_cannot_tell_the_level_the_smaller_promise_counts():
    """Only `*` is shown in the column: a clerk, or anybody. For certain it is only a clerk."""
    released = {"job": ["*", "*"], "sex": ["F", "M"]}
    options = {"quasi": ["job", "sex"], "population": CROWD, "hierarchies": {"job": {"rows": JOBS}}}
    found = verify(released, **options, k_map=13).verdicts[0]
    assert (found.holds, found.achieved) == (False, 12)
    assert found.note.values["column"] == "job"
    assert "'*'" in found.sentence()
    assert verify(released, **options, k_map=12).holds
    assert verify(released, **options, presence=(0.0, 0.1)).holds  # one of 12
    assert not verify(released, **options, presence=(0.0, 0.08)).holds
    assert not verify(released, **options, presence=(0.01, 0.1)).holds  # nurses may be known to be absent


def test_risks_by_hand():
    table = {"sex": ["F", "F", "F", "M", "M"]}
    found = verify(table, quasi=["sex"], maximum_risk=0.5, average_risk=0.4)
    assert [verdict.achieved for verdict in found.verdicts] == [0.5, 0.4]
    assert found.holds
    assert not verify(table, quasi=["sex"], maximum_risk=0.49).holds
    assert not verify(table, quasi=["sex"], average_risk=0.39).holds
    assert verify({"sex": []}, quasi=["sex"], average_risk=0.1).holds


def test_the_mean_risk_over_the_kept_records_must_hold_too():
    """Two classes of 2 kept and 6 suppressed: 3 / 10 over all records, 2 / 4 over the kept ones."""
    table = {"sex": [*"FFMM", *"******"]}
    assert not verify(table, quasi=["sex"], average_risk=0.4).holds
    found = verify(table, quasi=["sex"], average_risk=0.5).verdicts[0]
    assert (found.holds, found.achieved) == (True, 0.5)
    assert dict(found.note.values) == {"all": 0.3, "kept": 0.5, "required": 0.5}
    assert "0.3 over all records and 0.5" in found.sentence()
    # Everybody suppressed: nobody is kept.
    assert verify({"sex": ["*"] * 5}, quasi=["sex"], average_risk=0.2).holds


@pytest.mark.parametrize("risk", [1.0, 0.5, 1 / 3, 0.3, 0.2, 0.1, 1 / 49, 0.02, 1e-6])
def test_the_least_size_keeps_the_risk_and_the_one_below_does_not(risk):
    size = least_size(risk)
    assert 1 / size <= risk
    assert size == 1 or 1 / (size - 1) > risk


def test_risk_limits_decide_the_release():
    table = {"age": ["31", "32", "33", "45", "46", "47"], "sex": ["F", "M", "F", "M", "M", "F"]}
    assert set(KAnonymize(k=1, maximum_risk=0.34).apply(table, attributes=ROLES)["sex"]) == {"F", "M"}  # 3 of each
    assert set(KAnonymize(k=1, maximum_risk=0.3).apply(table, attributes=ROLES)["sex"]) == {"*"}
    released = KAnonymize(k=1, average_risk=0.34).apply(table, attributes=ROLES)
    assert len(set(zip(*released.values(), strict=True))) == 2
    with pytest.raises(PromiseError, match="needs at least"):
        KAnonymize(k=1, average_risk=0.1).apply(table, attributes=ROLES)


def test_small_classes_go_first_where_there_are_too_many():
    """Four classes of 1, 2, 3 and 4 records; three may be, the suppressed being one, and 2 / 7 of the kept: 3 records go."""
    table = {"town": list("abbcccdddd")}
    roles = {"town": {"role": "quasi", "hierarchy": {"rows": [[t, "x", "*"] for t in "abcd"]}}}
    released = KAnonymize(k=1, average_risk=0.3, suppress=0.3).apply(table, attributes=roles)
    assert released["town"] == list("***cccdddd")
    # 2 / 7 is more than 0.28: over the kept records that is too much, and everybody gets the next level.
    assert KAnonymize(k=1, average_risk=0.28, suppress=0.3).apply(table, attributes=roles)["town"] == ["x"] * 10


def test_wrong_questions_teach():
    for parameters in ({"k_map": 2}, {"population": PEOPLE}, {"presence": {"max": 0.5}}):
        with pytest.raises(ValueError, match="population"):
            KAnonymize(k=1, **parameters)
    with pytest.raises(ValueError, match="local"):
        KAnonymize(k=1, average_risk=0.5, recoding="local")
    with pytest.raises(ValueError, match="min"):
        KAnonymize(k=1, population=PEOPLE, presence={"min": 0.6, "max": 0.5})
    with pytest.raises(InputError, match="1 of the table's 2 records"):
        KAnonymize(k=1, k_map=2, population={"age": ["31"], "sex": ["F"]}).apply(patients(), attributes=ROLES)
    with pytest.raises(InputError, match="no column 'sex'"):
        KAnonymize(k=1, k_map=2, population={"age": ["31"]}).apply(patients(), attributes=ROLES)
    with pytest.raises(UsageError, match="only a recipe reads files"):
        KAnonymize(k=1, k_map=2, population="people.csv").apply(patients(), attributes=ROLES)
    with pytest.raises(UsageError, match="population"):
        verify(patients(), quasi=["age"], k_map=2)
    with pytest.raises(UsageError, match="population"):
        verify(patients(), quasi=["age"], k=2, population=PEOPLE)
    with pytest.raises(UsageError, match="hierarchies"):
        verify(patients(), quasi=["age"], k=1, hierarchies={"age": {"intervals": [10]}})
    with pytest.raises(OboroError, match="no column 'sex'"):
        verify(patients(), quasi=["age", "sex"], population={"age": ["31"]}, k_map=2)


def test_a_recipe_reads_the_population_beside_it(tmp_path):
    rows = zip(*PEOPLE.values(), strict=True)
    (tmp_path / "everybody.csv").write_text("age,sex\n" + "".join(f"{age},{sex}\n" for age, sex in rows))
    (tmp_path / "recipe.yaml").write_text(
        "attributes:\n  age: {role: quasi, hierarchy: {intervals: [10]}}\n  sex: {role: quasi}\n"
        "steps:\n  - k_anonymize: {k: 1, k_map: 2, presence: {max: 0.5}, population: everybody.csv}\n"
    )
    recipe = oboro.Recipe.load(tmp_path / "recipe.yaml")
    assert "2 people of the population" in recipe.explain()
    release = recipe.run(patients())
    assert sorted(zip(release.data["age"], release.data["sex"], strict=True)) == [("30–39", "F"), ("40–49", "M")]
    assert "2-map holds" in release.explain()
    assert oboro.Recipe.parse(recipe.to_yaml()).to_yaml() == recipe.to_yaml()


def test_a_population_given_as_a_frame_does_not_stand_in_the_recipe():
    recipe = oboro.Recipe(attributes=ROLES, steps=[{"k_anonymize": {"k": 1, "k_map": 2, "population": PEOPLE}}])
    assert sorted(recipe.run(patients()).data["age"]) == ["30–39", "40–49"]
    assert "(a table of 8 people)" in recipe.to_yaml()
    assert "31" not in recipe.to_yaml()


def test_the_command_line_verifies_with_a_population(tmp_path):
    rows = zip(*PEOPLE.values(), strict=True)
    (tmp_path / "everybody.csv").write_text("age,sex\n" + "".join(f"{age},{sex}\n" for age, sex in rows))
    (tmp_path / "released.csv").write_text("age,sex\n30–39,F\n40–49,M\n")
    (tmp_path / "recipe.yaml").write_text(
        "attributes:\n  age: {role: quasi, hierarchy: {intervals: [10]}}\n  sex: {role: quasi}\nsteps: []\n"
    )
    common = ["verify", str(tmp_path / "released.csv"), "--quasi", "age,sex"]
    everybody = ["--population", str(tmp_path / "everybody.csv"), "--recipe", str(tmp_path / "recipe.yaml")]

    def code(*options):
        return CliRunner().invoke(app, [*common, *options]).exit_code

    assert code(*everybody, "--k-map", "2", "--presence", "0,0.5") == 0
    assert code(*everybody, "--k-map", "3") == 1
    assert code(*everybody, "--presence", "0,0.4") == 1
    assert code("--maximum-risk", "1", "--average-risk", "1") == 0
    assert code("--average-risk", "0.5") == 1
    assert isinstance(CliRunner().invoke(app, [*common, *everybody, "--presence", "x"]).exception, UsageError)
    assert isinstance(CliRunner().invoke(app, [*common, "--k", "1", *everybody[2:]]).exception, UsageError)


def test_the_levels_found_are_applied_to_the_next_delivery():
    table = {"age": [31, 32, 38, 39, 45, 46], "sex": ["F", "F", "M", "M", "F", "F"]}
    recipe = oboro.Recipe(attributes=ROLES, steps=["shuffle", {"k_anonymize": {"k": 2, "suppress": 0.5}}], seed=1)
    release = recipe.run(table)
    assert "runners up:\n" in release.explain()
    again = oboro.Recipe.parse(release.again)
    levels = again.steps[1].levels
    assert levels == {"age": 1, "sex": 0} == {name: d["level"] for name, d in release.steps[1].facts["levels"].items()}
    following = again.run({"age": [51, 52, 53, 61, 62], "sex": ["F", "F", "F", "M", "M"]})
    assert sorted(following.data["age"]) == ["50–59"] * 3 + ["60–69"] * 2
    assert following.steps[1].facts["lattice"]["evaluated"] == 1
    with pytest.raises(PromiseError, match="on the levels given"):
        again.run({"age": [51, 62, 73, 24], "sex": ["F", "F", "F", "M"]})


def test_the_command_line_warns_where_the_best_may_not_be_the_best_of_all(tmp_path):
    (tmp_path / "people.csv").write_text("age,sex\n31,F\n32,F\n38,M\n39,M\n45,F\n46,F\n")
    (tmp_path / "recipe.yaml").write_text(
        "attributes:\n  age: {role: quasi, hierarchy: {intervals: [10]}}\n  sex: {role: quasi}\n"
        "steps:\n  - k_anonymize: {k: 2, suppress: 0.5, time_limit: 0.000000001}\n"
    )
    paths = [str(tmp_path / name) for name in ("people.csv", "recipe.yaml", "out.csv")]
    result = CliRunner().invoke(app, ["anonymize", paths[0], "--recipe", paths[1], "--output", paths[2]])
    assert result.exit_code == 0
    assert "warning: k_anonymize: the time limit was reached" in result.stderr
    assert (tmp_path / "out.csv").read_text().startswith("age,sex\n*,*\n")
