"""The common checks, on every technique and every table; and that a check can fail."""

from __future__ import annotations

from typing import ClassVar

import pytest

from oboro.table.dataset import Dataset
from oboro.table.schema import Schema
from oboro.techniques.base import Outcome, Technique, Work
from oboro.techniques.checks import check, subjects, tables

TABLES = tables()


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("technique", list(subjects()), ids=lambda technique: technique.step)
def test_every_technique_passes_the_common_checks(technique: Technique, table: str) -> None:
    check(technique, TABLES[table])


class Forgetful(Technique):
    """Draws without the random numbers it was given, and changes its input."""

    step: ClassVar[str] = "forgetful"
    calls: ClassVar[int] = 0

    def plan(self, schema: Schema) -> str:
        return "Does something else every time it is called."

    def run(self, work: Work) -> Outcome:
        type(self).calls += 1
        rows = (work.data.origin_rows + self.calls) % work.data.rows
        return Outcome(work.data.take(rows), work.schema)


class Greedy(Forgetful):
    """Invents a record."""

    def run(self, work: Work) -> Outcome:
        data: Dataset = work.data
        return Outcome(data.take(data.origin_rows.repeat(2)), work.schema)


@pytest.mark.parametrize(("bad", "why"), [(Forgetful(), "seed"), (Greedy(), "invents")])
def test_a_bad_technique_is_caught(bad: Technique, why: str) -> None:
    with pytest.raises(AssertionError, match=why):
        check(bad, TABLES["plain"])
