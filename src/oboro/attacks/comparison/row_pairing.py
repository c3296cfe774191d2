"""Does the n-th released record belong to the n-th original one? A guess for tables that forgot where their rows came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from oboro.attacks.comparison.attacker_view import AttackerView
from oboro.attacks.comparison.column_comparison import ColumnComparison
from oboro.attacks.comparison.kernels import FITS, NUMBER
from oboro.table.dataset import Dataset
from oboro.table.hierarchy import Hierarchy

__all__ = ["correspond"]

LOOKED_AT = 20_000  # rows
TELLING = 0.9  # a column that fits by chance this often tells nothing
ENOUGH = 0.5


def correspond(
    original: Dataset, released: Dataset, names: Sequence[str], hierarchies: Mapping[str, Hierarchy] | None = None
) -> bool:
    """Whether released values fit the original ones of the same row far more often than those of other rows.

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
