"""Recipe: the roles of the columns, and the steps that anonymize the table, in order.

A recipe is a YAML or JSON file, or the same as Python objects. A privacy officer can sign it, and it can be applied
again to the next table. `explain` describes each step in words; `run` applies the recipe and verifies every guarantee on
the table to be released. It returns no release if one guarantee is violated.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from operator import attrgetter
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    InstanceOf,
    PlainSerializer,
    PrivateAttr,
    Tag,
    model_validator,
)
from pydantic import ValidationError as PydanticError

from oboro._lazy import loaded_later
from oboro.data.parameters import at_the_door
from oboro.disclosure.column_names import names_household, names_one_person
from oboro.errors import RecipeError
from oboro.recipe.randomness import Order, plan_of_order, plan_of_seed
from oboro.schema import Attribute, Role, Schema, TableReference
from oboro.system.files import beside, is_variable_name
from oboro.techniques import TECHNIQUES, Technique
from oboro.text import Message
from oboro.text.language import Progress
from oboro.text.message import UNSAID

if TYPE_CHECKING:
    from oboro.recipe.release import Release
    from oboro.recipe.stream import RecipeStream
    from oboro.report.report import Report

__all__ = ["Accept", "OneOrMore", "PrivacyBudget", "Recipe"]


# Optional settings ----------------------------------------------------------------------------------------------------
# One acceptance or a list of them, and a privacy budget.


if TYPE_CHECKING:
    from oboro.disclosure.accept import Accept
    from oboro.privacy.differential import PrivacyBudget
else:
    (Accept,) = loaded_later("oboro.disclosure.accept", "Accept")
    (PrivacyBudget,) = loaded_later("oboro.privacy.differential", "PrivacyBudget")

ONE, SEVERAL = f"{UNSAID}one", f"{UNSAID}several"


def _how_many(value: object) -> str:
    return SEVERAL if isinstance(value, list | tuple) else ONE


OneOrMore = Annotated[
    Annotated[Accept, Tag(ONE)] | Annotated[list[Accept], Tag(SEVERAL)],
    Discriminator(_how_many),
]
"""What is wrong with one acceptance is said of one, and of a list of the list."""


# Recipe ---------------------------------------------------------------------------------------------------------------


def _step(value: Any) -> Technique:
    """`{k_anonymize: {k: 5}}`, `shuffle` or a technique object → a technique."""
    if isinstance(value, Technique):
        return value
    if isinstance(value, str):
        value = {value: {}}
    if not isinstance(value, Mapping) or len(value) != 1:
        raise ValueError(Message("error_recipe.step_shape"))
    ((name, parameters),) = value.items()
    if name not in TECHNIQUES:
        near = get_close_matches(str(name), TECHNIQUES, n=1)
        id = "error_recipe.near_step" if near else "error_recipe.no_step"
        raise ValueError(Message(id, step=name, steps=list(TECHNIQUES), **({"near": near[0]} if near else {})))
    try:
        return TECHNIQUES[name].model_validate(parameters or {})
    except PydanticError as error:
        from oboro.text.pydantic import complaints

        raise ValueError(
            Message("text.remarks", said=complaints(error, TECHNIQUES[name], str(name), parameters or {}))
        ) from None


def _plain(technique: Technique) -> dict[str, Any]:
    return {technique.step: technique.model_dump(mode="json", exclude_defaults=True)}


Step = Annotated[InstanceOf[Technique], BeforeValidator(_step), PlainSerializer(_plain)]
Mode = Literal["swap", "count", "paper", "sequential", "fixed", "window"]
Index = Literal["auto", "exhaustive", "fdh", "fdhq"]


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

    person: str | None = Field(
        default=None,
        min_length=1,
        description="the column that says whose a row is; k and every other promise then count people, not rows",
    )
    attributes: dict[str, Attribute] = Field(description="what each column of the table is")
    steps: list[Step] = Field(description="what is done to the table, in this order")
    seed: int | None = Field(
        default=None,
        ge=0,
        description="makes every random choice repeatable, for tests: whoever has or guesses it can undo them; see seed_env",
    )
    seed_env: str | None = Field(
        default=None,
        description="the environment variable that holds a secret from which every random choice is drawn, repeatably",
    )
    seed_file: str | None = Field(default=None, min_length=1, description="the file that holds such a secret")
    unnamed: Literal["error", "drop", "other"] = Field(
        default="error", description="what happens to columns that are not named here"
    )
    order: Order | None = Field(
        default=None,
        description="`shuffled`: rows come out in a random order, as they do without this where a step promises something; "
        "`kept`: in the order in which they came, which may tell whose they are",
    )
    accept: OneOrMore = Field(
        default_factory=list,
        description="columns that no promise covers and by which people may be unique in the release, and why",
    )
    together: bool = Field(
        default=False,
        description="whether every promise must also hold over the columns of all promises together; else nothing is released",
    )
    earlier: list[TableReference] = Field(
        default_factory=list,
        description="releases of the same people that are out already, oldest first; where the new one narrows somebody below"
        " k or l together with them, nothing is written",
    )
    budget: PrivacyBudget | None = Field(
        default=None,
        description="the most epsilon and delta of differential privacy that all steps together may take, or with a ledger all"
        " releases about the same people; else nothing is done",
    )

    _folder: Path = PrivateAttr(Path("."))
    _path: Path | None = PrivateAttr(None)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        """The seed comes from one place, and a secret does not stand in the recipe."""
        seeds = {"seed": self.seed, "seed_env": self.seed_env, "seed_file": self.seed_file}
        if list(seeds.values()).count(None) < len(seeds) - 1:
            given = [name for name, seed in seeds.items() if seed is not None]
            raise ValueError(Message("error_recipe.seeds", given=given))
        if self.seed_env is not None and not is_variable_name(self.seed_env):
            raise ValueError(Message("error_recipe.seed_env_name"))
        if (
            self.budget is not None
            and (why := self.budget.exceeded(one for step in self.steps for one in step.spends())) is not None
        ):
            raise ValueError(why)
        said = self.attributes.get(self.person) if self.person is not None else None
        if said is not None and said.role is not Role.IDENTIFIER:
            raise ValueError(Message("error_recipe.person_role", column=self.person, role=said.role.value))
        return self

    def __init__(self, **data: Any) -> None:
        try:
            super().__init__(**data)
        except PydanticError as error:
            from oboro.text.pydantic import complaints

            found = [Message("error_recipe.line", complaint=one) for one in complaints(error, type(self), given=data)]
            raise RecipeError(Message("error_recipe.wrong", lines=found)) from None

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Self:
        """A recipe from plain data, or from itself."""
        if isinstance(obj, cls):
            return obj
        if not isinstance(obj, Mapping):
            raise RecipeError(Message("error_recipe.not_a_recipe", name="recipe", kind=type(obj).__name__))
        return cls(**{str(key): value for key, value in obj.items()})

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a recipe from a file; paths of hierarchy files are relative to its folder."""
        if not isinstance(path, str | PathLike):
            raise RecipeError(Message("error_recipe.not_a_path", kind=type(path).__name__))
        from oboro.recipe.text import text_of

        path = Path(path)
        recipe = cls.parse(text_of(path), folder=path.parent, name=str(path))
        recipe._path = path
        return recipe

    @classmethod
    def parse(cls, text: str, *, folder: Path = Path("."), name: str = "recipe") -> Self:
        """Read a recipe from YAML text (JSON is YAML too)."""
        from oboro.recipe.text import content_of

        content = content_of(text, name)
        try:
            recipe = cls(**content)
        except RecipeError as error:
            raise RecipeError(Message("error_recipe.in_recipe", name=name, problem=error.words)) from None
        recipe._folder = folder
        return recipe

    def to_yaml(self) -> str:
        """Return the recipe as YAML; `parse` gives the same recipe back."""
        from oboro.recipe.text import yaml_text

        content = self.model_dump(mode="json", exclude_defaults=True)
        trees = (one.hierarchy for one in self.attributes.values())
        rows = sum(len(tree.rows) for tree in trees if tree is not None and tree.rows is not None)
        return yaml_text(content, rows)

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """Return the JSON Schema of recipes, for editors."""
        from oboro.recipe.text import json_schema

        return json_schema()

    @property
    def accepted(self) -> list[Accept]:
        """Accepted findings of people who are unique by columns that no guarantee covers."""
        return [one for one in self.acceptances if one.unique_on]

    @property
    def series_accepted(self) -> str:
        """Reason why disclosure by earlier releases together with this one is accepted; empty where it is not."""
        return next((one.because for one in self.acceptances if one.series), "")

    def because(self, accepts: Literal["rows_of", "identifiers"], column: str) -> str:
        """Return the reason for accepting that rows of an identifier are counted, or that a column names people; else empty."""
        return next((one.because for one in self.acceptances if column in getattr(one, accepts)), "")

    @property
    def acceptances(self) -> list[Accept]:
        """All accepted findings."""
        return self.accept if isinstance(self.accept, list) else [self.accept]

    @property
    def path(self) -> Path | None:
        """The file that it was loaded from, if it was."""
        return self._path

    @property
    def folder(self) -> Path:
        """Folder of the files that it names."""
        return self._folder

    @property
    def files(self) -> list[Path]:
        """The files that it names: hierarchies, populations, keys. None of them may be written over."""
        from oboro.recipe.evidence import hierarchy_files

        named = [one.name for one in self.earlier if one.name is not None]
        for step in self.steps:
            named += step.files()
        read = [one for name in named if isinstance(one := beside(self._folder, name), Path)]
        ledger = None if self.budget is None else self.budget.ledger
        read += [self._folder / one for one in (self.seed_file, ledger) if one is not None]
        return [*hierarchy_files(self.schema_given).values(), *read]

    @property
    def schema_given(self) -> Schema:
        """Schema of the declared columns."""
        return Schema(self.columns, self._folder, person=self.person)

    @property
    def columns(self) -> dict[str, Attribute]:
        """Role and hierarchy of each column; the person is an identifier, whether among the attributes or not."""
        named = self.person is None or self.person in self.attributes
        return self.attributes if named else {self.person or "": Attribute(role=Role.IDENTIFIER), **self.attributes}

    @at_the_door
    def explain(self, lang: str = "en") -> str:
        """Describe each step in words, before any row is touched."""
        return self.plan().say(lang)

    def _repr_html_(self) -> str:
        from oboro.recipe.release import recipe_in_notebook

        return recipe_in_notebook(self)

    def plan(self) -> Message:
        """Return the description of `explain` as a message: the columns, the steps, and the guarantees to verify."""
        schema = self.schema_given
        said = [Message("recipe.columns")]
        named = [(role.value, ", ".join(schema.named(role))) for role in Role]
        said += [Message("recipe.role", role=role, columns=names) for role, names in named if names]
        said.append(Message("recipe.unnamed", unnamed=self.unnamed))
        whose = "recipe.household" if names_household(self.person or "") else "recipe.person"
        said += [] if self.person is None else [Message(whose, column=self.person)]
        folds = {name: list(one.fold) for name, one in self.attributes.items() if one.fold}
        said += [Message("recipe.fold", column=name, folds=fold) for name, fold in folds.items()]
        said.append(Message("recipe.steps" if self.steps else "recipe.no_steps"))
        steps = enumerate(self.steps, 1)
        said += [Message("recipe.step", number=at, step=step.step, plan=step.plan(schema)) for at, step in steps]
        said.append(plan_of_order(self.order, self.steps, schema))
        said.append(Message("recipe.promises"))
        said += [Message("recipe.earlier", releases=len(self.earlier))] if self.earlier else []
        said += self._apart(schema)
        said += plan_of_seed(self)
        return Message("recipe.plan", said=said)

    def _apart(self, schema: Schema) -> list[Message]:
        """That promises over different columns say nothing of these together, where there are such promises."""
        over = {frozenset(one) for step in self.steps for one in step.promised_over(schema)}
        over = {one for one in over if not one <= set(schema.sensitive)}  # no attacker knows the secrets
        promised = frozenset[str]().union(*over)
        columns = [name for name in dict.fromkeys((*schema.attributes, *sorted(promised))) if name in promised]
        if len(over) < 2 or frozenset(columns) in over:
            return []
        return [Message("recipe.together" if self.together else "recipe.apart", columns=columns)]

    @at_the_door
    def run(
        self, source: Any, *, progress: Progress | None = None, reading: Mapping[str, Any] | None = None
    ) -> Release:
        """Apply the recipe to a pandas, polars or pyarrow frame, or to a file; the same kind comes back (a file: an Arrow table).

        Of a CSV or Parquet file only the columns that the recipe touches are held; the others are read again when the release
        is written or looked at; `reading` says how a file is to be read (`encoding`, `delimiter`, …). Raises a `PromiseError` and
        releases nothing where a promise does not hold on the result. Raises a `SingledOutError`, which is one, where somebody is
        unique by released columns that no promise covers, unless `accept` says that this is meant.
        """
        from oboro.recipe.run import run

        return run(self, source, progress=progress, reading=reading)

    @at_the_door
    def stream(
        self,
        *,
        mode: Mode = "swap",
        person: str | None = None,
        horizon: int | None = None,
        horizon_seconds: float | None = None,
        reach: int | None = None,
        background: bool | None = None,
        window: int | None = None,
        max_delay: float | None = None,
        categories: Sequence[str] | None = None,
        index: Index | None = None,
        group: Literal["grow", "paper"] | None = None,
        order: Literal["exchanged", "kept"] | None = None,
        restore: str | Path | None = None,
    ) -> RecipeStream:
        """The recipe as an anonymizer of records that come one by one: `push`, `push_many`, `flush`, `save`.

        `mode` and the other options are those of `oboro stream`. `restore` goes on from a file that `save` wrote. Raises a
        `RecipeError` where the recipe asks for what a stream cannot do, or would release an identifier.

        >>> recipe = Recipe(attributes={"sex": {"role": "quasi"}}, steps=[{"k_anonymize": {"k": 2}}])
        >>> anonymizer = recipe.stream()
        >>> anonymizer.push({"sex": "F"}), anonymizer.push({"sex": "F"})
        ([{'sex': '*'}], [{'sex': 'F'}])
        """
        from oboro.recipe.stream import RecipeStream, StreamOptions

        options = StreamOptions(
            mode=mode,
            person=person,
            horizon=horizon,
            horizon_seconds=horizon_seconds,
            reach=reach,
            background=background,
            window=window,
            max_delay=max_delay,
            categories=None if categories is None else list(categories),
            index=index,
            group=group,
            order=order,
        )
        return RecipeStream(self, options, restore)

    def reads(self, names: Sequence[str]) -> Collection[str]:
        """Return the columns that must be loaded to run the recipe; the others are released unchanged, or not at all."""
        held = {self.person or "", *self.schema_given.quasi, *self.schema_given.sensitive}
        for step in self.steps:
            held.update(step.reads(names))
        return held.intersection(names)

    def looks_at(self, names: Sequence[str]) -> Collection[str]:
        """Return the released columns among those that stay in the file, which the release check must read."""
        unseen = {*self.reads(names), *self.identities_removed}
        return [name for name in names if name not in unseen and (self.unnamed == "other" or name in self.attributes)]

    def checks(self, names: Sequence[str]) -> Collection[str]:
        """Return the columns that are neither read by a step nor released, and in which the check of people looks for persons.

        That is the identifiers, and columns whose names say that they number people. A table that can be read only once must
        bring them together with the other columns.
        """
        if self.person is not None or not any(step.promising for step in self.steps):
            return []
        seen, identifiers = {*self.reads(names), *self.looks_at(names)}, {*self.schema_given.named(Role.IDENTIFIER)}
        return [name for name in names if name not in seen and (name in identifiers or names_one_person(name))]

    @property
    def identities_removed(self) -> set[str]:
        """The columns that stop being identifiers by a step."""
        return set().union(*map(attrgetter("removes_identity"), self.steps))

    def evaluate(self, original: Any, released: Any, **options: Any) -> Report:
        """Attack a release by any tool and measure its risk and its loss, with the roles of this recipe.

        The same as `oboro.evaluate` with this recipe, with the same `options`.
        """
        from oboro.recipe.evaluate import evaluate

        return evaluate(original, released, self, **options)
