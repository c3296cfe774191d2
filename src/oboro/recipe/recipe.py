"""The plan: what each column is, and what is done to the table, in order.

A recipe is a YAML or JSON file, or the same as Python objects. It is what a privacy officer signs and what can be applied again
to the next delivery. `explain` says in words what will happen; `run` does it, verifies every promise on what would be released,
and returns nothing at all if one does not hold.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, Self

import numpy as np
import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, InstanceOf, PlainSerializer, PrivateAttr
from pydantic import ValidationError as PydanticError

from oboro.errors import ColumnError, FileError, HierarchyError, PromiseError, RecipeError, listing
from oboro.io.files import Source, read
from oboro.measure.changed_cells import changed_cells
from oboro.recipe.release import Release, StepRecord, measure
from oboro.table.dataset import Dataset
from oboro.table.frames import Frame
from oboro.table.hierarchy import Hierarchy
from oboro.table.schema import Attribute, Role, Schema
from oboro.techniques import TECHNIQUES
from oboro.techniques.base import Technique, Work
from oboro.verifier.table_check import Promise, Verdict, Verification

if TYPE_CHECKING:
    from oboro.report import Report

__all__ = ["Progress", "Recipe"]


class Progress(Protocol):
    """Told the stage that begins, and while it lasts how many rows are done and how many there are in all."""

    def __call__(self, stage: str, done: int = 0, total: int | None = None) -> None:
        """Take note."""


def _step(value: Any) -> Technique:
    """`{k_anonymize: {k: 5}}`, `shuffle` or a technique object → a technique."""
    if isinstance(value, Technique):
        return value
    if isinstance(value, str):
        value = {value: {}}
    if not isinstance(value, Mapping) or len(value) != 1:
        raise ValueError("a step is one name with its parameters, for example `- k_anonymize: {k: 5}`")
    ((name, parameters),) = value.items()
    if name not in TECHNIQUES:
        near = get_close_matches(str(name), TECHNIQUES, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ValueError(f"there is no step {name!r}; {hint}the steps are {', '.join(TECHNIQUES)}")
    try:
        return TECHNIQUES[name].model_validate(parameters or {})
    except PydanticError as error:
        raise ValueError("; ".join(_complaints(error, str(name)))) from None


def _plain(technique: Technique) -> dict[str, Any]:
    return {technique.step: technique.model_dump(mode="json", exclude_defaults=True)}


Step = Annotated[InstanceOf[Technique], BeforeValidator(_step), PlainSerializer(_plain)]


class Recipe(BaseModel):
    """Attributes and steps, from YAML, JSON or Python.

    >>> recipe = Recipe(
    ...     attributes={"name": {"role": "identifier"}, "age": {"role": "quasi", "hierarchy": {"intervals": [10]}}},
    ...     steps=[{"drop_columns": {"attributes": ["name"]}}, {"k_anonymize": {"k": 2}}],
    ... )
    >>> recipe.run({"name": ["Ann", "Bob", "Cid"], "age": [31, 38, 35]}).data
    {'age': ['30–39', '30–39', '30–39']}
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    attributes: dict[str, Attribute] = Field(description="what each column of the table is")
    steps: list[Step] = Field(description="what is done to the table, in this order")
    seed: int | None = Field(
        None, ge=0, description="makes every random choice repeatable; whoever has it can repeat them"
    )
    unnamed: Literal["error", "drop", "other"] = Field(
        "error", description="what happens to columns that are not named here"
    )

    _folder: Path = PrivateAttr(Path("."))

    def __init__(self, **data: Any) -> None:
        try:
            super().__init__(**data)
        except PydanticError as error:
            raise RecipeError(
                "the recipe is wrong:\n" + "\n".join(f"  {line}" for line in _complaints(error))
            ) from None

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a recipe; hierarchy files named in it are looked for beside it."""
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise FileError(f"{path}: cannot read the recipe: {reason}") from None
        return cls.parse(text, folder=path.parent, name=str(path))

    @classmethod
    def parse(cls, text: str, *, folder: Path = Path("."), name: str = "recipe") -> Self:
        """A recipe from YAML text (JSON is YAML too)."""
        try:
            content = yaml.load(text, Loader=_StrictLoader)
        except yaml.YAMLError as error:
            raise RecipeError(f"{name}: not valid YAML: {_yaml_complaint(error)}") from None
        if not isinstance(content, dict):
            raise RecipeError(f"{name}: a recipe has `attributes:` and `steps:`, but this is {type(content).__name__}")
        try:
            recipe = cls(**{str(key): value for key, value in content.items()})
        except RecipeError as error:
            raise RecipeError(f"{name}: {error}") from None
        recipe._folder = folder
        return recipe

    def to_yaml(self) -> str:
        """The recipe as YAML; `parse` gives the same recipe back."""
        content = self.model_dump(mode="json", exclude_defaults=True)
        return yaml.safe_dump(content, allow_unicode=True, sort_keys=False, width=120)

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """The JSON Schema of recipes, for editors."""
        definitions: dict[str, Any] = {}
        steps = [_step_schema(name, definitions) for name in TECHNIQUES]
        names = {"type": "string", "enum": list(TECHNIQUES), "description": "a step without parameters"}
        schema = BaseModel.model_json_schema.__func__(_RecipeShape)  # type: ignore[attr-defined]
        schema["properties"]["steps"]["items"] = {"anyOf": [*steps, names]}
        schema["$defs"] = {**schema.get("$defs", {}), **definitions}
        return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "oboro recipe"}

    def explain(self) -> str:
        """What each step will do, in plain words, before any row is touched."""
        schema = Schema(self.attributes, self._folder)
        lines = ["What is known of the columns:"]
        lines += [f"  {role.value:<10} {', '.join(names)}" for role in Role if (names := schema.named(role))]
        lines.append(f"  Columns that the recipe does not name: {_UNNAMED[self.unnamed]}.")
        lines.append("What will be done:" if self.steps else "Nothing will be done to the rows.")
        lines += [f"  {number}. {step.step}: {step.explain(schema)}" for number, step in enumerate(self.steps, 1)]
        lines.append(
            "Then every promise made above is verified on the result; if one does not hold, nothing is written."
        )
        chance = f"repeatable with seed {self.seed}" if self.seed is not None else "new each time (no seed is set)"
        lines.append(f"Random choices are {chance}.")
        return "\n".join(lines)

    def run(
        self, source: Any, *, progress: Progress | None = None, reading: Mapping[str, Any] | None = None
    ) -> Release:
        """Apply the recipe to a pandas, polars or pyarrow frame, or to a file; the same kind comes back (a file: an Arrow table).

        Of a CSV or Parquet file only the columns that the recipe touches are held; the others are read again when the release
        is written or looked at; `reading` says how a file is to be read (`encoding`, `delimiter`, …). Raises a `PromiseError` and
        releases nothing where a promise does not hold on the result.
        """
        say: Progress = progress or _silent
        origin = source if isinstance(source, Source) else None
        coming = {}
        if isinstance(source, str | Path):
            say("reading")
            coming = self._hierarchies_coming()
            counted = None if progress is None else partial(progress, "reading")
            source = origin = read(source, needed=self.reads, progress=counted, **(reading or {}))
        frame = Frame.read(origin.data if origin else source)
        data, given = self._admit(frame.data)
        given = replace(given, coming=coming)
        schema = given
        self._check_identifiers(schema)
        self._check_hierarchies(data, schema)
        data, schema, records, promises = self._steps(data, schema, say)
        leaking = [name for name in schema.named(Role.IDENTIFIER) if name in data]
        if leaking:
            raise RecipeError(_leak(leaking))
        say("verifying")
        verification = self._verify(data, promises, records)
        released = replace(frame, data=data)
        return Release(
            frame=released,
            original=frame.data,
            schema=schema,
            given=given,
            steps=tuple(records),
            verification=verification,
            recipe_text=self.to_yaml(),
            source=origin,
        )

    def _hierarchies_coming(self) -> dict[str, Future[Hierarchy | None]]:
        """Hierarchy files, read by another thread while this one reads the table."""
        specs = {name: one.hierarchy for name, one in self.attributes.items() if one.hierarchy and one.hierarchy.csv}
        pool = ThreadPoolExecutor(1)
        coming = {name: pool.submit(spec.whole, name, self._folder) for name, spec in specs.items()}
        pool.shutdown(wait=False)
        return coming

    def reads(self, names: Sequence[str]) -> Collection[str]:
        """Which columns of a table must be held to run the recipe; the others are released as they stand, or not at all."""
        spoken = {name for name, one in self.attributes.items() if one.role in (Role.QUASI, Role.SENSITIVE)}
        return spoken.union(*(step.reads(names) for step in self.steps)).intersection(names)

    def evaluate(self, original: Any, released: Any) -> Report:
        """Measure a release that anybody made: the recipe says what the columns are, and whether records were moved.

        The n-th released record is compared with the n-th original one, unless the tables differ in length or a step moves records.
        """
        before, after = Frame.read(original).data, Frame.read(released).data
        schema = Schema(self.attributes, self._folder)
        schema.require(before, (name for name in self.attributes if name in after), "the original table")
        paired = before.rows == after.rows and not any(step.moves_records for step in self.steps)
        return measure(before, after, schema, recipe_text=self.to_yaml(), paired=paired)

    def _admit(self, data: Dataset) -> tuple[Dataset, Schema]:
        """The table with the columns that the recipe knows, and its schema."""
        unknown = [name for name in self.attributes if name not in data]
        if unknown:
            raise ColumnError(
                f"the recipe names {listing(unknown)}, which the table does not have; it has {listing(data, most=30)}"
            )
        unnamed = [name for name in data if name not in self.attributes]
        if unnamed and self.unnamed == "error":
            raise ColumnError(
                f"the recipe does not say what {listing(unnamed)} is; name every column under `attributes:`, "
                "or set `unnamed: drop` or `unnamed: other`"
            )
        if self.unnamed == "drop":
            data = data.select([name for name in data if name in self.attributes])
        attributes = {name: self.attributes.get(name, Attribute()) for name in data}
        return data, Schema(attributes, self._folder)

    def _check_identifiers(self, schema: Schema) -> None:
        """Before any work: every identifier is dropped or pseudonymized by some step."""
        handled = {name for step in self.steps for name in step.removes_identity}
        open_ = [name for name in schema.named(Role.IDENTIFIER) if name not in handled]
        if open_:
            raise RecipeError(_leak(open_))

    def _check_hierarchies(self, data: Dataset, schema: Schema) -> None:
        """Before any work: every hierarchy can be read and fits the column, unless an earlier step may still mend the column."""
        for name in schema.quasi:
            try:
                schema.hierarchy(name, data[name])
            except HierarchyError:
                first = next((i for i, step in enumerate(self.steps) if step.uses_hierarchies), None)
                if first is None or not any(step.changes_values for step in self.steps[:first]):
                    raise

    def _steps(
        self, data: Dataset, schema: Schema, say: Progress
    ) -> tuple[Dataset, Schema, list[StepRecord], list[Promise]]:
        records: list[StepRecord] = []
        promises: list[Promise] = []
        for step, seed in zip(self.steps, self._seeds(), strict=True):
            say(step.step)
            started = time.perf_counter()
            plan = step.explain(schema)
            outcome = step.run(Work(data, schema, np.random.default_rng(seed), lambda path: read(path).data, say))
            seconds = time.perf_counter() - started
            rows = (data.rows, outcome.data.rows)
            stayed = outcome.data.origin is data.origin and outcome.data.rows == data.rows
            changed = changed_cells(data, outcome.data) if step.changes_values or stayed else {}
            data, schema = outcome.data, outcome.schema
            promises += outcome.promises
            records.append(StepRecord(step.step, plan, dict(outcome.facts), seconds, *rows, changed))
        return data, schema, records, promises

    def _seeds(self) -> Iterator[np.random.SeedSequence]:
        """Each step has random numbers of its own, so that changing one step does not change the others' draws."""
        return iter(np.random.SeedSequence(self.seed).spawn(len(self.steps)))

    def _verify(self, data: Dataset, promises: list[Promise], records: list[StepRecord]) -> Verification:
        """Every promise, on the table as whoever receives it would read it."""
        verdicts: list[Verdict] = []
        several = len({frozenset(promise.quasi) for promise in promises}) > 1
        for promise in promises:
            results = [promise.verify(reading) for reading in _readings(data, promise)]
            for result in results:
                if not result.holds:
                    raise PromiseError(f"{promise.step}: {result.sentence()}{_blame(promise, records)}")
            over = tuple(name for name in promise.quasi if name in data) if several else ()
            verdicts += [replace(one, over=over) for one in results[0].verdicts]
        quasi = dict.fromkeys(name for promise in promises for name in promise.quasi if name in data)
        return Verification.of(verdicts, list(quasi))


