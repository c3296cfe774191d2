"""New values for old: draws from a density that only knows the intervals and how many records each holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

__all__ = ["Density", "Shape"]

Shape = Literal["uniform", "linear"]


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

        `uniform`: the same height all over an interval, as a histogram has it. `linear`: a continuous line. At an edge
        it is as high as the harmonic mean of the histogram on both sides, at the outermost edges 0, and in the middle
        as high as the interval's records then need: never negative, since a harmonic mean is less than twice the
        lower side.

        On the paper's mixtures of normal distributions (n = 1,000, k = 5, BIC, 180 data sets) the Kullback–Leibler
        divergence of the truth from the line is 0.60 times that from the uniform density. Arithmetic means at the edges
        (1.8) and lines fitted to each interval's mean (0.78) did worse; geometric means do better with large k but left
        holes between high neighbours. Where intervals are many and small (AIC with k = 5) the line loses: 1.2.
        """
        height = sizes / sizes.sum() / np.diff(edges)
        if shape == "uniform":
            return Density(edges, height, height, height)
        inner = 2 * height[:-1] * height[1:] / (height[:-1] + height[1:])
        knots = np.concatenate([[0.0], inner, [0.0]])
        left, right = knots[:-1], knots[1:]
        return Density(edges, left, 2 * height - (left + right) / 2, right)

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
