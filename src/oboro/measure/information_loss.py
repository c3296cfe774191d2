"""What generalization lost: levels climbed, the part of the domain left open, bits, squared errors.

Each measure is taken per column from a `RecodedColumn` and then over all columns; columns that it cannot be taken of are
named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from oboro.errors import listing
from oboro.measure.metrics import Measure
from oboro.table.labels.recoded_column import RecodedColumn

__all__ = ["certainty_penalty", "entropy_loss", "intensity", "squared_error"]

# Generalization -------------------------------------------------------------------------------------------------------

INTENSITY = "how far values climbed: mean level over the height of the hierarchy (without one: the value 0, * 1)"
NCP = "normalized certainty penalty: mean part of the column's domain that a released value may stand for"


def intensity(recodings: Mapping[str, RecodedColumn]) -> list[Measure]:
    """Generalization intensity: the mean level of the released values over the height of their hierarchy."""

    def score(recoded: RecodedColumn) -> float | None:
        return _mean(np.where(recoded.known, recoded.place[0] / recoded.height, np.nan), recoded)

    return _per_column("generalization_intensity", score, recodings, INTENSITY, "")


def certainty_penalty(recodings: Mapping[str, RecodedColumn], note: str) -> list[Measure]:
    """NCP (Xu et al. 2006): the mean share of the domain behind a released value; 0 where it is one value, else how many
    of all values, or how much of the range of all numbers."""
    return _per_column("ncp", lambda recoded: _mean(recoded.share, recoded), recodings, NCP, note)


def _mean(scores: np.ndarray, recoded: RecodedColumn) -> float | None:
    """The mean over rows of one number per released value; None where a value has none."""
    counts = recoded.released.counts
    return None if np.isnan(scores).any() or not counts.sum() else float(scores @ counts / counts.sum())


def _per_column(
    name: str,
    score: Callable[[RecodedColumn], float | None],
    recodings: Mapping[str, RecodedColumn],
    meaning: str,
    note: str,
) -> list[Measure]:
    """A measure per column, and their mean first."""
    values = {column: score(one) for column, one in recodings.items()}
    return [
        Measure(name, _mean_known(values.values()), meaning, "lower", note=_left_out(values, note)),
        *(
            Measure(name, value, meaning, "lower", column=column, note=note if value is not None else UNEXPLAINED)
            for column, value in values.items()
        ),
    ]


UNEXPLAINED = "the table has no records, or a released value is neither an original one nor a label of the hierarchy"


def _mean_known(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _left_out(values: Mapping[str, float | None], note: str) -> str:
    gone = [column for column, value in values.items() if value is None]
    return "; ".join(filter(None, [note, f"without {listing(gone)}" if gone else ""]))


# Entropy --------------------------------------------------------------------------------------------------------------

ENTROPY = "bits needed to get the original values back, over the bits needed if everything were suppressed"


def entropy_loss(recodings: Mapping[str, RecodedColumn], note: str) -> list[Measure]:
    """Non-uniform entropy: −Σ log₂ Pr(original value | released value) (Gionis and Tassa 2009), as a part of its
    maximum."""
    bits = {name: _bits(recoded) for name, recoded in recodings.items()}
    lost, most = sum(pair[0] for pair in bits.values() if pair), sum(pair[1] for pair in bits.values() if pair)
    whole = None if not any(bits.values()) else _ratio(lost, most)
    left_out = _left_out({name: None if pair is None else 0.0 for name, pair in bits.items()}, note)
    return [
        Measure("non_uniform_entropy", whole, ENTROPY, "lower", note=left_out),
        *(
            Measure("non_uniform_entropy", _ratio(*pair) if pair else None, ENTROPY, "lower", column=name, note=note)
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

SQUARED = "sum of the squared differences of standardized numbers"
MEAN_SQUARED = "mean of the squared differences of standardized numbers: SSE / SST, if every record is released"
AS_MEAN = "a number that is now missing or * counts as the mean; missing originals are left out"


def squared_error(recodings: Mapping[str, RecodedColumn], note: str) -> list[Measure]:
    """SSE of the columns that are numbers before and after, rows paired; standardized by the original mean and
    deviation."""
    numeric = {name: one.numbers for name, one in recodings.items() if one.numbers is not None}
    if not numeric:
        return []
    errors = {name: _column_error(recodings[name], *pair) for name, pair in numeric.items()}
    done = [error for error in errors.values() if error is not None]
    said = "; ".join(filter(None, [note, AS_MEAN if done else ""]))
    total = sum(error for error, _ in done) if done else None
    cells = sum(count for _, count in done)
    mean = total / cells if total is not None and cells else None
    return [
        Measure("sse", total, SQUARED, "lower", high=None, note=said),
        Measure("mean_squared_error", mean, MEAN_SQUARED, "lower", high=None, note=said),
        *(
            Measure("sse", error and error[0], SQUARED, "lower", high=None, column=name, note=said)
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
