"""What becomes of the records that a search suppresses: a class of their own, left out, or exempt from every demand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from oboro.table.dataset import Column, Dataset
from oboro.table.values import STAR
from oboro.techniques.base import Outcome
from oboro.text import Message

__all__ = ["person_left", "treated"]


def treated(outcome: Outcome, how: str, out: np.ndarray, also: Sequence[str] = ()) -> Outcome:
    """The outcome with its suppressed records (a boolean for each row) as the step says; `also` are columns that go with them.

    - *class*: whoever fits no released class must be among them, so they keep every demand as one class. Nothing is to do.
    - *drop*: they are not in the release. Whoever fits no class may be left out, or was never there.
    - *exempt*: they stay, and nothing is promised of them. That is said as a warning.
    """
    gone = int(out.sum())
    if gone and also:
        emptied = {name: outcome.data[name].where(out, STAR) for name in also}
        outcome = replace(outcome, data=outcome.data.with_columns(emptied))
    if how == "class" or not gone:
        return outcome
    facts = {**outcome.facts, "suppressed": {**outcome.facts["suppressed"], "as": how}}
    if how == "exempt":
        told = Message("technique.k_anonymize.exempted", records=gone)
        return replace(outcome, facts=facts, warnings=(*outcome.warnings, told))
    return replace(outcome, data=outcome.data.take(~out), facts=facts)


def person_left(person: Column | None, before: Dataset, after: Dataset) -> Column | None:
    """Whose each row is that is left."""
    if person is None or after.rows == before.rows:
        return person
    return Column(person.values, person.codes[np.isin(before.origin_rows, after.origin_rows)])
