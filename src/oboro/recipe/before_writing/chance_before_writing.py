"""Before anything is written: did chance change a column enough? The last look takes what chance changed for nobody's any more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from oboro.measure.exposure.nearest_values import own_is_nearest
from oboro.table.dataset import Column, Dataset
from oboro.table.unencoded_columns import UnreadColumn
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.recipe.release import StepRecord
    from oboro.verifier.promise_check import Promise

__all__ = ["chance_before_writing"]


def chance_before_writing(
    original: Dataset, released: Dataset, promises: Sequence[Promise], steps: Sequence[StepRecord]
) -> list[Message]:
    """The numbers and dates that were changed so little that most who were unique by them are found by the nearest value."""
    said = []
    for name in _disturbed(promises, steps):
        if name in released and (both := _numbers(original, released, name)) is not None:
            found, alone = own_is_nearest(*both)
            if 2 * found >= alone > 0:
                said.append(Message("exposure.hardly_changed", column=name, found=found, alone=alone))
    return said


def _disturbed(promises: Sequence[Promise], steps: Sequence[StepRecord]) -> Iterator[str]:
    """The columns that random steps changed, without those of which the method or the verifier promises something."""
    random = [step for step in steps if step.technique.traits.random]
    covered = {name for promise in promises for name in promise.quasi}
    covered |= {name for step in random if step.technique.traits.by_construction for name in step.changed or ()}
    yield from (name for name in {name: 0 for step in random for name in step.changed or ()} if name not in covered)


def _numbers(original: Dataset, released: Dataset, name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """The column's places on the line before and after, row by row; None where it has none."""
    before, after = original.columns.get(name, UnreadColumn(0)), released[name]
    if isinstance(before, UnreadColumn) or not (before.kind.numeric and after.kind is before.kind):
        return None
    was = before if released.origin is None else Column(before.values, before.codes[released.origin])
    return was.numbers(name)[was.codes], after.numbers(name)[after.codes]
