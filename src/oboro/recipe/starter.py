"""Starter recipe for a table: guessed roles with reasons and figures, proposed hierarchies, and steps ready to run."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import yaml

from oboro._lazy import has_extra
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.frames import Frame
from oboro.data.parameters import at_the_door
from oboro.disclosure.column_names import names_household
from oboro.disclosure.counted_people import RepeatedPeople
from oboro.errors import UsageError
from oboro.hierarchies.hierarchy import Hierarchy, Level
from oboro.hierarchies.propose import propose
from oboro.hierarchies.spec import HierarchySpec
from oboro.io.places.place import names_a_place
from oboro.io.read import Source, read
from oboro.io.write import write, write_blocks
from oboro.notations.texts import texts_of
from oboro.recipe.recipe import Recipe
from oboro.recipe.release import Release
from oboro.recipe.roles import ColumnGuess, Roles, guess_roles
from oboro.samples.people import hierarchy_csv, people, people_hierarchies, people_recipe
from oboro.samples.purchases import purchases, purchases_hierarchies, purchases_recipe
from oboro.schema import Role
from oboro.system.files import STDOUT, atomic, check_free
from oboro.system.process import ahead
from oboro.text import Message
from oboro.text.language import Progress, silent, system_language
from oboro.text.printable import is_printable_yaml

__all__ = [
    "ColumnHierarchy",
    "Demonstration",
    "LevelPreview",
    "Starter",
    "StarterStep",
    "column_hierarchy",
    "demonstrate",
    "init",
    "previews",
    "propose_hierarchy",
    "smallest_class",
    "starter_steps",
    "write_sample",
]


# Hierarchy of one column ----------------------------------------------------------------------------------------------
# Built, checked and counted level by level, before it goes into a recipe.


@dataclass(frozen=True)
class ColumnHierarchy:
    """A built and checked hierarchy with the column that it generalizes."""

    column: Column
    hierarchy: Hierarchy
    spec: HierarchySpec
    proposed: bool

    @property
    def levels(self) -> list[LevelPreview]:
        """Labels and rows of each level, and the most frequent labels."""
        return previews(self.hierarchy, self.column)

    @property
    def line(self) -> str:
        """The line to put under `attributes:` in a recipe."""
        content = self.spec.model_dump(mode="json", exclude_defaults=True)
        flow = yaml.safe_dump(
            {"role": "quasi", **({"hierarchy": content} if content else {})}, default_flow_style=True, width=10_000
        )
        return f"{self.hierarchy.name}: {flow.strip()}"

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the hierarchy as a file that a recipe can name: `value;level 1;level 2;…`. Only with `force` it replaces a file."""
        check_free(path, force)
        with atomic(path) as file:
            file.write(self.hierarchy.to_csv().encode())

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        return {
            "column": self.hierarchy.name,
            "proposed": self.proposed,
            "hierarchy": self.spec.model_dump(mode="json", exclude_defaults=True),
            "levels": [asdict(level) for level in self.levels],
        }


def column_hierarchy(
    frame: Any, name: str, spec: HierarchySpec | Mapping[str, Any] | None = None, folder: Path = Path(".")
) -> ColumnHierarchy:
    """Build and check the hierarchy of one column of a table: as `spec` says (as in a recipe), or as proposed.

    >>> column_hierarchy({"age": [31, 38, 45]}, "age", {"intervals": [10]}).line
    'age: {hierarchy: {intervals: [10]}, role: quasi}'
    """
    column = Frame.read(frame).data[name]
    given = propose(name, column) or HierarchySpec() if spec is None else HierarchySpec.model_validate(spec)
    return ColumnHierarchy(column, given.build(name, column, folder), given, proposed=spec is None)


@at_the_door
def propose_hierarchy(values: Any, column: str | None = None) -> HierarchySpec:
    """Propose a hierarchy for a column: of a frame or file-like table (`column` names it), or for plain values.

    Where nothing lies between the value and `*`, the hierarchy is empty. The name of a column matters: numbers called zip or
    code are masked, not put into intervals.

    >>> import pandas as pd
    >>> propose_hierarchy(pd.DataFrame({"age": range(17, 91)}), "age").intervals
    [5, 10, 20]
    >>> propose_hierarchy(["2024-01-31", "2025-02-01"]).dates
    ['day', 'month', 'quarter', 'year']
    """
    if column is None:
        column = str(getattr(values, "name", None) or "values")
        values = {column: values}
    return propose(column, Frame.read(values).data[column]) or HierarchySpec()


