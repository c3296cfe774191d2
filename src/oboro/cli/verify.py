"""`oboro verify`: verification of a released table."""

from __future__ import annotations

import sys
from dataclasses import field, fields, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from oboro.cli.language import spoken
from oboro.cli.options import FOUND_OUT, AsJson, Claims, Reading, gathered, names, print_json, read_table
from oboro.privacy.base import MODELS, Keyword, keywords_of
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.verifier.verdict import Verification

__all__ = ["verify"]


def _claimed(models: Any) -> dict[str, Any]:
    """Return the keywords of `oboro.verify` that the options give."""
    from oboro.hierarchies.spec import HierarchySpec

    given: dict[str, Any] = {}
    for keyword in KEYWORDS:
        value = getattr(models, keyword.option or keyword.name)
        if len(keyword.parameters) == 2:
            value = _pair(value, f"--{keyword.name.replace('_', '-')}", keyword.example)
        given[keyword.name] = HierarchySpec(csv=str(value)) if isinstance(value, Path) else value
    return given


def _kind(keyword: Keyword) -> Any:
    """Return the type of an option: a pair is text, and a hierarchy is a file."""
    known = {
        "int | None": int | None,
        "float | None": float | None,
        "str | None": str | None,
        "str": str,
        "float": float,
    }
    return known.get(keyword.kind, str | None if len(keyword.parameters) == 2 else Path | None)


def _options() -> list[Keyword]:
    """Return the keywords that are options, once each: of one sensitive attribute before those of a table or a population."""
    order = sorted(MODELS.values(), key=lambda one: (one.scope == "population", one.scope != "attribute"))
    return [one for one in keywords_of(order).values() if one.option is not None]


KEYWORDS = _options()
# The privacy models that a release is held against. The first options are those of `oboro evaluate`, too.
Models: Any = make_dataclass(
    "Models",
    [
        (name, _kind(one), field(default=one.default))
        for one in KEYWORDS
        if (name := one.option or one.name) not in {claim.name for claim in fields(Claims)}
    ],
    bases=(Claims,),
    frozen=True,
)
NO_MODELS = Models()


@gathered
def verify(
    released: str,
    quasi: str | None = None,
    sensitive: str | None = None,
    models: Models = NO_MODELS,
    population: str | None = None,
    person: str | None = None,
    recipe: Path | None = None,
    stream: str | None = None,
    partition: str | None = None,
    dead_letters: str | None = None,
    id: str | None = None,
    reading: Reading = FOUND_OUT,
    fold: str | None = None,
    as_json: AsJson = False,
) -> None:
    """Verify privacy models on a released table, made by any tool. Exit code 0: all hold; 1: one is broken.

    With --recipe and without a model it checks what the recipe promises. With neither it says which k holds and, with --sensitive,
    which l and t.

    Example: `oboro verify released.csv --quasi age,sex,zip --k 5 --sensitive disease --l 2`

    A stream: `oboro verify --stream people.ndjson released.ndjson --recipe recipe.yaml`
    """
    from oboro.io.formats.base import FORMATS, inner_ending
    from oboro.text import Message
    from oboro.verifier.table import verify as check

    if stream is not None:
        went_in, came_out = _streams(stream, released, reading, partition, dead_letters, id)
        _end(_stream(went_in, came_out, recipe, quasi, models.k, person, sensitive, models.l), as_json)
    table = read_table(released, reading)
    if recipe is not None and quasi is None and models == NO_MODELS:
        _by_recipe(recipe, table.data, person, {"--sensitive": sensitive, "--fold": fold}, as_json)
    known = names(quasi) if quasi is not None else _quasi_of(recipe, table.data)
    everybody = read_table(population, reading).data if population else None
    result = check(
        table.data,
        quasi=known,
        sensitive=sensitive,
        **_claimed(models),
        population=everybody,
        person=person,
        fold=[one.strip() for one in fold.split(",")] if fold else (),
        hierarchies=_hierarchies(recipe if population or quasi else None, everybody, table.data, known),
    )
    format_ = FORMATS.of_ending(inner_ending(released)[0])
    if format_ is not None and format_.objects:
        print(f"oboro: {Message('verdict.json_lines').say(spoken())}", file=sys.stderr)
    _end(result, as_json)


