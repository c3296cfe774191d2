"""How much rarer or more common each place became: the ratio of two densities, estimated as one thing.

uLSIF: Kanamori, Hido & Sugiyama, "A least-squares approach to direct importance estimation", 2009. Estimating the ratio
at once is easier than estimating two densities and dividing. The Kullback–Leibler divergence of the original from the
released table is the mean of its logarithm over the original records (Oshima & Kameya; their equation 7 has lost the
logarithm).

Kernels are Gaussian, their centres drawn uniformly over the original's range: centres at data points leave gaps unseen.
Width and regularisation are chosen by leaving out one record of each table at a time, in closed form. No width is less
than the spacing of the centres: with narrower ones the estimate is zero between centres and its logarithm means nothing.
Written here because the package `densratio` holds an n × n matrix, which 50,000 records do not allow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from oboro.errors import InputError
from oboro.measure.metrics import Measure, mean_error
from oboro.measure.statistics.blas_threads import few_threads
from oboro.table.dataset import Dataset
from oboro.table.labels.recoded_column import RecodedColumn
from oboro.table.labels.starred_values import is_star
from oboro.table.rows.row_origins import source_rows
from oboro.text import Message

__all__ = ["DensityRatio", "Divergence", "density_ratio", "divergence", "kullback_leibler"]

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
