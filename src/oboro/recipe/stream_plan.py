"""What a recipe means for a stream: its goal, its fields, its pseudonyms, and what a stream cannot keep."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from oboro.disclosure.column_names import names_one_person, role_by_name
from oboro.errors import ColumnError, InputError, RecipeError
from oboro.stream import DelayFree, Window
from oboro.table.dataset import Column
from oboro.table.hierarchy import HierarchySpec
from oboro.table.schema import Role
from oboro.table.values import kind_of
from oboro.techniques import TECHNIQUES
from oboro.techniques.drop_columns import DropColumns
from oboro.techniques.k_anonymize import KAnonymize
from oboro.techniques.pseudonymize import Pseudonymize
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.recipe.recipe import Recipe

__all__ = ["StreamOptions", "anonymizer", "cautions_of_stream", "diversity", "goal", "plan_of_stream", "pseudonyms"]

UNDERSTOOD = {"k", "l_diversity", "suppress", "loss", "search", "recoding", "minimal", "time_limit", "optimum"}


@dataclass(frozen=True, kw_only=True)
class StreamOptions:
    """What a recipe does not say about a stream. What is left out (None) is as `DelayFree` or `Window` have it."""

    mode: Literal["swap", "count", "paper", "sequential", "fixed", "window"] = "swap"
    person: str | None = None
    """The field that says whose record it is: k people, not k records. It is not released."""
    horizon: int | None = None
    """How many of the last records protect a new one."""
    horizon_seconds: float | None = None
    """For how many seconds a record protects later ones."""
    reach: int | None = None
    """Modes swap and count: how many distinct earlier records one search compares at most."""
    background: bool | None = None
    """Mode paper: whether functions are made in a thread of their own."""
    window: int | None = None
    """Mode window: how many records are held at most."""
    max_delay: float | None = None
    """Mode window: seconds that a record waits at most."""
    categories: list[str] | None = None
    """Mode window: attributes that are no numbers."""
    index: Literal["auto", "exhaustive", "fdh", "fdhq"] | None = None
    """Mode window: how neighbours are found."""
    group: Literal["grow", "paper"] | None = None
    """Mode window: how a group grows."""
    order: Literal["exchanged", "kept"] | None = None
    """Mode window: whether members of a group leave their other fields in each other's places."""

    @property
    def given(self) -> dict[str, Any]:
        """Those that are not left out."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    def of(self, recipe: Recipe) -> Self:
        """The same with the recipe's person, where no other is named."""
        return self if self.person is not None else replace(self, person=recipe.person)


def anonymizer(recipe: Recipe, options: StreamOptions) -> DelayFree | Window:
    """The attributes, the one `k_anonymize` (k and l-diversity) and the columns to drop, as an anonymizer.

    It releases what the recipe pseudonymizes as it comes: `pseudonyms` says by what it is replaced before.
    """
    asked, options = goal(recipe), options.of(recipe)
    kinds = diversity(asked)
    if folding := [name for name, one in recipe.attributes.items() if one.fold]:
        raise RecipeError(Message("error_recipe.stream_fold", columns=folding))
    if recipe.earlier:
        raise RecipeError(Message("error_recipe.stream_earlier"))
    person, dropped = options.person, _dropped(recipe)
    _require_released(recipe, person, dropped)
    quasi = [name for name in recipe.schema_given.quasi if name not in dropped and name != person]
    weights = {name: recipe.attributes[name].weight for name in quasi if recipe.attributes[name].weight != 1}
    shared: dict[str, Any] = {
        "l_diversity": kinds,
        "keep": [name for name in recipe.attributes if name not in (*quasi, *dropped, *kinds, person)],
        "drop": [name for name in dropped if name != person],
        "weights": weights,
        "unnamed": recipe.unnamed,
    }
    specs = {name: spec for name in quasi if (spec := recipe.attributes[name].hierarchy) is not None}
    if options.mode == "window":
        more = {name: value for name, value in options.given.items() if name not in ("mode", "categories")}
        categories = [*(options.categories or ()), *_no_numbers(specs, options.categories or (), recipe.folder)]
        return Window(quasi, asked.k, categories=categories, **more, **shared)
    return DelayFree(quasi, asked.k, hierarchies=specs, folder=recipe.folder, **options.given, **shared)


def _no_numbers(specs: Mapping[str, HierarchySpec], named: Collection[str], folder: Path) -> list[str]:
    """The attributes whose hierarchy says that their values are no numbers; else a window would refuse every record.

    Levels themselves are not asked there: a group shows the mean of its numbers and the most frequent of other values.
    """
    found = []
    for name, spec in specs.items():
        whole = spec.whole(name, folder)
        if (
            name in named
            or spec.intervals is not None
            or (whole is not None and kind_of(whole.levels[0].labels).numeric)
        ):
            continue
        if spec.dates is not None:
            raise RecipeError(Message("error_recipe.window_dates", name=name))
        found.append(name)
    return found


def _dropped(recipe: Recipe) -> list[str]:
    return [name for step in recipe.steps if isinstance(step, DropColumns) for name in step.attributes]


def _require_released(recipe: Recipe, person: str | None, dropped: list[str]) -> None:
    """Raise where the stream would release what it must not: an identifier, or fields that nobody named."""
    renamed = _renamed(recipe)
    known = (*dropped, *renamed, person)
    leaking = [name for name in recipe.schema_given.named(Role.IDENTIFIER) if name not in known]
    if leaking:
        raise RecipeError(Message("error_recipe.stream_leak", leaking=leaking))
    if person in renamed:
        raise RecipeError(Message("error_recipe.person_renamed", person=person))
    if recipe.unnamed == "other":
        raise RecipeError(Message("error_recipe.stream_unnamed"))


