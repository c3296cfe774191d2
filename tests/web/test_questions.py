"""What the page shows is what the library says, and what is taken away from it makes the same bytes everywhere."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.command_line import call
from tests.web.page_cases import TOKEN, Page, page_in, people_csv

import oboro
from oboro.web.screens import promise
from oboro.web.server import QUESTIONS, Answering, Ask, Cancelled, first_table, handler_of


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    (tmp_path / "root").mkdir()
    made = page_in(tmp_path / "private", tmp_path / "root")
    yield made
    made.desk.scratch.close()


@pytest.fixture
def people(page: Page) -> Page:
    """The page with a table whose roles somebody has read."""
    page.open("people.csv", people_csv())
    for column, role in {"age": "quasi", "town": "quasi", "sex": "quasi", "illness": "sensitive"}.items():
        page.ask("role", column=column, role=role)
    page.ask("confirm")
    page.ask("demands", demands={"k": 4, "suppress": 0.05, "l_diversity": {"illness": 2}})
    return page


def test_every_question_has_an_answer() -> None:
    assert all(callable(handler_of(name)) for name in QUESTIONS)


def test_a_table_that_cannot_be_opened_is_told_once(page: Page, tmp_path: Path) -> None:
    (tmp_path / "ort.csv").write_bytes("ort,alter\nKöln,31\n".encode("cp1252"))
    page.desk.first = first_table(tmp_path / "ort.csv", None, {})
    assert "ort.csv, line 2" in page.refused("state")["text"]
    assert page.ask("state")["table"] is None


def test_the_answer_is_what_the_recipe_does(people: Page, tmp_path: Path) -> None:
    found = people.ask("answer")["answer"]
    (tmp_path / "people.csv").write_bytes(people_csv())
    recipe = oboro.Recipe.parse(people.ask("drawer", screen="take")["yaml"])
    release = recipe.run(tmp_path / "people.csv")
    facts = next(step.facts for step in release.steps if step.name == "k_anonymize")
    assert {name: one["level"] for name, one in facts["levels"].items()} == found["levels"]
    assert facts["loss"]["value"] == pytest.approx(found["look"]["node"]["loss"])
    assert facts["suppressed"]["records"] == found["look"]["node"]["suppressed"]
    rows = people.ask("rows", start=0, n=300)
    shown = [row[rows["columns"].index("age")] for row in rows["after"]]
    assert sorted(shown) == sorted(str(one) for one in release.dataset["age"].decode().to_pylist())
    counts = {one["column"]: one for one in people.ask("distributions")["columns"]}
    assert {one["label"]: one["after"] for one in counts["age"]["labels"] if one["after"]} == {
        label: shown.count(label) for label in set(shown) - {"*"}
    }


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".xlsx"])
def test_a_release_is_verified_and_can_be_fetched(people: Page, tmp_path: Path, ending: str) -> None:
    found = people.ask("release", format=ending)
    assert found["rows"] == 300
    assert any("4-anonymity" in one for one in found["verified"])
    path = tmp_path / f"fetched{ending}"
    path.write_bytes(people.client.get(f"/taken/{found['ticket']}").content)
    assert oboro.verify(oboro.read(path), quasi=["age", "town", "sex"], k=4).holds


def test_recipe_command_script_and_notebook_release_the_same_bytes(
    people: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = str(2**90 + 7)
    here = people.client.get(f"/taken/{people.ask('release', seed=seed)['ticket']}").content
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_bytes(people_csv())
    files = {}
    for kind in ("recipe", "command", "script", "notebook", "ci"):
        files[kind] = people.client.get(f"/taken/{people.ask('offer', kind=kind, seed=seed)['ticket']}").text
    Path("recipe.yaml").write_text(files["recipe"])
    oboro.Recipe.load("recipe.yaml").run("people.csv").write("by_recipe.csv")
    (command,) = [line for line in files["command"].splitlines() if line.startswith("oboro ")]
    assert call(*command.split()[1:], cwd=tmp_path).code == 0
    by_command = Path("released.csv").read_bytes()
    Path("released.csv").unlink()
    exec(compile(files["script"], "script.py", "exec"), {})
    by_script = Path("released.csv").read_bytes()
    Path("released.csv").unlink()
    cells = ["".join(cell["source"]) for cell in json.loads(files["notebook"])["cells"]]
    exec(compile("\n".join(cells), "notebook", "exec"), {})
    by_notebook = Path("released.csv").read_bytes()
    assert here == Path("by_recipe.csv").read_bytes() == by_command == by_script == by_notebook
    Path("released.csv").unlink()
    assert run_job(files["ci"]) == (0, "released.csv")
    assert Path("released.csv").read_bytes() == here
    Path("released.csv").unlink()
    Path("recipe.yaml").write_text(files["recipe"].replace("k: 4\n", "k: 301\n"))
    assert run_job(files["ci"])[0] == 1
    assert not Path("released.csv").exists()


def run_job(text: str) -> tuple[int, str]:
    """Run the commands of a CI job as its service does, with this package installed: the exit code, and what is handed over."""
    steps = yaml.safe_load(text)["jobs"]["release"]["steps"]
    paths = [str(Path(sys.executable).parent), os.environ["PATH"]]
    env = {**os.environ, "PATH": os.pathsep.join(paths), "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    codes = (subprocess.run(["bash", "-e", "-c", step["run"]], env=env).returncode for step in steps if "run" in step)
    return next((code for code in codes if code), 0), steps[-1]["with"]["path"]


def test_how_a_file_is_read_is_taken_away_too(page: Page) -> None:
    text = "氏名,年齢\n" + "".join(f"人{i},{20 + i % 30}\n" for i in range(60))
    page.open("meibo.csv", text.encode("cp932"), encoding="cp932")
    drawer = page.ask("drawer", screen="take")
    assert "--encoding cp932" in drawer["command"]
    assert "reading={'encoding': 'cp932'}" in drawer["python"]


def test_guesses_that_nobody_confirmed_block_the_release(page: Page) -> None:
    page.open("people.csv", people_csv())
    for question in ("release", "report"):
        assert "nobody has confirmed" in page.refused(question)["text"]
    page.ask("confirm", columns=["name"])
    assert "nobody has confirmed" in page.refused("release")["text"]


def test_a_promise_that_cannot_be_kept_offers_nothing(people: Page) -> None:
    found = people.ask("demands", demands={"k": 1000})["answer"]
    assert found["best"] is None
    assert found["look"] is None
    assert "300 records" in found["why"]
    near = people.ask("nearest")["nearest"]
    assert [(one["demand"], one["value"]) for one in near] == [("k", 300)]
    assert people.ask("demands", demands=near[0]["demands"])["answer"]["best"] is not None
    people.ask("demands", demands={"k": 1000})
    failed = people.refused("release")
    assert failed["kind"] == "PromiseError"
    assert "ticket" not in json.dumps(failed)
    assert people.desk.tickets._open == {}


def test_nearest_promises_can_be_kept_and_nearer_ones_cannot(people: Page) -> None:
    asked = {"k": 40, "l_diversity": {"illness": 3}}
    people.ask("role", column="age", role="quasi")
    people.ask("hierarchy_set", column="age", spec={"intervals": [10], "star": False})
    for one in people.ask("nearest", demands=people.ask("demands", demands=asked))["nearest"]:
        assert people.ask("demands", demands=one["demands"])["answer"]["best"] is not None
        if one["demand"] == "k":
            closer = {**one["demands"], "k": one["value"] + 1}
            assert people.ask("demands", demands=closer)["answer"]["best"] is None


def test_a_hundred_moves_in_any_order_end_where_the_last_one_is(people: Page) -> None:
    """Moves come over several connections, and late ones after newer ones: the newest wins, and all panels are about it."""
    chance = random.Random(3)
    moves = [{"k": chance.randint(1, 30), "suppress": chance.choice([0, 0.02, 0.1])} for _ in range(100)]
    order = list(range(100))
    for at in range(0, 99, 3):
        order[at], order[at + 1] = order[at + 1], order[at]
    for place in order:
        lines = people.lines("demands", demands=moves[place], move=place, control="k")
        assert "result" in lines[-1] or lines[-1]["error"]["kind"] == "cancelled"
    now = people.ask("state")
    assert now["demands"] == {name: value for name, value in moves[-1].items() if value}
    answer = people.ask("answer", version=now["version"])["answer"]
    panels = [answer, answer["look"], people.ask("rows"), people.ask("nodes"), people.ask("drawer", screen="promise")]
    assert {one["version"] for one in panels if one is not None} == {now["version"]}
    fresh = oboro.explore(people.desk.now.session.table.frame, people.desk.now.session.plan).solve(moves[-1])
    assert answer["levels"] == (fresh.levels and dict(fresh.levels))


def test_what_the_last_search_found_helps_only_the_same_columns(people: Page) -> None:
    """After a hierarchy lost a level, or a column its role, the levels of before are no node any more."""
    assert people.desk.found(people.desk.now.session)
    for act in ({"column": "age", "spec": {}}, {"column": "age", "spec": {"intervals": [5, 10, 20]}}):
        assert people.ask("hierarchy_set", **act)["answer"]["best"] is not None
    people.ask("role", column="sex", role="other")
    assert people.desk.found(people.desk.now.session) == []
    found = people.ask("answer")["answer"]
    assert set(found["levels"]) == {"age", "town"}
    people.ask("undo")
    again = people.ask("answer")["answer"]
    assert again["levels"] == dict(
        oboro.explore(people.desk.now.session.table.frame, people.desk.now.session.plan).solve().levels
    )


def test_moves_that_follow_each_other_are_undone_together(people: Page) -> None:
    before = people.ask("state")
    for k in (5, 6, 7):
        people.ask("demands", demands={"k": k}, control="k")
    assert people.ask("undo")["state"]["demands"] == before["demands"]
    assert people.ask("redo")["state"]["demands"] == {"k": 7}
    versions = [people.ask("state")["version"], before["version"]]
    assert versions[0] > versions[1]


def test_undo_goes_back_to_the_first_state(people: Page) -> None:
    while people.ask("state")["can"]["undo"]:
        people.ask("undo")
    assert set(people.ask("state")["unconfirmed"]) == {"name", "age", "town", "sex", "illness"}
    assert "nothing to undo" in people.refused("undo")["text"]


def test_an_older_question_is_given_up(people: Page) -> None:
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(Cancelled):
        promise.answered(people.desk, people.desk.now, Ask("en", lambda line: None, cancel))


def test_a_move_that_comes_late_ends_itself_and_not_the_newest() -> None:
    answering, events = Answering(), [threading.Event() for _ in range(4)]
    for event, move in zip(events, (7, 9, 8, None), strict=True):
        answering.supersede("solve", event, move)
        if move == 8:
            assert [one.is_set() for one in events] == [True, False, True, False]
    assert [one.is_set() for one in events] == [True, True, True, False]
    answering.close()


def test_markup_is_text_everywhere(page: Page) -> None:
    evil = "<script>alert(1)</script>"
    rows = "".join(f'"{evil}{i % 3}",{20 + i % 7}\n' for i in range(60))
    page.open("people.csv", f'"{evil}",age\n{rows}'.encode())
    page.ask("role", column=evil, role="quasi")
    page.ask("role", column="age", role="quasi")
    for question in ("columns", "rows", "distributions", "answer"):
        answer = page.client.post(f"/api/ask/{question}", json={}, headers={"x-oboro-token": TOKEN})
        assert answer.headers["content-type"] == "application/x-ndjson"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert evil in answer.text
    page.ask("confirm")
    page.ask("demands", demands={"k": 2})
    report = page.client.get(f"/taken/{page.ask('report')['ticket']}")
    assert evil not in report.text
    assert "sandbox" in report.headers["content-security-policy"]
    assert "script-src" not in report.headers["content-security-policy"]


def test_errors_speak_the_readers_language(page: Page) -> None:
    assert "表が開かれていません" in page.lines("columns", lang="ja")[-1]["error"]["text"]
    assert page.refused("columns")["text"].startswith("no table is open")


def test_what_nobody_foresaw_says_no_value(people: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_: Any) -> None:
        raise RuntimeError("Hanako Yamada, 090-1234-5678")

    monkeypatch.setattr("oboro.web.screens.state.state_now", breaks)
    found = people.refused("state")
    assert found["kind"] == "internal"
    assert "Hanako" not in json.dumps(found)


def test_a_hierarchy_is_made_moved_read_and_written(people: Page) -> None:
    shown = people.ask("hierarchy", column="town")
    assert shown["rows"] is not None
    assert sum(shown["counts"].values()) == 300
    rows = [[f"T{i}", "low" if i < 3 else "high", "*"] for i in range(7)]
    found = people.ask("hierarchy_set", column="town", spec={"rows": rows})
    assert found["answer"]["version"] == found["state"]["version"]
    levels = people.ask("hierarchy", column="town")["levels"]
    assert [one["labels"] for one in levels][1:] == [2, 1]
    arx = people.client.get(f"/taken/{people.ask('hierarchy_file', column='town')['ticket']}").text
    assert arx.splitlines()[0] == "T0;low;*"
    people.ask("hierarchy_set", column="town", spec={"mask": "right"})
    people.ask("hierarchy_set", column="town", arx=arx)
    assert people.ask("hierarchy", column="town")["levels"] == levels
    assert people.refused("hierarchy_set", column="town", arx="T0;low\n")["kind"] == "HierarchyError"
    edges = people.ask("hierarchy_set", column="age", spec={"intervals": {"edges": [[20, 30, 50], [20, 50]]}})
    assert edges["answer"]["best"] is not None
    assert len(people.ask("hierarchy", column="age")["histogram"]["counts"]) == 40


def test_taking_and_comparing(people: Page) -> None:
    first = people.ask("answer")["answer"]
    other = next(one for one in people.ask("nodes")["nodes"] if one["feasible"] and one["levels"] != first["levels"])
    sides = people.ask("compare", a=first["levels"], b=other["levels"])
    assert sides["changed"]
    taken = people.ask("take", levels=other["levels"])
    assert taken["answer"]["levels"] == other["levels"]
    assert people.ask("release")["rows"] == 300
    assert f"levels:\n      age: {other['levels']['age']}" in people.ask("drawer", screen="take")["yaml"]
    points = [line["point"] for line in people.lines("frontier", k=[2, 4, 8], suppress=[0.05])[:-1]]
    assert sorted(one["k"] for one in points) == [2, 4, 8]
    assert people.ask("take", levels=None)["answer"]["levels"] == first["levels"]


def test_drawers_of_all_screens_are_about_the_state(people: Page) -> None:
    version = people.ask("state")["version"]
    for screen in ("open", "columns", "hierarchy", "promise", "space", "rows", "report", "take", "stream"):
        found = people.ask("drawer", screen=screen, column="age")
        assert found["version"] == version
        assert oboro.Recipe.parse(found["yaml"]).steps
        assert found["command"].startswith("oboro ")
        compile(found["python"], screen, "exec")


def test_made_up_people_to_play_with(page: Page) -> None:
    state = page.ask("sample", kind="people", rows=500)["state"]
    assert state["table"]["rows"] == 500
    assert page.ask("drawer", screen="take")["command"].startswith("oboro synth people --rows 500 ")
    assert "made-up tables" in page.refused("sample", kind="people", rows=10**9)["text"]


def test_a_released_file_is_assessed_alone_and_beside_its_original(page: Page, tmp_path: Path) -> None:
    (tmp_path / "root" / "people.csv").write_bytes(people_csv())
    out = people_csv().replace(b"person ", b"p").splitlines()
    (tmp_path / "root" / "released.csv").write_bytes(b"\n".join(line.split(b",", 1)[1] for line in out) + b"\n")
    roles = page.ask("assessed", path="released.csv")["columns"]
    assert set(roles) == {"age", "town", "sex", "illness"}
    named = {"quasi": ["age", "sex"], "sensitive": ["illness"]}
    found = page.ask("assess", released={"path": "released.csv"}, **named)
    alone = oboro.assess(tmp_path / "root" / "released.csv", **named)
    assert found["k"] == alone.k
    assert found["command"].endswith("--quasi age,sex --sensitive illness")
    assert page.client.get(f"/taken/{found['ticket']}").status_code == 200


STREAM = """# HELP oboro_records_total Records taken
# TYPE oboro_records_total counter
oboro_records_total 1200.0
oboro_dead_letters_total 3.0
oboro_smallest_crowd 5.0
oboro_ready 1.0
oboro_block_seconds_bucket{le="0.001"} 50.0
oboro_block_seconds_bucket{le="0.01"} 99.0
oboro_block_seconds_bucket{le="+Inf"} 100.0
python_info{version="3"} 1.0
"""


def test_a_stream_is_watched_by_its_metrics_and_its_state(page: Page, tmp_path: Path) -> None:
    from http.server import BaseHTTPRequestHandler, HTTPServer

    class Metrics(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/away":
                self.send_response(302)
                self.send_header("location", "http://192.0.2.1/")
                self.end_headers()
                return
            self.send_response(200)
            self.end_headers()
            self.wfile.write(STREAM.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Metrics)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    watched = page.ask("stream", url=url)
    assert ["5", "smallest crowd"] in watched["cards"]
    assert watched["figures"] == {
        "records": 1200,
        "dead_letters": 3,
        "smallest_crowd": 5,
        "ready": 1,
        "block_seconds_p50": 0.001,
        "block_seconds_p99": 0.01,
    }
    assert page.refused("stream", url=f"{url}/away")["kind"] == "FileError"
    server.shutdown()
    server.server_close()
    for elsewhere in (
        "http://192.0.2.1/metrics",
        "https://127.0.0.1/",
        "file:///etc/passwd",
        "http://127.0.0.1.evil.example/",
    ):
        assert "not on this machine" in page.refused("stream", url=elsewhere)["text"]
    root = tmp_path / "root"
    (root / "in.ndjson").write_text('{"sex": "F"}\n' * 20)
    (root / "recipe.yaml").write_text("attributes: {sex: {role: quasi}}\nsteps: [{k_anonymize: {k: 2}}]\n")
    files = ("--from", root / "in.ndjson", "--to", root / "out.ndjson", "--state", root / "state")
    command = [sys.executable, "-m", "oboro", "stream", "--recipe", root / "recipe.yaml", *files, "--json"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True)
    (root / "metrics.ndjson").write_text(done.stderr)
    found = page.ask("stream", state="state", metrics="metrics.ndjson")
    assert found["figures"]["records"] == 20
    assert ["20", "records came"] in found["cards"]
    assert found["folder"]["said"] == "no process uses it: the stream is stopped"
    assert found["figures"]["suppressed_cells"] == 1
    assert ["2", "smallest crowd"] in found["cards"]
    assert found["state"]["snapshot"]["age"] < 600
    assert found["state"]["running"] is False


def moved(demands: dict[str, Any], field: dict[str, Any], value: Any) -> dict[str, Any]:
    """What the page's script makes of a move."""
    found = json.loads(json.dumps(demands))
    off = value is None or value == field["off"]
    path = (field["drop"] or field["path"]) if off else field["path"]
    places = [found]
    for name in path[:-1]:
        places.append(places[-1].setdefault(name, {}))
    if off:
        places[-1].pop(path[-1], None)
        for name, place in reversed([*zip(path[:-1], places[:-1], strict=True)]):
            if not place[name]:
                del place[name]
    else:
        for name, one in (field["also"] or {}).items() if path[-1] not in places[-1] else ():
            places[-1][name] = one
        places[-1][path[-1]] = value
    return found