def _by_recipe(recipe: Path, released: Any, person: str | None, idle: dict[str, Any], as_json: bool) -> None:
    """End with what the recipe promises, if it promises anything that a release alone can show."""
    from oboro.errors import UsageError
    from oboro.recipe.evaluate import promised_by_recipe
    from oboro.recipe.recipe import Recipe

    if given := [option for option, value in idle.items() if value is not None]:
        raise UsageError(Message("error_app.recipe_promises", options=given))
    found = promised_by_recipe(Recipe.load(recipe), released, person)
    if found is not None:
        _end(found, as_json)


def _quasi_of(recipe: Path | None, released: Any) -> list[str]:
    """The quasi-identifiers of a recipe that were released."""
    from oboro.errors import UsageError
    from oboro.recipe.recipe import Recipe

    if recipe is None:
        raise UsageError(Message("error_app.no_quasi"))
    known = [name for name, one in Recipe.load(recipe).attributes.items() if one.role == "quasi"]
    if not any(name in released for name in known):
        raise UsageError(Message("error_app.no_quasi_released", quasi=known))
    return [name for name in known if name in released]


def _streams(
    stream: str, released: str, reading: Reading, partition: str | None, dead_letters: str | None, id: str | None
) -> tuple[Any, Any]:
    """What went in and what came out, from files or from a broker."""
    from oboro.service.settings import as_lines

    with as_lines(stream, "FROM", dead_letters, id) as (went_in, left_out), as_lines(released, "TO") as (came_out, _):
        original, table = read_table(went_in, reading).data, read_table(came_out, reading.of_stream).data
    if left_out:
        print(
            f"oboro: {Message('verdict.left_out_messages', place=stream, count=left_out).say(spoken())}",
            file=sys.stderr,
        )
    if partition is not None:
        from oboro.recipe.stream import part_of

        original = part_of(original, partition)
    return original, table


def _end(result: Verification, as_json: bool) -> NoReturn:
    if as_json:
        print_json(result.as_dict())
    else:
        print(result.lines(spoken()))
    raise typer.Exit(0 if result.holds else 1)


def _stream(
    original: Any,
    released: Any,
    recipe: Path | None,
    quasi: str | None,
    k: int | None,
    person: str | None,
    sensitive: str | None,
    l: float | None,  # noqa: E741
) -> Verification:
    from oboro.recipe.recipe import Recipe
    from oboro.recipe.stream import verify_records

    known = Recipe.load(recipe) if recipe is not None else None
    given = names(quasi) if quasi is not None else None
    return verify_records(known, original, released, given, k, person, sensitive, None if l is None else int(l))


def _pair(text: str | None, option: str, example: str) -> tuple[float, float] | None:
    from oboro.errors import UsageError

    if text is None:
        return None
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise UsageError(Message("error_app.pair", option=option, example=example, text=text)) from None
    return low, high


def _hierarchies(recipe: Path | None, everybody: Any, released: Any, quasi: list[str]) -> dict[str, Any] | None:
    """What the labels mean to the population: as the recipe says, or without one as they say themselves (`20-29`, `130**`)."""
    from oboro.errors import UsageError
    from oboro.hierarchies.recoding import implied_hierarchy
    from oboro.recipe.recipe import Recipe
    from oboro.schema import Schema

    if everybody is None:
        if recipe is not None:
            raise UsageError(Message("error_app.recipe_alone"))
        return None
    known = [name for name in quasi if name in everybody and name in released]
    if recipe is None:
        shown = {name: implied_hierarchy(name, everybody[name], released[name], None) for name in known}
        return {name: one for name, one in shown.items() if one is not None}
    schema = Schema(Recipe.load(recipe).attributes, recipe.parent)
    return {name: schema.hierarchy(name, everybody[name]) for name in known}