# The promise ----------------------------------------------------------------------------------------------------------


def goal(recipe: Recipe) -> KAnonymize:
    """The one step that says what is promised; steps that a stream cannot do are an error that says why."""
    possible = [name for name, technique in TECHNIQUES.items() if technique.not_in_stream is None]
    wrong = [
        Message("error_recipe.not_in_stream_step", step=step.step, why=step.not_in_stream)
        for step in recipe.steps
        if step.not_in_stream is not None
    ]
    if wrong:
        raise RecipeError(Message("error_recipe.not_in_stream", steps=wrong, possible=possible))
    goals = [step for step in recipe.steps if isinstance(step, KAnonymize)]
    if len(goals) != 1:
        raise RecipeError(Message("error_recipe.one_goal", count=len(goals)))
    return goals[0]


def diversity(asked: KAnonymize) -> dict[str, int]:
    """The l-diversity of a step, as far as a stream can keep it; what it cannot keep is an error, not ignored."""
    more = [name for name in sorted(asked.model_fields_set - UNDERSTOOD) if getattr(asked, name)]
    if more:
        raise RecipeError(Message("error_recipe.stream_keeps", more=more))
    found = {}
    for name, demand in asked.l_diversity.items():
        least = demand if isinstance(demand, int | float) else demand.l if demand.kind == "distinct" else None
        if least is None or least != int(least):
            raise RecipeError(Message("error_recipe.stream_l", name=name))
        found[name] = int(least)
    return {name: least for name, least in found.items() if least > 1}


# In words ----------------------------------------------------------------------------------------------------------------------


def plan_of_stream(recipe: Recipe, options: StreamOptions) -> Message:
    """What `--explain` says of a stream: what is promised, and what an attacker may still tell."""
    asked, options, made = goal(recipe), options.of(recipe), anonymizer(recipe, options)
    made.close()
    said = [*_promised(asked, options, recipe.schema_given.quasi), *_not_promised(options)]
    kept = [name for name in made.fields if name not in (*recipe.schema_given.quasi, *diversity(asked))]
    said += [Message("recipe.stream.as_they_are", columns=kept)] if kept else []
    return Message("recipe.plan", said=[*said, *cautions_of_stream(recipe, options)])


def cautions_of_stream(recipe: Recipe, options: StreamOptions) -> list[Message]:
    """What the names of fields give away before any record came: a table's values are looked at, a stream's are not."""
    said, names = [], list(recipe.attributes)
    people = [name for name in names if names_one_person(name) and not recipe.because("rows_of", name)]
    if people and options.of(recipe).person is None:
        said.append(Message("recipe.stream.rows_of", person=people[0]))
    levels = [
        name for name in recipe.schema_given.quasi if recipe.attributes[name].hierarchy not in (None, HierarchySpec())
    ]
    if options.mode == "window" and levels:
        said.append(Message("recipe.stream.no_levels", columns=levels))
    hidden = {*_dropped(recipe), *_renamed(recipe), *recipe.schema_given.quasi, options.of(recipe).person}
    shown = [name for name in names if name not in hidden and role_by_name(name) is Role.IDENTIFIER]
    shown = [name for name in shown if not recipe.because("identifiers", name)]
    return said + ([Message("recipe.stream.identifiers", columns=shown)] if shown else [])


def _promised(asked: KAnonymize, options: StreamOptions, quasi: Sequence[str]) -> list[Message]:
    form = "window" if options.mode == "window" else "at_once"
    said = [Message(f"recipe.stream.{form}", columns=list(quasi), k=asked.k, others=asked.k - 1, mode=options.mode)]
    said += [Message("recipe.stream.secrets", column=name, l=least) for name, least in diversity(asked).items()]
    return said + ([] if options.person is None else [Message("recipe.stream.person", column=options.person)])


def _not_promised(options: StreamOptions) -> list[Message]:
    if options.mode == "window":
        return [Message(f"recipe.stream.{options.order or 'exchanged'}")]
    return [Message("recipe.stream.method")] + ([] if options.mode == "swap" else [Message("recipe.stream.owners")])


# Pseudonyms -----------------------------------------------------------------------------------------------------------


def pseudonyms(recipe: Recipe) -> dict[str, Callable[[Any], Any]]:
    """The fields that a recipe pseudonymizes, each with what takes a value to its pseudonym, the same as in a table."""
    return {name: _pseudonym(recipe, name, step) for name, step in _renamed(recipe).items()}


def _pseudonym(recipe: Recipe, name: str, step: Pseudonymize) -> Callable[[Any], Any]:
    pseudonym = step.one_by_one(name, recipe.folder)

    def change(value: Any) -> Any:
        if isinstance(value, list | dict):
            raise ColumnError(Message("error_recipe.single_value", name=name))
        try:
            return pseudonym(value if value is None or isinstance(value, str) else Column.of([value]).texts[0])
        except (InputError, UnicodeEncodeError):
            raise ColumnError(Message("error_recipe.no_text", name=name)) from None

    return change


def _renamed(recipe: Recipe) -> dict[str, Pseudonymize]:
    """The attributes that are pseudonymized, each with its step."""
    found = {n: step for step in recipe.steps if isinstance(step, Pseudonymize) for n in step.removes_identity}
    for name in found:
        role = recipe.attributes[name].role.value if name in recipe.attributes else Message("error_recipe.no_role")
        if role not in ("identifier", "other"):
            raise RecipeError(Message("error_recipe.stream_pseudonym", name=name, role=role))
    return found
