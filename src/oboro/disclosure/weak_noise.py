"""Check whether chance changed a column enough: a perturbed attribute counts as unknown everywhere else."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from oboro.disclosure.gate import Findings, ReleaseCandidate
from oboro.disclosure.uncovered_columns import known_columns
from oboro.measure.exposure.nearest_values import found_by_all, linked_by_distance, own_is_nearest, stays_nearest
from oboro.table.dataset import Column, Dataset
from oboro.table.unencoded_columns import UnreadColumn
from oboro.table.value_counts import clean
from oboro.text import Message

__all__ = ["check"]

LOOKED = 200  # records of which the nearest one is looked for
WORK = 10_000_000  # distances, at most about
MOST_ROWS = 1_000_000


def check(candidate: ReleaseCandidate) -> Findings:
    """Caution of numbers and dates changed so little that most who were unique by them are found by the nearest value.

    Several that hardly changed are counted together, with the uncovered columns: ages, heights and weights may each be shared by
    many, and all three by nobody.
    """
    if not any(step.traits.random and step.changed for step in candidate.steps):
        return Findings()
    original, released = candidate.original, candidate.released
    cautions, most = _linked(candidate), 0
    stayed: dict[str, np.ndarray] = {}
    before: list[np.ndarray] = []
    for name in _disturbed(candidate):
        if name in released and (both := _numbers(original, released, name)) is not None:
            found, alone = own_is_nearest(*both)
            if 2 * found >= alone > 0:
                cautions.append(Message("exposure.hardly_changed", column=name, found=found, alone=alone))
                most = max(most, alone)
            nearest = stays_nearest(*both)
            if 2 * nearest.sum() >= nearest.size > 0:
                stayed[name] = nearest
                before.append(both[0])
    known = [
        name for name in known_columns(candidate) if not isinstance(released[name], UnreadColumn) and name not in stayed
    ]
    if stayed and len(stayed) + len(known) > 1:
        found, alone = found_by_all([*before, *(clean(released[name]).codes for name in known)], list(stayed.values()))
        if 2 * found >= alone > most:
            facts = {"columns": list(stayed), "known": [*stayed, *known], "found": found, "alone": alone}
            cautions.append(Message("exposure.hardly_changed_together", **facts))
    return Findings(tuple(cautions))


def _linked(candidate: ReleaseCandidate) -> list[Message]:
    """Caution where the nearest record by several perturbed columns is the own one more often than 1/k."""
    original, released = candidate.original, candidate.released
    covered = {name for one in candidate.guarantees for name in one.quasi}
    random = [step for step in candidate.steps if step.traits.random and not step.traits.spends]
    names = [name for name in {name: 0 for step in random for name in step.changed or ()} if name not in covered]
    both = {
        name: pair for name in names if name in released and (pair := _numbers(original, released, name)) is not None
    }
    if len(both) < 2 or not 0 < released.rows <= MOST_ROWS:
        return []
    drawn = [step.k or 2 for step in random if step.traits.by_construction]
    looked = np.linspace(0, released.rows - 1, min(released.rows, LOOKED, max(20, WORK // released.rows))).astype(
        np.int64
    )
    found = linked_by_distance([pair[0] for pair in both.values()], [pair[1] for pair in both.values()], looked)
    expected = looked.size / max(drawn, default=2)
    if found <= expected + 2 * np.sqrt(expected):  # above what chance alone makes of it
        return []
    facts = {"columns": list(both), "found": found, "looked": int(looked.size)}
    return [Message("exposure.linked_by_distance", **facts)]


def _disturbed(candidate: ReleaseCandidate) -> Iterator[str]:
    """Yield the columns that random steps changed, without those that a guarantee or the method itself protects."""
    random = [step for step in candidate.steps if step.traits.random]
    covered = {name for one in candidate.guarantees for name in one.quasi}
    covered |= {name for step in random if step.traits.by_construction for name in step.changed or ()}
    yield from (name for name in {name: 0 for step in random for name in step.changed or ()} if name not in covered)


def _numbers(original: Dataset, released: Dataset, name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the column as numbers before and after, record by record; None where it has none."""
    before, after = original.columns.get(name, UnreadColumn(0)), released[name]
    if isinstance(before, UnreadColumn) or not (before.kind.numeric and after.kind is before.kind):
        return None
    was = before if released.origin is None else Column(before.values, before.codes[released.origin])
    return was.numbers(name)[was.codes], after.numbers(name)[after.codes]