@dataclass(frozen=True)
class LevelPreview:
    """Effect of a level on a column: number of labels, of rows in them, and the most frequent labels."""

    level: int
    labels: int
    smallest: int
    median: float
    largest: int
    examples: tuple[tuple[str | None, int], ...]


def previews(hierarchy: Hierarchy, column: Column, examples: int = 5) -> list[LevelPreview]:
    """Return the effect of each level on the rows of the column, with the most frequent labels as examples."""
    fits = hierarchy.levels[0].labels.equals(column.values)
    levels = (hierarchy if fits else hierarchy.bind(column)).levels
    return [_preview(number, level, column.counts, examples) for number, level in enumerate(levels)]


def _preview(number: int, level: Level, counts: np.ndarray, examples: int) -> LevelPreview:
    rows = np.bincount(level.table, weights=counts, minlength=len(level.labels)).astype(np.int64)
    used = rows[rows > 0]
    most = np.argsort(-rows, kind="stable")[: min(examples, used.size)]
    labels = texts_of(level.labels.take(pa.array(most)))
    return LevelPreview(
        level=number,
        labels=int(used.size),
        smallest=int(used.min()) if used.size else 0,
        median=float(np.median(used)) if used.size else 0.0,
        largest=int(used.max(initial=0)),
        examples=tuple(zip(labels, rows[most].tolist(), strict=True)),
    )


# Example files --------------------------------------------------------------------------------------------------------
# Example data as files, each with its hierarchies and a ready recipe; and a first run on one of them.


Rows = Iterable[Sequence[str]]


@dataclass(frozen=True)
class Demonstration:
    """Result of `demonstrate`: the folder with its files, the example data, the release, and the time it took."""

    folder: Path
    original: Dataset
    release: Release
    has_report: bool  # what writes it is an extra
    seconds: float


def demonstrate(
    folder: Path, *, rows: int = 20_000, seed: int = 42, progress: Progress | None = None, lang: str = "en"
) -> Demonstration:
    """Make up people, anonymize, verify, and report if that is installed; all is left in `folder`, in place of an older one."""
    say: Progress = progress or silent
    started = time.perf_counter()
    folder.mkdir(parents=True, exist_ok=True)
    say(Message("progress.making_up", rows=rows))
    original = people(rows, seed)
    write(original, folder / "people.csv")
    _write_hierarchies(people_hierarchies(), folder / "hierarchies")
    _write_text(folder / "recipe.yaml", people_recipe("hierarchies", lang))
    release = Recipe.load(folder / "recipe.yaml").run(folder / "people.csv", progress=progress)
    release.write(folder / "released.csv", force=True)
    has_report = has_extra("report", "science")
    if has_report:
        say(Message("progress.making_report"))
        _write_text(folder / "report.html", release.with_files(folder / "released.csv").to_html(lang=lang))
    return Demonstration(folder, original, release, has_report, time.perf_counter() - started)


def write_sample(
    kind: str,
    output: Path,
    *,
    rows: int = 10_000,
    columns: int = 100,
    seed: int = 42,
    force: bool = False,
    lang: str = "en",
) -> Path:
    """Write example data (`people` or `purchases`) with its hierarchies and a ready recipe; return the recipe's path.

    Only purchases have as many `columns` as asked for. Only with `force` it replaces files that are there. What stands beside
    standard output has the kind's name.
    """
    stem = kind if str(output) == STDOUT else output.name
    path = output.parent / f"{stem}.recipe.yaml"
    hierarchies = f"{stem}.hierarchies"
    tables: Mapping[str, Rows]
    if kind == "people":
        tables, recipe = people_hierarchies(), people_recipe(hierarchies, lang)
    elif kind == "purchases":
        tables, recipe = purchases_hierarchies(), purchases_recipe(hierarchies, columns, lang)
    else:
        raise UsageError(Message("error_recipe.no_sample", kind=kind))
    for one in (output, path, *(output.parent / hierarchies / f"{name}.csv" for name in tables)):
        check_free(one, force)
    if kind == "people":
        write(people(rows, seed), output)
    else:
        write_blocks(ahead(purchases(rows, seed, columns)), output)
    _write_hierarchies(tables, output.parent / hierarchies)
    _write_text(path, recipe)
    return path


