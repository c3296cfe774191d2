"""Before anything is written: did chance change a column enough? The last look takes what chance changed for nobody's any more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from oboro.measure.exposure.nearest_values import found_by_all, linked_by_distance, own_is_nearest, stays_nearest
from oboro.table.dataset import Column, Dataset
from oboro.table.unencoded_columns import UnreadColumn
from oboro.table.value_counts import clean
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.recipe.release import StepRecord
    from oboro.verifier.promise_check import Promise

__all__ = ["chance_before_writing"]

LOOKED = 200  # records of which the nearest one is looked for
WORK = 10_000_000  # distances, at most about
MOST_ROWS = 1_000_000


def chance_before_writing(
    original: Dataset,
    released: Dataset,
    promises: Sequence[Promise],
    steps: Sequence[StepRecord],
    beside: Sequence[str] = (),
) -> list[Message]:
    """The numbers and dates that were changed so little that most who were unique by them are found by the nearest value.

    Several that hardly changed are counted together, with the columns `beside` them that were looked at: ages, heights and weights
    may each be shared by many, and all three by nobody.
    """
    said, most = _linked(original, released, promises, steps), 0
    stayed: dict[str, np.ndarray] = {}
    before: list[np.ndarray] = []
    for name in _disturbed(promises, steps):
        if name in released and (both := _numbers(original, released, name)) is not None:
            found, alone = own_is_nearest(*both)
            if 2 * found >= alone > 0:
                said.append(Message("exposure.hardly_changed", column=name, found=found, alone=alone))
                most = max(most, alone)
            nearest = stays_nearest(*both)
            if 2 * nearest.sum() >= nearest.size > 0:
                stayed[name] = nearest
                before.append(both[0])
    held = [name for name in beside if not isinstance(released[name], UnreadColumn) and name not in stayed]
    if not stayed or len(stayed) + len(held) == 1:
        return said
    found, alone = found_by_all([*before, *(clean(released[name]).codes for name in held)], list(stayed.values()))
    if 2 * found >= alone > most:
        facts = {"columns": list(stayed), "known": [*stayed, *held], "found": found, "alone": alone}
        said.append(Message("exposure.hardly_changed_together", **facts))
    return said


def _linked(
    original: Dataset, released: Dataset, promises: Sequence[Promise], steps: Sequence[StepRecord]
) -> list[Message]:
    """Whether the nearest record by several disturbed columns together is the own one: more often than half, or than 1/k."""
    covered = {name for promise in promises for name in promise.quasi}
    random = [step for step in steps if step.technique.traits.random and not step.technique.spends()]
    names = [name for name in {name: 0 for step in random for name in step.changed or ()} if name not in covered]
    both = {
        name: pair for name in names if name in released and (pair := _numbers(original, released, name)) is not None
    }
    if len(both) < 2 or not 0 < released.rows <= MOST_ROWS:
        return []
    drawn = [getattr(step.technique, "k", 2) for step in random if step.technique.traits.by_construction]
    looked = np.linspace(0, released.rows - 1, min(released.rows, LOOKED, max(20, WORK // released.rows))).astype(
        np.int64
    )
    found = linked_by_distance([pair[0] for pair in both.values()], [pair[1] for pair in both.values()], looked)
    expected = looked.size / max(drawn, default=2)
    if found <= expected + 2 * np.sqrt(expected):  # above what chance alone makes of it
        return []
    facts = {"columns": list(both), "found": found, "looked": int(looked.size)}
    return [Message("exposure.linked_by_distance", **facts)]


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