def _silent(stage: str, done: int = 0, total: int | None = None) -> None:
    pass


class _RecipeShape(BaseModel):
    """`Recipe` without its step objects, for the JSON Schema."""

    model_config = ConfigDict(extra="forbid")

    attributes: dict[str, Attribute] = Field(description="what each column of the table is")
    steps: list[Any] = Field(description="what is done to the table, in this order")
    seed: int | None = Field(None, ge=0, description="makes every random choice repeatable")
    unnamed: Literal["error", "drop", "other"] = Field("error", description="what happens to columns not named here")


_UNNAMED = {"error": "are an error", "drop": "are dropped", "other": "are released as they are"}


def _leak(names: list[str]) -> str:
    return (
        f"identifier {listing(names)} would be released; add a step that drops or pseudonymizes it, "
        f"for example `- drop_columns: {{attributes: [{names[0]}]}}`"
    )


def _readings(data: Dataset, promise: Promise) -> Iterator[Dataset]:
    """What a promise speaks of, as released and, where it differs, as read back from CSV: there, empty text is missing."""
    names = {*promise.quasi, *(getattr(model, "sensitive", None) for model in promise.models)}
    tidy = {name: column.tidy() for name, column in data.columns.items() if name in names}
    yield replace(data, columns=tidy)
    blank = {name: column for name, column in tidy.items() if column.missing >= 0 and "" in column.texts}
    if blank:
        merged = {name: column.where(column.codes == column.texts.index(""), None) for name, column in blank.items()}
        yield replace(data, columns={**tidy, **merged})


