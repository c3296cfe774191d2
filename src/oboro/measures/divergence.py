"""Divergence between the distributions of a column in the original and in the release.

Numbers and dates are counted in equal bins over the range of both tables, unless few values are all there is;
generalized labels are spread evenly over the values under them where a hierarchy or the labels themselves explain them all.
What is lost (`*`, or a label for everything) is a bin of its own, in which the original has no records.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.row_order import source_rows
from oboro.errors import InputError
from oboro.hierarchies.hierarchy import text_array
from oboro.hierarchies.labels import is_star, plain_numbers
from oboro.hierarchies.recoding import RecodedColumn
from oboro.measures.base import Measure, mean_error
from oboro.measures.learning import few_threads
from oboro.text import Message

__all__ = [
    "DensityRatio",
    "Divergence",
    "aligned",
    "density_ratio",
    "divergence",
    "divergences",
    "histogram_divergence",
    "jensen_shannon",
    "kolmogorov_smirnov",
    "kullback_leibler",
    "lost_note",
    "resemblance",
    "spread_counts",
    "total_variation",
    "wasserstein",
]


# Density ratio --------------------------------------------------------------------------------------------------------
# Ratio of two densities, estimated directly.
#
# uLSIF: Kanamori, Hido & Sugiyama, "A least-squares approach to direct importance estimation", 2009. Estimating the
# ratio at once is easier than estimating two densities and dividing. The Kullback–Leibler divergence of the original
# from the released table is the mean of its logarithm over the original records (Oshima & Kameya; their equation 7 has
# lost the logarithm).
#
# Kernels are Gaussian, their centres drawn uniformly over the original's range: centres at data points leave gaps
# unseen. Width and regularisation are chosen by leaving out one record of each table at a time, in closed form. No
# width is less than the spacing of the centres: with narrower ones the estimate is zero between centres and its
# logarithm means nothing. Written here because the package `densratio` holds an n × n matrix, which 50,000 records do
# not allow.


CENTRES = 100
WIDTHS = (1.0, 1.5, 2.2, 3.3, 5.0, 7.5, 11.0, 16.0)  # in spacings of the centres
REGULARISATIONS = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
LEFT_OUT = 1_000  # pairs of records that are left out in turn, drawn at random where there are more
GRID = 8_192  # steps over the range of a single column: a hundredth of the least width
BLOCK = 50_000  # records whose kernels are held at a time


@dataclass(frozen=True, eq=False)
class DensityRatio:
    """The estimated ratio: a sum of Gaussian kernels with weights that are not negative."""

    low: np.ndarray
    """Where each column begins and …"""
    range: np.ndarray
    """… how far it reaches in the original: kernels are round in these units."""
    centres: np.ndarray
    width: float
    regularisation: float
    weights: np.ndarray

    def at(self, points: np.ndarray) -> np.ndarray:
        """The ratio at each point (records × columns)."""
        scaled = (points - self.low) / self.range
        return np.concatenate([part @ self.weights for part in _kernels(scaled, self.centres, self.width)])


@dataclass(frozen=True)
class Divergence:
    """The mean logarithm of the ratio over the original records where it is positive, and how many those are.

    `error` is half the 95 % interval, from what each record of either table weighs in it: the logarithm of the ratio for an
    original one, the ratio for a released one.
    """

    value: float | None
    positive: float
    error: float | None = None


def density_ratio(
    numerator: np.ndarray, denominator: np.ndarray, *, rng: np.random.Generator, centres: int = CENTRES
) -> DensityRatio:
    """Estimate density of `numerator` / density of `denominator`, both records × columns, over the numerator's range.

    Its mean over the denominator is made 1, as that of the true ratio is. Regularised weights are too small by a factor
    that depends on where the centres happen to lie: without this the divergence of a sample from another of the same
    normal distribution was ±0.04, with it ±0.005. O(records · centres²) for each width, in blocks of bounded memory.
    """
    if min(len(numerator), len(denominator)) < 2:
        raise InputError(Message("error_measure.density_ratio"))
    low = numerator.min(axis=0)
    spread = numerator.max(axis=0) - low
    spread = np.where(spread > 0, spread, 1.0)
    above, below = (numerator - low) / spread, (denominator - low) / spread
    columns = above.shape[1]
    places = rng.random((centres, columns))
    spacing = centres ** (-1 / columns)
    with few_threads(max(len(above), len(below)), most=200_000):
        fit, regularisation = _chosen(above, below, places, spacing, rng)
        weights = fit.weights(regularisation)
        ratio = DensityRatio(low, spread, places, fit.width, regularisation, weights)
        mean = float(ratio.at(denominator).mean())
    return replace(ratio, weights=weights / mean) if mean > 0 else ratio


def divergence(original: np.ndarray, released: np.ndarray, *, rng: np.random.Generator) -> Divergence:
    """KL(original ‖ released) from records × columns; an estimate, so it may fall a little below 0."""
    ratio = density_ratio(original, released, rng=rng)
    ratios = ratio.at(original)
    there = ratios > 0
    if not there.any():
        return Divergence(None, 0.0)
    logs = np.log(ratios[there])
    ours, theirs = (mean_error(side) or 0.0 for side in (logs, ratio.at(released)))
    return Divergence(float(logs.mean()), float(there.mean()), float(np.hypot(ours, theirs)))


def kullback_leibler(
    original: Dataset, released: Dataset, columns: Sequence[str], *, rng: np.random.Generator
) -> Measure:
    """KL(original ‖ released) over one or several numeric columns together; records with a missing number are left out.

    Where a part λ of the released records has `*`, the rest spreads over 1 − λ: what is lost adds −log(1 − λ), exactly.
    """
    name = columns[0] if len(columns) == 1 else None
    about = () if name else (Message("measure.note.together", columns=list(columns)),)
    points, lost = _points(original, released, columns), _lost(released, columns)
    if points is None or min(map(len, points)) < 2:
        notes = (*about, Message("measure.note.needs_numbers"))
        return Measure("kl_density_ratio", None, "lower", high=None, column=name, notes=notes)
    found = divergence(*points, rng=rng)
    positive = Message("measure.note.positive_ratio", share=f"{found.positive:.1%}")
    notes = (*about, *((Message("measure.note.lost", share=lost),) if lost else ()), ESTIMATE, positive)
    value = None if found.value is None else found.value - float(np.log1p(-lost))
    return Measure("kl_density_ratio", value, "lower", 0.0, None, name, notes, found.error)


ESTIMATE = Message("measure.note.estimate")


def _lost(released: Dataset, columns: Sequence[str]) -> float:
    """The part of the released records, among those that miss nothing, with `*` in one of the columns."""
    stars, missing = np.zeros(released.rows, bool), np.zeros(released.rows, bool)
    for name in columns:
        column = released[name]
        stars |= is_star(column)[column.codes]
        missing |= column.values.is_null().to_numpy(zero_copy_only=False)[column.codes]
    return float(stars[~missing].mean()) if not missing.all() else 0.0


def _points(original: Dataset, released: Dataset, columns: Sequence[str]) -> tuple[np.ndarray, np.ndarray] | None:
    """Both tables as points, records with a missing or suppressed number left out; None where a column has no numbers."""
    rows = source_rows(original, released)
    sides: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    for name in columns:
        recoded = RecodedColumn.of(original[name], released[name], None, rows)
        if recoded.numbers is None:
            return None
        for side, numbers, column in zip(sides, recoded.numbers, (recoded.original, recoded.released), strict=True):
            side.append(numbers[column.codes])
    before, after = (np.column_stack(side) for side in sides)
    return before[~np.isnan(before).any(axis=1)], after[~np.isnan(after).any(axis=1)]


# The estimate --------------------------------------------------------------------------------------------------------


def _chosen(
    above: np.ndarray, below: np.ndarray, centres: np.ndarray, spacing: float, rng: np.random.Generator
) -> tuple[_Fit, float]:
    """The width (with what belongs to it) and the regularisation that predict records left out best."""
    pairs = min(len(above), len(below), LEFT_OUT)
    left_out = above[rng.permutation(len(above))[:pairs]], below[rng.permutation(len(below))[:pairs]]
    samples = _Sample.of(above), _Sample.of(below)
    tried = []
    for width in WIDTHS:
        fit = _Fit.of(*samples, centres, spacing * width)
        scores = fit.scores(*left_out, REGULARISATIONS)
        tried += [(score, fit, value) for score, value in zip(scores, REGULARISATIONS, strict=True)]
    _, fit, regularisation = min(tried, key=lambda one: one[0])
    return fit, regularisation


@dataclass(frozen=True, eq=False)
class _Sample:
    """Points and how many records stand at each. One column is rounded to a fine grid, so its points are few."""

    points: np.ndarray
    counts: np.ndarray

    @staticmethod
    def of(matrix: np.ndarray) -> _Sample:
        if matrix.shape[1] > 1:  # combinations hardly repeat, and sorting them would take longer than it saves
            return _Sample(matrix, np.ones(len(matrix)))
        points, counts = np.unique(np.rint(matrix[:, 0] * GRID) / GRID, return_counts=True)
        return _Sample(points[:, None], counts.astype(np.float64))

    @property
    def records(self) -> int:
        return int(self.counts.sum())

    def kernels(self, centres: np.ndarray, width: float) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        parts = _kernels(self.points, centres, width)
        yield from zip(parts, np.split(self.counts, range(BLOCK, len(self.counts), BLOCK)), strict=True)


@dataclass(frozen=True, eq=False)
class _Fit:
    """What one width needs: H (mean of φφᵀ below) by its eigenvectors, h (mean of φ above)."""

    centres: np.ndarray
    width: float
    values: np.ndarray
    vectors: np.ndarray
    mean: np.ndarray
    above: int
    below: int

    @staticmethod
    def of(above: _Sample, below: _Sample, centres: np.ndarray, width: float) -> _Fit:
        second = sum((part * counts[:, None]).T @ part for part, counts in below.kernels(centres, width))
        first = sum(counts @ part for part, counts in above.kernels(centres, width))
        values, vectors = np.linalg.eigh(np.asarray(second) / below.records)
        mean = np.asarray(first) / above.records
        return _Fit(centres, width, np.maximum(values, 0.0), vectors, mean, above.records, below.records)

    def weights(self, regularisation: float) -> np.ndarray:
        """(H + λ)⁻¹ h, negative ones as 0."""
        turned = self.vectors.T @ self.mean / (self.values + regularisation)
        return np.asarray(np.maximum(self.vectors @ turned, 0.0))

    def scores(self, above: np.ndarray, below: np.ndarray, regularisations: Sequence[float]) -> list[float]:
        """For each λ the mean of ½ r(y)² − r(x) over pairs (x above, y below), r estimated without the pair.

        Without y, H + λ becomes H + λ(m − 1)/m − φφᵀ/m, up to a factor, whose inverse differs from one common inverse by
        a product of two vectors (Sherman & Morrison). All in the axes of H, where that inverse is a division.
        """
        m, n = self.below, self.above
        phi_x, phi_y = (next(_kernels(side, self.centres, self.width)).T for side in (above, below))
        x, y, h = (self.vectors.T @ side for side in (phi_x, phi_y, self.mean))
        found = []
        for regularisation in regularisations:
            inverse = 1 / (self.values + regularisation * (m - 1) / m)[:, None]
            solved = y * inverse
            rest = m - (y * solved).sum(axis=0)
            without_h = h[:, None] * inverse + solved * (h @ solved / rest)
            without_x = x * inverse + solved * ((x * solved).sum(axis=0) / rest)
            weights = np.maximum(self.vectors @ ((m - 1) / m * (n * without_h - without_x) / (n - 1)), 0.0)
            at_y, at_x = (phi_y * weights).sum(axis=0), (phi_x * weights).sum(axis=0)
            found.append(float((at_y**2 / 2 - at_x).mean()))
        return found


def _kernels(points: np.ndarray, centres: np.ndarray, width: float) -> Iterator[np.ndarray]:
    """exp(−|x − c|² / 2σ²) for all points and centres, some points at a time."""
    for start in range(0, len(points), BLOCK):
        part = points[start : start + BLOCK]
        squares = sum((part[:, [j]] - centres[:, j]) ** 2 for j in range(centres.shape[1]))
        yield np.exp(-squares / (2 * width**2))


# Distance of distributions --------------------------------------------------------------------------------------------
# Distance of the distribution of a released column from the original one.
#
# Categories: total variation. Numbers and dates: Kolmogorov–Smirnov (the greatest gap between the cumulated shares) and
# Wasserstein-1 over the range of both. Generalized labels are spread evenly over the values under them where a
# hierarchy or the labels themselves (`31–38`) explain them all; otherwise they are compared as categories of their own.
#
# A value that is lost (`*`, or a label for everything) is not spread: a destroyed column would look as if it had been
# even. It is charged in full, as NCP (Xu et al. 2006) and discernibility (Bayardo and Agrawal 2005) charge it: it is a
# category that the original lacks, so that total variation is at least the share that is lost. On a line it lies beyond
# the last number, or before the first if that is further off; the way to it is the whole range. (SDMetrics leaves
# missing values out and counts them separately; a column of which little is left may then look perfect.)


SPREAD = Message("measure.note.spread")
AS_CATEGORIES = Message("measure.note.as_categories")
ONLY_NUMBERS = Message("measure.note.only_numbers")
LOST = "measure.note.lost"
NO_RECORDS = Message("measure.note.no_records")


def resemblance(name: str, recoded: RecodedColumn) -> list[Measure]:
    """The distances that fit the column."""
    original, released = recoded.original, recoded.released
    if not len(original) or not len(released):
        return [_total_variation(name, None, NO_RECORDS)]
    if recoded.spreads:
        return _spread(name, recoded)
    if recoded.line is not None:
        before, after = recoded.line
        lost = float(released.counts[recoded.stars].sum())
        return _numeric(
            name, (before, original.counts), (after, released.counts), lost, *lost_note(recoded), ONLY_NUMBERS
        )
    notes = (AS_CATEGORIES,) if ((recoded.place[0] != 0) & ~recoded.stars).any() else ()
    return [_total_variation(name, total_variation(*aligned(original, released)), *lost_note(recoded), *notes)]


def lost_note(recoded: RecodedColumn) -> tuple[Message, ...]:
    """Note on the lost part of a column, if some of it is lost."""
    return (Message(LOST, share=recoded.lost_share),) if recoded.lost.any() else ()


def spread_counts(recoded: RecodedColumn) -> tuple[np.ndarray, np.ndarray]:
    """Both columns counted over the original values, released labels spread over those under them; what is lost comes last."""
    original = recoded.original
    lost = float(recoded.released.counts[recoded.lost].sum())
    return np.append(original.counts, 0), np.append(recoded.leaves(), lost)


def _spread(name: str, recoded: RecodedColumn) -> list[Measure]:
    """The distances after spreading every label over the values under it."""
    original = recoded.original
    before, after = spread_counts(recoded)
    spread = (SPREAD,) if ((recoded.place[0] != 0) & ~recoded.lost).any() else ()
    notes = (*lost_note(recoded), *spread)
    numbers = plain_numbers(original)
    if numbers is None:
        return [_total_variation(name, total_variation(before, after), *notes)]
    return _numeric(name, (numbers, original.counts), (numbers, after[:-1]), float(after[-1]), *notes, ONLY_NUMBERS)


def total_variation(first: np.ndarray, second: np.ndarray) -> float:
    """Half the sum of the differences of two distributions over the same values, each given by its counts.

    >>> total_variation(np.array([2, 2]), np.array([1, 0]))
    0.5
    """
    return float(np.abs(first / first.sum() - second / second.sum()).sum() / 2)


def kolmogorov_smirnov(first: np.ndarray, second: np.ndarray, lost: float = 0.0) -> float:
    """The greatest gap between the cumulated shares of two distributions over the same sorted values; `lost` of the second
    stand beyond the last value or before the first, whichever is further off.

    >>> kolmogorov_smirnov(np.array([1, 3]), np.array([3, 1])), kolmogorov_smirnov(np.array([1, 3]), np.array([1, 0]), lost=3)
    (0.5, 0.75)
    """
    gaps = np.cumsum(first / first.sum() - second / (second.sum() + lost))
    share = lost / (second.sum() + lost)
    return float(max(np.abs(gaps).max(initial=0), np.abs(gaps - share).max(initial=share)))


def wasserstein(values: np.ndarray, first: np.ndarray, second: np.ndarray, lost: float = 0.0) -> float:
    """The mean way that a share must travel to turn one distribution over sorted values into the other, over their
    range; `lost` of the second have travelled the whole of it.

    >>> wasserstein(np.array([0, 10]), np.array([1, 1]), np.array([1, 1]), lost=2)
    0.5
    """
    share = lost / (second.sum() + lost)
    width = values[-1] - values[0]
    if not second.sum() or width <= 0:
        return float(share)
    gaps = np.abs(np.cumsum(first / first.sum() - second / second.sum()))[:-1]
    return float(share + (1 - share) * (gaps * np.diff(values)).sum() / width)


def _numeric(
    name: str,
    before: tuple[np.ndarray, np.ndarray],
    after: tuple[np.ndarray, np.ndarray],
    lost: float,
    *notes: Message,
) -> list[Measure]:
    values = np.unique(np.concatenate([before[0], after[0]]))
    values = values[~np.isnan(values)]
    first, second = (_counts_at(values, *side) for side in (before, after))
    empty = not first.sum() or not second.sum() + lost
    gap = None if empty else kolmogorov_smirnov(first, second, lost)
    way = None if empty else wasserstein(values, first, second, lost)
    return [
        Measure("kolmogorov_smirnov", gap, "lower", column=name, notes=notes),
        Measure("wasserstein", way, "lower", column=name, notes=notes),
    ]


def _counts_at(values: np.ndarray, numbers: np.ndarray, counts: np.ndarray) -> np.ndarray:
    there = ~np.isnan(numbers)
    place = np.searchsorted(values, numbers[there])
    return np.bincount(place, weights=counts[there], minlength=values.size)


def aligned(original: Column, released: Column) -> tuple[np.ndarray, np.ndarray]:
    """The counts of both columns over the union of their values, matched by text."""
    texts = pa.concat_arrays([text_array(original.values), text_array(released.values)])
    union = texts.dictionary_encode(null_encoding="encode")
    place = union.indices.to_numpy(zero_copy_only=False)
    width, cut = len(union.dictionary), len(original.values)
    first = np.bincount(place[:cut], weights=original.counts, minlength=width)
    return first, np.bincount(place[cut:], weights=released.counts, minlength=width)


def _total_variation(name: str, value: float | None, *notes: Message) -> Measure:
    return Measure("total_variation", value, "lower", column=name, notes=notes)


# Divergence -----------------------------------------------------------------------------------------------------------


BINS = 50


def divergences(name: str, recoded: RecodedColumn) -> list[Measure]:
    """Kullback–Leibler over a histogram, and Jensen–Shannon."""
    counts = _counts(recoded)
    empty = counts is None
    spread = None if counts is None else histogram_divergence(*counts)
    between = None if counts is None else jensen_shannon(*counts)
    lost = lost_note(recoded)
    notes = (*lost, Message("measure.note.no_values" if empty else "measure.note.half_a_record"))
    means = Message("measure.kl_histogram.meaning", bins=BINS)
    return [
        Measure("kl_histogram", spread, "lower", high=None, column=name, notes=notes, means=means),
        Measure("jensen_shannon", between, "lower", column=name, notes=notes if empty else lost),
    ]


def histogram_divergence(first: np.ndarray, second: np.ndarray) -> float:
    """KL(first ‖ second) of two distributions over the same bins given by their counts, half a record added to each.

    Without the half, one empty bin would make it infinite (Krichevsky & Trofimov add the same to estimate a share).

    >>> round(histogram_divergence(np.array([2.5, 0.5]), np.array([0.5, 2.5])), 6)
    0.549306
    """
    p, q = ((counts + 0.5) / (counts.sum() + 0.5 * counts.size) for counts in (first, second))
    return float((p * np.log(p / q)).sum())


def jensen_shannon(first: np.ndarray, second: np.ndarray) -> float:
    """The mean divergence of two distributions from their average, in bits.

    >>> jensen_shannon(np.array([1, 0]), np.array([0, 1])), jensen_shannon(np.array([1, 2]), np.array([2, 4]))
    (1.0, 0.0)
    """
    p, q = first / first.sum(), second / second.sum()
    middle = (p + q) / 2
    parts = [side[side > 0] * np.log2(side[side > 0] / middle[side > 0]) for side in (p, q)]
    return float(sum(part.sum() for part in parts) / 2)


def _counts(recoded: RecodedColumn) -> tuple[np.ndarray, np.ndarray] | None:
    """Both columns counted over the same bins."""
    original, released = recoded.original, recoded.released
    if not len(original) or not len(released):
        return None
    if recoded.spreads:
        return _with_lost(*_in_bins(plain_numbers(original), *spread_counts(recoded)))
    if recoded.line is None:
        return aligned(original, released)
    counts = _binned(*recoded.line, original.counts, released.counts)
    lost = float(released.counts[recoded.stars].sum())
    return None if counts is None else _with_lost(np.append(counts[0], 0), np.append(counts[1], lost))


def _in_bins(numbers: np.ndarray | None, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Counts of values and of what is lost, in equal bins where the values are many numbers."""
    if numbers is None or np.isnan(numbers).any() or numbers.size <= BINS:
        return first, second
    counts = _binned(numbers, numbers, first[:-1], second[:-1])
    assert counts is not None  # there are numbers
    return np.append(counts[0], first[-1]), np.append(counts[1], second[-1])


def _with_lost(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Counts whose last bin is what is lost; without it where nothing is, None where a side has nothing."""
    cut = slice(None) if second[-1] else slice(-1)
    return (first[cut], second[cut]) if first.sum() and second.sum() else None


def _binned(
    before: np.ndarray, after: np.ndarray, counts_before: np.ndarray, counts_after: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    both = np.concatenate([before, after])
    values = np.unique(both[~np.isnan(both)])
    if not values.size:
        return None
    few = values.size <= BINS
    edges = np.append(values, np.inf) if few else np.linspace(values[0], values[-1], BINS + 1)
    first, second = (
        np.histogram(side[~np.isnan(side)], bins=edges, weights=counts[~np.isnan(side)])[0]
        for side, counts in ((before, counts_before), (after, counts_after))
    )
    return first, second
