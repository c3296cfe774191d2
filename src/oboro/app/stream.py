"""`oboro stream`: the skin of a running stream."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from oboro.recipe import Recipe
    from oboro.stream import DelayFree, Window
    from oboro.techniques.pseudonymize import Pseudonymize

__all__ = ["diversity", "goal", "pseudonyms", "run", "settings", "stream"]

POSSIBLE = ("drop_columns", "pseudonymize", "k_anonymize")
ORDER = "records come out in the order in which they came"
LADDER = "give the attribute a hierarchy instead"
ALL = "every record that goes in comes out"
# Of `k_anonymize`: what is promised, and what only chooses among the ways to recode a whole table, which a stream has no use for.
UNDERSTOOD = {"k", "l_diversity", "suppress", "loss", "search", "recoding", "minimal", "time_limit"}
IMPOSSIBLE = {"sort": ORDER, "shuffle": ORDER, "sample": ALL, "drop_records": ALL}
IMPOSSIBLE |= dict.fromkeys(("generalize", "top_code", "bottom_code", "round"), LADDER)


def stream(
    recipe: Annotated[Path, typer.Option("--recipe", "-r", help="The recipe (YAML or JSON).")],
    source: Annotated[
        str, typer.Option("--from", help="-, a file, tcp://HOST:PORT, unix:///PATH, tcp-listen://…")
    ] = "-",
    target: Annotated[str, typer.Option("--to", help="The same, for what is released.")] = "-",
    state: Annotated[Path | None, typer.Option(help="A folder that keeps the state; it survives kill -9.")] = None,
    dead_letters: Annotated[
        str | None,
        typer.Option(help="A file for lines that are no records, and why; without it: stderr, reasons only."),
    ] = None,
    mode: Annotated[str, typer.Option(help="swap, count, paper, sequential, fixed, or window.")] = "swap",
    window: Annotated[int | None, typer.Option(help="Mode window: how many records are held at most (10,000).")] = None,
    max_delay: Annotated[float | None, typer.Option(help="Mode window: seconds that a record waits at most.")] = None,
    categories: Annotated[
        str | None, typer.Option(help="Mode window: attributes that are no numbers, with commas between.")
    ] = None,
    index: Annotated[str | None, typer.Option(help="Mode window: auto, exhaustive, fdh or fdhq.")] = None,
    group: Annotated[str | None, typer.Option(help="Mode window: grow or paper.")] = None,
    person: Annotated[
        str | None, typer.Option(help="The field that says whose record it is: k people, not k records.")
    ] = None,
    horizon: Annotated[int | None, typer.Option(help="How many of the last records protect a new one.")] = None,
    horizon_seconds: Annotated[float | None, typer.Option(help="How many of the last seconds do.")] = None,
    form: Annotated[
        str | None, typer.Option("--format", help="ndjson or csv; by the file's name if not given.")
    ] = None,
    output_form: Annotated[
        str | None, typer.Option("--output-format", help="ndjson or csv; as the input if not given.")
    ] = None,
    resume: Annotated[
        str | None, typer.Option(help="After a restart: replay (the input starts over) or continue (it goes on).")
    ] = None,
    longest_line: Annotated[int, typer.Option(min=1, help="Longer lines are dead letters, in bytes.")] = 1 << 20,
    fsync: Annotated[bool, typer.Option("--fsync", help="Wait for the disk before anything is written.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print metrics as JSON on stderr, a line every half second and at the end.")
    ] = False,
) -> None:
    """Anonymize records as they come: each line in, its anonymized version out at once.

    Example: `oboro stream --recipe recipe.yaml --state state < people.ndjson > released.ndjson`
    """
    metrics = run(
        recipe,
        source=source,
        target=target,
        state=state,
        dead_letters=dead_letters,
        form=form,
        output_form=output_form,
        resume=resume,
        longest_line=longest_line,
        fsync=fsync,
        watch=_watch() if sys.stderr.isatty() else _print if as_json else None,
        options={
            "mode": mode,
            "person": person,
            "horizon": horizon,
            "horizon_seconds": horizon_seconds,
            "window": window,
            "max_delay": max_delay,
            "categories": categories.split(",") if categories else None,
            "index": index,
            "group": group,
        },
    )
    if sys.stderr.isatty():
        print(file=sys.stderr)
    if as_json:
        _print(metrics)


def run(
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
    from oboro.recipe import Recipe
    from oboro.stream.runner import Plan, Runner

    for name, value, allowed in (
        ("--format", form, ("ndjson", "csv")),
        ("--output-format", output_form, ("ndjson", "csv")),
        ("--resume", resume, ("replay", "continue")),
    ):
        _one_of(name, value, allowed)
    loaded = Recipe.load(recipe)
    plan = Plan(
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


def settings(recipe: Recipe, folder: Path, options: dict[str, Any]) -> DelayFree | Window:
    """What a recipe means for a stream: its attributes, one `k_anonymize` (k and l-diversity), and columns to drop.

    What it pseudonymizes is kept here: `pseudonyms` says how it is replaced before it comes this far.
    """
    from oboro.errors import RecipeError, listing
    from oboro.stream import DelayFree
    from oboro.table.schema import Role, Schema

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
        raise RecipeError("unnamed: other would release fields that nobody named; write error or drop for a stream")
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
    from oboro.stream import Window

    options = {name: value for name, value in given.items() if name != "mode"}
    return Window(quasi, k, **options, **more)


def goal(recipe: Recipe) -> Any:
    """The one step that says what is promised; a step that a stream cannot do is an error that says why."""
    from oboro.errors import RecipeError

    goals = [step for step in recipe.steps if step.step == "k_anonymize"]
    for step in recipe.steps:
        if step.step not in POSSIBLE:
            reason = IMPOSSIBLE.get(step.step, "it looks at the whole table")
            raise RecipeError(f"{step.step}: a stream cannot do this: {reason}; it can do {', '.join(POSSIBLE)}")
    if len(goals) != 1:
        raise RecipeError(f"a stream takes exactly one k_anonymize step; the recipe has {len(goals)}")
    return goals[0]


def _renamed(recipe: Recipe) -> dict[str, Pseudonymize]:
    """The attributes that are pseudonymized, each with its step."""
    from oboro.errors import RecipeError
    from oboro.techniques.pseudonymize import Pseudonymize

    found = {n: step for step in recipe.steps if isinstance(step, Pseudonymize) for n in step.removes_identity}
    for name in found:
        role = recipe.attributes[name].role.value if name in recipe.attributes else "not named by the recipe"
        if role not in ("identifier", "other"):
            raise RecipeError(
                f"pseudonymize: {name!r} is {role}; a stream pseudonymizes identifier and other attributes"
            )
    return found


def pseudonyms(recipe: Recipe, folder: Path) -> dict[str, Callable[[Any], Any]]:
    """The fields that a recipe pseudonymizes, each with what takes a value to its pseudonym, the same as in a table."""
    from oboro.errors import ColumnError
    from oboro.table.dataset import Column

    def of(name: str, step: Pseudonymize) -> Callable[[Any], Any]:
        pseudonym = step.one_by_one(name, folder)

        def change(value: Any) -> Any:
            if isinstance(value, list | dict):
                raise ColumnError(f"{name}: a list or an object is no single value")
            text = value if value is None or isinstance(value, str) else Column.of([value]).texts[0]
            return pseudonym(text)

        return change

    return {name: of(name, step) for name, step in _renamed(recipe).items()}


def diversity(asked: Any) -> dict[str, int]:
    """The l-diversity of a step, as far as a stream can keep it; what it cannot keep is an error, not ignored."""
    from oboro.errors import RecipeError, listing

    more = [name for name in sorted(asked.model_fields_set - UNDERSTOOD) if getattr(asked, name)]
    if more:
        raise RecipeError(f"k_anonymize: a stream keeps k and l_diversity; it cannot keep {listing(more)}")
    found = {}
    for name, demand in asked.l_diversity.items():
        least = demand if isinstance(demand, int | float) else demand.l if demand.kind == "distinct" else None
        if least is None or least != int(least):
            raise RecipeError(
                f"k_anonymize: l_diversity of {name!r}: a stream counts distinct values, a whole number of them"
            )
        found[name] = int(least)
    return {name: least for name, least in found.items() if least > 1}


def _one_of(name: str, value: str | None, allowed: tuple[str, ...]) -> None:
    from oboro.errors import UsageError, listing

    if value is not None and value not in allowed:
        raise UsageError(f"{name}: must be one of {listing(allowed)}; got {value!r}")


def _print(metrics: dict[str, Any]) -> None:
    print(json.dumps(metrics), file=sys.stderr, flush=True)


def _watch() -> Callable[[dict[str, Any]], None]:
    """One line on the terminal, written over and over."""

    def show(now: dict[str, Any]) -> None:
        latency = now["latency_ms"]
        if now["mode"] == "window":
            done = f"loss {now['loss']:.4g} a record  {now['held']:,} held"
        else:
            done = f"{now['suppressed_cells']:,} cells suppressed  function {now['function_version']}"
        print(
            f"\r{now['records']:>12,} records  {now['records_per_second']:>10,.0f}/s  "
            f"latency {latency['p50']:.1f} / {latency['p99']:.1f} ms  {done}  "
            f"{now['dead_letters']:,} dead letters   ",
            end="",
            file=sys.stderr,
            flush=True,
        )

    return show
