"""The few figures that say most of a release: how exposed people are, before and after, and how much was lost.

They need nothing but class sizes and the recoded quasi-identifiers, so a run can print them without making a report.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from oboro.errors import listing
from oboro.table.dataset import Dataset
from oboro.table.hierarchy import Hierarchy
from oboro.table.labels.recoded_column import RecodedColumn
from oboro.table.labels.starred_values import is_star
from oboro.table.rows.row_origins import same_rows
from oboro.text import Message
from oboro.verifier.classes import class_sizes

__all__ = ["LOSSES", "KeyFigures", "Loss", "key_figures", "mean_known", "mean_over_rows", "suppressed_records"]

LOSSES = ("ncp", "generalization_intensity", "suppressed_cells")
RiskFigures = tuple[float | None, float | None, int]


@dataclass(frozen=True)
class Loss:
    """The mean of a loss over the columns of which it is known, and the columns of which it is not: they may have lost
    everything, so 0 % of the others would read as no loss at all."""

    name: str
    value: float
    known: int
    unknown: tuple[str, ...] = ()

    @classmethod
    def over(cls, name: str, columns: Mapping[str, float | None]) -> Loss | None:
        """From the loss of each column; nothing where it is known of none."""
        mean = mean_known(columns.values())
        unknown = tuple(column for column, value in columns.items() if value is None)
        return None if mean is None else cls(name, mean, len(columns) - len(unknown), unknown)

    def said(self) -> Message:
        """As a part of the line of a summary."""
        title, unknown = Message(f"measure.{self.name}.title"), len(self.unknown)
        if unknown > self.known:
            columns = unknown + self.known
            return Message("report.summary.measure_unknown", title=title, unknown=unknown, columns=columns)
        if not unknown:
            return Message("report.summary.measure", title=title, value=self.value)
        without = Message("measure.note.without", columns=listing(list(self.unknown)))
        return Message("report.summary.measure_without", title=title, value=self.value, note=without)


@dataclass(frozen=True)
class KeyFigures:
    """The risk of the original and of the release, and the losses over all quasi-identifiers that could be measured.

    A risk is the highest, the mean (both None where there are no records), and how many records stand alone.
    """

    risk_before: RiskFigures
    risk: RiskFigures
    losses: tuple[Loss, ...]


def key_figures(
    original: Dataset, released: Dataset, quasi: Sequence[str], hierarchies: Mapping[str, Hierarchy]
) -> KeyFigures:
    """Measure them over `quasi`, columns that both tables have; `hierarchies` are bound to the original columns."""
    rows = same_rows(original, released)
    shares: dict[str, float | None] = {}
    levels: dict[str, float | None] = {}
    stars: dict[str, float | None] = {}
    for name in quasi:
        recoded = RecodedColumn.of(original[name], released[name], hierarchies.get(name), rows)
        shares[name] = mean_over_rows(recoded.share, recoded)
        levels[name] = mean_over_rows(recoded.relative_level, recoded)
        gone = float(recoded.released.counts[recoded.stars].sum())
        stars[name] = gone / released.rows if released.rows else None
    found = map(Loss.over, LOSSES, (shares, levels, stars))
    return KeyFigures(_risk(original, quasi), _risk(released, quasi), tuple(filter(None, found)))


def mean_over_rows(scores: np.ndarray, recoded: RecodedColumn) -> float | None:
    """The mean over rows of one number per released value; None where a value has none."""
    counts = recoded.released.counts
    return None if np.isnan(scores).any() or not counts.sum() else float(scores @ counts / counts.sum())


def mean_known(values: Iterable[float | None]) -> float | None:
    """The mean of what could be measured; None where nothing could."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _risk(data: Dataset, quasi: Sequence[str]) -> RiskFigures:
    """As a prosecutor sees it, who knows who is in the table: 1 / the size of a record's class."""
    sizes = class_sizes(data, quasi)
    if not sizes.size:
        return None, None, 0
    return float(1 / sizes.min()), sizes.size / int(sizes.sum()), int((sizes == 1).sum())


def suppressed_records(released: Dataset, quasi: Sequence[str]) -> int:
    """How many rows are `*` in every quasi-identifier. O(rows) for the first column, then O(rows that are left)."""
    rows: np.ndarray | slice = slice(None)
    for name in quasi:
        stars = is_star(released[name])
        if not stars.any():
            return 0
        here = np.flatnonzero(stars[released[name].codes[rows]])
        rows = here if isinstance(rows, slice) else rows[here]
    return 0 if isinstance(rows, slice) else int(rows.size)
