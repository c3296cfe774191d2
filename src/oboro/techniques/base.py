"""Base class and registry of techniques: parameters as data, a plan in words, one act on an encoded table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
from pydantic import ValidationError

from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.frames import Frame
from oboro.data.parameters import Parameters, at_the_door
from oboro.data.units import person_of_rows
from oboro.errors import UsageError
from oboro.schema import Attribute, Opinion, PrivacySpent, Schema, TableReference, Traits
from oboro.text import Message, Words, say
from oboro.text.language import silent
from oboro.verifier.promises import Promise, verify_promises

__all__ = ["TECHNIQUES", "Outcome", "SecretExample", "Technique", "Work", "register"]


T = TypeVar("T")
TOLD = sorted(Traits.__dataclass_fields__.keys() - {"spends"})  # what a class says of itself


def _no_files(path: str | Path) -> Dataset:
    raise UsageError(Message("error_technique.no_files", path=path))


@dataclass(frozen=True)
class Work:
    """Input of a step: the current table, the roles of its columns, and its own stream of random numbers."""

    data: Dataset
    schema: Schema
    rng: np.random.Generator
    person: Column | None = None
    """Whose each row is, where it is known: then people are counted, not rows. The column itself may be gone already."""
    read: Callable[[str | Path], Dataset] = _no_files
    """Reads another table that a step names (a population); a recipe gives it."""
    say: Callable[[Words], None] = silent
    """Told how far the step is, now and then."""


@dataclass(frozen=True)
class Outcome:
    """What a step leaves: the table, the schema, facts for the report (counts and parameters), what it promises, and what
    its reader should be warned of."""

    data: Dataset
    schema: Schema
    facts: Mapping[str, Any] = field(default_factory=dict)
    promises: tuple[Promise, ...] = ()
    warnings: tuple[Message, ...] = ()


@dataclass(frozen=True)
class SecretExample:
    """Example parameters that a report for the public must keep to itself.

    They are for a table with the columns `name` and `canarycolumn` (identifiers), `age` and `job` (quasi-identifiers), `illness`
    (sensitive), `income`, `height` and `visit` (a date; other).
    """

    parameters: Mapping[str, Any]
    hidden: tuple[str, ...] = ()
    """Texts of the parameters, in every form in which a report could write them, that the public must not see."""
    dropped: tuple[str, ...] = ("name", "canarycolumn")
    """Columns that another step drops before."""


class Technique(Parameters):
    """One anonymization technique. Parameters are declared once, checked at the door and never changed.

    Subclasses give `step` (their name in a recipe), `run`, `plan` and `examples`, say by class variables what they are, and in
    their docstring what is *Given*, what the technique *Promises* and what it is *Checked by*.
    """

    step: ClassVar[str]
    uses_hierarchies: ClassVar[bool] = False
    moves_records: ClassVar[bool] = False  # True: afterwards the n-th record may be another person's
    changes_values: ClassVar[bool] = True  # False: only order or whole columns change, so a column keeps its values
    examples: ClassVar[Sequence[Mapping[str, Any]]] = ()  # parameters for the common checks
    secret_example: ClassVar[SecretExample | None] = None  # the same for the check of reports for the public
    not_in_stream: ClassVar[Message | None] = Message(
        "technique.stream.whole_table"
    )  # why so; None: a stream can do it

    by_value: ClassVar[bool] = False
    """Whether rows of equal values become equal rows, the same ones in whatever order the rows came."""

    promises: ClassVar[bool] = False  # True: its outcome promises something that is counted on the released table

    # What a report asks; `oboro.schema.Traits` says what each means.
    iso: ClassVar[Words] = Message("technique.default.iso")
    random: ClassVar[bool] = False
    coarser: ClassVar[bool] = False
    reorders: ClassVar[bool] = False
    by_construction: ClassVar[Words | None] = None
    bounds_linkage: ClassVar[bool] = False
    opinion: ClassVar[Opinion | None] = None

    @property
    def traits(self) -> Traits:
        """What a report asks of a step; a technique whose traits depend on its parameters says them here."""
        return Traits(**dict(zip(TOLD, attrgetter(*TOLD)(self), strict=True)), spends=self.spends())

    @property
    def promising(self) -> bool:
        """Whether it promises anything of what is released: counted on it, or by construction."""
        return self.promises or bool(self.own_promises()) or self.traits.by_construction is not None

    @property
    def rests_on_chance(self) -> bool:
        """Whether whoever repeats its random choices can undo something of it; here: where values are random."""
        return self.traits.random

    @property
    def moved_together(self) -> tuple[str, ...]:
        """Columns whose values chance moved among the records in one piece: beside one another they stand as before."""
        return ()

    def left_in_place(self, facts: Mapping[str, Any], rows: int) -> tuple[str, ...]:
        """Columns in which chance left half of the values or more where they were."""
        return ()

    @property
    def repeatable(self) -> bool:
        """Whether a seed repeats it; differential privacy draws from the system, whatever the seed is."""
        return not self.spends()

    @property
    def record_by_record(self) -> bool:
        """Whether each record becomes what it becomes without a look at any other, so that one more changes nothing else."""
        return False

    def spends(self) -> tuple[PrivacySpent, ...]:
        """Amount of a budget of differential privacy that the step spends."""
        return ()

    def require_before(self, steps: Sequence[Technique]) -> None:
        """Raise a `UsageError` where the steps before this one make its promise untrue."""

    @property
    def removes_identity(self) -> tuple[str, ...]:
        """The columns that stop being identifiers by this step (dropped or pseudonymized)."""
        return ()

    def cannot_count_people(self) -> Message | None:
        """Why the step cannot keep its promise for people, where one person may have several rows; None: it can, or promises
        nothing."""
        return None

    def own_promises(self) -> tuple[Promise, ...]:
        """What it promises of columns that it names itself, known before any table is seen."""
        return ()

    def promises_known(self, schema: Schema) -> tuple[Promise, ...]:
        """What it promises of columns that the schema tells, known before any table is seen and checked on a release alone."""
        return self.own_promises()

    def promised_over(self, schema: Schema) -> list[Sequence[str]]:
        """The columns that each of its promises is over, known before any table is seen. Here: those that it names itself."""
        return [promise.quasi for promise in self.own_promises()]

    @property
    def earlier_releases(self) -> tuple[TableReference, ...]:
        """The earlier releases with which the step keeps its guarantee."""
        return ()

    @property
    def populations(self) -> tuple[TableReference, ...]:
        """The populations with which the step compares the table."""
        return ()

    def files(self) -> Sequence[str]:
        """The files that the step reads beside the table, as the recipe names them. None of them may be written over."""
        return ()

    def reads(self, names: Sequence[str]) -> Collection[str]:
        """Which columns of a table the step looks at or changes, beside the quasi-identifiers and the sensitive ones.

        The others may stay in their file while it runs (`UnreadColumn`). Here: every column whose name stands in the parameters.
        A step that looks at columns that it does not name, or that changes the order of the records, says all of them.
        """
        said = set(_texts(self.model_dump(mode="json")))
        return said.intersection(names)

    def run(self, work: Work) -> Outcome:
        """Do it."""
        raise NotImplementedError

    def plan(self, schema: Schema) -> Words:
        """What will be done, before any row is touched: a message, or plain text that is the same in every language."""
        raise NotImplementedError

    def explain(self, schema: Schema, lang: str = "en") -> str:
        """Say in one or two plain sentences what will be done, in one language."""
        return str(say(self.plan(schema), lang))

    @at_the_door
    def apply(
        self,
        frame: T,
        *,
        attributes: Mapping[str, Any] | None = None,
        seed: int | None = None,
        person: str | None = None,
    ) -> T:
        """Apply this one technique to a pandas, polars or pyarrow frame; the same kind comes back, the frame is not changed.

        `attributes` maps columns to roles and hierarchies as in a recipe; columns that are not named count as `other`. `person` is
        the column that says whose a row is: then people are counted. What the technique promises is verified on the result before
        it is returned, as in a recipe. Records stay where they are, unless the technique itself moves them: only a recipe releases
        a table in a random order. Only a recipe takes the last look, at columns that no promise covers: one technique does
        not know what the others will do.
        """
        source = Frame.read(frame)
        source.require_whole()
        self.require_people(person)
        given = {name: _attribute(name, value) for name, value in (attributes or {}).items()}
        schema = Schema({name: given.get(name, Attribute()) for name in source.data}, person=person)
        whose = person_of_rows(source.data, person, fold=schema.fold(person))
        schema.require(source.data, given, "attributes")
        outcome = self.run(Work(source.data, schema, np.random.default_rng(seed), whose))
        released = replace(source, data=outcome.data)
        written = released.write()
        left = person_of_rows(source.data, person, outcome.data.origin, schema.fold(person))
        read = replace(Frame.read(written).data, origin=outcome.data.origin)
        verify_promises(read, outcome.promises, [self.step], left)
        return written  # type: ignore[no-any-return]

    def require_people(self, person: str | None) -> None:
        """Raise a `UsageError` where people are to be counted and the step cannot."""
        if person is not None and (why := self.cannot_count_people()) is not None:
            raise UsageError(Message("error_technique.no_people", step=self.step, person=person, why=why))


def _attribute(name: str, given: Any) -> Attribute:
    try:
        return Attribute.model_validate(given)
    except ValidationError as error:
        from oboro.text.pydantic import complaints

        said = complaints(error, Attribute, f"attributes.{name}", given)
        raise UsageError(Message("text.remarks", said=said)) from None


def _texts(value: Any) -> Iterator[str]:
    """Every text in some parameters, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield key
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)


