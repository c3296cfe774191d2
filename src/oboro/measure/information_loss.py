"""What generalization lost: levels climbed, the part of the domain left open, bits, squared errors.

Each measure is taken per column from a `RecodedColumn` and then over all columns; columns that it cannot be taken of are
named.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from oboro.errors import listing
from oboro.measure.key_figures import mean_known, mean_over_rows
from oboro.measure.metrics import Measure
from oboro.table.labels.recoded_column import RecodedColumn
from oboro.text import Message

__all__ = ["certainty_penalty", "entropy_loss", "intensity", "squared_error"]

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
