"""A session answers what a recipe would do: brute force on small tables, the batch search on larger ones, byte for byte."""

from __future__ import annotations

import json
import threading
import time
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.command_line import call

import oboro
from oboro.algorithms.lattice.evaluator import NodeChecker
from oboro.errors import ColumnError, OboroError, PromiseError, UsageError
from oboro.explorer.question import Question
from oboro.recipe.recipe import Recipe
from oboro.techniques.drop_columns import DropColumns
from oboro.techniques.k_anonymize import KAnonymize

AGES = {"intervals": [10, 20, 40]}
TOWN = {"rows": [[f"t{i}", f"r{i // 3}", "*"] for i in range(9)]}


def people(rows=400, seed=1, owners=None):
    rng = np.random.default_rng(seed)
    table = {
        "name": [f"n{i}" for i in range(rows)],
        "age": rng.integers(20, 60, rows).tolist(),
        "town": [f"t{int(i)}" for i in rng.integers(0, 9, rows)],
        "sex": rng.choice(["F", "M"], rows).tolist(),
        "illness": rng.choice(["flu", "cold", "gout", "none"], rows).tolist(),
    }
    if owners is not None:
        table["name"] = [f"n{int(i)}" for i in rng.integers(0, owners, rows)]
    return pd.DataFrame(table)


def recipe(person=None, **demands):
    return Recipe(
        person=person,
        attributes={
            "name": {"role": "identifier"},
            "age": {"role": "quasi", "hierarchy": AGES},
            "town": {"role": "quasi", "hierarchy": TOWN},
            "sex": {"role": "quasi"},
            "illness": {"role": "sensitive"},
        },
        steps=[{"drop_columns": {"attributes": ["name"]}}, {"k_anonymize": {"k": 3, **demands}}, "shuffle"],
        seed=7,
    )


DEMANDS = st.fixed_dictionaries(
    {"k": st.integers(1, 6), "suppress": st.sampled_from([0.0, 0.05, 0.2, 0.5])},
    optional={
        "l_diversity": st.sampled_from([{"illness": 2}, {"illness": {"l": 2.5, "kind": "entropy"}}]),
        "t_closeness": st.sampled_from([{"illness": 0.3}, {"illness": 0.6}]),
        "alpha": st.sampled_from([0.6, {"illness": 0.5}]),
        "maximum_risk": st.sampled_from([0.5, 0.2]),
        "delta_disclosure": st.sampled_from([{"illness": 1.5}, {"illness": {"delta": 1.0, "values": "held"}}]),
        "beta_likeness": st.sampled_from([{"illness": 1.0}, {"illness": {"beta": 2.0, "kind": "basic"}}]),
        "average_risk": st.sampled_from([0.5, 0.2]),
        "records_at_risk": st.sampled_from([{"risk": 0.2, "share": 0.3}]),
        "sample_uniqueness": st.sampled_from([0.0, 0.1]),
        "population_uniqueness": st.sampled_from([{"share": 0.05, "fraction": 0.1}]),
        "estimated_k_map": st.sampled_from([{"k": 5, "fraction": 0.5}]),
        "profitability": st.sampled_from([{"benefit": 10, "loss": 30, "gain": 30, "cost": 4}]),
        "suppressed": st.sampled_from(["class", "drop", "exempt"]),
        "limits": st.sampled_from([{"age": {"least": 1, "greatest": 2}}]),
        "gen_factor": st.sampled_from([0.2, 0.8]),
        "loss": st.sampled_from(["precision", "entropy", "discernibility", "arx", "kl", "ambiguity", "height"]),
    },
)


def by_brute_force(session, demands):
    """Every node checked by a checker without memory: the least loss, and the first of equal ones."""
    question = session.question(oboro.KAnonymize(**demands))
    checker = NodeChecker.of(question.problem)
    nodes = [checker.check(levels) for levels in product(*(range(n) for n in question.problem.lattice.shape))]
    best = min((node for node in nodes if node.feasible), key=lambda node: node.rank, default=None)
    return None if best is None else (question.named(best.levels), best.loss, best.suppressed + best.extra)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(DEMANDS, min_size=1, max_size=3), st.integers(5, 60), st.booleans())
