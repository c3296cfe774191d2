"""Pairing of released rows with original rows, for tables without row numbers and in another order.

With both tables the values tell: a column that was copied has the same value, a generalized one a label that covers the
value. Rows that are equal in all released columns cannot be distinguished, so they are paired at random, without loss:
every measure on the release treats them alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from oboro.attacks.attacker_view import AttackerView, ColumnComparison
from oboro.attacks.kernels import FITS, NUMBER
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.grouping import Groups
from oboro.hierarchies.hierarchy import Hierarchy
from oboro.hierarchies.labels import is_star

__all__ = ["correspond", "link_rows"]


NONE = -1


def link_rows(
    original: Dataset,
    released: Dataset,
    names: Sequence[str],
    hierarchies: Mapping[str, Hierarchy] | None = None,
    seed: int = 0,
) -> np.ndarray | None:
    """For each released row an original one that it may have been made from, each at most once; None where there is no pairing.

    Every value must have one label that stands for it, as full-domain generalization gives it, or `*`. Where labels overlap (local
    recoding, intervals by groups) or values were disturbed, rows cannot be linked this way. O(rows · columns).
    """
    if released.rows > original.rows or not names:
        return None
    view = AttackerView.of(original, released, names, hierarchies)
    stars = [is_star(view.released[name]) for name in names]
    labels = [_labels(one, star) for one, star in zip(view.comparisons, stars, strict=True)]
    before = [one[view.original[name].codes] for name, one in zip(names, labels, strict=True) if one is not None]
    if len(before) < len(names):
        return None
    after = [view.released[name].codes.astype(np.int64) for name in names]
    starred = [star[codes] for star, codes in zip(stars, after, strict=True)]
    return _paired(before, after, starred, np.random.default_rng(seed))


def _labels(comparison: ColumnComparison, star: np.ndarray) -> np.ndarray | None:
    """For each original entry the released one that stands for it (−1: none does); None where two may, or nothing explains them."""
    shown = np.flatnonzero(~star)
    if comparison.nobody[shown].any():
        return None
    if comparison.kind == FITS:
        fits = comparison.fits[comparison.places.astype(np.int64)][:, shown] != 0
        return None if (fits.sum(axis=1) > 1).any() else _chosen(shown, fits.argmax(axis=1), fits.any(axis=1))
    low, high = comparison.low[shown], comparison.high[shown]
    order = np.argsort(low, kind="stable")  # a missing value comes last
    shown, low, high = shown[order], low[order], high[order]
    known = int((~np.isnan(low)).sum())
    if known + 1 < low.size or (low[1:known] <= high[: known - 1] + 1e-9).any():
        return None
    at = np.searchsorted(low[:known], comparison.places + 1e-9, side="right") - 1
    inside = (at >= 0) & (comparison.places <= high[np.maximum(at, 0)] + 1e-9) if known else np.zeros(at.size, bool)
    missing = np.isnan(comparison.places) & (known < low.size)
    return _chosen(shown, np.where(missing, low.size - 1, np.maximum(at, 0)), inside | missing)


def _chosen(shown: np.ndarray, at: np.ndarray, found: np.ndarray) -> np.ndarray:
    return np.where(found, shown[np.minimum(at, shown.size - 1)] if shown.size else NONE, NONE)


def _paired(
    before: list[np.ndarray], after: list[np.ndarray], starred: list[np.ndarray], rng: np.random.Generator
) -> np.ndarray | None:
    """Rows with the fewest `*` first: what is left over for the others was suppressed."""
    out, free = np.full(after[0].size, NONE), np.ones(before[0].size, dtype=bool)
    patterns = Groups.of([Column(pa.array([0, 1]), one.astype(np.uint8)) for one in starred], out.size)
    first = np.unique(patterns.labels, return_index=True)[1]
    hidden = np.array([[one[row] for one in starred] for row in first])
    for pattern in np.argsort(hidden.sum(axis=1), kind="stable"):
        rows = np.flatnonzero(patterns.labels == pattern)
        seen = np.flatnonzero(~hidden[pattern])
        some = np.flatnonzero(free & np.all([before[place] >= 0 for place in seen], axis=0))
        alike = [before[place][some] for place in seen], [after[place][rows] for place in seen]
        found = _by_labels(*alike, rng) if seen.size else rng.permutation(some.size)[: rows.size]
        if found is None or found.size < rows.size:
            return None
        out[rows] = some[found]
        free[out[rows]] = False
    return out


def _by_labels(before: list[np.ndarray], after: list[np.ndarray], rng: np.random.Generator) -> np.ndarray | None:
    """For each row of the second table another row of the first that is equal; None where there are too few."""
    count, rows = before[0].size, after[0].size
    both = [np.concatenate(pair) for pair in zip(before, after, strict=True)]
    groups = Groups.of([Column(pa.nulls(int(one.max()) + 1), one.astype(np.uint32)) for one in both], count + rows)
    ours, theirs = groups.labels[:count].astype(np.int64), groups.labels[count:].astype(np.int64)
    sizes, asked = (np.bincount(one, minlength=len(groups)) for one in (ours, theirs))
    if (asked > sizes).any():
        return None
    order = np.lexsort((rng.random(count), ours))
    wanted = np.argsort(theirs, kind="stable")
    starts, begins = np.cumsum(sizes) - sizes, np.cumsum(asked) - asked
    out = np.empty(rows, dtype=np.int64)
    out[wanted] = order[starts[theirs[wanted]] + np.arange(rows) - begins[theirs[wanted]]]
    return out


# Test for equal row order ---------------------------------------------------------------------------------------------
# Does the n-th released record belong to the n-th original one? A guess for tables without row numbers.


LOOKED_AT = 20_000  # rows
TELLING = 0.9  # a column that fits by chance this often tells nothing
ENOUGH = 0.5


def correspond(
    original: Dataset, released: Dataset, names: Sequence[str], hierarchies: Mapping[str, Hierarchy] | None = None
) -> bool:
    """Test if released values fit the original ones of the same row far more often than those of other rows.

    For each column: the part of the rows that fit beyond the part that fits by chance; numbers that were disturbed hardly
    ever fit, so theirs is how much nearer they are to the same row than to another; labels that nothing explains fit nobody,
    so theirs is how often they follow from the original value. True where no column could tell.
    """
    if original.rows != released.rows:
        return False
    rng = np.random.default_rng(0)
    rows = np.sort(rng.choice(original.rows, min(LOOKED_AT, original.rows), replace=False))
    both = original.take(rows), released.take(rows)
    view = AttackerView.of(*both, [name for name in names if name in original and name in released], hierarchies)
    other = rng.permutation(rows.size)
    scores = []
    for name, comparison in zip(view.names, view.comparisons, strict=True):
        places, codes = comparison.places[view.original[name].codes], view.released[name].codes
        values = view.original[name].codes
        fit = [float(_fits(comparison, side, codes).mean()) for side in (places, places[other])]
        follow = [_follows(side, codes) for side in (values, values[other])]
        scores += [(here - there) / (1 - there) for here, there in (fit, follow) if there < TELLING]
        if comparison.kind == NUMBER:
            near, far = (_distance(comparison, side, codes) for side in (places, places[other]))
            scores.append(1 - near / far if far > 0 else 0.0)
    return max(scores, default=1.0) >= ENOUGH


def _follows(values: np.ndarray, codes: np.ndarray) -> float:
    """The part of the rows that hold the label that rows of their value hold most often."""
    pairs, counts = np.unique(values.astype(np.int64) << 32 | codes, return_counts=True)
    starts = np.flatnonzero(np.diff(pairs >> 32, prepend=-1))
    return float(np.maximum.reduceat(counts, starts).sum() / codes.size) if codes.size else 1.0


def _distance(comparison: ColumnComparison, places: np.ndarray, codes: np.ndarray) -> float:
    """The mean distance to the middle of what was released; where either is missing or `*` it tells nothing."""
    with np.errstate(invalid="ignore"):  # from −∞ to ∞
        gaps = np.abs(places - (comparison.low[codes] + comparison.high[codes]) / 2)
    known = gaps[np.isfinite(gaps)]
    return float(known.mean()) if known.size else 0.0


def _fits(comparison: ColumnComparison, places: np.ndarray, codes: np.ndarray) -> np.ndarray:
    if comparison.kind == FITS:
        return np.asarray(comparison.fits[places.astype(np.int64), codes] != 0)
    low, high = comparison.low[codes], comparison.high[codes]
    within = (low <= places + 1e-9) & (places - 1e-9 <= high)
    return np.asarray(within | np.isneginf(low) | (np.isnan(places) & np.isnan(low)))
