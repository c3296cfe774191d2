"""Common checks that any technique must pass. They find their subjects by themselves: every technique of a recipe.

A technique names example parameters in `examples`; `check` then tries it on an ordinary table and on awkward ones
(missing values, dates, several rows of one person, quasi-identifiers alone, one record, no record). A technique may
refuse a table with one of our own errors, but each check must have judged it on at least one table: a technique that
refuses everything fails. A failed check is an `AssertionError` with the name of the check and of the table.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from typing import Any

import numpy as np

from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.units import person_of_rows
from oboro.errors import OboroError
from oboro.schema import Attribute, Schema
from oboro.techniques.base import TECHNIQUES, Outcome, Technique, Work
from oboro.text import LANGUAGES, say

__all__ = ["CHECKS", "SCHEMA", "Attempt", "CheckTable", "check", "people", "subjects", "tables"]


ROLES: Mapping[str, Mapping[str, Any]] = {
    "name": {"role": "identifier"},
    "age": {"role": "quasi", "hierarchy": {"intervals": [10, 40]}},
    "zip": {"role": "quasi", "hierarchy": {"mask": "right"}},
    "sex": {"role": "quasi"},
    "disease": {"role": "sensitive"},
    "income": {"role": "other"},
    "visit": {"role": "other"},
}


def _schema(roles: Mapping[str, Mapping[str, Any]] = ROLES, person: str | None = None) -> Schema:
    return Schema({name: Attribute.model_validate(role) for name, role in roles.items()}, person=person)


SCHEMA = _schema()
SEEDS = 4  # of which two must differ, where a technique is random


@dataclass(frozen=True)
class CheckTable:
    """A table that techniques are tried on, and the roles of its columns."""

    data: Dataset
    schema: Schema = SCHEMA

    def person(self, origin: np.ndarray | None = None) -> Column | None:
        """The person of each row, where the schema names a column of them; of the rows in `origin`, in that order."""
        return person_of_rows(self.data, self.schema.person, origin, self.schema.fold(self.schema.person))


def subjects() -> Iterator[Technique]:
    """Every technique that a recipe knows, with each of its example parameters."""
    for step, technique in TECHNIQUES.items():
        assert technique.examples, f"{step}: name example parameters in {technique.__name__}.examples"
        yield from (technique.model_validate(parameters) for parameters in technique.examples)


def people(rows: int, zips: int) -> dict[str, list[Any]]:
    """Made-up people, always the same, who live in so many places."""
    rng = np.random.default_rng(7)
    return {
        "name": [f"person {number}" for number in range(rows)],
        "age": rng.integers(20, 70, rows).tolist(),
        "zip": [f"{number:03d}" for number in rng.integers(0, zips, rows)],
        "sex": rng.choice(["F", "M"], rows).tolist(),
        "disease": rng.choice(["flu", "cold", "ulcer"], rows).tolist(),
        "income": rng.lognormal(8, 1, rows).round(2).tolist(),
    }


def tables() -> dict[str, CheckTable]:
    """An ordinary table and awkward ones; most have the columns of `SCHEMA`."""
    plain = {**people(60, 40), "visit": _dates(60, date(2024, 1, 1), 90)}
    gaps = {
        name: [None if (row + shift) % 7 == 0 else value for row, value in enumerate(values)]
        for shift, (name, values) in enumerate(plain.items())
    }
    text = {name: [None if value is None else str(value) for value in values] for name, values in gaps.items()}
    born = {**plain, "birthdate": _dates(60, date(1950, 1, 1), 20_000)}
    birth = {"role": "quasi", "hierarchy": {"dates": ["day", "month", "year", "decade"]}}
    visits = {**plain, "name": [f"person {number // 3}" for number in range(60)]}
    known = {name: values for name, values in people(400, 40).items() if name in ("age", "sex")}
    whole = Dataset.of(plain)
    return {
        "plain": CheckTable(whole),
        "missing values": CheckTable(Dataset.of(gaps)),
        "text as read from CSV": CheckTable(Dataset.of(text)),
        "dates": CheckTable(Dataset.of(born), _schema({**ROLES, "birthdate": birth})),
        "several rows of one person": CheckTable(Dataset.of(visits), _schema(person="name")),
        "quasi-identifiers alone": CheckTable(Dataset.of(known), _schema({name: ROLES[name] for name in known})),
        "one record": CheckTable(whole.take(np.array([0]))),
        "no record": CheckTable(whole.take(np.array([], dtype=np.int64))),
    }


def _dates(rows: int, first: date, days: int) -> list[date]:
    rng = np.random.default_rng(8)
    return [first + timedelta(days=day) for day in rng.integers(0, days, rows).tolist()]


class Attempt:
    """One technique on one table."""

    def __init__(self, technique: Technique, table: CheckTable) -> None:
        self.technique, self.table = technique, table
        self.refused: OboroError | str | None = None
        """The reason for which the technique refuses the table."""

    def run(self, seed: int = 0) -> Outcome | None:
        """Run the technique; None where it refuses the table with one of our own errors."""
        schema = self.table.schema
        try:
            self.technique.require_people(schema.person)
            return self.technique.run(Work(self.table.data, schema, np.random.default_rng(seed), self.table.person()))
        except OboroError as error:
            self.refused = error
            return None

    @cached_property
    def outcome(self) -> Outcome | None:
        """The outcome of the first seed, for all checks that only look at it."""
        return self.run()


def check(technique: Technique, on: Mapping[str, CheckTable] | None = None) -> None:
    """Run every common check of one technique on all tables; each check must judge it on at least one of them."""
    attempts = {name: Attempt(technique, table) for name, table in (on or tables()).items()}
    for name, one in CHECKS.items():
        judged = False
        for table, attempt in attempts.items():
            try:
                judged |= one(attempt)
            except AssertionError as failure:
                where = f"{technique.step} {technique!r}: {name}, table {table!r}"
                raise AssertionError(f"{where}: {failure}") from failure
        if not judged:
            refused = "; ".join(f"{table}: {attempt.refused}" for table, attempt in attempts.items() if attempt.refused)
            raise AssertionError(
                f"{technique.step} {technique!r}: {name}: shown on no table (refused: {refused or 'none'})"
            )


def _explains_itself(attempt: Attempt) -> bool:
    technique, schema = attempt.technique, attempt.table.schema
    words = technique.explain(schema)
    assert len(words.split()) >= 4, f"explain gives only {words!r}"
    assert words == technique.explain(schema)
    for lang in LANGUAGES:
        assert technique.explain(schema, lang), f"explain gives nothing in {lang}"
        assert say(technique.traits.iso, lang)
    return True


def _parameters_are_data(attempt: Attempt) -> bool:
    technique = attempt.technique
    written = json.loads(json.dumps(technique.model_dump(mode="json", exclude_defaults=True)))
    assert type(technique).model_validate(written) == technique, "parameters do not survive being written down"
    return True


def _is_pure(attempt: Attempt) -> bool:
    data = attempt.table.data
    columns, before = dict(data.columns), _copied(data)
    locked = [column.codes for column in columns.values() if column.codes.flags.writeable]
    for codes in locked:
        codes.flags.writeable = False
    try:
        outcome = attempt.run()
    except ValueError as error:
        if "read-only" in str(error):
            raise AssertionError(f"the input table was changed: {error}") from error
        raise
    finally:
        for codes in locked:
            codes.flags.writeable = True
    assert dict(data.columns) == columns, "the input table has other columns now"
    assert _copied(data) == before, "the input table was changed"
    return outcome is not None


def _copied(data: Dataset) -> dict[str, list[Any]]:
    """Copy all values: an Arrow table may share its memory with the codes of a column."""
    return {name: column.decode().to_pylist() for name, column in data.columns.items()}


def _same_seed_same_table(attempt: Attempt) -> bool:
    if not attempt.technique.repeatable:
        return True
    first, second = attempt.run(3), attempt.run(3)
    assert (first is None) == (second is None), "one of two runs with one seed was refused"
    if first is None or second is None:
        return False
    assert first.data.to_arrow().equals(second.data.to_arrow()), "two runs with one seed differ"
    return True


def _another_seed_another_table(attempt: Attempt) -> bool:
    technique = attempt.technique
    random = technique.traits.random
    if not technique.repeatable or (not random and (technique.rests_on_chance or technique.traits.moves_records)):
        return True
    found = [one.data.to_arrow() for seed in range(SEEDS) if (one := attempt.run(seed)) is not None]
    differ = not all(one.equals(found[0]) for one in found)
    assert random or not differ, "seeds give different tables, but the class declares neither `random` nor chance"
    return differ if random else len(found) == SEEDS


def _no_record_is_invented(attempt: Attempt) -> bool:
    outcome, data = attempt.outcome, attempt.table.data
    if outcome is None:
        return False
    origin = outcome.data.origin_rows
    assert len(origin) == outcome.data.rows == len(set(origin.tolist()))
    assert set(origin.tolist()) <= set(range(data.rows))
    assert set(outcome.data) <= set(data), "a column appeared from nowhere"
    assert all(len(column) == outcome.data.rows for column in outcome.data.columns.values())
    return True


def _facts_can_be_written_down(attempt: Attempt) -> bool:
    if attempt.outcome is None:
        return False
    json.dumps(dict(attempt.outcome.facts))
    return True


def _nothing_unused_leaves(attempt: Attempt) -> bool:
    if attempt.outcome is None:
        return False
    for name, column in attempt.outcome.data.columns.items():
        assert (column.counts > 0).all(), f"{name}: the dictionary holds values that no row has"
        assert len(column.values.unique()) == len(column.values), f"{name}: a value stands twice in the dictionary"
    return True


def _keeps_its_promises(attempt: Attempt) -> bool:
    outcome = attempt.outcome
    if outcome is None:
        return False
    if attempt.technique.promises:
        assert outcome.promises, "the class declares promises, the outcome has none"
    if outcome.promises:
        assert attempt.technique.promising, "the outcome promises something, the class declares none"
    person = attempt.table.person(outcome.data.origin_rows)
    for promise in outcome.promises:
        verdict = promise.verify(Dataset.from_arrow(outcome.data.to_arrow()), person)
        assert verdict.holds, verdict.sentence()
    return True


def _declares_moved_records(attempt: Attempt) -> bool:
    outcome, traits = attempt.outcome, attempt.technique.traits
    assert traits.moves_records or not traits.reorders, "a technique that reorders records moves them"
    if outcome is None:
        return False
    stay = np.array_equal(outcome.data.origin_rows, np.arange(attempt.table.data.rows))
    assert stay or traits.moves_records, "records moved or left, but the class does not declare `moves_records`"
    return True


def _declares_changed_values(attempt: Attempt) -> bool:
    outcome, data = attempt.outcome, attempt.table.data
    if outcome is None:
        return False
    before = {name: set(data[name].decode().to_pylist()) for name in outcome.data}
    kept = all(set(outcome.data[name].decode().to_pylist()) <= before[name] for name in outcome.data)
    assert kept or attempt.technique.changes_values, "values changed, but the class declares `changes_values = False`"
    return True


def _declares_coarser_values(attempt: Attempt) -> bool:
    outcome, traits, data = attempt.outcome, attempt.technique.traits, attempt.table.data
    if outcome is None:
        return False
    if not traits.coarser:
        return True
    fewer = any(len(outcome.data[name].values) < len(data[name].values) for name in outcome.data)
    return fewer or outcome.data.rows < data.rows


def _declares_its_guarantee(attempt: Attempt) -> bool:
    outcome, traits = attempt.outcome, attempt.technique.traits
    assert traits.by_construction is None or traits.random or traits.spends, "a promise by construction rests on chance"
    assert not traits.bounds_linkage or traits.by_construction is not None, (
        "a bound on linkage is a promise by construction"
    )
    if outcome is None:
        return False
    assert not traits.bounds_linkage or "k" in outcome.facts, "a bound on linkage is a fact of the step, under `k`"
    return True


CHECKS: Mapping[str, Callable[[Attempt], bool]] = {
    "explains itself": _explains_itself,
    "its parameters are data": _parameters_are_data,
    "does not change its input": _is_pure,
    "the same seed gives the same table": _same_seed_same_table,
    "another seed gives another table where it is random": _another_seed_another_table,
    "invents no record": _no_record_is_invented,
    "its facts can be written down": _facts_can_be_written_down,
    "nothing unused leaves": _nothing_unused_leaves,
    "keeps its promises": _keeps_its_promises,
    "declares whether records move": _declares_moved_records,
    "declares whether values change": _declares_changed_values,
    "declares whether values become coarser": _declares_coarser_values,
    "declares its guarantee": _declares_its_guarantee,
}
"""By name; each returns True where it judged the technique, False where it could not, and raises where the technique fails."""