# Registry -------------------------------------------------------------------------------------------------------------


SUPPORT = frozenset(
    {
        *("base", "checks", "columns", "conditions", "kernels", "level_limits"),
        *("model_checks", "population", "requirements", "series"),
    }
)
"""Modules of this folder that techniques share. Every other module is one technique, under the name of its step."""


class Techniques(MutableMapping[str, type[Technique]]):
    """Techniques by the names of their steps: the modules of this folder, and those that `register` adds.

    The names come from the folder, without loading a module. A module is loaded when its technique is asked for: a recipe needs
    few of them.
    """

    def __init__(self) -> None:
        self.registered: dict[str, type[Technique]] = {}

    @cached_property
    def built_in(self) -> tuple[str, ...]:
        """The steps of this package, in the order of their names."""
        modules = {path.stem for path in Path(__file__).parent.glob("*.py")}
        return tuple(sorted(modules - SUPPORT - {"__init__"}))

    def __getitem__(self, step: str) -> type[Technique]:
        if step not in self.registered:
            if step not in self.built_in:
                raise KeyError(step)
            module = import_module(f"oboro.techniques.{step}")
            self.registered[step] = next(one for one in vars(module).values() if _is_technique(one, step))
        return self.registered[step]

    def __setitem__(self, step: str, technique: type[Technique]) -> None:
        self.registered[step] = technique

    def __delitem__(self, step: str) -> None:
        del self.registered[step]

    def __contains__(self, step: object) -> bool:
        return step in self.registered or step in self.built_in

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self.built_in, *self.registered)))

    def __len__(self) -> int:
        return len({*self.built_in, *self.registered})


def _is_technique(one: object, step: str) -> bool:
    return isinstance(one, type) and issubclass(one, Technique) and getattr(one, "step", None) == step


TECHNIQUES = Techniques()

TechniqueClass = TypeVar("TechniqueClass", bound=type[Technique])


def register(technique: TechniqueClass) -> TechniqueClass:
    """Make a technique of your own known to recipes, by the name in its `step`; also as a decorator.

    CONTRIBUTING.md shows one from beginning to end.
    """
    if TECHNIQUES.get(technique.step, technique) is not technique:
        raise UsageError(Message("error_technique.same_name", step=technique.step))
    TECHNIQUES[technique.step] = technique
    return technique