def test_every_control_of_the_promise_asks_what_the_recipe_asks(people: Page, tmp_path: Path) -> None:
    """Each control is moved alone; what it asks stands in the recipe, and the answer is the recipe's own."""
    (tmp_path / "root" / "everybody.csv").write_bytes(people_csv(600))
    whole = people.ask("form", lang="ja")
    assert [one["title"] for one in whole["groups"]][1:3] == ["要配慮の列", "リスクの上限"]
    moves = {
        "slider": lambda f: f["steps"][len(f["steps"]) // 2],
        "select": lambda f: next(one for one, _ in f["options"][::-1] if one != f["off"]),
    }
    moves |= {"check": lambda f: f["options"][0][0], "amount": lambda f: 5000, "file": lambda f: "everybody.csv"}
    table, asked = people.desk.now.session.table, set()
    for field in [field for group in people.ask("form")["groups"] for field in group["fields"]]:
        given = moved(whole["demands"], field, moves[field["kind"]](field))
        found = people.ask("demands", demands=given)
        name = field["path"][0]
        asked.add(name)
        held = people.desk.now.session.demands
        assert name in held.model_dump(exclude_defaults=True), field
        facts = people.desk.now.session.recipe().run(table.again).steps[1].facts if found["answer"]["best"] else None
        assert facts is None or facts["loss"]["value"] == pytest.approx(found["answer"]["best"]["loss"])
        if name == "k":
            continue
        form = people.ask("form")
        again = next(f for group in form["groups"] for f in group["fields"] if f["key"] == field["key"])
        left = people.ask("demands", demands=moved(form["demands"], again, None))["state"]["demands"]
        for part in field["path"]:
            left = left.get(part, {})
        assert left == {}
    assert asked >= {"k", "l_diversity", "t_closeness", "alpha", "delta_disclosure", "beta_likeness", "maximum_risk"}
    assert asked >= {
        "population",
        "estimated_k_map",
        "suppressed",
        "limits",
        "recoding",
        "blind",
        "loss",
        "profitability",
    }


def test_no_demand_and_no_hierarchy_reads_a_file_outside_the_root(people: Page, tmp_path: Path) -> None:
    outside = tmp_path / "outside.csv"
    outside.write_bytes(people_csv())
    (tmp_path / "root" / "link.csv").symlink_to(outside)
    for name in (str(outside), "../outside.csv", "link.csv", "/etc/passwd"):
        refused = people.refused("demands", demands={"k": 2, "k_map": 3, "population": name})
        assert refused["kind"] == "FileError", refused
        assert people.refused("take", demands={"k": 2, "earlier": [name]})["kind"] == "FileError"
        for form in ("csv", "tree"):
            assert people.refused("hierarchy_set", column="town", spec={form: name})["kind"] == "FileError"
        people.ask("demands", demands={"k": 2, "alternatives": {"town": [{"csv": name}]}})
        assert people.desk.now.session.demands.alternatives == {}


def test_a_report_says_how_far_it_is_and_a_long_hierarchy_is_not_written_for_the_drawer(
    people: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = [(one["done"], one["total"]) for one in people.lines("report") if one.get("total")]
    assert len(told) >= 10
    assert all(done <= total for done, total in told)
    assert told[-1][0] >= 10
    rows = [[f"T{i}", "few", "*"] for i in range(3000)]
    people.ask("hierarchy_set", column="town", spec={"rows": rows})
    drawer = people.ask("drawer", screen="promise")
    assert drawer["long"]
    assert "T19" in drawer["yaml"]
    assert "T2999" not in drawer["yaml"]
    recipe = people.client.get(f"/taken/{people.ask('offer', kind='recipe')['ticket']}").text
    assert oboro.Recipe.parse(recipe).attributes["town"].hierarchy.rows == rows
    monkeypatch.setattr(oboro.Recipe, "to_yaml", lambda self: pytest.fail("a run writes no YAML"))
    people.ask("release")


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("compare", {}),
        ("role", {"a": 1}),
        ("demands", {"demands": 5}),
        ("rows", {"start": [], "n": {}}),
        ("drawer", {"screen": "take", "seed": {"k": 4}}),
        ("stream", {"url": "http://[::1"}),
        ("hierarchy_set", {"column": "age", "spec": 1e308}),
    ],
)
def test_whoever_has_the_token_gets_words_for_any_question(people: Page, name: str, given: dict[str, Any]) -> None:
    """The page itself asks none of these."""
    assert people.refused(name, **given)["kind"] not in ("internal", "cancelled")


