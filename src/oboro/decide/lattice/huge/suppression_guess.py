"""How many records a node will suppress, guessed from the nodes that were checked.

What levels lose without suppression is known at once; how many records they suppress takes a look at the table. The logarithm of
that number is nearly a sum over attributes. So a linear regression on the steps of the levels guesses it, and the search looks
at the nodes first that promise most. A wrong guess costs a look, never an answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oboro.decide.lattice.objective import CellLoss
from oboro.decide.lattice.problem import Node, Problem

__all__ = ["SuppressionGuess"]

FAR = 4  # a node that suppresses so many times the limit counts as suppressing that: a look at it ends early
SLACK = 1.15  # what is guessed to suppress so many times the limit may still keep within it


@dataclass(eq=False)
class SuppressionGuess:
    """A regression that learns from every checked node. Learning is O(steps²) a node, a guess O(steps), after O(steps³) for all."""

    problem: Problem
    loss: CellLoss

    def __post_init__(self) -> None:
        heights = self.problem.lattice.heights
        self.attribute = np.repeat(np.arange(len(heights)), heights)
        self.step = np.concatenate([np.arange(1, height + 1) for height in heights])
        size = self.step.size + 1
        self.products, self.sums = np.eye(size), np.zeros(size)
        self.base = [np.array([one.base for one in costs]) for costs in self.loss.costs]
        self.extra = [
            np.array([one.extra.mean() if one.extra.size else 0.0 for one in costs]) for costs in self.loss.costs
        ]
        if self.loss.geometric:
            self.extra = [extra / (1 + base) for base, extra in zip(self.base, self.extra, strict=True)]
            self.base = [np.log1p(base) for base in self.base]

    def learn(self, nodes: Sequence[Node]) -> None:
        """Take some checked nodes into account."""
        steps = self._steps(np.array([node.levels for node in nodes]))
        most = FAR * self.problem.limit + 10
        seen = np.log1p(np.minimum([node.surely for node in nodes], most))
        self.products += steps.T @ steps
        self.sums += steps.T @ seen

    def outlook(self, levels: np.ndarray) -> np.ndarray:
        """What each row of levels may lose, for comparing: those that probably suppress too many come last."""
        weights = np.linalg.solve(self.products, self.sums)
        gone = np.expm1((self._steps(levels) @ weights).clip(0, 30))
        total = np.zeros(len(levels))
        for a, weight in enumerate(self.loss.weights):
            at = levels[:, a]
            total += weight * (self.base[a][at] + self.extra[a][at] * np.minimum(gone, self.problem.limit))
        return np.where(gone > SLACK * self.problem.limit + 1, total.max(initial=0.0) + 1 + gone, total)

    def _steps(self, levels: np.ndarray) -> np.ndarray:
        """For each node a one, and for each attribute and level whether the node is as coarse."""
        return np.hstack([np.ones((len(levels), 1)), levels[:, self.attribute] >= self.step])