def _blame(promise: Promise, records: list[StepRecord]) -> str:
    names = [record.name for record in records]
    later = names[names.index(promise.step) + 1 :]
    return f" A later step must have broken it: {listing(later)}." if later else ""


def _step_schema(name: str, definitions: dict[str, Any]) -> dict[str, Any]:
    parameters = TECHNIQUES[name].model_json_schema(ref_template="#/$defs/{model}")
    definitions.update(parameters.pop("$defs", {}))
    summary = (TECHNIQUES[name].__doc__ or "").strip().splitlines()[0]
    parameters["description"] = summary
    return {
        "type": "object",
        "properties": {name: {"anyOf": [parameters, {"type": "null"}]}},
        "required": [name],
        "additionalProperties": False,
        "description": summary,
    }


def _complaints(error: PydanticError, prefix: str = "") -> list[str]:
    """Pydantic's findings as lines: where, what is wrong, what came."""
    lines = []
    for found in error.errors(include_url=False):
        where = ".".join(str(part) for part in (prefix, *found["loc"]) if part != "")
        message = found["msg"].removeprefix("Value error, ")
        plain = isinstance(found["input"], str | int | float | bool | None.__class__)
        came = f" (got {found['input']!r})" if plain and found["type"] not in ("missing", "value_error") else ""
        lines.append(f"{where}: {message}{came}")
    return lines


class _StrictLoader(yaml.SafeLoader):
    """Safe YAML in which naming the same key twice is an error: the second would silently win."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable) and key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"{key!r} stands twice in the same place", key_node.start_mark
                )
            if isinstance(key, Hashable):
                seen.add(key)
        return super().construct_mapping(node, deep)


def _yaml_complaint(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    where = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
    return f"{getattr(error, 'problem', None) or 'it cannot be read'}{where}"
