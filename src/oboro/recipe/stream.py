"""What a recipe means for a stream: its goal, its pseudonyms, and what a stream cannot keep."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from oboro.errors import ColumnError, RecipeError, UsageError, listing
from oboro.recipe.recipe import Recipe
from oboro.stream import DelayFree, Window
from oboro.stream.runner.runner import Runner, StreamPlan
from oboro.table.dataset import Column
from oboro.table.schema import Role, Schema
from oboro.techniques import TECHNIQUES
from oboro.techniques.pseudonymize import Pseudonymize

__all__ = ["diversity", "goal", "pseudonyms", "run_stream", "settings"]

UNDERSTOOD = {"k", "l_diversity", "suppress", "loss", "search", "recoding", "minimal", "time_limit"}


def settings(recipe: Recipe, folder: Path, options: dict[str, Any]) -> DelayFree | Window:
    """What a recipe means for a stream: its attributes, one `k_anonymize` (k and l-diversity), and columns to drop.

    What it pseudonymizes is kept here: `pseudonyms` says how it is replaced before it comes this far.
    """
    schema = Schema(recipe.attributes, folder)
    person = options.get("person")
    asked = goal(recipe)
    dropped = [name for step in recipe.steps if step.step == "drop_columns" for name in step.removes_identity]
    renamed = _renamed(recipe)
    leaking = [name for name in schema.named(Role.IDENTIFIER) if name not in (*dropped, *renamed, person)]
    if leaking:
        raise RecipeError(
            f"identifier {listing(leaking)} would be released; drop it with drop_columns, pseudonymize it, or name it "
            "with --person"
        )
    if person in renamed:
        raise RecipeError(f"pseudonymize: {person!r} is the --person, which is not released; leave the step out")
    if recipe.unnamed == "other":
        raise RecipeError(
            "unnamed: other would release fields that the recipe does not name; use error or drop for a stream"
        )
    quasi = [name for name in schema.quasi if name not in dropped and name != person]
    kinds = diversity(asked)
    kept = [name for name in recipe.attributes if name not in (*quasi, *dropped, *kinds, person)]
    specs = {name: spec for name in quasi if (spec := recipe.attributes[name].hierarchy) is not None}
    weights = {name: recipe.attributes[name].weight for name in quasi if recipe.attributes[name].weight != 1}
    given = {name: value for name, value in options.items() if value is not None}
    fields = {"l_diversity": kinds, "keep": kept, "drop": [name for name in dropped if name != person]}
    if given.get("mode") == "window":
        return _window(quasi, asked.k, given, **fields, weights=weights, unnamed=recipe.unnamed)
    return DelayFree(
        quasi,
        asked.k,
        hierarchies=specs,
        weights=weights,
        unnamed=recipe.unnamed,
        folder=folder,
        **fields,
        **given,
    )


def _window(quasi: list[str], k: int, given: dict[str, Any], **more: Any) -> Window:
    """The same for a window; numbers are averaged, so hierarchies are not asked."""
    options = {name: value for name, value in given.items() if name != "mode"}
    return Window(quasi, k, **options, **more)


def goal(recipe: Recipe) -> Any:
    """The one step that says what is promised; a step that a stream cannot do is an error that says why."""
    goals = [step for step in recipe.steps if step.step == "k_anonymize"]
    for step in recipe.steps:
        if step.not_in_stream is not None:
            possible = ", ".join(name for name, one in TECHNIQUES.items() if one.not_in_stream is None)
            raise RecipeError(f"{step.step}: a stream cannot do this: {step.not_in_stream}; it can do {possible}")
    if len(goals) != 1:
        raise RecipeError(f"a stream takes exactly one k_anonymize step; the recipe has {len(goals)}")
    return goals[0]


def _renamed(recipe: Recipe) -> dict[str, Pseudonymize]:
    """The attributes that are pseudonymized, each with its step."""
    found = {n: step for step in recipe.steps if isinstance(step, Pseudonymize) for n in step.removes_identity}
    for name in found:
        role = recipe.attributes[name].role.value if name in recipe.attributes else "not named by the recipe"
        if role not in ("identifier", "other"):
            raise RecipeError(
                f"pseudonymize: {name!r} has the role {role}; a stream can pseudonymize only identifier and other attributes"
            )
    return found


def pseudonyms(recipe: Recipe, folder: Path) -> dict[str, Callable[[Any], Any]]:
    """The fields that a recipe pseudonymizes, each with what takes a value to its pseudonym, the same as in a table."""

    def of(name: str, step: Pseudonymize) -> Callable[[Any], Any]:
        pseudonym = step.one_by_one(name, folder)

        def change(value: Any) -> Any:
            if isinstance(value, list | dict):
                raise ColumnError(f"{name}: must be a single value, not a list or an object")
            text = value if value is None or isinstance(value, str) else Column.of([value]).texts[0]
            return pseudonym(text)

        return change

    return {name: of(name, step) for name, step in _renamed(recipe).items()}


def diversity(asked: Any) -> dict[str, int]:
    """The l-diversity of a step, as far as a stream can keep it; what it cannot keep is an error, not ignored."""
    more = [name for name in sorted(asked.model_fields_set - UNDERSTOOD) if getattr(asked, name)]
    if more:
        raise RecipeError(f"k_anonymize: a stream keeps k and l_diversity; it cannot keep {listing(more)}")
    found = {}
    for name, demand in asked.l_diversity.items():
        least = demand if isinstance(demand, int | float) else demand.l if demand.kind == "distinct" else None
        if least is None or least != int(least):
            raise RecipeError(
                f"k_anonymize: l_diversity of {name!r}: a stream counts distinct values, so l must be a whole number"
            )
        found[name] = int(least)
    return {name: least for name, least in found.items() if least > 1}


def run_stream(
    recipe: Path,
    *,
    source: str = "-",
    target: str = "-",
    state: Path | None = None,
    dead_letters: str | None = None,
    form: str | None = None,
    output_form: str | None = None,
    resume: str | None = None,
    longest_line: int = 1 << 20,
    fsync: bool = False,
    watch: Callable[[dict[str, Any]], None] | None = None,
    options: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Run a stream until its input ends or somebody asks to stop; its metrics."""
    for name, value, allowed in (
        ("--format", form, ("ndjson", "csv")),
        ("--output-format", output_form, ("ndjson", "csv")),
        ("--resume", resume, ("replay", "continue")),
    ):
        _one_of(name, value, allowed)
    loaded = Recipe.load(recipe)
    plan = StreamPlan(
        source=source,
        target=target,
        dead=dead_letters,
        state=state,
        form=form,  # type: ignore[arg-type]
        output_form=output_form,  # type: ignore[arg-type]
        resume=resume,  # type: ignore[arg-type]
        most=longest_line,
        fsync=fsync,
        change=pseudonyms(loaded, recipe.parent),
    )

    def make() -> DelayFree | Window:
        return settings(loaded, recipe.parent, options or {})

    return Runner(make, plan, watch).run()


def _one_of(name: str, value: str | None, allowed: tuple[str, ...]) -> None:
    if value is not None and value not in allowed:
        raise UsageError(f"{name}: must be one of {listing(allowed)}; got {value!r}")
