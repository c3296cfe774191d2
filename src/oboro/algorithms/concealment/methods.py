"""Search methods for a k-concealment design, by their names in a recipe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from oboro.algorithms.concealment.design import Design, People
from oboro.algorithms.concealment.heuristics import annealed, clustered, greedy, lottery, tsp
from oboro.algorithms.concealment.optimum import exact

__all__ = ["METHODS", "DesignSearch", "Method", "refined"]


Method = Literal["exact", "greedy", "greedy+clusters", "lottery", "lottery+clusters", "tsp", "tsp+clusters"]
METHODS: tuple[Method, ...] = get_args(Method)

EFFORT, MOVES = 30_000, 300_000_000  # exchanges per person and in all, where no effort is given: at most some minutes


@dataclass(frozen=True)
class DesignSearch:
    """Method and parameters of the search for a design."""

    k: int
    method: Method = "exact"
    draws: int = 10_000  # of the lottery

    def design(self, people: People, rng: np.random.Generator) -> Design:
        """Search a design; the identity is its first matching."""
        if self.k == 1:
            return Design(np.arange(len(people))[None])
        if self.method == "exact":
            optimum = exact(people, self.k)
            return Design.of_arcs(len(people), optimum.tails, optimum.heads)
        if self.method.endswith("+clusters"):
            return Design(clustered(lambda part: self._heuristic(part, rng), people.distances, self.k))
        return Design(self._heuristic(people.distances, rng))

    def _heuristic(self, distances: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        if self.method.startswith("greedy"):
            return greedy(distances, self.k, rng)
        if self.method.startswith("lottery"):
            return lottery(distances, self.k, rng, self.draws)
        return tsp(distances, self.k, rng)


def refined(people: People, design: Design, effort: int | None, rng: np.random.Generator) -> Design:
    """Refine a design by a local search on the loss of its closures; `effort` exchanges are tried per person."""
    return annealed(people, design, min(EFFORT, MOVES // len(people)) if effort is None else effort, rng)
