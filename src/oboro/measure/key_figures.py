"""The few figures that say most of a release: how exposed people are, before and after, and how much was lost.

They need nothing but class sizes and the recoded quasi-identifiers, so a run can print them without making a report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from oboro.measure.information_loss import certainty_penalty, intensity
from oboro.measure.metrics import Measure
from oboro.measure.risk import Risk, risk_of
from oboro.measure.utility import suppression
from oboro.table.dataset import Dataset
from oboro.table.hierarchy import Hierarchy
from oboro.table.labels.recoded_column import RecodedColumn
from oboro.table.rows.row_origins import same_rows
from oboro.verifier.classes import class_sizes

__all__ = ["LOSSES", "KeyFigures", "key_figures"]

LOSSES = ("ncp", "generalization_intensity", "suppressed_cells")
THRESHOLD = 5  # records in smaller classes count as exposed in `Risk`, which is not among these figures


@dataclass(frozen=True)
class KeyFigures:
    """The risk of the original and of the release, and the losses over all quasi-identifiers, in the order of `LOSSES`."""

    risk_before: Risk
    risk: Risk
    losses: tuple[Measure, ...]


def key_figures(
    original: Dataset, released: Dataset, quasi: Sequence[str], hierarchies: Mapping[str, Hierarchy]
) -> KeyFigures:
    """Measure them over `quasi`, columns that both tables have; `hierarchies` are bound to the original columns."""
    rows = same_rows(original, released)
    recoded = {name: RecodedColumn.of(original[name], released[name], hierarchies.get(name), rows) for name in quasi}
    found = [*certainty_penalty(recoded, ()), *intensity(recoded), *suppression(released, quasi)]
    whole = {one.name: one for one in found if one.column is None and one.value is not None}
    before, after = (risk_of(class_sizes(table, quasi), THRESHOLD) for table in (original, released))
    return KeyFigures(before, after, tuple(whole[name] for name in LOSSES if name in whole))
