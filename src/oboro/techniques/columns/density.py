"""New values for old: draws from a density that only knows the intervals and how many records each holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

__all__ = ["Density", "Shape"]

Shape = Literal["uniform", "linear"]

CHANCE = 10  # records; an interval with so many is half uniform. Of 5, 10 and 20 the one that never lost to uniform


@dataclass(frozen=True, eq=False)
class Density:
    """A density over neighbouring intervals, straight between their edges and middles."""

    edges: np.ndarray
    """Where the intervals begin and end; one more than there are intervals."""
    left: np.ndarray
    """The height just right of each interval's left edge."""
    middle: np.ndarray
    """The height in the middle of each interval."""
    right: np.ndarray
    """The height just left of each interval's right edge."""

    @staticmethod
    def of(edges: np.ndarray, sizes: np.ndarray, shape: Shape) -> Density:
        """Each interval gets the part of the whole that its records are.

        `uniform`: the same height all over an interval, as a histogram has it. `linear`: straight from each edge to the
        middle. At an edge both neighbours aim at their common height (all their records over their whole width, at most
        twice the lower side), at the outermost edges at 0, and the middle is as high as the interval's records then
        need: never negative. The fewer records an interval holds, the more of the uniform density is mixed in (half at
        10 records), for what looks like a slope is then mostly chance.

        On the paper's mixtures of normal distributions (36 data sets, n = 1,000, and 12 of 10,000) the Kullback–Leibler
        divergence of the truth is 0.40 to 0.99 times that from the uniform density for every method and k of the
        paper's tables tried; n = 1,000, k = 5: BIC 0.51, AIC 0.98, Hansen 0.99. Without the uniform part AIC at k = 5
        has 1.18: its intervals of 5 records are tall by chance, and a line makes their middle taller still. Harmonic means at the
        edges (BIC 0.62, AIC 1.23), the lower side (1.0), arithmetic means (1.8) and lines fitted to each interval's
        mean (0.78) did worse.
        """
        width = np.diff(edges)
        height = sizes / sizes.sum() / width
        if shape == "uniform":
            return Density(edges, height, height, height)
        common = (sizes[:-1] + sizes[1:]) / sizes.sum() / (width[:-1] + width[1:])
        inner = np.minimum(common, 2 * np.minimum(height[:-1], height[1:]))
        knots = np.concatenate([[0.0], inner, [0.0]])
        left, right = knots[:-1], knots[1:]
        sure = sizes / (sizes + CHANCE)

        def mixed(line: np.ndarray) -> np.ndarray:
            return np.asarray(sure * line + (1 - sure) * height)

        return Density(edges, mixed(left), mixed(2 * height - (left + right) / 2), mixed(right))

    def at(self, interval: np.ndarray, place: np.ndarray) -> np.ndarray:
        """The density in an interval, at a place from 0 (its left edge) to 1 (its right edge)."""
        rising = self.left[interval] + (self.middle - self.left)[interval] * 2 * place
        falling = self.middle[interval] + (self.right - self.middle)[interval] * (2 * place - 1)
        return np.asarray(np.where(place < 0.5, rising, falling))

    def draw(self, interval: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """One number for each record, from its own interval. Two random numbers a record."""
        half, along = rng.random((2, interval.size))
        first = self.left + self.middle
        # Half of an interval, chosen by its area, and in it the inverse of a straight density's distribution.
        later = half * (first + self.middle + self.right)[interval] >= first[interval]
        start = np.where(later, self.middle[interval], self.left[interval])
        end = np.where(later, self.right[interval], self.middle[interval])
        root = np.sqrt(start**2 + along * (end**2 - start**2))
        place = np.divide(along * (start + end), start + root, out=along.copy(), where=start + root > 0)
        place = (place + later) / 2
        low, high = self.edges[interval], self.edges[interval + 1]
        return np.asarray(np.clip(low * (1 - place) + high * place, low, high))
