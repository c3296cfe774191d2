"""Which rows to hold back, so that whoever comes, stays or leaves between two releases does so among many."""

from __future__ import annotations

import numpy as np

from oboro.verifier.series.row_changes import RowChanges, Wanted

__all__ = ["held_back"]


def held_back(changes: RowChanges, wanted: Wanted, rng: np.random.Generator) -> np.ndarray:
    """The new rows (a mask) that stand in the way; none where everything is kept.

    Who came among too few waits for the next release. Who stayed among too few waits too, so that their old class is gone as a
    whole. Where too few left, others of the same old class stay away with them.
    """
    pair, _, counts, each = changes.cells
    want = np.zeros(pair.size, dtype=np.int64)
    came = changes.came.small(wanted)[changes.came.group]
    want[came] = changes.came.number[came]
    want[changes.loose] = counts[changes.loose]
    stayed = changes.broken_stayed(wanted)[changes.stayed.group] & (changes.was[pair] > 0)
    want[stayed] = counts[stayed]
    if not want.any():
        want += _with_them(changes, wanted, rng)
    rows = _some(each, want, rng)
    if changes.once:  # with all rows of a person in the class
        rows = (want > 0)[each]
    return rows


def _with_them(changes: RowChanges, wanted: Wanted, rng: np.random.Generator) -> np.ndarray:
    """How many rows of each cell stay away, so that enough leave each old class that somebody left."""
    pair, _, _, _ = changes.cells
    want = np.zeros(pair.size, dtype=np.int64)
    group = changes.left.group[pair]
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(changes.left.groups + 1))
    lefts = np.argsort(changes.left.group, kind="stable")
    bounds = np.searchsorted(changes.left.group[lefts], np.arange(changes.left.groups + 1))
    for one in np.flatnonzero(changes.left.small(wanted)):
        cells = rng.permutation(order[starts[one] : starts[one + 1]])
        gone = lefts[bounds[one] : bounds[one + 1]]
        want[cells] = _enough(changes, cells, gone, wanted)
    return want


def _enough(changes: RowChanges, cells: np.ndarray, gone: np.ndarray, wanted: Wanted) -> np.ndarray:
    """How many rows of each of these cells go: first new secrets, then any; all, where the rest would be too few."""
    stay, left = changes.stayed, changes.left
    have = stay.number[cells].copy()
    take = np.zeros(cells.size, dtype=np.int64)
    for name, least in wanted.diverse.items():
        held = set(left.secrets[name][gone[left.number[gone] > 0]].tolist()) - {-1}
        for i in range(cells.size):
            value = int(stay.secrets[name][cells[i]])
            if len(held) >= least:
                break
            if value >= 0 and value not in held and have[i] > take[i]:
                take[i] += 1
                held.add(value)
    lacking = wanted.k - int(left.number[gone].sum() + take.sum())
    for i in range(cells.size):
        more = min(max(0, lacking), int(have[i] - take[i]))
        take[i] += more
        lacking -= more
    rest = have - take
    few = rest.sum() < wanted.k or any(
        np.unique(stay.secrets[name][cells][rest > 0]).size < least for name, least in wanted.diverse.items()
    )
    return have if few else take


def _some(each: np.ndarray, want: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """So many rows of each cell, by chance."""
    shuffled = rng.permutation(each.size)
    order = shuffled[np.argsort(each[shuffled], kind="stable")]
    first = np.searchsorted(each[order], np.arange(want.size))
    rows = np.zeros(each.size, dtype=bool)
    rows[order] = np.arange(each.size) - first[each[order]] < want[each[order]]
    return rows
