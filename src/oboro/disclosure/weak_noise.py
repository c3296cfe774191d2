"""Check whether noise or swapping changed a column enough: elsewhere a perturbed attribute counts as unknown to attackers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow.compute as pc

from oboro.data.column import Column, UnreadColumn
from oboro.data.dataset import Dataset
from oboro.data.grouping import clean
from oboro.disclosure.gate import Findings, ReleaseCandidate
from oboro.disclosure.uncovered_columns import known_columns
from oboro.hierarchies.hierarchy import text_array
from oboro.kernels import grouping
from oboro.text import Message

__all__ = ["changed_cells", "check", "found_by_all", "linked_by_distance", "own_is_nearest", "stays_nearest"]


# Linkage by the nearest value -----------------------------------------------------------------------------------------
# Test whether a perturbed value is still nearest to its original value: an attacker who knows the original values
# then finds the record.


def own_is_nearest(before: np.ndarray, after: np.ndarray) -> tuple[int, int]:
    """Count the records unique by their original value that is the nearest to the perturbed one; and all that are unique.

    Missing values (not-a-number) are nobody's, and where two values are equally near, none is the nearest. O(n log n).

    >>> own_is_nearest(np.array([10.0, 20.0, 30.0, 30.0]), np.array([11.0, 28.0, 30.0, 31.0]))
    (1, 2)
    """
    _, own, counts = np.unique(before, return_inverse=True, return_counts=True)
    alone = (counts[own] == 1) & ~(np.isnan(before) | np.isnan(after))
    return int((alone & stays_nearest(before, after)).sum()), int(alone.sum())


def stays_nearest(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Mark the records whose value after is nearest to their own before, of all that were there. A missing one stays missing."""
    missing = np.isnan(before), np.isnan(after)
    held = ~(missing[0] | missing[1])
    values, own = np.unique(before[held], return_inverse=True)
    edges = (values[1:] + values[:-1]) / 2  # one value is nearest between two of these
    found = np.asarray(missing[0] & missing[1])
    found[held] = np.searchsorted(edges, after[held], "left") == own
    found[held] &= np.searchsorted(edges, after[held], "right") == own
    return found


def found_by_all(before: Sequence[np.ndarray], stayed: Sequence[np.ndarray]) -> tuple[int, int]:
    """Count the records unique by all original columns that stayed nearest in each perturbed column; and all that are unique.

    >>> found_by_all([np.array([0, 0, 1, 1]), np.array([0, 1, 0, 0])], [np.array([True, False, True, True])])
    (1, 2)
    """
    codes = np.zeros(before[0].size, np.int64)
    for column in before:
        places = np.unique(column, return_inverse=True)[1].ravel()
        codes = np.unique(codes * (int(places.max(initial=0)) + 1) + places, return_inverse=True)[1].ravel()
    alone = np.bincount(codes)[codes] == 1
    return int((alone & np.logical_and.reduce(stayed)).sum()), int(alone.sum())


def linked_by_distance(before: Sequence[np.ndarray], after: Sequence[np.ndarray], looked: np.ndarray) -> int:
    """Count the records `looked` at that are nearer to their own original than to any other, each column by its spread.

    >>> linked_by_distance([np.array([0.0, 5.0]), np.array([1.0, 9.0])], [np.array([1.0, 1.0]), np.array([1.0, 1.0])], np.arange(2))
    1
    """
    spreads = [float(np.nanstd(column)) or 1.0 if not np.isnan(column).all() else 1.0 for column in before]
    was, now = (
        np.stack([np.nan_to_num(one / spread) for one, spread in zip(columns, spreads, strict=True)], axis=1)
        for columns in (before, after)
    )
    found = 0
    for row in looked:
        far = np.square(was - now[row]).sum(axis=1)
        found += int(np.count_nonzero(far <= far[row]) == 1)
    return found


# Check of weak noise --------------------------------------------------------------------------------------------------


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
    known = [name for name in known_columns(candidate) if released[name].loaded and name not in stayed]
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
    if not before.loaded or not (before.kind.numeric and after.kind is before.kind):
        return None
    was = before if released.origin is None else Column(before.values, before.codes[released.origin])
    return was.numbers(name)[was.codes], after.numbers(name)[after.codes]


# Count of changed cells -----------------------------------------------------------------------------------------------


MANY = 1 << 20  # rows, from which on no second copy of them is made


def changed_cells(before: Dataset, after: Dataset) -> dict[str, int]:
    """Count for each column of both tables the released cells that differ from the cell they were made from.

    Values are compared as text (`31` and `31.0` differ); columns that are shared, and so did not change, cost nothing.
    O(rows) for each of the others.
    """
    rows, found = _rows(before, after), {}
    for name, column in after.columns.items():
        was = before.columns.get(name, column)
        if was is not column and was.loaded and column.loaded and (count := _different(was, column, rows)):
            found[name] = count
    return found


def _rows(before: Dataset, after: Dataset) -> np.ndarray | None:
    """For each row the row of the table before; None where nothing moved."""
    if before.origin is after.origin and before.rows == after.rows:
        return None
    if before.origin is None:
        return after.origin_rows
    place = np.zeros(int(before.origin.max(initial=-1)) + 1, np.int64)
    place[before.origin] = np.arange(before.rows)
    return np.asarray(place[after.origin_rows])


def _different(before: Column, after: Column, rows: np.ndarray | None) -> int:
    found = pc.index_in(text_array(before.values), value_set=text_array(after.values)).fill_null(-1)
    place = found.to_numpy(zero_copy_only=False)
    was = before.codes if rows is None else before.codes[rows]
    if was.size <= MANY:
        return int((place[was] != after.codes).sum())
    return int(grouping.differences(place.astype(np.int32), was, after.codes))