def test_a_question_that_is_nested_too_deeply_is_none(page: Page) -> None:
    answer = page.client.post("/api/ask/state", content=b"[" * 100_000, headers={"x-oboro-token": TOKEN})
    assert answer.status_code == 413
    assert "not a JSON object" in answer.text


def test_a_sheet_and_the_row_of_its_names_are_chosen(page: Page, tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["nothing here"])
    held = book.create_sheet("people")
    for row in (["A list of people"], [], ["age", "town"], *([20 + i % 9, f"T{i % 3}"] for i in range(40))):
        held.append(row)
    book.save(tmp_path / "book.xlsx")
    sent = page.upload("book.xlsx", (tmp_path / "book.xlsx").read_bytes()).json()["result"]
    assert page.ask("sheets", upload=sent["upload"])["sheets"] == ["Sheet", "people"]
    state = page.ask("open", upload=sent["upload"], sheet="people", header_row="3")["state"]
    assert state["table"]["columns"] == ["age", "town"]
    assert state["table"]["rows"] == 40
    assert "--sheet people" in page.ask("drawer", screen="take")["command"]
    state = page.open("plain.csv", b"31,F\n32,M\n", header=False)
    assert state["table"]["rows"] == 2


def test_distributions_are_readable(page: Page) -> None:
    """Numbers without exponents; a column that numbers people has no distribution; all counts add up."""
    rows = "".join(f"p{i},{1_000_000 + 37_111 * i},{20 + i % 9}\n" for i in range(300))
    page.open("pay.csv", f"id,pay,age\n{rows}".encode())
    page.ask("role", column="id", role="other")
    page.ask("role", column="pay", role="other")
    page.ask("role", column="age", role="quasi")
    found = {one["column"]: one for one in page.ask("distributions")["columns"]}
    assert set(found) == {"pay", "age"}
    assert not any("e+" in one["label"] for one in found["pay"]["labels"])
    assert found["pay"]["labels"][0]["label"].startswith("1,000,000 – 1,5")
    assert all(sum(label["before"] for label in one["labels"]) == 300 for one in found.values())


