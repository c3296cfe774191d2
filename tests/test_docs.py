"""What the documentation says is run: a command or an example that no longer works is a red build."""

from __future__ import annotations

import importlib.util
import re
import shlex
import sys
from pathlib import Path

import pytest
import typer.main
import yaml
from tests.command_line import call

import oboro
from oboro.cli.all_commands import app
from oboro.service.settings import ServiceSettings
from oboro.techniques import TECHNIQUES

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def test_the_commands_and_the_python_of_the_readme_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (script,) = blocks(README, "bash")
    for line in script.splitlines():
        program, *words = shlex.split(line, comments=True)
        words, target = (words[:-2], words[-1]) if ">" in words else (words, None)
        done = call(*words, cwd=tmp_path)
        assert (program, done.code) == ("oboro", 0), f"{line}: {done.err}"
        if target:
            (tmp_path / target).write_text(done.out)
    assert (tmp_path / "report.html").exists()
    monkeypatch.chdir(tmp_path)
    (code,) = blocks(README, "python")
    exec(compile(code, "README.md", "exec"), {})
    assert "Every promise holds" in capsys.readouterr().out


def test_the_recipe_of_the_readme_is_valid() -> None:
    (text,) = blocks(README, "yaml")
    recipe = oboro.Recipe.parse(text)
    table = {
        "name": ["a", "b", "c", "d"],
        "age": [31, 32, 95, 99],
        "zip": ["101", "102", "103", "104"],
        "sex": ["F", "F", "M", "M"],
        "disease": ["flu", "cold", "flu", "cold"],
    }
    assert recipe.run(table).verification.holds


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        if "reference/" in target or page.parent.name in ("reference", "_build"):
            continue  # written from the code when the site is built, where each link is checked
        assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_links_of_the_readme_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target


def test_every_step_has_its_place_in_the_documentation() -> None:
    page = (ROOT / "docs" / "techniques.md").read_text()
    for step in TECHNIQUES:
        assert f"`{step}`" in page, f"{step} is not documented"


def test_the_steps_in_the_documentation_are_valid() -> None:
    page = (ROOT / "docs" / "techniques.md").read_text()
    steps = [step for block in blocks(page, "yaml") for step in yaml.safe_load(block)]
    assert {name for step in steps for name in step} == set(TECHNIQUES)
    recipe = oboro.Recipe(attributes={"age": {"role": "quasi"}}, steps=steps)
    assert recipe.explain()


def test_the_picture_shows_the_imports_that_there_are() -> None:
    place = ROOT / "docs" / "architecture.py"
    spec = importlib.util.spec_from_file_location("architecture", place)
    assert spec is not None
    assert spec.loader is not None
    architecture = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = architecture  # dataclasses look their module up
    spec.loader.exec_module(architecture)
    drawn = architecture.draw(architecture.read_structure())
    assert drawn == architecture.PICTURE.read_text(), "docs/architecture.svg is out of date: run `make picture`"


WALKED = (
    "start",
    "tutorials",
    "ja",
    "reference",
    "_build",
)  # these are walked from top to bottom, or written from the code


@pytest.mark.parametrize(
    "page",
    [one for one in sorted((ROOT / "docs").rglob("*.md")) if one.relative_to(ROOT / "docs").parts[0] not in WALKED],
    ids=lambda page: page.name,
)
def test_the_python_of_the_pages_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for code in blocks(page.read_text(), "python"):
        exec(compile(code, page.name, "exec"), {})


# Every block of every page is run, or is marked with the reason why not and checked as far as it can be -----------------

SHOWN = ("dockerfile", "text", "{")  # nothing to run in these, and in directives
BLOCK = re.compile(r"(<!-- not run: .+ -->\n)?^```(\S*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
NOT_WALKED = [
    one for one in sorted((ROOT / "docs").rglob("*.md")) if one.relative_to(ROOT / "docs").parts[0] not in WALKED
]


@pytest.mark.parametrize("page", NOT_WALKED, ids=lambda page: page.name)
def test_every_block_is_run_or_says_why_not(page: Path) -> None:
    for mark, language, code in BLOCK.findall(page.read_text()):
        if language == "yaml":
            _check_part_of_a_recipe(yaml.safe_load(code))
        elif not language.startswith((*SHOWN, "python")):  # whose tests are above
            assert mark, f"{page.name}: say why this is not run: {code}"
            for line in code.splitlines():
                if line.startswith("oboro "):
                    _check_words(shlex.split(line.replace(" --lang ja", ""), comments=True)[1:])


def _check_words(words: list[str]) -> None:
    """The command and its options are there; whether its files are, a page cannot know."""
    group = typer.main.get_command(app)
    name, *rest = words[: words.index(sign)] if (sign := next((one for one in words if one in "<>>|"), "")) else words
    command = group.commands[name]  # type: ignore[attr-defined]
    command.make_parser(typer.Context(command, info_name=name)).parse_args(rest)


def _check_part_of_a_recipe(part: object) -> None:
    """Steps alone, a part of the attributes, a permission: with what they lack they are a recipe, or the settings of a service."""
    if isinstance(part, dict) and "to" in part:
        assert ServiceSettings.model_validate({"recipe": "recipe.yaml", **part})
        return
    given = part if isinstance(part, dict) else {"steps": part}
    assert oboro.Recipe.model_validate({"attributes": {"age": {"role": "quasi"}}, "steps": [], **given})
