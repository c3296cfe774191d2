"""The command line as people meet it: real processes where exit codes, streams and signals matter, one process elsewhere."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
import yaml
from tests.command_line import call
from tests.recipe.six_people import PEOPLE, RECIPE

from oboro.cli.all_commands import app
from oboro.errors import FileError
from oboro.recipe.recipe import Recipe


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pd.DataFrame(PEOPLE).to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    return tmp_path


ANONYMIZE = ("anonymize", "people.csv", "--recipe", "recipe.yaml", "--output", "out.csv", "--force")


def test_anonymize_verify_evaluate(folder: Path) -> None:
    done = call(*ANONYMIZE, "--report", "report.html", cwd=folder)
    assert done.code == 0, done.err
    assert done.out == ""
    assert (folder / "out.csv").read_text().splitlines()[:2] == ["age,disease", "30–39,flu"]
    assert "<html" in (folder / "report.html").read_text()
    held = call("verify", "out.csv", "--quasi", "age", "--k", 3, cwd=folder)
    assert held.code == 0, held.err
    broken = call("verify", "out.csv", "--quasi", "age,disease", "--k", 3, "--json", cwd=folder)
    assert broken.code == 1
    assert json.loads(broken.out)["holds"] is False
    measured = call("evaluate", "people.csv", "out.csv", "--recipe", "recipe.yaml", "--json", cwd=folder)
    assert measured.code == 0, measured.err
    assert json.loads(measured.out)


def test_explain_touches_nothing(folder: Path) -> None:
    done = call("anonymize", "nowhere.csv", "--recipe", "recipe.yaml", "--explain", cwd=folder)
    assert done.code == 0, done.err
    assert "k_anonymize" in done.out
    assert not (folder / "out.csv").exists()


@pytest.mark.parametrize(("k", "code"), [("3", 0), ("7", 1), ("three", 2)])
def test_the_exit_code_of_a_process(folder: Path, k: str, code: int) -> None:
    (folder / "recipe.yaml").write_text(RECIPE.replace("k: 3", f"k: {k}"))
    command = [sys.executable, "-m", "oboro.cli.main", *ANONYMIZE]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert done.stdout == ""
    assert done.stderr
    assert "Traceback" not in done.stderr
    assert (folder / "out.csv").exists() == (code == 0)


@pytest.mark.parametrize(
    ("file", "content", "expected"),
    [
        ("people.csv", None, "people.csv"),
        ("people.csv", b"name,age,disease\nAnn,31\n", "2"),
        ("people.csv", b"name,age,disease,zip\nAnn,31,flu,1\n", "'zip'"),
        ("people.csv", b"name,age\nAnn,31\n", "'disease'"),
        ("people.csv", b"name,age,disease\nAnn,old,flu\n", "'old'"),
        ("people.csv", b"", "people.csv"),
        ("recipe.yaml", None, "recipe.yaml"),
        ("recipe.yaml", RECIPE.replace("k: 3", "k: three").encode(), "three"),
        ("recipe.yaml", RECIPE.replace("{intervals: [10, 20]}", "{csv: lost.csv}").encode(), "lost.csv"),
        ("recipe.yaml", RECIPE.replace("{intervals: [10, 20]}", "{rows: [['31', '*']]}").encode(), "38"),
    ],
)
def test_bad_input_is_one_clear_message(folder: Path, file: str, content: bytes | None, expected: str) -> None:
    (folder / file).unlink()
    if content is not None:
        (folder / file).write_bytes(content)
    (folder / "out.csv").write_text("the release of last month")
    done = call(*ANONYMIZE, cwd=folder)
    assert done.code == 2
    assert expected in done.err
    assert "Traceback" not in done.err
    assert done.out == ""
    for name in PEOPLE["name"][1:]:
        assert name not in done.err, "raw data in the message"
    assert (folder / "out.csv").read_text() == "the release of last month"
    assert sorted(p.name for p in folder.iterdir()) == sorted(
        {"out.csv", "people.csv", "recipe.yaml"} - ({file} if content is None else set())
    )


def test_a_promise_that_cannot_be_kept_is_exit_code_1(folder: Path) -> None:
    (folder / "recipe.yaml").write_text(RECIPE.replace("k: 3", "k: 7"))
    done = call(*ANONYMIZE, cwd=folder)
    assert done.code == 1
    assert not (folder / "out.csv").exists()
    assert "Traceback" not in done.err


@pytest.mark.parametrize("output", ["/dev/full/out.csv", "missing/folder/out.csv", "out.docx"])
def test_an_output_that_cannot_be_written(folder: Path, output: str) -> None:
    done = call("anonymize", "people.csv", "--recipe", "recipe.yaml", "--output", output, cwd=folder)
    assert done.code == 2
    assert "Traceback" not in done.err
    assert sorted(p.name for p in folder.iterdir()) == ["people.csv", "recipe.yaml"]


def test_a_reader_that_stops_reading_breaks_no_promise() -> None:
    """`oboro schema | head` must not end as if a promise were broken."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    process = subprocess.run(
        [sys.executable, "-m", "oboro.cli.main", "schema"], stdout=write_end, stderr=subprocess.PIPE, check=False
    )
    os.close(write_end)
    assert process.returncode == 141
    assert process.stderr == b""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_in_the_middle_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    """The table is a pipe that never ends, so the process is surely in the middle of its work."""
    os.mkfifo(tmp_path / "people.csv")
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    command = [sys.executable, "-m", "oboro.cli.main", *ANONYMIZE]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    with (tmp_path / "people.csv").open("w") as pipe:
        pipe.write("name,age,disease\nAnn,31,flu\n")
        pipe.flush()
        time.sleep(1)
        process.send_signal(number)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 2
    assert "interrupted" in errors
    assert "Traceback" not in errors
    assert sorted(p.name for p in tmp_path.iterdir()) == ["people.csv", "recipe.yaml"]


