"""What somebody tries first, on files of their own."""

from __future__ import annotations

from pathlib import Path

from tests.command_line import call

RECIPE = """
attributes: {name: {role: identifier}, age: {role: quasi}, town: {role: quasi}, ill: {role: sensitive}}
steps: [{drop_columns: {attributes: [name]}}, {k_anonymize: {k: 2}}]
"""
ROWS = "age,town,ill\n*,Köln,flu\n*,Köln,cold\n31,Ulm,flu\n31,Ulm,cold\n"


def test_a_release_is_verified_by_its_recipe(tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    (tmp_path / "released.csv").write_text(ROWS, encoding="utf-8")
    held = call("verify", "released.csv", "--recipe", "recipe.yaml", "--k", "2", cwd=tmp_path)
    assert (held.code, "over age, town" in held.out) == (0, True)
    assert call("verify", "released.csv", "--recipe", "recipe.yaml", "--k", "3", cwd=tmp_path).code == 1
    both = call("verify", "released.csv", "--recipe", "recipe.yaml", "--quasi", "age", "--k", "2", cwd=tmp_path)
    assert (both.code, "in place of --quasi" in both.err) == (2, True)
    assert "--recipe" in call("verify", "released.csv", "--k", "2", cwd=tmp_path).err


def test_a_release_must_keep_what_its_recipe_promises(tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text(RECIPE.replace("k: 2", "k: 2, l_diversity: {ill: 2}"))
    (tmp_path / "strict.yaml").write_text(RECIPE.replace("k: 2", "k: 3"))
    (tmp_path / "released.csv").write_text(ROWS, encoding="utf-8")
    (tmp_path / "alike.csv").write_text(ROWS.replace("cold", "flu"), encoding="utf-8")
    held = call("verify", "released.csv", "--recipe", "recipe.yaml", cwd=tmp_path)
    assert (held.code, "2-diversity of ill" in held.out) == (0, True)
    assert call("verify", "released.csv", "--recipe", "strict.yaml", cwd=tmp_path).code == 1
    assert call("verify", "alike.csv", "--recipe", "recipe.yaml", cwd=tmp_path).code == 1
    idle = call("verify", "released.csv", "--recipe", "recipe.yaml", "--sensitive", "ill", cwd=tmp_path)
    assert (idle.code, "--sensitive" in idle.err) == (2, True)
    (tmp_path / "few.csv").write_text("ill\nflu\n", encoding="utf-8")
    assert "no quasi-identifier of the recipe" in call("verify", "few.csv", "--recipe", "recipe.yaml", cwd=tmp_path).err
    (tmp_path / "people.yaml").write_text("person: name\n" + RECIPE.lstrip())
    rows = call("verify", "released.csv", "--recipe", "people.yaml", cwd=tmp_path)
    assert (rows.code, "Rows were counted" in rows.out) == (0, True)
    (tmp_path / "visits.csv").write_text("name,age,town\nx,31,Ulm\nx,31,Ulm\n", encoding="utf-8")
    assert call("verify", "visits.csv", "--recipe", "people.yaml", cwd=tmp_path).code == 1


def test_a_stream_says_how_many_records_it_refused(tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    people = "name,age,town,ill\n" + "".join(f"P{n},31,{town},flu\n" for n, town in enumerate(("Ulm", "Köln", "Ulm")))
    (tmp_path / "some.csv").write_text(people, encoding="latin-1")
    some = call("stream", "--recipe", "recipe.yaml", "--from", "some.csv", "--to", "out.csv", cwd=tmp_path)
    assert (some.code, "1 of 3 records were refused" in some.err) == (0, True)
    (tmp_path / "none.csv").write_text(people.replace("Ulm", "Würzburg"), encoding="latin-1")
    none = call("stream", "--recipe", "recipe.yaml", "--from", "none.csv", "--to", "none-out.csv", cwd=tmp_path)
    assert (none.code, "every one was refused" in none.err) == (2, True)