def test_a_long_list_is_shown_as_one(page: Page) -> None:
    """A hierarchy with too many values to be edited is not shown as none."""
    values = [f"v{i}" for i in range(600)]
    page.open("many.csv", ("code,age\n" + "".join(f"{one},{i % 7}\n" for i, one in enumerate(values))).encode())
    page.ask("role", column="code", role="quasi")
    page.ask("hierarchy_set", column="code", spec={"rows": [[one, one[:2], "*"] for one in values]})
    shown = page.ask("hierarchy", column="code")
    assert shown["kind"] == "tree"
    assert "tree" in dict(shown["kinds"])
    assert shown["rows"] is None


def test_identifiers_are_counted_as_all_columns_are(page: Page) -> None:
    page.open("people.csv", people_csv(60) + b"person 0,33,T1,F,flu\n")
    page.ask("person", column="")
    assert {one["name"]: one["unique_alone"] for one in page.ask("columns")["columns"]}["name"] == 59
    page.ask("person", column="name")
    shown = page.ask("columns")
    assert (shown["people"], shown["columns"][0]["unique_alone"]) == (60, 60)


def test_what_the_page_needs_is_small() -> None:
    """The extra `web`: at most four megabytes."""
    from importlib.metadata import files

    held = [one for name in ("starlette", "uvicorn", "h11", "anyio", "idna", "click") for one in files(name) or ()]
    found = [Path(str(one.locate())) for one in held if one.suffix != ".pyc"]
    assert 500_000 < sum(one.stat().st_size for one in found if one.exists()) < 4_000_000


