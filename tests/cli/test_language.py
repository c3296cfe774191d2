"""Errors carry messages: nobody raises one with a sentence of its own, and each is said in both languages."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import typer
from tests.command_line import call
from tests.source_code import SOURCE, nodes

from oboro.cli.all_commands import app
from oboro.cli.prepared_help import made_help
from oboro.errors import FileError, OboroError
from oboro.io.read import read
from oboro.recipe.recipe import Recipe
from oboro.text import LANGUAGES
from oboro.text.message import catalogue

ERRORS = {"ColumnError", "FileError", "HierarchyError", "InputError", "PromiseError", "RecipeError", "UsageError"}


def sentences() -> list[str]:
    """Where an error is made of a text that stands in the code."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        for node in nodes(path):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ERRORS and node.args:
                plain = isinstance(node.args[0], ast.JoinedStr | ast.BinOp) or (
                    isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str)
                )
                found += [f"{path.relative_to(SOURCE)}:{node.lineno}"] if plain else []
    return found


def test_no_error_is_raised_with_a_sentence() -> None:
    assert not sentences(), f"say it as a message: {sentences()}"


def test_an_error_speaks_both_languages(tmp_path: Path) -> None:
    with pytest.raises(FileError) as caught:
        read(tmp_path / "nothing.csv")
    assert str(caught.value).endswith("nothing.csv: cannot be read: there is no such file")
    assert caught.value.say("ja").endswith("nothing.csv:読めません(ファイルがありません)。")


def test_what_pydantic_finds_is_said_in_japanese() -> None:
    with pytest.raises(OboroError) as caught:
        Recipe.parse("attributes: {age: {role: quasi}}\nsteps: [{k_anonymize: {k: 0}}, {noise: {attribute: age}}]")
    assert "k_anonymize.k: Input should be greater than or equal to 1 (got 0)" in str(caught.value)
    said = caught.value.say("ja")
    assert "k_anonymize.k:1 以上でなければなりません(指定された値は 0)" in said
    assert "noise:scale(列の単位)、relative" in said


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_command_and_option_has_help(lang: str) -> None:
    words = catalogue(lang, "help")
    group = typer.main.get_command(app)
    lacking = []
    for name, command in [("oboro", group), *group.commands.items()]:  # type: ignore[attr-defined]
        key = name.replace("-", "_")
        lacking += [] if f"{key}.about" in words or (lang == "en" and command.help) else [f"{key}.about"]
        lacking += [
            f"{key}.{param.name}"
            for param in command.params
            if f"{key}.{param.name}" not in words and f"shared.{param.name}" not in words
        ]
    assert not lacking, f"write help for {lacking} in text/{lang}/help.toml"


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_page_of_commands_is_up_to_date(lang: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COLUMNS", "NO_COLOR"):
        monkeypatch.setenv(name, "80")  # given back afterwards
    assert call("--help", "--lang", lang).out == made_help(lang), "run python -m oboro.cli.prepared_help"
    assert call("-h").out == call("--help").out
    assert "oboro schema" in call(f"--lang={lang}", "schema", "--help").out, "only the page of all commands is prepared"
