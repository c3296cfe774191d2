"""Every command takes places, and says the same as of a file."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from tests.command_line import call

from oboro.io.read import read
from oboro.io.write import write_blocks
from oboro.recipe.evaluate import evaluate
from oboro.recipe.recipe import Recipe

RECIPE = """
attributes:
  age: {role: quasi, hierarchy: {intervals: [10, 20]}}
  city: {role: quasi}
steps:
  - k_anonymize: {k: 3, suppress: 0.5}
seed: 3
order: kept
"""


@pytest.fixture
def folder(tmp_path) -> Path:
    """A folder of two CSV files, the same in one file and in a database, and a recipe."""
    lines = [f"{20 + 7 * number % 40},{'abc'[number % 3]}" for number in range(60)]
    (tmp_path / "parts").mkdir()
    for name, some in (("a", lines[:30]), ("b", lines[30:])):
        (tmp_path / "parts" / f"{name}.csv").write_text("\n".join(["age,city", *some]) + "\n")
    (tmp_path / "whole.csv").write_text("\n".join(["age,city", *lines]) + "\n")
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    write_blocks([read(tmp_path / "whole.csv").data.to_arrow()], f"sqlite:///{tmp_path}/people.db?table=people")
    return tmp_path


def test_commands_take_places(folder) -> None:
    places = ("whole.csv", "parts/", "parts/*.csv", "sqlite:///people.db?table=people")
    said = {}
    for number, place in enumerate(places):
        out = f"out{number}/"
        done = call(
            "anonymize", place, "--recipe", "recipe.yaml", "--output", out, "--report", f"{number}.html", cwd=folder
        )
        assert done.code == 0, done.err
        assert call("verify", out, "--quasi", "age,city", "--k", "3", cwd=folder).code == 0
        compared = call("evaluate", place, out, "--recipe", "recipe.yaml", "--attempts", "0", "--json", cwd=folder)
        assert compared.code == 0, compared.err
        hierarchy = call("hierarchy", place, "age", cwd=folder).out
        assess = call("assess", out, "--quasi", "age,city", cwd=folder).out
        _, *starter = call("init", place, cwd=folder).out.splitlines()
        said[place] = (read(folder / out).data.to_arrow().to_pydict(), hierarchy, assess, starter)
    assert all(one == said["whole.csv"] for one in said.values())


def test_a_place_that_is_taken_or_read_is_refused_with_exit_code_2(folder) -> None:
    common = ("--recipe", "recipe.yaml", "--output")
    database = "sqlite:///people.db?table=people"
    for source, out, force in (
        ("parts/", "parts/out.csv", ()),
        ("parts/*.csv", "parts/", ("--force",)),
        (database, database, ("--force",)),
        ("whole.csv", database, ()),
        ("whole.csv", "sqlite:///people.db?query=SELECT 1", ()),
        ("whole.csv", "nowhere://x/y.csv", ()),
    ):
        done = call("anonymize", source, *common, out, *force, cwd=folder)
        assert (done.code, "Traceback" in done.err) == (2, False), (source, out, done)
    assert sorted(one.name for one in (folder / "parts").iterdir()) == ["a.csv", "b.csv"]


def test_the_evidence_of_a_folder_is_what_its_files_hold(folder) -> None:
    command = ("anonymize", "parts/", "--recipe", "recipe.yaml", "--output", "out/", "--json")
    done = call(*command, cwd=folder)
    files = json.loads(done.out)["files"]
    digests = [hashlib.sha256((folder / "parts" / name).read_bytes()).hexdigest() for name in ("a.csv", "b.csv")]
    found = next(one for one in files.values() if one["path"] == "parts/")
    assert found["sha256"] == hashlib.sha256("".join(f"{one}\n" for one in digests).encode()).hexdigest()
    assert any(one["path"] == "out/" for one in files.values())


def test_what_nobody_could_read_afterwards_is_not_written(folder) -> None:
    for engine in ("local", "duckdb"):
        done = call(
            *("anonymize", "whole.csv", "--recipe", "recipe.yaml", "--output", "memory://bucket/out"),
            *("--engine", engine),
            cwd=folder,
        )
        assert (done.code, "memory:// is for Python" in done.err) == (2, True)


@pytest.mark.parametrize("place", ["file", "folder", "database", "memory"])
def test_earlier_releases_are_at_any_place(folder, place: str) -> None:
    """A series is kept with releases in a folder, a database or a store as with those in files."""
    places = {
        "file": f"{folder}/first.csv",
        "folder": f"{folder}/first/",
        "database": f"sqlite:///{folder}/people.db?table=first",
        "memory": "memory://bucket/first.csv",
    }
    table = read(folder / "whole.csv").data
    plain = Recipe.load(folder / "recipe.yaml")
    plain.run(table).write(places[place], force=True)
    named = "first.csv" if place == "file" else "first" if place == "folder" else places[place]  # beside the recipe
    (folder / "next.yaml").write_text(RECIPE.replace("k: 3,", f"k: 3, earlier: ['{named}'],"))
    (folder / "look.yaml").write_text(f"earlier: ['{named}']\n{RECIPE}")
    later = table.take(np.arange(table.rows) < 40)
    kept = Recipe.load(folder / "next.yaml").run(later)
    assert kept.verification.holds
    assert Recipe.load(folder / "look.yaml").run(table).series is not None
    assert evaluate(table, kept.data, folder / "next.yaml", attempts=0).as_dict()


def test_a_recipe_holds_no_password(folder) -> None:
    (folder / "next.yaml").write_text(f"earlier: ['postgresql://me:secret@host/db?table=first']\n{RECIPE}")
    done = call("anonymize", "whole.csv", "--recipe", "next.yaml", "--output", "out.csv", cwd=folder)
    assert (done.code, "secret" in done.err, "PGPASSWORD" in done.err) == (2, False, True)
