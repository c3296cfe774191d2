"""Recipe on a stream: record by record in Python, or from a data source to a data sink until the input ends."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, cast

import numpy as np

from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.frames import Frame
from oboro.disclosure.column_names import names_one_person, role_by_name
from oboro.errors import ColumnError, FileError, InputError, RecipeError, UsageError
from oboro.hierarchies.spec import HierarchySpec
from oboro.notations.kinds import kind_of
from oboro.schema import Role
from oboro.stream import DelayFree, Window
from oboro.stream.anonymizer import BlockResult, Closing, Record
from oboro.stream.engine import Runner, StreamPlan
from oboro.stream.records import Partition, stream_encoding
from oboro.techniques import TECHNIQUES
from oboro.techniques.drop_columns import DropColumns
from oboro.techniques.k_anonymize import KAnonymize
from oboro.techniques.pseudonymize import Pseudonymize
from oboro.text import Message
from oboro.text.language import os_reason
from oboro.verifier.stream import verify_stream, verify_window
from oboro.verifier.verdict import Verification

if TYPE_CHECKING:
    from oboro.recipe.recipe import Recipe

__all__ = [
    "RecipeStream",
    "StreamOptions",
    "anonymizer",
    "cautions_of_stream",
    "diversity",
    "goal",
    "part_of",
    "plan_of_stream",
    "pseudonyms",
    "run_stream",
    "stream_metrics",
    "verified",
    "verify_records",
]


# From a recipe to a stream anonymizer ---------------------------------------------------------------------------------
# The goal, the fields and the pseudonyms of a stream, and the errors for parts of a recipe that a stream cannot do.


UNDERSTOOD = {"k", "l_diversity", "suppress", "loss", "search", "recoding", "minimal", "time_limit", "optimum"}


@dataclass(frozen=True, kw_only=True)
class StreamOptions:
    """Options of a stream that a recipe does not have. For None the default of `DelayFree` or `Window` applies."""

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
        """Options that are not None."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    def of(self, recipe: Recipe) -> Self:
        """Fill in the recipe's person, where no other is named."""
        return self if self.person is not None else replace(self, person=recipe.person)


