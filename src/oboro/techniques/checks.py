"""Common checks that any technique must pass. They find their subjects by themselves: every technique of a recipe.

A technique names example parameters in `examples`; `check` then tries it on an ordinary table and on awkward ones (missing
values, a single row, no row at all). A failed check is an `AssertionError` that says which.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from oboro.errors import OboroError
from oboro.table.dataset import Dataset
from oboro.table.schema import Attribute, Schema
from oboro.techniques import TECHNIQUES
from oboro.techniques.base import Outcome, Technique, Work
from oboro.text import LANGUAGES, say

__all__ = ["CHECKS", "check", "people", "subjects", "tables"]

SCHEMA = Schema(
    {
        "name": Attribute.model_validate({"role": "identifier"}),
        "age": Attribute.model_validate({"role": "quasi", "hierarchy": {"intervals": [10, 40]}}),
        "zip": Attribute.model_validate({"role": "quasi", "hierarchy": {"mask": "right"}}),
        "sex": Attribute.model_validate({"role": "quasi"}),
        "disease": Attribute.model_validate({"role": "sensitive"}),
        "income": Attribute.model_validate({"role": "other"}),
    }
)


def subjects() -> Iterator[Technique]:
    """Every technique that a recipe knows, with each of its example parameters."""
    for step, technique in TECHNIQUES.items():
        assert technique.examples, f"{step}: name example parameters in {technique.__name__}.examples"
        yield from (technique.model_validate(parameters) for parameters in technique.examples)


def people(rows: int, zips: int) -> dict[str, list[Any]]:
    """Made-up people with the columns of `SCHEMA`, always the same, who live in so many places."""
    rng = np.random.default_rng(7)
    return {
        "name": [f"person {number}" for number in range(rows)],
        "age": rng.integers(20, 70, rows).tolist(),
        "zip": [f"{number:03d}" for number in rng.integers(0, zips, rows)],
        "sex": rng.choice(["F", "M"], rows).tolist(),
        "disease": rng.choice(["flu", "cold", "ulcer"], rows).tolist(),
        "income": rng.lognormal(8, 1, rows).round(2).tolist(),
    }


def tables() -> dict[str, Dataset]:
    """An ordinary table and awkward ones, all with the columns of `SCHEMA`."""
    plain = people(60, 40)
    gaps = {
        name: [None if (row + shift) % 7 == 0 else value for row, value in enumerate(values)]
        for shift, (name, values) in enumerate(plain.items())
    }
    text = {name: [None if value is None else str(value) for value in values] for name, values in gaps.items()}
    whole = Dataset.of(plain)
    return {
        "plain": whole,
        "missing values": Dataset.of(gaps),
        "text as read from CSV": Dataset.of(text),
        "one row": whole.take(np.array([0])),
        "no row": whole.take(np.array([], dtype=np.int64)),
    }


def check(technique: Technique, data: Dataset, schema: Schema = SCHEMA) -> None:
    """Run every common check of one technique on one table."""
    for name, one in CHECKS.items():
        try:
            one(technique, data, schema)
        except AssertionError as failure:
            raise AssertionError(f"{technique.step} {technique!r}: {name}: {failure}") from failure


def _run(technique: Technique, data: Dataset, schema: Schema, seed: int = 0) -> Outcome | None:
    """What the technique leaves, or None where it refuses the table with one of our own errors."""
    try:
        return technique.run(Work(data, schema, np.random.default_rng(seed)))
    except OboroError:
        return None


def _explains_itself(technique: Technique, data: Dataset, schema: Schema) -> None:
    words = technique.explain(schema)
    assert len(words.split()) >= 4, f"explain says only {words!r}"
    assert words == technique.explain(schema)
    for lang in LANGUAGES:
        assert technique.explain(schema, lang), f"explain says nothing in {lang}"
        assert say(technique.traits.iso, lang)


def _parameters_are_data(technique: Technique, data: Dataset, schema: Schema) -> None:
    again = type(technique).model_validate(
        json.loads(json.dumps(technique.model_dump(mode="json", exclude_defaults=True)))
    )
    assert again == technique, "parameters do not survive being written down"


def _is_pure(technique: Technique, data: Dataset, schema: Schema) -> None:
    before = data.to_arrow()
    for column in data.columns.values():
        column.codes.flags.writeable = False
    try:
        _run(technique, data, schema)
    finally:
        for column in data.columns.values():
            column.codes.flags.writeable = True
    assert data.to_arrow().equals(before), "the input table was changed"


def _same_seed_same_table(technique: Technique, data: Dataset, schema: Schema) -> None:
    if not technique.repeatable:
        return
    first, second = _run(technique, data, schema, 3), _run(technique, data, schema, 3)
    assert (first is None) == (second is None)
    if first and second:
        assert first.data.to_arrow().equals(second.data.to_arrow()), "two runs with one seed differ"


def _no_record_is_invented(technique: Technique, data: Dataset, schema: Schema) -> None:
    outcome = _run(technique, data, schema)
    if outcome:
        origin = outcome.data.origin_rows
        assert len(origin) == outcome.data.rows == len(set(origin.tolist()))
        assert set(origin.tolist()) <= set(range(data.rows))
        assert set(outcome.data) <= set(data), "a column appeared from nowhere"
        assert all(len(column) == outcome.data.rows for column in outcome.data.columns.values())


def _facts_can_be_written_down(technique: Technique, data: Dataset, schema: Schema) -> None:
    outcome = _run(technique, data, schema)
    if outcome:
        json.dumps(dict(outcome.facts))


def _nothing_unused_leaves(technique: Technique, data: Dataset, schema: Schema) -> None:
    outcome = _run(technique, data, schema)
    for name, column in outcome.data.columns.items() if outcome else ():
        assert (column.counts > 0).all(), f"{name}: the dictionary holds values that no row has"
        assert len(column.values.unique()) == len(column.values), f"{name}: a value stands twice in the dictionary"


def _keeps_its_promises(technique: Technique, data: Dataset, schema: Schema) -> None:
    outcome = _run(technique, data, schema)
    for promise in outcome.promises if outcome else ():
        received = Dataset.from_arrow(outcome.data.to_arrow()) if outcome else data
        verdict = promise.verify(received)
        assert verdict.holds, verdict.sentence()


CHECKS: Mapping[str, Callable[[Technique, Dataset, Schema], None]] = {
    "explains itself": _explains_itself,
    "its parameters are data": _parameters_are_data,
    "does not change its input": _is_pure,
    "the same seed gives the same table": _same_seed_same_table,
    "invents no record": _no_record_is_invented,
    "its facts can be written down": _facts_can_be_written_down,
    "nothing unused leaves": _nothing_unused_leaves,
    "keeps its promises": _keeps_its_promises,
}
