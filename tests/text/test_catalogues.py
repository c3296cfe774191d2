"""Both languages say the same messages; every message that the code makes exists, and every one that exists is made."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from tests.source_code import SOURCE
from tests.source_code import nodes as nodes_of

from oboro.report.assessment import WORDS
from oboro.report.checklists.base import LAWS
from oboro.report.sections.base import SECTIONS
from oboro.text import LANGUAGES, Message
from oboro.text.message import JOINTS, catalogue
from oboro.web.server import QUESTIONS

PARTS = sorted(path.stem for path in (SOURCE / "text" / "en").glob("*.toml") if path.stem != "help")  # no templates
ID = re.compile(r"[a-z_]+(\.[a-z0-9_]+)+")
FILE = re.compile(r".*\.(json|yaml|toml|csv|html|jinja|md)")
FIGURES = ("count", "number", "percent", "size", "many", "form")
CHECKLIST = re.compile(r"checklist_\w+\.(name|title|lead)")  # made from the key of a checklist
SAID_BY_OTHERS = ("error_os", "error_value")  # their ids come from the operating system and from pydantic
LISTS = ("either", "few", "listing", "quoted", *(name for name in JOINTS["en"] if name))


PAGE = "\n".join(path.read_text(encoding="utf-8") for path in sorted(SOURCE.rglob("static/js/**/*.js")))
SAID_BY_PAGE = {
    word for call in re.findall(r"\bt\(([^`]{1,90}?)[,)]", PAGE) for word in re.findall(r"\"([a-z0-9_.]+)\"", call)
}
SAID_BY_PAGE |= set(re.findall(r"(?<![hs]\()\"([a-z]+\.[a-z0-9_]+)\"", PAGE))  # said later; h("div.row") is an element
FAMILIES_OF_PAGE = [  # t(`role.${role}`) is a family of words
    re.compile("web\\." + re.sub(r"\\\$\\\{.+?\\\}", "([a-z0-9_]+)", re.escape(one)))
    for one in set(re.findall(r"\bt\(`([^`]+)`", PAGE))
]


@cache
def templates(lang: str) -> dict[str, str]:
    return {f"{part}.{rest}": text for part in PARTS for rest, text in catalogue(lang, part).items()}


def places(text: str) -> dict[str, str]:
    """The names in a template, each with how it is written there."""
    return {name: spec or "" for _, name, spec, _ in string.Formatter().parse(text) if name}


def values_in(text: str) -> set[str]:
    """The names, without those that only choose between singular and plural: another language may not need them."""
    return {
        name for _, name, spec, _ in string.Formatter().parse(text) if name and not (spec or "").startswith("form ")
    }


# ---- both languages ------------------------------------------------------------------------------------------------


def test_every_language_has_the_same_files() -> None:
    found = {lang: {path.stem for path in (SOURCE / "text" / lang).glob("*.toml")} for lang in LANGUAGES}
    found = {lang: sorted(parts - {"help"}) for lang, parts in found.items()}
    assert all(parts == PARTS for parts in found.values()), found


@pytest.mark.parametrize("part", PARTS)
def test_every_language_has_the_same_messages_with_the_same_values(part: str) -> None:
    english, japanese = (catalogue(lang, part) for lang in ("en", "ja"))
    assert english.keys() == japanese.keys()
    differing = {
        id for id in english if not values_in(japanese[id]) ^ values_in(english[id]) <= plural_only(english[id])
    }
    assert not differing, f"{part}: other values in Japanese: {differing}"


def plural_only(text: str) -> set[str]:
    return places(text).keys() - values_in(text)


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("part", PARTS)
def test_every_template_can_be_said(part: str, lang: str) -> None:
    for rest, text in catalogue(lang, part).items():
        said = Message(f"{part}.{rest}", **{name: example(spec) for name, spec in places(text).items()}).say(lang)
        assert said.strip() or not text.strip(), f"{part}.{rest} says nothing"


def example(spec: str) -> object:
    kind, _, rest = spec.partition(" ")
    if kind == "word":
        return next(id for id in templates("en") if id.startswith(f"{rest}.")).removeprefix(f"{rest}.")
    if kind in LISTS:
        return ["one", "two"]
    return 2 if kind in FIGURES or (spec and spec[-1] in "gfdX%,") else "something"


# ---- the code ------------------------------------------------------------------------------------------------------


def nodes(kind: type[ast.AST]) -> Iterator[tuple[Path, ast.AST]]:
    for path in sorted(SOURCE.rglob("*.py")):
        yield from ((path, node) for node in nodes_of(path) if isinstance(node, kind))


@cache
def constants() -> set[str]:
    """All text in the code, and all names: what a choice, a parameter or a fact can be called; and the words of pages."""
    texts = {
        one.value for _, one in nodes(ast.Constant) if isinstance(one, ast.Constant) and isinstance(one.value, str)
    }
    names = {one.id for _, one in nodes(ast.Name) if isinstance(one, ast.Name)}
    given = {one.arg for _, one in nodes(ast.keyword) if isinstance(one, ast.keyword) and one.arg}
    pages = [path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.jinja")]
    words = {word for page in pages for word in re.findall(r"word\(\"([a-z_.]+)\"\)", page)}
    return texts | names | given | words | {f"web.{word}" for word in SAID_BY_PAGE}


@cache
def put_together() -> list[re.Pattern[str]]:
    """Text that the code puts together, as patterns: f"attack.{kind}.title" is `attack\\.(.+)\\.title`."""
    found = set()
    for _, node in nodes(ast.JoinedStr):
        assert isinstance(node, ast.JoinedStr)
        parts = [re.escape(str(one.value)) if isinstance(one, ast.Constant) else "(.+?)" for one in node.values]
        if re.search("[a-z]{2}", "".join(part for part in parts if part != "(.+?)")):
            found.add("".join(parts))
    return [re.compile(one) for one in found]


@cache
def families() -> list[re.Pattern[str]]:
    """The patterns of ids: those that the code puts together, and `{distance:word model.distance}` in a template."""
    specs = [spec for lang in LANGUAGES for text in templates(lang).values() for spec in places(text).values()]
    words = {spec.removeprefix("word ") for spec in specs if spec.startswith("word ")}
    ours = [one for one in put_together() if re.match(rf"({'|'.join(PARTS)})\\\.", one.pattern)]
    return [*ours, *(re.compile(rf"{re.escape(family)}\.(.+)") for family in words | spoken_for())]


def spoken_for() -> set[str]:
    """The beginnings of ids that sections and laws put before the names of their messages."""
    laws = {law.said("").id.removesuffix(".") for law in LAWS.values()}
    return {one.words for one in SECTIONS} | {WORDS.words} | laws


def test_every_message_that_the_code_names_exists() -> None:
    named = {text for text in constants() if ID.fullmatch(text) and not FILE.fullmatch(text)}
    named = (
        {id for id in named if id.split(".")[0] in PARTS} - spoken_for() - set(QUESTIONS.values())
    )  # functions of screens
    assert named <= templates("en").keys(), f"no words for {sorted(named - templates('en').keys())}"


def test_every_word_that_the_page_says_exists() -> None:
    known = {id.removeprefix("web.") for id in templates("en")}
    assert len(SAID_BY_PAGE) > 100
    assert sorted(SAID_BY_PAGE - known) == []
    assert [one.pattern for one in FAMILIES_OF_PAGE if not any(one.fullmatch(id) for id in templates("en"))] == []


def test_every_family_of_messages_exists() -> None:
    lacking = [one.pattern for one in families() if not any(one.fullmatch(id) for id in templates("en"))]
    assert not lacking, f"no words for any of {lacking}"


def test_every_message_is_used() -> None:
    """By its whole id, or as one of a family, where what is put in occurs in the code or is itself put together there."""
    ours = [id for id in templates("en") if id.split(".")[0] not in SAID_BY_OTHERS and not CHECKLIST.fullmatch(id)]
    idle = [id for id in ours if id not in constants() and not any(belongs(id, one) for one in families())]
    idle = [id for id in idle if not any(one.fullmatch(id) for one in FAMILIES_OF_PAGE)]
    assert not idle, f"nobody says {idle}"


def belongs(id: str, family: re.Pattern[str]) -> bool:
    match = family.fullmatch(id)
    return match is not None and all(occurs(group) or all(map(occurs, group.split("."))) for group in match.groups())


@cache
def occurs(text: str) -> bool:
    return text in constants() or any(one.fullmatch(text) for one in put_together())


def test_every_message_is_given_the_values_that_its_words_need() -> None:
    wrong = []
    for path, call in nodes(ast.Call):
        assert isinstance(call, ast.Call)
        if not (isinstance(call.func, ast.Name) and call.func.id == "Message" and call.args):
            continue
        given = {keyword.arg for keyword in call.keywords}
        ids = [
            one.value
            for one in ast.walk(call.args[0])
            if isinstance(one, ast.Constant) and one.value in templates("en")
        ]
        for id in ids:
            needed = places(templates("en")[id]).keys() | places(templates("ja")[id]).keys()
            if None not in given and not needed <= given:
                wrong.append(f"{path.name}: {id} needs {sorted(needed - given)}")
        needed_by_any = {name for id in ids for lang in LANGUAGES for name in places(templates(lang)[id])}
        if ids and not given - {None} <= needed_by_any:
            wrong.append(f"{path.name}: {ids} does not use {sorted(given - {None} - needed_by_any)}")
    assert not wrong, "\n".join(wrong)