def test_solutions_equal_brute_force_for_every_demand(asked, rows, counted):
    person = "name" if counted else None
    session = oboro.explore(people(rows, owners=max(3, rows // 2) if counted else None), recipe(person=person))
    for demands in asked:
        try:
            found = session.solve(demands)
        except (UsageError, OboroError) as refused:  # some demands do not go together, or cannot count people
            with pytest.raises(type(refused)):
                session.recipe(demands=demands).run(session.table.again)
            continue
        best = by_brute_force(session, demands)
        if best is None:
            assert found.best is None
            assert found.why is not None
        elif found.exact:
            assert (dict(found.levels), found.loss, found.best.suppressed) == best


@pytest.mark.parametrize(
    "demands",
    [
        {"k": 4, "suppress": 0.05},
        {"k": 3, "suppress": 0.1, "l_diversity": {"illness": 3}},
        {"k": 3, "suppress": 0.1, "t_closeness": {"illness": 0.3}},
        {"k": 3, "suppress": 0.2, "average_risk": 0.05},
        {"k": 2, "suppress": 0.1, "population": people(900), "k_map": 5},
    ],
)
def test_a_solution_is_what_the_recipe_would_choose(demands):
    table = people(900) if "population" in demands else people()
    session = oboro.explore(table, recipe())
    facts = session.recipe(demands=demands).run(table).steps[1].facts
    found = session.solve(demands)
    assert dict(found.levels) == facts["again"]["levels"]
    assert found.loss == facts["loss"]["value"]
    assert found.best.suppressed == facts["suppressed"]["records"]
    assert found.exact == facts["loss"]["exact"]


def test_hundred_random_moves_answer_as_fresh_sessions_do():
    rng, table = np.random.default_rng(5), people(200)
    session = oboro.explore(table, recipe())
    for _ in range(100):
        move = rng.integers(0, 5)
        if move == 0:
            session = session.with_role("sex", rng.choice(["quasi", "other"]))
        elif move == 1:
            session = session.with_hierarchy("age", rng.choice([AGES, {"intervals": [5, 20]}]))
        demands = {"k": int(rng.integers(2, 12)), "suppress": float(rng.choice([0, 0.02, 0.1, 0.3]))}
        fresh = oboro.explore(table, session.plan).solve(demands)
        found = session.solve(demands)
        assert (found.best, found.exact, found.why) == (fresh.best, fresh.exact, fresh.why)
        assert found.version == session.version
    assert session.table.looks.hits > 50


def test_what_did_not_change_is_shared_and_each_state_has_a_version():
    session = oboro.explore(people(), recipe())
    session.solve()
    looks = len(session.table.looks.looks)
    other = session.with_role("sex", "other")
    assert other.table is session.table
    assert other.version != session.version
    other.solve()
    assert len(session.table.looks.looks) < 2 * looks  # nodes in which sex stood on `*` are known
    assert session.role("sex") == "quasi"  # the one before is as it was


def test_a_release_equals_the_recipe_and_all_three_ways_to_write_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people().to_csv("people.csv", index=False)
    session = oboro.explore("people.csv", recipe())
    found = session.solve({"k": 4, "suppress": 0.05})
    plan = session.recipe(found.levels, {"k": 4, "suppress": 0.05})
    session.release(found.levels, {"k": 4, "suppress": 0.05}).write("session.csv")
    plan.run("people.csv").write("recipe.csv")
    taken = session.take_away(plan, data="people.csv", output="command.csv")
    (tmp_path / "recipe.yaml").write_text(taken.yaml)
    assert call(*taken.command.split()[1:]).code == 0
    exec(session.take_away(plan, data="people.csv", output="python.csv").python, {})
    released = {name: (tmp_path / f"{name}.csv").read_bytes() for name in ("session", "recipe", "command", "python")}
    assert len(set(released.values())) == 1
    searched = session.release(demands={"k": 4, "suppress": 0.05})
    assert searched.data.sort_by("age").num_rows == 400
    assert oboro.verify(searched.data, quasi=["age", "town", "sex"], k=4).holds


def test_a_run_never_writes_its_recipe(monkeypatch):
    """A hierarchy of half a million rows took 72 s to be written down as YAML, which nobody had asked for."""

    def written(*_, **__):
        raise AssertionError("the recipe was written")

    session = oboro.explore(people(), recipe())
    monkeypatch.setattr("yaml.dump_all", written)
    assert session.release(session.solve().levels).verification.holds
    assert recipe().run(people()).verification.holds


def test_a_frame_comes_back_as_it_came_and_a_release_is_verified():
    session = oboro.explore(people(), recipe())
    release = session.release(session.solve().levels)
    assert isinstance(release.data, pd.DataFrame)
    assert release.verification.holds
    bottom = dict.fromkeys(["age", "town", "sex"], 0)
    with pytest.raises(PromiseError):
        session.release(bottom, {"k": 50})


def test_the_frontier_begins_at_once_and_never_falls():
    session = oboro.explore(people(), recipe())
    points = session.frontier([2, 3, 5, 8, 13], [0.0, 0.05, 0.2])
    assert next(points).k == 13  # what keeps the hardest promise keeps all others
    found = [*session.frontier([2, 3, 5, 8, 13], [0.0, 0.05, 0.2])]
    loss = {(point.k, point.suppress): point.loss for point in found}
    for (k, share), value in loss.items():
        assert all(value <= more + 1e-12 for (k2, share2), more in loss.items() if k2 >= k and share2 <= share)


def test_a_frontier_says_where_a_slightly_larger_k_costs_far_more():
    """Towns of four people each, three towns a region: k = 4 keeps every town, k = 5 only regions."""
    table = pd.DataFrame({"town": [f"t{i % 9}" for i in range(36)], "age": [30] * 36})
    plan = Recipe(
        attributes={"town": {"role": "quasi", "hierarchy": TOWN}, "age": {"role": "quasi"}},
        steps=[{"k_anonymize": {"k": 2}}],
    )
    frontier = oboro.explore(table, plan).plot([2, 3, 4, 5, 6], [0.0])
    points = {point.k: point.loss for point in frontier}
    assert points[4] < points[5] == points[6]
    assert [(cliff.k, cliff.loss) for cliff in frontier.cliffs] == [((4, 5), (points[4], points[5]))]


def test_other_methods_stand_in_the_same_frontier():
    session = oboro.explore(people(40), recipe())
    curves = ("k_anonymize", "k_anonymize_local", "local_recode", "k_conceal")
    picture = session.plot([3, 6], [0.05], curves=curves)
    found = {(point.curve, point.k): point for point in picture}
    assert set(found) == {(curve, k) for curve in curves for k in (3, 6)}
    for k in (3, 6):
        assert found["k_anonymize_local", k].loss <= found["k_anonymize", k].loss
        assert all(0 <= found[curve, k].loss <= 1 for curve in curves)
    assert picture._repr_html_().startswith("<svg")
    assert "k_conceal" in picture._repr_html_()
    refused = [*session.frontier([3], [0.05], {"k": 3, "l_diversity": {"illness": 2}}, curves=("k_conceal",))]
    assert refused[0].loss is None
    assert refused[0].why.id == "explorer.other_demands"


def test_the_loss_of_each_column_counts_the_entropy_of_suppressed_records():
    session = oboro.explore(people(), recipe(suppress=0.3, loss="arx_entropy"))
    found = session.solve()
    looks = [session.look(found.levels), session.look(dict.fromkeys(found.levels, 0))]
    for seen in (one for one in looks if one.node.loss is not None):
        # ARX's weights are over the greatest, and the mean of equal ones is the plain one.
        own = list(seen.column_loss.values())
        assert np.mean(own) == pytest.approx(seen.node.loss)
    assert any(one.node.suppressed for one in looks if one.node.loss is not None)


def test_the_loss_of_each_column_of_a_node_that_suppresses_nobody():
    session = oboro.explore(people(), recipe())
    found = session.solve()
    assert found.best.suppressed == 0
    seen = session.look(found.levels)
    assert np.mean(list(seen.column_loss.values())) == pytest.approx(found.loss)


def test_a_look_tells_sizes_losses_and_neighbours():
    table = people()
    session = oboro.explore(table, recipe(suppress=0.1))
    found = session.solve()
    seen = session.look(found.levels)
    assert seen.node == found.best
    assert np.mean(list(seen.column_loss.values())) == pytest.approx(found.loss)
    assert sum(size * classes for size, classes in seen.class_sizes) == len(table)
    for beside in seen.neighbours:
        node = session.look({**found.levels, beside.column: beside.level}).node
        assert node == beside.node
        assert node.loss is None or node.loss >= found.loss
    side = session.compare(found.levels, {**found.levels, "age": 3})
    assert [one.column for one in side.changed] == (["age"] if found.levels["age"] != 3 else [])


@pytest.mark.parametrize(
    "more",
    [
        {"suppressed": "drop"},
        {"suppressed": "exempt", "suppress_also": ["note"]},
        {"recoding": "local"},
        {"recoding": "local", "suppressed": "drop"},
        {"alternatives": {"age": [{"intervals": [7, 14]}]}},
    ],
)
def test_every_kind_of_release_is_shown_as_it_comes(more):
    table = people(150).assign(note=[f"x{i % 11}" for i in range(150)])
    demands = {"k": 7, "suppress": 0.2, **more}
    session = oboro.explore(table, recipe().model_copy(update={"unnamed": "other"})).with_demands(demands)
    levels = session.solve().levels
    rows, released = session.window(0, 150, levels), session.recipe().run(table).data
    kept = [row for row, out in zip(rows.after, rows.suppressed, strict=True) if not (out and rows.left_out)]
    shown = pd.DataFrame(kept, columns=rows.columns)[list(released)].astype(str)
    assert sorted(map(tuple, shown.values)) == sorted(map(tuple, released.astype(str).values))
    for name in ("age", "note"):
        found = session.distribution(name, levels)
        others = 0 if found.others is None else found.others.after
        starred = (released[name].astype(str) == "*").sum()
        assert sum(one.after for one in found.labels) + others + starred == len(released)
    assert len(session.pairs(levels)) == 10


def test_a_window_shows_what_is_released():
    table = people()
    session = oboro.explore(table, recipe(suppress=0.1))
    found = session.solve({"k": 9, "suppress": 0.1})
    rows = session.window(0, 400, found.levels, {"k": 9, "suppress": 0.1})
    released = session.release(found.levels, {"k": 9, "suppress": 0.1}).data
    shown = pd.DataFrame(rows.after, columns=rows.columns)[list(released)].astype(str)
    assert sorted(map(tuple, shown.values)) == sorted(map(tuple, released.astype(str).values))
    assert sum(rows.suppressed) == found.best.suppressed
    assert rows.before[5][1] == table["age"][5]
    assert rows.released == ("age", "town", "sex", "illness")
    assert session.window(390, 100, found.levels).total == 400
    assert len(session.window(390, 100, found.levels).before) == 10


def test_nodes_are_the_solution_space_so_far():
    session = oboro.explore(people(), recipe(suppress=0.1))
    found = session.solve()
    nodes = session.nodes()
    assert nodes[0].levels == found.levels
    assert len(nodes) >= 5
    for node in nodes:
        seen = session.look(node.levels).node
        assert seen.feasible <= node.feasible  # what is only bounded may still turn out not to be
        assert node.loss is None or seen.loss is None or node.loss <= seen.loss + 1e-12


def test_columns_count_people_exactly():
    table = people(60)
    session = oboro.explore(table, recipe())
    columns = session.columns()
    quasi = ["age", "town", "sex"]

    def unique(names):
        sizes = table.groupby(names).size() if names else pd.Series([len(table)])
        return int((sizes == 1).sum())

    assert columns.unique == unique(quasi)
    for one in columns:
        if one.role != "identifier":
            assert one.unique_alone == unique([one.name])
            assert one.unique_with == unique(sorted({*quasi, one.name}))
            assert one.unique_without == unique([name for name in quasi if name != one.name])
    pairs = {frozenset(pair.columns): pair.people for pair in columns["age"].worst_pairs}
    assert pairs[frozenset(["age", "town"])] == unique(["age", "town"])
    assert "<table>" in session._repr_html_()
    assert columns.as_dict()["columns"][0]["name"] == "name"


def test_guessed_roles_can_be_confirmed_and_identifiers_are_dropped():
    session = oboro.explore(people())
    assert set(session.unconfirmed) == set(people())
    moved = session.with_role("town", "identifier").with_role("age", "quasi")
    assert "town" not in moved.release(moved.solve().levels).data
    assert set(moved.confirm().unconfirmed) == set()
    back = moved.with_role("town", "quasi")
    assert "town" in back.work.data
    assert back.solve().levels.keys() == session.solve().levels.keys()


def test_people_are_counted_where_rows_have_a_person():
    table = people(300, owners=60)
    session = oboro.explore(table, recipe()).with_person("name")
    found = session.solve({"k": 5, "suppress": 0.1})
    released = session.release(found.levels, {"k": 5, "suppress": 0.1})
    assert released.verification.holds
    assert session.person == "name"
    with pytest.raises(UsageError, match="with_person"):
        session.with_role("name", "quasi")
    assert session.with_person(None).solve({"k": 5, "suppress": 0.1}).loss <= found.loss + 1e-12


def test_a_search_can_be_cancelled_from_another_thread():
    session = oboro.explore(people(2000), recipe())
    stop = threading.Event()
    stop.set()
    started = time.perf_counter()
    found = session.solve({"k": 5, "suppress": 0.1}, cancel=stop)
    assert found.stopped == "interrupt" or found.exact
    assert time.perf_counter() - started < 5
    assert [*session.frontier([2, 3], [0.0], cancel=stop)] == []
    answers = []
    worker = threading.Thread(target=lambda: answers.append(session.solve({"k": 5, "suppress": 0.1})))
    worker.start()
    worker.join()
    assert answers[0].exact


def test_what_is_made_once_does_not_keep_a_cancelled_question_waiting(monkeypatch):
    """The first layout of a large table takes seconds. Who cancels is answered; the layout is finished, once, for the next one."""
    made, old = [], Question.prepare

    def slow(question):
        made.append(not question.table.looks.looks)
        time.sleep(0.3 if made[-1] else 0)
        old(question)

    monkeypatch.setattr(Question, "prepare", slow)
    session, stop = oboro.explore(people(200), recipe()), threading.Event()
    threading.Timer(0.05, stop.set).start()
    started = time.perf_counter()
    found = session.solve({"k": 5, "suppress": 0.1}, cancel=stop)
    assert time.perf_counter() - started < 0.25
    assert (found.stopped, found.best, found.exact) == ("interrupt", None, False)
    again = session.solve({"k": 5, "suppress": 0.1}, cancel=threading.Event())
    assert again.levels == oboro.explore(people(200), recipe()).solve({"k": 5, "suppress": 0.1}).levels
    assert made.count(True) == 2  # one for each session
    with pytest.raises(OboroError):
        session.solve({"k": 5, "quasi": ["nobody"]}, cancel=threading.Event())


def test_answers_are_plain_data():
    import json

    session = oboro.explore(people(), recipe())
    found = session.solve()
    for answer in (found, session.columns(), session.look(found.levels), session.window(0, 3, found.levels)):
        assert json.loads(json.dumps(answer.as_dict()))["version"] == session.version
    json.dumps(session.plot([2, 3], [0.0]).as_dict())


@pytest.mark.parametrize(
    ("act", "error"),
    [
        (lambda session: session.with_role("nobody", "quasi"), ColumnError),
        (lambda session: session.with_role("age", "secret"), UsageError),
        (lambda session: session.look({"age": 0}), UsageError),
        (lambda session: session.look({"age": 9, "town": 0, "sex": 0}), UsageError),
        (lambda session: session.solve({"k": 0}), UsageError),
        (lambda session: session.solve({"q": 3}), UsageError),
        (lambda session: [*session.frontier([2], curves=("nothing",))], UsageError),
        (lambda session: session.with_hierarchy("town", {"intervals": [3]}), OboroError),
        (lambda session: session.with_hierarchy("age", {"intervals": [3, 4]}), UsageError),
    ],
)
def test_errors_teach(act, error):
    session = oboro.explore(people(50), recipe())
    with pytest.raises(error):
        act(session)


def test_moves_on_adult_equal_the_batch_search(arx_adult, arx_table):
    names = ["sex", "age", "race", "marital-status", "education"]
    trees = {name: {"csv": str(arx_adult / f"adult_hierarchy_{name}.csv")} for name in names}
    attributes = {name: {"role": "quasi", "hierarchy": tree} for name, tree in trees.items()}
    plan = Recipe(attributes=attributes, steps=[{"k_anonymize": {"k": 5}}], unnamed="drop", seed=1)
    session = oboro.explore(arx_table, plan)
    for point in session.frontier([3, 10, 40], [0.0, 0.02]):
        asked = {"k": point.k, "suppress": point.suppress}
        facts = session.recipe(demands=asked).run(arx_table).steps[0].facts
        assert point.exact
        assert (point.loss, dict(point.levels)) == (facts["loss"]["value"], facts["again"]["levels"])
        assert point.suppressed == facts["suppressed"]["records"]


def test_a_column_that_an_earlier_step_drops_is_still_a_column():
    plan = recipe().model_copy(update={"steps": [DropColumns(attributes=("name", "town")), KAnonymize(k=3)]})
    session = oboro.explore(people(), plan)
    assert session.columns()["town"].levels == 2
    assert set(session.solve().levels) == {"age", "sex"}


def test_nearest_promises_are_the_nearest():
    """By brute force: every smaller k and every larger share in whole percent is tried."""
    session = oboro.explore(people(), recipe()).with_hierarchy("town", TOWN)
    for asked in (
        {"k": 90, "suppress": 0.01},
        {"k": 500},
        {"k": 3, "l_diversity": {"illness": 9}},
        {"k": 401, "alpha": 0.01},
    ):
        found = {one.demand: one for one in session.nearest(asked)}
        kept = [k for k in range(1, asked["k"]) if session.solve({**asked, "k": k}).best is not None]
        shares = [s / 100 for s in range(101) if s / 100 > asked.get("suppress", 0)]
        hidden = [s for s in shares if session.solve({**asked, "suppress": s}).best is not None]
        if kept:
            assert found["k"].value == max(kept)
        if hidden:
            assert found["suppress"].value == min(hidden)
        assert found
        assert all(session.solve(one.demands).best is not None for one in found.values())


def test_what_is_counted_before_and_after_is_in_the_release():
    session = oboro.explore(people(), recipe(suppress=0.1))
    levels = session.solve({"k": 12, "suppress": 0.1}).levels
    session = session.with_demands({"k": 12, "suppress": 0.1})
    released = session.release(levels).data
    for name in ("age", "town", "sex", "illness"):
        found = session.distribution(name, levels)
        shown = {one.label: one.after for one in found.labels if one.after}
        counted = released[name].astype(str).value_counts().to_dict()
        assert found.suppressed == counted.pop("*", 0)
        assert sum(one.before for one in found.labels) == 400
        if found.others is None and not (found.ordered and levels.get(name) == 0):
            assert shown == counted
    assert {one.columns for one in session.pairs(levels)} >= {("age", "town"), ("town", "sex")}
    assert [one.name for one in session.learned(levels, "illness")] == [
        "learned_from_released",
        "learned_from_original",
    ]


def test_a_notebook_runs_as_the_script_does(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people().to_csv("people.csv", index=False)
    session = oboro.explore("people.csv", recipe())
    written = session.take_away(session.recipe(), data="people.csv", output="out.csv", reading={"encoding": "utf-8"})
    exec(compile(written.python, "script", "exec"), {})
    script = (tmp_path / "out.csv").read_bytes()
    (tmp_path / "out.csv").unlink()
    cells = ["".join(cell["source"]) for cell in json.loads(written.notebook)["cells"]]
    exec(compile("\n".join(cells), "notebook", "exec"), {})
    assert (tmp_path / "out.csv").read_bytes() == script
    assert "--encoding utf-8" in written.command
    assert written.command in written.ci_job