def anonymizer(recipe: Recipe, options: StreamOptions) -> DelayFree | Window:
    """Build the anonymizer for the attributes, the one `k_anonymize` (k and l-diversity) and the columns to drop.

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
    """Raise where the stream would release an identifier, or fields that are not named."""
    renamed = _renamed(recipe)
    known = (*dropped, *renamed, person)
    leaking = [name for name in recipe.schema_given.named(Role.IDENTIFIER) if name not in known]
    if leaking:
        raise RecipeError(Message("error_recipe.stream_leak", leaking=leaking))
    if person in renamed:
        raise RecipeError(Message("error_recipe.person_renamed", person=person))
    if recipe.unnamed == "other":
        raise RecipeError(Message("error_recipe.stream_unnamed"))


# Guarantee of a stream ------------------------------------------------------------------------------------------------


def goal(recipe: Recipe) -> KAnonymize:
    """Return the one step with the guarantee; raise for steps that a stream cannot do, with the reason."""
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
    """Return the l-diversity of a step, as far as a stream can keep it; raise for what it cannot keep."""
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


# Plan in words --------------------------------------------------------------------------------------------------------


def plan_of_stream(recipe: Recipe, options: StreamOptions) -> Message:
    """Describe a stream for `--explain`: its guarantee, and what an attacker may still learn."""
    asked, options, made = goal(recipe), options.of(recipe), anonymizer(recipe, options)
    made.close()
    said = [*_promised(asked, options, recipe.schema_given.quasi), *_not_promised(options)]
    kept = [name for name in made.fields if name not in (*recipe.schema_given.quasi, *diversity(asked))]
    said += [Message("recipe.stream.as_they_are", columns=kept)] if kept else []
    return Message("recipe.plan", said=[*said, *cautions_of_stream(recipe, options)])


def cautions_of_stream(recipe: Recipe, options: StreamOptions) -> list[Message]:
    """Return the cautions that follow from the names of fields: before the first record, no values can be inspected."""
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
    """Return for each pseudonymized field the function from a value to its pseudonym, the same as in a table."""
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


# Anonymizer of records ------------------------------------------------------------------------------------------------


class RecipeStream(Closing):
    """A recipe that anonymizes records as they come. Made by `Recipe.stream`.

    Every mode has the same verbs, and each returns the records that are released now, in the order in which they came:
    without delay that is the record itself, in a window they are earlier ones, or none yet.

    Given: records with the fields that the recipe names. Promises: what `DelayFree` (its mode) or `Window` promise of the
    recipe's quasi-identifiers; identifiers are dropped or pseudonymized. Checked by: `oboro.verifier.stream` and
    `window_check`.
    """

    def __init__(self, recipe: Recipe, options: StreamOptions, restore: str | Path | None = None) -> None:
        self._recipe, self._options = recipe, options
        self._pseudonyms = pseudonyms(recipe)
        self._anonymizer = anonymizer(recipe, options)
        if restore is not None:
            fresh = self._anonymizer
            self._anonymizer = type(fresh).restore(restore)
            if fresh.fingerprint() != self._anonymizer.fingerprint():
                raise UsageError(Message("error_recipe.other_settings", restore=restore))

    def push(self, record: Record, *, now: float | None = None) -> list[dict[str, Any]]:
        """Take one record. `now` (seconds) is for horizons and delays; without it the clock is asked.

        Raises `ColumnError` where fields are missing, unknown or no single values; the record then leaves no trace.
        """
        found = self._anonymizer.push(self._renamed(record), now=now)
        return found if isinstance(found, list) else [found]

    def push_many(self, batch: Any, *, now: float | None = None) -> list[dict[str, Any]]:
        """Take many records, a list or a frame, as if pushed one after the other. Where one is refused, none is taken."""
        records = batch if isinstance(batch, Sequence) else Frame.read(batch).data.to_arrow().to_pylist()
        found: list[dict[str, Any]] = self._anonymizer.push_many([self._renamed(one) for one in records], now=now)
        return found

    def take(self, records: Sequence[Record], now: float) -> BlockResult:
        """For a loop of one's own (Quix Streams, Bytewax …): a block of records that came at a moment.

        `released` are those that come out now; `refused` gives the places of those that were not taken, with the reason. A record
        that is refused keeps no other from being taken.
        """
        result = BlockResult()
        renamed: list[Record] = []
        places: list[int] = []
        for place, record in enumerate(records):
            try:
                renamed.append(self._renamed(record))
                places.append(place)
            except InputError as error:
                result.refused[place] = error
        taken = self._anonymizer.take(renamed, now)
        refused = {places[at]: error for at, error in taken.refused.items()}
        return BlockResult(taken.released, taken.decisions, {**result.refused, **refused})

    def serve(self, source: str, sink: str, **settings: Any) -> AsyncIterator[dict[str, Any]]:
        """Run as a service from one place to another: `async for released in recipe.stream().serve(source, sink, state="state")`.

        Places and settings are those of `oboro stream` (docs/service.md). A record is handed over once it is published.
        """
        service = import_module("oboro.service.make")  # services stand above recipes, and few streams run as one
        return cast(
            "AsyncIterator[dict[str, Any]]", service.served(self._recipe, self._options, source, sink, settings)
        )

    def flush(self, *, now: float | None = None) -> list[dict[str, Any]]:
        """Release all waiting records with the guarantee satisfied: no more records will come for now."""
        return self._anonymizer.flush(now)

    def withheld(self) -> list[dict[str, Any]]:
        """Return the records withheld since the last call: they can never be released with the guarantee satisfied."""
        return self._anonymizer.withheld()

    def save(self, path: str | Path) -> None:
        """Write everything to one file, atomically, for `Recipe.stream(restore=path)`. It holds raw values: keep it secret."""
        self._anonymizer.save(path)

    @property
    def fields(self) -> Sequence[str]:
        """The fields of a released record, in order."""
        return self._anonymizer.fields

    def stats(self) -> dict[str, Any]:
        """Counts so far: records, and what was suppressed or lost."""
        return self._anonymizer.stats()

    def close(self) -> None:
        """End what runs in the background."""
        self._anonymizer.close()

    def _renamed(self, record: Record) -> Record:
        """The record with pseudonyms; where a field is missing, the anonymizer says so."""
        names = [name for name in self._pseudonyms if name in record]
        return {**record, **{name: self._pseudonyms[name](record[name]) for name in names}} if names else record


def run_stream(
    recipe: Recipe,
    options: StreamOptions | None = None,
    *,
    watch: Callable[[dict[str, Any]], None] | None = None,
    **told: Any,
) -> dict[str, Any]:
    """Anonymize records from `source` to `target` until the input ends or a stop is requested; return the metrics.

    `StreamPlan` has what can be told. `source` and `target` are `-` (standard input and output), a file, `tcp://HOST:PORT`,
    `unix:///PATH` or `tcp-listen://…`. `encoding` is that of the input (UTF-8 if not given); the output is UTF-8. A `state` folder
    survives `kill -9`. Dead letters give their reasons in `lang`, also after a restart in another. `watch` is told the metrics now
    and then.
    """
    _one_of("format", told.get("form"), ("ndjson", "csv"))
    _one_of("output-format", told.get("output_form"), ("ndjson", "csv"))
    _one_of("resume", told.get("resume"), ("replay", "continue"))
    others = {"--recipe": [] if recipe.path is None else [recipe.path], "the recipe's files": recipe.files}
    plan = StreamPlan(**told, change=pseudonyms(recipe), others=others)
    plan = replace(plan, encoding=stream_encoding(plan.encoding))
    return Runner(lambda: anonymizer(recipe, options or StreamOptions()), plan, watch).run()


def _one_of(name: str, value: str | None, allowed: tuple[str, ...]) -> None:
    if value is not None and value not in allowed:
        raise UsageError(Message("error_recipe.one_of", name=name, allowed=list(allowed), value=value))


# Verification of a stream ---------------------------------------------------------------------------------------------
# The guarantee is verified on the original records and the released ones.


MOST = 1_000_000  # records: they are compared as Python's, some microseconds each


def verified(
    recipe: Recipe | None, original: Dataset, released: Dataset, moments: Sequence[Mapping[str, Any]]
) -> Verification | None:
    """Verify the recipe's k-anonymity and l-diversity as a stream keeps them.

    None where it cannot be said: there is no recipe, it is not a stream's, records are too many, or they do not correspond.
    """
    if recipe is None or not moments:
        return None
    try:
        asked = goal(recipe)
        demands = diversity(asked)
    except RecipeError:
        return None
    quasi = [name for name in recipe.schema_given.quasi if name in released and name in original]
    if released.rows > MOST or not quasi:
        return None
    kinds = [(name, least) for name, least in demands.items() if name in released and name in original]
    secret, least = kinds[0] if kinds else (None, 1)
    names = [*quasi, *([secret] if secret else [])]
    came_out = _records(released, names)
    if moments[-1].get("mode") == "window":
        if recipe.person is not None:  # whose a released record is cannot be seen in it
            return None
        return verify_window(came_out, attributes=quasi, k=asked.k, sensitive=secret, l=least)
    if released.rows != original.rows:
        return None
    specs = {name: spec for name in quasi if (spec := recipe.attributes[name].hierarchy) is not None}
    if recipe.person is not None and recipe.person not in original:
        return None
    went_in = _records(original, [*names, *([recipe.person] if recipe.person else [])])
    try:
        return verify_stream(
            went_in,
            came_out,
            attributes=quasi,
            k=asked.k,
            hierarchies=specs,
            folder=recipe.folder,
            person=recipe.person,
            sensitive=secret,
            l=least,
        )
    except UsageError:  # a released record stands for another than the one in its place
        return None


def verify_records(
    recipe: Recipe | None,
    original: Dataset,
    released: Dataset,
    quasi: Sequence[str] | None = None,
    k: int | None = None,
    person: str | None = None,
    sensitive: str | None = None,
    l: int | None = None,  # noqa: E741  (the literature's letter)
) -> Verification:
    """Verify the guarantee of a stream without delay, from its original and released records, in order.

    What is not said is the recipe's: its person, quasi-identifiers, `k`, `l_diversity` and hierarchies.
    """
    asked = goal(recipe) if recipe is not None else None
    kinds = list(diversity(asked).items()) if asked is not None and sensitive is None else []
    secret, least = kinds[0] if kinds else (sensitive, l or 1)
    chosen = list(quasi) if quasi is not None else recipe.schema_given.quasi if recipe is not None else []
    chosen = [name for name in chosen if name in released or quasi is not None]
    least_k = k if k is not None else asked.k if asked is not None else None
    if not chosen or least_k is None:
        raise UsageError(Message("error_recipe.stream_verify"))
    known = recipe.attributes if recipe is not None else {}
    specs = {name: spec for name in chosen if name in known and (spec := known[name].hierarchy) is not None}
    shown = [*chosen, *([secret] if secret else [])]
    person = recipe.person if person is None and recipe is not None else person
    lacking = [one for one in shown if one not in released or one not in original]
    for name in [*lacking, *([person] if person and person not in original else [])]:
        raise ColumnError(Message("error_recipe.stream_lacks", name=name))
    if _of_window(original, released, chosen, least_k):
        raise UsageError(Message("error_recipe.stream_of_window", k=least_k))
    return verify_stream(
        _records(original, [*shown, *([person] if person else [])]),
        _records(released, shown),
        attributes=chosen,
        k=least_k,
        hierarchies=specs,
        folder=recipe.folder if recipe is not None else Path("."),
        person=person,
        sensitive=secret,
        l=least,
    )


def _of_window(original: Dataset, released: Dataset, quasi: Sequence[str], k: int) -> bool:
    """Return whether records came out of a window: numbers that never went in, each combination of them k times or more.

    A window publishes the means of groups; a stream without delay publishes original values, labels and `*`.
    """
    if not released.rows or released.rows > MOST:
        return False
    strange = [name for name in quasi if released[name].kind.numeric and original[name].kind.numeric]
    strange = [name for name in strange if not np.isin(_line(released[name], name), _line(original[name], name)).all()]
    return bool(strange) and verify_window(_records(released, quasi), attributes=quasi, k=k).holds


def _line(column: Column, name: str) -> np.ndarray:
    numbers = column.numbers(name)
    return np.asarray(numbers[~np.isnan(numbers)])


def part_of(original: Dataset, text: str) -> Dataset:
    """Return the records that belong to one part of a stream, by `FIELDS:COUNT:NUMBER`."""
    fields, _, rest = text.rpartition(":")[0].rpartition(":")
    by, count, serve = tuple(fields.split(",")), rest, text.rpartition(":")[2]
    if not (fields and count.isdigit() and serve.isdigit() and int(serve) < int(count)):
        raise UsageError(Message("error_recipe.part", text=text))
    for name in [one for one in by if one not in original]:
        raise ColumnError(Message("error_recipe.stream_lacks", name=name))
    part = Partition(by, int(count), int(serve))
    keys = ([one[name] for name in by] for one in _records(original, by))
    return original.take(np.flatnonzero([part.number(key) == part.serve for key in keys]))


def _records(data: Dataset, names: Sequence[str]) -> list[dict[str, Any]]:
    columns = [[texts[code] for code in data[name].codes] for name in names for texts in [data[name].texts]]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def stream_metrics(path: Path) -> list[dict[str, Any]]:
    """Read the metrics that `oboro stream --json` printed, one JSON object a line, in the order of time."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        other = Message("error_recipe.not_utf8" if isinstance(error, UnicodeDecodeError) else "error_os.name")
        why = os_reason(error) if isinstance(error, OSError) else other
        raise FileError(Message("error_recipe.metrics_unreadable", path=path, why=why)) from None
    try:
        found = [json.loads(line) for line in lines if line.strip()]
    except (ValueError, RecursionError) as error:
        why = error.msg if isinstance(error, json.JSONDecodeError) else Message("error_recipe.yaml.deep")
        raise InputError(Message("error_recipe.metrics_json", path=path, why=why)) from None
    if not all(isinstance(one, dict) for one in found):
        raise InputError(Message("error_recipe.metrics_objects", path=path))
    return found