def test_the_order_of_day_and_month_is_asked_where_a_column_does_not_tell_it(page: Page) -> None:
    rows = [f"{i % 12 + 1}/{i % 11 + 1}/{1950 + i % 8},{'FM'[i % 2]}" for i in range(200)]
    page.open("people.csv", ("born,sex\n" + "\n".join(rows) + "\n").encode())
    for column in ("born", "sex"):
        page.ask("role", column=column, role="quasi")
    shown = page.ask("hierarchy", column="born")
    assert shown["order"] == ""
    assert "dates" in [kind for kind, _ in shown["kinds"]]
    refused = page.refused("hierarchy_set", column="born", spec={"dates": ["month", "year"]})
    assert "date_order" in json.dumps(refused)
    page.ask("hierarchy_set", column="born", spec={"dates": ["month", "year"], "date_order": "day_first"})
    assert page.ask("hierarchy", column="born")["order"] == "day_first"
    assert page.ask("hierarchy", column="sex")["order"] is None


@pytest.mark.parametrize("first", [20240101, 202401])
def test_dates_in_digits_may_have_units(page: Page, first: int) -> None:
    page.open(
        "people.csv", ("since,sex\n" + "\n".join(f"{first + i % 9},{'FM'[i % 2]}" for i in range(200)) + "\n").encode()
    )
    page.ask("role", column="since", role="quasi")
    shown = page.ask("hierarchy", column="since")
    assert "dates" in dict(shown["kinds"])
    assert "dates" in shown["proposed"]
