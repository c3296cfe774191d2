"""Which records stand out, how much, and by what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["OutlierScores"]


@dataclass(frozen=True, eq=False)
class OutlierScores:
    """What was found: the records, how much each stands out, and by what."""

    rows: np.ndarray
    """One boolean per record: it stands out."""
    scores: np.ndarray
    """One number per record, larger for one that stands out more; `Outliers` says what it counts."""
    reasons: Mapping[tuple[str, ...], np.ndarray]
    """For each attribute, or set of attributes, the records (numbers, ascending) that stand out by it."""

    def reasons_of(self, row: int) -> list[tuple[str, ...]]:
        """The attributes, or sets of attributes, by which one record stands out."""
        return [names for names, rows in self.reasons.items() if row in rows[np.searchsorted(rows, row) :][:1]]

    def facts(self) -> dict[str, Any]:
        """Counts for a report: how many records stand out, and how many by which attributes."""
        by = {" + ".join(names): int(rows.size) for names, rows in self.reasons.items() if rows.size}
        return {"records": int(self.rows.sum()), "of": int(self.rows.size), "by": by}
