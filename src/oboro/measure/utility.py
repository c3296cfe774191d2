"""What a release lost: measures that compare it with the original table, each saying what it means.

All of them speak of the released records; records that are gone are counted by `records_released`, and by the
discernibility metric, which charges for them. A missing value is a value like any other. `*` stands for every value of its
column and is lost: measures charge it in full, and `lost_values` says beside them how much that is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from oboro.errors import UsageError
from oboro.measure.information_loss import certainty_penalty, entropy_loss, intensity, squared_error
from oboro.measure.key_figures import suppressed_records
from oboro.measure.metrics import Measure
from oboro.measure.statistics.resemblance import resemblance
from oboro.table.dataset import Dataset
from oboro.table.hierarchy import Hierarchy
from oboro.table.labels.recoded_column import RecodedColumn
from oboro.table.labels.starred_values import is_star
from oboro.table.named_columns import require_in_both
from oboro.table.rows.row_origins import same_rows
from oboro.text import Message
from oboro.verifier.classes import class_sizes

__all__ = ["suppression", "utility"]

ASSUMED = Message("measure.note.same_order")
UNPAIRED = Message("measure.note.unpaired")


def utility(
    original: Dataset,
    released: Dataset,
    *,
    quasi: Sequence[str],
    hierarchies: Mapping[str, Hierarchy] | None = None,
    k: int = 1,
    paired: bool = True,
    sizes: np.ndarray | None = None,
    sure: bool = False,
) -> list[Measure]:
    """Measure what `released` lost against `original`.

    `quasi` columns form the classes and carry the measures of generalization (none: neither is measured);
    distributions are compared for every column that both tables have. `hierarchies` (bound to original columns)
    explain released labels; without one, a label stands for the original values behind it. `k` scales the average
    class size. Which released row came from which original one is what the released dataset remembers, else the same
    position if both have as many rows (`sure` where that is known, not assumed); `paired=False` says that rows do not
    correspond, then measures that need it are not taken. `sizes` of the released classes, where they are known already,
    save counting them again.
    """
    _require(original, released, quasi, k)
    rows = same_rows(original, released) if paired else None
    notes = (UNPAIRED,) if rows is None else (ASSUMED,) if released.origin is None and not sure else ()
    known = hierarchies or {}
    shared = [name for name in released if name in original]
    recodings = {name: RecodedColumn.of(original[name], released[name], known.get(name), rows) for name in shared}
    measures = [_records_released(original, released)]
    if quasi:
        ours = {name: recodings[name] for name in quasi}
        measures += suppression(released, quasi) + intensity(ours) + certainty_penalty(ours, notes)
        counted = class_sizes(released, quasi) if sizes is None else sizes
        measures += _classes(original, released, quasi, counted, k) + entropy_loss(ours, notes)
    measures += squared_error(recodings, notes)
    measures += _lost_values(recodings)
    return measures + [measure for name in shared for measure in resemblance(name, recodings[name])]


def _lost_values(recodings: Mapping[str, RecodedColumn]) -> list[Measure]:
    """The part of each column, and of all of them, that says nothing any more."""
    shares = {name: one.lost_share for name, one in recodings.items()}
    each = [Measure("lost_values", share, "lower", column=name) for name, share in shares.items()]
    return [Measure("lost_values", sum(shares.values()) / len(shares), "lower"), *each] if each else []


def _require(original: Dataset, released: Dataset, quasi: Sequence[str], k: int) -> None:
    require_in_both(quasi, original, released, "quasi")
    if k < 1:
        raise UsageError(Message("error_measure.k", k=k))


# Suppression ----------------------------------------------------------------------------------------------------------


def _records_released(original: Dataset, released: Dataset) -> Measure:
    part = _over(released.rows, original.rows)
    return Measure("records_released", part, "higher", high=None)


def suppression(released: Dataset, quasi: Sequence[str]) -> list[Measure]:
    """Suppressed records and cells, over all quasi-identifiers and of each."""
    rows = released.rows
    stars = {name: float(column.counts[is_star(column)].sum()) for name in quasi for column in [released[name]]}
    records = _over(suppressed_records(released, quasi), rows)
    cells = _over(sum(stars.values()), rows * len(stars))
    return [
        Measure("suppressed_records", records, "lower"),
        Measure("suppressed_cells", cells, "lower"),
        *(
            Measure("suppressed_cells", _over(count, rows), "lower", column=name, means=SUPPRESSED_IN_COLUMN)
            for name, count in stars.items()
        ),
    ]


SUPPRESSED_IN_COLUMN = Message("measure.suppressed_cells.meaning_of_column")


def _over(count: float, whole: float) -> float | None:
    return float(count / whole) if whole else None


# Classes --------------------------------------------------------------------------------------------------------------


def _classes(original: Dataset, released: Dataset, quasi: Sequence[str], sizes: np.ndarray, k: int) -> list[Measure]:
    """Discernibility (Bayardo and Agrawal 2005) and average class size (LeFevre et al. 2006)."""
    suppressed = suppressed_records(released, quasi)
    gone = max(0, original.rows - released.rows)
    whole = max(original.rows, released.rows)
    squares = int((sizes**2).sum()) - suppressed**2  # the suppressed records are a class of their own
    kept, groups = released.rows - suppressed, len(sizes) - (suppressed > 0)
    average = kept / (groups * k) if groups else None
    return [
        Measure(
            "discernibility",
            float(squares + (suppressed + gone) * whole),
            "lower",
            low=float(whole),
            high=float(whole) ** 2,
        ),
        Measure(
            "average_class_size",
            average,
            "lower",
            high=None,
            means=Message("measure.average_class_size.meaning", k=k),
        ),
    ]
