"""No file that a job reads is written over by what it writes: the recipe's own files neither."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.command_line import call
from typer.testing import CliRunner

from oboro.cli.all_commands import app
from oboro.errors import FileError, InputError, UsageError
from oboro.recipe.recipe import Recipe
from oboro.recipe.release import Release
from oboro.system.files import ASIDE, put_aside
from oboro.text import Message

RECIPE = """
attributes:
  name: {role: identifier}
  sex: {role: quasi, hierarchy: {csv: levels/sex.csv}}
  city: {role: quasi, hierarchy: {tree: levels/city.yaml}}
steps:
  - pseudonymize: {attribute: name, key_file: secret.key}
  - k_anonymize: {k: 2, population: everybody.csv, k_map: 2}
"""
FILES = ("levels/sex.csv", "levels/city.yaml", "secret.key", "everybody.csv")
OPTIONS = ("--output", "--truth", "--report", "--public-report")


@pytest.fixture
def job(tmp_path: Path) -> Path:
    (tmp_path / "levels").mkdir()
    for name in FILES:
        (tmp_path / name).write_text("mine")
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    (tmp_path / "people.csv").write_text("name,sex,city\nAnn,F,Rome\n")
    return tmp_path


def test_a_recipe_says_which_files_it_names(job: Path) -> None:
    assert Recipe.load(job / "recipe.yaml").files == [job / name for name in FILES]
    assert Recipe(attributes={}, steps=["shuffle"]).files == []


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("option", OPTIONS)
def test_none_of_them_is_written_over(job: Path, option: str, name: str) -> None:
    words = {"--recipe": "recipe.yaml", "--output": "out.csv", option: f"levels/../{name}"}
    given = [word for key, value in words.items() for word in (key, str(job / value))]
    clash = CliRunner().invoke(app, ["anonymize", str(job / "people.csv"), *given])
    said = str(clash.exception)
    assert f"{option}: " in said
    assert "already the name of another file of this job" in said
    assert all((job / one).read_text() == "mine" for one in FILES)


@pytest.mark.parametrize("name", FILES)
def test_nor_by_an_evaluation(job: Path, name: str) -> None:
    table = str(job / "people.csv")
    given = ["--recipe", str(job / "recipe.yaml"), "--report", str(job / name)]
    clash = CliRunner().invoke(app, ["evaluate", table, table, *given])
    assert "--report: " in str(clash.exception)
    assert "already the name of another file of this job" in str(clash.exception)
    assert (job / name).read_text() == "mine"


@pytest.mark.parametrize("link", ["symlink", "hard link"])
@pytest.mark.parametrize("name", ["people.csv", "recipe.yaml", "levels/sex.csv"])
def test_no_link_leads_there_either(job: Path, name: str, link: str) -> None:
    other = job / "other.csv"
    other.symlink_to(job / name) if link == "symlink" else other.hardlink_to(job / name)
    before = (job / name).read_bytes()
    given = ["--recipe", str(job / "recipe.yaml"), "--output", str(other), "--force"]
    clash = CliRunner().invoke(app, ["anonymize", str(job / "people.csv"), *given])
    assert "already the name of another file of this job" in str(clash.exception)
    assert (job / name).read_bytes() == before


@pytest.mark.parametrize("option", ["--to", "--dead-letters"])
@pytest.mark.parametrize("name", ["recipe.yaml", "levels.csv", "in.ndjson", "state/other.ndjson"])
def test_nor_does_a_stream(tmp_path: Path, option: str, name: str) -> None:
    (tmp_path / "levels.csv").write_text("F;*\nM;*\n")
    (tmp_path / "state").mkdir()
    recipe = "attributes: {sex: {role: quasi, hierarchy: {csv: levels.csv}}}\nsteps: [{k_anonymize: {k: 2}}]\n"
    (tmp_path / "recipe.yaml").write_text(recipe)
    (tmp_path / "in.ndjson").write_text('{"sex": "F"}\n')
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    words = {"--recipe": "recipe.yaml", "--from": "in.ndjson", "--to": "out.ndjson", "--state": "state", option: name}
    given = [word for key, value in words.items() for word in (key, str(tmp_path / value))]
    clash = CliRunner().invoke(app, ["stream", *given])
    assert "are both" in str(clash.exception)
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize(
    "address", ["tcp://localhost:99999", "tcp-listen://localhost:99999", "tcp://a\0b:1", "tcp://x:²"]
)
def test_an_address_that_is_none(tmp_path: Path, address: str) -> None:
    (tmp_path / "recipe.yaml").write_text("attributes: {sex: {role: quasi}}\nsteps: [{k_anonymize: {k: 2}}]\n")
    given = ["--recipe", str(tmp_path / "recipe.yaml"), "--from", address, "--to", str(tmp_path / "out.ndjson")]
    given += ["--dead-letters", str(tmp_path / "dead.ndjson")]
    assert isinstance(CliRunner().invoke(app, ["stream", *given]).exception, UsageError)


def test_reach_bounds_the_search_of_a_stream(tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text("attributes: {sex: {role: quasi}}\nsteps: [{k_anonymize: {k: 2}}]\n")
    (tmp_path / "in.ndjson").write_text('{"sex": "F"}\n{"sex": "M"}\n{"sex": "F"}\n')
    given = ["--recipe", str(tmp_path / "recipe.yaml"), "--from", str(tmp_path / "in.ndjson")]
    given += ["--dead-letters", str(tmp_path / "dead.ndjson")]
    for reach, code in (("1", 0), ("0", 1)):
        done = CliRunner().invoke(app, ["stream", *given, "--to", str(tmp_path / f"{reach}.ndjson"), "--reach", reach])
        assert done.exit_code == code, done.exception


@pytest.mark.parametrize(("original", "released"), [("empty", "some"), ("some", "empty"), ("empty", "empty")])
def test_an_evaluation_needs_records(tmp_path: Path, original: str, released: str) -> None:
    (tmp_path / "empty").write_text("age,sex\n")
    (tmp_path / "some").write_text("age,sex\n" + "31,F\n" * 4)
    done = CliRunner().invoke(app, ["evaluate", str(tmp_path / original), str(tmp_path / released), "--quasi", "age"])
    assert isinstance(done.exception, InputError)


@pytest.mark.parametrize("before", [None, b"of the release before\n"])
def test_lists_of_whose_the_rows_are_stand_before_the_release_and_go_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: bytes | None
) -> None:
    """Killed between the two, a release without its list could never be followed; a list without its release does no harm."""
    (tmp_path / "t.csv").write_text("who,age\n" + "".join(f"p{n},{20 + n % 2}\n" for n in range(8)))
    (tmp_path / "r.yaml").write_text(
        "person: who\nattributes: {who: {role: identifier}, age: {role: quasi}}\n"
        "steps: [{k_anonymize: {k: 2}}, {drop_columns: {attributes: [who]}}]\n"
    )
    lists = [tmp_path / name for name in ("truth.csv", "ledger.csv")]
    for one in lists if before is not None else ():
        one.write_bytes(before or b"")
    seen = []

    def full(release: Release, *given: Any, **more: Any) -> None:
        seen.extend(one.read_bytes() for one in lists)
        raise FileError(Message("error_system.unwritable.enospc"))

    monkeypatch.setattr(Release, "write", full)
    words = [
        "anonymize",
        "t.csv",
        "-r",
        "r.yaml",
        "-o",
        "out.csv",
        "--truth",
        "truth.csv",
        "--ledger",
        "ledger.csv",
        "--force",
    ]
    assert call(*words, cwd=tmp_path).code == 2
    assert [one.startswith(head) for one, head in zip(seen, (b'"original_row"', b'"age"'), strict=True)] == [True, True]
    assert [one.read_bytes() if one.exists() else None for one in lists] == [before, before]
    assert not list(tmp_path.glob(f"*{ASIDE}"))


def test_a_list_whose_release_was_never_replaced_is_in_doubt(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age\n" + "30\n" * 9)
    (tmp_path / "r.yaml").write_text("attributes: {age: {role: quasi}}\nsteps: [{k_anonymize: {k: 3}}]\n")
    words = ["anonymize", "t.csv", "-r", "r.yaml", "-o", "out.csv", "--truth", "truth.csv", "--force"]
    judge = ["evaluate", "t.csv", "out.csv", "--recipe", "r.yaml", "--truth", "truth.csv"]
    assert call(*words, cwd=tmp_path).code == 0
    old = (tmp_path / "truth.csv").read_bytes()
    (tmp_path / "link.csv").symlink_to(tmp_path / "truth.csv")
    replacing = put_aside(tmp_path / "truth.csv")
    replacing.__enter__()  # and is killed before it ends
    (tmp_path / "truth.csv").write_bytes(b'"original_row"\n1\n')
    for name in ("truth.csv", "link.csv"):
        found = call(*judge[:-1], name, cwd=tmp_path)
        assert (found.code, "may not belong together" in found.err) == (2, True)
    with pytest.raises(KeyboardInterrupt), put_aside(tmp_path / "truth.csv"):
        raise KeyboardInterrupt  # a second run that fails: which of both lists is right is still not known
    assert (tmp_path / f"truth.csv{ASIDE}").read_bytes() == old
    assert call(*words, cwd=tmp_path).code == 0
    assert call(*judge, cwd=tmp_path).code == 0
    assert not (tmp_path / f"truth.csv{ASIDE}").exists()
