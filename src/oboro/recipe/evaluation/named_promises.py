"""What somebody says a release keeps, checked on it: models that are named, or those that a recipe's steps demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from oboro.errors import InputError, OboroError
from oboro.io.files import read
from oboro.table.dataset import Column, Dataset
from oboro.table.spelling.folding import folded
from oboro.techniques.base import Technique, Work
from oboro.techniques.demands.models_asked import Demand
from oboro.techniques.demands.population_codes import PopulationCodes
from oboro.techniques.drop_records import DropRecords
from oboro.techniques.k_anonymize import KAnonymize
from oboro.techniques.local_recode import LocalRecode
from oboro.text import Message
from oboro.verifier.models.class_models import KAnonymity, Model
from oboro.verifier.promise_check import Promise, judge_together
from oboro.verifier.strict_reading import fewest_people
from oboro.verifier.table_check import verify
from oboro.verifier.verdict import Verdict, Verification

if TYPE_CHECKING:
    from oboro.recipe.recipe import Recipe
    from oboro.table.schema import Schema

__all__ = ["hidden_columns", "named_promises", "promised_by_recipe"]


def named_promises(
    asked: Mapping[str, Any],
    plan: Recipe | None,
    schema: Schema,
    original: Dataset,
    released: Dataset,
    person: Column | None,
) -> Verification | None:
    """The verdicts on what was `asked` (k, l, kind, c, t, alpha), else on what the steps of a recipe promise; None: nothing was."""
    quasi = [name for name in schema.quasi if name in released]
    if any(asked.get(name) is not None for name in ("k", "l", "t", "alpha")):
        data, whose = (released, None) if person is None else (released.with_columns({PERSON: person}), PERSON)
        secret = [name for name in schema.sensitive if name in released]
        needed = secret if any(asked.get(name) is not None for name in ("l", "t", "alpha")) else None
        return verify(data, quasi=quasi, sensitive=needed, person=whose, **asked)
    promises = [] if plan is None else list(_of_steps(plan, schema, original, person))
    several = len({frozenset(over) for one in promises if (over := one.over(released))}) > 1
    kept = [one for one in promises if one.over(released)]
    found = [one.checked(released, person, several) for one in kept]
    verdicts = [verdict for one in found if not isinstance(one, Message) for verdict in one]
    unchecked = tuple(one for one in found if isinstance(one, Message))
    if not found or plan is None:
        return None
    sure = [one.promise() for one, told in zip(kept, found, strict=True) if several and not isinstance(told, Message)]
    sure = [one for one in sure if not set(one.quasi) <= set(schema.sensitive)]  # no attacker knows the secrets
    whole = replace(
        Verification.of(verdicts, quasi, judge_together(released, sure, person, strict=True)), unchecked=unchecked
    )
    exempted = [one.promise() for one, told in zip(kept, found, strict=True) if one.exempt and isinstance(told, tuple)]
    said = [word for one in exempted[:1] for word in one.verify(released, person).warnings]
    whole = replace(whole, warnings=(*said, *whole.warnings))
    return replace(whole, holds=whole.holds and not whole.apart) if plan.together else whole


def promised_by_recipe(plan: Recipe, released: Dataset, person: str | None = None) -> Verification | None:
    """What the steps of a recipe promise, checked on the release alone as its strictest reader takes it; None: nothing is promised.

    `person`: the released column that says whose a row is, such as a pseudonym; that of the recipe, where it was released.
    """
    name = person or (plan.person if plan.person in released else None)
    whose = None if name is None else fewest_people(folded(released[name], plan.schema_given.fold(name)))
    found = named_promises({}, plan, plan.schema_given, released, released, whose)
    if found is None or plan.person is None or name is not None:
        return found
    return replace(found, warnings=(*found.warnings, Message("verdict.rows_not_people", column=plan.person)))


def hidden_columns(plan: Recipe | None) -> list[str]:
    """The columns that a recipe makes random, or pseudonyms: who knows the original value does not know these."""
    found: list[str] = []
    for step in plan.steps if plan is not None else ():
        if step.traits.random or step.traits.opinion == "pseudonymisation":
            found += [getattr(step, "attribute", None) or "", *(getattr(step, "attributes", None) or ())]
    return [name for name in found if name]


PERSON = "\0person"  # no column's name


@dataclass(frozen=True)
class _Asked:
    """Models that a step demands over some columns, and how they are made ready: a file may be needed that is not there."""

    step: str
    quasi: tuple[str, ...]
    models: Callable[[], Sequence[Model]]
    what: Sequence[Message] = ()  # what is demanded, where it may be that it cannot be checked
    exempt: bool = False  # whether the suppressed are asked for nothing

    def over(self, released: Dataset) -> list[str]:
        return [name for name in self.quasi if name in released]

    def promise(self) -> Promise:
        return Promise(self.step, self.quasi, tuple(self.models()), self.exempt)

    def checked(self, released: Dataset, person: Column | None, several: bool) -> tuple[Verdict, ...] | Message:
        """The verdicts, or why there are none."""
        try:
            found = self.promise().verify(released, person, strict=True).verdicts
        except OboroError as error:
            if not self.what:
                raise
            return Message("verdict.not_checked", step=self.step, what=list(self.what), why=error.words)
        return tuple(one.naming(self.over(released)) for one in found) if several else found


def _of_steps(plan: Recipe, schema: Schema, original: Dataset, person: Column | None) -> Iterator[_Asked]:
    """What the steps promise that group records."""
    for place, step in enumerate(plan.steps):
        if isinstance(step, KAnonymize | LocalRecode):
            rows = original.rows if person is None else int(np.count_nonzero(person.counts))
            yield from _of_classes(step, schema, _Before(original, plan.steps[:place], rows))
        for one in step.promises_known(schema):
            yield _Asked(one.step, one.quasi, partial(tuple, one.models))


@dataclass(frozen=True, eq=False)
class _Before:
    """The original, as far as it is known how it looked to a step."""

    original: Dataset
    earlier: Sequence[Technique]
    people: int
    """How many records, or people, it has."""

    def unchanged(self, names: Sequence[str]) -> Dataset:
        """The original, unless an earlier step changed values of these columns: then nobody here has what the step saw."""
        changing = [one for one in self.earlier if one.changes_values and not isinstance(one, DropRecords)]
        changed = {name for step in changing for name in step.reads(names)}
        if changed:
            raise InputError(Message("error_recipe.changed_before", columns=sorted(changed)))
        return self.original


def _of_classes(step: KAnonymize | LocalRecode, schema: Schema, before: _Before) -> Iterator[_Asked]:
    """k and what anybody can check on the release alone; then what needs a hierarchy of secrets, or a population."""
    names, demands = tuple(schema.chosen(step.quasi, step.step)), step.demands(schema)
    asked = partial(_Asked, exempt=isinstance(step, KAnonymize) and step.suppressed == "exempt")
    plain: list[Model] = [
        demand.model(name).folding(schema.fold(name)) for name, demand in demands if not demand.hierarchical
    ]
    if isinstance(step, KAnonymize):
        plain += step.size_models(before.people)
    yield asked(step.step, names, lambda: [KAnonymity(k=step.k), *plain])
    for name, demand in demands:
        if demand.hierarchical:
            yield asked(step.step, names, partial(_by_tree, demand, name, schema, before), [demand.plan(name)])
    if isinstance(step, KAnonymize) and step.profitability is not None:
        yield asked(step.step, names, partial(_of_worth, step, schema, before, names), step.worth_told())
    if isinstance(step, KAnonymize) and (step.k_map is not None or step.presence is not None):
        yield asked(step.step, names, partial(_of_population, step, schema, before, names), step.population_told())


def _by_tree(demand: Demand, name: str, schema: Schema, before: _Before) -> list[Model]:
    """A demand with the hierarchy of its sensitive column."""
    tree = schema.hierarchy(name, before.unchanged([name])[name])
    return [demand.model(name, tree).folding(schema.fold(name))]


def _of_worth(step: KAnonymize, schema: Schema, before: _Before, names: Sequence[str]) -> list[Model]:
    """What the release is worth, with the hierarchies of its labels."""
    work = Work(before.unchanged(names), schema, np.random.default_rng(0), read=lambda path: read(path).data)
    people = None if step.population is None else PopulationCodes.read(step.population, work, list(names))
    columns = {name: work.data[name] for name in names} if people is None else people.columns
    return step.worth_limits({name: schema.hierarchy(name, columns[name]) for name in names}, people)


def _of_population(step: KAnonymize, schema: Schema, before: _Before, names: Sequence[str]) -> list[Model]:
    """k-map and δ-presence, with the population that the recipe names."""
    work = Work(before.unchanged(names), schema, np.random.default_rng(0), read=lambda path: read(path).data)
    people = PopulationCodes.read(step.population, work, list(names))  # type: ignore[arg-type]
    return step.population_limits(people.table, {name: schema.hierarchy(name, people.columns[name]) for name in names})
