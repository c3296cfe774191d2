"""The common checks on every technique, and fake techniques that they must catch."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

import numpy as np
import pytest

from oboro.data.column import Column
from oboro.errors import UsageError
from oboro.schema import Schema
from oboro.techniques import Technique
from oboro.techniques.base import Outcome, Work
from oboro.techniques.checks import CHECKS, Attempt, check, subjects, tables
from oboro.verifier.identity import KAnonymity
from oboro.verifier.promises import Promise


@pytest.mark.parametrize("technique", list(subjects()), ids=lambda technique: technique.step)
def test_every_technique_passes_the_common_checks(technique: Technique) -> None:
    check(technique)


class Fake(Technique):
    """Leaves the table as it is: it passes every check."""

    step: ClassVar[str] = "fake"

    def plan(self, schema: Schema) -> str:
        return "Leaves the table as it is."

    def run(self, work: Work) -> Outcome:
        return Outcome(work.data, work.schema)


class RefusesAll(Fake):
    def run(self, work: Work) -> Outcome:
        raise UsageError("not this table")


class OnlyFor(Fake):
    """Refuses every table that lacks a column."""

    column: str = "visit"

    def run(self, work: Work) -> Outcome:
        work.schema.require(work.data, [self.column], self.step)
        return super().run(work)


class WritesCodes(Fake):
    def run(self, work: Work) -> Outcome:
        next(iter(work.data.columns.values())).codes[:] = 0
        return super().run(work)


class WritesLockedCodes(Fake):
    def run(self, work: Work) -> Outcome:
        codes = next(iter(work.data.columns.values())).codes
        codes.flags.writeable = True
        codes[:] = codes[::-1].copy()
        return super().run(work)


class DropsFromTheInput(Fake):
    def run(self, work: Work) -> Outcome:
        columns: dict[str, Column] = work.data.columns  # type: ignore[assignment]
        columns.pop("age", None)
        return super().run(work)


class Draws(Fake):
    """Reorders by chance, with numbers of its own in place of those of the seed."""

    moves_records: ClassVar[bool] = True

    def run(self, work: Work) -> Outcome:
        return Outcome(work.data.take(np.random.default_rng().permutation(work.data.rows)), work.schema)


class Constant(Draws):
    """Declares that it draws by chance and does the same for every seed."""

    random: ClassVar[bool] = True

    def run(self, work: Work) -> Outcome:
        return Outcome(work.data.take(work.data.origin_rows[::-1]), work.schema)


class Secretly(Fake):
    """Moves records without a word of it."""

    def run(self, work: Work) -> Outcome:
        return Outcome(work.data.take(work.data.origin_rows[::-1]), work.schema)


class Greedy(Fake):
    def run(self, work: Work) -> Outcome:
        return Outcome(work.data.take(work.data.origin_rows.repeat(2)), work.schema)


class Silent(Fake):
    """Declares promises, makes none."""

    promises: ClassVar[bool] = True


class Boastful(Fake):
    promises: ClassVar[bool] = True

    def run(self, work: Work) -> Outcome:
        return Outcome(work.data, work.schema, promises=(Promise("fake", ("age",), (KAnonymity(k=50),)),))


class Rounds(Fake):
    """Declares that values stay, and replaces them."""

    changes_values: ClassVar[bool] = False

    def run(self, work: Work) -> Outcome:
        shorter = Column.of(["A"] * work.data.rows)
        return Outcome(work.data.with_columns({"sex": shorter}), work.schema)


def test_a_technique_that_does_nothing_wrong_passes() -> None:
    check(Fake())
    check(OnlyFor())


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (RefusesAll(), "shown on no table .*not this table"),
        (OnlyFor(column="nobody"), "shown on no table"),
        (WritesCodes(), "the input table was changed"),
        (WritesLockedCodes(), "the input table was changed"),
        (DropsFromTheInput(), "the input table has other columns now"),
        (Draws(), "two runs with one seed differ"),
        (Constant(), "another seed gives another table where it is random: shown on no table"),
        (Secretly(), "does not declare `moves_records`"),
        (Greedy(), "invents"),
        (Silent(), "the outcome has none"),
        (Boastful(), "keeps its promises"),
        (Rounds(), "values changed"),
    ],
    ids=lambda one: type(one).__name__ if isinstance(one, Technique) else "",
)
def test_a_bad_technique_is_caught(bad: Technique, why: str) -> None:
    with pytest.raises(AssertionError, match=why):
        check(bad)


def test_the_tables_have_dates_people_gaps_and_one_record() -> None:
    made = tables()
    kinds: Collection[str] = {str(column.values.type) for one in made.values() for column in one.data.columns.values()}
    assert "date32[day]" in kinds
    assert [one.data.rows for one in made.values()][-2:] == [1, 0]
    people = made["several rows of one person"]
    whose = people.person()
    assert whose is not None
    assert len(whose.values) < people.data.rows
    assert any(column.values.null_count for column in made["missing values"].data.columns.values())


def test_every_check_judges_a_private_mechanism_too() -> None:
    (private,) = (one for one in subjects() if one.step == "dp_anonymize")
    judged = {name for name, one in CHECKS.items() for table in tables().values() if one(Attempt(private, table))}
    assert judged == set(CHECKS)