def printed(*words: object) -> str:
    """What a command that succeeds prints to stdout."""
    done = call(*words)
    assert done.code == 0, done.err
    return done.out


def test_no_file_is_replaced_without_force(folder: Path) -> None:
    (folder / "mine.csv").write_text("keep me")
    shared = ("anonymize", "people.csv", "--recipe", "recipe.yaml", "--output")
    for options in (("mine.csv",), ("new.csv", "--report", "mine.csv"), ("new.csv", "--truth", "mine.csv")):
        refused = call(*shared, *options, cwd=folder)
        assert refused.code == 2
        assert "mine.csv: is there already" in refused.err
        assert "--force" in refused.err
        assert not (folder / "new.csv").exists()
    others = (
        ("synth", "people", "--rows", "100", "-o"),
        ("hierarchy", "people.csv", "age", "-o"),
        ("assess", "people.csv", "--report"),
        ("evaluate", "people.csv", "people.csv", "--quasi", "age", "--public-report"),
    )
    for command in others:
        assert "mine.csv: is there already" in call(*command, "mine.csv", cwd=folder).err
    release = Recipe.load(folder / "recipe.yaml").run(folder / "people.csv")
    for write in (release.write, release.write_truth):
        with pytest.raises(FileError, match="is there already.*force=True"):
            write(folder / "mine.csv")
    assert (folder / "mine.csv").read_text() == "keep me"
    assert call(*shared, "mine.csv", "--force", cwd=folder).code == 0
    assert (folder / "mine.csv").read_text() != "keep me"


def test_every_command_has_help_with_an_example() -> None:
    commands = [command.name or command.callback.__name__ for command in app.registered_commands if command.callback]
    assert set(commands) >= {"demo", "init", "anonymize", "verify", "evaluate", "hierarchy", "synth"}
    for name in (name.replace("_", "-") for name in commands):
        assert f"oboro {name}" in printed(name, "--help"), f"{name} shows no example"


def test_init_writes_a_recipe_that_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    text = printed("init", "people.csv")
    guessed = {name: spec["role"] for name, spec in yaml.safe_load(text)["attributes"].items()}
    assert guessed == {"name": "identifier", "age": "quasi", "disease": "sensitive"}
    (folder / "starter.yaml").write_text(text)
    done = call("anonymize", "people.csv", "--recipe", "starter.yaml", "--output", "out.csv", cwd=folder)
    assert done.code == 0, done.err


def test_init_speaks_both_languages_and_to_programs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    english, japanese = (yaml.safe_load(printed("init", "people.csv", "--lang", lang)) for lang in ("en", "ja"))
    assert english == japanese
    assert "初期レシピ" in printed("init", "people.csv", "--lang", "ja")
    plain = json.loads(printed("init", "people.csv", "--json"))
    assert plain["recipe"]["attributes"].keys() == english["attributes"].keys()
    assert all(one["reasons"] for one in plain["columns"])


def test_hierarchy_previews_and_saves(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    shown = printed("hierarchy", "people.csv", "age", "--spec", "{intervals: [10, 20]}", "--output", "age.csv")
    assert "30–39" in shown
    assert "31;30–39;20–39;*" in (folder / "age.csv").read_text().splitlines()
    levels = json.loads(printed("hierarchy", "people.csv", "age", "--spec", "{csv: age.csv}", "--json"))["levels"]
    assert [level["labels"] for level in levels] == [6, 2, 2, 1]
    assert json.loads(printed("hierarchy", "people.csv", "age", "--json"))["proposed"]


def test_schema_is_json() -> None:
    assert "k_anonymize" in json.dumps(json.loads(printed("schema")))


@pytest.mark.parametrize("kind", ["people", "purchases"])
def test_synth_makes_a_table_whose_recipe_runs(tmp_path: Path, kind: str) -> None:
    rows = {"people": 2000, "purchases": 60_000}[kind]
    made = call("synth", kind, "--rows", rows, "--columns", 8, "--output", "made.csv", cwd=tmp_path)
    assert made.code == 0, made.err
    done = call(
        "anonymize",
        "made.csv",
        "--recipe",
        "made.csv.recipe.yaml",
        "--output",
        "out.csv",
        "--report",
        "r.html",
        cwd=tmp_path,
    )
    assert done.code == 0, done.err


def test_demo_leaves_everything_where_it_says(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    for name in ("released.csv", "report.html"):
        (tmp_path / "here" / name).write_text("of the last time")  # its own files it replaces
    done = call("demo", "--rows", 1000, "--output", "here", cwd=tmp_path)
    assert done.code == 0, done.err
    for name in ("people.csv", "recipe.yaml", "released.csv", "report.html"):
        assert (tmp_path / "here" / name).stat().st_size > 0
        assert f"here/{name}" in done.out
    released = pd.read_csv(tmp_path / "here" / "released.csv", dtype=str, keep_default_na=False)
    assert released.groupby(["birthdate", "sex", "address", "job"]).size().min() >= 5
    assert "name" not in released


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "oboro", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("oboro ")
