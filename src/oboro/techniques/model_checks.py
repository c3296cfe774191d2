"""Common checks that any privacy model must pass. They find their subjects by themselves: every model of the registry.

A model names parameters in `examples`. The checks look at its words, its judge, the search and its bounds, on small
tables of which a brute force knows whether the model is satisfied. A failed check is an `AssertionError` that names the
model and the table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from oboro.algorithms.lattice.constraints import rule_of
from oboro.data.dataset import Dataset
from oboro.errors import PromiseError
from oboro.privacy.base import MODELS, Bounds, PrivacyModel
from oboro.schema import Attribute, Schema
from oboro.techniques.base import Work
from oboro.techniques.k_anonymize import KAnonymize
from oboro.text import LANGUAGES
from oboro.text.message import catalogue
from oboro.verifier.identity import Model
from oboro.verifier.judges import judge, judge_of

__all__ = ["CHECKS", "BruteForce", "SmallTable", "check", "small_tables", "subjects"]

TABLES = 40
ROWS = 8


@dataclass(frozen=True)
class SmallTable:
    """A table of one quasi-identifier and one sensitive attribute, and a population that holds its people."""

    classes: Mapping[str, list[str]]
    """The sensitive values of each class, by the value of the quasi-identifier."""
    population: Mapping[str, int]
    """The number of people of the population with each value of the quasi-identifier."""

    @property
    def data(self) -> Dataset:
        """The table."""
        rows = [(name, value) for name, values in self.classes.items() for value in values]
        return Dataset.of({"q": [name for name, _ in rows], "s": [value for _, value in rows]})

    @property
    def people(self) -> Dataset:
        """The population as a table."""
        return Dataset.of({"q": [name for name, number in self.population.items() for _ in range(number)]})

    @property
    def everybody(self) -> list[str]:
        """The sensitive values of all records."""
        return [value for values in self.classes.values() for value in values]


BruteForce = Callable[[Any, SmallTable], bool]
"""Decides by plain loops whether a table satisfies a declared model."""


def subjects() -> Iterator[PrivacyModel]:
    """Yield every registered model, with each of its example parameters."""
    for key, declared in MODELS.items():
        assert declared.examples, f"{key}: name example parameters in {declared.__name__}.examples"
        yield from (declared(**parameters) for parameters in declared.examples)


def small_tables(seed: int = 0) -> Iterator[SmallTable]:
    """Yield random small tables: some satisfy a model, others violate it."""
    rng = np.random.default_rng(seed)
    for _ in range(TABLES):
        names = rng.choice(["u", "v", "w"], ROWS, p=[0.5, 0.3, 0.2])
        values = rng.choice(["a", "b", "c"], ROWS, p=[0.45, 0.35, 0.2])
        classes = {str(one): [str(value) for value in values[names == one]] for one in np.unique(names)}
        yield SmallTable(classes, {name: len(held) + int(rng.integers(0, 6)) for name, held in classes.items()})


# Checks ---------------------------------------------------------------------------------------------------------------


def has_words(model: PrivacyModel) -> None:
    """Check that every name of the model, and its plan, have words in every language."""
    ids = {*type(model).words, model.plan("s").id}
    for lang in LANGUAGES:
        lacking = [id for id in sorted(ids) if id.partition(".")[2] not in catalogue(lang, id.partition(".")[0])]
        assert not lacking, f"{model.key}: no words in {lang} for {lacking}"
        model.plan("s").say(lang)


def is_judged(model: PrivacyModel) -> None:
    """Check that a judge is registered, and that its verdicts lead back to the model; or that a reason is stated."""
    if model.unjudged:
        return
    assert callable(judge_of(model.key)), f"{model.key}: no judge"
    if model.scope == "release":
        return
    found = _judge(model, next(small_tables()))
    assert found.describe().id in type(model).words, f"{model.key}: verdicts name {found.describe().id}"
    read = type(model).of_words(found.describe())
    assert read.plan("s").id == model.plan("s").id, f"{model.key}: verdicts lose a parameter of {model!r}"


def is_searched(model: PrivacyModel) -> None:
    """Check that the search keeps the model on some table, as its judge sees it; or that a reason is stated."""
    if model.unsearched:
        return
    kept = 0
    for table in list(small_tables())[:10]:
        if model.scope == "attribute":
            rule_of(model, "s", table.data["s"])
        given: dict[str, Any] = {model.key: {"s": model} if model.scope == "attribute" else _written(model)}
        if model.scope == "population":
            given["population"] = table.people
        schema = Schema({"q": Attribute(role="quasi"), "s": Attribute(role="sensitive")})
        try:
            step = KAnonymize(**{"k": 1, "suppress": 0.5, **given})
            outcome = step.run(Work(table.data, schema, np.random.default_rng(0)))
        except PromiseError:
            continue
        (promise,) = outcome.promises
        assert any(one.describe().id in type(model).words for one in promise.models), f"{model.key}: not promised"
        assert promise.verify(outcome.data).holds, f"{model.key}: the search violates it on {table}"
        kept += 1
    assert kept, f"{model.key}: the search kept it on no table"


def is_bounded(model: PrivacyModel) -> None:
    """Check that the model bounds inference or linkage and that the bound is right; or that a reason is stated."""
    if model.unbounded:
        return
    if model.scope != "attribute":
        assert model.linked is not None, f"{model.key}: no bound on linkage, and no reason"
        return
    every = [type(model)(**parameters).largest_share(Bounds(0.3, 3)) for parameters in type(model).examples]
    assert any(one is not None for one in every), f"{model.key}: no bound on inference, and no reason"
    for table in small_tables():
        counts = Counter(table.everybody)
        limit = model.largest_share(Bounds(max(counts.values()) / ROWS, len(counts)))
        if limit is None or not _satisfied(model, table):
            continue
        largest = max(max(Counter(held).values()) / len(held) for held in table.classes.values())
        assert largest <= limit + 1e-9, f"{model.key}: a share of {largest} where {limit} is the bound, on {table}"


def agrees(model: PrivacyModel, brute_force: BruteForce) -> None:
    """Check that the judge decides small tables as a brute force does, and that some satisfy the model and others do not."""
    verdicts = set()
    for table in small_tables():
        found, expected = _satisfied(model, table), brute_force(model, table)
        assert found == expected, f"{model!r}: the judge says {found} on {table}"
        verdicts.add(found)
    assert verdicts == {True, False}, f"{model!r}: all tables are judged alike"


CHECKS: tuple[Callable[[PrivacyModel], None], ...] = (has_words, is_judged, is_searched, is_bounded)


def check(model: PrivacyModel, brute_force: BruteForce | None = None) -> None:
    """Raise an `AssertionError` unless a model passes all checks; a released table alone needs a brute force to compare with."""
    for one in CHECKS:
        one(model)
    if model.scope != "release":
        assert brute_force is not None, f"{model.key}: give a brute force"
        agrees(model, brute_force)


def _judge(model: PrivacyModel, table: SmallTable) -> Model:
    about: dict[str, Any] = {"sensitive": "s"} if model.scope == "attribute" else {}
    if model.scope in ("population", "worth"):
        about = {"population": table.people, "hierarchies": {}}
    return judge(model, ROWS, **about)


def _satisfied(model: PrivacyModel, table: SmallTable) -> bool:
    return _judge(model, table).check(table.data, ["q"]).holds


def _written(model: PrivacyModel) -> Any:
    return getattr(model, model.limit) if model.scalar else model