def _write_hierarchies(tables: Mapping[str, Rows], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in tables.items():
        _write_text(folder / f"{name}.csv", hierarchy_csv(rows))


def _write_text(path: Path, text: str) -> None:
    with atomic(path) as file:
        file.write(text.encode())


# Steps of a starter recipe --------------------------------------------------------------------------------------------
# Steps that follow from the guessed roles, so that the release meets its guarantee without further edits.


ROOM = 2  # times k people for each combination of labels: then one level for all keeps much, with the same labels everywhere
MANY = 15  # quasi-identifiers: beyond, groups of 5 span most values of each
MOST_ALIKE = 0.9  # a secret that more people share can hardly be made diverse


@dataclass(frozen=True)
class StarterStep:
    """One step as a recipe writes it, and the comment above it."""

    step: str
    parameters: dict[str, Any]
    comments: tuple[Message, ...]

    @property
    def content(self) -> dict[str, Any]:
        """The step as in a recipe."""
        return {self.step: self.parameters}


def smallest_class(people: int) -> int:
    """Return k for a table of this size: 5, in small tables a tenth of the people, and never fewer than 2.

    >>> [smallest_class(people) for people in (10, 30, 50_000)]
    [2, 3, 5]
    """
    return min(5, max(2, people // 10))


def starter_steps(roles: Roles, data: Dataset, people: int) -> list[StarterStep]:
    """Return the steps of a starter recipe, in order; k by the number of people."""
    k = smallest_class(people)
    steps = []
    if identifiers := roles.named(Role.IDENTIFIER):
        steps.append(StarterStep("drop_columns", {"attributes": identifiers}, (Message("starter.pseudonyms"),)))
    if secrets := roles.exact_secrets:
        parameters = {"attributes": secrets, "k": k, "method": "hansen", "missing": "join"}
        steps.append(StarterStep("partition_univariate", parameters, (Message("starter.means", k=k),)))
    if roles.named(Role.QUASI):
        steps.append(_classes(roles, data, k, people))
    return [*steps, StarterStep("shuffle", {}, (Message("starter.shuffle"),))]


def _classes(roles: Roles, data: Dataset, k: int, people: int) -> StarterStep:
    """One level for all where the classes have room for it; else each group has ranges of its own, which keeps far more."""
    secrets = roles.named(Role.SENSITIVE)
    diverse = {name: 2 for name in secrets if _can_be_diverse(data, name, roles.person)}
    demands: dict[str, Any] = {"l_diversity": diverse} if diverse else {}
    alike = [name for name in secrets if name not in diverse]
    warning = (Message("starter.alike", secrets=alike, share=MOST_ALIKE),) if alike else ()
    if _combinations(roles, data) * ROOM * k <= people:
        said = Message("starter.classes", k=k, share=0.02)
        return StarterStep("k_anonymize", {"k": k, "suppress": 0.02, **demands}, (said, *warning))
    comments = Message("starter.groups", k=k), _fewer(len(roles.named(Role.QUASI))), *warning
    return StarterStep("local_recode", {"k": k, **demands}, comments)


def _fewer(quasi: int) -> Message:
    """What fewer quasi-identifiers would give; of very many, hardly anybody knows all."""
    return Message("starter.one_level") if quasi <= MANY else Message("starter.very_many", columns=quasi)


def _combinations(roles: Roles, data: Dataset) -> int:
    """How many combinations of labels there could be, were each quasi-identifier generalized by one level."""
    return prod(_labels(roles.columns[name], data[name]) for name in roles.named(Role.QUASI))


def _labels(one: ColumnGuess, column: Column) -> int:
    if one.hierarchy is None:
        return len(column.values)
    levels = one.hierarchy.build(one.name, column, Path(".")).levels
    return len(levels[min(1, len(levels) - 1)].labels)


def _can_be_diverse(data: Dataset, name: str, person: str | None) -> bool:
    """Whether groups can differ: not where nearly everybody has one of the values, in any of their rows."""
    counts, everybody = data[name].counts, data.rows
    if person is not None:
        owners, values = data[person], data[name]
        pairs = np.unique(owners.codes.astype(np.int64) * len(values.values) + values.codes)
        counts, everybody = np.bincount(pairs % len(values.values)), int(np.count_nonzero(owners.counts))
    return bool(len(counts) > 1 and counts.max() <= MOST_ALIKE * everybody)


# Starter recipe -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Starter:
    """A recipe to begin with, and why each column has its role. In a notebook it shows itself."""

    recipe: Recipe
    roles: Roles
    steps: tuple[StarterStep, ...]
    rows: int
    name: str | None = None
    """The file that the table came from."""

    @property
    def columns(self) -> Mapping[str, ColumnGuess]:
        """Each column's role, with reasons and figures."""
        return self.roles.columns

    @property
    def people(self) -> RepeatedPeople | None:
        """The column whose values are people with several rows each, if there seems to be one."""
        return self.roles.people

    def to_yaml(self, lang: str = "en") -> str:
        """The recipe with comments that explain every guess; `Recipe.parse` gives `recipe` back."""
        table = self.name or Message("starter.the_table")
        head = Message("starter.head", table=table, rows=self.rows, columns=len(self.columns))
        lines = [f"# {line}" for line in head.say(lang).splitlines()]
        lines += self._person(lang)
        lines += ["attributes:", *(self._attribute(one, lang) for one in self.columns.values()), "steps:"]
        for step in self.steps:
            lines += [f"  # {said.say(lang)}" for said in step.comments]
            lines.append(f"  - {step.step}: {_flow(step.parameters)}")
        return "\n".join([*lines, f"# seed_env: OBORO_SEED   # {Message('starter.seed').say(lang)}"]) + "\n"

    def as_dict(self) -> dict[str, Any]:
        """For programs: the recipe, and each column with its reasons and figures."""
        return {
            "rows": self.rows,
            "recipe": self.recipe.model_dump(mode="json", exclude_defaults=True),
            "people": self.people and self.people.as_dict(),
            "columns": [one.as_dict() for one in self.columns.values()],
        }

    def __str__(self) -> str:
        return self.to_yaml()

    def __repr__(self) -> str:
        held = [f"{role.value}: {', '.join(names)}" for role in Role if (names := self.roles.named(role))]
        return f"Starter({self.rows} rows; {'; '.join(held)})"

    def _repr_html_(self) -> str:
        lang = system_language()
        heads = [Message(f"starter.table.{part}").say(lang) for part in ("column", "role", "figures", "reasons")]
        rows = [(one.name, *(said.say(lang) for said in _told(one))) for one in self.columns.values()]
        cells = ["".join(f"<td>{escape(text)}</td>" for text in row) for row in rows]
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        head = "".join(f"<th>{escape(text)}</th>" for text in heads)
        recipe = escape(self.to_yaml(lang))
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><pre>{recipe}</pre>"

    def _person(self, lang: str) -> list[str]:
        if self.recipe.person is None:
            return []
        whose = "starter.household" if names_household(self.recipe.person) else "starter.person"
        return [f"# {Message(whose).say(lang)}", f"person: {_flow(self.recipe.person)}"]

    def _attribute(self, one: ColumnGuess, lang: str) -> str:
        content = one.attribute.model_dump(mode="json", exclude_defaults=True)
        content = {"role": one.role.value, **content}
        return f"  {_key(one.name)}: {_flow(content)}  # {_one_line(one.comment.say(lang))}"


@at_the_door
def init(source: Any, *, reading: Mapping[str, Any] | None = None) -> Starter:
    """Propose a starter recipe for a pandas, polars or pyarrow frame, or a file (`reading` says how it is read).

    Every column is judged by its name, its values and whom it singles out, alone and with others. Run as it is, the recipe releases
    no record that the columns of the role `other` single out; every role is still a guess that somebody has to read.

    >>> starter = init({"age": [31, 38, 35, 52, 57, 59] * 10, "disease": ["flu", "cold", "flu"] * 20})
    >>> starter.columns["age"].role, starter.recipe.steps[0].step
    (<Role.QUASI: 'quasi'>, 'k_anonymize')
    """
    if names_a_place(source):
        source = read(source, **(reading or {}))
    data = source.data if isinstance(source, Source) else Frame.read(source).data
    name = Path(source.path).name if isinstance(source, Source) else None
    return _starter(data, name)


def _starter(data: Dataset, name: str | None) -> Starter:
    roles = guess_roles(data)
    people = data.rows if roles.people is None or roles.person is None else roles.people.people
    steps = starter_steps(roles, data, people)
    attributes = {one.name: one.attribute for one in roles.columns.values()}
    recipe = Recipe(attributes=attributes, steps=[step.content for step in steps], person=roles.person)
    return Starter(recipe, roles, tuple(steps), data.rows, name)


def _told(one: ColumnGuess) -> tuple[Message, Message, Message]:
    """The role of a column, its figures, and why."""
    role = Message(f"section.columns.roles.{one.role.value}")
    return role, one.figures, Message("starter.table.why", reasons=list(one.reasons))


def _flow(value: object) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, sort_keys=False, width=10_000)
    if not is_printable_yaml(text):
        text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10_000)
    return text.removesuffix("\n").removesuffix("\n...")


def _key(name: str) -> str:
    """A name before a colon: one line, whatever is in it."""
    return _flow(name) if len(name.splitlines()) == 1 else json.dumps(name)


def _one_line(text: str) -> str:
    return " ".join(text.split())
