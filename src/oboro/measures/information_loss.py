"""Measures of information loss: generalization, certainty penalty, entropy, squared errors, suppression.

Each measure is taken per column from a `RecodedColumn` and then over all columns; columns that it cannot be taken of are
named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from oboro.data.dataset import Dataset
from oboro.data.parameters import require_in_both
from oboro.data.row_order import same_rows
from oboro.errors import UsageError, listing
from oboro.hierarchies.hierarchy import Hierarchy
from oboro.hierarchies.labels import is_star
from oboro.hierarchies.recoding import RecodedColumn
from oboro.measures.base import Measure
from oboro.measures.divergence import resemblance
from oboro.measures.risk import mean_known, mean_over_rows, suppressed_records
from oboro.text import Message
from oboro.verifier.classes import class_sizes

__all__ = ["certainty_penalty", "entropy_loss", "intensity", "squared_error", "suppression", "utility"]


Notes = tuple[Message, ...]

# Generalization -------------------------------------------------------------------------------------------------------


def intensity(recodings: Mapping[str, RecodedColumn]) -> list[Measure]:
    """Generalization intensity: the mean level of the released values over the height of their hierarchy."""
    values = {name: mean_over_rows(one.relative_level, one) for name, one in recodings.items()}
    return _per_column("generalization_intensity", values, ())


def certainty_penalty(recodings: Mapping[str, RecodedColumn], notes: Notes) -> list[Measure]:
    """NCP (Xu et al. 2006): the mean share of the domain behind a released value; 0 where it is one value, else how many
    of all values, or how much of the range of all numbers."""
    return _per_column("ncp", {name: mean_over_rows(one.share, one) for name, one in recodings.items()}, notes)


def _per_column(name: str, values: Mapping[str, float | None], notes: Notes) -> list[Measure]:
    """A measure per column, and their mean first."""
    return [
        Measure(name, mean_known(values.values()), "lower", notes=_left_out(values, notes)),
        *(
            Measure(name, value, "lower", column=column, notes=notes if value is not None else UNEXPLAINED)
            for column, value in values.items()
        ),
    ]


UNEXPLAINED = (Message("measure.note.unexplained"),)


def _left_out(values: Mapping[str, float | None], notes: Notes) -> Notes:
    gone = [column for column, value in values.items() if value is None]
    return (*notes, Message("measure.note.without", columns=listing(gone))) if gone else notes


# Entropy --------------------------------------------------------------------------------------------------------------


def entropy_loss(recodings: Mapping[str, RecodedColumn], notes: Notes) -> list[Measure]:
    """Non-uniform entropy: −Σ log₂ Pr(original value | released value) (Gionis and Tassa 2009), as a part of its
    maximum."""
    bits = {name: _bits(recoded) for name, recoded in recodings.items()}
    lost, most = sum(pair[0] for pair in bits.values() if pair), sum(pair[1] for pair in bits.values() if pair)
    whole = None if not any(bits.values()) else _ratio(lost, most)
    left_out = _left_out({name: None if pair is None else 0.0 for name, pair in bits.items()}, notes)
    return [
        Measure("non_uniform_entropy", whole, "lower", notes=left_out),
        *(
            Measure("non_uniform_entropy", _ratio(*pair) if pair else None, "lower", column=name, notes=notes)
            for name, pair in bits.items()
        ),
    ]


def _ratio(lost: float, most: float) -> float:
    """A column with one value has nothing to lose."""
    return lost / most if most > 0 else 0.0


def _bits(recoded: RecodedColumn) -> tuple[float, float] | None:
    """Bits lost over all released rows, and bits lost if all were suppressed. Pr(a | b) = count(a) / count(what b may
    be)."""
    behind = recoded.behind
    if behind is None or not behind.counts.size or np.isnan(recoded.weight).any():
        return None
    own = np.log2(recoded.original.counts[behind.codes])
    weight = np.repeat(np.log2(recoded.weight), behind.distinct)
    # A label that does not cover the value behind it (a swapped one) says nothing of it, but never less than nothing.
    lost = np.maximum(weight - own, 0.0)
    return float(lost @ behind.counts), float((np.log2(recoded.original.counts.sum()) - own) @ behind.counts)


# Squared error --------------------------------------------------------------------------------------------------------

AS_MEAN = (Message("measure.note.as_mean"), Message("measure.note.missing_originals"))


def squared_error(recodings: Mapping[str, RecodedColumn], notes: Notes) -> list[Measure]:
    """SSE of the columns that are numbers before and after, rows paired; standardized by the original mean and
    deviation."""
    numeric = {name: one.line for name, one in recodings.items() if one.line is not None}
    if not numeric:
        return []
    errors = {name: _column_error(recodings[name], *pair) for name, pair in numeric.items()}
    done = [error for error in errors.values() if error is not None]
    said = (*notes, *AS_MEAN) if done else notes
    total = sum(error for error, _ in done) if done else None
    cells = sum(count for _, count in done)
    mean = total / cells if total is not None and cells else None
    return [
        Measure("sse", total, "lower", high=None, notes=said),
        Measure("mean_squared_error", mean, "lower", high=None, notes=said),
        *(
            Measure("sse", error and error[0], "lower", high=None, column=name, notes=said)
            for name, error in errors.items()
        ),
    ]


def _column_error(recoded: RecodedColumn, before: np.ndarray, after: np.ndarray) -> tuple[float, int] | None:
    """The squared error and over how many numbers, or None where rows are not paired."""
    behind = recoded.behind
    if behind is None:
        return None
    mean, deviation = _moments(before, recoded.original.counts)
    old = before[behind.codes]
    new = np.repeat(np.where(np.isnan(after), mean, after), behind.distinct)
    there = ~np.isnan(old)
    squares = ((new[there] - old[there]) / (deviation or 1.0)) ** 2
    return float(squares @ behind.counts[there]), int(behind.counts[there].sum())


def _moments(numbers: np.ndarray, counts: np.ndarray) -> tuple[float, float]:
    there = ~np.isnan(numbers)
    weights = counts[there] / counts[there].sum()
    mean = float(numbers[there] @ weights)
    return mean, float(np.sqrt(((numbers[there] - mean) ** 2) @ weights))


# Summary of information loss ------------------------------------------------------------------------------------------
# Measures that compare a release with the original table, each with its meaning.
#
# All of them cover the released records; missing records are counted by `records_released`, and by the discernibility
# metric, which charges for them. A missing value is a value like any other. `*` represents every value of its column
# and is lost: measures charge it in full, and `lost_values` adds how much that is.


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
